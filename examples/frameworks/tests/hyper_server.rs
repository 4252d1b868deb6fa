//! hyper by itself: whoever accepts the connection says where it comes from.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tollgate::http::{ClientIp, PeerAddr, RateLimitLayer};
use tower::{Layer, ServiceExt, service_fn};

use crate::support::{Connection, limiter, status};

async fn serve(permits: u64) -> SocketAddr {
    let limited = RateLimitLayer::new(limiter(permits), ClientIp::new()).layer(service_fn(
        async |_: Request<Incoming>| {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("hello"))))
        },
    ));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, peer)) = listener.accept().await {
            let service = limited
                .clone()
                .map_request(move |mut request: Request<Incoming>| {
                    request.extensions_mut().insert(PeerAddr(peer));
                    request
                });
            tokio::spawn(async move {
                let _ = Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
                    .await;
            });
        }
    });
    address
}

#[tokio::test]
async fn two_connections_to_hyper_share_one_count() {
    let server = serve(2).await;
    let mut first = Connection::open(server).await;
    let mut second = Connection::open(server).await;
    let statuses = [
        status(&first.get("/").await),
        status(&second.get("/").await),
        status(&first.get("/").await),
        status(&second.get("/").await),
    ];
    assert_eq!(statuses, [200, 200, 429, 429]);
}

#[tokio::test]
async fn hypers_denied_answers_say_when_to_come_back() {
    let mut connection = Connection::open(serve(1).await).await;
    let allowed = connection.get("/").await;
    assert!(
        !allowed.contains("ratelimit"),
        "none were asked for: {allowed}"
    );
    let denied = connection.get("/").await;
    assert_eq!(status(&denied), 429);
    assert!(denied.contains("retry-after: 3600\r\n"), "{denied}");
}
