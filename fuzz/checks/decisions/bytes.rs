//! A script as bytes: any bytes are one.
//!
//! | what | bytes |
//! |---|---|
//! | algorithm and front | 1 |
//! | start | 1, and a number where the word has one |
//! | lists of limits | 1 for how many; for each of `AllOf` 1 for how many limits it has; for a limit 3, and numbers; behind each list but the first 1 for what it changes |
//! | each op | 1, which holds the key; then 1 for its cost, move, list or decision, and a number |
//!
//! A byte chooses a word from a table (see [`words`](super::words)), so that nearly every byte says
//! something to the point. Bytes that are missing count as zeros.

use std::fmt;
use std::time::Duration;

use tollgate::Limit;

use super::Play;
use super::words::{
    BURSTS, CHANGES, COSTS, COUNTS, FRONTS, KEYS, MOVES, PERIODS, PERMITS, STARTS, VERBS, Verb,
    Word,
};
use crate::common::reference::{Kind, supports};
use crate::common::script::{Change, Cost, KINDS, Move, Op, Script, Span, has_burst};

/// How long a script may be: the oracle searches for every wait, and an input is to take less than
/// a millisecond.
pub const MOST_OPS: usize = 64;

impl Play {
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut bytes = Reader(bytes);
        let first = usize::from(bytes.byte());
        let kind = KINDS[first % KINDS.len()];
        let front = FRONTS[first / KINDS.len() % FRONTS.len()];
        let start = bytes.word(&STARTS);

        let mut lists = Vec::new();
        for _ in 0..=bytes.byte() % 4 {
            let list = bytes.limits(kind);
            let Some(first) = lists.first() else {
                lists.push(list);
                continue;
            };
            let changed = bytes.one_of(&CHANGES).of(kind, first, &list);
            lists.push(match supports(kind, &changed) {
                true => changed,
                false => list,
            });
        }

        let uses = front.uses();
        let mut ops = Vec::new();
        while !bytes.0.is_empty() && ops.len() < MOST_OPS {
            let op = bytes.op(uses.keys, lists.len());
            if uses.allows(&op) {
                ops.push(op);
            }
        }
        let script = Script { start, lists, ops };
        Self {
            kind,
            front,
            script,
        }
    }

    /// Bytes that are read as this.
    ///
    /// # Panics
    ///
    /// If no bytes are: a limit that the algorithm refuses, an op that the front does not have, a
    /// span of more periods than any word.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Writer(Vec::new());
        let front = place(&FRONTS, &self.front) * KINDS.len();
        bytes.byte(front + place(&KINDS, &self.kind));
        let Script { start, lists, ops } = &self.script;
        bytes.word(&STARTS, *start, *start);
        bytes.byte(lists.len() - 1);
        for (position, list) in lists.iter().enumerate() {
            bytes.limits(self.kind, list);
            if position > 0 {
                bytes.byte(place(&CHANGES, &Change::Everything));
            }
        }
        for op in ops {
            bytes.op(op);
        }
        bytes.0
    }
}

pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    pub fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    pub fn one_of<T: Copy>(&mut self, table: &[T]) -> T {
        table[usize::from(self.byte()) % table.len()]
    }

    pub fn word<T: Copy>(&mut self, table: &[Word<T>]) -> T {
        match self.one_of(table) {
            Word::Is(word) => word,
            Word::With(word) => word(self.number()),
        }
    }

    /// Small ones in two bytes, as are those near a power of two and near the end; any in more.
    fn number(&mut self) -> u64 {
        let form = self.byte();
        match form >> 6 {
            0 => u64::from(self.byte()),
            1 => (0..=form % 8).fold(0, |number, _| number << 8 | u64::from(self.byte())),
            2 => (1_u64 << (form % 64)).saturating_add_signed((self.byte() as i8).into()),
            _ => u64::MAX - u64::from(self.byte()),
        }
    }

    /// Limits that the algorithm keeps.
    pub fn limits(&mut self, kind: Kind) -> Vec<Limit> {
        let count = match kind {
            Kind::AllOf => self.one_of(&COUNTS),
            _ => 1,
        };
        (0..count).map(|_| self.limit(kind)).collect()
    }

    fn limit(&mut self, kind: Kind) -> Limit {
        let permits = self.word(&PERMITS);
        let period = Duration::from_nanos(self.word(&PERIODS));
        let limit = Limit::new(permits, period).expect("no table has a zero");
        let limit = match self.word(&BURSTS) {
            burst @ 1.. if has_burst(kind) => limit.with_burst(burst),
            _ => limit,
        };
        if supports(kind, &[limit]) {
            return limit;
        }
        // Few permits in at most a month: every algorithm keeps such a limit.
        let period = period.min(Duration::from_secs(30 * 86_400));
        Limit::new(permits % 10 + 1, period).expect("neither is zero")
    }

    fn op(&mut self, keys: u64, lists: usize) -> Op {
        let byte = usize::from(self.byte());
        let key = KEYS[byte / VERBS.len() % KEYS.len()] % keys;
        match VERBS[byte % VERBS.len()] {
            Verb::TryAcquire => Op::TryAcquire(key, self.cost().0),
            Verb::Peek => Op::Peek(key, self.cost().0),
            Verb::TryAcquireEach => {
                let (cost, room) = self.cost();
                Op::TryAcquireEach(key, cost, room)
            }
            Verb::PeekEach => {
                let (cost, room) = self.cost();
                Op::PeekEach(key, cost, room)
            }
            Verb::Charge => Op::Charge(key, self.cost().0),
            Verb::Refund => Op::Refund(usize::from(self.byte() % 16)),
            Verb::Reset => Op::Reset(key),
            Verb::Limits => Op::Limits(self.list(lists)),
            Verb::Refresh => Op::Refresh(key, self.list(lists)),
            Verb::RefreshAll => Op::RefreshAll(self.list(lists)),
            Verb::Evict => Op::Evict,
            Verb::Clock => Op::Clock(self.word(&MOVES)),
        }
    }

    /// The bits that choose no cost choose the room for decisions.
    pub fn cost(&mut self) -> (Cost, usize) {
        let byte = usize::from(self.0.first().copied().unwrap_or(0));
        (self.word(&COSTS), byte / COSTS.len())
    }

    fn list(&mut self, lists: usize) -> usize {
        usize::from(self.byte()) % lists
    }
}

