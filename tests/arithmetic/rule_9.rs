//! Rule 9: no panic, no overflow, no wrap, whatever the time, the cost or the limit.

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate::{AnyAlgorithm, ManualTicker, RateLimiter, TokenBucket, Verdict};

use crate::numbers::{any_cost, any_limit, any_time};
use crate::plain::{THIRTY_YEARS, Terms};
use crate::promise::broken;
use crate::support::KEY;
use crate::traffic::{Limiter, Tally, built, capacity, check, cost_within, kept, limit_of};
use crate::{retry_after, support};

#[test]
fn rule_9_no_accepted_limit_time_or_cost_panics() {
    let (accepted, refused) = (Tally::default(), Cell::new(0));
    let cases = (
        select(AnyAlgorithm::ALL.to_vec()),
        vec(any_limit(), 1..6),
        any_time(),
        vec((any_time(), any_cost(), 0..8_u8), 1..60),
    );
    check(8_000, cases, |(algorithm, limits, start, steps)| {
        let limits = if algorithm == AnyAlgorithm::AllOf {
            &limits[..]
        } else {
            &limits[..1]
        };
        let ticker = ManualTicker::new(start);
        let built = RateLimiter::<u64>::builder(limits)
            .algorithm(algorithm)
            .ticker(ticker.clone())
            .build();
        let Ok(limiter): Result<Limiter, _> = built else {
            refused.set(refused.get() + 1);
            return Ok(());
        };
        accepted.count(algorithm, 1);
        let capacity = capacity(limits);
        let mut last = None;
        for (time, cost, call) in steps {
            ticker.set(time);
            let decision = match (call, last) {
                (0, _) => limiter.peek_n(KEY, cost),
                (1, Some(last)) => {
                    limiter.refund(KEY, last);
                    limiter.peek(KEY)
                }
                (2, _) => {
                    limiter.evict_idle();
                    limiter.peek(KEY)
                }
                (3, _) => limiter.try_acquire(KEY),
                _ => limiter.try_acquire_n(KEY, cost),
            };
            prop_assert!(decision.remaining() <= capacity);
            prop_assert_eq!(decision.is_never(), decision.cost() > capacity);
            prop_assert_ne!(retry_after(&decision), Some(0));
            prop_assert!(decision.reading() >= start);
            last = Some(decision);
        }
        Ok(())
    });
    accepted.at_least(100);
    assert!(refused.get() > 1_000, "{} refused", refused.get());
}

#[test]
fn rule_9_past_thirty_years_nothing_more_than_the_rule_permits_is_admitted() {
    let admitted = Tally::default();
    let late = (0..=u64::MAX - THIRTY_YEARS).prop_map(|after| after + THIRTY_YEARS);
    let cases = (kept(), any::<u64>(), vec((late, any_cost()), 1..40));
    check(3_000, cases, |((algorithm, limits), start, requests)| {
        // Wherever there is a time past the 30 years.
        let start = start % (u64::MAX - THIRTY_YEARS);
        let (limiter, ticker) = built(algorithm, &limits, start);
        let mut times: Vec<_> = requests.iter().map(|(time, _)| *time).collect();
        times.sort_unstable();
        let mut admissions = Vec::new();
        for (time, (_, cost)) in times.into_iter().zip(requests) {
            ticker.set(time.max(start));
            let cost = cost_within(cost, capacity(&limits));
            let decision = limiter.try_acquire_n(KEY, cost);
            match decision.verdict() {
                Verdict::Allowed => admissions.push((decision.reading(), cost)),
                Verdict::Denied { retry_after } => prop_assert!(!retry_after.is_zero()),
                Verdict::Never => prop_assert!(false, "{} is within the capacity", cost),
            }
        }
        prop_assert_eq!(broken(algorithm, &limits, &admissions), None);
        admitted.count(algorithm, admissions.len());
        Ok(())
    });
    admitted.at_least(500);
}

// The other algorithms record no time that could run out; a window's number is cut where its bits
// end, which is past the 30 years as well.
#[test]
fn rule_9_a_bucket_s_time_stands_still_after_thirty_years() {
    let cases = (any::<[u64; 3]>(), any::<u64>(), any::<[u64; 4]>());
    check(2_000, cases, |(numbers, start, times)| {
        let limit = limit_of(Terms::of_any_rate(numbers));
        let start = start % (u64::MAX - THIRTY_YEARS);
        let (limiter, ticker) = support::built(TokenBucket, limit, start);
        let horizon = start + THIRTY_YEARS;
        ticker.set(horizon);
        prop_assert!(limiter.try_acquire_n(KEY, limit.burst()).is_allowed());
        let then = limiter.try_acquire(KEY);
        let times = times.map(|time| horizon + time % (u64::MAX - horizon + 1));
        for time in times.into_iter().chain([horizon + 1, u64::MAX]) {
            ticker.set(time);
            let now = limiter.try_acquire(KEY);
            prop_assert!(now.is_denied());
            prop_assert_eq!(now.standing(), then.standing());
        }
        Ok(())
    });
}
