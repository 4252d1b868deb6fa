//! The time, in nanoseconds. A ticker does not know who asks.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Gives the time, in nanoseconds since a zero of its own.
///
/// Readings do not decrease on one thread. Where they do all the same (a manual ticker that is
/// set back), a limiter denies more until the time has caught up, and never mints a permit.
///
/// The tickers of this crate that follow the real time count from the Unix epoch, read once from
/// the wall clock when they are made and monotonic from then on, so that windows line up with
/// real minutes and days, and a wall clock that is set does no harm.
///
/// # Examples
///
/// A ticker for a simulation:
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use tollgate::{Limit, RateLimiter, Ticker};
///
/// /// Counts frames of 20 ms.
/// struct Frames(AtomicU64);
///
/// impl Ticker for Frames {
///     fn now(&self) -> u64 {
///         self.0.load(Ordering::Acquire) * 20_000_000
///     }
///     fn disagreement(&self) -> u64 {
///         0 // One counter: whoever reads later reads no less.
///     }
/// }
///
/// let frames = Frames(AtomicU64::new(0));
/// let limiter = RateLimiter::<u64>::builder(Limit::per_second(1)).ticker(&frames).build()?;
/// assert!(limiter.try_acquire(&1).is_allowed());
/// frames.0.store(49, Ordering::Release);
/// assert!(limiter.try_acquire(&1).is_denied());
/// frames.0.store(50, Ordering::Release);
/// assert!(limiter.try_acquire(&1).is_allowed());
/// # Ok::<(), tollgate::LimitError>(())
/// ```
pub trait Ticker: Send + Sync {
    /// The time now, in nanoseconds.
    fn now(&self) -> u64;

    /// By how many nanoseconds readings on two threads may disagree: how much smaller one may be
    /// that was taken later, on another thread. 1 ms unless told otherwise.
    ///
    /// A key is forgotten only when it has been idle for longer than this.
    fn disagreement(&self) -> u64 {
        1_000_000
    }
}

impl<T: Ticker + ?Sized> Ticker for &T {
    #[inline]
    fn now(&self) -> u64 {
        (**self).now()
    }

    fn disagreement(&self) -> u64 {
        (**self).disagreement()
    }
}

impl<T: Ticker + ?Sized> Ticker for Arc<T> {
    #[inline]
    fn now(&self) -> u64 {
        (**self).now()
    }

    fn disagreement(&self) -> u64 {
        (**self).disagreement()
    }
}

/// Nanoseconds since the Unix epoch; 0 on a machine whose clock stands before it.
fn wall_clock() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, nanoseconds)
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The default: the processor's time stamp counter, through quanta.
///
/// A reading takes some 10 ns. The counter is calibrated once per process, which takes a
/// millisecond, and at worst 200. On machines without a reliable counter quanta falls back to the operating
/// system's monotonic clock. The counter is not serialised, so that readings on two threads may
/// disagree by a microsecond or so; the disagreement of 1 ms allows for that amply.
///
/// # Examples
///
/// ```
/// use tollgate::{Ticker, TscTicker};
///
/// let ticker = TscTicker::new();
/// let before = ticker.now();
/// assert!(ticker.now() >= before);
/// ```
#[derive(Clone, Debug)]
pub struct TscTicker {
    clock: quanta::Clock,
    /// The counter when `epoch` was read.
    anchor: u64,
    epoch: u64,
}

impl TscTicker {
    /// A ticker that starts from the wall clock's time now.
    pub fn new() -> Self {
        let clock = quanta::Clock::new();
        let anchor = clock.raw();
        Self {
            clock,
            anchor,
            epoch: wall_clock(),
        }
    }
}

impl Default for TscTicker {
    fn default() -> Self {
        Self::new()
    }
}

impl Ticker for TscTicker {
    #[inline]
    fn now(&self) -> u64 {
        let since = self.clock.delta_as_nanos(self.anchor, self.clock.raw());
        self.epoch.saturating_add(since)
    }
}

