//! A reading of the ticker, as a clock would show it.

use std::fmt;

use crate::SECOND;

/// Minutes and seconds since the ticker's zero: `0:59.0`, `1:00.5`.
///
/// It shows a decimal at least, so that readings line up, or as many as the precision says
/// (`{:.0}`); more if the reading has more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock(pub u64);

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, fraction) = (self.0 / SECOND, self.0 % SECOND);
        write!(f, "{}:{:02}", seconds / 60, seconds % 60)?;
        let digits = format!("{fraction:09}");
        let digits = digits.trim_end_matches('0');
        let at_least = f.precision().unwrap_or(1);
        if at_least > 0 || !digits.is_empty() {
            write!(f, ".{digits:0<at_least$}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_shows_a_decimal_and_more_only_if_it_needs_them() {
        assert_eq!(Clock(0).to_string(), "0:00.0");
        assert_eq!(Clock(59 * SECOND).to_string(), "0:59.0");
        assert_eq!(format!("{:.0}", Clock(59 * SECOND)), "0:59");
        assert_eq!(format!("{:.0}", Clock(SECOND / 2)), "0:00.5");
        assert_eq!(Clock(60 * SECOND + SECOND / 2).to_string(), "1:00.5");
        assert_eq!(Clock(600 * SECOND + 1).to_string(), "10:00.000000001");
    }
}
