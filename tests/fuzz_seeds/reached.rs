//! What happened while a script was played: a subject that counts, around the oracle.

use std::cell::Cell;
use std::ops::AddAssign;

use tollgate::{Decision, Limit};

use crate::common::subject::{Each, Oracle, Subject};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reached {
    allowed: u32,
    denied: u32,
    never: u32,
    /// Charges after which there was less than before.
    charged: u32,
    /// Refunds after which there was more than before.
    refunded: u32,
    /// Resets of a key that was not as new.
    reset: u32,
    /// Refreshes after which a key answered otherwise than before.
    refreshed: u32,
    evicted: u32,
    /// Requests at an earlier time than one before them.
    late: u32,
}

impl Reached {
    fn counts(&mut self) -> [&mut u32; 9] {
        [
            &mut self.allowed,
            &mut self.denied,
            &mut self.never,
            &mut self.charged,
            &mut self.refunded,
            &mut self.reset,
            &mut self.refreshed,
            &mut self.evicted,
            &mut self.late,
        ]
    }

    pub(crate) fn has_everything(mut self) -> bool {
        self.counts().iter().all(|count| **count > 0)
    }

    /// 1 for everything that happened, however often.
    pub(crate) fn at_all(mut self) -> Self {
        for count in self.counts() {
            *count = (*count).min(1);
        }
        self
    }
}

impl AddAssign for Reached {
    fn add_assign(&mut self, mut other: Self) {
        for (sum, count) in self.counts().into_iter().zip(other.counts()) {
            *sum += *count;
        }
    }
}

/// Counts what happens to the oracle.
pub(crate) struct Counting {
    oracle: Oracle,
    now: u64,
    latest: Cell<u64>,
    reached: Cell<Reached>,
}

impl Counting {
    pub(crate) fn new(oracle: Oracle) -> Self {
        Self {
            oracle,
            now: 0,
            latest: Cell::new(0),
            reached: Cell::default(),
        }
    }

    pub(crate) fn reached(&self) -> Reached {
        self.reached.get()
    }

    fn count(&self, count: impl FnOnce(&mut Reached)) {
        let mut reached = self.reached.get();
        count(&mut reached);
        self.reached.set(reached);
    }

    fn answered(&self, decision: Decision) {
        let is_late = self.now < self.latest.get();
        self.latest.set(self.latest.get().max(self.now));
        self.count(|reached| {
            reached.late += u32::from(is_late);
            if decision.is_allowed() {
                reached.allowed += u32::from(decision.cost() > 0);
            } else if decision.is_never() {
                reached.never += 1;
            } else {
                reached.denied += 1;
            }
        });
    }

    /// Whether a call changes what a key would be answered.
    fn changes(&self, key: u64, call: impl FnOnce()) -> bool {
        let before = self.oracle.peek_n(key, 1);
        call();
        self.oracle.peek_n(key, 1) != before
    }
}

impl Subject for Counting {
    fn name(&self) -> &str {
        self.oracle.name()
    }

    fn set_time(&mut self, now: u64) {
        self.now = now;
        self.oracle.set_time(now);
    }

    fn set_limits(&mut self, limits: &[Limit]) {
        self.oracle.set_limits(limits);
    }

    fn try_acquire_n(&self, key: u64, cost: u64) -> Decision {
        let decision = self.oracle.try_acquire_n(key, cost);
        self.answered(decision);
        decision
    }

    fn peek_n(&self, key: u64, cost: u64) -> Decision {
        self.oracle.peek_n(key, cost)
    }

    fn try_acquire_each(&self, key: u64, cost: u64, room: usize) -> Each {
        let each = self.oracle.try_acquire_each(key, cost, room);
        self.answered(each.whole);
        each
    }

    fn peek_each(&self, key: u64, cost: u64, room: usize) -> Each {
        self.oracle.peek_each(key, cost, room)
    }

    fn charge(&self, key: u64, cost: u64) -> Decision {
        let before = self.oracle.peek_n(key, 0);
        let decision = self.oracle.charge(key, cost);
        let changed = decision.standing() != before.standing();
        self.count(|reached| reached.charged += u32::from(changed));
        decision
    }

    fn refund(&self, key: u64, decision: Decision) {
        let changed = self.changes(key, || self.oracle.refund(key, decision));
        self.count(|reached| reached.refunded += u32::from(changed));
    }

    fn reset(&self, key: u64) {
        let changed = self.changes(key, || self.oracle.reset(key));
        self.count(|reached| reached.reset += u32::from(changed));
    }

    fn refresh(&self, key: u64) {
        let changed = self.changes(key, || self.oracle.refresh(key));
        self.count(|reached| reached.refreshed += u32::from(changed));
    }

    fn refresh_all(&self) {
        let changed = self.changes(0, || self.oracle.refresh_all());
        self.count(|reached| reached.refreshed += u32::from(changed));
    }

    fn evict_idle(&self) -> usize {
        let evicted = self.oracle.evict_idle();
        self.count(|reached| reached.evicted += evicted as u32);
        evicted
    }

    fn tracked_keys(&self) -> Option<usize> {
        self.oracle.tracked_keys()
    }
}
