//! The oracle: every algorithm, written from its definition under one mutex.
//!
//! Nothing here is quick or clever. The clock is a number that the caller passes in, times are
//! `u128`, and a wait is not solved for but *searched* for: the smallest number of nanoseconds
//! after which what it promises holds. Whoever doubts a figure can read its definition here.
//!
//! It shares with `src/` only the values that a user sees: [`Limit`], [`Decision`] and what a
//! decision is made of. `tests/` and the fuzz targets mount it with `#[path]`.
//!
//! | algorithm | what an [`Account`] of it holds |
//! |---|---|
//! | token bucket, each limit of `AllOf` | `full`, the instant at which it will be full again, in fractions of a permit |
//! | fixed window | the window's number and its count |
//! | sliding log | the time of every permit spent |
//! | sliding counter | the window's number, its count and the count of the one before |

#![allow(
    dead_code,
    reason = "each test that mounts the oracle uses a part of it"
)]
#![allow(
    unreachable_pub,
    reason = "a module of several test crates and fuzz targets"
)]

use std::collections::BTreeMap;
use std::fmt;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tollgate::{Decision, Limit, Standing, Verdict};

#[path = "reference/bucket.rs"]
mod bucket;
#[path = "reference/counter.rs"]
mod counter;
#[path = "reference/log.rs"]
mod log;
#[path = "reference/window.rs"]
mod window;

/// For so long after it was built a limiter is exact: 30 years of 365.25 days, in nanoseconds.
pub const THIRTY_YEARS: u128 = 946_728_000_000_000_000;

/// Which algorithm the oracle follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    TokenBucket,
    FixedWindow,
    SlidingLog,
    SlidingCounter,
    AllOf,
}

/// Whether an algorithm keeps such limits, or refuses them when they are built.
pub fn supports(kind: Kind, limits: &[Limit]) -> bool {
    match (kind, limits) {
        (Kind::AllOf, limits) => !limits.is_empty() && limits.iter().all(bucket::supports),
        (Kind::TokenBucket, [limit]) => bucket::supports(limit),
        (Kind::FixedWindow, [limit]) => window::supports(limit),
        (Kind::SlidingLog | Kind::SlidingCounter, [limit]) => limit.burst() == limit.permits(),
        _ => false,
    }
}

/// What one key has spent under one limit.
///
/// `now` is a reading of the ticker, never below the limiter's start. `wait` is what passes after
/// it: an instant is `now + wait`, which may lie past the end of a `u64`.
trait Account: fmt::Debug + Send {
    fn limit(&self) -> Limit;

    /// The time at which a reading is judged: later than the reading if the account has recorded
    /// a later time.
    fn judged(&self, now: u64) -> u64;

    /// Whether a request of this cost, from 1 to the capacity, would be allowed.
    fn admits(&self, now: u64, wait: u128, cost: u64) -> bool;

    /// Whole permits left.
    fn remaining(&self, now: u64) -> u64;

    /// Whether nobody could tell the account from a fresh one.
    fn is_idle(&self, now: u64, wait: u128) -> bool;

    /// Spends the permits of a request that it admits.
    fn spend(&mut self, now: u64, cost: u64);

    /// Spends for what has happened already: what is left of so many permits, or more where the
    /// algorithm keeps debts.
    fn charge(&mut self, now: u64, cost: u64) {
        let cost = cost.min(self.remaining(now));
        if cost > 0 {
            self.spend(now, cost);
        }
    }

    /// Gives back what an allowed request spent.
    fn refund(&mut self, now: u64, spent: &Decision);

    /// The same account under another limit.
    fn refreshed(&self, limit: Limit, now: u64) -> Box<dyn Account>;

    fn copied(&self) -> Box<dyn Account>;
}

impl Clone for Box<dyn Account> {
    fn clone(&self) -> Self {
        self.copied()
    }
}

/// One key's accounts: one for each of its limits. Only `AllOf` has several.
type Accounts = Vec<Box<dyn Account>>;

type Limits = dyn Fn(u64) -> Vec<Limit> + Send + Sync;

/// The whole limiter, for keys that are `u64`.
pub struct Reference {
    kind: Kind,
    start: u64,
    /// The latest reading at which idle keys were forgotten.
    evicted_at: AtomicU64,
    limits: Arc<Limits>,
    keys: Mutex<BTreeMap<u64, Accounts>>,
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reference")
            .field("kind", &self.kind)
            .field("start", &self.start)
            .field("evicted_at", &self.evicted_at)
            .field("keys", &*self.lock())
            .finish()
    }
}

/// As it stands now; what is spent of one is not spent of the other.
impl Clone for Reference {
    fn clone(&self) -> Self {
        Self {
            kind: self.kind,
            start: self.start,
            evicted_at: AtomicU64::new(self.evicted_at.load(Ordering::SeqCst)),
            limits: Arc::clone(&self.limits),
            keys: Mutex::new(self.lock().clone()),
        }
    }
}

