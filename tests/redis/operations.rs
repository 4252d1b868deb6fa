//! What a limiter does beside deciding, and what it keeps in the store.

use super::server::Server;
use super::{KEY, builder, limiter};
use std::time::Duration;
use tollgate::redis::{Basis, OnFailure, RedisLimiter, Store};
use tollgate::{AnyAlgorithm, Limit};

fn with_pre_check(server: &Server, limit: Limit) -> RedisLimiter {
    let store = Store::open(&server.url())
        .expect("an address")
        .with_slow(Duration::from_secs(5));
    RedisLimiter::builder(&store, "test", limit)
        .budget(Duration::from_secs(5))
        .on_failure(OnFailure::Report)
        .build()
        .expect("a limiter")
}

#[tokio::test]
async fn two_limiters_of_one_name_share_their_counts_and_two_of_two_names_do_not() {
    let server = Server::start();
    let (one, two) = (
        limiter(&server, Limit::per_hour(3)),
        limiter(&server, Limit::per_hour(3)),
    );
    for (limiter, left) in [(&one, 2), (&two, 1), (&one, 0)] {
        let answer = limiter.try_acquire(KEY).await.expect("an answer");
        assert_eq!(
            (answer.remaining(), answer.basis()),
            (Some(left), Basis::Store)
        );
    }
    let answer = two.try_acquire(KEY).await.expect("an answer");
    assert!(
        answer
            .retry_after()
            .is_some_and(|wait| wait > Duration::from_secs(1_100))
    );
    let other = RedisLimiter::builder(one.store(), "other", Limit::per_hour(3));
    let other = other
        .on_failure(OnFailure::Report)
        .build()
        .expect("a limiter");
    assert_eq!(
        other.try_acquire(KEY).await.expect("an answer").remaining(),
        Some(2)
    );
}

#[tokio::test]
async fn the_time_is_the_store_s() {
    let server = Server::start();
    let limiter = limiter(&server, Limit::per_day(5));
    let time = || {
        let (seconds, microseconds): (u64, u64) = server.ask(&["TIME"]).expect("the time");
        1_000_000 * seconds + microseconds
    };
    let before = time();
    limiter.try_acquire(KEY).await.expect("an answer");
    let after = time();
    let key = String::from_utf8(server.keys("tollgate")[0].0.clone()).expect("a text");
    let state: String = server.ask(&["GET", &key]).expect("a state");
    let (written, _) = state.split_once(' ').expect("a time and a debt");
    let written: u64 = written.parse().expect("a time");
    assert!(
        (before..=after).contains(&written),
        "{before} {state} {after}"
    );
}

#[tokio::test]
async fn a_denial_writes_nothing_and_an_admission_writes_with_a_time_to_live() {
    let server = Server::start();
    for algorithm in AnyAlgorithm::ALL {
        let store = Store::open(&server.url()).expect("an address");
        let limiter = RedisLimiter::builder(&store, algorithm.name(), Limit::per_day(2))
            .algorithm(algorithm)
            .pre_check(0)
            .budget(Duration::from_secs(5))
            .on_failure(OnFailure::Report)
            .build()
            .expect("a limiter");
        for _ in 0..2 {
            assert!(
                limiter
                    .try_acquire(KEY)
                    .await
                    .expect("an answer")
                    .is_allowed(),
                "{algorithm}"
            );
        }
        let dirty = || {
            let info: String = server.ask(&["INFO", "persistence"]).expect("information");
            let line = info
                .lines()
                .find(|line| line.starts_with("rdb_changes_since_last_save"));
            line.expect("a count").to_owned()
        };
        let (before, keys) = (dirty(), server.keys("tollgate"));
        for _ in 0..5 {
            assert!(
                limiter
                    .try_acquire(KEY)
                    .await
                    .expect("an answer")
                    .is_denied(),
                "{algorithm}"
            );
            limiter.peek(KEY).await.expect("an answer");
        }
        assert_eq!(dirty(), before, "{algorithm}");
        let reset = limiter
            .peek(KEY)
            .await
            .expect("an answer")
            .reset_after()
            .expect("known");
        for (key, left) in &keys {
            let left = Duration::from_millis(left.unsigned_abs());
            let key = String::from_utf8_lossy(key);
            assert!(
                left >= reset,
                "{key} goes after {left:?}, and matters for {reset:?}"
            );
            assert!(
                left <= reset + Duration::from_secs(2),
                "{key} stays for {left:?} of {reset:?}"
            );
        }
        limiter.reset(KEY).await.expect("a reset");
        assert_eq!(server.keys("tollgate").len(), 0, "{algorithm}");
    }
}

