//! The front door: from a key to a decision.

mod asking;
mod builder;
mod charge;
mod eviction;
mod full;
mod gate;
mod pinned;
mod plans;
mod refresh;
mod source;
mod together;
mod unkeyed;
mod waiting;

pub use builder::{BackgroundBuilder, Builder};
pub use full::WhenFull;
pub use gate::{Ask, AskUnkeyed, Gate};
pub use pinned::Pinned;
pub use source::{LimitSource, OneLimit, PerKey};
pub use together::{peek_all, peek_all_each, refund_all, try_acquire_all, try_acquire_all_each};
pub use unkeyed::UnkeyedLimiter;
#[cfg(test)]
pub(crate) use waiting::modelled;
#[cfg(feature = "tokio")]
pub use waiting::{Acquire, AcquireOwned};
pub use waiting::{WaitPolicy, Waitable};

use crate::algorithm::{Algorithm, TokenBucket};
use crate::decision::Decision;
use crate::hasher::RandomState;
use crate::store::{Retire, Store};
use crate::sync::Turn;
use crate::ticker::{Ticker, TscTicker};
use asking::{ask_each, ask_one};
use full::Full;
use papaya::Equivalent;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::AtomicU64;
use waiting::Room;

/// Limits the rate of each key: a user, an API key, an address.
///
/// It is made by [`new`](Self::new), by [`builder`](Self::builder) when anything but the limit is
/// to be chosen, or by [`by_plan`](Self::by_plan) when keys have limits of their own. It is used
/// through `&self` from any number of threads: share it in an [`Arc`](std::sync::Arc) or a
/// `static`.
///
/// Keys are any type that is `Hash + Eq`; a key is looked up by any borrowed form of it, and only
/// made into an owned one when it is seen for the first time. A check of a key that is present
/// allocates nothing.
///
/// Keys that have become *idle*, equal to new, give their places to new ones, and are forgotten by
/// [`evict_idle`](Self::evict_idle): call it from a timer, or let [`Builder::evict_every`] see to it.
///
/// # What lock-free means here
///
/// A check of a key that is present, and not being evicted or refreshed, never waits for another
/// thread with the one-word algorithms. Some things may wait: the first touch of a key while the
/// map grows, a check of the very key that is being refreshed, and requests for one key under
/// [`AllOf`](crate::AllOf), [`SlidingCounter`](crate::SlidingCounter) or
/// [`SlidingLog`](crate::SlidingLog), whose states are more than one word. Nor is it wait-free: a
/// compare-exchange can lose many times in a row.
///
/// # Memory ordering
///
/// A decision orders nothing but itself. Do not use it to publish data to another thread.
///
/// # Examples
///
/// ```
/// use tollgate::{Limit, RateLimiter};
///
/// let limiter = RateLimiter::<String>::new(Limit::per_second(5))?;
/// let decision = limiter.try_acquire("ada");
/// assert!(decision.is_allowed());
/// assert_eq!(decision.remaining(), 4);
/// assert_eq!(limiter.try_acquire("bob").remaining(), 4, "each key for itself");
/// # Ok::<(), tollgate::LimitError>(())
/// ```
pub struct RateLimiter<K, A = TokenBucket, T = TscTicker, L = OneLimit, S = RandomState>
where
    A: Algorithm,
    L: LimitSource,
{
    store: Store<K, Tracked<A, L>, S>,
    full: Full<A>,
    evicts_in_passing: bool,
    source: L::Source<K, A>,
    ticker: T,
    /// The ticker's reading when the limiter was built.
    start: u64,
    /// The latest reading at which idle keys were forgotten. No reading counts as older, so that a
    /// clock that steps back does not find them new. (Not one of `sync`'s: the models are to hold
    /// without it, for a clock that does not step back.)
    evicted_at: AtomicU64,
    /// Who waits, and for which key.
    room: Room<K>,
    /// The turn of whoever holds a state's numbers to bring them over to another plan.
    moving: Turn,
}

