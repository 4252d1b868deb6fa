//! Key → state: look-up, first touch, retire then remove, sweep.
//!
//! The store knows no ticker, no limit and no decision; it takes closures. A state leaves the map
//! in two steps: it is *retired* by an atomic step on itself, and then removed. Whoever meets a
//! retired state removes it and looks the key up again, so that nobody waits for a thread that was
//! descheduled between the two.

use crate::sync::{Guard, Map, Ref};
use crossbeam_utils::CachePadded;
use papaya::Equivalent;
use std::hash::{BuildHasher, Hash};
// Not those of `sync`: no decision depends on the two, and a model would try every order of them.
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the store has to know of a state.
pub(crate) trait Retire {
    /// Whether the state has been retired: nothing can be counted on it any more.
    fn is_retired(&self) -> bool;
}

/// A map from keys to states.
pub(crate) struct Store<K, V, S> {
    map: Map<K, V, S>,
    /// Entries in the map, for growing ahead of them.
    entries: CachePadded<AtomicUsize>,
    /// Keys begun so far, for letting go of replaced tables now and then.
    begun: CachePadded<AtomicUsize>,
    /// The size of the map's table, as far as we have asked for it.
    table: AtomicUsize,
}

/// The table's smallest size.
const SMALLEST: usize = 64;

/// After so many new keys a thread lets go of what it has removed and not yet handed over.
///
/// The map frees in batches of 32 removals, one batch a thread. A thread that begins keys and
/// evicts none removes nothing but tables that it has replaced, so that its batch would come to
/// hold 31 of them.
const FLUSH_EVERY: usize = 1_024;

impl<K: Hash + Eq, V: Retire, S: BuildHasher> Store<K, V, S> {
    pub(crate) fn new(expected: usize, hasher: S) -> Self {
        let table = expected.saturating_mul(2).max(SMALLEST);
        let table = table.checked_next_power_of_two().unwrap_or(table);
        Self {
            map: Map::with_capacity_and_hasher(capacity_for(table), hasher),
            entries: CachePadded::new(AtomicUsize::new(0)),
            begun: CachePadded::new(AtomicUsize::new(0)),
            table: AtomicUsize::new(table),
        }
    }

    #[inline]
    pub(crate) fn guard(&self) -> Guard<'_> {
        self.map.guard()
    }

    #[inline]
    pub(crate) fn get<'g, Q>(&self, key: &Q, guard: &'g Guard<'_>) -> Option<Ref<'g, V>>
    where
        Q: Hash + Equivalent<K> + ?Sized,
        K: 'g,
    {
        self.map.get(key, guard)
    }

    pub(crate) fn get_cloned_key<Q>(&self, key: &Q, guard: &Guard<'_>) -> Option<K>
    where
        Q: Hash + Equivalent<K> + ?Sized,
        K: Clone,
    {
        self.map.get_cloned_key(key, guard)
    }

    /// The key's state: `state`, unless another thread was first.
    pub(crate) fn begin<'g>(&self, key: K, state: V, guard: &'g Guard<'_>) -> Ref<'g, V> {
        // Counted first: another thread may remove the entry, and count that, at any time after.
        // Relaxed: an estimate.
        let entries = self.entries.fetch_add(1, Ordering::Relaxed) + 1;
        let (state, inserted) = self.map.insert_if_absent(key, state, guard);
        if inserted {
            self.grow_ahead(entries, guard);
            // Relaxed: it only picks who flushes.
            let begun = self.begun.fetch_add(1, Ordering::Relaxed);
            if begun % FLUSH_EVERY == FLUSH_EVERY - 1 {
                self.map.flush(guard);
            }
        } else {
            self.entries.fetch_sub(1, Ordering::Relaxed);
        }
        state
    }

    /// Puts another state in the place of the key's, which the caller holds.
    pub(crate) fn replace(&self, key: K, state: V, guard: &Guard<'_>) {
        let replaced = self.map.replace(key, state, guard);
        debug_assert!(replaced, "a state that is held is not removed");
    }

    /// Finishes the evictor's job rather than wait for it: it may have been descheduled.
    pub(crate) fn remove_retired<Q>(&self, key: &Q, guard: &Guard<'_>)
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        if self.map.remove_if(key, V::is_retired, guard) {
            // Relaxed: an estimate.
            self.entries.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Removes each state that `retire` retires, and returns how many those were.
    pub(crate) fn sweep(&self, mut retire: impl FnMut(&V) -> bool) -> usize {
        let guard = self.guard();
        let mut retired = 0;
        let visit = |key: &K, state: &V| {
            if retire(state) {
                retired += 1;
                self.remove_retired(key, &guard);
            }
        };
        self.map.for_each(visit, &guard);
        retired
    }

    pub(crate) fn for_each(&self, visit: impl FnMut(&K, &V), guard: &Guard<'_>) {
        self.map.for_each(visit, guard);
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    /// Keeps the table at most half full.
    ///
    /// Left to itself the map grows only when a long probe fails, which is when it is over nine
    /// tenths full: look-ups of a million keys then take ten times as long.
    fn grow_ahead(&self, entries: usize, guard: &Guard<'_>) {
        // Relaxed: an estimate; the exchange only picks one thread to grow.
        let table = self.table.load(Ordering::Relaxed);
        if entries <= table / 2 {
            return;
        }
        let larger = table.saturating_mul(2);
        let chosen =
            self.table
                .compare_exchange(table, larger, Ordering::Relaxed, Ordering::Relaxed);
        if chosen.is_ok() {
            self.map
                .reserve(capacity_for(larger).saturating_sub(entries), guard);
        }
    }
}

/// How many entries to ask the map for, to be given a table of this size: it leaves a quarter
/// free.
fn capacity_for(table: usize) -> usize {
    table / 4 * 3
}
