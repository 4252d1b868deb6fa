//! Where a key's rule comes from: one limit for all, or a function of the key.
//!
//! # A refresh never misses a key
//!
//! A plan is resolved before its entry is in the map, so that a refresh could look the key up in
//! between, find nothing, and return; the key would then begin under the old plan, after a refresh
//! that promised the new one. So refreshes are counted, every entry carries the count from before
//! its plan was resolved, and an entry that was just inserted is *unconfirmed*: before anybody
//! decides on it, the count is read again. If it is the same, a later refresh finds the entry; if
//! not, the entry is begun anew.
//!
//! # Orderings
//!
//! A refresh counts, then looks the key up; a first touch inserts the key, then reads the count.
//! One of them must see the other, which takes a SeqCst fence between the two steps on both sides.
//! No model can show it: the lock of the map's stand-in orders the two by itself.
//! `loom_tests::refresh` fails without the second reading of the count.

use crate::algorithm::{Algorithm, Limits, Plan};
use crate::error::LimitError;
use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::sync::thread_local;
use std::cell::Cell;
use std::fmt;

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
pub trait LimitSource: sealed::Sealed + Send + Sync + 'static {
    /// What the limiter holds.
    #[doc(hidden)]
    type Source<K, A: Algorithm>: Send + Sync;
    /// What each key's entry holds.
    #[doc(hidden)]
    type Own<A: Algorithm>: Send + Sync;

    /// Resolves the key's limit. May run the caller's function, which may panic.
    #[doc(hidden)]
    fn begin<K, A: Algorithm>(source: &Self::Source<K, A>, key: &K) -> Self::Own<A>;

    /// The rule under which the key's state decides.
    #[doc(hidden)]
    fn rule<'a, K, A: Algorithm>(
        source: &'a Self::Source<K, A>,
        own: &'a Self::Own<A>,
    ) -> &'a A::Rule;

    /// Whether the entry may be decided on. If it was inserted with a plan that a refresh may have
    /// missed, it is retired with `retire_unspent` and the key is to be begun anew.
    #[doc(hidden)]
    fn confirm<K, A: Algorithm>(
        source: &Self::Source<K, A>,
        own: &Self::Own<A>,
        retire_unspent: impl FnOnce() -> bool,
    ) -> bool;

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

impl LimitSource for OneLimit {
    type Source<K, A: Algorithm> = Plan<A>;
    type Own<A: Algorithm> = ();

    fn begin<K, A: Algorithm>(_: &Plan<A>, _: &K) {}

    #[inline]
    fn rule<'a, K, A: Algorithm>(source: &'a Plan<A>, (): &'a ()) -> &'a A::Rule {
        source.rule()
    }

    #[inline]
    fn confirm<K, A: Algorithm>(_: &Plan<A>, (): &(), _: impl FnOnce() -> bool) -> bool {
        true
    }

    type Pending<K, A: Algorithm> = (A, Limits);

    fn ready<K, A: Algorithm>((algorithm, limits): (A, Limits)) -> Result<Plan<A>, LimitError> {
        algorithm.plan(limits)
    }
}

impl LimitSource for PerKey {
    type Source<K, A: Algorithm> = PlanByKey<K, A>;
    type Own<A: Algorithm> = OwnPlan<A>;

    fn begin<K, A: Algorithm>(source: &PlanByKey<K, A>, key: &K) -> OwnPlan<A> {
        // Acquire: pairs with the Release in `count_refresh`. Whoever sees the count sees the
        // change of limits that it was for.
        let count = source.refreshes.load(Ordering::Acquire);
        let (plan, counted) = source.resolve(key);
        OwnPlan {
            plan,
            mark: AtomicU64::new((count + counted) | UNCONFIRMED),
        }
    }

    #[inline]
    fn rule<'a, K, A: Algorithm>(_: &'a PlanByKey<K, A>, own: &'a OwnPlan<A>) -> &'a A::Rule {
        own.plan.rule()
    }

