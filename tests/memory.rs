//! No growth of memory over millions of distinct keys, with eviction on.
//!
//! Live bytes are counted in the allocator, for the whole process, so that the tests here take
//! turns. What a limiter keeps when its last key is evicted is, with the present map:
//!
//! | what | how much |
//! |---|---|
//! | the table, which is given back by traffic only | 9 bytes a slot; a power of two of slots, two to four for each key of the most that were present at once |
//! | a place, for good | 8 bytes, and up to a quarter of the places to spare, for each key of the most that were present at once |
//! | entries that are removed and wait for a batch to be full | under one batch of 1,024 for each thread that has removed some |
//! | tables that were replaced | about as many as threads are at work at once, for each thread that begins keys |
//! | what a thread sets up once | under 20 KB |
//!
//! So the bounds below are stated by the most keys present at once, not by the distinct keys seen.
//! `cargo test --test memory -- --nocapture` tells the figures.

#[macro_use]
mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use peak_alloc::PeakAlloc;
use support::*;
use tollgate::{Algorithm, Evictor, Limits, ManualTicker, RateLimiter, TokenBucket};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Bytes of the table for each key of the most that were present at once: at most four slots, and a
/// place, with a quarter of them to spare.
const TABLE: usize = 4 * 9 + 10;

/// Whatever does not depend on how many keys there were.
const CONSTANT: usize = 64 * 1024;

/// Holds the other tests up: they allocate too.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Live bytes since `start`, now and at their highest since the last call.
fn live_and_peak(start: usize) -> (usize, usize) {
    let peak = ALLOCATOR.peak_usage().saturating_sub(start);
    ALLOCATOR.reset_peak_usage();
    (ALLOCATOR.current_usage().saturating_sub(start), peak)
}

/// So many rounds of keys that were never seen before, all of them evicted before the next round.
/// Memory at its highest grows in none of the later rounds, and little is kept at the end.
fn in_rounds<A: Algorithm>(algorithm: A, limits: impl Into<Limits>, rounds: usize, keys: u64) {
    // Where the map's table is replaced depends on the seed of the hasher: later rounds may hit
    // upon a moment at which two tables are there that earlier ones missed.
    const WARM_UP: usize = 4;
    let start = ALLOCATOR.current_usage();
    let (limiter, ticker) = built(algorithm, limits, 0);
    let two_tables = (2 * TABLE) * keys as usize;
    let mut earlier = 0;
    let mut live = 0;
    let _ = live_and_peak(start);
    for round in 0..rounds {
        let first = round as u64 * keys;
        for key in first..first + keys {
            assert!(limiter.try_acquire(&key).is_allowed());
        }
        ticker.advance(limiter.peek(&(first + keys - 1)).reset_after());
        assert_eq!(limiter.evict_idle(), keys as usize);
        let peak;
        (live, peak) = live_and_peak(start);
        if round < WARM_UP {
            earlier = earlier.max(peak);
        }
        assert!(
            peak <= earlier + two_tables,
            "{peak} bytes in round {round}, {earlier} before"
        );
    }
    let most = TABLE * keys as usize + CONSTANT;
    assert!(live <= most, "{live} bytes are kept, of at most {most}");
    println!(
        "{}: {} keys, {keys} at once: {earlier} bytes at most in the first rounds, {live} kept",
        std::any::type_name::<A>(),
        keys * rounds as u64,
    );
    drop((limiter, ticker));
    let (left, _) = live_and_peak(start);
    assert!(left < CONSTANT, "{left} bytes are left of the limiter");
}

#[test]
fn ten_million_distinct_keys_leave_no_more_than_ten_thousand_do() {
    let _alone = alone();
    in_rounds(TokenBucket, limit("5/s"), 1_000, 10_000);
}

#[test]
fn no_algorithm_grows_with_the_keys_that_it_has_forgotten() {
    let _alone = alone();
    fn check(algorithm: impl Algorithm) {
        in_rounds(algorithm, limit("5/s"), 20, 5_000);
    }
    for_every_algorithm!(check);
    in_rounds(tollgate::AllOf, vec![limit("5/s"); 6], 20, 5_000);
}

/// Threads that begin keys without end, a clock that moves on meanwhile, and the background
/// evictor: the keys present at once are kept few by waiting for it. Whenever all stand still and
/// all is evicted, little is left.
///
/// There is no bound for the moments between: what is removed while some thread is descheduled in
/// the middle of a check is freed when that one has gone on.
fn in_the_background<A: Algorithm>(algorithm: A, rounds: u64, keys: u64) {
    const THREADS: usize = 2;
    const AT_ONCE: usize = 20_000;
    const STRIDE: u64 = 1_000;
    // The present one, and those that each thread has not let go of yet: it does so after some new
    // keys, if no more threads are at work than it has tables to let go of.
    const TABLES: usize = 1 + 3 * THREADS;
    const MOST: usize = TABLES * TABLE * (AT_ONCE + THREADS * STRIDE as usize) + CONSTANT;
    let start = ALLOCATOR.current_usage();
    let (limiter, ticker) = built(algorithm, limit("5/s"), 0);
    let limiter = Arc::new(limiter);
    let evictor = Evictor::start(&limiter, Duration::from_millis(1)).expect("a thread");
    let begun = AtomicU64::new(0);
    let begin = |end: u64| {
        loop {
            let key = begun.fetch_add(1, Ordering::Relaxed);
            if key >= end {
                return;
            }
            assert!(limiter.try_acquire(&key).is_allowed());
            if key.is_multiple_of(STRIDE) {
                // All keys that have come so far become idle.
                ticker.advance(ns(S));
                until("evictions", || limiter.tracked_keys() < AT_ONCE);
            }
        }
    };
    for round in 1..=rounds {
        begun.store((round - 1) * keys, Ordering::Relaxed);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| begin(round * keys));
            }
        });
        ticker.advance(ns(S));
        until("the last evictions", || limiter.tracked_keys() == 0);
        // The sweep may not have ended yet, nor freed what it has removed.
        until("little to be left", || live_and_peak(start).0 <= MOST);
    }
    let (live, _) = live_and_peak(start);
    println!(
        "{} keys in the background: {live} bytes are kept",
        rounds * keys
    );
    drop(evictor);
    drop((limiter, ticker));
    let (left, _) = live_and_peak(start);
    assert!(left < CONSTANT, "{left} bytes are left of the limiter");
}

