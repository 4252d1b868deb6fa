//! The token bucket, as the generic cell rate algorithm (GCRA) of ITU-T I.371.
//!
//! A bucket holds B permits and is refilled at N per period. A request takes its permits out, or
//! is denied if there are not enough. Instead of the permits and the time of the last request, the
//! state is one number: the moment `full` at which the bucket would be full again if nobody asked.
//! A permit costs the time that brings one back, and a request is allowed if the bucket would then
//! be full again no later than B permits' time from now:
//!
//! ```text
//! next = max(full, now) + cost · P/N
//! allowed, and full = next, if next − now ≤ B · P/N
//! ```
//!
//! For example 2 per second, both at once. At 0 s a request moves `full` from 0 to 0.5 s and the
//! next one to 1 s. A third would move it to 1.5 s, more than 1 s ahead, and is denied; it would
//! be allowed from 0.5 s on, so that is its `retry_after`.
//!
//! What it gets wrong: a key that was quiet may spend its whole burst and then the refill, so that
//! B + N − 1 requests pass within a little less than one period.
//!
//! Time is counted in fractions of a permit, not in nanoseconds: see [`units`](super::units).

use super::units::{HORIZON, Units};
use super::{OneWord, Reading, single};
use crate::decision::{Decision, Standing};
use crate::error::LimitError;
use crate::limit::Limit;

/// B permits at once, then N per period: the default. The generic cell rate algorithm.
///
/// # Promise
///
/// From full, exactly B at one instant; over any d nanoseconds at most B + N·(d + 1)/P; in the
/// long run N per period, with nothing accumulating over 30 years.
///
/// # Worst case
///
/// B + N − 1 in one period, when a quiet key spends its burst and then each permit as it comes.
/// Whoever needs *never more than N in any period* takes a [`SlidingLog`](crate::SlidingLog), or
/// a bucket whose burst and permits add up to N (50 per minute with a burst of 50, for 100).
///
/// # Linearization point
///
/// The successful compare-exchange of the word; for a denial, the load that it was read from.
/// Lock-free: a check of a key that is present waits for nobody.
///
/// # Origin
///
/// The virtual scheduling form of GCRA in ITU-T Recommendation I.371, which was written for
/// traffic on ATM networks.
///
/// # Errors
///
/// Refuses a limit that it cannot keep for 30 years to the nanosecond: above about 19 permits a
/// nanosecond, or with a burst that takes centuries to fill. A burst of up to 260 years can always be
/// kept at up to 10⁹ permits a second; at 10¹⁰ it is 28 years.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limit, ManualTicker, RateLimiter};
///
/// let limiter = RateLimiter::<u64>::builder(Limit::per_second(5))
///     .ticker(ManualTicker::new(0))
///     .build()?;
/// for left in [4, 3, 2, 1, 0] {
///     assert_eq!(limiter.try_acquire(&1).remaining(), left);
/// }
/// let sixth = limiter.try_acquire(&1);
/// assert_eq!(sixth.retry_after(), Some(Duration::from_millis(200)));
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TokenBucket;

/// [`TokenBucket`] under its other name.
pub type Gcra = TokenBucket;

/// One bucket's limit, ready for the step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Bucket {
    units: Units,
    burst: u64,
    /// The burst in units.
    depth: u64,
}

impl Bucket {
    pub(super) fn new(limit: &Limit) -> Result<Self, LimitError> {
        let units = Units::new(limit)?;
        Ok(Self {
            depth: limit.burst() << units.shift(),
            burst: limit.burst(),
            units,
        })
    }

    #[inline]
    pub(super) fn burst(&self) -> u64 {
        self.burst
    }

    /// How far `full` lies ahead of now, in units: what has been spent and is not yet back.
    #[inline]
    pub(super) fn spent(&self, full: u64, at: Reading) -> u64 {
        full.saturating_sub(self.units.after(at.elapsed()))
    }

    /// `full` after `cost` permits are spent, if there are so many.
    #[inline]
    pub(super) fn spend(&self, full: u64, at: Reading, cost: u64) -> Option<u64> {
        let now = self.units.after(at.elapsed());
        let cost = cost << self.units.shift();
        // Neither side can wrap: a cost is at most the burst, and units of 30 years and a burst
        // fit in a word.
        (full.saturating_sub(now) <= self.depth - cost).then(|| full.max(now) + cost)
    }

