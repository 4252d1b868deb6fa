//! How a limiter is put together.

use super::full::{Full, WhenFull};
use super::source::PlanByKey;
use super::waiting::Room;
use super::{LimitSource, OneLimit, PerKey, RateLimiter, WaitPolicy};
use crate::algorithm::{Algorithm, Limits, Plan, TokenBucket};
use crate::error::{BuildError, LimitError};
use crate::evictor::Evictor;
use crate::hasher::RandomState;
use crate::limit::Limit;
use crate::store::Store;
use crate::sync::Turn;
use crate::ticker::{Ticker, TscTicker};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

impl<K: Hash + Eq> RateLimiter<K> {
    /// A limiter with one limit for every key, kept by a token bucket in real time.
    ///
    /// # Errors
    ///
    /// If a token bucket cannot keep the limit; see [`TokenBucket`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::net::IpAddr;
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// let limiter = RateLimiter::<IpAddr>::new(Limit::per_second(5))?;
    /// assert!(limiter.try_acquire(&IpAddr::from([198, 51, 100, 7])).is_allowed());
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn new(limit: Limit) -> Result<Self, LimitError> {
        Self::builder(limit).build()
    }

    /// Begins a limiter with one limit for every key, or one list of limits for
    /// [`AllOf`](crate::AllOf).
    ///
    /// Unless told otherwise: a token bucket, real time ([`TscTicker`]), a hasher that is seeded
    /// at random, no background eviction.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limit, RateLimiter, SlidingLog};
    ///
    /// let limiter = RateLimiter::<String>::builder(Limit::per_minute(100))
    ///     .algorithm(SlidingLog)
    ///     .capacity(10_000)
    ///     .build()?;
    /// assert_eq!(limiter.try_acquire("ada").remaining(), 99);
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn builder(
        limits: impl Into<Limits>,
    ) -> Builder<K, TokenBucket, TscTicker, OneLimit, RandomState> {
        Builder {
            pending: (TokenBucket, limits.into()),
            ticker: Pending::Made(TscTicker::new),
            hasher: RandomState::default(),
            capacity: 0,
            most: usize::MAX,
            evicts_in_passing: true,
            full: WhenFull::Deny,
            waits: WaitPolicy::new(),
        }
    }

    /// Begins a limiter whose limits come from a function of the key.
    ///
    /// The function runs when a key is begun, and again on
    /// [`refresh`](RateLimiter::refresh); a check of a key that is present costs what it costs
    /// with one limit for all. It may panic or ask this very limiter: the map is left as it was.
    /// Make the plans beforehand with [`Algorithm::plan`], and give out clones.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Algorithm, AllOf, Limit, RateLimiter};
    ///
    /// let free = AllOf.plan(Limit::per_minute(20))?;
    /// let paid = AllOf.plan([Limit::per_second(50), Limit::per_minute(600)])?;
    /// let limiter = RateLimiter::<u64>::by_plan(move |account: &u64| {
    ///     if *account < 1_000 { paid.clone() } else { free.clone() }
    /// })
    /// .build()?;
    /// assert_eq!(limiter.try_acquire(&7).remaining(), 49);
    /// assert_eq!(limiter.try_acquire(&5_000).remaining(), 19);
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn by_plan<A: Algorithm>(
        plan: impl Fn(&K) -> Plan<A> + Send + Sync + 'static,
    ) -> Builder<K, A, TscTicker, PerKey, RandomState> {
        Builder {
            pending: PlanByKey::new(plan),
            ticker: Pending::Made(TscTicker::new),
            hasher: RandomState::default(),
            capacity: 0,
            most: usize::MAX,
            evicts_in_passing: true,
            full: WhenFull::Deny,
            waits: WaitPolicy::new(),
        }
    }
}

/// A limiter to be; see [`RateLimiter::builder`] and [`RateLimiter::by_plan`].
#[must_use = "a builder does nothing until it is built"]
pub struct Builder<K, A: Algorithm, T, L: LimitSource, S> {
    pending: L::Pending<K, A>,
    ticker: Pending<T>,
    hasher: S,
    capacity: usize,
    most: usize,
    evicts_in_passing: bool,
    full: WhenFull<A>,
    waits: WaitPolicy,
}

