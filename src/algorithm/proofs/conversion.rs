//! From nanoseconds to units and back, against plain division in 128 bits.

use super::plain::{self, Bucket, THIRTY_YEARS, Terms, big, ceil};
use super::{LIMITS, POINTS_EACH, draw, edge_limits, random, units};
use crate::algorithm::Reading;
use crate::algorithm::units::Units;
use num_bigint::BigInt;

/// τ and its inverse by plain division, for one limit.
pub(super) struct Plain {
    pub(super) units: Units,
    /// N · 2^f.
    pub(super) over: u128,
    /// P.
    pub(super) under: u128,
    /// The largest τ: that of 30 years and one burst.
    pub(super) most: u64,
}

impl Plain {
    pub(super) fn new(terms: &Terms) -> Self {
        let bucket = Bucket::new(*terms).expect("a limit that is kept");
        let most = bucket.tau(THIRTY_YEARS) + bucket.capacity();
        let units = units(terms);
        assert_eq!(units.shift(), bucket.f, "{terms:?}");
        Self {
            units,
            over: u128::from(terms.permits) << bucket.f,
            under: u128::from(terms.period),
            most: most.try_into().expect("below 2^64 - 2"),
        }
    }

    /// Checks τ at so many nanoseconds.
    pub(super) fn agrees(&self, elapsed: u64) {
        let cut = u128::from(elapsed.min(THIRTY_YEARS));
        let tau = cut * self.over / self.under;
        assert_eq!(
            u128::from(self.units.after(elapsed)),
            tau,
            "{elapsed} ns in {:?}",
            self.units
        );
    }

    /// Checks the first nanosecond at which τ is at least `target`.
    pub(super) fn agrees_back(&self, target: u64) {
        let time = (u128::from(target) * self.under).div_ceil(self.over);
        assert_eq!(
            u128::from(self.units.time_of(target)),
            time,
            "{target} units in {:?}",
            self.units
        );
    }
}

/// As many of each length, and as many of the full length.
fn shortened(number: u64, count: u64) -> u64 {
    if count.is_multiple_of(2) {
        number
    } else {
        number >> (count / 2 % 64)
    }
}

#[test]
fn ten_million_times_are_converted_as_by_plain_division() {
    let mut next = random();
    let mut points = 0;
    for count in 0..LIMITS {
        let plain = Plain::new(&draw(&mut next, count));
        for point in 0..POINTS_EACH {
            plain.agrees(shortened(next() % (THIRTY_YEARS + 1), point));
            points += 1;
        }
    }
    assert_eq!(points, 10_000_000);
}

#[test]
fn ten_million_numbers_of_units_are_converted_back_as_by_plain_division() {
    let mut next = random();
    let mut points = 0;
    for count in 0..LIMITS {
        let plain = Plain::new(&draw(&mut next, count));
        for point in 0..POINTS_EACH {
            plain.agrees_back(shortened(next(), point));
            points += 1;
        }
    }
    assert_eq!(points, 10_000_000);
}

#[test]
fn the_edges_are_converted_as_by_plain_division() {
    let limits = edge_limits();
    assert!(limits.len() > 5_000, "{}", limits.len());
    let mut long = 0;
    for terms in limits {
        long += u32::from(terms.period > 1 << 57);
        let plain = Plain::new(&terms);
        let powers = (0..64).map(|bit| 1_u64 << bit);
        let times = powers
            .flat_map(|power| [power - 1, power, power.saturating_add(1)])
            .chain([
                terms.period - 1,
                terms.period,
                terms.period.saturating_add(1),
            ])
            .chain([THIRTY_YEARS - 1, THIRTY_YEARS, THIRTY_YEARS + 1])
            .chain([u64::MAX - 1, u64::MAX]);
        for time in times.clone() {
            plain.agrees(time);
        }
        for target in times.chain([plain.most - 1, plain.most, plain.most + 1]) {
            plain.agrees_back(target);
        }
    }
    assert!(
        long > 500,
        "{long} with a period too long for the two ratios"
    );
}

