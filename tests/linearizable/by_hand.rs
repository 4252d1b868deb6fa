//! Histories written down by hand: what the checker is to accept, and what it is not.

use tollgate::Decision;

use super::history::{Answer, Call, Case, History, Op};
use super::spec::is_linearizable;
use super::watched::Note;
use crate::common::reference::{Kind, Reference};
use crate::support::{S, limit};

const KEY: u64 = 0;

/// A history under a token bucket of one permit a second, of one key.
fn history(calls: Vec<Call>) -> History {
    History {
        case: Case {
            kind: Kind::TokenBucket,
            start: 0,
            limits: vec![vec![limit("1/s")]],
            keys: 1,
            by_plan: false,
        },
        seed: 0,
        calls,
    }
}

fn call(thread: usize, (from, to): (u64, u64), op: Op, notes: Vec<Note>, answer: Answer) -> Call {
    Call {
        thread,
        op,
        answer,
        from,
        to,
        notes,
    }
}

/// A request of one permit that begins the key, or finds it.
fn acquire(thread: usize, at: (u64, u64), begins: bool, time: u64, decision: Decision) -> Call {
    let op = Op::Acquire {
        key: KEY,
        cost: 1,
        each: false,
    };
    let mut notes = vec![Note::Time(time)];
    if begins {
        notes.insert(0, Note::Key(KEY));
    }
    call(thread, at, op, notes, Answer::Decided(decision))
}

fn evict(at: (u64, u64), time: u64, count: usize) -> Call {
    let notes = vec![Note::Time(time)];
    call(0, at, Op::EvictIdle, notes, Answer::Count(count))
}

/// What the oracle says first and second of a key at such readings.
fn decided(first: u64, second: u64) -> (Decision, Decision) {
    let oracle = Reference::new(Kind::TokenBucket, 0, &[limit("1/s")]);
    let first = oracle.try_acquire_n(KEY, 1, first);
    (first, oracle.try_acquire_n(KEY, 1, second))
}

#[test]
fn calls_that_overlap_may_have_been_in_either_order() {
    let (allowed, denied) = decided(S, S);
    for (one, other) in [(allowed, denied), (denied, allowed)] {
        assert!(is_linearizable(&history(vec![
            acquire(1, (0, 2), true, S, one),
            acquire(2, (1, 3), false, S, other),
        ])));
    }
}

#[test]
fn calls_that_do_not_overlap_keep_their_order() {
    let (allowed, denied) = decided(S, S);
    let in_turn = |first, second| {
        is_linearizable(&history(vec![
            acquire(1, (0, 1), true, S, first),
            acquire(2, (2, 3), false, S, second),
        ]))
    };
    assert!(in_turn(allowed, denied));
    assert!(!in_turn(denied, allowed));
}

#[test]
fn a_permit_is_not_spent_twice() {
    let (allowed, _) = decided(S, S);
    assert!(!is_linearizable(&history(vec![
        acquire(1, (0, 2), true, S, allowed),
        acquire(2, (1, 3), false, S, allowed),
    ])));
}

#[test]
fn a_key_is_not_forgotten_before_it_is_idle() {
    let (allowed, _) = decided(S, S);
    for (time, count, accepted) in [(2 * S, 1, true), (2 * S - 1, 1, false), (2 * S, 0, false)] {
        let swept = history(vec![
            acquire(1, (0, 1), true, S, allowed),
            evict((2, 3), time, count),
        ]);
        assert_eq!(is_linearizable(&swept), accepted, "{swept}");
    }
}

#[test]
fn a_sweep_counts_a_key_that_has_spent_nothing_only_beside_the_request_that_begins_it() {
    let (allowed, _) = decided(S, S);
    for (from, accepted) in [(1, true), (3, false)] {
        let mut begun = acquire(1, (from, from + 3), true, S, allowed);
        // It begins the key, finds it gone, and begins it again.
        begun.notes.splice(0..0, [Note::Key(KEY), Note::Time(S)]);
        let swept = history(vec![evict((0, 2), S, 1), begun]);
        assert_eq!(is_linearizable(&swept), accepted, "{swept}");
    }
}

#[test]
fn a_key_that_was_forgotten_is_not_begun_at_an_older_reading() {
    let (allowed, _) = decided(S, S);
    for (counted_as, accepted) in [(2 * S, true), (S + S / 2, false)] {
        let (again, _) = decided(counted_as, counted_as);
        let begun = history(vec![
            acquire(1, (0, 1), true, S, allowed),
            evict((2, 4), 2 * S, 1),
            // The clock has been set back.
            acquire(1, (3, 5), true, S + S / 2, again),
        ]);
        assert_eq!(is_linearizable(&begun), accepted, "{begun}");
    }
}
