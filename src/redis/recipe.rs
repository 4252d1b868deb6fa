//! Limits, as the scripts take them: whole microseconds, and whole numbers below 2^53.

use super::set_up::SetUpError;
use crate::algorithm::{Algorithm as _, AnyAlgorithm, Limits};
use crate::limit::Limit;
use ::redis::Cmd;
use std::fmt::Write as _;

/// The largest product that a script makes of a limit's numbers: twice this, and a cost beside it, are
/// exact in Lua still.
const LARGEST: u128 = 1 << 50;

/// The most permits that a sliding log holds: as many entries of some 30 bytes.
const LONGEST_LOG: u64 = 100_000;

/// An algorithm and its limits, ready for the scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    pub(super) algorithm: AnyAlgorithm,
    pub(super) limits: Limits,
    /// The most that a request may cost.
    pub(super) capacity: u64,
    /// The most that can be owed: of more, the rest is let off.
    pub(super) most_owed: u64,
    /// Which function of the scripts it is.
    pub(super) letter: &'static str,
    /// What the scripts are told of it, before the cost and after it.
    before: Vec<String>,
    after: Vec<String>,
}

impl Recipe {
    pub(super) fn new(algorithm: AnyAlgorithm, limits: Limits) -> Result<Self, SetUpError> {
        // What the algorithm cannot keep in one process, it cannot keep here.
        let capacity = algorithm.plan(limits.clone())?.capacity();
        let (letter, before, after) = match algorithm {
            AnyAlgorithm::TokenBucket | AnyAlgorithm::AllOf => {
                let (mut text, mut numbers) = (String::new(), Vec::new());
                for limit in limits.iter() {
                    let bucket = Bucket::new(limit)?;
                    if !text.is_empty() {
                        text.push(',');
                    }
                    let Bucket { count, unit, burst } = bucket;
                    let _ = write!(text, "{count}/{unit}/{burst}");
                    numbers.extend([count, unit, burst].map(|number| number.to_string()));
                }
                if algorithm == AnyAlgorithm::TokenBucket {
                    ("b", vec![text], numbers)
                } else {
                    ("a", vec![text, limits.len().to_string()], numbers)
                }
            }
            AnyAlgorithm::FixedWindow => ("w", vec![], window(&limits[0])?),
            AnyAlgorithm::SlidingCounter => ("c", vec![], window(&limits[0])?),
            AnyAlgorithm::SlidingLog => {
                let permits = limits[0].permits();
                if permits > LONGEST_LOG {
                    return Err(SetUpError::LogTooLong {
                        permits,
                        most: LONGEST_LOG,
                    });
                }
                ("l", vec![], window(&limits[0])?)
            }
        };
        let largest = limits.iter().map(Limit::burst).max().unwrap_or(0);
        Ok(Self {
            algorithm,
            limits,
            capacity,
            most_owed: largest.saturating_mul(2),
            letter,
            before,
            after,
        })
    }

    /// What the scripts are told of a request of this cost.
    pub(super) fn write_arguments(&self, cost: u64, command: &mut Cmd) {
        command.arg(self.letter);
        command.arg(&self.before).arg(cost).arg(&self.after);
    }
}

/// A bucket in lowest terms: a permit is `unit` units, `count` of which come back every microsecond.
struct Bucket {
    count: u64,
    unit: u64,
    burst: u64,
}

impl Bucket {
    fn new(limit: &Limit) -> Result<Self, SetUpError> {
        let period = microseconds(limit)?;
        let common = gcd(limit.permits(), period);
        let (count, unit) = (limit.permits() / common, period / common);
        let burst = limit.burst();
        fits(limit, u128::from(unit) * u128::from(burst))?;
        fits(limit, u128::from(count))?;
        Ok(Self { count, unit, burst })
    }
}

/// Permits and period of a window.
fn window(limit: &Limit) -> Result<Vec<String>, SetUpError> {
    let period = microseconds(limit)?;
    fits(limit, u128::from(limit.permits()) * u128::from(period))?;
    Ok(vec![limit.permits().to_string(), period.to_string()])
}

fn microseconds(limit: &Limit) -> Result<u64, SetUpError> {
    let nanoseconds = limit.period_ns();
    if nanoseconds.is_multiple_of(1_000) {
        Ok(nanoseconds / 1_000)
    } else {
        Err(SetUpError::PeriodNotInMicroseconds {
            period: limit.period(),
        })
    }
}

fn fits(limit: &Limit, figure: u128) -> Result<(), SetUpError> {
    if figure <= LARGEST {
        Ok(())
    } else {
        Err(SetUpError::TooLarge {
            limit: *limit,
            figure,
            most: LARGEST,
        })
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(algorithm: AnyAlgorithm, text: &str) -> Result<Recipe, SetUpError> {
        let limit: Limit = text.parse().expect("a limit");
        Recipe::new(algorithm, limit.into())
    }

    #[test]
    fn a_bucket_is_told_in_lowest_terms() {
        let recipe = recipe(AnyAlgorithm::TokenBucket, "100/min burst 20").expect("it fits");
        let mut command = Cmd::new();
        recipe.write_arguments(3, &mut command);
        let mut told = ::redis::Cmd::new();
        for text in ["b", "1/600000/20", "3", "1", "600000", "20"] {
            told.arg(text);
        }
        assert_eq!(command.get_packed_command(), told.get_packed_command());
    }

    #[test]
    fn what_lua_cannot_count_is_refused() {
        let refused = |algorithm, text| recipe(algorithm, text).expect_err("it is too large");
        let text = refused(AnyAlgorithm::TokenBucket, "999983/d burst 999983").to_string();
        assert!(text.contains("999983/d"), "{text}");
        assert!(text.contains("2^50"), "{text}");
        for algorithm in [AnyAlgorithm::FixedWindow, AnyAlgorithm::SlidingCounter] {
            assert!(matches!(
                refused(algorithm, "1M/h"),
                SetUpError::TooLarge { .. }
            ));
        }
        assert!(matches!(
            refused(AnyAlgorithm::SlidingLog, "1M/s"),
            SetUpError::LogTooLong { .. }
        ));
        assert!(matches!(
            refused(AnyAlgorithm::TokenBucket, "5/1500ns"),
            SetUpError::PeriodNotInMicroseconds { .. }
        ));
    }

    #[test]
    fn ordinary_limits_fit() {
        for text in [
            "1000000000/s",
            "7/min",
            "1/30d",
            "10000/h",
            "1000000/d",
            "1GiB/s",
        ] {
            recipe(AnyAlgorithm::TokenBucket, text).expect(text);
        }
        for text in ["100/min", "10000/h", "5000/d"] {
            recipe(AnyAlgorithm::SlidingCounter, text).expect(text);
            recipe(AnyAlgorithm::FixedWindow, text).expect(text);
            recipe(AnyAlgorithm::SlidingLog, text).expect(text);
        }
    }
}
