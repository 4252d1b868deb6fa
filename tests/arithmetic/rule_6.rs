//! Rule 6: rounding never favours the client by more than the clock's own resolution.

use std::cell::Cell;

use num_bigint::BigInt;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate::{Limit, ManualTicker, TokenBucket};

use crate::numbers::{after_the_start, everyday_limits, starts};
use crate::plain::{THIRTY_YEARS, Terms, big, ceil, fraction};
use crate::promise::broken;
use crate::support::{self, KEY};
use crate::traffic::{
    Tally, built, capacity, check, cost_within, forwards, horizon, kept, limit_of, requests,
};
use crate::{retry_after, whole_inflow};

#[test]
fn rule_6_over_any_interval_no_more_is_admitted_than_exact_fractions_allow() {
    let admitted = Tally::default();
    let cases = (kept(), starts(), requests(forwards()), any::<bool>());
    check(
        4_000,
        cases,
        |((algorithm, limits), start, requests, greedy)| {
            let (limiter, ticker) = built(algorithm, &limits, start);
            let mut now = start;
            let mut admissions = Vec::new();
            for (when, cost) in requests {
                let mut cost = cost_within(cost, capacity(&limits));
                now = when.after(now, &limiter, cost).min(horizon(start));
                ticker.set(now);
                if greedy {
                    cost = limiter.peek(KEY).remaining().max(1);
                }
                if limiter.try_acquire_n(KEY, cost).is_allowed() {
                    admissions.push((now, cost));
                }
            }
            prop_assert_eq!(broken(algorithm, &limits, &admissions), None);
            admitted.count(algorithm, admissions.len());
            Ok(())
        },
    );
    admitted.at_least(2_000);
}

#[test]
fn rule_6_from_full_at_one_instant_exactly_the_capacity_is_admitted() {
    let emptied = Tally::default();
    let cases = (
        kept(),
        starts(),
        prop_oneof![1 => Just(0), 3 => after_the_start()],
        vec(any::<u64>(), 0..20),
    );
    check(
        3_000,
        cases,
        |((algorithm, limits), start, after, costs)| {
            let (limiter, ticker) = built(algorithm, &limits, start);
            ticker.set(start + after);
            let mut left = capacity(&limits);
            for cost in costs {
                let cost = cost_within(cost, capacity(&limits));
                let decision = limiter.try_acquire_n(KEY, cost);
                prop_assert_eq!(decision.is_allowed(), cost <= left);
                if decision.is_allowed() {
                    left -= cost;
                }
                prop_assert_eq!(decision.remaining(), left);
            }
            prop_assert!(limiter.try_acquire_n(KEY, left).is_allowed());
            prop_assert!(limiter.try_acquire(KEY).is_denied());
            emptied.count(algorithm, 1);
            Ok(())
        },
    );
    emptied.at_least(300);
}

/// Takes whatever is there at so long after the building; returns how much that was.
fn take_all(limiter: &support::Limiter<TokenBucket>, ticker: &ManualTicker, now: u64) -> u64 {
    ticker.set(now);
    let there = limiter.peek(KEY).remaining();
    let decision = limiter.try_acquire_n(KEY, there);
    assert!(decision.is_allowed() && decision.remaining() == 0);
    there
}

/// When a bucket is full again that was empty at first and from which so many permits have been
/// taken since, rounded down.
fn time_of_full(limit: Limit, taken: &BigInt) -> BigInt {
    let permits = taken + limit.burst();
    permits * limit.period_ns() / limit.permits()
}

#[test]
fn rule_6_a_greedy_client_gets_the_rate_to_the_nanosecond_wherever_it_begins() {
    let any_rate = any::<[u64; 3]>().prop_map(|numbers| limit_of(Terms::of_any_rate(numbers)));
    let cases = (
        prop_oneof![3 => any_rate, 1 => select(everyday_limits())],
        starts(),
        after_the_start(),
        vec(1..=1_u64 << 32, 1..60),
    );
    let taken = Cell::new(0);
    check(3_000, cases, |(limit, start, begin, jumps)| {
        let (limiter, ticker) = support::built(TokenBucket, limit, start);
        ticker.set(start + begin);
        prop_assert!(limiter.try_acquire_n(KEY, limit.burst()).is_allowed());
        // While the bucket is not full again nothing is lost, and no more than 1 ns is gained.
        let (mut after, mut admitted) = (0_u64, big(0));
        for jump in jumps {
            let until_full: BigInt = time_of_full(limit, &admitted) - after - 1;
            let jump = (until_full.max(big(0)) * jump) >> 32;
            after = match u64::try_from(big(after) + jump) {
                Ok(after) if after <= THIRTY_YEARS - begin => after,
                _ => break,
            };
            admitted += take_all(&limiter, &ticker, start + begin + after);
            let flowed = |ns: u64| fraction(big(limit.permits()) * ns, limit.period_ns());
            prop_assert!(admitted >= flowed(after).floor().to_integer());
            prop_assert!(fraction(admitted.clone(), 1) <= flowed(after + 1));
            taken.set(taken.get() + u32::from(admitted > big(0)));
        }
        Ok(())
    });
    assert!(taken.get() > 10_000, "{} times", taken.get());
}

#[test]
fn rule_6_the_rate_does_not_drift_in_thirty_years() {
    for rate in everyday_limits() {
        // A burst for a month or more, so that a few hundred jumps make 30 years.
        let burst = u64::try_from(whole_inflow(rate, THIRTY_YEARS / 300)).unwrap() + 1;
        let limit = rate.with_burst(burst.max(rate.burst()));
        let start = 1_764_547_200_000_000_000;
        let (limiter, ticker) = support::built(TokenBucket, limit, start);
        assert!(limiter.try_acquire_n(KEY, limit.burst()).is_allowed());

        let (mut after, mut admitted, mut jumps) = (0, big(0), 0_u64);
        while after < THIRTY_YEARS {
            // From a third of the time until it is full to all of it, at no round number.
            let until_full = time_of_full(limit, &admitted) - after;
            let jump = until_full * (334 + jumps * 7_777 % 667) / 1_000;
            after = u64::try_from(jump + after).unwrap().min(THIRTY_YEARS);
            admitted += take_all(&limiter, &ticker, start + after);
            assert_eq!(
                admitted,
                whole_inflow(limit, after),
                "{limit} after {after} ns"
            );

            let next = limiter.try_acquire(KEY);
            let due = ceil((&admitted + 1) * limit.period_ns(), limit.permits()) - after;
            assert_eq!(
                retry_after(&next).map(big),
                Some(due),
                "{limit} after {after} ns"
            );
            jumps += 1;
        }
        assert!(jumps >= 290, "{limit}: {jumps} jumps");
    }
}

#[test]
fn rule_6_one_a_month_comes_to_the_nanosecond_for_thirty_years() {
    let month = THIRTY_YEARS / 360;
    let limit = crate::numbers::limit(1, month);
    let (limiter, ticker) = support::built(TokenBucket, limit, 1_764_547_200_000_000_000);
    assert!(limiter.try_acquire(KEY).is_allowed());
    for _ in 0..360 {
        assert_eq!(retry_after(&limiter.try_acquire(KEY)), Some(month));
        ticker.advance(support::ns(month - 1));
        assert_eq!(retry_after(&limiter.try_acquire(KEY)), Some(1));
        ticker.advance(support::ns(1));
        assert!(limiter.try_acquire(KEY).is_allowed());
    }
}
