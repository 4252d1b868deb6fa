//! The layer over a limiter in a store: requests wait for its answer.

use super::extract::KeyExtractor;
use super::future::ResponseFuture;
use super::hooks::{Choose, Cost, Observe};
use super::judge::{Case, Found, Judged};
use super::layer::Config;
use super::note::Told;
use super::refusal::Refusal;
use super::rule::{Limited, sealed};
use super::service::RateLimit;
use crate::algorithm::Limits;
use crate::decision::Decision;
use crate::limit::Limit;
use crate::redis::{Answer, Keyed, StoreError, StoreKey};
use http::{Request, Response};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tower_service::Service;

impl<K: StoreKey> sealed::Limited for Keyed<K> {
    type Key = K;
    type Held = Limits;

    fn hold(&self, _: &K) -> Limits {
        self.limiter().limits()
    }

    fn limits<'a>(&'a self, held: &'a Limits) -> &'a [Limit] {
        held
    }

    /// They may change.
    fn limits_for_all(&self) -> Option<&[Limit]> {
        None
    }

    fn how_many(&self) -> Option<usize> {
        Some(self.limiter().limits().len())
    }
}

/// The store's answer, on its way: the one thing on a request's way that is in a box.
type Asking = Pin<Box<dyn Future<Output = Result<(Answer, Vec<Decision>), StoreError>> + Send>>;

impl<S, K, E, C, R, O, F, ReqBody, ResBody> Service<Request<ReqBody>>
    for RateLimit<S, Keyed<K>, E, C, R, O, F>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>> + Clone,
    K: StoreKey + Clone + Send + Sync + 'static,
    E: KeyExtractor<ReqBody, Key = K>,
    C: Cost<ReqBody>,
    R: Choose<ReqBody>,
    O: Observe<K>,
    F: Refusal<ResBody>,
{
    type Response = Response<ResBody>;
    type Error = S::Error;
    type Future = SharedFuture<S, ReqBody, ResBody, K, E, C, R, O, F>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.get_mut().poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let config = self.config().clone();
        let case = match config.open(&request) {
            Ok(case) => case,
            Err(judged) => {
                let answer = answer(judged, self.get_mut(), request);
                return SharedFuture {
                    stage: Stage::Answers { answer },
                };
            }
        };
        let (rule, key, cost, mark) = (case.rule, K::clone(&case.key), case.cost, case.mark);
        let limiter = config.limiter(rule).limiter().clone();
        let asked = key.clone();
        let asking = async move { limiter.try_acquire_each(&asked, cost).await };
        // What was ready is called when the answer is there; its clone gets ready anew.
        let clone = self.get_mut().clone();
        SharedFuture {
            stage: Stage::Asks {
                asking: Box::pin(asking),
                then: Some(Then {
                    service: std::mem::replace(self.get_mut(), clone),
                    request,
                    config,
                    rule,
                    key,
                    cost,
                    mark,
                }),
            },
        }
    }
}

/// What is done when the store has answered.
struct Then<S, ReqBody, K: StoreKey, E, C, R, O: Observe<K>, F> {
    service: S,
    request: Request<ReqBody>,
    config: Arc<Config<Keyed<K>, E, C, R, O, F>>,
    rule: usize,
    key: K,
    cost: u64,
    mark: O::Mark,
}

pin_project! {
    /// The answer of a [`RateLimit`] service whose limiter is in a store.
    ///
    /// If it is dropped while the store is asked, the permits may have been spent.
    #[must_use = "futures do nothing unless polled"]
    pub struct SharedFuture<S, ReqBody, ResBody, K, E, C, R, O, F>
    where
        S: Service<Request<ReqBody>>,
        K: StoreKey,
        O: Observe<K>,
    {
        #[pin]
        stage: Stage<S, ReqBody, ResBody, K, E, C, R, O, F>,
    }
}

pin_project! {
    #[project = StageProjection]
    enum Stage<S, ReqBody, ResBody, K, E, C, R, O, F>
    where
        S: Service<Request<ReqBody>>,
        K: StoreKey,
        O: Observe<K>,
    {
        Asks {
            asking: Asking,
            then: Option<Then<S, ReqBody, K, E, C, R, O, F>>,
        },
        Answers {
            #[pin]
            answer: ResponseFuture<S::Future, ResBody, Keyed<K>>,
        },
    }
}

fn answer<S, ReqBody, ResBody, L: Limited>(
    judged: Judged<L, ResBody>,
    service: &mut S,
    request: Request<ReqBody>,
) -> ResponseFuture<S::Future, ResBody, L>
where
    S: Service<Request<ReqBody>>,
{
    match judged {
        Judged::Admitted(marks) => ResponseFuture::inner(service.call(request), marks),
        Judged::Refused(response) => ResponseFuture::refused(response),
    }
}

impl<S, ReqBody, ResBody, K, E, C, R, O, F> Future
    for SharedFuture<S, ReqBody, ResBody, K, E, C, R, O, F>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    K: StoreKey,
    O: Observe<K>,
    F: Refusal<ResBody>,
{
    type Output = Result<Response<ResBody>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut stage = self.project().stage;
        loop {
            match stage.as_mut().project() {
                StageProjection::Answers { answer } => return answer.poll(cx),
                StageProjection::Asks { asking, then } => {
                    let told = Told::shared(ready!(asking.as_mut().poll(cx)));
                    let Then {
                        mut service,
                        mut request,
                        config,
                        rule,
                        key,
                        cost,
                        mark,
                    } = then.take().expect("polled after it was ready");
                    let case = Case {
                        rule,
                        key: Found::Own(key),
                        cost,
                        mark,
                    };
                    let judged = config.close(case, told, &mut request);
                    let answer = answer(judged, &mut service, request);
                    stage.set(Stage::Answers { answer });
                }
            }
        }
    }
}

impl<S, ReqBody, ResBody, K, E, C, R, O, F> fmt::Debug
    for SharedFuture<S, ReqBody, ResBody, K, E, C, R, O, F>
where
    S: Service<Request<ReqBody>>,
    K: StoreKey,
    O: Observe<K>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedFuture").finish_non_exhaustive()
    }
}
