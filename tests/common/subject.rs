//! One way to drive a limiter and its oracle alike.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(unreachable_pub, reason = "a module of several test crates")]

use std::sync::{Arc, Mutex};

use tollgate::{
    Algorithm, AllOf, AnyAlgorithm, Decision, FixedWindow, Gate, Limit, LimitSource, ManualTicker,
    OneLimit, PerKey, Plan, RateLimiter, SlidingCounter, SlidingLog, Standing, TokenBucket,
    UnkeyedLimiter, Verdict,
};

use super::reference::{Kind, Reference};

/// Whatever limits `u64` keys, with a clock that the test sets.
pub trait Subject {
    fn name(&self) -> &str;
    fn set_time(&mut self, now: u64);

    /// What the limits are for keys that are begun or refreshed from now on.
    fn set_limits(&mut self, limits: &[Limit]);

    fn try_acquire_n(&self, key: u64, cost: u64) -> Decision;
    fn peek_n(&self, key: u64, cost: u64) -> Decision;

    /// With a slice that has so much room for each limit's own decision.
    fn try_acquire_each(&self, key: u64, cost: u64, room: usize) -> Each;
    fn peek_each(&self, key: u64, cost: u64, room: usize) -> Each;

    /// Its part in a request to several limiters.
    fn gate<'a>(&'a self, _key: &'a u64, _cost: u64) -> Box<dyn Gate + 'a> {
        panic!(
            "{} takes no part in requests to several limiters",
            self.name()
        );
    }

    fn charge(&self, key: u64, cost: u64) -> Decision;
    fn refund(&self, key: u64, decision: Decision);
    fn reset(&self, key: u64);
    fn refresh(&self, key: u64);
    fn refresh_all(&self);
    fn evict_idle(&self) -> usize;

    /// None if it has no keys.
    fn tracked_keys(&self) -> Option<usize>;
}

/// What a call says that fills a slice: the decision, how many limits there are, and the slice,
/// with what it was before where no limit has filled it.
#[derive(Debug, PartialEq)]
pub struct Each {
    pub whole: Decision,
    pub limits: usize,
    pub slice: Vec<Decision>,
}

/// The oracle, with a clock and limits that can be set.
pub struct Oracle {
    reference: Reference,
    limits: Arc<Mutex<Vec<Limit>>>,
    now: u64,
}

impl Oracle {
    pub fn new(kind: Kind, limits: &[Limit], start: u64) -> Self {
        let limits = Arc::new(Mutex::new(limits.to_vec()));
        let of_a_key = Arc::clone(&limits);
        Self {
            reference: Reference::by_limits(kind, start, move |_| of_a_key.lock().unwrap().clone()),
            limits,
            now: start,
        }
    }
}

impl Subject for Oracle {
    fn name(&self) -> &str {
        "the oracle"
    }

    fn set_time(&mut self, now: u64) {
        self.now = now;
    }

    fn set_limits(&mut self, limits: &[Limit]) {
        *self.limits.lock().unwrap() = limits.to_vec();
    }

    fn try_acquire_n(&self, key: u64, cost: u64) -> Decision {
        self.reference.try_acquire_n(key, cost, self.now)
    }

    fn peek_n(&self, key: u64, cost: u64) -> Decision {
        self.reference.peek_n(key, cost, self.now)
    }

    fn try_acquire_each(&self, key: u64, cost: u64, room: usize) -> Each {
        let (whole, own) = self.reference.try_acquire_each(key, cost, self.now);
        filled(room, |each| {
            for (place, own) in each.iter_mut().zip(&own) {
                *place = *own;
            }
            (whole, own.len())
        })
    }

    fn peek_each(&self, key: u64, cost: u64, room: usize) -> Each {
        let (whole, own) = self.reference.peek_each(key, cost, self.now);
        filled(room, |each| {
            for (place, own) in each.iter_mut().zip(&own) {
                *place = *own;
            }
            (whole, own.len())
        })
    }

    fn charge(&self, key: u64, cost: u64) -> Decision {
        self.reference.charge(key, cost, self.now)
    }

    fn refund(&self, key: u64, decision: Decision) {
        self.reference.refund(key, decision, self.now);
    }

    fn reset(&self, key: u64) {
        self.reference.reset(key);
    }

    fn refresh(&self, key: u64) {
        self.reference.refresh(key, self.now);
    }

    fn refresh_all(&self) {
        self.reference.refresh_all(self.now);
    }

    fn evict_idle(&self) -> usize {
        self.reference.evict_idle(self.now, 0)
    }

    fn tracked_keys(&self) -> Option<usize> {
        Some(self.reference.tracked_keys())
    }
}