#[test]
fn tau_counts_from_the_start_and_stands_still_before_it_and_after_thirty_years() {
    let mut next = random();
    for count in 0..2_000 {
        let terms = draw(&mut next, count);
        let bucket = Bucket::new(terms).expect("a limit that is kept");
        let units = units(&terms);
        for start in [
            0,
            1,
            next(),
            u64::MAX - THIRTY_YEARS,
            u64::MAX - 1,
            u64::MAX,
        ] {
            let times = [
                0,
                1,
                start.saturating_sub(1),
                start,
                start.saturating_add(1),
                start.saturating_add(THIRTY_YEARS - 1),
                start.saturating_add(THIRTY_YEARS),
                start.saturating_add(THIRTY_YEARS + 1),
                next(),
                u64::MAX - 1,
                u64::MAX,
            ];
            for now in times {
                let elapsed = big(now).max(big(start)) - start;
                let tau = bucket.tau(elapsed.min(big(THIRTY_YEARS)));
                let after = units.after(Reading::new(start, now).elapsed());
                assert_eq!(big(after), tau, "{now} from {start}: {terms:?}");
            }
        }
    }
}

// Both directions, from the definition: no formula for the way back is needed.

#[test]
fn the_way_back_is_the_smallest_time_of_which_tau_is_so_much() {
    let mut next = random();
    for count in 0..20_000 {
        let terms = draw(&mut next, count);
        let bucket = Bucket::new(terms).expect("a limit that is kept");
        let units = units(&terms);
        let most = big(Plain::new(&terms).most);
        for _ in 0..4 {
            let target = next() >> (count % 64);
            let target: BigInt = big(target) % (&most + 1);
            let target = target.max(big(1));
            let time = units.time_of(u64::try_from(&target).expect("a word"));
            assert!(bucket.tau(time) >= target, "{target} in {terms:?}");
            assert!(bucket.tau(time - 1) < target, "{target} in {terms:?}");
        }
        assert_eq!(units.time_of(0), 0);
    }
}

#[test]
fn the_way_there_is_the_largest_tau_that_is_reached_by_then() {
    let mut next = random();
    for count in 0..20_000 {
        let terms = draw(&mut next, count);
        let bucket = Bucket::new(terms).expect("a limit that is kept");
        let units = units(&terms);
        let per_unit = bucket.permits(terms.permits);
        for _ in 0..4 {
            let elapsed = (next() >> (count % 60)) % (THIRTY_YEARS + 1);
            let tau = units.after(elapsed);
            let first = |target: u64| ceil(big(target) * terms.period, per_unit.clone());
            assert!(first(tau) <= big(elapsed), "{elapsed} in {terms:?}");
            assert!(first(tau + 1) > big(elapsed), "{elapsed} in {terms:?}");
        }
    }
}

#[test]
fn every_f_lasts_to_the_last_burst_that_it_fits_and_one_more_takes_the_next() {
    let mut next = random();
    let mut lasts = [0; 64];
    for count in 0..2_000 {
        let terms = draw(&mut next, count);
        let inflow = ceil(big(terms.permits) * THIRTY_YEARS, terms.period);
        for f in 0..64 {
            // (inflow + B) · 2^f < 2⁶⁴ − 2.
            let last: BigInt = (((big(1) << 64) - 3) >> f) - &inflow;
            let Some(burst) = u64::try_from(last).ok().filter(|burst| *burst > 0) else {
                break;
            };
            let shift = |burst| {
                let units = Units::new(&super::limit(&Terms { burst, ..terms }));
                units.ok().map(|units| units.shift())
            };
            let is_fine = |f: u32| big(terms.period) <= big(terms.permits) << f;
            assert_eq!(shift(burst), is_fine(f).then_some(f), "{burst}: {terms:?}");
            let coarser = f.checked_sub(1).filter(|f| is_fine(*f));
            assert_eq!(shift(burst + 1), coarser, "{burst} + 1: {terms:?}");
            lasts[f as usize] += 1;
        }
    }
    assert!(lasts[..32].iter().all(|count| *count > 100), "{lasts:?}");
}

#[test]
fn every_limit_within_the_claims_is_accepted_with_the_finest_unit_and_no_other() {
    let mut next = random();
    let (mut accepted, mut refused, mut claimed) = (0, 0, 0);
    for _ in 0..100_000 {
        let [permits, period, burst] = [next(), next(), next()].map(plain::of_any_length);
        let terms = Terms {
            permits,
            period,
            burst,
        };
        let units = Units::new(&super::limit(&terms)).ok();
        assert_eq!(
            units.as_ref().map(Units::shift),
            terms.fraction_bits(),
            "{terms:?}"
        );
        if terms.is_claimed() {
            assert!(units.is_some(), "{terms:?}");
            claimed += 1;
        }
        match units {
            Some(_) => accepted += 1,
            None => refused += 1,
        }
    }
    assert!(
        accepted > 10_000 && refused > 10_000 && claimed > 1_000,
        "{accepted} accepted, {refused} refused, {claimed} within the claims"
    );
}
