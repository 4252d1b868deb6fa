//! How many may wait, and how.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// How requests wait for their turn: how many may, how long, and who may go before them. For
/// [`Builder::wait_policy`](crate::Builder::wait_policy).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{AcquireError, Limit, RateLimiter, WaitPolicy};
///
/// let limiter = RateLimiter::<u64>::builder(Limit::per_hour(1))
///     .wait_policy(WaitPolicy::new().max_wait(Duration::from_secs(2)))
///     .build()?;
/// assert!(limiter.acquire_timeout(&7, Duration::MAX).is_ok());
/// // The next permit is there in an hour, and nobody waits longer than two seconds.
/// let error = limiter.acquire_timeout(&7, Duration::MAX).unwrap_err();
/// assert!(matches!(error, AcquireError::TooLong { .. }));
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a policy does nothing until a limiter is built with it"]
pub struct WaitPolicy {
    pub(super) waiters: usize,
    pub(super) waiters_for_a_key: usize,
    pub(super) longest: Option<Duration>,
    jitter: Duration,
    pub(super) overtaking: bool,
}

impl WaitPolicy {
    /// At most 65,536 waiters, 1,024 for a key, for as long as each likes; nobody overtakes them.
    pub const fn new() -> Self {
        Self {
            waiters: 65_536,
            waiters_for_a_key: 1_024,
            longest: None,
            jitter: Duration::ZERO,
            overtaking: false,
        }
    }

    /// At most so many may wait, for all keys together.
    pub const fn max_waiters(mut self, waiters: usize) -> Self {
        self.waiters = waiters;
        self
    }

    /// At most so many may wait for one key.
    pub const fn max_waiters_for_key(mut self, waiters: usize) -> Self {
        self.waiters_for_a_key = waiters;
        self
    }

    /// Nobody waits longer than this, whatever it asks for.
    pub const fn max_wait(mut self, longest: Duration) -> Self {
        self.longest = Some(longest);
        self
    }

    /// Whoever is next waits for up to so much longer than it has to, by chance: for processes that
    /// would otherwise all come at the same moment.
    pub const fn jitter(mut self, most: Duration) -> Self {
        self.jitter = most;
        self
    }

    /// Whether a request that does not wait may take permits for which others do. Unless told so, it
    /// is denied while anybody waits for its key.
    pub const fn overtaking(mut self, overtaking: bool) -> Self {
        self.overtaking = overtaking;
        self
    }

    /// The shorter of the two.
    pub(super) fn bounded(&self, timeout: Option<Duration>) -> Option<Duration> {
        match (timeout, self.longest) {
            (Some(timeout), Some(longest)) => Some(timeout.min(longest)),
            (timeout, longest) => timeout.or(longest),
        }
    }

    /// How much longer to wait this time.
    pub(super) fn some_jitter(&self) -> Duration {
        let most = u64::try_from(self.jitter.as_nanos()).unwrap_or(u64::MAX);
        if most == 0 {
            return Duration::ZERO;
        }
        // Seeded at random for each thread, and differently each time.
        let chance = RandomState::new().build_hasher().finish();
        Duration::from_nanos(chance % most)
    }
}

impl Default for WaitPolicy {
    fn default() -> Self {
        Self::new()
    }
}