/// The standard library's [`Instant`].
///
/// About twice as slow as [`TscTicker`], and it follows whatever corrections the operating system
/// makes to its monotonic clock.
///
/// # Examples
///
/// ```
/// use tollgate::{InstantTicker, Limit, RateLimiter};
///
/// let limiter = RateLimiter::<u64>::builder(Limit::per_second(5))
///     .ticker(InstantTicker::new())
///     .build()?;
/// assert!(limiter.try_acquire(&1).is_allowed());
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct InstantTicker {
    anchor: Instant,
    epoch: u64,
}

impl InstantTicker {
    /// A ticker that starts from the wall clock's time now.
    pub fn new() -> Self {
        Self {
            anchor: Instant::now(),
            epoch: wall_clock(),
        }
    }
}

impl Default for InstantTicker {
    fn default() -> Self {
        Self::new()
    }
}

impl Ticker for InstantTicker {
    #[inline]
    fn now(&self) -> u64 {
        self.epoch
            .saturating_add(nanoseconds(self.anchor.elapsed()))
    }
}

/// The time as a background thread last saw it: the cheapest reading, as coarse as you choose.
///
/// A reading is one load. All coarse tickers of a process share one upkeep thread (quanta's),
/// started by the first and stopped when the last is dropped, which waits for up to an interval; if
/// other code in the process runs
/// quanta's upkeep already, that one is used, at its interval, and the time stands still should
/// it stop. A time that lags only denies more.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{CoarseTicker, Limit, RateLimiter};
///
/// let limiter = RateLimiter::<u64>::builder(Limit::per_second(5))
///     .ticker(CoarseTicker::start(Duration::from_millis(1))?)
///     .build()?;
/// assert!(limiter.try_acquire(&1).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CoarseTicker {
    clock: quanta::Clock,
    anchor: quanta::Instant,
    epoch: u64,
    /// `None` when the upkeep is somebody else's.
    _upkeep: Option<Arc<SharedUpkeep>>,
}

/// The upkeep thread of this process, and how many tickers it is kept for.
static UPKEEP: Mutex<(usize, Option<quanta::Handle>)> = Mutex::new((0, None));

/// A part in the upkeep thread, which is stopped with the last of them.
#[derive(Debug)]
struct SharedUpkeep;

impl SharedUpkeep {
    /// A part in the thread that runs already, or that is started now; `None` if one runs that is
    /// not ours.
    fn start(interval: Duration, clock: &quanta::Clock) -> Result<Option<Self>, std::io::Error> {
        let mut shared = UPKEEP.lock().unwrap_or_else(PoisonError::into_inner);
        let (parts, handle) = &mut *shared;
        if handle.is_none() {
            match quanta::Upkeep::new_with_clock(interval, clock.clone()).start() {
                Ok(started) => *handle = Some(started),
                Err(quanta::Error::UpkeepRunning) => return Ok(None),
                Err(quanta::Error::FailedToSpawnUpkeepThread(error)) => return Err(error),
            }
        }
        *parts += 1;
        Ok(Some(Self))
    }
}

impl Drop for SharedUpkeep {
    fn drop(&mut self) {
        let mut shared = UPKEEP.lock().unwrap_or_else(PoisonError::into_inner);
        let (parts, handle) = &mut *shared;
        *parts -= 1;
        if *parts == 0 {
            // Waits for the thread with the lock held: whoever starts a ticker meanwhile must not
            // take the one that is ending for somebody else's.
            *handle = None;
        }
    }
}

impl CoarseTicker {
    /// A coarse ticker, whose time is brought up to date every `interval`.
    ///
    /// If an upkeep thread runs already, its interval stays as it is.
    ///
    /// # Errors
    ///
    /// If the operating system cannot start the thread.
    pub fn start(interval: Duration) -> Result<Self, std::io::Error> {
        let clock = quanta::Clock::new();
        let upkeep = SharedUpkeep::start(interval, &clock)?;
        Ok(Self {
            anchor: clock.recent(),
            epoch: wall_clock(),
            clock,
            _upkeep: upkeep.map(Arc::new),
        })
    }
}

