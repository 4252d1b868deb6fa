//! The sliding counter against its inequality, in integers without bounds.

use std::cell::Cell;

use num_bigint::BigInt;
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{Decision, Limit, ManualTicker, SlidingCounter};

use crate::numbers::{limit, of_any_size};
use crate::plain::big;
use crate::retry_after;
use crate::support::{self, KEY};
use crate::traffic::check;

/// Two windows' counts: of `window` and of the one before it.
#[derive(Clone, Debug)]
struct Plain {
    limit: Limit,
    window: BigInt,
    current: BigInt,
    previous: BigInt,
}

impl Plain {
    fn new(limit: Limit) -> Self {
        Self {
            limit,
            window: big(0),
            current: big(0),
            previous: big(0),
        }
    }

    /// N · P − previous · (P − e) − current · P: what is left at a time, not before the window's
    /// start, in permits times P.
    fn left(&self, time: &BigInt) -> BigInt {
        let period = big(self.limit.period_ns());
        let time = time.max(&(&self.window * &period)).clone();
        let e = &time % &period;
        let (previous, current) = match u64::try_from(time / &period - &self.window) {
            Ok(0) => (self.previous.clone(), self.current.clone()),
            Ok(1) => (self.current.clone(), big(0)),
            _ => (big(0), big(0)),
        };
        self.limit.permits() * &period - previous * (&period - e) - current * &period
    }

    /// previous · (P − e) + (current + c) · P ≤ N · P.
    fn admits(&self, time: &BigInt, cost: u64) -> bool {
        self.left(time) >= big(cost) * self.limit.period_ns()
    }

    /// ⌊… / P⌋, not below 0.
    fn remaining(&self, time: &BigInt) -> BigInt {
        self.left(time).max(big(0)) / self.limit.period_ns()
    }

    fn spend(&mut self, time: &BigInt, cost: u64) {
        let window = time / self.limit.period_ns();
        match u64::try_from(&window - &self.window) {
            Ok(0) => self.current += cost,
            Ok(1) => (self.previous, self.current) = (self.current.clone(), big(cost)),
            _ => (self.previous, self.current) = (big(0), big(cost)),
        }
        self.window = window;
    }

    /// Checks an answer to a request of this cost: the figures, and the wait from its definition,
    /// in both directions. It must be the first time at which the inequality holds, and there is
    /// none before it, since nothing is ever added to what is in sight.
    fn assert_agrees(&self, time: &BigInt, cost: u64, decision: &Decision) {
        let context = || format!("{cost} at {time}: {self:?}");
        let allowed = self.admits(time, cost);
        assert_eq!(decision.is_allowed(), allowed, "{}", context());
        if let Some(wait) = retry_after(decision) {
            assert!(self.admits(&(time + wait), cost), "{}", context());
            assert!(!self.admits(&(time + wait - 1), cost), "{}", context());
            assert_eq!(big(wait), self.search(time, cost), "{}", context());
        }
    }

