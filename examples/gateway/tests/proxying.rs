//! What a reverse proxy owes to both sides.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tollgate_gateway::{Gateway, Settings};

use crate::support::{Connection, gateway, get, limited, metric, until};

async fn in_front_of(upstream: SocketAddr) -> Gateway {
    gateway(Settings {
        upstream: Some(format!("http://{upstream}").parse().unwrap()),
        limits: vec!["1000000/s".parse().unwrap()],
        ..Settings::default()
    })
    .await
}

/// What an upstream has seen of a request, and the connection to answer on.
async fn seen(upstream: &TcpListener) -> (String, TcpStream) {
    let (mut stream, _) = upstream.accept().await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    (String::from_utf8(head).unwrap().to_lowercase(), stream)
}

#[tokio::test]
async fn requests_and_answers_pass_with_what_belongs_to_them() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = upstream.local_addr().unwrap();
    let gateway = in_front_of(address).await;
    let served = tokio::spawn(async move {
        let (head, mut stream) = seen(&upstream).await;
        let answer = b"HTTP/1.1 201 Created\r\nx-kept: 1\r\nkeep-alive: timeout=5\r\ncontent-length: 2\r\n\r\nok";
        stream.write_all(answer).await.unwrap();
        head
    });
    let mut client = Connection::open(gateway.listen).await;
    let headers = [
        ("x-forwarded-for", "9.9.9.9"),
        ("connection", "x-private"),
        ("x-private", "1"),
        ("x-kept", "2"),
    ];
    let reply = client.send("POST", "/a%20b?c=d", &headers, b"").await;
    assert_eq!((reply.status, reply.text()), (201, "ok"));
    assert_eq!(reply.header("x-kept"), Some("1"));
    assert_eq!(reply.header("keep-alive"), None);
    let head = served.await.unwrap();
    assert!(head.starts_with("post /a%20b?c=d http/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("host: {address}\r\n")), "{head}");
    assert!(
        head.contains("x-kept: 2\r\n") && !head.contains("x-private"),
        "{head}"
    );
    let ours = head.rfind("x-forwarded-for: 127.0.0.1\r\n").expect("ours");
    assert!(head.find("9.9.9.9").expect("theirs") < ours, "{head}");
}

#[tokio::test]
async fn bodies_stream_both_ways() {
    let inner = limited("1000000/s").await;
    let outer = in_front_of(inner.listen).await;
    let mut client = Connection::open(outer.listen).await;
    let body: Vec<u8> = (0..3_000_000_u32).map(|n| n as u8).collect();
    // The first half has to come back before the second is sent.
    let head = format!(
        "POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    client.write(head.as_bytes()).await;
    let (first, second) = body.split_at(100);
    client.write(first).await;
    let mut answer = Vec::new();
    while !answer.ends_with(first) {
        answer.push(client.0.read_u8().await.unwrap());
    }
    let (mut reading, mut writing) = client.0.into_split();
    let sent = second.to_vec();
    let sending = tokio::spawn(async move {
        writing.write_all(&sent).await.unwrap();
        writing
    });
    let mut rest = vec![0; second.len()];
    let length_was_told = String::from_utf8_lossy(&answer)
        .to_lowercase()
        .contains("content-length");
    if length_was_told {
        reading.read_exact(&mut rest).await.unwrap();
        assert!(rest == second);
    } else {
        // In chunks: as many bytes and more.
        let mut chunks = Vec::new();
        while !chunks.ends_with(b"\r\n0\r\n\r\n") {
            chunks.push(reading.read_u8().await.unwrap());
        }
        assert!(chunks.len() > second.len());
    }
    sending.await.unwrap();
}

#[tokio::test]
async fn an_upstream_that_is_not_there_is_a_bad_gateway() {
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let gateway = in_front_of(address).await;
    let reply = get(gateway.listen, "/").await;
    assert_eq!(
        (reply.status, reply.text()),
        (502, "bad gateway: the upstream does not answer\n")
    );
}

#[tokio::test]
async fn an_upstream_that_hangs_up_is_a_bad_gateway() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gateway = in_front_of(upstream.local_addr().unwrap()).await;
    let served = tokio::spawn(async move { drop(seen(&upstream).await) });
    assert_eq!(get(gateway.listen, "/").await.status, 502);
    served.await.unwrap();
}

#[tokio::test]
async fn a_body_that_breaks_is_the_clients_fault() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gateway = in_front_of(upstream.local_addr().unwrap()).await;
    let served = tokio::spawn(async move {
        let (_, mut stream) = seen(&upstream).await;
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    });
    let mut client = Connection::open(gateway.listen).await;
    let broken = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nnonsense\r\n";
    client.write(broken).await;
    if let Some(reply) = client.reply().await {
        assert_eq!(reply.status, 400);
    }
    drop(client);
    served.await.unwrap();
}

#[tokio::test]
async fn an_old_upstream_is_answered_for_in_todays_http() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gateway = in_front_of(upstream.local_addr().unwrap()).await;
    let served = tokio::spawn(async move {
        let (_, mut stream) = seen(&upstream).await;
        stream
            .write_all(b"HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\nold")
            .await
            .unwrap();
    });
    let reply = get(gateway.listen, "/").await;
    assert!(reply.head.starts_with("http/1.1 200"), "{}", reply.head);
    assert_eq!(reply.text(), "old");
    served.await.unwrap();
}

#[tokio::test]
async fn connections_to_the_upstream_are_used_again() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gateway = in_front_of(upstream.local_addr().unwrap()).await;
    let served = tokio::spawn(async move {
        // One connection is accepted, and no other.
        let (_, mut stream) = seen(&upstream).await;
        for _ in 0..3 {
            stream
                .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
                .await
                .unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => return,
                }
            }
        }
    });
    let mut client = Connection::open(gateway.listen).await;
    for _ in 0..3 {
        assert_eq!(client.get("/").await.status, 204);
    }
    drop(client);
    served.abort();
}

#[tokio::test]
async fn to_stop_finishes_what_is_running_and_accepts_nobody() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gateway = in_front_of(upstream.local_addr().unwrap()).await;
    let listen = gateway.listen;
    let running = tokio::spawn(async move { get(listen, "/").await });
    let (_, mut stream) = seen(&upstream).await;
    assert_eq!(metric(&gateway, "gateway_requests_in_flight").await, 1.0);
    let stopping = tokio::spawn(gateway.stop());
    until(async || TcpStream::connect(listen).await.is_err()).await;
    assert!(!stopping.is_finished(), "one is still being served");
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nlate")
        .await
        .unwrap();
    assert_eq!(running.await.unwrap().text(), "late");
    stopping.await.unwrap();
}
