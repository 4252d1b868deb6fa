//! How a case is written down, and how it is run.

use std::time::Duration;

use serde_json::Value;
use tollgate::{Decision, Limit, Verdict};

use crate::common::reference::Kind;
use crate::common::subject::Subject;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const S: u64 = 1_000 * MS;
pub(crate) const HOUR: u64 = 3_600 * S;
pub(crate) const DAY: u64 = 24 * HOUR;

pub(crate) fn limit(permits: u64, period_ns: u64) -> Limit {
    Limit::new(permits, Duration::from_nanos(period_ns)).unwrap()
}

/// One case: a limiter, built at the time of the first step, and what it must answer.
#[derive(Debug)]
pub(crate) struct Case {
    name: String,
    pub(crate) kind: Kind,
    pub(crate) limits: Vec<Limit>,
    steps: Vec<Step>,
    key: u64,
}

#[derive(Debug)]
struct Step {
    time: u64,
    key: u64,
    action: Action,
}

#[derive(Debug)]
enum Action {
    Ask(Ask),
    /// Gives back what this ask of the case, counted from 0, was allowed.
    Refund(usize),
    Reset,
    Refresh(Vec<Limit>),
    /// Expects so many keys to be forgotten.
    Evict(usize),
}

#[derive(Debug)]
struct Ask {
    cost: u64,
    peek: bool,
    answer: Answer,
    remaining: Option<u64>,
    limit: Option<usize>,
    next_permit_after: Option<u64>,
    reset_after: Option<u64>,
}

#[derive(Debug)]
enum Answer {
    Allowed,
    /// With the time to wait, if it is checked.
    Denied(Option<u64>),
    Never,
}

