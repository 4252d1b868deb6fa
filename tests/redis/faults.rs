//! Everything that can happen between a request and a store's answer, made to happen.

use super::proxy::{Proxy, Weather};
use super::server::{Server, free_port, wait_until};
use super::{KEY, builder, limiter};
use std::time::{Duration, Instant};
use tollgate::Limit;
use tollgate::redis::{Basis, OnFailure, RedisLimiter, Store, StoreError};

/// What one decision may take here; and twice that, for a busy machine.
const BUDGET: Duration = Duration::from_millis(150);
const AT_MOST: Duration = Duration::from_millis(450);

fn reporting(url: &str, limit: Limit) -> RedisLimiter {
    let store = Store::open(url).expect("an address");
    let limiter = builder(&store, limit)
        .budget(BUDGET)
        .on_failure(OnFailure::Report);
    limiter.build().expect("a limiter")
}

/// Asks, and sees that the answer does not take longer than it may.
async fn ask(limiter: &RedisLimiter) -> Result<bool, StoreError> {
    let began = Instant::now();
    let answer = limiter.try_acquire(KEY).await;
    assert!(
        began.elapsed() < AT_MOST,
        "{:?}: {answer:?}",
        began.elapsed()
    );
    answer.map(|answer| answer.is_allowed())
}

