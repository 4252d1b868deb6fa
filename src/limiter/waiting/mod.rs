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
        // What all of them together would be told, as far as a state can tell.
        let all = ahead.saturating_add(cost).min(capacity);
        let seen = self.look(key, all, make, ask_one::<A>(all));
        Some(seen.behind_others(cost))
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
