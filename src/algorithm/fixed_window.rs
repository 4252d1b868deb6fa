//! Fixed windows: the simplest count there is.
//!
//! Time is cut into windows of one period, which start at multiples of the period on the ticker's
//! clock: with the default ticker a window of a minute is a minute of the wall clock. A key may
//! spend N permits in each.
//!
//! What it gets wrong: a key may spend N at the end of one window and N at the start of the next,
//! 2N within an instant. At 100 per minute, 100 requests at 0:59 and 100 at 1:00.5 all pass.

use super::divider::Divider;
use super::units::HORIZON;
use super::{OneWord, Reading, single_without_burst};
use crate::decision::Decision;
use crate::error::LimitError;
use crate::limit::Limit;

/// N permits in each window of one period.
///
/// # Promise
///
/// Never more than N between two multiples of the period on the ticker's clock.
///
/// # Worst case
///
/// 2N in a moment, across the boundary of two windows.
///
/// # Linearization point
///
/// The successful compare-exchange of the word; for a denial, the load that it was read from.
/// Lock-free: a check of a key that is present waits for nobody.
///
/// # Errors
///
/// Refuses a limit with a burst other than its permits, and one whose count and window number do
/// not fit in one word for 30 years.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{FixedWindow, Limit, ManualTicker, RateLimiter};
///
/// let ticker = ManualTicker::new(0);
/// let limiter = RateLimiter::<u64>::builder(Limit::per_minute(100))
///     .algorithm(FixedWindow)
///     .ticker(ticker.clone())
///     .build()?;
/// ticker.advance(Duration::from_secs(59));
/// assert!(limiter.try_acquire_n(&1, 100).is_allowed());
/// assert_eq!(limiter.try_acquire(&1).retry_after(), Some(Duration::from_secs(1)));
///
/// ticker.advance(Duration::from_millis(1_500));
/// assert!(limiter.try_acquire_n(&1, 100).is_allowed(), "a new window");
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FixedWindow;

/// The limit, ready for the step.
///
/// | bits of the word | what |
/// |---|---|
/// | the lowest that hold N | permits spent in the window |
/// | the rest | the window's number, counted from the one in which the limiter was built |
///
/// A number of all ones does not occur, so that no word is mistaken for a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Window {
    permits: u64,
    period: Divider,
    count_bits: u32,
    last_index: u64,
}

/// A word taken apart, and where `at` stands against it.
struct View {
    /// The window in which the request is judged: `at`'s, or a later one that the word records.
    index: u64,
    /// Permits spent in it.
    count: u64,
    /// Nanoseconds from `at` to the end of it.
    left: u64,
    /// `at`, or the start of the later window.
    judged_at: u64,
}

impl Window {
    fn new(limit: &Limit) -> Result<Self, LimitError> {
        let count_bits = u64::BITS - limit.permits().leading_zeros();
        // The number of the window in which the 30 years end: the first may be almost over.
        let last = HORIZON.div_ceil(limit.period_ns());
        let last_index = (u64::MAX.checked_shr(count_bits).unwrap_or(0)).saturating_sub(1);
        if last > last_index {
            return Err(LimitError::WindowDoesNotFit {
                count_bits,
                // For a number that is not all ones.
                window_bits: u64::BITS - (last + 1).leading_zeros(),
            });
        }
        Ok(Self {
            permits: limit.permits(),
            period: Divider::new(limit.period_ns()),
            count_bits,
            last_index,
        })
    }

    #[inline]
    fn pack(&self, index: u64, count: u64) -> u64 {
        (index << self.count_bits) | count
    }

    /// The number of the window in which `time` lies, and the nanoseconds since its start.
    #[inline]
    fn index_of(&self, start: u64, time: u64) -> (u64, u64) {
        let (window, since) = self.period.divide(time);
        let (first, _) = self.period.divide(start);
        ((window - first).min(self.last_index), since)
    }

    #[inline]
    fn view(&self, word: u64, at: Reading) -> View {
        let recorded = word >> self.count_bits;
        let count = word & !(u64::MAX << self.count_bits);
        let (now, since) = self.index_of(at.start(), at.now());
        let left = self.period.divisor() - since;
        if recorded <= now {
            let count = if recorded == now { count } else { 0 };
            return View {
                index: now,
                count,
                left,
                judged_at: at.now(),
            };
        }
        // The clock has stepped back, or another thread reads later times.
        let ahead = (recorded - now - 1).saturating_mul(self.period.divisor());
        View {
            index: recorded,
            count,
            left: left
                .saturating_add(ahead)
                .saturating_add(self.period.divisor()),
            judged_at: at.now().saturating_add(left).saturating_add(ahead),
        }
    }
}

