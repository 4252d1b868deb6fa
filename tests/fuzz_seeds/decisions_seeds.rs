//! One script for each situation, under each algorithm.

use tollgate::Limit;

use crate::common::reference::{Kind, THIRTY_YEARS};
use crate::common::script::{Cost, KINDS, Move, Op, Script, Span};
use crate::decisions::{Front, Play};

/// All of them, with their names.
pub(crate) fn all() -> Vec<(String, Play)> {
    let mut seeds = Vec::new();
    for kind in KINDS {
        for (situation, play) in situations(kind) {
            seeds.push((format!("{}-{situation}", name(kind)), play));
        }
    }
    seeds
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::TokenBucket => "token-bucket",
        Kind::FixedWindow => "fixed-window",
        Kind::SlidingLog => "sliding-log",
        Kind::SlidingCounter => "sliding-counter",
        Kind::AllOf => "all-of",
    }
}

/// Limits that are soon used up, and the plans that they change to.
fn lists(kind: Kind) -> Vec<Vec<Limit>> {
    let lists: [&[&str]; 4] = match kind {
        Kind::TokenBucket => [
            &["5/s burst 3"],
            &["2/s burst 8"],
            &["10/s burst 1"],
            &["5/min"],
        ],
        Kind::AllOf => [
            &["5/s burst 3", "8/min"],
            &["2/s"],
            &["8/min", "5/s", "7/d", "3/20ns", "100/h"],
            &["5/s burst 9", "4/min"],
        ],
        _ => [&["5/s"], &["2/s"], &["8/s"], &["4/min"]],
    };
    let of_one = |list: &&[&str]| list.iter().map(|limit| limit.parse().unwrap()).collect();
    lists.iter().map(of_one).collect()
}

const ONE: Op = spend(Cost::Exactly(1));

const fn spend(cost: Cost) -> Op {
    Op::TryAcquire(0, cost)
}

const fn wait(span: Span) -> Op {
    Op::Clock(Move::Forward(span))
}

const fn back(span: Span) -> Op {
    Op::Clock(Move::Back(span))
}

const NANOSECOND: Op = wait(Span::Exactly(1));
const PERIOD: Span = Span::Periods(256);
const MONTH: u64 = 2_629_800_000_000_000;

