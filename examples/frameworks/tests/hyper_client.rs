//! The other way round: a client that spares the servers that it calls.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use http::{Request, Response};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tollgate::http::RateLimitLayer;
use tollgate::{Limit, RateLimiter};
use tower::{Layer, Service, ServiceExt, service_fn};

async fn serve(served: Arc<AtomicUsize>) -> SocketAddr {
    let count = move || {
        served.fetch_add(1, Ordering::Relaxed);
        std::future::ready("hello")
    };
    let app = Router::new().route("/", get(count));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

/// Calls that go no faster than a limit for each host.
fn calls(limit: Limit) -> impl Service<Request<Body>, Response = Response<Body>, Error = Error> {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let host = |request: &Request<Body>| Some(request.uri().authority()?.to_string());
    let limiter = RateLimiter::<String>::new(limit).expect("a limit that can be kept");
    // The layer makes answers of its own, so that bodies have to be of a type that it can make.
    let client = client.map_response(|answer| answer.map(Body::new));
    RateLimitLayer::new(Arc::new(limiter), host).layer(client)
}

#[tokio::test]
async fn a_call_that_is_refused_does_not_leave_the_client() {
    let served = Arc::new(AtomicUsize::new(0));
    let server = serve(served.clone()).await;
    let other = serve(Arc::default()).await;
    let mut calls = calls(Limit::per_hour(2));
    let mut statuses = Vec::new();
    for server in [server, server, server, other, server] {
        let request = Request::get(format!("http://{server}/")).body(Body::empty());
        let ready = calls.ready().await.expect("ready");
        let answer = ready.call(request.expect("a request")).await;
        statuses.push(answer.expect("an answer").status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 429, 200, 429]);
    assert_eq!(served.load(Ordering::Relaxed), 2);
}

/// That nothing else is asked of an inner service than that it takes and gives HTTP.
#[tokio::test]
async fn bodies_can_be_anything() {
    struct Body;
    struct Answer;
    impl From<String> for Answer {
        fn from(_: String) -> Self {
            Self
        }
    }
    let limiter = RateLimiter::<()>::new(Limit::per_hour(1)).expect("a limit");
    let mut service = RateLimitLayer::new(Arc::new(limiter), |_: &Request<Body>| Some(())).layer(
        service_fn(async |_: Request<Body>| Ok::<_, Infallible>(Response::new(Answer))),
    );
    let mut ask = async || {
        let answer = service
            .ready()
            .await
            .unwrap()
            .call(Request::new(Body))
            .await;
        answer.unwrap().status().as_u16()
    };
    assert_eq!((ask().await, ask().await), (200, 429));
}
