//! What is kept beside a request until its answer is there: what each limit said of it.

use super::headers::{Headers, retry_after};
use super::policy::Answer;
use super::refusal::{Refusal, Refused};
use super::rule::{Limited, Limiter, Rule};
#[cfg(feature = "redis")]
use crate::decision::Verdict;
use crate::decision::{BLANK, Decision};
use http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, Response};
use std::sync::Arc;

/// So many limits are told of in place; who has more pays with an allocation.
const INLINE: usize = 4;

/// Marks the answers to requests that would have been refused by a layer that does more than shadow.
const SHADOW: HeaderName = HeaderName::from_static("x-ratelimit-shadow");

/// A decision, and what each limit had to say.
pub(super) struct Told {
    pub(super) decision: Decision,
    each: [Decision; INLINE],
    /// All of them, if they are more.
    many: Vec<Decision>,
    limits: usize,
    /// What a limiter in a store has answered, where it was one.
    #[cfg(feature = "redis")]
    pub(super) shared: Option<Result<crate::redis::Answer, crate::redis::StoreError>>,
}

impl Told {
    pub(super) fn ask<L: Limiter>(limiter: &L, key: &L::Key, cost: u64) -> Self {
        let mut each = [BLANK; INLINE];
        let mut many = Vec::new();
        let (decision, limits) = if limiter.limits_for_all().is_some_and(|all| all.len() == 1) {
            each[0] = limiter.ask(key, cost);
            (each[0], 1)
        } else {
            limiter.ask_each(key, cost, &mut each)
        };
        if limits > INLINE {
            // What is left and when there is more is the same a moment later, but for what others
            // have spent.
            many.resize(limits, BLANK);
            let _ = limiter.peek_each(key, cost, &mut many);
        }
        Self {
            decision,
            each,
            many,
            limits,
            #[cfg(feature = "redis")]
            shared: None,
        }
    }

    /// The decision, if anybody has decided and said how things stand.
    pub(super) fn decided(&self) -> Option<&Decision> {
        #[cfg(feature = "redis")]
        if let Some(shared) = &self.shared {
            return shared
                .as_ref()
                .ok()
                .and_then(crate::redis::Answer::decision);
        }
        Some(&self.decision)
    }

    /// Whether the request is refused because nobody could decide.
    fn is_unavailable(&self) -> bool {
        #[cfg(feature = "redis")]
        if let Some(shared) = &self.shared {
            return match shared {
                Ok(answer) => answer.basis() == crate::redis::Basis::Assumed,
                Err(_) => true,
            };
        }
        false
    }

    /// What a limiter in a store has answered, and what each limit said if that is known.
    #[cfg(feature = "redis")]
    pub(super) fn shared(
        shared: Result<(crate::redis::Answer, Vec<Decision>), crate::redis::StoreError>,
    ) -> Self {
        let (shared, mut many) = match shared {
            Ok((answer, each)) => (Ok(answer), each),
            Err(error) => (Err(error), Vec::new()),
        };
        let limits = many.len();
        let mut each = [BLANK; INLINE];
        if limits <= INLINE {
            each[..limits].copy_from_slice(&many);
            many = Vec::new();
        }
        let bare = |verdict| Decision::new(verdict, 0, 0, 0, BLANK.standing());
        let decision = match &shared {
            Ok(answer) => answer
                .decision()
                .copied()
                .unwrap_or_else(|| bare(answer.verdict())),
            Err(_) => bare(Verdict::Never),
        };
        Self {
            decision,
            each,
            many,
            limits,
            shared: Some(shared),
        }
    }

    /// What is told to a request that has waited and had its turn with this decision.
    #[cfg(feature = "tokio")]
    pub(super) fn turned<L: Limiter>(
        mut self,
        limiter: &L,
        key: &L::Key,
        decision: Decision,
    ) -> Self {
        self.look(limiter, key, decision.cost());
        if self.limits == 1 {
            self.each[0] = decision;
        }
        self.decision = decision;
        self
    }