fn situations(kind: Kind) -> Vec<(&'static str, Play)> {
    let by_key = |start, ops: &[Op]| Play {
        kind,
        front: Front::LimitsByKey,
        script: Script {
            start,
            lists: lists(kind),
            ops: ops.to_vec(),
        },
    };
    let short = |front, ops: &[Op]| Play {
        kind,
        front,
        script: Script {
            start: 0,
            lists: lists(kind)[..1].to_vec(),
            ops: ops.to_vec(),
        },
    };

    let used_up = [
        ONE,
        ONE,
        ONE,
        ONE,
        ONE,
        ONE,
        wait(Span::RetryAfter(-1)),
        ONE,
        NANOSECOND,
        ONE,
        ONE,
        wait(Span::NextPermitAfter(0)),
        ONE,
        Op::Clock(Move::Edge(-1)),
        ONE,
        NANOSECOND,
        ONE,
    ];
    let clock_back = [
        wait(Span::Exactly(10 * MONTH)),
        ONE,
        wait(Span::Periods(128)),
        ONE,
        ONE,
        back(Span::Periods(64)),
        ONE,
        back(PERIOD),
        ONE,
        Op::Peek(0, Cost::Exactly(1)),
        Op::Refund(1),
        Op::Evict,
        ONE,
        Op::Refresh(0, 1),
        ONE,
        Op::Clock(Move::Zero),
        ONE,
        Op::Clock(Move::Start(-1)),
        Op::Evict,
        ONE,
        wait(Span::ResetAfter(0)),
        Op::Evict,
    ];
    let end_of_time = [
        ONE,
        ONE,
        Op::Clock(Move::Edge(-1)),
        spend(Cost::Capacity(0)),
        NANOSECOND,
        spend(Cost::Remaining(0)),
        Op::Clock(Move::End(1)),
        ONE,
        Op::Refund(0),
        Op::Refresh(0, 3),
        ONE,
        Op::Clock(Move::End(0)),
        ONE,
        NANOSECOND,
        spend(Cost::Exactly(u64::MAX)),
        Op::Evict,
        ONE,
    ];
    let refund_after_refresh = [
        spend(Cost::Exactly(2)),
        ONE,
        Op::Refresh(0, 1),
        Op::Refund(0),
        Op::Peek(0, Cost::Exactly(1)),
        wait(Span::Periods(64)),
        ONE,
        Op::Refresh(0, 2),
        Op::Refund(0),
        Op::Refund(3),
        Op::Peek(0, Cost::Exactly(1)),
        wait(PERIOD),
        Op::Refresh(0, 0),
        Op::Refund(0),
        spend(Cost::Remaining(1)),
        spend(Cost::Remaining(0)),
    ];
    let evicted_then_back = [
        spend(Cost::Exactly(2)),
        Op::TryAcquire(1, Cost::Capacity(0)),
        wait(Span::ResetAfter(-1)),
        Op::Evict,
        NANOSECOND,
        Op::Evict,
        back(Span::Exactly(1)),
        ONE,
        back(Span::Periods(512)),
        ONE,
        Op::TryAcquire(1, Cost::Exactly(1)),
        Op::Refund(0),
        Op::Refund(1),
        Op::Evict,
        wait(PERIOD),
        ONE,
    ];
    let plan_changes = [
        spend(Cost::Remaining(-1)),
        spend(Cost::Exactly(2)),
        Op::Refresh(0, 2),
        ONE,
        Op::Limits(3),
        Op::TryAcquire(1, Cost::Exactly(1)),
        Op::RefreshAll(1),
        ONE,
        wait(Span::Periods(255)),
        Op::Refresh(0, 3),
        ONE,
        Op::Refresh(0, 0),
        spend(Cost::Remaining(0)),
        Op::RefreshAll(3),
        wait(Span::RetryAfter(0)),
        ONE,
        wait(Span::ResetAfter(0)),
        Op::Evict,
    ];
    let plan_shrinks_a_window_later = [
        spend(Cost::Capacity(0)),
        wait(PERIOD),
        Op::Refresh(0, 1),
        ONE,
        wait(Span::Periods(128)),
        ONE,
        Op::Refresh(0, 2),
        ONE,
        Op::Refresh(0, 3),
        ONE,
    ];
    let each_limit = [
        Op::PeekEach(0, Cost::Exactly(1), 2),
        Op::TryAcquireEach(0, Cost::Exactly(2), 0),
        Op::TryAcquireEach(0, Cost::Exactly(2), 1),
        Op::PeekEach(0, Cost::Exactly(4), 7),
        Op::Refresh(0, 2),
        Op::TryAcquireEach(0, Cost::HalfOfRemaining, 4),
        Op::TryAcquireEach(0, Cost::Remaining(1), 6),
        wait(Span::RetryAfter(0)),
        Op::TryAcquireEach(0, Cost::Remaining(0), 5),
        Op::Refund(0),
        Op::PeekEach(1, Cost::Capacity(1), 3),
    ];
    let any_cost = [
        spend(Cost::Exactly(0)),
        spend(Cost::Exactly(u64::MAX)),
        spend(Cost::Capacity(1)),
        spend(Cost::Capacity(-1)),
        spend(Cost::Remaining(1)),
        spend(Cost::Remaining(0)),
        spend(Cost::Exactly(0)),
        Op::Reset(0),
        spend(Cost::Capacity(0)),
        wait(Span::RetryAfter(0)),
        spend(Cost::Capacity(0)),
        wait(Span::NextPermitAfter(-1)),
        spend(Cost::HalfOfRemaining),
        Op::Refund(0),
        Op::Refund(2),
        Op::Refund(2),
    ];
    let in_debt = [
        Op::Charge(0, Cost::Exactly(0)),
        Op::Charge(0, Cost::Exactly(2)),
        Op::Charge(0, Cost::Capacity(1)),
        ONE,
        wait(Span::RetryAfter(-1)),
        ONE,
        NANOSECOND,
        ONE,
        Op::Charge(0, Cost::Exactly(u64::MAX)),
        Op::PeekEach(0, Cost::Exactly(1), 4),
        Op::Refresh(0, 1),
        ONE,
        back(Span::Periods(64)),
        Op::Charge(0, Cost::Exactly(1)),
        wait(Span::ResetAfter(-1)),
        Op::Evict,
        NANOSECOND,
        Op::Evict,
        Op::Charge(1, Cost::Capacity(0)),
        Op::Refund(0),
    ];
    let thirty_years = [
        ONE,
        wait(Span::Exactly(359 * MONTH)),
        spend(Cost::Capacity(0)),
        wait(Span::Exactly(2 * MONTH)),
        ONE,
        ONE,
        wait(Span::RetryAfter(0)),
        ONE,
        wait(Span::Exactly(120 * MONTH)),
        ONE,
        Op::Refresh(0, 1),
        ONE,
        Op::Evict,
    ];
    let last_seconds_of_thirty_years = [
        ONE,
        Op::Clock(Move::End(1)),
        spend(Cost::Capacity(0)),
        NANOSECOND,
        Op::Refund(0),
        ONE,
        NANOSECOND,
        ONE,
        Op::Evict,
    ];

    let today = 1_764_500_000_000_000_000;
    let evict_and_back = &evicted_then_back;
    let without_keys: Vec<Op> = used_up
        .iter()
        .chain(&any_cost)
        .chain(&clock_back)
        .filter(|op| Front::WithoutKeys.uses().allows(op))
        .cloned()
        .collect();
    let one_limit: Vec<Op> = clock_back
        .iter()
        .chain(evict_and_back)
        .filter(|op| Front::OneLimit.uses().allows(op))
        .cloned()
        .collect();
    vec![
        ("used-up-and-waited-for", by_key(today, &used_up)),
        ("clock-back", by_key(today, &clock_back)),
        (
            "near-the-end-of-time",
            by_key(u64::MAX - 2_000_000_000, &end_of_time),
        ),
        ("refund-after-refresh", by_key(0, &refund_after_refresh)),
        ("evicted-then-clock-back", by_key(0, evict_and_back)),
        ("plan-changes", by_key(today, &plan_changes)),
        (
            "plan-shrinks-a-window-later",
            by_key(today, &plan_shrinks_a_window_later),
        ),
        ("each-limit", by_key(0, &each_limit)),
        ("any-cost", by_key(0, &any_cost)),
        ("in-debt", by_key(today, &in_debt)),
        ("past-thirty-years", by_key(0, &thirty_years)),
        (
            "thirty-years-at-the-end-of-time",
            by_key(
                u64::MAX - THIRTY_YEARS as u64,
                &last_seconds_of_thirty_years,
            ),
        ),
        ("one-limit", short(Front::OneLimit, &one_limit)),
        ("without-keys", short(Front::WithoutKeys, &without_keys)),
    ]
}
