//! Threads and tasks in one line, and many of both: nobody is left behind, and no permit is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollgate::{Limit, ManualTicker, RateLimiter, TokenBucket};

use crate::{limiter_outside, poll_once};

#[tokio::test]
async fn a_thread_is_woken_when_a_task_before_it_gives_up() {
    let ticker = ManualTicker::new(0);
    let limiter: RateLimiter<u64, TokenBucket, ManualTicker> =
        RateLimiter::builder(Limit::per_second(5))
            .ticker(ticker.clone())
            .build()
            .unwrap();
    let _ = limiter.try_acquire_n(&7, 5);
    let mut task = Box::pin(limiter.acquire_n(&7, 5));
    assert!(poll_once(&mut task).await.is_pending());
    std::thread::scope(|threads| {
        let thread = threads.spawn(|| limiter.acquire_timeout(&7, Duration::from_secs(60)));
        while limiter.waiters() < 2 {
            std::thread::yield_now();
        }
        ticker.advance(Duration::from_millis(200));
        drop(task);
        assert_eq!(thread.join().unwrap().unwrap().remaining(), 0);
    });
    assert_eq!(limiter.waiters(), 0);
}

/// A task behind a thread, which is served first.
#[tokio::test]
async fn a_task_is_woken_when_a_thread_before_it_is_served() {
    let ticker = ManualTicker::new(0);
    let limiter: RateLimiter<u64, TokenBucket, ManualTicker> =
        RateLimiter::builder(Limit::per_second(5))
            .ticker(ticker.clone())
            .build()
            .unwrap();
    let limiter = Arc::new(limiter);
    let spent = limiter.try_acquire_n(&7, 5);
    let first = limiter.clone();
    let thread =
        std::thread::spawn(move || first.acquire_n_timeout(&7, 3, Duration::from_secs(60)));
    while limiter.waiters() < 1 {
        std::thread::yield_now();
    }
    let mut task = Box::pin(limiter.acquire_n(&7, 2));
    assert!(poll_once(&mut task).await.is_pending());
    limiter.refund(&7, spent);
    assert!(thread.join().unwrap().is_ok());
    assert_eq!(task.await.unwrap().remaining(), 0);
}

/// More threads than permits at a time, on a few keys, in real time: each gets what it waits for, or
/// is told that it will not, and no more are served than the limit allows.
#[test]
fn many_threads_are_all_served_and_nobody_more() {
    let limiter = limiter_outside(Limit::per_second(20_000).with_burst(3));
    let served = AtomicU64::new(0);
    let given_up = AtomicU64::new(0);
    std::thread::scope(|threads| {
        for thread in 0..8 {
            let (limiter, served, given_up) = (&limiter, &served, &given_up);
            threads.spawn(move || {
                for nth in 0..200_u64 {
                    let timeout = match nth % 8 {
                        0 => Duration::from_micros(20),
                        _ => Duration::from_secs(60),
                    };
                    let cost = 1 + (nth + thread) % 3;
                    match limiter.acquire_n_timeout(&(nth % 3), cost, timeout) {
                        Ok(_) => served.fetch_add(1, Ordering::Relaxed),
                        Err(_) => given_up.fetch_add(1, Ordering::Relaxed),
                    };
                }
            });
        }
    });
    let (served, given_up) = (served.into_inner(), given_up.into_inner());
    assert_eq!(served + given_up, 1_600);
    assert!(
        given_up <= 200,
        "only those gave up that had little time: {given_up}"
    );
    assert_eq!(limiter.waiters(), 0);
}
