//! The second front door: limits that a whole fleet shares.

use super::answer::{Answer, Basis};
use super::asking::{Named, Question, ask_store};
use super::builder::{RedisBuilder, Unchosen};
use super::counts::{Counters, Counts};
use super::failure::StoreError;
use super::key::{StoreKey, bounded};
use super::keyed::Keyed;
use super::layout::{Layout, Rules};
use super::local::Local;
use super::parts::Estimates;
use super::policy::OnFailure;
use super::pre_check::{Asked, PreCheck};
use super::script::Task;
use super::store::{Store, chance};
use super::together::Ask;
use crate::algorithm::Limits;
use crate::decision::{Decision, Verdict};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// A limiter whose counts lie in a store that many servers share: the second front door of the crate, for
/// the same limits and algorithms as [`RateLimiter`](crate::RateLimiter).
///
/// A decision is one script at the key's primary server, in one round trip. Clones share everything.
///
/// # Cancelling
///
/// A future that is dropped may have spent its permits.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
/// use tollgate::Limit;
/// use tollgate::redis::{OnFailure, RedisLimiter, Store};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Store::open("redis://127.0.0.1:6379")?;
/// let limiter = RedisLimiter::builder(&store, "api", Limit::per_minute(100))
///     .on_failure(OnFailure::Closed { retry_after: Duration::from_secs(1) })
///     .build()?;
///
/// let answer = limiter.try_acquire("ada").await?;
/// if answer.is_denied() {
///     println!("429, retry after {:?}, says {:?}", answer.retry_after(), answer.basis());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisLimiter {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) store: Store,
    pub(super) name: String,
    /// Replaced as a whole when limits change.
    pub(super) rules: RwLock<Arc<Rules>>,
    pub(super) policy: OnFailure,
    pub(super) budget: Duration,
    pub(super) largest: u64,
    pub(super) layout: Layout,
    pub(super) pre_check: Option<PreCheck>,
    pub(super) estimates: Option<Estimates>,
    pub(super) counters: Counters,
}

impl RedisLimiter {
    /// A limiter named `name`, which is part of its keys: servers that build one of the same name on the
    /// same store share its counts, and should build it with the same limits.
    pub fn builder(store: &Store, name: &str, limits: impl Into<Limits>) -> RedisBuilder<Unchosen> {
        RedisBuilder::new(store, name, limits.into())
    }

    pub(super) fn from_inner(inner: Inner) -> Self {
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Asks for one permit.
    ///
    /// # Errors
    ///
    /// If the set-up is wrong; and whatever the store fails with, under [`OnFailure::Report`].
    pub async fn try_acquire<K: StoreKey + ?Sized>(&self, key: &K) -> Result<Answer, StoreError> {
        self.try_acquire_n(key, 1).await
    }

    /// Asks for `cost` permits at once: all, or none.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire); and if the limit is split and a part of it cannot hold so many.
    pub async fn try_acquire_n<K: StoreKey + ?Sized>(
        &self,
        key: &K,
        cost: u64,
    ) -> Result<Answer, StoreError> {
        let (answer, _) = self.try_acquire_each(key, cost).await?;
        Ok(answer)
    }

    /// As [`try_acquire_n`](Self::try_acquire_n), with what each limit said by itself, in their order: for
    /// headers. It is empty where that is not known.
    ///
    /// # Errors
    ///
    /// As [`try_acquire_n`](Self::try_acquire_n).
    pub async fn try_acquire_each<K: StoreKey + ?Sized>(
        &self,
        key: &K,
        cost: u64,
    ) -> Result<(Answer, Vec<Decision>), StoreError> {
        let named = self.named(key);
        if cost == 0 {
            return self.look(&named, 0).await;
        }
        let question = match self.question(&named, cost)? {
            Ok(question) => question,
            Err(known) => return Ok((known, vec![])),
        };
        let (answer, each) = match ask_store(Task::Acquire, std::slice::from_ref(&question)).await {
            Ok(mut said) => {
                let said = said.swap_remove(0);
                (self.learn(&named, &question, said.whole), said.each)
            }
            Err(error) => {
                let spend = |local: &Local| local.decide(&named.key, cost);
                (self.without_store(&question.rules, error, spend)?, vec![])
            }
        };
        self.inner.counters.count(&answer);
        Ok((answer, each))
    }

    /// Answers what [`try_acquire`](Self::try_acquire) would, and changes nothing. What remains is told as
    /// before spending; of a split limit, what its parts have left together, each at its own moment.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    pub async fn peek<K: StoreKey + ?Sized>(&self, key: &K) -> Result<Answer, StoreError> {
        self.peek_n(key, 1).await
    }