impl Case {
    pub(crate) fn new(name: &str, kind: Kind, limits: impl Into<Vec<Limit>>) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            limits: limits.into(),
            steps: Vec::new(),
            key: 0,
        }
    }

    /// The key of the steps that follow.
    pub(crate) fn key(mut self, key: u64) -> Self {
        self.key = key;
        self
    }

    pub(crate) fn allowed(self, time: u64, cost: u64, remaining: u64) -> Self {
        self.ask(time, cost, Answer::Allowed, Some(remaining))
    }

    pub(crate) fn denied(self, time: u64, cost: u64, remaining: u64, retry_after: u64) -> Self {
        let answer = Answer::Denied(Some(retry_after));
        self.ask(time, cost, answer, Some(remaining))
    }

    pub(crate) fn never(self, time: u64, cost: u64, remaining: u64) -> Self {
        self.ask(time, cost, Answer::Never, Some(remaining))
    }

    /// The last ask changes nothing.
    pub(crate) fn by_peek(mut self) -> Self {
        self.last_ask().peek = true;
        self
    }

    /// Which limit decided the last ask.
    pub(crate) fn by_limit(mut self, limit: usize) -> Self {
        self.last_ask().limit = Some(limit);
        self
    }

    /// When the last ask says that there is one more permit, and when the key is as new.
    pub(crate) fn more_after(mut self, next_permit: u64, reset: u64) -> Self {
        let ask = self.last_ask();
        ask.next_permit_after = Some(next_permit);
        ask.reset_after = Some(reset);
        self
    }

    pub(crate) fn refund(self, time: u64, ask: usize) -> Self {
        self.step(time, Action::Refund(ask))
    }

    pub(crate) fn reset(self, time: u64) -> Self {
        self.step(time, Action::Reset)
    }

    pub(crate) fn refresh(self, time: u64, limits: impl Into<Vec<Limit>>) -> Self {
        self.step(time, Action::Refresh(limits.into()))
    }

    pub(crate) fn evict(self, time: u64, forgotten: usize) -> Self {
        self.step(time, Action::Evict(forgotten))
    }

    fn ask(self, time: u64, cost: u64, answer: Answer, remaining: Option<u64>) -> Self {
        let ask = Ask {
            cost,
            peek: false,
            answer,
            remaining,
            limit: None,
            next_permit_after: None,
            reset_after: None,
        };
        self.step(time, Action::Ask(ask))
    }

    fn step(mut self, time: u64, action: Action) -> Self {
        let key = self.key;
        self.steps.push(Step { time, key, action });
        self
    }

    fn last_ask(&mut self) -> &mut Ask {
        match self.steps.last_mut().map(|step| &mut step.action) {
            Some(Action::Ask(ask)) => ask,
            other => panic!("{other:?} is no ask"),
        }
    }

    /// When the limiter is built.
    pub(crate) fn start(&self) -> u64 {
        self.steps[0].time
    }

    pub(crate) fn refreshes(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step.action, Action::Refresh(_)))
    }

    pub(crate) fn from_json(line: &str) -> Self {
        let json: Value = serde_json::from_str(line).unwrap();
        let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value}: no u64"));
        let kind = match json["algorithm"].as_str().unwrap() {
            "gcra" | "token_bucket" if json["limits"].as_array().unwrap().len() == 1 => {
                Kind::TokenBucket
            }
            "gcra" | "token_bucket" | "all_of" => Kind::AllOf,
            "fixed_window" => Kind::FixedWindow,
            "sliding_log" => Kind::SlidingLog,
            "sliding_counter" => Kind::SlidingCounter,
            other => panic!("{other} is no algorithm"),
        };
        let limits: Vec<Limit> = json["limits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|json| {
                let limit = limit(number(&json["permits"]), number(&json["period_ns"]));
                match json.get("burst") {
                    Some(burst) => limit.with_burst(number(burst)),
                    None => limit,
                }
            })
            .collect();

        let mut case = Self::new(json["id"].as_str().unwrap(), kind, limits);
        let mut keys = Vec::new();
        for step in json["steps"].as_array().unwrap() {
            let key = step["key"].as_str().unwrap();
            if !keys.contains(&key) {
                keys.push(key);
            }
            let position = keys.iter().position(|known| *known == key).unwrap();
            let expect = &step["expect"];
            let answer = match (&expect["allowed"], expect.get("retry_after_ns")) {
                (Value::Bool(true), _) => Answer::Allowed,
                (_, None) => Answer::Denied(None),
                (_, Some(Value::Null)) => Answer::Never,
                (_, Some(wait)) => Answer::Denied(Some(number(wait))),
            };
            let remaining = expect.get("remaining").map(number);
            case = case.key(position as u64).ask(
                number(&step["t_ns"]),
                number(&step["cost"]),
                answer,
                remaining,
            );
        }
        case
    }

    pub(crate) fn run(&self, subject: &mut dyn Subject) {
        let mut decisions = Vec::new();
        for (position, step) in self.steps.iter().enumerate() {
            let place = format!("{}, step {position}, {}", self.name, subject.name());
            subject.set_time(step.time);
            match &step.action {
                Action::Ask(ask) => {
                    let decision = match ask.peek {
                        true => subject.peek_n(step.key, ask.cost),
                        false => subject.try_acquire_n(step.key, ask.cost),
                    };
                    ask.check(&decision, &place);
                    decisions.push(decision);
                }
                Action::Refund(ask) => subject.refund(step.key, decisions[*ask]),
                Action::Reset => subject.reset(step.key),
                Action::Refresh(limits) => {
                    subject.set_limits(limits);
                    subject.refresh(step.key);
                }
                Action::Evict(forgotten) => {
                    assert_eq!(subject.evict_idle(), *forgotten, "{place}: keys forgotten");
                }
            }
        }
    }
}

impl Ask {
    fn check(&self, decision: &Decision, place: &str) {
        let verdict = decision.verdict();
        match (&self.answer, verdict) {
            (Answer::Allowed, Verdict::Allowed) | (Answer::Never, Verdict::Never) => {}
            (Answer::Denied(None), Verdict::Denied { .. }) => {}
            (Answer::Denied(Some(expected)), Verdict::Denied { retry_after })
                if u128::from(*expected) == retry_after.as_nanos() => {}
            (expected, _) => panic!("{place}: {expected:?} expected, {verdict:?} found"),
        }
        let standing = decision.standing();
        let expect = |what: &str, expected: Option<u64>, found: u64| {
            assert_eq!(expected.unwrap_or(found), found, "{place}: {what}");
        };
        expect("remaining", self.remaining, standing.remaining);
        expect(
            "limit",
            self.limit.map(|limit| limit as u64),
            decision.limit() as u64,
        );
        expect(
            "next permit after",
            self.next_permit_after,
            standing.next_permit_after,
        );
        expect("reset after", self.reset_after, standing.reset_after);
        assert_eq!(decision.cost(), self.cost, "{place}: cost");
    }
}
