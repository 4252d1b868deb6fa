//! Many threads on few keys, by the thousand: exact to the permit under any interleaving.
//!
//! A short version of everything is part of every run. The long ones take half an hour on
//! two cores, by themselves:
//!
//! ```text
//! cargo test --release --test stress -- --ignored --test-threads 1
//! ```

#[macro_use]
mod support;
#[path = "common/reference.rs"]
mod reference;

#[path = "stress/arena.rs"]
mod arena;
#[path = "stress/clocks.rs"]
mod clocks;
#[path = "stress/eviction.rs"]
mod eviction;
#[path = "stress/permits.rs"]
mod permits;
#[path = "stress/refresh.rs"]
mod refresh;
#[path = "stress/resets.rs"]
mod resets;
#[path = "stress/skew.rs"]
mod skew;
#[path = "stress/threads.rs"]
mod threads;