/// A limiter with keys.
struct Keyed<A: Algorithm, L: LimitSource> {
    name: &'static str,
    ticker: ManualTicker,
    limiter: RateLimiter<u64, A, ManualTicker, L>,
    /// Where its limits can change: the plan that its function returns.
    plan: Option<(A, Arc<Mutex<Plan<A>>>)>,
    /// Refreshes this key, or all.
    refresh: fn(&RateLimiter<u64, A, ManualTicker, L>, Option<u64>),
}

impl<A: Algorithm + Copy> Keyed<A, PerKey> {
    fn by_plan(name: &'static str, algorithm: A, limits: &[Limit], start: u64) -> Self {
        let plan = Arc::new(Mutex::new(algorithm.plan(limits).unwrap()));
        let of_a_key = Arc::clone(&plan);
        let ticker = ManualTicker::new(start);
        Self {
            name,
            limiter: RateLimiter::by_plan(move |_: &u64| of_a_key.lock().unwrap().clone())
                .ticker(ticker.clone())
                // Keys are forgotten where the script says so.
                .evict_in_passing(false)
                .build()
                .unwrap(),
            ticker,
            plan: Some((algorithm, plan)),
            refresh: |limiter, key| match key {
                Some(key) => limiter.refresh(&key),
                None => limiter.refresh_all(),
            },
        }
    }
}

impl<A: Algorithm> Keyed<A, OneLimit> {
    fn by_limit(name: &'static str, algorithm: A, limits: &[Limit], start: u64) -> Self {
        let ticker = ManualTicker::new(start);
        Self {
            name,
            limiter: RateLimiter::<u64>::builder(limits)
                .algorithm(algorithm)
                .ticker(ticker.clone())
                // Keys are forgotten where the script says so.
                .evict_in_passing(false)
                .build()
                .unwrap(),
            ticker,
            plan: None,
            refresh: |_, _| panic!("one limit for all keys never changes"),
        }
    }
}

impl<A: Algorithm + Copy, L: LimitSource> Subject for Keyed<A, L> {
    fn name(&self) -> &str {
        self.name
    }

    fn set_time(&mut self, now: u64) {
        self.ticker.set(now);
    }

    fn set_limits(&mut self, limits: &[Limit]) {
        let (algorithm, plan) = self.plan.as_ref().expect("limits that can change");
        *plan.lock().unwrap() = algorithm.plan(limits).unwrap();
    }

    fn try_acquire_n(&self, key: u64, cost: u64) -> Decision {
        self.limiter.try_acquire_n(&key, cost)
    }

    fn peek_n(&self, key: u64, cost: u64) -> Decision {
        self.limiter.peek_n(&key, cost)
    }

    fn try_acquire_each(&self, key: u64, cost: u64, room: usize) -> Each {
        filled(room, |each| self.limiter.try_acquire_each(&key, cost, each))
    }

    fn peek_each(&self, key: u64, cost: u64, room: usize) -> Each {
        filled(room, |each| self.limiter.peek_each(&key, cost, each))
    }

    fn gate<'a>(&'a self, key: &'a u64, cost: u64) -> Box<dyn Gate + 'a> {
        Box::new(self.limiter.ask_n(key, cost))
    }

    fn charge(&self, key: u64, cost: u64) -> Decision {
        self.limiter.charge(&key, cost)
    }

    fn refund(&self, key: u64, decision: Decision) {
        self.limiter.refund(&key, decision);
    }

    fn reset(&self, key: u64) {
        self.limiter.reset(&key);
    }

    fn refresh(&self, key: u64) {
        (self.refresh)(&self.limiter, Some(key));
    }

    fn refresh_all(&self) {
        (self.refresh)(&self.limiter, None);
    }

    fn evict_idle(&self) -> usize {
        self.limiter.evict_idle()
    }

    fn tracked_keys(&self) -> Option<usize> {
        Some(self.limiter.tracked_keys())
    }
}

/// A limiter without keys, whichever key it is asked for.
struct Unkeyed<A: Algorithm> {
    name: &'static str,
    ticker: ManualTicker,
    limiter: UnkeyedLimiter<A, ManualTicker>,
}

impl<A: Algorithm> Unkeyed<A> {
    fn new(name: &'static str, algorithm: A, limits: &[Limit], start: u64) -> Self {
        let ticker = ManualTicker::new(start);
        let plan = algorithm.plan(limits).unwrap();
        Self {
            name,
            limiter: UnkeyedLimiter::from_plan(plan, ticker.clone()),
            ticker,
        }
    }
}
impl<A: Algorithm> Subject for Unkeyed<A> {
    fn name(&self) -> &str {
        self.name
    }

    fn set_time(&mut self, now: u64) {
        self.ticker.set(now);
    }

    fn set_limits(&mut self, _limits: &[Limit]) {
        panic!("the limits of a limiter without keys never change");
    }

