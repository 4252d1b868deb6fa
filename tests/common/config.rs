//! How much proptest tries.

#![allow(
    dead_code,
    reason = "the cases that were worked out by hand try nothing"
)]
#![allow(unreachable_pub, reason = "a module of several test crates")]

use proptest::test_runner::Config;

/// So many cases, unless `PROPTEST_CASES` says how many.
pub fn config(cases: u32) -> Config {
    let default = Config::default();
    let told = std::env::var_os("PROPTEST_CASES").is_some();
    Config {
        cases: if told { default.cases } else { cases },
        failure_persistence: None,
        // Limits that an algorithm would refuse are made up again, however often.
        max_local_rejects: u32::MAX,
        ..default
    }
}