/// An attacker who makes keys up, against a cap: no key that is in use loses its state, every fifth
/// request is for one of them and answered as the oracle would, and memory stands still.
#[test]
fn ten_million_invented_keys_leave_a_full_limiter_as_it_was() {
    const CAP: u64 = 100_000;
    const INVENTED: u64 = 10_000_000;
    let _alone = alone();
    let start = ALLOCATOR.current_usage();
    let limiter = RateLimiter::<u64>::builder(limit("1000/h"))
        .ticker(ManualTicker::new(0))
        .max_keys(CAP as usize)
        .build()
        .expect("a limit");
    for key in 0..CAP {
        assert_eq!(limiter.try_acquire(&key).remaining(), 999);
    }
    let (full, _) = live_and_peak(start);
    let spent = |round: u64| 999 - round;
    for invented in 0..INVENTED {
        let stranger = limiter.try_acquire(&(CAP + invented));
        assert!(stranger.is_denied() && stranger.is_untracked());
        if invented % 5 == 0 {
            let (key, round) = (invented / 5 % CAP, invented / 5 / CAP + 1);
            assert_eq!(limiter.try_acquire(&key).remaining(), spent(round));
        }
    }
    assert_eq!(limiter.tracked_keys(), CAP as usize);
    let (live, peak) = live_and_peak(start);
    println!("{full} bytes full, {peak} at most and {live} after {INVENTED} invented keys");
    assert!(
        peak < full + CONSTANT,
        "{full} bytes when full, then {peak}"
    );
}

/// Waits until `done`.
#[track_caller]
fn until(what: &str, done: impl Fn() -> bool) {
    let since = Instant::now();
    while !done() {
        assert!(since.elapsed() < Duration::from_secs(60), "in vain: {what}");
        thread::yield_now();
    }
}

#[test]
fn two_million_distinct_keys_are_forgotten_in_the_background() {
    let _alone = alone();
    in_the_background(TokenBucket, 40, 50_000);
}

/// The map gives nothing back by itself: it makes its table smaller when that is full of what was
/// removed, which takes new keys.
#[test]
fn the_table_that_a_spike_has_left_is_given_back_by_later_traffic() {
    const SPIKE: u64 = 100_000;
    const LATER: u64 = 1_000;
    let _alone = alone();
    let start = ALLOCATOR.current_usage();
    let (limiter, ticker) = built(TokenBucket, limit("5/s"), 0);
    let round = |first: u64, keys: u64| {
        for key in first..first + keys {
            assert!(limiter.try_acquire(&key).is_allowed());
        }
        ticker.advance(ns(S));
        assert_eq!(limiter.evict_idle(), keys as usize);
        live_and_peak(start).0
    };
    let kept = round(0, SPIKE);
    assert!(kept <= TABLE * SPIKE as usize + CONSTANT, "{kept} bytes");
    let mut key = SPIKE;
    let mut live = kept;
    // The places stay.
    while live > 2 * TABLE * LATER as usize + 10 * SPIKE as usize + CONSTANT {
        live = round(key, LATER);
        key += LATER;
        assert!(key < 10 * SPIKE, "{live} bytes of {kept} are still kept");
    }
    println!("{kept} bytes after {SPIKE} keys, {live} after {key}");
}

/// Look-ups in a table that is nearly full take ten times as long, and the map by itself makes room
/// no sooner: the limiter asks it to, and asks for as much where it is told how many are expected.
#[test]
fn the_table_is_at_most_half_full() {
    let _alone = alone();
    for keys in [200_usize, 1_000, 20_000, 32_768, 33_000] {
        let fits = |table: usize| (2 * 9 * keys..=TABLE * keys + CONSTANT).contains(&table);
        for expected in [0, keys] {
            let start = ALLOCATOR.current_usage();
            let ticker = ManualTicker::new(0);
            let limiter = RateLimiter::<u64>::builder(limit("5/s"))
                .ticker(ticker.clone())
                .capacity(expected)
                .build()
                .expect("a limit");
            let empty = live_and_peak(start).0;
            assert!(
                expected == 0 || fits(empty),
                "{empty} bytes for {keys} keys"
            );
            for key in 0..keys as u64 {
                assert!(limiter.try_acquire(&key).is_allowed());
            }
            // Without its entries.
            ticker.advance(ns(S));
            assert_eq!(limiter.evict_idle(), keys);
            let kept = live_and_peak(start).0;
            assert!(
                fits(kept),
                "{kept} bytes after {keys} keys, {expected} expected"
            );
            assert!(
                expected == 0 || kept < empty + CONSTANT,
                "{empty} bytes were not enough for {keys} keys: {kept}"
            );
        }
    }
}