    /// `full` after `cost` permits are charged, whether or not there are so many; but no more than
    /// leave the bucket owing one burst.
    pub(super) fn charge(&self, full: u64, at: Reading, cost: u64) -> u64 {
        let now = self.units.after(at.elapsed());
        let most = self.depth.saturating_mul(2);
        let room = most.saturating_sub(full.saturating_sub(now)) >> self.units.shift();
        let charged = cost.min(room) << self.units.shift();
        full.max(now)
            .saturating_add(charged)
            .min(TokenBucket::LARGEST)
    }

    /// Whole permits left, where `spent` is not yet back.
    #[inline]
    pub(super) fn remaining(&self, spent: u64) -> u64 {
        self.depth.saturating_sub(spent) >> self.units.shift()
    }

    #[inline]
    pub(super) fn retry_after(&self, full: u64, at: Reading, cost: u64) -> u64 {
        let cost = cost << self.units.shift();
        self.wait(full.saturating_sub(self.depth - cost), at)
    }

    #[inline]
    pub(super) fn reset_after(&self, full: u64, at: Reading) -> u64 {
        if self.spent(full, at) == 0 {
            return 0;
        }
        self.wait(full, at)
    }

    /// How a bucket stands that would be full again at `full`.
    #[inline]
    pub(super) fn standing(&self, full: u64, at: Reading) -> Standing {
        let remaining = self.remaining(self.spent(full, at));
        Standing {
            remaining,
            next_permit_after: if remaining == self.burst {
                0
            } else {
                self.retry_after(full, at, remaining + 1)
            },
            reset_after: self.reset_after(full, at),
        }
    }

    /// From now until τ reaches `units`, where it has not yet.
    #[inline]
    fn wait(&self, units: u64, at: Reading) -> u64 {
        // Past the horizon τ stands still, and the wait is as at the horizon: never zero.
        let elapsed = at.elapsed().min(HORIZON);
        self.units.time_of(units).saturating_sub(elapsed).max(1)
    }

    #[inline]
    pub(super) fn refund(&self, full: u64, at: Reading, cost: u64) -> u64 {
        let now = self.units.after(at.elapsed());
        if full <= now {
            return full;
        }
        let cost = cost.min(self.burst) << self.units.shift();
        full.saturating_sub(cost).max(now)
    }

    /// `full` under another limit: whole permits owed, rounded up, and at most all of them.
    pub(super) fn convert(&self, full: u64, at: Reading, to: &Self) -> u64 {
        // More can be owed than the bucket holds, by a debt or by a reading from before the last
        // spend: what is owed is then what it holds, and from the time at which that is so.
        let elapsed = match full.checked_sub(self.depth) {
            Some(empty) if self.spent(full, at) > self.depth => self.units.time_of(empty),
            _ => at.elapsed(),
        };
        let spent = full
            .saturating_sub(self.units.after(elapsed))
            .min(self.depth);
        let owed = spent.div_ceil(1 << self.units.shift());
        to.units.after(elapsed) + (owed.min(to.burst) << to.units.shift())
    }
}

impl OneWord for TokenBucket {
    type Rule = Bucket;

    fn rule(&self, limits: &[Limit]) -> Result<Bucket, LimitError> {
        Bucket::new(&single("a token bucket", limits)?)
    }

    #[inline]
    fn capacity(rule: &Bucket) -> u64 {
        rule.burst()
    }

    #[inline]
    fn fresh(_: &Bucket) -> u64 {
        0
    }

    #[inline]
    fn spend(rule: &Bucket, full: u64, at: Reading, cost: u64) -> Option<u64> {
        rule.spend(full, at, cost)
    }

    #[inline]
    fn remaining(rule: &Bucket, full: u64, at: Reading) -> u64 {
        rule.remaining(rule.spent(full, at))
    }

    #[inline]
    fn retry_after(rule: &Bucket, full: u64, at: Reading, cost: u64) -> u64 {
        rule.retry_after(full, at, cost)
    }

    #[inline]
    fn reset_after(rule: &Bucket, full: u64, at: Reading) -> u64 {
        rule.reset_after(full, at)
    }

    fn refund(rule: &Bucket, full: u64, at: Reading, decision: &Decision) -> u64 {
        rule.refund(full, at, decision.spent())
    }

    fn charge(rule: &Bucket, full: u64, at: Reading, cost: u64) -> u64 {
        rule.charge(full, at, cost)
    }

    fn convert(rule: &Bucket, full: u64, at: Reading, to: &Bucket) -> u64 {
        rule.convert(full, at, to)
    }
}
