//! What the log says of refusals.

use tollgate::http::Outcome;
use tracing::warn;

use crate::limits::Key;
use crate::sparse::Sparse;

pub(crate) struct Refusals(Sparse);

impl Refusals {
    pub(crate) fn new() -> Self {
        Self(Sparse::new())
    }

    pub(crate) fn log(&self, rule: &str, outcome: &Outcome<'_, Key>) {
        let Some(left_out) = self.0.line() else {
            return;
        };
        let Some(key) = outcome.key else {
            warn!(rule, left_out, "refused: nothing to count the request by");
            return;
        };
        let Some(decision) = outcome.decision else {
            let (retry_after, failure) = match outcome.shared {
                Some(Ok(answer)) => (answer.retry_after(), answer.failure()),
                Some(Err(error)) => (None, Some(error)),
                None => (None, None),
            };
            let failure = failure.map(tracing::field::display);
            warn!(rule, %key, ?retry_after, failure, left_out, "refused");
            return;
        };
        let retry_after = decision.retry_after();
        let (untracked, shadow) = (decision.is_untracked(), outcome.admitted);
        warn!(rule, %key, ?retry_after, untracked, shadow, left_out, "refused");
    }
}
