//! What is known to have been used only afterwards.

use super::{LimitSource, RateLimiter};
use crate::algorithm::Algorithm;
use crate::decision::Decision;
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
    /// Charges `key` for what it has used already, such as the bytes of an answer or the tokens of a
    /// model, and tells how it stands then.
    ///
    /// It cannot be refused, and may leave the key in debt: [`TokenBucket`](crate::TokenBucket) and
    /// [`AllOf`](crate::AllOf) take it to one burst below zero at most, so that it waits that much
    /// longer for its next permit, and the rest is let off. The windows, the log and the counter,
    /// which forget, charge what is left and let off the rest. The usual way is one permit before a
    /// request, if only to see whether the key is in debt, and the rest of its cost after.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Limit, ManualTicker, RateLimiter};
    ///
    /// // Tokens: 100 a minute.
    /// let limiter = RateLimiter::<u64>::builder(Limit::per_minute(100))
    ///     .ticker(ManualTicker::new(0))
    ///     .build()?;
    /// assert!(limiter.try_acquire(&7).is_allowed());
    /// // The answer has taken 150 more.
    /// assert_eq!(limiter.charge(&7, 150).remaining(), 0);
    /// // 51 are owed: the first is there when these have come back, and one more.
    /// let denied = limiter.try_acquire(&7);
    /// assert_eq!(denied.retry_after(), Some(Duration::from_millis(52 * 600)));
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn charge<Q>(&self, key: &Q, cost: u64) -> Decision
    where
        Q: Hash + Equivalent<K> + ToOwned<Owned = K> + ?Sized,
    {
        // Asks for one, so that a key that has none gets a state.
        let begins = cost.min(1);
        let guard = self.store.guard();
        self.decide(key, begins, Q::to_owned, &guard, |rule, state, at, _| {
            if cost == 0 {
                A::peek(rule, state, at, 0)
            } else {
                A::charge(rule, state, at, cost)
            }
        })
        .unspent()
    }
}
