//! Plays a script to the oracle and to limiters, and compares all that they say.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(unreachable_pub, reason = "a module of several test crates")]

use super::progress::{Progress, retry_after};
use super::script::{Op, Script};
use super::subject::Subject;

/// # Errors
///
/// Where the first of them differs from the oracle, and how.
pub fn agree(
    script: &Script,
    oracle: &mut dyn Subject,
    others: &mut [Box<dyn Subject>],
) -> Result<(), String> {
    let mut progress = Progress::new(script);
    for (position, op) in script.ops.iter().enumerate() {
        let now = progress.now;
        let differs = |name: &str, expected: &dyn std::fmt::Debug, found: &dyn std::fmt::Debug| {
            format!(
                "step {position}, {op:?}, at {now}:\n the oracle: {expected:?}\n {name}: {found:?}"
            )
        };
        // What all of them answer, or where they differ.
        macro_rules! same {
            (|$subject:ident| $call:expr) => {{
                let expected = {
                    let $subject = &mut *oracle;
                    $call
                };
                for other in others.iter_mut() {
                    let found = {
                        let $subject = other.as_mut();
                        $call
                    };
                    if expected != found {
                        return Err(differs(other.name(), &expected, &found));
                    }
                }
                expected
            }};
        }

        match *op {
            Op::TryAcquire(key, cost) => {
                let cost = progress.cost(cost);
                let decision = same!(|subject| subject.try_acquire_n(key, cost));
                if retry_after(&decision) == Some(0) {
                    return Err(format!("step {position}, {op:?}: a wait of 0 ns"));
                }
                progress.answered(key, decision);
            }
            Op::Peek(key, cost) => {
                let cost = progress.cost(cost);
                let decision = same!(|subject| subject.peek_n(key, cost));
                progress.last = Some(decision);
            }
            Op::TryAcquireEach(key, cost, room) => {
                let cost = progress.cost(cost);
                let each = same!(|subject| subject.try_acquire_each(key, cost, room));
                progress.answered(key, each.whole);
            }
            Op::PeekEach(key, cost, room) => {
                let cost = progress.cost(cost);
                let each = same!(|subject| subject.peek_each(key, cost, room));
                progress.last = Some(each.whole);
            }
            Op::Charge(key, cost) => {
                let cost = progress.cost(cost);
                let decision = same!(|subject| subject.charge(key, cost));
                progress.last = Some(decision);
            }
            Op::Refund(back) => {
                let which = progress.answers.len().checked_sub(back + 1);
                if let Some((key, decision)) = which.map(|which| progress.answers[which]) {
                    same!(|subject| subject.refund(key, decision));
                }
            }
            Op::Reset(key) => same!(|subject| subject.reset(key)),
            Op::Limits(which) => {
                let limits = progress.set_limits(which);
                same!(|subject| subject.set_limits(limits));
            }
            Op::Refresh(key, which) => {
                let limits = progress.set_limits(which);
                same!(|subject| subject.set_limits(limits));
                same!(|subject| subject.refresh(key));
            }
            Op::RefreshAll(which) => {
                let limits = progress.set_limits(which);
                same!(|subject| subject.set_limits(limits));
                same!(|subject| subject.refresh_all());
            }
            Op::Evict => {
                same!(|subject| subject.evict_idle());
            }
            Op::Clock(step) => {
                let now = progress.step(step);
                same!(|subject| subject.set_time(now));
            }
        }
        for other in others.iter().filter(|other| other.tracked_keys().is_some()) {
            let (expected, found) = (oracle.tracked_keys(), other.tracked_keys());
            if expected != found {
                let name = format!("keys of {}", other.name());
                return Err(differs(&name, &expected, &found));
            }
        }
    }
    Ok(())
}
