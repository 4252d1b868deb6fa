//! What happens to requests while the store does not decide.

use std::time::Duration;

/// What a limiter answers when the store fails. There is no default: which one is right depends on what the
/// limit protects, and only you know that.
///
/// A wrong set-up ([`StoreError::is_set_up`](super::StoreError::is_set_up)) is an error under each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFailure {
    /// Let requests through: the service is worth more than the limit. For a limit that is there for
    /// fairness.
    Open,
    /// Refuse requests, and tell clients to come back after so long. For a limit that guards something:
    /// passwords, money, a backend that breaks.
    Closed {
        /// What denied requests are told.
        retry_after: Duration,
    },
    /// Decide in this process, with this server's share of the limit: a whole one divided by so many.
    ///
    /// The limiter that does is kept as empty as the store last said, so that an outage hands out no fresh
    /// burst.
    Local {
        /// How many servers share the limit.
        servers: u32,
    },
    /// Give the failure to the caller, as an error.
    Report,
}
