//! Fixed window: so many permits in each window, and windows start at multiples of the period.

use tollgate::{Decision, Limit};

use super::{Account, THIRTY_YEARS};

#[derive(Clone, Debug)]
pub struct Window {
    limit: Limit,
    start: u64,
    /// The window's number, counted from the one in which the limiter was built.
    index: u128,
    count: u64,
}

/// A word holds the count, in as many bits as the permits need, and the index in the others. All
/// ones are no index, but a special word.
fn last_index(limit: &Limit) -> i128 {
    let count_bits = u64::BITS - limit.permits().leading_zeros();
    let index_bits = u64::BITS - count_bits;
    (1 << index_bits) - 2
}

pub fn supports(limit: &Limit) -> bool {
    // Building may come at the very end of a window.
    let last = THIRTY_YEARS.div_ceil(u128::from(limit.period_ns())) as i128;
    limit.burst() == limit.permits() && last <= last_index(limit)
}

impl Window {
    pub fn new(limit: Limit, start: u64) -> Self {
        Self {
            limit,
            start,
            index: 0,
            count: 0,
        }
    }

    fn period(&self) -> u128 {
        u128::from(self.limit.period_ns())
    }

    /// The number of the window at this time.
    fn number(&self, now: u64, wait: u128) -> u128 {
        (u128::from(now) + wait) / self.period() - u128::from(self.start) / self.period()
    }

    /// The same, as far as a word can hold it.
    fn index_at(&self, now: u64) -> u128 {
        self.number(now, 0).min(last_index(&self.limit) as u128)
    }

    /// The count in the window at this time, or in the account's own if that is later.
    fn count_at(&self, now: u64, wait: u128) -> u64 {
        // Where the index stands still, a wait is told to the end of the clock's window.
        let judged = self.number(now, 0).max(self.index);
        match self.index_at(now) > self.index || self.number(now, wait) > judged {
            true => 0,
            false => self.count,
        }
    }
}

impl Account for Window {
    fn limit(&self) -> Limit {
        self.limit
    }

    fn judged(&self, now: u64) -> u64 {
        let first = u128::from(self.start) / self.period();
        let begin = (first + self.index) * self.period();
        now.max(begin.try_into().expect("the window of an earlier reading"))
    }

    fn admits(&self, now: u64, wait: u128, cost: u64) -> bool {
        let count = u128::from(self.count_at(now, wait));
        count + u128::from(cost) <= u128::from(self.limit.permits())
    }

    fn remaining(&self, now: u64) -> u64 {
        self.limit.permits() - self.count_at(now, 0)
    }

    fn is_idle(&self, now: u64, wait: u128) -> bool {
        // An empty window to come is not equal to new for the readings before it.
        self.count_at(now, wait) == 0 && self.number(now, wait) >= self.index
    }

    fn spend(&mut self, now: u64, cost: u64) {
        self.count = self.count_at(now, 0) + cost;
        self.index = self.index.max(self.index_at(now));
    }

    fn refund(&mut self, _now: u64, spent: &Decision) {
        if self.index_at(spent.reading()) == self.index {
            self.count = self.count.saturating_sub(spent.cost());
        }
    }

    fn refreshed(&self, limit: Limit, now: u64) -> Box<dyn Account> {
        let mut window = Self::new(limit, self.start);
        if limit.period_ns() == self.limit.period_ns() {
            window.index = self.index.min(last_index(&limit) as u128);
            window.count = self.count.min(limit.permits());
        } else if self.index_at(now) <= self.index {
            window.index = window.index_at(self.judged(now));
            window.count = self.count.min(limit.permits());
        }
        Box::new(window)
    }

    fn copied(&self) -> Box<dyn Account> {
        Box::new(self.clone())
    }
}
