//! Costs that are known only when a request has been answered.

use super::rule::{Limiter, Rule};
use crate::decision::Decision;
use std::fmt;
use std::sync::Arc;

/// Charges the client of a request for what it turns out to have used: the bytes of an answer, the
/// tokens of a model. It is in the extensions of each request that a layer with
/// [`post_paid`](super::LayerBuilder::post_paid) lets through.
///
/// Clones charge the same client; whoever streams a body can keep one until it is done.
///
/// # Examples
///
/// ```
/// use http::{Request, Response};
/// use std::sync::Arc;
/// use tollgate::http::{PostPaid, RateLimitLayer};
/// use tollgate::{Limit, RateLimiter};
/// use tower::{Layer, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // 1,000 tokens an hour; a request takes one before it is let through, and the rest after.
/// let limiter = Arc::new(RateLimiter::<String>::new(Limit::per_hour(1_000))?);
/// let user = |_: &Request<()>| Some("ada".to_owned());
/// let layer = RateLimitLayer::builder(limiter, user).post_paid().build();
/// let service = layer.layer(service_fn(async |request: Request<()>| {
///     let answer = "forty-two".to_owned();
///     let post_paid = request.extensions().get::<PostPaid>().expect("the layer puts it there");
///     post_paid.charge(1_200);
///     Ok::<_, std::convert::Infallible>(Response::new(answer))
/// }));
/// assert_eq!(service.clone().oneshot(Request::new(())).await?.status(), 200);
/// // She is in debt now.
/// assert_eq!(service.clone().oneshot(Request::new(())).await?.status(), 429);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostPaid(Arc<dyn Fn(u64) -> Decision + Send + Sync>);

/// Makes one for a rule and a key.
pub(super) type Maker<L> = fn(&Rule<L>, &<L as super::rule::sealed::Limited>::Key) -> PostPaid;

impl PostPaid {
    /// Charges `cost` permits, and tells how the client stands then; see
    /// [`RateLimiter::charge`](crate::RateLimiter::charge).
    pub fn charge(&self, cost: u64) -> Decision {
        (self.0)(cost)
    }

    pub(super) fn of<L>(rule: &Rule<L>, key: &L::Key) -> Self
    where
        L: Limiter + Send + Sync + 'static,
        L::Key: Clone + Send + Sync + 'static,
    {
        let (limiter, key) = (rule.limiter().clone(), key.clone());
        Self(Arc::new(move |cost| limiter.charge(&key, cost)))
    }
}

impl fmt::Debug for PostPaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostPaid").finish_non_exhaustive()
    }
}