    fn try_acquire_n(&self, _key: u64, cost: u64) -> Decision {
        self.limiter.try_acquire_n(cost)
    }

    fn peek_n(&self, _key: u64, cost: u64) -> Decision {
        self.limiter.peek_n(cost)
    }

    fn try_acquire_each(&self, _key: u64, cost: u64, room: usize) -> Each {
        filled(room, |each| self.limiter.try_acquire_each(cost, each))
    }

    fn peek_each(&self, _key: u64, cost: u64, room: usize) -> Each {
        filled(room, |each| self.limiter.peek_each(cost, each))
    }

    fn gate<'a>(&'a self, _key: &'a u64, cost: u64) -> Box<dyn Gate + 'a> {
        Box::new(self.limiter.ask_n(cost))
    }

    fn charge(&self, _key: u64, cost: u64) -> Decision {
        self.limiter.charge(cost)
    }

    fn refund(&self, _key: u64, decision: Decision) {
        self.limiter.refund(decision);
    }

    fn reset(&self, _key: u64) {
        self.limiter.reset();
    }

    fn refresh(&self, _key: u64) {
        panic!("the limits of a limiter without keys never change");
    }

    fn refresh_all(&self) {
        panic!("the limits of a limiter without keys never change");
    }

    fn evict_idle(&self) -> usize {
        panic!("a limiter without keys forgets none");
    }

    fn tracked_keys(&self) -> Option<usize> {
        None
    }
}

/// What no limiter answers.
pub fn blank() -> Decision {
    let standing = Standing {
        remaining: u64::MAX,
        next_permit_after: u64::MAX,
        reset_after: u64::MAX,
    };
    Decision::new(Verdict::Never, u32::MAX, u64::MAX, u64::MAX, standing)
}

fn filled(room: usize, call: impl FnOnce(&mut [Decision]) -> (Decision, usize)) -> Each {
    let mut slice = vec![blank(); room];
    let (whole, limits) = call(&mut slice);
    Each {
        whole,
        limits,
        slice,
    }
}

/// How the oracle calls an algorithm that is chosen at run time.
pub fn kind_of(algorithm: AnyAlgorithm) -> Kind {
    match algorithm {
        AnyAlgorithm::TokenBucket => Kind::TokenBucket,
        AnyAlgorithm::FixedWindow => Kind::FixedWindow,
        AnyAlgorithm::SlidingLog => Kind::SlidingLog,
        AnyAlgorithm::SlidingCounter => Kind::SlidingCounter,
        AnyAlgorithm::AllOf => Kind::AllOf,
    }
}

/// Runs an expression with the algorithm as a type, and with the one chosen at run time.
macro_rules! both_ways {
    ($kind:expr, |$name:ident, $algorithm:ident| $build:expr) => {{
        macro_rules! build {
            ($type:ident) => {{
                let typed = {
                    let ($name, $algorithm) = (stringify!($type), $type);
                    $build
                };
                let chosen = {
                    let $name = concat!("AnyAlgorithm::", stringify!($type));
                    let $algorithm = AnyAlgorithm::$type;
                    $build
                };
                [typed, chosen]
            }};
        }
        match $kind {
            Kind::TokenBucket => build!(TokenBucket),
            Kind::FixedWindow => build!(FixedWindow),
            Kind::SlidingLog => build!(SlidingLog),
            Kind::SlidingCounter => build!(SlidingCounter),
            Kind::AllOf => build!(AllOf),
        }
    }};
}

type Subjects = Vec<Box<dyn Subject>>;

/// Limiters whose limits are a function of the key and can change.
pub fn limiters(kind: Kind, limits: &[Limit], start: u64) -> Subjects {
    both_ways!(
        kind,
        |name, algorithm| Box::new(Keyed::by_plan(name, algorithm, limits, start))
            as Box<dyn Subject>
    )
    .into()
}

/// Limiters with the same limits for all keys for ever.
pub fn limiters_of_one_limit(kind: Kind, limits: &[Limit], start: u64) -> Subjects {
    both_ways!(
        kind,
        |name, algorithm| Box::new(Keyed::by_limit(name, algorithm, limits, start))
            as Box<dyn Subject>
    )
    .into()
}

pub fn limiters_without_keys(kind: Kind, limits: &[Limit], start: u64) -> Subjects {
    both_ways!(
        kind,
        |name, algorithm| Box::new(Unkeyed::new(name, algorithm, limits, start))
            as Box<dyn Subject>
    )
    .into()
}

/// Whether the algorithm keeps such limits: both ways to choose it say the same.
pub fn accepts(kind: Kind, limits: &[Limit]) -> bool {
    let [typed, chosen] = both_ways!(kind, |_name, algorithm| algorithm.plan(limits).is_ok());
    assert_eq!(typed, chosen, "{limits:?}");
    typed
}
