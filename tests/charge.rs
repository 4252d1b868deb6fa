//! What is charged after it has happened.

use std::time::Duration;

use tollgate::{
    Algorithm, AllOf, AnyAlgorithm, Limit, ManualTicker, RateLimiter, TieredLimiter, TokenBucket,
    UnkeyedLimiter, WhenFull,
};

const SECOND: Duration = Duration::from_secs(1);

fn limiter(
    algorithm: AnyAlgorithm,
    limit: Limit,
) -> (RateLimiter<u64, AnyAlgorithm, ManualTicker>, ManualTicker) {
    let ticker = ManualTicker::new(0);
    let limiter = RateLimiter::builder(limit)
        .algorithm(algorithm)
        .ticker(ticker.clone())
        .build()
        .expect("a limit that can be kept");
    (limiter, ticker)
}

#[test]
fn a_bucket_owes_one_burst_at_most() {
    for algorithm in [AnyAlgorithm::TokenBucket, AnyAlgorithm::AllOf] {
        for cost in [20, 21, 1_000, u64::MAX] {
            let (limiter, ticker) = limiter(algorithm, Limit::per_second(10));
            let standing = limiter.charge(&7, cost);
            assert_eq!(standing.remaining(), 0);
            assert_eq!(standing.reset_after(), 2 * SECOND, "{cost}");
            // Of the next permit only what lies beyond the debt is waited for.
            let denied = limiter.try_acquire(&7);
            assert_eq!(denied.retry_after(), Some(SECOND + SECOND / 10));
            ticker.advance(SECOND + SECOND / 10 - Duration::from_nanos(1));
            assert!(limiter.try_acquire(&7).is_denied());
            ticker.advance(Duration::from_nanos(1));
            assert!(limiter.try_acquire(&7).is_allowed());
        }
    }
}

#[test]
fn what_is_there_is_charged_first() {
    for algorithm in [AnyAlgorithm::TokenBucket, AnyAlgorithm::AllOf] {
        let (limiter, _) = limiter(algorithm, Limit::per_second(10));
        assert_eq!(limiter.charge(&7, 4).remaining(), 6);
        assert_eq!(limiter.charge(&7, 6).remaining(), 0);
        assert_eq!(limiter.charge(&7, 3).reset_after(), SECOND * 13 / 10);
        assert_eq!(limiter.charge(&7, 7).reset_after(), 2 * SECOND);
        assert_eq!(
            limiter.charge(&7, 1).reset_after(),
            2 * SECOND,
            "no more is held"
        );
    }
}

#[test]
fn what_forgets_charges_what_is_left() {
    for algorithm in [
        AnyAlgorithm::FixedWindow,
        AnyAlgorithm::SlidingLog,
        AnyAlgorithm::SlidingCounter,
    ] {
        let (limiter, ticker) = limiter(algorithm, Limit::per_second(10));
        assert_eq!(limiter.charge(&7, 4).remaining(), 6);
        assert_eq!(limiter.charge(&7, 100).remaining(), 0);
        assert!(limiter.try_acquire(&7).is_denied());
        ticker.advance(2 * SECOND);
        assert_eq!(limiter.peek(&7).remaining(), 10, "{algorithm}");
    }
}

#[test]
fn each_of_several_limits_owes_one_burst_of_its_own() {
    let limiter = RateLimiter::<u64>::builder([Limit::per_second(5), Limit::per_minute(60)])
        .algorithm(AllOf)
        .ticker(ManualTicker::new(0))
        .build()
        .expect("limits");
    limiter.charge(&7, 30);
    let mut each = [limiter.peek(&7); 2];
    let (whole, _) = limiter.peek_each(&7, 1, &mut each);
    assert_eq!(
        each[0].reset_after(),
        2 * SECOND,
        "10 of the 30 are all that it holds"
    );
    assert_eq!(each[1].remaining(), 30);
    assert_eq!(
        (whole.limit(), whole.retry_after()),
        (0, Some(SECOND * 6 / 5))
    );
}

