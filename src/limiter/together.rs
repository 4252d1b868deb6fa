//! One request, several limiters: all or none.
//!
//! A request that needs a permit under (client, route) *and* one under (client) takes them one
//! after the other; when one refuses, what the others gave is refunded. So nothing is kept of a
//! request that is denied, and never more is admitted than each limiter allows, where what was given
//! back counts as not spent. What it gets wrong: for the moment between a taking and its refund, a
//! concurrent request may be refused because of permits that are about to be given back.
//!
//! Limits on one and the same key are better kept by [`AllOf`](crate::AllOf), which spends from
//! all of them in one step.

use super::Gate;
use crate::decision::{Decision, Standing};
use std::collections::hash_map::RandomState;
use std::sync::OnceLock;

/// Takes what every gate asks for, or nothing from any of them.
///
/// The limiters may be of different types and have different keys, and the same key may be asked
/// twice. [`Decision::limit`] is the position of the gate that decided: the one with the longest
/// wait, or with the fewest permits left. `retry_after` is the longest wait of all that would
/// refuse; it is *never* if one of them can never admit its part, one key's parts taken together.
///
/// Never more is admitted than each limiter allows, and a request that can never fit begins no key.
/// It is not one atomic step: a concurrent request may be refused because of permits that are about
/// to be given back.
///
/// To give back what was taken use [`try_acquire_all_each`] and [`refund_all`].
///
/// # Examples
///
/// ```
/// use tollgate::{Limit, RateLimiter, try_acquire_all};
///
/// let per_route = RateLimiter::<(u64, String)>::new(Limit::per_minute(10))?;
/// let per_client = RateLimiter::<u64>::new(Limit::per_minute(15))?;
///
/// let search = (7, "/search".to_owned());
/// for _ in 0..10 {
///     assert!(try_acquire_all(&[&per_route.ask(&search), &per_client.ask(&7)]).is_allowed());
/// }
/// let refused = try_acquire_all(&[&per_client.ask(&7), &per_route.ask(&search)]);
/// assert!(refused.is_denied());
/// assert_eq!(refused.limit(), 1, "the second of the two refused");
/// assert_eq!(per_client.peek(&7).remaining(), 5, "and the first kept nothing");
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[must_use = "a decision that nobody reads limits nothing"]
pub fn try_acquire_all(gates: &[&dyn Gate]) -> Decision {
    try_acquire_all_each(gates, &mut [])
}

/// As [`try_acquire_all`], and fills `each` with every gate's own decision.
///
/// Where the whole is allowed these are what [`refund_all`] takes. Where it is denied, a gate that
/// would have given its part says so.
#[must_use = "a decision that nobody reads limits nothing"]
pub fn try_acquire_all_each(gates: &[&dyn Gate], each: &mut [Decision]) -> Decision {
    with_slots(gates.len(), |parts| {
        if may_never_fit(gates) {
            look_at_all(gates, parts);
            if parts.iter().any(Decision::is_never) {
                return gather(parts, each);
            }
        }
        let Err(refusal) = take_all(gates, parts) else {
            return gather(parts, each);
        };
        look_at_all(gates, parts);
        if parts.iter().all(Decision::is_allowed) {
            // What refused has been given back by others meanwhile. It was refused all the same.
            let (index, decision) = refusal;
            parts[index] = decision;
        }
        gather(parts, each)
    })
}

/// Whether a part may be more than its gate can ever hold, one key's parts taken together. Nothing is
/// taken for such a request, not even to be given back: that would begin keys.
fn may_never_fit(gates: &[&dyn Gate]) -> bool {
    // More than any one key is asked for: the keys need not be told apart.
    let cost = total_cost(gates.iter().map(|gate| gate.cost()));
    gates.iter().any(|gate| gate.capacity() < cost)
}

fn total_cost(costs: impl Iterator<Item = u64>) -> u64 {
    costs.fold(0, u64::saturating_add)
}

