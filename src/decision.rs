//! The answer to one request.

use std::fmt;
use std::time::Duration;

/// A wait that no time ends. Waits that are longer than can be told are told as 1 ns less.
pub(crate) const NEVER: u64 = u64::MAX;

/// The answer to one request: allowed with so many permits left, or denied with the exact time to
/// wait.
///
/// A decision is a plain value: it is `Copy`, knows nothing of the limiter that made it, and is
/// as true as the moment at which it was made. Being denied is an answer, not an error.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limit, ManualTicker, RateLimiter};
///
/// let limiter = RateLimiter::<u64>::builder(Limit::per_second(2))
///     .ticker(ManualTicker::new(0))
///     .build()?;
///
/// let first = limiter.try_acquire(&7);
/// assert!(first.is_allowed());
/// assert_eq!(first.remaining(), 1);
/// assert_eq!(first.retry_after(), None);
/// assert_eq!(first.reset_after(), Duration::from_millis(500));
///
/// limiter.try_acquire(&7);
/// let third = limiter.try_acquire(&7);
/// assert!(third.is_denied());
/// assert_eq!(third.retry_after(), Some(Duration::from_millis(500)));
///
/// // Three at once never fit: no waiting helps, so there is no time to wait.
/// let never = limiter.try_acquire_n(&7, 3);
/// assert!(never.is_never());
/// assert_eq!(never.retry_after(), None);
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Nanoseconds until the request is allowed: 0 if it is, `NEVER` if it never will be.
    wait: u64,
    limit: u32,
    /// Whether `wait` is 0: by itself, so that who asks for no more has no wait worked out.
    allowed: bool,
    /// Whether `cost` permits were spent.
    spends: bool,
    /// Whether the key has a state of its own, or a place could have been had for one.
    tracked: bool,
    cost: u64,
    reading: u64,
    standing: Standing,
}

/// A place for a decision that is still to be made.
#[cfg(feature = "tower")]
pub(crate) const BLANK: Decision = Decision::after(
    NEVER,
    0,
    0,
    0,
    Standing {
        remaining: 0,
        next_permit_after: 0,
        reset_after: 0,
    },
);

/// What a [`Decision`] comes to, for a `match`.
///
/// # Examples
///
/// ```
/// use tollgate::{Limit, RateLimiter, Verdict};
///
/// let limiter = RateLimiter::<u64>::new(Limit::per_second(5))?;
/// let status = match limiter.try_acquire(&1).verdict() {
///     Verdict::Allowed => 200,
///     Verdict::Denied { retry_after } => {
///         println!("Retry-After: {}", retry_after.as_secs_f64().ceil());
///         429
///     }
///     Verdict::Never => 413,
/// };
/// assert_eq!(status, 200);
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request may go ahead. Its permits are spent, unless it was only a peek.
    Allowed,
    /// The request may not go ahead now.
    Denied {
        /// How long until the same request would be allowed, if nobody else asks. Never zero.
        retry_after: Duration,
    },
    /// The request asks for more than the limit can ever hold.
    Never,
}

/// How a key stands at one moment: what is left, and when there will be more.
///
/// An [`Algorithm`](crate::Algorithm) fills this in; [`Decision`] shows it.
///
/// # Examples
///
/// ```
/// use tollgate::Standing;
///
/// let full = Standing { remaining: 10, next_permit_after: 0, reset_after: 0 };
/// assert_eq!(full.next_permit_after, 0, "nothing more to wait for");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whole permits left.
    pub remaining: u64,
    /// Nanoseconds until there is one permit more than now; zero when full.
    pub next_permit_after: u64,
    /// Nanoseconds until the state is as good as new, if nobody asks; zero when it is.
    pub reset_after: u64,
}

