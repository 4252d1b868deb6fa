//! The sliding log: the time of every permit spent in the last period.
//!
//! A request is allowed if the permits spent in the period that ends now, and its own, are at most
//! N. A permit spent exactly one period ago is out. At 2 per minute, with one spent at 0 s and one
//! at 10 s, a third at 20 s is denied and may come back in 40 s, when the first has gone.
//!
//! What it gets wrong: nothing; it costs memory. A request of any cost is one entry, and requests
//! at the same nanosecond share one, so that a key holds at most N entries, and none that it has
//! not used.
//!
//! # Entries
//!
//! Entries are in the order of time. Each holds its time and how many permits had been spent up to
//! and with it, so that what is in sight is found by bisection and nothing has to be taken out on
//! a denial. Entries go only when a permit is spent.

mod ring;

use super::{Algorithm, Gone, Reading, answer, single_without_burst};
use crate::decision::{Decision, Standing};
use crate::error::LimitError;
use crate::limit::Limit;
use crate::sync::{Mutex, MutexGuard};
use ring::{Layout, Ring};
use std::fmt;
use std::sync::PoisonError;

/// At most N permits in any period, exactly.
///
/// # Promise
///
/// In every interval that is one period long, wherever it begins, at most N.
///
/// # Worst case
///
/// None for what is admitted. Memory grows with use, to at most N entries a key, of 8 bytes (16
/// where a period in nanoseconds and N do not fit in 64 bits together).
///
/// # Linearization point
///
/// The taking of the key's own lock. It is not lock-free: requests for the same key wait for each
/// other. A check costs a bisection of the entries, whatever the cost of the request.
///
/// # Errors
///
/// Refuses a limit with a burst other than its permits.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limit, ManualTicker, RateLimiter, SlidingLog};
///
/// let ticker = ManualTicker::new(0);
/// let limiter = RateLimiter::<u64>::builder(Limit::per_minute(2))
///     .algorithm(SlidingLog)
///     .ticker(ticker.clone())
///     .build()?;
/// assert!(limiter.try_acquire(&1).is_allowed());
/// ticker.advance(Duration::from_secs(10));
/// assert!(limiter.try_acquire(&1).is_allowed());
/// ticker.advance(Duration::from_secs(10));
/// assert_eq!(limiter.try_acquire(&1).retry_after(), Some(Duration::from_secs(40)));
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SlidingLog;

/// The limit, ready for the step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Rule {
    permits: u64,
    period: u64,
    layout: Layout,
}

/// One key's entries, behind a lock of their own.
pub struct Log(Mutex<Entries>);

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

struct Entries {
    ring: Ring,
    /// The latest time at which permits were spent, given back since or not.
    latest: u64,
    gone: Option<Gone>,
}

/// What is in sight at one moment.
struct View {
    /// The reading, or the latest time that the log has recorded.
    judged_at: u64,
    /// The first entry that is in sight.
    first: usize,
    /// Permits spent by the entries in sight.
    used: u64,
}

impl Log {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        // Nothing between locking and unlocking panics but for want of memory.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> Result<MutexGuard<'_, Entries>, Gone> {
        let entries = self.lock();
        match entries.gone {
            None => Ok(entries),
            Some(gone) => Err(gone),
        }
    }
}

impl Rule {
    fn view(&self, entries: &Entries, at: Reading) -> View {
        let ring = &entries.ring;
        let judged_at = at.now().max(entries.latest);
        let first = ring.first_where(|time, _| judged_at - time < self.period);
        View {
            judged_at,
            first,
            used: ring.spent() - ring.spent_before(first),
        }
    }

    /// Nanoseconds until so much has gone out of sight that `cost` fits, where it does not now.
    fn retry_after(&self, ring: &Ring, at: Reading, cost: u64) -> u64 {
        let most = self.permits - cost;
        let last = ring.first_where(|_, spent| ring.spent() - spent <= most);
        self.leaves_after(ring.time(last), at)
    }

    /// Nanoseconds until an entry of `time` is out of sight.
    fn leaves_after(&self, time: u64, at: Reading) -> u64 {
        match at.now().checked_sub(time) {
            Some(age) => self.period.saturating_sub(age),
            None => self.period.saturating_add(time - at.now()),
        }
    }

