//! That limits hold, whoever asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tollgate::http::{DeniedBody, Headers};
use tollgate_gateway::{KeyBy, Settings, TrustFlags};

use crate::support::{Connection, gateway, get, limited, metric};

fn one_an_hour() -> Settings {
    Settings {
        limits: vec!["1/h".parse().unwrap()],
        ..Settings::default()
    }
}

#[tokio::test]
async fn two_connections_share_one_count() {
    let gateway = limited("3/h").await;
    let mut first = Connection::open(gateway.listen).await;
    let mut second = Connection::open(gateway.listen).await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(first.get("/").await.status);
        statuses.push(second.get("/").await.status);
    }
    assert_eq!(statuses, [200, 200, 200, 429, 429, 429]);
}

#[tokio::test]
async fn the_denied_are_told_when_to_come_back() {
    let gateway = limited("1/h").await;
    let allowed = get(gateway.listen, "/hello").await;
    assert_eq!((allowed.status, allowed.text()), (200, "GET /hello\n"));
    let denied = get(gateway.listen, "/").await;
    assert_eq!(denied.status, 429);
    assert_eq!(denied.header("retry-after"), Some("3600"));
    assert_eq!(denied.text(), "too many requests: retry in 3600 s\n");
}

#[tokio::test]
async fn headers_and_problems_are_there_if_chosen() {
    let gateway = gateway(Settings {
        limits: vec!["2/h".parse().unwrap(), "20/d".parse().unwrap()],
        headers: Headers::Draft,
        body: DeniedBody::Problem,
        ..Settings::default()
    })
    .await;
    let allowed = get(gateway.listen, "/").await;
    assert_eq!(
        allowed.header("ratelimit-policy"),
        Some(r#""limit-1";q=2;w=3600, "limit-2";q=20;w=86400"#)
    );
    assert_eq!(
        allowed.header("ratelimit"),
        Some(r#""limit-1";r=1;t=1800, "limit-2";r=19;t=4320"#)
    );
    get(gateway.listen, "/").await;
    let denied = get(gateway.listen, "/").await;
    assert_eq!(
        denied.header("content-type"),
        Some("application/problem+json")
    );
    let problem: serde_json::Value = serde_json::from_slice(&denied.body).unwrap();
    assert_eq!(problem["violated-policies"], serde_json::json!(["limit-1"]));
}

#[tokio::test]
async fn a_route_has_a_limit_and_a_cost_of_its_own() {
    let gateway = gateway(Settings {
        routes: vec![
            "/search=10/h cost 5".parse().unwrap(),
            "/users/{id}=1/h".parse().unwrap(),
        ],
        headers: Headers::XRateLimit,
        ..one_an_hour()
    })
    .await;
    let mut statuses = Vec::new();
    for path in [
        "/search?q=1",
        "/search?q=2",
        "/search?q=3",
        "/users/1",
        "/users/2",
        "/",
        "/other",
    ] {
        statuses.push(get(gateway.listen, path).await.status);
    }
    assert_eq!(statuses, [200, 200, 429, 200, 429, 200, 429]);
    assert_eq!(
        get(gateway.listen, "/search")
            .await
            .header("x-ratelimit-limit"),
        Some("10")
    );
    let denied = r#"gateway_requests_denied_total{rule="/search"}"#;
    assert_eq!(metric(&gateway, denied).await, 2.0);
}

#[tokio::test]
async fn clients_behind_a_trusted_proxy_are_told_apart_and_cannot_pretend() {
    let gateway = gateway(Settings {
        trust: TrustFlags {
            hops: 1,
            ..TrustFlags::default()
        },
        ..one_an_hour()
    })
    .await;
    let mut proxy = Connection::open(gateway.listen).await;
    let mut statuses = Vec::new();
    for forwarded_for in [
        "203.0.113.7",
        "203.0.113.8",
        "203.0.113.7",
        "9.9.9.9, 203.0.113.7",
    ] {
        let headers = [("x-forwarded-for", forwarded_for)];
        statuses.push(proxy.send("GET", "/", &headers, b"").await.status);
    }
    assert_eq!(statuses, [200, 200, 429, 429]);
}

#[tokio::test]
async fn settings_that_do_not_fit_together_say_so() {
    let error = async |settings: Settings| {
        tollgate_gateway::start(settings)
            .await
            .unwrap_err()
            .to_string()
    };
    let header = TrustFlags {
        header: Some("cf-connecting-ip".parse().unwrap()),
        ..TrustFlags::default()
    };
    let believed = error(Settings {
        trust: header,
        ..one_an_hour()
    })
    .await;
    assert_eq!(
        believed,
        "'cf-connecting-ip' is believed of nobody: say whom to trust"
    );
    let limits = vec!["1/s".parse().unwrap(), "10/h".parse().unwrap()];
    let algorithm = tollgate::AnyAlgorithm::SlidingLog;
    let several = error(Settings {
        limits,
        algorithm,
        ..Settings::default()
    })
    .await;
    assert_eq!(
        several,
        "2 limits are kept together by all-of only, not by sliding-log"
    );
    let twice = vec!["/a/{b}=1/h".parse().unwrap(), "/a/{c}=1/h".parse().unwrap()];
    let routes = error(Settings {
        routes: twice,
        ..one_an_hour()
    })
    .await;
    assert_eq!(routes, "'/a/{c}' conflicts with '/a/{b}'");
}

#[tokio::test]
async fn nobody_is_believed_unless_told() {
    let gateway = limited("1/h").await;
    let mut client = Connection::open(gateway.listen).await;
    let mut statuses = Vec::new();
    for forwarded_for in ["203.0.113.7", "203.0.113.8"] {
        let headers = [
            ("x-forwarded-for", forwarded_for),
            ("forwarded", "for=9.9.9.9"),
        ];
        statuses.push(client.send("GET", "/", &headers, b"").await.status);
    }
    assert_eq!(statuses, [200, 429]);
}

#[tokio::test]
async fn whoever_has_no_api_key_is_refused_where_keys_are_counted() {
    let gateway = gateway(Settings {
        key: KeyBy::Header("x-api-key".parse().unwrap()),
        ..one_an_hour()
    })
    .await;
    let mut client = Connection::open(gateway.listen).await;
    let mut statuses = Vec::new();
    for key in ["ada", "bob", "ada"] {
        statuses.push(
            client
                .send("GET", "/", &[("x-api-key", key)], b"")
                .await
                .status,
        );
    }
    statuses.push(client.get("/").await.status);
    assert_eq!(statuses, [200, 200, 429, 403]);
    assert_eq!(
        metric(&gateway, "gateway_requests_without_key_total").await,
        1.0
    );
}

#[tokio::test]
async fn a_shadow_refuses_nobody_and_tells_whom_it_would_have() {
    let gateway = gateway(Settings {
        shadow: true,
        ..one_an_hour()
    })
    .await;
    let first = get(gateway.listen, "/").await;
    let second = get(gateway.listen, "/").await;
    assert_eq!((first.status, second.status), (200, 200));
    assert_eq!(first.header("x-ratelimit-shadow"), None);
    assert_eq!(second.header("x-ratelimit-shadow"), Some("denied"));
    let denied = r#"gateway_requests_denied_total{rule="default"}"#;
    assert_eq!(metric(&gateway, denied).await, 1.0);
}

/// Ten times as many addresses as places: no more are tracked, and those that are keep their limits.
#[tokio::test]
async fn a_flood_of_addresses_stays_within_the_cap() {
    let gateway = gateway(Settings {
        trust: TrustFlags {
            hops: 1,
            ..TrustFlags::default()
        },
        max_keys: 200,
        ..one_an_hour()
    })
    .await;
    let mut proxy = Connection::open(gateway.listen).await;
    let mut allowed = 0;
    for nth in 0..2_000_u32 {
        let address = format!("10.0.{}.{}", nth / 250, nth % 250);
        let reply = proxy
            .send("GET", "/", &[("x-forwarded-for", &address)], b"")
            .await;
        allowed += u32::from(reply.status == 200);
    }
    assert_eq!(allowed, 200);
    let tracked = r#"gateway_tracked_keys{rule="default"}"#;
    assert_eq!(metric(&gateway, tracked).await, 200.0);
    assert_eq!(
        metric(&gateway, "gateway_requests_untracked_total").await,
        1_800.0
    );
    let known = proxy
        .send("GET", "/", &[("x-forwarded-for", "10.0.0.1")], b"")
        .await;
    assert_eq!(known.status, 429);
}

/// In real time: fifty connections that never pause.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_a_second_are_five_a_second_under_fifty_connections() {
    let gateway = limited("5/s").await;
    let (listen, allowed) = (gateway.listen, Arc::new(AtomicU64::new(0)));
    let mut connections = Vec::new();
    for _ in 0..50 {
        connections.push(Connection::open(listen).await);
    }
    let since = Instant::now();
    let clients: Vec<_> = connections
        .into_iter()
        .map(|mut connection| {
            let allowed = allowed.clone();
            tokio::spawn(async move {
                while since.elapsed() < Duration::from_secs(3) {
                    let status = connection.get("/").await.status;
                    allowed.fetch_add(u64::from(status == 200), Ordering::Relaxed);
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    let elapsed = since.elapsed().as_secs_f64();
    let allowed = allowed.load(Ordering::Relaxed) as f64;
    assert!(allowed <= 5.0 + 5.0 * elapsed, "{allowed} in {elapsed} s");
    assert!(
        allowed >= (5.0 + 5.0 * 3.0) - 1.0,
        "{allowed} in {elapsed} s"
    );
}
