//! How many permits were spent in the period that ends now, for every now.
//!
//! The window is `(t − P, t]`, as in the sliding log: a permit spent exactly `P` ago is out. The
//! count rises by one where a permit is spent and falls by one a period later, and nowhere else
//! does it change. So the steps hold it for every `t`, not only for those at which somebody asked.
//!
//! With `P` = 60 s and permits spent at 10 s, 10 s and 40 s, the steps are 2 from 10 s, 3 from
//! 40 s, 1 from 70 s and 0 from 100 s.

/// The count of permits spent in the trailing period, as steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trailing {
    steps: Vec<(u64, u64)>,
}

impl Trailing {
    /// Counts permits that were spent at the readings `spent`, in order, over `period`
    /// nanoseconds.
    pub fn new(spent: &[u64], period: u64) -> Self {
        let mut steps = Vec::new();
        let mut entering = spent.iter().copied().peekable();
        let mut leaving = spent.iter().map(|&at| at + period).peekable();
        let mut count = 0;
        // Every permit leaves after it entered, so whoever is next to leave is there to the end.
        while let Some(&next_out) = leaving.peek() {
            let now = entering.peek().map_or(next_out, |&at| at.min(next_out));
            while entering.next_if_eq(&now).is_some() {
                count += 1;
            }
            while leaving.next_if_eq(&now).is_some() {
                count -= 1;
            }
            steps.push((now, count));
        }
        Self { steps }
    }

    /// The most permits in any one period.
    pub fn most(&self) -> u64 {
        self.steps
            .iter()
            .map(|&(_, count)| count)
            .max()
            .unwrap_or(0)
    }

    /// Each reading at which the count changes or might have, and the count from there on.
    pub fn steps(&self) -> &[(u64, u64)] {
        &self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_rises_with_each_permit_and_falls_a_period_later() {
        let trailing = Trailing::new(&[10, 10, 40], 60);
        assert_eq!(trailing.steps(), [(10, 2), (40, 3), (70, 1), (100, 0)]);
        assert_eq!(trailing.most(), 3);
    }

    #[test]
    fn a_permit_exactly_a_period_old_is_out() {
        assert_eq!(Trailing::new(&[0, 60], 60).most(), 1);
        assert_eq!(Trailing::new(&[1, 60], 60).most(), 2);
    }

    #[test]
    fn nothing_spent_is_nothing_counted() {
        assert_eq!(Trailing::new(&[], 60).most(), 0);
    }
}
