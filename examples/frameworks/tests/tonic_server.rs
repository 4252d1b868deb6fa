//! tonic: a refusal is a status of gRPC, which its client understands.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tollgate::http::{ClientIp, Grpc, RateLimitLayer};
use tonic::Code;
use tonic::transport::server::TcpConnectInfo;
use tonic::transport::{Channel, Endpoint, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::support::limiter;

async fn serve(permits: u64) -> SocketAddr {
    let client =
        ClientIp::new().peer_from(|extensions| extensions.get::<TcpConnectInfo>()?.remote_addr());
    let layer = RateLimitLayer::builder(limiter(permits), client)
        .refusal(Grpc)
        .build();
    let (_, health) = tonic_health::server::health_reporter();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = Server::builder().layer(layer).add_service(health);
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    address
}

async fn client(server: SocketAddr) -> HealthClient<Channel> {
    let channel = Endpoint::try_from(format!("http://{server}")).expect("an address");
    HealthClient::new(channel.connect().await.expect("a server"))
}

#[tokio::test]
async fn tonics_clients_are_told_that_the_quota_is_exhausted() {
    let server = serve(2).await;
    // Two clients at one address, on a connection each.
    let (mut first, mut second) = (client(server).await, client(server).await);
    let ask = || HealthCheckRequest {
        service: String::new(),
    };
    assert!(first.check(ask()).await.is_ok());
    assert!(second.check(ask()).await.is_ok());
    let refused = first.check(ask()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(refused.message(), "too many requests");
    let pushback = refused.metadata().get("grpc-retry-pushback-ms");
    let pushback: u64 = pushback.expect("a wait").to_str().unwrap().parse().unwrap();
    assert!((1..=1_800_000).contains(&pushback), "{pushback} ms");
}
