//! What several tests need: a limiter on a time that stands still, limits that change, and the
//! checks that hold of every algorithm.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(unreachable_pub, reason = "a module of several test crates")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tollgate::{
    Algorithm, Decision, Limit, LimitSource, Limits, ManualTicker, PerKey, Plan, RateLimiter,
    Ticker,
};

pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000 * MS;
pub const MINUTE: u64 = 60 * S;
pub const DAY: u64 = 86_400 * S;

/// One limit for all keys.
pub type Limiter<A> = RateLimiter<u64, A, ManualTicker>;
/// A limit that [`Switch`] changes.
pub type Switched<A> = RateLimiter<u64, A, ManualTicker, PerKey>;

/// The key, where one will do.
pub const KEY: &u64 = &7;

pub fn limit(text: &str) -> Limit {
    text.parse().expect("a limit")
}

pub fn ns(nanoseconds: u64) -> Duration {
    Duration::from_nanos(nanoseconds)
}

/// A limiter that is built at `start`.
pub fn built<A: Algorithm>(
    algorithm: A,
    limits: impl Into<Limits>,
    start: u64,
) -> (Limiter<A>, ManualTicker) {
    let ticker = ManualTicker::new(start);
    let limiter = RateLimiter::<u64>::builder(limits)
        .algorithm(algorithm)
        .ticker(ticker.clone())
        .evict_in_passing(false)
        .build()
        .expect("limits that the algorithm keeps");
    (limiter, ticker)
}

/// A limiter that is built at `start`, and the switch for its limits.
pub fn switched<A: Algorithm + Copy>(
    algorithm: A,
    limits: impl Into<Limits>,
    start: u64,
) -> (Switched<A>, ManualTicker, Switch<A>) {
    let ticker = ManualTicker::new(start);
    let plan = algorithm.plan(limits).expect("limits that it keeps");
    let plan = Arc::new(Mutex::new(plan));
    let limiter = RateLimiter::by_plan({
        let plan = plan.clone();
        move |_: &u64| plan.lock().expect("never poisoned").clone()
    })
    .ticker(ticker.clone())
    .evict_in_passing(false)
    .build()
    .expect("its plans have been accepted");
    (limiter, ticker, Switch { algorithm, plan })
}

/// Changes the limits of a limiter, as of its next refresh.
pub struct Switch<A: Algorithm> {
    algorithm: A,
    plan: Arc<Mutex<Plan<A>>>,
}

impl<A: Algorithm + Copy> Switch<A> {
    pub fn to(&self, limits: impl Into<Limits>) {
        *self.plan.lock().expect("never poisoned") =
            self.algorithm.plan(limits).expect("limits that it keeps");
    }
}

/// The message with which limits are refused when the limiter is built.
pub fn refusal<A: Algorithm>(algorithm: A, limits: impl Into<Limits>) -> String {
    RateLimiter::<u64>::builder(limits)
        .algorithm(algorithm)
        .build()
        .map(|_| ())
        .expect_err("limits that it refuses")
        .to_string()
}

/// The wait of a request that is denied now, in nanoseconds.
#[track_caller]
pub fn wait(decision: Decision) -> u64 {
    let wait = decision.retry_after();
    wait.unwrap_or_else(|| panic!("{decision:?} is no denial"))
        .as_nanos() as u64
}

/// Checks all that the key's answer promises of the time to come, and leaves the time as it was:
/// `retry_after`, `next_permit_after` and `reset_after` hold to the nanosecond. Returns the answer.
#[track_caller]
pub fn tight<A: Algorithm, L: LimitSource>(
    limiter: &RateLimiter<u64, A, ManualTicker, L>,
    ticker: &ManualTicker,
    cost: u64,
) -> Decision {
    let now = ticker.now();
    let answer = limiter.peek_n(KEY, cost);
    if answer.retry_after().is_some() {
        let retry_after = wait(answer);
        assert!(retry_after > 0, "{answer:?}");
        ticker.set(now + retry_after - 1);
        assert_eq!(wait(limiter.peek_n(KEY, cost)), 1, "1 ns before {answer:?}");
        ticker.set(now + retry_after);
        assert!(limiter.peek_n(KEY, cost).is_allowed(), "after {answer:?}");
        ticker.set(now);
    }
    let standing = answer.standing();
    if standing.next_permit_after > 0 {
        ticker.set(now + standing.next_permit_after - 1);
        assert!(limiter.peek(KEY).remaining() <= standing.remaining);
        ticker.set(now + standing.next_permit_after);
        assert!(limiter.peek(KEY).remaining() > standing.remaining);
        ticker.set(now);
    }
    if standing.reset_after > 0 {
        ticker.set(now + standing.reset_after - 1);
        assert_ne!(limiter.peek(KEY).reset_after(), Duration::ZERO);
        ticker.set(now + standing.reset_after);
        let reset = limiter.peek(KEY);
        assert_eq!(reset.standing().reset_after, 0, "after {answer:?}");
        assert_eq!(reset.standing().next_permit_after, 0);
        ticker.set(now);
    }
    assert_eq!(limiter.peek_n(KEY, cost), answer, "looking changes nothing");
    answer
}

/// How many of the requests of one permit are allowed, at one instant.
pub fn admitted<A: Algorithm, L: LimitSource>(
    limiter: &RateLimiter<u64, A, ManualTicker, L>,
    requests: usize,
) -> usize {
    (0..requests)
        .filter(|_| limiter.try_acquire(KEY).is_allowed())
        .count()
}

/// One client tries every 10 ms for five minutes, from half past a minute. Returns how many
/// requests are allowed, and the most in any sixty seconds.
pub fn attack<A: Algorithm>(algorithm: A, limit: Limit) -> (usize, usize) {
    let start = MINUTE / 2;
    let (limiter, ticker) = built(algorithm, limit, start);
    let mut allowed = Vec::new();
    for request in 0..5 * 60 * 100 {
        ticker.set(start + request * 10 * MS);
        if limiter.try_acquire(KEY).is_allowed() {
            allowed.push(ticker.now());
        }
    }
    (allowed.len(), most_in_any(MINUTE, &allowed))
}

/// The most instants that any interval of one period holds; `instants` are in order.
pub fn most_in_any(period: u64, instants: &[u64]) -> usize {
    let mut oldest = 0;
    let mut most = 0;
    for (newest, time) in instants.iter().enumerate() {
        while instants[oldest] + period <= *time {
            oldest += 1;
        }
        most = most.max(newest + 1 - oldest);
    }
    most
}

/// Runs a check that is generic over the algorithm for each of the five, and for each as chosen
/// at run time.
#[allow(unused_macros, reason = "each test uses a part of it")]
macro_rules! for_every_algorithm {
    ($check:path) => {
        $check(tollgate::TokenBucket);
        $check(tollgate::FixedWindow);
        $check(tollgate::SlidingLog);
        $check(tollgate::SlidingCounter);
        $check(tollgate::AllOf);
        for algorithm in tollgate::AnyAlgorithm::ALL {
            $check(algorithm);
        }
    };
}

/// Numbers that look random and are the same in every run.
pub struct Numbers(pub u64);

impl Numbers {
    /// The next one, from 0 to `end` − 1.
    pub fn below(&mut self, end: u64) -> u64 {
        // Marsaglia's xorshift.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
