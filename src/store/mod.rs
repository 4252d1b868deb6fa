//! Key → state: look-up, first touch, retire then remove, sweep, cap.
//!
//! The store knows no ticker, no limit and no decision; it takes closures. A state leaves the map
//! in two steps: it is *retired* by an atomic step on itself, and then removed. Whoever meets a
//! retired state removes it and looks the key up again, so that nobody waits for a thread that was
//! descheduled between the two.
//!
//! Every key has one of the [`places`], over which sweeps go rather than over the map: a map's
//! iterator keeps no cursor, and keys that were begun one after the other lie beside each other in
//! memory, but not in the map.

mod keyed;
mod places;

use crate::sync::{Guard, Map, Ref, value};
use keyed::{ByKey, ByPlace, Keyed, Replay};
use papaya::Equivalent;
#[cfg(test)]
pub(crate) use places::Places;
#[cfg(not(test))]
use places::Places;
use std::hash::{BuildHasher, Hash};

/// What the store has to know of a state.
pub(crate) trait Retire {
    /// Whether the state has been retired: nothing can be counted on it any more.
    fn is_retired(&self) -> bool;
}

/// A map from keys to states.
pub(crate) struct Store<K, V, S> {
    map: Map<Keyed<K>, V, Replay<S>>,
    places: Places,
    hasher: Replay<S>,
}

/// The table's smallest size.
const SMALLEST: usize = 256;

/// How often the table's size is looked after: once in so many new keys, on an average.
const LOOK_AFTER_EVERY: u32 = 64;

/// How often tables that were replaced are handed over to be freed: once in so many new keys, on an
/// average, and at each look for so many keys after the table has grown.
///
/// The map frees in batches, one batch a thread. A thread that begins keys and evicts none removes
/// nothing but tables that it has replaced, so that its batch would come to hold them all. To hand
/// something over at each look would make one new key in 64 wait for all processors: that is how the
/// map finds out what is no longer read.
const HAND_OVER_EVERY: u32 = 4_096;
const GROWN_LATELY: usize = 1_024;

/// How many places a sweep visits before it lets go of what it has read.
const STRETCH: usize = 512;

impl<K: Hash + Eq, V: Retire, S: BuildHasher + Clone> Store<K, V, S> {
    /// Room for `expected` keys from the start, and for `most` at the most.
    pub(crate) fn new(expected: usize, most: usize, hasher: S) -> Self {
        let table = expected.min(most).saturating_mul(2).max(SMALLEST);
        let table = table.checked_next_power_of_two().unwrap_or(table);
        let hasher = Replay(hasher);
        Self {
            map: Map::with_capacity_and_hasher(capacity_for(table), hasher.clone()),
            places: Places::new(expected, most),
            hasher,
        }
    }
}

