//! Who is compared: each is asked the same, and answers how many were allowed.

use crate::keys::Key;
use dashmap::DashMap;
use governor::clock::DefaultClock;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter as Governor};
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tollgate::{Algorithm, Limit, RateLimiter, Reading, Ticker, TokenBucket, TscTicker};

/// The limit under which a contender is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// More than any bench can ask for.
    Plenty,
    /// One an hour: after the first request all are denied.
    OneAnHour,
    /// One a second, and no burst: idle again soon.
    Quick,
}

impl Rate {
    /// Permits, the period, and the burst.
    fn terms(self) -> (u32, Duration, u32) {
        match self {
            Self::Plenty => (1_000_000, Duration::from_secs(1), 4_000_000_000),
            Self::OneAnHour => (1, Duration::from_secs(3_600), 1),
            Self::Quick => (1, Duration::from_secs(1), 1),
        }
    }

    pub fn limit(self) -> Limit {
        let (permits, period, burst) = self.terms();
        Limit::new(permits.into(), period)
            .expect("neither is zero")
            .with_burst(burst.into())
    }

    /// The same for governor.
    pub fn quota(self) -> Quota {
        let (permits, period, burst) = self.terms();
        let some = |number| NonZeroU32::new(number).expect("it is not zero");
        Quota::with_period(period / permits)
            .expect("it is not zero")
            .allow_burst(some(burst))
    }
}

/// A limiter of some kind.
pub trait Contender<K: Key>: Send + Sync + 'static {
    const NAME: &'static str;

    fn new(rate: Rate) -> Self;

    /// Asks for these keys, for `cost` permits each; says how many were allowed.
    fn ask<'k>(&self, keys: impl Iterator<Item = &'k K>, cost: u32) -> u64;

    /// Forgets idle keys, if it can; says how many are left.
    fn evict(&self) -> Option<usize> {
        None
    }
}

/// Ours, through a shared reference.
pub struct Tollgate<K: Key, A: Algorithm = TokenBucket>(pub RateLimiter<K, A>);

/// Ours, through a handle.
pub struct Pinned<K: Key, A: Algorithm = TokenBucket>(pub RateLimiter<K, A>);

fn tollgate<K: Key, A: Algorithm + Default>(rate: Rate) -> RateLimiter<K, A> {
    RateLimiter::<K>::builder(rate.limit())
        .algorithm(A::default())
        .build()
        .expect("a limit")
}

impl<K: Key, A: Algorithm + Default> Contender<K> for Tollgate<K, A> {
    const NAME: &'static str = "tollgate";

    fn new(rate: Rate) -> Self {
        Self(tollgate(rate))
    }

    fn ask<'k>(&self, keys: impl Iterator<Item = &'k K>, cost: u32) -> u64 {
        let allowed = |key: &&K| self.0.try_acquire_n(*key, cost.into()).is_allowed();
        keys.filter(allowed).count() as u64
    }

    fn evict(&self) -> Option<usize> {
        self.0.evict_idle();
        Some(self.0.tracked_keys())
    }
}

impl<K: Key, A: Algorithm + Default> Contender<K> for Pinned<K, A> {
    const NAME: &'static str = "tollgate, pinned";

    fn new(rate: Rate) -> Self {
        Self(tollgate(rate))
    }

    fn ask<'k>(&self, keys: impl Iterator<Item = &'k K>, cost: u32) -> u64 {
        let mut pinned = self.0.pin();
        let allowed = |key: &&K| pinned.try_acquire_n(*key, cost.into()).is_allowed();
        keys.filter(allowed).count() as u64
    }
}

/// The same map, clock and step as ours, put together by hand: what is left of a check without a
/// limiter around it. It never forgets a key.
pub struct ByHand {
    states: papaya::HashMap<u64, <TokenBucket as Algorithm>::State, tollgate::RandomState>,
    rule: <TokenBucket as Algorithm>::Rule,
    ticker: TscTicker,
    start: u64,
}

impl Contender<u64> for ByHand {
    const NAME: &'static str = "papaya and the step, by hand";

    fn new(rate: Rate) -> Self {
        let ticker = TscTicker::new();
        Self {
            // As for so many keys that the table stays half empty.
            states: papaya::HashMap::with_capacity_and_hasher(1_500_000, Default::default()),
            rule: TokenBucket.rule(&[rate.limit()]).expect("a limit"),
            start: ticker.now(),
            ticker,
        }
    }

    fn ask<'k>(&self, keys: impl Iterator<Item = &'k u64>, cost: u32) -> u64 {
        let allowed = |key: &&u64| {
            let guard = self.states.guard();
            let state = match self.states.get(*key, &guard) {
                Some(state) => state,
                None => {
                    let fresh = TokenBucket::fresh(&self.rule);
                    self.states.get_or_insert(**key, fresh, &guard)
                }
            };
            let at = Reading::new(self.start, self.ticker.now());
            TokenBucket::try_acquire(&self.rule, state, at, cost.into())
                .is_ok_and(|decision| decision.is_allowed())
        };
        keys.filter(allowed).count() as u64
    }
}

