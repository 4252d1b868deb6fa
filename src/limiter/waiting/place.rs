//! A place in a key's line, which is given up when it is dropped.

use super::room::{Room, Turn, Waiter};
use super::{LimitSource, RateLimiter};
use crate::algorithm::Algorithm;
use crate::decision::Decision;
use crate::error::AcquireError;
use crate::limiter::asking::ask_one;
use crate::ticker::Ticker;
use sealed::Limiter as _;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::ops::Deref;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// A limiter that can be waited for: a [`RateLimiter`] whose keys can be cloned.
///
/// Sealed: there is no other.
pub trait Waitable: sealed::Limiter {}

pub(super) mod sealed {
    use super::{Decision, Room};

    pub trait Limiter {
        type Key: Clone + Eq + std::hash::Hash;

        fn try_acquire_n(&self, key: &Self::Key, cost: u64) -> Decision;
        fn peek_n(&self, key: &Self::Key, cost: u64) -> Decision;
        /// As the one whose turn it is.
        fn ask_as_first(&self, key: &Self::Key, cost: u64) -> Decision;
        fn hash(&self, key: &Self::Key) -> u64;
        #[allow(private_interfaces)] // Sealed: nobody else calls it.
        fn room(&self) -> &Room<Self::Key>;
    }
}

impl<K, A, T, L, S> Waitable for RateLimiter<K, A, T, L, S>
where
    K: Hash + Eq + Clone,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
}

#[allow(private_interfaces)] // As for the trait.
impl<K, A, T, L, S> sealed::Limiter for RateLimiter<K, A, T, L, S>
where
    K: Hash + Eq + Clone,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    type Key = K;

    fn try_acquire_n(&self, key: &K, cost: u64) -> Decision {
        self.try_acquire_n(key, cost)
    }

    fn peek_n(&self, key: &K, cost: u64) -> Decision {
        self.peek_n(key, cost)
    }

    fn ask_as_first(&self, key: &K, cost: u64) -> Decision {
        let guard = self.store.guard();
        self.decide(key, cost, K::clone, &guard, ask_one::<A>(cost))
    }

    fn hash(&self, key: &K) -> u64 {
        self.store.hash_at_place(key)
    }

    fn room(&self) -> &Room<K> {
        &self.room
    }
}

/// A request that waits, or will.
pub(super) struct Place<P>
where
    P: Deref,
    P::Target: Waitable,
{
    limiter: P,
    key: KeyOf<P>,
    cost: u64,
    waiter: Option<Arc<Waiter>>,
}

type KeyOf<P> = <<P as Deref>::Target as sealed::Limiter>::Key;

/// What a request that waits has to do next.
pub(super) enum Step {
    /// It is allowed, and waits no longer.
    Allowed(Decision),
    /// It is the first: it waits for so long, and may ask then.
    Wait(Duration),
    /// It is the first, and waits for the time that it was told.
    Waiting,
    /// Others are before it: it is woken when they are gone.
    Behind,
}

impl<P> Place<P>
where
    P: Deref,
    P::Target: Waitable,
{
    pub(super) fn new(limiter: P, key: KeyOf<P>, cost: u64) -> Self {
        Self {
            limiter,
            key,
            cost,
            waiter: None,
        }
    }

    /// How long it may wait, of which `timeout` is what was asked for.
    pub(super) fn bounded(&self, timeout: Option<Duration>) -> Option<Duration> {
        self.limiter.room().policy.bounded(timeout)
    }

    /// Asks without waiting, and gets in line if it is denied.
    pub(super) fn begin(&mut self) -> Result<Option<Decision>, AcquireError> {
        let hash = self.limiter.hash(&self.key);
        let room = self.limiter.room();
        // Who waits does not overtake others, though requests that do not wait may be told to.
        let decision = if self.cost > 0 && room.is_used() && room.ahead(hash, &self.key).is_some() {
            self.limiter.peek_n(&self.key, self.cost)
        } else {
            let decision = self.limiter.try_acquire_n(&self.key, self.cost);
            if decision.is_allowed() {
                return Ok(Some(decision));
            }
            decision
        };
        if decision.is_never() {
            return Err(AcquireError::Never { cost: self.cost });
        }
        self.waiter = Some(room.join(hash, self.key.clone(), self.cost)?);
        Ok(None)
    }

    /// What to do now. `due` says that the time is up that it was told to wait for; `left` is how long
    /// it may wait still.
    pub(super) fn step(
        &mut self,
        waker: &Waker,
        due: bool,
        left: Option<Duration>,
    ) -> Result<Step, AcquireError> {
        let Some(waiter) = &self.waiter else {
            unreachable!("it is asked only while it is in line");
        };
        match waiter.turn(waker) {
            Turn::Behind => return Ok(Step::Behind),
            Turn::First if !due => return Ok(Step::Waiting),
            Turn::First | Turn::Ask => {}
        }
        let decision = self.limiter.ask_as_first(&self.key, self.cost);
        if decision.is_allowed() {
            self.leave();
            return Ok(Step::Allowed(decision));
        }
        self.unless_never(&decision)?;
        let wait = decision.retry_after().unwrap_or(Duration::MAX);
        if left.is_some_and(|left| left < wait) {
            self.leave();
            return Err(AcquireError::TooLong { wait });
        }
        let later = wait.saturating_add(self.limiter.room().policy.some_jitter());
        // Not past the time that it has: the permits are there before it.
        Ok(Step::Wait(left.map_or(later, |left| later.min(left))))
    }

    fn unless_never(&mut self, decision: &Decision) -> Result<(), AcquireError> {
        if !decision.is_never() {
            return Ok(());
        }
        self.leave();
        Err(AcquireError::Never { cost: self.cost })
    }

    /// Gives the place up; the next is called.
    pub(super) fn leave(&mut self) {
        if let Some(waiter) = self.waiter.take() {
            let hash = self.limiter.hash(&self.key);
            self.limiter.room().leave(hash, &self.key, &waiter);
        }
    }

    pub(super) fn is_in_line(&self) -> bool {
        self.waiter.is_some()
    }
}

impl<P> Drop for Place<P>
where
    P: Deref,
    P::Target: Waitable,
{
    fn drop(&mut self) {
        self.leave();
    }
}

impl<P> fmt::Debug for Place<P>
where
    P: Deref,
    P::Target: Waitable,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("cost", &self.cost)
            .field("in_line", &self.is_in_line())
            .finish_non_exhaustive()
    }
}
