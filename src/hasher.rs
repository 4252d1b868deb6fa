//! The default hasher: fast, and not to be foreseen from outside.

use foldhash::SharedSeed;
use foldhash::quality::{FoldHasher, SeedableRandomState};
use std::collections::hash_map;
use std::fmt;
use std::hash::BuildHasher;

/// The default hasher, seeded at random for each limiter.
///
/// It is foldhash, with a seed that the standard library's own hash maps draw from the operating
/// system. Keys come from outside: whoever could foresee their hashes could make every look-up
/// slow. Where that must hold against an adversary who can measure single look-ups, choose
/// [`std::hash::RandomState`] with [`Builder::hasher`](crate::Builder::hasher).
///
/// # Examples
///
/// ```
/// use std::hash::BuildHasher;
/// use tollgate::RandomState;
///
/// let (one, other) = (RandomState::new(), RandomState::new());
/// assert_eq!(one.hash_one("ada"), one.hash_one("ada"));
/// assert_ne!(one.hash_one("ada"), other.hash_one("ada"));
/// ```
#[derive(Clone)]
pub struct RandomState(SeedableRandomState);

impl RandomState {
    /// A hasher with a seed of its own.
    pub fn new() -> Self {
        let seed = hash_map::RandomState::new().hash_one(());
        let shared = SharedSeed::global_random();
        Self(SeedableRandomState::with_seed(seed, shared))
    }
}

impl Default for RandomState {
    fn default() -> Self {
        Self::new()
    }
}

impl BuildHasher for RandomState {
    type Hasher = FoldHasher<'static>;

    #[inline]
    fn build_hasher(&self) -> FoldHasher<'static> {
        self.0.build_hasher()
    }
}

impl fmt::Debug for RandomState {
    /// Does not show the seed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RandomState").finish_non_exhaustive()
    }
}
