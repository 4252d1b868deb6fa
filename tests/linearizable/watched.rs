//! What a limiter is given, so that the test sees what goes on inside a call: a ticker, a key and a
//! function from key to plan that note, on each thread, what they told.

use std::cell::{Cell, RefCell};
use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use tollgate::{Algorithm, Plan, Ticker};

/// What a limiter was told within a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// The ticker was read, and this is what it said.
    Time(u64),
    /// A key was made from its borrowed form: in the map there was none, or it was found to be
    /// refreshed.
    Key(u64),
    /// The function from key to plan told these, of the case's limits, when this ticket was drawn.
    Limits { key: u64, limits: usize, drawn: u64 },
}

thread_local! {
    static NOTES: RefCell<Vec<Note>> = const { RefCell::new(Vec::new()) };
    static PAUSES: Cell<u64> = const { Cell::new(0) };
}

fn note(note: Note) {
    NOTES.with_borrow_mut(|notes| notes.push(note));
}

/// What was noted on this thread since it was last asked.
pub(crate) fn notes() -> Vec<Note> {
    NOTES.take()
}

/// From now on this thread pauses here and there within its calls; never, if the seed is 0.
pub(crate) fn pause_by(seed: u64) {
    PAUSES.set(seed);
}

/// Two threads on two processors are seldom within the same few instructions, unless they are held
/// up there: at the places where a limiter calls what it was given.
fn pause() {
    let mut state = PAUSES.get();
    if state == 0 {
        return;
    }
    // Marsaglia's xorshift.
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    PAUSES.set(state);
    match state % 8 {
        0 | 1 => thread::yield_now(),
        2 | 3 => (0..state / 8 % 256).for_each(|_| hint::spin_loop()),
        _ => {}
    }
}

/// A time that any thread may set, on or back.
#[derive(Clone, Debug)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Clock {
    pub(crate) fn new(now: u64) -> Self {
        Self(Arc::new(AtomicU64::new(now)))
    }

    /// Sets it; to an earlier time only if it may go back.
    pub(crate) fn set(&self, now: u64, back: bool) {
        if back {
            self.0.store(now, Ordering::SeqCst);
        } else {
            self.0.fetch_max(now, Ordering::SeqCst);
        }
    }
}

impl Ticker for Clock {
    fn now(&self) -> u64 {
        pause();
        let now = self.0.load(Ordering::SeqCst);
        note(Note::Time(now));
        pause();
        now
    }

    fn disagreement(&self) -> u64 {
        0 // One word, read and written in one order.
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(pub(crate) u64);

impl Clone for Key {
    fn clone(&self) -> Self {
        note(Note::Key(self.0));
        pause();
        Self(self.0)
    }
}

/// The plans of a case, and which of them is told at present.
#[derive(Debug)]
pub(crate) struct Plans<A: Algorithm> {
    plans: Vec<Plan<A>>,
    told: Arc<AtomicUsize>,
    tickets: Arc<AtomicU64>,
}

impl<A: Algorithm> Plans<A> {
    pub(crate) fn new(
        plans: Vec<Plan<A>>,
        told: Arc<AtomicUsize>,
        tickets: Arc<AtomicU64>,
    ) -> Self {
        Self {
            plans,
            told,
            tickets,
        }
    }

    pub(crate) fn of(&self, key: &Key) -> Plan<A> {
        pause();
        let drawn = self.tickets.fetch_add(1, Ordering::SeqCst);
        let limits = self.told.load(Ordering::SeqCst);
        note(Note::Limits {
            key: key.0,
            limits,
            drawn,
        });
        pause();
        self.plans[limits].clone()
    }
}
