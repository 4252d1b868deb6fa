//! The fixed window against its definition, in integers without bounds.

use num_bigint::BigInt;
use proptest::prelude::*;
use tollgate::{AnyAlgorithm, Decision, FixedWindow, Limit};

use crate::numbers::starts;
use crate::plain::big;
use crate::retry_after;
use crate::support::{self, KEY, MINUTE};
use crate::traffic::{Tally, back_and_forth, built, check, cost_within, horizon, kept, requests};

/// The count of one window, numbered from the clock's zero.
struct Plain {
    limit: Limit,
    window: BigInt,
    count: BigInt,
}

impl Plain {
    fn new(limit: Limit, start: u64) -> Self {
        Self {
            limit,
            window: big(start) / limit.period_ns(),
            count: big(0),
        }
    }

    /// The window in which a time is judged, and what has been spent in it.
    fn judged(&self, time: &BigInt) -> (BigInt, BigInt) {
        let window = time / self.limit.period_ns();
        if window > self.window {
            (window, big(0))
        } else {
            (self.window.clone(), self.count.clone())
        }
    }

    /// count + c ≤ N.
    fn admits(&self, time: &BigInt, cost: u64) -> bool {
        self.judged(time).1 + cost <= big(self.limit.permits())
    }

    fn spend(&mut self, time: &BigInt, cost: u64) {
        let (window, count) = self.judged(time);
        (self.window, self.count) = (window, count + cost);
    }

    /// Only in the same window.
    fn refund(&mut self, spent: &Decision) {
        if big(spent.reading()) / self.limit.period_ns() == self.window {
            self.count -= spent.cost();
        }
    }

    /// What a decision at this time is to say of the time to come.
    fn assert_says(&self, time: &BigInt, decision: &Decision) {
        let (window, count) = self.judged(time);
        let next_window: BigInt = (window.clone() + 1) * self.limit.period_ns() - time;
        let standing = decision.standing();
        assert_eq!(big(standing.remaining), self.limit.permits() - &count);
        let (next, reset) = if count > big(0) {
            (next_window.clone(), next_window.clone())
        } else {
            // Nothing is owed, but in a window to come.
            (big(0), (window * self.limit.period_ns() - time).max(big(0)))
        };
        assert_eq!(big(standing.next_permit_after), told(next));
        assert_eq!(big(standing.reset_after), told(reset));
        if let Some(wait) = retry_after(decision) {
            assert_eq!(big(wait), told(next_window).min(big(u64::MAX - 1)));
        }
    }
}

/// As much as a decision can tell.
fn told(wait: BigInt) -> BigInt {
    wait.min(big(u64::MAX))
}

#[test]
fn a_window_admits_what_the_inequality_says_and_waits_for_the_next_one() {
    let (denied, given_back) = (Tally::default(), Tally::default());
    let of_windows = kept().prop_filter("a fixed window", |(algorithm, _)| {
        *algorithm == AnyAlgorithm::FixedWindow
    });
    let cases = (of_windows, starts(), requests(back_and_forth()));
    check(2_000, cases, |((algorithm, limits), start, requests)| {
        let (limiter, ticker) = built(algorithm, &limits, start);
        let mut plain = Plain::new(limits[0], start);
        let (mut now, mut last) = (start, None);
        for (when, number) in requests {
            let cost = cost_within(number, limits[0].permits());
            now = when.after(now, &limiter, cost).clamp(start, horizon(start));
            ticker.set(now);
            let time = big(now);
            let decision = limiter.try_acquire_n(KEY, cost);
            prop_assert_eq!(decision.is_allowed(), plain.admits(&time, cost));
            if decision.is_allowed() {
                plain.spend(&time, cost);
                last = Some(decision);
            }
            plain.assert_says(&time, &decision);
            // Given back now and then, and seen from a window before.
            if number & 3 << 30 == 0
                && let Some(spent) = last.take()
            {
                limiter.refund(KEY, spent);
                plain.refund(&spent);
                let before = now.saturating_sub(limits[0].period_ns()).max(start);
                ticker.set(before);
                plain.assert_says(&big(before), &limiter.peek(KEY));
                given_back.count(algorithm, 1);
                continue;
            }
            if let Some(wait) = retry_after(&decision) {
                // The definition: the first time at which the inequality holds.
                if wait < u64::MAX - 1 {
                    prop_assert!(plain.admits(&(&time + wait), cost));
                }
                prop_assert!(!plain.admits(&(&time + wait - 1), cost));
                denied.count(algorithm, 1);
            }
        }
        Ok(())
    });
    denied.has(AnyAlgorithm::FixedWindow, 2_000);
    given_back.has(AnyAlgorithm::FixedWindow, 1_000);
}

#[test]
fn the_last_nanosecond_of_a_window_is_its_own_and_the_next_one_the_next_window_s() {
    for start in [0, 1, MINUTE - 1, MINUTE, 1_764_547_200_000_000_000] {
        let limit = support::limit("100/min");
        let (limiter, ticker) = support::built(FixedWindow, limit, start);
        let mut plain = Plain::new(limit, start);
        for window in start / MINUTE..start / MINUTE + 5 {
            for time in [0, 1, MINUTE / 2, MINUTE - 1] {
                let time = (window * MINUTE + time).max(start);
                ticker.set(time);
                for cost in [60, 41, 40, 1] {
                    let decision = limiter.try_acquire_n(KEY, cost);
                    assert_eq!(decision.is_allowed(), plain.admits(&big(time), cost));
                    if decision.is_allowed() {
                        plain.spend(&big(time), cost);
                    }
                    plain.assert_says(&big(time), &decision);
                }
            }
        }
    }
}
