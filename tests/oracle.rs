//! Any sequence of calls, times, costs and limits gives the same decisions, bit for bit, from
//! every algorithm and from the oracle, which is written from the definitions under a mutex.
//!
//! `PROPTEST_CASES` sets how many sequences each test tries.

mod common;

#[path = "common/config.rs"]
mod config;
#[path = "oracle/strategies.rs"]
mod strategies;

use std::time::Duration;

use common::agree::agree;
use common::progress::{Progress, retry_after};
use common::reference::{Kind, Reference, THIRTY_YEARS, supports};
use common::script::{KINDS, Op, Script, Uses};
use common::subject::{self, Oracle, Subject};
use config::config;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use tollgate::{AnyAlgorithm, Limit, ManualTicker, RateLimiter, Ticker};

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(config(cases))
}

type Build = fn(Kind, &[Limit], u64) -> Vec<Box<dyn Subject>>;

fn follows_any_script(kind: Kind, cases: u32, uses: Uses, build: Build) {
    let outcome = runner(cases).run(&strategies::scripts(kind, uses), |script| {
        let limits = &script.lists[0];
        let mut oracle = Oracle::new(kind, limits, script.start);
        let mut others = build(kind, limits, script.start);
        agree(&script, &mut oracle, &mut others).map_err(TestCaseError::fail)
    });
    outcome.unwrap_or_else(|failure| panic!("{kind:?}: {failure}"));
}

fn agrees_with_its_oracle(kind: Kind) {
    follows_any_script(kind, 4_000, Uses::EVERYTHING, subject::limiters);
}

#[test]
fn a_token_bucket_agrees_with_its_oracle() {
    agrees_with_its_oracle(Kind::TokenBucket);
}

#[test]
fn a_fixed_window_agrees_with_its_oracle() {
    agrees_with_its_oracle(Kind::FixedWindow);
}

#[test]
fn a_sliding_log_agrees_with_its_oracle() {
    agrees_with_its_oracle(Kind::SlidingLog);
}

#[test]
fn a_sliding_counter_agrees_with_its_oracle() {
    agrees_with_its_oracle(Kind::SlidingCounter);
}

#[test]
fn all_of_several_limits_agrees_with_its_oracle() {
    agrees_with_its_oracle(Kind::AllOf);
}

#[test]
fn a_limiter_of_one_limit_for_all_keys_agrees_with_its_oracle() {
    let uses = Uses {
        refresh: false,
        ..Uses::EVERYTHING
    };
    for kind in KINDS {
        follows_any_script(kind, 500, uses, subject::limiters_of_one_limit);
    }
}

#[test]
fn a_limiter_without_keys_agrees_with_its_oracle() {
    let uses = Uses {
        refresh: false,
        evict: false,
        keys: 1,
        ..Uses::EVERYTHING
    };
    for kind in KINDS {
        follows_any_script(kind, 500, uses, subject::limiters_without_keys);
    }
}

#[test]
fn a_limit_is_refused_exactly_when_the_oracle_refuses_it() {
    for kind in KINDS {
        let outcome = runner(3_000).run(&strategies::any_limits(kind), |limits| {
            prop_assert_eq!(subject::accepts(kind, &limits), supports(kind, &limits));
            Ok(())
        });
        outcome.unwrap_or_else(|failure| panic!("{kind:?}: {failure}"));
    }
}

#[test]
fn a_limit_is_kept_up_to_the_last_number_that_fits() {
    let thirty_years = THIRTY_YEARS as u64;
    let of = |permits, ns| Limit::new(permits, Duration::from_nanos(ns)).unwrap();
    let bucket = |permits, ns, burst| (Kind::TokenBucket, of(permits, ns).with_burst(burst));
    let window = |permits, ns| (Kind::FixedWindow, of(permits, ns));
    let half = thirty_years / 2;
    for ((kind, limit), kept) in [
        // 30 years and a burst are below 2⁶⁴ − 2: a whole permit is the unit.
        (
            bucket(1 << 60, thirty_years, u64::MAX - 2 - (1 << 60)),
            true,
        ),
        (
            bucket(1 << 60, thirty_years, u64::MAX - 1 - (1 << 60)),
            false,
        ),
        // Half a permit takes a nanosecond, if half permits can be counted.
        (bucket(half, thirty_years, (1 << 63) - 2 - half), true),
        (bucket(half, thirty_years, (1 << 63) - 1 - half), false),
        (bucket(half - 1, thirty_years, 1 << 62), false),
        // Two bits number the window of building and two after it; the third is all ones.
        (window((1 << 62) - 1, half), true),
        (window((1 << 62) - 1, half - 1), false),
        (window(1 << 62, u64::MAX), false),
        (window(15, 1), true),
        (window(16, 1), false),
        (window(16, 2), true),
    ] {
        assert_eq!(supports(kind, &[limit]), kept, "the oracle, {limit}");
        assert_eq!(subject::accepts(kind, &[limit]), kept, "{kind:?}, {limit}");
    }
}