#[tokio::test]
async fn what_was_denied_is_denied_here_until_something_changes() {
    let server = Server::start();
    let limiter = with_pre_check(&server, Limit::per_hour(4));
    let answer = limiter.try_acquire_n(KEY, 3).await.expect("an answer");
    assert!(answer.is_allowed());
    let asked = |basis, cost| {
        let limiter = &limiter;
        async move {
            let answer = limiter.try_acquire_n(KEY, cost).await.expect("an answer");
            assert_eq!((answer.basis(), answer.is_denied()), (basis, true));
            answer
        }
    };
    asked(Basis::Store, 2).await;
    let here = asked(Basis::PreCheck, 2).await;
    assert_eq!(here.remaining(), None, "what is not known is absent");
    assert!(
        here.retry_after()
            .is_some_and(|wait| wait > Duration::from_secs(800))
    );
    asked(Basis::PreCheck, 3).await;
    // Less was never denied.
    let one = limiter.try_acquire(KEY).await.expect("an answer");
    assert_eq!((one.basis(), one.is_allowed()), (Basis::Store, true));
    let calls = limiter.store().counts().calls;
    asked(Basis::PreCheck, 2).await;
    assert_eq!(limiter.store().counts().calls, calls);
    assert_eq!(limiter.counts().pre_checked, 3);

    limiter.refund(KEY, &one).await.expect("a refund");
    asked(Basis::Store, 2).await;
    limiter.refund(KEY, &answer).await.expect("a refund");
    assert!(
        limiter
            .try_acquire_n(KEY, 4)
            .await
            .expect("an answer")
            .is_allowed()
    );
    asked(Basis::Store, 4).await;
    asked(Basis::PreCheck, 4).await;
    limiter.refresh(Limit::per_hour(9)).expect("a limit");
    assert!(
        limiter
            .try_acquire_n(KEY, 5)
            .await
            .expect("an answer")
            .is_allowed()
    );
    asked(Basis::Store, 1).await;
    limiter.reset(KEY).await.expect("a reset");
    assert_eq!(
        limiter
            .try_acquire(KEY)
            .await
            .expect("an answer")
            .remaining(),
        Some(8)
    );
}

#[tokio::test]
async fn a_pre_check_ends_when_the_store_said() {
    let server = Server::start();
    let limiter = with_pre_check(
        &server,
        Limit::new(1, Duration::from_millis(100)).expect("a limit"),
    );
    assert!(
        limiter
            .try_acquire(KEY)
            .await
            .expect("an answer")
            .is_allowed()
    );
    let denied = limiter.try_acquire(KEY).await.expect("an answer");
    let wait = denied.retry_after().expect("a wait");
    tokio::time::sleep(wait).await;
    assert!(
        limiter
            .try_acquire(KEY)
            .await
            .expect("an answer")
            .is_allowed()
    );
}

#[tokio::test]
async fn more_than_the_limit_holds_is_never_and_asks_nobody() {
    let server = Server::start();
    let limiter = with_pre_check(&server, Limit::per_hour(4));
    let answer = limiter.try_acquire_n(KEY, 5).await.expect("an answer");
    assert!(answer.is_never() && answer.retry_after().is_none());
    assert_eq!(limiter.store().counts().calls, 0);
    // And nothing costs nothing.
    let answer = limiter.try_acquire_n(KEY, 0).await.expect("an answer");
    assert_eq!((answer.is_allowed(), answer.remaining()), (true, Some(4)));
    assert_eq!(server.keys("tollgate").len(), 0);
}