#[test]
fn a_charge_begins_a_key_unless_it_is_for_nothing() {
    let (limiter, ticker) = limiter(AnyAlgorithm::TokenBucket, Limit::per_second(10));
    let standing = limiter.charge(&7, 0);
    assert!(standing.is_allowed());
    assert_eq!((standing.remaining(), limiter.tracked_keys()), (10, 0));
    limiter.charge(&7, 15);
    assert_eq!(limiter.tracked_keys(), 1);
    // In debt it is not idle.
    ticker.advance(SECOND + SECOND / 2 - Duration::from_nanos(1));
    assert_eq!(limiter.evict_idle(), 0);
    ticker.advance(Duration::from_nanos(1));
    assert_eq!(limiter.evict_idle(), 1);
}

#[test]
fn a_charge_spent_nothing_that_can_be_refunded() {
    let (limiter, _) = limiter(AnyAlgorithm::TokenBucket, Limit::per_second(10));
    let charged = limiter.charge(&7, 4);
    assert_eq!(charged.spent(), 0);
    limiter.refund(&7, charged);
    assert_eq!(limiter.peek(&7).remaining(), 6);
}

#[test]
fn a_debt_outlives_a_change_of_plan() {
    let ticker = ManualTicker::new(0);
    let (slow, fast) = (
        TokenBucket.plan(Limit::per_second(10)).expect("a plan"),
        TokenBucket.plan(Limit::per_second(100)).expect("a plan"),
    );
    let upgraded = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let plan = upgraded.clone();
    let limiter: TieredLimiter<u64, TokenBucket, ManualTicker> =
        RateLimiter::by_plan(move |_: &u64| {
            if plan.load(std::sync::atomic::Ordering::Relaxed) {
                fast.clone()
            } else {
                slow.clone()
            }
        })
        .ticker(ticker.clone())
        .build()
        .expect("a limiter");
    limiter.charge(&7, 20);
    upgraded.store(true, std::sync::atomic::Ordering::Relaxed);
    limiter.refresh(&7);
    // For the debt it waits as before; the 10 permits beyond are owed in the new bucket of 100.
    assert!(limiter.try_acquire(&7).is_denied());
    ticker.advance(SECOND);
    assert_eq!(limiter.peek(&7).remaining(), 90);
}

#[test]
fn a_key_without_a_place_charges_what_strangers_share() {
    for (when_full, left) in [
        (WhenFull::Deny, 0),
        (
            WhenFull::Share(TokenBucket.plan(Limit::per_hour(100)).expect("a plan")),
            60,
        ),
    ] {
        let limiter = RateLimiter::<u64>::builder(Limit::per_hour(10))
            .ticker(ManualTicker::new(0))
            .max_keys(1)
            .when_full(when_full)
            .build()
            .expect("a limiter");
        let _ = limiter.try_acquire(&1);
        let charged = limiter.charge(&2, 40);
        assert!(charged.is_untracked());
        assert_eq!(charged.remaining(), left);
        assert_eq!(
            limiter.peek(&1).remaining(),
            9,
            "who has a place is not concerned"
        );
    }
}

#[test]
fn a_limiter_without_keys_can_be_in_debt() {
    let ticker = ManualTicker::new(0);
    let plan = TokenBucket.plan(Limit::per_second(10)).expect("a plan");
    let limiter = UnkeyedLimiter::from_plan(plan, ticker);
    assert_eq!(limiter.charge(0).remaining(), 10);
    assert_eq!(limiter.charge(u64::MAX).reset_after(), 2 * SECOND);
}

/// Threads that charge one key beside each other: nothing is lost, and nothing is charged twice.
#[test]
fn no_charge_is_lost_between_threads() {
    for algorithm in [
        AnyAlgorithm::TokenBucket,
        AnyAlgorithm::SlidingLog,
        AnyAlgorithm::AllOf,
    ] {
        let (limiter, _) = limiter(algorithm, Limit::per_hour(100_000));
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..2_500 {
                        limiter.charge(&7, 3);
                    }
                });
            }
        });
        assert_eq!(limiter.peek(&7).remaining(), 70_000, "{algorithm}");
    }
}
