//! Rule 5: an older reading only ever denies more.

use proptest::prelude::*;
use tollgate::Decision;

use crate::numbers::{any_time, starts};
use crate::promise::broken;
use crate::support::KEY;
use crate::traffic::{
    Tally, anywhere, back_and_forth, built, capacity, check, cost_within, forwards, horizon, kept,
    requests,
};

#[test]
fn rule_5_an_older_reading_admits_no_more_than_the_latest_would() {
    let older = Tally::default();
    let cases = (kept(), any_time(), requests(anywhere()));
    check(3_000, cases, |((algorithm, limits), start, requests)| {
        let (limiter, ticker) = built(algorithm, &limits, start);
        let (mut now, mut latest) = (start, start);
        for (when, cost) in requests {
            let cost = cost_within(cost, capacity(&limits));
            now = when.after(now, &limiter, cost);
            latest = latest.max(now);
            ticker.set(latest);
            let then = limiter.peek_n(KEY, cost);
            ticker.set(now);
            let decision = limiter.peek_n(KEY, cost);
            prop_assert!(decision.remaining() <= then.remaining(), "{}", algorithm);
            prop_assert!(decision.is_denied() || then.is_allowed(), "{}", algorithm);
            let _ = limiter.try_acquire_n(KEY, cost);
            older.count(algorithm, usize::from(now < latest));
        }
        Ok(())
    });
    older.at_least(1_000);
}

#[test]
fn rule_5_a_clock_that_steps_back_mints_nothing() {
    let admitted = Tally::default();
    let cases = (kept(), any_time(), requests(anywhere()));
    check(3_000, cases, |((algorithm, limits), start, requests)| {
        let (limiter, ticker) = built(algorithm, &limits, start);
        let mut now = start;
        let mut admissions = Vec::new();
        for (when, cost) in requests {
            let cost = cost_within(cost, capacity(&limits));
            now = when.after(now, &limiter, cost);
            ticker.set(now);
            let decision = limiter.try_acquire_n(KEY, cost);
            if decision.is_allowed() {
                admissions.push((decision.reading(), cost));
            }
        }
        prop_assert_eq!(broken(algorithm, &limits, &admissions), None);
        admitted.count(algorithm, admissions.len());
        Ok(())
    });
    admitted.at_least(1_000);
}

/// What a decision says, apart from its reading.
fn said(decision: Decision) -> impl PartialEq + std::fmt::Debug {
    (decision.verdict(), decision.standing(), decision.limit())
}

#[test]
fn rule_5_once_the_clock_has_caught_up_a_key_stands_as_if_it_had_never_stepped_back() {
    let late = Tally::default();
    let cases = (
        kept(),
        starts(),
        (forwards(), any::<u64>()),
        requests(back_and_forth()),
        requests(forwards()),
    );
    check(3_000, cases, |case| {
        let ((algorithm, limits), start, (when, cost), back, later) = case;
        let (limiter, ticker) = built(algorithm, &limits, start);
        let (twin, steady) = built(algorithm, &limits, start);
        let capacity = capacity(&limits);
        // Both begin at the latest time; the twin's clock stays there.
        let latest = when.after(start, &limiter, 1).min(horizon(start));
        let cost = cost_within(cost, capacity);
        ticker.set(latest);
        steady.set(latest);
        prop_assert_eq!(
            limiter.try_acquire_n(KEY, cost),
            twin.try_acquire_n(KEY, cost)
        );

        let mut now = latest;
        for (when, cost) in back {
            let cost = cost_within(cost, capacity);
            now = when.after(now, &limiter, cost).min(latest);
            ticker.set(now);
            if limiter.try_acquire_n(KEY, cost).is_allowed() {
                prop_assert!(twin.try_acquire_n(KEY, cost).is_allowed());
                late.count(algorithm, usize::from(now < latest));
            }
        }
        let mut now = latest;
        for (when, cost) in later {
            let cost = cost_within(cost, capacity);
            ticker.set(now);
            steady.set(now);
            prop_assert_eq!(
                said(limiter.peek_n(KEY, cost)),
                said(twin.peek_n(KEY, cost)),
                "{} at {}",
                algorithm,
                now
            );
            now = when.after(now, &limiter, cost);
        }
        Ok(())
    });
    late.at_least(100);
}
