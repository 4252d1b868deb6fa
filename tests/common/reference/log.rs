//! Sliding log: so many permits in any period. A permit that is exactly one period old is out.

use tollgate::{Decision, Limit};

use super::Account;

#[derive(Clone, Debug)]
pub struct Log {
    limit: Limit,
    /// When how many permits were spent, oldest first.
    entries: Vec<(u64, u64)>,
    /// The latest time at which permits were spent, given back since or not.
    latest: u64,
}

impl Log {
    pub fn new(limit: Limit) -> Self {
        Self {
            limit,
            entries: Vec::new(),
            latest: 0,
        }
    }

    /// The permits spent in the period that ends at this time, or at the latest spend if that is
    /// later.
    fn spent_at(&self, now: u64, wait: u128) -> u128 {
        let judged = (u128::from(now) + wait).max(u128::from(self.latest));
        let period = self.limit.period_ns();
        self.entries
            .iter()
            .filter(|(time, _)| is_younger(*time, judged, period))
            .map(|(_, permits)| u128::from(*permits))
            .sum()
    }

    fn drop_older(&mut self, judged: u64, period: u64) {
        self.entries
            .retain(|(time, _)| is_younger(*time, u128::from(judged), period));
    }
}

fn is_younger(time: u64, judged: u128, period: u64) -> bool {
    u128::from(time) + u128::from(period) > judged
}

impl Account for Log {
    fn limit(&self) -> Limit {
        self.limit
    }

    fn judged(&self, now: u64) -> u64 {
        now.max(self.latest)
    }

    fn admits(&self, now: u64, wait: u128, cost: u64) -> bool {
        self.spent_at(now, wait) + u128::from(cost) <= u128::from(self.limit.permits())
    }

    fn remaining(&self, now: u64) -> u64 {
        let left = u128::from(self.limit.permits()) - self.spent_at(now, 0);
        left.try_into().expect("at most the permits")
    }

    fn is_idle(&self, now: u64, wait: u128) -> bool {
        // Equal to new for earlier readings, too, which only a time to come can be.
        self.spent_at(now, wait) == 0 && u128::from(now) + wait >= u128::from(self.latest)
    }

    fn spend(&mut self, now: u64, cost: u64) {
        let judged = self.judged(now);
        self.drop_older(judged, self.limit.period_ns());
        self.entries.push((judged, cost));
        self.latest = judged;
    }

    fn refund(&mut self, _now: u64, spent: &Decision) {
        let mut owed = spent.cost();
        for (time, permits) in self.entries.iter_mut().rev() {
            if *time <= spent.reading() {
                let back = owed.min(*permits);
                *permits -= back;
                owed -= back;
            }
        }
        self.entries.retain(|(_, permits)| *permits > 0);
    }

    fn refreshed(&self, limit: Limit, now: u64) -> Box<dyn Account> {
        let mut log = self.clone();
        log.limit = limit;
        log.drop_older(self.judged(now), self.limit.period_ns());
        log.drop_older(self.judged(now), limit.period_ns());

        let mut room = limit.permits();
        for (_, permits) in log.entries.iter_mut().rev() {
            *permits = room.min(*permits);
            room -= *permits;
        }
        log.entries.retain(|(_, permits)| *permits > 0);
        Box::new(log)
    }

    fn copied(&self) -> Box<dyn Account> {
        Box::new(self.clone())
    }
}
