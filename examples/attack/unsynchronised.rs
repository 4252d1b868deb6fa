//! The limiter that everybody writes first: look whether there is room, then count.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tollgate::{Limit, Ticker};

/// A fixed window in which looking and counting are two steps.
///
/// Each step by itself is atomic, so there is no data race in Rust's sense, and still it admits
/// too many: two threads that look before either has counted both see room for one, and the
/// second to count writes over the first.
#[derive(Debug)]
pub struct Unsynchronised<T> {
    limit: Limit,
    ticker: T,
    window: AtomicU64,
    count: AtomicU64,
}

impl<T: Ticker> Unsynchronised<T> {
    /// A window in which nothing was spent.
    pub fn new(limit: Limit, ticker: T) -> Self {
        Self {
            limit,
            ticker,
            window: AtomicU64::new(0),
            count: AtomicU64::new(0),
        }
    }

    /// Whether there was room, a moment ago.
    pub fn try_acquire(&self) -> bool {
        // Relaxed: no ordering would help. What is missing is that the look and the count be one.
        let mut count = self.count.load(Relaxed);
        let window = self.ticker.now() / self.limit.period_ns();
        if window != self.window.load(Relaxed) {
            self.window.store(window, Relaxed);
            count = 0;
        }
        if count >= self.limit.permits() {
            return false;
        }
        self.count.store(count + 1, Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use tollgate::ManualTicker;

    use super::*;
    use crate::SECOND;

    #[test]
    fn one_thread_alone_is_counted_exactly() {
        let ticker = ManualTicker::new(0);
        let window = Unsynchronised::new(Limit::per_second(3), ticker.clone());
        let allowed = || (0..9).filter(|_| window.try_acquire()).count();
        assert_eq!(allowed(), 3);
        ticker.set(SECOND);
        assert_eq!(allowed(), 3);
    }

    /// A clock that tells the time once two threads want to know it.
    struct Together(Barrier);

    impl Ticker for Together {
        fn now(&self) -> u64 {
            self.0.wait();
            0
        }
    }

    #[test]
    fn two_threads_that_look_before_either_counts_are_both_allowed() {
        let clock = Together(Barrier::new(2));
        let window = Unsynchronised::new(Limit::per_second(1), clock);
        thread::scope(|scope| {
            let other = scope.spawn(|| window.try_acquire());
            assert!(window.try_acquire());
            assert!(other.join().unwrap());
        });
    }
}