impl Reference {
    /// The same limits for every key; `start` is the ticker's reading at building.
    pub fn new(kind: Kind, start: u64, limits: &[Limit]) -> Self {
        let limits = limits.to_vec();
        Self::by_limits(kind, start, move |_| limits.clone())
    }

    /// Limits from a function of the key, asked when a key is begun and when it is refreshed.
    pub fn by_limits(
        kind: Kind,
        start: u64,
        limits: impl Fn(u64) -> Vec<Limit> + Send + Sync + 'static,
    ) -> Self {
        Self {
            kind,
            start,
            evicted_at: AtomicU64::new(0),
            limits: Arc::new(limits),
            keys: Mutex::default(),
        }
    }

    pub fn try_acquire_n(&self, key: u64, cost: u64, now: u64) -> Decision {
        self.try_acquire_each(key, cost, now).0
    }

    pub fn peek_n(&self, key: u64, cost: u64, now: u64) -> Decision {
        self.peek_each(key, cost, now).0
    }

    /// The decision, and each limit's own: what it would say if it were alone. Where the whole is
    /// denied, a limit that would have allowed it has spent nothing.
    pub fn try_acquire_each(&self, key: u64, cost: u64, now: u64) -> (Decision, Vec<Decision>) {
        let now = self.counted(now);
        let mut keys = self.lock();
        let known = keys.contains_key(&key);
        let accounts = keys.entry(key).or_insert_with(|| self.fresh(key));

        let verdicts = verdicts(accounts, cost, now);
        let spent = cost > 0 && verdicts.iter().all(|verdict| *verdict == Verdict::Allowed);
        if spent {
            for account in accounts.iter_mut() {
                account.spend(now, cost);
            }
        }
        let answer = answer(accounts, &verdicts, cost, now);
        if !known && !spent {
            keys.remove(&key);
        }
        if spent { answer } else { unspent(answer) }
    }

    /// What [`try_acquire_each`](Self::try_acquire_each) would answer, with nothing spent.
    pub fn peek_each(&self, key: u64, cost: u64, now: u64) -> (Decision, Vec<Decision>) {
        let now = self.counted(now);
        let keys = self.lock();
        let fresh;
        let accounts = match keys.get(&key) {
            Some(accounts) => accounts,
            None => {
                fresh = self.fresh(key);
                &fresh
            }
        };
        unspent(answer(accounts, &verdicts(accounts, cost, now), cost, now))
    }

    /// A reading counts as no older than the building, nor than the latest eviction: a clock that
    /// steps back must not find a key new that was forgotten.
    fn counted(&self, now: u64) -> u64 {
        let evicted_at = self.evicted_at.load(Ordering::SeqCst);
        now.max(self.start).max(evicted_at)
    }

    /// Charges, and says how the key stands then.
    pub fn charge(&self, key: u64, cost: u64, now: u64) -> Decision {
        let counted = self.counted(now);
        if cost > 0 {
            let mut keys = self.lock();
            for account in keys.entry(key).or_insert_with(|| self.fresh(key)) {
                account.charge(counted, cost);
            }
        }
        self.peek_n(key, 0, now)
    }

    pub fn refund(&self, key: u64, spent: Decision, now: u64) {
        let now = self.counted(now);
        if spent.spent() == 0 {
            return;
        }
        if let Some(accounts) = self.lock().get_mut(&key) {
            for account in accounts {
                account.refund(now, &spent);
            }
        }
    }

    /// Begins the key and spends nothing, unless it is there already: what a request does that has
    /// not come to spend.
    pub fn begin(&self, key: u64) {
        let fresh = self.fresh(key);
        self.lock().entry(key).or_insert(fresh);
    }

    /// The key's limits, if it is there.
    pub fn limits_of(&self, key: u64) -> Option<Vec<Limit>> {
        let keys = self.lock();
        let accounts = keys.get(&key)?;
        Some(accounts.iter().map(|account| account.limit()).collect())
    }

    pub fn reset(&self, key: u64) {
        self.lock().remove(&key);
    }

    /// Limits and numbers change together; equal limits change nothing.
    pub fn refresh(&self, key: u64, now: u64) {
        let now = self.counted(now);
        if let Some(accounts) = self.lock().get_mut(&key) {
            let limits = (self.limits)(key);
            if accounts
                .iter()
                .map(|account| account.limit())
                .eq(limits.iter().copied())
            {
                return;
            }
            // A limit that was not there before owes nothing.
            let fresh = self.fresh(key);
            let refreshed = limits.iter().enumerate().map(|(position, limit)| {
                let account = accounts.get(position).unwrap_or(&fresh[position]);
                account.refreshed(*limit, now)
            });
            *accounts = refreshed.collect();
        }
    }

    pub fn refresh_all(&self, now: u64) {
        let keys: Vec<u64> = self.lock().keys().copied().collect();
        for key in keys {
            self.refresh(key, now);
        }
    }

