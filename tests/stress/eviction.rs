//! Evictions of idle keys while threads come for their permits.

use tollgate::{
    Algorithm, AllOf, AnyAlgorithm, FixedWindow, Limits, SlidingCounter, SlidingLog, Ticker,
    TokenBucket,
};

use crate::arena::{THREADS, all_equal, on_the_run, rounds, sweep};
use crate::support::*;

/// In each round the key is idle when eight threads come for its permits and an evictor for the
/// key. The clock stands still meanwhile.
fn evicted_in_rounds<A: Algorithm>(algorithm: A, limits: impl Into<Limits>, count: u64) {
    let (limiter, ticker) = built(algorithm, limits, 0);
    let (totals, retired) = rounds(
        THREADS,
        count,
        |_| ticker.advance(limiter.peek(KEY).reset_after()),
        |_| admitted(&limiter, 10),
        &[&|| sweep(&limiter)],
    );
    all_equal(&totals, 20);
    assert!(retired[0] > 0, "no key was evicted while it was asked for");
}

fn every_algorithm_evicted_in_rounds(count: u64) {
    let check = |algorithm| evicted_in_rounds(algorithm, limit("20/10s"), count);
    AnyAlgorithm::ALL.into_iter().for_each(check);
    evicted_in_rounds(TokenBucket, limit("3/7s burst 20"), count);
    evicted_in_rounds(FixedWindow, limit("20/10s"), count);
    evicted_in_rounds(SlidingLog, limit("20/10s"), count);
    evicted_in_rounds(SlidingCounter, limit("20/10s"), count);
    evicted_in_rounds(AllOf, [limit("20/s"), limit("21/3s burst 30")], count);
    evicted_in_rounds(AllOf, vec![limit("20/s"); 6], count);
}

#[test]
fn eviction_of_an_idle_key_in_a_stampede_mints_and_loses_nothing() {
    every_algorithm_evicted_in_rounds(2_000);
}

#[test]
#[ignore = "takes minutes"]
fn eviction_of_an_idle_key_in_many_stampedes_mints_and_loses_nothing() {
    every_algorithm_evicted_in_rounds(300_000);
}

/// Nobody ever stands still but the clock: it steps when all that is to be had has been taken, to
/// the instant at which the key is idle, or before, or past it. How much there is to be had is
/// told by a limiter of the same kind that only this thread uses.
fn evicted_on_the_run<A: Algorithm + Copy>(algorithm: A, limits: impl Into<Limits>, steps: u64) {
    let limits = limits.into();
    let (limiter, ticker) = built(algorithm, limits.clone(), 0);
    let (twin, clock) = built(algorithm, limits, 0);
    let mut numbers = Numbers(17);
    let mut expected = 0;
    let attempt = || limiter.try_acquire(KEY).is_allowed();
    let mut by_this_thread = 0;
    let retired = on_the_run(THREADS, attempt, &|| sweep(&limiter), |taken| {
        for step in 0..steps {
            while twin.try_acquire(KEY).is_allowed() {
                expected += 1;
            }
            assert_eq!(
                taken(expected),
                expected,
                "at step {step}, {} ns",
                clock.now()
            );
            let idle = twin.peek(KEY).standing().reset_after;
            let ahead = match numbers.below(8) {
                0 => 1 + numbers.below(idle),
                1 => idle + numbers.below(idle),
                _ => idle,
            };
            clock.advance(ns(ahead));
            ticker.set(clock.now());
            if step % 2 == 0 {
                by_this_thread += limiter.evict_idle();
            }
        }
    });
    assert!(
        retired + by_this_thread > 0,
        "no key was evicted while it was asked for"
    );
    assert!(expected > steps, "{expected}");
}

fn every_algorithm_evicted_on_the_run(steps: u64) {
    let check = |algorithm| evicted_on_the_run(algorithm, limit("5/7s"), steps);
    AnyAlgorithm::ALL.into_iter().for_each(check);
    evicted_on_the_run(TokenBucket, limit("3/7s burst 4"), steps);
    evicted_on_the_run(TokenBucket, limit("1/3ns burst 2"), steps);
    evicted_on_the_run(FixedWindow, limit("5/7s"), steps);
    evicted_on_the_run(SlidingLog, limit("5/7s"), steps);
    evicted_on_the_run(SlidingCounter, limit("5/7s"), steps);
    evicted_on_the_run(AllOf, [limit("5/s"), limit("7/3s burst 9")], steps);
}

#[test]
fn eviction_while_the_clock_steps_mints_and_loses_nothing() {
    every_algorithm_evicted_on_the_run(3_000);
}

#[test]
#[ignore = "takes minutes"]
fn eviction_while_the_clock_steps_far_mints_and_loses_nothing() {
    every_algorithm_evicted_on_the_run(300_000);
}
