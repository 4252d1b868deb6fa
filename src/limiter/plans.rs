//! Which limits a key is held to.

use super::{LimitSource, RateLimiter};
use crate::algorithm::{Algorithm, Plan};
use crate::ticker::Ticker;
use papaya::Equivalent;
use std::hash::{BuildHasher, Hash};

impl<K, A, T, L, S> RateLimiter<K, A, T, L, S>
where
    K: Hash + Eq,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    /// The limits that requests for `key` are held to now: for a header, say, or a page that tells a
    /// client its plan.
    ///
    /// Where keys have plans of their own it is the plan that the key was begun with or last
    /// refreshed to; for a key that has no state, the one that it would be begun with.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Algorithm, Limit, RateLimiter, TokenBucket};
    ///
    /// let free = TokenBucket.plan(Limit::per_minute(60))?;
    /// let paid = TokenBucket.plan(Limit::per_minute(600))?;
    /// let limiter = RateLimiter::<String>::by_plan(move |key: &String| {
    ///     if key.starts_with("paid-") { paid.clone() } else { free.clone() }
    /// })
    /// .build()?;
    /// assert_eq!(limiter.plan_of("paid-ada").limits(), [Limit::per_minute(600)]);
    /// assert_eq!(limiter.tracked_keys(), 0, "to look begins nothing");
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn plan_of<Q>(&self, key: &Q) -> Plan<A>
    where
        Q: Hash + Equivalent<K> + ToOwned<Owned = K> + ?Sized,
    {
        self.plan_with(key, Q::to_owned)
    }

    pub(super) fn plan_with<Q>(&self, key: &Q, make: impl Fn(&Q) -> K) -> Plan<A>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        if let Some(plan) = self.plan_for_all() {
            return plan.clone();
        }
        let guard = self.store.guard();
        match self.store.get(key, &guard) {
            Some(tracked) => L::plan(&self.source, &tracked.own).clone(),
            None => {
                let owned = make(key);
                L::plan(&self.source, &L::begin(&self.source, || &owned)).clone()
            }
        }
    }

    /// The limits of every key, if they are the same for all.
    pub(crate) fn plan_for_all(&self) -> Option<&Plan<A>> {
        L::plan_for_all(&self.source)
    }
}
