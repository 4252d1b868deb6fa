//! How a key's state is asked: look it up, begin it if need be, and again if it is gone.

use super::full::{Answer, Full};
use super::{LimitSource, RateLimiter, Tracked};
use crate::algorithm::{Algorithm, Gone, Reading};
use crate::decision::Decision;
use crate::sync::{Backoff, Guard, Ref, value};
use crate::ticker::Ticker;
use papaya::Equivalent;
use std::cell::OnceCell;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::Ordering;

impl<K, A, T, L, S> RateLimiter<K, A, T, L, S>
where
    K: Hash + Eq,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    #[inline]
    pub(super) fn reading(&self) -> Reading {
        // Relaxed: who has met the mark of an eviction, or misses the key, sees the floor that was
        // raised before it. For all others it changes nothing, unless the clock steps back.
        let floor = self.evicted_at.load(Ordering::Relaxed);
        Reading::new(self.start, self.ticker.now().max(floor))
    }

    /// Asks a key's state. The ticker is read here, once the state is in hand: a reading from
    /// before the look-up could be older than the eviction that has made the state new.
    #[inline]
    fn ask_state<R>(
        &self,
        tracked: Ref<'_, Tracked<A, L>>,
        ask: impl FnOnce(&A::Rule, &A::State, Reading) -> Result<R, Gone>,
    ) -> Result<R, Gone> {
        let rule = L::rule(&self.source, &tracked.own);
        ask(rule, &tracked.state, self.reading())
    }

    /// Asks a key's state under the key's own limit, which a refresh may just have changed.
    #[inline]
    fn ask_settled<Q: ?Sized, R>(
        &self,
        tracked: Ref<'_, Tracked<A, L>>,
        key: &Q,
        make: &impl Fn(&Q) -> K,
        guard: &Guard<'_>,
        ask: impl FnOnce(&A::Rule, &A::State, Reading) -> Result<R, Gone>,
    ) -> Result<R, Gone> {
        if !L::is_settled(&tracked.own) {
            L::settle(self, value(&tracked), make(key), guard)?;
        }
        self.ask_state(tracked, ask)
    }

    /// Spends, and begins the key if it has no state.
    #[inline(always)]
    pub(super) fn spend<Q>(
        &self,
        key: &Q,
        cost: u64,
        make: impl Fn(&Q) -> K,
        guard: &Guard<'_>,
    ) -> Decision
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let known = if self.room.is_used() {
            None
        } else {
            self.spend_known(key, cost, guard)
        };
        match known {
            Some(decision) => decision,
            None => self.spend_slowly(key, cost, make, guard),
        }
    }

    /// What nearly every request comes to, if nobody waits: inlined into the caller, only as much of
    /// an answer is made as the caller reads. `None` if there is more to it.
    #[inline(always)]
    pub(super) fn spend_known<Q>(&self, key: &Q, cost: u64, guard: &Guard<'_>) -> Option<Decision>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let tracked = self.store.get(key, guard)?;
        let rule = L::rule(&self.source, &tracked.own);
        if !L::is_settled(&tracked.own) || cost == 0 || cost > A::capacity(rule) {
            return None;
        }
        A::try_acquire(rule, &tracked.state, self.reading(), cost).ok()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn spend_slowly<Q>(
        &self,
        key: &Q,
        cost: u64,
        make: impl Fn(&Q) -> K,
        guard: &Guard<'_>,
    ) -> Decision
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        if let Some(behind) = self.behind_waiters(key, cost, &make) {
            return behind;
        }
        self.decide(key, cost, make, guard, ask_one::<A>(cost))
    }

    /// Asks the key's state, and begins the key if it has none and there is something to spend.
    #[inline]
    pub(super) fn decide<Q, R: Answer>(
        &self,
        key: &Q,
        cost: u64,
        make: impl Fn(&Q) -> K,
        guard: &Guard<'_>,
        mut ask: impl FnMut(&A::Rule, &A::State, Reading, bool) -> Result<R, Gone>,
    ) -> R
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let backoff = Backoff::new();
        let mut ask = |rule: &A::Rule, state: &A::State, at| {
            let spends = cost > 0 && cost <= A::capacity(rule);
            ask(rule, state, at, spends)
        };
        loop {
            let answer = match self.store.get(key, guard) {
                Some(tracked) => self.ask_settled(tracked, key, &make, guard, &mut ask),
                None => self.begin(key, cost, &make, guard, &mut ask),
            };
            match answer {
                Ok(answer) => return answer,
                Err(gone) => self.give_way(gone, key, guard, &backoff),
            }
        }
    }

    /// The key's first request.
    #[cold]
    fn begin<Q, R: Answer>(
        &self,
        key: &Q,
        cost: u64,
        make: &impl Fn(&Q) -> K,
        guard: &Guard<'_>,
        mut ask: impl FnMut(&A::Rule, &A::State, Reading) -> Result<R, Gone>,
    ) -> Result<R, Gone>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let owned = OnceCell::new();
        // The caller's function runs before anything is touched: it may panic, or ask this very
        // limiter.
        let own = L::begin(&self.source, || owned.get_or_init(|| make(key)));
        let rule = L::rule(&self.source, &own);
        let state = A::fresh(rule);
        if cost == 0 || cost > A::capacity(rule) {
            return ask(rule, &state, self.reading());
        }
        let owned = owned.into_inner().unwrap_or_else(|| make(key));
        let retire = self.retire_in_passing();
        match self
            .store
            .begin(owned, Tracked { own, state }, retire, guard)
        {
            Ok(tracked) => self.ask_settled(tracked, key, make, guard, ask),
            Err(Tracked { own, state }) => match self.store.get(key, guard) {
                // Another thread has begun the key, and has taken the last place for it.
                Some(tracked) => self.ask_settled(tracked, key, make, guard, ask),
                None => self.ask_untracked(L::rule(&self.source, &own), &state, ask),
            },
        }
    }

    /// The answer to a key for which there is no place.
    fn ask_untracked<R: Answer>(
        &self,
        rule: &A::Rule,
        fresh: &A::State,
        mut ask: impl FnMut(&A::Rule, &A::State, Reading) -> Result<R, Gone>,
    ) -> Result<R, Gone> {
        let at = self.reading();
        match &self.full {
            Full::Deny => Ok(ask(rule, fresh, at)?.map(Decision::refused)),
            Full::Allow => Ok(ask(rule, fresh, at)?.map(|allowed| allowed.unspent().untracked())),
            Full::Share(plan, state) => Ok(ask(plan.rule(), state, at)?.map(Decision::untracked)),
        }
    }

    /// Asks the key's state, whichever that is in the end; `None` if the key has none. For what does
    /// not depend on the limit.
    pub(super) fn on_state<Q, R>(
        &self,
        key: &Q,
        guard: &Guard<'_>,
        mut ask: impl FnMut(&A::Rule, &A::State, Reading) -> Result<R, Gone>,
    ) -> Option<R>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let backoff = Backoff::new();
        loop {
            let tracked = self.store.get(key, guard)?;
            match self.ask_state(tracked, &mut ask) {
                Ok(answer) => return Some(answer),
                Err(gone) => self.give_way(gone, key, guard, &backoff),
            }
        }
    }

    /// Before the key is looked up again.
    #[cold]
    fn give_way<Q>(&self, gone: Gone, key: &Q, guard: &Guard<'_>, backoff: &Backoff)
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        match gone {
            Gone::Retired => self.store.remove_retired(key, guard),
            Gone::Moving => self.moving.wait(backoff),
        }
    }

    /// Answers what [`decide`](Self::decide) would, without a trace. `ask` is told to spend only from
    /// a state that nobody else knows.
    pub(super) fn look<Q, R: Answer>(
        &self,
        key: &Q,
        cost: u64,
        make: impl Fn(&Q) -> K,
        ask: impl FnMut(&A::Rule, &A::State, Reading, bool) -> Result<R, Gone>,
    ) -> R
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.look_or(key, make, ask, |ask, rule, guard| {
            let fresh = A::fresh(rule);
            let begins = cost > 0 && cost <= A::capacity(rule);
            if begins && !self.store.may_begin(self.idle_in_passing(), guard) {
                // How long a request that is refused has to wait takes what it would have spent.
                let spends = matches!(self.full, Full::Deny);
                return self
                    .ask_untracked(rule, &fresh, |rule, state, at| ask(rule, state, at, spends));
            }
            ask(rule, &fresh, self.reading(), false)
        })
    }

    /// Asks the key's state, or calls `absent` if it has none, and begins no key.
    fn look_or<Q, R, F>(
        &self,
        key: &Q,
        make: impl Fn(&Q) -> K,
        mut ask: F,
        absent: impl Fn(&mut F, &A::Rule, &Guard<'_>) -> Result<R, Gone>,
    ) -> R
    where
        Q: Hash + Equivalent<K> + ?Sized,
        F: FnMut(&A::Rule, &A::State, Reading, bool) -> Result<R, Gone>,
    {
        let guard = self.store.guard();
        let backoff = Backoff::new();
        loop {
            let answer = match self.store.get(key, &guard) {
                Some(tracked) => {
                    self.ask_settled(tracked, key, &make, &guard, |rule, state, at| {
                        ask(rule, state, at, false)
                    })
                }
                None => {
                    let owned = OnceCell::new();
                    let own = L::begin(&self.source, || owned.get_or_init(|| make(key)));
                    absent(&mut ask, L::rule(&self.source, &own), &guard)
                }
            };
            match answer {
                Ok(answer) => return answer,
                Err(gone) => self.give_way(gone, key, &guard, &backoff),
            }
        }
    }

    /// The most that a single request for the key may cost.
    pub(super) fn capacity<Q>(&self, key: &Q, make: impl Fn(&Q) -> K) -> u64
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let capacity = |rule: &A::Rule, _: &A::State, _, _| Ok(A::capacity(rule));
        match L::plan_for_all(&self.source) {
            Some(plan) => plan.capacity(),
            None => self.look_or(key, make, capacity, |_, rule, _| Ok(A::capacity(rule))),
        }
    }
}

/// Spends if `spends`, and answers what spending would if not.
#[inline]
pub(super) fn ask_one<A: Algorithm>(
    cost: u64,
) -> impl FnMut(&A::Rule, &A::State, Reading, bool) -> Result<Decision, Gone> {
    move |rule, state, at, spends| {
        if spends {
            A::try_acquire(rule, state, at, cost)
        } else {
            A::peek(rule, state, at, cost)
        }
    }
}

/// A decision, and of how many limits.
type Each = (Decision, usize);

/// As [`ask_one`], with every limit's own answer.
#[inline]
pub(super) fn ask_each<A: Algorithm>(
    cost: u64,
    each: &mut [Decision],
) -> impl FnMut(&A::Rule, &A::State, Reading, bool) -> Result<Each, Gone> {
    move |rule, state, at, spends| {
        if spends {
            A::try_acquire_each(rule, state, at, cost, each)
        } else {
            A::peek_each(rule, state, at, cost, each)
        }
    }
}
