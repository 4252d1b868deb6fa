//! Where a key's rule comes from: one limit for all, or a function of the key.
//!
//! # A refresh never misses a key
//!
//! A plan is resolved before its entry is in the map, so that a refresh could look the key up in
//! between, find nothing, and return; the key would then begin under the old plan, after a refresh
//! that promised the new one. So refreshes are counted, every entry carries the count as of which
//! its plan was resolved, and an entry that was just inserted is *unsettled*: before anybody
//! decides on it, the count is read again. If it is the same, all later refreshes find the entry.
//! If not, the entry is brought over as by a refresh, to a plan that is resolved after this second
//! count: refreshes counted by then are in it, and later ones find the entry. A refresh that was
//! resolved before the insertion may find the entry, too, but leaves it unsettled: it knows nothing
//! of a later one that did not.
//!
//! # Orderings
//!
//! A refresh counts, then looks the key up, and one of all keys reads their places; a first touch
//! inserts the key at a place, then reads the count. One of them must see the other, which takes a
//! SeqCst fence between the two steps on both sides.
//! `loom_tests::refresh` fails without either fence, through a refresh of all keys (for one key the
//! lock of the map's stand-in orders the two by itself), and without the second reading of the count.

use super::{RateLimiter, Tracked};
use crate::algorithm::{Algorithm, Gone, Limits, Plan};
use crate::error::LimitError;
use crate::sync::Guard;
use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::ticker::Ticker;
use std::fmt;
use std::hash::{BuildHasher, Hash};

/// One limit for all keys: the marker that a limiter built with
/// [`builder`](crate::RateLimiter::builder) carries in its type.
#[derive(Clone, Copy, Debug)]
pub struct OneLimit;

/// A limit for each key, from a function: the marker that a limiter built with
/// [`by_plan`](crate::RateLimiter::by_plan) carries in its type.
#[derive(Clone, Copy, Debug)]
pub struct PerKey;

/// Where limits come from: [`OneLimit`] or [`PerKey`].
///
/// Sealed: there are just these two.
#[allow(private_interfaces)] // Sealed: what is hidden is called by nobody else.
pub trait LimitSource: sealed::Sealed + Sized + Send + Sync + 'static {
    /// What the limiter holds.
    #[doc(hidden)]
    type Source<K, A: Algorithm>: Send + Sync;
    /// What each key's entry holds.
    #[doc(hidden)]
    type Own<A: Algorithm>: Send + Sync;

    /// Resolves the key's limit. May run the caller's function, which may panic; only then it asks
    /// for the key.
    #[doc(hidden)]
    fn begin<'k, K: 'k, A: Algorithm>(
        source: &Self::Source<K, A>,
        key: impl FnOnce() -> &'k K,
    ) -> Self::Own<A>;

    /// The rule under which the key's state decides.
    #[doc(hidden)]
    fn rule<'a, K, A: Algorithm>(
        source: &'a Self::Source<K, A>,
        own: &'a Self::Own<A>,
    ) -> &'a A::Rule;

    /// The plan of every key, if there is one for all.
    #[doc(hidden)]
    fn plan_for_all<K, A: Algorithm>(source: &Self::Source<K, A>) -> Option<&Plan<A>>;

    /// The plan of one key.
    #[doc(hidden)]
    fn plan<'a, K, A: Algorithm>(
        source: &'a Self::Source<K, A>,
        own: &'a Self::Own<A>,
    ) -> &'a Plan<A>;

    /// Whether the entry may be decided on, or has to be settled first.
    #[doc(hidden)]
    fn is_settled<A: Algorithm>(own: &Self::Own<A>) -> bool;

    /// Makes sure that no refresh has missed the entry.
    #[doc(hidden)]
    fn settle<K, A, T, S>(
        limiter: &RateLimiter<K, A, T, Self, S>,
        tracked: &Tracked<A, Self>,
        key: K,
        guard: &Guard<'_>,
    ) -> Result<(), Gone>
    where
        K: Hash + Eq,
        A: Algorithm,
        T: Ticker,
        S: BuildHasher;

    /// What a builder holds in the place of the source.
    #[doc(hidden)]
    type Pending<K, A: Algorithm>;

    /// Makes the source ready.
    #[doc(hidden)]
    fn ready<K, A: Algorithm>(
        pending: Self::Pending<K, A>,
    ) -> Result<Self::Source<K, A>, LimitError>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::OneLimit {}
    impl Sealed for super::PerKey {}
}

