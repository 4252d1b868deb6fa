//! Several limiters in one step, on one server and without it.

use super::server::{Server, free_port};
use std::time::Duration;
use tollgate::Limit;
use tollgate::redis::{Basis, OnFailure, RedisLimiter, Store, StoreError, try_acquire_all};

fn named(store: &Store, name: &str, per_hour: u64, policy: OnFailure) -> RedisLimiter {
    let limiter = RedisLimiter::builder(store, name, Limit::per_hour(per_hour));
    let limiter = limiter.budget(Duration::from_secs(5)).on_failure(policy);
    limiter.build().expect("a limiter")
}

#[tokio::test]
async fn all_are_spent_from_or_none_and_the_longest_wait_is_told() {
    let server = Server::start();
    let store = Store::open(&server.url())
        .expect("an address")
        .with_slow(Duration::from_secs(5));
    let route = named(&store, "route", 2, OnFailure::Report);
    let total = named(&store, "total", 3, OnFailure::Report);
    let asks = |cost| [route.ask(&("ada", "/a"), 1), total.ask("ada", cost)];
    let answer = try_acquire_all(&asks(2)).await.expect("an answer");
    assert!(answer.whole.is_allowed());
    let left: Vec<_> = answer.each.iter().map(|each| each.remaining()).collect();
    assert_eq!(left, [Some(1), Some(1)]);
    assert_eq!(store.counts().calls, 1, "one round trip");

    let denied = try_acquire_all(&asks(2)).await.expect("an answer");
    assert_eq!(denied.whole.basis(), Basis::Store);
    assert!(denied.each[0].is_allowed() && denied.each[1].is_denied());
    assert_eq!(denied.whole.retry_after(), denied.each[1].retry_after());
    assert_eq!(
        route
            .peek(&("ada", "/a"))
            .await
            .expect("an answer")
            .remaining(),
        Some(1)
    );
    // Nothing was given that could be given back.
    for (limiter, each) in [(&route, &denied.each[0]), (&total, &denied.each[1])] {
        limiter
            .refund(&("ada", "/a"), each)
            .await
            .expect("nothing to do");
    }
    let calls = store.counts().calls;
    let again = try_acquire_all(&asks(2)).await.expect("an answer");
    assert_eq!(
        (again.whole.basis(), again.each.len()),
        (Basis::PreCheck, 0)
    );
    assert_eq!(store.counts().calls, calls);

    let never = try_acquire_all(&asks(4)).await.expect("an answer");
    assert!(never.whole.is_never());
    // What was given by both goes back to each.
    let answer = try_acquire_all(&asks(1)).await.expect("an answer");
    assert!(answer.whole.is_allowed());
    route
        .refund(&("ada", "/a"), &answer.each[0])
        .await
        .expect("a refund");
    total
        .refund("ada", &answer.each[1])
        .await
        .expect("a refund");
    assert_eq!(
        total.peek("ada").await.expect("an answer").remaining(),
        Some(1)
    );
}

#[tokio::test]
async fn requests_that_cannot_be_one_step_are_errors() {
    let server = Server::start();
    let store = Store::open(&server.url()).expect("an address");
    let one = named(&store, "one", 5, OnFailure::Open);
    let elsewhere = store.clone().with_prefix("other").expect("a prefix");
    let other = named(&elsewhere, "other", 5, OnFailure::Open);
    let split = RedisLimiter::builder(&store, "split", Limit::per_hour(8)).split(4, 1);
    let split = split
        .on_failure(OnFailure::Open)
        .build()
        .expect("a limiter");
    for asks in [
        vec![],
        vec![one.ask("ada", 1), other.ask("ada", 1)],
        vec![one.ask("ada", 1), one.ask("ada", 1)],
        vec![one.ask("ada", 1), one.ask("bob", 1)],
        vec![one.ask("ada", 0)],
        vec![split.ask("ada", 1)],
    ] {
        let error = try_acquire_all(&asks).await.expect_err("it is no one step");
        assert!(
            matches!(error, StoreError::Request { .. }) && error.is_set_up(),
            "{error:?}"
        );
    }
    assert_eq!(store.counts().calls, 0);
}

#[tokio::test]
async fn without_the_store_the_strictest_policy_holds() {
    let store = Store::open(&format!("redis://127.0.0.1:{}", free_port())).expect("an address");
    let closed = |seconds| OnFailure::Closed {
        retry_after: Duration::from_secs(seconds),
    };
    let open = named(&store, "open", 9, OnFailure::Open);
    let short = named(&store, "short", 9, closed(1));
    let long = named(&store, "long", 9, closed(7));
    let report = named(&store, "report", 9, OnFailure::Report);
    let local = named(&store, "local", 4, OnFailure::Local { servers: 2 });
    let tight = named(&store, "tight", 2, OnFailure::Local { servers: 2 });

    let all = try_acquire_all(&[open.ask("ada", 1)])
        .await
        .expect("let through");
    assert_eq!(
        (all.whole.is_allowed(), all.whole.basis()),
        (true, Basis::Assumed)
    );
    let all = try_acquire_all(&[open.ask("ada", 1), long.ask("ada", 1), short.ask("ada", 1)]).await;
    assert_eq!(
        all.expect("refused").whole.retry_after(),
        Some(Duration::from_secs(7))
    );
    let all = try_acquire_all(&[local.ask("ada", 1), report.ask("ada", 1)]).await;
    all.expect_err("it is reported");
    let all = try_acquire_all(&[local.ask("ada", 1), long.ask("ada", 1)])
        .await
        .expect("refused");
    assert!(all.whole.is_denied());
    // Neither of these has cost anything: two are left, one of which the other limiter grants.
    let both = || [open.ask("ada", 1), local.ask("ada", 1), tight.ask("ada", 1)];
    let all = try_acquire_all(&both()).await.expect("allowed");
    assert_eq!(
        (all.whole.is_allowed(), all.whole.basis()),
        (true, Basis::Fallback)
    );
    assert_eq!(all.whole.remaining(), Some(0), "the fewest");
    assert!(
        try_acquire_all(&both())
            .await
            .expect("refused")
            .whole
            .is_denied()
    );
    let left = local.peek("ada").await.expect("an answer");
    assert_eq!((left.basis(), left.remaining()), (Basis::Fallback, Some(1)));
}