impl<K: Hash + Eq, V: Retire, S: BuildHasher> Store<K, V, S> {
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
        self.map.get(&ByKey(key), guard)
    }

    pub(crate) fn get_cloned_key<Q>(&self, key: &Q, guard: &Guard<'_>) -> Option<K>
    where
        Q: Hash + Equivalent<K> + ?Sized,
        K: Clone,
    {
        self.map
            .get_key(&ByKey(key), |entry| entry.key.clone(), guard)
    }

    /// The key's hash, as a place remembers it: what those are shown that retire states.
    pub(crate) fn hash_at_place<Q>(&self, key: &Q) -> u64
    where
        Q: Hash + ?Sized,
    {
        self.hasher.hash_one(ByKey(key)) | places::TAKEN
    }

    /// The key's state: `state`, unless another thread was first. `state` comes back if there is no
    /// place for another key, and none could be made by retiring one of those that were looked at: of
    /// none, without `retire`.
    pub(crate) fn begin<'g>(
        &self,
        key: K,
        state: V,
        retire: Option<impl FnMut(u64, &V) -> bool>,
        guard: &'g Guard<'_>,
    ) -> Result<Ref<'g, V>, V> {
        let hash = self.hasher.hash_one(ByKey(&key));
        let evict = retire.map(|mut retire| {
            move |place| {
                self.at_place(place, guard)
                    .is_some_and(|(at, state)| self.evict(at, state, &mut retire, guard).removed)
            }
        });
        let Some(place) = self.places.take(hash, evict) else {
            return Err(state);
        };
        // Given back if the key's `Hash` or `Eq` panics.
        let taken = Taken {
            places: &self.places,
            place,
        };
        let entry = Keyed::new(key, hash, place);
        let (state, inserted) = self.map.insert_if_absent(entry, state, guard);
        if inserted {
            std::mem::forget(taken);
            if place % LOOK_AFTER_EVERY == LOOK_AFTER_EVERY - 1 {
                self.look_after_the_table(place, guard);
            }
        }
        Ok(state)
    }

    /// Whether [`begin`](Self::begin) would find a place. `idle` tells which states could be retired;
    /// without it none is looked at.
    pub(crate) fn may_begin(
        &self,
        idle: Option<impl FnMut(u64, &V) -> bool>,
        guard: &Guard<'_>,
    ) -> bool {
        self.places.may_take(idle.map(|mut idle| {
            move |place| {
                self.at_place(place, guard).is_some_and(|(at, state)| {
                    let state = value(&state);
                    state.is_retired() || idle(at.hash, state)
                })
            }
        }))
    }

    /// Puts another state in the place of the key's, which the caller holds.
    pub(crate) fn replace(&self, key: K, state: V, guard: &Guard<'_>) {
        let place = self.map.get_key(&ByKey(&key), |entry| entry.place, guard);
        let place = place.expect("a state that is held is not removed");
        let hash = self.hasher.hash_one(ByKey(&key));
        self.map.replace(Keyed::new(key, hash, place), state, guard);
    }

    /// Finishes the evictor's job rather than wait for it: it may have been descheduled.
    pub(crate) fn remove_retired<Q>(&self, key: &Q, guard: &Guard<'_>)
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let retired = |_: &_, state: &V| state.is_retired();
        let place = |entry: &Keyed<K>| entry.place;
        if let Some(place) = self.map.remove_if(&ByKey(key), retired, place, guard) {
            self.places.free(place);
        }
    }

    /// Removes each state that `retire` retires, and returns how many those were.
    pub(crate) fn sweep(&self, retire: impl FnMut(u64, &V) -> bool) -> usize {
        let used = self.places.used();
        // Below 2^32.
        self.visit(0..used as u32, retire)
    }

    /// As [`sweep`](Self::sweep), of so many places from where the last step stopped.
    pub(crate) fn sweep_some(&self, places: usize, retire: impl FnMut(u64, &V) -> bool) -> usize {
        self.visit(self.places.next(places), retire)
    }

    fn visit(
        &self,
        places: impl Iterator<Item = u32>,
        mut retire: impl FnMut(u64, &V) -> bool,
    ) -> usize {
        let mut places = places.peekable();
        let mut evicted = 0;
        while places.peek().is_some() {
            let guard = self.guard();
            // All look-ups first, then all that writes: look-ups wait for memory, and the processor
            // has several of them wait at a time unless there is a write in between.
            let stretch = places.by_ref().take(STRETCH);
            let found: Vec<_> = stretch
                .filter_map(|place| self.at_place(place, &guard))
                .collect();
            for (at, state) in found {
                let one = self.evict(at, state, &mut retire, &guard);
                evicted += usize::from(one.retired);
                if one.removed {
                    self.places.free(at.place);
                }
            }
        }
        if evicted > 0 {
            self.places.expect_idle();
            self.map.flush(&self.guard());
        }
        evicted
    }

    /// The state of the key that has a place, if one has.
    fn at_place<'g>(&self, place: u32, guard: &'g Guard<'_>) -> Option<(ByPlace, Ref<'g, V>)>
    where
        K: 'g,
    {
        let hash = self.places.hash_at(place)?;
        ByPlace::both(hash, place).into_iter().find_map(|at| {
            let state = self.map.get_if(&at, |entry| entry.place == place, guard)?;
            Some((at, state))
        })
    }

    /// Removes an entry if `retire` retires its state, or if another thread has retired it and was
    /// descheduled then. If it was removed by this call its place is the caller's.
    fn evict(
        &self,
        at: ByPlace,
        state: Ref<'_, V>,
        retire: &mut impl FnMut(u64, &V) -> bool,
        guard: &Guard<'_>,
    ) -> Evicted {
        let retired = retire(at.hash, value(&state));
        let removed = (retired || value(&state).is_retired()) && {
            let condition =
                |entry: &Keyed<K>, state: &V| entry.place == at.place && state.is_retired();
            // By the way in which it was found, which may be another now that the map is written to.
            let ways = [at, at.other()];
            let mut removed = ways
                .iter()
                .map(|at| self.map.remove_if(at, condition, |_| (), guard));
            removed.any(|removed| removed.is_some())
        };
        Evicted { retired, removed }
    }

    /// Calls `visit` with each key that is in the map from before the call until it is come to.
    ///
    /// It goes over places: to iterate over the map would first finish a resize of the map, which
    /// takes for ever where many keys hash alike.
    pub(crate) fn for_each_key(&self, mut visit: impl FnMut(K, &Guard<'_>))
    where
        K: Clone,
    {
        let mut places = 0..self.places.used() as u32; // Below 2^32.
        while !places.is_empty() {
            let guard = self.guard();
            for place in places.by_ref().take(STRETCH) {
                let Some((at, _)) = self.at_place(place, &guard) else {
                    continue;
                };
                let key = self.map.get_key(&at, |entry| entry.key.clone(), &guard);
                if let Some(key) = key {
                    visit(key, &guard);
                }
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    /// Keeps the table at most half full, and hands over tables that were replaced.
    ///
    /// Left to itself the map grows only when a long probe fails, which is when it is over nine
    /// tenths full: look-ups of a million keys then take ten times as long. It also shrinks by
    /// itself, so that what was asked for once has to be asked for again.
    #[cold]
    fn look_after_the_table(&self, place: u32, guard: &Guard<'_>) {
        let keys = self.map.len();
        let table = (keys * 2).next_power_of_two();
        self.map
            .reserve(capacity_for(table).saturating_sub(keys), guard);
        // A table of this size is made for one key more than its quarter.
        let grown_lately = keys - table / 4 < GROWN_LATELY;
        if grown_lately || place % HAND_OVER_EVERY == HAND_OVER_EVERY - 1 {
            self.map.flush(guard);
        }
    }
}

/// How many entries to ask the map for, to be given a table of this size: it leaves a quarter
/// free.
fn capacity_for(table: usize) -> usize {
    table / 4 * 3
}

/// What has become of an entry: whether this call has retired its state, and whether it has removed
/// it, which makes the place the caller's.
#[derive(Default)]
struct Evicted {
    retired: bool,
    removed: bool,
}

/// A place that is given back when it is dropped.
struct Taken<'a> {
    places: &'a Places,
    place: u32,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.places.free(self.place);
    }
}