#[allow(private_interfaces)] // As for the trait.
impl LimitSource for OneLimit {
    type Source<K, A: Algorithm> = Plan<A>;
    type Own<A: Algorithm> = ();

    fn begin<'k, K: 'k, A: Algorithm>(_: &Plan<A>, _: impl FnOnce() -> &'k K) {}

    #[inline]
    fn rule<'a, K, A: Algorithm>(source: &'a Plan<A>, (): &'a ()) -> &'a A::Rule {
        source.rule()
    }

    fn plan_for_all<K, A: Algorithm>(source: &Plan<A>) -> Option<&Plan<A>> {
        Some(source)
    }

    fn plan<'a, K, A: Algorithm>(source: &'a Plan<A>, (): &'a ()) -> &'a Plan<A> {
        source
    }

    #[inline]
    fn is_settled<A: Algorithm>((): &()) -> bool {
        true
    }

    fn settle<K, A, T, S>(
        _: &RateLimiter<K, A, T, Self, S>,
        _: &Tracked<A, Self>,
        _: K,
        _: &Guard<'_>,
    ) -> Result<(), Gone>
    where
        K: Hash + Eq,
        A: Algorithm,
        T: Ticker,
        S: BuildHasher,
    {
        Ok(())
    }

    type Pending<K, A: Algorithm> = (A, Limits);

    fn ready<K, A: Algorithm>((algorithm, limits): (A, Limits)) -> Result<Plan<A>, LimitError> {
        algorithm.plan(limits)
    }
}

#[allow(private_interfaces)] // As for the trait.
impl LimitSource for PerKey {
    type Source<K, A: Algorithm> = PlanByKey<K, A>;
    type Own<A: Algorithm> = OwnPlan<A>;

    fn begin<'k, K: 'k, A: Algorithm>(
        source: &PlanByKey<K, A>,
        key: impl FnOnce() -> &'k K,
    ) -> OwnPlan<A> {
        // Acquire: pairs with the Release in `count_refresh`. Whoever sees the count sees the
        // change of limits that it was for.
        let count = source.refreshes.load(Ordering::Acquire);
        source.resolved(key(), count | UNSETTLED)
    }

    #[inline]
    fn rule<'a, K, A: Algorithm>(_: &'a PlanByKey<K, A>, own: &'a OwnPlan<A>) -> &'a A::Rule {
        own.plan.rule()
    }

    fn plan_for_all<K, A: Algorithm>(_: &PlanByKey<K, A>) -> Option<&Plan<A>> {
        None
    }

    fn plan<'a, K, A: Algorithm>(_: &'a PlanByKey<K, A>, own: &'a OwnPlan<A>) -> &'a Plan<A> {
        &own.plan
    }

    #[inline]
    fn is_settled<A: Algorithm>(own: &OwnPlan<A>) -> bool {
        // Relaxed: once it is settled it stays so, whoever has seen to it.
        own.mark.load(Ordering::Relaxed) & UNSETTLED == 0
    }

