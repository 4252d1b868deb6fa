//! What a request is told, and who has decided it.

use super::failure::StoreError;
use crate::decision::{Decision, Standing, Verdict};
use std::sync::Arc;
use std::time::Duration;

/// Who has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Basis {
    /// The store, for the whole fleet.
    Store,
    /// This process, from what the store said of the key before: always a denial.
    PreCheck,
    /// This process's own limiter, as the store did not decide.
    Fallback,
    /// Nobody: the failure policy is to let all through, or none.
    Assumed,
}

/// A decision of a limiter that shares its counts with other servers, and its basis.
///
/// What is not known is absent: who was let through as the store did not answer has no number of
/// permits left.
#[derive(Clone, Debug)]
pub struct Answer {
    basis: Basis,
    verdict: Verdict,
    decision: Option<Decision>,
    /// The part of a split limit that decided.
    pub(super) part: u32,
    /// Whether it was put together from parts that were looked at one after the other.
    approximate: bool,
    failure: Option<Arc<StoreError>>,
}

impl Answer {
    pub(super) fn of_store(decision: Decision, part: u32) -> Self {
        Self {
            basis: Basis::Store,
            verdict: decision.verdict(),
            decision: Some(decision),
            part,
            approximate: false,
            failure: None,
        }
    }

    /// What the parts of a split limit have, each at its own moment.
    pub(super) fn of_parts(parts: &[Decision]) -> Self {
        let best = parts.iter().min_by_key(|part| part.wait());
        let verdict = best.map_or(Verdict::Never, Decision::verdict);
        let mores = parts.iter().map(|part| part.standing().next_permit_after);
        let standing = Standing {
            remaining: parts.iter().map(Decision::remaining).sum(),
            next_permit_after: mores.filter(|more| *more > 0).min().unwrap_or(0),
            reset_after: parts
                .iter()
                .map(|part| part.standing().reset_after)
                .max()
                .unwrap_or(0),
        };
        let reading = parts.iter().map(Decision::reading).max().unwrap_or(0);
        let cost = best.map_or(0, Decision::cost);
        let decision = Decision::new(verdict, 0, cost, reading, standing).unspent();
        Self {
            approximate: true,
            ..Self::of_store(decision, 0)
        }
    }

    pub(super) fn pre_checked(retry_after: Duration) -> Self {
        Self {
            basis: Basis::PreCheck,
            verdict: Verdict::Denied { retry_after },
            decision: None,
            part: 0,
            approximate: false,
            failure: None,
        }
    }

    pub(super) fn fallback(decision: Decision, failure: Arc<StoreError>) -> Self {
        Self {
            basis: Basis::Fallback,
            verdict: decision.verdict(),
            decision: Some(decision),
            part: 0,
            approximate: false,
            failure: Some(failure),
        }
    }

    pub(super) fn assumed(verdict: Verdict, failure: Arc<StoreError>) -> Self {
        Self {
            basis: Basis::Assumed,
            verdict,
            decision: None,
            part: 0,
            approximate: false,
            failure: Some(failure),
        }
    }

    /// The same, of which nothing is to be given back.
    pub(super) fn unspent(&self) -> Self {
        Self {
            decision: self.decision.map(Decision::unspent),
            ..self.clone()
        }
    }

    /// More than the limit can ever hold: nobody need be asked.
    pub(super) fn never(basis: Basis) -> Self {
        Self {
            basis,
            verdict: Verdict::Never,
            decision: None,
            part: 0,
            approximate: false,
            failure: None,
        }
    }

    /// Who has decided.
    pub fn basis(&self) -> Basis {
        self.basis
    }

    /// Whether the request may go ahead.
    pub fn is_allowed(&self) -> bool {
        self.verdict == Verdict::Allowed
    }

    /// Whether it may not go ahead now.
    pub fn is_denied(&self) -> bool {
        !self.is_allowed()
    }

    /// Whether it asks for more than the limit can ever hold.
    pub fn is_never(&self) -> bool {
        self.verdict == Verdict::Never
    }

    /// The three cases, for a `match`.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// How long to wait before asking again; `None` if the request was allowed, or never will be.
    pub fn retry_after(&self) -> Option<Duration> {
        match self.verdict {
            Verdict::Denied { retry_after } => Some(retry_after),
            Verdict::Allowed | Verdict::Never => None,
        }
    }

    /// Whole permits left, if known. Of a split limit: those of the part that decided.
    pub fn remaining(&self) -> Option<u64> {
        self.decision.as_ref().map(Decision::remaining)
    }

    /// How long until there is one permit more, if known.
    pub fn next_permit_after(&self) -> Option<Duration> {
        self.decision.as_ref().map(Decision::next_permit_after)
    }

    /// How long until the key is as good as new, if known.
    pub fn reset_after(&self) -> Option<Duration> {
        self.decision.as_ref().map(Decision::reset_after)
    }

    /// Whether the numbers are of different moments: those of a [`peek`](super::RedisLimiter::peek) at a
    /// split limit.
    pub fn is_approximate(&self) -> bool {
        self.approximate
    }

    /// All that is known, where a store or a limiter has decided.
    pub fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
    }

    /// Why the store has not decided, where it was asked.
    pub fn failure(&self) -> Option<&StoreError> {
        self.failure.as_deref()
    }
}
