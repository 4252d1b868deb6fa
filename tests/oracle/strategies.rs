//! Scripts as proptest makes them up and shrinks them.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate::Limit;

use crate::common::reference::{Kind, THIRTY_YEARS, supports};
use crate::common::script::{Change, Cost, Move, Op, Script, Span, Uses, has_burst};

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
        ops.retain(|op| uses.allows(op));
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
        2 => (key(), cost()).prop_map(|(key, cost)| Op::Charge(key, cost)),
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
