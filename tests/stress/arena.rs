//! Threads that begin each round at the same moment, and others beside them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollgate::{Algorithm, LimitSource, RateLimiter, Ticker};

/// So many threads, where one number of them will do.
pub(crate) const THREADS: usize = 8;

/// From a thread for each processor of a small machine to far more than any has.
pub(crate) const CROWDS: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// Where threads wait for each other, and for nobody if one of them has panicked.
struct Meeting {
    parties: usize,
    arrived: AtomicUsize,
    meetings: AtomicUsize,
    broken: AtomicBool,
}

impl Meeting {
    fn of(parties: usize) -> Self {
        Self {
            parties,
            arrived: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    fn meet(&self) {
        let meetings = self.meetings.load(Ordering::SeqCst);
        if self.arrived.fetch_add(1, Ordering::SeqCst) + 1 == self.parties {
            self.arrived.store(0, Ordering::SeqCst);
            self.meetings.store(meetings + 1, Ordering::SeqCst);
        }
        while self.meetings.load(Ordering::SeqCst) == meetings {
            assert!(
                !self.broken.load(Ordering::SeqCst),
                "another thread has panicked"
            );
            thread::yield_now();
        }
    }

    fn breaks_on_a_panic(&self) -> impl Drop {
        OnDrop(|| _ = self.broken.fetch_or(thread::panicking(), Ordering::SeqCst))
    }
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// What a thread beside the others does again and again while they are at it.
pub(crate) type Beside<'a> = &'a (dyn Fn() -> usize + Sync);

/// So many rounds. `before` each one, when all stand still, the main thread prepares it; then each
/// of the threads does `attempt`, at once, while each of `beside` is done in a loop by a thread of
/// its own. Returns the sum of what the attempts returned for each round, and of what each of
/// `beside` returned in all.
pub(crate) fn rounds(
    threads: usize,
    count: u64,
    mut before: impl FnMut(u64),
    attempt: impl Fn(u64) -> usize + Sync,
    beside: &[Beside<'_>],
) -> (Vec<usize>, Vec<usize>) {
    let meeting = Meeting::of(threads + beside.len() + 1);
    let (attempting, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        let _broken = meeting.breaks_on_a_panic();
        for _ in 0..threads {
            scope.spawn(|| {
                let _broken = meeting.breaks_on_a_panic();
                for round in 0..count {
                    meeting.meet();
                    // In some rounds those beside have a start.
                    (0..round % 4).for_each(|_| thread::yield_now());
                    sum.fetch_add(attempt(round), Ordering::SeqCst);
                    attempting.fetch_sub(1, Ordering::SeqCst);
                    meeting.meet();
                }
            });
        }
        let besides: Vec<_> = beside
            .iter()
            .map(|beside| {
                scope.spawn(|| {
                    let _broken = meeting.breaks_on_a_panic();
                    let mut sum = 0;
                    for _ in 0..count {
                        meeting.meet();
                        while attempting.load(Ordering::SeqCst) > 0 {
                            sum += beside();
                            assert!(!meeting.broken.load(Ordering::SeqCst));
                            thread::yield_now();
                        }
                        meeting.meet();
                    }
                    sum
                })
            })
            .collect();
        let totals = (0..count)
            .map(|round| {
                before(round);
                attempting.store(threads, Ordering::SeqCst);
                meeting.meet();
                meeting.meet();
                sum.swap(0, Ordering::SeqCst)
            })
            .collect();
        let besides = besides
            .into_iter()
            .map(|beside| beside.join().expect("no panic"));
        (totals, besides.collect())
    })
}

/// Threads that try without a pause, and another beside them, until `drive` returns. `drive`
/// is given a function that waits until so many tries in all have succeeded, and then lets
/// everybody try some more; it returns how many have.
pub(crate) fn on_the_run(
    threads: usize,
    attempt: impl Fn() -> bool + Sync,
    beside: Beside<'_>,
    drive: impl FnOnce(&dyn Fn(u64) -> u64),
) -> usize {
    let (succeeded, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    let done = AtomicBool::new(false);
    let wait = |condition: &dyn Fn() -> bool| {
        let since = Instant::now();
        while !condition() && since.elapsed() < Duration::from_secs(60) {
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        let _done = OnDrop(|| done.store(true, Ordering::SeqCst));
        for _ in 0..threads {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    if attempt() {
                        succeeded.fetch_add(1, Ordering::SeqCst);
                    } else {
                        failed.fetch_add(1, Ordering::SeqCst);
                        thread::yield_now();
                    }
                }
            });
        }
        let beside = scope.spawn(|| {
            let mut sum = 0;
            while !done.load(Ordering::SeqCst) {
                sum += beside();
                thread::yield_now();
            }
            sum
        });
        drive(&|expected| {
            wait(&|| succeeded.load(Ordering::SeqCst) >= expected);
            let then = failed.load(Ordering::SeqCst);
            wait(&|| failed.load(Ordering::SeqCst) >= then + 2 * threads as u64);
            succeeded.load(Ordering::SeqCst)
        });
        done.store(true, Ordering::SeqCst);
        beside.join().expect("no panic")
    })
}

/// Waits until `done`, for far longer than it can take.
#[track_caller]
pub(crate) fn until(what: &str, done: impl Fn() -> bool) {
    let since = Instant::now();
    while !done() {
        assert!(since.elapsed() < Duration::from_secs(60), "in vain: {what}");
        thread::yield_now();
    }
}

#[track_caller]
pub(crate) fn all_equal(totals: &[usize], expected: usize) {
    let mut counts = HashMap::new();
    for total in totals {
        *counts.entry(*total).or_insert(0) += 1;
    }
    assert_eq!(
        counts,
        HashMap::from([(expected, totals.len())]),
        "rounds by their total"
    );
}

/// Sweeps a few times, before others have their turn.
pub(crate) fn sweep<A, T, L>(limiter: &RateLimiter<u64, A, T, L>) -> usize
where
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
{
    (0..8).map(|_| limiter.evict_idle()).sum()
}
