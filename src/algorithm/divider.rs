//! Division by a number that does not change, as a multiplication.

/// Divides by one fixed number: a multiplication and a correction instead of a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Divider {
    divisor: u64,
    /// ⌊(2^(64 + shift) − 1) / divisor⌋, with 2^shift the largest power of two not above it.
    reciprocal: u64,
    shift: u32,
}

impl Divider {
    /// `divisor` must not be zero.
    pub(crate) const fn new(divisor: u64) -> Self {
        let shift = divisor.ilog2();
        let numerator = (1_u128 << (64 + shift)) - 1;
        Self {
            divisor,
            reciprocal: (numerator / divisor as u128) as u64,
            shift,
        }
    }

    pub(crate) const fn divisor(&self) -> u64 {
        self.divisor
    }

    /// The quotient and the remainder, exactly.
    #[inline]
    pub(crate) const fn divide(&self, number: u64) -> (u64, u64) {
        let product = number as u128 * self.reciprocal as u128;
        let quotient = ((product >> 64) as u64) >> self.shift;
        // The reciprocal is too small by less than 1 + 1/divisor parts in 2^(64 + shift), so that
        // the quotient is right or one too small.
        let remainder = number - quotient * self.divisor;
        if remainder >= self.divisor {
            (quotient + 1, remainder - self.divisor)
        } else {
            (quotient, remainder)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agrees(divisor: u64, number: u64) {
        assert_eq!(
            Divider::new(divisor).divide(number),
            (number / divisor, number % divisor),
            "{number} / {divisor}"
        );
    }

    #[test]
    fn division_agrees_at_the_edges() {
        let edges = (0..64)
            .flat_map(|bit| {
                let power = 1_u64 << bit;
                [power - 1, power, power + 1]
            })
            .chain([u64::MAX - 1, u64::MAX, 60_000_000_000, 1_000_000_007]);
        for divisor in edges.clone().filter(|divisor| *divisor > 0) {
            for number in edges.clone() {
                agrees(divisor, number);
            }
            for multiple in [1, 2, 3, u64::MAX / divisor] {
                let number = divisor.saturating_mul(multiple);
                agrees(divisor, number);
                agrees(divisor, number - 1);
                agrees(divisor, number.saturating_add(1));
            }
        }
    }

    proptest! {
        #[test]
        fn division_agrees_everywhere(
            divisor in 1..=u64::MAX, bits in 0..64_u32, number in any::<u64>(),
        ) {
            agrees(divisor, number);
            agrees((divisor >> bits).max(1), number);
        }
    }
}
