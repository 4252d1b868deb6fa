//! A key that is waited for keeps its state.

use std::sync::Arc;
use std::time::Duration;

use tollgate::{Limit, ManualTicker, RateLimiter, TokenBucket};

use crate::poll_once;

type ByHand = RateLimiter<u64, TokenBucket, ManualTicker>;

/// Its ticker and tokio's clock are apart: whoever waits does not come when the permits do.
fn by_hand(keys: usize) -> (Arc<ByHand>, ManualTicker) {
    let ticker = ManualTicker::new(0);
    let limiter = RateLimiter::builder(Limit::per_second(5))
        .ticker(ticker.clone())
        .max_keys(keys)
        .build()
        .expect("a limit that can be kept");
    (Arc::new(limiter), ticker)
}

#[tokio::test(start_paused = true)]
async fn it_is_not_forgotten_though_it_is_idle() {
    let (limiter, ticker) = by_hand(100);
    let _ = limiter.try_acquire_n(&7, 5);
    let _ = limiter.try_acquire_n(&8, 5);
    let mut waits = Box::pin(limiter.acquire(&7));
    assert!(poll_once(&mut waits).await.is_pending());
    ticker.advance(Duration::from_secs(60));
    assert_eq!(limiter.evict_idle(), 1, "the other one");
    assert_eq!(limiter.evict_idle_step(100), 0);
    assert_eq!(limiter.tracked_keys(), 1);
    drop(waits);
    assert_eq!(limiter.evict_idle(), 1);
}

#[tokio::test(start_paused = true)]
async fn new_keys_do_not_take_its_place() {
    let (limiter, ticker) = by_hand(4);
    for key in 0..4 {
        let _ = limiter.try_acquire_n(&key, 5);
    }
    let mut waits = Box::pin(limiter.acquire(&2));
    assert!(poll_once(&mut waits).await.is_pending());
    ticker.advance(Duration::from_secs(60));
    // All are idle, and there are more who want their places than places.
    let mut begun = 0;
    for key in 100..140 {
        let seen = limiter.peek_n(&key, 5);
        let decision = limiter.try_acquire_n(&key, 5);
        assert_eq!(seen.is_untracked(), decision.is_untracked());
        begun += u32::from(!decision.is_untracked());
    }
    assert_eq!(begun, 3);
    // It has slept for 200 ms by its own clock, and asks: its place is still there.
    let decision = waits.await.unwrap();
    assert!(decision.is_allowed() && !decision.is_untracked());
    assert_eq!(decision.remaining(), 4);
}
