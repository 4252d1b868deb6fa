//! Requests to several limiters at once, all or none: what the oracles make of them, by the
//! definition, and the comparison with the crate.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(unreachable_pub, reason = "a module of several test crates")]

use tollgate::{Decision, Gate, Limit, Standing, peek_all_each, refund_all, try_acquire_all_each};

use super::progress::Progress;
use super::reference::Kind;
use super::script::{Cost, Move, Script};
use super::subject::{Oracle, Subject, blank};

/// Everything that happens to several limiters with one clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Party {
    pub start: u64,
    pub limiters: Vec<(Kind, Vec<Limit>)>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// With room for so many decisions.
    TakeAll(Vec<Ask>, usize),
    PeekAll(Vec<Ask>, usize),
    /// Gives back what an earlier [`Step::TakeAll`] took, counted from the latest.
    RefundAll(usize),
    /// A request to one limiter by itself.
    Take(Ask),
    Evict(usize),
    Reset(usize, u64),
    /// In the periods of this limiter.
    Clock(usize, Move),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    pub limiter: usize,
    pub key: u64,
    pub cost: Cost,
}

/// The same with its cost as a number.
#[derive(Clone, Copy)]
struct Part {
    limiter: usize,
    key: u64,
    cost: u64,
}

/// # Errors
///
/// Where the first of the others differs from the oracles, and how.
pub fn agree(
    party: &Party,
    oracles: &mut [Oracle],
    others: &mut [Vec<Box<dyn Subject>>],
) -> Result<(), String> {
    let words = Script {
        start: party.start,
        lists: party
            .limiters
            .iter()
            .map(|(_, list)| list.clone())
            .collect(),
        ops: Vec::new(),
    };
    let mut progress = Progress::new(&words);
    let mut taken: Vec<(Vec<Part>, Vec<Decision>)> = Vec::new();
    for (position, step) in party.steps.iter().enumerate() {
        let now = progress.now;
        let same = |expected: &(Decision, Vec<Decision>), found: (Decision, Vec<Decision>)| {
            if *expected == found {
                Ok(())
            } else {
                Err(format!(
                    "step {position}, {step:?}, at {now}:\n by definition: {expected:?}\n \
                     the limiters: {found:?}"
                ))
            }
        };
        match step {
            Step::TakeAll(asks, room) => {
                let parts = parts(asks, &mut progress);
                let expected = filled(*room, take_all(oracles, &parts));
                for others in others.iter() {
                    same(&expected, call(others, &parts, *room, try_acquire_all_each))?;
                }
                progress.last = Some(expected.0);
                if expected.0.is_allowed() {
                    taken.push((parts, expected.1));
                }
            }
            Step::PeekAll(asks, room) => {
                let parts = parts(asks, &mut progress);
                let expected = filled(*room, gathered(look_at_all(oracles, &parts)));
                for others in others.iter() {
                    same(&expected, call(others, &parts, *room, peek_all_each))?;
                }
                progress.last = Some(expected.0);
            }
            Step::RefundAll(back) => {
                let which = taken.len().checked_sub(back + 1);
                if let Some((parts, each)) = which.map(|which| &taken[which]) {
                    for (part, decision) in parts.iter().zip(each) {
                        oracles[part.limiter].refund(part.key, *decision);
                    }
                    for others in others.iter() {
                        with_gates(others, parts, |gates| refund_all(gates, each));
                    }
                }
            }
            Step::Take(ask) => {
                let part = parts(&[*ask], &mut progress)[0];
                let take = |subject: &dyn Subject| {
                    (subject.try_acquire_n(part.key, part.cost), Vec::new())
                };
                let expected = take(&oracles[part.limiter]);
                progress.last = Some(expected.0);
                for others in others.iter() {
                    same(&expected, take(others[part.limiter].as_ref()))?;
                }
            }
            Step::Evict(which) => {
                let expected = oracles[*which].evict_idle();
                for others in others.iter() {
                    let found = others[*which].evict_idle();
                    if found != expected {
                        return Err(format!("step {position}: evicts {found}, not {expected}"));
                    }
                }
            }
            Step::Reset(which, key) => {
                oracles[*which].reset(*key);
                others.iter().for_each(|others| others[*which].reset(*key));
            }
            Step::Clock(which, step) => {
                progress.set_limits(*which);
                let now = progress.step(*step);
                oracles.iter_mut().for_each(|oracle| oracle.set_time(now));
                for other in others.iter_mut().flatten() {
                    other.set_time(now);
                }
            }
        }
    }
    Ok(())
}

