//! Several limiters, asked in one step.

use super::answer::{Answer, Basis};
use super::asking::{Named, Question, ask_store};
use super::failure::StoreError;
use super::key::tag_of;
use super::limiter::RedisLimiter;
use super::script::Task;
use crate::decision::{Decision, Verdict};
use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

/// A request of one limiter, made by [`RedisLimiter::ask`].
pub struct Ask {
    pub(super) limiter: RedisLimiter,
    pub(super) named: Named,
    pub(super) cost: u64,
}

/// What several limiters have answered to one request.
#[derive(Clone, Debug)]
pub struct Together {
    /// The answer to the request: allowed if all have allowed it.
    pub whole: Answer,
    /// What each of them has answered, in the order in which they were asked. Where one has refused, none
    /// has spent anything. Where one has refused without the store (a pre-check), the others were not asked,
    /// and this is empty.
    pub each: Vec<Answer>,
}

/// Asks several limiters of one store in one step: permits are taken from all, or from none.
///
/// It is one script in one round trip: a client's limit for a route and its limit in all are decided
/// together, however many servers ask. For that all keys must be in one slot of a cluster: their
/// [places](super::StoreKey::write_place) must be the same, such as those of `(client, route)` and `client`.
///
/// Without the store the strictest of the limiters' failure policies holds: a failure is reported if one of
/// them reports it; else the request is refused if one of them is closed; else those that decide locally
/// do.
///
/// # Errors
///
/// [`StoreError::Request`] if the limiters are not of one store, keys are not in one place, two requests
/// are of the same key of the same limiter, or one of the limiters is split; else as
/// [`RedisLimiter::try_acquire`].
///
/// # Examples
///
/// ```no_run
/// use tollgate::Limit;
/// use tollgate::redis::{OnFailure, RedisLimiter, Store, try_acquire_all};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Store::open("redis://127.0.0.1:6379")?;
/// let by_route = RedisLimiter::builder(&store, "route", Limit::per_minute(10)).on_failure(OnFailure::Open).build()?;
/// let in_all = RedisLimiter::builder(&store, "all", Limit::per_minute(100)).on_failure(OnFailure::Open).build()?;
///
/// let asks = [by_route.ask(&("ada", "/search"), 1), in_all.ask("ada", 1)];
/// let answer = try_acquire_all(&asks).await?;
/// if answer.whole.is_denied() {
///     println!("retry after {:?}", answer.whole.retry_after());
/// }
/// # Ok(())
/// # }
/// ```
pub async fn try_acquire_all(asks: &[Ask]) -> Result<Together, StoreError> {
    check(asks)?;
    let mut questions = Vec::with_capacity(asks.len());
    let mut refused: Option<Answer> = None;
    for ask in asks {
        match ask.limiter.question(&ask.named, ask.cost)? {
            Ok(question) => questions.push(question),
            // The longest wait of all, and never is longer than any.
            Err(answer) if answer.is_never() => return Ok(Together::of(answer)),
            Err(answer) => {
                let longest = refused
                    .take()
                    .filter(|known| known.retry_after() > answer.retry_after());
                refused = Some(longest.unwrap_or(answer));
            }
        }
    }
    if let Some(refused) = refused {
        return Ok(Together::of(refused));
    }
    let answer = match ask_store(Task::Acquire, &questions).await {
        Ok(said) => {
            let decisions: Vec<Decision> = said.iter().map(|said| said.whole).collect();
            let cost = asks
                .iter()
                .fold(0, |sum: u64, ask| sum.saturating_add(ask.cost));
            let whole = Decision::of_parts(&decisions, cost).unspent();
            let each = asks.iter().zip(&questions).zip(decisions);
            Together {
                whole: Answer::of_store(whole, 0),
                each: each
                    .map(|((ask, question), decision)| {
                        ask.limiter.learn(&ask.named, question, decision)
                    })
                    .collect(),
            }
        }
        Err(error) => without_store(asks, &questions, error)?,
    };
    for (ask, each) in asks.iter().zip(&answer.each) {
        ask.limiter.counters().count(each);
    }
    Ok(answer)
}

impl Together {
    fn of(whole: Answer) -> Self {
        Self {
            whole,
            each: Vec::new(),
        }
    }
}

/// What can be seen before anything is asked.
fn check(asks: &[Ask]) -> Result<(), StoreError> {
    let wrong = |why| Err(StoreError::Request { why });
    let Some(first) = asks.first() else {
        return wrong("there is nobody to be asked");
    };
    for ask in asks {
        if !ask.limiter.store().is(first.limiter.store()) {
            return wrong("limiters that are asked together must be on one store, with one prefix");
        }
        if ask.limiter.is_drawn() {
            return wrong(
                "a limiter that is split cannot be asked together with others: see pooled",
            );
        }
        if ask.cost == 0 {
            return wrong("a request that is put to several limiters must cost something");
        }
    }
    let keys: Vec<_> = asks
        .iter()
        .map(|ask| ask.limiter.stored_at_its_place(&ask.named))
        .collect();
    for (at, key) in keys.iter().enumerate() {
        if tag_of(key) != tag_of(&keys[0]) {
            return wrong("keys that are asked about together must have one place");
        }
        if keys[..at].contains(key) {
            return wrong("a key of a limiter is asked about twice in one request");
        }
    }
    Ok(())
}

/// The strictest of the policies.
fn without_store(
    asks: &[Ask],
    questions: &[Question],
    error: StoreError,
) -> Result<Together, StoreError> {
    let mut each = Vec::with_capacity(asks.len());
    let mut failed = None;
    for (ask, question) in asks.iter().zip(questions) {
        let decide = |local: &super::local::Local| local.decide(&ask.named.key, ask.cost);
        match ask
            .limiter
            .without_store(&question.rules, error.clone(), decide)
        {
            Ok(answer) => each.push(answer),
            Err(error) => failed = Some(error),
        }
    }
    let refused = failed.is_some() || each.iter().any(Answer::is_denied);
    if refused {
        // All or none: what was spent here goes back.
        for ((ask, question), answer) in asks.iter().zip(questions).zip(&mut each) {
            if let (Some(local), Some(decision)) = (&question.rules.local, answer.decision()) {
                local.refund(&ask.named.key, *decision);
                *answer = answer.unspent();
            }
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    // The longest wait, and `None` beside a refusal is for ever.
    let longest = each
        .iter()
        .filter(|answer| answer.is_denied())
        .max_by_key(|answer| (answer.is_never(), answer.retry_after()));
    let whole = match longest {
        Some(answer) => answer.unspent(),
        None => {
            let decided = each
                .iter()
                .filter(|answer| answer.basis() == Basis::Fallback);
            let fewest = decided.max_by_key(|answer| Reverse(answer.remaining()));
            match fewest {
                Some(answer) => answer.unspent(),
                None => Answer::assumed(Verdict::Allowed, Arc::new(error)),
            }
        }
    };
    Ok(Together { whole, each })
}

impl fmt::Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("limiter", &self.limiter.name())
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}
