//! How many bytes does a key take, how many are left when all are forgotten, and what does a check
//! allocate?

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::net::IpAddr;
use std::time::Duration;
use tollgate::{Algorithm, PerKey, RateLimiter, TokenBucket};
use tollgate_benches::contenders::{Contender, Rate};
use tollgate_benches::for_each_contender;
use tollgate_benches::keys::{Asked, Key};
use tollgate_benches::report;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Live bytes, as asked of the allocator.
fn live() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

const KEYS: usize = 1_000_000;

/// A limit for each key, from a function, with refresh.
struct ByPlan<K: Key>(RateLimiter<K, TokenBucket, tollgate::TscTicker, PerKey>);

impl<K: Key> Contender<K> for ByPlan<K> {
    const NAME: &'static str = "tollgate, a limit for each key";

    fn new(rate: Rate) -> Self {
        let plan = TokenBucket.plan(rate.limit()).expect("a plan");
        let limiter = RateLimiter::by_plan(move |_: &K| plan.clone()).build();
        Self(limiter.expect("a limiter"))
    }

    fn ask<'k>(&self, keys: impl Iterator<Item = &'k K>, cost: u32) -> u64 {
        let allowed = |key: &&K| self.0.try_acquire_n(*key, cost.into()).is_allowed();
        keys.filter(allowed).count() as u64
    }

    fn evict(&self) -> Option<usize> {
        self.0.evict_idle();
        Some(self.0.tracked_keys())
    }
}

fn take<K: Key, C: Contender<K>>(asked: &Asked<K>, rows: &mut Vec<Vec<String>>) {
    let empty = live();
    let contender = C::new(Rate::Quick);
    assert_eq!(contender.ask(asked.keys.iter(), 1), KEYS as u64);
    let each = |bytes: usize| format!("{:.1}", bytes.saturating_sub(empty) as f64 / KEYS as f64);
    let full = live();
    let before = ALLOCATOR.stats().allocations;
    contender.ask(asked.keys.iter(), 1);
    let allocations = ALLOCATOR.stats().allocations - before;
    let allocations = allocations as f64 / KEYS as f64;
    std::thread::sleep(Duration::from_millis(2_500));
    let (mut left, mut again) = ("–".to_owned(), "–".to_owned());
    if let Some(keys) = contender.evict() {
        assert_eq!(keys, 0);
        left = each(live());
        assert_eq!(contender.ask(asked.keys.iter(), 1), KEYS as u64);
        again = each(live());
    }
    rows.push(vec![
        K::NAME.to_owned(),
        C::NAME.to_owned(),
        format!("{allocations}"),
        each(full),
        left,
        again,
    ]);
}

fn takes<K: Key>(rows: &mut Vec<Vec<String>>) {
    let asked = Asked::<K>::evenly(KEYS);
    macro_rules! take {
        ($contender:ty) => {
            if !<$contender as Contender<K>>::NAME.contains("pinned") {
                take::<K, $contender>(&asked, rows);
            }
        };
    }
    for_each_contender!(K, take);
    take!(ByPlan<K>);
}

fn main() {
    let mut rows = Vec::new();
    takes::<u64>(&mut rows);
    takes::<IpAddr>(&mut rows);
    takes::<String>(&mut rows);
    report::keep(
        "memory",
        "How many bytes does a key take",
        "Bytes per key, of a million keys, as asked of the allocator.",
        &[
            "key",
            "",
            "allocations a check",
            "a million keys",
            "after they are forgotten",
            "a million again",
        ],
        &rows,
    );
}
