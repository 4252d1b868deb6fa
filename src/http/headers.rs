//! Headers that tell a client how it stands.

use super::policy::Answer;
use super::structured::{self, Item};
use crate::decision::Decision;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use std::time::Duration;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STANDING: HeaderName = HeaderName::from_static("ratelimit");

/// Which headers tell a client how it stands. Whichever it is, `Retry-After` is told to who is denied.
///
/// # Examples
///
/// ```
/// use http::HeaderMap;
/// use tollgate::http::{Answer, Headers, PolicyName};
/// use tollgate::{Limit, ManualTicker, RateLimiter};
///
/// let limit = Limit::per_minute(100);
/// let limiter = RateLimiter::<u64>::builder(limit).ticker(ManualTicker::new(0)).build()?;
/// let decision = limiter.try_acquire_n(&7, 50);
///
/// let name = PolicyName::new("burst").unwrap();
/// let mut headers = HeaderMap::new();
/// Headers::Draft.write(&decision, &[Answer { name: &name, limit, decision }], &mut headers);
/// assert_eq!(headers["ratelimit-policy"], r#""burst";q=100;w=60"#);
/// assert_eq!(headers["ratelimit"], r#""burst";r=50;t=1"#);
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Headers {
    /// None.
    #[default]
    None,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`, which many services
    /// send, each in its own way. Here they tell of the limit that decided: the permits that it holds
    /// when full, those that are left, and the whole seconds until it is full again (not a time of
    /// day). They replace any that are there.
    XRateLimit,
    /// `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-10, with an item for
    /// each limit. They are added to any that are there: another layer's limits hold as well.
    ///
    /// `q` and `w` are the permits and the period (no `w`, if that is not in whole seconds). `r` is
    /// what is left, and `t` the seconds until there is more (no `t`, if there can be no more). A
    /// bucket whose burst is larger than its permits can have an `r` above its `q`.
    Draft,
}

impl Headers {
    /// Writes how a client stands into the headers of its answer: `decision` is that of the whole,
    /// and `each` what each limit said.
    ///
    /// Of `Retry-After`, see [`retry_after`]. Headers for which the map has no room, as one of some
    /// twenty thousand has not, are left out.
    pub fn write(self, decision: &Decision, each: &[Answer<'_>], headers: &mut HeaderMap) {
        self.write_known(decision, each, None, headers);
    }

    /// As [`write`](Self::write), where what is to be said of the limits is known already.
    pub(super) fn write_known(
        self,
        decision: &Decision,
        each: &[Answer<'_>],
        policies: Option<&HeaderValue>,
        headers: &mut HeaderMap,
    ) {
        match self {
            Self::None => {}
            Self::XRateLimit => {
                if let Some(decided) = decided(decision, each) {
                    let standing = &decided.decision;
                    for (name, value) in [
                        (LIMIT, decided.limit.burst()),
                        (REMAINING, standing.remaining()),
                        (RESET, whole_seconds(standing.reset_after())),
                    ] {
                        let _ = headers.try_insert(name, value.into());
                    }
                }
            }
            Self::Draft => {
                let policies = policies.cloned();
                for (name, value) in [
                    (POLICY, policies.or_else(|| policy_list(each))),
                    (STANDING, structured::list(each.iter().map(standing))),
                ] {
                    if let Some(value) = value {
                        let _ = headers.try_append(name, value);
                    }
                }
            }
        }
    }
}

/// The whole seconds that `Retry-After` tells a client whose request was denied: rounded up, at
/// least 1, and no earlier than the limit that refused has more. `None` if the request was allowed,
/// or never will be.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::http::retry_after;
/// use tollgate::{Limit, ManualTicker, RateLimiter};
///
/// let ticker = ManualTicker::new(0);
/// let limiter = RateLimiter::<u64>::builder(Limit::new(1, Duration::from_millis(1_400))?)
///     .ticker(ticker.clone())
///     .build()?;
/// assert_eq!(retry_after(&limiter.try_acquire(&7), &[]), None);
/// assert_eq!(retry_after(&limiter.try_acquire(&7), &[]), Some(2));
/// # Ok::<(), tollgate::LimitError>(())
/// ```
pub fn retry_after(decision: &Decision, each: &[Answer<'_>]) -> Option<u64> {
    let wait = decision.retry_after()?;
    let more = match decided(decision, each) {
        Some(decided) => decided.decision.next_permit_after(),
        None => Duration::ZERO,
    };
    Some(whole_seconds(wait.max(more)).max(1))
}

/// What the limit said that decided.
fn decided<'a>(decision: &Decision, each: &'a [Answer<'a>]) -> Option<&'a Answer<'a>> {
    each.get(decision.limit()).or(each.first())
}

/// Rounded up.
pub(super) fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs()
        .saturating_add(u64::from(wait.subsec_nanos() > 0))
}

/// What `RateLimit-Policy` says of these limits.
pub(super) fn policy_list(each: &[Answer<'_>]) -> Option<HeaderValue> {
    structured::list(each.iter().map(policy))
}

fn policy<'a>(answer: &Answer<'a>) -> Item<'a> {
    let period = answer.limit.period();
    let window = (period.subsec_nanos() == 0).then_some(period.as_secs());
    Item {
        name: answer.name,
        parameters: [(b'q', Some(answer.limit.permits())), (b'w', window)],
    }
}

fn standing<'a>(answer: &Answer<'a>) -> Item<'a> {
    let more = answer.decision.next_permit_after();
    let seconds = (more > Duration::ZERO).then(|| whole_seconds(more));
    Item {
        name: answer.name,
        parameters: [(b'r', Some(answer.decision.remaining())), (b't', seconds)],
    }
}
