//! What the words of a script mean at the moment at which they are read.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(unreachable_pub, reason = "a module of several test crates")]

use tollgate::{Decision, Limit};

use super::script::{Cost, Move, Script, Span};

/// Where a script has got to: what its words *the last answer*, *the capacity*, *the next edge*
/// mean now.
pub struct Progress<'a> {
    script: &'a Script,
    pub now: u64,
    limits: &'a [Limit],
    /// The last answer, a peek's or a request's.
    pub last: Option<Decision>,
    /// Every answer to a request so far, with its key.
    pub answers: Vec<(u64, Decision)>,
}

impl<'a> Progress<'a> {
    pub fn new(script: &'a Script) -> Self {
        Self {
            script,
            now: script.start,
            limits: &script.lists[0],
            last: None,
            answers: Vec::new(),
        }
    }

    pub fn answered(&mut self, key: u64, decision: Decision) {
        self.last = Some(decision);
        self.answers.push((key, decision));
    }

    pub fn set_limits(&mut self, which: usize) -> &'a [Limit] {
        self.limits = &self.script.lists[which % self.script.lists.len()];
        self.limits
    }

    pub fn cost(&self, cost: Cost) -> u64 {
        let remaining = self.last.map_or(1, |last| last.remaining());
        let capacity = self.limits.iter().map(Limit::burst).min().unwrap();
        match cost {
            Cost::Exactly(cost) => cost,
            Cost::Remaining(more) => remaining.saturating_add_signed(more),
            Cost::HalfOfRemaining => remaining / 2,
            Cost::Capacity(more) => capacity.saturating_add_signed(more),
        }
    }

    pub fn step(&mut self, step: Move) -> u64 {
        let period = self.limits[0].period_ns();
        self.now = match step {
            Move::Forward(span) => self.now.saturating_add(self.span(span)),
            Move::Back(span) => self.now.saturating_sub(self.span(span)),
            Move::Edge(more) => (self.now / period)
                .saturating_add(1)
                .saturating_mul(period)
                .saturating_add_signed(more),
            Move::End(before) => self.now.max(u64::MAX - before),
            Move::Zero => 0,
            Move::Start(more) => self.script.start.saturating_add_signed(more),
        };
        self.now
    }

    fn span(&self, span: Span) -> u64 {
        let of_last = |wait: fn(&Decision) -> u64, more| {
            self.last
                .map_or(0, |last| wait(&last))
                .saturating_add_signed(more)
        };
        match span {
            Span::Exactly(span) => span,
            Span::RetryAfter(more) => of_last(|last| retry_after(last).unwrap_or(0), more),
            Span::NextPermitAfter(more) => of_last(|last| last.standing().next_permit_after, more),
            Span::ResetAfter(more) => of_last(|last| last.standing().reset_after, more),
            Span::Periods(parts) => {
                let period = u128::from(self.limits[0].period_ns());
                let span = period * u128::from(parts) / 256;
                span.try_into().unwrap_or(u64::MAX)
            }
        }
    }
}

pub fn retry_after(decision: &Decision) -> Option<u64> {
    let wait = decision.retry_after()?.as_nanos();
    Some(wait.try_into().expect("as told in a u64"))
}
