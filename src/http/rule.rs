//! What a layer holds requests to: a limiter, and names for its limits.

use super::headers::policy_list;
use super::policy::{Answer, PolicyName, PolicyNameError};
use crate::algorithm::{Algorithm, Plan};
use crate::decision::{BLANK, Decision};
use crate::limit::Limit;
use crate::limiter::{LimitSource, RateLimiter, UnkeyedLimiter};
use crate::ticker::Ticker;
use http::HeaderValue;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

/// What a layer can hold requests to: a [`Limiter`], or, with feature `redis`, a limiter in a store.
///
/// Sealed: these.
pub trait Limited: sealed::Limited {}

/// A limiter that answers at once: a [`RateLimiter`] whose keys can be cloned, or an
/// [`UnkeyedLimiter`], whose key is `()`.
///
/// Sealed: these two.
pub trait Limiter: Limited + sealed::Limiter {}

pub(crate) mod sealed {
    use super::{Decision, Limit};

    pub trait Limited {
        type Key;
        /// What has to be held so that the limits can be told later.
        type Held;

        fn hold(&self, key: &Self::Key) -> Self::Held;
        fn limits<'a>(&'a self, held: &'a Self::Held) -> &'a [Limit];
        /// The limits, if they are the same for every key.
        fn limits_for_all(&self) -> Option<&[Limit]>;
        /// How many limits a key has, if all have as many.
        fn how_many(&self) -> Option<usize> {
            self.limits_for_all().map(<[Limit]>::len)
        }
    }

    pub trait Limiter: Limited {
        fn ask(&self, key: &Self::Key, cost: u64) -> Decision;
        fn ask_each(&self, key: &Self::Key, cost: u64, each: &mut [Decision]) -> (Decision, usize);
        fn peek_each(&self, key: &Self::Key, cost: u64, each: &mut [Decision]) -> Decision;
        fn charge(&self, key: &Self::Key, cost: u64) -> Decision;
    }
}

impl<L: sealed::Limited> Limited for L {}

impl<L: sealed::Limiter> Limiter for L {}

impl<K, A, T, L, S> sealed::Limiter for RateLimiter<K, A, T, L, S>
where
    K: Hash + Eq + Clone,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    fn ask(&self, key: &K, cost: u64) -> Decision {
        self.try_acquire_n(key, cost)
    }

    fn ask_each(&self, key: &K, cost: u64, each: &mut [Decision]) -> (Decision, usize) {
        self.try_acquire_each(key, cost, each)
    }

    fn peek_each(&self, key: &K, cost: u64, each: &mut [Decision]) -> Decision {
        RateLimiter::peek_each(self, key, cost, each).0
    }

    fn charge(&self, key: &K, cost: u64) -> Decision {
        RateLimiter::charge(self, key, cost)
    }
}

impl<K, A, T, L, S> sealed::Limited for RateLimiter<K, A, T, L, S>
where
    K: Hash + Eq + Clone,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    type Key = K;
    type Held = Option<Plan<A>>;

    fn hold(&self, key: &K) -> Option<Plan<A>> {
        match self.plan_for_all() {
            Some(_) => None,
            None => Some(self.plan_of(key)),
        }
    }

    fn limits<'a>(&'a self, held: &'a Option<Plan<A>>) -> &'a [Limit] {
        match held.as_ref().or(self.plan_for_all()) {
            Some(plan) => plan.limits(),
            None => &[],
        }
    }

    fn limits_for_all(&self) -> Option<&[Limit]> {
        self.plan_for_all().map(Plan::limits)
    }
}

impl<A: Algorithm, T: Ticker> sealed::Limiter for UnkeyedLimiter<A, T> {
    fn ask(&self, (): &(), cost: u64) -> Decision {
        self.try_acquire_n(cost)
    }

    fn ask_each(&self, (): &(), cost: u64, each: &mut [Decision]) -> (Decision, usize) {
        self.try_acquire_each(cost, each)
    }

    fn peek_each(&self, (): &(), cost: u64, each: &mut [Decision]) -> Decision {
        UnkeyedLimiter::peek_each(self, cost, each).0
    }

    fn charge(&self, (): &(), cost: u64) -> Decision {
        UnkeyedLimiter::charge(self, cost)
    }
}

impl<A: Algorithm, T: Ticker> sealed::Limited for UnkeyedLimiter<A, T> {
    type Key = ();
    type Held = ();

    fn hold(&self, (): &()) {}

    fn limits<'a>(&'a self, (): &'a ()) -> &'a [Limit] {
        self.plan().limits()
    }

