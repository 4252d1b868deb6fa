//! Limits that an algorithm has accepted.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::Algorithm;
use crate::error::LimitError;
use crate::limit::Limit;

/// A list of limits: one for most algorithms, several for [`AllOf`](crate::AllOf).
///
/// Made from a [`Limit`], an array, a slice or a vector of them.
///
/// # Examples
///
/// ```
/// use tollgate::{Limit, Limits};
///
/// assert_eq!(Limits::from(Limit::per_second(5)).len(), 1);
/// assert_eq!(Limits::from([Limit::per_second(5), Limit::per_minute(20)]).len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits(Vec<Limit>);

impl Deref for Limits {
    type Target = [Limit];

    fn deref(&self) -> &[Limit] {
        &self.0
    }
}

impl From<Limit> for Limits {
    fn from(limit: Limit) -> Self {
        Self(vec![limit])
    }
}

impl<const N: usize> From<[Limit; N]> for Limits {
    fn from(limits: [Limit; N]) -> Self {
        Self(limits.to_vec())
    }
}

impl From<&[Limit]> for Limits {
    fn from(limits: &[Limit]) -> Self {
        Self(limits.to_vec())
    }
}

impl From<Vec<Limit>> for Limits {
    fn from(limits: Vec<Limit>) -> Self {
        Self(limits)
    }
}

/// Limits that an algorithm has accepted, ready to be used: what a function from key to limit
/// returns.
///
/// Made by [`Algorithm::plan`], which is where a limit that cannot be kept is refused, so that
/// nothing can be refused while requests are served. A clone is a counted reference: make a plan
/// once per tier, and give out clones.
///
/// # Examples
///
/// ```
/// use tollgate::{Algorithm, Limit, RateLimiter, TokenBucket};
///
/// let free = TokenBucket.plan(Limit::per_minute(2))?;
/// let paid = TokenBucket.plan(Limit::per_minute(200))?;
/// let limiter = RateLimiter::<String>::by_plan(move |key: &String| {
///     if key.starts_with("paid-") { paid.clone() } else { free.clone() }
/// })
/// .build()?;
/// assert_eq!(limiter.try_acquire("paid-ada").remaining(), 199);
/// assert_eq!(limiter.try_acquire("bob").remaining(), 1);
/// # Ok::<(), tollgate::LimitError>(())
/// ```
pub struct Plan<A: Algorithm>(Arc<Inner<A>>);

struct Inner<A: Algorithm> {
    limits: Limits,
    rule: A::Rule,
}

impl<A: Algorithm> Plan<A> {
    pub(super) fn new(algorithm: &A, limits: &Limits) -> Result<Self, LimitError> {
        Ok(Self(Arc::new(Inner {
            rule: algorithm.rule(limits)?,
            limits: limits.clone(),
        })))
    }

    /// The limits, in the order in which they were given.
    pub fn limits(&self) -> &[Limit] {
        &self.0.limits
    }

    /// The most that a single request may cost.
    pub fn capacity(&self) -> u64 {
        A::capacity(&self.0.rule)
    }

    #[inline]
    pub(crate) fn rule(&self) -> &A::Rule {
        &self.0.rule
    }
}

impl<A: Algorithm> Clone for Plan<A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<A: Algorithm> fmt::Debug for Plan<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Plan").field(&self.limits()).finish()
    }
}
