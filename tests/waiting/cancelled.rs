//! A future can be dropped at any moment: its place goes to the next, and no permit is lost.

use std::time::Duration;

use tokio::time::Instant;
use tollgate::Limit;

use crate::{MILLISECOND, limiter, poll_once};

#[tokio::test(start_paused = true)]
async fn before_it_is_polled_it_has_no_place() {
    let limiter = limiter(Limit::per_second(5));
    drop(limiter.acquire(&7));
    assert_eq!((limiter.waiters(), limiter.tracked_keys()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_first_in_a_line_gives_its_turn_to_the_next() {
    let limiter = limiter(Limit::per_second(5));
    limiter.acquire_n(&7, 5).await.unwrap();
    let mut first = Box::pin(limiter.acquire_n(&7, 5));
    assert!(poll_once(&mut first).await.is_pending());
    let second = tokio::spawn(limiter.clone().acquire_owned(7, 1));
    tokio::task::yield_now().await;
    assert_eq!(limiter.waiters(), 2);

    tokio::time::advance(300 * MILLISECOND).await;
    let since = Instant::now();
    drop(first);
    // The one permit that came meanwhile is there for it at once.
    assert_eq!(second.await.unwrap().unwrap().remaining(), 0);
    assert_eq!(since.elapsed(), Duration::ZERO);
    assert_eq!(limiter.waiters(), 0);
}

#[tokio::test(start_paused = true)]
async fn one_in_the_middle_of_a_line_leaves_the_others_as_they_were() {
    let limiter = limiter(Limit::per_second(5));
    limiter.acquire_n(&7, 5).await.unwrap();
    let since = Instant::now();
    let first = tokio::spawn(limiter.clone().acquire_owned(7, 1));
    tokio::task::yield_now().await;
    let mut second = Box::pin(limiter.acquire_n(&7, 5));
    assert!(poll_once(&mut second).await.is_pending());
    let third = tokio::spawn(limiter.clone().acquire_owned(7, 1));
    tokio::task::yield_now().await;
    drop(second);
    assert!(first.await.unwrap().is_ok());
    assert!(third.await.unwrap().is_ok());
    assert_eq!(since.elapsed(), 400 * MILLISECOND);
}

/// It was called, since it is the first now, and is dropped before it runs.
#[tokio::test(start_paused = true)]
async fn one_that_was_just_woken_passes_the_turn_on() {
    let limiter = limiter(Limit::per_second(5));
    limiter.acquire_n(&7, 5).await.unwrap();
    let mut first = Box::pin(limiter.acquire(&7));
    let mut second = Box::pin(limiter.acquire(&7));
    assert!(poll_once(&mut first).await.is_pending());
    assert!(poll_once(&mut second).await.is_pending());
    let third = tokio::spawn(limiter.clone().acquire_owned(7, 1));
    tokio::task::yield_now().await;
    let since = Instant::now();
    drop(first);
    drop(second);
    assert!(third.await.unwrap().is_ok());
    assert_eq!(since.elapsed(), 200 * MILLISECOND);
}

/// One that gave up did not spend: the permits are all there for others.
#[tokio::test(start_paused = true)]
async fn whoever_gives_up_has_spent_nothing() {
    let limiter = limiter(Limit::per_second(5));
    limiter.acquire_n(&7, 5).await.unwrap();
    for _ in 0..100 {
        let timeout = tokio::time::timeout(7 * MILLISECOND, limiter.acquire_n(&7, 5)).await;
        assert!(timeout.is_err());
    }
    // 700 ms have passed.
    assert_eq!(limiter.peek(&7).remaining(), 3);
    assert_eq!(limiter.waiters(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_line_of_which_all_give_up_leaves_nothing() {
    let limiter = limiter(Limit::per_hour(1));
    for key in 0..50 {
        limiter.acquire(&key).await.unwrap();
    }
    let mut waiting = Vec::new();
    for nth in 0..500 {
        let mut waits = Box::pin(limiter.acquire(&(nth % 50)));
        assert!(poll_once(&mut waits).await.is_pending());
        waiting.push(waits);
    }
    assert_eq!(limiter.waiters(), 500);
    // Every third first, then the others from the front.
    let mut nth = 0;
    waiting.retain(|_| {
        nth += 1;
        nth % 3 != 0
    });
    drop(waiting);
    assert_eq!(limiter.waiters(), 0);
    assert!(limiter.try_acquire(&50).is_allowed());
    // Nothing stands between a request and its key any more.
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert!(limiter.try_acquire(&7).is_allowed());
}
