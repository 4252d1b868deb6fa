//! Waiting, for threads.

use super::place::{Place, Step};
use crate::algorithm::Algorithm;
use crate::decision::Decision;
use crate::error::AcquireError;
use crate::limiter::{LimitSource, RateLimiter};
use crate::ticker::Ticker;
use papaya::Equivalent;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// A thread sleeps for no less than this: with a ticker that is read seldom it could be told a
/// nanosecond over and over.
const SHORTEST: Duration = Duration::from_micros(50);

impl<K, A, T, L, S> RateLimiter<K, A, T, L, S>
where
    K: Hash + Eq + Clone,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    /// Waits until one permit is there for `key`, for `timeout` at most, and spends it: the thread
    /// sleeps meanwhile.
    ///
    /// First come, first served, for each key: whoever waits for more permits is not overtaken by one
    /// behind it that wants fewer, and a request that does not wait is denied while others do (unless
    /// [`WaitPolicy::overtaking`](crate::WaitPolicy::overtaking)). A key that is waited for is not
    /// forgotten. Threads and tasks wait in the same line. A key for which there is no place (see
    /// [`max_keys`](crate::Builder::max_keys)) waits until there is one.
    ///
    /// While anybody waits, each request looks whether it is for its key, which takes it a hash and a
    /// lock more; while nobody does, a load.
    ///
    /// # Errors
    ///
    /// If it would have to wait longer: at once, where it is next and knows it, otherwise when the
    /// time is up. If [too many](crate::WaitPolicy::max_waiters) wait already.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{AcquireError, Limit, RateLimiter};
    ///
    /// let limiter = RateLimiter::<u64>::new(Limit::per_second(100).with_burst(1))?;
    /// for _ in 0..3 {
    ///     // The second and the third wait for 10 ms.
    ///     assert!(limiter.acquire_timeout(&7, Duration::from_secs(1)).is_ok());
    /// }
    /// let error = limiter.acquire_timeout(&7, Duration::from_millis(1)).unwrap_err();
    /// assert!(matches!(error, AcquireError::TooLong { .. }));
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn acquire_timeout<Q>(&self, key: &Q, timeout: Duration) -> Result<Decision, AcquireError>
    where
        Q: Hash + Equivalent<K> + ToOwned<Owned = K> + ?Sized,
    {
        self.acquire_n_timeout(key, 1, timeout)
    }

    /// As [`acquire_timeout`](Self::acquire_timeout), for `cost` permits at once.
    ///
    /// # Errors
    ///
    /// As there; and if the cost is above the capacity, so that it would wait for ever.
    pub fn acquire_n_timeout<Q>(
        &self,
        key: &Q,
        cost: u64,
        timeout: Duration,
    ) -> Result<Decision, AcquireError>
    where
        Q: Hash + Equivalent<K> + ToOwned<Owned = K> + ?Sized,
    {
        if !self.room.is_used() {
            // Without an allocation, where nobody waits and it need not.
            let decision = self.try_acquire_n(key, cost);
            if decision.is_allowed() {
                return Ok(decision);
            }
        }
        let since = Instant::now();
        let elapsed = || since.elapsed();
        let park = |wait: Option<Duration>| match wait {
            Some(wait) => thread::park_timeout(wait.max(SHORTEST)),
            None => thread::park(),
        };
        acquire(
            Place::new(self, key.to_owned(), cost),
            timeout,
            elapsed,
            park,
        )
    }
}

