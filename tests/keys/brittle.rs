//! A key whose `Hash` and `Eq` panic when they are told to.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// How often this thread may still hash or compare a brittle key before it panics.
    pub(crate) static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

fn wear() {
    LEFT.set(LEFT.get().checked_sub(1).expect("the key breaks"));
}

#[derive(Clone, Debug, Eq)]
pub(crate) struct Brittle(pub(crate) u64);

impl PartialEq for Brittle {
    fn eq(&self, other: &Self) -> bool {
        wear();
        self.0 == other.0
    }
}

impl Hash for Brittle {
    fn hash<H: Hasher>(&self, state: &mut H) {
        wear();
        self.0.hash(state);
    }
}

/// Does `work` with a key that breaks at the first use, the second, and so on, until it holds.
/// Returns how often it broke.
pub(crate) fn until_it_holds(mut work: impl FnMut()) -> usize {
    for uses in 0.. {
        LEFT.set(uses);
        let outcome = catch_unwind(AssertUnwindSafe(&mut work));
        LEFT.set(usize::MAX);
        if outcome.is_ok() {
            return uses;
        }
    }
    unreachable!("a look-up takes a few uses")
}