/// Takes from every gate; or gives back what was taken, and tells which gate refused and how.
fn take_all(gates: &[&dyn Gate], parts: &mut [Decision]) -> Result<(), (usize, Decision)> {
    /// Gives back what has been taken when it is dropped: on a refusal, or when a gate panics, as
    /// a limit function may.
    struct Taken<'a> {
        gates: &'a [&'a dyn Gate],
        parts: &'a mut [Decision],
        count: usize,
    }

    impl Drop for Taken<'_> {
        fn drop(&mut self) {
            let given = self.gates.iter().zip(self.parts.iter());
            for (gate, decision) in given.take(self.count) {
                gate.give_back(*decision);
            }
        }
    }

    let mut taken = Taken {
        gates,
        parts,
        count: 0,
    };
    for (index, gate) in gates.iter().enumerate() {
        let decision = gate.take();
        if decision.is_denied() {
            return Err((index, decision));
        }
        taken.parts[index] = decision;
        taken.count += 1;
    }
    taken.count = 0;
    Ok(())
}

/// Answers what [`try_acquire_all`] would, and changes nothing.
#[must_use = "a decision that nobody reads limits nothing"]
pub fn peek_all(gates: &[&dyn Gate]) -> Decision {
    peek_all_each(gates, &mut [])
}

/// As [`peek_all`], and fills `each` with every gate's own answer.
#[must_use = "a decision that nobody reads limits nothing"]
pub fn peek_all_each(gates: &[&dyn Gate], each: &mut [Decision]) -> Decision {
    with_slots(gates.len(), |seen| {
        look_at_all(gates, seen);
        gather(seen, each)
    })
}

/// Gives back what an allowed request took from each gate: the decisions are those that
/// [`try_acquire_all_each`] filled in, in the same order.
///
/// # Examples
///
/// ```
/// use tollgate::{Limit, RateLimiter, UnkeyedLimiter, refund_all, try_acquire_all_each};
///
/// let per_client = RateLimiter::<u64>::new(Limit::per_minute(15))?;
/// let in_all = UnkeyedLimiter::new(Limit::per_minute(1_000))?;
/// let (client, all) = (per_client.ask_n(&7, 3), in_all.ask());
///
/// let mut each = [per_client.peek(&7); 2];
/// assert!(try_acquire_all_each(&[&client, &all], &mut each).is_allowed());
/// refund_all(&[&client, &all], &each);
/// assert_eq!(per_client.peek(&7).remaining(), 15);
/// assert_eq!(in_all.peek().remaining(), 1_000);
/// # Ok::<(), tollgate::LimitError>(())
/// ```
pub fn refund_all(gates: &[&dyn Gate], each: &[Decision]) {
    for (gate, decision) in gates.iter().zip(each) {
        gate.give_back(*decision);
    }
}

/// What every gate would answer if it were asked for all that the request takes from its key.
fn look_at_all(gates: &[&dyn Gate], seen: &mut [Decision]) {
    static HASHER: OnceLock<RandomState> = OnceLock::new();
    let hasher = HASHER.get_or_init(RandomState::new);
    for (slot, gate) in seen.iter_mut().zip(gates) {
        let key = gate.identity(hasher);
        let same = gates.iter().filter(|other| other.identity(hasher) == key);
        let cost = total_cost(same.map(|other| other.cost()));
        *slot = gate.look(cost).with_cost(gate.cost());
    }
}

/// The answer of the whole, from those of its parts.
fn gather(parts: &[Decision], each: &mut [Decision]) -> Decision {
    for (slot, part) in each.iter_mut().zip(parts) {
        *slot = *part;
    }
    let cost = total_cost(parts.iter().map(Decision::cost));
    // No single limiter gave it, so that none takes it back.
    let whole = Decision::of_parts(parts, cost).unspent();
    if parts.iter().any(Decision::is_untracked) {
        return whole.untracked();
    }
    whole
}

/// Calls `work` with so many decisions to fill, without an allocation for a few.
fn with_slots<R>(count: usize, work: impl FnOnce(&mut [Decision]) -> R) -> R {
    const FEW: usize = 8;
    let blank = Decision::after(
        0,
        0,
        0,
        0,
        Standing {
            remaining: u64::MAX,
            next_permit_after: 0,
            reset_after: 0,
        },
    );
    if count <= FEW {
        work(&mut [blank; FEW][..count])
    } else {
        work(&mut vec![blank; count])
    }
}