/// A limiter whose limits come from a function of the key: what
/// [`by_plan`](RateLimiter::by_plan) builds, unless another hasher is chosen.
///
/// # Examples
///
/// ```
/// use tollgate::{Algorithm, Limit, RateLimiter, TieredLimiter, TokenBucket};
///
/// struct Service {
///     limiter: TieredLimiter<String>,
/// }
///
/// let plan = TokenBucket.plan(Limit::per_minute(60))?;
/// let service = Service {
///     limiter: RateLimiter::<String>::by_plan(move |_| plan.clone()).build()?,
/// };
/// assert_eq!(service.limiter.try_acquire("ada").remaining(), 59);
/// # Ok::<(), tollgate::LimitError>(())
/// ```
pub type TieredLimiter<K, A = TokenBucket, T = TscTicker> = RateLimiter<K, A, T, PerKey>;

/// What the map holds for a key.
#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct Tracked<A: Algorithm, L: LimitSource> {
    own: L::Own<A>,
    state: A::State,
}

impl<A: Algorithm, L: LimitSource> Retire for Tracked<A, L> {
    #[inline]
    fn is_retired(&self) -> bool {
        A::is_retired(&self.state)
    }
}

impl<K, A, T, L, S> RateLimiter<K, A, T, L, S>
where
    K: Hash + Eq,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    /// Asks whether a request for `key` may go ahead now, and spends one permit if it may.
    ///
    /// A denied request spends nothing, so that retrying early never pushes the key further back,
    /// and on a key that is present it writes nothing.
    ///
    /// # Memory ordering
    ///
    /// A decision orders nothing but itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// let limiter = RateLimiter::<String>::new(Limit::per_hour(1))?;
    /// assert!(limiter.try_acquire("ada").is_allowed());
    /// assert!(limiter.try_acquire("ada").is_denied());
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    #[must_use = "a decision that nobody reads limits nothing"]
    #[inline(always)]
    pub fn try_acquire<Q>(&self, key: &Q) -> Decision
    where
        Q: Hash + Equivalent<K> + ToOwned<Owned = K> + ?Sized,
    {
        self.try_acquire_n_with(key, 1, Q::to_owned)
    }

    /// Asks for `cost` permits at once: all, or none.
    ///
    /// A cost of 0 is always allowed, spends nothing and tells what is left. A cost above the
    /// capacity is denied as [never](Decision::is_never).
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// let limiter = RateLimiter::<u64>::new(Limit::per_hour(10))?;
    /// assert_eq!(limiter.try_acquire_n(&1, 8).remaining(), 2);
    /// assert!(limiter.try_acquire_n(&1, 3).is_denied());
    /// assert_eq!(limiter.try_acquire_n(&1, 0).remaining(), 2, "nothing was spent");
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    #[must_use = "a decision that nobody reads limits nothing"]
    #[inline(always)]
    pub fn try_acquire_n<Q>(&self, key: &Q, cost: u64) -> Decision
    where
        Q: Hash + Equivalent<K> + ToOwned<Owned = K> + ?Sized,
    {
        self.try_acquire_n_with(key, cost, Q::to_owned)
    }

    /// As [`try_acquire`](Self::try_acquire), for a key that is made in another way than by
    /// `to_owned`: an `Arc<str>`, or a struct from a borrowed view of it.
    ///
    /// `make` runs when the key is seen for the first time, and must make a key that is equal to
    /// the form that was looked up.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tollgate::{Equivalent, Limit, RateLimiter};
    ///
    /// let limiter = RateLimiter::<Arc<str>>::new(Limit::per_hour(10))?;
    /// assert_eq!(limiter.try_acquire_with("ada", |key| Arc::from(key)).remaining(), 9);
    /// assert_eq!(limiter.try_acquire_with("ada", |_| unreachable!()).remaining(), 8);
    ///
    /// #[derive(Hash, PartialEq, Eq)]
    /// struct Route { client: u32, path: String }
    /// #[derive(Hash)]
    /// struct RouteRef<'a> { client: u32, path: &'a str }
    ///
    /// impl Equivalent<Route> for RouteRef<'_> {
    ///     fn equivalent(&self, key: &Route) -> bool {
    ///         self.client == key.client && self.path == key.path
    ///     }
    /// }
    ///
    /// let limiter = RateLimiter::<Route>::new(Limit::per_hour(10))?;
    /// let view = RouteRef { client: 7, path: "/search" };
    /// let decision = limiter.try_acquire_with(&view, |view| Route {
    ///     client: view.client,
    ///     path: view.path.to_owned(),
    /// });
    /// assert!(decision.is_allowed());
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    #[must_use = "a decision that nobody reads limits nothing"]
    #[inline(always)]
    pub fn try_acquire_with<Q>(&self, key: &Q, make: impl Fn(&Q) -> K) -> Decision
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.try_acquire_n_with(key, 1, make)
    }

    /// As [`try_acquire_n`](Self::try_acquire_n), for a key that is made by `make`; see
    /// [`try_acquire_with`](Self::try_acquire_with).
    #[must_use = "a decision that nobody reads limits nothing"]
    #[inline(always)]
    pub fn try_acquire_n_with<Q>(&self, key: &Q, cost: u64, make: impl Fn(&Q) -> K) -> Decision
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        // Asked before there is a guard: the way out is then one without it.
        let known = if self.room.is_used() {
            None
        } else {
            let guard = self.store.guard();
            self.spend_known(key, cost, &guard)
        };
        match known {
            Some(decision) => decision,
            None => self.spend_slowly(key, cost, make, &self.store.guard()),
        }
    }

    /// As [`try_acquire_n`](Self::try_acquire_n), and fills `each` with every limit's own answer
    /// from the same step, for headers. Returns how many limits there are.
    ///
    /// Where the whole is denied, a limit that alone would have allowed the request says so, with
    /// what it has left unspent. Limits beyond the slice are left out, places beyond the limits
    /// left as they were. For an algorithm of one limit its answer is the whole.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{AllOf, Limit, RateLimiter};
    ///
    /// let limiter = RateLimiter::<u64>::builder([Limit::per_second(5), Limit::per_minute(20)])
    ///     .algorithm(AllOf)
    ///     .build()?;
    /// let mut each = [limiter.peek(&1); 2];
    /// let (decision, limits) = limiter.try_acquire_each(&1, 2, &mut each);
    /// assert_eq!((decision.remaining(), limits), (3, 2));
    /// assert_eq!(each.map(|own| own.remaining()), [3, 18]);
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    #[must_use = "a decision that nobody reads limits nothing"]
    pub fn try_acquire_each<Q>(
        &self,
        key: &Q,
        cost: u64,
        each: &mut [Decision],
    ) -> (Decision, usize)
    where
        Q: Hash + Equivalent<K> + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(behind) = self.behind_waiters(key, cost, Q::to_owned) {
            let (_, limits) = self.look(key, cost, Q::to_owned, ask_each::<A>(cost, each));
            self.full.mark_each(&behind, each, limits);
            return (behind, limits);
        }
        let guard = self.store.guard();
        let ask = ask_each::<A>(cost, each);
        let (decision, limits) = self.decide(key, cost, Q::to_owned, &guard, ask);
        self.full.mark_each(&decision, each, limits);
        (decision, limits)
    }

    /// Answers what [`try_acquire`](Self::try_acquire) would, and changes nothing: nothing is
    /// spent and no key is begun. What remains is told as before spending.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// let limiter = RateLimiter::<String>::new(Limit::per_hour(10))?;
    /// assert_eq!(limiter.peek("ada").remaining(), 10);
    /// assert_eq!(limiter.peek("ada").remaining(), 10);
    /// assert_eq!(limiter.tracked_keys(), 0);
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    #[must_use = "a decision that nobody reads limits nothing"]
    pub fn peek<Q>(&self, key: &Q) -> Decision
    where
        Q: Hash + Equivalent<K> + ToOwned<Owned = K> + ?Sized,
    {
        self.peek_n_with(key, 1, Q::to_owned)
    }

    /// Answers what [`try_acquire_n`](Self::try_acquire_n) would, and changes nothing.
    #[must_use = "a decision that nobody reads limits nothing"]
    pub fn peek_n<Q>(&self, key: &Q, cost: u64) -> Decision
    where
        Q: Hash + Equivalent<K> + ToOwned<Owned = K> + ?Sized,
    {
        self.peek_n_with(key, cost, Q::to_owned)
    }

    /// As [`peek`](Self::peek), for a key that is made by `make`. It is made only where the key has
    /// no state, and a function from key to plan has to be shown it.
    #[must_use = "a decision that nobody reads limits nothing"]
    pub fn peek_with<Q>(&self, key: &Q, make: impl Fn(&Q) -> K) -> Decision
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.peek_n_with(key, 1, make)
    }

    /// As [`peek_n`](Self::peek_n), for a key that is made by `make`.
    #[must_use = "a decision that nobody reads limits nothing"]
    pub fn peek_n_with<Q>(&self, key: &Q, cost: u64, make: impl Fn(&Q) -> K) -> Decision
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        if let Some(behind) = self.behind_waiters(key, cost, &make) {
            return behind;
        }
        self.look(key, cost, make, ask_one::<A>(cost)).unspent()
    }

    /// Answers what [`try_acquire_each`](Self::try_acquire_each) would, and changes nothing but
    /// `each`.
    #[must_use = "a decision that nobody reads limits nothing"]
    pub fn peek_each<Q>(&self, key: &Q, cost: u64, each: &mut [Decision]) -> (Decision, usize)
    where
        Q: Hash + Equivalent<K> + ToOwned<Owned = K> + ?Sized,
    {
        let ask = ask_each::<A>(cost, each);
        let (decision, limits) = self.look(key, cost, Q::to_owned, ask);
        let behind = self.behind_waiters(key, cost, Q::to_owned);
        let decision = behind.unwrap_or(decision).unspent();
        self.full.mark_each(&decision, each, limits);
        (decision, limits)
    }

    /// Gives back what an allowed decision for `key` spent, for a request that then did not happen.
    ///
    /// It gives back at most what that decision spent, and never makes a key fuller than full. A
    /// window or a log gives back only what still counts: the permits of a window that is over, or
    /// of a period ago, are not given back again. A bucket has no such memory: give back soon, and
    /// before the key's limit is changed by a refresh. A decision that spent
    /// nothing, being denied or a peek, gives back nothing. Refunding one decision twice is the
    /// caller's mistake.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// let limiter = RateLimiter::<u64>::new(Limit::per_hour(10))?;
    /// let decision = limiter.try_acquire_n(&1, 4);
    /// limiter.refund(&1, decision);
    /// assert_eq!(limiter.peek(&1).remaining(), 10);
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn refund<Q>(&self, key: &Q, decision: Decision)
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        if decision.spent() == 0 {
            return;
        }
        if decision.is_untracked() {
            self.full.refund(self.reading(), &decision);
            // Whoever has no place of its own may share what was given back.
            return self.room.wake_all_first();
        }
        let guard = self.store.guard();
        // A key that is gone was full.
        let _ = self.on_state(key, &guard, |rule, state, at| {
            A::refund(rule, state, at, &decision)
        });
        self.wake_first(key);
    }

    /// Forgets what `key` has spent: it is as if never seen.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// let limiter = RateLimiter::<u64>::new(Limit::per_hour(1))?;
    /// assert!(limiter.try_acquire(&1).is_allowed());
    /// limiter.reset(&1);
    /// assert_eq!(limiter.tracked_keys(), 0);
    /// assert!(limiter.try_acquire(&1).is_allowed());
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn reset<Q>(&self, key: &Q)
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let guard = self.store.guard();
        if self
            .on_state(key, &guard, |_, state, _| A::retire(state))
            .is_some()
        {
            self.store.remove_retired(key, &guard);
        }
        self.wake_first(key);
    }

    /// How many keys have a state. An estimate while other threads begin and evict keys.
    pub fn tracked_keys(&self) -> usize {
        self.store.len()
    }
}

/// Marks each limit's own answer as that of a request that spent nothing.
fn unspent(each: &mut [Decision], limits: usize) {
    for own in each.iter_mut().take(limits) {
        *own = own.unspent();
    }
}

impl<K, A, T, L, S> fmt::Debug for RateLimiter<K, A, T, L, S>
where
    A: Algorithm,
    T: fmt::Debug,
    L: LimitSource,
    L::Source<K, A>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimiter")
            .field("limits", &self.source)
            .field("ticker", &self.ticker)
            .finish_non_exhaustive()
    }
}
