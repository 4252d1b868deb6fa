//! What can be chosen: keys, costs, rules, who is skipped, and what becomes of requests without a key.

use super::inner::{Inner, ask, request};
use super::{limiter, statuses};
use http::Request;
use std::sync::{Arc, Mutex};
use tollgate::http::{ClientAddr, ClientIp, NoKey, Outcome, RateLimitLayer};
use tollgate::{Limit, ManualTicker, RateLimiter, UnkeyedLimiter};
use tower::Layer;

/// A request that no address is known of.
fn from_nowhere() -> Request<String> {
    Request::get("/").body(String::new()).expect("a request")
}

#[tokio::test]
async fn a_search_can_cost_ten() {
    let (limiter, _) = limiter(Limit::per_minute(12));
    let service = RateLimitLayer::builder(limiter, ClientIp::new())
        .cost(|request: &Request<String>| match request.uri().path() {
            "/search" => 10,
            _ => 1,
        })
        .build()
        .layer(Inner::default());
    let mut answers = Vec::new();
    for path in ["/search", "/search", "/", "/", "/"] {
        answers.push(ask(&service, request(path, 1)).await);
    }
    assert_eq!(statuses(&answers), [200, 429, 200, 200, 429]);
}

#[tokio::test]
async fn each_route_can_have_a_rule_of_its_own() {
    let (general, _) = limiter(Limit::per_minute(2));
    let (search, _) = limiter(Limit::per_minute(1));
    let service = RateLimitLayer::builder(general, ClientIp::new())
        .rule(search)
        .choose(|request: &Request<String>| match request.uri().path() {
            "/search" => Some(1),
            "/beyond" => Some(7),
            "/free" => None,
            _ => Some(0),
        })
        .build()
        .layer(Inner::default());
    let mut answers = Vec::new();
    for path in ["/search", "/search", "/beyond", "/", "/", "/", "/free"] {
        answers.push(ask(&service, request(path, 1)).await);
    }
    // Beyond the list counts as the last of it.
    assert_eq!(statuses(&answers), [200, 429, 429, 200, 200, 429, 200]);
}

#[tokio::test]
async fn what_is_skipped_is_neither_refused_nor_counted() {
    let (limiter, _) = limiter(Limit::per_minute(1));
    let service = RateLimitLayer::builder(limiter.clone(), ClientIp::new())
        .skip(|request: &Request<String>| request.uri().path() == "/health")
        .build()
        .layer(Inner::default());
    let mut answers = Vec::new();
    for path in ["/health", "/health", "/", "/", "/health"] {
        answers.push(ask(&service, request(path, 1)).await);
    }
    assert_eq!(statuses(&answers), [200, 200, 200, 429, 200]);
}

#[tokio::test]
async fn skipping_leaves_the_choice_of_rules_to_the_others() {
    let (general, _) = limiter(Limit::per_minute(1));
    let (search, _) = limiter(Limit::per_minute(1));
    let service = RateLimitLayer::builder(general, ClientIp::new())
        .rule(search)
        .choose(|request: &Request<String>| Some(usize::from(request.uri().path() == "/search")))
        .skip(|request: &Request<String>| request.uri().path() == "/health")
        .build()
        .layer(Inner::default());
    let mut answers = Vec::new();
    for path in ["/search", "/", "/health", "/search", "/", "/health"] {
        answers.push(ask(&service, request(path, 1)).await);
    }
    assert_eq!(statuses(&answers), [200, 200, 200, 429, 429, 200]);
}

#[tokio::test]
async fn without_a_key_it_is_as_chosen() {
    let nobody = ClientAddr::new("203.0.113.9".parse().unwrap(), 64);
    for (no_key, expected) in [
        (NoKey::Deny, [403, 403, 403]),
        (NoKey::Allow, [200, 200, 200]),
        (NoKey::Common(nobody), [200, 200, 429]),
    ] {
        let (limiter, _) = limiter(Limit::per_minute(2));
        let inner = Inner::default();
        let service = RateLimitLayer::builder(limiter, ClientIp::new())
            .no_key(no_key)
            .build()
            .layer(inner.clone());
        let mut answers = Vec::new();
        for _ in 0..3 {
            answers.push(ask(&service, from_nowhere()).await);
        }
        assert_eq!(statuses(&answers), expected);
        assert!(!answers[2].headers().contains_key("retry-after") || expected[2] == 429);
        // Who has a key is not concerned.
        assert_eq!(ask(&service, request("/", 1)).await.status(), 200);
    }
}

#[tokio::test]
async fn one_state_for_all_needs_no_key() {
    let limiter = Arc::new(UnkeyedLimiter::new(Limit::per_hour(2)).expect("a limit"));
    let service =
        RateLimitLayer::new(limiter, |_: &Request<String>| Some(())).layer(Inner::default());
    let mut answers = Vec::new();
    for client in 0..3 {
        answers.push(ask(&service, request("/", client)).await);
    }
    assert_eq!(statuses(&answers), [200, 200, 429]);
}

#[tokio::test]
async fn a_key_can_be_several_things_at_once() {
    let ticker = ManualTicker::new(0);
    let limiter = RateLimiter::<(ClientAddr, String)>::builder(Limit::per_hour(1))
        .ticker(ticker)
        .build()
        .expect("a limit");
    let path = |request: &Request<String>| Some(request.uri().path().to_owned());
    let service =
        RateLimitLayer::new(Arc::new(limiter), (ClientIp::new(), path)).layer(Inner::default());
    let mut answers = Vec::new();
    for (path, client) in [("/a", 1), ("/b", 1), ("/a", 2), ("/a", 1)] {
        answers.push(ask(&service, request(path, client)).await);
    }
    assert_eq!(statuses(&answers), [200, 200, 200, 429]);
}

/// What an observer was told: the rule, whether there was a key, refused, admitted.
type Seen = (usize, bool, bool, bool);

#[tokio::test]
async fn an_observer_is_told_how_each_request_fared() {
    for (shadow, expected) in [
        (
            false,
            [
                (0, true, false, true),
                (0, true, true, false),
                (0, false, true, false),
            ],
        ),
        (
            true,
            [
                (0, true, false, true),
                (0, true, true, true),
                (0, false, true, true),
            ],
        ),
    ] {
        let seen = Arc::new(Mutex::new(Vec::<Seen>::new()));
        let notes = seen.clone();
        let (limiter, _) = limiter(Limit::per_minute(1));
        let service = RateLimitLayer::builder(limiter, ClientIp::new())
            .observe(move |outcome: &Outcome<'_, ClientAddr>| {
                assert_eq!(outcome.key.is_some(), outcome.decision.is_some());
                notes.lock().unwrap().push((
                    outcome.rule,
                    outcome.key.is_some(),
                    outcome.refused,
                    outcome.admitted,
                ));
            })
            .skip(|request: &Request<String>| request.uri().path() == "/health")
            .shadow(shadow)
            .build()
            .layer(Inner::default());
        let _ = ask(&service, request("/", 1)).await;
        let _ = ask(&service, request("/", 1)).await;
        let _ = ask(&service, from_nowhere()).await;
        let _ = ask(&service, request("/health", 1)).await;
        assert_eq!(*seen.lock().unwrap(), expected);
    }
}
