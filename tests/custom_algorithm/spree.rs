//! A spree of so many requests, then a rest: an algorithm in one word of its own layout.
//!
//! A key may spend N permits as fast as it likes. Once it has been quiet for one period, counted
//! from its last request, it may spend N again. Whoever keeps spending is never given more.

use tollgate::{Decision, Limit, LimitError, OneWord, Reading};

/// N permits, then a rest of one period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spree;

/// | bits of the word | what |
/// |---|---|
/// | the lowest 16 | permits spent in this spree |
/// | the upper 48 | the microsecond after the building in which the key spent last |
const COUNT_BITS: u32 = 16;
const MOST: u64 = (1 << COUNT_BITS) - 1;
const MICROSECOND: u64 = 1_000;
/// The largest word's upper half stays below all ones, which are the crate's.
const LAST_TIME: u64 = (1 << 48) - 2;

#[derive(Debug, PartialEq)]
pub(crate) struct Rule {
    permits: u64,
    /// In microseconds, rounded up.
    rest: u64,
}

fn unpack(word: u64) -> (u64, u64) {
    (word >> COUNT_BITS, word & MOST)
}

fn pack(time: u64, count: u64) -> u64 {
    (time << COUNT_BITS) | count
}

fn microseconds(at: Reading) -> u64 {
    at.elapsed().div_ceil(MICROSECOND).min(LAST_TIME)
}

impl Rule {
    /// Nanoseconds from now until the spree is forgotten.
    fn rest_after(&self, word: u64, at: Reading) -> u64 {
        let (time, count) = unpack(word);
        if count == 0 {
            return 0;
        }
        let over = time.saturating_add(self.rest).saturating_mul(MICROSECOND);
        over.saturating_sub(at.elapsed())
    }

    fn spent(&self, word: u64, at: Reading) -> u64 {
        match self.rest_after(word, at) {
            0 => 0,
            _ => unpack(word).1,
        }
    }
}

impl OneWord for Spree {
    type Rule = Rule;

    fn rule(&self, limits: &[Limit]) -> Result<Rule, LimitError> {
        let [limit] = limits else {
            return Err(LimitError::Refused("a spree takes one limit".into()));
        };
        if limit.permits() > MOST {
            let permits = limit.permits();
            let why = format!("a spree is of at most {MOST} permits, not {permits}");
            return Err(LimitError::Refused(why));
        }
        Ok(Rule {
            permits: limit.permits(),
            rest: limit.period_ns().div_ceil(MICROSECOND),
        })
    }

    fn capacity(rule: &Rule) -> u64 {
        rule.permits
    }

    fn fresh(_: &Rule) -> u64 {
        0
    }

    fn spend(rule: &Rule, word: u64, at: Reading, cost: u64) -> Option<u64> {
        let count = rule.spent(word, at) + cost;
        let (time, _) = unpack(word);
        (count <= rule.permits).then(|| pack(microseconds(at).max(time), count))
    }

    fn remaining(rule: &Rule, word: u64, at: Reading) -> u64 {
        rule.permits - rule.spent(word, at).min(rule.permits)
    }

    fn retry_after(rule: &Rule, word: u64, at: Reading, _: u64) -> u64 {
        rule.rest_after(word, at)
    }

    fn reset_after(rule: &Rule, word: u64, at: Reading) -> u64 {
        rule.rest_after(word, at)
    }

    fn refund(_: &Rule, word: u64, _: Reading, decision: &Decision) -> u64 {
        let (time, count) = unpack(word);
        pack(time, count.saturating_sub(decision.cost()))
    }

    fn convert(_: &Rule, word: u64, _: Reading, to: &Rule) -> u64 {
        let (time, count) = unpack(word);
        pack(time, count.min(to.permits))
    }
}

/// The same with fields, for times of whole nanoseconds after `START`.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    limit: Limit,
    spent: u64,
    last: u64,
}

/// When the limiter of the test is built.
const START: u64 = 4_000_000_000;

impl Model {
    pub(crate) fn new(limit: Limit) -> Self {
        Self {
            limit,
            spent: 0,
            last: 0,
        }
    }

    /// How long from now until the rest is over.
    pub(crate) fn quiet_after(&self, now: u64) -> u64 {
        if self.spent == 0 {
            return 0;
        }
        (self.last + self.limit.period_ns()).saturating_sub(now)
    }

    pub(crate) fn left(&self, now: u64) -> u64 {
        if self.quiet_after(now) == 0 {
            return self.limit.permits();
        }
        self.limit.permits() - self.spent
    }

    /// Spends, or tells how long to wait; `None` is for ever.
    pub(crate) fn spend(&mut self, now: u64, cost: u64) -> Result<(), Option<u64>> {
        if cost > self.limit.permits() {
            return Err(None);
        }
        let left = self.left(now);
        if cost > left {
            return Err(Some(self.quiet_after(now)));
        }
        self.spent = self.limit.permits() - left + cost;
        // The microsecond in which it was, rounded up.
        self.last = START + (now - START).div_ceil(1_000) * 1_000;
        Ok(())
    }

    pub(crate) fn refund(&mut self, cost: u64) {
        self.spent = self.spent.saturating_sub(cost);
    }

    pub(crate) fn change(&mut self, limit: Limit) {
        self.spent = self.spent.min(limit.permits());
        self.limit = limit;
    }
}
