//! Sliding counter: this window's count, and of the last window's as much as still reaches into
//! the period that ends now.

use tollgate::{Decision, Limit};

use super::Account;

#[derive(Clone, Debug)]
pub struct Counter {
    limit: Limit,
    /// The window's number on the ticker's clock.
    index: u64,
    current: u64,
    previous: u64,
}

/// The counts as they are at some time.
struct Counts {
    current: u128,
    previous: u128,
    /// What is left of the window: P − e.
    left: u128,
}

impl Counter {
    pub fn new(limit: Limit) -> Self {
        Self {
            limit,
            index: 0,
            current: 0,
            previous: 0,
        }
    }

    fn period(&self) -> u128 {
        u128::from(self.limit.period_ns())
    }

    /// The counts at this time, or at the start of the account's own window if that is later.
    fn counts(&self, now: u64, wait: u128) -> Counts {
        let begin = u128::from(self.index) * self.period();
        let judged = (u128::from(now) + wait).max(begin);
        let (current, previous) = match judged / self.period() - u128::from(self.index) {
            0 => (self.current, self.previous),
            1 => (0, self.current),
            _ => (0, 0),
        };
        Counts {
            current: current.into(),
            previous: previous.into(),
            left: self.period() - judged % self.period(),
        }
    }

    /// What of the last window still weighs, in whole permits, rounded up.
    fn weight(&self, counts: &Counts) -> u128 {
        (counts.previous * counts.left).div_ceil(self.period())
    }
}

impl Account for Counter {
    fn limit(&self) -> Limit {
        self.limit
    }

    fn judged(&self, now: u64) -> u64 {
        now.max(self.index * self.limit.period_ns())
    }

    fn admits(&self, now: u64, wait: u128, cost: u64) -> bool {
        let counts = self.counts(now, wait);
        let permits = u128::from(self.limit.permits());
        // previous · (P − e) + (current + c) · P ≤ N · P, with what need not be multiplied by P
        // on the other side.
        match permits.checked_sub(counts.current + u128::from(cost)) {
            Some(room) => counts.previous * counts.left <= room * self.period(),
            None => false,
        }
    }

    fn remaining(&self, now: u64) -> u64 {
        let counts = self.counts(now, 0);
        let spent = counts.current + self.weight(&counts);
        let left = u128::from(self.limit.permits()).saturating_sub(spent);
        left.try_into().expect("at most the permits")
    }

    fn is_idle(&self, now: u64, wait: u128) -> bool {
        let counts = self.counts(now, wait);
        // Empty windows to come are not equal to new for the readings before them.
        let begin = u128::from(self.index) * self.period();
        counts.current == 0 && counts.previous == 0 && u128::from(now) + wait >= begin
    }

    fn spend(&mut self, now: u64, cost: u64) {
        let counts = self.counts(now, 0);
        self.index = self.judged(now) / self.limit.period_ns();
        self.current = counts.current as u64 + cost;
        self.previous = counts.previous as u64;
    }

    fn refund(&mut self, _now: u64, spent: &Decision) {
        let index = spent.reading() / self.limit.period_ns();
        if index == self.index {
            self.current = self.current.saturating_sub(spent.cost());
        } else if Some(index) == self.index.checked_sub(1) {
            self.previous = self.previous.saturating_sub(spent.cost());
        }
    }

    fn refreshed(&self, limit: Limit, now: u64) -> Box<dyn Account> {
        let mut counter = Self::new(limit);
        if limit.period_ns() == self.limit.period_ns() {
            counter.index = self.index;
            counter.current = self.current.min(limit.permits());
            counter.previous = self.previous.min(limit.permits());
        } else {
            let counts = self.counts(now, 0);
            let estimate = counts.current + self.weight(&counts);
            counter.index = self.judged(now) / limit.period_ns();
            counter.current = estimate.min(limit.permits().into()) as u64;
        }
        Box::new(counter)
    }

    fn copied(&self) -> Box<dyn Account> {
        Box::new(self.clone())
    }
}
