//! Several threads that ask at the same time.

use crate::contenders::Contender;
use crate::keys::{Asked, Key};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// The time that so many threads take for `times` checks in all, and how many were allowed.
pub fn together<K: Key, C: Contender<K>>(
    contender: &C,
    asked: &Asked<K>,
    threads: u64,
    times: u64,
) -> (Duration, u64) {
    let each = times.div_ceil(threads);
    let start = Barrier::new(threads as usize);
    // Each thread looks at the clock itself: this one may not run before they are done.
    let ask = |thread: u64| {
        let start = &start;
        move || {
            start.wait();
            let since = Instant::now();
            let allowed = contender.ask(asked.from(thread * 1_000_003, each), 1);
            (since, Instant::now(), allowed)
        }
    };
    let done: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(ask(thread)))
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("nobody panics");
        threads.into_iter().map(join).collect()
    });
    let first = done.iter().map(|(since, ..)| *since).min();
    let last = done.iter().map(|(_, until, _)| *until).max();
    let taken = last
        .zip(first)
        .map_or(Duration::ZERO, |(last, first)| last - first);
    (taken, done.iter().map(|(.., allowed)| allowed).sum())
}
