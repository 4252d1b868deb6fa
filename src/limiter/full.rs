//! What becomes of a new key when a limiter has no place for it.

use super::unspent;
use crate::algorithm::{Algorithm, Plan, Reading};
use crate::decision::Decision;
use std::fmt;

/// What becomes of a request for a new key when all places of
/// [`max_keys`](crate::Builder::max_keys) are taken by keys in use.
///
/// Keys that have a place are never touched by it: to forget a key that is in use would give it its
/// permits back, which whoever can make keys up would be glad of.
///
/// # Examples
///
/// ```
/// use tollgate::{Algorithm, Limit, RateLimiter, TokenBucket, WhenFull};
///
/// // Ten strangers a second in all, once the limiter is full.
/// let strangers = TokenBucket.plan(Limit::per_second(10))?;
/// let limiter = RateLimiter::<u64>::builder(Limit::per_second(5))
///     .max_keys(2)
///     .when_full(WhenFull::Share(strangers))
///     .build()?;
/// assert!(!limiter.try_acquire(&1).is_untracked() && !limiter.try_acquire(&2).is_untracked());
///
/// let stranger = limiter.try_acquire(&3);
/// assert!(stranger.is_untracked());
/// assert_eq!(stranger.remaining(), 9);
/// # Ok::<(), tollgate::LimitError>(())
/// ```
pub enum WhenFull<A: Algorithm> {
    /// The request is denied.
    ///
    /// Nobody can know when a place will be free. The time to wait that the decision tells is what
    /// it would take this request's own permits to come back, if it had been allowed.
    Deny,
    /// The request is decided as the key's first, and not counted. Without a limit on new keys, only
    /// those that have a place are limited.
    Allow,
    /// All such keys share one state, under this plan.
    Share(Plan<A>),
}

impl<A: Algorithm> Clone for WhenFull<A> {
    fn clone(&self) -> Self {
        match self {
            Self::Deny => Self::Deny,
            Self::Allow => Self::Allow,
            Self::Share(plan) => Self::Share(plan.clone()),
        }
    }
}

impl<A: Algorithm> fmt::Debug for WhenFull<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deny => f.write_str("Deny"),
            Self::Allow => f.write_str("Allow"),
            Self::Share(plan) => f.debug_tuple("Share").field(plan).finish(),
        }
    }
}

/// The choice, with the state that is shared.
pub(super) enum Full<A: Algorithm> {
    Deny,
    Allow,
    Share(Plan<A>, A::State),
}

impl<A: Algorithm> Full<A> {
    pub(super) fn new(choice: WhenFull<A>) -> Self {
        match choice {
            WhenFull::Deny => Self::Deny,
            WhenFull::Allow => Self::Allow,
            WhenFull::Share(plan) => {
                let state = A::fresh(plan.rule());
                Self::Share(plan, state)
            }
        }
    }

    /// Makes each limit's own answer say of itself what the whole does: that it spent nothing, that
    /// it was given without a state of the key's own.
    pub(super) fn mark_each(&self, whole: &Decision, each: &mut [Decision], limits: usize) {
        if whole.spent() == 0 {
            unspent(each, limits);
        }
        if whole.is_untracked() {
            for own in each.iter_mut().take(limits) {
                *own = match self {
                    Self::Deny => own.refused(),
                    Self::Allow | Self::Share(..) => own.untracked(),
                };
            }
        }
    }

    /// Gives permits back to the state that is shared, where there is one.
    pub(super) fn refund(&self, at: Reading, decision: &Decision) {
        if let Self::Share(plan, state) = self {
            // Never gone: nobody retires or moves it.
            let _ = A::refund(plan.rule(), state, at, decision);
        }
    }
}

/// An answer that may have been given without a state of the key's own.
pub(super) trait Answer {
    /// The same answer, with what `change` makes of its decision.
    fn map(self, change: impl Fn(Decision) -> Decision) -> Self;
}

impl Answer for Decision {
    fn map(self, change: impl Fn(Decision) -> Decision) -> Self {
        change(self)
    }
}

impl Answer for (Decision, usize) {
    fn map(self, change: impl Fn(Decision) -> Decision) -> Self {
        (change(self.0), self.1)
    }
}
