//! How a limiter is put together.

use super::source::PlanByKey;
use super::{LimitSource, OneLimit, PerKey, RateLimiter};
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
    pub fn algorithm<B: Algorithm>(self, algorithm: B) -> Builder<K, B, T, OneLimit, S> {
        let (_, limits) = self.pending;
        Builder {
            pending: (algorithm, limits),
            ticker: self.ticker,
            hasher: self.hasher,
            capacity: self.capacity,
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
        }
    }

    /// Makes room for so many keys from the start. The map grows beyond it by itself.
    pub fn capacity(self, keys: usize) -> Self {
        Self {
            capacity: keys,
            ..self
        }
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
    pub fn build(self) -> Result<RateLimiter<K, A, T, L, S>, LimitError> {
        let source = L::ready(self.pending)?;
        let ticker = self.ticker.ready();
        Ok(RateLimiter {
            source,
            store: Store::new(self.capacity, self.hasher),
            start: ticker.now(),
            ticker,
            evicted_at: AtomicU64::new(0),
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
    S: BuildHasher + Send + Sync + 'static,
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
