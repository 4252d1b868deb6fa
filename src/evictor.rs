//! The background sweep.

use crate::algorithm::Algorithm;
use crate::limiter::{LimitSource, RateLimiter};
use crate::ticker::Ticker;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A thread that evicts a limiter's idle keys, every so often, until this guard is dropped.
///
/// Dropping it stops the thread and waits for it: for the rest of a sweep at most, not for the
/// rest of an interval. The thread holds the limiter weakly, and ends by itself when the limiter
/// is gone.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use tollgate::{Evictor, Limit, RateLimiter};
///
/// let limiter = Arc::new(RateLimiter::<u64>::new(Limit::per_second(5))?);
/// let evictor = Evictor::start(&limiter, Duration::from_secs(10))?;
/// assert!(limiter.try_acquire(&1).is_allowed());
/// drop(evictor);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "the thread is stopped when the guard is dropped"]
pub struct Evictor {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Evictor {
    /// Starts a thread that calls [`evict_idle`](RateLimiter::evict_idle) every `interval`, and no
    /// more often than every millisecond.
    ///
    /// # Errors
    ///
    /// If the operating system cannot start the thread.
    pub fn start<K, A, T, L, S>(
        limiter: &Arc<RateLimiter<K, A, T, L, S>>,
        interval: Duration,
    ) -> io::Result<Self>
    where
        K: Hash + Eq + Send + Sync + 'static,
        A: Algorithm,
        T: Ticker + 'static,
        L: LimitSource,
        S: BuildHasher + Send + Sync + 'static,
        RateLimiter<K, A, T, L, S>: Send + Sync,
    {
        let interval = interval.max(Duration::from_millis(1));
        let stop = Arc::new(AtomicBool::new(false));
        let limiter = Arc::downgrade(limiter);
        let thread = thread::Builder::new()
            .name("tollgate-evictor".to_owned())
            .spawn({
                let stop = stop.clone();
                move || run(&limiter, interval, &stop)
            })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

fn run<K, A, T, L, S>(
    limiter: &Weak<RateLimiter<K, A, T, L, S>>,
    interval: Duration,
    stop: &AtomicBool,
) where
    K: Hash + Eq,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    while wait(interval, stop) {
        let Some(limiter) = limiter.upgrade() else {
            return;
        };
        limiter.evict_idle();
    }
}

/// Waits for `interval`; false if it is time to stop.
fn wait(interval: Duration, stop: &AtomicBool) -> bool {
    let since = Instant::now();
    loop {
        // Acquire: pairs with the Release in `drop`, for good measure: unparking orders it too.
        if stop.load(Ordering::Acquire) {
            return false;
        }
        let left = interval.saturating_sub(since.elapsed());
        if left.is_zero() {
            return true;
        }
        // Woken early by `drop`, or for no reason.
        thread::park_timeout(left);
    }
}

impl Drop for Evictor {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `wait`.
        self.stop.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else {
            return;
        };
        thread.thread().unpark();
        // A key's destructor may drop the guard on the thread itself, which cannot wait for itself.
        if thread.thread().id() != thread::current().id() {
            // Its only panics are those of a key's own code, and it has printed them.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Evictor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running = self
            .thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished());
        f.debug_struct("Evictor")
            .field("running", &running)
            .finish()
    }
}
