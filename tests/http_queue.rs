//! The layer whose requests wait for their turn, under a paused clock.
#![cfg(all(feature = "tower", feature = "tokio"))]

#[path = "http_layer/inner.rs"]
mod inner;

use http::{Request, Response};
use inner::{Inner, ask, request};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;
use tollgate::http::{ClientAddr, ClientIp, Headers, NoKey, Outcome, Queue, RateLimitLayer};
use tollgate::{AllOf, Limit, RateLimiter, TokenBucket, TokioTicker, WaitPolicy};
use tower::{Layer, Service, ServiceExt};

type Limiter = RateLimiter<ClientAddr, TokenBucket, TokioTicker>;
type Queued = Queue<Inner, Limiter, ClientIp>;

const SECOND: Duration = Duration::from_secs(1);

fn limiter(limit: Limit) -> Arc<Limiter> {
    let limiter = RateLimiter::builder(limit)
        .ticker(TokioTicker::new())
        .build();
    Arc::new(limiter.expect("a limit that can be kept"))
}

fn queued(limiter: Arc<Limiter>, inner: &Inner, longest: Duration) -> Queued {
    RateLimitLayer::new(limiter, ClientIp::new())
        .queue(longest)
        .layer(inner.clone())
}

/// The answer, and after how long it came.
async fn timed<S>(service: &S, path: &str) -> (u16, Duration)
where
    S: Service<Request<String>, Response = Response<String>> + Clone,
    S::Error: std::fmt::Debug,
{
    let since = Instant::now();
    let answer = ask(service, request(path, 1)).await;
    (answer.status().as_u16(), since.elapsed())
}