/// A ticker whose readings on two threads may differ by a microsecond.
#[derive(Clone, Debug)]
struct LooseTicker(ManualTicker);

impl Ticker for LooseTicker {
    fn now(&self) -> u64 {
        self.0.now()
    }

    fn disagreement(&self) -> u64 {
        1_000
    }
}

#[test]
fn a_key_is_forgotten_only_when_it_has_been_idle_for_longer_than_readings_may_disagree() {
    for algorithm in AnyAlgorithm::ALL {
        let kind = subject::kind_of(algorithm);
        let start = 5_000;
        let limits = strategies::limits(kind);
        // Keys, costs, and the nanoseconds until the next of them.
        let steps = vec((0..4u64, 1..4u64, 0..3_000u64), 1..40);
        let outcome = runner(500).run(&(limits, steps), |(limits, steps)| {
            let ticker = ManualTicker::new(start);
            let limiter = RateLimiter::<u64>::builder(&limits[..])
                .algorithm(algorithm)
                .ticker(LooseTicker(ticker.clone()))
                .build()
                .unwrap();
            let reference = Reference::new(kind, start, &limits);
            let mut now = start;
            for (key, cost, ns) in steps {
                prop_assert_eq!(
                    reference.try_acquire_n(key, cost, now),
                    limiter.try_acquire_n(&key, cost)
                );
                // Sometimes for just as long as until the key is idle and the readings agree.
                now += match ns % 3 {
                    0 => limiter.peek(&key).standing().reset_after.min(1 << 40) + 999 + ns % 2,
                    _ => ns,
                };
                ticker.set(now);
                prop_assert_eq!(reference.evict_idle(now, 1_000), limiter.evict_idle());
            }
            Ok(())
        });
        outcome.unwrap_or_else(|failure| panic!("{kind:?}: {failure}"));
    }
}

#[test]
fn a_wait_is_never_zero_and_not_a_nanosecond_too_long_or_short() {
    let uses = Uses {
        refresh: false,
        step_back: false,
        ..Uses::EVERYTHING
    };
    for kind in KINDS {
        let outcome = runner(1_000).run(&strategies::scripts(kind, uses), |script| {
            for mut limiter in subject::limiters(kind, &script.lists[0], script.start) {
                waits_are_tight(&script, limiter.as_mut())?;
            }
            Ok(())
        });
        outcome.unwrap_or_else(|failure| panic!("{kind:?}: {failure}"));
    }
}

/// Looks at every answer again when what it told to wait for has come, and 1 ns before.
fn waits_are_tight(script: &Script, subject: &mut dyn Subject) -> Result<(), TestCaseError> {
    let mut progress = Progress::new(script);
    for op in &script.ops {
        let (key, decision) = match *op {
            Op::TryAcquire(key, cost) => (key, subject.try_acquire_n(key, progress.cost(cost))),
            Op::Peek(key, cost) => (key, subject.peek_n(key, progress.cost(cost))),
            Op::Clock(step) => {
                subject.set_time(progress.step(step));
                continue;
            }
            _ => continue,
        };
        progress.answered(key, decision);

        // The same request after a wait; none after the 30 years, when times stand still.
        let mut after = |wait: u64| {
            let then = progress.now.checked_add(wait)?;
            if u128::from(then - script.start) > THIRTY_YEARS {
                return None;
            }
            subject.set_time(then);
            let [once, again] = [(); 2].map(|()| subject.peek_n(key, decision.cost()));
            assert_eq!(once, again, "a peek changed something");
            Some(once)
        };

        if let Some(wait) = retry_after(&decision) {
            let shorter = wait.checked_sub(1).expect("no wait is zero");
            let (before, then) = (after(shorter), after(wait));
            prop_assert!(
                then.is_none_or(|then| then.is_allowed()),
                "{decision:?}, {then:?}"
            );
            prop_assert!(
                before.is_none_or(|then| then.is_denied()),
                "{decision:?}, {before:?}"
            );
        }
        let standing = decision.standing();
        if let Some(wait) = standing.next_permit_after.checked_sub(1) {
            let [before, then] =
                [wait, wait + 1].map(|wait| after(wait).map(|then| then.remaining()));
            prop_assert!(
                then.is_none_or(|then| then > standing.remaining),
                "{decision:?}"
            );
            prop_assert!(
                before.is_none_or(|then| then <= standing.remaining),
                "{decision:?}"
            );
        }
        if let Some(wait) = standing.reset_after.checked_sub(1) {
            let [before, then] =
                [wait, wait + 1].map(|wait| after(wait).map(|then| then.standing()));
            prop_assert!(
                then.is_none_or(|then| then.reset_after == 0),
                "{decision:?}"
            );
            prop_assert!(
                before.is_none_or(|then| then.reset_after == 1),
                "{decision:?}"
            );
        }
        subject.set_time(progress.now);
    }
    Ok(())
}
