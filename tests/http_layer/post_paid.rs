//! Costs that are known only when the answer is.

use super::inner::request;
use super::{limiter, statuses};
use http::{Request, Response};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tollgate::http::{ClientIp, PostPaid, RateLimitLayer};
use tollgate::{Limit, UnkeyedLimiter};
use tower::{Layer, ServiceExt, service_fn};

/// Charges as many permits as the path says.
async fn meter(request: Request<String>) -> Result<Response<String>, Infallible> {
    let cost: u64 = request.uri().path()[1..].parse().expect("a number");
    let post_paid = request
        .extensions()
        .get::<PostPaid>()
        .expect("from the layer");
    let left = post_paid.clone().charge(cost).remaining();
    Ok(Response::new(left.to_string()))
}

#[tokio::test]
async fn a_client_is_charged_afterwards_and_may_be_in_debt() {
    let (limiter, ticker) = limiter(Limit::per_second(10));
    let service = RateLimitLayer::builder(limiter, ClientIp::new())
        .post_paid()
        .build()
        .layer(service_fn(meter));
    let mut answers = Vec::new();
    for path in ["/3", "/15", "/1"] {
        answers.push(service.clone().oneshot(request(path, 1)).await.unwrap());
    }
    // 10 less 1 and 3; then 1 and 15 more, which are 10 more than there are.
    assert_eq!(statuses(&answers), [200, 200, 429]);
    assert_eq!(
        (answers[0].body().as_str(), answers[1].body().as_str()),
        ("6", "0")
    );
    assert_eq!(answers[2].headers()["retry-after"], "2", "1.1 s");
    let other = service.clone().oneshot(request("/0", 2)).await.unwrap();
    assert_eq!(other.body(), "9", "another client is not concerned");

    ticker.advance(Duration::from_millis(1_100));
    let paid = service.clone().oneshot(request("/0", 1)).await.unwrap();
    assert_eq!(paid.status(), 200);
}

#[tokio::test]
async fn only_what_is_let_through_can_be_charged() {
    let (limiter, _) = limiter(Limit::per_hour(1));
    let service = |post_paid: bool| {
        let builder = RateLimitLayer::builder(limiter.clone(), ClientIp::new())
            .skip(|request: &Request<String>| request.uri().path() == "/skipped");
        let layer = if post_paid {
            builder.post_paid().build()
        } else {
            builder.build()
        };
        layer.layer(service_fn(async |request: Request<String>| {
            let charged = request.extensions().get::<PostPaid>().is_some();
            Ok::<_, Infallible>(Response::new(charged.to_string()))
        }))
    };
    let ask = async |post_paid: bool, path: &str, client: u8| {
        service(post_paid)
            .oneshot(request(path, client))
            .await
            .unwrap()
            .into_body()
    };
    assert_eq!(ask(true, "/", 1).await, "true");
    assert_eq!(ask(false, "/", 2).await, "false");
    assert_eq!(
        ask(true, "/skipped", 3).await,
        "false",
        "it comes under no rule"
    );
}

#[tokio::test]
async fn a_limiter_without_keys_can_be_charged_too() {
    let limiter = Arc::new(UnkeyedLimiter::new(Limit::per_hour(10)).expect("a limit"));
    let service = RateLimitLayer::builder(limiter.clone(), |_: &Request<String>| Some(()))
        .post_paid()
        .build()
        .layer(service_fn(meter));
    let answer = service.oneshot(request("/5", 1)).await.unwrap();
    assert_eq!(answer.body(), "4");
    assert_eq!(limiter.peek().remaining(), 4);
}
