//! What each algorithm promises of any sequence of admissions, in exact numbers.

use tollgate::{AnyAlgorithm, Limit};

use crate::plain::{big, fraction};

/// One admitted request: the reading at which it was judged, and what it spent.
pub(crate) type Admission = (u64, u64);

/// What is more than promised, if anything is, of admissions in the order in which they were made.
pub(crate) fn broken(
    algorithm: AnyAlgorithm,
    limits: &[Limit],
    admissions: &[Admission],
) -> Option<String> {
    match algorithm {
        AnyAlgorithm::TokenBucket | AnyAlgorithm::AllOf => limits
            .iter()
            .find_map(|limit| broken_bucket(*limit, admissions)),
        AnyAlgorithm::FixedWindow => broken_window(limits[0], admissions),
        AnyAlgorithm::SlidingLog => broken_log(limits[0], admissions),
        AnyAlgorithm::SlidingCounter => broken_counter(limits[0], admissions),
    }
}

/// Over any d ns at most B + N · (d + 1) / P. At one instant it is exactly B; a test of its own says
/// so.
fn broken_bucket(limit: Limit, admissions: &[Admission]) -> Option<String> {
    for first in 0..admissions.len() {
        let (mut earliest, mut latest, mut spent) = (u64::MAX, 0, big(0));
        for &(reading, cost) in &admissions[first..] {
            earliest = earliest.min(reading);
            latest = latest.max(reading);
            spent += cost;
            let flowed = big(limit.permits()) * (big(latest - earliest) + 1);
            let most = fraction(flowed, limit.period_ns()) + big(limit.burst());
            if fraction(spent.clone(), 1) > most {
                return Some(format!("{spent} from {earliest} to {latest}: {limit}"));
            }
        }
    }
    None
}

/// At most N in each window.
fn broken_window(limit: Limit, admissions: &[Admission]) -> Option<String> {
    let window = |reading: u64| reading / limit.period_ns();
    admissions.iter().find_map(|&(reading, _)| {
        let here = admissions
            .iter()
            .filter(|(other, _)| window(*other) == window(reading));
        let spent = here.fold(big(0), |sum, (_, cost)| sum + *cost);
        (spent > big(limit.permits())).then(|| format!("{spent} with {reading}: {limit}"))
    })
}

/// At most N in the period that ends with each admission.
fn broken_log(limit: Limit, admissions: &[Admission]) -> Option<String> {
    admissions.iter().find_map(|&(end, _)| {
        let in_sight = |time: &u64| *time <= end && end - *time < limit.period_ns();
        let here = admissions.iter().filter(|(time, _)| in_sight(time));
        let spent = here.fold(big(0), |sum, (_, cost)| sum + *cost);
        (spent > big(limit.permits())).then(|| format!("{spent} up to {end}: {limit}"))
    })
}

/// previous · (P − e) + current · P ≤ N · P, as each admission leaves it.
fn broken_counter(limit: Limit, admissions: &[Admission]) -> Option<String> {
    let period = limit.period_ns();
    (0..admissions.len()).find_map(|last| {
        let (reading, _) = admissions[last];
        let (window, e) = (reading / period, reading % period);
        let spent_in = |number: Option<u64>| {
            let so_far = admissions[..=last].iter();
            so_far
                .filter(|(time, _)| Some(*time / period) == number)
                .fold(big(0), |sum, (_, cost)| sum + *cost)
        };
        let (previous, current) = (spent_in(window.checked_sub(1)), spent_in(Some(window)));
        let weighed = previous * (period - e) + current * period;
        (weighed > big(limit.permits()) * period).then(|| format!("at {reading}: {limit}"))
    })
}