    fn standing(&self, entries: &Entries, view: &View, at: Reading) -> Standing {
        let ring = &entries.ring;
        let remaining = self.permits - view.used;
        match ring.newest() {
            Some(newest) if view.used > 0 => Standing {
                remaining,
                next_permit_after: self.retry_after(ring, at, remaining + 1),
                reset_after: self.leaves_after(newest, at),
            },
            _ => Standing {
                remaining,
                next_permit_after: 0,
                // Equal to new for earlier readings, too, which only a time to come can be.
                reset_after: entries.latest.saturating_sub(at.now()),
            },
        }
    }
}

impl Algorithm for SlidingLog {
    type Rule = Rule;
    type State = Log;
    type Held = ();

    fn rule(&self, limits: &[Limit]) -> Result<Rule, LimitError> {
        let limit = single_without_burst("a sliding log", limits)?;
        Ok(Rule {
            permits: limit.permits(),
            period: limit.period_ns(),
            layout: Layout::new(limit.permits(), limit.period_ns()),
        })
    }

    #[inline]
    fn capacity(rule: &Rule) -> u64 {
        rule.permits
    }

    fn fresh(rule: &Rule) -> Log {
        Log(Mutex::new(Entries {
            ring: Ring::new(rule.layout),
            latest: 0,
            gone: None,
        }))
    }

    fn try_acquire(rule: &Rule, state: &Log, at: Reading, cost: u64) -> Result<Decision, Gone> {
        let mut entries = state.live()?;
        let mut view = rule.view(&entries, at);
        if rule.permits - view.used < cost {
            let retry_after = rule.retry_after(&entries.ring, at, cost);
            let standing = rule.standing(&entries, &view, at);
            return Ok(answer(Some(retry_after), cost, view.judged_at, standing));
        }
        entries.ring.forget(view.first);
        entries.ring.push(view.judged_at, cost);
        entries.latest = view.judged_at;
        view.used += cost;
        let standing = rule.standing(&entries, &view, at);
        Ok(answer(Some(0), cost, view.judged_at, standing))
    }

    fn peek(rule: &Rule, state: &Log, at: Reading, cost: u64) -> Result<Decision, Gone> {
        let entries = state.live()?;
        let view = rule.view(&entries, at);
        let retry_after = if cost > rule.permits {
            None
        } else if cost <= rule.permits - view.used {
            Some(0)
        } else {
            Some(rule.retry_after(&entries.ring, at, cost))
        };
        let standing = rule.standing(&entries, &view, at);
        Ok(answer(retry_after, cost, view.judged_at, standing))
    }

    fn refund(_: &Rule, state: &Log, _: Reading, decision: &Decision) -> Result<(), Gone> {
        let ring = &mut state.live()?.ring;
        ring.take_back(decision.reading(), decision.spent());
        Ok(())
    }

    fn clear(rule: &Rule, state: &Log) {
        let mut entries = state.lock();
        entries.ring = Ring::new(rule.layout);
        entries.latest = 0;
    }

    fn retire_if_idle(rule: &Rule, state: &Log, at: Reading) -> bool {
        let Ok(mut entries) = state.live() else {
            return false;
        };
        let idle = rule.view(&entries, at).used == 0 && entries.latest <= at.now();
        if idle {
            entries.gone = Some(Gone::Retired);
        }
        idle
    }

    fn retire(state: &Log) -> Result<(), Gone> {
        state.live()?.gone = Some(Gone::Retired);
        Ok(())
    }

    fn is_retired(state: &Log) -> bool {
        state.lock().gone == Some(Gone::Retired)
    }

    fn hold(state: &Log) -> Result<(), Gone> {
        state.live()?.gone = Some(Gone::Moving);
        Ok(())
    }

    fn release(state: &Log, (): ()) {
        state.lock().gone = None;
    }

    fn moved(rule: &Rule, state: &Log, (): (), at: Reading, to: &Rule) -> Log {
        let entries = state.lock();
        let view = rule.view(&entries, at);
        let kept = entries
            .ring
            .first_where(|time, _| view.judged_at - time < rule.period.min(to.period));
        let ring = entries.ring.newest_from(kept, to.permits, to.layout);
        Log(Mutex::new(Entries {
            ring,
            latest: entries.latest,
            gone: None,
        }))
    }
}
