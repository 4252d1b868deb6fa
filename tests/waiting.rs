//! Waiting for one's turn, in tasks and in threads. Nothing sleeps: tokio's clock is paused, and the
//! limiter's ticker follows it or is moved by hand.
#![cfg(feature = "tokio")]

#[path = "waiting/cancelled.rs"]
mod cancelled;
#[path = "waiting/in_order.rs"]
mod in_order;
#[path = "waiting/kept.rs"]
mod kept;
#[path = "waiting/mixed.rs"]
mod mixed;
#[path = "waiting/woken.rs"]
mod woken;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::Instant;
use tollgate::{AcquireError, Limit, RateLimiter, TokenBucket, TokioTicker, WaitPolicy};

type Limiter = RateLimiter<u64, TokenBucket, TokioTicker>;

const MILLISECOND: Duration = Duration::from_millis(1);

fn limiter(limit: Limit) -> Arc<Limiter> {
    with_policy(limit, WaitPolicy::new())
}

fn with_policy(limit: Limit, policy: WaitPolicy) -> Arc<Limiter> {
    let limiter = RateLimiter::builder(limit)
        .ticker(TokioTicker::new())
        .wait_policy(policy)
        .build();
    Arc::new(limiter.expect("a limit that can be kept"))
}

/// Polls once, as a task that is not woken.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::future::poll_fn(|cx| Poll::Ready(pin!(&mut *future).poll(cx))).await
}

#[tokio::test(start_paused = true)]
async fn what_is_there_is_not_waited_for() {
    let limiter = limiter(Limit::per_second(5));
    let since = Instant::now();
    for left in [4, 3, 2, 1, 0] {
        assert_eq!(limiter.acquire(&7).await.unwrap().remaining(), left);
    }
    assert_eq!(since.elapsed(), Duration::ZERO);
    assert_eq!(limiter.waiters(), 0);
}

