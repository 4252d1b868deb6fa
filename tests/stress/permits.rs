//! Permits that are given back while threads come for them: not one is minted, not one lost.

use tollgate::{Algorithm, Gate, TokenBucket, try_acquire_all};

use crate::arena::{CROWDS, THREADS, all_equal, rounds, sweep};
use crate::support::*;

/// Each thread gives back nearly all that it gets; what is kept and what is left at the end of a
/// round make up the limit. Returns how many were kept, and how often the key was evicted.
fn refunded_in_rounds(algorithm: impl Algorithm, threads: usize, count: u64) -> [usize; 2] {
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
        threads,
        count,
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
    [kept.iter().sum(), retired[0]]
}

/// As many rounds with each number of threads. In some of them somebody has kept what it got, and
/// the key was evicted.
fn refunded_by_crowds(algorithm: impl Algorithm + Copy, count: u64) {
    let sums = CROWDS.map(|threads| refunded_in_rounds(algorithm, threads, count));
    assert!(sums.iter().any(|[kept, _]| *kept > 0));
    assert!(sums.iter().any(|[_, retired]| *retired > 0));
}

#[test]
fn refunds_beside_requests_conserve_every_permit() {
    fn check(algorithm: impl Algorithm + Copy) {
        let sums = refunded_in_rounds(algorithm, THREADS, 400);
        assert!(sums.iter().all(|sum| *sum > 0), "{sums:?}");
        refunded_by_crowds(algorithm, 12);
    }
    for_every_algorithm!(check);
}

#[test]
#[ignore = "takes minutes"]
fn refunds_beside_many_requests_conserve_every_permit() {
    fn check(algorithm: impl Algorithm + Copy) {
        refunded_by_crowds(algorithm, 3_000);
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
            THREADS,
            400,
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
