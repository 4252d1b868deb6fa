//! Exact, lock-free, keyed rate limiting.
//!
//! A caller passes a key (a user, an API key, an address) and gets a [`Decision`]: allowed with so
//! many permits left, or denied with the exact time to wait.
//!
//! ```
//! use tollgate::{Limit, RateLimiter};
//!
//! let limiter = RateLimiter::<String>::new(Limit::per_second(5))?;
//!
//! let decision = limiter.try_acquire("ada");
//! assert!(decision.is_allowed());
//! assert_eq!(decision.remaining(), 4);
//! # Ok::<(), tollgate::LimitError>(())
//! ```
//!
//! # Five ideas, kept apart
//!
//! A [`Limit`] says how much, per how long, and how much at once. An [`Algorithm`] is the recipe
//! that keeps it. A *state* holds one key's numbers. A [`Ticker`] gives the time. A [`RateLimiter`]
//! is the map from key to state, and the front door.
//!
//! # Choosing an algorithm
//!
//! The default is a [`TokenBucket`], also known as GCRA: a burst at once, then a steady rate. The
//! others are chosen by type, with no dynamic dispatch on the way, or at run time as an
//! [`AnyAlgorithm`]. What each promises, and its worst case, is in the table in [`algorithm`].
//!
//! ```
//! use tollgate::{AllOf, Limit, RateLimiter, SlidingLog};
//!
//! // Never more than 100 in any minute.
//! let strict = RateLimiter::<u64>::builder(Limit::per_minute(100))
//!     .algorithm(SlidingLog)
//!     .build()?;
//!
//! // 5 a second and 20 a minute.
//! let both = RateLimiter::<u64>::builder([Limit::per_second(5), Limit::per_minute(20)])
//!     .algorithm(AllOf)
//!     .build()?;
//! assert_eq!(both.try_acquire(&7).remaining(), 4);
//! # let _ = strict;
//! # Ok::<(), tollgate::LimitError>(())
//! ```
//!
//! # What a denied request can be told
//!
//! ```
//! use std::time::Duration;
//! use tollgate::{Limit, ManualTicker, RateLimiter, Verdict};
//!
//! let ticker = ManualTicker::new(0);
//! let limiter = RateLimiter::<u64>::builder(Limit::per_second(5).with_burst(1))
//!     .ticker(ticker.clone())
//!     .build()?;
//! assert!(limiter.try_acquire(&7).is_allowed());
//!
//! let denied = limiter.try_acquire(&7);
//! assert_eq!(denied.retry_after(), Some(Duration::from_millis(200)));
//!
//! // The time is exact: 1 ns earlier it is still denied.
//! ticker.advance(Duration::from_nanos(199_999_999));
//! assert!(limiter.try_acquire(&7).is_denied());
//! ticker.advance(Duration::from_nanos(1));
//! assert!(limiter.try_acquire(&7).is_allowed());
//!
//! // What asks for more than the limit can ever hold has nothing to wait for.
//! assert_eq!(limiter.try_acquire_n(&7, 2).verdict(), Verdict::Never);
//! # Ok::<(), tollgate::LimitError>(())
//! ```
//!
//! # Keys with limits of their own
//!
//! Limits come from a function of the key, which runs when the key is begun. When plans change,
//! [`refresh`](RateLimiter::refresh) brings a key over, with what it owes.
//!
//! ```
//! use tollgate::{Algorithm, Limit, RateLimiter, TokenBucket};
//!
//! let free = TokenBucket.plan(Limit::per_minute(60))?;
//! let paid = TokenBucket.plan(Limit::per_minute(600).with_burst(100))?;
//! let limiter = RateLimiter::<String>::by_plan(move |key: &String| {
//!     if key.starts_with("paid-") { paid.clone() } else { free.clone() }
//! })
//! .build()?;
//! assert_eq!(limiter.try_acquire("paid-ada").remaining(), 99);
//! # Ok::<(), tollgate::LimitError>(())
//! ```
//!
//! # Forgetting keys
//!
//! A key is forgotten only when it is *idle*: equal to new. Not one permit is minted by it. New keys
//! take the places of idle ones in passing; to have memory back sooner call
//! [`evict_idle`](RateLimiter::evict_idle) from a timer of your own, or let
//! [`evict_every`](Builder::evict_every) run a thread. [`max_keys`](Builder::max_keys) caps how many
//! keys are tracked, whatever keys come.
//!
//! # Several limiters, or none
//!
//! [`try_acquire_all`] takes from several limiters, whose keys may be of different types, or from
//! none of them. An [`UnkeyedLimiter`] is one state and no map, for a process as a whole.
//!
//! # Waiting, and paying afterwards
//!
//! [`acquire_timeout`](RateLimiter::acquire_timeout) waits for its turn in a thread, and with the
//! feature `tokio` `acquire` does in a task: first come, first served, for each key.
//! [`charge`](RateLimiter::charge) takes what turns out to have been used, into a debt if need be.
//!
//! # In front of HTTP
//!
//! With the feature `tower` the module `http` has a layer for any service of HTTP, client keys that
//! clients cannot choose, and the headers that tell them how they stand.
//!
//! # What lock-free means here
//!
//! A check of a key that is present, and not being evicted or refreshed, waits for nobody under the
//! token bucket and the fixed window. See [`RateLimiter`] for what may wait.
//!
//! # Features
//!
//! * `tokio`: tasks that wait for their turn, and a ticker that follows tokio's clock.
//! * `tower`: a layer in front of any service of HTTP.
//! * `serde`: [`Limit`] and [`AnyAlgorithm`] as text.
//! * `loom`: for this crate's own tests; dependents never see it.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "tollgate keeps each key's state in 64-bit atomics, which this target does not have"
);

