//! Conversions at the points where a product that is wrong in the last place would show.
//!
//! A floor is lost where the exact quotient is a whole number or just below one, a ceiling where
//! it is one or just above: where the remainder is 0, 1 or the largest. Such points are rare, one
//! in P, so that they are solved for: x · a ≡ r (mod m), with the inverse of a.

use super::conversion::Plain;
use super::plain::{THIRTY_YEARS, Terms, big};
use super::{draw, edge_limits, random};
use num_bigint::BigInt;

const RANDOM_LIMITS: u64 = 20_000;

/// The x up to `end` with x · a ≡ 0, g and m − g (mod m), g being the greatest common divisor: the
/// remainders that there are next to 0. Of each the first, the last and some between.
fn solutions(a: u128, m: u128, end: u64, next: &mut impl FnMut() -> u64) -> Vec<(u128, u64)> {
    let gcd = greatest_common_divisor(a, m);
    let (a, m) = (big(a / gcd), big(m / gcd));
    let mut found = Vec::new();
    let remainders = [big(0), big(1) % &m, &m - 1];
    // Modulo 1 every number is one.
    let inverse = a.modinv(&m).unwrap_or(big(0));
    for remainder in remainders {
        let first: BigInt = &remainder * &inverse % &m;
        let Ok(first) = u64::try_from(first) else {
            continue;
        };
        if first > end {
            continue;
        }
        let times = big(end - first) / &m;
        let times = u64::try_from(times).expect("no more than there are numbers");
        let between = [next(), next(), next()].map(|number| number % times.saturating_add(1));
        for step in [0, 1, times, times.saturating_sub(1)]
            .into_iter()
            .chain(between)
        {
            let x = big(first) + big(step.min(times)) * &m;
            let x = u64::try_from(x).expect("at most the end");
            let remainder = u128::try_from(&remainder).expect("below m") * gcd;
            found.push((remainder, x));
        }
    }
    found
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// How many points had each remainder.
#[derive(Debug, Default)]
struct Tally {
    none: u64,
    least: u64,
    most: u64,
}

impl Tally {
    /// Checks the point by its remainder, and counts it.
    fn count(&mut self, a: u128, m: u128, (remainder, x): (u128, u64)) {
        let product = big(a) * x;
        assert_eq!(product % m, big(remainder), "{x} · {a} mod {m}");
        let gcd = greatest_common_divisor(a, m);
        self.none += u64::from(remainder == 0);
        self.least += u64::from(remainder == gcd);
        self.most += u64::from(remainder == m - gcd);
    }
}

fn limits(next: &mut impl FnMut() -> u64) -> Vec<Terms> {
    let mut limits = edge_limits();
    limits.extend((0..RANDOM_LIMITS).map(|count| draw(next, count)));
    limits
}

#[test]
fn tau_is_right_where_the_remainder_is_0_1_or_the_largest() {
    let mut next = random();
    let mut tally = Tally::default();
    for terms in limits(&mut next) {
        let plain = Plain::new(&terms);
        let (a, m) = (plain.over, plain.under);
        for point in solutions(a, m, THIRTY_YEARS, &mut next) {
            tally.count(a, m, point);
            plain.agrees(point.1);
        }
    }
    assert!(
        tally.none > 100_000 && tally.least > 100_000 && tally.most > 100_000,
        "{tally:?}"
    );
}

#[test]
fn the_way_back_is_right_where_the_remainder_is_0_1_or_the_largest() {
    let mut next = random();
    let mut tally = Tally::default();
    for terms in limits(&mut next) {
        let plain = Plain::new(&terms);
        let (a, m) = (plain.under, plain.over);
        for point in solutions(a, m, u64::MAX, &mut next) {
            tally.count(a, m, point);
            plain.agrees_back(point.1);
        }
    }
    assert!(
        tally.none > 100_000 && tally.least > 100_000 && tally.most > 100_000,
        "{tally:?}"
    );
}
