//! Waiting for permits instead of being denied.

mod blocking;
#[cfg(feature = "tokio")]
mod future;
mod place;
mod policy;
mod room;

#[cfg(feature = "tokio")]
pub use future::{Acquire, AcquireOwned};
pub use place::Waitable;
pub use policy::WaitPolicy;
pub(super) use room::Room;

use super::asking::ask_one;
use super::{LimitSource, RateLimiter};
use crate::algorithm::Algorithm;
use crate::decision::Decision;
use crate::limit::Limit;
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
    /// How many requests wait for their turn now, for all keys together.
    pub fn waiters(&self) -> usize {
        self.room.waiting()
    }

    /// The refusal of a request that would take permits for which others wait. `None` if nobody does.
    #[inline]
    pub(super) fn behind_waiters<Q>(
        &self,
        key: &Q,
        cost: u64,
        make: impl Fn(&Q) -> K,
    ) -> Option<Decision>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        if !self.room.is_used() {
            return None;
        }
        self.behind_those_of_key(key, cost, make)
    }

    #[cold]
    fn behind_those_of_key<Q>(&self, key: &Q, cost: u64, make: impl Fn(&Q) -> K) -> Option<Decision>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        if cost == 0 || self.room.policy.overtaking {
            return None;
        }
        let ahead = self.room.ahead(self.store.hash_at_place(key), key)?;
        let capacity = self.capacity(key, &make);
        if cost > capacity {
            return None;
        }
        // What all of them together would be told, as far as a state can tell; and for what is more
        // than it can hold, the time that its limits take to bring it.
        let all = ahead.saturating_add(cost);
        let told = all.min(capacity);
        let seen = self.look(key, told, &make, ask_one::<A>(told));
        let later = match all - told {
            0 => 0,
            more => {
                let plan = self.plan_with(key, &make);
                let times = plan.limits().iter().map(|limit| time_for(more, limit));
                times.max().unwrap_or(0)
            }
        };
        Some(seen.behind_others(cost, later))
    }

    /// Lets whoever waits for the key and is first ask again: there may be more permits.
    #[inline]
    pub(super) fn wake_first<Q>(&self, key: &Q)
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        if self.room.is_used() {
            self.room.wake_first(self.store.hash_at_place(key), key);
        }
    }
}

/// How many nanoseconds a limit takes to bring so many permits, rounded up.
fn time_for(permits: u64, limit: &Limit) -> u64 {
    let time = u128::from(permits) * u128::from(limit.period_ns());
    u64::try_from(time.div_ceil(limit.permits().into())).unwrap_or(u64::MAX)
}

/// What the models look at.
#[cfg(test)]
pub(crate) mod modelled {
    pub(crate) use super::room::{Room, Turn, Waiter};
}