#[tokio::test]
async fn a_charge_goes_into_debt_and_is_seen_by_all() {
    let server = Server::start();
    let (one, two) = (
        limiter(&server, Limit::per_hour(100)),
        limiter(&server, Limit::per_hour(100)),
    );
    let answer = one.charge(KEY, 150).await.expect("an answer");
    assert!(answer.is_allowed());
    assert_eq!(answer.remaining(), Some(0));
    let wait = two
        .try_acquire(KEY)
        .await
        .expect("an answer")
        .retry_after()
        .expect("a wait");
    let permit = Duration::from_secs(36);
    assert!(wait > 50 * permit && wait <= 51 * permit, "{wait:?}");
}

#[tokio::test]
async fn changed_limits_keep_what_was_spent_whichever_server_knows_them_first() {
    let server = Server::start();
    let (old, new) = (
        limiter(&server, Limit::per_hour(10)),
        limiter(&server, Limit::per_hour(10)),
    );
    for _ in 0..7 {
        assert!(old.try_acquire(KEY).await.expect("an answer").is_allowed());
    }
    new.refresh(Limit::per_hour(20)).expect("a limit");
    assert_eq!(
        new.try_acquire(KEY).await.expect("an answer").remaining(),
        Some(12)
    );
    // The other server has not heard of it yet.
    assert_eq!(
        old.try_acquire(KEY).await.expect("an answer").remaining(),
        Some(1)
    );
    assert_eq!(
        new.peek(KEY).await.expect("an answer").remaining(),
        Some(11)
    );
    let error = new.refresh("999983/d burst 999983".parse::<Limit>().expect("a limit"));
    assert!(
        error
            .expect_err("too large")
            .to_string()
            .contains("999983/d")
    );
    assert_eq!(
        new.peek(KEY).await.expect("an answer").remaining(),
        Some(11),
        "the old ones hold"
    );
}

#[tokio::test]
async fn one_connection_serves_many_requests_at_a_time() {
    let server = Server::start();
    let limiter = limiter(&server, Limit::per_day(10_000));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..1_500 {
        let limiter = limiter.clone();
        tasks.spawn(async move {
            limiter
                .try_acquire(KEY)
                .await
                .expect("an answer")
                .is_allowed()
        });
    }
    assert!(tasks.join_all().await.into_iter().all(|allowed| allowed));
    assert_eq!(
        limiter.peek(KEY).await.expect("an answer").remaining(),
        Some(8_500)
    );
    let info: String = server.ask(&["INFO", "stats"]).expect("information");
    let connections = info
        .lines()
        .find_map(|line| line.strip_prefix("total_connections_received:"));
    let connections: u32 = connections
        .expect("a count")
        .trim()
        .parse()
        .expect("a number");
    // Its own, and those of this test.
    assert!(connections < 20, "{connections}");
}

#[tokio::test]
async fn builders_say_what_is_wrong() {
    let store = Store::open("redis://127.0.0.1").expect("an address");
    for name in ["", "a b", "a{b}", "ü", &"n".repeat(65)] {
        let built =
            RedisLimiter::builder(&store, name, Limit::per_hour(1)).on_failure(OnFailure::Open);
        let error = built.build().expect_err("no name").to_string();
        assert!(error.contains("cannot be part of a key"), "{error}");
        assert!(store.clone().with_prefix(name).is_err());
    }
    let split = |parts, cost| {
        let split = builder(&store, Limit::per_hour(10)).split(parts, cost);
        split.on_failure(OnFailure::Open).build().map(drop)
    };
    assert!(split(3, 3).is_ok());
    let error = split(3, 4).expect_err("4 of 3").to_string();
    assert!(
        error.contains("4 never fits") && error.contains("holds 3"),
        "{error}"
    );
    assert!(
        split(11, 1)
            .expect_err("11 parts of 10")
            .to_string()
            .contains("11 parts")
    );
    assert!(split(0, 1).is_err());
    let local = builder(&store, Limit::per_hour(10)).on_failure(OnFailure::Local { servers: 11 });
    assert!(local.build().is_err());
}
