//! The second address: metrics, and a page that lives.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};

use crate::body::Answer;
use crate::metrics::Metrics;
use crate::upstream::text;

const PAGE: &str = include_str!("page.html");

pub(crate) fn answer<B>(request: &Request<B>, metrics: &Metrics) -> Response<Answer> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return text(StatusCode::METHOD_NOT_ALLOWED, "GET only\n".to_owned());
    }
    let (content_type, body) = match request.uri().path() {
        "/" => ("text/html; charset=utf-8", PAGE.to_owned()),
        "/metrics" => (
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            metrics.text(),
        ),
        "/stats.json" => ("application/json", metrics.json()),
        _ => {
            return text(
                StatusCode::NOT_FOUND,
                "/, /metrics or /stats.json\n".to_owned(),
            );
        }
    };
    let mut response = Response::new(Answer::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // The page is all there is: it loads nothing from elsewhere, and nothing that a key says runs.
    headers.insert(
        "content-security-policy",
        HeaderValue::from_static("default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"),
    );
    response
}
