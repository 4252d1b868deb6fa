//! The token bucket's steps, word for word, against the contract's formulae and exact fractions.

use super::plain::{self, Bucket as Plain, THIRTY_YEARS, Terms, big};
use super::{draw, limit, random};
use crate::algorithm::token_bucket::{Bucket, TokenBucket};
use crate::algorithm::{OneWord, Reading};
use num_bigint::BigInt;
use num_rational::BigRational;

/// One bucket twice: as it is computed, and as it is defined.
struct Twin {
    rule: Bucket,
    plain: Plain,
    start: u64,
    word: u64,
    /// `full` where nothing is ever rounded, after the same spends.
    exact: BigRational,
}

impl Twin {
    fn new(terms: Terms, start: u64) -> Self {
        Self {
            rule: Bucket::new(&limit(&terms)).expect("a limit that is kept"),
            plain: Plain::new(terms).expect("a limit that is kept"),
            start,
            word: 0,
            exact: plain::fraction(0, 1),
        }
    }

    fn elapsed(&self, now: u64) -> u64 {
        now.max(self.start)
            .min(self.start.saturating_add(THIRTY_YEARS))
            - self.start
    }

    fn tau(&self, now: u64) -> BigInt {
        self.plain.tau(self.elapsed(now))
    }

    /// Asks at `now`, and compares all that is answered. Returns whether it was allowed.
    fn ask(&mut self, now: u64, cost: u64) -> bool {
        let at = Reading::new(self.start, now);
        let (full, tau) = (big(self.word), self.tau(now));
        let terms = self.plain.terms;
        let context = format!(
            "{cost} of {} at {now} from {}: {terms:?}",
            self.word, self.start
        );

        let left = TokenBucket::remaining(&self.rule, self.word, at);
        assert_eq!(big(left), self.plain.remaining(&full, &tau), "{context}");

        let spent = TokenBucket::spend(&self.rule, self.word, at, cost);
        let defined = self.plain.spend(&full, &tau, cost);
        assert_eq!(spent.map(big), defined, "{context}");

        let reset = TokenBucket::reset_after(&self.rule, self.word, at);
        self.is_first(now, reset, &full, &context);
        match spent {
            Some(next) => {
                assert!(next <= TokenBucket::LARGEST, "{context}");
                self.word = next;
                let flowed = self.plain.flowed(self.elapsed(now));
                let from = self.exact.clone().max(flowed);
                self.exact = from + self.plain.permits(cost);
            }
            None => {
                let wait = TokenBucket::retry_after(&self.rule, self.word, at, cost);
                assert!(wait > 0, "{context}");
                self.is_first(now, wait, &self.plain.allowed_at(&full, cost), &context);
            }
        }
        spent.is_some()
    }

    /// Checks that `wait` is the smallest d with τ(now + d) ≥ `target`. At the end of the 30 years,
    /// where τ stands still, it is told as if time went on, and never as 0.
    fn is_first(&self, now: u64, wait: u64, target: &BigInt, context: &str) {
        let reached = |wait: u64| self.plain.tau(big(self.elapsed(now)) + wait) >= *target;
        assert!(reached(wait), "not after {wait} ns: {context}");
        assert!(
            wait == 0 || !reached(wait - 1),
            "after {wait} - 1 ns: {context}"
        );
    }
}

/// Times within 30 years of the start, and some beyond; often a step of what a permit takes.
fn time_of(next: &mut impl FnMut() -> u64, twin: &Twin, last: u64, cost: u64) -> u64 {
    let terms = twin.plain.terms;
    match next() % 20 {
        0..3 => last,
        3..6 => last.saturating_add(terms.period / terms.permits),
        6..10 => last.saturating_add(plain::of_any_length(next()) % terms.period),
        // Where the request is just allowed, or just not.
        10..14 => {
            let at = Reading::new(twin.start, last);
            let wait = TokenBucket::retry_after(&twin.rule, twin.word, at, cost);
            last.saturating_add(wait) - next() % 2
        }
        // Back, too.
        14 => last.saturating_sub(plain::of_any_length(next())),
        15 => u64::MAX - next() % 2,
        _ => twin
            .start
            .saturating_add(plain::of_any_length(next()) % (THIRTY_YEARS + 1)),
    }
}

fn start_of(next: &mut impl FnMut() -> u64) -> u64 {
    match next() % 4 {
        0 => 0,
        1 => u64::MAX - THIRTY_YEARS,
        _ => next(),
    }
}

fn cost_of(next: &mut impl FnMut() -> u64, burst: u64) -> u64 {
    match next() % 4 {
        0 => 1,
        1 => burst,
        _ => 1 + plain::of_any_length(next()) % burst,
    }
}

#[test]
fn every_step_is_the_contract_s_formula_bit_for_bit() {
    let mut next = random();
    let (mut allowed, mut denied) = (0, 0);
    for count in 0..3_000 {
        let mut twin = Twin::new(draw(&mut next, count), start_of(&mut next));
        let mut now = twin.start;
        for _ in 0..40 {
            let cost = cost_of(&mut next, twin.plain.terms.burst);
            now = time_of(&mut next, &twin, now, cost);
            match twin.ask(now, cost) {
                true => allowed += 1,
                false => denied += 1,
            }
        }
    }
    assert!(
        allowed > 20_000 && denied > 20_000,
        "{allowed} allowed, {denied} denied"
    );
}

