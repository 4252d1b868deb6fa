//! One limit across many servers, in a Redis or Valkey store that all of them share.

mod answer;
mod asking;
mod breaker;
mod builder;
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
