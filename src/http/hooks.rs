//! What a layer asks of its user about a request: what it costs, which rule it comes under; and what
//! it tells its user of the answer.

use crate::decision::Decision;
use http::Request;
use std::fmt;

/// How many permits a request costs. A closure from `&Request<B>` to `u64` is one.
///
/// # Examples
///
/// ```
/// use http::Request;
/// use tollgate::http::Cost;
///
/// let cost = |request: &Request<()>| if request.uri().path() == "/search" { 10 } else { 1 };
/// assert_eq!(cost.cost(&Request::get("/search").body(()).unwrap()), 10);
/// ```
pub trait Cost<B> {
    /// The permits that `request` is to spend. 0 is always allowed, and above the capacity never.
    fn cost(&self, request: &Request<B>) -> u64;
}

/// Every request costs one permit: what a layer does unless told otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnePermit;

impl<B> Cost<B> for OnePermit {
    fn cost(&self, _: &Request<B>) -> u64 {
        1
    }
}

impl<B, F: Fn(&Request<B>) -> u64> Cost<B> for F {
    fn cost(&self, request: &Request<B>) -> u64 {
        self(request)
    }
}

/// Which of a layer's rules a request comes under. A closure from `&Request<B>` to `Option<usize>` is
/// one.
pub trait Choose<B> {
    /// The position of the rule in the layer's list; `None` for a request that is not limited. A
    /// position beyond the list counts as the last one: a mistake there limits rather than opens.
    fn choose(&self, request: &Request<B>) -> Option<usize>;
}

/// Every request comes under the first rule: what a layer does unless told otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct EveryRequest;

impl<B> Choose<B> for EveryRequest {
    fn choose(&self, _: &Request<B>) -> Option<usize> {
        Some(0)
    }
}

impl<B, F: Fn(&Request<B>) -> Option<usize>> Choose<B> for F {
    fn choose(&self, request: &Request<B>) -> Option<usize> {
        self(request)
    }
}

/// A choice of rules, less the requests that are let through uncounted; see
/// [`LayerBuilder::skip`](super::LayerBuilder::skip).
#[derive(Clone, Copy)]
pub struct Skip<R, F> {
    pub(super) choose: R,
    pub(super) skip: F,
}

impl<B, R: Choose<B>, F: Fn(&Request<B>) -> bool> Choose<B> for Skip<R, F> {
    fn choose(&self, request: &Request<B>) -> Option<usize> {
        if (self.skip)(request) {
            return None;
        }
        self.choose.choose(request)
    }
}

impl<R: fmt::Debug, F> fmt::Debug for Skip<R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Skip")
            .field("choose", &self.choose)
            .finish_non_exhaustive()
    }
}

/// Is told how each request fared: for metrics and logs. A closure from `&Outcome` is one.
///
/// It runs on the way of every request: count, and leave the rest to others.
pub trait Observe<K> {
    /// What is noted before the limiter is asked: a time, say.
    type Mark;

    /// Called before the limiter is asked.
    fn begin(&self) -> Self::Mark;

    /// Called when the answer is known.
    fn end(&self, mark: Self::Mark, outcome: &Outcome<'_, K>);
}

impl<K> Observe<K> for () {
    type Mark = ();

    fn begin(&self) {}

    fn end(&self, (): (), _: &Outcome<'_, K>) {}
}

impl<K, F: Fn(&Outcome<'_, K>)> Observe<K> for F {
    type Mark = ();

    fn begin(&self) {}

    fn end(&self, (): (), outcome: &Outcome<'_, K>) {
        self(outcome);
    }
}

/// How a request fared.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Outcome<'a, K> {
    /// The rule that it came under, by its position in the layer's list.
    pub rule: usize,
    /// Its key; `None` where none could be had.
    pub key: Option<&'a K>,
    /// What the limiter answered; `None` where it was not asked for want of a key, or where a limiter in
    /// a store could not say how things stand.
    pub decision: Option<&'a Decision>,
    /// What a limiter in a store has answered, or why it could not; `None` where a limiter of this
    /// process was asked, or none.
    #[cfg(feature = "redis")]
    pub shared: Option<&'a Result<crate::redis::Answer, crate::redis::StoreError>>,
    /// Whether the request was refused, or would have been by a layer that only shadows.
    pub refused: bool,
    /// Whether the request goes on to the inner service.
    pub admitted: bool,
}
