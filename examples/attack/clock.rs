//! A reading of the ticker, as a clock would show it.

use std::fmt;

use crate::SECOND;

/// Minutes and seconds since the ticker's zero: `0:59`, `1:00.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock(pub u64);

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, fraction) = (self.0 / SECOND, self.0 % SECOND);
        write!(f, "{}:{:02}", seconds / 60, seconds % 60)?;
        if fraction > 0 {
            let digits = format!("{fraction:09}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_shows_no_more_digits_than_it_needs() {
        assert_eq!(Clock(0).to_string(), "0:00");
        assert_eq!(Clock(59 * SECOND).to_string(), "0:59");
        assert_eq!(Clock(60 * SECOND + SECOND / 2).to_string(), "1:00.5");
        assert_eq!(Clock(600 * SECOND + 1).to_string(), "10:00.000000001");
    }
}
