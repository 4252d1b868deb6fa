//! The layer: what wraps a service, so that it is asked no more than its limits allow.

use super::denied::DeniedBody;
use super::headers::Headers;
use super::hooks::{EveryRequest, OnePermit, Skip};
use super::post_paid::{Maker, PostPaid};
use super::rule::{Limited, Limiter, Rule};
use super::service::RateLimit;
use std::fmt;
use std::sync::Arc;
use tower_layer::Layer;

/// Wraps a service of HTTP so that each client's requests reach it no faster than a limit allows.
///
/// A request that is denied never reaches the service: it is answered 429, with `Retry-After`. The
/// layer is generic over the bodies of requests and responses, and so serves axum, hyper and tonic,
/// and clients as well as servers.
///
/// Clones of a layer, and of the services that it has wrapped, share one limiter: servers that clone
/// a service for each connection count all connections together.
///
/// # Examples
///
/// ```
/// use http::{Request, Response, StatusCode};
/// use std::sync::Arc;
/// use tollgate::http::{ClientAddr, ClientIp, PeerAddr, RateLimitLayer};
/// use tollgate::{Limit, RateLimiter};
/// use tower::{Layer, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let limiter = Arc::new(RateLimiter::<ClientAddr>::new(Limit::per_minute(1))?);
/// let layer = RateLimitLayer::new(limiter, ClientIp::new());
/// let service = layer.layer(service_fn(async |_: Request<String>| {
///     Ok::<_, std::convert::Infallible>(Response::new("hello".to_owned()))
/// }));
///
/// // The server sets the address that the request came from.
/// let peer = PeerAddr("192.0.2.1:4711".parse()?);
/// let request = || Request::get("/").extension(peer).body(String::new());
/// assert_eq!(service.clone().oneshot(request()?).await?.status(), StatusCode::OK);
///
/// let denied = service.clone().oneshot(request()?).await?;
/// assert_eq!(denied.status(), StatusCode::TOO_MANY_REQUESTS);
/// assert_eq!(denied.headers()["retry-after"], "60");
/// # Ok(())
/// # }
/// ```
pub struct RateLimitLayer<L: Limited, E, C = OnePermit, R = EveryRequest, O = (), F = DeniedBody> {
    config: Arc<Config<L, E, C, R, O, F>>,
}

/// What all clones of a layer and of its services share.
pub(super) struct Config<L: Limited, E, C, R, O, F> {
    pub(super) rules: Arc<[Rule<L>]>,
    pub(super) extractor: E,
    pub(super) no_key: NoKey<L::Key>,
    pub(super) cost: C,
    pub(super) choose: R,
    pub(super) observe: O,
    pub(super) refusal: F,
    pub(super) headers: Headers,
    pub(super) shadow: bool,
    /// Makes what a request's client is charged with afterwards, where that is wanted.
    pub(super) post_paid: Option<Maker<L>>,
}

/// What becomes of a request for which no key can be had: it carries no API key, say.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tollgate::http::{NoKey, RateLimitLayer};
/// use tollgate::{Limit, RateLimiter};
///
/// let limiter = Arc::new(RateLimiter::<String>::new(Limit::per_second(5))?);
/// let user = |request: &http::Request<()>| request.extensions().get::<String>().cloned();
/// // All who are not logged in share one bucket.
/// let layer = RateLimitLayer::builder(limiter, user)
///     .no_key(NoKey::Common("nobody".to_owned()))
///     .build();
/// # let _ = layer;
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoKey<K> {
    /// It is refused, with status 403: a mistake in the set-up shows at once.
    #[default]
    Deny,
    /// It is let through, and counted nowhere.
    Allow,
    /// It is counted under this key, with all others like it.
    Common(K),
}

impl<L: Limited, E> RateLimitLayer<L, E> {
    /// A layer with nothing but a limiter and what tells clients apart: every request costs one
    /// permit, what is denied is told in plain text, and only denied answers carry a header.
    pub fn new(rule: impl Into<Rule<L>>, extractor: E) -> Self {
        Self::builder(rule, extractor).build()
    }

