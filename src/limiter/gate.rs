//! One limiter's part in a request that needs several: a key and a cost, put to it.

use super::{LimitSource, RateLimiter, UnkeyedLimiter};
use crate::algorithm::Algorithm;
use crate::decision::Decision;
use crate::ticker::Ticker;
use papaya::Equivalent;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hash};

/// One limiter's part in a request that needs several: made by [`RateLimiter::ask`],
/// [`RateLimiter::ask_n`] or [`UnkeyedLimiter::ask_n`], used by
/// [`try_acquire_all`](crate::try_acquire_all).
///
/// Sealed: other kinds of limiters are not expected to take part.
pub trait Gate: sealed::Gate {
    /// The permits that are asked for.
    fn cost(&self) -> u64;
}

pub(super) mod sealed {
    use super::{Decision, RandomState};

    pub trait Gate {
        /// The most that can ever be taken at once.
        fn capacity(&self) -> u64;
        fn take(&self) -> Decision;
        fn look(&self, cost: u64) -> Decision;
        fn give_back(&self, decision: Decision);
        /// The limiter, and what tells its keys apart.
        fn identity(&self, hasher: &RandomState) -> (usize, u64);
    }
}

/// A key and a cost, put to a limiter; see [`RateLimiter::ask`].
pub struct Ask<'a, R, Q: ?Sized, M> {
    limiter: &'a R,
    key: &'a Q,
    cost: u64,
    make: M,
}

impl<K, A, T, L, S> RateLimiter<K, A, T, L, S>
where
    K: Hash + Eq,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    /// One permit for `key`, for [`try_acquire_all`](crate::try_acquire_all) to take together with others.
    pub fn ask<'a, Q>(&'a self, key: &'a Q) -> Ask<'a, Self, Q, fn(&Q) -> K>
    where
        Q: Hash + Equivalent<K> + ToOwned<Owned = K> + ?Sized,
    {
        self.ask_n(key, 1)
    }

    /// `cost` permits for `key`, for [`try_acquire_all`](crate::try_acquire_all) to take together with others.
    pub fn ask_n<'a, Q>(&'a self, key: &'a Q, cost: u64) -> Ask<'a, Self, Q, fn(&Q) -> K>
    where
        Q: Hash + Equivalent<K> + ToOwned<Owned = K> + ?Sized,
    {
        self.ask_n_with(key, cost, Q::to_owned)
    }

    /// As [`ask_n`](Self::ask_n), for a key that is made by `make`; see
    /// [`try_acquire_with`](Self::try_acquire_with).
    pub fn ask_n_with<'a, Q, M>(&'a self, key: &'a Q, cost: u64, make: M) -> Ask<'a, Self, Q, M>
    where
        Q: Hash + Equivalent<K> + ?Sized,
        M: Fn(&Q) -> K,
    {
        Ask {
            limiter: self,
            key,
            cost,
            make,
        }
    }
}

impl<K, A, T, L, S, Q, M> Gate for Ask<'_, RateLimiter<K, A, T, L, S>, Q, M>
where
    K: Hash + Eq,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
    Q: Hash + Equivalent<K> + ?Sized,
    M: Fn(&Q) -> K,
{
    fn cost(&self) -> u64 {
        self.cost
    }
}

impl<K, A, T, L, S, Q, M> sealed::Gate for Ask<'_, RateLimiter<K, A, T, L, S>, Q, M>
where
    K: Hash + Eq,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
    Q: Hash + Equivalent<K> + ?Sized,
    M: Fn(&Q) -> K,
{
    fn capacity(&self) -> u64 {
        self.limiter.capacity(self.key, &self.make)
    }

    fn take(&self) -> Decision {
        self.limiter
            .try_acquire_n_with(self.key, self.cost, &self.make)
    }

    fn look(&self, cost: u64) -> Decision {
        self.limiter.peek_n_with(self.key, cost, &self.make)
    }

    fn give_back(&self, decision: Decision) {
        self.limiter.refund(self.key, decision);
    }

    fn identity(&self, hasher: &RandomState) -> (usize, u64) {
        let limiter: *const _ = self.limiter;
        (limiter.addr(), hasher.hash_one(self.key))
    }
}

impl<R, Q: fmt::Debug + ?Sized, M> fmt::Debug for Ask<'_, R, Q, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("key", &self.key)
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}

/// A cost, put to a limiter without keys; see [`UnkeyedLimiter::ask_n`].
pub struct AskUnkeyed<'a, A: Algorithm, T> {
    limiter: &'a UnkeyedLimiter<A, T>,
    cost: u64,
}

impl<A: Algorithm, T: Ticker> UnkeyedLimiter<A, T> {
    /// One permit, for [`try_acquire_all`](crate::try_acquire_all) to take together with others.
    pub fn ask(&self) -> AskUnkeyed<'_, A, T> {
        self.ask_n(1)
    }

    /// `cost` permits, for [`try_acquire_all`](crate::try_acquire_all) to take together with others.
    pub fn ask_n(&self, cost: u64) -> AskUnkeyed<'_, A, T> {
        AskUnkeyed {
            limiter: self,
            cost,
        }
    }
}

impl<A: Algorithm, T: Ticker> Gate for AskUnkeyed<'_, A, T> {
    fn cost(&self) -> u64 {
        self.cost
    }
}

impl<A: Algorithm, T: Ticker> sealed::Gate for AskUnkeyed<'_, A, T> {
    fn capacity(&self) -> u64 {
        self.limiter.capacity()
    }

    fn take(&self) -> Decision {
        self.limiter.try_acquire_n(self.cost)
    }

    fn look(&self, cost: u64) -> Decision {
        self.limiter.peek_n(cost)
    }

    fn give_back(&self, decision: Decision) {
        self.limiter.refund(decision);
    }

    fn identity(&self, _: &RandomState) -> (usize, u64) {
        let limiter: *const _ = self.limiter;
        (limiter.addr(), 0)
    }
}

impl<A: Algorithm, T> fmt::Debug for AskUnkeyed<'_, A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskUnkeyed")
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}
