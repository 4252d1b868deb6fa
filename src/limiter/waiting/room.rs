//! Where requests wait: a line for each key, first come, first served.
//!
//! The room costs nothing until somebody waits: a count that every request reads, in memory that it
//! reads anyway. All the rest is behind locks, one for a part of the keys, which are held for a few
//! steps and never while anything is asked of a state. Whoever is first in a line asks for its key; the
//! others sleep until they are.
//!
//! # Orderings
//!
//! That a turn is passed on, whoever leaves beside it, and that nobody sleeps through it, is for
//! `loom_tests::waiting`: it fails if who leaves calls nobody, or a waker is left after a look.
//!
//! The count is Relaxed. Whoever began to wait before a request began has counted before it, so that
//! the request reads that count or a later one; the line itself is behind its lock.

use papaya::Equivalent;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::task::Waker;

use super::WaitPolicy;
use crate::error::AcquireError;
use crate::sync::{Mutex, MutexGuard};

/// So many locks. (A model makes them anew for every schedule.)
const PARTS: usize = if cfg!(all(test, feature = "loom")) {
    1
} else {
    64
};

pub(crate) struct Room<K> {
    /// How many wait, for all keys together. (Not one of `sync`'s: every request of every model would
    /// take a step more, for a load that has nothing to show. See `# Orderings`.)
    waiting: AtomicUsize,
    /// Made when somebody waits for the first time.
    parts: OnceLock<Box<[Mutex<Lines<K>>]>>,
    pub(super) policy: WaitPolicy,
}

/// Lines by the hash of their keys.
type Lines<K> = HashMap<u64, Vec<Line<K>>>;

/// Those who wait for one key.
struct Line<K> {
    key: K,
    waiters: VecDeque<Arc<Waiter>>,
}

impl<K> Line<K> {
    fn first(&self) -> Option<&Arc<Waiter>> {
        self.waiters.front()
    }
}

/// One who waits.
pub(crate) struct Waiter {
    cost: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether it is the first in its line.
    is_first: bool,
    /// Whether it has something to do: it has become the first, or there may be more permits.
    called: bool,
    waker: Option<Waker>,
}

/// What a waiter is to do.
pub(crate) enum Turn {
    /// Ask: there may be permits.
    Ask,
    /// It is the first, and has asked: wait for the time that it was told.
    First,
    /// Others are before it.
    Behind,
}

impl Waiter {
    /// What to do now; `waker` is called when that changes.
    pub(crate) fn turn(&self, waker: &Waker) -> Turn {
        let mut state = lock(&self.state);
        match &mut state.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        if !state.is_first {
            return Turn::Behind;
        }
        if std::mem::take(&mut state.called) {
            Turn::Ask
        } else {
            Turn::First
        }
    }

    /// Makes it the first in its line.
    fn advance(&self) -> Option<Waker> {
        let mut state = lock(&self.state);
        state.is_first = true;
        state.called = true;
        state.waker.take()
    }

    fn call(&self) -> Option<Waker> {
        let mut state = lock(&self.state);
        state.called = true;
        state.waker.take()
    }
}

impl<K> Room<K> {
    pub(crate) fn new(policy: WaitPolicy) -> Self {
        Self {
            waiting: AtomicUsize::new(0),
            parts: OnceLock::new(),
            policy,
        }
    }

