//! Places: one for every key in the map, so that there are never more keys than places, and so that
//! idle keys can be looked for a few at a time.
//!
//! A place holds its key's hash. It is taken *before* its entry is inserted, and freed *after* the
//! entry was removed, by the thread that removed it: only that one. In between it belongs to the
//! entry, so that a hash whose entry is not found (not yet inserted, just removed) means nothing and
//! is passed over.
//!
//! Free places are a stack (Treiber, 1986) that runs through the places themselves: each holds the
//! number of the next.
//!
//! # How idle keys are found
//!
//! A hand goes round the places, as a clock's does, and each new key moves it on. Where it finds an
//! idle key that key is evicted, and the hand goes on by [`LOOKS`] for a new key; once it has found
//! [`BARREN`] keys in use in a row, by one for every second. Places that are freed in passing are used
//! while the hand passes keys in use. Places that are added in a round belong to the next: a hand that
//! had to reach the last one would never come round while keys are added faster than it moves.
//!
//! If n keys are in use, passing them takes 2n new keys. Passing the L − n others of a round frees as
//! many places, and takes (L − n) / 4 new keys. So no place is added in a round of which
//! 3 (L − n) / 4 ≥ 2n, or L ≥ 11n / 3; and one that is shorter adds no more than 2n.
//!
//! When all places are taken and none can be added, the hand goes on by [`LOOKS`] for each key that
//! is refused.

use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crossbeam_utils::CachePadded;
use std::sync::OnceLock;
// Not those of `sync`: where a hand stands decides nothing, and a model would try every order.
use std::sync::atomic::{AtomicU64 as Hand, AtomicUsize as Estimate};

/// How many places are looked at for one new key while there are idle keys to be found, or no place
/// is left.
const LOOKS: usize = 4;

/// After so many looks in a row that found a key in use, only every second new key looks.
const BARREN: usize = 16;

/// The first segment has 2^FIRST places.
const FIRST: u32 = if cfg!(all(test, feature = "loom")) {
    3
} else {
    6
};

/// The first segment, and four for each power of two up to 2^32 places.
const SEGMENTS: usize = 1 + 4 * (32 - FIRST as usize);

/// Set in the hash of every key, and in no link from a free place to the next. The map uses the
/// lowest bits of a hash and the highest.
pub(super) const TAKEN: u64 = 1 << 48;

/// The link of a place that is the last of the free ones, and what a place is made with.
const LAST: u64 = 0;

pub(crate) struct Places {
    segments: Box<[OnceLock<Box<[AtomicU64]>>]>,
    most: usize,
    /// How many places were ever in use at the same time.
    used: CachePadded<AtomicUsize>,
    /// The link to the first free place, in its lower half; in its upper half how often it has
    /// changed, so that no exchange takes a link for what it was before.
    free: CachePadded<AtomicU64>,
    /// Where the hand is, in the lower half; in the upper half where the round ends.
    hand: CachePadded<Hand>,
    /// Looks in a row that found a key in use, and after that, new keys.
    barren: Estimate,
    /// Where the last sweep that was to visit so many places has stopped.
    swept: Estimate,
}

impl Places {
    /// Room for `expected` keys from the start, and for `most` at the most.
    pub(crate) fn new(expected: usize, most: usize) -> Self {
        let most = most.min(u32::MAX as usize);
        let places = Self {
            segments: (0..SEGMENTS).map(|_| OnceLock::new()).collect(),
            most,
            used: CachePadded::new(AtomicUsize::new(0)),
            free: CachePadded::new(AtomicU64::new(LAST)),
            hand: CachePadded::new(Hand::new(0)),
            barren: Estimate::new(BARREN),
            swept: Estimate::new(0),
        };
        // Loom does not see that what a `OnceLock` holds was made before it is read.
        let expected = expected.max(usize::from(cfg!(all(test, feature = "loom"))));
        let mut place = 0;
        while place < expected.min(most) {
            let (segment, offset, len) = locate(place as u32);
            debug_assert_eq!(offset, 0);
            let _ = places.segments[segment].set(Self::segment(len));
            place += len;
        }
        places
    }

    fn segment(len: usize) -> Box<[AtomicU64]> {
        (0..len).map(|_| AtomicU64::new(LAST)).collect()
    }

    /// How many places were ever in use at the same time.
    pub(super) fn used(&self) -> usize {
        // Relaxed, as all that is read and written here: a place's number and hash say all, and what
        // they lead to is ordered by the map.
        self.used.load(Ordering::Relaxed)
    }

    /// Takes a place for a key with this hash. `evict` is asked to evict the key of a place, and
    /// tells whether it has removed the entry; without it no other key is looked at.
    pub(crate) fn take(
        &self,
        hash: u64,
        mut evict: Option<impl FnMut(u32) -> bool>,
    ) -> Option<u32> {
        if let Some(evict) = &mut evict {
            for _ in 0..self.looks() {
                self.look(evict);
            }
        }
        let place = self.pop().or_else(|| self.add()).or_else(|| {
            let evict = evict.as_mut()?;
            (0..LOOKS).find(|_| self.look(evict))?;
            self.pop()
        })?;
        self.at(place).store(hash, Ordering::Relaxed);
        Some(place)
    }

