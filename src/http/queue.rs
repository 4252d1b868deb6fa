//! The layer, with requests that wait for their turn before they are refused.

use super::denied::DeniedBody;
use super::extract::KeyExtractor;
use super::future::ResponseFuture;
use super::hooks::{Choose, Cost, EveryRequest, Observe, OnePermit};
use super::judge::{Case, Found, Judged};
use super::layer::{Config, RateLimitLayer};
use super::note::Told;
use super::refusal::Refusal;
use super::rule::Limiter;
use crate::algorithm::Algorithm;
use crate::limiter::{AcquireOwned, LimitSource, RateLimiter};
use crate::ticker::Ticker;
use http::{Request, Response};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tower_layer::Layer;
use tower_service::Service;

/// A layer whose requests wait for a bounded time before they are refused: made by
/// [`RateLimitLayer::queue`].
pub struct QueueLayer<L: Limiter, E, C = OnePermit, R = EveryRequest, O = (), F = DeniedBody> {
    config: Arc<Config<L, E, C, R, O, F>>,
    longest: Duration,
}

impl<L: Limiter, E, C, R, O, F> RateLimitLayer<L, E, C, R, O, F> {
    /// The same layer, in which a request that would be denied waits for its turn, for so long at
    /// most, and is refused only then: at once, where it is known that it would have to wait longer,
    /// or if [too many](crate::WaitPolicy::max_waiters) wait already.
    ///
    /// First come, first served, for each key; see [`RateLimiter::acquire`]. A request that waits holds
    /// the inner service that was ready for it.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::{Request, Response};
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use tollgate::http::RateLimitLayer;
    /// use tollgate::{Limit, RateLimiter, TokioTicker};
    /// use tower::{Layer, ServiceExt, service_fn};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limiter = RateLimiter::<u32>::builder(Limit::per_second(1)).ticker(TokioTicker::new()).build()?;
    /// let tenant = |request: &Request<()>| request.extensions().get().copied();
    /// let service = RateLimitLayer::new(Arc::new(limiter), tenant)
    ///     .queue(Duration::from_secs(2))
    ///     .layer(service_fn(async |_| Ok::<_, std::convert::Infallible>(Response::new(String::new()))));
    ///
    /// let ask = || service.clone().oneshot(Request::builder().extension(7_u32).body(()).unwrap());
    /// let since = tokio::time::Instant::now();
    /// let (first, second, third, fourth) = tokio::join!(ask(), ask(), ask(), ask());
    /// assert_eq!([first?.status(), second?.status(), third?.status()], [200, 200, 200]);
    /// assert_eq!(fourth?.status(), 429);
    /// assert_eq!(since.elapsed(), Duration::from_secs(2));
    /// # Ok(())
    /// # }
    /// ```
    pub fn queue(self, longest: Duration) -> QueueLayer<L, E, C, R, O, F> {
        QueueLayer {
            config: self.into_config(),
            longest,
        }
    }
}

impl<S, L: Limiter, E, C, R, O, F> Layer<S> for QueueLayer<L, E, C, R, O, F> {
    type Service = Queue<S, L, E, C, R, O, F>;

    fn layer(&self, inner: S) -> Self::Service {
        Queue {
            inner,
            config: self.config.clone(),
            longest: self.longest,
        }
    }
}

impl<L: Limiter, E, C, R, O, F> Clone for QueueLayer<L, E, C, R, O, F> {
    fn clone(&self) -> Self {
        Self {
            config: self.config.clone(),
            longest: self.longest,
        }
    }
}

impl<L: Limiter, E, C, R, O, F> fmt::Debug for QueueLayer<L, E, C, R, O, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueLayer")
            .field("layer", &self.config)
            .field("longest", &self.longest)
            .finish()
    }
}

/// A service whose requests wait for their turn: made by a [`QueueLayer`].
pub struct Queue<S, L: Limiter, E, C = OnePermit, R = EveryRequest, O = (), F = DeniedBody> {
    inner: S,
    config: Arc<Config<L, E, C, R, O, F>>,
    longest: Duration,
}

impl<S: Clone, L: Limiter, E, C, R, O, F> Clone for Queue<S, L, E, C, R, O, F> {
    /// The clone shares the limiter, and its lines.
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            config: self.config.clone(),
            longest: self.longest,
        }
    }
}

impl<S: fmt::Debug, L: Limiter, E, C, R, O, F> fmt::Debug for Queue<S, L, E, C, R, O, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("inner", &self.inner)
            .field("layer", &self.config)
            .field("longest", &self.longest)
            .finish()
    }
}

