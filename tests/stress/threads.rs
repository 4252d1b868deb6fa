//! From two threads to 64 on one key, with evictions of both kinds beside them.

use std::sync::Arc;
use std::time::Duration;

use tollgate::{
    Algorithm, AllOf, AnyAlgorithm, Evictor, FixedWindow, Limits, SlidingCounter, SlidingLog,
    Ticker, TokenBucket,
};

use crate::arena::{CROWDS, THREADS, all_equal, on_the_run, rounds, sweep};
use crate::support::*;

/// The background evictor sweeps as often as it can.
const SHORT: Duration = Duration::from_millis(1);

#[test]
fn eight_threads_with_forty_thousand_requests_get_exactly_the_limit() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, _) = built(algorithm, limit("1000/min"), 0);
        let attempt = |_| admitted(&limiter, 40_000 / THREADS);
        let (totals, _) = rounds(THREADS, 1, |_| {}, attempt, &[]);
        all_equal(&totals, 1_000);
    }
    for_every_algorithm!(check);
}

#[test]
fn the_first_touch_of_a_key_by_all_at_once_admits_exactly_the_limit() {
    fn check(algorithm: impl Algorithm + Copy) {
        // A small map, that grows meanwhile.
        let (limiter, _) = built(algorithm, limit("9/10s"), 0);
        let (by_plan, _, _) = switched(algorithm, limit("9/10s"), 0);
        let three = |round| {
            let one = (0..3)
                .filter(|_| limiter.try_acquire(&round).is_allowed())
                .count();
            let other = (0..3)
                .filter(|_| by_plan.try_acquire(&round).is_allowed())
                .count();
            one + other
        };
        let (totals, _) = rounds(THREADS, 1_000, |_| {}, three, &[]);
        all_equal(&totals, 18);
        assert_eq!(
            (limiter.tracked_keys(), by_plan.tracked_keys()),
            (1_000, 1_000)
        );
    }
    for_every_algorithm!(check);
}

/// One hot key: idle when a round begins, and all its permits asked for at one instant. Returns how
/// often it was evicted meanwhile.
fn stampede<A: Algorithm>(
    algorithm: A,
    limits: impl Into<Limits>,
    threads: usize,
    count: u64,
) -> usize {
    let (limiter, ticker) = built(algorithm, limits, 0);
    let limiter = Arc::new(limiter);
    let _evictor = Evictor::start(&limiter, SHORT).expect("a thread");
    let (totals, retired) = rounds(
        threads,
        count,
        |_| ticker.advance(limiter.peek(KEY).reset_after()),
        |_| admitted(&limiter, 10 + 40 / threads),
        &[&|| sweep(&limiter)],
    );
    all_equal(&totals, 20);
    retired[0]
}

fn every_stampede(count: u64) {
    let (one, two) = (limit("20/10s"), [limit("20/s"), limit("21/3s burst 30")]);
    for threads in CROWDS {
        let retired = [
            stampede(TokenBucket, limit("3/7s burst 20"), threads, count),
            stampede(FixedWindow, one, threads, count),
            stampede(SlidingLog, one, threads, count),
            stampede(SlidingCounter, one, threads, count),
            stampede(AllOf, two, threads, count),
        ];
        let any = AnyAlgorithm::ALL.map(|any| stampede(any, one, threads, count));
        let retired: usize = retired.iter().chain(&any).sum();
        assert!(retired > 0, "no key was evicted while it was asked for");
    }
}

#[test]
fn two_to_64_threads_get_exactly_the_limit() {
    every_stampede(60);
}

#[test]
#[ignore = "takes minutes"]
fn two_to_64_threads_get_exactly_the_limit_many_times() {
    every_stampede(8_000);
}

/// Nobody ever stands still but the clock, which steps to where the key is idle.
fn run(algorithm: impl Algorithm + Copy, threads: usize, steps: u64) {
    let (limiter, ticker) = built(algorithm, limit("5/7s"), 0);
    let limiter = Arc::new(limiter);
    let (twin, clock) = built(algorithm, limit("5/7s"), 0);
    let _evictor = Evictor::start(&limiter, SHORT).expect("a thread");
    let attempt = || limiter.try_acquire(KEY).is_allowed();
    let mut expected = 0;
    on_the_run(threads, attempt, &|| sweep(&limiter), |taken| {
        for step in 0..steps {
            while twin.try_acquire(KEY).is_allowed() {
                expected += 1;
            }
            assert_eq!(taken(expected), expected, "at step {step}");
            clock.advance(twin.peek(KEY).reset_after());
            ticker.set(clock.now());
        }
    });
}

#[test]
fn two_to_64_threads_get_exactly_the_limit_while_the_clock_steps() {
    fn check(algorithm: impl Algorithm + Copy) {
        CROWDS
            .iter()
            .for_each(|&threads| run(algorithm, threads, 60));
    }
    for_every_algorithm!(check);
}

#[test]
#[ignore = "takes minutes"]
fn two_to_64_threads_get_exactly_the_limit_while_the_clock_steps_far() {
    fn check(algorithm: impl Algorithm + Copy) {
        CROWDS
            .iter()
            .for_each(|&threads| run(algorithm, threads, 5_000));
    }
    for_every_algorithm!(check);
}
