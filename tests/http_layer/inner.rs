//! A service to be wrapped, which counts its calls; and how to ask one.

#![allow(dead_code, reason = "each test uses a part of it")]

use http::{Request, Response};
use std::fmt;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tollgate::http::PeerAddr;
use tower::{Service, ServiceExt};

/// A request for a path, from one of many clients.
pub(crate) fn request(path: &str, client: u8) -> Request<String> {
    let peer = SocketAddr::from((Ipv4Addr::new(192, 0, 2, client), 4711));
    Request::get(path)
        .extension(PeerAddr(peer))
        .body(String::new())
        .expect("a request")
}

/// The answer of a clone of `service`, as servers ask.
pub(crate) async fn ask<S>(service: &S, request: Request<String>) -> Response<String>
where
    S: Service<Request<String>, Response = Response<String>> + Clone,
    S::Error: fmt::Debug,
{
    service.clone().oneshot(request).await.expect("an answer")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Answers,
    Fails,
    NeverEnds,
}

#[derive(Default)]
struct Counts {
    calls: AtomicUsize,
    running: AtomicUsize,
}

/// A service that answers `hello`, with a header of its own.
pub(crate) struct Inner {
    manner: Manner,
    /// Whether it panics when it is called without having been asked whether it is ready.
    choosy: bool,
    ready: bool,
    counts: Arc<Counts>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            manner: Manner::Answers,
            choosy: false,
            ready: false,
            counts: Arc::default(),
        }
    }
}

impl Clone for Inner {
    fn clone(&self) -> Self {
        Self {
            manner: self.manner,
            choosy: self.choosy,
            // What was ready was the other one.
            ready: false,
            counts: self.counts.clone(),
        }
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inner")
    }
}

impl Inner {
    pub(crate) fn choosy() -> Self {
        Self {
            choosy: true,
            ..Self::default()
        }
    }

    pub(crate) fn failing() -> Self {
        Self {
            manner: Manner::Fails,
            ..Self::default()
        }
    }

    pub(crate) fn pending() -> Self {
        Self {
            manner: Manner::NeverEnds,
            ..Self::default()
        }
    }

    pub(crate) fn calls(&self) -> usize {
        self.counts.calls.load(Ordering::Relaxed)
    }

    /// How many calls have been made whose answers were neither given nor dropped.
    pub(crate) fn running(&self) -> usize {
        self.counts.running.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
pub(crate) struct Failure;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the inner service fails")
    }
}

impl std::error::Error for Failure {}

impl Service<Request<String>> for Inner {
    type Response = Response<String>;
    type Error = Failure;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<String>) -> Answering {
        assert!(self.ready || !self.choosy, "called, but not ready");
        self.ready = false;
        self.counts.calls.fetch_add(1, Ordering::Relaxed);
        self.counts.running.fetch_add(1, Ordering::Relaxed);
        Answering {
            manner: self.manner,
            counts: self.counts.clone(),
        }
    }
}

pub(crate) struct Answering {
    manner: Manner,
    counts: Arc<Counts>,
}

impl Future for Answering {
    type Output = Result<Response<String>, Failure>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        match self.manner {
            Manner::Answers => Poll::Ready(Ok(Response::builder()
                .header("x-inner", "yes")
                .body("hello".to_owned())
                .expect("a response"))),
            Manner::Fails => Poll::Ready(Err(Failure)),
            Manner::NeverEnds => Poll::Pending,
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.counts.running.fetch_sub(1, Ordering::Relaxed);
    }
}
