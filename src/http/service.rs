//! The service that a layer makes of another one.

use super::denied::DeniedBody;
use super::extract::KeyExtractor;
use super::future::ResponseFuture;
use super::headers::Headers;
use super::hooks::{Choose, Cost, EveryRequest, Observe, OnePermit, Outcome};
use super::layer::{Config, NoKey};
use super::note::{Marks, Note, Told};
use super::refusal::{Refusal, Refused};
use super::rule::Limiter;
use crate::decision::Decision;
use http::{Request, Response};
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_service::Service;

/// A service that is asked no more than its limits allow: made by a
/// [`RateLimitLayer`](super::RateLimitLayer).
///
/// It is ready when the inner service is, and calls that very one.
pub struct RateLimit<S, L: Limiter, E, C = OnePermit, R = EveryRequest, O = (), F = DeniedBody> {
    inner: S,
    config: Arc<Config<L, E, C, R, O, F>>,
}

impl<S, L: Limiter, E, C, R, O, F> RateLimit<S, L, E, C, R, O, F> {
    pub(super) fn new(inner: S, config: Arc<Config<L, E, C, R, O, F>>) -> Self {
        Self { inner, config }
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

impl<S: Clone, L: Limiter, E, C, R, O, F> Clone for RateLimit<S, L, E, C, R, O, F> {
    /// The clone shares the limiter: there is one count.
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            config: self.config.clone(),
        }
    }
}

impl<S: fmt::Debug, L: Limiter, E, C, R, O, F> fmt::Debug for RateLimit<S, L, E, C, R, O, F> {
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

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        match self.config.judge(&request) {
            Judged::Admitted(marks) => ResponseFuture::inner(self.inner.call(request), marks),
            Judged::Refused(response) => ResponseFuture::refused(response),
        }
    }
}

/// What becomes of a request.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart at once, and the future holds what is large in it"
)]
enum Judged<L: Limiter, B> {
    Admitted(Marks<L>),
    Refused(Response<B>),
}

impl<L: Limiter, E, C, R, O, F> Config<L, E, C, R, O, F> {
    fn judge<ReqBody, ResBody>(&self, request: &Request<ReqBody>) -> Judged<L, ResBody>
    where
        E: KeyExtractor<ReqBody, Key = L::Key>,
        C: Cost<ReqBody>,
        R: Choose<ReqBody>,
        O: Observe<L::Key>,
        F: Refusal<ResBody>,
    {
        let Some(rule) = self.choose.choose(request) else {
            return Judged::Admitted(Marks::none());
        };
        let rule = rule.min(self.rules.len() - 1);
        let mark = self.observe.begin();
        let extracted = self.extractor.extract(request);
        let key = match (&extracted, &self.no_key) {
            (Some(key), _) | (None, NoKey::Common(key)) => key,
            (None, no_key) => {
                let refused = matches!(no_key, NoKey::Deny);
                self.end(mark, rule, None, None, refused);
                if refused && !self.shadow {
                    return Judged::Refused(self.refusal.refuse(&Refused::without_key()));
                }
                return Judged::Admitted(Marks {
                    note: None,
                    refused,
                });
            }
        };
        let told = Told::ask(&**self.rules[rule].limiter(), key, self.cost.cost(request));
        let refused = told.decision.is_denied();
        self.end(mark, rule, Some(key), Some(&told.decision), refused);
        if refused && !self.shadow {
            let note = Note::new(&self.rules, rule, key, told);
            return Judged::Refused(note.refuse(&self.refusal, self.headers));
        }
        let note = match self.headers {
            Headers::None => None,
            headers => Some((Note::new(&self.rules, rule, key, told), headers)),
        };
        Judged::Admitted(Marks { note, refused })
    }

    fn end(
        &self,
        mark: O::Mark,
        rule: usize,
        key: Option<&L::Key>,
        decision: Option<&Decision>,
        refused: bool,
    ) where
        O: Observe<L::Key>,
    {
        let outcome = Outcome {
            rule,
            key,
            decision,
            refused,
            admitted: !refused || self.shadow,
        };
        self.observe.end(mark, &outcome);
    }
}