impl<S, K, A, T, N, H, E, C, R, O, F, ReqBody, ResBody> Service<Request<ReqBody>>
    for Queue<S, RateLimiter<K, A, T, N, H>, E, C, R, O, F>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>> + Clone,
    K: Hash + Eq + Clone,
    A: Algorithm,
    T: Ticker,
    N: LimitSource,
    H: BuildHasher,
    E: KeyExtractor<ReqBody, Key = K>,
    C: Cost<ReqBody>,
    R: Choose<ReqBody>,
    O: Observe<K>,
    F: Refusal<ResBody>,
{
    type Response = Response<ResBody>;
    type Error = S::Error;
    type Future = QueueFuture<S, ReqBody, ResBody, K, A, T, N, H, E, C, R, O, F>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        let case = match self.config.open(&request) {
            Ok(case) => case,
            Err(judged) => return QueueFuture::judged(judged, &mut self.inner, request),
        };
        let told = Told::ask(self.config.limiter(case.rule), &case.key, case.cost);
        let waits = told.decision.is_denied() && !told.decision.is_never() && !self.config.shadow;
        if !waits {
            let judged = self.config.close(case, told, &mut request);
            return QueueFuture::judged(judged, &mut self.inner, request);
        }
        let key = K::clone(&case.key);
        let limiter = self.config.rules[case.rule].limiter().clone();
        // What was ready is called when the turn has come; its clone gets ready anew.
        let clone = self.inner.clone();
        QueueFuture {
            stage: Stage::Waits {
                turn: limiter
                    .acquire_owned(key.clone(), case.cost)
                    .within(self.longest),
                then: Some(Then {
                    service: std::mem::replace(&mut self.inner, clone),
                    request,
                    config: self.config.clone(),
                    rule: case.rule,
                    key,
                    cost: case.cost,
                    mark: case.mark,
                    told,
                }),
            },
        }
    }
}

/// What is done when the turn has come, or the time is up.
struct Then<S, ReqBody, L: Limiter, E, C, R, O: Observe<L::Key>, F> {
    service: S,
    request: Request<ReqBody>,
    config: Arc<Config<L, E, C, R, O, F>>,
    rule: usize,
    key: L::Key,
    cost: u64,
    mark: O::Mark,
    /// What it was told when it came.
    told: Told,
}

pin_project! {
    /// The answer of a [`Queue`] service, when the request has had its turn or has waited in vain.
    #[must_use = "futures do nothing unless polled"]
    pub struct QueueFuture<S, ReqBody, ResBody, K, A, T, N, H, E, C, R, O, F>
    where
        S: Service<Request<ReqBody>>,
        K: Hash,
        K: Eq,
        K: Clone,
        A: Algorithm,
        T: Ticker,
        N: LimitSource,
        H: BuildHasher,
        O: Observe<K>,
    {
        #[pin]
        stage: Stage<S, ReqBody, ResBody, K, A, T, N, H, E, C, R, O, F>,
    }
}

pin_project! {
    #[project = StageProjection]
    enum Stage<S, ReqBody, ResBody, K, A, T, N, H, E, C, R, O, F>
    where
        S: Service<Request<ReqBody>>,
        K: Hash,
        K: Eq,
        K: Clone,
        A: Algorithm,
        T: Ticker,
        N: LimitSource,
        H: BuildHasher,
        O: Observe<K>,
    {
        Waits {
            #[pin]
            turn: AcquireOwned<RateLimiter<K, A, T, N, H>>,
            then: Option<Then<S, ReqBody, RateLimiter<K, A, T, N, H>, E, C, R, O, F>>,
        },
        Answers {
            #[pin]
            answer: ResponseFuture<S::Future, ResBody, RateLimiter<K, A, T, N, H>>,
        },
    }
}

impl<S, ReqBody, ResBody, K, A, T, N, H, E, C, R, O, F>
    QueueFuture<S, ReqBody, ResBody, K, A, T, N, H, E, C, R, O, F>
where
    S: Service<Request<ReqBody>>,
    K: Hash + Eq + Clone,
    A: Algorithm,
    T: Ticker,
    N: LimitSource,
    H: BuildHasher,
    O: Observe<K>,
{
    fn judged(
        judged: Judged<RateLimiter<K, A, T, N, H>, ResBody>,
        service: &mut S,
        request: Request<ReqBody>,
    ) -> Self {
        Self {
            stage: Stage::Answers {
                answer: answer(judged, service, request),
            },
        }
    }
}

fn answer<S, ReqBody, ResBody, L: Limiter>(
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

impl<S, ReqBody, ResBody, K, A, T, N, H, E, C, R, O, F> Future
    for QueueFuture<S, ReqBody, ResBody, K, A, T, N, H, E, C, R, O, F>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    K: Hash + Eq + Clone,
    A: Algorithm,
    T: Ticker,
    N: LimitSource,
    H: BuildHasher,
    O: Observe<K>,
    F: Refusal<ResBody>,
{
    type Output = Result<Response<ResBody>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut stage = self.project().stage;
        loop {
            match stage.as_mut().project() {
                StageProjection::Answers { answer } => return answer.poll(cx),
                StageProjection::Waits { turn, then } => {
                    let turn = ready!(turn.poll(cx));
                    let Then {
                        mut service,
                        mut request,
                        config,
                        rule,
                        key,
                        cost,
                        mark,
                        told,
                    } = then.take().expect("polled after it was ready");
                    let told = match turn {
                        Ok(decision) => told.turned(config.limiter(rule), &key, decision),
                        Err(_) => told.still(config.limiter(rule), &key, cost),
                    };
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

impl<S, ReqBody, ResBody, K, A, T, N, H, E, C, R, O, F> fmt::Debug
    for QueueFuture<S, ReqBody, ResBody, K, A, T, N, H, E, C, R, O, F>
where
    S: Service<Request<ReqBody>>,
    K: Hash + Eq + Clone,
    A: Algorithm,
    T: Ticker,
    N: LimitSource,
    H: BuildHasher,
    O: Observe<K>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueFuture").finish_non_exhaustive()
    }
}
