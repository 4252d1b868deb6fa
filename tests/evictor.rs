//! Background eviction, from outside. Nothing here sleeps: what another thread has to do is waited
//! for, and a deadline far beyond what it takes fails the test.

mod support;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use support::*;
use tollgate::{
    Algorithm, BuildError, Evictor, Limit, LimitError, ManualTicker, RateLimiter, SlidingLog,
    Ticker, TokenBucket,
};

const HOUR: Duration = Duration::from_secs(3_600);
const SHORT: Duration = Duration::from_millis(1);

/// Waits until `done`.
#[track_caller]
fn until(what: &str, done: impl Fn() -> bool) {
    let since = Instant::now();
    while !done() {
        assert!(since.elapsed() < Duration::from_secs(60), "in vain: {what}");
        thread::yield_now();
    }
}

/// Lets other threads run for a while.
fn while_others_run() {
    for _ in 0..1_000 {
        thread::yield_now();
    }
}

/// Counts its readings, and holds up whoever reads it while it is closed.
#[derive(Default)]
struct Watched {
    now: AtomicU64,
    readings: AtomicU64,
    closed: AtomicBool,
    waiting: AtomicBool,
}

impl Ticker for Watched {
    fn now(&self) -> u64 {
        self.readings.fetch_add(1, Ordering::SeqCst);
        while self.closed.load(Ordering::SeqCst) {
            self.waiting.store(true, Ordering::SeqCst);
            thread::yield_now();
        }
        self.waiting.store(false, Ordering::SeqCst);
        self.now.load(Ordering::SeqCst)
    }

    fn disagreement(&self) -> u64 {
        0
    }
}

type OfWatched = Arc<RateLimiter<u64, TokenBucket, Arc<Watched>>>;

fn watched() -> (Arc<Watched>, OfWatched) {
    let ticker = Arc::new(Watched::default());
    let limiter = RateLimiter::<u64>::builder(Limit::per_second(2))
        .ticker(ticker.clone())
        .build()
        .expect("a limit");
    (ticker, Arc::new(limiter))
}

fn running(evictor: &Evictor) -> bool {
    format!("{evictor:?}").contains("running: true")
}

#[test]
fn idle_keys_are_evicted_in_the_background_again_and_again() {
    let ticker = ManualTicker::new(0);
    let (limiter, evictor) = RateLimiter::<u64>::builder(Limit::per_second(2))
        .ticker(ticker.clone())
        .evict_every(SHORT)
        .build()
        .expect("a limit and a thread");
    for round in 0..3 {
        for key in 0..100 {
            let _ = limiter.try_acquire_n(&key, 1 + u64::from(key == 7));
        }
        ticker.advance(ns(500 * MS));
        until("the eviction of all keys but one", || {
            limiter.tracked_keys() == 1
        });
        assert_eq!(limiter.peek(KEY).remaining(), 1, "round {round}");
        ticker.advance(ns(500 * MS));
        until("the eviction of the last key", || {
            limiter.tracked_keys() == 0
        });
    }
    assert!(running(&evictor));
}

#[test]
fn dropping_the_guard_ends_the_evictions() {
    let (ticker, limiter) = watched();
    let evictor = Evictor::start(&limiter, SHORT).expect("a thread");
    until("a first sweep", || {
        ticker.readings.load(Ordering::SeqCst) > 1
    });
    drop(evictor);
    let readings = ticker.readings.load(Ordering::SeqCst);
    while_others_run();
    assert_eq!(ticker.readings.load(Ordering::SeqCst), readings);
    assert_eq!(Arc::weak_count(&limiter), 0, "the thread has let go of it");
}

#[test]
fn dropping_the_guard_waits_for_the_sweep_that_runs() {
    let (ticker, limiter) = watched();
    let evictor = Evictor::start(&limiter, SHORT).expect("a thread");
    ticker.closed.store(true, Ordering::SeqCst);
    until("a sweep", || ticker.waiting.load(Ordering::SeqCst));
    let dropped = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            drop(evictor);
            dropped.store(true, Ordering::SeqCst);
        });
        while_others_run();
        assert!(!dropped.load(Ordering::SeqCst), "not while it runs");
        ticker.closed.store(false, Ordering::SeqCst);
    });
    assert_eq!(Arc::strong_count(&limiter), 1);
    assert_eq!(Arc::weak_count(&limiter), 0);
}

