//! Requests to several limiters, one party for each situation.

use crate::common::party::{Ask, Party, Step};
use crate::common::reference::Kind;
use crate::common::script::{Cost, KINDS, Move, Span};

/// All of them, with their names.
pub(crate) fn all() -> Vec<(String, Party)> {
    let every_kind = KINDS.map(|kind| (kind, "5/s"));
    let take = |asks: &[Ask]| Step::TakeAll(asks.to_vec(), asks.len());
    let peek = |asks: &[Ask]| Step::PeekAll(asks.to_vec(), asks.len());
    let (first, second, third) = (ask(0, 0, 1), ask(1, 0, 2), ask(2, 0, 1));
    let wait = |which, span| Step::Clock(which, Move::Forward(span));

    let mut parties = vec![
        (
            "refused-by-the-last",
            party(
                &[
                    (Kind::SlidingLog, "9/s"),
                    (Kind::SlidingCounter, "7/s"),
                    (Kind::FixedWindow, "2/s"),
                ],
                &[
                    take(&[first, second, third]),
                    take(&[first, second, third]),
                    take(&[first, second, third]),
                    wait(2, Span::RetryAfter(-1)),
                    take(&[first, second, third]),
                    wait(2, Span::Exactly(1)),
                    take(&[third, second, first]),
                    peek(&[first, second]),
                ],
            ),
        ),
        (
            "one-key-twice",
            party(
                &[(Kind::TokenBucket, "5/s"), (Kind::AllOf, "4/s")],
                &[
                    take(&[ask(0, 0, 2), ask(0, 0, 2), ask(1, 0, 1)]),
                    take(&[ask(0, 0, 1), ask(0, 0, 1), ask(0, 1, 5)]),
                    peek(&[ask(0, 0, 3), ask(0, 0, 3)]),
                    wait(0, Span::RetryAfter(0)),
                    take(&[ask(0, 0, 1), ask(1, 0, 0), ask(0, 0, 1)]),
                ],
            ),
        ),
        (
            "given-back-later",
            party(
                &[(Kind::SlidingLog, "5/s"), (Kind::FixedWindow, "5/s")],
                &[
                    take(&[ask(0, 0, 4), ask(1, 0, 4)]),
                    wait(0, Span::Periods(128)),
                    take(&[ask(0, 0, 1), ask(1, 0, 1)]),
                    Step::RefundAll(1),
                    peek(&[ask(0, 0, 5), ask(1, 0, 5)]),
                    Step::RefundAll(0),
                    wait(1, Span::ResetAfter(0)),
                    Step::Evict(0),
                    Step::Evict(1),
                    Step::RefundAll(0),
                    take(&[ask(0, 0, 5), ask(1, 0, 5)]),
                ],
            ),
        ),
        (
            "never-beside-a-wait",
            party(
                &[(Kind::FixedWindow, "2/s"), (Kind::TokenBucket, "9/s")],
                &[
                    Step::Take(ask(0, 0, 2)),
                    take(&[ask(0, 0, 1), ask(1, 0, 10)]),
                    take(&[ask(1, 0, 10), ask(0, 0, 1)]),
                    take(&[capacity(0), capacity(1)]),
                    Step::Reset(0, 0),
                    take(&[capacity(0), capacity(1)]),
                    Step::TakeAll(vec![capacity(1), capacity(0)], 1),
                    Step::PeekAll(vec![capacity(1), capacity(0)], 4),
                ],
            ),
        ),
        (
            "clock-back",
            party(
                &[(Kind::SlidingCounter, "3/s"), (Kind::SlidingLog, "2/s")],
                &[
                    wait(0, Span::Periods(512)),
                    take(&[ask(0, 0, 1), ask(1, 0, 1)]),
                    Step::Clock(0, Move::Back(Span::Periods(256))),
                    take(&[ask(0, 0, 1), ask(1, 0, 1)]),
                    take(&[ask(0, 0, 1), ask(1, 0, 1)]),
                    Step::RefundAll(0),
                    Step::Clock(1, Move::Zero),
                    take(&[ask(0, 0, 1), ask(1, 0, 1)]),
                    Step::Evict(1),
                ],
            ),
        ),
    ];
    for (which, name) in ["bucket", "window", "log", "counter"].iter().enumerate() {
        let limiters = &every_kind[which..];
        let asks: Vec<_> = (0..limiters.len().min(4))
            .map(|which| ask(which, 0, 2))
            .collect();
        let steps = [
            take(&asks),
            take(&asks),
            take(&asks),
            wait(0, Span::RetryAfter(0)),
            take(&asks),
            Step::RefundAll(1),
            peek(&asks),
        ];
        parties.push((name, party(&limiters[..limiters.len().min(4)], &steps)));
    }
    let named = |(name, party): (&str, Party)| (name.to_owned(), party);
    parties.into_iter().map(named).collect()
}

fn party(limiters: &[(Kind, &str)], steps: &[Step]) -> Party {
    Party {
        start: 1_764_500_000_000_000_000,
        limiters: limiters
            .iter()
            .map(|(kind, limit)| (*kind, vec![limit.parse().unwrap()]))
            .collect(),
        steps: steps.to_vec(),
    }
}

fn ask(limiter: usize, key: u64, cost: u64) -> Ask {
    Ask {
        limiter,
        key,
        cost: Cost::Exactly(cost),
    }
}

fn capacity(limiter: usize) -> Ask {
    Ask {
        limiter,
        key: 0,
        cost: Cost::Capacity(0),
    }
}