pub struct Writer(pub Vec<u8>);

impl Writer {
    pub fn byte(&mut self, byte: usize) {
        self.0.push(byte.try_into().expect("a byte"));
    }

    /// `number` is the one in the word, if it has one. `more` is added to the byte of the word.
    fn word_and<T: PartialEq + fmt::Debug>(
        &mut self,
        table: &[Word<T>],
        value: &T,
        number: u64,
        more: usize,
    ) {
        let is = |word: &Word<T>| matches!(word, Word::Is(word) if word == value);
        let with = |word: &Word<T>| matches!(word, Word::With(word) if word(number) == *value);
        if let Some(place) = table.iter().position(is) {
            self.byte(place + more);
        } else if let Some(place) = table.iter().position(with) {
            self.byte(place + more);
            self.number(number);
        } else {
            panic!("no word for {value:?}");
        }
    }

    pub fn word<T: PartialEq + fmt::Debug>(&mut self, table: &[Word<T>], value: T, number: u64) {
        self.word_and(table, &value, number, 0);
    }

    fn number(&mut self, number: u64) {
        match number {
            0..256 => self.0.extend([0, number as u8]),
            _ => {
                self.byte(0b0100_0111);
                self.0.extend(number.to_be_bytes());
            }
        }
    }

    pub fn limits(&mut self, kind: Kind, limits: &[Limit]) {
        assert!(supports(kind, limits), "{kind:?} refuses {limits:?}");
        if kind == Kind::AllOf {
            self.byte(place(&COUNTS, &limits.len()));
        }
        for limit in limits {
            self.word(&PERMITS, limit.permits(), limit.permits());
            self.word(&PERIODS, limit.period_ns(), limit.period_ns());
            let burst = match limit.burst() {
                same if same == limit.permits() => 0,
                other => other,
            };
            self.word(&BURSTS, burst, burst);
        }
    }

    fn op(&mut self, op: &Op) {
        let (verb, key) = match *op {
            Op::TryAcquire(key, _) => (Verb::TryAcquire, key),
            Op::Peek(key, _) => (Verb::Peek, key),
            Op::TryAcquireEach(key, ..) => (Verb::TryAcquireEach, key),
            Op::PeekEach(key, ..) => (Verb::PeekEach, key),
            Op::Charge(key, _) => (Verb::Charge, key),
            Op::Refund(_) => (Verb::Refund, 0),
            Op::Reset(key) => (Verb::Reset, key),
            Op::Limits(_) => (Verb::Limits, 0),
            Op::Refresh(key, _) => (Verb::Refresh, key),
            Op::RefreshAll(_) => (Verb::RefreshAll, 0),
            Op::Evict => (Verb::Evict, 0),
            Op::Clock(_) => (Verb::Clock, 0),
        };
        self.byte(place(&KEYS, &key) * VERBS.len() + place(&VERBS, &verb));
        match *op {
            Op::TryAcquire(_, cost) | Op::Peek(_, cost) | Op::Charge(_, cost) => {
                self.cost(cost, 0);
            }
            Op::TryAcquireEach(_, cost, room) | Op::PeekEach(_, cost, room) => {
                self.cost(cost, room);
            }
            Op::Refund(number)
            | Op::Limits(number)
            | Op::Refresh(_, number)
            | Op::RefreshAll(number) => self.byte(number),
            Op::Reset(_) | Op::Evict => {}
            Op::Clock(step) => self.step(step),
        }
    }

    pub fn cost(&mut self, cost: Cost, room: usize) {
        let number = match cost {
            Cost::Exactly(number) => number,
            _ => 0,
        };
        self.word_and(&COSTS, &cost, number, room * COSTS.len());
    }

    pub fn step(&mut self, step: Move) {
        self.word(&MOVES, step, number_in(step));
    }
}

/// The number in a word for a step, if it has one.
fn number_in(step: Move) -> u64 {
    match step {
        Move::Forward(Span::Exactly(number) | Span::Periods(number))
        | Move::Back(Span::Exactly(number) | Span::Periods(number))
        | Move::End(number) => number,
        _ => 0,
    }
}

pub fn place<T: PartialEq + fmt::Debug>(table: &[T], word: &T) -> usize {
    let place = table.iter().position(|other| other == word);
    place.unwrap_or_else(|| panic!("no word for {word:?}"))
}