impl Decision {
    /// A decision with all that it tells, for an algorithm of your own.
    ///
    /// `limit` is the position in the list of the limit that decided (0 for a single limit),
    /// `cost` what the request asked for, and `reading` the ticker's nanoseconds at which it was
    /// judged: where a state has recorded a later time than the ticker now tells, that later time.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Decision, Standing, Verdict};
    ///
    /// let standing = Standing { remaining: 3, next_permit_after: 250, reset_after: 500 };
    /// let decision = Decision::new(Verdict::Allowed, 0, 1, 1_000, standing);
    /// assert!(decision.is_allowed());
    /// assert_eq!(decision.remaining(), 3);
    /// ```
    #[inline]
    pub const fn new(
        verdict: Verdict,
        limit: u32,
        cost: u64,
        reading: u64,
        standing: Standing,
    ) -> Self {
        let wait = match verdict {
            Verdict::Allowed => 0,
            Verdict::Never => NEVER,
            Verdict::Denied { retry_after } => {
                let wait = retry_after.as_nanos();
                if wait == 0 {
                    1
                } else if wait >= NEVER as u128 {
                    NEVER - 1
                } else {
                    wait as u64
                }
            }
        };
        Self::after(wait, limit, cost, reading, standing)
    }

    /// As [`new`](Self::new), where the request is allowed after `wait` nanoseconds: 0 now,
    /// `NEVER` never.
    #[inline]
    pub(crate) const fn after(
        wait: u64,
        limit: u32,
        cost: u64,
        reading: u64,
        standing: Standing,
    ) -> Self {
        Self {
            wait,
            limit,
            allowed: wait == 0,
            spends: wait == 0 && cost > 0,
            tracked: true,
            cost,
            reading,
            standing,
        }
    }

    /// As [`after`](Self::after), where it is known before `wait` is whether that is 0.
    #[inline]
    pub(crate) const fn known(
        allowed: bool,
        wait: u64,
        cost: u64,
        reading: u64,
        standing: Standing,
    ) -> Self {
        Self {
            allowed,
            spends: allowed && cost > 0,
            ..Self::after(wait, 0, cost, reading, standing)
        }
    }

    /// The answer of several limits, which were asked together, to a request of this cost.
    pub(crate) fn of_parts(parts: &[Self], cost: u64) -> Self {
        let remaining = parts.iter().map(Self::remaining).min();
        let is_fewest = |part: &&Self| Some(part.remaining()) == remaining;
        let wait = parts.iter().map(Self::wait).max().unwrap_or(0);
        let decided = match wait {
            0 => parts.iter().position(|part| is_fewest(&part)),
            _ => parts.iter().position(|part| part.wait() == wait),
        };
        let mut fewest = parts
            .iter()
            .filter(is_fewest)
            .map(|part| part.standing.next_permit_after);
        // Where one of those with the fewest is full, there will never be more.
        let next_permit_after = fewest
            .try_fold(0, |longest: u64, next| {
                (next > 0).then(|| longest.max(next))
            })
            .unwrap_or(0);
        let resets = parts.iter().map(|part| part.standing.reset_after);
        let standing = Standing {
            remaining: remaining.unwrap_or(u64::MAX),
            next_permit_after,
            reset_after: resets.max().unwrap_or(0),
        };
        let reading = parts.iter().map(Self::reading).max().unwrap_or(0);
        // A slice of more than 2^32 parts does not fit in memory.
        Self::after(wait, decided.unwrap_or(0) as u32, cost, reading, standing)
    }

    /// Nanoseconds until the request is allowed: 0 if it is, `NEVER` if it never will be.
    #[inline]
    pub(crate) const fn wait(&self) -> u64 {
        self.wait
    }

    /// Whether the request may go ahead.
    #[inline]
    pub const fn is_allowed(&self) -> bool {
        self.allowed
    }

    /// Whether the request may not go ahead now. True as well where it never may.
    #[inline]
    pub const fn is_denied(&self) -> bool {
        !self.is_allowed()
    }

    /// Whether the request asks for more than the limit can ever hold, so that no waiting helps.
    #[inline]
    pub const fn is_never(&self) -> bool {
        self.wait == NEVER
    }

    /// The three cases, for a `match`.
    #[inline]
    pub const fn verdict(&self) -> Verdict {
        match self.wait {
            0 => Verdict::Allowed,
            NEVER => Verdict::Never,
            wait => Verdict::Denied {
                retry_after: Duration::from_nanos(wait),
            },
        }
    }

