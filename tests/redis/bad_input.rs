//! What callers, operators and other programs get wrong.

use super::server::{Server, free_port};
use super::{KEY, builder, limiter};
use std::time::Duration;
use tollgate::redis::{OnFailure, RedisLimiter, Store, StoreError};
use tollgate::{AnyAlgorithm, Limit};

/// Under the policy that hides most.
async fn asked(store: &Store) -> Result<bool, StoreError> {
    let limiter = builder(store, Limit::per_hour(10))
        .on_failure(OnFailure::Open)
        .build();
    let answer = limiter.expect("a limiter").try_acquire(KEY).await;
    answer.map(|answer| answer.is_allowed())
}

#[tokio::test]
async fn keys_of_any_bytes_are_kept_apart() {
    let server = Server::start();
    let limiter = limiter(&server, Limit::per_hour(1));
    let long = vec![b'x'; 64 * 1024];
    let longer = [&long[..], b"y"].concat();
    let keys: Vec<&[u8]> = vec![
        b"",
        b"{",
        b"}",
        b"{}",
        b"{a}",
        b"a",
        b"\n",
        b"\r\n",
        b"\0",
        b"\xff\xfe",
        b"=a",
        b"#a",
        b"*",
        b" ",
        &long,
        &longer,
    ];
    for key in &keys {
        assert!(
            limiter
                .try_acquire(*key)
                .await
                .expect("an answer")
                .is_allowed(),
            "{key:?}"
        );
    }
    for key in &keys {
        assert!(
            limiter
                .try_acquire(*key)
                .await
                .expect("an answer")
                .is_denied(),
            "{key:?}"
        );
    }
    let stored = server.keys("tollgate");
    assert_eq!(stored.len(), keys.len());
    assert!(stored.iter().all(|(key, _)| key.len() < 150));
}

