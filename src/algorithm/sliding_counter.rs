//! The sliding counter: two windows' counts, the older weighed by how much of it is still in
//! sight.
//!
//! Time is cut into windows as for the [fixed window](super::fixed_window). The state holds the
//! current window's count and the one before. At e nanoseconds into the window, the permits spent
//! in the last period are estimated as if the previous window's had been spread evenly:
//!
//! ```text
//! allowed if  previous · (P − e) + (current + cost) · P  ≤  N · P
//! ```
//!
//! For example 60 per minute, 60 spent in the last minute, 12 s into this one: 48 of them count
//! still, so that 12 more fit. A 13th fits a second later.
//!
//! What it gets wrong: traffic is not even. A burst at the end of a window counts for less and
//! less from the next window's start, although all of it lies within the last period: one client
//! that tries all the time is allowed 149 requests in one minute at 100 per minute.

use super::divider::Divider;
use super::seqlock::{SeqLock, Version, get, set};
use super::{Algorithm, Gone, Reading, answer, single_without_burst};
use crate::decision::{Decision, Standing};
use crate::error::LimitError;
use crate::limit::Limit;
use crate::sync::atomic::AtomicU64;
use std::fmt;

/// About N permits in any period, estimated from the counts of two windows.
///
/// # Promise
///
/// Never more than N in one window of the ticker's clock, and about N in any period if traffic is
/// even.
///
/// # Worst case
///
/// On bursts it approaches 2N − 1 in one period; one client that tries every 10 ms at 100 per
/// minute is allowed 149 in one minute.
///
/// # Linearization point
///
/// The compare-exchange of the version that begins the write; for a denial, the last load of the
/// version. It is not lock-free: a thread that is descheduled while it writes delays everyone on
/// that key, who spin and then yield.
///
/// # Origin
///
/// Known from the engineering notes of content delivery networks as the approximated sliding
/// window.
///
/// # Errors
///
/// Refuses a limit with a burst other than its permits.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limit, ManualTicker, RateLimiter, SlidingCounter};
///
/// let ticker = ManualTicker::new(0);
/// let limiter = RateLimiter::<u64>::builder(Limit::per_minute(60))
///     .algorithm(SlidingCounter)
///     .ticker(ticker.clone())
///     .build()?;
/// assert!(limiter.try_acquire_n(&1, 60).is_allowed());
/// ticker.advance(Duration::from_secs(72));
/// assert_eq!(limiter.try_acquire_n(&1, 12).remaining(), 0);
/// assert_eq!(limiter.try_acquire(&1).retry_after(), Some(Duration::from_secs(1)));
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SlidingCounter;

/// The limit, ready for the step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Rule {
    permits: u64,
    period: Divider,
}

/// One key's counts.
pub struct Counts(SeqLock<Words>);

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counts").finish_non_exhaustive()
    }
}

struct Words {
    /// The number of the current window, counted from the ticker's zero.
    window: AtomicU64,
    current: AtomicU64,
    previous: AtomicU64,
}

/// The counts as they stand at one moment, rolled forward to the window that runs then.
#[derive(Clone, Copy)]
struct View {
    /// The window that was found in the state, and the one that runs.
    recorded: u64,
    window: u64,
    current: u64,
    previous: u64,
    /// Nanoseconds since the window's start at the time that is judged.
    elapsed: u64,
    /// Nanoseconds from the reading to the time that is judged: not zero when the reading is older
    /// than the state.
    behind: u64,
}

impl Words {
    fn new(window: u64, current: u64, previous: u64) -> Self {
        Self {
            window: AtomicU64::new(window),
            current: AtomicU64::new(current),
            previous: AtomicU64::new(previous),
        }
    }

    #[inline]
    fn view(&self, rule: &Rule, at: Reading) -> View {
        let (recorded, current) = (get(&self.window), get(&self.current));
        let (now, elapsed) = rule.period.divide(at.now());
        let (window, current, previous) = match now.checked_sub(recorded) {
            Some(0) | None => (recorded, current, get(&self.previous)),
            Some(1) => (now, 0, current),
            Some(_) => (now, 0, 0),
        };
        let (elapsed, behind) = if window == now {
            (elapsed, 0)
        } else {
            let period = rule.period.divisor();
            let whole = (window - now - 1).saturating_mul(period);
            (0, whole.saturating_add(period - elapsed))
        };
        View {
            recorded,
            window,
            current,
            previous,
            elapsed,
            behind,
        }
    }

    /// Writes the view of a request that has been counted in it.
    #[inline]
    fn put(&self, view: &View) {
        set(&self.current, view.current);
        // The others change with the first request in a window only.
        if view.recorded != view.window {
            set(&self.window, view.window);
            set(&self.previous, view.previous);
        }
    }
}

impl Rule {
    fn new(limit: &Limit) -> Self {
        Self {
            permits: limit.permits(),
            period: Divider::new(limit.period_ns()),
        }
    }

    /// What the previous window still weighs, in permits, rounded up.
    #[inline]
    fn weight(&self, view: &View) -> u64 {
        let period = self.period.divisor();
        let left = period - view.elapsed;
        match view.previous.checked_mul(left) {
            Some(product) => {
                let (whole, rest) = self.period.divide(product);
                whole + u64::from(rest > 0)
            }
            None => {
                let product = u128::from(view.previous) * u128::from(left);
                product.div_ceil(u128::from(period)) as u64
            }
        }
    }

    #[inline]
    fn remaining(&self, view: &View) -> u64 {
        let room = self.permits.saturating_sub(view.current);
        room.saturating_sub(self.weight(view))
    }

