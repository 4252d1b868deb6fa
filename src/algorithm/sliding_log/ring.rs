//! The entries of a sliding log: times and running sums, in 8 bytes each where they fit.

use std::collections::VecDeque;

/// How an entry is laid out for one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// | bits | what |
    /// |---|---|
    /// | the lowest, as many as hold N | the running sum |
    /// | the rest, as many as hold P | the time |
    ///
    /// Both modulo their range: held entries spend at most N together, and lie within one period
    /// of the newest, whose time is known in full.
    Narrow {
        /// How many bits the running sum has.
        sum_bits: u32,
    },
    /// The time and the running sum in a word each.
    Wide,
}

impl Layout {
    pub(super) fn new(permits: u64, period: u64) -> Self {
        let sum_bits = u64::BITS - permits.leading_zeros();
        let time_bits = u64::BITS - period.leading_zeros();
        if sum_bits + time_bits <= u64::BITS {
            Self::Narrow { sum_bits }
        } else {
            Self::Wide
        }
    }
}

/// Entries in the order of time, each with the permits spent up to and with it.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    entries: Entries,
    /// The time of the last entry, while there is one.
    newest: u64,
    /// The running sum before the first entry.
    base: u64,
}

#[derive(Clone, Debug)]
enum Entries {
    Narrow(VecDeque<u64>, u32),
    Wide(VecDeque<[u64; 2]>),
}