#[test]
fn dropping_the_guard_does_not_wait_for_the_interval() {
    for interval in [HOUR, Duration::MAX] {
        let since = Instant::now();
        let (limiter, evictor) = RateLimiter::<u64>::builder(Limit::per_second(2))
            .evict_every(interval)
            .build()
            .expect("a limit and a thread");
        assert!(limiter.try_acquire(KEY).is_allowed());
        while_others_run();
        assert!(running(&evictor));
        drop(evictor);
        assert!(since.elapsed() < Duration::from_secs(60));
        assert_eq!(Arc::weak_count(&limiter), 0);
    }
}

#[test]
fn nothing_is_evicted_before_the_first_interval_is_over() {
    let (ticker, limiter) = watched();
    let readings = ticker.readings.load(Ordering::SeqCst);
    let _evictor = Evictor::start(&limiter, HOUR).expect("a thread");
    while_others_run();
    assert_eq!(ticker.readings.load(Ordering::SeqCst), readings);
}

#[test]
fn an_interval_of_nothing_sweeps_without_a_pause_and_still_ends() {
    let (ticker, limiter) = watched();
    let evictor = Evictor::start(&limiter, Duration::ZERO).expect("a thread");
    until("some sweeps", || {
        ticker.readings.load(Ordering::SeqCst) > 100
    });
    drop(evictor);
    assert_eq!(Arc::weak_count(&limiter), 0);
}

#[test]
fn a_limiter_that_is_dropped_ends_the_thread() {
    let (ticker, limiter) = watched();
    let evictor = Evictor::start(&limiter, SHORT).expect("a thread");
    until("a first sweep", || {
        ticker.readings.load(Ordering::SeqCst) > 1
    });
    let weak: Weak<_> = Arc::downgrade(&limiter);
    drop(limiter);
    until("the end of the limiter", || weak.strong_count() == 0);
    until("the end of the thread", || !running(&evictor));
    drop(evictor);
}

#[test]
fn a_guard_that_outlives_its_limiter_is_dropped_at_once() {
    let since = Instant::now();
    let (limiter, evictor) = RateLimiter::<u64>::builder(Limit::per_second(2))
        .evict_every(HOUR)
        .build()
        .expect("a limit and a thread");
    while_others_run();
    let weak = Arc::downgrade(&limiter);
    drop(limiter);
    assert_eq!(weak.strong_count(), 0, "the thread holds it weakly");
    drop(evictor);
    assert!(since.elapsed() < Duration::from_secs(60));
}

#[test]
fn one_limiter_may_have_two_evictors() {
    let ticker = ManualTicker::new(0);
    let plan = TokenBucket.plan(Limit::per_second(2)).expect("a limit");
    let limiter = RateLimiter::by_plan(move |_: &u64| plan.clone())
        .ticker(ticker.clone())
        .hasher(std::hash::RandomState::new())
        .build()
        .expect("accepted plans");
    let limiter = Arc::new(limiter);
    let first = Evictor::start(&limiter, HOUR).expect("a thread");
    let second = Evictor::start(&limiter, SHORT).expect("a thread");
    drop(first);
    let _ = limiter.try_acquire(KEY);
    ticker.advance(ns(S));
    until("an eviction", || limiter.tracked_keys() == 0);
    drop(second);
    let _ = limiter.try_acquire(KEY);
    ticker.advance(ns(S));
    while_others_run();
    assert_eq!(limiter.tracked_keys(), 1);
}

#[test]
fn a_limit_that_cannot_be_kept_starts_no_thread() {
    let refused = RateLimiter::<u64>::builder(limit("5/s burst 6"))
        .algorithm(SlidingLog)
        .evict_every(HOUR)
        .build();
    match refused {
        Err(BuildError::Limit(LimitError::BurstNotSupported { burst: 6, .. })) => {}
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it has no burst"),
    }
}