    /// The smallest wait by bisection: of the inequality alone, and of nothing solved.
    fn search(&self, time: &BigInt, cost: u64) -> BigInt {
        // Two windows on, nothing is left to weigh.
        let (mut low, mut high) = (big(0), big(self.limit.period_ns()) * 3);
        while low < high {
            let middle: BigInt = (&low + &high) >> 1;
            if self.admits(&(time + &middle), cost) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

/// A counter that has spent `previous` in one window and as much of `current` as it may by the
/// end of the next.
fn with_counts(
    limit: Limit,
    window: u64,
    (previous, current): (u64, u64),
) -> (support::Limiter<SlidingCounter>, ManualTicker, Plain) {
    let period = limit.period_ns();
    let (limiter, ticker) = support::built(SlidingCounter, limit, 0);
    let mut plain = Plain::new(limit);
    let mut spend = |time: u64, cost: u64| {
        ticker.set(time);
        let cost = cost.min(limiter.peek(KEY).remaining());
        if cost > 0 {
            assert!(limiter.try_acquire_n(KEY, cost).is_allowed());
            plain.spend(&big(time), cost);
        }
    };
    spend(window * period, previous);
    spend((window + 1) * period + (period - 1), current);
    (limiter, ticker, plain)
}

/// Limits whose fourth window ends within the time that there is.
fn of_short_periods() -> impl Strategy<Value = Limit> {
    (of_any_size(), of_any_size()).prop_map(|(permits, period)| limit(permits, 1 + period / 16))
}

#[test]
fn a_counter_admits_what_the_inequality_says_at_any_counts_and_times() {
    let (allowed, denied) = (Cell::new(0), Cell::new(0));
    let counts = (of_any_size(), of_any_size());
    let requests = vec((any::<u64>(), of_any_size()), 6);
    let cases = (of_short_periods(), 0..4_u64, counts, requests);
    check(3_000, cases, |(limit, window, counts, requests)| {
        let (limiter, ticker, plain) = with_counts(limit, window, counts);
        let period = limit.period_ns();
        for (time, cost) in requests {
            // Anywhere in the window before, in this one or the next two.
            let time = window * period + time % (period * 4);
            ticker.set(time);
            // Any cost, or one that is near what is left.
            let remaining = limiter.peek(KEY).remaining();
            for cost in [cost, remaining, remaining.saturating_add(1)] {
                let cost = (cost.max(1) - 1) % limit.permits() + 1;
                let decision = limiter.peek_n(KEY, cost);
                plain.assert_agrees(&big(time), cost, &decision);
                prop_assert_eq!(big(decision.remaining()), plain.remaining(&big(time)));
                let count = if decision.is_allowed() {
                    &allowed
                } else {
                    &denied
                };
                count.set(count.get() + 1);
            }
        }
        Ok(())
    });
    let (allowed, denied) = (allowed.get(), denied.get());
    assert!(
        allowed > 5_000 && denied > 5_000,
        "{allowed} allowed, {denied} denied"
    );
}

// Where previous · (P − e) is a whole multiple of P the inequality is an equation, which random
// numbers hardly ever meet. With previous = a · g and P = b · g it is one for P − e = b · j.
#[test]
fn a_counter_is_exact_where_both_sides_are_equal_and_1_ns_beside() {
    let equal = Cell::new(0);
    let numbers = (1..1_u64 << 20, 1..1_u64 << 20, 1..1_u64 << 18);
    let cases = (numbers, 0..4_u64, any::<[u64; 2]>());
    check(3_000, cases, |((a, b, g), window, [of_current, of_j])| {
        let (previous, period) = (a * g, b * g);
        let limit = limit(previous + of_current % 4, period);
        let counts = (previous, of_current % previous);
        let (limiter, ticker, plain) = with_counts(limit, window, counts);
        let left = b * (of_j % g + 1);
        let then = (window + 1) * period + (period - left);
        for time in [then - 1, then, then + 1] {
            ticker.set(time);
            let remaining = limiter.peek(KEY).remaining();
            prop_assert_eq!(big(remaining), plain.remaining(&big(time)));
            for cost in [remaining, remaining + 1, remaining + 2] {
                let cost = cost.clamp(1, limit.permits());
                plain.assert_agrees(&big(time), cost, &limiter.peek_n(KEY, cost));
            }
        }
        let rest = plain.left(&big(then)) % period;
        equal.set(equal.get() + u32::from(rest == big(0)));
        Ok(())
    });
    assert!(equal.get() > 2_500, "{} were equal", equal.get());
}

#[test]
fn the_weight_of_the_last_window_is_rounded_up() {
    // 1 permit of the last window weighs a whole one to the last nanosecond of this one.
    let (limiter, ticker, plain) = with_counts(limit(10, 1_000), 0, (1, 0));
    for time in [1_000, 1_001, 1_500, 1_999] {
        ticker.set(time);
        assert_eq!(limiter.peek(KEY).remaining(), 9);
        plain.assert_agrees(&big(time), 10, &limiter.peek_n(KEY, 10));
    }
    ticker.set(2_000);
    assert_eq!(limiter.peek(KEY).remaining(), 10);
}
