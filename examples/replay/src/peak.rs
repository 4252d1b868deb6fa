//! The most that happened in any one period.
//!
//! A period is open at its beginning, as the sliding log has it: of two requests exactly one period
//! apart, no period holds both. Every request ends one period, and the most that any of those holds
//! is the most that any period holds; so one walk with a finger at each end is exact.

/// The most of the given times, which are in order, within any one period.
///
/// # Examples
///
/// ```
/// use tollgate_replay::most_in_any;
///
/// let times = [0, 40, 59, 60, 61, 200];
/// assert_eq!(most_in_any(60, &times), 4, "40, 59, 60 and 61; at 60 the one at 0 is out");
/// ```
pub fn most_in_any(period_ns: u64, times: &[u64]) -> u64 {
    let mut most = 0;
    let mut first = 0;
    for (last, time) in times.iter().enumerate() {
        while time - times[first] >= period_ns {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    most as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_counting_every_period_finds() {
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..500 {
            let mut times: Vec<u64> = (0..rng.usize(..40)).map(|_| rng.u64(..100)).collect();
            times.sort_unstable();
            let period = rng.u64(1..60);
            let slowly = (0..200)
                .map(|end| {
                    let within = |time: &&u64| **time <= end && end - **time < period;
                    times.iter().filter(within).count() as u64
                })
                .max();
            assert_eq!(Some(most_in_any(period, &times)), slowly);
        }
    }

    #[test]
    fn the_longest_period_holds_everything() {
        assert_eq!(most_in_any(u64::MAX, &[0, 5, u64::MAX - 1]), 3);
        assert_eq!(most_in_any(u64::MAX, &[0, 5, u64::MAX]), 2);
        assert_eq!(most_in_any(1, &[3, 3, 3, 4]), 3);
        assert_eq!(most_in_any(1, &[]), 0);
    }
}
