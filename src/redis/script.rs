//! The scripts: put together from their files, named by their digest, their answers read.

use super::failure::StoreError;
use crate::decision::{Decision, Standing, Verdict};
use ::redis::{Script, Value};
use std::time::Duration;

const CLOCK: &str = include_str!("scripts/clock.lua");
const RECIPES: &str = include_str!("scripts/recipes.lua");
const BUCKETS: &str = include_str!("scripts/buckets.lua");
const TOKEN_BUCKET: &str = include_str!("scripts/token_bucket.lua");
const ALL_OF: &str = include_str!("scripts/all_of.lua");
const FIXED_WINDOW: &str = include_str!("scripts/fixed_window.lua");
const SLIDING_LOG: &str = include_str!("scripts/sliding_log.lua");
const SLIDING_COUNTER: &str = include_str!("scripts/sliding_counter.lua");
const DECIDE: &str = include_str!("scripts/decide.lua");
const REFUND: &str = include_str!("scripts/refund.lua");

/// What the store is asked to do. Each has a script for every algorithm, and one for requests that need
/// several: no store compiles or runs more than it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Acquire,
    Charge,
    Peek,
    Refund,
}

impl Task {
    /// What `decide.lua` is told.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Acquire => "acquire",
            Self::Charge => "charge",
            Self::Peek => "peek",
            Self::Refund => "refund",
        }
    }
}

/// A script and its digest.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) text: String,
    pub(super) digest: String,
}

impl Code {
    fn new(clock: &str, algorithms: &[&str], end: &str) -> Self {
        let mut text = String::new();
        for file in [clock, RECIPES].iter().chain(algorithms).chain([&end]) {
            for line in file.lines() {
                let line = line.trim();
                if !line.is_empty() && !line.starts_with("--") {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
        let digest = Script::new(&text).get_hash().to_owned();
        Self { text, digest }
    }
}

/// All scripts, under one clock.
pub(super) struct Scripts {
    decide: [Code; KINDS.len()],
    refund: [Code; KINDS.len()],
    mixed: Code,
}

/// The letter of each algorithm, and the files that it takes.
const KINDS: [(&str, &[&str]); 5] = [
    ("b", &[BUCKETS, TOKEN_BUCKET]),
    ("a", &[BUCKETS, ALL_OF]),
    ("w", &[FIXED_WINDOW]),
    ("c", &[SLIDING_COUNTER]),
    ("l", &[SLIDING_LOG]),
];

impl Scripts {
    pub(super) fn with_clock(clock: &str) -> Self {
        let all = [
            BUCKETS,
            TOKEN_BUCKET,
            ALL_OF,
            FIXED_WINDOW,
            SLIDING_COUNTER,
            SLIDING_LOG,
        ];
        Self {
            decide: KINDS.map(|(_, files)| Code::new(clock, files, DECIDE)),
            refund: KINDS.map(|(_, files)| Code::new(clock, files, REFUND)),
            mixed: Code::new(clock, &all, DECIDE),
        }
    }

    /// Those that ask the store for the time.
    pub(super) fn real() -> Self {
        Self::with_clock(CLOCK)
    }

    /// The script for limits of these algorithms, told by their letters.
    pub(super) fn code<'l>(&self, task: Task, mut letters: impl Iterator<Item = &'l str>) -> &Code {
        let of_kind = if task == Task::Refund {
            &self.refund
        } else {
            &self.decide
        };
        let first = letters.next();
        let same = letters.all(|letter| Some(letter) == first);
        let kind = KINDS.iter().position(|(letter, _)| Some(*letter) == first);
        match kind {
            Some(kind) if same => &of_kind[kind],
            _ => &self.mixed,
        }
    }
}

/// What a script answered.
#[derive(Debug)]
pub(super) struct Reply {
    /// The store's time, in microseconds.
    at: u64,
    /// Wait, remaining, next permit after and reset after of each limit.
    pub(super) limits: Vec<[u64; 4]>,
    admitted: bool,
}

impl Reply {
    pub(super) fn read(value: &Value, limits: usize) -> Result<Self, StoreError> {
        let numbers = match value {
            Value::Array(items) if items.len() == 1 + 4 * limits => items,
            _ => return Err(nonsense(value, limits)),
        };
        let number = |item: &Value| match item {
            Value::Int(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        let four = |four: &[Value]| {
            Some([
                number(&four[0])?,
                number(&four[1])?,
                number(&four[2])?,
                number(&four[3])?,
            ])
        };
        let fours: Option<Vec<[u64; 4]>> = numbers[1..].chunks_exact(4).map(four).collect();
        match (number(&numbers[0]), fours) {
            (Some(at), Some(limits)) => Ok(Self {
                at,
                admitted: limits.iter().all(|[wait, ..]| *wait == 0),
                limits,
            }),
            _ => Err(nonsense(value, limits)),
        }
    }

    /// What one of its limits said of a request that asked it for so much.
    pub(super) fn decision(&self, limit: &[u64; 4], cost: u64) -> Decision {
        let [wait, remaining, more, reset] = *limit;
        let verdict = if wait == 0 || cost == 0 {
            Verdict::Allowed
        } else {
            Verdict::Denied {
                retry_after: Duration::from_micros(wait),
            }
        };
        let standing = Standing {
            remaining,
            next_permit_after: more.saturating_mul(1_000),
            reset_after: reset.saturating_mul(1_000),
        };
        let reading = self.at.saturating_mul(1_000);
        let decision = Decision::new(verdict, 0, cost, reading, standing);
        if self.admitted {
            decision
        } else {
            decision.unspent()
        }
    }
}

fn nonsense(value: &Value, limits: usize) -> StoreError {
    let mut shown = format!("{value:?}");
    if shown.len() > 200 {
        let end = (0..=200).rev().find(|at| shown.is_char_boundary(*at));
        shown.truncate(end.unwrap_or(0));
    }
    StoreError::unexpected(format!("a script's reply of {limits} limits: {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_small_and_keep_to_what_all_stores_know() {
        let scripts = Scripts::real();
        let all = scripts.decide.iter().chain(&scripts.refund);
        for code in all.chain([&scripts.mixed]) {
            assert!(code.text.len() < 12 * 1024, "{}", code.text.len());
            assert_eq!(code.digest.len(), 40);
            for word in [
                "unpack", "cjson", "cmsgpack", "setresp", "#!", "tostring", "KEYS *",
            ] {
                assert!(!code.text.contains(word), "{word} in {}", code.text);
            }
            assert_eq!(
                code.text.matches("clock()").count(),
                2,
                "made once, asked once"
            );
        }
    }

    #[test]
    fn a_reply_that_is_nonsense_is_an_error_and_no_panic() {
        let int = Value::Int;
        for value in [
            Value::Nil,
            Value::Okay,
            int(3),
            Value::Array(vec![]),
            Value::Array(vec![int(1)]),
            Value::Array(vec![int(1), int(0), int(0), int(0), int(-1)]),
            Value::Array(vec![int(1), int(0), int(0), int(0), Value::Nil]),
            Value::Array(vec![int(1); 6]),
            Value::SimpleString("é".repeat(400)),
        ] {
            let error = Reply::read(&value, 1).unwrap_err();
            assert!(error.is_set_up(), "{error}");
        }
        let value = Value::Array(vec![int(5), int(0), int(7), int(1), int(2)]);
        let reply = Reply::read(&value, 1).expect("a reply");
        let decision = reply.decision(&reply.limits[0], 3);
        assert!(decision.is_allowed());
        assert_eq!((decision.remaining(), decision.reading()), (7, 5_000));
    }
}
