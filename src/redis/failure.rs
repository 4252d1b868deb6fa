//! What can go wrong between a request and the store.

use ::redis::{ErrorKind, RedisError};
use std::fmt;
use std::time::Duration;

/// Why the store did not decide.
///
/// The message is for an operator: what happened, in the store's words where it has said something.
/// What is wrong with the set-up ([`is_set_up`](Self::is_set_up)) is reported whatever the failure policy:
/// no outage passes by itself that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// There was no answer within the time that a decision may take.
    TimedOut {
        /// That time.
        budget: Duration,
        /// Whether the request was sent, so that its permits may have been spent.
        maybe_applied: bool,
    },
    /// The connection broke before the answer: the permits may have been spent.
    Lost {
        /// What the operating system said.
        why: String,
    },
    /// There is no connection to be had.
    Unreachable {
        /// What the operating system said.
        why: String,
    },
    /// The store has failed too often or answers too slowly, and is not asked before it has been seen
    /// to work again.
    NotAsked {
        /// What it failed with last.
        why: String,
    },
    /// The store answers, and cannot do it now: it is loading, busy, or out of memory.
    Overloaded {
        /// What the store said.
        why: String,
    },
    /// The store's servers are changing roles, and one retry did not find the right one.
    Moving {
        /// What the store said.
        why: String,
    },
    /// The store does not let us: a wrong password, or a right that is missing.
    Forbidden {
        /// What the store said.
        why: String,
    },
    /// An answer that no working set-up gives: a key of another type, keys in several slots, nonsense.
    Unexpected {
        /// What the store said.
        why: String,
    },
    /// The request costs more than the smallest part of a split limit holds, so that it would never fit.
    CostAbovePart {
        /// The cost.
        cost: u64,
        /// What the smallest part holds.
        most: u64,
    },
    /// A request that cannot be put to the store in one step.
    Request {
        /// What is wrong with it.
        why: &'static str,
    },
}

impl StoreError {
    /// Whether it is a mistake in the set-up or in the request, which no failure policy hides.
    pub const fn is_set_up(&self) -> bool {
        matches!(
            self,
            Self::Forbidden { .. }
                | Self::Unexpected { .. }
                | Self::CostAbovePart { .. }
                | Self::Request { .. }
        )
    }

    /// Whether the permits may have been spent all the same.
    pub const fn may_have_been_applied(&self) -> bool {
        matches!(
            self,
            Self::Lost { .. }
                | Self::TimedOut {
                    maybe_applied: true,
                    ..
                }
        )
    }

    /// Whether it says that the store is not well, for the circuit breaker.
    pub(super) const fn is_outage(&self) -> bool {
        !self.is_set_up() && !matches!(self, Self::NotAsked { .. })
    }

    /// A connection that could not be made.
    pub(super) fn connecting(error: &RedisError) -> Self {
        match Self::answered(error) {
            Some(said) => said,
            None => Self::Unreachable {
                why: error.to_string(),
            },
        }
    }

    /// A request that was sent, and failed.
    pub(super) fn asking(error: &RedisError) -> Self {
        let why = || error.to_string();
        match Self::answered(error) {
            Some(said) => said,
            None if error.is_connection_refusal() => Self::Unreachable { why: why() },
            None => match error.kind() {
                ErrorKind::ClusterConnectionNotFound => Self::Unreachable { why: why() },
                ErrorKind::Io => Self::Lost { why: why() },
                _ => Self::Unexpected { why: why() },
            },
        }
    }

    /// What the store itself has said, if it has.
    fn answered(error: &RedisError) -> Option<Self> {
        let why = || match (error.code(), error.detail()) {
            (Some(code), Some(detail)) => format!("{code} {detail}"),
            _ => error.to_string(),
        };
        if error.kind() == ErrorKind::AuthenticationFailed {
            return Some(Self::Forbidden { why: why() });
        }
        let said = match error.code()? {
            "NOAUTH" | "WRONGPASS" | "NOPERM" | "DENIED" => Self::Forbidden { why: why() },
            "OOM" | "BUSY" | "LOADING" | "MISCONF" => Self::Overloaded { why: why() },
            "READONLY" | "MASTERDOWN" | "CLUSTERDOWN" | "NOREPLICAS" | "MOVED" | "ASK"
            | "TRYAGAIN" | "UNBLOCKED" => Self::Moving { why: why() },
            // An EVALSHA is too long for who has given no password.
            "ERR"
                if error
                    .detail()
                    .is_some_and(|detail| detail.contains("unauthenticated")) =>
            {
                Self::Forbidden { why: why() }
            }
            "ERR" if error.detail().is_some_and(is_overload) => Self::Overloaded { why: why() },
            _ => Self::Unexpected { why: why() },
        };
        Some(said)
    }

    pub(super) fn unexpected(why: impl Into<String>) -> Self {
        Self::Unexpected { why: why.into() }
    }
}

fn is_overload(detail: &str) -> bool {
    detail.starts_with("max number of clients")
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut {
                budget,
                maybe_applied: false,
            } => write!(f, "no connection to the store within {budget:?}"),
            Self::TimedOut { budget, .. } => write!(
                f,
                "the store did not answer within {budget:?}, and may have spent the permits"
            ),
            Self::Lost { why } => write!(
                f,
                "the connection to the store broke before the answer, and the permits may have been \
                 spent: {why}"
            ),
            Self::Unreachable { why } => write!(f, "the store cannot be reached: {why}"),
            Self::NotAsked { why } => write!(
                f,
                "the store was not asked, as it has failed too often; last: {why}"
            ),
            Self::Overloaded { why } => write!(f, "the store cannot decide now: {why}"),
            Self::Moving { why } => write!(f, "the store's servers are changing roles: {why}"),
            Self::Forbidden { why } => write!(f, "the store does not let us in: {why}"),
            Self::Unexpected { why } => write!(f, "the store answered what it should not: {why}"),
            Self::CostAbovePart { cost, most } => write!(
                f,
                "a request of {cost} never fits into the smallest part of the limit, which holds {most}"
            ),
            Self::Request { why } => f.write_str(why),
        }
    }
}

impl std::error::Error for StoreError {}