#[tokio::test]
async fn a_wrong_password_is_reported_under_every_policy() {
    let server = Server::with(&["requirepass secret"]);
    let port = server.port();
    let good = Store::open(&format!("redis://:secret@127.0.0.1:{port}")).expect("an address");
    assert_eq!(asked(&good).await, Ok(true));
    for (url, said) in [
        (format!("redis://127.0.0.1:{port}"), "NOAUTH"),
        (format!("redis://:wrong@127.0.0.1:{port}"), "WRONGPASS"),
        (
            format!("redis://nobody:secret@127.0.0.1:{port}"),
            "WRONGPASS",
        ),
    ] {
        let store = Store::open(&url).expect("an address");
        for _ in 0..10 {
            let error = asked(&store).await.expect_err("it is not let in");
            assert!(matches!(error, StoreError::Forbidden { .. }), "{error:?}");
            assert!(error.is_set_up());
            assert!(
                error.to_string().contains("does not let us in"),
                "{error} for {said}"
            );
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let error = store
            .check(Duration::from_secs(5))
            .await
            .expect_err("it is not let in");
        assert!(error.is_set_up(), "{error:?}");
    }
    good.check(Duration::from_secs(5))
        .await
        .expect("it is well");
}

#[tokio::test]
async fn a_right_that_is_missing_is_reported() {
    let server = Server::start();
    server.tell(&[
        "ACL", "SETUSER", "weak", "on", ">pass", "~*", "+@all", "-evalsha",
    ]);
    let store = Store::open(&format!("redis://weak:pass@127.0.0.1:{}", server.port()));
    let error = asked(&store.expect("an address"))
        .await
        .expect_err("no right");
    assert!(
        matches!(&error, StoreError::Forbidden { why } if why.contains("NOPERM")),
        "{error:?}"
    );
}

/// What the page for operators says.
const RIGHTS: &str =
    "+evalsha +eval +time +get +set +del +exists +pexpire +lindex +llen +rpush +rpop +ltrim";

#[tokio::test]
async fn the_rights_that_operators_are_told_of_are_enough() {
    assert!(include_str!("../../src/redis/mod.rs").contains(RIGHTS));
    let server = Server::start();
    let mut rights = vec!["ACL", "SETUSER", "limiter", "on", ">pass", "~tollgate:*"];
    rights.extend(RIGHTS.split(' '));
    server.tell(&rights);
    for algorithm in AnyAlgorithm::ALL {
        let store = Store::open(&format!("redis://limiter:pass@127.0.0.1:{}", server.port()));
        let store = store.expect("an address");
        store
            .check(Duration::from_secs(5))
            .await
            .expect("it is well");
        let limiter = RedisLimiter::builder(&store, "test", Limit::per_hour(5))
            .algorithm(algorithm)
            .budget(Duration::from_secs(5))
            .on_failure(OnFailure::Report)
            .build()
            .expect("a limiter");
        for _ in 0..3 {
            let answer = limiter.try_acquire(KEY).await.expect("an answer");
            limiter.refund(KEY, &answer).await.expect("a refund");
            limiter.try_acquire_n(KEY, 2).await.expect("an answer");
        }
        limiter.peek(KEY).await.expect("an answer");
        limiter.charge(KEY, 9).await.expect("an answer");
        limiter.reset(KEY).await.expect("a reset");
    }
}

#[tokio::test]
async fn a_value_that_is_not_ours_is_reported_and_left_alone() {
    let server = Server::start();
    for algorithm in AnyAlgorithm::ALL {
        let store = Store::open(&server.url()).expect("an address");
        let limiter = RedisLimiter::builder(&store, "test", Limit::per_hour(5))
            .algorithm(algorithm)
            .budget(Duration::from_secs(5))
            .on_failure(OnFailure::Open)
            .build()
            .expect("a limiter");
        assert!(
            limiter
                .try_acquire(KEY)
                .await
                .expect("an answer")
                .is_allowed()
        );
        let key = String::from_utf8(server.keys("tollgate").remove(0).0).expect("a text");
        for foreign in [
            vec!["SET", &key, "hello", "PX", "60000"],
            vec!["SET", &key, "1e9 nan", "PX", "60000"],
            vec!["SET", &key, "", "PX", "60000"],
            vec!["HSET", &key, "a", "b"],
            vec!["RPUSH", &key, "x y z"],
        ] {
            server.tell(&["DEL", &key]);
            server.tell(&foreign);
            server.tell(&["PEXPIRE", &key, "60000"]);
            let error = limiter.try_acquire(KEY).await.expect_err("it is not ours");
            assert!(error.is_set_up(), "{algorithm}, {foreign:?}: {error:?}");
            let left: i64 = server.ask(&["PTTL", &key]).expect("a time to live");
            assert!(left > 0, "it was left alone");
        }
        limiter.reset(KEY).await.expect("a reset helps");
        assert!(
            limiter
                .try_acquire(KEY)
                .await
                .expect("an answer")
                .is_allowed()
        );
        limiter.reset(KEY).await.expect("a reset");
    }
}

#[tokio::test]
async fn a_server_that_is_no_store_is_an_error_and_no_panic() {
    for greeting in [
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "",
        "\0\0\0",
        "$-5\r\n",
        "*99999999\r\n",
        "+OK\r\n",
    ] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                use tokio::io::AsyncWriteExt as _;
                let _ = stream.write_all(greeting.as_bytes()).await;
                tokio::spawn(async move {
                    let mut bytes = [0; 1_024];
                    while tokio::io::AsyncReadExt::read(&mut stream, &mut bytes)
                        .await
                        .is_ok_and(|n| n > 0)
                    {
                        if stream.write_all(greeting.as_bytes()).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        let store = Store::open(&format!("redis://127.0.0.1:{port}")).expect("an address");
        let report = builder(&store, Limit::per_hour(1)).budget(Duration::from_millis(200));
        let report = report
            .on_failure(OnFailure::Report)
            .build()
            .expect("a limiter");
        let began = std::time::Instant::now();
        let error = report.try_acquire(KEY).await.expect_err("it is no store");
        assert!(
            began.elapsed() < Duration::from_millis(800),
            "{error:?} after {:?}",
            began.elapsed()
        );
    }
}

#[tokio::test]
async fn an_address_that_is_none_is_refused_without_its_password() {
    for url in [
        "",
        "not a url",
        "http://127.0.0.1",
        "redis://",
        "redis://u:hunter2@host:99999",
        "redis://[::1",
    ] {
        let error = match Store::open(url) {
            Ok(store) => panic!("{url:?} is taken: {store:?}"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains("is no address of a store"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
        assert!(
            Store::open_cluster([url]).is_err(),
            "{url:?} is taken for a cluster"
        );
    }
    assert!(Store::open_cluster(Vec::<String>::new()).is_err());
}

#[tokio::test]
async fn a_cluster_that_is_none_or_not_there_is_a_failure_within_the_budget() {
    let server = Server::start();
    for url in [server.url(), format!("redis://127.0.0.1:{}", free_port())] {
        let store = Store::open_cluster([url]).expect("an address");
        let report = builder(&store, Limit::per_hour(1)).budget(Duration::from_millis(300));
        let report = report
            .on_failure(OnFailure::Report)
            .build()
            .expect("a limiter");
        let began = std::time::Instant::now();
        let error = report.try_acquire(KEY).await.expect_err("it is no cluster");
        assert!(began.elapsed() < Duration::from_millis(900), "{error:?}");
        assert!(!error.to_string().is_empty());
    }
}
