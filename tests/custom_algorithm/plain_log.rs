//! The sliding log again, written plainly against the whole trait: one time for each permit, in a
//! sorted list behind a mutex.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tollgate::{Algorithm, Decision, Gone, Limit, LimitError, Reading, Standing, Verdict};

/// N permits in any period, at eight bytes a permit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainLog;

#[derive(Debug)]
pub(crate) struct Times {
    spent: Vec<u64>,
    gone: Option<Gone>,
}

fn lock(state: &Mutex<Times>) -> MutexGuard<'_, Times> {
    state.lock().expect("nothing here panics")
}

fn live(state: &Mutex<Times>) -> Result<MutexGuard<'_, Times>, Gone> {
    let times = lock(state);
    match times.gone {
        None => Ok(times),
        Some(gone) => Err(gone),
    }
}

impl Times {
    fn judged_at(&self, at: Reading) -> u64 {
        at.now().max(self.spent.last().copied().unwrap_or(0))
    }

    /// The times in the period that ends at the judged time.
    fn in_sight(&self, rule: &Limit, at: Reading) -> &[u64] {
        let judged = self.judged_at(at);
        let first = self
            .spent
            .partition_point(|time| time + rule.period_ns() <= judged);
        &self.spent[first..]
    }

    fn wait(&self, rule: &Limit, at: Reading, cost: u64) -> u64 {
        let in_sight = self.in_sight(rule, at);
        let most = (rule.permits() - cost) as usize;
        match in_sight.len().checked_sub(most + 1) {
            Some(last) => in_sight[last] + rule.period_ns() - at.now(),
            None => 0,
        }
    }

    fn decision(&self, rule: &Limit, at: Reading, cost: u64, verdict: Verdict) -> Decision {
        let in_sight = self.in_sight(rule, at);
        let remaining = rule.permits() - in_sight.len() as u64;
        let standing = match in_sight.last() {
            None => Standing {
                remaining,
                next_permit_after: 0,
                reset_after: 0,
            },
            Some(newest) => Standing {
                remaining,
                next_permit_after: self.wait(rule, at, remaining + 1),
                reset_after: newest + rule.period_ns() - at.now(),
            },
        };
        Decision::new(verdict, 0, cost, self.judged_at(at), standing)
    }

    fn verdict(&self, rule: &Limit, at: Reading, cost: u64) -> Verdict {
        if cost > rule.permits() {
            return Verdict::Never;
        }
        match self.wait(rule, at, cost) {
            0 => Verdict::Allowed,
            _ if cost == 0 => Verdict::Allowed,
            wait => Verdict::Denied {
                retry_after: Duration::from_nanos(wait),
            },
        }
    }
}

impl Algorithm for PlainLog {
    type Rule = Limit;
    type State = Mutex<Times>;
    type Held = ();

    fn rule(&self, limits: &[Limit]) -> Result<Limit, LimitError> {
        match limits {
            [limit] => Ok(*limit),
            _ => Err(LimitError::Refused("a plain log takes one limit".into())),
        }
    }

    fn capacity(rule: &Limit) -> u64 {
        rule.permits()
    }

    fn fresh(_: &Limit) -> Mutex<Times> {
        Mutex::new(Times {
            spent: Vec::new(),
            gone: None,
        })
    }

    fn try_acquire(
        rule: &Limit,
        state: &Mutex<Times>,
        at: Reading,
        cost: u64,
    ) -> Result<Decision, Gone> {
        let mut times = live(state)?;
        let verdict = times.verdict(rule, at, cost);
        if verdict == Verdict::Allowed {
            let kept = times.in_sight(rule, at).to_vec();
            let judged = times.judged_at(at);
            times.spent = kept;
            times.spent.extend((0..cost).map(|_| judged));
        }
        Ok(times.decision(rule, at, cost, verdict))
    }

    fn peek(rule: &Limit, state: &Mutex<Times>, at: Reading, cost: u64) -> Result<Decision, Gone> {
        let times = live(state)?;
        Ok(times.decision(rule, at, cost, times.verdict(rule, at, cost)))
    }

    fn refund(
        _: &Limit,
        state: &Mutex<Times>,
        _: Reading,
        decision: &Decision,
    ) -> Result<(), Gone> {
        let mut times = live(state)?;
        if decision.is_allowed() {
            let end = times
                .spent
                .partition_point(|time| *time <= decision.reading());
            let begin = end.saturating_sub(decision.cost() as usize);
            times.spent.drain(begin..end);
        }
        Ok(())
    }

    fn clear(_: &Limit, state: &Mutex<Times>) {
        lock(state).spent.clear();
    }

    fn retire_if_idle(rule: &Limit, state: &Mutex<Times>, at: Reading) -> bool {
        let Ok(mut times) = live(state) else {
            return false;
        };
        let idle = times.in_sight(rule, at).is_empty();
        if idle {
            times.gone = Some(Gone::Retired);
        }
        idle
    }

    fn retire(state: &Mutex<Times>) -> Result<(), Gone> {
        live(state)?.gone = Some(Gone::Retired);
        Ok(())
    }

    fn is_retired(state: &Mutex<Times>) -> bool {
        lock(state).gone == Some(Gone::Retired)
    }

    fn hold(state: &Mutex<Times>) -> Result<(), Gone> {
        live(state)?.gone = Some(Gone::Moving);
        Ok(())
    }

    fn release(state: &Mutex<Times>, (): ()) {
        lock(state).gone = None;
    }

    fn moved(rule: &Limit, state: &Mutex<Times>, (): (), at: Reading, to: &Limit) -> Mutex<Times> {
        let times = lock(state);
        let judged = times.judged_at(at);
        let mut spent = times.in_sight(rule, at).to_vec();
        spent.retain(|time| time + to.period_ns() > judged);
        let dropped = spent.len().saturating_sub(to.permits() as usize);
        Mutex::new(Times {
            spent: spent.split_off(dropped),
            gone: None,
        })
    }
}