    /// Makes a layer of which more is chosen.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tollgate::http::{ClientAddr, ClientIp, DeniedBody, Headers, RateLimitLayer};
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// let limiter = Arc::new(RateLimiter::<ClientAddr>::new(Limit::per_minute(100))?);
    /// let layer = RateLimitLayer::builder(limiter, ClientIp::new())
    ///     .headers(Headers::Draft)
    ///     .refusal(DeniedBody::Problem)
    ///     .cost(|request: &http::Request<()>| match request.uri().path() {
    ///         "/search" => 10,
    ///         _ => 1,
    ///     })
    ///     .skip(|request: &http::Request<()>| request.uri().path() == "/health")
    ///     .build();
    /// # let _ = layer;
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn builder(rule: impl Into<Rule<L>>, extractor: E) -> LayerBuilder<L, E> {
        LayerBuilder {
            rules: vec![rule.into()],
            extractor,
            no_key: NoKey::Deny,
            cost: OnePermit,
            choose: EveryRequest,
            observe: (),
            refusal: DeniedBody::default(),
            headers: Headers::default(),
            shadow: false,
            post_paid: None,
        }
    }
}

impl<L: Limited, E, C, R, O, F> RateLimitLayer<L, E, C, R, O, F> {
    #[cfg(feature = "tokio")]
    pub(super) fn into_config(self) -> Arc<Config<L, E, C, R, O, F>> {
        self.config
    }

    /// The rules, for what is to be asked of their limiters.
    pub fn rules(&self) -> &[Rule<L>] {
        &self.config.rules
    }
}

impl<S, L: Limited, E, C, R, O, F> Layer<S> for RateLimitLayer<L, E, C, R, O, F> {
    type Service = RateLimit<S, L, E, C, R, O, F>;

    fn layer(&self, inner: S) -> Self::Service {
        RateLimit::new(inner, self.config.clone())
    }
}

impl<L: Limited, E, C, R, O, F> Clone for RateLimitLayer<L, E, C, R, O, F> {
    fn clone(&self) -> Self {
        Self {
            config: self.config.clone(),
        }
    }
}

impl<L: Limited, E, C, R, O, F> fmt::Debug for RateLimitLayer<L, E, C, R, O, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}

impl<L: Limited, E, C, R, O, F> fmt::Debug for Config<L, E, C, R, O, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitLayer")
            .field("rules", &self.rules)
            .field("headers", &self.headers)
            .field("shadow", &self.shadow)
            .finish_non_exhaustive()
    }
}

/// Makes a [`RateLimitLayer`]; see [`RateLimitLayer::builder`].
#[must_use = "a builder limits nothing until a layer is built"]
pub struct LayerBuilder<L: Limited, E, C = OnePermit, R = EveryRequest, O = (), F = DeniedBody> {
    rules: Vec<Rule<L>>,
    extractor: E,
    no_key: NoKey<L::Key>,
    cost: C,
    choose: R,
    observe: O,
    refusal: F,
    headers: Headers,
    shadow: bool,
    post_paid: Option<Maker<L>>,
}

/// The builder with one field of another type in the place of `$field`.
macro_rules! with {
    ($builder:expr, $field:ident: $value:expr, $($kept:ident),*) => {{
        let builder = $builder;
        LayerBuilder { $field: $value, $($kept: builder.$kept),* }
    }};
}

impl<L: Limited, E, C, R, O, F> LayerBuilder<L, E, C, R, O, F> {
    /// Another rule, for [`choose`](Self::choose) to send requests to: the second, the third and so on.
    pub fn rule(mut self, rule: impl Into<Rule<L>>) -> Self {
        self.rules.push(rule.into());
        self
    }

    /// Chooses each request's rule: a closure from `&Request<B>` to the position of one in the
    /// layer's list, or to `None` for a request that is not limited.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tollgate::http::{ClientAddr, ClientIp, RateLimitLayer};
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// let all = Arc::new(RateLimiter::<ClientAddr>::new(Limit::per_second(50))?);
    /// let search = Arc::new(RateLimiter::<ClientAddr>::new(Limit::per_minute(10))?);
    /// let layer = RateLimitLayer::builder(all, ClientIp::new())
    ///     .rule(search)
    ///     .choose(|request: &http::Request<()>| match request.uri().path() {
    ///         "/search" => Some(1),
    ///         _ => Some(0),
    ///     })
    ///     .build();
    /// # let _ = layer;
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn choose<R2>(self, choose: R2) -> LayerBuilder<L, E, C, R2, O, F> {
        with!(self, choose: choose, rules, extractor, no_key, cost, observe, refusal, headers, shadow, post_paid)
    }