fn parts(asks: &[Ask], progress: &mut Progress<'_>) -> Vec<Part> {
    let part = |ask: &Ask| {
        progress.set_limits(ask.limiter);
        Part {
            limiter: ask.limiter,
            key: ask.key,
            cost: progress.cost(ask.cost),
        }
    };
    asks.iter().map(part).collect()
}

/// Takes nothing for what can never fit. Otherwise from one after the other; when one refuses, what
/// the others gave is given back, and every one is asked what it would say to all that is wanted of
/// its key.
fn take_all(oracles: &[Oracle], parts: &[Part]) -> (Decision, Vec<Decision>) {
    let looked = look_at_all(oracles, parts);
    if looked.iter().any(Decision::is_never) {
        return gathered(looked);
    }
    let mut each = Vec::new();
    for part in parts {
        let decision = oracles[part.limiter].try_acquire_n(part.key, part.cost);
        if decision.is_allowed() {
            each.push(decision);
            continue;
        }
        let refused_by = each.len();
        for (part, decision) in parts.iter().zip(each) {
            oracles[part.limiter].refund(part.key, decision);
        }
        let mut each = look_at_all(oracles, parts);
        if each.iter().all(Decision::is_allowed) {
            each[refused_by] = decision;
        }
        return gathered(each);
    }
    gathered(each)
}

fn look_at_all(oracles: &[Oracle], parts: &[Part]) -> Vec<Decision> {
    let look = |part: &Part| {
        let wanted = parts
            .iter()
            .filter(|other| (other.limiter, other.key) == (part.limiter, part.key))
            .fold(0_u64, |sum, other| sum.saturating_add(other.cost));
        let decision = oracles[part.limiter].peek_n(part.key, wanted);
        let limit = decision.limit() as u32;
        let (verdict, reading) = (decision.verdict(), decision.reading());
        Decision::new(verdict, limit, part.cost, reading, decision.standing()).unspent()
    };
    parts.iter().map(look).collect()
}

/// The answer of the whole: the first that never allows it, or has the longest wait, decides;
/// where all allow it, the first with the fewest permits left.
fn gathered(each: Vec<Decision>) -> (Decision, Vec<Decision>) {
    let refusals = || each.iter().filter(|part| part.is_denied());
    let fewest = each.iter().map(Decision::remaining).min().unwrap();
    let decided = if let Some(never) = each.iter().position(Decision::is_never) {
        never
    } else if let Some(longest) = refusals().map(Decision::retry_after).max() {
        let decides = |part: &Decision| part.retry_after() == longest;
        each.iter().position(decides).unwrap()
    } else {
        let decides = |part: &Decision| part.remaining() == fewest;
        each.iter().position(decides).unwrap()
    };
    // One more is there when all that have the fewest have one more; a full one never has.
    let scarce = || each.iter().filter(|part| part.remaining() == fewest);
    let waits = || scarce().map(|part| part.standing().next_permit_after);
    let standing = Standing {
        remaining: fewest,
        next_permit_after: match waits().any(|wait| wait == 0) {
            true => 0,
            false => waits().max().unwrap(),
        },
        reset_after: each
            .iter()
            .map(|part| part.standing().reset_after)
            .max()
            .unwrap(),
    };
    let whole = Decision::new(
        each[decided].verdict(),
        decided as u32,
        each.iter()
            .fold(0_u64, |sum, part| sum.saturating_add(part.cost())),
        each.iter().map(Decision::reading).max().unwrap(),
        standing,
    );
    (whole.unspent(), each)
}

fn filled(room: usize, (whole, each): (Decision, Vec<Decision>)) -> (Decision, Vec<Decision>) {
    let mut slice = vec![blank(); room];
    for (place, own) in slice.iter_mut().zip(each) {
        *place = own;
    }
    (whole, slice)
}

fn call(
    limiters: &[Box<dyn Subject>],
    parts: &[Part],
    room: usize,
    call: fn(&[&dyn Gate], &mut [Decision]) -> Decision,
) -> (Decision, Vec<Decision>) {
    let mut slice = vec![blank(); room];
    let whole = with_gates(limiters, parts, |gates| call(gates, &mut slice));
    (whole, slice)
}

fn with_gates<R>(
    limiters: &[Box<dyn Subject>],
    parts: &[Part],
    call: impl FnOnce(&[&dyn Gate]) -> R,
) -> R {
    let gates: Vec<_> = parts
        .iter()
        .map(|part| limiters[part.limiter].gate(&part.key, part.cost))
        .collect();
    let gates: Vec<&dyn Gate> = gates.iter().map(Box::as_ref).collect();
    call(&gates)
}
