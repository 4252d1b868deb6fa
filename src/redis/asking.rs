//! Questions to the store: which keys they are about, and one script for all that are asked together.

use super::failure::StoreError;
use super::key::StoreKey;
use super::layout::Rules;
use super::limiter::RedisLimiter;
use super::pre_check::Asked;
use super::recipe::Recipe;
use super::script::{Reply, Task};
use crate::decision::Decision;
use ::redis::Cmd;
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
    let letters = questions.iter().map(|question| question.recipe().letter);
    let code = store.scripts().code(task, letters);
    let keys: Vec<&[u8]> = questions
        .iter()
        .map(|question| &question.stored[..])
        .collect();
    let arguments = |command: &mut Cmd| {
        command.arg(task.word());
        for question in questions {
            question.recipe().write_arguments(question.cost, command);
        }
    };
    let budget = questions.iter().map(|question| question.limiter.budget());
    let value = store.run(code, &keys, arguments, budget.min().unwrap_or_default());
    let limits = |question: &Question| question.recipe().limits.len();
    let reply = Reply::read(&value.await?, questions.iter().map(limits).sum())?;
    let mut rest = &reply.limits[..];
    let said = questions.iter().map(|question| {
        let (own, others) = rest.split_at(limits(question));
        rest = others;
        let each: Vec<Decision> = own
            .iter()
            .map(|limit| reply.decision(limit, question.cost))
            .collect();
        let whole = match each[..] {
            [decision] => decision,
            _ => {
                let whole = Decision::of_parts(&each, question.cost);
                let spent = each.iter().all(|limit| limit.spent() > 0);
                if spent { whole } else { whole.unspent() }
            }
        };
        Said { whole, each }
    });
    Ok(said.collect())
}
