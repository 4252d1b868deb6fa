//! What a refused request is answered.

use super::denied::{DeniedBody, denied_response};
use super::headers::{Headers, retry_after};
use super::policy::Answer;
use crate::decision::Decision;
use http::{HeaderValue, Response, StatusCode, header};

/// A request that a layer does not let through.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Refused<'a> {
    /// What the limiter answered; `None` if it was not asked, because no key could be had.
    pub decision: Option<&'a Decision>,
    /// What each limit answered; empty where that is not known.
    pub each: &'a [Answer<'a>],
    /// Whether nobody has decided, because the store that limits are counted in does not answer: the
    /// service is not available, rather than the client too fast.
    pub unavailable: bool,
}

impl Refused<'_> {
    pub(super) fn without_key() -> Self {
        Self {
            decision: None,
            each: &[],
            unavailable: false,
        }
    }

    /// The whole seconds after which the same request would be let through: what `Retry-After` says.
    /// `None` where no waiting helps.
    pub fn retry_after(&self) -> Option<u64> {
        retry_after(self.decision?, self.each)
    }
}

/// Makes the answer to a refused request. [`DeniedBody`] and [`Grpc`] do, and so does a closure from
/// `&Refused` to `Response<B>`.
///
/// The layer adds `Retry-After` and the headers of its dialect to whatever is made, unless a
/// `Retry-After` is there.
///
/// # Examples
///
/// ```
/// use http::{Response, StatusCode};
/// use tollgate::http::{Refusal, Refused};
///
/// fn page(refused: &Refused<'_>) -> Response<String> {
///     let body = match refused.retry_after() {
///         Some(seconds) => format!("<h1>Back in {seconds} s</h1>"),
///         None => "<h1>No</h1>".to_owned(),
///     };
///     let mut response = Response::new(body);
///     *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
///     response
/// }
///
/// fn takes(_: impl Refusal<String>) {}
/// takes(page);
/// ```
pub trait Refusal<B> {
    /// The answer to the request that was refused.
    fn refuse(&self, refused: &Refused<'_>) -> Response<B>;
}

impl<B, F: Fn(&Refused<'_>) -> Response<B>> Refusal<B> for F {
    fn refuse(&self, refused: &Refused<'_>) -> Response<B> {
        self(refused)
    }
}

impl<B: From<String>> Refusal<B> for DeniedBody {
    fn refuse(&self, refused: &Refused<'_>) -> Response<B> {
        match refused.decision {
            Some(_) if refused.unavailable => self.unavailable(refused.retry_after()),
            Some(decision) => denied_response(Headers::None, *self, decision, refused.each),
            None => self.without_key(),
        }
        .map(B::from)
    }
}

/// The refusal of gRPC: status `RESOURCE_EXHAUSTED` in the head of an answer without a body (or
/// `UNAUTHENTICATED`, where no key could be had, or `UNAVAILABLE`, where a shared limiter could not decide), and in `grpc-retry-pushback-ms` when to come back.
///
/// A client whose retry policy is on waits as long as it is told; where no waiting helps it is told
/// not to retry.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tollgate::http::{ClientAddr, ClientIp, Grpc, RateLimitLayer};
/// use tollgate::{Limit, RateLimiter};
///
/// let limiter = Arc::new(RateLimiter::<ClientAddr>::new(Limit::per_second(5))?);
/// let layer = RateLimitLayer::builder(limiter, ClientIp::new()).refusal(Grpc).build();
/// # let _ = layer;
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Grpc;

/// The codes of gRPC that are used here.
const RESOURCE_EXHAUSTED: HeaderValue = HeaderValue::from_static("8");
const UNAVAILABLE: HeaderValue = HeaderValue::from_static("14");
const UNAUTHENTICATED: HeaderValue = HeaderValue::from_static("16");

impl<B: Default> Refusal<B> for Grpc {
    fn refuse(&self, refused: &Refused<'_>) -> Response<B> {
        let mut response = Response::new(B::default());
        // In gRPC the answer of HTTP is always 200.
        *response.status_mut() = StatusCode::OK;
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/grpc"),
        );
        let (status, message) = match refused.decision {
            Some(_) if refused.unavailable => (UNAVAILABLE, "the limiter is not available"),
            Some(_) => (RESOURCE_EXHAUSTED, "too many requests"),
            None => (UNAUTHENTICATED, "no key to count the request by"),
        };
        headers.insert("grpc-status", status);
        headers.insert("grpc-message", HeaderValue::from_static(message));
        if let Some(decision) = refused.decision {
            // A negative number means: do not retry.
            let pushback = match decision.retry_after() {
                Some(wait) => HeaderValue::from(milliseconds(wait.as_nanos())),
                None => HeaderValue::from_static("-1"),
            };
            headers.insert("grpc-retry-pushback-ms", pushback);
        }
        response
    }
}

/// Rounded up, as far as the 32 bits with a sign go that clients read.
fn milliseconds(nanoseconds: u128) -> i32 {
    i32::try_from(nanoseconds.div_ceil(1_000_000)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pushback_is_rounded_up_and_saturates() {
        assert_eq!(milliseconds(1), 1);
        assert_eq!(milliseconds(1_000_000), 1);
        assert_eq!(milliseconds(1_000_001), 2);
        assert_eq!(milliseconds(u128::from(u64::MAX)), i32::MAX);
    }
}