#[tokio::test(start_paused = true)]
async fn requests_wait_for_their_turn_and_come_in_order() {
    let inner = Inner::default();
    let service = queued(limiter(Limit::per_second(1)), &inner, 3 * SECOND);
    let ask = || timed(&service, "/");
    let (a, b, c, d, e) = tokio::join!(ask(), ask(), ask(), ask(), ask());
    // The last one would have been next after four seconds, and waits no longer than three.
    assert_eq!(
        [a, b, c, d],
        [(200, 0), (200, 1), (200, 2), (200, 3)].map(|(s, t)| (s, SECOND * t))
    );
    assert_eq!(e, (429, 3 * SECOND));
    assert_eq!(inner.calls(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_would_wait_too_long_is_refused_at_once() {
    let inner = Inner::default();
    let service = queued(limiter(Limit::per_minute(1)), &inner, 3 * SECOND);
    assert_eq!(timed(&service, "/").await, (200, Duration::ZERO));
    let refused = ask(&service, request("/", 1)).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "60");
    assert_eq!(inner.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_can_never_be_had_is_not_waited_for() {
    let service = RateLimitLayer::builder(limiter(Limit::per_second(5)), ClientIp::new())
        .cost(|_: &Request<String>| 6)
        .build()
        .queue(3 * SECOND)
        .layer(Inner::default());
    assert_eq!(timed(&service, "/").await, (429, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn no_more_wait_than_may() {
    let limiter = RateLimiter::builder(Limit::per_second(1))
        .ticker(TokioTicker::new())
        .wait_policy(WaitPolicy::new().max_waiters(1))
        .build()
        .expect("a limit");
    let service = queued(Arc::new(limiter), &Inner::default(), 3 * SECOND);
    let ask = || timed(&service, "/");
    let (a, b, c) = tokio::join!(ask(), ask(), ask());
    assert_eq!(
        [a, b, c],
        [(200, Duration::ZERO), (200, SECOND), (429, Duration::ZERO)]
    );
}

/// It polls one service ready and calls that one, however long the request waits.
#[tokio::test(start_paused = true)]
async fn the_service_that_is_called_is_the_one_that_was_ready() {
    let inner = Inner::choosy();
    let mut service = queued(limiter(Limit::per_second(1)), &inner, 3 * SECOND);
    let mut answers = Vec::new();
    for _ in 0..3 {
        let ready = service.ready().await.expect("ready");
        answers.push(tokio::spawn(ready.call(request("/", 1))));
    }
    for answer in answers {
        assert_eq!(answer.await.unwrap().expect("an answer").status(), 200);
    }
    assert_eq!(inner.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_given_up_leaves_its_place_and_spends_nothing() {
    let (limiter, inner) = (limiter(Limit::per_second(1)), Inner::default());
    let service = queued(limiter.clone(), &inner, 10 * SECOND);
    let _ = ask(&service, request("/", 1)).await;
    let given_up = tokio::time::timeout(SECOND / 2, ask(&service, request("/", 1))).await;
    assert!(given_up.is_err());
    assert_eq!((limiter.waiters(), inner.calls()), (0, 1));
    assert_eq!(timed(&service, "/").await, (200, SECOND / 2));
}

/// What an observer was told: refused, admitted, and after how long.
type Seen = (bool, bool, Duration);

#[tokio::test(start_paused = true)]
async fn answers_and_observers_are_told_how_it_ended() {
    let since = Instant::now();
    let seen = Arc::new(Mutex::new(Vec::<Seen>::new()));
    let notes = seen.clone();
    let both = RateLimiter::<ClientAddr>::builder([Limit::per_second(1), Limit::per_minute(3)])
        .algorithm(AllOf)
        .ticker(TokioTicker::new())
        .build()
        .expect("limits");
    let service = RateLimitLayer::builder(Arc::new(both), ClientIp::new())
        .headers(Headers::Draft)
        .observe(move |outcome: &Outcome<'_, ClientAddr>| {
            let note = (outcome.refused, outcome.admitted, since.elapsed());
            notes.lock().unwrap().push(note);
        })
        .build()
        .queue(2 * SECOND)
        .layer(Inner::default());
    let mut told = Vec::new();
    for _ in 0..4 {
        let answer = ask(&service, request("/", 1)).await;
        told.push((
            answer.status().as_u16(),
            answer.headers()["ratelimit"].to_str().unwrap().to_owned(),
        ));
    }
    let expected = [
        (200, r#""limit-1";r=0;t=1, "limit-2";r=2;t=20"#),
        (200, r#""limit-1";r=0;t=1, "limit-2";r=1;t=19"#),
        (200, r#""limit-1";r=0;t=1, "limit-2";r=0;t=18"#),
        (429, r#""limit-1";r=0;t=1, "limit-2";r=0;t=18"#),
    ];
    assert_eq!(
        told,
        expected.map(|(status, text)| (status, text.to_owned()))
    );
    let times = [
        (false, true, 0),
        (false, true, 1),
        (false, true, 2),
        (true, false, 2),
    ];
    let times = times.map(|(refused, admitted, at)| (refused, admitted, SECOND * at));
    assert_eq!(*seen.lock().unwrap(), times);
}

#[tokio::test(start_paused = true)]
async fn who_is_not_counted_does_not_wait_and_a_shadow_lets_all_through_at_once() {
    let layer = |shadow| {
        RateLimitLayer::builder(limiter(Limit::per_minute(1)), ClientIp::new())
            .skip(|request: &Request<String>| request.uri().path() == "/health")
            .no_key(NoKey::Deny)
            .shadow(shadow)
            .build()
            .queue(3 * SECOND)
    };
    let service = layer(false).clone().layer(Inner::default());
    let _ = ask(&service, request("/", 1)).await;
    assert_eq!(timed(&service, "/health").await, (200, Duration::ZERO));
    let nobody = Request::get("/").body(String::new()).expect("a request");
    assert_eq!(ask(&service, nobody).await.status(), 403);

    let service = layer(true).layer(Inner::default());
    let _ = ask(&service, request("/", 1)).await;
    let shadowed = ask(&service, request("/", 1)).await;
    assert_eq!(shadowed.headers()["x-ratelimit-shadow"], "denied");
    assert_eq!(timed(&service, "/").await, (200, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn the_inner_services_error_comes_through_after_a_wait() {
    let mut service = queued(limiter(Limit::per_second(1)), &Inner::failing(), 3 * SECOND);
    for _ in 0..2 {
        let ready = service.ready().await.expect("ready");
        let error = ready.call(request("/", 1)).await.unwrap_err();
        assert_eq!(error.to_string(), "the inner service fails");
    }
    assert!(!format!("{service:?}").is_empty());
    fn sent<T: Send>(_: T) {}
    sent(service.call(request("/", 1)));
}