/// Waits as `park` does, which returns after so long or when the thread is woken.
fn acquire<K, A, T, L, S>(
    mut place: Place<&RateLimiter<K, A, T, L, S>>,
    timeout: Duration,
    elapsed: impl Fn() -> Duration,
    park: impl Fn(Option<Duration>),
) -> Result<Decision, AcquireError>
where
    K: Hash + Eq + Clone,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    if let Some(decision) = place.begin()? {
        return Ok(decision);
    }
    let timeout = place.bounded(Some(timeout)).unwrap_or(timeout);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    // When the time is up that it was told to wait for.
    let mut due_at = Duration::ZERO;
    loop {
        let now = elapsed();
        let left = timeout.saturating_sub(now);
        let until = match place.step(&waker, now >= due_at, Some(left))? {
            Step::Allowed(decision) => return Ok(decision),
            Step::Wait(wait) => {
                due_at = now.saturating_add(wait);
                due_at.min(timeout)
            }
            Step::Waiting => due_at.min(timeout),
            Step::Behind => timeout,
        };
        if left.is_zero() {
            return Err(AcquireError::TimedOut { timeout });
        }
        park((until < Duration::MAX).then(|| until.saturating_sub(now)));
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;
    use crate::{Limit, ManualTicker, TokenBucket};
    use std::cell::Cell;

    type Limiter = RateLimiter<u64, TokenBucket, ManualTicker>;

    fn limiter(limit: Limit) -> (Limiter, ManualTicker) {
        let ticker = ManualTicker::new(0);
        let limiter = RateLimiter::builder(limit)
            .ticker(ticker.clone())
            .build()
            .expect("a limit");
        (limiter, ticker)
    }

    /// Sleeps by moving the ticker.
    fn acquire_by_hand(
        limiter: &Limiter,
        ticker: &ManualTicker,
        cost: u64,
        timeout: Duration,
    ) -> (Result<Decision, AcquireError>, Duration) {
        let slept = Cell::new(Duration::ZERO);
        let park = |wait: Option<Duration>| {
            let wait = wait.expect("it is alone, and knows how long");
            slept.set(slept.get() + wait);
            ticker.advance(wait);
        };
        let place = Place::new(limiter, 7, cost);
        let answer = acquire(place, timeout, || slept.get(), park);
        (answer, slept.get())
    }

    #[test]
    fn a_thread_sleeps_exactly_as_long_as_it_has_to() {
        let (limiter, ticker) = limiter(Limit::per_second(5));
        let long = Duration::from_secs(60);
        let (first, slept) = acquire_by_hand(&limiter, &ticker, 5, long);
        assert_eq!((first.unwrap().remaining(), slept), (0, Duration::ZERO));
        let (second, slept) = acquire_by_hand(&limiter, &ticker, 3, long);
        assert_eq!(
            (second.unwrap().remaining(), slept),
            (0, Duration::from_millis(600))
        );
        assert_eq!(limiter.waiters(), 0);
    }

    #[test]
    fn a_thread_that_would_sleep_too_long_does_not_begin_to() {
        let (limiter, ticker) = limiter(Limit::per_second(5));
        let exactly = Duration::from_millis(200);
        let _ = limiter.try_acquire_n(&7, 5);
        let (late, slept) =
            acquire_by_hand(&limiter, &ticker, 1, exactly - Duration::from_nanos(1));
        assert_eq!(late, Err(AcquireError::TooLong { wait: exactly }));
        assert_eq!((slept, limiter.waiters()), (Duration::ZERO, 0));
        let (in_time, slept) = acquire_by_hand(&limiter, &ticker, 1, exactly);
        assert_eq!((in_time.is_ok(), slept), (true, exactly));
    }

    #[test]
    fn what_can_never_be_had_is_not_waited_for() {
        let (limiter, ticker) = limiter(Limit::per_second(5));
        let (never, slept) = acquire_by_hand(&limiter, &ticker, 6, Duration::MAX);
        assert_eq!(never, Err(AcquireError::Never { cost: 6 }));
        assert_eq!((slept, limiter.tracked_keys()), (Duration::ZERO, 0));
    }

    #[test]
    fn no_time_to_wait_is_asking_once() {
        let (limiter, ticker) = limiter(Limit::per_second(1));
        let (first, _) = acquire_by_hand(&limiter, &ticker, 1, Duration::ZERO);
        assert!(first.is_ok());
        let (second, slept) = acquire_by_hand(&limiter, &ticker, 1, Duration::ZERO);
        assert!(matches!(second, Err(AcquireError::TooLong { .. })));
        assert_eq!(slept, Duration::ZERO);
    }
}
