//! What the figures should be.
//!
//! These are the numbers of the crate's contract. Beside the tests they are written down nowhere
//! else, so that what the tables show can only have been counted.

use std::fmt;
use std::time::Duration;

use tollgate::AnyAlgorithm;

use crate::clock::Clock;
use crate::figures::Figures;
use crate::tiers::Tiers;

/// Figures that were compared, and those that differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    compared: usize,
    differences: Vec<Difference>,
}

/// A figure that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    figure: String,
    found: String,
    expected: String,
}

impl Check {
    /// Compares every figure.
    pub fn of(figures: &Figures) -> Self {
        let mut check = Self::default();
        check.sieges(figures);
        check.burst(figures);
        check.boundary(figures);
        check.tiers("all-of", &figures.all_of, 59, [9, 5, 5, 2, 0, 0]);
        check.tiers("two chained", &figures.chained, 53, [9, 5, 0, 1, 0, 0]);
        check.eviction(figures);
        check.stampedes(figures);
        check
    }

    /// How many figures were compared.
    pub fn compared(&self) -> usize {
        self.compared
    }

    /// The figures that differ, in the order of the tables.
    pub fn differences(&self) -> &[Difference] {
        &self.differences
    }

    fn sieges(&mut self, figures: &Figures) {
        let expected = [
            (AnyAlgorithm::FixedWindow, 600, 200),
            (AnyAlgorithm::SlidingLog, 500, 100),
            (AnyAlgorithm::SlidingCounter, 546, 149),
            (AnyAlgorithm::TokenBucket, 599, 199),
        ];
        let found = &figures.sieges;
        self.same("sieges", found.len(), expected.len());
        for (siege, (algorithm, allowed, most)) in found.iter().zip(expected) {
            let name = format!("siege, {algorithm}");
            self.same(&format!("{name}: algorithm"), siege.algorithm, algorithm);
            self.same(&format!("{name}: tries"), siege.tries, 30_000);
            self.same(&format!("{name}: allowed"), siege.allowed, allowed);
            self.same(
                &format!("{name}: most in any 60 s"),
                siege.trailing.most(),
                most,
            );
        }
    }

    fn burst(&mut self, figures: &Figures) {
        let wait = Some(Duration::from_millis(200));
        let expected = [
            (0, "ada", true, 4, None),
            (0, "ada", true, 3, None),
            (0, "ada", true, 2, None),
            (0, "ada", true, 1, None),
            (0, "ada", true, 0, None),
            (0, "ada", false, 0, wait),
            (0, "ada", false, 0, wait),
            (0, "grace", true, 4, None),
            (200_000_000, "ada", true, 0, None),
        ];
        let found = &figures.burst;
        self.same("burst: requests", found.len(), expected.len());
        for (i, (request, (at, key, allowed, remaining, retry_after))) in
            found.iter().zip(expected).enumerate()
        {
            let name = format!("burst, request {}", i + 1);
            let decision = request.decision;
            self.same(&format!("{name}: clock"), request.at, at);
            self.same(&format!("{name}: key"), request.key, key);
            self.same(&format!("{name}: allowed"), decision.is_allowed(), allowed);
            self.same(
                &format!("{name}: remaining"),
                decision.remaining(),
                remaining,
            );
            self.same(
                &format!("{name}: retry after"),
                decision.retry_after(),
                retry_after,
            );
        }
    }

    fn boundary(&mut self, figures: &Figures) {
        for (volley, at) in figures
            .boundary
            .iter()
            .zip([59_000_000_000, 60_500_000_000])
        {
            let name = format!("boundary, {}", Clock(at));
            self.same(&format!("{name}: clock"), volley.at, at);
            self.same(&format!("{name}: sent"), volley.sent, 100);
            self.same(&format!("{name}: allowed"), volley.allowed, 100);
        }
    }

    fn tiers(&mut self, name: &str, found: &Tiers, allowed: u64, by_second: [u64; 6]) {
        self.same(&format!("{name}: sent"), found.sent, 1_200);
        self.same(&format!("{name}: allowed"), found.allowed, allowed);
        self.same(&format!("{name}: by second"), found.by_second, by_second);
    }

    fn eviction(&mut self, figures: &Figures) {
        let eviction = figures.eviction;
        self.same("eviction: allowed", eviction.allowed, 1_000_000);
        self.same("eviction: keys at first", eviction.tracked, 1_000_000);
        let expected = [(500_000_000, 0, 1_000_000), (1_500_000_000, 1_000_000, 0)];
        for (sweep, (at, evicted, tracked)) in eviction.sweeps.iter().zip(expected) {
            let name = format!("eviction, {}", Clock(at));
            self.same(&format!("{name}: clock"), sweep.at, at);
            self.same(&format!("{name}: forgotten"), sweep.evicted, evicted);
            self.same(&format!("{name}: keys in the map"), sweep.tracked, tracked);
        }
    }

    fn stampedes(&mut self, figures: &Figures) {
        self.same("stampedes", figures.stampedes.len(), 5);
        for (algorithm, stampede) in &figures.stampedes {
            let name = format!("stampede, {algorithm}");
            self.same(&format!("{name}: fewest allowed"), stampede.fewest(), 1_000);
            self.same(&format!("{name}: most allowed"), stampede.most(), 1_000);
        }
        let over = figures.unsynchronised.rounds_over() > 0;
        self.same("stampede, unsynchronised: allows too many", over, true);
    }

    fn same<T: fmt::Debug + PartialEq>(&mut self, figure: &str, found: T, expected: T) {
        self.compared += 1;
        if found != expected {
            self.differences.push(Difference {
                figure: figure.to_owned(),
                found: format!("{found:?}"),
                expected: format!("{expected:?}"),
            });
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            figure,
            found,
            expected,
        } = self;
        write!(f, "{figure} is {found}, not {expected}")
    }
}
