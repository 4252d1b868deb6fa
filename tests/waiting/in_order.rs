//! First come, first served, for each key; and nobody goes before those who wait.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use tollgate::{
    Algorithm, AllOf, AnyAlgorithm, Decision, Limit, RateLimiter, TokioTicker, WaitPolicy,
    try_acquire_all,
};

use crate::{Limiter, MILLISECOND, limiter, poll_once, with_policy};

/// Which of them was served, and when.
type Served = Arc<Mutex<Vec<(u64, Duration)>>>;

async fn wait_for(
    limiter: &Arc<Limiter>,
    served: &Served,
    name: u64,
    key: u64,
    cost: u64,
) -> JoinHandle<()> {
    let (limiter, served) = (limiter.clone(), served.clone());
    let since = Instant::now();
    let task = tokio::spawn(async move {
        limiter.acquire_n(&key, cost).await.unwrap();
        served.lock().unwrap().push((name, since.elapsed()));
    });
    // It has taken its place in the line.
    tokio::task::yield_now().await;
    task
}

#[tokio::test(start_paused = true)]
async fn a_large_cost_at_the_head_is_not_overtaken_by_a_small_one() {
    let limiter = limiter(Limit::per_second(5));
    limiter.acquire_n(&7, 5).await.unwrap();
    let served = Served::default();
    let mut tasks = Vec::new();
    for (name, cost) in [(0, 4), (1, 1), (2, 5), (3, 1)] {
        tasks.push(wait_for(&limiter, &served, name, 7, cost).await);
    }
    for task in tasks {
        task.await.unwrap();
    }
    let at = |fifths: u32| 200 * MILLISECOND * fifths;
    let expected = [(0, at(4)), (1, at(5)), (2, at(10)), (3, at(11))];
    assert_eq!(*served.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn lines_of_other_keys_are_not_concerned() {
    let limiter = limiter(Limit::per_second(5));
    for key in [7, 8] {
        limiter.acquire_n(&key, 5).await.unwrap();
    }
    let served = Served::default();
    let tasks = [
        wait_for(&limiter, &served, 0, 7, 5).await,
        wait_for(&limiter, &served, 1, 8, 1).await,
        wait_for(&limiter, &served, 2, 9, 1).await,
    ];
    assert!(limiter.try_acquire(&10).is_allowed());
    for task in tasks {
        task.await.unwrap();
    }
    let expected = [(2, 0), (1, 200), (0, 1000)].map(|(name, ms)| (name, MILLISECOND * ms));
    assert_eq!(*served.lock().unwrap(), expected);
}

/// All the ways to ask without waiting.
fn asked(limiter: &Limiter, key: u64) -> Vec<Decision> {
    let mut each = [limiter.peek(&key); 1];
    let gate = limiter.ask(&key);
    vec![
        limiter.peek(&key),
        limiter.peek_each(&key, 1, &mut each).0,
        limiter.try_acquire(&key),
        limiter.try_acquire_with(&key, |key| *key),
        limiter.try_acquire_each(&key, 1, &mut each).0,
        limiter.pin().try_acquire(&key),
        try_acquire_all(&[&gate]),
    ]
}

#[tokio::test(start_paused = true)]
async fn no_request_overtakes_those_who_wait() {
    let limiter = limiter(Limit::per_second(5));
    limiter.acquire_n(&7, 3).await.unwrap();
    // There are two, which are less than it waits for.
    let mut waits = Box::pin(limiter.acquire_n(&7, 4));
    assert!(poll_once(&mut waits).await.is_pending());
    for decision in asked(&limiter, 7) {
        assert!(decision.is_denied(), "{decision:?}");
        assert_eq!(decision.spent(), 0);
        assert_eq!(decision.remaining(), 2, "what is left is told all the same");
        // All five, for the four that are waited for and the one.
        assert_eq!(decision.retry_after(), Some(600 * MILLISECOND));
    }
    assert!(limiter.try_acquire_n(&7, 6).is_never());
    assert_eq!(limiter.peek_n(&7, 6).retry_after(), None);
    assert_eq!(waits.await.unwrap().remaining(), 0);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(asked(&limiter, 7).iter().all(Decision::is_allowed));
}

/// Behind more than the limit can hold at once, the wait is that of the line.
#[tokio::test(start_paused = true)]
async fn the_wait_behind_a_long_line_is_a_long_one() {
    let limiter = limiter(Limit::per_second(5));
    let _ = limiter.acquire_n(&7, 5).await.unwrap();
    let mut line = Vec::new();
    for _ in 0..20 {
        let mut waits = Box::pin(limiter.acquire_n(&7, 5));
        assert!(poll_once(&mut waits).await.is_pending());
        line.push(waits);
    }
    // A hundred permits, and its own.
    let behind = limiter.try_acquire(&7);
    assert_eq!(behind.retry_after(), Some(101 * 200 * MILLISECOND));
    assert_eq!(limiter.peek(&7).retry_after(), behind.retry_after());
}

/// A request that is told to wait is never told to wait for nothing.
#[tokio::test(start_paused = true)]
async fn permits_that_are_about_to_be_taken_are_not_taken_by_others() {
    let limiter = limiter(Limit::per_second(5));
    limiter.acquire_n(&7, 5).await.unwrap();
    let mut waits = Box::pin(limiter.acquire(&7));
    assert!(poll_once(&mut waits).await.is_pending());
    // They are there now, and whoever waits for one has not run yet.
    tokio::time::advance(Duration::from_secs(1)).await;
    let behind = limiter.try_acquire(&7);
    assert!(behind.is_denied() && behind.retry_after() >= Some(Duration::from_nanos(1)));
    assert!(waits.await.is_ok());
    assert!(limiter.try_acquire(&7).is_allowed());
}

#[tokio::test(start_paused = true)]
async fn requests_overtake_if_they_are_told_to_but_not_those_who_wait() {
    let policy = WaitPolicy::new().overtaking(true);
    let limiter = with_policy(Limit::per_second(5), policy);
    limiter.acquire_n(&7, 3).await.unwrap();
    let mut waits = Box::pin(limiter.acquire_n(&7, 4));
    assert!(poll_once(&mut waits).await.is_pending());
    let mut second = Box::pin(limiter.acquire(&7));
    assert!(
        poll_once(&mut second).await.is_pending(),
        "it would wait, and so waits its turn"
    );
    assert_eq!(limiter.try_acquire(&7).remaining(), 1);
    assert_eq!(limiter.peek(&7).verdict(), tollgate::Verdict::Allowed);
    assert!(waits.await.is_ok());
    assert!(second.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn every_algorithm_can_be_waited_for() {
    async fn check<A: Algorithm>(algorithm: A, at_least: u32) {
        let limiter = RateLimiter::<u64>::builder(Limit::per_second(5))
            .algorithm(algorithm)
            .ticker(TokioTicker::new())
            .build()
            .expect("a limit that can be kept");
        let since = Instant::now();
        let mut allowed = 0_u32;
        while since.elapsed() < Duration::from_secs(20) {
            limiter.acquire(&7).await.unwrap();
            allowed += 1;
        }
        // The burst, and five a second.
        assert!((at_least..=105).contains(&allowed), "{allowed}");
        assert_eq!(limiter.waiters(), 0);
    }
    for algorithm in [
        AnyAlgorithm::TokenBucket,
        AnyAlgorithm::FixedWindow,
        AnyAlgorithm::SlidingLog,
        AnyAlgorithm::SlidingCounter,
        AnyAlgorithm::AllOf,
    ] {
        // A counter estimates, and at exactly the rate it estimates too much.
        let at_least = match algorithm {
            AnyAlgorithm::SlidingCounter => 80,
            _ => 100,
        };
        check(algorithm, at_least).await;
    }
    check(AllOf, 100).await;
}
