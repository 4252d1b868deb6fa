//! Many threads on few keys, by the thousand: exact to the permit under any interleaving.

#[macro_use]
mod support;
#[path = "stress/arena.rs"]
mod arena;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use arena::{THREADS, on_the_run, rounds};
use support::*;
use tollgate::{
    Algorithm, AllOf, AnyAlgorithm, FixedWindow, Gate, LimitSource, Limits, ManualTicker, PerKey,
    Plan, RateLimiter, SlidingCounter, SlidingLog, Ticker, TokenBucket, try_acquire_all,
};

#[track_caller]
fn all_equal(totals: &[usize], expected: usize) {
    let mut counts = HashMap::new();
    for total in totals {
        *counts.entry(*total).or_insert(0) += 1;
    }
    assert_eq!(
        counts,
        HashMap::from([(expected, totals.len())]),
        "rounds by their total"
    );
}

/// Sweeps a few times, before others have their turn.
fn sweep<A: Algorithm, L: LimitSource>(limiter: &RateLimiter<u64, A, ManualTicker, L>) -> usize {
    (0..8).map(|_| limiter.evict_idle()).sum()
}

/// In each round the key is idle when eight threads come for its permits and an evictor for the
/// key. The clock stands still meanwhile.
fn evicted_in_rounds<A: Algorithm>(algorithm: A, limits: impl Into<Limits>, count: u64) {
    let (limiter, ticker) = built(algorithm, limits, 0);
    let (totals, retired) = rounds(
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
    every_algorithm_evicted_in_rounds(5_000);
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
    let retired = on_the_run(attempt, &|| sweep(&limiter), |taken| {
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
    every_algorithm_evicted_on_the_run(5_000);
}

#[test]
#[ignore = "takes minutes"]
fn eviction_while_the_clock_steps_far_mints_and_loses_nothing() {
    every_algorithm_evicted_on_the_run(300_000);
}

#[test]
fn eight_threads_with_forty_thousand_requests_get_exactly_the_limit() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, _) = built(algorithm, limit("1000/min"), 0);
        let (totals, _) = rounds(1, |_| {}, |_| admitted(&limiter, 40_000 / THREADS), &[]);
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
        let (totals, _) = rounds(1_000, |_| {}, three, &[]);
        all_equal(&totals, 18);
        assert_eq!(
            (limiter.tracked_keys(), by_plan.tracked_keys()),
            (1_000, 1_000)
        );
    }
    for_every_algorithm!(check);
}

/// A limiter with the one plan or the other, as `turned` says. Its function pauses once it has
/// chosen, so that what it returns may be out of date.
fn turning<A: Algorithm>(
    plans: [Plan<A>; 2],
    pause: fn(),
) -> (
    RateLimiter<u64, A, ManualTicker, PerKey>,
    ManualTicker,
    Arc<AtomicUsize>,
) {
    let (ticker, turned) = (ManualTicker::new(0), Arc::new(AtomicUsize::new(0)));
    let limiter = RateLimiter::by_plan({
        let turned = turned.clone();
        move |_: &u64| {
            let plan = &plans[turned.load(Ordering::SeqCst)];
            pause();
            plan.clone()
        }
    })
    .ticker(ticker.clone())
    .build()
    .expect("accepted plans");
    (limiter, ticker, turned)
}

fn plans<A: Algorithm + Copy>(algorithm: A, limits: [&str; 2]) -> [Plan<A>; 2] {
    limits.map(|text| algorithm.plan(limit(text)).expect("a limit that it keeps"))
}

/// Two plans that promise the same at one instant, and are not equal: every refresh moves every
/// key. Evictions beside.
fn refreshed_in_rounds<A: Algorithm>(plans: [Plan<A>; 2], count: u64) {
    let (limiter, ticker, turned) = turning(plans, || {});
    let (totals, beside) = rounds(
        count,
        |round| ticker.set((round + 1) * 40 * S),
        |_| admitted(&limiter, 4),
        &[
            &|| {
                turned.fetch_xor(1, Ordering::SeqCst);
                limiter.refresh_all();
                turned.fetch_xor(1, Ordering::SeqCst);
                limiter.refresh(KEY);
                2
            },
            &|| sweep(&limiter),
        ],
    );
    all_equal(&totals, 10);
    assert!(
        beside[0] > 0 && beside[1] > 0,
        "{beside:?} refreshes and evictions"
    );
}

#[test]
fn refreshing_all_keys_in_a_stampede_mints_and_loses_nothing() {
    let windows = ["10/10s", "10/20s"];
    refreshed_in_rounds(plans(TokenBucket, ["10/s", "20/2s burst 10"]), 1_000);
    refreshed_in_rounds(plans(FixedWindow, windows), 1_000);
    refreshed_in_rounds(plans(SlidingLog, windows), 1_000);
    refreshed_in_rounds(plans(SlidingCounter, windows), 1_000);
    let list = AllOf
        .plan([limit("20/2s burst 10"), limit("11/s")])
        .expect("a list");
    refreshed_in_rounds([plans(AllOf, windows)[0].clone(), list], 1_000);
    for (from, to) in [(0, 2), (1, 3), (4, 2)] {
        let plan = |index: usize| {
            AnyAlgorithm::ALL[index]
                .plan(limit("10/10s"))
                .expect("a limit")
        };
        refreshed_in_rounds([plan(from), plan(to)], 1_000);
    }
}

