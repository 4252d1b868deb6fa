//! The circuit breaker: when a store that fails is not asked any more.
//!
//! It opens after some failures in a row, or when half of the last answers failed or were slow: a store
//! that answers late is the outage that hurts most, and the one that counting errors does not see. While
//! it is open nobody's request waits for the store; a task in the background tries it, ever more rarely,
//! and closes it again.

use super::failure::StoreError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// So many failures in a row open it.
const IN_A_ROW: u32 = 5;

/// So many of the last answers are remembered, in a word's bits; half of them bad open it.
const REMEMBERED: u32 = 32;

/// The first wait before the store is tried, and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(super) struct Breaker {
    /// So that a request takes no lock to learn that it is closed, as it nearly always is.
    open: AtomicBool,
    history: Mutex<History>,
    opened: AtomicU64,
}

#[derive(Debug, Default)]
struct History {
    /// The last answers, newest in the lowest bit: 1 for a bad one.
    bad: u32,
    known: u32,
    failed_in_a_row: u32,
    last: String,
}

impl Breaker {
    /// Whether the store may be asked.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        // Relaxed: a request that is a moment too early or too late changes nothing but its own fate.
        if !self.open.load(Ordering::Relaxed) {
            return Ok(());
        }
        let why = self.history().last.clone();
        Err(StoreError::NotAsked { why })
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// How often it has opened.
    pub(super) fn times_opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    pub(super) fn succeeded(&self, slow: bool) -> bool {
        let mut history = self.history();
        history.failed_in_a_row = 0;
        if slow {
            "slow answers".clone_into(&mut history.last);
        }
        history.remember(slow);
        self.judge(&history)
    }

    /// Whether it has just opened: who is told so has the store tried.
    pub(super) fn failed(&self, error: &StoreError) -> bool {
        let mut history = self.history();
        history.failed_in_a_row += 1;
        history.last = error.to_string();
        history.remember(true);
        self.judge(&history)
    }

    pub(super) fn close(&self) {
        *self.history() = History::default();
        self.open.store(false, Ordering::Relaxed);
    }

    fn judge(&self, history: &History) -> bool {
        let bad = history.bad.count_ones();
        let opens = history.failed_in_a_row >= IN_A_ROW
            || history.known >= REMEMBERED && bad >= REMEMBERED / 2;
        let opens = opens && !self.open.swap(true, Ordering::Relaxed);
        if opens {
            self.opened.fetch_add(1, Ordering::Relaxed);
        }
        opens
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl History {
    fn remember(&mut self, bad: bool) {
        self.bad = self.bad << 1 | u32::from(bad);
        self.known = (self.known + 1).min(REMEMBERED);
    }
}

/// How long to wait before the store is tried for the n-th time; `chance` is from 0 to 1, so that a fleet
/// does not come back in step.
pub(super) fn wait_before(attempt: u32, chance: f64) -> Duration {
    let longest = FIRST_WAIT.saturating_mul(1 << attempt.min(10));
    longest.min(LONGEST_WAIT).mul_f64(0.5 + 0.5 * chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn down() -> StoreError {
        StoreError::Unreachable { why: "down".into() }
    }

    #[test]
    fn it_opens_once_after_some_failures_in_a_row_and_says_why() {
        let breaker = Breaker::default();
        for _ in 1..IN_A_ROW {
            assert!(!breaker.failed(&down()));
        }
        assert!(!breaker.succeeded(false));
        for _ in 1..IN_A_ROW {
            assert!(!breaker.failed(&down()));
            breaker.check().expect("closed still");
        }
        assert!(breaker.failed(&down()));
        assert!(!breaker.failed(&down()), "it is open already");
        assert!(breaker.check().unwrap_err().to_string().contains("down"));
        assert_eq!(breaker.times_opened(), 1);
        breaker.close();
        breaker.check().expect("closed again");
        assert!(!breaker.failed(&down()), "all is forgotten");
    }

    #[test]
    fn it_opens_when_half_of_the_last_answers_are_slow_and_not_before() {
        let breaker = Breaker::default();
        for at in 0..1_000 {
            assert!(!breaker.succeeded(at % 3 == 0), "a third");
        }
        let opened = (0..32).position(|_| breaker.succeeded(true));
        assert!(opened.is_some_and(|at| at < 16), "{opened:?}");
    }

    #[test]
    fn a_few_answers_do_not_make_a_share() {
        let breaker = Breaker::default();
        for _ in 1..REMEMBERED {
            assert!(!breaker.succeeded(true));
        }
        assert!(breaker.succeeded(true));
    }

    #[test]
    fn waits_grow_to_a_bound_and_are_spread() {
        assert_eq!(wait_before(0, 1.0), FIRST_WAIT);
        assert_eq!(wait_before(0, 0.0), FIRST_WAIT / 2);
        assert_eq!(wait_before(3, 1.0), 8 * FIRST_WAIT);
        assert_eq!(wait_before(u32::MAX, 1.0), LONGEST_WAIT);
    }
}
