//! The layer of tower, over limiters in a store.

use super::server::{Server, free_port};
use http::{Request, Response};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tollgate::http::{
    ClientAddr, ClientIp, DeniedBody, HeaderKey, Headers, NoKey, Outcome, PeerAddr, RateLimitLayer,
    Rule,
};
use tollgate::redis::{Basis, Keyed, OnFailure, RedisLimiter, Store, StoreError};
use tollgate::{AnyAlgorithm, Limit};
use tower::{Layer, Service, ServiceExt, service_fn};

const CLOSED: OnFailure = OnFailure::Closed {
    retry_after: Duration::from_secs(3),
};

fn keyed(url: &str, policy: OnFailure, limits: &[Limit]) -> Arc<Keyed<ClientAddr>> {
    let store = Store::open(url)
        .expect("an address")
        .with_slow(Duration::from_secs(5));
    let limiter = RedisLimiter::builder(&store, "api", limits)
        .algorithm(AnyAlgorithm::AllOf)
        .budget(Duration::from_secs(5))
        .on_failure(policy)
        .build();
    Arc::new(limiter.expect("a limiter").keyed())
}

fn request() -> Request<()> {
    let peer = PeerAddr("192.0.2.1:4711".parse().expect("an address"));
    Request::get("/")
        .extension(peer)
        .body(())
        .expect("a request")
}

/// A service that counts the requests that reach it.
fn counted(
    reached: &Arc<AtomicU64>,
) -> impl Service<Request<()>, Response = Response<String>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ 'static
+ use<> {
    let reached = reached.clone();
    service_fn(move |_: Request<()>| {
        reached.fetch_add(1, Ordering::Relaxed);
        async { Ok(Response::new(String::new())) }
    })
}

async fn ask<S>(service: &S) -> Response<String>
where
    S: Service<Request<()>, Response = Response<String>, Error = Infallible> + Clone,
{
    service.clone().oneshot(request()).await.expect("an answer")
}

