//! Limits on a cluster: slots that move, masters that go.

use super::masters::Cluster;
use super::server::{Server, wait_until};
use super::{KEY, builder};
use std::collections::HashSet;
use std::time::{Duration, Instant};
use tollgate::redis::{Basis, OnFailure, RedisLimiter, Store, StoreError, try_acquire_all};
use tollgate::{AnyAlgorithm, Limit};

fn limiter(store: &Store, limit: Limit) -> RedisLimiter {
    builder(store, limit)
        .on_failure(OnFailure::Report)
        .build()
        .expect("a limiter")
}

#[tokio::test]
async fn keys_are_spread_and_each_has_one_count() {
    let cluster = Cluster::start(false);
    let store = cluster.store();
    let limiter = limiter(&store, Limit::per_hour(2));
    for client in 0..60_u32 {
        for allowed in [true, true, false] {
            let answer = limiter.try_acquire(&client).await.expect("an answer");
            assert_eq!(answer.is_allowed(), allowed);
        }
    }
    for server in &cluster.servers {
        let keys = server.keys("tollgate").len();
        assert!((5..45).contains(&keys), "{keys} of 60 on one of three");
    }
}

#[tokio::test]
async fn a_slot_that_moves_takes_its_counts_along() {
    let cluster = Cluster::start(false);
    let store = cluster.store();
    let limiter = limiter(&store, Limit::per_hour(10));
    let ask = async || {
        limiter
            .try_acquire(KEY)
            .await
            .expect("an answer")
            .remaining()
    };
    assert_eq!(ask().await, Some(9));
    let (from, slot) = cluster.home();
    let (from, to) = (&cluster.servers[from], &cluster.servers[(from + 1) % 3]);
    let id = |server: &Server| server.ask::<String>(&["CLUSTER", "MYID"]).expect("an id");
    let slot = slot.to_string();
    to.tell(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(from)]);
    from.tell(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(to)]);
    // The key has not moved yet.
    assert_eq!(ask().await, Some(8));
    let key = String::from_utf8(from.keys("tollgate").remove(0).0).expect("a text");
    from.tell(&[
        "MIGRATE",
        "127.0.0.1",
        &to.port().to_string(),
        &key,
        "0",
        "5000",
    ]);
    // It has, and the slot is still the old server's: ASK.
    assert_eq!(ask().await, Some(7));
    assert_eq!(ask().await, Some(6));
    assert_eq!(
        limiter.peek(KEY).await.expect("an answer").remaining(),
        Some(6)
    );
    for server in [to, from] {
        server.tell(&["CLUSTER", "SETSLOT", &slot, "NODE", &id(to)]);
    }
    // MOVED.
    for left in [5, 4, 3] {
        assert_eq!(ask().await, Some(left));
    }
    let counts = store.counts();
    assert!(counts.retries >= 3, "{counts:?}");
    assert_eq!(counts.ambiguous, 0);
}

#[tokio::test]
async fn a_replica_that_is_promoted_goes_on_with_the_counts() {
    let cluster = Cluster::start(true);
    let store = cluster.store();
    let limiter = limiter(&store, Limit::per_hour(1_000));
    for _ in 0..10 {
        assert!(
            limiter
                .try_acquire(KEY)
                .await
                .expect("an answer")
                .is_allowed()
        );
    }
    let (home, _) = cluster.home();
    let replica = &cluster.servers[home + 3];
    wait_until("it has the key", || !replica.keys("tollgate").is_empty());
    // By hand: the old master becomes a replica, and says MOVED or READONLY.
    wait_until("it takes over", || {
        let _ = replica.ask::<redis::Value>(&["CLUSTER", "FAILOVER"]);
        let role: String = replica.ask(&["INFO", "replication"]).unwrap_or_default();
        role.contains("role:master")
    });
    let began = Instant::now();
    let mut allowed = 0;
    while allowed < 10 {
        match limiter.try_acquire(KEY).await {
            Ok(answer) => {
                assert!(answer.is_allowed());
                allowed += 1;
            }
            Err(error) => assert!(began.elapsed() < Duration::from_secs(20), "{error}"),
        }
    }
    let left = limiter.peek(KEY).await.expect("an answer").remaining();
    assert_eq!(
        left,
        Some(980),
        "nothing was lost, and nothing counted twice"
    );
}

