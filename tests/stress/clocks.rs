//! Clocks of the real kind. The coarse one is moved by hand: quanta's upkeep writes what its clock
//! says, and that clock is a mock. Of the others rule 6 holds: over an interval of d ns a bucket
//! admits at most B + N·(d + 1)/P.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tollgate::{
    Algorithm, AllOf, AnyAlgorithm, CoarseTicker, Evictor, InstantTicker, RateLimiter, Ticker,
    TokenBucket, TscTicker,
};

use crate::arena::{CROWDS, all_equal, rounds, sweep, until};
use crate::support::*;

const SHORT: Duration = Duration::from_millis(1);

fn in_real_time<A: Algorithm, T: Ticker>(
    algorithm: A,
    text: &str,
    ticker: T,
) -> Arc<RateLimiter<u64, A, T>> {
    let limiter = RateLimiter::<u64>::builder(limit(text))
        .algorithm(algorithm)
        .ticker(ticker)
        .build()
        .expect("a limit that it keeps");
    Arc::new(limiter)
}

/// So many rounds on the coarse time, which stands still in each. Returns how often the key was
/// evicted meanwhile.
fn coarse_in_rounds<A: Algorithm>(
    algorithm: A,
    threads: usize,
    count: u64,
    step: &dyn Fn(u64),
) -> usize {
    // The interval is that of the upkeep that runs.
    let ticker = CoarseTicker::start(Duration::from_secs(3_600)).expect("no thread is needed");
    let limiter = in_real_time(algorithm, "20/10s", ticker.clone());
    let _evictor = Evictor::start(&limiter, SHORT).expect("a thread");
    let (totals, retired) = rounds(
        threads,
        count,
        |_| {
            // A key is evicted when it has been idle for longer than readings may disagree.
            let reset_after = limiter.peek(KEY).reset_after().as_nanos() as u64;
            let ahead = reset_after + ticker.disagreement() + 1;
            let expected = ticker.now() + ahead;
            step(ahead);
            until("the upkeep of the coarse time", || ticker.now() == expected);
        },
        |_| {
            let allowed = |_: &usize| limiter.try_acquire(KEY).is_allowed();
            (0..10 + 40 / threads).filter(allowed).count()
        },
        &[&|| sweep(&limiter)],
    );
    all_equal(&totals, 20);
    retired[0]
}

fn every_algorithm_by_the_coarse_clock(count: u64) {
    let (clock, mock) = quanta::Clock::mock();
    // The time that all coarse tickers of this process read; no other test here may start one.
    let _upkeep = quanta::Upkeep::new_with_clock(Duration::from_micros(100), clock)
        .start()
        .expect("no other upkeep runs");
    let step = |ahead: u64| mock.increment(ahead);
    for threads in CROWDS {
        let check = |algorithm| coarse_in_rounds(algorithm, threads, count, &step);
        let retired: usize = AnyAlgorithm::ALL.into_iter().map(check).sum();
        assert!(retired > 0, "no key was evicted while it was asked for");
    }
}

#[test]
fn by_the_coarse_clock_threads_get_exactly_the_limit() {
    every_algorithm_by_the_coarse_clock(20);
}

/// A hot key that takes so many permits in real time, among others that become idle meanwhile.
/// `elapsed` says how long at most the readings of a stretch lie apart, by another clock.
fn in_real_time_bounded<T: Ticker + Clone + 'static>(
    algorithm: impl Algorithm,
    ticker: T,
    threads: usize,
    permits: u64,
    elapsed: impl Fn(Duration) -> u64,
) {
    const OTHERS: u64 = 20_000;
    let limiter = in_real_time(algorithm, "100/ms burst 50", ticker);
    let _evictor = Evictor::start(&limiter, SHORT).expect("a thread");
    let (hot, turns, retired) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let since = Instant::now();
    let attempt = |_| {
        while hot.load(Ordering::SeqCst) < permits || retired.load(Ordering::SeqCst) == 0 {
            let other = 1 + turns.fetch_add(1, Ordering::SeqCst) % OTHERS;
            let _ = limiter.try_acquire(&other);
            for _ in 0..8 {
                let allowed = limiter.try_acquire(&0).is_allowed();
                hot.fetch_add(u64::from(allowed), Ordering::SeqCst);
            }
        }
        0
    };
    let sweep = || {
        retired.fetch_add(limiter.evict_idle() as u64, Ordering::SeqCst);
        0
    };
    rounds(threads, 1, |_| {}, attempt, &[&sweep]);
    let most = 50 + 100 * (elapsed(since.elapsed()) + 1) / MS;
    let hot = hot.load(Ordering::SeqCst);
    assert!(
        hot <= most,
        "{hot} of at most {most}, with {threads} threads"
    );
}

/// The operating system's monotonic clock against itself.
fn bounded_by_instant(threads: usize, permits: u64) {
    let elapsed = |outside: Duration| outside.as_nanos() as u64;
    in_real_time_bounded(TokenBucket, InstantTicker::new(), threads, permits, elapsed);
    in_real_time_bounded(AllOf, InstantTicker::new(), threads, permits, elapsed);
}

/// The counter was calibrated for a fraction of a millisecond, and its readings on two threads may
/// disagree.
fn bounded_by_tsc(threads: usize, permits: u64) {
    let elapsed = |outside: Duration| {
        let outside = outside.as_nanos() as u64;
        outside + outside / 1_000 + 2 * MS
    };
    in_real_time_bounded(TokenBucket, TscTicker::new(), threads, permits, elapsed);
    in_real_time_bounded(AllOf, TscTicker::new(), threads, permits, elapsed);
}

#[test]
fn by_the_operating_systems_clock_a_bucket_keeps_its_rate() {
    CROWDS
        .iter()
        .for_each(|&threads| bounded_by_instant(threads, 5_000));
}

#[test]
fn by_the_processors_counter_a_bucket_keeps_its_rate() {
    CROWDS
        .iter()
        .for_each(|&threads| bounded_by_tsc(threads, 5_000));
}

#[test]
#[ignore = "takes minutes"]
fn by_real_clocks_a_bucket_keeps_its_rate_for_long() {
    for threads in CROWDS {
        bounded_by_instant(threads, 500_000);
        bounded_by_tsc(threads, 500_000);
    }
}