#[test]
fn a_limit_that_is_raised_in_a_stampede_admits_the_raised_limit() {
    fn check(algorithm: impl Algorithm + Copy) {
        for all in [false, true] {
            let (limiter, _, turned) =
                turning(plans(algorithm, ["10/10s", "15/10s"]), thread::yield_now);
            // Whoever begins the key may do so under either limit, while it is refreshed.
            let (key, raised) = (AtomicU64::new(0), AtomicUsize::new(0));
            let before = |round| {
                key.store(round, Ordering::SeqCst);
                raised.store(0, Ordering::SeqCst);
                turned.store(0, Ordering::SeqCst);
                limiter.reset(&round.saturating_sub(1));
            };
            let take = |key| limiter.try_acquire(&key).is_allowed();
            let attempt = |round| {
                let mut taken = 0;
                while raised.load(Ordering::SeqCst) == 0 {
                    taken += usize::from(take(round));
                    thread::yield_now();
                }
                taken + (0..15).filter(|_| take(round)).count()
            };
            let raise = || {
                let key = key.load(Ordering::SeqCst);
                (0..key % 5).for_each(|_| thread::yield_now());
                turned.store(1, Ordering::SeqCst);
                if all {
                    limiter.refresh_all();
                } else {
                    limiter.refresh(&key);
                }
                raised.store(1, Ordering::SeqCst);
                for _ in 0..3 {
                    let capacity = limiter.peek_n(&key, 15);
                    assert!(!capacity.is_never(), "the next check uses the new limit");
                    thread::yield_now();
                }
                0
            };
            // Of two refreshes at once the one that began later prevails.
            let again = || {
                limiter.refresh(&key.load(Ordering::SeqCst));
                0
            };
            let (totals, _) = rounds(250, before, attempt, &[&raise, &again]);
            all_equal(&totals, 15);
        }
    }
    for_every_algorithm!(check);
}

#[test]
fn refunds_beside_requests_conserve_every_permit() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, ticker) = built(algorithm, limit("6/10s"), 0);
        let attempt = |round: u64| {
            let mut kept = 0;
            for turn in 0..40 {
                let decision = limiter.try_acquire_n(KEY, 1 + turn % 2);
                if decision.is_allowed() && (turn + round).is_multiple_of(39) {
                    kept += decision.cost() as usize;
                } else {
                    limiter.refund(KEY, decision);
                }
            }
            kept
        };
        // Once all is refunded the key is idle, so that it is evicted between the requests.
        let mut lefts = Vec::new();
        let (kept, retired) = rounds(
            1_000,
            |_| {
                lefts.push(limiter.peek(KEY).remaining() as usize);
                ticker.advance(ns(20 * S));
            },
            attempt,
            &[&|| sweep(&limiter)],
        );
        lefts.push(limiter.peek(KEY).remaining() as usize);
        let sums: Vec<usize> = kept
            .iter()
            .zip(&lefts[1..])
            .map(|(kept, left)| kept + left)
            .collect();
        all_equal(&sums, 6);
        assert!(retired[0] > 0);
        assert!(
            kept.iter().any(|kept| *kept > 0),
            "somebody kept what it got"
        );
    }
    for_every_algorithm!(check);
}

#[test]
fn several_limiters_asked_together_never_admit_more_and_lose_nothing() {
    fn check(algorithm: impl Algorithm) {
        let (narrow, ticker) = built(algorithm, limit("9/10s"), 0);
        let (bucket, clock) = built(TokenBucket, limit("9/10s"), 0);
        let (wide, last) = built(TokenBucket, limit("13/10s"), 0);
        let ask = |times: usize| {
            let (one, other, third) = (narrow.ask(KEY), bucket.ask(KEY), wide.ask(KEY));
            // Either way round, so that two requests can refuse each other.
            let orders: [[&dyn Gate; 3]; 2] = [[&one, &third, &other], [&other, &third, &one]];
            let allowed = |time: &usize| try_acquire_all(&orders[time % 2]).is_allowed();
            (0..times).filter(allowed).count()
        };
        let mut later = Vec::new();
        let (totals, _) = rounds(
            1_000,
            |_| {
                // Refused for want of a permit that was about to be given back: it is there now.
                later.push(ask(20));
                let left = [narrow.peek(KEY), bucket.peek(KEY), wide.peek(KEY)];
                assert_eq!(left.map(|peek| peek.remaining()), [0, 0, 4]);
                for ticker in [&ticker, &clock, &last] {
                    ticker.advance(ns(20 * S));
                }
            },
            |_| ask(6),
            &[&|| sweep(&narrow), &|| sweep(&bucket) + sweep(&wide)],
        );
        later.push(ask(20));
        let sums = totals.iter().zip(&later[1..]).map(|(one, two)| one + two);
        all_equal(&sums.collect::<Vec<_>>(), 9);
    }
    for_every_algorithm!(check);
}
