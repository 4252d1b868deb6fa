//! The answer to a denied request.

use super::headers::{Headers, retry_after};
use super::policy::Answer;
use super::problem;
use crate::decision::Decision;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

/// What the body of a denied answer says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeniedBody {
    /// A line of plain text, for people.
    #[default]
    Text,
    /// `application/problem+json` (RFC 9457), for programs: the type `quota-exceeded` of
    /// draft-ietf-httpapi-ratelimit-headers, with the names of the limits that refuse.
    Problem,
}

impl DeniedBody {
    /// The answer to a request that was refused because no key could be had.
    pub(super) fn without_key(self) -> Response<String> {
        let status = StatusCode::FORBIDDEN;
        let body = match self {
            Self::Text => "forbidden: there is nothing to count this request by\n".to_owned(),
            Self::Problem => problem::without_key(status),
        };
        self.response(status, body)
    }

    /// The answer to a request that was refused because nobody could decide.
    pub(super) fn unavailable(self, retry_after: Option<u64>) -> Response<String> {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let text = match retry_after {
            Some(seconds) => format!("the limiter is not available: retry in {seconds} s"),
            None => "the limiter is not available".to_owned(),
        };
        let body = match self {
            Self::Text => text + "\n",
            Self::Problem => problem::reduced_capacity(status, &text),
        };
        self.response(status, body)
    }

    fn response(self, status: StatusCode, body: String) -> Response<String> {
        let content_type = match self {
            Self::Text => "text/plain; charset=utf-8",
            Self::Problem => "application/problem+json",
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        response
    }
}

/// The answer to a denied request: status 429, `Retry-After`, the headers of a dialect and a body.
///
/// A request that can never fit is told so, and not to come back.
///
/// # Examples
///
/// ```
/// use tollgate::http::{Answer, DeniedBody, Headers, PolicyName, denied_response};
/// use tollgate::{Limit, ManualTicker, RateLimiter};
///
/// let limit = Limit::per_minute(1);
/// let limiter = RateLimiter::<u64>::builder(limit).ticker(ManualTicker::new(0)).build()?;
/// let _ = limiter.try_acquire(&7);
/// let decision = limiter.try_acquire(&7);
///
/// let name = PolicyName::default();
/// let each = [Answer { name: &name, limit, decision }];
/// let response = denied_response(Headers::Draft, DeniedBody::Text, &decision, &each);
/// assert_eq!(response.status(), 429);
/// assert_eq!(response.headers()["retry-after"], "60");
/// assert_eq!(response.headers()["ratelimit"], r#""default";r=0;t=60"#);
/// assert_eq!(response.body(), "too many requests: retry in 60 s\n");
/// # Ok::<(), tollgate::LimitError>(())
/// ```
pub fn denied_response(
    headers: Headers,
    body: DeniedBody,
    decision: &Decision,
    each: &[Answer<'_>],
) -> Response<String> {
    let status = StatusCode::TOO_MANY_REQUESTS;
    let retry_after = retry_after(decision, each);
    let text = match retry_after {
        Some(seconds) => format!("too many requests: retry in {seconds} s"),
        None => "too large a request: it asks for more than the limit can ever hold".to_owned(),
    };
    let text = match body {
        DeniedBody::Text => text + "\n",
        DeniedBody::Problem => problem::quota_exceeded(status, &text, each),
    };
    let mut response = body.response(status, text);
    if let Some(seconds) = retry_after {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    headers.write(decision, each, response.headers_mut());
    response
}
