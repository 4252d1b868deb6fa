//! Limits that change while their keys are active.

use super::source::{OwnPlan, Settles};
use super::{PerKey, RateLimiter, Tracked};
use crate::algorithm::{Algorithm, Gone};
use crate::sync::{Backoff, Guard, value};
use crate::ticker::Ticker;
use papaya::Equivalent;
use std::hash::{BuildHasher, Hash};

/// Limits that change, for a limiter whose limits come from a function
/// ([`by_plan`](RateLimiter::by_plan)).
impl<K, A, T, S> RateLimiter<K, A, T, PerKey, S>
where
    K: Hash + Eq + Clone,
    A: Algorithm,
    T: Ticker,
    S: BuildHasher,
{
    /// Asks the function from key to plan again for this key, and brings limit and numbers over to
    /// the new plan together. The next check of the key uses it.
    ///
    /// Permits that are owed stay owed, and a raised limit's extra permits are there at once; the
    /// table of what each algorithm keeps is in [`algorithm`](crate::algorithm#operations). A key that has no
    /// state begins under its new plan anyway. A plan with equal limits changes nothing.
    ///
    /// The function runs before anything is touched; a check of this very key that comes while its
    /// numbers are moved waits for a few instructions. Of two refreshes of one key at the same
    /// time, the one that began later prevails.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use std::sync::Arc;
    /// use tollgate::{Algorithm, Limit, RateLimiter, TokenBucket};
    ///
    /// let has_paid = Arc::new(AtomicBool::new(false));
    /// let (free, paid) = (
    ///     TokenBucket.plan(Limit::per_hour(10))?,
    ///     TokenBucket.plan(Limit::per_hour(100))?,
    /// );
    /// let limiter = RateLimiter::<u64>::by_plan({
    ///     let has_paid = has_paid.clone();
    ///     move |_| if has_paid.load(Ordering::Acquire) { paid.clone() } else { free.clone() }
    /// })
    /// .build()?;
    ///
    /// assert_eq!(limiter.try_acquire_n(&1, 4).remaining(), 6);
    /// has_paid.store(true, Ordering::Release);
    /// limiter.refresh(&1);
    /// assert_eq!(limiter.peek(&1).remaining(), 96, "4 are still owed");
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn refresh<Q>(&self, key: &Q)
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let number = self.source.count_refresh();
        let guard = self.store.guard();
        if let Some(owned) = self.store.get_cloned_key(key, &guard) {
            self.refresh_as_of(owned, number, &guard);
            self.wake_first(key);
        }
    }

    /// [`refresh`](Self::refresh) of every key: the next check of any key uses its new limit.
    ///
    /// It runs the function once per key that has a state, while other threads go on.
    pub fn refresh_all(&self) {
        let number = self.source.count_refresh();
        self.store
            .for_each_key(|key, guard| self.refresh_as_of(key, number, guard));
        self.room.wake_all_first();
    }
}

impl<K, A, T, S> RateLimiter<K, A, T, PerKey, S>
where
    K: Hash + Eq,
    A: Algorithm,
    T: Ticker,
    S: BuildHasher,
{
    fn refresh_as_of(&self, key: K, number: u64, guard: &Guard<'_>) {
        let own = self.source.resolved(&key, number);
        self.move_to(own, key, guard);
    }

    /// Brings the key over to a plan that was resolved for a refresh.
    fn move_to(&self, own: OwnPlan<A>, key: K, guard: &Guard<'_>) {
        let backoff = Backoff::new();
        loop {
            let Some(tracked) = self.store.get(&key, guard) else {
                return;
            };
            let gone = {
                let _turn = self.moving.take();
                match A::hold(&tracked.state) {
                    Ok(held) => {
                        let tracked = value(&tracked);
                        return self.bring_over(tracked, held, key, own, Settles::No, guard);
                    }
                    Err(gone) => gone,
                }
            };
            match gone {
                Gone::Retired => return self.store.remove_retired(&key, guard),
                Gone::Moving => self.moving.wait(&backoff),
            }
        }
    }

    /// Puts a state under another plan in the place of the key's, whose numbers are held; or puts
    /// those back, if the plan is no newer or no different.
    pub(super) fn bring_over(
        &self,
        tracked: &Tracked<A, PerKey>,
        held: A::Held,
        key: K,
        own: OwnPlan<A>,
        settles: Settles,
        guard: &Guard<'_>,
    ) {
        // Until it is replaced, the state is put back on every way out, a panic of the key's `Hash`
        // or `Eq` included.
        let hold = Hold::<A> {
            state: &tracked.state,
            held,
        };
        if !own.replaces(&tracked.own, settles) {
            return;
        }
        let (from, to) = (tracked.own.rule(), own.rule());
        let state = A::moved(from, &tracked.state, held, self.reading(), to);
        self.store.replace(key, Tracked { own, state }, guard);
        std::mem::forget(hold);
    }
}

/// The two halves of a refresh, for a model in which one is descheduled between them.
#[cfg(test)]
impl<K, A, T, S> RateLimiter<K, A, T, PerKey, S>
where
    K: Hash + Eq,
    A: Algorithm,
    T: Ticker,
    S: BuildHasher,
{
    pub(crate) fn begin_refresh(&self, key: &K) -> OwnPlan<A> {
        self.source.resolved(key, self.source.count_refresh())
    }

    pub(crate) fn finish_refresh(&self, own: OwnPlan<A>, key: K) {
        self.move_to(own, key, &self.store.guard());
    }
}

/// Puts a state's numbers back when it is dropped.
struct Hold<'a, A: Algorithm> {
    state: &'a A::State,
    held: A::Held,
}

impl<A: Algorithm> Drop for Hold<'_, A> {
    fn drop(&mut self) {
        A::release(self.state, self.held);
    }
}