/// A ticker, or how to make it: to calibrate the default one takes a while, and it may be replaced.
enum Pending<T> {
    Given(T),
    Made(fn() -> T),
}

impl<T> Pending<T> {
    fn ready(self) -> T {
        match self {
            Self::Given(ticker) => ticker,
            Self::Made(make) => make(),
        }
    }
}

impl<K, A: Algorithm, T, S> Builder<K, A, T, OneLimit, S> {
    /// Chooses the algorithm: a type, or [`AnyAlgorithm`](crate::AnyAlgorithm) at run time.
    ///
    /// # Panics
    ///
    /// If [`when_full`](Builder::when_full) has been given a plan already, which is a plan for the
    /// other algorithm.
    pub fn algorithm<B: Algorithm>(self, algorithm: B) -> Builder<K, B, T, OneLimit, S> {
        let (_, limits) = self.pending;
        let full = match self.full {
            WhenFull::Deny => WhenFull::Deny,
            WhenFull::Allow => WhenFull::Allow,
            WhenFull::Share(plan) => panic!(
                "choose the algorithm before what new keys share when the limiter is full: \
                 {plan:?} is a plan for another one"
            ),
        };
        Builder {
            pending: (algorithm, limits),
            ticker: self.ticker,
            hasher: self.hasher,
            capacity: self.capacity,
            most: self.most,
            evicts_in_passing: self.evicts_in_passing,
            full,
            waits: self.waits,
        }
    }
}

