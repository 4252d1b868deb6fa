//! What the target `decisions` checks: whatever happens to a limiter, every algorithm says what
//! the oracle says, decision by decision and in every field.
//!
//! `fuzz_targets/decisions.rs` and `tests/fuzz_seeds.rs` mount it beside `tests/common`.

#![allow(dead_code, reason = "only the test writes seeds")]
#![allow(unreachable_pub, reason = "a module of a test and of a fuzz target")]

#[path = "decisions/bytes.rs"]
pub mod bytes;
#[path = "decisions/words.rs"]
pub mod words;

use crate::common::agree::agree;
use crate::common::reference::Kind;
use crate::common::script::{Script, Uses};
use crate::common::subject::{self, Oracle, Subject};

/// A script, and the limiters that it is played to.
#[derive(Clone, Debug, PartialEq)]
pub struct Play {
    pub kind: Kind,
    pub front: Front,
    pub script: Script,
}

/// How a limiter is built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Front {
    /// Its limits are a function of the key and may change.
    LimitsByKey,
    OneLimit,
    WithoutKeys,
}

impl Front {
    /// What a script may ask of it.
    pub fn uses(self) -> Uses {
        match self {
            Self::LimitsByKey => Uses::EVERYTHING,
            Self::OneLimit => Uses {
                refresh: false,
                ..Uses::EVERYTHING
            },
            Self::WithoutKeys => Uses {
                refresh: false,
                evict: false,
                keys: 1,
                ..Uses::EVERYTHING
            },
        }
    }
}

/// # Panics
///
/// If a limiter differs from the oracle.
pub fn check(bytes: &[u8]) {
    let play = Play::from_bytes(bytes);
    let limits = &play.script.lists[0];
    let mut oracle = Oracle::new(play.kind, limits, play.script.start);
    play.check_beside(&mut oracle);
}

impl Play {
    /// Plays to an oracle that is built as the script says, and to the limiters.
    pub fn check_beside(&self, oracle: &mut dyn Subject) {
        let (limits, start) = (&self.script.lists[0], self.script.start);
        let build = match self.front {
            Front::LimitsByKey => subject::limiters,
            Front::OneLimit => subject::limiters_of_one_limit,
            Front::WithoutKeys => subject::limiters_without_keys,
        };
        let mut others = build(self.kind, limits, start);
        if let Err(difference) = agree(&self.script, oracle, &mut others) {
            panic!("{difference}\nin {self:#?}");
        }
    }
}
