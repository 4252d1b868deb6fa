//! A store clock that steps back only denies more until it has caught up, and tells how long.

use super::{Server, limiter, set_time, store};
use crate::algorithm::AnyAlgorithm;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn denies_more(algorithm: AnyAlgorithm, text: &str) {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let there = limiter(&store(&server), algorithm, text);
    let steps = prop::collection::vec((-3_000_000..3_000_000_i64, 1..4_u64), 1..25);
    let mut runner = TestRunner::new(Config {
        cases: 40,
        failure_persistence: None,
        ..Config::default()
    });
    let outcome = runner.run(&steps, |steps| {
        let acquire = |cost| {
            runtime
                .block_on(there.try_acquire_n("k", cost))
                .expect("an answer")
        };
        let peek = |cost| {
            runtime
                .block_on(there.peek_n("k", cost))
                .expect("an answer")
        };
        runtime.block_on(there.reset("k")).expect("a reset");
        let (mut now, mut latest) = (1_000_000_000_000_i64, 0);
        for (step, cost) in steps {
            now += step;
            latest = latest.max(now);
            set_time(&server, latest.unsigned_abs());
            let then = peek(cost);
            set_time(&server, now.unsigned_abs());
            let left = peek(cost).remaining();
            let answer = acquire(cost);
            prop_assert!(
                !answer.is_allowed() || then.is_allowed(),
                "{now} of {latest}: {answer:?}"
            );
            let Some(wait) = answer.retry_after() else {
                continue;
            };
            prop_assert_eq!(answer.remaining(), left, "a denial spends nothing");
            let wait = i64::try_from(wait.as_micros()).expect("a time");
            prop_assert!(
                wait > 0 && wait < 30_000_000,
                "{answer:?} at {now} of {latest}"
            );
            set_time(&server, (now + wait).unsigned_abs());
            let in_time = peek(cost);
            prop_assert!(
                in_time.is_allowed(),
                "{in_time:?} after {wait} at {now} of {latest}"
            );
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{algorithm} of {text}: {error}"));
}

#[test]
fn a_clock_that_steps_back_denies_more_and_says_how_long() {
    denies_more(AnyAlgorithm::TokenBucket, "3/s burst 5");
    denies_more(AnyAlgorithm::AllOf, "3/s burst 5, 10/5s");
    denies_more(AnyAlgorithm::FixedWindow, "5/2s");
    denies_more(AnyAlgorithm::SlidingCounter, "5/2s");
    denies_more(AnyAlgorithm::SlidingLog, "5/2s");
}