    /// Nanoseconds from the reading until `cost`, from 1 to the permits, fits, where it does not.
    fn retry_after(&self, view: &View, cost: u64) -> u64 {
        let period = self.period.divisor();
        let rest = period - view.elapsed;
        let room = self.permits - cost;
        // In this window, as the previous one goes out of sight.
        if let Some(room) = room.checked_sub(view.current)
            && let Some(from) = self.fits_from(view.previous, room)
        {
            return view
                .behind
                .saturating_add(from.saturating_sub(view.elapsed));
        }
        // In the next, where this one is the previous. At the start of the one after, nothing is
        // left of it.
        let from = self.fits_from(view.current, room).unwrap_or(period);
        view.behind.saturating_add(rest).saturating_add(from)
    }

    /// The first nanosecond of a window at which `count` permits of the window before weigh no
    /// more than `room`, if there is one.
    fn fits_from(&self, count: u64, room: u64) -> Option<u64> {
        let period = self.period.divisor();
        if count <= room {
            return Some(0);
        }
        // count · (P − e) ≤ room · P, for the smallest e: a room below the count gives less than P.
        let left = u128::from(room) * u128::from(period) / u128::from(count);
        (left > 0).then(|| period - left as u64)
    }

    #[inline]
    fn reset_after(&self, view: &View) -> u64 {
        let rest = self.period.divisor() - view.elapsed;
        let end = view.behind.saturating_add(rest);
        if view.current > 0 {
            end.saturating_add(self.period.divisor())
        } else if view.previous > 0 {
            end
        } else {
            // Empty windows to come are not equal to new for the readings before them.
            view.behind
        }
    }

    #[inline]
    fn answer(&self, view: &View, at: Reading, cost: u64, retry_after: Option<u64>) -> Decision {
        let remaining = self.remaining(view);
        let standing = Standing {
            remaining,
            next_permit_after: if remaining == self.permits {
                0
            } else {
                self.retry_after(view, remaining + 1)
            },
            reset_after: self.reset_after(view),
        };
        answer(
            retry_after,
            cost,
            at.now().saturating_add(view.behind),
            standing,
        )
    }
}

impl Algorithm for SlidingCounter {
    type Rule = Rule;
    type State = Counts;
    type Held = Version;

    fn rule(&self, limits: &[Limit]) -> Result<Rule, LimitError> {
        single_without_burst("a sliding counter", limits).map(|limit| Rule::new(&limit))
    }

    #[inline]
    fn capacity(rule: &Rule) -> u64 {
        rule.permits
    }

    fn fresh(_: &Rule) -> Counts {
        Counts(SeqLock::new(Words::new(0, 0, 0)))
    }

    #[inline]
    fn try_acquire(rule: &Rule, state: &Counts, at: Reading, cost: u64) -> Result<Decision, Gone> {
        loop {
            let (seen, mut view) = state.0.read(|words| words.view(rule, at))?;
            if rule.remaining(&view) < cost {
                let retry_after = rule.retry_after(&view, cost);
                return Ok(rule.answer(&view, at, cost, Some(retry_after)));
            }
            view.current += cost;
            if state.0.write(seen, |words| words.put(&view)) {
                return Ok(rule.answer(&view, at, cost, Some(0)));
            }
        }
    }

    #[inline]
    fn peek(rule: &Rule, state: &Counts, at: Reading, cost: u64) -> Result<Decision, Gone> {
        let (_, view) = state.0.read(|words| words.view(rule, at))?;
        let retry_after = if cost == 0 {
            Some(0)
        } else if cost > rule.permits {
            None
        } else if cost <= rule.remaining(&view) {
            Some(0)
        } else {
            Some(rule.retry_after(&view, cost))
        };
        Ok(rule.answer(&view, at, cost, retry_after))
    }

    fn refund(rule: &Rule, state: &Counts, _: Reading, decision: &Decision) -> Result<(), Gone> {
        let (spent_in, _) = rule.period.divide(decision.reading());
        state.0.update(
            |words| ((), count_of(words, spent_in).is_some()),
            |words| {
                if let Some(count) = count_of(words, spent_in) {
                    set(count, get(count).saturating_sub(decision.spent()));
                }
            },
        )
    }

    fn clear(_: &Rule, state: &Counts) {
        let _ = state.0.update(
            |_| ((), true),
            |words| {
                set(&words.current, 0);
                set(&words.previous, 0);
                set(&words.window, 0);
            },
        );
    }

    fn retire_if_idle(rule: &Rule, state: &Counts, at: Reading) -> bool {
        state.0.retire_if(|words| {
            let view = words.view(rule, at);
            rule.reset_after(&view) == 0
        })
    }

    fn retire(state: &Counts) -> Result<(), Gone> {
        state.0.retire()
    }

    fn is_retired(state: &Counts) -> bool {
        state.0.is_retired()
    }

    fn hold(state: &Counts) -> Result<Version, Gone> {
        state.0.hold()
    }

    fn release(state: &Counts, held: Version) {
        state.0.release(held);
    }

    fn moved(rule: &Rule, state: &Counts, _: Version, at: Reading, to: &Rule) -> Counts {
        let words = state.0.words();
        let words = if rule.period == to.period {
            Words::new(
                get(&words.window),
                get(&words.current).min(to.permits),
                get(&words.previous).min(to.permits),
            )
        } else {
            let view = words.view(rule, at);
            let estimate = view.current.saturating_add(rule.weight(&view));
            let (window, _) = to.period.divide(at.now().saturating_add(view.behind));
            Words::new(window, estimate.min(to.permits), 0)
        };
        Counts(SeqLock::new(words))
    }
}

/// The count in which permits spent in the window `spent_in` are held, if either is.
fn count_of(words: &Words, spent_in: u64) -> Option<&AtomicU64> {
    match get(&words.window).checked_sub(spent_in)? {
        0 => Some(&words.current),
        1 => Some(&words.previous),
        _ => None,
    }
}
