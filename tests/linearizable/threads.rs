//! Has threads ask one limiter at the same time, and records what they did.

use std::collections::HashMap;
use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use tollgate::{
    Algorithm, Decision, LimitSource, OneLimit, PerKey, RateLimiter, Standing, Verdict,
};

use super::history::{Answer, Call, Case, History, Op};
use super::script::{Move, Script};
use super::watched::{Clock, Key, Plans, notes, pause_by};

/// One limiter, and what it was given.
struct Asked<A: Algorithm, L: LimitSource> {
    limiter: RateLimiter<Key, A, Clock, L>,
    clock: Clock,
    told: Arc<AtomicUsize>,
    /// Refreshes a key, or all.
    refresh: fn(&RateLimiter<Key, A, Clock, L>, Option<u64>),
    tickets: Arc<AtomicU64>,
    /// How many threads are ready to begin.
    ready: AtomicUsize,
}

/// Runs the script against a limiter of its own.
pub(crate) fn record<A: Algorithm + Copy>(algorithm: A, case: &Case, script: &Script) -> History {
    let clock = Clock::new(case.start);
    let told = Arc::new(AtomicUsize::new(0));
    let tickets = Arc::new(AtomicU64::new(0));
    if case.by_plan {
        let plans = case.limits.iter().map(|limits| {
            let plan = algorithm.plan(&limits[..]);
            plan.expect("limits that it keeps")
        });
        let plans = Plans::new(plans.collect(), Arc::clone(&told), Arc::clone(&tickets));
        let limiter = RateLimiter::by_plan(move |key: &Key| plans.of(key))
            .ticker(clock.clone())
            .evict_in_passing(false)
            .build()
            .expect("its plans have been accepted");
        let asked: Asked<A, PerKey> = Asked {
            refresh: |limiter, key| match key {
                Some(key) => limiter.refresh(&Key(key)),
                None => limiter.refresh_all(),
            },
            ..Asked::new(limiter, clock, told, tickets)
        };
        asked.run(case, script)
    } else {
        let limiter = RateLimiter::<Key>::builder(&case.limits[0][..])
            .algorithm(algorithm)
            .ticker(clock.clone())
            .evict_in_passing(false)
            .build()
            .expect("limits that it keeps");
        let asked: Asked<A, OneLimit> = Asked::new(limiter, clock, told, tickets);
        asked.run(case, script)
    }
}

/// The decisions that a thread may give back, by their key.
type Spent = HashMap<u64, Vec<Decision>>;

impl<A: Algorithm, L: LimitSource> Asked<A, L> {
    fn new(
        limiter: RateLimiter<Key, A, Clock, L>,
        clock: Clock,
        told: Arc<AtomicUsize>,
        tickets: Arc<AtomicU64>,
    ) -> Self {
        // It was read for the building.
        notes();
        Self {
            limiter,
            clock,
            told,
            refresh: |_, _| panic!("one limit for all keys never changes"),
            tickets,
            ready: AtomicUsize::new(0),
        }
    }

    fn run(&self, case: &Case, script: &Script) -> History {
        let mut calls = Vec::new();
        let mut before = Spent::new();
        self.play(0, &script.before, &mut before, &mut calls);
        thread::scope(|scope| {
            let threads = script.beside.iter().enumerate();
            let threads = threads.map(|(nth, moves)| {
                // What was spent before is for them to give back, one decision each.
                let taken = before
                    .iter_mut()
                    .filter_map(|(key, spent)| Some((*key, vec![spent.pop()?])));
                let mut spent: Spent = taken.collect();
                scope.spawn(move || {
                    let mut calls = Vec::new();
                    pause_by(script.seed.wrapping_mul(2 * nth as u64 + 1) | 1);
                    self.meet(script.beside.len());
                    self.play(nth + 1, moves, &mut spent, &mut calls);
                    calls
                })
            });
            let threads: Vec<_> = threads.collect();
            for thread in threads {
                calls.extend(thread.join().expect("no panic"));
            }
        });
        self.play(0, &script.after, &mut Spent::new(), &mut calls);
        calls.sort_by_key(|call| call.from);
        History {
            case: case.clone(),
            seed: script.seed,
            calls,
        }
    }

    /// Waits until all are there. A thread that only spins would keep the last one from a
    /// processor.
    fn meet(&self, parties: usize) {
        self.ready.fetch_add(1, Ordering::SeqCst);
        let mut spins = 0;
        while self.ready.load(Ordering::SeqCst) < parties {
            spins += 1;
            if spins % 64 == 0 {
                thread::yield_now();
            } else {
                hint::spin_loop();
            }
        }
    }

    fn play(&self, thread: usize, moves: &[Move], spent: &mut Spent, calls: &mut Vec<Call>) {
        for one in moves {
            let op = match *one {
                Move::Call(op) => op,
                Move::Refund { key } => match spent.entry(key).or_default().pop() {
                    Some(spent) => Op::Refund { key, spent },
                    None => continue,
                },
            };
            // SeqCst: whoever draws a later ticket has seen what was done before this one.
            let from = self.tickets.fetch_add(1, Ordering::SeqCst);
            let answer = self.ask(op);
            let to = self.tickets.fetch_add(1, Ordering::SeqCst);
            if let (Op::Acquire { key, .. }, Answer::Decided(decision) | Answer::Each(decision, _)) =
                (op, &answer)
                && decision.spent() > 0
            {
                spent.entry(key).or_default().push(*decision);
            }
            calls.push(Call {
                thread,
                op,
                answer,
                from,
                to,
                notes: notes(),
            });
        }
    }

    fn ask(&self, op: Op) -> Answer {
        let limiter = &self.limiter;
        // As many places as any case has limits; what they hold is written over, or cut off.
        let nothing_left = Standing {
            remaining: 0,
            next_permit_after: 0,
            reset_after: 0,
        };
        let mut slice = [Decision::new(Verdict::Never, 0, 0, 0, nothing_left); 3];
        match op {
            Op::Acquire {
                key,
                cost,
                each: false,
            } => Answer::Decided(limiter.try_acquire_n(&Key(key), cost)),
            Op::Acquire {
                key,
                cost,
                each: true,
            } => {
                let (whole, limits) = limiter.try_acquire_each(&Key(key), cost, &mut slice);
                Answer::Each(whole, slice[..limits].to_vec())
            }
            Op::Peek {
                key,
                cost,
                each: false,
            } => Answer::Decided(limiter.peek_n(&Key(key), cost)),
            Op::Peek {
                key,
                cost,
                each: true,
            } => {
                let (whole, limits) = limiter.peek_each(&Key(key), cost, &mut slice);
                Answer::Each(whole, slice[..limits].to_vec())
            }
            Op::EvictIdle => Answer::Count(limiter.evict_idle()),
            Op::TrackedKeys => Answer::Count(limiter.tracked_keys()),
            _ => {
                self.tell(op);
                Answer::Nothing
            }
        }
    }

    /// Does what has no answer.
    fn tell(&self, op: Op) {
        let limiter = &self.limiter;
        match op {
            Op::Refund { key, spent } => limiter.refund(&Key(key), spent),
            Op::Reset { key } => limiter.reset(&Key(key)),
            Op::Refresh { key } => (self.refresh)(limiter, Some(key)),
            Op::RefreshAll => (self.refresh)(limiter, None),
            Op::SetClock { now, back } => self.clock.set(now, back),
            Op::SetLimits(limits) => self.told.store(limits, Ordering::SeqCst),
            Op::Acquire { .. } | Op::Peek { .. } | Op::EvictIdle | Op::TrackedKeys => {
                unreachable!("these have one")
            }
        }
    }
}
