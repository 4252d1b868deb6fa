//! What may happen to a limiter, in words that fit any limits: a test plays it to the oracle and to
//! the crate. Proptest makes scripts up, a fuzzer's bytes are read as one.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(unreachable_pub, reason = "a module of several test crates")]

use std::time::Duration;

use tollgate::Limit;

use super::reference::Kind;

pub const KINDS: [Kind; 5] = [
    Kind::TokenBucket,
    Kind::FixedWindow,
    Kind::SlidingLog,
    Kind::SlidingCounter,
    Kind::AllOf,
];

/// Everything that happens to one limiter, from building it.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub start: u64,
    /// The limits at first, and those that an [`Op::Limits`] may set.
    pub lists: Vec<Vec<Limit>>,
    pub ops: Vec<Op>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    TryAcquire(u64, Cost),
    Peek(u64, Cost),
    /// With room for so many decisions.
    TryAcquireEach(u64, Cost, usize),
    PeekEach(u64, Cost, usize),
    Charge(u64, Cost),
    /// Gives back an earlier decision, counted from the latest.
    Refund(usize),
    Reset(u64),
    /// From now on keys are begun with this list.
    Limits(usize),
    /// The same, and one key is refreshed with it at once, or all are.
    Refresh(u64, usize),
    RefreshAll(usize),
    Evict,
    Clock(Move),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cost {
    Exactly(u64),
    /// What the last answer said was left, and so many more or fewer.
    Remaining(i64),
    HalfOfRemaining,
    /// The capacity, and so many more or fewer.
    Capacity(i64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Move {
    Forward(Span),
    Back(Span),
    /// To the next multiple of the period, or so many nanoseconds from it.
    Edge(i64),
    /// So many nanoseconds before the end of time.
    End(u64),
    Zero,
    /// To the limiter's start, or so many nanoseconds from it.
    Start(i64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Span {
    Exactly(u64),
    /// What the last answer said, and so many nanoseconds more or fewer.
    RetryAfter(i64),
    NextPermitAfter(i64),
    ResetAfter(i64),
    /// So many 256ths of a period.
    Periods(u64),
}

/// What a script makes use of.
#[derive(Clone, Copy, Debug)]
pub struct Uses {
    pub refresh: bool,
    pub evict: bool,
    pub step_back: bool,
    pub keys: u64,
}

impl Uses {
    pub const EVERYTHING: Self = Self {
        refresh: true,
        evict: true,
        step_back: true,
        keys: 3,
    };

    pub fn allows(&self, op: &Op) -> bool {
        match op {
            Op::Limits(_) | Op::Refresh(..) | Op::RefreshAll(_) => self.refresh,
            Op::Evict => self.evict,
            Op::Clock(Move::Back(_) | Move::Zero | Move::Start(_)) => self.step_back,
            _ => true,
        }
    }
}

/// How a list of limits differs from the first of its script.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    Everything,
    Permits,
    Period,
    Burst,
    /// The same rate and burst, in other words.
    Multiple(u64),
    Reversed,
    Shorter,
    Longer,
}

impl Change {
    pub fn of(self, kind: Kind, first: &[Limit], other: &[Limit]) -> Vec<Limit> {
        let each = |change: &dyn Fn(&Limit, &Limit) -> (u64, u64, u64)| {
            let mut changed = Vec::new();
            for (first, other) in first.iter().zip(other.iter().cycle()) {
                let (permits, period, burst) = change(first, other);
                let limit = Limit::new(permits, Duration::from_nanos(period)).unwrap();
                changed.push(if has_burst(kind) {
                    limit.with_burst(burst)
                } else {
                    limit
                });
            }
            changed
        };
        match self {
            Self::Everything => other.to_vec(),
            Self::Permits => each(&|a, b| (b.permits(), a.period_ns(), a.burst())),
            Self::Period => each(&|a, b| (a.permits(), b.period_ns(), a.burst())),
            Self::Burst => each(&|a, b| (a.permits(), a.period_ns(), b.burst())),
            Self::Multiple(by) => each(&|a, _| {
                let by = |number: u64| number.saturating_mul(by);
                (by(a.permits()), by(a.period_ns()), a.burst())
            }),
            Self::Reversed => first.iter().rev().copied().collect(),
            Self::Shorter => first[..first.len().div_ceil(2)].to_vec(),
            Self::Longer => [first, other].concat(),
        }
    }
}

pub fn has_burst(kind: Kind) -> bool {
    matches!(kind, Kind::TokenBucket | Kind::AllOf)
}