/// Governor, with the hasher of the standard library or with ours.
pub struct Governed<K: Key, S: Hasher>(Keyed<K, S>);

type Keyed<K, S> = Governor<
    K,
    DashMapStateStore<K, S>,
    DefaultClock,
    NoOpMiddleware<governor::clock::QuantaInstant>,
>;

/// Whose name a hasher gives to its contender.
pub trait Hasher: BuildHasher + Clone + Default + Send + Sync + 'static {
    const NAME: &'static str;
}

impl Hasher for std::collections::hash_map::RandomState {
    const NAME: &'static str = "governor";
}

impl Hasher for foldhash::fast::RandomState {
    const NAME: &'static str = "governor, our hasher";
}

impl<K: Key, S: Hasher> Contender<K> for Governed<K, S> {
    const NAME: &'static str = S::NAME;

    fn new(rate: Rate) -> Self {
        Self(Governor::dashmap_with_clock_and_hasher(
            rate.quota(),
            DefaultClock::default(),
            S::default(),
        ))
    }

    fn ask<'k>(&self, keys: impl Iterator<Item = &'k K>, cost: u32) -> u64 {
        if cost == 1 {
            let allowed = |key: &&K| self.0.check_key(key).is_ok();
            return keys.filter(allowed).count() as u64;
        }
        let cost = NonZeroU32::new(cost).expect("it is not zero");
        let allowed = |key: &&K| matches!(self.0.check_key_n(key, cost), Ok(Ok(())));
        keys.filter(allowed).count() as u64
    }

    fn evict(&self) -> Option<usize> {
        self.0.retain_recent();
        Some(self.0.len())
    }
}

/// What one writes in an afternoon: GCRA in nanoseconds in a map behind one lock, with our hasher.
pub struct Locked<K> {
    full_at: Mutex<HashMap<K, u64, foldhash::fast::RandomState>>,
    start: Instant,
    interval: u64,
    depth: u64,
}

impl<K: Key> Contender<K> for Locked<K> {
    const NAME: &'static str = "mutex";

    fn new(rate: Rate) -> Self {
        let (permits, period, burst) = rate.terms();
        let interval = period.as_nanos() as u64 / u64::from(permits);
        Self {
            full_at: Mutex::default(),
            start: Instant::now(),
            interval,
            depth: interval * u64::from(burst),
        }
    }

    fn ask<'k>(&self, keys: impl Iterator<Item = &'k K>, cost: u32) -> u64 {
        let cost = self.interval * u64::from(cost);
        let allowed = |key: &&K| {
            let now = self.start.elapsed().as_nanos() as u64;
            let mut known = self.full_at.lock().expect("nobody panics");
            match known.get_mut(*key) {
                Some(full_at) => {
                    let next = (*full_at).max(now) + cost;
                    let allows = next - now <= self.depth;
                    if allows {
                        *full_at = next;
                    }
                    allows
                }
                None => known.insert((*key).clone(), now + cost).is_none(),
            }
        };
        keys.filter(allowed).count() as u64
    }

    fn evict(&self) -> Option<usize> {
        let now = self.start.elapsed().as_nanos() as u64;
        let mut keys = self.full_at.lock().expect("nobody panics");
        keys.retain(|_, full_at| *full_at > now);
        Some(keys.len())
    }
}

/// The crate ratelimit has no keys: a map of its limiters, as its users write.
pub struct Ratelimit<K: Key>(DashMap<K, ratelimit::Ratelimiter>, Rate);

impl<K: Key> Contender<K> for Ratelimit<K> {
    const NAME: &'static str = "ratelimit in a DashMap";

    fn new(rate: Rate) -> Self {
        Self(DashMap::new(), rate)
    }

    fn ask<'k>(&self, keys: impl Iterator<Item = &'k K>, cost: u32) -> u64 {
        assert_eq!(cost, 1, "it takes one permit at a time");
        let (permits, period, burst) = self.1.terms();
        let make = || {
            ratelimit::Ratelimiter::builder(permits.into())
                .period(period)
                .max_tokens(burst.into())
                .initial_available(burst.into())
                .build()
                .expect("a limit")
        };
        let allowed = |key: &&K| {
            if let Some(limiter) = self.0.get(*key) {
                return limiter.try_wait().is_ok();
            }
            let limiter = self.0.entry((*key).clone()).or_insert_with(make);
            limiter.try_wait().is_ok()
        };
        keys.filter(allowed).count() as u64
    }
}

/// Calls a macro of the caller's with the type of each contender that has keys of a kind.
#[macro_export]
macro_rules! for_each_contender {
    ($key:ty, $call:ident) => {
        $call!($crate::contenders::Tollgate<$key>);
        $call!($crate::contenders::Pinned<$key>);
        $call!($crate::contenders::Governed<$key, foldhash::fast::RandomState>);
        $call!($crate::contenders::Governed<$key, std::collections::hash_map::RandomState>);
        $call!($crate::contenders::Ratelimit<$key>);
        $call!($crate::contenders::Locked<$key>);
    };
}
