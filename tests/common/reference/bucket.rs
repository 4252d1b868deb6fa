//! Token bucket, and each limit of `AllOf`.
//!
//! Time is counted in fractions of a permit, `2^f` to the permit: `τ(t)` of them have flowed in
//! since the start. `full` is the τ at which the bucket will be full again.

use tollgate::{Decision, Limit};

use super::{Account, THIRTY_YEARS, first_wait};

#[derive(Clone, Debug)]
pub struct Bucket {
    limit: Limit,
    start: u64,
    /// `2^f`.
    permit: u128,
    full: u128,
}

pub fn supports(limit: &Limit) -> bool {
    permit(limit).is_some()
}

/// `2^f`: f is the largest number with which 30 years and one burst stay below 2⁶⁴ − 2. None if
/// there is no such f, or if one fraction takes more than a nanosecond to flow in.
fn permit(limit: &Limit) -> Option<u128> {
    let permits = u128::from(limit.permits());
    let period = u128::from(limit.period_ns());
    let most = (permits * THIRTY_YEARS).div_ceil(period) + u128::from(limit.burst());
    let fits = |permit: &u128| {
        most.checked_mul(*permit)
            .is_some_and(|most| most < (1 << 64) - 2)
    };

    let permit = (0..64).rev().map(|f| 1 << f).find(fits)?;
    (period <= permits * permit).then_some(permit)
}

impl Bucket {
    pub fn new(limit: Limit, start: u64) -> Self {
        let permit = permit(&limit).expect("a limit that the token bucket keeps");
        Self {
            limit,
            start,
            permit,
            full: 0,
        }
    }

    /// τ. Readings past the 30 years count as 30 years; a wait after them is told as if time went
    /// on.
    fn tau(&self, now: u64, wait: u128) -> u128 {
        self.tau_after(u128::from(now - self.start).min(THIRTY_YEARS) + wait)
    }

    fn tau_after(&self, elapsed: u128) -> u128 {
        let fractions = u128::from(self.limit.permits()) * self.permit;
        // Where the product does not fit, τ is past every `full` that there can be, cut or not.
        elapsed.saturating_mul(fractions) / u128::from(self.limit.period_ns())
    }

    fn capacity(&self) -> u128 {
        u128::from(self.limit.burst()) * self.permit
    }
}

impl Account for Bucket {
    fn limit(&self) -> Limit {
        self.limit
    }

    fn judged(&self, now: u64) -> u64 {
        now
    }

    fn admits(&self, now: u64, wait: u128, cost: u64) -> bool {
        let tau = self.tau(now, wait);
        let next = self.full.max(tau) + u128::from(cost) * self.permit;
        next - tau <= self.capacity()
    }

    fn remaining(&self, now: u64) -> u64 {
        let tau = self.tau(now, 0);
        let owed = self.full.max(tau) - tau;
        // A reading from before the last spend can find more owed than the bucket holds.
        let left = self.capacity().saturating_sub(owed) / self.permit;
        left.try_into().expect("at most the burst")
    }

    fn is_idle(&self, now: u64, wait: u128) -> bool {
        self.tau(now, wait) >= self.full
    }

    fn spend(&mut self, now: u64, cost: u64) {
        self.full = self.full.max(self.tau(now, 0)) + u128::from(cost) * self.permit;
    }

    fn charge(&mut self, now: u64, cost: u64) {
        let tau = self.tau(now, 0);
        let owed = self.full.max(tau) - tau;
        // One burst that it held, and one that it may owe.
        let room = (2 * self.capacity())
            .min((1 << 64) - 1)
            .saturating_sub(owed)
            / self.permit;
        let charged = room.min(u128::from(cost)) * self.permit;
        // The two largest words are kept for other uses.
        self.full = (self.full.max(tau) + charged).min((1 << 64) - 3);
    }

    fn refund(&mut self, now: u64, spent: &Decision) {
        let tau = self.tau(now, 0);
        let cost = u128::from(spent.cost().min(self.limit.burst()));
        if self.full > tau {
            self.full = self.full.saturating_sub(cost * self.permit).max(tau);
        }
    }

    fn refreshed(&self, limit: Limit, now: u64) -> Box<dyn Account> {
        // More can be owed than the bucket holds, by a debt or by a reading from before the last
        // spend: what is owed is then what it holds, and from the time at which that is so.
        let owes = |wait| self.full.saturating_sub(self.tau(now, wait));
        let wait = match owes(0) <= self.capacity() {
            true => 0,
            false => u128::from(first_wait(|wait| owes(wait) <= self.capacity())),
        };
        // A debt may reach past the 30 years, after which nothing comes back.
        let elapsed = u128::from(now - self.start).min(THIRTY_YEARS) + wait;
        let elapsed = elapsed.min(THIRTY_YEARS);
        let owed = self.full.saturating_sub(self.tau_after(elapsed));
        let owed = owed.min(self.capacity()).div_ceil(self.permit);
        let mut bucket = Self::new(limit, self.start);
        bucket.full =
            bucket.tau_after(elapsed) + owed.min(u128::from(limit.burst())) * bucket.permit;
        Box::new(bucket)
    }

    fn copied(&self) -> Box<dyn Account> {
        Box::new(self.clone())
    }
}
