//! The scripts on a time that the test gives, on a real server: they agree with the limiters of one process.

#[path = "../server.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "shared with the tests of the public contract"
)]
mod server;

mod backwards;
mod differential;

use crate::algorithm::AnyAlgorithm;
use crate::limit::Limit;
use crate::redis::{OnFailure, RedisLimiter, Store};
use server::Server;
use std::time::Duration;

/// The scripts' time is what a key of the test says; and as the server's own goes on, what they write lives
/// for longer than a test takes.
const CLOCK: &str = "local function clock()\n\
                     return tonumber(redis.call('GET', 'now'))\n\
                     end\n\
                     local function lifetime()\n\
                     return '600000'\n\
                     end\n";

/// A store whose time is told by [`set_time`].
fn store(server: &Server) -> Store {
    Store::open(&server.url())
        .expect("an address")
        .with_clock(CLOCK)
}

fn set_time(server: &Server, microseconds: u64) {
    server.tell(&["SET", "now", &microseconds.to_string()]);
}

fn limits(text: &str) -> Vec<Limit> {
    text.split(", ")
        .map(|limit| limit.parse().expect("a limit"))
        .collect()
}

fn limiter(store: &Store, algorithm: AnyAlgorithm, text: &str) -> RedisLimiter {
    RedisLimiter::builder(store, "test", limits(text))
        .algorithm(algorithm)
        .budget(Duration::from_secs(5))
        .pre_check(0)
        .on_failure(OnFailure::Report)
        .build()
        .expect("a limit that the store can keep")
}
