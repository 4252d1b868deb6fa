//! The promises about numbers, rule by rule, against exact integers and fractions.
//!
//! Each test of a rule of the contract bears its number. The words of a state and the conversions
//! by themselves cannot be seen from here: `src/algorithm/proofs` compares those bit for bit.

#[path = "common/config.rs"]
mod config;
#[path = "common/plain.rs"]
mod plain;
mod support;

#[path = "arithmetic/acceptance.rs"]
mod acceptance;
#[path = "arithmetic/counter.rs"]
mod counter;
#[path = "arithmetic/numbers.rs"]
mod numbers;
#[path = "arithmetic/promise.rs"]
mod promise;
#[path = "arithmetic/rule_4.rs"]
mod rule_4;
#[path = "arithmetic/rule_5.rs"]
mod rule_5;
#[path = "arithmetic/rule_6.rs"]
mod rule_6;
#[path = "arithmetic/rule_9.rs"]
mod rule_9;
#[path = "arithmetic/traffic.rs"]
mod traffic;
#[path = "arithmetic/window.rs"]
mod window;

use num_bigint::BigInt;
use plain::big;
use tollgate::{Decision, Limit, Verdict};

/// Whole permits that flow in during so many nanoseconds.
fn whole_inflow(limit: Limit, ns: u64) -> BigInt {
    big(limit.permits()) * ns / limit.period_ns()
}

fn retry_after(decision: &Decision) -> Option<u64> {
    match decision.verdict() {
        Verdict::Denied { retry_after } => Some(retry_after.as_nanos() as u64),
        Verdict::Allowed | Verdict::Never => None,
    }
}