impl Ticker for CoarseTicker {
    #[inline]
    fn now(&self) -> u64 {
        let since = self.clock.recent().saturating_duration_since(self.anchor);
        self.epoch.saturating_add(nanoseconds(since))
    }
}

/// A time that stands still until you move it, for tests and simulations.
///
/// Clones share one time. Setting it back is allowed: a limiter must bear a clock that misbehaves.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limit, ManualTicker, RateLimiter};
///
/// let ticker = ManualTicker::new(0);
/// let limiter = RateLimiter::<&str>::builder(Limit::per_second(1))
///     .ticker(ticker.clone())
///     .build()?;
/// assert!(limiter.try_acquire(&"ada").is_allowed());
/// assert!(limiter.try_acquire(&"ada").is_denied());
///
/// ticker.advance(Duration::from_secs(1));
/// assert!(limiter.try_acquire(&"ada").is_allowed());
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, Default)]
pub struct ManualTicker {
    now: Arc<AtomicU64>,
}

impl ManualTicker {
    /// A time that stands at `now` nanoseconds.
    pub fn new(now: u64) -> Self {
        Self {
            now: Arc::new(AtomicU64::new(now)),
        }
    }

    /// Sets the time to `now` nanoseconds, forwards or back.
    pub fn set(&self, now: u64) {
        // Release: pairs with the Acquire in `now`. Whoever reads this time sees what was done
        // before it was set, as with a real clock.
        self.now.store(now, Ordering::Release);
    }

    /// Moves the time forward, at most to 2⁶⁴ − 1 ns.
    pub fn advance(&self, by: Duration) {
        let by = nanoseconds(by);
        // AcqRel: as in `set`, and two threads that advance at once add up.
        let _ = self
            .now
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                Some(now.saturating_add(by))
            });
    }
}

impl Ticker for ManualTicker {
    #[inline]
    fn now(&self) -> u64 {
        // Acquire: pairs with the Release in `set`.
        self.now.load(Ordering::Acquire)
    }

    fn disagreement(&self) -> u64 {
        0
    }
}

impl fmt::Debug for ManualTicker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ManualTicker").field(&self.now()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts_at_the_epoch_and_never_decreases(ticker: impl Ticker) {
        let wall = wall_clock();
        let first = ticker.now();
        assert!(
            first.abs_diff(wall) < 60_000_000_000,
            "{first} is not within a minute of {wall}"
        );
        let mut last = first;
        for _ in 0..10_000 {
            let now = ticker.now();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn real_tickers_count_from_the_unix_epoch() {
        starts_at_the_epoch_and_never_decreases(TscTicker::new());
        starts_at_the_epoch_and_never_decreases(InstantTicker::new());
        starts_at_the_epoch_and_never_decreases(
            CoarseTicker::start(Duration::from_millis(1)).expect("a thread can be started"),
        );
    }

    #[test]
    fn coarse_tickers_share_one_upkeep_and_their_time_moves() {
        let first = CoarseTicker::start(Duration::from_millis(1)).expect("a thread");
        let second = CoarseTicker::start(Duration::from_millis(1)).expect("no second thread");
        drop(first);
        let before = second.now();
        // Waits for the upkeep thread, which nothing but time makes run.
        while second.now() == before {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_coarse_ticker_that_is_started_as_another_ends_does_not_stand_still() {
        for _ in 0..20 {
            let ending = CoarseTicker::start(Duration::from_millis(1)).expect("a thread");
            let end = std::thread::spawn(move || drop(ending));
            let ticker = CoarseTicker::start(Duration::from_millis(1)).expect("a thread");
            end.join().expect("no panic");
            let before = ticker.now();
            let since = Instant::now();
            while ticker.now() == before {
                assert!(since.elapsed() < Duration::from_secs(20), "it stands still");
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn a_manual_time_moves_as_told_and_saturates() {
        let ticker = ManualTicker::new(5);
        let clone = ticker.clone();
        ticker.advance(Duration::from_nanos(3));
        assert_eq!(clone.now(), 8);
        clone.set(2);
        assert_eq!(ticker.now(), 2);
        ticker.advance(Duration::MAX);
        assert_eq!(ticker.now(), u64::MAX);
    }
}