#[tokio::test(start_paused = true)]
async fn many_tasks_get_as_many_as_the_limit_allows_and_no_fewer() {
    let limiter = limiter(Limit::per_second(5));
    let since = Instant::now();
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let limiter = limiter.clone();
            tokio::spawn(async move {
                limiter.acquire(&7).await.unwrap();
                since.elapsed()
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.push(task.await.unwrap());
    }
    // The burst at once, then one every 200 ms, and in the order in which they came.
    let expected: Vec<_> = (0..50_u32)
        .map(|nth| 200 * MILLISECOND * nth.saturating_sub(4))
        .collect();
    assert_eq!(times, expected);
    assert_eq!(limiter.waiters(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_cost_of_nothing_never_waits() {
    let limiter = limiter(Limit::per_second(1));
    limiter.acquire(&7).await.unwrap();
    let mut waits = Box::pin(limiter.acquire(&7));
    assert!(poll_once(&mut waits).await.is_pending());
    let since = Instant::now();
    assert!(limiter.acquire_n(&7, 0).await.unwrap().is_allowed());
    assert!(limiter.try_acquire_n(&7, 0).is_allowed());
    assert_eq!(since.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn what_can_never_be_had_is_not_waited_for() {
    let limiter = limiter(Limit::per_second(5));
    let never = Err(AcquireError::Never { cost: 6 });
    assert_eq!(limiter.acquire_n(&7, 6).await, never);
    // Nor in a line.
    limiter.acquire_n(&7, 5).await.unwrap();
    let mut waits = Box::pin(limiter.acquire(&7));
    assert!(poll_once(&mut waits).await.is_pending());
    assert_eq!(limiter.acquire_n(&7, 6).await, never);
    assert_eq!(limiter.waiters(), 1);
}

#[tokio::test(start_paused = true)]
async fn whoever_is_next_and_would_wait_too_long_is_told_at_once() {
    let limiter = limiter(Limit::per_second(1));
    limiter.acquire(&7).await.unwrap();
    let since = Instant::now();
    let second = Duration::from_secs(1);
    for timeout in [
        Duration::ZERO,
        MILLISECOND,
        second - Duration::from_nanos(1),
    ] {
        let late = limiter.acquire(&7).within(timeout).await;
        assert_eq!(late, Err(AcquireError::TooLong { wait: second }));
    }
    assert_eq!(since.elapsed(), Duration::ZERO);
    assert!(limiter.acquire(&7).within(second).await.is_ok());
    assert_eq!(since.elapsed(), second);
}

#[tokio::test(start_paused = true)]
async fn whoever_is_not_next_when_the_time_is_up_is_told_then() {
    let limiter = limiter(Limit::per_second(1));
    limiter.acquire(&7).await.unwrap();
    let first = tokio::spawn(limiter.clone().acquire_owned(7, 1));
    tokio::task::yield_now().await;
    let since = Instant::now();
    let timeout = 300 * MILLISECOND;
    let second = limiter.acquire(&7).within(timeout).await;
    assert_eq!(second, Err(AcquireError::TimedOut { timeout }));
    assert_eq!(since.elapsed(), timeout);
    assert!(first.await.unwrap().is_ok());
    assert_eq!(limiter.waiters(), 0);
}

#[tokio::test(start_paused = true)]
async fn any_time_to_wait_is_one() {
    let limiter = limiter(Limit::new(1, Duration::from_secs(400 * 86_400)).unwrap());
    assert!(limiter.acquire(&7).within(Duration::MAX).await.is_ok());
    let mut waits = Box::pin(limiter.acquire(&7).within(Duration::MAX));
    assert!(poll_once(&mut waits).await.is_pending());
    let mut behind = Box::pin(limiter.acquire(&7).within(Duration::MAX));
    assert!(poll_once(&mut behind).await.is_pending());
    let mut now = Box::pin(limiter.acquire(&7).within(Duration::ZERO));
    let timeout = Duration::ZERO;
    assert_eq!(
        poll_once(&mut now).await,
        Poll::Ready(Err(AcquireError::TimedOut { timeout }))
    );
}

#[tokio::test(start_paused = true)]
async fn a_policy_bounds_every_wait() {
    let longest = 150 * MILLISECOND;
    let limiter = with_policy(Limit::per_second(5), WaitPolicy::new().max_wait(longest));
    limiter.acquire_n(&7, 5).await.unwrap();
    let wait = 200 * MILLISECOND;
    for timeout in [None, Some(Duration::MAX), Some(longest)] {
        let acquire = limiter.acquire(&7);
        let acquire = match timeout {
            Some(timeout) => acquire.within(timeout),
            None => acquire,
        };
        assert_eq!(acquire.await, Err(AcquireError::TooLong { wait }));
    }
    assert!(limiter.acquire_timeout(&7, Duration::MAX).is_err());
}

#[tokio::test(start_paused = true)]
async fn no_more_wait_than_may() {
    let policy = WaitPolicy::new().max_waiters(3).max_waiters_for_key(2);
    let limiter = with_policy(Limit::per_second(1), policy);
    for key in [7, 8, 9] {
        limiter.acquire(&key).await.unwrap();
    }
    let mut waiting = Vec::new();
    for key in [7, 7] {
        let mut waits = Box::pin(limiter.acquire(&key));
        assert!(poll_once(&mut waits).await.is_pending());
        waiting.push(waits);
    }
    let for_key = limiter.acquire(&7).await.unwrap_err();
    assert_eq!(
        for_key.to_string(),
        "2 wait already for this key, which is as many as may"
    );
    let mut waits = Box::pin(limiter.acquire(&8));
    assert!(poll_once(&mut waits).await.is_pending());
    let in_all = limiter.acquire(&9).await.unwrap_err();
    assert_eq!(
        in_all.to_string(),
        "3 wait already, which is as many as may"
    );
    assert_eq!(limiter.waiters(), 3);
    drop(waits);
    drop(waiting);
    assert_eq!(limiter.waiters(), 0, "who was turned away left nothing");
    assert!(limiter.acquire(&9).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn jitter_only_makes_it_later() {
    let most = 50 * MILLISECOND;
    let limiter = with_policy(Limit::per_second(5), WaitPolicy::new().jitter(most));
    limiter.acquire_n(&7, 5).await.unwrap();
    let mut late = Vec::new();
    for _ in 0..20 {
        let since = Instant::now();
        limiter.charge(&7, 0);
        let wait = limiter.peek(&7).retry_after().unwrap();
        limiter.acquire(&7).await.unwrap();
        late.push(since.elapsed().checked_sub(wait).expect("not earlier"));
    }
    // The timer counts whole milliseconds.
    assert!(
        late.iter().all(|late| *late <= most + MILLISECOND),
        "{late:?}"
    );
    assert!(late.iter().any(|late| *late > 2 * MILLISECOND), "{late:?}");
}

/// The permits are there before the time is up, and the jitter would be over after it.
#[tokio::test(start_paused = true)]
async fn jitter_does_not_outlast_the_time_that_one_has() {
    let policy = WaitPolicy::new().jitter(Duration::from_secs(3_600));
    let limiter = with_policy(Limit::per_second(5), policy);
    for _ in 0..20 {
        let _ = limiter.charge(&7, 10);
        let wait = limiter.peek(&7).retry_after().unwrap();
        let timeout = wait + 10 * MILLISECOND;
        assert!(limiter.acquire(&7).within(timeout).await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_is_given_in_any_form_of_it() {
    let limiter = RateLimiter::<String>::builder(Limit::per_second(5))
        .ticker(TokioTicker::new())
        .build()
        .expect("a limit");
    assert!(limiter.acquire("ada").await.is_ok());
    assert_eq!(
        limiter
            .acquire_timeout("ada", Duration::ZERO)
            .unwrap()
            .remaining(),
        3
    );
}

#[test]
fn errors_say_what_was_the_matter() {
    let text = |error: AcquireError| error.to_string();
    let (wait, timeout) = (Duration::from_secs(2), Duration::from_millis(5));
    assert_eq!(
        text(AcquireError::TooLong { wait }),
        "the permits are there in 2s at the earliest, which is too long to wait"
    );
    assert_eq!(
        text(AcquireError::TimedOut { timeout }),
        "not its turn after 5ms"
    );
}

#[test]
fn futures_go_to_other_threads() {
    fn sent<T: Send + 'static>(_: T) {}
    sent(limiter_outside(Limit::per_second(5)).acquire_owned(7, 1));
}

fn limiter_outside(limit: Limit) -> Arc<RateLimiter<u64>> {
    Arc::new(RateLimiter::new(limit).expect("a limit that can be kept"))
}
