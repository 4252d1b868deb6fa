//! A log that is limited itself: a flood is not to fill the disk.

use std::sync::atomic::{AtomicU64, Ordering};

use tollgate::{Limit, UnkeyedLimiter};

/// Lets five lines through at once and one a second, and counts those that are left out.
#[derive(Debug)]
pub(crate) struct Sparse {
    lines: UnkeyedLimiter,
    left_out: AtomicU64,
}

impl Sparse {
    pub(crate) fn new() -> Self {
        let limit = Limit::per_second(1).with_burst(5);
        Self {
            lines: UnkeyedLimiter::new(limit).expect("a limit that can be kept"),
            left_out: AtomicU64::new(0),
        }
    }

    /// How many lines were left out before this one; `None` if this one is to be left out as well.
    pub(crate) fn line(&self) -> Option<u64> {
        if self.lines.try_acquire().is_denied() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(self.left_out.swap(0, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_five_lines_and_a_count() {
        let sparse = Sparse::new();
        let lines: Vec<_> = (0..100).map_while(|_| sparse.line()).collect();
        assert!(lines.len() >= 5 && lines.iter().all(|left_out| *left_out == 0));
        for _ in 0..10 {
            let _ = sparse.line();
        }
        assert!(sparse.left_out.load(Ordering::Relaxed) >= 10);
    }
}
