//! Forgetting keys that are idle: when they are, by a sweep, and in passing.

use super::{LimitSource, RateLimiter, Tracked};
use crate::algorithm::{Algorithm, Reading};
use crate::ticker::Ticker;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::Ordering;

/// How old a noted reading of an eviction may be, in nanoseconds, for new keys to go by it.
const NOTED_EVERY: u64 = 1_000_000;

impl<K, A, T, L, S> RateLimiter<K, A, T, L, S>
where
    K: Hash + Eq,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    /// Forgets the keys that are idle, which is: equal to new. Returns how many those were.
    ///
    /// Not one permit is minted by it, whatever other threads do meanwhile, and even if the clock
    /// steps back afterwards: readings from before it count as its own. A key counts as idle
    /// only once it has been so for longer than the ticker's
    /// [`disagreement`](Ticker::disagreement).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Limit, ManualTicker, RateLimiter};
    ///
    /// let ticker = ManualTicker::new(0);
    /// let limiter = RateLimiter::<u64>::builder(Limit::per_second(2))
    ///     .ticker(ticker.clone())
    ///     .build()?;
    /// let _ = limiter.try_acquire(&1);
    /// assert_eq!(limiter.evict_idle(), 0, "it has a permit to come");
    ///
    /// ticker.advance(Duration::from_millis(500));
    /// assert_eq!(limiter.evict_idle(), 1);
    /// assert_eq!(limiter.tracked_keys(), 0);
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn evict_idle(&self) -> usize {
        let at = self.begin_evicting();
        self.store
            .sweep(|hash, tracked| self.retire_if_idle(hash, tracked, at))
    }

    /// As [`evict_idle`](Self::evict_idle), of at most so many keys: a step that takes so long and
    /// no longer. Each step goes on from where the last one stopped, round and round.
    ///
    /// A new key does a small step by itself, so that a limiter without a timer does not grow for
    /// ever: see [`max_keys`](crate::Builder::max_keys).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Limit, ManualTicker, RateLimiter};
    ///
    /// let ticker = ManualTicker::new(0);
    /// let limiter = RateLimiter::<u64>::builder(Limit::per_second(2))
    ///     .ticker(ticker.clone())
    ///     .build()?;
    /// for key in 0..10 {
    ///     let _ = limiter.try_acquire(&key);
    /// }
    /// ticker.advance(Duration::from_millis(500));
    /// assert_eq!(limiter.evict_idle_step(6), 6);
    /// assert_eq!(limiter.evict_idle_step(6), 4);
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn evict_idle_step(&self, keys: usize) -> usize {
        let at = self.begin_evicting();
        self.store
            .sweep_some(keys, |hash, tracked| self.retire_if_idle(hash, tracked, at))
    }

    /// The reading at which a state has to be idle to be forgotten: no thread reads an older one.
    fn evicting_at(&self) -> Reading {
        let now = self.ticker.now();
        Reading::new(self.start, now.saturating_sub(self.ticker.disagreement()))
    }

    /// The reading of a sweep, noted before it retires anything: a key that is forgotten by it is
    /// not begun again at an older one.
    fn begin_evicting(&self) -> Reading {
        let at = self.evicting_at();
        // Relaxed: the marks publish it.
        self.evicted_at.fetch_max(at.now(), Ordering::Relaxed);
        at
    }

    /// The reading at which a new key retires those that are in its way: the one that was noted
    /// last, if that is not long ago. What every request reads is then seldom written.
    fn evicting_in_passing(&self) -> Reading {
        self.noted_lately().unwrap_or_else(|| self.begin_evicting())
    }

    fn noted_lately(&self) -> Option<Reading> {
        // Relaxed: as in `begin_evicting`.
        let noted = self.evicted_at.load(Ordering::Relaxed);
        let age = self.evicting_at().now().saturating_sub(noted);
        (age < NOTED_EVERY).then(|| Reading::new(self.start, noted))
    }

    /// Retires a state if it is idle, at a reading that is taken when the first one is asked. `None`
    /// if new keys are not to look for idle ones.
    pub(super) fn retire_in_passing(&self) -> Option<impl FnMut(u64, &Tracked<A, L>) -> bool> {
        let mut at = None;
        self.evicts_in_passing.then_some(move |hash, tracked: &_| {
            let at = *at.get_or_insert_with(|| self.evicting_in_passing());
            self.retire_if_idle(hash, tracked, at)
        })
    }

    /// Whether [`retire_in_passing`](Self::retire_in_passing) would retire a state.
    pub(super) fn idle_in_passing(&self) -> Option<impl FnMut(u64, &Tracked<A, L>) -> bool> {
        let at = self.noted_lately().unwrap_or_else(|| self.evicting_at());
        self.evicts_in_passing
            .then_some(move |hash, tracked: &Tracked<A, L>| {
                if self.room.holds(hash) {
                    return false;
                }
                let rule = L::rule(&self.source, &tracked.own);
                let seen = A::peek(rule, &tracked.state, at, 0);
                // One that has recorded a later time than this reading is judged at that.
                seen.is_ok_and(|seen| seen.reset_after().is_zero() && seen.reading() <= at.now())
            })
    }

    /// A key that is waited for is not forgotten, though it be idle: its place is for those who wait.
    fn retire_if_idle(&self, hash: u64, tracked: &Tracked<A, L>, at: Reading) -> bool {
        let rule = L::rule(&self.source, &tracked.own);
        !self.room.holds(hash) && A::retire_if_idle(rule, &tracked.state, at)
    }
}
