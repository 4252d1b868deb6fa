//! Many keys of which a few get most of the requests. For each key the oracle says how many of
//! those that came for it at one instant are to be allowed: in which order they came is no matter,
//! for each costs one permit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tollgate::{
    Algorithm, AllOf, AnyAlgorithm, Evictor, FixedWindow, Limit, SlidingCounter, SlidingLog,
    Ticker, TokenBucket,
};

use crate::arena::{CROWDS, rounds, until};
use crate::reference::{Kind, Reference};
use crate::support::*;

const KEYS: u64 = 500;

/// Zipf's law: the n-th key gets an n-th of what the first one gets.
struct Zipf {
    /// The weight of each key and of all before it, in millionths of the first one's.
    until: Vec<u64>,
}

impl Zipf {
    fn new(keys: u64) -> Self {
        let mut sum = 0;
        let weights = (1..=keys).map(|rank| 1_000_000 / rank);
        let until = weights.map(|weight| {
            sum += weight;
            sum
        });
        Self {
            until: until.collect(),
        }
    }

    fn key(&self, numbers: &mut Numbers) -> u64 {
        let sum = self.until[self.until.len() - 1];
        let drawn = numbers.below(sum);
        self.until.partition_point(|until| *until <= drawn) as u64
    }
}

/// What came for one key at one instant.
#[derive(Default)]
struct Tally {
    asked: AtomicU64,
    allowed: AtomicU64,
}

/// Who evicts: a thread that others may wait for, and the background evictor with it or not.
#[derive(Clone, Copy, PartialEq)]
enum Evictions {
    Explicit,
    Both,
}

fn skewed<A: Algorithm>(
    (algorithm, kind, limits): (A, Kind, &[Limit]),
    evictions: Evictions,
    threads: usize,
    count: u64,
) {
    let (limiter, ticker) = built(algorithm, limits.to_vec(), 0);
    let limiter = Arc::new(limiter);
    let background = || Evictor::start(&limiter, Duration::from_millis(1)).expect("a thread");
    let _evictor = (evictions == Evictions::Both).then(background);
    let oracle = Reference::new(kind, 0, limits);
    let zipf = Zipf::new(KEYS);
    let tallies: Vec<Tally> = (0..KEYS).map(|_| Tally::default()).collect();
    let (seeds, sweeps) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let attempt = |_| {
        let seed = seeds.fetch_add(1, Ordering::SeqCst) as u64 + 1;
        let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let requests = 1_600 / threads;
        let swept = sweeps.load(Ordering::SeqCst);
        for request in 0..requests {
            if request == requests / 2 {
                until("a sweep", || sweeps.load(Ordering::SeqCst) > swept);
            }
            let key = zipf.key(&mut numbers);
            let tally = &tallies[key as usize];
            tally.asked.fetch_add(1, Ordering::SeqCst);
            if limiter.try_acquire(&key).is_allowed() {
                tally.allowed.fetch_add(1, Ordering::SeqCst);
            }
        }
        1
    };
    let evict = || {
        let retired = limiter.evict_idle();
        sweeps.fetch_add(1, Ordering::SeqCst);
        retired
    };
    let judge = |round: u64, now: u64| {
        let mut spread = 0;
        for (key, tally) in (0..).zip(&tallies) {
            let asked = tally.asked.swap(0, Ordering::SeqCst);
            let allowed = tally.allowed.swap(0, Ordering::SeqCst);
            let expected = (0..asked)
                .take_while(|_| oracle.try_acquire_n(key, 1, now).is_allowed())
                .count() as u64;
            assert_eq!(
                allowed, expected,
                "of {asked} for key {key} before round {round}, at {now} ns"
            );
            spread += u64::from(allowed > 0);
        }
        spread
    };
    let mut numbers = Numbers(23);
    let mut spread = 0;
    let (_, retired) = rounds(
        threads,
        count,
        |round| {
            spread += judge(round, ticker.now());
            // Within one permit's time, to where some keys are idle, or to where all are.
            let ahead = match numbers.below(4) {
                0 => numbers.below(S),
                1 => 25 * S,
                _ => S + numbers.below(7 * S),
            };
            ticker.advance(ns(ahead));
        },
        attempt,
        &[&evict],
    );
    spread += judge(count, ticker.now());
    assert!(
        retired[0] > 0 || evictions == Evictions::Both,
        "no key was evicted while others were asked"
    );
    assert!(spread > 50 * count, "the rare keys had their requests too");
}

fn every_algorithm_skewed(threads: usize, count: u64) {
    let one = [limit("5/7s")];
    let kinds = [
        Kind::TokenBucket,
        Kind::FixedWindow,
        Kind::SlidingLog,
        Kind::SlidingCounter,
        Kind::AllOf,
    ];
    for (any, kind) in AnyAlgorithm::ALL.into_iter().zip(kinds) {
        skewed((any, kind, &one), Evictions::Both, threads, count);
    }
    let burst = [limit("3/7s burst 4")];
    let two = [limit("5/s"), limit("7/3s burst 9")];
    let alone = Evictions::Explicit;
    skewed((TokenBucket, kinds[0], &burst), alone, threads, count);
    skewed((FixedWindow, kinds[1], &one), alone, threads, count);
    skewed((SlidingLog, kinds[2], &one), alone, threads, count);
    skewed((SlidingCounter, kinds[3], &one), alone, threads, count);
    skewed((AllOf, kinds[4], &two), alone, threads, count);
}

#[test]
fn skewed_keys_get_exactly_what_the_oracle_gives_each() {
    for threads in CROWDS {
        every_algorithm_skewed(threads, 8);
    }
}

#[test]
#[ignore = "takes minutes"]
fn skewed_keys_get_exactly_what_the_oracle_gives_each_many_times() {
    for threads in CROWDS {
        every_algorithm_skewed(threads, 1_000);
    }
}
