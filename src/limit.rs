//! How much, per how long, how much at once.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::error::{LimitError, ParseLimitError};

/// How much is allowed: so many permits per period, and how many of them at once.
///
/// A limit is a plain value. It knows no key, no clock and no algorithm; what it promises depends
/// on the algorithm that keeps it (see [`algorithm`](crate::algorithm)). Permits and burst are
/// whole numbers from 1 to 2⁶⁴ − 1, the period is from 1 ns to 2⁶⁴ − 1 ns (584 years).
///
/// # Text
///
/// `Display` and `FromStr` agree with each other: `100/min`, `5/s`, `1000/h burst 50`,
/// `10/10min`. Units of time are `ns`, `us`, `ms`, `s`, `min`, `h` and `d`, or their English
/// names; `per` may stand for the slash. A number of permits may end in `k`, `M`, `G`, `T`
/// (powers of 1000) or `Ki`, `Mi`, `Gi`, `Ti` (powers of 1024), with a `B` where permits are
/// bytes: `1GiB/s`.
///
/// With the feature `serde`, a limit is serialised as that text.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::Limit;
///
/// const PER_CLIENT: Limit = Limit::per_minute(100).with_burst(20);
/// assert_eq!(PER_CLIENT.to_string(), "100/min burst 20");
///
/// let limit = Limit::new(10, Duration::from_secs(600))?;
/// assert_eq!(limit, "10/10min".parse()?);
/// assert_eq!(limit.burst(), 10, "as many at once as per period, unless told otherwise");
///
/// assert_eq!("1GiB/s".parse::<Limit>()?.permits(), 1 << 30);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    permits: u64,
    period_ns: u64,
    burst: u64,
}

const SECOND: u64 = 1_000_000_000;

impl Limit {
    /// A limit of `permits` per `period`, all of which may be spent at once.
    ///
    /// # Errors
    ///
    /// If `permits` is zero, or `period` is zero or longer than 2⁶⁴ − 1 ns (584 years).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Limit, LimitError};
    ///
    /// assert_eq!(Limit::new(5, Duration::from_secs(1)), Ok(Limit::per_second(5)));
    /// assert_eq!(Limit::new(5, Duration::ZERO), Err(LimitError::NoPeriod));
    /// ```
    pub const fn new(permits: u64, period: Duration) -> Result<Self, LimitError> {
        let period_ns = period.as_nanos();
        if permits == 0 {
            Err(LimitError::NoPermits)
        } else if period_ns == 0 {
            Err(LimitError::NoPeriod)
        } else if period_ns > u64::MAX as u128 {
            Err(LimitError::PeriodTooLong { period })
        } else {
            Ok(Self {
                permits,
                period_ns: period_ns as u64,
                burst: permits,
            })
        }
    }

    /// A limit of `permits` per second.
    ///
    /// # Panics
    ///
    /// If `permits` is zero; in a `const`, that is an error of compilation.
    pub const fn per_second(permits: u64) -> Self {
        Self::per(permits, SECOND)
    }

    /// A limit of `permits` per minute.
    ///
    /// # Panics
    ///
    /// If `permits` is zero; in a `const`, that is an error of compilation.
    pub const fn per_minute(permits: u64) -> Self {
        Self::per(permits, 60 * SECOND)
    }

    /// A limit of `permits` per hour.
    ///
    /// # Panics
    ///
    /// If `permits` is zero; in a `const`, that is an error of compilation.
    pub const fn per_hour(permits: u64) -> Self {
        Self::per(permits, 3_600 * SECOND)
    }

    /// A limit of `permits` per day of 24 hours.
    ///
    /// # Panics
    ///
    /// If `permits` is zero; in a `const`, that is an error of compilation.
    pub const fn per_day(permits: u64) -> Self {
        Self::per(permits, 86_400 * SECOND)
    }

    const fn per(permits: u64, period_ns: u64) -> Self {
        assert!(permits > 0, "a limit needs at least one permit, not 0");
        Self {
            permits,
            period_ns,
            burst: permits,
        }
    }

    /// The same limit with another burst: how many permits may be spent at once by a key that has
    /// been quiet.
    ///
    /// Only the token bucket and AllOf have a burst apart from the permits; the window algorithms
    /// refuse such a limit when they are built.
    ///
    /// # Panics
    ///
    /// If `burst` is zero; in a `const`, that is an error of compilation. Use
    /// [`try_with_burst`](Self::try_with_burst) for a number from outside.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// let limiter = RateLimiter::<u64>::new(Limit::per_hour(1000).with_burst(2))?;
    /// assert!(limiter.try_acquire_n(&1, 2).is_allowed());
    /// assert!(limiter.try_acquire(&1).is_denied(), "two at once, and no third");
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub const fn with_burst(self, burst: u64) -> Self {
        assert!(
            burst > 0,
            "a limit needs a burst of at least one permit, not 0"
        );
        Self { burst, ..self }
    }