    /// Whole permits left: after this request if it was allowed, now if it was denied or only a
    /// peek.
    #[inline]
    pub const fn remaining(&self) -> u64 {
        self.standing.remaining
    }

    /// How long until the same request would be allowed if nobody else asks. Exact: 1 ns earlier
    /// it would be denied.
    ///
    /// `None` when it was allowed, and when it [never](Self::is_never) will be.
    #[inline]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self.verdict() {
            Verdict::Denied { retry_after } => Some(retry_after),
            Verdict::Allowed | Verdict::Never => None,
        }
    }

    /// How long until there is one permit more than now; zero when the key is full.
    #[inline]
    pub const fn next_permit_after(&self) -> Duration {
        Duration::from_nanos(self.standing.next_permit_after)
    }

    /// How long until the key is as good as new if nobody asks again; zero when it is.
    #[inline]
    pub const fn reset_after(&self) -> Duration {
        Duration::from_nanos(self.standing.reset_after)
    }

    /// All that is left and when there will be more, in nanoseconds.
    #[inline]
    pub const fn standing(&self) -> Standing {
        self.standing
    }

    /// Which limit decided, by its position in the list; the first where several are equal.
    ///
    /// When denied, the limit with the longest wait; when allowed, the one with the fewest
    /// permits left. Always 0 for a single limit.
    #[inline]
    pub const fn limit(&self) -> usize {
        self.limit as usize
    }

    /// The permits that the request asked for.
    #[inline]
    pub const fn cost(&self) -> u64 {
        self.cost
    }

    /// The permits that were spent: the cost, if the request was allowed and was no peek. It is what
    /// `refund` gives back.
    #[inline]
    pub const fn spent(&self) -> u64 {
        if self.spends { self.cost } else { 0 }
    }

    /// The same answer to a request that spent nothing: a peek.
    #[inline]
    pub const fn unspent(self) -> Self {
        Self {
            spends: false,
            ..self
        }
    }

    /// The same answer, to a request that asked for its part of the cost.
    pub(crate) const fn with_cost(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// Whether it was made without a state of the key's own, because the limiter had no place for
    /// another key; see [`max_keys`](crate::Builder::max_keys).
    #[inline]
    pub const fn is_untracked(&self) -> bool {
        !self.tracked
    }

    /// The same answer, made without a state of the key's own.
    pub(crate) const fn untracked(self) -> Self {
        Self {
            tracked: false,
            ..self
        }
    }

    /// The refusal of a request that has others before it: `self` is what all of them together would
    /// be told, and they wait so much later still.
    pub(crate) fn behind_others(self, cost: u64, later: u64) -> Self {
        Self {
            wait: self.wait.saturating_add(later).clamp(1, NEVER - 1),
            allowed: false,
            cost,
            ..self.unspent()
        }
    }

    /// A refusal of what would have been allowed, for want of a place.
    pub(crate) fn refused(self) -> Self {
        let wait = match self.wait {
            0 => self.standing.reset_after.clamp(1, NEVER - 1),
            wait => wait,
        };
        let standing = Standing {
            remaining: 0,
            next_permit_after: wait,
            reset_after: wait,
        };
        Self {
            wait,
            allowed: false,
            standing,
            ..self.unspent().untracked()
        }
    }

    /// The ticker's reading at which the request was judged, in nanoseconds. `refund` needs it to
    /// find what was spent.
    #[inline]
    pub const fn reading(&self) -> u64 {
        self.reading
    }
}

impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decision")
            .field("verdict", &self.verdict())
            .field("limit", &self.limit)
            .field("cost", &self.cost)
            .field("spent", &self.spent())
            .field("reading", &self.reading)
            .field("remaining", &self.remaining())
            .field("next_permit_after", &self.next_permit_after())
            .field("reset_after", &self.reset_after())
            .field("untracked", &self.is_untracked())
            .finish()
    }
}