    /// Forgets the keys that have been idle for as long as the ticker's readings on two threads
    /// may disagree; says how many.
    pub fn evict_idle(&self, now: u64, disagreement: u64) -> usize {
        let then = now.saturating_sub(disagreement).max(self.start);
        self.evicted_at.fetch_max(then, Ordering::SeqCst);
        let mut keys = self.lock();
        let before = keys.len();
        keys.retain(|_, accounts| !accounts.iter().all(|account| account.is_idle(then, 0)));
        before - keys.len()
    }

    pub fn tracked_keys(&self) -> usize {
        self.lock().len()
    }

    fn fresh(&self, key: u64) -> Accounts {
        let limits = (self.limits)(key);
        assert!(
            supports(self.kind, &limits),
            "{:?} refuses {limits:?}",
            self.kind
        );
        let account = |limit: Limit| -> Box<dyn Account> {
            match self.kind {
                Kind::TokenBucket | Kind::AllOf => Box::new(bucket::Bucket::new(limit, self.start)),
                Kind::FixedWindow => Box::new(window::Window::new(limit, self.start)),
                Kind::SlidingLog => Box::new(log::Log::new(limit)),
                Kind::SlidingCounter => Box::new(counter::Counter::new(limit)),
            }
        };
        limits.into_iter().map(account).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Accounts>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What each limit says of a request, by itself.
fn verdicts(accounts: &[Box<dyn Account>], cost: u64, now: u64) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for account in accounts {
        verdicts.push(if cost > account.limit().burst() {
            Verdict::Never
        } else if cost == 0 || account.admits(now, 0, cost) {
            Verdict::Allowed
        } else {
            let retry_after = first_wait(|wait| account.admits(now, wait, cost));
            Verdict::Denied {
                retry_after: Duration::from_nanos(retry_after),
            }
        });
    }
    verdicts
}

/// The decision over all accounts as they stand now, and each one's own.
fn answer(
    accounts: &[Box<dyn Account>],
    verdicts: &[Verdict],
    cost: u64,
    now: u64,
) -> (Decision, Vec<Decision>) {
    let each: Vec<Decision> = (0..accounts.len())
        .map(|position| {
            let account = &accounts[position];
            Decision::new(
                verdicts[position],
                position as u32,
                cost,
                account.judged(now),
                standing(slice::from_ref(account), now),
            )
        })
        .collect();

    let decided = deciding_limit(&each);
    let whole = Decision::new(
        verdicts[decided],
        decided as u32,
        cost,
        each[decided].reading(),
        standing(accounts, now),
    );
    (whole, each)
}

/// The first that never allows it; else the first with the longest wait; else, where all allow it,
/// the first with the fewest permits left.
fn deciding_limit(each: &[Decision]) -> usize {
    if let Some(never) = each.iter().position(Decision::is_never) {
        return never;
    }
    let all_allow = each.iter().all(Decision::is_allowed);
    let mut decided = 0;
    for position in 1..each.len() {
        let (one, so_far) = (&each[position], &each[decided]);
        let decides = match all_allow {
            true => one.remaining() < so_far.remaining(),
            false => one.retry_after() > so_far.retry_after(),
        };
        if decides {
            decided = position;
        }
    }
    decided
}

/// How accounts stand that are spent together.
fn standing(accounts: &[Box<dyn Account>], now: u64) -> Standing {
    let admits = |wait, cost| {
        accounts
            .iter()
            .all(|account| account.admits(now, wait, cost))
    };
    let idle = |wait| accounts.iter().all(|account| account.is_idle(now, wait));
    let remaining = accounts
        .iter()
        .map(|account| account.remaining(now))
        .min()
        .unwrap();
    let capacity = accounts
        .iter()
        .map(|account| account.limit().burst())
        .min()
        .unwrap();

    // What remains is what could be spent, and not one permit more.
    assert!(remaining == 0 || admits(0, remaining));
    assert!(remaining == capacity || !admits(0, remaining + 1));

    Standing {
        remaining,
        next_permit_after: match remaining {
            full if full == capacity => 0,
            _ => first_wait(|wait| admits(wait, remaining + 1)),
        },
        reset_after: match idle(0) {
            true => 0,
            false => first_wait(idle),
        },
    }
}

/// The fewest nanoseconds, at least one, after which something holds that goes on holding once it
/// does. As much as a `u64` can tell, if it is more than that.
fn first_wait(holds: impl Fn(u128) -> bool) -> u64 {
    // Not yet after `short`, but after `long`.
    let (mut short, mut long) = (0, 1);
    while !holds(long) {
        (short, long) = (long, long * 2);
        assert!(
            long < 1 << 70,
            "no limit makes anybody wait for 30,000 years"
        );
    }
    while long - short > 1 {
        let middle = short + (long - short) / 2;
        if holds(middle) {
            long = middle;
        } else {
            short = middle;
        }
    }
    long.try_into().unwrap_or(u64::MAX)
}

/// The same answers to a request that spent nothing.
fn unspent((answer, each): (Decision, Vec<Decision>)) -> (Decision, Vec<Decision>) {
    let each = each.into_iter().map(Decision::unspent).collect();
    (answer.unspent(), each)
}