impl<K, A, T, L, S> Builder<K, A, T, L, S>
where
    K: Hash + Eq,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    /// Chooses where the time comes from.
    pub fn ticker<U: Ticker>(self, ticker: U) -> Builder<K, A, U, L, S> {
        Builder {
            pending: self.pending,
            ticker: Pending::Given(ticker),
            hasher: self.hasher,
            capacity: self.capacity,
            most: self.most,
            evicts_in_passing: self.evicts_in_passing,
            full: self.full,
            waits: self.waits,
        }
    }

    /// Chooses the hasher.
    ///
    /// Where keys come from outside, take one that is seeded at random, as the default is:
    /// whoever can foresee hashes can make every look-up slow.
    pub fn hasher<R: BuildHasher>(self, hasher: R) -> Builder<K, A, T, L, R> {
        Builder {
            pending: self.pending,
            ticker: self.ticker,
            hasher,
            capacity: self.capacity,
            most: self.most,
            evicts_in_passing: self.evicts_in_passing,
            full: self.full,
            waits: self.waits,
        }
    }

    /// Makes room for so many keys from the start. The map grows beyond it by itself: it doubles when
    /// it is half full, and the request that begins the key in question copies it, which takes some
    /// 100 ns for each key that is there. Others go on meanwhile.
    pub fn capacity(self, keys: usize) -> Self {
        Self {
            capacity: keys,
            ..self
        }
    }

    /// Tracks at most so many keys at a time; what becomes of others is for
    /// [`when_full`](Self::when_full) to say. Without it there are at most 2^32 - 1.
    ///
    /// No key that is in use is ever forgotten to make room. A new key looks at up to eight of those
    /// that are tracked, others each time, and takes the place of one that is idle. So it costs no
    /// more than that, and may be refused while an idle key still waits for its turn: for no more
    /// than a quarter as many refusals as there are places. A timer, or
    /// [`evict_every`](Self::evict_every), makes room sooner. Without
    /// [`evict_in_passing`](Self::evict_in_passing) nothing else does.
    ///
    /// Two first requests for one key at the same moment, with a single place left, may be told apart:
    /// the one that comes before the other has begun the key is answered as one without a place.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// let limiter = RateLimiter::<u64>::builder(Limit::per_second(5)).max_keys(100).build()?;
    /// for attacker in 0..1_000 {
    ///     let _ = limiter.try_acquire(&attacker);
    /// }
    /// assert_eq!(limiter.tracked_keys(), 100);
    /// assert!(limiter.try_acquire(&1_000).is_denied());
    /// assert!(limiter.try_acquire(&7).is_allowed(), "who is tracked is served");
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn max_keys(self, keys: usize) -> Self {
        Self { most: keys, ..self }
    }

    /// Chooses what becomes of a new key when all places are taken by keys in use. Unless told
    /// otherwise, it is denied.
    pub fn when_full(self, full: WhenFull<A>) -> Self {
        Self { full, ..self }
    }

    /// Chooses whether a new key looks for idle ones to evict, as it does unless told otherwise: at
    /// four keys while there are some to be found, at one for every second new key while there are
    /// none. So a limiter that nobody sweeps does not grow for ever: to some twice the keys that are
    /// in use where they come and go evenly, and never to more than six times.
    ///
    /// Without it keys are forgotten by sweeps only, which makes a little less work of a new key, and
    /// tests that count keys foreseeable.
    pub fn evict_in_passing(self, evicts: bool) -> Self {
        Self {
            evicts_in_passing: evicts,
            ..self
        }
    }

    /// Chooses how requests wait for their turn that would rather wait than be denied: how many may,
    /// and how long. See [`RateLimiter::acquire_timeout`].
    pub fn wait_policy(self, waits: WaitPolicy) -> Self {
        Self { waits, ..self }
    }

    /// Lets a thread evict idle keys, every so often.
    ///
    /// Building then gives the limiter in an [`Arc`], and a guard: the thread is stopped and joined
    /// when the guard is dropped, and ends by itself when the limiter is gone.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// let (limiter, evictor) = RateLimiter::<u64>::builder(Limit::per_second(5))
    ///     .evict_every(Duration::from_secs(10))
    ///     .build()?;
    /// assert!(limiter.try_acquire(&1).is_allowed());
    /// drop(evictor);
    /// # Ok::<(), tollgate::BuildError>(())
    /// ```
    pub fn evict_every(self, interval: Duration) -> BackgroundBuilder<K, A, T, L, S> {
        BackgroundBuilder {
            builder: self,
            interval,
        }
    }

    /// Builds the limiter. Its time begins now.
    ///
    /// # Errors
    ///
    /// If the algorithm cannot keep the limit. Never for a limiter made
    /// [`by_plan`](RateLimiter::by_plan), whose plans have been accepted already.
    pub fn build(self) -> Result<RateLimiter<K, A, T, L, S>, LimitError>
    where
        S: Clone,
    {
        let source = L::ready(self.pending)?;
        let ticker = self.ticker.ready();
        Ok(RateLimiter {
            source,
            store: Store::new(self.capacity, self.most, self.hasher),
            full: Full::new(self.full),
            evicts_in_passing: self.evicts_in_passing,
            start: ticker.now(),
            ticker,
            evicted_at: AtomicU64::new(0),
            room: Room::new(self.waits),
            moving: Turn::new(),
        })
    }
}

impl<K, A: Algorithm, T, L: LimitSource, S> fmt::Debug for Builder<K, A, T, L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

/// A limiter to be, with a thread that evicts; see [`Builder::evict_every`].
#[must_use = "a builder does nothing until it is built"]
pub struct BackgroundBuilder<K, A: Algorithm, T, L: LimitSource, S> {
    builder: Builder<K, A, T, L, S>,
    interval: Duration,
}

impl<K, A, T, L, S> BackgroundBuilder<K, A, T, L, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    A: Algorithm,
    T: Ticker + 'static,
    L: LimitSource,
    S: BuildHasher + Clone + Send + Sync + 'static,
    RateLimiter<K, A, T, L, S>: Send + Sync,
{
    /// Builds the limiter and starts the thread.
    ///
    /// # Errors
    ///
    /// If the algorithm cannot keep the limit, or the operating system cannot start the thread.
    #[allow(clippy::type_complexity)] // Two things, both nameable.
    pub fn build(self) -> Result<(Arc<RateLimiter<K, A, T, L, S>>, Evictor), BuildError> {
        let limiter = Arc::new(self.builder.build()?);
        let evictor = Evictor::start(&limiter, self.interval)?;
        Ok((limiter, evictor))
    }
}

impl<K, A: Algorithm, T, L: LimitSource, S> fmt::Debug for BackgroundBuilder<K, A, T, L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundBuilder")
            .field("interval", &self.interval)
            .finish_non_exhaustive()
    }
}
