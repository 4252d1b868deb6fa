//! What answers carry: headers of a dialect, other bodies, the mark of a shadow.

use super::inner::{Inner, ask, request};
use super::{limiter, statuses};
use http::{Request, Response, StatusCode};
use std::sync::Arc;
use std::time::Duration;
use tollgate::http::{
    ClientAddr, ClientIp, DeniedBody, Grpc, Headers, RateLimitLayer, Refused, Rule,
};
use tollgate::{Algorithm, AllOf, Limit, ManualTicker, RateLimiter};
use tower::Layer;

fn header<'a>(answer: &'a Response<String>, name: &str) -> &'a str {
    answer
        .headers()
        .get(name)
        .map_or("", |value| value.to_str().expect("printable"))
}

#[tokio::test]
async fn allowed_and_denied_answers_carry_the_draft() {
    let (limiter, ticker) = limiter(Limit::per_minute(100).with_burst(2));
    let rule = Rule::new(limiter).names(["burst"]).expect("one name");
    let service = RateLimitLayer::builder(rule, ClientIp::new())
        .headers(Headers::Draft)
        .build()
        .layer(Inner::default());
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(ask(&service, request("/", 1)).await);
    }
    assert_eq!(statuses(&answers), [200, 200, 429]);
    for answer in &answers {
        assert_eq!(header(answer, "ratelimit-policy"), r#""burst";q=100;w=60"#);
    }
    let told: Vec<_> = answers
        .iter()
        .map(|answer| header(answer, "ratelimit"))
        .collect();
    assert_eq!(
        told,
        [
            r#""burst";r=1;t=1"#,
            r#""burst";r=0;t=1"#,
            r#""burst";r=0;t=1"#
        ]
    );
    assert_eq!(header(&answers[2], "retry-after"), "1");
    assert_eq!(header(&answers[0], "x-inner"), "yes");
    ticker.advance(Duration::from_secs(60));
    let full = ask(&service, request("/", 1)).await;
    assert!(header(&full, "ratelimit").starts_with(r#""burst";r=1"#));
}

#[tokio::test]
async fn the_draft_lists_every_limit_with_what_is_left_of_it() {
    let limits = [Limit::per_second(5), Limit::per_minute(20)];
    let both = RateLimiter::<ClientAddr>::builder(limits)
        .algorithm(AllOf)
        .ticker(ManualTicker::new(0))
        .build()
        .expect("limits");
    let rule = Rule::new(Arc::new(both))
        .names(["burst", "sustained"])
        .expect("two names");
    let service = RateLimitLayer::builder(rule, ClientIp::new())
        .headers(Headers::Draft)
        .build()
        .layer(Inner::default());
    let allowed = ask(&service, request("/", 1)).await;
    assert_eq!(
        header(&allowed, "ratelimit-policy"),
        r#""burst";q=5;w=1, "sustained";q=20;w=60"#
    );
    assert_eq!(
        header(&allowed, "ratelimit"),
        r#""burst";r=4;t=1, "sustained";r=19;t=3"#
    );
}

/// More limits than are told of in place.
#[tokio::test]
async fn the_draft_lists_six_limits_and_names_them_by_number() {
    let limits: Vec<Limit> = (1..=6)
        .map(|n| Limit::new(n * 10, Duration::from_secs(n * 10)).unwrap())
        .collect();
    let all = RateLimiter::<ClientAddr>::builder(limits)
        .algorithm(AllOf)
        .ticker(ManualTicker::new(0))
        .build()
        .expect("limits");
    let service = RateLimitLayer::builder(Arc::new(all), ClientIp::new())
        .headers(Headers::Draft)
        .build()
        .layer(Inner::default());
    let allowed = ask(&service, request("/", 1)).await;
    assert_eq!(
        header(&allowed, "ratelimit"),
        r#""limit-1";r=9;t=1, "limit-2";r=19;t=1, "limit-3";r=29;t=1, "limit-4";r=39;t=1, "limit-5";r=49;t=1, "limit-6";r=59;t=1"#
    );
}

/// The plan is the key's own: so is what its headers say.
#[tokio::test]
async fn each_clients_headers_tell_its_own_plan() {
    let free = AllOf.plan(Limit::per_minute(2)).expect("a plan");
    let paid = AllOf
        .plan([Limit::per_second(5), Limit::per_minute(200)])
        .expect("a plan");
    let tiers = RateLimiter::<String>::by_plan(move |user: &String| {
        if user == "/ada" {
            paid.clone()
        } else {
            free.clone()
        }
    })
    .ticker(ManualTicker::new(0))
    .build()
    .expect("a limiter");
    let user = |request: &Request<String>| Some(request.uri().path().to_owned());
    let rule = Rule::new(Arc::new(tiers)).names(["quota"]).expect("a name");
    let service = RateLimitLayer::builder(rule, user)
        .headers(Headers::Draft)
        .build()
        .layer(Inner::default());
    let bob = ask(&service, request("/bob", 1)).await;
    assert_eq!(header(&bob, "ratelimit-policy"), r#""quota";q=2;w=60"#);
    assert_eq!(header(&bob, "ratelimit"), r#""quota";r=1;t=30"#);
    let ada = ask(&service, request("/ada", 1)).await;
    assert_eq!(
        header(&ada, "ratelimit-policy"),
        r#""quota";q=5;w=1, "limit-2";q=200;w=60"#
    );
    assert_eq!(
        header(&ada, "ratelimit"),
        r#""quota";r=4;t=1, "limit-2";r=199;t=1"#
    );
}

#[tokio::test]
async fn the_widespread_headers_are_there_if_chosen() {
    let (limiter, _) = limiter(Limit::per_minute(2));
    let service = RateLimitLayer::builder(limiter, ClientIp::new())
        .headers(Headers::XRateLimit)
        .build()
        .layer(Inner::default());
    let allowed = ask(&service, request("/", 1)).await;
    assert_eq!(header(&allowed, "x-ratelimit-limit"), "2");
    assert_eq!(header(&allowed, "x-ratelimit-remaining"), "1");
    assert_eq!(header(&allowed, "x-ratelimit-reset"), "30");
    assert_eq!(header(&allowed, "ratelimit"), "");
}

#[tokio::test]
async fn by_default_allowed_answers_are_left_alone() {
    let (limiter, _) = limiter(Limit::per_minute(2));
    let service = RateLimitLayer::new(limiter, ClientIp::new()).layer(Inner::default());
    let allowed = ask(&service, request("/", 1)).await;
    assert_eq!(allowed.headers().len(), 1, "{:?}", allowed.headers());
}

/// Two layers, one in the other: a limit for each client, and one for all.
#[tokio::test]
async fn layers_one_in_the_other_tell_of_both_their_limits() {
    let (inside, _) = limiter(Limit::per_minute(2));
    let (outside, _) = limiter(Limit::per_minute(20));
    let named = |limiter, name| Rule::new(limiter).names([name]).expect("a name");
    let layer = |rule| {
        RateLimitLayer::builder(rule, ClientIp::new())
            .headers(Headers::Draft)
            .build()
    };
    let service =
        layer(named(outside, "out")).layer(layer(named(inside, "in")).layer(Inner::default()));
    let allowed = ask(&service, request("/", 1)).await;
    let told: Vec<_> = allowed
        .headers()
        .get_all("ratelimit")
        .iter()
        .map(|value| value.to_str().expect("printable"))
        .collect();
    let told = told.join(", ");
    assert!(
        told.contains(r#""in";r=1;t=30"#) && told.contains(r#""out";r=19;t=3"#),
        "{told}"
    );
}

#[tokio::test]
async fn a_refusal_can_be_a_problem_in_json() {
    let (limiter, _) = limiter(Limit::per_minute(1));
    let rule = Rule::new(limiter).names(["per-minute"]).expect("a name");
    let service = RateLimitLayer::builder(rule, ClientIp::new())
        .refusal(DeniedBody::Problem)
        .build()
        .layer(Inner::default());
    let _ = ask(&service, request("/", 1)).await;
    let denied = ask(&service, request("/", 1)).await;
    assert_eq!(denied.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(header(&denied, "content-type"), "application/problem+json");
    let problem: serde_json::Value = serde_json::from_str(denied.body()).expect("json");
    assert_eq!(problem["status"], 429);
    assert_eq!(
        problem["violated-policies"],
        serde_json::json!(["per-minute"])
    );
}

#[tokio::test]
async fn a_refusal_can_be_a_page_of_ones_own() {
    let (limiter, _) = limiter(Limit::per_minute(1));
    let page = |refused: &Refused<'_>| {
        let mut page = Response::new(format!("later: {:?}", refused.retry_after()));
        *page.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        page
    };
    let service = RateLimitLayer::builder(limiter, ClientIp::new())
        .refusal(page)
        .headers(Headers::XRateLimit)
        .build()
        .layer(Inner::default());
    let _ = ask(&service, request("/", 1)).await;
    let denied = ask(&service, request("/", 1)).await;
    assert_eq!(denied.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(denied.body(), "later: Some(60)");
    assert_eq!(header(&denied, "retry-after"), "60", "the layer adds it");
    assert_eq!(header(&denied, "x-ratelimit-remaining"), "0");
}

#[tokio::test]
async fn in_grpc_the_refusal_is_in_the_head() {
    let (limiter, _) = limiter(Limit::per_minute(1));
    let service = RateLimitLayer::builder(limiter, ClientIp::new())
        .refusal(Grpc)
        .build()
        .layer(Inner::default());
    let _ = ask(&service, request("/", 1)).await;
    let denied = ask(&service, request("/", 1)).await;
    assert_eq!(denied.status(), StatusCode::OK);
    assert_eq!(header(&denied, "content-type"), "application/grpc");
    assert_eq!(header(&denied, "grpc-status"), "8");
    assert_eq!(header(&denied, "grpc-retry-pushback-ms"), "60000");
    assert_eq!(denied.body(), "");
}

#[tokio::test]
async fn a_shadow_lets_everything_through_and_tells_what_it_would_have_refused() {
    let (limiter, ticker) = limiter(Limit::per_minute(1));
    let inner = Inner::default();
    let service = RateLimitLayer::builder(limiter, ClientIp::new())
        .shadow(true)
        .headers(Headers::Draft)
        .build()
        .layer(inner.clone());
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(ask(&service, request("/", 1)).await);
    }
    assert_eq!(statuses(&answers), [200, 200, 200]);
    assert_eq!(inner.calls(), 3);
    let told: Vec<_> = answers
        .iter()
        .map(|answer| header(answer, "x-ratelimit-shadow"))
        .collect();
    assert_eq!(told, ["", "denied", "denied"]);
    assert_eq!(header(&answers[1], "ratelimit"), r#""default";r=0;t=60"#);
    assert_eq!(header(&answers[1], "retry-after"), "", "nobody was refused");
    // What was let through was not counted.
    ticker.advance(Duration::from_secs(60));
    assert_eq!(
        header(&ask(&service, request("/", 1)).await, "x-ratelimit-shadow"),
        ""
    );
}

#[test]
fn names_are_one_for_each_limit() {
    let limiter = || {
        RateLimiter::<u64>::builder(Limit::per_minute(1))
            .ticker(ManualTicker::new(0))
            .build()
            .map(Arc::new)
            .expect("a limit")
    };
    let error = |names: &[&str]| Rule::new(limiter()).names(names).unwrap_err().to_string();
    assert_eq!(error(&[]), "0 policy names for 1 limit");
    assert_eq!(error(&["a", "b"]), "2 policy names for 1 limit");
    assert!(
        error(&["täglich"]).contains("täglich") || error(&["täglich"]).contains("t\\"),
        "{}",
        error(&["täglich"])
    );
    assert!(Rule::new(limiter()).names(["daily"]).is_ok());
}
