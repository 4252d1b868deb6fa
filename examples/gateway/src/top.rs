//! Which keys are denied most, in bounded memory however many there are.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many keys are followed at a time.
const FOLLOWED: usize = 64;

/// For so long counts are added up; the last stretch is remembered beside.
const STRETCH: Duration = Duration::from_secs(60);

/// Counts the most frequent of a stream: Metwally, Agrawal and El Abbadi's *space saving* (2005). A key
/// that is not followed takes the place of the rarest, and its count, so that counts may be too
/// large by as much as the rarest had, and never too small.
pub(crate) struct Top<K>(Mutex<Stretches<K>>);

struct Stretches<K> {
    since: Instant,
    now: HashMap<K, u64>,
    before: HashMap<K, u64>,
}

impl<K: Clone + Eq + Hash> Top<K> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Stretches {
            since: Instant::now(),
            now: HashMap::new(),
            before: HashMap::new(),
        }))
    }

    pub(crate) fn count(&self, key: &K) {
        let mut stretches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stretches.turn();
        let counts = &mut stretches.now;
        if let Some(count) = counts.get_mut(key) {
            *count += 1;
            return;
        }
        let inherited = if counts.len() < FOLLOWED {
            0
        } else {
            let rarest = counts.iter().min_by_key(|(_, count)| **count);
            let rarest = rarest.map(|(key, count)| (key.clone(), *count));
            let (rarest, count) = rarest.expect("there are as many as are followed");
            counts.remove(&rarest);
            count
        };
        counts.insert(key.clone(), inherited + 1);
    }

    /// The most frequent of the last minute or two, the first first.
    pub(crate) fn most(&self, how_many: usize) -> Vec<(K, u64)> {
        let mut stretches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stretches.turn();
        let mut all = stretches.before.clone();
        for (key, count) in &stretches.now {
            *all.entry(key.clone()).or_default() += count;
        }
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all.truncate(how_many);
        all
    }
}

impl<K> Stretches<K> {
    fn turn(&mut self) {
        let elapsed = self.since.elapsed();
        if elapsed < STRETCH {
            return;
        }
        let now = std::mem::take(&mut self.now);
        self.before = if elapsed < 2 * STRETCH {
            now
        } else {
            HashMap::new()
        };
        self.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_are_found_among_very_many() {
        let top = Top::new();
        for stranger in 0..100_000_u32 {
            top.count(&stranger);
            if stranger % 3 == 0 {
                top.count(&u32::MAX);
            }
            if stranger % 5 == 0 {
                top.count(&(u32::MAX - 1));
            }
        }
        let most = top.most(2);
        let keys: Vec<_> = most.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, [u32::MAX, u32::MAX - 1]);
        // Never too small.
        assert!(most[0].1 >= 33_334 && most[1].1 >= 20_000, "{most:?}");
        assert_eq!(top.0.lock().unwrap().now.len(), FOLLOWED);
    }

    #[test]
    fn few_keys_are_counted_exactly() {
        let top = Top::new();
        for key in ["a", "b", "a", "c", "a", "b"] {
            top.count(&key);
        }
        assert_eq!(top.most(10), [("a", 3), ("b", 2), ("c", 1)]);
    }
}
