//! What changes a key besides requests, and what changes the limits of all.

use super::answer::{Answer, Basis};
use super::asking::ask_store;
use super::failure::StoreError;
use super::key::StoreKey;
use super::layout::Rules;
use super::limiter::RedisLimiter;
use super::script::{Reply, Task};
use super::set_up::SetUpError;
use crate::algorithm::Limits;
use crate::decision::{Decision, Verdict};
use ::redis::Cmd;
use std::sync::{Arc, PoisonError};

impl RedisLimiter {
    /// Charges `key` for what it has used already, as [`RateLimiter::charge`](crate::RateLimiter::charge)
    /// does.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    pub async fn charge<K: StoreKey + ?Sized>(
        &self,
        key: &K,
        cost: u64,
    ) -> Result<Answer, StoreError> {
        let named = self.named(key);
        if cost == 0 {
            return Ok(self.look(&named, 0).await?.0);
        }
        let rules = self.rules();
        let part = self.choose(&rules, &named)[0];
        let most = rules.parts[part].most_owed;
        let question = self.about(&rules, &named, part, cost.min(most), None);
        match ask_store(Task::Charge, std::slice::from_ref(&question)).await {
            Ok(said) => {
                let decision = said[0].whole;
                let standing = decision.standing();
                let charged = Decision::new(Verdict::Allowed, 0, 0, decision.reading(), standing);
                Ok(self.learn(&named, &question, charged))
            }
            Err(error) => self.without_store(&rules, error, |local| local.charge(&named.key, cost)),
        }
    }

    /// Gives back what an allowed request spent, to whoever gave it: the store, or this process's own
    /// limiter. What was assumed has spent nothing.
    ///
    /// # Errors
    ///
    /// If the store cannot be asked, whatever the failure policy: then nothing, or for a time-out perhaps
    /// something, has been given back.
    pub async fn refund<K: StoreKey + ?Sized>(
        &self,
        key: &K,
        answer: &Answer,
    ) -> Result<(), StoreError> {
        let Some(decision) = answer.decision().filter(|decision| decision.spent() > 0) else {
            return Ok(());
        };
        let (named, rules) = (self.named(key), self.rules());
        if answer.basis() == Basis::Fallback {
            if let Some(local) = &rules.local {
                local.refund(&named.key, *decision);
            }
            return Ok(());
        }
        let part = (answer.part as usize).min(rules.parts.len() - 1);
        let question = self.about(&rules, &named, part, decision.spent(), None);
        let recipe = question.recipe();
        let code = self.inner.store.scripts();
        let code = code.code(Task::Refund, [recipe.letter].into_iter());
        let arguments = |command: &mut Cmd| {
            recipe.write_arguments(question.cost, command);
            command.arg(decision.reading() / 1_000);
        };
        let keys = [&question.stored[..]];
        let outcome = self
            .inner
            .store
            .run(code, &keys, arguments, self.inner.budget);
        let outcome = outcome.await;
        // Before or after: an answer that is under way may be of either time.
        self.drop_denials(keys[0]);
        if let Some(estimates) = &self.inner.estimates {
            estimates.forget(&named.key);
        }
        outcome.and_then(|value| Reply::read(&value, 0)).map(drop)
    }

    /// Makes the key as if it had never been seen.
    ///
    /// # Errors
    ///
    /// If the store cannot be asked.
    pub async fn reset<K: StoreKey + ?Sized>(&self, key: &K) -> Result<(), StoreError> {
        let (named, rules) = (self.named(key), self.rules());
        let keys: Vec<_> = self
            .parts_of(&rules, &named)
            .map(|part| self.stored(&rules, &named, part))
            .collect();
        let outcome = self.inner.store.forget(&keys, self.inner.budget).await;
        for stored in &keys {
            self.drop_denials(stored);
        }
        if let Some(local) = &rules.local {
            local.reset(&named.key);
        }
        if let Some(estimates) = &self.inner.estimates {
            estimates.forget(&named.key);
        }
        outcome
    }

    /// Changes the limits: what keys have spent stays spent, under each algorithm's own rule of
    /// [`RateLimiter::refresh`](crate::RateLimiter::refresh), from each key's next request on.
    ///
    /// Servers that change one after the other may each find the other's limits in the store; owed permits
    /// are rounded up every time, so that more may be denied meanwhile, and never more is admitted than
    /// the larger limit allows.
    ///
    /// # Errors
    ///
    /// If the limits cannot be kept; then the old ones hold.
    pub fn refresh(&self, limits: impl Into<Limits>) -> Result<(), SetUpError> {
        let inner = &self.inner;
        let old = self.rules();
        let algorithm = old.parts[0].algorithm;
        let new = Rules::new(
            algorithm,
            limits.into(),
            inner.layout,
            inner.largest,
            inner.policy,
        )?;
        *inner.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        if let Some(pre_check) = &inner.pre_check {
            pre_check.drop_all();
        }
        Ok(())
    }
}