    /// What is told to a request that has waited in vain: how things stand now, or, if they would
    /// allow it this very moment, how they stood when it came.
    #[cfg(feature = "tokio")]
    pub(super) fn still<L: Limiter>(mut self, limiter: &L, key: &L::Key, cost: u64) -> Self {
        let came = self.decision;
        let now = self.look(limiter, key, cost);
        self.decision = if now.is_denied() { now } else { came };
        if self.limits == 1 {
            self.each[0] = self.decision;
        }
        self
    }

    /// Each limit's own standing, and what the whole would be told now.
    #[cfg(feature = "tokio")]
    fn look<L: Limiter>(&mut self, limiter: &L, key: &L::Key, cost: u64) -> Decision {
        if self.limits > INLINE {
            limiter.peek_each(key, cost, &mut self.many)
        } else {
            limiter.peek_each(key, cost, &mut self.each)
        }
    }

    fn each(&self) -> &[Decision] {
        if self.limits > INLINE {
            &self.many
        } else {
            &self.each[..self.limits]
        }
    }
}

/// What was told, and by which limits.
pub(super) struct Note<L: Limited> {
    rules: Arc<[Rule<L>]>,
    rule: usize,
    held: L::Held,
    told: Told,
}

impl<L: Limited> Note<L> {
    pub(super) fn new(rules: &Arc<[Rule<L>]>, rule: usize, key: &L::Key, told: Told) -> Self {
        Self {
            held: rules[rule].limiter().hold(key),
            rules: rules.clone(),
            rule,
            told,
        }
    }

    /// The answer to a request that is refused.
    pub(super) fn refuse<B>(&self, refusal: &impl Refusal<B>, headers: Headers) -> Response<B> {
        self.with_answers(|decision, each| {
            let refused = Refused {
                decision: Some(decision),
                each,
                unavailable: self.told.is_unavailable(),
            };
            let mut response = refusal.refuse(&refused);
            #[cfg(feature = "redis")]
            if let Some(Err(error)) = &self.told.shared {
                response.extensions_mut().insert(error.clone());
            }
            let own = response.headers_mut();
            if let Some(seconds) = retry_after(decision, each)
                && !own.contains_key(RETRY_AFTER)
            {
                let _ = own.try_insert(RETRY_AFTER, HeaderValue::from(seconds));
            }
            headers.write_known(decision, each, self.policies(), own);
            response
        })
    }

    fn write(&self, dialect: Headers, headers: &mut HeaderMap) {
        self.with_answers(|decision, each| {
            dialect.write_known(decision, each, self.policies(), headers);
        });
    }

    fn policies(&self) -> Option<&HeaderValue> {
        self.rules[self.rule].policies()
    }

    fn with_answers<R>(&self, tell: impl FnOnce(&Decision, &[Answer<'_>]) -> R) -> R {
        let rule = &self.rules[self.rule];
        let limits = rule.limiter().limits(&self.held);
        let mut answers = rule
            .policy_names()
            .iter()
            .zip(limits)
            .zip(self.told.each())
            .map(|((name, limit), decision)| Answer {
                name,
                limit: *limit,
                decision: *decision,
            });
        let decision = &self.told.decision;
        let Some(first) = answers.next() else {
            return tell(decision, &[]);
        };
        if self.told.limits > INLINE {
            let all: Vec<_> = std::iter::once(first).chain(answers).collect();
            return tell(decision, &all);
        }
        let mut inline = [first; INLINE];
        let mut len = 1;
        for (place, answer) in inline[1..].iter_mut().zip(answers) {
            *place = answer;
            len += 1;
        }
        tell(decision, &inline[..len])
    }
}

/// What the inner service's answer is to carry.
pub(super) struct Marks<L: Limited> {
    pub(super) note: Option<(Note<L>, Headers)>,
    /// Whether the request was let through only because the layer shadows.
    pub(super) refused: bool,
}

impl<L: Limited> Marks<L> {
    pub(super) fn none() -> Self {
        Self {
            note: None,
            refused: false,
        }
    }

    pub(super) fn write(&self, headers: &mut HeaderMap) {
        if self.refused {
            // Without it, if the answer has no room for another header.
            let _ = headers.try_insert(SHADOW, HeaderValue::from_static("denied"));
        }
        if let Some((note, dialect)) = &self.note {
            note.write(*dialect, headers);
        }
    }
}
