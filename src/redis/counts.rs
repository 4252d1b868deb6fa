//! What a limiter has decided, and how.

use super::answer::{Answer, Basis};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a limiter has decided since it was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Requests that the store allowed.
    pub allowed: u64,
    /// Requests that the store denied.
    pub denied: u64,
    /// Denials by the pre-check: round trips that were saved.
    pub pre_checked: u64,
    /// Requests that the local limiter decided.
    pub fallback: u64,
    /// Requests that were let through or refused as nobody decided.
    pub assumed: u64,
    /// Failures of the store, whatever the policy made of them.
    pub failures: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    allowed: AtomicU64,
    denied: AtomicU64,
    pre_checked: AtomicU64,
    fallback: AtomicU64,
    assumed: AtomicU64,
    failures: AtomicU64,
}

impl Counters {
    pub(super) fn count(&self, answer: &Answer) {
        let count = match answer.basis() {
            Basis::Store if answer.is_allowed() => &self.allowed,
            Basis::Store => &self.denied,
            Basis::PreCheck => &self.pre_checked,
            Basis::Fallback => &self.fallback,
            Basis::Assumed => &self.assumed,
        };
        // Relaxed: each is a figure by itself.
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Counts {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            allowed: load(&self.allowed),
            denied: load(&self.denied),
            pre_checked: load(&self.pre_checked),
            fallback: load(&self.fallback),
            assumed: load(&self.assumed),
            failures: load(&self.failures),
        }
    }
}
