//! What can be wrong when a store or one of its limiters is built.

use crate::error::LimitError;
use crate::limit::Limit;
use std::fmt;
use std::time::Duration;

/// Why a store, or a limiter on it, could not be built.
///
/// # Examples
///
/// ```
/// use tollgate::redis::Store;
///
/// let error = Store::open("not a url").unwrap_err();
/// assert!(error.to_string().starts_with("'not a url' is no address of a store"));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SetUpError {
    /// The address of the store cannot be read.
    Address {
        /// What was given, without its password.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// A prefix or a name that cannot be part of a key.
    Name {
        /// What was given.
        name: String,
    },
    /// The algorithm cannot keep the limit.
    Limit(LimitError),
    /// The store counts in microseconds.
    PeriodNotInMicroseconds {
        /// The period that was asked for.
        period: Duration,
    },
    /// The limit's numbers are too large to be exact in the store's scripts.
    TooLarge {
        /// The limit.
        limit: Limit,
        /// The product of its numbers that is too large.
        figure: u128,
        /// The most that it may be.
        most: u128,
    },
    /// A sliding log in the store keeps an entry for each permit.
    LogTooLong {
        /// The permits that were asked for.
        permits: u64,
        /// The most there can be.
        most: u64,
    },
    /// A limit cannot be split into so many parts: one of them would have nothing.
    Split {
        /// The limit.
        limit: Limit,
        /// How many parts.
        parts: u32,
    },
    /// A request may cost more than the smallest part of a split limit holds.
    CostAbovePart {
        /// The largest cost that was announced.
        cost: u64,
        /// What the smallest part holds.
        most: u64,
    },
}

impl fmt::Display for SetUpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { address, why } => write!(
                f,
                "'{address}' is no address of a store ({why}): write it like \
                 redis://user:password@host:6379/0"
            ),
            Self::Name { name } => write!(
                f,
                "'{}' cannot be part of a key: use 1 to 64 letters, digits, '-', '_' and '.'",
                name.escape_debug()
            ),
            Self::Limit(error) => error.fmt(f),
            Self::PeriodNotInMicroseconds { period } => write!(
                f,
                "a period of {period:?} is not in whole microseconds, in which the store counts"
            ),
            Self::TooLarge {
                limit,
                figure,
                most,
            } => write!(
                f,
                "{limit} comes to {figure} in the store's scripts, which count exactly to {most} \
                 (2^{}): take a smaller burst, or permits that divide the period",
                most.ilog2()
            ),
            Self::LogTooLong { permits, most } => write!(
                f,
                "a sliding log of {permits} permits is too long for the store, which keeps an entry \
                 for each: at most {most}"
            ),
            Self::Split { limit, parts } => write!(
                f,
                "{limit} cannot be split into {parts} parts: each needs a permit and a burst of its own"
            ),
            Self::CostAbovePart { cost, most } => write!(
                f,
                "a request of {cost} never fits into the smallest part of the limit, which holds {most}"
            ),
        }
    }
}

impl std::error::Error for SetUpError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Limit(error) => Some(error),
            _ => None,
        }
    }
}

impl From<LimitError> for SetUpError {
    fn from(error: LimitError) -> Self {
        Self::Limit(error)
    }
}