pub mod algorithm;
mod decision;
mod error;
mod evictor;
mod hasher;
#[cfg(feature = "tower")]
#[cfg_attr(docsrs, doc(cfg(feature = "tower")))]
pub mod http;
mod limit;
mod limiter;
#[cfg(feature = "redis")]
#[cfg_attr(docsrs, doc(cfg(feature = "redis")))]
pub mod redis;
mod store;
mod sync;
mod ticker;
#[cfg(feature = "tokio")]
mod tokio_ticker;

pub use algorithm::{
    Algorithm, AllOf, AnyAlgorithm, FixedWindow, Gcra, Gone, Limits, OneWord, ParseAlgorithmError,
    Plan, Reading, SlidingCounter, SlidingLog, TokenBucket,
};
pub use decision::{Decision, Standing, Verdict};
pub use error::{AcquireError, BuildError, LimitError, ParseLimitError};
pub use evictor::Evictor;
pub use hasher::RandomState;
pub use limit::Limit;
#[cfg(feature = "tokio")]
#[cfg_attr(docsrs, doc(cfg(feature = "tokio")))]
pub use limiter::{Acquire, AcquireOwned};
pub use limiter::{
    Ask, AskUnkeyed, BackgroundBuilder, Builder, Gate, LimitSource, OneLimit, PerKey, Pinned,
    RateLimiter, TieredLimiter, UnkeyedLimiter, WaitPolicy, Waitable, WhenFull, peek_all,
    peek_all_each, refund_all, try_acquire_all, try_acquire_all_each,
};
/// How a borrowed form of a key is told to be equal to it: what look-ups ask of theirs.
///
/// Every `K: Borrow<Q>` has it; implement it for a borrowed view of a struct.
pub use papaya::Equivalent;
pub use ticker::{CoarseTicker, InstantTicker, ManualTicker, Ticker, TscTicker};
#[cfg(feature = "tokio")]
#[cfg_attr(docsrs, doc(cfg(feature = "tokio")))]
pub use tokio_ticker::TokioTicker;

#[cfg(test)]
#[path = "../loom-tests/mod.rs"]
mod loom_tests;

/// The examples in the README compile and hold.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
