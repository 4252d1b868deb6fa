//! What may happen to a limiter, as proptest makes it up and shrinks it.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate::Limit;

use crate::common::reference::{Kind, THIRTY_YEARS, supports};

/// Everything that happens to one limiter, from building it.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) start: u64,
    /// The limits at first, and those that an [`Op::Limits`] may set.
    pub(crate) lists: Vec<Vec<Limit>>,
    pub(crate) ops: Vec<Op>,
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    TryAcquire(u64, Cost),
    Peek(u64, Cost),
    /// With room for so many decisions.
    TryAcquireEach(u64, Cost, usize),
    PeekEach(u64, Cost, usize),
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

#[derive(Clone, Copy, Debug)]
pub(crate) enum Cost {
    Exactly(u64),
    /// What the last answer said was left, and so many more or fewer.
    Remaining(i64),
    HalfOfRemaining,
    /// The capacity, and so many more or fewer.
    Capacity(i64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Move {
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

#[derive(Clone, Copy, Debug)]
pub(crate) enum Span {
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
pub(crate) struct Uses {
    pub(crate) refresh: bool,
    pub(crate) evict: bool,
    pub(crate) step_back: bool,
    pub(crate) keys: u64,
}

impl Uses {
    pub(crate) const EVERYTHING: Self = Self {
        refresh: true,
        evict: true,
        step_back: true,
        keys: 3,
    };
}

pub(crate) fn scripts(kind: Kind, uses: Uses) -> impl Strategy<Value = Script> {
    let others = vec((limits(kind), change()), 0..4);
    let lists = (limits(kind), others).prop_map(move |(first, others)| {
        let mut lists = vec![first.clone()];
        for (other, change) in others {
            let changed = change.of(kind, &first, &other);
            lists.push(if supports(kind, &changed) {
                changed
            } else {
                other
            });
        }
        lists
    });
    (start(), lists, vec(op(uses.keys), 1..60)).prop_map(move |(start, lists, mut ops)| {
        ops.retain(|op| match op {
            Op::Limits(_) | Op::Refresh(..) | Op::RefreshAll(_) => uses.refresh,
            Op::Evict => uses.evict,
            Op::Clock(Move::Back(_) | Move::Zero | Move::Start(_)) => uses.step_back,
            _ => true,
        });
        Script { start, lists, ops }
    })
}

fn start() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => Just(0),
        3 => (0..1u64 << 40).prop_map(|later| 1_764_500_000_000_000_000 + later),
        1 => (0..1u64 << 34).prop_map(|before| u64::MAX - before),
        1 => (0..1u64 << 34).prop_map(|later| u64::MAX - THIRTY_YEARS as u64 + later),
        1 => of_any_size(),
    ]
}

/// Limits that the algorithm keeps.
pub(crate) fn limits(kind: Kind) -> impl Strategy<Value = Vec<Limit>> {
    let kept = limit(kind).prop_filter("a limit that the algorithm keeps", move |limit| {
        supports(kind, &[*limit])
    });
    vec(kept, 1..=if kind == Kind::AllOf { 6 } else { 1 })
}

/// Limits, some of which the algorithm refuses, and sometimes too many of them or none.
pub(crate) fn any_limits(kind: Kind) -> impl Strategy<Value = Vec<Limit>> {
    let many = vec(limit(kind), 0..3);
    prop_oneof![
        8 => limit(kind).prop_map(|limit| vec![limit]),
        1 => limit(Kind::TokenBucket).prop_map(|limit| vec![limit]),
        1 => many,
    ]
}

/// How a list of limits differs from the first of its script.
#[derive(Clone, Copy, Debug)]
enum Change {
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

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => Just(Change::Everything),
        2 => Just(Change::Permits),
        2 => Just(Change::Period),
        2 => Just(Change::Burst),
        1 => (2..5u64).prop_map(Change::Multiple),
        1 => Just(Change::Reversed),
        1 => Just(Change::Shorter),
        1 => Just(Change::Longer),
    ]
}

impl Change {
    fn of(self, kind: Kind, first: &[Limit], other: &[Limit]) -> Vec<Limit> {
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

fn has_burst(kind: Kind) -> bool {
    matches!(kind, Kind::TokenBucket | Kind::AllOf)
}

fn limit(kind: Kind) -> impl Strategy<Value = Limit> {
    const S: u64 = 1_000_000_000;
    let permits = prop_oneof![
        6 => 1..=10u64,
        2 => select(vec![20, 60, 100, 700, 1_000, 3_000_000_000, 10_000_000_000]),
        1 => select(vec![1 << 31, 1 << 32, (1 << 32) + 1, 1 << 62, 1 << 63, u64::MAX]),
        1 => of_any_size(),
    ];
    let period = prop_oneof![
        3 => select(vec![S, 60 * S, 3_600 * S, 86_400 * S]),
        3 => 1..=20u64,
        2 => select(vec![1_000, 1_000_000, S / 3, 30 * 86_400 * S, THIRTY_YEARS as u64]),
        1 => select(vec![1 << 32, (1 << 32) + 1, 1 << 62, 1 << 63, u64::MAX - 1, u64::MAX]),
        2 => of_any_size(),
    ];
    let burst = prop_oneof![
        3 => Just(None),
        2 => (1..=10u64).prop_map(Some),
        1 => of_any_size().prop_map(Some),
    ];
    (permits, period, burst).prop_map(move |(permits, period, burst)| {
        let limit = Limit::new(permits, Duration::from_nanos(period)).unwrap();
        match burst {
            Some(burst) if has_burst(kind) => limit.with_burst(burst),
            _ => limit,
        }
    })
}

/// Numbers from 1, as many of each length in bits.
pub(crate) fn of_any_size() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..u64::BITS).prop_map(|(number, shift)| (number >> shift).max(1))
}

fn op(keys: u64) -> impl Strategy<Value = Op> {
    // Most of it happens to one key.
    let key = move || prop_oneof![2 => Just(0), 1 => 0..keys];
    let room = 0..8usize;
    prop_oneof![
        16 => (key(), cost()).prop_map(|(key, cost)| Op::TryAcquire(key, cost)),
        3 => (key(), cost()).prop_map(|(key, cost)| Op::Peek(key, cost)),
        3 => (key(), cost(), room.clone())
            .prop_map(|(key, cost, room)| Op::TryAcquireEach(key, cost, room)),
        2 => (key(), cost(), room).prop_map(|(key, cost, room)| Op::PeekEach(key, cost, room)),
        3 => (0..12usize).prop_map(Op::Refund),
        1 => key().prop_map(Op::Reset),
        1 => (0..4usize).prop_map(Op::Limits),
        3 => (key(), 0..4usize).prop_map(|(key, which)| Op::Refresh(key, which)),
        1 => (0..4usize).prop_map(Op::RefreshAll),
        2 => Just(Op::Evict),
        12 => forward().prop_map(Op::Clock),
        3 => back().prop_map(Op::Clock),
    ]
}

fn cost() -> impl Strategy<Value = Cost> {
    prop_oneof![
        8 => Just(Cost::Exactly(1)),
        3 => (2..5u64).prop_map(Cost::Exactly),
        1 => Just(Cost::Exactly(0)),
        1 => Just(Cost::Exactly(u64::MAX)),
        1 => of_any_size().prop_map(Cost::Exactly),
        4 => (-1..=1i64).prop_map(Cost::Remaining),
        2 => Just(Cost::HalfOfRemaining),
        3 => (-1..=1i64).prop_map(Cost::Capacity),
    ]
}

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        2 => (0..3u64).prop_map(Span::Exactly),
        6 => (-1..=1i64).prop_map(Span::RetryAfter),
        3 => (-1..=1i64).prop_map(Span::NextPermitAfter),
        3 => (-1..=1i64).prop_map(Span::ResetAfter),
        4 => (0..256u64).prop_map(Span::Periods),
        2 => (1..5u64).prop_map(|whole| Span::Periods(256 * whole)),
        1 => of_any_size().prop_map(Span::Exactly),
        // Up to 40 years, a month at a time.
        1 => (1..480u64).prop_map(|months| Span::Exactly(months * 2_629_800_000_000_000)),
    ]
}

fn forward() -> impl Strategy<Value = Move> {
    prop_oneof![
        20 => span().prop_map(Move::Forward),
        6 => (-1..=1i64).prop_map(Move::Edge),
        1 => (0..3u64).prop_map(Move::End),
    ]
}

fn back() -> impl Strategy<Value = Move> {
    prop_oneof![
        8 => span().prop_map(Move::Back),
        1 => (-1..=1i64).prop_map(Move::Start),
        1 => Just(Move::Zero),
    ]
}