    /// Whether [`take`](Self::take) would give a place. `idle` tells whether it could evict the key of
    /// one; without it no other key is looked at.
    pub(super) fn may_take(&self, mut idle: Option<impl FnMut(u32) -> bool>) -> bool {
        // Relaxed: the answer is as old as the look, whatever the order.
        let free = self.free.load(Ordering::Relaxed) & LINK != LAST;
        if free || self.used() < self.most {
            return true;
        }
        let Some(idle) = &mut idle else {
            return false;
        };
        let used = self.used() as u64;
        let looks = self.looks_now() + LOOKS;
        let at = self.hand.load(Ordering::Relaxed) & LINK;
        // As `pass` goes when no place can be added: to the last, then from the first.
        (at..at + looks as u64).any(|look| used > 0 && idle((look % used) as u32))
    }

    /// Gives a place back, by whoever has removed its entry or has not inserted one.
    pub(crate) fn free(&self, place: u32) {
        let word = self.at(place);
        let mut first = self.free.load(Ordering::Relaxed);
        loop {
            word.store(first & LINK, Ordering::Relaxed);
            // Release: pairs with the Acquire in `pop`, which reads the link.
            match self.free.compare_exchange_weak(
                first,
                changed(first, u64::from(place) + 1),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(found) => first = found,
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        let mut first = self.free.load(Ordering::Acquire);
        loop {
            let place = (first & LINK).checked_sub(1)? as u32;
            // If the place is taken meanwhile this is no link; but then `free` has changed.
            let next = self.at(place).load(Ordering::Relaxed) & LINK;
            match self.free.compare_exchange_weak(
                first,
                changed(first, next),
                Ordering::Acquire,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some(place),
                Err(found) => first = found,
            }
        }
    }

    /// A place that was never used.
    fn add(&self) -> Option<u32> {
        let below = |used| (used < self.most).then_some(used + 1);
        let added = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, below);
        // At most 2^32 - 1 of them.
        added.ok().map(|place| place as u32)
    }

    /// The hash of the key that has the place, if one has.
    pub(super) fn hash_at(&self, place: u32) -> Option<u64> {
        let word = self.at(place).load(Ordering::Relaxed);
        (word & TAKEN != 0).then_some(word)
    }

    /// Idle keys have been found: let new keys look for more.
    pub(super) fn expect_idle(&self) {
        self.barren.store(0, Ordering::Relaxed);
    }

    /// How many places a new key looks at before it takes one.
    fn looks(&self) -> usize {
        let looks = self.looks_now();
        if looks < LOOKS {
            self.barren.fetch_add(1, Ordering::Relaxed);
        }
        looks
    }

    /// How many places the next new key would look at.
    fn looks_now(&self) -> usize {
        match self.barren.load(Ordering::Relaxed) {
            looks if looks < BARREN => LOOKS,
            keys => keys % 2,
        }
    }

    /// Moves the hand on by one, and evicts the key that it comes to if that is idle; tells whether
    /// it was.
    fn look(&self, evict: &mut impl FnMut(u32) -> bool) -> bool {
        let Some(place) = self.pass() else {
            return false;
        };
        if self.hash_at(place).is_none() {
            return false;
        }
        let evicted = evict(place);
        if evicted {
            self.free(place);
            self.expect_idle();
        } else if self.barren.load(Ordering::Relaxed) < BARREN {
            // From there on it counts new keys: see `looks`.
            self.barren.fetch_add(1, Ordering::Relaxed);
        }
        evicted
    }

    /// Moves the hand on by one, and returns the place that it was at, if any is used.
    fn pass(&self) -> Option<u32> {
        let used = self.used() as u64;
        // When none can be added, a round that was begun before goes on to the last place.
        let end = |hand: u64| {
            if used < self.most as u64 {
                hand >> 32
            } else {
                used
            }
        };
        let onward = |hand: u64| {
            let (at, end) = (hand & LINK, end(hand));
            if at < end {
                Some(hand + 1)
            } else {
                // The first of a new round.
                (used > 0).then_some((used << 32) | 1)
            }
        };
        let hand = self
            .hand
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, onward)
            .ok()?;
        let (at, end) = (hand & LINK, end(hand));
        Some(if at < end { at as u32 } else { 0 })
    }

    /// The next so many places, of those that were ever used, after those that the last call
    /// returned.
    pub(super) fn next(&self, count: usize) -> impl Iterator<Item = u32> + use<> {
        let used = self.used();
        let count = count.min(used);
        let onward = |from: usize| {
            let next = from + count;
            Some(if next < used { next } else { next - used })
        };
        let from = self
            .swept
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, onward)
            .unwrap_or(0);
        // Below 2^32, as `used` is.
        (from..from + count)
            .map(move |place| (if place < used { place } else { place - used }) as u32)
    }

    #[inline]
    fn at(&self, place: u32) -> &AtomicU64 {
        let (segment, offset, len) = locate(place);
        &self.segments[segment].get_or_init(|| Self::segment(len))[offset]
    }
}

/// The lower half of a word: of `free`, a link, which is one more than the number of a place.
const LINK: u64 = (1 << 32) - 1;

/// `free` with another link.
fn changed(free: u64, link: u64) -> u64 {
    (((free >> 32) + 1) << 32) | link
}

/// The segment of a place, where in it, and how long the segment is.
#[inline]
fn locate(place: u32) -> (usize, usize, usize) {
    match place.checked_ilog2() {
        Some(power) if power >= FIRST => {
            let quarter = power - 2;
            let segment = 1 + 4 * (power - FIRST) + (place >> quarter & 3);
            let offset = place & ((1 << quarter) - 1);
            (segment as usize, offset as usize, 1 << quarter)
        }
        _ => (0, place as usize, 1 << FIRST),
    }
}