    /// Whether anybody waits, for any key.
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        self.waiting() != 0
    }

    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        // Relaxed: see `# Orderings`.
        self.waiting.load(Ordering::Relaxed)
    }

    /// Whether somebody waits for a key of this hash.
    pub(crate) fn holds(&self, hash: u64) -> bool {
        self.is_used()
            && self
                .part(hash)
                .is_some_and(|lines| lines.contains_key(&hash))
    }

    /// The permits for which others wait before a request for the key, if any do.
    pub(crate) fn ahead<Q>(&self, hash: u64, key: &Q) -> Option<u64>
    where
        Q: Equivalent<K> + ?Sized,
    {
        let lines = self.part(hash)?;
        let line = find(lines.get(&hash)?, key)?;
        let costs = line.waiters.iter().map(|waiter| waiter.cost);
        Some(costs.fold(0, u64::saturating_add))
    }

    /// A place at the end of the key's line.
    pub(crate) fn join(&self, hash: u64, key: K, cost: u64) -> Result<Arc<Waiter>, AcquireError>
    where
        K: Eq + std::hash::Hash,
    {
        let counted = Counted::new(&self.waiting, self.policy.waiters)?;
        let parts = self.parts.get_or_init(|| {
            let part = || Mutex::new(Lines::new());
            (0..PARTS).map(|_| part()).collect()
        });
        let mut lines = lock(part_of(parts, hash));
        let same = lines.entry(hash).or_default();
        let line = match same.iter().position(|line| line.key == key) {
            Some(at) => &mut same[at],
            None => {
                same.push(Line {
                    key,
                    waiters: VecDeque::new(),
                });
                same.last_mut().expect("one was pushed")
            }
        };
        let before = line.waiters.len();
        let most = self.policy.waiters_for_a_key;
        if before >= most {
            if before == 0 {
                lines.remove(&hash);
            }
            return Err(AcquireError::TooManyForKey { waiters: most });
        }
        let first = before == 0;
        let waiter = Arc::new(Waiter {
            cost,
            state: Mutex::new(State {
                is_first: first,
                called: first,
                waker: None,
            }),
        });
        line.waiters.push_back(waiter.clone());
        counted.keep();
        Ok(waiter)
    }

    /// Gives a place up, and calls the next if it was the first.
    pub(crate) fn leave<Q>(&self, hash: u64, key: &Q, waiter: &Arc<Waiter>)
    where
        Q: Equivalent<K> + ?Sized,
    {
        let next = {
            let Some(mut lines) = self.part(hash) else {
                return;
            };
            let Some(same) = lines.get_mut(&hash) else {
                return;
            };
            let Some(at) = same.iter().position(|line| key.equivalent(&line.key)) else {
                return;
            };
            let line = &mut same[at];
            let Some(place) = line
                .waiters
                .iter()
                .position(|other| Arc::ptr_eq(other, waiter))
            else {
                return;
            };
            line.waiters.remove(place);
            // Relaxed: see `# Orderings`.
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            let next = match line.first() {
                Some(next) if place == 0 => next.advance(),
                _ => None,
            };
            if line.waiters.is_empty() {
                same.swap_remove(at);
                if same.is_empty() {
                    lines.remove(&hash);
                }
            }
            next
        };
        // Not under the lock: what is woken may want it.
        if let Some(waker) = next {
            waker.wake();
        }
    }

    /// Lets the first of the key's line ask again.
    pub(crate) fn wake_first<Q>(&self, hash: u64, key: &Q)
    where
        Q: Equivalent<K> + ?Sized,
    {
        let waker = self.part(hash).and_then(|lines| {
            let line = find(lines.get(&hash)?, key)?;
            line.first()?.call()
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Lets the first of every line ask again.
    pub(crate) fn wake_all_first(&self) {
        if !self.is_used() {
            return;
        }
        for part in self.parts.get().into_iter().flatten() {
            let wakers: Vec<_> = lock(part)
                .values()
                .flatten()
                .filter_map(|line| line.first()?.call())
                .collect();
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    fn part(&self, hash: u64) -> Option<MutexGuard<'_, Lines<K>>> {
        let parts = self.parts.get()?;
        Some(lock(part_of(parts, hash)))
    }
}

/// Neither the lowest bits nor the highest, by which others look for keys.
fn part_of<P>(parts: &[P], hash: u64) -> &P {
    &parts[(hash >> 20) as usize % parts.len()]
}

fn find<'l, K, Q>(same: &'l [Line<K>], key: &Q) -> Option<&'l Line<K>>
where
    Q: Equivalent<K> + ?Sized,
{
    same.iter().find(|line| key.equivalent(&line.key))
}

/// A panic of a key's `Eq` comes before anything is changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One more who waits, unless it is given up.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize, most: usize) -> Result<Self, AcquireError> {
        // Relaxed: see `# Orderings`.
        let before = count.fetch_add(1, Ordering::Relaxed);
        let counted = Self(count);
        if before >= most {
            return Err(AcquireError::TooMany { waiters: most });
        }
        Ok(counted)
    }

    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        // Relaxed: see `# Orderings`.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<K> fmt::Debug for Room<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room")
            .field("waiting", &self.waiting())
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
