//! The service that a layer makes of another one.

use super::denied::DeniedBody;
use super::extract::KeyExtractor;
use super::future::ResponseFuture;
use super::hooks::{Choose, Cost, EveryRequest, Observe, OnePermit};
use super::judge::Judged;
use super::layer::Config;
use super::refusal::Refusal;
use super::rule::{Limited, Limiter};
use http::{Request, Response};
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_service::Service;

/// A service that is asked no more than its limits allow: made by a
/// [`RateLimitLayer`](super::RateLimitLayer).
///
/// It is ready when the inner service is, and calls that very one.
pub struct RateLimit<S, L: Limited, E, C = OnePermit, R = EveryRequest, O = (), F = DeniedBody> {
    inner: S,
    config: Arc<Config<L, E, C, R, O, F>>,
}

impl<S, L: Limited, E, C, R, O, F> RateLimit<S, L, E, C, R, O, F> {
    pub(super) fn new(inner: S, config: Arc<Config<L, E, C, R, O, F>>) -> Self {
        Self { inner, config }
    }

    #[cfg(feature = "redis")]
    pub(super) fn config(&self) -> &Arc<Config<L, E, C, R, O, F>> {
        &self.config
    }

    /// The inner service.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The inner service.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// The inner service, without the limits.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: Clone, L: Limited, E, C, R, O, F> Clone for RateLimit<S, L, E, C, R, O, F> {
    /// The clone shares the limiter: there is one count.
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            config: self.config.clone(),
        }
    }
}

impl<S: fmt::Debug, L: Limited, E, C, R, O, F> fmt::Debug for RateLimit<S, L, E, C, R, O, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit")
            .field("inner", &self.inner)
            .field("config", &self.config)
            .finish()
    }
}

impl<S, L, E, C, R, O, F, ReqBody, ResBody> Service<Request<ReqBody>>
    for RateLimit<S, L, E, C, R, O, F>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    L: Limiter,
    E: KeyExtractor<ReqBody, Key = L::Key>,
    C: Cost<ReqBody>,
    R: Choose<ReqBody>,
    O: Observe<L::Key>,
    F: Refusal<ResBody>,
{
    type Response = Response<ResBody>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, ResBody, L>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        match self.config.judge(&mut request) {
            Judged::Admitted(marks) => ResponseFuture::inner(self.inner.call(request), marks),
            Judged::Refused(response) => ResponseFuture::refused(response),
        }
    }
}
