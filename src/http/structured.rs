//! Structured fields (RFC 9651), as far as limits need them: a list of names, each with whole
//! numbers about it.
//!
//! `"burst";q=100;w=60, "daily";q=1000;w=86400`
//!
//! A crate would write all that the standard has, through types that are allocated for every value.
//! This page writes two fields on every response, with the one allocation that a header needs. The
//! tests have such a crate read back what was written.

use super::policy::PolicyName;
use http::HeaderValue;

/// The largest whole number, which has 15 digits.
const LARGEST: u64 = 999_999_999_999_999;

const MOST_DIGITS: usize = 15;

/// A name with parameters. One without a number is left out.
pub(super) struct Item<'a> {
    pub(super) name: &'a PolicyName,
    pub(super) parameters: [(u8, Option<u64>); 2],
}

impl Item<'_> {
    fn given(&self) -> impl Iterator<Item = (u8, u64)> + '_ {
        let parameters = self.parameters.iter();
        parameters.filter_map(|&(key, value)| Some((key, value?.min(LARGEST))))
    }

    fn length(&self) -> usize {
        let parameter = |(_, value)| ";k=".len() + digits(value);
        self.name.quoted().len() + self.given().map(parameter).sum::<usize>()
    }

    fn write(&self, line: &mut Vec<u8>) {
        line.extend_from_slice(self.name.quoted().as_bytes());
        for (key, value) in self.given() {
            line.extend_from_slice(&[b';', key, b'=']);
            write_integer(value, line);
        }
    }
}

/// The value of a header that lists these items. `None` if there are none: that is told by leaving
/// the header out.
pub(super) fn list<'a>(items: impl Iterator<Item = Item<'a>> + Clone) -> Option<HeaderValue> {
    const BETWEEN: &[u8] = b", ";
    let lengths = items.clone().map(|item| BETWEEN.len() + item.length());
    // Exactly: a value whose bytes have room to spare costs another allocation.
    let length = lengths.sum::<usize>().checked_sub(BETWEEN.len())?;
    let mut line = Vec::with_capacity(length);
    for item in items {
        if !line.is_empty() {
            line.extend_from_slice(BETWEEN);
        }
        item.write(&mut line);
    }
    debug_assert_eq!(line.len(), length, "the length was worked out beforehand");
    // Never an error: names are printable ASCII, as all the rest is.
    HeaderValue::try_from(line).ok()
}

fn digits(value: u64) -> usize {
    value.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Writes a number that is at most `LARGEST`.
fn write_integer(mut value: u64, line: &mut Vec<u8>) {
    let mut text = [b'0'; MOST_DIGITS];
    let first = MOST_DIGITS - digits(value);
    for digit in text[first..].iter_mut().rev() {
        *digit += (value % 10) as u8;
        value /= 10;
    }
    line.extend_from_slice(&text[first..]);
}
