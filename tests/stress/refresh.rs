//! Limits that change while threads come for their permits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use tollgate::{
    Algorithm, AllOf, AnyAlgorithm, FixedWindow, ManualTicker, PerKey, Plan, RateLimiter,
    SlidingCounter, SlidingLog, TokenBucket,
};

use crate::arena::{CROWDS, THREADS, all_equal, rounds, sweep};
use crate::support::*;

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
/// key. Evictions beside. Returns how many refreshes there were, and how many evictions.
fn refreshed_in_rounds<A: Algorithm>(
    threads: usize,
    plans: [Plan<A>; 2],
    count: u64,
) -> [usize; 2] {
    let (limiter, ticker, turned) = turning(plans, || {});
    let (totals, beside) = rounds(
        threads,
        count,
        |round| ticker.set((round + 1) * 40 * S),
        |_| admitted(&limiter, 4 + 10 / threads),
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
    [beside[0], beside[1]]
}

fn every_algorithm_refreshed_in_rounds(threads: usize, count: u64) {
    let windows = ["10/10s", "10/20s"];
    let buckets = plans(TokenBucket, ["10/s", "20/2s burst 10"]);
    let list = AllOf
        .plan([limit("20/2s burst 10"), limit("11/s")])
        .expect("a list");
    let lists = [plans(AllOf, windows)[0].clone(), list];
    let plan = |any: AnyAlgorithm| any.plan(limit("10/10s")).expect("a limit");
    let others = |[from, to]: [usize; 2]| [from, to].map(|any| plan(AnyAlgorithm::ALL[any]));
    let beside = [
        refreshed_in_rounds(threads, buckets, count),
        refreshed_in_rounds(threads, plans(FixedWindow, windows), count),
        refreshed_in_rounds(threads, plans(SlidingLog, windows), count),
        refreshed_in_rounds(threads, plans(SlidingCounter, windows), count),
        refreshed_in_rounds(threads, lists, count),
        refreshed_in_rounds(threads, others([0, 2]), count),
        refreshed_in_rounds(threads, others([1, 3]), count),
        refreshed_in_rounds(threads, others([4, 2]), count),
    ];
    assert!(
        beside.iter().any(|[refreshes, _]| *refreshes > 0)
            && beside.iter().any(|[_, evictions]| *evictions > 0),
        "{beside:?} refreshes and evictions"
    );
}

#[test]
fn refreshing_all_keys_in_a_stampede_mints_and_loses_nothing() {
    every_algorithm_refreshed_in_rounds(THREADS, 1_000);
    for threads in CROWDS {
        every_algorithm_refreshed_in_rounds(threads, 40);
    }
}

#[test]
#[ignore = "takes minutes"]
fn refreshing_all_keys_in_many_stampedes_mints_and_loses_nothing() {
    for threads in CROWDS {
        every_algorithm_refreshed_in_rounds(threads, 4_000);
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
            let (totals, _) = rounds(THREADS, 250, before, attempt, &[&raise, &again]);
            all_equal(&totals, 15);
        }
    }
    for_every_algorithm!(check);
}
