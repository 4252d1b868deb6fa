//! One limit across many servers, in a Redis or Valkey store that all of them share.
//!
//! A limiter of one process lets a client through its own limit. Behind a load balancer a client that is
//! spread over k servers gets k × N: each server counts to N by itself, and dividing N by k instead refuses
//! clients that a balancer sends to few of them. Here the counts lie in a store, and one script decides
//! there: N is N, however many servers ask.
//!
//! ```no_run
//! use tollgate::Limit;
//! use tollgate::redis::{OnFailure, RedisLimiter, Store};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Store::open("redis://:password@10.0.0.7:6379")?;       // one for the process
//! let limiter = RedisLimiter::builder(&store, "api", Limit::per_minute(100))
//!     .on_failure(OnFailure::Local { servers: 4 })                   // there is no default
//!     .build()?;
//!
//! let answer = limiter.try_acquire("ada").await?;
//! match answer.retry_after() {
//!     None => println!("served; {:?} left, says {:?}", answer.remaining(), answer.basis()),
//!     Some(wait) => println!("429, retry after {wait:?}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What is exact, and where
//!
//! A decision is one script at the server that is the key's primary, in one round trip: that script is the
//! linearization point. It reads all limits of the request, decides, and writes only if all admit, state and
//! time to live in one step; a denial writes nothing. All algorithms are here, with the arithmetic that
//! limiters of one process have, in whole microseconds instead of nanoseconds: waits are rounded up to the
//! next one. Limits whose numbers the scripts could not count exactly are refused when they are built.
//!
//! **The clock** is the store's (`TIME`, once a script). Clocks of your servers take no part. If the store's
//! steps back, or a replica with an older one takes over, keys get nothing new until it has caught up;
//! never more is admitted.
//!
//! # When the store does not answer
//!
//! A request has one [budget](RedisBuilder::budget) of time, 50 ms unless set, for connecting, asking, and one
//! retry. Only what surely was not applied is sent again: a script that the server does not know, a slot that has
//! moved. Then [`OnFailure`] says what becomes of it. The fact that decides: *what does a request cost you that
//! should have been refused?*
//!
//! | | choose it where | the price |
//! |---|---|---|
//! | [`Open`](OnFailure::Open) | limits are for fairness; the service must not depend on the store | during an outage there is no limit |
//! | [`Closed`](OnFailure::Closed) | a request too many is a break-in, money, or a backend that falls over | the store's outage is yours |
//! | [`Local`](OnFailure::Local) | neither will do | a client gets a share of the limit at each server: too little where it comes to one, all of it where it comes to all |
//! | [`Report`](OnFailure::Report) | the caller knows more | code |
//!
//! The local limiter follows what the store says while it says something, so that an outage hands out no fresh
//! burst. After five failures in a row, or when half of the last 32 answers failed or took longer than
//! [25 ms](Store::with_slow), a circuit breaker opens: nobody's request waits for the store, and a task of the
//! background tries it, ever more rarely, until it is well. In a cluster that goes by sixteenths of the slots, so
//! that one server's outage is not the others'.
//!
//! What waiting cannot mend is an error under every policy ([`StoreError::is_set_up`]): a wrong password, a right that is
//! missing, a key with something else in it. Each [`Answer`] says [who has decided](Basis), and what it does not know
//! is absent, not zero.
//!
//! # Denials that cost nothing
//!
//! What the store has denied it will deny until the time that it named: so long such requests, and more costly
//! ones, are [denied here](RedisBuilder::pre_check). That never allows anything. A refund or reset by *another* server is not seen
//! here before that time.
//!
//! # Several limits
//!
//! Several limits on one key are one limiter with [`AllOf`](crate::AllOf). Limits on several keys, such as a client's for a
//! route and its own in all, are several limiters, asked in one script by [`try_acquire_all`]. In a cluster all
//! keys of a script must be in one slot: the first half of a pair `(client, route)` says where it is kept, by a digest
//! of it. A cap over *all* clients together would drag all into one slot; [`pooled`](RedisBuilder::pooled) spreads it.
//!
//! # Keys that are too hot for one server
//!
//! One key's scripts run one after the other, on one core of one server. [`split`](RedisBuilder::split) spreads
//! a key's limit over parts in slots of their own, which come to exactly the limit. A request goes to the fuller
//! of two parts by what this server has heard of them, and may find that one empty while another has
//! something left: never more than the limit is admitted, but the first denial comes early. How much of the limit had
//! been spent by then, in the median (least), one process asking with so many requests in flight:
//!
//! | limit and parts | one in flight | 64 in flight |
//! |---|---|---|
//! | 1,000 in 4 | 99.9 % (99.7) | 94.5 % (91.1) |
//! | 1,000 in 16 | 98.7 % (98.3) | 92.2 % (86.6) |
//! | 10,000 in 4 | 99.98 % (99.97) | 99.55 % (98.96) |
//! | 10,000 in 16 | 99.91 % (99.86) | 99.18 % (99.15) |
//! | 10,000 in 32 | 99.63 % (99.46) | 98.87 % (97.67) |
//!
//! Measured by `cargo bench -p tollgate-benches --bench redis`. Several processes know less of each other, and each
//! request in flight may go where another has just taken the last permit: split no further than the load needs,
//! and keep each part's share well above the number of requests in flight.
//!
//! # For operators
//!
//! * **Persistence and failover.** Replication is asynchronous: a failover loses what was spent within the lag, at most
//!   the rate times the lag, and one burst more for each key whose last write was the lost one. `WAIT` would cost
//!   every request a round trip; `min-replicas-to-write` bounds what an old primary can still admit behind a
//!   partition, and makes it a failure by policy. Values are absolute, so that replaying them from an
//!   append-only file is harmless; a restart *without* one forgets all counts, and each key begins with
//!   a full burst. Periods of hours or days deserve persistence, those of seconds do not.
//! * **Memory.** Every key has a time to live, which ends when its state is as good as none. A state takes some
//!   150 bytes with its key, a sliding log 30 for each entry. Give it a server of its own, with
//!   `maxmemory-policy noeviction`: when it is full, requests are failures by policy, and are seen. `volatile-ttl` gives up the
//!   states that are nearly over, `allkeys-*` those of anybody: an attacker with many keys would empty his victims'.
//! * **Rights.** `+evalsha +eval +time +get +set +del +exists +pexpire +lindex +llen +rpush +rpop +ltrim +cluster` on `~tollgate:*`.
//! * **Keys** are `prefix:1<algorithm>:{<digest of the place>}:<limiter>:=<key>`; keys longer than 64 bytes are told by their digest.
//!   Users' bytes never choose a slot.
//! * **Changing limits.** [`refresh`](RedisLimiter::refresh), or a new release with other numbers, keeps what keys have spent.
//!   While servers disagree, each judges by its own limits.
//! * **Sizing.** One round trip a request; one connection a process is enough. A script takes 10 to 30 microseconds of the server's
//!   one core, so that a server decides 30,000 to 80,000 requests a second, by algorithm and number of limits: some
//!   two thirds of what it does of `INCR` where every request is a round trip of its own, and an eighth where hundreds share
//!   one, as then `INCR` costs it next to nothing (`benches/BENCHMARKS.md`).
//! * **Redis 6.2 or newer, or Valkey.** The tests pass with Redis 6.2 and 7.0, Valkey 8.0 and 9.1. TLS (`rediss://`) is behind the feature
//!   `redis-tls`.

mod answer;
mod asking;
mod breaker;
mod builder;
mod call;
mod corrections;
mod counts;
mod failure;
mod key;
mod keyed;
mod layout;
mod limiter;
mod link;
mod local;
mod parts;
mod policy;
mod pre_check;
mod recipe;
mod script;
mod set_up;
mod store;
mod together;

pub use answer::{Answer, Basis};
pub use builder::{RedisBuilder, Unchosen};
pub use counts::Counts;
pub use failure::StoreError;
pub use key::StoreKey;
pub use keyed::Keyed;
pub use limiter::RedisLimiter;
pub use policy::OnFailure;
pub use set_up::SetUpError;
pub use store::{Store, StoreCounts};
pub use together::{Ask, Together, try_acquire_all};

#[cfg(test)]
#[path = "../../tests/redis/with_clock/mod.rs"]
mod with_clock;