impl Ring {
    pub(super) fn new(layout: Layout) -> Self {
        let entries = match layout {
            Layout::Narrow { sum_bits } => Entries::Narrow(VecDeque::new(), sum_bits),
            Layout::Wide => Entries::Wide(VecDeque::new()),
        };
        Self {
            entries,
            newest: 0,
            base: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        match &self.entries {
            Entries::Narrow(words, _) => words.len(),
            Entries::Wide(pairs) => pairs.len(),
        }
    }

    /// The time of the last entry.
    pub(super) fn newest(&self) -> Option<u64> {
        (self.len() > 0).then_some(self.newest)
    }

    pub(super) fn time(&self, index: usize) -> u64 {
        match &self.entries {
            Entries::Narrow(words, sum_bits) => {
                // Modulo the range of times: the entry is less than that before the newest.
                let age = self.newest.wrapping_sub(words[index] >> sum_bits);
                self.newest - (age & (u64::MAX >> sum_bits))
            }
            Entries::Wide(pairs) => pairs[index][0],
        }
    }

    fn sum(&self, index: usize) -> u64 {
        match &self.entries {
            Entries::Narrow(words, _) => words[index],
            Entries::Wide(pairs) => pairs[index][1],
        }
    }

    /// Permits spent by the entries before `index`.
    pub(super) fn spent_before(&self, index: usize) -> u64 {
        match index.checked_sub(1) {
            Some(last) => self.sum(last).wrapping_sub(self.base) & self.sum_mask(),
            None => 0,
        }
    }

    /// Permits spent by all entries.
    pub(super) fn spent(&self) -> u64 {
        self.spent_before(self.len())
    }

    fn sum_mask(&self) -> u64 {
        match &self.entries {
            Entries::Narrow(_, sum_bits) => !(u64::MAX << sum_bits),
            Entries::Wide(_) => u64::MAX,
        }
    }

    /// The first entry of whose time and running sum `condition` holds, as it then does of all
    /// later ones.
    pub(super) fn first_where(&self, condition: impl Fn(u64, u64) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if condition(self.time(middle), self.spent_before(middle + 1)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// Drops the entries before `first`.
    pub(super) fn forget(&mut self, first: usize) {
        let Some(last) = first.checked_sub(1) else {
            return;
        };
        self.base = self.sum(last);
        match &mut self.entries {
            Entries::Narrow(words, _) => forget(words, first),
            Entries::Wide(pairs) => forget(pairs, first),
        }
    }

    /// Notes that `cost` permits are spent at `time`, which is not before the newest entry.
    pub(super) fn push(&mut self, time: u64, cost: u64) {
        let spent = self.spent() + cost;
        let same = self.newest() == Some(time);
        self.newest = time;
        if same {
            self.set(self.len() - 1, time, spent);
        } else {
            self.append(time, spent);
        }
    }

    fn append(&mut self, time: u64, spent: u64) {
        let sum = self.base.wrapping_add(spent);
        match &mut self.entries {
            Entries::Narrow(words, bits) => words.push_back(pack(time, sum, *bits)),
            Entries::Wide(pairs) => {
                if pairs.len() == pairs.capacity() {
                    // An eighth more, not double: no more than 18 bytes an entry.
                    pairs.reserve_exact(pairs.len() / 8 + 4);
                }
                pairs.push_back([time, sum]);
            }
        }
    }

    fn set(&mut self, index: usize, time: u64, spent: u64) {
        let sum = self.base.wrapping_add(spent);
        match &mut self.entries {
            Entries::Narrow(words, bits) => words[index] = pack(time, sum, *bits),
            Entries::Wide(pairs) => pairs[index] = [time, sum],
        }
    }

    /// Takes back `cost` permits, or as many as there are, from the newest entries that are not
    /// later than `time`.
    pub(super) fn take_back(&mut self, time: u64, cost: u64) {
        let end = self.first_where(|entry, _| entry > time);
        let spent = self.spent_before(end);
        let taken = cost.min(spent);
        let left = spent - taken;
        // The first entry that loses permits, and whether any are left to it.
        let first = self.first_where(|_, spent| spent > left);
        if first >= end {
            return;
        }
        let emptied = if self.spent_before(first) < left {
            self.set(first, self.time(first), left);
            first + 1
        } else {
            first
        };
        for index in end..self.len() {
            let spent = self.spent_before(index + 1) - taken;
            self.set(index, self.time(index), spent);
        }
        let newest = match end == self.len() {
            true => emptied.checked_sub(1).map(|last| self.time(last)),
            false => Some(self.newest),
        };
        match &mut self.entries {
            Entries::Narrow(words, _) => drop(words.drain(emptied..end)),
            Entries::Wide(pairs) => drop(pairs.drain(emptied..end)),
        }
        self.newest = newest.unwrap_or(0);
    }

    /// The newest `permits` of the entries from `first` on, in another layout.
    pub(super) fn newest_from(&self, first: usize, permits: u64, layout: Layout) -> Self {
        let mut ring = Self::new(layout);
        let spent = self.spent();
        let mut dropped = spent.saturating_sub(permits).max(self.spent_before(first));
        let from = self.first_where(|_, spent| spent > dropped);
        for index in from..self.len() {
            let spent = self.spent_before(index + 1);
            ring.push(self.time(index), spent - dropped);
            dropped = spent;
        }
        ring
    }
}

fn pack(time: u64, sum: u64, sum_bits: u32) -> u64 {
    (time << sum_bits) | (sum & !(u64::MAX << sum_bits))
}

/// Drops the first entries, and memory that a quieter key no longer needs.
fn forget<T>(entries: &mut VecDeque<T>, first: usize) {
    entries.drain(..first);
    if entries.len() < entries.capacity() / 4 && entries.capacity() > 16 {
        entries.shrink_to(entries.capacity() / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(ring: &Ring) -> Vec<(u64, u64)> {
        (0..ring.len())
            .map(|index| {
                let spent = ring.spent_before(index + 1) - ring.spent_before(index);
                (ring.time(index), spent)
            })
            .collect()
    }

    fn layouts() -> [Layout; 3] {
        let narrow = Layout::new(1_000, 60_000_000_000);
        assert_eq!(narrow, Layout::Narrow { sum_bits: 10 });
        let tight = Layout::new(15, u64::MAX >> 4);
        assert_eq!(tight, Layout::Narrow { sum_bits: 4 });
        let wide = Layout::new(16, u64::MAX >> 4);
        assert_eq!(wide, Layout::Wide);
        [narrow, tight, wide]
    }

    #[test]
    fn entries_come_back_as_they_were_pushed() {
        for layout in layouts() {
            for start in [0, 1, u64::MAX - 1_000, (1 << 54) - 500, (1 << 60) - 500] {
                let mut ring = Ring::new(layout);
                let mut expected = VecDeque::new();
                // The sums pass their range many times over; the times pass it where it is near.
                for step in 0..900 {
                    let (time, cost) = (start + step, 1 + step % 3);
                    while expected.iter().map(|(_, cost)| cost).sum::<u64>() + cost > 15 {
                        expected.pop_front();
                        ring.forget(1);
                    }
                    ring.push(time, cost);
                    expected.push_back((time, cost));
                    assert_eq!(entries(&ring), Vec::from(expected.clone()));
                    assert_eq!(ring.newest(), Some(time));
                }
            }
        }
    }

    #[test]
    fn permits_are_taken_back_from_the_newest_that_are_not_later() {
        for layout in layouts() {
            let filled = || {
                let mut ring = Ring::new(layout);
                for (time, cost) in [(10, 2), (20, 3), (30, 1), (40, 4)] {
                    ring.push(time, cost);
                }
                ring
            };
            for (time, cost, expected) in [
                (30, 1, vec![(10, 2), (20, 3), (40, 4)]),
                (30, 2, vec![(10, 2), (20, 2), (40, 4)]),
                (35, 5, vec![(10, 1), (40, 4)]),
                (35, 9, vec![(40, 4)]),
                (40, 4, vec![(10, 2), (20, 3), (30, 1)]),
                (u64::MAX, u64::MAX, vec![]),
                (9, 5, vec![(10, 2), (20, 3), (30, 1), (40, 4)]),
                (40, 0, vec![(10, 2), (20, 3), (30, 1), (40, 4)]),
            ] {
                let mut ring = filled();
                ring.take_back(time, cost);
                assert_eq!(entries(&ring), expected, "{cost} back from {time}");
                assert_eq!(ring.newest(), expected.last().map(|(time, _)| *time));
                ring.push(50, 1);
                assert_eq!(entries(&ring).last(), Some(&(50, 1)));
            }
        }
    }

    #[test]
    fn the_newest_permits_move_to_another_layout() {
        for from in layouts() {
            for to in layouts() {
                let mut ring = Ring::new(from);
                for (time, cost) in [(10, 2), (20, 3), (30, 1)] {
                    ring.push(time, cost);
                }
                let moved = |first, permits| entries(&ring.newest_from(first, permits, to));
                assert_eq!(moved(0, 9), [(10, 2), (20, 3), (30, 1)]);
                assert_eq!(moved(1, 9), [(20, 3), (30, 1)]);
                assert_eq!(moved(0, 3), [(20, 2), (30, 1)]);
                assert_eq!(moved(2, 1), [(30, 1)]);
                assert_eq!(moved(3, 1), []);
            }
        }
    }

    #[test]
    fn memory_follows_use() {
        let mut ring = Ring::new(Layout::Wide);
        for time in 0..10_000 {
            ring.push(time, 1);
        }
        let capacity = |ring: &Ring| match &ring.entries {
            Entries::Wide(pairs) => pairs.capacity(),
            Entries::Narrow(words, _) => words.capacity(),
        };
        assert!(capacity(&ring) * 16 <= 18 * 10_000, "{}", capacity(&ring));
        ring.forget(9_999);
        for time in 10_000..10_020 {
            ring.push(time, 1);
            ring.forget(1);
        }
        assert!(capacity(&ring) <= 64, "{}", capacity(&ring));
    }
}
