//! Requests on their way to the upstream, and answers on their way back.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri, Version};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tollgate::http::PeerAddr;
use tracing::warn;

use crate::Error;
use crate::body::Answer;
use crate::patient::Patient;
use crate::sparse::Sparse;
use crate::upstream;

/// An upstream has so long to begin its answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client may pause so long in a body.
const PAUSE: Duration = Duration::from_secs(30);

/// Between two parties, and not for those behind them (RFC 9110, 7.6.1).
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Passes requests on, or answers them if there is nowhere to. Clones share connections.
#[derive(Clone)]
pub(crate) enum Proxy {
    BuiltIn,
    To(Arc<Upstream>),
}

pub(crate) struct Upstream {
    client: Client<HttpConnector, Patient>,
    address: Uri,
    log: Sparse,
}

impl Proxy {
    pub(crate) fn new(upstream: Option<&Uri>) -> Result<Self, Error> {
        let Some(upstream) = upstream else {
            return Ok(Self::BuiltIn);
        };
        let authority = upstream
            .authority()
            .map_or("", |authority| authority.as_str());
        let is_bare = upstream.path() == "/" && upstream.query().is_none();
        if upstream.scheme_str() != Some("http") || !is_bare || authority.contains('@') {
            return Err(format!(
                "the upstream '{upstream}' is not one of http://HOST or http://HOST:PORT"
            )
            .into());
        }
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(Duration::from_secs(5)));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .build(connector);
        Ok(Self::To(Arc::new(Upstream {
            client,
            address: upstream.clone(),
            log: Sparse::new(),
        })))
    }

    pub(crate) async fn answer(self, request: Request<Incoming>) -> Response<Answer> {
        if let Some(refusal) = refuse(&request) {
            return refusal;
        }
        let request = request.map(|body| Patient::new(body, PAUSE));
        let upstream = match self {
            Self::BuiltIn => return upstream::answer(request),
            Self::To(upstream) => upstream,
        };
        let Upstream {
            client,
            address,
            log,
        } = &*upstream;
        let request = match onwards(request, address) {
            Ok(request) => request,
            Err(error) => return upstream::text(StatusCode::BAD_REQUEST, format!("{error}\n")),
        };
        match tokio::time::timeout(PATIENCE, client.request(request)).await {
            Ok(Ok(mut response)) => {
                *response.version_mut() = Version::HTTP_11;
                remove_hop_by_hop(response.headers_mut());
                response.map(Answer::streamed)
            }
            Ok(Err(error)) if is_the_clients(&error) => {
                let text = "bad request: the body is broken, or pauses for too long\n";
                upstream::text(StatusCode::BAD_REQUEST, text.to_owned())
            }
            Ok(Err(error)) => {
                if let Some(left_out) = log.line() {
                    warn!(upstream = %address, %error, left_out, "the upstream does not answer");
                }
                let text = "bad gateway: the upstream does not answer\n";
                upstream::text(StatusCode::BAD_GATEWAY, text.to_owned())
            }
            Err(_) => {
                if let Some(left_out) = log.line() {
                    let patience = PATIENCE;
                    warn!(upstream = %address, ?patience, left_out, "the upstream takes too long");
                }
                let text = "gateway timeout: the upstream takes too long\n";
                upstream::text(StatusCode::GATEWAY_TIMEOUT, text.to_owned())
            }
        }
    }
}

/// What no proxy may pass on (RFC 9112, 3.2), and what this one does not.
fn refuse(request: &Request<Incoming>) -> Option<Response<Answer>> {
    let hosts = request.headers().get_all(HOST).iter().count();
    if hosts > 1 || (hosts == 0 && request.version() == Version::HTTP_11) {
        let text = format!("bad request: {hosts} host headers instead of one\n");
        return Some(upstream::text(StatusCode::BAD_REQUEST, text));
    }
    if request.method() == Method::CONNECT {
        let text = "no tunnels\n".to_owned();
        return Some(upstream::text(StatusCode::METHOD_NOT_ALLOWED, text));
    }
    None
}

/// Whether it was the request's body that failed, and not the upstream.
fn is_the_clients(error: &hyper_util::client::legacy::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if error
            .downcast_ref::<hyper::Error>()
            .is_some_and(hyper::Error::is_user)
        {
            return true;
        }
        source = error.source();
    }
    false
}

/// The request as the upstream is to see it.
fn onwards(mut request: Request<Patient>, upstream: &Uri) -> Result<Request<Patient>, Error> {
    let path = request.uri().path_and_query().cloned();
    let mut parts = upstream.clone().into_parts();
    parts.path_and_query = Some(path.unwrap_or_else(|| http::uri::PathAndQuery::from_static("/")));
    *request.uri_mut() = Uri::from_parts(parts)?;
    *request.version_mut() = Version::HTTP_11;
    let peer = request
        .extensions()
        .get::<PeerAddr>()
        .map(|peer| peer.0.ip());
    let headers = request.headers_mut();
    remove_hop_by_hop(headers);
    headers.remove(HOST); // The client writes the upstream's.
    if let Some(peer) = peer {
        append_forwarded_for(headers, peer);
    }
    Ok(request)
}

/// The client's lines stay, and ours is the last: whoever trusts us reads from the right.
fn append_forwarded_for(headers: &mut HeaderMap, peer: IpAddr) {
    let peer =
        HeaderValue::try_from(peer.to_canonical().to_string()).expect("digits, dots, colons");
    headers.append(FORWARDED_FOR, peer);
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_two_parties_stays_between_them() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, x-mine"),
            ("connection", "X-Other"),
            ("x-mine", "1"),
            ("x-other", "1"),
            ("te", "trailers"),
            ("upgrade", "websocket"),
            ("accept", "*/*"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        remove_hop_by_hop(&mut headers);
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["accept"]);
    }

    #[test]
    fn our_word_on_the_client_is_the_last() {
        let mut headers = HeaderMap::new();
        headers.insert(FORWARDED_FOR, "9.9.9.9".parse().unwrap());
        append_forwarded_for(&mut headers, "::ffff:203.0.113.7".parse().unwrap());
        let all: Vec<_> = headers.get_all(FORWARDED_FOR).iter().collect();
        assert_eq!(all, ["9.9.9.9", "203.0.113.7"]);
    }

    #[test]
    fn an_upstream_is_an_address_over_http() {
        for wrong in [
            "https://localhost",
            "localhost:80",
            "/path",
            "http://a/b",
            "http://a?b",
            "http://c@a",
        ] {
            let error = Proxy::new(Some(&wrong.parse().unwrap()))
                .err()
                .expect("an error");
            assert!(error.to_string().contains("http://HOST"), "{error}");
        }
    }
}
