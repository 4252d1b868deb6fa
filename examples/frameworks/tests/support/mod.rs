//! A client that shows what goes over the wire.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tollgate::http::ClientAddr;
use tollgate::{Limit, RateLimiter};

/// So many requests for each address, and none again for an hour.
pub(crate) fn limiter(permits: u64) -> Arc<RateLimiter<ClientAddr>> {
    let limit = Limit::per_hour(permits);
    Arc::new(RateLimiter::new(limit).expect("a limit that can be kept"))
}

/// A connection that is kept alive.
pub(crate) struct Connection(TcpStream);

impl Connection {
    pub(crate) async fn open(server: SocketAddr) -> Self {
        Self(TcpStream::connect(server).await.expect("a server"))
    }

    /// The head of the answer to `GET path`, in lower case.
    pub(crate) async fn get(&mut self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        self.0.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = Vec::new();
        let head = loop {
            let mut byte = [0];
            self.0.read_exact(&mut byte).await.expect("an answer");
            answer.push(byte[0]);
            if answer.ends_with(b"\r\n\r\n") {
                break String::from_utf8(answer).expect("text").to_lowercase();
            }
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().expect("a number"));
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.expect("a body");
        head
    }
}

/// The status in the head of an answer.
pub(crate) fn status(head: &str) -> u16 {
    let code = head.split(' ').nth(1).expect("a status line");
    code.parse().expect("a number")
}
