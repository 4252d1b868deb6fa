//! What the threads of a history are to do, made up from a seed.

use super::history::{Case, Op};
use crate::common::reference::Kind;
use crate::support::{Numbers, S, limit};

/// One thing for a thread to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Move {
    Call(Op),
    /// Gives back the latest decision for the key that this thread has not given back.
    Refund {
        key: u64,
    },
}

#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) seed: u64,
    /// In order, on one thread.
    pub(crate) before: Vec<Move>,
    /// Each on a thread of its own, all at the same time.
    pub(crate) beside: Vec<Vec<Move>>,
    /// In order, on one thread: what all this has come to.
    pub(crate) after: Vec<Move>,
}

/// How many moves all threads have together.
const MOVES: usize = 12;

/// Limits so small that a few requests meet them.
fn limits(kind: Kind) -> Vec<Vec<&'static str>> {
    match kind {
        Kind::TokenBucket => vec![
            vec!["3/s"],
            vec!["2/s burst 4"],
            vec!["7/3s burst 2"],
            vec!["1/s"],
        ],
        Kind::AllOf => vec![
            vec!["2/s", "3/4s"],
            vec!["4/s"],
            vec!["3/s", "7/4s burst 2", "2/5s"],
        ],
        _ => vec![vec!["3/s"], vec!["5/s"], vec!["2/s"], vec!["4/3s"]],
    }
}

/// A case and a script for it; whether its limits are a function of the key is made up, too, unless
/// it is given.
pub(crate) fn make_up(kind: Kind, by_plan: Option<bool>, seed: u64) -> (Case, Script) {
    // Seeds that follow each other are made to differ in many bits.
    let mut numbers = Numbers(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..8).for_each(|_| _ = numbers.below(2));

    let texts = limits(kind);
    let first = numbers.below(texts.len() as u64) as usize;
    let by_plan = by_plan.unwrap_or(numbers.below(2) == 0);
    let case = Case {
        kind,
        start: 10 * S + numbers.below(S),
        limits: (0..texts.len())
            .map(|nth| &texts[(first + nth) % texts.len()])
            .map(|texts| texts.iter().map(|text| limit(text)).collect())
            .collect(),
        keys: 1 + numbers.below(4) / 3,
        by_plan,
    };
    let mut maker = Maker {
        steps_back: numbers.below(2) == 0,
        theme: (numbers.below(2) == 0).then(|| numbers.below(20)),
        clock: case.start,
        case,
        numbers,
    };

    let before = maker.moves(4);
    maker.clock += S / 2;
    // Two have a processor each on the smallest machine; three can do what two cannot.
    let threads = 2 + maker.numbers.below(2) as usize;
    let beside = (0..threads).map(|_| maker.moves(MOVES / threads));
    let beside = beside.collect();
    maker.clock += S / 2;
    let mut after = vec![Move::Call(Op::TrackedKeys)];
    for key in 0..maker.case.keys {
        after.push(maker.peek(key));
    }
    after.push(maker.set_clock());
    for key in 0..maker.case.keys {
        after.push(maker.peek(key));
    }
    let script = Script {
        seed,
        before,
        beside,
        after,
    };
    (maker.case, script)
}

struct Maker {
    case: Case,
    numbers: Numbers,
    /// What the threads do beside asking, if it is one thing.
    theme: Option<u64>,
    /// Whether the clock is ever set back.
    steps_back: bool,
    /// Where it has come to, more or less.
    clock: u64,
}

impl Maker {
    fn moves(&mut self, most: usize) -> Vec<Move> {
        let mut moves: Vec<_> = (0..most).map(|_| self.one()).collect();
        if self.case.by_plan && self.numbers.below(3) == 0 {
            let limits = self.numbers.below(self.case.limits.len() as u64) as usize;
            let at = self.numbers.below(most as u64) as usize;
            moves.insert(at, Move::Call(Op::SetLimits(limits)));
        }
        moves
    }

    fn one(&mut self) -> Move {
        let key = self.numbers.below(self.case.keys);
        let drawn = match (self.numbers.below(32), self.theme) {
            (0..12, Some(theme)) => theme,
            (drawn, Some(_)) => drawn.max(20),
            (drawn, None) => drawn,
        };
        match drawn {
            0..=1 => self.peek(key),
            2..=4 => Move::Refund { key },
            5..=6 => Move::Call(Op::Reset { key }),
            7..=11 => Move::Call(Op::EvictIdle),
            12..=15 => self.set_clock(),
            16..=17 if self.case.by_plan => Move::Call(Op::Refresh { key }),
            18..=19 if self.case.by_plan => Move::Call(Op::RefreshAll),
            _ => Move::Call(Op::Acquire {
                key,
                // None now and then, and more than there can ever be.
                cost: [1, 1, 1, 1, 2, 2, 3, self.numbers.below(7)][self.numbers.below(8) as usize],
                each: self.each(),
            }),
        }
    }

    fn peek(&mut self, key: u64) -> Move {
        Move::Call(Op::Peek {
            key,
            cost: 1 + self.numbers.below(3),
            each: self.each(),
        })
    }

    fn each(&mut self) -> bool {
        self.case.kind == Kind::AllOf && self.numbers.below(2) == 0
    }

    fn set_clock(&mut self) -> Move {
        let by = match self.numbers.below(4) {
            0 => 5 * S, // The keys are idle.
            _ => self.numbers.below(8) * S / 8 + self.numbers.below(3),
        };
        // What one thread does not know is how far another has set it.
        let now = self.clock + by;
        if self.steps_back && self.numbers.below(2) == 0 {
            let back = now.saturating_sub(2 * by);
            return Move::Call(Op::SetClock {
                now: back,
                back: true,
            });
        }
        Move::Call(Op::SetClock { now, back: false })
    }
}
