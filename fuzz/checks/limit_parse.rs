//! What the target `limit_parse` checks: no text makes parsing panic, what `Display` writes is read
//! as the same again, and text in a known form means what it says.
//!
//! `fuzz_targets/limit_parse.rs` and `tests/fuzz_seeds.rs` mount it.

#![allow(dead_code, reason = "only the test writes seeds")]
#![allow(unreachable_pub, reason = "a module of a test and of a fuzz target")]

#[path = "limit_parse/words.rs"]
mod words;

use std::fmt::{Debug, Display};
use std::str::FromStr;
use std::time::Duration;

use tollgate::{AnyAlgorithm, Limit};
use words::WORDS;

/// How the bytes after the first are read.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// As the text itself.
    Text,
    /// Each as a word that limits are made of.
    Words,
    /// As the numbers of a limit.
    Numbers,
    /// As the parts of a text that is sure to be in the form of a limit.
    Parts,
}

const FORMS: [Form; 4] = [Form::Text, Form::Words, Form::Numbers, Form::Parts];

/// The bytes that are read so.
pub fn input(form: Form, rest: &[u8]) -> Vec<u8> {
    [&[form as u8], rest].concat()
}

/// # Panics
///
/// If something is read otherwise than it was written.
pub fn check(bytes: &[u8]) {
    let Some((form, rest)) = bytes.split_first() else {
        return;
    };
    match FORMS[usize::from(*form) % FORMS.len()] {
        Form::Text => check_text(&String::from_utf8_lossy(rest)),
        Form::Words => {
            let words = rest
                .iter()
                .take(40)
                .map(|byte| WORDS[usize::from(*byte) % WORDS.len()]);
            check_text(&words.collect::<String>());
        }
        Form::Numbers => check_numbers(rest),
        Form::Parts => check_parts(rest),
    }
}

fn check_text(text: &str) {
    same_again::<Limit>(text);
    same_again::<AnyAlgorithm>(text);
}

/// Reads text, and if it is read, writes it and reads that.
fn same_again<T>(text: &str) -> Option<T>
where
    T: FromStr<Err: Display> + Display + PartialEq + Debug + Serde,
{
    let parsed = text.parse::<T>();
    #[cfg(feature = "serde")]
    {
        // In JSON it is that text in quotes, and nothing but text is read.
        let json = serde_json::to_string(text).expect("a string is written");
        let read = serde_json::from_str::<T>(&json);
        assert_eq!(read.ok().as_ref(), parsed.as_ref().ok(), "{text:?}");
        if let Ok(value) = serde_json::from_str::<T>(text) {
            let json = serde_json::to_string(&value).expect("a string is written");
            assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value);
        }
    }
    match parsed {
        Ok(value) => {
            comes_back(&value);
            Some(value)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

fn comes_back<T>(value: &T)
where
    T: FromStr<Err: Display> + Display + PartialEq + Debug + Serde,
{
    let written = value.to_string();
    match written.parse::<T>() {
        Ok(read) => assert_eq!(read, *value, "{written:?}"),
        Err(error) => panic!("{value:?} is written {written:?}: {error}"),
    }
    #[cfg(feature = "serde")]
    {
        let json = serde_json::to_string(value).expect("written as text");
        assert_eq!(json, format!("\"{written}\""));
        assert_eq!(serde_json::from_str::<T>(&json).unwrap(), *value);
    }
}

#[cfg(feature = "serde")]
trait Serde: serde::Serialize + serde::de::DeserializeOwned {}
#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned> Serde for T {}
#[cfg(not(feature = "serde"))]
trait Serde {}
#[cfg(not(feature = "serde"))]
impl<T> Serde for T {}

fn check_numbers(mut bytes: &[u8]) {
    let [permits, period, burst] = [(); 3].map(|()| number(&mut bytes));
    let limit = Limit::new(permits, Duration::from_nanos(period))
        .map_err(|error| error.to_string())
        .and_then(|limit| {
            limit
                .try_with_burst(burst)
                .map_err(|error| error.to_string())
        });
    match limit {
        Ok(limit) => {
            assert_eq!(
                (limit.permits(), limit.period_ns(), limit.burst()),
                (permits, period, burst)
            );
            comes_back(&limit);
        }
        Err(error) => {
            assert!(permits == 0 || period == 0 || burst == 0, "{error}");
        }
    }
}

/// A number of any length in bits; bytes that are missing count as zeros.
fn number(bytes: &mut &[u8]) -> u64 {
    let length = usize::from(bytes.split_off_first().copied().unwrap_or(0)) % 9;
    let mut number = 0;
    for _ in 0..length {
        number = number << 8 | u64::from(bytes.split_off_first().copied().unwrap_or(0));
    }
    number
}

const SUFFIXES: [(&str, u64); 19] = [
    ("", 1),
    ("", 1),
    ("k", 1_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

const UNITS: [(&str, u64); 16] = [
    ("ns", 1),
    ("nanosecond", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("milliseconds", 1_000_000),
    ("s", 1_000_000_000),
    ("sec", 1_000_000_000),
    ("seconds", 1_000_000_000),
    ("min", 60_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("hours", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
    ("days", 86_400_000_000_000),
];

/// Writes a limit in one of the ways in which people write it, and checks that it is read as that.
fn check_parts(mut bytes: &[u8]) {
    let mut byte = || usize::from(bytes.split_off_first().copied().unwrap_or(0));
    let (permits, times) = SUFFIXES[byte() % SUFFIXES.len()];
    let (unit, length) = UNITS[byte() % UNITS.len()];
    let (burst, burst_times) = SUFFIXES[byte() % SUFFIXES.len()];
    let looks = byte();
    let [permit_number, count, burst_number] = [(); 3].map(|()| number(&mut bytes));

    // Between digits, or where no separator may be.
    let digits = |number: u64| match looks & 1 {
        0 => number.to_string(),
        _ => separated(number),
    };
    let permit_digits = match looks >> 6 {
        1 => digits(permit_number) + "_",
        2 => format!("_{}", digits(permit_number)),
        _ => digits(permit_number),
    };
    let slash = ["/", " / ", " per "][looks / 2 % 3];
    let gap = ["", " "][looks / 8 % 2];
    let counted = looks & 16 != 0;
    let with_burst = looks & 32 != 0;
    let mut text = format!("{permit_digits}{permits}{slash}");
    if counted {
        text += &format!("{}{gap}", digits(count));
    }
    text += unit;
    if with_burst {
        text += &format!(" burst {}{burst}", digits(burst_number));
    }

    let expected = || {
        if matches!(looks >> 6, 1 | 2) {
            return None;
        }
        let permits = permit_number.checked_mul(times)?;
        let period = match counted {
            true => count.checked_mul(length)?,
            false => length,
        };
        let limit = Limit::new(permits, Duration::from_nanos(period)).ok()?;
        match with_burst {
            true => limit
                .try_with_burst(burst_number.checked_mul(burst_times)?)
                .ok(),
            false => Some(limit),
        }
    };
    assert_eq!(same_again::<Limit>(&text), expected(), "{text:?}");
}

/// `1_000_000`.
fn separated(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}