#[tokio::test]
async fn two_servers_count_together_and_tell_of_all_limits() {
    let server = Server::start();
    let limits = [Limit::per_second(50), Limit::per_hour(3)];
    let reached = Arc::new(AtomicU64::new(0));
    let front = || {
        let rule = Rule::new(keyed(&server.url(), OnFailure::Open, &limits));
        let rule = rule.names(["burst", "hourly"]).expect("two names");
        let layer = RateLimitLayer::builder(rule, ClientIp::new());
        layer
            .headers(Headers::Draft)
            .build()
            .layer(counted(&reached))
    };
    let (one, two) = (front(), front());
    for (service, left) in [(&one, 2), (&two, 1), (&one, 0)] {
        let answer = ask(service).await;
        assert_eq!(answer.status(), 200);
        let policy = r#""burst";q=50;w=1, "hourly";q=3;w=3600"#;
        assert_eq!(answer.headers()["ratelimit-policy"], policy);
        let standing = answer.headers()["ratelimit"].to_str().expect("a text");
        assert!(
            standing.contains(&format!(r#""hourly";r={left};t=1200"#)),
            "{standing}"
        );
    }
    for (service, says_more) in [(&two, true), (&two, false)] {
        let denied = ask(service).await;
        assert_eq!(denied.status(), 429);
        assert_eq!(denied.headers()["retry-after"], "1200");
        // The pre-check knows when, and no more.
        assert_eq!(denied.headers().contains_key("ratelimit"), says_more);
    }
    assert_eq!(reached.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn what_nobody_has_decided_is_503_or_goes_through_and_claims_nothing() {
    let url = format!("redis://127.0.0.1:{}", free_port());
    let reached = Arc::new(AtomicU64::new(0));
    let front = |policy, body| {
        let layer =
            RateLimitLayer::builder(keyed(&url, policy, &[Limit::per_hour(5)]), ClientIp::new());
        let layer = layer.headers(Headers::Draft).refusal(body).build();
        layer.layer(counted(&reached))
    };
    let open = ask(&front(OnFailure::Open, DeniedBody::Text)).await;
    assert_eq!(open.status(), 200);
    assert!(!open.headers().contains_key("ratelimit"), "nobody knows");

    let closed = ask(&front(CLOSED, DeniedBody::Problem)).await;
    assert_eq!(
        (closed.status().as_u16(), &closed.headers()["retry-after"]),
        (503, &"3".parse().unwrap())
    );
    assert!(
        closed.body().contains("temporary-reduced-capacity"),
        "{}",
        closed.body()
    );
    assert!(!closed.headers().contains_key("ratelimit"));

    let report = ask(&front(OnFailure::Report, DeniedBody::Text)).await;
    assert_eq!(report.status(), 503);
    assert!(!report.headers().contains_key("retry-after"));
    let error = report
        .extensions()
        .get::<StoreError>()
        .expect("the failure");
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    assert_eq!(reached.load(Ordering::Relaxed), 1);

    let local = front(OnFailure::Local { servers: 1 }, DeniedBody::Text);
    for _ in 0..5 {
        assert_eq!(ask(&local).await.status(), 200);
    }
    assert_eq!(ask(&local).await.status(), 429, "this server has decided");
}

#[tokio::test]
async fn observers_hear_who_has_decided_and_shadows_let_through() {
    let server = Server::start();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let reached = Arc::new(AtomicU64::new(0));
    let front = |url: &str, policy| {
        let heard = heard.clone();
        let layer =
            RateLimitLayer::builder(keyed(url, policy, &[Limit::per_hour(1)]), ClientIp::new())
                .observe(move |outcome: &Outcome<'_, ClientAddr>| {
                    let shared = outcome.shared.expect("a store was asked");
                    let basis = shared.as_ref().ok().map(|answer| answer.basis());
                    let told = outcome.decision.is_some();
                    heard.lock().expect("no panic").push((
                        basis,
                        told,
                        outcome.refused,
                        outcome.admitted,
                    ));
                })
                .shadow(true)
                .build();
        layer.layer(counted(&reached))
    };
    let service = front(&server.url(), OnFailure::Open);
    for shadowed in [false, true, true] {
        let answer = ask(&service).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(
            answer.headers().contains_key("x-ratelimit-shadow"),
            shadowed
        );
    }
    let nowhere = format!("redis://127.0.0.1:{}", free_port());
    assert_eq!(ask(&front(&nowhere, OnFailure::Report)).await.status(), 200);
    let heard = heard.lock().expect("no panic");
    let expected = [
        (Some(Basis::Store), true, false, true),
        (Some(Basis::Store), true, true, true),
        (Some(Basis::PreCheck), false, true, true),
        (None, false, true, true),
    ];
    assert_eq!(heard[..], expected);
    assert_eq!(reached.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn a_request_without_a_key_asks_no_store_and_a_secret_does_not_show_there() {
    let server = Server::start();
    let store = Store::open(&server.url()).expect("an address");
    let limiter = RedisLimiter::builder(&store, "keys", Limit::per_hour(5)).on_failure(CLOSED);
    let limiter = limiter
        .budget(Duration::from_secs(5))
        .build()
        .expect("a limiter");
    let name = http::HeaderName::from_static("x-api-key");
    let layer = RateLimitLayer::builder(Arc::new(limiter.keyed()), HeaderKey::new(name));
    let layer = layer.no_key(NoKey::Deny).build();
    let service = layer.layer(counted(&Arc::default()));
    assert_eq!(ask(&service).await.status(), 403);
    assert_eq!(store.counts().calls, 0);
    let request = Request::get("/")
        .header("x-api-key", "s3cret")
        .body(())
        .expect("a request");
    assert_eq!(
        service.oneshot(request).await.expect("an answer").status(),
        200
    );
    let stored = server.keys("tollgate");
    assert_eq!(stored.len(), 1);
    assert!(!stored[0].0.windows(6).any(|part| part == b"s3cret"));
}
