//! Keys that are forgotten on purpose while threads come for their permits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tollgate::Algorithm;

use crate::arena::{CROWDS, on_the_run, rounds, sweep};
use crate::support::*;

/// The clock stands still. When all is taken the key is reset, and all is there once more: the sum
/// is exact, whoever holds the state that was retired.
fn reset_on_the_run(algorithm: impl Algorithm, threads: usize, resets: u64) {
    const PERMITS: u64 = 5;
    let (limiter, _) = built(algorithm, limit("5/7s"), 0);
    let attempt = || limiter.try_acquire(KEY).is_allowed();
    on_the_run(threads, attempt, &|| sweep(&limiter), |taken| {
        for reset in 0..resets {
            let expected = (reset + 1) * PERMITS;
            assert_eq!(taken(expected), expected, "after {reset} resets");
            limiter.reset(KEY);
        }
    });
}

/// Resets at any moment: each gives at most the whole limit once more.
fn reset_in_rounds(algorithm: impl Algorithm, threads: usize, count: u64) {
    const PERMITS: usize = 20;
    let (limiter, ticker) = built(algorithm, limit("20/10s"), 0);
    let resets = AtomicUsize::new(0);
    let mut by_round = Vec::new();
    let reset = || {
        // Counted first: whoever is allowed because of it finds it counted.
        resets.fetch_add(1, Ordering::SeqCst);
        limiter.reset(KEY);
        1
    };
    let (totals, _) = rounds(
        threads,
        count,
        |_| {
            by_round.push(resets.swap(0, Ordering::SeqCst));
            ticker.advance(ns(20 * S));
        },
        |_| {
            let mut taken = 0;
            // Two may have been counted and not be done yet.
            while resets.load(Ordering::SeqCst) < 3 {
                taken += admitted(&limiter, 1);
                thread::yield_now();
            }
            taken + admitted(&limiter, 10 + 40 / threads)
        },
        &[&reset, &reset, &|| sweep(&limiter)],
    );
    by_round.push(resets.swap(0, Ordering::SeqCst));
    for (round, (total, resets)) in totals.iter().zip(&by_round[1..]).enumerate() {
        let most = PERMITS * (1 + resets);
        assert!(
            (PERMITS..=most).contains(total),
            "round {round}: {total} with {resets} resets"
        );
    }
    assert!(
        totals.iter().any(|total| *total > PERMITS),
        "no reset came while the key was asked for"
    );
}

#[test]
fn each_reset_gives_the_whole_limit_once_more() {
    fn check(algorithm: impl Algorithm + Copy) {
        CROWDS
            .iter()
            .for_each(|&threads| reset_on_the_run(algorithm, threads, 100));
    }
    for_every_algorithm!(check);
}

#[test]
fn resets_at_any_moment_give_at_most_the_limit_each() {
    fn check(algorithm: impl Algorithm + Copy) {
        CROWDS
            .iter()
            .for_each(|&threads| reset_in_rounds(algorithm, threads, 30));
    }
    for_every_algorithm!(check);
}

#[test]
#[ignore = "takes minutes"]
fn many_resets_give_the_whole_limit_each_and_no_more() {
    fn check(algorithm: impl Algorithm + Copy) {
        CROWDS
            .iter()
            .for_each(|&threads| reset_on_the_run(algorithm, threads, 5_000));
        CROWDS
            .iter()
            .for_each(|&threads| reset_in_rounds(algorithm, threads, 5_000));
    }
    for_every_algorithm!(check);
}