    #[inline]
    fn confirm<K, A: Algorithm>(
        source: &PlanByKey<K, A>,
        own: &OwnPlan<A>,
        retire_unspent: impl FnOnce() -> bool,
    ) -> bool {
        // Relaxed: once it is confirmed it stays so, whoever has seen to it.
        let mark = own.mark.load(Ordering::Relaxed);
        mark & UNCONFIRMED == 0 || source.confirm(own, mark & !UNCONFIRMED, retire_unspent)
    }

    type Pending<K, A: Algorithm> = PlanByKey<K, A>;

    fn ready<K, A: Algorithm>(pending: PlanByKey<K, A>) -> Result<PlanByKey<K, A>, LimitError> {
        Ok(pending)
    }
}

/// The bit of a mark that says that the count has not been read again since the insertion.
const UNCONFIRMED: u64 = 1 << 63;

/// The function from key to plan, and how often it was asked to be run again.
pub struct PlanByKey<K, A: Algorithm> {
    plan: PlanFn<K, A>,
    refreshes: AtomicU64,
}

thread_local! {
    /// Whose function runs on this thread, by address, and how many refreshes of that same limiter
    /// it has asked for. The plan that it then returns has missed none of those.
    #[allow(clippy::missing_const_for_thread_local)] // Loom's has no const.
    static RUNNING: Cell<(usize, u64)> = Cell::new((0, 0));
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

    fn address(&self) -> usize {
        let this: *const Self = self;
        this.addr()
    }

    /// Runs the function, and tells how many refreshes it has counted itself.
    fn resolve(&self, key: &K) -> (Plan<A>, u64) {
        struct Outer((usize, u64));
        impl Drop for Outer {
            fn drop(&mut self) {
                RUNNING.with(|running| {
                    let (inner, counted) = running.get();
                    let (source, before) = self.0;
                    let counted = if inner == source { counted } else { 0 };
                    running.set((source, before + counted));
                });
            }
        }
        let outer = RUNNING.with(|running| running.replace((self.address(), 0)));
        let _outer = Outer(outer);
        let plan = (self.plan)(key);
        (plan, RUNNING.with(Cell::get).1)
    }

    /// Counts a refresh, before anything is looked up or resolved for it. Returns its number.
    pub(super) fn count_refresh(&self) -> u64 {
        RUNNING.with(|running| {
            let (source, counted) = running.get();
            if source == self.address() {
                running.set((source, counted + 1));
            }
        });
        // Release: pairs with the Acquire in `begin`.
        let number = self.refreshes.fetch_add(1, Ordering::Release) + 1;
        // SeqCst: see `# Orderings`.
        fence(Ordering::SeqCst);
        number
    }

    /// The key's plan as of the refresh with that number.
    pub(super) fn refreshed(&self, key: &K, number: u64) -> OwnPlan<A> {
        OwnPlan {
            plan: (self.plan)(key),
            mark: AtomicU64::new(number),
        }
    }

    #[cold]
    fn confirm(&self, own: &OwnPlan<A>, count: u64, retire_unspent: impl FnOnce() -> bool) -> bool {
        // SeqCst: see `# Orderings`.
        fence(Ordering::SeqCst);
        // Acquire: as in `begin`.
        let missed = self.refreshes.load(Ordering::Acquire) != count;
        // A state on which somebody has spent was confirmed by them: the refresh does find it.
        if missed && retire_unspent() {
            return false;
        }
        // Relaxed: as in `PerKey::confirm`.
        own.mark.fetch_and(!UNCONFIRMED, Ordering::Relaxed);
        true
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
    /// Whether the plan is as of the refresh with that number, or a later one.
    pub(super) fn is_as_of(&self, number: u64) -> bool {
        // Relaxed: read and written while the state is held, but for the bit.
        self.mark.load(Ordering::Relaxed) & !UNCONFIRMED >= number
    }

    /// Notes that a refresh has found the plan unchanged. The state is held.
    pub(super) fn is_unchanged_as_of(&self, number: u64) {
        // Relaxed: as in `is_as_of`.
        self.mark.store(number, Ordering::Relaxed);
    }

    pub(super) fn rule(&self) -> &A::Rule {
        self.plan.rule()
    }
}