#[test]
fn full_stays_within_one_unit_of_exact_fractions_however_long_it_is_spent() {
    let mut next = random();
    for count in 0..300 {
        let mut twin = Twin::new(draw(&mut next, count), start_of(&mut next));
        let mut now = twin.start;
        for _ in 0..400 {
            let cost = cost_of(&mut next, twin.plain.terms.burst);
            now = time_of(&mut next, &twin, now, cost);
            let _ = twin.ask(now, cost);
            let behind = &twin.exact - BigRational::from(big(twin.word));
            assert!(
                behind >= plain::fraction(0, 1) && behind < plain::fraction(1, 1),
                "{behind} after {now}: {:?}",
                twin.plain.terms
            );
        }
    }
}

#[test]
fn a_request_is_judged_as_by_exact_fractions_to_the_nanosecond() {
    let mut next = random();
    let mut beside = 0;
    for count in 0..1_000 {
        let mut twin = Twin::new(draw(&mut next, count), start_of(&mut next));
        let mut now = twin.start;
        for _ in 0..40 {
            let cost = cost_of(&mut next, twin.plain.terms.burst);
            let last = twin.start.saturating_add(THIRTY_YEARS);
            now = time_of(&mut next, &twin, now, cost).clamp(twin.start, last);
            let before = twin.exact.clone();
            let admits = |elapsed: BigInt| {
                let flowed = twin.plain.flowed(elapsed);
                let next = before.clone().max(flowed.clone()) + twin.plain.permits(cost);
                next - flowed <= BigRational::from(twin.plain.capacity())
            };
            let elapsed = big(twin.elapsed(now));
            let (earlier, then, later) = (
                admits(&elapsed - 1),
                admits(elapsed.clone()),
                admits(elapsed + 1),
            );
            let allowed = twin.ask(now, cost);
            assert!(!allowed || later, "more than 1 ns early at {now}");
            assert!(allowed || !earlier, "more than 1 ns late at {now}");
            beside += u32::from(allowed != then);
        }
    }
    assert!(
        beside > 10,
        "{beside} requests lay between the two, where rounding decides"
    );
}

#[test]
fn a_refund_is_the_contract_s_formula_bit_for_bit() {
    let mut next = random();
    for count in 0..20_000 {
        let twin = Twin::new(draw(&mut next, count), start_of(&mut next));
        let now = time_of(&mut next, &twin, twin.start, 1);
        let burst = twin.plain.terms.burst;
        let most = twin.plain.tau(THIRTY_YEARS) + twin.plain.capacity();
        let near = twin.tau(now) + (big(next()) % twin.plain.capacity());
        let word = if count % 4 == 0 {
            big(next()) % most
        } else {
            near
        };
        // A decision under an earlier limit can have spent more than the bucket now holds.
        let cost = match count % 5 {
            0 => next(),
            _ => cost_of(&mut next, burst),
        };

        let tau = twin.tau(now);
        let back = if word > tau {
            (&word - twin.plain.permits(cost.min(burst))).max(tau)
        } else {
            word.clone()
        };
        let word = u64::try_from(word).expect("a word");
        let refunded = twin.rule.refund(word, Reading::new(twin.start, now), cost);
        assert_eq!(
            big(refunded),
            back,
            "{cost} to {word} at {now}: {:?}",
            twin.plain.terms
        );
    }
}

#[test]
fn a_debt_is_brought_to_another_limit_in_whole_permits_rounded_up() {
    let mut next = random();
    for count in 0..20_000 {
        let twin = Twin::new(draw(&mut next, count), start_of(&mut next));
        let other = Twin::new(draw(&mut next, count / 2), twin.start);
        let now = time_of(&mut next, &twin, twin.start, 1);
        let capacity = twin.plain.capacity();
        let most = twin.plain.tau(THIRTY_YEARS) + &capacity;
        let word = match count % 4 {
            0 => twin.tau(now) + &capacity,
            // Whatever a later reading has left.
            1 => big(next()) % most,
            _ => twin.tau(now) + big(next() >> (count % 64)) % &capacity,
        };

        // Where more is owed than the bucket holds: from the first time at which it is not.
        let all_owed_at = plain::ceil(
            (&word - &capacity).max(big(0)) * twin.plain.terms.period,
            twin.plain.permits(twin.plain.terms.permits),
        );
        let elapsed = if &word - twin.tau(now) > capacity {
            all_owed_at
        } else {
            big(twin.elapsed(now))
        };
        let owed = (&word - twin.plain.tau(elapsed.clone())).max(big(0));
        let permits = plain::ceil(owed, twin.plain.permits(1));
        let permits = permits.min(big(other.plain.terms.burst));
        let brought = other.plain.tau(elapsed) + (permits << other.plain.f);
        let word = u64::try_from(word).expect("a word");
        let at = Reading::new(twin.start, now);
        let converted = twin.rule.convert(word, at, &other.rule);
        assert_eq!(big(converted), brought, "{word} at {now}");
    }
}
