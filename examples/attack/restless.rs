//! A clock that stands still, and gets in the way.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use tollgate::{ManualTicker, Ticker};

/// A ticker that always tells the same time, and every so often lets another thread run first.
///
/// A limiter reads the clock in the middle of a decision. That is where a thread does most harm by
/// being descheduled, and left to itself it seldom is: a decision takes some ten nanoseconds.
#[derive(Debug)]
pub struct Restless {
    clock: ManualTicker,
    readings: AtomicUsize,
}

impl Restless {
    /// A clock that shows zero.
    pub fn new() -> Self {
        Self {
            clock: ManualTicker::new(0),
            readings: AtomicUsize::new(0),
        }
    }
}

impl Ticker for Restless {
    fn now(&self) -> u64 {
        // A prime, so that it falls on another request in each round.
        const EVERY: usize = 1_009;
        // Relaxed: whose turn it is need not be exact.
        if self.readings.fetch_add(1, Relaxed).is_multiple_of(EVERY) {
            thread::yield_now();
        }
        self.clock.now()
    }

    fn disagreement(&self) -> u64 {
        self.clock.disagreement()
    }
}

impl Default for Restless {
    fn default() -> Self {
        Self::new()
    }
}
