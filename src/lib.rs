//! Exact, lock-free, keyed rate limiting.
//!
//! (The tutorial is written last.)
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
mod limit;
mod limiter;
mod store;
mod sync;
mod ticker;

pub use algorithm::{
    Algorithm, AllOf, AnyAlgorithm, FixedWindow, Gcra, Gone, Limits, OneWord, ParseAlgorithmError,
    Plan, Reading, SlidingCounter, SlidingLog, TokenBucket,
};
pub use decision::{Decision, Standing, Verdict};
pub use error::{BuildError, LimitError, ParseLimitError};
pub use evictor::Evictor;
pub use limit::Limit;
pub use limiter::{
    Ask, AskUnkeyed, BackgroundBuilder, Builder, Gate, LimitSource, OneLimit, PerKey, RateLimiter,
    UnkeyedLimiter, peek_all, peek_all_each, refund_all, try_acquire_all, try_acquire_all_each,
};
/// How a borrowed form of a key is told to be equal to it: what look-ups ask of theirs.
///
/// Every `K: Borrow<Q>` has it; implement it for a borrowed view of a struct.
pub use papaya::Equivalent;
pub use ticker::{CoarseTicker, InstantTicker, ManualTicker, Ticker, TscTicker};