impl OneWord for FixedWindow {
    type Rule = Window;

    fn rule(&self, limits: &[Limit]) -> Result<Window, LimitError> {
        Window::new(&single_without_burst("a fixed window", limits)?)
    }

    #[inline]
    fn capacity(rule: &Window) -> u64 {
        rule.permits
    }

    #[inline]
    fn fresh(_: &Window) -> u64 {
        0
    }

    #[inline]
    fn spend(rule: &Window, word: u64, at: Reading, cost: u64) -> Option<u64> {
        let view = rule.view(word, at);
        (view.count <= rule.permits - cost).then(|| rule.pack(view.index, view.count + cost))
    }

    #[inline]
    fn remaining(rule: &Window, word: u64, at: Reading) -> u64 {
        rule.permits.saturating_sub(rule.view(word, at).count)
    }

    #[inline]
    fn retry_after(rule: &Window, word: u64, at: Reading, _: u64) -> u64 {
        rule.view(word, at).left
    }

    #[inline]
    fn reset_after(rule: &Window, word: u64, at: Reading) -> u64 {
        let view = rule.view(word, at);
        if view.count > 0 {
            view.left
        } else {
            // An empty window to come is not equal to new for the readings before it.
            view.judged_at - at.now()
        }
    }

    fn refund(rule: &Window, word: u64, at: Reading, decision: &Decision) -> u64 {
        let index = word >> rule.count_bits;
        let count = word & !(u64::MAX << rule.count_bits);
        if decision.reading() < at.start()
            || rule.index_of(at.start(), decision.reading()).0 != index
        {
            return word;
        }
        rule.pack(index, count.saturating_sub(decision.spent()))
    }

    fn convert(rule: &Window, word: u64, at: Reading, to: &Window) -> u64 {
        let recorded = word >> rule.count_bits;
        if rule.period == to.period {
            let count = word & !(u64::MAX << rule.count_bits);
            return to.pack(recorded.min(to.last_index), count.min(to.permits));
        }
        if recorded < rule.index_of(at.start(), at.now()).0 {
            return Self::fresh(to);
        }
        let view = rule.view(word, at);
        let (index, _) = to.index_of(at.start(), view.judged_at);
        to.pack(index, view.count.min(to.permits))
    }

    #[inline]
    fn judged_at(rule: &Window, word: u64, at: Reading) -> u64 {
        rule.view(word, at).judged_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn window(text: &str) -> Window {
        Window::new(&text.parse().expect("a limit")).expect("one that can be kept")
    }

    #[test]
    fn the_split_of_the_word_leaves_room_for_the_marks() {
        for text in ["1/s", "1000000000/s", "18446744073709551614/584d", "1/7ns"] {
            let Ok(window) = Window::new(&text.parse().expect("a limit")) else {
                continue;
            };
            let largest = window.pack(window.last_index, window.permits);
            assert!(largest <= FixedWindow::LARGEST, "{text}: {largest:x}");
        }
    }

    #[test]
    fn a_word_too_small_for_thirty_years_is_refused() {
        let error = |text: &str| Window::new(&text.parse().expect("a limit")).unwrap_err();
        assert_eq!(
            error("10000000000/100ms"),
            LimitError::WindowDoesNotFit {
                count_bits: 34,
                window_bits: 34
            }
        );
        assert!(matches!(
            error("18446744073709551615/d"),
            LimitError::WindowDoesNotFit { .. }
        ));
    }

    #[test]
    fn a_word_just_large_enough_for_thirty_years_is_accepted() {
        for count_bits in 30..63 {
            let last = (1 << (64 - count_bits)) - 2;
            let shortest = HORIZON.div_ceil(last);
            let window = |period| {
                let permits = (1 << count_bits) - 1;
                Window::new(&Limit::new(permits, Duration::from_nanos(period)).expect("a limit"))
            };
            let accepted = window(shortest).expect("its last window has a number");
            assert_eq!(accepted.last_index, last);
            // Built in the last nanosecond of a window, and asked 30 years later.
            let (start, end) = (shortest - 1, shortest - 1 + HORIZON);
            assert!(end / shortest - start / shortest <= last);
            assert!(
                window(shortest - 1).is_err(),
                "{count_bits} bits for the count"
            );
        }
    }

    #[test]
    fn past_the_last_window_time_stands_still() {
        let window = window("10000000000/s");
        let at = Reading::new(0, u64::MAX);
        let word = FixedWindow::spend(&window, 0, at, 10_000_000_000).expect("a fresh window");
        assert!(word <= FixedWindow::LARGEST);
        assert_eq!(FixedWindow::spend(&window, word, at, 1), None);
    }
}
