//! What the target `together` checks: a request to several limiters takes from all of them or from
//! none, and answers what the definition says, whatever their algorithms and whatever happens to
//! each of them alone.
//!
//! `fuzz_targets/together.rs` and `tests/fuzz_seeds.rs` mount it beside `tests/common` and
//! `decisions`, whose words it uses.

#![allow(dead_code, reason = "only the test writes seeds")]
#![allow(unreachable_pub, reason = "a module of a test and of a fuzz target")]

use crate::common::party::{Ask, Party, Step, agree};
use crate::common::script::KINDS;
use crate::common::subject::{self, Oracle};
use crate::decisions::bytes::{Reader, Writer, place};
use crate::decisions::words::{KEYS, MOVES, STARTS};

/// # Panics
///
/// If the limiters differ from the definition.
pub fn check(bytes: &[u8]) {
    let party = from_bytes(bytes);
    let (mut oracles, mut typed, mut chosen) = (Vec::new(), Vec::new(), Vec::new());
    for (kind, limits) in &party.limiters {
        oracles.push(Oracle::new(*kind, limits, party.start));
        let both = subject::limiters_of_one_limit(*kind, limits, party.start);
        let [by_type, at_run_time] = both.try_into().ok().expect("two ways to choose");
        typed.push(by_type);
        chosen.push(at_run_time);
    }
    if let Err(difference) = agree(&party, &mut oracles, &mut [typed, chosen]) {
        panic!("{difference}\nin {party:#?}");
    }
}

/// How long a party may be.
const MOST_STEPS: usize = 40;

/// What a step does, without what it does it with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verb {
    TakeAll,
    PeekAll,
    RefundAll,
    Take,
    Evict,
    Reset,
    Clock,
}

const VERBS: [Verb; 16] = [
    Verb::TakeAll,
    Verb::TakeAll,
    Verb::TakeAll,
    Verb::TakeAll,
    Verb::TakeAll,
    Verb::TakeAll,
    Verb::PeekAll,
    Verb::RefundAll,
    Verb::RefundAll,
    Verb::Take,
    Verb::Evict,
    Verb::Reset,
    Verb::Clock,
    Verb::Clock,
    Verb::Clock,
    Verb::Clock,
];

/// How many take part in a request.
const COUNTS: [usize; 16] = [1, 2, 3, 4, 5, 9, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4];

pub fn from_bytes(bytes: &[u8]) -> Party {
    let mut bytes = Reader(bytes);
    let start = bytes.word(&STARTS);
    let limiters: Vec<_> = (0..=bytes.byte() % 4)
        .map(|_| {
            let kind = bytes.one_of(&KINDS);
            (kind, bytes.limits(kind))
        })
        .collect();

    let count = limiters.len();
    let mut steps = Vec::new();
    while !bytes.0.is_empty() && steps.len() < MOST_STEPS {
        // The bits that choose no verb choose how many take part, or which one.
        let byte = usize::from(bytes.byte());
        let more = byte / VERBS.len();
        steps.push(match VERBS[byte % VERBS.len()] {
            Verb::TakeAll => {
                let (asks, room) = asks(&mut bytes, COUNTS[more], count);
                Step::TakeAll(asks, room)
            }
            Verb::PeekAll => {
                let (asks, room) = asks(&mut bytes, COUNTS[more], count);
                Step::PeekAll(asks, room)
            }
            Verb::RefundAll => Step::RefundAll(more % 4),
            Verb::Take => Step::Take(ask(&mut bytes, count).0),
            Verb::Evict => Step::Evict(more % count),
            Verb::Reset => Step::Reset(more % count, 0),
            Verb::Clock => Step::Clock(more % count, bytes.word(&MOVES)),
        });
    }
    Party {
        start,
        limiters,
        steps,
    }
}

/// Asks, and the room that the last of them tells.
fn asks(bytes: &mut Reader<'_>, count: usize, limiters: usize) -> (Vec<Ask>, usize) {
    let mut asks = Vec::new();
    let mut room = 0;
    for _ in 0..count {
        let (ask, more) = ask(bytes, limiters);
        asks.push(ask);
        room = more;
    }
    // Mostly as many as there are asks.
    (asks, (count + 4).saturating_sub(room))
}

fn ask(bytes: &mut Reader<'_>, limiters: usize) -> (Ask, usize) {
    let byte = usize::from(bytes.byte());
    let (cost, more) = bytes.cost();
    let ask = Ask {
        limiter: byte / KEYS.len() % limiters,
        key: KEYS[byte % KEYS.len()],
        cost,
    };
    (ask, more)
}

/// Bytes that are read as this.
///
/// # Panics
///
/// If no bytes are.
pub fn to_bytes(party: &Party) -> Vec<u8> {
    let mut bytes = Writer(Vec::new());
    bytes.word(&STARTS, party.start, party.start);
    bytes.byte(party.limiters.len() - 1);
    for (kind, limits) in &party.limiters {
        bytes.byte(place(&KINDS, kind));
        bytes.limits(*kind, limits);
    }
    for step in &party.steps {
        let (verb, more) = match step {
            Step::TakeAll(asks, _) => (Verb::TakeAll, place(&COUNTS, &asks.len())),
            Step::PeekAll(asks, _) => (Verb::PeekAll, place(&COUNTS, &asks.len())),
            Step::RefundAll(back) => (Verb::RefundAll, *back),
            Step::Take(_) => (Verb::Take, 0),
            Step::Evict(which) => (Verb::Evict, *which),
            Step::Reset(which, _) => (Verb::Reset, *which),
            Step::Clock(which, _) => (Verb::Clock, *which),
        };
        bytes.byte(more * VERBS.len() + place(&VERBS, &verb));
        match step {
            Step::TakeAll(asks, room) | Step::PeekAll(asks, room) => {
                for ask in asks {
                    write_ask(&mut bytes, ask, asks.len() + 4 - room);
                }
            }
            Step::Take(ask) => write_ask(&mut bytes, ask, 0),
            Step::Clock(_, step) => bytes.step(*step),
            Step::RefundAll(_) | Step::Evict(_) | Step::Reset(..) => {}
        }
    }
    bytes.0
}

fn write_ask(bytes: &mut Writer, ask: &Ask, more: usize) {
    bytes.byte(ask.limiter * KEYS.len() + place(&KEYS, &ask.key));
    bytes.cost(ask.cost, more);
}