    fn limits_for_all(&self) -> Option<&[Limit]> {
        Some(self.plan().limits())
    }
}

/// A limiter and names for its limits: what a layer holds requests to.
///
/// The limiter is shared: however often a layer, a service or a rule is cloned, there is one count.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tollgate::http::{ClientAddr, Rule};
/// use tollgate::{AllOf, Limit, RateLimiter};
///
/// let limiter = RateLimiter::<ClientAddr>::builder([Limit::per_second(5), Limit::per_hour(1000)])
///     .algorithm(AllOf)
///     .build()?;
/// let rule = Rule::new(Arc::new(limiter)).names(["burst", "hourly"])?;
/// # let _ = rule;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Rule<L> {
    limiter: Arc<L>,
    /// One for each limit that there may be, the given ones first.
    names: Arc<[PolicyName]>,
    /// What `RateLimit-Policy` says, if the limits are the same for every key.
    policies: Option<HeaderValue>,
}

impl<L: Limited> Rule<L> {
    /// A rule whose limits are named `default`, or `limit-1`, `limit-2` and so on where there are
    /// several.
    pub fn new(limiter: Arc<L>) -> Self {
        let names = match limiter.how_many() {
            Some(1) => vec![PolicyName::default()],
            _ => Vec::new(),
        };
        Self::named(limiter, names)
    }

    /// The same rule with other names, one for each limit, in the order of the limits.
    ///
    /// # Errors
    ///
    /// If a name cannot be written into a header, or if there are more or fewer names than limits.
    /// (Where each key has a plan of its own the layer cannot know how many limits there will be:
    /// those beyond the names are called `limit-3` and so on.)
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tollgate::http::Rule;
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// let limiter = Arc::new(RateLimiter::<u64>::new(Limit::per_second(5))?);
    /// assert!(Rule::new(limiter.clone()).names(["burst"]).is_ok());
    /// assert_eq!(
    ///     Rule::new(limiter).names(["burst", "daily"]).unwrap_err().to_string(),
    ///     "2 policy names for 1 limit"
    /// );
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn names<N>(self, names: impl IntoIterator<Item = N>) -> Result<Self, RuleError>
    where
        N: AsRef<str>,
    {
        let names = names
            .into_iter()
            .map(|name| PolicyName::new(name.as_ref()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(RuleError::Name)?;
        let given = names.len();
        if let Some(limits) = self.limiter.how_many()
            && given != limits
        {
            return Err(RuleError::Count { given, limits });
        }
        Ok(Self::named(self.limiter, names))
    }

    fn named(limiter: Arc<L>, mut names: Vec<PolicyName>) -> Self {
        let limits = limiter.limits_for_all();
        let most = limiter.how_many().unwrap_or(MOST);
        names.extend((names.len()..most).map(PolicyName::numbered));
        let policies = limits.and_then(|limits| {
            let named = names.iter().zip(limits);
            let each: Vec<_> = named
                .map(|(name, limit)| Answer {
                    name,
                    limit: *limit,
                    decision: BLANK,
                })
                .collect();
            policy_list(&each)
        });
        Self {
            limiter,
            names: names.into(),
            policies,
        }
    }

    /// The limiter, for everything else.
    pub fn limiter(&self) -> &Arc<L> {
        &self.limiter
    }

    pub(super) fn policies(&self) -> Option<&HeaderValue> {
        self.policies.as_ref()
    }

    pub(super) fn policy_names(&self) -> &[PolicyName] {
        &self.names
    }
}

/// So many limits of a key with a plan of its own are told in headers.
const MOST: usize = 16;

impl<L> Clone for Rule<L> {
    fn clone(&self) -> Self {
        Self {
            limiter: self.limiter.clone(),
            names: self.names.clone(),
            policies: self.policies.clone(),
        }
    }
}

impl<L: Limited> From<Arc<L>> for Rule<L> {
    fn from(limiter: Arc<L>) -> Self {
        Self::new(limiter)
    }
}

impl<L> fmt::Debug for Rule<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

/// Why names cannot be given to a rule's limits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleError {
    /// A name cannot be written into a header.
    Name(PolicyNameError),
    /// There are more or fewer names than limits.
    Count {
        /// How many names were given.
        given: usize,
        /// How many limits there are.
        limits: usize,
    },
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(f),
            Self::Count { given, limits } => {
                let s = |count: &usize| if *count == 1 { "" } else { "s" };
                write!(
                    f,
                    "{given} policy name{} for {limits} limit{}",
                    s(given),
                    s(limits)
                )
            }
        }
    }
}

impl std::error::Error for RuleError {}