    /// As [`peek`](Self::peek), of `cost` permits.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    pub async fn peek_n<K: StoreKey + ?Sized>(
        &self,
        key: &K,
        cost: u64,
    ) -> Result<Answer, StoreError> {
        Ok(self.look(&self.named(key), cost).await?.0)
    }

    pub(super) async fn look(
        &self,
        named: &Named,
        cost: u64,
    ) -> Result<(Answer, Vec<Decision>), StoreError> {
        let rules = self.rules();
        check_cost(&rules, cost)?;
        if cost > rules.smallest {
            return Ok((Answer::never(Basis::PreCheck), vec![]));
        }
        let (mut seen, mut each) = (Vec::new(), Vec::new());
        for part in self.parts_of(&rules, named) {
            let question = self.about(&rules, named, part, cost, None);
            match ask_store(Task::Peek, std::slice::from_ref(&question)).await {
                Ok(mut said) => {
                    let said = said.swap_remove(0);
                    seen.push(said.whole.unspent());
                    each = said.each;
                }
                Err(error) => {
                    let peek = |local: &Local| local.peek(&named.key, cost);
                    return Ok((self.without_store(&rules, error, peek)?, vec![]));
                }
            }
        }
        Ok(match seen[..] {
            [decision] => (Answer::of_store(decision, 0), each),
            _ => (Answer::of_parts(&seen), vec![]),
        })
    }

    /// What it has decided, and how.
    pub fn counts(&self) -> Counts {
        self.inner.counters.read()
    }

    /// The same limiter for keys of one type, for a layer in front of HTTP (feature `tower`); see [`Keyed`].
    pub fn keyed<K: StoreKey>(&self) -> Keyed<K> {
        Keyed::new(self.clone())
    }

    /// The store that it is on.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The limits that keys are held to, as the last [`refresh`](Self::refresh) has left them.
    pub fn limits(&self) -> Limits {
        self.rules().limits.clone()
    }

    /// A request of it, to be put to the store together with others by
    /// [`try_acquire_all`](super::try_acquire_all).
    pub fn ask<K: StoreKey + ?Sized>(&self, key: &K, cost: u64) -> Ask {
        Ask {
            named: self.named(key),
            limiter: self.clone(),
            cost,
        }
    }

    /// What is counted now, as a whole.
    pub(super) fn rules(&self) -> Arc<Rules> {
        let rules = self.inner.rules.read();
        rules.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.inner.counters
    }

    /// Whether a part is drawn for each request.
    pub(super) fn is_drawn(&self) -> bool {
        self.inner.layout.is_drawn()
    }

    pub(super) fn budget(&self) -> Duration {
        self.inner.budget
    }

    /// What to ask the store, or the answer, if that is known without it.
    pub(super) fn question(
        &self,
        named: &Named,
        cost: u64,
    ) -> Result<Result<Question, Answer>, StoreError> {
        let rules = self.rules();
        check_cost(&rules, cost)?;
        if cost > rules.smallest {
            return Ok(Err(Answer::never(Basis::PreCheck)));
        }
        let pre_check = self.inner.pre_check.as_ref();
        let mut wait: Option<Duration> = None;
        for part in self.choose(&rules, named) {
            let asked = pre_check.map(PreCheck::asks);
            let question = self.about(&rules, named, part, cost, asked);
            let denies = pre_check.and_then(|check| check.denies(&question.stored, cost));
            let Some(left) = denies else {
                return Ok(Ok(question));
            };
            wait = Some(wait.map_or(left, |wait| wait.min(left)));
        }
        let answer = Answer::pre_checked(wait.unwrap_or_default());
        self.inner.counters.count(&answer);
        Ok(Err(answer))
    }

    /// The parts that may be asked, the best first: twice the same where there is but one.
    pub(super) fn choose(&self, rules: &Rules, named: &Named) -> [usize; 2] {
        let Some(estimates) = &self.inner.estimates else {
            return [self.inner.layout.part_of(&named.place); 2];
        };
        let capacities: Vec<u64> = rules.parts.iter().map(|part| part.capacity).collect();
        estimates.choose(&named.key, &capacities, (chance(), chance()))
    }

    /// The parts that hold what a key has spent.
    pub(super) fn parts_of(&self, rules: &Rules, named: &Named) -> Range<usize> {
        if self.inner.layout.is_drawn() {
            return 0..rules.parts.len();
        }
        let part = self.inner.layout.part_of(&named.place);
        part..part + 1
    }

    pub(super) fn named<K: StoreKey + ?Sized>(&self, key: &K) -> Named {
        let mut named = Named::new(key);
        if matches!(self.inner.layout, Layout::Pooled { .. }) {
            // One count for all.
            named.key.clear();
        }
        named
    }

    pub(super) fn about(
        &self,
        rules: &Arc<Rules>,
        named: &Named,
        part: usize,
        cost: u64,
        asked: Option<Asked>,
    ) -> Question {
        Question {
            limiter: self.clone(),
            rules: rules.clone(),
            part,
            stored: self.stored(rules, named, part),
            cost,
            asked,
        }
    }

    /// The key's name in the store, where its place says all.
    pub(super) fn stored_at_its_place(&self, named: &Named) -> Vec<u8> {
        self.stored(
            &self.rules(),
            named,
            self.inner.layout.part_of(&named.place),
        )
    }

    /// The key's name in the store: `prefix:1b:{tag}:name:=key`, with the format's number and the
    /// algorithm's letter.
    pub(super) fn stored(&self, rules: &Rules, named: &Named, part: usize) -> Vec<u8> {
        let letter = rules.parts[part].letter;
        let (prefix, name) = (self.inner.store.prefix(), &self.inner.name);
        let tag = self.inner.layout.tag(&named.place, part);
        let mut stored = format!("{prefix}:1{letter}:{{{tag}}}:{name}:").into_bytes();
        stored.extend_from_slice(&bounded(&named.key));
        stored
    }

    /// Takes in what the store has decided.
    pub(super) fn learn(&self, named: &Named, question: &Question, decision: Decision) -> Answer {
        let pre_check = self.inner.pre_check.as_ref();
        if let (Some(check), Some(asked), Some(wait)) =
            (pre_check, question.asked, decision.retry_after())
        {
            check.learn(&question.stored, question.cost, wait, asked);
        }
        if let Some(estimates) = &self.inner.estimates {
            let parts = question.rules.parts.len();
            estimates.learn(&named.key, question.part, parts, &decision);
        }
        if let Some(local) = &question.rules.local {
            let parts = question.rules.parts.len() as u64;
            local.follow(&named.key, decision.remaining().saturating_mul(parts));
        }
        Answer::of_store(decision, question.part as u32)
    }

    pub(super) fn drop_denials(&self, stored: &[u8]) {
        if let Some(check) = &self.inner.pre_check {
            check.drop_key(stored);
        }
    }

    /// What the failure policy makes of a failure.
    pub(super) fn without_store(
        &self,
        rules: &Rules,
        error: StoreError,
        decide: impl FnOnce(&Local) -> Decision,
    ) -> Result<Answer, StoreError> {
        self.inner.counters.failed();
        if error.is_set_up() {
            return Err(error);
        }
        let failure = Arc::new(error);
        match (self.inner.policy, &rules.local) {
            (OnFailure::Open, _) => Ok(Answer::assumed(Verdict::Allowed, failure)),
            (OnFailure::Closed { retry_after }, _) => {
                Ok(Answer::assumed(Verdict::Denied { retry_after }, failure))
            }
            (OnFailure::Local { .. }, Some(local)) => Ok(Answer::fallback(decide(local), failure)),
            (OnFailure::Report | OnFailure::Local { .. }, _) => Err(Arc::unwrap_or_clone(failure)),
        }
    }
}

fn check_cost(rules: &Rules, cost: u64) -> Result<(), StoreError> {
    if rules.parts.len() > 1 && cost > rules.smallest {
        return Err(StoreError::CostAbovePart {
            cost,
            most: rules.smallest,
        });
    }
    Ok(())
}

impl fmt::Debug for RedisLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLimiter")
            .field("name", &self.inner.name)
            .field("rules", &self.rules())
            .field("policy", &self.inner.policy)
            .field("budget", &self.inner.budget)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
