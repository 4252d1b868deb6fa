//! The token bucket's promises about numbers, against exact fractions.
//!
//! With N permits in P nanoseconds, N · d / P permits flow in during d nanoseconds. Wherever a
//! fraction is compared here, both sides are multiplied by P: all is whole numbers in `u128`.

#[path = "common/config.rs"]
mod config;
#[path = "arithmetic/numbers.rs"]
mod numbers;

use std::time::Duration;

use config::config;
use numbers::{
    DAY, S, THIRTY_YEARS, after_the_start, any_cost, any_limit, any_time, everyday_limits, limit,
    limits, of_any_size, starts,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate::{
    Algorithm, AnyAlgorithm, Decision, Limit, ManualTicker, RateLimiter, TokenBucket, Verdict,
};

const KEY: u64 = 7;

type Limiter<A = TokenBucket> = RateLimiter<u64, A, ManualTicker>;

/// A limiter that was built at `start`, and its clock.
fn built_at(start: u64, limit: Limit) -> (Limiter, ManualTicker) {
    let ticker = ManualTicker::new(start);
    let limiter = RateLimiter::builder(limit).ticker(ticker.clone()).build();
    (limiter.unwrap(), ticker)
}

/// Permits that flow in during so many nanoseconds, times the period.
fn inflow(limit: Limit, ns: u64) -> u128 {
    u128::from(limit.permits()) * u128::from(ns)
}

/// Whole permits that have flowed in.
fn whole_inflow(limit: Limit, ns: u64) -> u128 {
    inflow(limit, ns) / u128::from(limit.period_ns())
}

/// Nanoseconds that so many permits take to flow in, rounded up.
fn time_of(limit: Limit, permits: u128) -> u128 {
    (permits * u128::from(limit.period_ns())).div_ceil(u128::from(limit.permits()))
}

/// When a bucket is full again that was empty at first and from which so many permits have been
/// taken since, rounded down.
fn time_of_full(limit: Limit, taken: u128) -> u128 {
    let permits = u128::from(limit.burst()) + taken;
    permits * u128::from(limit.period_ns()) / u128::from(limit.permits())
}

fn retry_after(decision: &Decision) -> Option<u64> {
    match decision.verdict() {
        Verdict::Denied { retry_after } => Some(retry_after.as_nanos() as u64),
        Verdict::Allowed | Verdict::Never => None,
    }
}

proptest! {
    #![proptest_config(config(2_000))]

    // Rule 4.

    #[test]
    fn a_wait_is_the_exact_fraction_rounded_up(
        limit in limits(),
        start in starts(),
        times in vec(after_the_start(), 1..8),
        cost in of_any_size(),
    ) {
        let (limiter, ticker) = built_at(start, limit);
        let cost = cost % limit.burst() + 1;
        prop_assert!(limiter.try_acquire_n(&KEY, limit.burst()).is_allowed());
        for after in times {
            ticker.set(start + after);
            let decision = limiter.peek_n(&KEY, cost);
            let there = whole_inflow(limit, after).min(u128::from(limit.burst()));
            prop_assert_eq!(u128::from(decision.remaining()), there);
            prop_assert_eq!(decision.is_allowed(), u128::from(cost) <= there);
            match retry_after(&decision) {
                None => prop_assert!(decision.is_allowed()),
                Some(wait) => {
                    let due = time_of(limit, u128::from(cost));
                    prop_assert_eq!(u128::from(wait), due - u128::from(after));
                }
            }
        }
    }

    // Rule 5.

    #[test]
    fn a_clock_that_steps_back_mints_nothing(
        limit in limits(),
        start in starts(),
        scale in 0..64u32,
        steps in vec((any::<u64>(), 1..8u64), 1..60),
    ) {
        let (limiter, ticker) = built_at(start, limit);
        let (mut first, mut last) = (u64::MAX, 0);
        let mut admitted = 0;
        for (time, share) in steps {
            let after = (time >> scale) % THIRTY_YEARS;
            ticker.set(start + after);
            let cost = (limit.burst() / share).max(1);
            if limiter.try_acquire_n(&KEY, cost).is_allowed() {
                admitted += u128::from(cost);
                (first, last) = (after.min(first), after.max(last));
            }
        }
        prop_assert!(keeps_to(limit, admitted, last - first), "{} in {}", admitted, last - first);
    }

    #[test]
    fn a_clock_that_caught_up_again_finds_all_but_what_was_spent(
        limit in limits(),
        start in starts(),
        times in vec(after_the_start(), 2..20),
        spent in any::<u64>(),
    ) {
        let (limiter, ticker) = built_at(start, limit);
        let latest = *times.iter().max().unwrap();
        ticker.set(start + latest);
        let before = limiter.try_acquire_n(&KEY, spent % limit.burst() + 1).remaining();

        let mut admitted = 0;
        for after in times {
            ticker.set(start + after);
            admitted += u64::from(limiter.try_acquire(&KEY).is_allowed());
        }
        ticker.set(start + latest);
        let now = limiter.peek(&KEY).remaining();
        prop_assert_eq!(now, before - admitted);
    }

    // Rule 6.

    #[test]
    fn over_any_interval_at_most_the_burst_and_the_inflow_is_admitted(
        limit in limits(),
        start in starts(),
        scale in 4..64u32,
        steps in vec((any::<u64>(), any::<u64>()), 1..60),
    ) {
        let (limiter, ticker) = built_at(start, limit);
        let mut after: u64 = 0;
        let mut admissions = Vec::new();
        for (step, cost) in steps {
            // Sometimes at once, sometimes later, and often just when there is one permit more.
            let wait = match step % 4 {
                0 => 0,
                1 | 2 => limiter.peek(&KEY).standing().next_permit_after,
                _ => step >> scale,
            };
            after = after.saturating_add(wait).min(THIRTY_YEARS);
            ticker.set(start + after);
            // What is there, or any cost up to the burst.
            let there = limiter.peek(&KEY).remaining();
            let cost = if cost % 4 == 0 { cost % limit.burst() + 1 } else { there };
            if limiter.try_acquire_n(&KEY, cost).is_allowed() {
                admissions.push((after, u128::from(cost)));
            }
        }
        for (position, &(from, _)) in admissions.iter().enumerate() {
            let mut admitted = 0;
            for &(to, cost) in &admissions[position..] {
                admitted += cost;
                prop_assert!(keeps_to(limit, admitted, to - from), "from {} to {}", from, to);
            }
        }
    }

    #[test]
    fn from_full_at_one_instant_exactly_the_burst_is_admitted(
        limit in limits(),
        start in starts(),
        after in after_the_start(),
        costs in vec(of_any_size(), 0..20),
    ) {
        let (limiter, ticker) = built_at(start, limit);
        ticker.set(start + after);
        let mut left = limit.burst();
        for cost in costs {
            let decision = limiter.try_acquire_n(&KEY, cost);
            prop_assert_eq!(decision.is_allowed(), cost <= left);
            if decision.is_allowed() {
                left -= cost;
            }
            prop_assert_eq!(decision.remaining(), left);
        }
        prop_assert!(limiter.try_acquire_n(&KEY, left).is_allowed());
        prop_assert!(limiter.try_acquire(&KEY).is_denied());
    }

    #[test]
    fn the_rate_does_not_drift_from_wherever_it_begins(
        limit in prop_oneof![limits(), select(everyday_limits())],
        start in starts(),
        begin in after_the_start(),
        jumps in vec(1..=1u64 << 32, 1..60),
    ) {
        let (limiter, ticker) = built_at(start, limit);
        ticker.set(start + begin);
        prop_assert!(limiter.try_acquire_n(&KEY, limit.burst()).is_allowed());
        // While the bucket is not full again nothing is lost, and no more than 1 ns is gained.
        let (mut after, mut admitted) = (0, 0);
        for jump in jumps {
            let until_full = time_of_full(limit, admitted).saturating_sub(1 + u128::from(after));
            after += ((u128::from(jump) * until_full) >> 32) as u64;
            if begin + after > THIRTY_YEARS {
                break;
            }
            admitted += take_all(&limiter, &ticker, start + begin + after);
            prop_assert!(admitted >= whole_inflow(limit, after));
            prop_assert!(admitted <= whole_inflow(limit, after + 1));
        }
    }

    // Rule 9.

    #[test]
    fn no_accepted_limit_time_or_cost_panics(
        algorithm in select(AnyAlgorithm::ALL.to_vec()),
        limits in vec(any_limit(), 1..6),
        start in any_time(),
        steps in vec((any_time(), any_cost(), 0..8u8), 1..60),
    ) {
        let limits = if algorithm == AnyAlgorithm::AllOf { &limits[..] } else { &limits[..1] };
        let ticker = ManualTicker::new(start);
        let built = RateLimiter::<u64>::builder(limits)
            .algorithm(algorithm)
            .ticker(ticker.clone())
            .build();
        let Ok(limiter): Result<Limiter<AnyAlgorithm>, _> = built else {
            return Ok(());
        };
        let capacity = limits.iter().map(Limit::burst).min().unwrap();
        let mut last = None;
        for (time, cost, call) in steps {
            ticker.set(time);
            let decision = match (call, last) {
                (0, _) => limiter.peek_n(&KEY, cost),
                (1, Some(last)) => {
                    limiter.refund(&KEY, last);
                    limiter.peek(&KEY)
                }
                (2, _) => {
                    limiter.evict_idle();
                    limiter.peek(&KEY)
                }
                (3, _) => limiter.try_acquire(&KEY),
                _ => limiter.try_acquire_n(&KEY, cost),
            };
            prop_assert!(decision.remaining() <= capacity);
            prop_assert_eq!(decision.is_never(), decision.cost() > capacity);
            prop_assert_ne!(retry_after(&decision), Some(0));
            prop_assert!(decision.reading() >= start);
            last = Some(decision);
        }
    }
}

/// Whether so many permits over so many nanoseconds are at most B + N · (d + 1) / P.
fn keeps_to(limit: Limit, admitted: u128, ns: u64) -> bool {
    let over = admitted.saturating_sub(u128::from(limit.burst()));
    over * u128::from(limit.period_ns()) <= inflow(limit, ns + 1)
}

/// Takes whatever is there; returns how much that was.
fn take_all(limiter: &Limiter, ticker: &ManualTicker, now: u64) -> u128 {
    ticker.set(now);
    let there = limiter.peek(&KEY).remaining();
    let decision = limiter.try_acquire_n(&KEY, there);
    assert!(decision.is_allowed() && decision.remaining() == 0);
    u128::from(there)
}

#[test]
fn the_rate_does_not_drift_in_thirty_years() {
    for rate in everyday_limits() {
        // A burst for a month or more, so that a few hundred jumps make 30 years.
        let burst = whole_inflow(rate, THIRTY_YEARS / 300) as u64 + 1;
        let limit = rate.with_burst(burst.max(rate.burst()));
        let start = 1_764_547_200 * S;
        let (limiter, ticker) = built_at(start, limit);
        assert!(limiter.try_acquire_n(&KEY, limit.burst()).is_allowed());

        let (mut after, mut admitted, mut jumps) = (0, 0, 0);
        while after < THIRTY_YEARS {
            // From a third of the time until it is full to all of it, at no round number.
            let until_full = time_of_full(limit, admitted) as u64 - after;
            let thousandths = 334 + jumps * 7_777 % 667;
            let jump = (u128::from(until_full) * thousandths / 1_000) as u64;
            after = (after + jump).min(THIRTY_YEARS);
            admitted += take_all(&limiter, &ticker, start + after);
            assert_eq!(
                admitted,
                whole_inflow(limit, after),
                "{limit} after {after} ns"
            );

            let next = limiter.try_acquire(&KEY);
            let due = time_of(limit, admitted + 1) - u128::from(after);
            assert_eq!(
                retry_after(&next).map(u128::from),
                Some(due),
                "{limit} after {after} ns"
            );
            jumps += 1;
        }
        assert!(jumps >= 290, "{limit}: {jumps} jumps");
    }
}

#[test]
fn one_a_month_comes_to_the_nanosecond_for_thirty_years() {
    let month = THIRTY_YEARS / 360;
    let (limiter, ticker) = built_at(1_764_547_200 * S, limit(1, month));
    assert!(limiter.try_acquire(&KEY).is_allowed());
    for _ in 0..360 {
        assert_eq!(retry_after(&limiter.try_acquire(&KEY)), Some(month));
        ticker.advance(Duration::from_nanos(month - 1));
        assert_eq!(retry_after(&limiter.try_acquire(&KEY)), Some(1));
        ticker.advance(Duration::from_nanos(1));
        assert!(limiter.try_acquire(&KEY).is_allowed());
    }
}

#[test]
fn a_bucket_that_no_thirty_years_can_be_counted_for_is_refused() {
    let refused = |limit: Limit| TokenBucket.plan(limit).unwrap_err().to_string();
    // 2⁶⁴ permits and more in 30 years.
    refused(limit(20_000_000_000, S));
    refused(limit(1, 30 * DAY).with_burst(u64::MAX - 1));
    // The burst takes centuries, so that a nanosecond of it is less than can be counted.
    refused(limit(1, DAY).with_burst(300_000));
}
