//! What can fail when something is built. Being over the limit is not here: that is an answer,
//! and [`Decision`](crate::Decision) carries it.

use std::fmt;
use std::time::Duration;

/// A limit that cannot be built, or that an algorithm cannot keep.
///
/// The message says what is wrong and with which number.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limit, LimitError};
///
/// let error = Limit::new(0, Duration::from_secs(1)).unwrap_err();
/// assert_eq!(error, LimitError::NoPermits);
/// assert_eq!(error.to_string(), "a limit needs at least one permit, not 0");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitError {
    /// The limit has no permits at all.
    NoPermits,
    /// The burst is zero, so that nothing would ever be allowed.
    NoBurst,
    /// The period is zero.
    NoPeriod,
    /// The period is longer than 2⁶⁴ − 1 nanoseconds, which is 584 years.
    PeriodTooLong {
        /// The period that was asked for.
        period: Duration,
    },
    /// More permits, over 30 years and one burst, than fit in 64 bits.
    TooManyPermits {
        /// The permits per period.
        permits: u64,
        /// The period.
        period: Duration,
        /// The burst.
        burst: u64,
    },
    /// The burst takes so long to fill that time in nanoseconds can no longer be told apart.
    BurstFillsTooSlowly {
        /// The burst.
        burst: u64,
        /// Whole years that an empty burst takes to fill.
        years: u64,
    },
    /// The algorithm has no burst apart from its permits.
    BurstNotSupported {
        /// Which algorithm.
        algorithm: &'static str,
        /// The permits per period.
        permits: u64,
        /// The burst that was asked for.
        burst: u64,
    },
    /// The count and the window's number do not fit in one word for 30 years.
    WindowDoesNotFit {
        /// Bits that the count needs.
        count_bits: u32,
        /// Bits that the window's number needs.
        window_bits: u32,
    },
    /// The algorithm takes one limit, or at least one, and was given another number of them.
    WrongNumberOfLimits {
        /// Which algorithm.
        algorithm: &'static str,
        /// How many it was given.
        given: usize,
    },
    /// An algorithm from outside this crate refused the limit, for the reason given.
    Refused(String),
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPermits => f.write_str("a limit needs at least one permit, not 0"),
            Self::NoBurst => f.write_str("a limit needs a burst of at least one permit, not 0"),
            Self::NoPeriod => f.write_str("a limit needs a period of at least 1 ns, not 0"),
            Self::PeriodTooLong { period } => write!(
                f,
                "a period of {} s is too long: at most {} s (584 years)",
                period.as_secs(),
                u64::MAX / 1_000_000_000
            ),
            Self::TooManyPermits {
                permits,
                period,
                burst,
            } => write!(
                f,
                "{permits} permits per {period:?} with a burst of {burst} cannot be counted for \
                 30 years in 64 bits"
            ),
            Self::BurstFillsTooSlowly { burst, years } => write!(
                f,
                "a burst of {burst} takes {years} years to fill: with 30 years of running, that is \
                 too long to be counted in nanoseconds (up to 260 years always can)"
            ),
            Self::BurstNotSupported {
                algorithm,
                permits,
                burst,
            } => write!(
                f,
                "{algorithm} has no burst of its own: it allows {permits} per period, and was \
                 given a burst of {burst}"
            ),
            Self::WindowDoesNotFit {
                count_bits,
                window_bits,
            } => write!(
                f,
                "a fixed window needs {count_bits} bits for its count and {window_bits} for 30 \
                 years of windows, {} in all, and has 64",
                count_bits + window_bits
            ),
            Self::WrongNumberOfLimits { algorithm, given } => {
                let hint = if *given > 1 {
                    " (AllOf keeps several)"
                } else {
                    ""
                };
                write!(f, "{algorithm} cannot keep a list of {given} limits{hint}")
            }
            Self::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for LimitError {}

