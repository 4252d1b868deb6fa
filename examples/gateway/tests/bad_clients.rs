//! Clients that talk nonsense, and clients that vanish.

use tokio::io::AsyncReadExt;
use tollgate_gateway::{Settings, TrustFlags};

use crate::support::{Connection, gateway, get, limited, metric, until};

#[tokio::test]
async fn nonsense_is_a_bad_request_and_does_no_harm() {
    let gateway = limited("1000000/s").await;
    for nonsense in [
        &b"\x00\x01\x02\x03\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999999999999999\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        b"GET / HTTP/1.1\r\nx: \x00\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
    ] {
        let mut client = Connection::open(gateway.listen).await;
        client.write(nonsense).await;
        let reply = client.reply().await;
        let status = reply.as_ref().map_or(0, |reply| reply.status);
        assert!(
            matches!(status, 400 | 505 | 0),
            "{status} to {}",
            nonsense.escape_ascii()
        );
    }
    assert_eq!(get(gateway.listen, "/").await.status, 200);
}

#[tokio::test]
async fn a_head_without_end_is_cut_off() {
    let gateway = limited("1000000/s").await;
    let mut client = Connection::open(gateway.listen).await;
    client.write(b"GET / HTTP/1.1\r\n").await;
    let line = [b"x-long: ".as_slice(), &[b'a'; 10_000], b"\r\n"].concat();
    for _ in 0..200 {
        if tokio::io::AsyncWriteExt::write_all(&mut client.0, &line)
            .await
            .is_err()
        {
            break;
        }
    }
    let mut answer = Vec::new();
    let _ = client.0.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer}"
    );
    assert_eq!(get(gateway.listen, "/").await.status, 200);
}

#[tokio::test]
async fn there_are_no_tunnels() {
    let gateway = limited("1000000/s").await;
    let mut client = Connection::open(gateway.listen).await;
    client
        .write(b"CONNECT other:443 HTTP/1.1\r\nhost: other:443\r\n\r\n")
        .await;
    assert_eq!(client.reply().await.expect("a reply").status, 405);
}

/// Whatever is in the headers that are read for a client's address.
#[tokio::test]
async fn any_bytes_in_a_forwarded_header_are_the_peers_own_business() {
    let gateway = gateway(Settings {
        limits: vec!["3/h".parse().unwrap()],
        trust: TrustFlags {
            hops: 1,
            header: Some("forwarded".parse().unwrap()),
            ..TrustFlags::default()
        },
        ..Settings::default()
    })
    .await;
    let mut statuses = Vec::new();
    let long = [b'"'; 8_000];
    for value in [&b"\xff\xfe\"for="[..], b"for=\"[::", b";;;,,,", &long] {
        let mut client = Connection::open(gateway.listen).await;
        client
            .write(b"GET / HTTP/1.1\r\nhost: a\r\nforwarded: ")
            .await;
        client.write(value).await;
        client.write(b"\r\n\r\n").await;
        statuses.push(client.reply().await.expect("a reply").status);
    }
    assert_eq!(statuses, [200, 200, 200, 429], "all of them are the peer");
}

#[tokio::test]
async fn clients_that_vanish_leave_nothing_behind() {
    let gateway = limited("1000000/s").await;
    for _ in 0..20 {
        let mut client = Connection::open(gateway.listen).await;
        client
            .write(b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\nhello")
            .await;
        until(async || metric(&gateway, "gateway_requests_in_flight").await >= 1.0).await;
        drop(client);
        until(async || metric(&gateway, "gateway_requests_in_flight").await == 0.0).await;
    }
    assert_eq!(get(gateway.listen, "/").await.status, 200);
}

/// It asks for more than it reads: the gateway sends what fits, and holds no more.
#[tokio::test]
async fn a_client_that_does_not_read_is_not_sent_without_end() {
    let gateway = limited("1000000/s").await;
    let mut client = Connection::open(gateway.listen).await;
    client
        .write(b"GET /bytes/1000000000000 HTTP/1.1\r\nhost: a\r\n\r\n")
        .await;
    until(async || metric(&gateway, "gateway_requests_in_flight").await == 1.0).await;
    drop(client);
    until(async || metric(&gateway, "gateway_requests_in_flight").await == 0.0).await;
}
