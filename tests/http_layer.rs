//! What the layer does to requests and their answers, whatever serves them.
#![cfg(feature = "tower")]

#[path = "http_layer/choices.rs"]
mod choices;
#[path = "http_layer/inner.rs"]
mod inner;
#[path = "http_layer/marks.rs"]
mod marks;
#[path = "http_layer/post_paid.rs"]
mod post_paid;

use http::{Request, Response, StatusCode};
use inner::{Inner, ask, request};
use std::sync::Arc;
use std::time::Duration;
use tollgate::http::{ClientAddr, ClientIp, RateLimitLayer};
use tollgate::{Limit, ManualTicker, RateLimiter, TokenBucket};
use tower::{Layer, ServiceExt};

type Limiter = RateLimiter<ClientAddr, TokenBucket, ManualTicker>;

/// A limiter by address, and the ticker that moves it.
fn limiter(limit: Limit) -> (Arc<Limiter>, ManualTicker) {
    let ticker = ManualTicker::new(0);
    let limiter = RateLimiter::builder(limit).ticker(ticker.clone()).build();
    (Arc::new(limiter.expect("a limit that can be kept")), ticker)
}

fn statuses(answers: &[Response<String>]) -> Vec<u16> {
    answers
        .iter()
        .map(|answer| answer.status().as_u16())
        .collect()
}

#[tokio::test]
async fn a_denied_request_never_reaches_the_inner_service() {
    let (limiter, _) = limiter(Limit::per_minute(2));
    let inner = Inner::default();
    let service = RateLimitLayer::new(limiter, ClientIp::new()).layer(inner.clone());
    let mut answers = Vec::new();
    for _ in 0..5 {
        answers.push(ask(&service, request("/", 1)).await);
    }
    assert_eq!(statuses(&answers), [200, 200, 429, 429, 429]);
    assert_eq!(inner.calls(), 2);
}

#[tokio::test]
async fn clones_of_layer_and_service_share_one_count() {
    let (limiter, _) = limiter(Limit::per_minute(4));
    let layer = RateLimitLayer::new(limiter, ClientIp::new());
    let first = layer.layer(Inner::default());
    let second = layer.clone().layer(Inner::default());
    let third = second.clone();
    let mut answers = Vec::new();
    for service in [&first, &second, &third, &first, &second, &third] {
        answers.push(ask(service, request("/", 1)).await);
    }
    assert_eq!(statuses(&answers), [200, 200, 200, 200, 429, 429]);
}

#[tokio::test]
async fn each_client_is_counted_for_itself() {
    let (limiter, _) = limiter(Limit::per_minute(1));
    let service = RateLimitLayer::new(limiter, ClientIp::new()).layer(Inner::default());
    let mut answers = Vec::new();
    for client in [1, 2, 1, 2, 3] {
        answers.push(ask(&service, request("/", client)).await);
    }
    assert_eq!(statuses(&answers), [200, 200, 429, 429, 200]);
}

#[tokio::test]
async fn a_denied_answer_tells_when_to_come_back_and_then_is_allowed() {
    let (limiter, ticker) = limiter(Limit::per_minute(1));
    let service = RateLimitLayer::new(limiter, ClientIp::new()).layer(Inner::default());
    let _ = ask(&service, request("/", 1)).await;
    ticker.advance(Duration::from_millis(500));

    let denied = ask(&service, request("/", 1)).await;
    assert_eq!(denied.headers()["retry-after"], "60", "59.5 s, rounded up");
    assert_eq!(
        denied.headers()["content-type"],
        "text/plain; charset=utf-8"
    );
    assert!(denied.body().contains("60 s"), "{}", denied.body());

    ticker.advance(Duration::from_secs(60));
    let allowed = ask(&service, request("/", 1)).await;
    assert_eq!(allowed.status(), StatusCode::OK);
    assert!(!allowed.headers().contains_key("retry-after"));
}

#[tokio::test]
async fn a_request_that_can_never_fit_is_not_told_to_come_back() {
    let (limiter, _) = limiter(Limit::per_minute(5));
    let service = RateLimitLayer::builder(limiter, ClientIp::new())
        .cost(|_: &Request<String>| 6)
        .build()
        .layer(Inner::default());
    let denied = ask(&service, request("/", 1)).await;
    assert_eq!(denied.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(!denied.headers().contains_key("retry-after"));
}

/// Servers that limit by back pressure make one service ready and call it; another clone of it is
/// not ready.
#[tokio::test]
async fn the_service_that_is_called_is_the_one_that_was_ready() {
    let (limiter, _) = limiter(Limit::per_minute(2));
    let inner = Inner::choosy();
    let mut service = RateLimitLayer::new(limiter, ClientIp::new()).layer(inner.clone());
    for expected in [200, 200, 429] {
        let ready = service.ready().await.expect("it can be ready");
        let answer = tower_service::Service::call(ready, request("/", 1)).await;
        assert_eq!(answer.expect("an answer").status(), expected);
    }
    assert_eq!(inner.calls(), 2);
}

#[tokio::test]
async fn the_inner_services_error_comes_through_as_it_is() {
    let (limiter, _) = limiter(Limit::per_minute(1));
    let service = RateLimitLayer::new(limiter, ClientIp::new()).layer(Inner::failing());
    let error = service.clone().oneshot(request("/", 1)).await.unwrap_err();
    assert_eq!(error.to_string(), "the inner service fails");
    let denied = service.oneshot(request("/", 1)).await.expect("a refusal");
    assert_eq!(denied.status(), StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_dropped_answer_drops_the_inner_one_and_stays_spent() {
    let (limiter, _) = limiter(Limit::per_minute(1));
    let inner = Inner::pending();
    let mut service = RateLimitLayer::new(limiter.clone(), ClientIp::new()).layer(inner.clone());
    let answer = tower_service::Service::call(&mut service, request("/", 1));
    assert_eq!(inner.running(), 1);
    drop(answer);
    assert_eq!(inner.running(), 0);
    let denied = ask(&service, request("/", 1)).await;
    assert_eq!(denied.status(), StatusCode::TOO_MANY_REQUESTS);
}

#[test]
fn layers_services_and_futures_go_to_other_threads_and_say_what_they_are() {
    fn sent<T: Send + Sync>(value: T) -> T {
        value
    }
    let (limiter, _) = limiter(Limit::per_minute(1));
    let layer = sent(RateLimitLayer::new(limiter, ClientIp::new()));
    assert!(format!("{layer:?}").contains("default"), "{layer:?}");
    let mut service = sent(layer.layer(Inner::default()));
    assert!(!format!("{service:?}").is_empty());
    let _future = sent(tower_service::Service::call(&mut service, request("/", 1)));
}