    /// Lets through, uncounted, the requests for which `skip` is true: health checks, say.
    pub fn skip<P>(self, skip: P) -> LayerBuilder<L, E, C, Skip<R, P>, O, F> {
        let choose = Skip {
            choose: self.choose,
            skip,
        };
        LayerBuilder {
            choose,
            rules: self.rules,
            extractor: self.extractor,
            no_key: self.no_key,
            cost: self.cost,
            observe: self.observe,
            refusal: self.refusal,
            headers: self.headers,
            shadow: self.shadow,
            post_paid: self.post_paid,
        }
    }

    /// How many permits each request costs: a closure from `&Request<B>` to `u64`. Without it each
    /// costs one.
    pub fn cost<C2>(self, cost: C2) -> LayerBuilder<L, E, C2, R, O, F> {
        with!(self, cost: cost, rules, extractor, no_key, choose, observe, refusal, headers, shadow, post_paid)
    }

    /// Is told how each request fared that comes under a rule: a closure from `&Outcome`, or an
    /// [`Observe`](super::Observe).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use tollgate::http::{ClientAddr, ClientIp, Outcome, RateLimitLayer};
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// let denied = Arc::new(AtomicU64::new(0));
    /// let counter = denied.clone();
    /// let limiter = Arc::new(RateLimiter::<ClientAddr>::new(Limit::per_second(5))?);
    /// let layer = RateLimitLayer::builder(limiter, ClientIp::new())
    ///     .observe(move |outcome: &Outcome<'_, ClientAddr>| {
    ///         counter.fetch_add(u64::from(outcome.refused), Ordering::Relaxed);
    ///     })
    ///     .build();
    /// # let _ = layer;
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn observe<O2>(self, observe: O2) -> LayerBuilder<L, E, C, R, O2, F> {
        with!(self, observe: observe, rules, extractor, no_key, cost, choose, refusal, headers, shadow, post_paid)
    }

    /// What refused requests are answered: a [`DeniedBody`], [`Grpc`](super::Grpc), or a closure from
    /// `&Refused` to a response. Without it they are answered 429 in plain text.
    pub fn refusal<F2>(self, refusal: F2) -> LayerBuilder<L, E, C, R, O, F2> {
        with!(self, refusal: refusal, rules, extractor, no_key, cost, choose, observe, headers, shadow, post_paid)
    }

    /// Which headers tell clients how they stand, in allowed answers and in denied ones. Without it
    /// none do.
    pub fn headers(mut self, headers: Headers) -> Self {
        self.headers = headers;
        self
    }

    /// What becomes of requests for which no key can be had. Without it they are refused.
    pub fn no_key(mut self, no_key: NoKey<L::Key>) -> Self {
        self.no_key = no_key;
        self
    }

    /// Decides and counts, but lets everything through: to see what a limit would do to live traffic
    /// before it does it.
    ///
    /// The answers to requests that would have been refused carry `x-ratelimit-shadow: denied`, and
    /// [`observe`](Self::observe) is told of them with `refused` and `admitted` both true.
    pub fn shadow(mut self, shadow: bool) -> Self {
        self.shadow = shadow;
        self
    }

    /// Puts a [`PostPaid`] into the extensions of each request that is let through, for what it turns
    /// out to cost. It takes an allocation a request.
    pub fn post_paid(mut self) -> Self
    where
        L: Limiter + Send + Sync + 'static,
        L::Key: Clone + Send + Sync + 'static,
    {
        self.post_paid = Some(PostPaid::of::<L>);
        self
    }

    /// The layer.
    pub fn build(self) -> RateLimitLayer<L, E, C, R, O, F> {
        RateLimitLayer {
            config: Arc::new(Config {
                rules: self.rules.into(),
                extractor: self.extractor,
                no_key: self.no_key,
                cost: self.cost,
                choose: self.choose,
                observe: self.observe,
                refusal: self.refusal,
                headers: self.headers,
                shadow: self.shadow,
                post_paid: self.post_paid,
            }),
        }
    }
}

impl<L: Limited, E, C, R, O, F> fmt::Debug for LayerBuilder<L, E, C, R, O, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayerBuilder")
            .field("rules", &self.rules)
            .field("headers", &self.headers)
            .field("shadow", &self.shadow)
            .finish_non_exhaustive()
    }
}
