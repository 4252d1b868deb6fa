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
        let said = match code_of(error)? {
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

/// The code of what the store has said.
///
/// Before Redis 7 what a command of a script says is wrapped: `ERR Error running script (…): @user_script:12:
/// @user_script: 12: -READONLY You can't write against a read only replica.`
pub(super) fn code_of(error: &RedisError) -> Option<&str> {
    let code = error.code()?;
    let of_script = error
        .detail()
        .filter(|detail| code == "ERR" && detail.starts_with("Error running script"))
        .and_then(|detail| detail.split_once(": -"));
    match of_script {
        Some((_, said)) => said.split_whitespace().next(),
        None => Some(code),
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

#[cfg(test)]
mod tests {
    use super::*;
    use ::redis::parse_redis_value;

    fn failure(line: &str) -> StoreError {
        let reply = format!("-{line}\r\n");
        let value = parse_redis_value(reply.as_bytes()).expect("a reply");
        StoreError::asking(&value.extract_error().expect_err("an error"))
    }

    #[test]
    fn what_a_script_says_is_told_apart_however_it_is_wrapped() {
        let plain = |said: &str| said.to_owned();
        let suffixed = |said: &str| format!("{said} script: 2892a5, on @user_script:12.");
        let wrapped = |said: &str| {
            format!(
                "ERR Error running script (call to f_2892a5): @user_script:12: @user_script: 12: -{said}"
            )
        };
        let wraps: [&dyn Fn(&str) -> String; 3] = [&plain, &suffixed, &wrapped];
        for wrap in wraps {
            let said = wrap("OOM command not allowed when used memory > 'maxmemory'.");
            assert!(
                matches!(failure(&said), StoreError::Overloaded { .. }),
                "{said}"
            );
            let said = wrap("READONLY You can't write against a read only replica.");
            assert!(
                matches!(failure(&said), StoreError::Moving { .. }),
                "{said}"
            );
            let said = wrap("NOPERM this user has no permissions");
            assert!(
                matches!(failure(&said), StoreError::Forbidden { .. }),
                "{said}"
            );
            let said = wrap("WRONGTYPE Operation against a key: -READONLY");
            assert!(
                matches!(failure(&said), StoreError::Unexpected { .. }),
                "{said}"
            );
        }
        let foreign = "ERR Error running script (call to f_1): @user_script:9: user_script:9: TOLLGATE a value";
        assert!(failure(foreign).is_set_up());
    }
}