#[tokio::test]
async fn a_master_that_dies_is_replaced_and_its_neighbours_are_not_bothered() {
    let mut cluster = Cluster::start(true);
    let store = cluster.store();
    let patient = limiter(&store, Limit::per_hour(1_000));
    let limiter = builder(&store, Limit::per_hour(1_000))
        .budget(Duration::from_millis(300))
        .on_failure(OnFailure::Report)
        .build()
        .expect("a limiter");
    assert!(
        patient
            .try_acquire(KEY)
            .await
            .expect("an answer")
            .is_allowed()
    );
    let (home, _) = cluster.home();
    // A client whose keys are elsewhere.
    let mut other = 0_u32;
    loop {
        assert!(
            patient
                .try_acquire(&other)
                .await
                .expect("an answer")
                .is_allowed()
        );
        let elsewhere = cluster.servers[(home + 1) % 3].keys("tollgate");
        if elsewhere
            .iter()
            .any(|(key, _)| key.ends_with(format!(":={other}").as_bytes()))
        {
            break;
        }
        other += 1;
    }
    cluster.servers[home].kill();
    let began = Instant::now();
    loop {
        let asked = Instant::now();
        let answer = limiter.try_acquire(KEY).await;
        assert!(
            asked.elapsed() < Duration::from_millis(900),
            "{:?}",
            asked.elapsed()
        );
        match answer {
            Ok(answer) => {
                assert_eq!(answer.basis(), Basis::Store);
                break;
            }
            Err(error) => {
                assert!(!error.is_set_up(), "{error:?}");
                assert!(began.elapsed() < Duration::from_secs(30), "{error}");
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let answer = limiter.try_acquire(&other).await;
    assert!(answer.is_ok_and(|answer| answer.is_allowed()));
}

#[tokio::test]
async fn limits_of_a_client_are_decided_together_in_one_slot() {
    let cluster = Cluster::start(false);
    let store = cluster.store();
    let named = |name, limit| {
        let limiter = RedisLimiter::builder(&store, name, limit).budget(Duration::from_secs(5));
        limiter.on_failure(OnFailure::Report)
    };
    let route = named("route", Limit::per_hour(3))
        .build()
        .expect("a limiter");
    let total = named("total", Limit::per_hour(5))
        .build()
        .expect("a limiter");
    for client in ["ada", "bob", "c{r}ow", "{", "}{", "{}", ""] {
        let asks = |path| [route.ask(&(client, path), 1), total.ask(client, 1)];
        for left in [2, 1, 0] {
            let answer = try_acquire_all(&asks("/a")).await.expect("an answer");
            assert_eq!(answer.whole.remaining(), Some(left));
        }
        let answer = try_acquire_all(&asks("/a")).await.expect("an answer");
        assert!(answer.whole.is_denied() && answer.each.iter().any(|each| each.is_allowed()));
        for _ in 0..2 {
            assert!(
                try_acquire_all(&asks("/b"))
                    .await
                    .expect("an answer")
                    .whole
                    .is_allowed()
            );
        }
        assert!(
            try_acquire_all(&asks("/b"))
                .await
                .expect("an answer")
                .whole
                .is_denied()
        );
        // A refusal has spent nothing anywhere.
        let left = route
            .peek(&(client, "/b"))
            .await
            .expect("an answer")
            .remaining();
        assert_eq!(left, Some(1), "of {client:?}");
    }
    let mixed = [route.ask(&("ada", "/a"), 1), total.ask("bob", 1)];
    let error = try_acquire_all(&mixed).await.expect_err("two places");
    assert!(matches!(error, StoreError::Request { .. }), "{error:?}");
    let twice = [total.ask("zoe", 1), total.ask("zoe", 1)];
    let error = try_acquire_all(&twice).await.expect_err("the same key");
    assert!(matches!(error, StoreError::Request { .. }), "{error:?}");
}

#[tokio::test]
async fn a_cap_for_all_is_shared_by_slots_and_comes_to_exactly_the_limit() {
    let cluster = Cluster::start(false);
    let store = cluster.store();
    let named = |name, limit| {
        let limiter = RedisLimiter::builder(&store, name, limit).budget(Duration::from_secs(5));
        limiter.on_failure(OnFailure::Report)
    };
    let clients = named("clients", Limit::per_hour(2))
        .gathered(4)
        .build()
        .expect("a limiter");
    let all = named("all", Limit::per_hour(101))
        .pooled(4, 1)
        .build()
        .expect("a limiter");
    let mut allowed = 0;
    let mut refused_by = HashSet::new();
    for client in 0..200_u32 {
        for _ in 0..3 {
            let asks = [clients.ask(&client, 1), all.ask(&client, 1)];
            let answer = try_acquire_all(&asks).await.expect("an answer");
            allowed += u32::from(answer.whole.is_allowed());
            let by = answer.each.iter().position(|each| each.is_denied());
            refused_by.extend(by);
        }
    }
    assert_eq!(allowed, 101);
    assert_eq!(refused_by, HashSet::from([0, 1]));
    // The parts lie in slots of their own.
    let parts = cluster.servers.iter().map(|server| {
        let keys = server.keys("tollgate");
        keys.iter()
            .filter(|(key, _)| key.windows(5).any(|part| part == b":all:"))
            .count()
    });
    assert_eq!(parts.sum::<usize>(), 4);
}

#[tokio::test]
async fn a_split_limit_admits_exactly_itself() {
    let cluster = Cluster::start(false);
    let store = cluster.store();
    for algorithm in [AnyAlgorithm::TokenBucket, AnyAlgorithm::FixedWindow] {
        let limiter = RedisLimiter::builder(&store, "hot", Limit::per_day(203))
            .algorithm(algorithm)
            .split(8, 3)
            .budget(Duration::from_secs(5))
            .on_failure(OnFailure::Report)
            .build()
            .expect("a limiter");
        let mut allowed = 0;
        for _ in 0..1_000 {
            allowed += u64::from(
                limiter
                    .try_acquire(KEY)
                    .await
                    .expect("an answer")
                    .is_allowed(),
            );
            if allowed == 100 {
                let seen = limiter.peek(KEY).await.expect("an answer");
                assert!(seen.is_approximate());
                assert_eq!(seen.remaining(), Some(103));
            }
        }
        assert_eq!(allowed, 203);
        let error = limiter
            .try_acquire_n(KEY, 26)
            .await
            .expect_err("more than a part holds");
        assert!(
            matches!(error, StoreError::CostAbovePart { cost: 26, most: 25 }),
            "{error:?}"
        );
        limiter.reset(KEY).await.expect("a reset");
        assert_eq!(
            limiter.peek(KEY).await.expect("an answer").remaining(),
            Some(203)
        );
    }
    let slots: usize = cluster
        .servers
        .iter()
        .map(|server| server.keys("tollgate").len())
        .sum();
    assert_eq!(slots, 0, "all was reset");
}
