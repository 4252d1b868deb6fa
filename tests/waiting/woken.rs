//! What makes permits come earlier wakes whoever is next.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tollgate::{Algorithm, Limit, RateLimiter, TokenBucket, TokioTicker, WhenFull};

use crate::limiter;

#[tokio::test(start_paused = true)]
async fn a_refund_wakes_whoever_is_next() {
    let limiter = limiter(Limit::per_hour(5));
    let spent = limiter.acquire_n(&7, 5).await.unwrap();
    let waits = tokio::spawn(limiter.clone().acquire_owned(7, 2));
    tokio::task::yield_now().await;
    let since = Instant::now();
    limiter.refund(&7, spent);
    assert_eq!(waits.await.unwrap().unwrap().remaining(), 3);
    assert_eq!(since.elapsed(), Duration::ZERO);
}

/// Not enough for the first: it goes on waiting, and so does the one behind it.
#[tokio::test(start_paused = true)]
async fn a_refund_of_too_little_wakes_nobody_for_good() {
    let limiter = limiter(Limit::per_hour(5));
    let spent = limiter.acquire_n(&7, 1).await.unwrap();
    limiter.acquire_n(&7, 4).await.unwrap();
    let first = tokio::spawn(limiter.clone().acquire_owned(7, 3));
    tokio::task::yield_now().await;
    let second = tokio::spawn(limiter.clone().acquire_owned(7, 1));
    tokio::task::yield_now().await;
    let since = Instant::now();
    limiter.refund(&7, spent);
    tokio::task::yield_now().await;
    assert!(!first.is_finished() && !second.is_finished());
    first.await.unwrap().unwrap();
    // Two of the three had still to come, at one in twelve minutes.
    assert_eq!(since.elapsed(), Duration::from_secs(24 * 60));
    second.await.unwrap().unwrap();
    assert_eq!(since.elapsed(), Duration::from_secs(36 * 60));
}

/// Two strangers have no place, and share one state.
#[tokio::test(start_paused = true)]
async fn a_refund_to_what_strangers_share_wakes_a_stranger() {
    let shared = TokenBucket.plan(Limit::per_hour(5)).unwrap();
    let limiter = RateLimiter::<u64>::builder(Limit::per_hour(5))
        .ticker(TokioTicker::new())
        .max_keys(1)
        .when_full(WhenFull::Share(shared))
        .build()
        .unwrap();
    let limiter = Arc::new(limiter);
    let _ = limiter.try_acquire(&1);
    let spent = limiter.try_acquire_n(&7, 5);
    assert!(spent.is_untracked());
    let waits = tokio::spawn(limiter.clone().acquire_owned(8, 2));
    tokio::task::yield_now().await;
    let since = Instant::now();
    limiter.refund(&7, spent);
    assert_eq!(waits.await.unwrap().unwrap().remaining(), 3);
    assert_eq!(since.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_reset_wakes_whoever_is_next() {
    let limiter = limiter(Limit::per_hour(5));
    limiter.acquire_n(&7, 5).await.unwrap();
    let waits = tokio::spawn(limiter.clone().acquire_owned(7, 2));
    tokio::task::yield_now().await;
    let since = Instant::now();
    limiter.reset(&7);
    assert_eq!(waits.await.unwrap().unwrap().remaining(), 3);
    assert_eq!(since.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_better_plan_wakes_whoever_is_next() {
    for all in [false, true] {
        let has_paid = Arc::new(AtomicBool::new(false));
        let plan = has_paid.clone();
        let free = TokenBucket.plan(Limit::per_hour(5)).unwrap();
        let paid = TokenBucket.plan(Limit::per_hour(50)).unwrap();
        let limiter = RateLimiter::<u64>::by_plan(move |_| {
            if plan.load(Ordering::Relaxed) {
                paid.clone()
            } else {
                free.clone()
            }
        })
        .ticker(TokioTicker::new())
        .build()
        .unwrap();
        let limiter = Arc::new(limiter);
        limiter.acquire_n(&7, 5).await.unwrap();
        let waits = tokio::spawn(limiter.clone().acquire_owned(7, 5));
        tokio::task::yield_now().await;
        let since = Instant::now();
        has_paid.store(true, Ordering::Relaxed);
        if all {
            limiter.refresh_all();
        } else {
            limiter.refresh(&7);
        }
        assert_eq!(waits.await.unwrap().unwrap().remaining(), 40);
        assert_eq!(since.elapsed(), Duration::ZERO);
    }
}

/// A plan under which it can never be had ends the waiting.
#[tokio::test(start_paused = true)]
async fn a_worse_plan_ends_what_is_in_vain() {
    let is_less = Arc::new(AtomicBool::new(false));
    let plan = is_less.clone();
    let more = TokenBucket.plan(Limit::per_hour(5)).unwrap();
    let less = TokenBucket.plan(Limit::per_hour(2)).unwrap();
    let limiter = RateLimiter::<u64>::by_plan(move |_| {
        if plan.load(Ordering::Relaxed) {
            less.clone()
        } else {
            more.clone()
        }
    })
    .ticker(TokioTicker::new())
    .build()
    .unwrap();
    let limiter = Arc::new(limiter);
    limiter.acquire_n(&7, 5).await.unwrap();
    let in_vain = tokio::spawn(limiter.clone().acquire_owned(7, 3));
    tokio::task::yield_now().await;
    let next = tokio::spawn(limiter.clone().acquire_owned(7, 1));
    tokio::task::yield_now().await;
    is_less.store(true, Ordering::Relaxed);
    limiter.refresh(&7);
    let error = in_vain.await.unwrap().unwrap_err();
    assert_eq!(error, tollgate::AcquireError::Never { cost: 3 });
    assert!(next.await.unwrap().is_ok());
    assert_eq!(limiter.waiters(), 0);
}