    #[cold]
    fn settle<K, A, T, S>(
        limiter: &RateLimiter<K, A, T, Self, S>,
        tracked: &Tracked<A, Self>,
        key: K,
        guard: &Guard<'_>,
    ) -> Result<(), Gone>
    where
        K: Hash + Eq,
        A: Algorithm,
        T: Ticker,
        S: BuildHasher,
    {
        let source = &limiter.source;
        // SeqCst: see `# Orderings`.
        fence(Ordering::SeqCst);
        // Acquire: as in `begin`.
        let count = source.refreshes.load(Ordering::Acquire);
        if tracked.own.number() == count {
            // Relaxed: as in `is_settled`.
            tracked.own.mark.fetch_and(!UNSETTLED, Ordering::Relaxed);
            return Ok(());
        }
        let own = source.resolved(&key, count);
        let _turn = limiter.moving.take();
        let held = A::hold(&tracked.state)?;
        limiter.bring_over(tracked, held, key, own, Settles::Yes, guard);
        Ok(())
    }

    type Pending<K, A: Algorithm> = PlanByKey<K, A>;

    fn ready<K, A: Algorithm>(pending: PlanByKey<K, A>) -> Result<PlanByKey<K, A>, LimitError> {
        Ok(pending)
    }
}

/// The bit of a mark that says that the count has not been read again since the insertion.
const UNSETTLED: u64 = 1 << 63;

/// Whether bringing a state over to another plan also settles its entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Settles {
    /// The plan was resolved as of a count that was read after the insertion.
    Yes,
    /// The plan may have been resolved before the insertion.
    No,
}

/// The function from key to plan, and how often it was asked to be run again.
pub struct PlanByKey<K, A: Algorithm> {
    plan: PlanFn<K, A>,
    refreshes: AtomicU64,
}

/// Called for a key's first request and by a refresh, never for a check of a key that is present.
type PlanFn<K, A> = Box<dyn Fn(&K) -> Plan<A> + Send + Sync>;

impl<K, A: Algorithm> PlanByKey<K, A> {
    pub(super) fn new(plan: impl Fn(&K) -> Plan<A> + Send + Sync + 'static) -> Self {
        Self {
            plan: Box::new(plan),
            refreshes: AtomicU64::new(0),
        }
    }

    /// Counts a refresh, before anything is looked up or resolved for it. Returns its number.
    pub(super) fn count_refresh(&self) -> u64 {
        // Release: pairs with the Acquire in `begin`.
        let number = self.refreshes.fetch_add(1, Ordering::Release) + 1;
        // SeqCst: see `# Orderings`.
        fence(Ordering::SeqCst);
        number
    }

    /// The key's plan, with the count as of which it is resolved.
    pub(super) fn resolved(&self, key: &K, mark: u64) -> OwnPlan<A> {
        OwnPlan {
            plan: (self.plan)(key),
            mark: AtomicU64::new(mark),
        }
    }
}

impl<K, A: Algorithm> fmt::Debug for PlanByKey<K, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanByKey").finish_non_exhaustive()
    }
}

/// A key's own plan, and as of which refresh it was resolved.
#[derive(Debug)]
pub struct OwnPlan<A: Algorithm> {
    plan: Plan<A>,
    mark: AtomicU64,
}

impl<A: Algorithm> OwnPlan<A> {
    /// The count as of which the plan was resolved.
    fn number(&self) -> u64 {
        // Relaxed: read and written while the state is held, but for the bit.
        self.mark.load(Ordering::Relaxed) & !UNSETTLED
    }

    /// Whether this plan takes the place of `current`, whose state is held. If not, because it is
    /// no newer or no different, `current` notes what this one knows.
    pub(super) fn replaces(&self, current: &Self, settles: Settles) -> bool {
        // Relaxed, here and below: as in `number`.
        let unsettled = match settles {
            Settles::Yes => 0,
            Settles::No => current.mark.load(Ordering::Relaxed) & UNSETTLED,
        };
        let is_newer = self.number() > current.number();
        let number = self.number().max(current.number());
        let replaces = is_newer && self.rule() != current.rule();
        let marked = if replaces { self } else { current };
        marked.mark.store(number | unsettled, Ordering::Relaxed);
        replaces
    }

    pub(super) fn rule(&self) -> &A::Rule {
        self.plan.rule()
    }
}
