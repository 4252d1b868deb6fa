//! Clients that show what goes over the wire.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tollgate::Limit;
use tollgate_gateway::{Gateway, Settings, start};

/// A gateway with one limit.
pub(crate) async fn limited(limit: &str) -> Gateway {
    gateway(Settings {
        limits: vec![limit.parse::<Limit>().expect("a limit")],
        ..Settings::default()
    })
    .await
}

pub(crate) async fn gateway(settings: Settings) -> Gateway {
    start(settings).await.expect("a gateway")
}

/// A connection that is kept alive.
pub(crate) struct Connection(pub(crate) TcpStream);

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// In lower case, a line each.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }
}

impl Connection {
    pub(crate) async fn open(server: SocketAddr) -> Self {
        Self(TcpStream::connect(server).await.expect("a server"))
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.send("GET", path, &[], b"").await
    }

    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("content-length: {}\r\n\r\n", body.len());
        self.write(head.as_bytes()).await;
        self.write(body).await;
        self.reply().await.expect("a reply")
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.expect("sent");
    }

    /// The next reply; `None` if the connection is closed instead.
    pub(crate) async fn reply(&mut self) -> Option<Reply> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.0.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).expect("text").to_lowercase();
        let status = head.split(' ').nth(1)?.parse().expect("a number");
        let mut reply = Reply {
            status,
            head,
            body: Vec::new(),
        };
        if let Some(length) = reply.header("content-length") {
            reply.body = vec![0; length.parse().expect("a number")];
            self.0.read_exact(&mut reply.body).await.ok()?;
        } else if reply.header("transfer-encoding") == Some("chunked") {
            loop {
                let mut size = Vec::new();
                while !size.ends_with(b"\r\n") {
                    size.push(self.0.read_u8().await.ok()?);
                }
                let size = std::str::from_utf8(&size).expect("text").trim();
                let size = usize::from_str_radix(size, 16).expect("a size");
                let mut chunk = vec![0; size + 2];
                self.0.read_exact(&mut chunk).await.ok()?;
                if size == 0 {
                    break;
                }
                reply.body.extend_from_slice(&chunk[..size]);
            }
        }
        Some(reply)
    }
}

pub(crate) async fn get(server: SocketAddr, path: &str) -> Reply {
    Connection::open(server).await.get(path).await
}

/// The number of a metric.
pub(crate) async fn metric(gateway: &Gateway, line: &str) -> f64 {
    let metrics = get(gateway.admin, "/metrics").await;
    let found = metrics
        .text()
        .lines()
        .find_map(|text| text.strip_prefix(line)?.trim().parse().ok());
    found.unwrap_or_else(|| panic!("no {line} in {}", metrics.text()))
}

/// Returns when it holds. (What others do is waited for, not a time.)
pub(crate) async fn until(mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..2_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it did not come to that in 10 s");
}
