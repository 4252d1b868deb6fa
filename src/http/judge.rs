//! What becomes of a request: found out step by step, so that one that waits can take the last step
//! later.

use super::extract::KeyExtractor;
use super::headers::Headers;
use super::hooks::{Choose, Cost, Observe, Outcome};
use super::layer::{Config, NoKey};
use super::note::{Marks, Note, Told};
use super::refusal::{Refusal, Refused};
use super::rule::{Limited, Limiter};
use http::{Request, Response};
use std::ops::Deref;

/// What becomes of a request.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart at once, and the future holds what is large in it"
)]
pub(super) enum Judged<L: Limited, B> {
    /// It goes on, and its answer is to carry these.
    Admitted(Marks<L>),
    Refused(Response<B>),
}

/// A request for which the limiter is to be asked.
pub(super) struct Case<'c, K, M> {
    pub(super) rule: usize,
    pub(super) key: Found<'c, K>,
    pub(super) cost: u64,
    /// What the observer has noted.
    pub(super) mark: M,
}

/// A request's own key, or the one that is common to those that have none.
pub(super) enum Found<'c, K> {
    Own(K),
    Common(&'c K),
}

impl<K> Deref for Found<'_, K> {
    type Target = K;

    fn deref(&self) -> &K {
        match self {
            Self::Own(key) => key,
            Self::Common(key) => key,
        }
    }
}

impl<L: Limited, E, C, R, O, F> Config<L, E, C, R, O, F> {
    pub(super) fn judge<ReqBody, ResBody>(
        &self,
        request: &mut Request<ReqBody>,
    ) -> Judged<L, ResBody>
    where
        L: Limiter,
        E: KeyExtractor<ReqBody, Key = L::Key>,
        C: Cost<ReqBody>,
        R: Choose<ReqBody>,
        O: Observe<L::Key>,
        F: Refusal<ResBody>,
    {
        match self.open(request) {
            Ok(case) => {
                let told = Told::ask(self.limiter(case.rule), &case.key, case.cost);
                self.close(case, told, request)
            }
            Err(judged) => judged,
        }
    }

    pub(super) fn limiter(&self, rule: usize) -> &L {
        self.rules[rule].limiter()
    }

    /// Finds the request's rule, key and cost.
    ///
    /// # Errors
    ///
    /// What becomes of it, if the limiter need not be asked.
    #[expect(
        clippy::result_large_err,
        reason = "it is no error, and taken apart at once"
    )]
    pub(super) fn open<ReqBody, ResBody>(
        &self,
        request: &Request<ReqBody>,
    ) -> Result<Case<'_, L::Key, O::Mark>, Judged<L, ResBody>>
    where
        E: KeyExtractor<ReqBody, Key = L::Key>,
        C: Cost<ReqBody>,
        R: Choose<ReqBody>,
        O: Observe<L::Key>,
        F: Refusal<ResBody>,
    {
        let Some(rule) = self.choose.choose(request) else {
            return Err(Judged::Admitted(Marks::none()));
        };
        let rule = rule.min(self.rules.len() - 1);
        let mark = self.observe.begin();
        let key = match (self.extractor.extract(request), &self.no_key) {
            (Some(key), _) => Found::Own(key),
            (None, NoKey::Common(key)) => Found::Common(key),
            (None, no_key) => {
                let refused = matches!(no_key, NoKey::Deny);
                self.tell(mark, rule, None, None, refused);
                return Err(if refused && !self.shadow {
                    Judged::Refused(self.refusal.refuse(&Refused::without_key()))
                } else {
                    Judged::Admitted(Marks {
                        note: None,
                        refused,
                    })
                });
            }
        };
        Ok(Case {
            rule,
            key,
            cost: self.cost.cost(request),
            mark,
        })
    }

    /// Lets the request through, or refuses it, as the limiter has told.
    pub(super) fn close<ReqBody, ResBody>(
        &self,
        case: Case<'_, L::Key, O::Mark>,
        told: Told,
        request: &mut Request<ReqBody>,
    ) -> Judged<L, ResBody>
    where
        O: Observe<L::Key>,
        F: Refusal<ResBody>,
    {
        let Case {
            rule, key, mark, ..
        } = case;
        let refused = told.decision.is_denied();
        self.tell(mark, rule, Some(&key), Some(&told), refused);
        if refused && !self.shadow {
            let note = Note::new(&self.rules, rule, &key, told);
            return Judged::Refused(note.refuse(&self.refusal, self.headers));
        }
        if let Some(post_paid) = self.post_paid {
            request
                .extensions_mut()
                .insert(post_paid(&self.rules[rule], &key));
        }
        let note = match self.headers {
            Headers::None => None,
            headers => Some((Note::new(&self.rules, rule, &key, told), headers)),
        };
        Judged::Admitted(Marks { note, refused })
    }

    fn tell(
        &self,
        mark: O::Mark,
        rule: usize,
        key: Option<&L::Key>,
        told: Option<&Told>,
        refused: bool,
    ) where
        O: Observe<L::Key>,
    {
        let outcome = Outcome {
            rule,
            key,
            decision: told.and_then(Told::decided),
            #[cfg(feature = "redis")]
            shared: told.and_then(|told| told.shared.as_ref()),
            refused,
            admitted: !refused || self.shadow,
        };
        self.observe.end(mark, &outcome);
    }
}
