//! The atomic step of each algorithm: threads that want the last permits.

use super::{Arc, check_within, per_ten, thread};
use crate::{
    Algorithm, AllOf, FixedWindow, OneWord, Reading, SlidingCounter, SlidingLog, TokenBucket,
};

const AT: Reading = Reading::new(0, 3);

/// Three threads ask for `costs` of `permits`; how many permits may be spent is known whatever
/// their order.
fn the_last_permits<A: Algorithm>(algorithm: A, permits: u64, costs: [u64; 3], spent: &[u64]) {
    let rule = algorithm.rule(&[per_ten(permits)]).expect("a rule");
    let shared = Arc::new((A::fresh(&rule), rule));
    let ask = |cost| {
        let shared = shared.clone();
        move || {
            let (state, rule) = &*shared;
            let decision = A::try_acquire(rule, state, AT, cost).expect("nobody retires it");
            if decision.is_allowed() { cost } else { 0 }
        }
    };
    let one = thread::spawn(ask(costs[0]));
    let other = thread::spawn(ask(costs[1]));
    let mine = ask(costs[2])();
    let total = mine + one.join().unwrap() + other.join().unwrap();

    assert!(spent.contains(&total), "{total} spent of {permits}");
    let (state, rule) = &*shared;
    let left = A::peek(rule, state, AT, 0).expect("nobody retires it");
    assert_eq!(
        left.remaining(),
        permits - total,
        "what is left is what was not spent"
    );
}

macro_rules! steps {
    ($($name:ident: $algorithm:expr, $preemptions:expr;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn three_threads_spend_two_permits_exactly() {
                check_within($preemptions, || the_last_permits($algorithm, 2, [1, 1, 1], &[2]));
            }

            #[test]
            fn a_weighted_request_gets_all_of_its_permits_or_none() {
                check_within($preemptions, || the_last_permits($algorithm, 3, [2, 2, 1], &[3]));
            }
        })+
    };
}

// Two preemptions for states of several words, which take many steps.
steps! {
    token_bucket: TokenBucket, 3;
    fixed_window: FixedWindow, 3;
    sliding_counter: SlidingCounter, 2;
    sliding_log: SlidingLog, 3;
    all_of: AllOf, 2;
    outside: Countdown, 3;
}

/// An algorithm from outside, as `OneWord` lets anyone write one: it counts down.
struct Countdown;

impl OneWord for Countdown {
    type Rule = u64;

    fn rule(&self, limits: &[crate::Limit]) -> Result<u64, crate::LimitError> {
        Ok(limits[0].permits())
    }
    fn capacity(permits: &u64) -> u64 {
        *permits
    }
    fn fresh(permits: &u64) -> u64 {
        *permits
    }
    fn spend(_: &u64, left: u64, _: Reading, cost: u64) -> Option<u64> {
        left.checked_sub(cost)
    }
    fn remaining(_: &u64, left: u64, _: Reading) -> u64 {
        left
    }
    fn retry_after(_: &u64, _: u64, _: Reading, _: u64) -> u64 {
        u64::MAX
    }
    fn reset_after(_: &u64, _: u64, _: Reading) -> u64 {
        u64::MAX
    }
    fn refund(_: &u64, left: u64, _: Reading, decision: &crate::Decision) -> u64 {
        left + decision.spent()
    }
    fn convert(_: &u64, left: u64, _: Reading, to: &u64) -> u64 {
        left.min(*to)
    }
}