    /// The same limit with another burst, where the number comes from outside.
    ///
    /// # Errors
    ///
    /// If `burst` is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limit, LimitError};
    ///
    /// assert_eq!(Limit::per_second(5).try_with_burst(9)?.burst(), 9);
    /// assert_eq!(Limit::per_second(5).try_with_burst(0), Err(LimitError::NoBurst));
    /// # Ok::<(), LimitError>(())
    /// ```
    pub const fn try_with_burst(self, burst: u64) -> Result<Self, LimitError> {
        if burst == 0 {
            return Err(LimitError::NoBurst);
        }
        Ok(Self { burst, ..self })
    }

    /// How many permits a period brings.
    #[inline]
    pub const fn permits(&self) -> u64 {
        self.permits
    }

    /// How long a period is.
    #[inline]
    pub const fn period(&self) -> Duration {
        Duration::from_nanos(self.period_ns)
    }

    /// How long a period is, in nanoseconds.
    #[inline]
    pub const fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// How many permits may be spent at once by a key that has been quiet: the permits, unless
    /// [`with_burst`](Self::with_burst) says otherwise.
    #[inline]
    pub const fn burst(&self) -> u64 {
        self.burst
    }
}

/// Units of time, largest first: the name that `Display` writes, then the others that are read.
const UNITS: [(u64, &[&str]); 7] = [
    (86_400 * SECOND, &["d", "day", "days"]),
    (3_600 * SECOND, &["h", "hr", "hour", "hours"]),
    (60 * SECOND, &["min", "m", "mins", "minute", "minutes"]),
    (SECOND, &["s", "sec", "secs", "second", "seconds"]),
    (
        1_000_000,
        &["ms", "msec", "millis", "millisecond", "milliseconds"],
    ),
    (1_000, &["us", "µs", "μs", "microsecond", "microseconds"]),
    (1, &["ns", "nanosecond", "nanoseconds"]),
];

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (length, names) = UNITS
            .iter()
            .find(|(length, _)| self.period_ns.is_multiple_of(*length))
            .expect("every period is a multiple of 1 ns");
        write!(f, "{}/", self.permits)?;
        match self.period_ns / length {
            1 => {}
            count => write!(f, "{count}")?,
        }
        f.write_str(names[0])?;
        if self.burst != self.permits {
            write!(f, " burst {}", self.burst)?;
        }
        Ok(())
    }
}

impl FromStr for Limit {
    type Err = ParseLimitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || ParseLimitError::Form(text.to_owned());
        let (rate, burst) = match text.split_once("burst") {
            Some((rate, burst)) => (rate, Some(burst)),
            None => (text, None),
        };
        let (permits, period) = rate
            .split_once('/')
            .or_else(|| rate.split_once(" per "))
            .ok_or_else(form)?;

        let permits = parse_permits(permits)?;
        let period_ns = parse_period(period)?;
        let limit = Limit::new(permits, Duration::from_nanos(period_ns))?;
        match burst {
            Some(burst) => Ok(limit.try_with_burst(parse_permits(burst)?)?),
            None => Ok(limit),
        }
    }
}

fn parse_permits(text: &str) -> Result<u64, ParseLimitError> {
    let text = text.trim();
    let (digits, suffix) = split_digits(text);
    let suffix = suffix.strip_suffix('B').unwrap_or(suffix);
    let factor: u64 = match suffix {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return Err(ParseLimitError::Number(text.to_owned())),
    };
    parse_number(digits)
        .and_then(|number| number.checked_mul(factor))
        .ok_or_else(|| ParseLimitError::Number(text.to_owned()))
}

fn parse_period(text: &str) -> Result<u64, ParseLimitError> {
    let text = text.trim();
    let (digits, unit) = split_digits(text);
    let unit = unit.trim_start();
    let length = UNITS
        .iter()
        .find(|(_, names)| names.contains(&unit))
        .map(|(length, _)| *length)
        .ok_or_else(|| ParseLimitError::Unit(unit.to_owned()))?;
    if digits.is_empty() {
        return Ok(length);
    }
    parse_number(digits)
        .and_then(|count| count.checked_mul(length))
        .ok_or_else(|| ParseLimitError::Number(text.to_owned()))
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '_')
        .unwrap_or(text.len());
    text.split_at(end)
}

/// A whole number in decimal digits, in which `_` may separate digits.
fn parse_number(text: &str) -> Option<u64> {
    if text.starts_with('_') || text.ends_with('_') {
        return None;
    }
    text.replace('_', "").parse().ok()
}

#[cfg(feature = "serde")]
mod serde_impls {
    use super::Limit;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    impl Serialize for Limit {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }

    impl<'de> Deserialize<'de> for Limit {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
            text.parse().map_err(serde::de::Error::custom)
        }
    }
}
