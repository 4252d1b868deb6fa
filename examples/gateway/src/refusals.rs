//! The log of refusals, which is limited itself: a flood is not to fill the disk.

use std::sync::atomic::{AtomicU64, Ordering};

use tollgate::http::Outcome;
use tollgate::{Limit, UnkeyedLimiter};
use tracing::warn;

use crate::limits::Key;

pub(crate) struct Refusals {
    lines: UnkeyedLimiter,
    left_out: AtomicU64,
}

impl Refusals {
    /// Five lines at once, and one a second.
    pub(crate) fn new() -> Self {
        let limit = Limit::per_second(1).with_burst(5);
        Self {
            lines: UnkeyedLimiter::new(limit).expect("a limit that can be kept"),
            left_out: AtomicU64::new(0),
        }
    }

    pub(crate) fn log(&self, rule: &str, outcome: &Outcome<'_, Key>) {
        if self.lines.try_acquire().is_denied() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let left_out = self.left_out.swap(0, Ordering::Relaxed);
        let Some((key, decision)) = outcome.key.zip(outcome.decision) else {
            warn!(rule, left_out, "refused: nothing to count the request by");
            return;
        };
        let retry_after = decision.retry_after();
        let (untracked, shadow) = (decision.is_untracked(), outcome.admitted);
        warn!(rule, %key, ?retry_after, untracked, shadow, left_out, "refused");
    }
}
