//! The divider against plain division.

use super::{LIMITS, POINTS_EACH, plain, random};
use crate::algorithm::divider::Divider;

fn agrees(divider: &Divider, number: u64) {
    let divisor = divider.divisor();
    assert_eq!(
        divider.divide(number),
        (number / divisor, number % divisor),
        "{number} / {divisor}"
    );
}

#[test]
fn ten_million_divisions_agree_with_plain_division() {
    let mut next = random();
    let mut points = 0;
    for count in 0..LIMITS {
        // As many divisors of each length, and as many of all lengths at random.
        let divisor = next() >> (count % 64);
        let divider = Divider::new(divisor.max(1));
        for _ in 0..POINTS_EACH {
            agrees(&divider, next());
            points += 1;
        }
    }
    assert_eq!(points, 10_000_000);
}

#[test]
fn divisions_agree_where_the_remainder_is_0_1_or_the_largest() {
    let mut next = random();
    let mut points = 0;
    for count in 0..100_000 {
        let divisor = (next() >> (count % 64)).max(1);
        let divider = Divider::new(divisor);
        let largest = u64::MAX / divisor;
        for quotient in [largest, largest - 1, next() % largest.saturating_add(1), 1] {
            let multiple = quotient.saturating_mul(divisor);
            for remainder in [0, 1 % divisor, divisor - 1] {
                let Some(number) = multiple.checked_add(remainder) else {
                    continue;
                };
                agrees(&divider, number);
                points += 1;
            }
        }
    }
    assert!(points > 1_000_000, "{points}");
}

#[test]
fn divisions_agree_at_the_edges_of_both_numbers() {
    let powers = (0..64).map(|bit| 1_u64 << bit);
    let numbers: Vec<u64> = powers
        .flat_map(|power| [power - 1, power, power.saturating_add(1)])
        .chain([plain::SECOND, plain::DAY, plain::MONTH])
        .chain([
            plain::THIRTY_YEARS - 1,
            plain::THIRTY_YEARS,
            plain::THIRTY_YEARS + 1,
        ])
        .chain([u64::MAX - 2, u64::MAX - 1, u64::MAX])
        .collect();
    for &divisor in numbers.iter().filter(|divisor| **divisor > 0) {
        let divider = Divider::new(divisor);
        for &number in &numbers {
            agrees(&divider, number);
        }
    }
}
