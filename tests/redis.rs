//! One limit across many servers: on stores that the tests start, break and stop.
#![cfg(feature = "redis")]
#![allow(unreachable_pub, reason = "modules of a test")]

#[path = "redis/bad_input.rs"]
mod bad_input;
#[path = "redis/cluster.rs"]
mod cluster;
#[cfg(feature = "redis-tls")]
#[path = "redis/encrypted.rs"]
mod encrypted;
#[path = "redis/faults.rs"]
mod faults;
#[cfg(feature = "tower")]
#[path = "redis/layer.rs"]
mod layer;
#[path = "redis/masters.rs"]
mod masters;
#[path = "redis/operations.rs"]
mod operations;
#[path = "redis/processes.rs"]
mod processes;
#[path = "redis/proxy.rs"]
mod proxy;
#[path = "redis/server.rs"]
mod server;
#[path = "redis/together.rs"]
mod together;

use server::Server;
use std::time::Duration;
use tollgate::Limit;
use tollgate::redis::{OnFailure, RedisBuilder, RedisLimiter, Store, Unchosen};

const KEY: &str = "ada";

/// A limiter that asks the store every time, and has the time for it on a busy machine.
fn builder(store: &Store, limit: Limit) -> RedisBuilder<Unchosen> {
    RedisLimiter::builder(store, "test", limit)
        .pre_check(0)
        .budget(Duration::from_secs(5))
}

fn limiter(server: &Server, limit: Limit) -> RedisLimiter {
    let store = Store::open(&server.url())
        .expect("an address")
        .with_slow(Duration::from_secs(5));
    builder(&store, limit)
        .on_failure(OnFailure::Report)
        .build()
        .expect("a limiter")
}