/// Text that is no limit, from [`Limit`](crate::Limit)'s `FromStr`.
///
/// # Examples
///
/// ```
/// use tollgate::Limit;
///
/// let error = "100 per fortnight".parse::<Limit>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "'fortnight' is no unit of time: use ns, us, ms, s, min, h or d",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseLimitError {
    /// The text is not of the form `PERMITS/PERIOD` or `PERMITS/PERIOD burst BURST`.
    Form(String),
    /// This part should be a whole number and is not, or is too large.
    Number(String),
    /// This part should be a unit of time and is not.
    Unit(String),
    /// The text reads well, and names a limit that cannot be.
    Limit(LimitError),
}

impl fmt::Display for ParseLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form(text) => write!(
                f,
                "'{}' is no limit: write it like 100/min, 5/s or 1000/h burst 50",
                Shown(text)
            ),
            Self::Number(part) => write!(
                f,
                "'{}' is no whole number from 1 to {}",
                Shown(part),
                u64::MAX
            ),
            Self::Unit(part) => write!(
                f,
                "'{}' is no unit of time: use ns, us, ms, s, min, h or d",
                Shown(part)
            ),
            Self::Limit(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ParseLimitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Limit(error) => Some(error),
            _ => None,
        }
    }
}

impl From<LimitError> for ParseLimitError {
    fn from(error: LimitError) -> Self {
        Self::Limit(error)
    }
}

/// Text from outside, cut and escaped so that it fits in one line of a log.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 60;
        for c in self.0.chars().take(MOST) {
            write!(f, "{}", c.escape_debug())?;
        }
        if self.0.chars().nth(MOST).is_some() {
            f.write_str("…")?;
        }
        Ok(())
    }
}

/// Why a limiter with a background thread could not be built.
///
/// # Examples
///
/// ```
/// use tollgate::{BuildError, LimitError};
///
/// let error = BuildError::from(LimitError::NoPermits);
/// assert_eq!(error.to_string(), "a limit needs at least one permit, not 0");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The algorithm cannot keep the limit.
    Limit(LimitError),
    /// The operating system did not start the thread.
    Thread(std::io::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(error) => error.fmt(f),
            Self::Thread(error) => write!(f, "the evicting thread could not be started: {error}"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Limit(error) => Some(error),
            Self::Thread(error) => Some(error),
        }
    }
}

impl From<LimitError> for BuildError {
    fn from(error: LimitError) -> Self {
        Self::Limit(error)
    }
}

impl From<std::io::Error> for BuildError {
    fn from(error: std::io::Error) -> Self {
        Self::Thread(error)
    }
}

/// Why a request does not wait, or no longer, for its turn.
///
/// It has spent nothing then.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{AcquireError, Limit, RateLimiter};
///
/// let limiter = RateLimiter::<u64>::new(Limit::per_hour(5))?;
/// let error = limiter.acquire_n_timeout(&7, 6, Duration::MAX).unwrap_err();
/// assert_eq!(error, AcquireError::Never { cost: 6 });
/// assert_eq!(error.to_string(), "a cost of 6 permits is more than the limit can ever hold");
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireError {
    /// The cost is above the capacity: it would wait for ever.
    Never {
        /// The permits that were asked for.
        cost: u64,
    },
    /// So many wait already, for all keys together.
    TooMany {
        /// How many may.
        waiters: usize,
    },
    /// So many wait already for this key.
    TooManyForKey {
        /// How many may.
        waiters: usize,
    },
    /// It is next, and the permits will not be there in time.
    TooLong {
        /// How long it would have to wait still.
        wait: Duration,
    },
    /// It has waited as long as it may.
    TimedOut {
        /// How long that was.
        timeout: Duration,
    },
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never { cost } => write!(
                f,
                "a cost of {cost} permits is more than the limit can ever hold"
            ),
            Self::TooMany { waiters } => {
                write!(f, "{waiters} wait already, which is as many as may")
            }
            Self::TooManyForKey { waiters } => {
                write!(
                    f,
                    "{waiters} wait already for this key, which is as many as may"
                )
            }
            Self::TooLong { wait } => write!(
                f,
                "the permits are there in {wait:?} at the earliest, which is too long to wait"
            ),
            Self::TimedOut { timeout } => write!(f, "not its turn after {timeout:?}"),
        }
    }
}

impl std::error::Error for AcquireError {}
