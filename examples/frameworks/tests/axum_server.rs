//! axum, which clones the service for each connection.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::get;
use tokio::net::TcpListener;
use tollgate::http::{ClientIp, DeniedBody, Headers, RateLimitLayer};

use crate::support::{Connection, limiter, status};

async fn serve(permits: u64) -> SocketAddr {
    let client = ClientIp::new()
        .peer_from(|extensions| Some(extensions.get::<ConnectInfo<SocketAddr>>()?.0));
    let layer = RateLimitLayer::builder(limiter(permits), client)
        .headers(Headers::Draft)
        .refusal(DeniedBody::Problem)
        .build();
    let app = Router::new().route("/", get(async || "hello")).layer(layer);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

#[tokio::test]
async fn two_connections_to_axum_share_one_count() {
    let server = serve(3).await;
    let mut first = Connection::open(server).await;
    let mut second = Connection::open(server).await;
    let statuses = [
        status(&first.get("/").await),
        status(&second.get("/").await),
        status(&first.get("/").await),
        status(&second.get("/").await),
        status(&first.get("/").await),
    ];
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
}

#[tokio::test]
async fn axums_answers_carry_the_headers() {
    let mut connection = Connection::open(serve(1).await).await;
    let allowed = connection.get("/").await;
    assert!(
        allowed.contains("ratelimit-policy: \"default\";q=1;w=3600\r\n"),
        "{allowed}"
    );
    assert!(
        allowed.contains("ratelimit: \"default\";r=0;t=3600\r\n"),
        "{allowed}"
    );
    let denied = connection.get("/").await;
    assert_eq!(status(&denied), 429);
    assert!(denied.contains("retry-after: 3600\r\n"), "{denied}");
    assert!(
        denied.contains("content-type: application/problem+json\r\n"),
        "{denied}"
    );
}
