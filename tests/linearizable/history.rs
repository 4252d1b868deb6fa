//! What threads did, and when: calls with the interval in which each took place.

use std::fmt;

use tollgate::{Decision, Limit};

use super::watched::Note;
use crate::common::reference::Kind;

/// What a limiter is built from.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) kind: Kind,
    pub(crate) start: u64,
    /// The function from key to plan tells one of these; where there is none, it is the first.
    pub(crate) limits: Vec<Vec<Limit>>,
    pub(crate) keys: u64,
    pub(crate) by_plan: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    Acquire {
        key: u64,
        cost: u64,
        each: bool,
    },
    Peek {
        key: u64,
        cost: u64,
        each: bool,
    },
    Refund {
        key: u64,
        spent: Decision,
    },
    Reset {
        key: u64,
    },
    Refresh {
        key: u64,
    },
    RefreshAll,
    EvictIdle,
    TrackedKeys,
    /// Not asked of the limiter: told it by what it was given.
    SetClock {
        now: u64,
        back: bool,
    },
    SetLimits(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Nothing,
    Decided(Decision),
    Each(Decision, Vec<Decision>),
    Count(usize),
}

/// A call that has returned.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) thread: usize,
    pub(crate) op: Op,
    pub(crate) answer: Answer,
    /// Tickets, drawn before the call and after it. Of two calls, one was over before the other
    /// began exactly if its second ticket is below the other's first.
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) notes: Vec<Note>,
}

impl Call {
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.from < other.to && other.from < self.to
    }

    /// Whether the limiter is asked at all.
    pub(crate) fn is_asked(&self) -> bool {
        !matches!(self.op, Op::SetClock { .. } | Op::SetLimits(_))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) case: Case,
    pub(crate) seed: u64,
    /// In the order in which they began.
    pub(crate) calls: Vec<Call>,
}

impl History {
    /// Whether any two of its calls took place at the same time.
    pub(crate) fn overlaps(&self) -> bool {
        let asked: Vec<_> = self.calls.iter().filter(|call| call.is_asked()).collect();
        asked
            .iter()
            .enumerate()
            .any(|(nth, call)| asked[..nth].iter().any(|other| call.overlaps(other)))
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case {
            kind,
            limits,
            keys,
            by_plan,
            start,
        } = &self.case;
        writeln!(
            f,
            "seed {}: {kind:?}, {keys} keys, start {start}",
            self.seed
        )?;
        for (nth, limits) in limits.iter().enumerate() {
            let texts: Vec<_> = limits.iter().map(Limit::to_string).collect();
            if nth == 0 || *by_plan {
                writeln!(f, "  limits {nth}: {}", texts.join(", "))?;
            }
        }
        for call in &self.calls {
            let Call {
                thread,
                op,
                answer,
                from,
                to,
                notes,
            } = call;
            writeln!(f, "  thread {thread}, {from:>3} to {to:>3}: {op:?}")?;
            if call.is_asked() {
                writeln!(f, "      was told {notes:?}")?;
                writeln!(f, "      answered {answer:?}")?;
            }
        }
        Ok(())
    }
}
