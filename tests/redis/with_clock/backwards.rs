//! A store clock that steps back only denies more until it has caught up, and tells how long.

use super::{Server, limiter, set_time, store};
use crate::algorithm::AnyAlgorithm;
use crate::redis::Answer;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// What remains is to be had, and no more than that until the time that was told for it.
fn holds_what_it_says(
    seen: &Answer,
    now: i64,
    peek: impl Fn(i64, u64) -> Answer,
) -> Result<(), TestCaseError> {
    let left = seen.remaining().expect("known");
    prop_assert!(left == 0 || peek(now, left).is_allowed(), "{:?}", seen);
    prop_assert!(peek(now, left + 1).is_denied(), "{:?}", seen);
    let more = seen.next_permit_after().expect("known").as_micros();
    if let Ok(more @ 1..) = i64::try_from(more) {
        let (before, then) = (peek(now + more - 1, 1), peek(now + more, 1));
        prop_assert!(before.remaining() <= Some(left), "{:?} {:?}", seen, before);
        prop_assert!(then.remaining() > Some(left), "{:?} {:?}", seen, then);
    }
    let reset = seen.reset_after().expect("known").as_micros();
    let reset = i64::try_from(reset).expect("a time");
    prop_assert!(
        peek(now + reset, 1).reset_after().expect("known").is_zero(),
        "{:?}",
        seen
    );
    if reset > 0 {
        let before = peek(now + reset - 1, 1);
        prop_assert!(
            !before.reset_after().expect("known").is_zero(),
            "{:?}",
            seen
        );
    }
    Ok(())
}

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
            let seen = peek(cost);
            let left = seen.remaining();
            holds_what_it_says(&seen, now, |time, cost| {
                set_time(&server, time.unsigned_abs());
                peek(cost)
            })?;
            set_time(&server, now.unsigned_abs());
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