/// Asks until the store decides again: the breaker may be open.
async fn ask_until_decided(limiter: &RedisLimiter) -> bool {
    let began = Instant::now();
    loop {
        match ask(limiter).await {
            Ok(allowed) => return allowed,
            Err(error) => assert!(began.elapsed() < Duration::from_secs(20), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_server_that_was_killed_and_started_again_decides_again() {
    let mut server = Server::start();
    let limiter = reporting(&server.url(), Limit::per_hour(3));
    assert_eq!(ask(&limiter).await, Ok(true));
    server.kill();
    let mut failed = 0;
    for _ in 0..20 {
        let error = ask(&limiter).await.expect_err("nobody is there");
        let known = matches!(
            error,
            StoreError::Lost { .. } | StoreError::Unreachable { .. } | StoreError::NotAsked { .. }
        );
        assert!(known, "{error:?}");
        failed += u32::from(!matches!(error, StoreError::NotAsked { .. }));
    }
    assert!(
        (1..=6).contains(&failed),
        "{failed} requests paid for the outage"
    );
    assert_eq!(limiter.store().counts().breaker_opened, 1);
    server.restart();
    // It is empty, and knows no script.
    assert!(ask_until_decided(&limiter).await);
    assert_eq!(
        (ask(&limiter).await, ask(&limiter).await),
        (Ok(true), Ok(true))
    );
    assert_eq!(ask(&limiter).await, Ok(false));
}

#[tokio::test]
async fn a_server_that_does_not_answer_costs_no_more_than_the_budget() {
    let server = Server::start();
    let limiter = reporting(&server.url(), Limit::per_hour(100));
    assert_eq!(ask(&limiter).await, Ok(true));
    server.freeze();
    let error = ask(&limiter).await.expect_err("it is frozen");
    assert!(
        matches!(
            error,
            StoreError::TimedOut {
                maybe_applied: true,
                budget: BUDGET
            }
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains("150ms"), "{error}");
    while !limiter.store().counts().breaker_open {
        ask(&limiter).await.expect_err("it is frozen");
    }
    // Nobody waits any more.
    let began = Instant::now();
    for _ in 0..1_000 {
        let error = limiter.try_acquire(KEY).await.expect_err("it is not asked");
        assert!(matches!(error, StoreError::NotAsked { .. }), "{error:?}");
    }
    assert!(began.elapsed() < BUDGET, "{:?}", began.elapsed());
    server.thaw();
    assert!(ask_until_decided(&limiter).await);
}

#[tokio::test]
async fn packets_that_are_dropped_cost_no_more_than_the_budget() {
    let server = Server::start();
    let proxy = Proxy::to(server.port());
    let limiter = reporting(&proxy.url(), Limit::per_hour(100));
    assert_eq!(ask(&limiter).await, Ok(true));
    proxy.drop_packets();
    let error = ask(&limiter).await.expect_err("nothing arrives");
    assert!(
        matches!(
            error,
            StoreError::TimedOut {
                maybe_applied: true,
                ..
            }
        ),
        "{error:?}"
    );
    // Who connects anew is not refused either.
    let other = reporting(&proxy.url(), Limit::per_hour(100));
    let error = ask(&other).await.expect_err("nothing arrives");
    assert!(
        matches!(
            error,
            StoreError::TimedOut {
                maybe_applied: false,
                ..
            }
        ),
        "{error:?}"
    );
    while !limiter.store().counts().breaker_open {
        ask(&limiter).await.expect_err("nothing arrives");
    }
    proxy.stop_dropping();
    assert!(ask_until_decided(&limiter).await);
}

#[tokio::test]
async fn a_reply_that_is_lost_is_not_asked_for_again() {
    let server = Server::start();
    let proxy = Proxy::to(server.port());
    let limiter = reporting(&proxy.url(), Limit::per_hour(5));
    assert_eq!(ask(&limiter).await, Ok(true));
    let passed = proxy.passed();
    proxy.set(Weather::LoseReply);
    let error = ask(&limiter).await.expect_err("the answer is lost");
    assert!(matches!(error, StoreError::Lost { .. }), "{error:?}");
    assert!(error.may_have_been_applied());
    assert_eq!(proxy.passed(), passed + 1);
    proxy.set(Weather::Fair);
    limiter
        .store()
        .check(AT_MOST)
        .await
        .expect("a new connection");
    proxy.set(Weather::SwallowReply);
    let error = ask(&limiter).await.expect_err("the answer is lost");
    assert!(error.may_have_been_applied(), "{error:?}");
    let counts = limiter.store().counts();
    assert_eq!((counts.retries, counts.ambiguous), (0, 2));
    proxy.set(Weather::Fair);
    proxy.cut();
    // Each was applied once.
    let left = reporting(&server.url(), Limit::per_hour(5));
    let left = left.peek(KEY).await.expect("an answer").remaining();
    assert_eq!(left, Some(2));
}

#[tokio::test]
async fn connections_that_are_cut_or_half_closed_are_made_anew() {
    let server = Server::start();
    let proxy = Proxy::to(server.port());
    let limiter = reporting(&proxy.url(), Limit::per_hour(100));
    assert_eq!(ask(&limiter).await, Ok(true));
    for _ in 0..3 {
        proxy.cut();
        assert!(ask_until_decided(&limiter).await);
    }
    proxy.set(Weather::HalfClose);
    ask(&limiter).await.expect_err("nothing is said any more");
    proxy.set(Weather::Fair);
    assert!(ask_until_decided(&limiter).await);
    proxy.set(Weather::Stall);
    let error = ask(&limiter).await.expect_err("it goes nowhere");
    assert!(matches!(error, StoreError::TimedOut { .. }), "{error:?}");
    proxy.set(Weather::Fair);
    proxy.cut();
    assert!(ask_until_decided(&limiter).await);
}

#[tokio::test]
async fn an_answer_that_is_nonsense_is_a_set_up_error_under_every_policy() {
    let server = Server::start();
    let proxy = Proxy::to(server.port());
    let store = Store::open(&proxy.url()).expect("an address");
    let open = builder(&store, Limit::per_hour(100))
        .on_failure(OnFailure::Open)
        .build();
    let open = open.expect("a limiter");
    assert!(open.try_acquire(KEY).await.expect("an answer").is_allowed());
    proxy.set(Weather::Nonsense);
    let error = open.try_acquire(KEY).await.expect_err("nonsense");
    assert!(error.is_set_up(), "{error:?}");
    assert!(error.to_string().contains("should not"), "{error}");
}

#[tokio::test]
async fn where_nobody_listens_every_policy_does_what_it_says() {
    let url = format!("redis://127.0.0.1:{}", free_port());
    let store = Store::open(&url).expect("an address");
    let with = |policy| {
        builder(&store, Limit::per_hour(8))
            .on_failure(policy)
            .build()
            .expect("a limiter")
    };

    let answer = with(OnFailure::Open)
        .try_acquire(KEY)
        .await
        .expect("let through");
    assert!(answer.is_allowed());
    assert_eq!((answer.basis(), answer.remaining()), (Basis::Assumed, None));
    let why = answer.failure().expect("a failure").to_string();
    assert!(why.contains("cannot be reached"), "{why}");

    let retry_after = Duration::from_secs(7);
    let answer = with(OnFailure::Closed { retry_after })
        .try_acquire(KEY)
        .await
        .expect("refused");
    assert_eq!(answer.retry_after(), Some(retry_after));
    assert_eq!((answer.basis(), answer.remaining()), (Basis::Assumed, None));

    let local = with(OnFailure::Local { servers: 4 });
    for left in [1, 0] {
        let answer = local.try_acquire(KEY).await.expect("an answer");
        assert!(answer.is_allowed());
        assert_eq!(
            (answer.basis(), answer.remaining()),
            (Basis::Fallback, Some(left))
        );
    }
    assert!(local.try_acquire(KEY).await.expect("an answer").is_denied());

    let error = with(OnFailure::Report)
        .try_acquire(KEY)
        .await
        .expect_err("a failure");
    let known = matches!(
        error,
        StoreError::Unreachable { .. } | StoreError::NotAsked { .. }
    );
    assert!(known, "{error:?}");
}

#[tokio::test]
async fn an_outage_hands_out_no_fresh_burst() {
    let mut server = Server::start();
    let store = Store::open(&server.url()).expect("an address");
    let local = OnFailure::Local { servers: 2 };
    let limiter = builder(&store, Limit::per_hour(20))
        .on_failure(local)
        .build()
        .expect("a limiter");
    for _ in 0..14 {
        assert!(
            limiter
                .try_acquire(KEY)
                .await
                .expect("an answer")
                .is_allowed()
        );
    }
    server.kill();
    // 6 are left, and half of them are this server's.
    let mut allowed = 0;
    for _ in 0..10 {
        let answer = limiter.try_acquire(KEY).await.expect("an answer");
        assert_eq!(answer.basis(), Basis::Fallback);
        allowed += u32::from(answer.is_allowed());
    }
    assert_eq!(allowed, 3);
}

#[tokio::test]
async fn a_script_that_was_flushed_is_sent_once() {
    let server = Server::start();
    let limiter = reporting(&server.url(), Limit::per_hour(1_000));
    for round in 1..=3 {
        for _ in 0..10 {
            assert_eq!(ask(&limiter).await, Ok(true));
        }
        assert_eq!(
            limiter.store().counts().scripts_sent,
            round,
            "once, after each flush"
        );
        server.tell(&["SCRIPT", "FLUSH"]);
    }
    // What was spent stays spent.
    let left = limiter.peek(KEY).await.expect("an answer").remaining();
    assert_eq!(left, Some(970));
}

#[tokio::test]
async fn a_store_that_is_full_or_loading_fails_by_the_policy_and_changes_nothing() {
    let server = Server::start();
    let limiter = reporting(&server.url(), Limit::per_hour(1_000));
    assert_eq!(ask(&limiter).await, Ok(true));
    server.tell(&["CONFIG", "SET", "maxmemory", "1"]);
    let error = ask(&limiter).await.expect_err("no room");
    assert!(
        matches!(&error, StoreError::Overloaded { why } if why.contains("OOM")),
        "{error:?}"
    );
    assert!(!error.may_have_been_applied());
    server.tell(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(ask(&limiter).await, Ok(true));
    server.tell(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let error = ask(&limiter).await.expect_err("no replica");
    assert!(
        matches!(&error, StoreError::Moving { why } if why.contains("NOREPLICAS")),
        "{error:?}"
    );
    server.tell(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    assert_eq!(
        limiter.peek(KEY).await.expect("an answer").remaining(),
        Some(998)
    );
}

#[tokio::test]
async fn a_server_that_becomes_a_replica_says_so_and_its_primary_is_found_by_the_name() {
    let (first, second) = (Server::start(), Server::start());
    let limiter = reporting(&first.url(), Limit::per_hour(1_000));
    assert_eq!(ask(&limiter).await, Ok(true));
    first.tell(&["REPLICAOF", "127.0.0.1", &second.port().to_string()]);
    wait_until("it follows", || {
        first
            .ask::<String>(&["INFO", "replication"])
            .is_ok_and(|info| info.contains("link_status:up"))
    });
    let error = ask(&limiter).await.expect_err("it may not write");
    assert!(
        matches!(&error, StoreError::Moving { why } if why.contains("READONLY")),
        "{error:?}"
    );
    assert_eq!(
        limiter.store().counts().retries,
        1,
        "once, on a new connection"
    );
    first.tell(&["REPLICAOF", "NO", "ONE"]);
    assert!(ask_until_decided(&limiter).await);
}

#[tokio::test]
async fn slow_answers_open_the_breaker() {
    let server = Server::start();
    let store = Store::open(&server.url())
        .expect("an address")
        .with_slow(Duration::ZERO);
    let open = builder(&store, Limit::per_hour(1_000))
        .on_failure(OnFailure::Open)
        .build();
    let open = open.expect("a limiter");
    let mut answers = 0;
    while !store.counts().breaker_open {
        assert_eq!(
            open.try_acquire(KEY).await.expect("an answer").basis(),
            Basis::Store
        );
        answers += 1;
        assert!(answers < 100, "all of them are slow");
    }
    let answer = open.try_acquire(KEY).await.expect("let through");
    assert_eq!(answer.basis(), Basis::Assumed);
    let why = answer.failure().expect("a failure").to_string();
    assert!(why.contains("slow"), "{why}");
}

#[tokio::test]
async fn a_runtime_that_ends_leaves_a_store_that_works_in_the_next() {
    let server = Server::start();
    let limiter = reporting(&server.url(), Limit::per_hour(1_000));
    for _ in 0..2 {
        let limiter = limiter.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            assert!(
                runtime
                    .expect("a runtime")
                    .block_on(ask_until_decided(&limiter))
            );
        })
        .join()
        .expect("no panic");
    }
    let other = super::limiter(&server, Limit::per_hour(1_000));
    assert_eq!(
        other.peek(KEY).await.expect("an answer").remaining(),
        Some(998)
    );
}

#[test]
fn the_limiter_that_is_shared_is_send_and_sync() {
    fn check<T: Send + Sync + Clone + 'static>(_: &T) {}
    let store = Store::open("redis://127.0.0.1").expect("an address");
    check(
        &builder(&store, Limit::per_hour(1))
            .on_failure(OnFailure::Open)
            .build()
            .expect("one"),
    );
    let _ = limiter;
}
