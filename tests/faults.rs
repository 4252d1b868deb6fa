//! Faults that were found by reading the code against its promises. Each failed before it was mended.

mod support;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use support::*;
use tollgate::{
    Algorithm, AllOf, Decision, FixedWindow, ManualTicker, PerKey, RateLimiter, SlidingCounter,
    SlidingLog, Ticker, TokenBucket, try_acquire_all, try_acquire_all_each,
};

/// A manual time whose readings may disagree by a microsecond.
struct Disagreeing(ManualTicker);

impl Ticker for Disagreeing {
    fn now(&self) -> u64 {
        self.0.now()
    }

    fn disagreement(&self) -> u64 {
        1_000
    }
}

#[test]
fn a_log_that_is_emptied_by_a_refund_still_knows_its_time() {
    let (limiter, ticker) = built(SlidingLog, limit("100/min"), 0);
    ticker.set(100 * S);
    assert!(limiter.try_acquire_n(KEY, 100).is_allowed());
    // One spend drops what is a period old, and is given back.
    ticker.set(160 * S);
    limiter.refund(KEY, limiter.try_acquire(KEY));
    // A thread that reads an older time must not find a log without a past.
    ticker.set(160 * S - 1);
    assert_eq!(limiter.evict_idle(), 0);
    let decision = limiter.try_acquire_n(KEY, 100);
    assert_eq!(
        decision.reading(),
        160 * S,
        "judged at the latest time recorded"
    );
    assert_eq!(limiter.try_acquire(KEY).retry_after(), Some(ns(60 * S + 1)));
}

#[test]
fn an_empty_window_to_come_is_not_forgotten() {
    fn check(algorithm: impl Algorithm) {
        let ticker = ManualTicker::new(0);
        let limiter = RateLimiter::<u64>::builder(limit("100/min"))
            .algorithm(algorithm)
            .ticker(Disagreeing(ticker.clone()))
            .build()
            .expect("a limit");
        ticker.set(60 * S - 1);
        assert!(limiter.try_acquire_n(KEY, 100).is_allowed());
        ticker.set(120 * S);
        limiter.refund(KEY, limiter.try_acquire(KEY));
        // Another thread may still read a time before the window.
        assert_eq!(limiter.evict_idle(), 0);
        ticker.set(120 * S + 1_000);
        assert_eq!(limiter.evict_idle(), 1);
    }
    check(FixedWindow);
    check(SlidingCounter);
}

#[test]
fn a_refresh_at_an_older_reading_forgives_nothing() {
    fn check<A: Algorithm + Copy>(algorithm: A) {
        let raised = Arc::new(AtomicBool::new(false));
        let before = algorithm.plan(limit("1/s burst 10")).expect("a limit");
        let after = algorithm.plan(limit("1/s burst 11")).expect("a limit");
        let ticker = ManualTicker::new(0);
        let limiter: RateLimiter<u64, A, ManualTicker, PerKey> = RateLimiter::by_plan({
            let raised = raised.clone();
            move |_: &u64| match raised.load(Ordering::Relaxed) {
                true => after.clone(),
                false => before.clone(),
            }
        })
        .ticker(ticker.clone())
        .build()
        .expect("accepted plans");
        for second in 0..=100 {
            ticker.set(second * S);
            while limiter.try_acquire(KEY).is_allowed() {}
        }
        ticker.set(0);
        assert_eq!(limiter.peek(KEY).retry_after(), Some(ns(101 * S)));
        raised.store(true, Ordering::Relaxed);
        limiter.refresh(KEY);
        // One permit more, and nothing else: the clock has still to catch up.
        assert_eq!(limiter.peek(KEY).retry_after(), Some(ns(100 * S)));
        ticker.set(100 * S);
        assert_eq!(limiter.peek(KEY).remaining(), 1);
    }
    check(TokenBucket);
    check(AllOf);
}

#[test]
fn a_gate_that_panics_takes_nothing_from_the_others() {
    thread_local! {
        static PANICS: Cell<bool> = const { Cell::new(false) };
    }
    let plan = TokenBucket.plan(limit("5/s")).expect("a limit");
    let panicking = RateLimiter::<u64>::by_plan(move |_: &u64| {
        assert!(!PANICS.get(), "the limit function panics");
        plan.clone()
    })
    .ticker(ManualTicker::new(0))
    .build()
    .expect("accepted plans");
    let (first, _) = built(TokenBucket, limit("10/s"), 0);
    PANICS.set(true);
    let both = || try_acquire_all(&[&first.ask_n(KEY, 3), &panicking.ask(KEY)]);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(both));
    assert!(caught.is_err());
    assert_eq!(first.peek(KEY).remaining(), 10);
    assert_eq!(panicking.tracked_keys(), 0);
}

#[test]
fn a_key_that_is_asked_twice_tells_each_cost_once() {
    let (limiter, _) = built(TokenBucket, limit("4/s"), 0);
    let (one, other) = (limiter.ask_n(KEY, 3), limiter.ask_n(KEY, 2));
    let mut each: [Decision; 2] = [limiter.peek(KEY); 2];
    let denied = try_acquire_all_each(&[&one, &other], &mut each);
    assert!(denied.is_never(), "five of four");
    assert_eq!(denied.cost(), 5);
    assert_eq!(each.map(|part| part.cost()), [3, 2]);
}

#[test]
fn a_first_touch_is_not_starved_by_refreshes_of_other_keys() {
    // Every run of the function meets a refresh of a key that is not there.
    let limiter: Arc<std::sync::OnceLock<RateLimiter<u64, TokenBucket, ManualTicker, PerKey>>> =
        Arc::default();
    let asked = Arc::new(AtomicU64::new(0));
    let plan = TokenBucket.plan(limit("5/s")).expect("a limit");
    let built = RateLimiter::<u64>::by_plan({
        let (limiter, asked) = (limiter.clone(), asked.clone());
        move |_: &u64| {
            assert!(
                asked.fetch_add(1, Ordering::Relaxed) < 10,
                "asked without end"
            );
            let limiter = limiter.clone();
            let refreshing = move || limiter.get().map(|limiter| limiter.refresh(&999));
            std::thread::spawn(refreshing).join().expect("no panic");
            plan.clone()
        }
    })
    .ticker(ManualTicker::new(0))
    .build()
    .expect("accepted plans");
    assert!(limiter.set(built).is_ok());
    let limiter = limiter.get().expect("set");
    assert_eq!(limiter.try_acquire(&1).remaining(), 4);
    assert_eq!(
        asked.load(Ordering::Relaxed),
        2,
        "once more than without a refresh"
    );
}
