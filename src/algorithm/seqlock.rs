//! A small sequence lock: several words that change together.
//!
//! A version counts the writes: even when the words are at rest, odd while somebody writes them.
//! A reader notes the version, reads the words, and reads the version again; if it has changed,
//! the words may be torn and it starts over. A writer makes the version odd by a compare-exchange
//! from the version under which it has read and decided, so that nothing can have changed since:
//! that exchange is the moment at which the decision takes effect.
//!
//! It is not lock-free: a writer that is descheduled between the exchange and the last store holds
//! up everyone on the same key. They spin for a moment, then yield.
//!
//! # Orderings
//!
//! As in Boehm, *Can seqlocks get along with programming language memory models?* (2012):
//!
//! * The reader's first load of the version is Acquire, and pairs with the writer's last store,
//!   Release: whoever sees the version sees the words written before it.
//! * The reader's Acquire fence before its second load pairs with the writer's Release fence after
//!   the exchange: whoever has read a word of a newer write sees that write's odd version, or a
//!   later one.
//! * The exchange itself may be Relaxed: the fence keeps the writer's stores behind it.
//! * Putting words back after they were held is Release, as a write's last store is: it is what
//!   the next reader sees.
//!
//! The marks for retired and moving are AcqRel, for the reason given in
//! [`one_word`](super::one_word). `loom_tests::seqlock` fails when a fence is missing, when the first
//! load or the last store is weakened, or when words are put back without Release.

use super::Gone;
use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::sync::{Backoff, Turn};

const RETIRED: u64 = u64::MAX;
const MOVING: u64 = u64::MAX - 1;

/// Words of the type `W` behind a version.
pub(crate) struct SeqLock<W> {
    version: AtomicU64,
    turn: Turn,
    words: W,
}

/// The version under which words were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Version(u64);

impl<W> SeqLock<W> {
    pub(crate) fn new(words: W) -> Self {
        Self {
            version: AtomicU64::new(0),
            turn: Turn::new(),
            words,
        }
    }

    /// Reads with `read` until it has seen the words at rest. `read` may see torn words, and is
    /// then called again.
    #[inline]
    pub(crate) fn read<'w, R>(
        &'w self,
        mut read: impl FnMut(&'w W) -> R,
    ) -> Result<(Version, R), Gone> {
        let backoff = Backoff::new();
        loop {
            // Acquire: pairs with the Release in `write`.
            let before = self.version.load(Ordering::Acquire);
            if before >= MOVING {
                return Err(gone(before));
            }
            if !before.is_multiple_of(2) {
                self.turn.wait(&backoff);
                continue;
            }
            let result = read(&self.words);
            // Acquire: pairs with the Release fence in `write`.
            fence(Ordering::Acquire);
            // Relaxed: the fence orders it.
            if self.version.load(Ordering::Relaxed) == before {
                return Ok((Version(before), result));
            }
            // Somebody else has written.
            backoff.spin();
        }
    }

    /// Writes with `write` if nothing has changed since `seen`; returns whether it did.
    #[inline]
    pub(crate) fn write(&self, seen: Version, write: impl FnOnce(&W)) -> bool {
        let Version(version) = seen;
        let _turn = self.turn.take();
        // Relaxed: see `# Orderings`.
        let locked = self.version.compare_exchange(
            version,
            version + 1,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if locked.is_err() {
            return false;
        }
        // Release: pairs with the Acquire fence in `read`.
        fence(Ordering::Release);
        write(&self.words);
        // Release: pairs with the Acquire load in `read`.
        self.version.store(version + 2, Ordering::Release);
        true
    }

    /// Reads, and writes if `step` says so, until nobody came between.
    #[inline]
    pub(crate) fn update<R>(
        &self,
        mut step: impl FnMut(&W) -> (R, bool),
        mut write: impl FnMut(&W),
    ) -> Result<R, Gone> {
        loop {
            let (seen, (result, writes)) = self.read(&mut step)?;
            if !writes || self.write(seen, &mut write) {
                return Ok(result);
            }
        }
    }

    /// Retires the words if `idle` holds of them.
    pub(crate) fn retire_if(&self, mut idle: impl FnMut(&W) -> bool) -> bool {
        while let Ok((seen, idle)) = self.read(&mut idle) {
            if !idle {
                return false;
            }
            if self.mark(seen, RETIRED) {
                return true;
            }
        }
        false
    }

    pub(crate) fn retire(&self) -> Result<(), Gone> {
        self.mark_any(RETIRED).map(|_| ())
    }

    pub(crate) fn is_retired(&self) -> bool {
        // Relaxed: whoever acts on it reads the map again, which orders the rest.
        self.version.load(Ordering::Relaxed) == RETIRED
    }

    /// Marks the words as moving: nobody writes them until `release`.
    pub(crate) fn hold(&self) -> Result<Version, Gone> {
        self.mark_any(MOVING)
    }

    pub(crate) fn release(&self, held: Version) {
        // Release: pairs with the Acquire load in `read`.
        self.version.store(held.0, Ordering::Release);
    }

    /// The words, while they are held or nobody else knows of them.
    pub(crate) fn words(&self) -> &W {
        &self.words
    }

    fn mark_any(&self, mark: u64) -> Result<Version, Gone> {
        loop {
            let (seen, ()) = self.read(|_| ())?;
            if self.mark(seen, mark) {
                return Ok(seen);
            }
        }
    }

    fn mark(&self, seen: Version, mark: u64) -> bool {
        // AcqRel: see `# Orderings`.
        self.version
            .compare_exchange(seen.0, mark, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

#[cold]
fn gone(version: u64) -> Gone {
    // The load that found it was Acquire.
    if version == RETIRED {
        Gone::Retired
    } else {
        Gone::Moving
    }
}

/// Reads a word of a sequence lock.
#[inline]
pub(crate) fn get(word: &AtomicU64) -> u64 {
    // Relaxed: the version orders it; see `# Orderings`.
    word.load(Ordering::Relaxed)
}

/// Writes a word of a sequence lock.
#[inline]
pub(crate) fn set(word: &AtomicU64, value: u64) {
    // Relaxed: the version orders it; see `# Orderings`.
    word.store(value, Ordering::Relaxed);
}
