//! A handle that keeps the map's guard over many decisions.

use super::{LimitSource, RateLimiter};
use crate::algorithm::Algorithm;
use crate::decision::Decision;
use crate::sync::{Guard, renew};
use crate::ticker::Ticker;
use papaya::Equivalent;
use std::fmt;
use std::hash::{BuildHasher, Hash};

/// After so many decisions the guard is renewed, so that what was removed meanwhile can be freed.
const RENEW_EVERY: u32 = 64;

/// A limiter, held ready by one thread for many decisions in a row; see
/// [`RateLimiter::pin`].
pub struct Pinned<'a, K, A, T, L, S>
where
    A: Algorithm,
    L: LimitSource,
{
    limiter: &'a RateLimiter<K, A, T, L, S>,
    guard: Guard<'a>,
    /// How many decisions until the guard is renewed.
    left: u32,
}

impl<K, A, T, L, S> RateLimiter<K, A, T, L, S>
where
    K: Hash + Eq,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    /// A handle for many decisions in a row, by one thread: each is a few nanoseconds cheaper than
    /// through the limiter itself.
    ///
    /// What other threads remove from the map is not freed before the handle is used again, dropped
    /// or [renewed](Pinned::renew), which it does by itself every 64 decisions. So keep it for a
    /// batch of requests, but not while nothing is asked.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// let limiter = RateLimiter::<u64>::new(Limit::per_hour(2))?;
    /// let mut pinned = limiter.pin();
    /// let batch = [7, 7, 8, 7];
    /// let allowed = batch.map(|key| pinned.try_acquire(&key).is_allowed());
    /// assert_eq!(allowed, [true, true, true, false]);
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    #[inline]
    pub fn pin(&self) -> Pinned<'_, K, A, T, L, S> {
        Pinned {
            limiter: self,
            guard: self.store.guard(),
            left: RENEW_EVERY,
        }
    }
}

impl<K, A, T, L, S> Pinned<'_, K, A, T, L, S>
where
    K: Hash + Eq,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    /// As [`RateLimiter::try_acquire`].
    #[must_use = "a decision that nobody reads limits nothing"]
    #[inline(always)]
    pub fn try_acquire<Q>(&mut self, key: &Q) -> Decision
    where
        Q: Hash + Equivalent<K> + ToOwned<Owned = K> + ?Sized,
    {
        self.try_acquire_n_with(key, 1, Q::to_owned)
    }

    /// As [`RateLimiter::try_acquire_n`].
    #[must_use = "a decision that nobody reads limits nothing"]
    #[inline(always)]
    pub fn try_acquire_n<Q>(&mut self, key: &Q, cost: u64) -> Decision
    where
        Q: Hash + Equivalent<K> + ToOwned<Owned = K> + ?Sized,
    {
        self.try_acquire_n_with(key, cost, Q::to_owned)
    }

    /// As [`RateLimiter::try_acquire_with`].
    #[must_use = "a decision that nobody reads limits nothing"]
    #[inline(always)]
    pub fn try_acquire_with<Q>(&mut self, key: &Q, make: impl Fn(&Q) -> K) -> Decision
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.try_acquire_n_with(key, 1, make)
    }

    /// As [`RateLimiter::try_acquire_n_with`].
    #[must_use = "a decision that nobody reads limits nothing"]
    #[inline(always)]
    pub fn try_acquire_n_with<Q>(&mut self, key: &Q, cost: u64, make: impl Fn(&Q) -> K) -> Decision
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.left -= 1;
        if self.left == 0 {
            self.renew();
        }
        self.limiter.spend(key, cost, make, &self.guard)
    }

    /// Lets go of what was removed from the map since the handle was made or renewed. It has no effect
    /// while the same thread has another handle of this limiter.
    #[inline(never)]
    pub fn renew(&mut self) {
        self.left = RENEW_EVERY;
        renew(&mut self.guard);
    }

    /// The limiter, for everything else.
    pub fn limiter(&self) -> &RateLimiter<K, A, T, L, S> {
        self.limiter
    }
}

impl<K, A: Algorithm, T, L: LimitSource, S> fmt::Debug for Pinned<'_, K, A, T, L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").finish_non_exhaustive()
    }
}
