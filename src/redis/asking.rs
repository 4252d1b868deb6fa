//! Questions to the store: which keys they are about, and one script for all that are asked together.

use super::failure::StoreError;
use super::key::StoreKey;
use super::layout::Rules;
use super::limiter::RedisLimiter;
use super::pre_check::Asked;
use super::recipe::Recipe;
use super::script::{Reply, Task};
use crate::decision::Decision;
use std::sync::Arc;

/// A key's bytes, and where it is kept.
pub(super) struct Named {
    pub(super) key: Vec<u8>,
    pub(super) place: Vec<u8>,
}

impl Named {
    pub(super) fn new<K: StoreKey + ?Sized>(key: &K) -> Self {
        let (mut bytes, mut place) = (Vec::new(), Vec::new());
        key.write_key(&mut bytes);
        key.write_place(&mut place);
        Self { key: bytes, place }
    }
}

/// What is asked of one key in the store.
pub(super) struct Question {
    pub(super) limiter: RedisLimiter,
    pub(super) rules: Arc<Rules>,
    pub(super) part: usize,
    pub(super) stored: Vec<u8>,
    pub(super) cost: u64,
    pub(super) asked: Option<Asked>,
}

impl Question {
    pub(super) fn recipe(&self) -> &Recipe {
        &self.rules.parts[self.part]
    }
}

/// What a limiter has said.
pub(super) struct Said {
    pub(super) whole: Decision,
    /// What each of its limits has.
    pub(super) each: Vec<Decision>,
}

/// Puts questions to the store, all in one step, and tells what each limiter said.
pub(super) async fn ask_store(task: Task, questions: &[Question]) -> Result<Vec<Said>, StoreError> {
    let Some(first) = questions.first() else {
        return Ok(vec![]);
    };
    let store = first.limiter.store();
    let recipes = || questions.iter().map(Question::recipe);
    let code = store
        .scripts()
        .code(task, recipes().map(|recipe| recipe.letter));
    let mut arguments = vec![task.word().to_owned()];
    for question in questions {
        arguments.push(question.recipe().letter.to_owned());
        arguments.extend(question.recipe().arguments(question.cost));
    }
    let keys: Vec<_> = questions
        .iter()
        .map(|question| question.stored.clone())
        .collect();
    let budget = questions
        .iter()
        .map(|question| question.limiter.budget())
        .min();
    let value = store.run(code, &keys, &arguments, budget.unwrap_or_default());
    let limits: Vec<usize> = recipes().map(|recipe| recipe.limits.len()).collect();
    let reply = Reply::read(value.await?, limits.iter().sum())?;
    let whose: Vec<usize> = limits
        .iter()
        .enumerate()
        .flat_map(|(at, count)| std::iter::repeat_n(at, *count))
        .collect();
    let all: Vec<Decision> = reply.decisions(|at| questions[whose[at]].cost).collect();
    let mut rest = &all[..];
    let whole = questions.iter().zip(limits).map(|(question, count)| {
        let (own, others) = rest.split_at(count);
        rest = others;
        let whole = match own {
            [decision] => *decision,
            _ => {
                let whole = Decision::of_parts(own, question.cost);
                let spent = own.iter().all(|limit| limit.spent() > 0);
                if spent { whole } else { whole.unspent() }
            }
        };
        Said {
            whole,
            each: own.to_vec(),
        }
    });
    Ok(whole.collect())
}
