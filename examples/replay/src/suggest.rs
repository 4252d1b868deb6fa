//! Which limit to choose: how much each key asked for at its worst, and what a ladder of limits
//! would have denied.
//!
//! The ladder goes 1, 2, 5, 10, 20, 50 and so on up to the highest peak, which is the smallest limit
//! that the sliding log would have denied nobody under. Each rung is not estimated but replayed.

use std::fmt;
use std::time::Duration;

use tollgate::{AnyAlgorithm, Limit, LimitError};

use crate::log::Log;
use crate::peak::most_in_any;
use crate::replay::replay;
use crate::table::{Side, Table, share};
use crate::trial::{Trial, short_name};

/// How a log looks in periods of one length, and what limits of that period would have done.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// The period.
    pub period: Duration,
    /// The most that each key asked for in any one period, smallest first.
    pub peaks: Vec<u64>,
    /// What would have been denied: for each limit of the ladder, under each algorithm in turn.
    pub rungs: Vec<Rung>,
    /// How many requests there are.
    pub requests: u64,
    /// The algorithms.
    pub algorithms: Vec<AnyAlgorithm>,
}

/// A limit, and what it would have done under each algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rung {
    /// The limit.
    pub limit: Limit,
    /// For each algorithm whom it would have touched; `None` if it cannot keep the limit.
    pub touched: Vec<Option<Touched>>,
}

/// How many would have met a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// Keys that would have been denied something.
    pub keys_denied: u64,
    /// Requests that would have been denied.
    pub denied: u64,
}

/// Tries a ladder of limits per `period` on a log. `tick` is told, from time to time, how many more
/// requests have been answered, and how many there are to answer in all.
///
/// # Errors
///
/// If there is no limit with this period.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::AnyAlgorithm;
/// use tollgate_replay::access_log::Layout;
/// use tollgate_replay::{KeyKind, LogBuilder, suggest};
///
/// let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
/// for client in ["a", "a", "a", "b"] {
///     let line = format!(r#"{client} - - [06/Jan/2025:08:00:00 +0000] "GET /" 200 2"#);
///     builder.push_line(line.as_bytes());
/// }
/// let log = builder.finish();
/// let minute = Duration::from_secs(60);
/// let suggestion = suggest(&log, minute, &[AnyAlgorithm::SlidingLog], &mut |_, _| {})?;
/// assert_eq!(suggestion.peaks, [1, 3]);
/// let denied: Vec<_> = suggestion
///     .rungs
///     .iter()
///     .map(|rung| (rung.limit.permits(), rung.touched[0].unwrap().denied))
///     .collect();
/// assert_eq!(denied, [(1, 2), (2, 1), (3, 0)]);
/// # Ok::<(), tollgate::LimitError>(())
/// ```
pub fn suggest(
    log: &Log,
    period: Duration,
    algorithms: &[AnyAlgorithm],
    tick: &mut dyn FnMut(u64, u64),
) -> Result<Suggestion, LimitError> {
    let peaks = peaks(log, Limit::new(1, period)?.period_ns());
    let ladder = ladder(&peaks);
    let requests = log.requests().len() as u64;
    let all = requests * (ladder.len() * algorithms.len()) as u64;
    let mut rungs = Vec::new();
    for permits in ladder {
        let limit = Limit::new(permits, period)?;
        let touched = algorithms.iter().map(|algorithm| {
            let trial = Trial::new(*algorithm, vec![limit]).ok()?;
            let outcome = replay(log, &trial, &mut |more| tick(more, all)).ok()?;
            Some(Touched {
                keys_denied: outcome.keys_denied.len() as u64,
                denied: outcome.denied,
            })
        });
        let touched = touched.collect();
        rungs.push(Rung { limit, touched });
    }
    Ok(Suggestion {
        period,
        peaks,
        rungs,
        requests,
        algorithms: algorithms.to_vec(),
    })
}

fn peaks(log: &Log, period_ns: u64) -> Vec<u64> {
    let mut times = Vec::new();
    let mut peaks: Vec<u64> = log
        .each_key()
        .map(|positions| {
            times.clear();
            times.extend(
                positions
                    .iter()
                    .map(|position| log.requests()[*position].time_ns),
            );
            most_in_any(period_ns, &times)
        })
        .collect();
    peaks.sort_unstable();
    peaks
}

/// 1, 2, 5, 10, … and the highest peak itself.
fn ladder(peaks: &[u64]) -> Vec<u64> {
    let highest = peaks.last().copied().unwrap_or(0);
    let mut rungs: Vec<u64> = (0..19)
        .flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.pow(power)))
        .take_while(|rung| *rung < highest)
        .collect();
    if highest > 0 {
        rungs.push(highest);
    }
    rungs
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(highest) = self.peaks.last() else {
            return Ok(());
        };
        let per = self.per();
        writeln!(
            f,
            "peaks per {per}: the most that each key asked for in any one period (a sliding one, not \
             the clock's)"
        )?;
        write!(f, "half of the keys {} or less", self.quantile(500))?;
        for (name, per_mille) in [("90 %", 900), ("99 %", 990), ("99.9 %", 999)] {
            write!(f, ", {name} {}", self.quantile(per_mille))?;
        }
        writeln!(f, ", the highest {highest}\n\n{}", self.histogram())?;
        let keys = self.peaks.len();
        writeln!(f, "keys denied at least once (of {keys})")?;
        writeln!(f, "{}", self.table(|touched| touched.keys_denied))?;
        writeln!(f, "requests denied (of {})", self.requests)?;
        writeln!(f, "{}", self.table(|touched| touched.denied))?;
        writeln!(f, "{}", self.candidates())
    }
}

impl Suggestion {
    /// The peak that so many of a thousand keys do not exceed; 0 without keys.
    pub fn quantile(&self, per_mille: usize) -> u64 {
        let rank = (self.peaks.len() * per_mille).div_ceil(1000);
        self.peaks.get(rank.max(1) - 1).copied().unwrap_or(0)
    }

    /// `min`, `10min`: the period as limits write it.
    pub(crate) fn per(&self) -> String {
        let one = Limit::new(1, self.period).expect("it was one when it was tried");
        one.to_string().trim_start_matches("1/").to_owned()
    }

    /// How many keys have their peak between one rung and the next.
    fn histogram(&self) -> Table {
        const WIDEST: u64 = 40;
        let mut table = Table::new([Side::Right, Side::Right, Side::Left]);
        table.row(["peak", "keys", ""]);
        let mut below = 0;
        let mut from = 1;
        for rung in &self.rungs {
            let to = rung.limit.permits();
            let up_to = self.peaks.partition_point(|peak| *peak <= to) as u64;
            let count = up_to - below;
            let bar = (count * WIDEST).div_ceil(self.peaks.len() as u64);
            table.row([
                match to == from {
                    true => to.to_string(),
                    false => format!("{from} to {to}"),
                },
                share(count, self.peaks.len() as u64),
                "#".repeat(bar as usize),
            ]);
            (below, from) = (up_to, to + 1);
        }
        table
    }

    fn table(&self, number: fn(&Touched) -> u64) -> Table {
        let mut table = Table::new(std::iter::repeat_n(Side::Right, 1 + self.algorithms.len()));
        let names = self.algorithms.iter().copied().map(short_name);
        table.row(std::iter::once("limit").chain(names));
        for rung in &self.rungs {
            let cells = rung.touched.iter().map(|touched| match touched {
                Some(touched) => number(touched).to_string(),
                None => "refused".to_owned(),
            });
            table.row(std::iter::once(rung.limit.to_string()).chain(cells));
        }
        table
    }

    /// Which limits to look at first, under the first of the algorithms.
    fn candidates(&self) -> String {
        let keys = self.peaks.len() as u64;
        let smallest = |fits: &dyn Fn(&Touched) -> bool| {
            self.rungs.iter().find_map(|rung| {
                let touched = rung.touched.first()?.as_ref()?;
                fits(touched).then_some((rung.limit, *touched))
            })
        };
        let name = match self.algorithms.first() {
            Some(AnyAlgorithm::TokenBucket) => "the token bucket (gcra)",
            Some(algorithm) => short_name(*algorithm),
            None => return String::new(),
        };
        let mut text = match smallest(&|touched| touched.keys_denied == 0) {
            Some((limit, _)) => {
                format!("With {name}, {limit} is the smallest of these limits that denies no key.")
            }
            None => format!("With {name}, each of these limits denies some key."),
        };
        if let Some((limit, touched)) = smallest(&|touched| touched.keys_denied * 100 < keys)
            && touched.keys_denied > 0
        {
            text += &format!(
                "\nThe smallest that denies fewer than 1 % of keys is {limit}: {} of {keys} keys, {} of \
                 {} requests.",
                touched.keys_denied, touched.denied, self.requests
            );
        }
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_log::Layout;
    use crate::key::KeyKind;
    use crate::log::LogBuilder;
    use crate::traffic::made_up;
    use crate::trial::Choice;

    const MINUTE: Duration = Duration::from_secs(60);

    fn made_up_log() -> Log {
        let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
        made_up(3, &mut builder);
        builder.finish()
    }

    #[test]
    fn the_sliding_log_touches_exactly_the_keys_whose_peak_is_higher() {
        let log = made_up_log();
        let suggestion =
            suggest(&log, MINUTE, &[AnyAlgorithm::SlidingLog], &mut |_, _| {}).unwrap();
        assert!(suggestion.rungs.len() > 5);
        for rung in &suggestion.rungs {
            let permits = rung.limit.permits();
            let higher = suggestion.peaks.iter().filter(|peak| **peak > permits);
            let touched = rung.touched[0].unwrap();
            assert_eq!(touched.keys_denied, higher.count() as u64, "{}", rung.limit);
        }
        let none = Touched {
            keys_denied: 0,
            denied: 0,
        };
        assert_eq!(suggestion.rungs.last().unwrap().touched, [Some(none)]);
    }

    #[test]
    fn a_tick_counts_every_request_of_every_trial() {
        let log = made_up_log();
        let (mut told, mut expected) = (0, 0);
        suggest(&log, MINUTE, &Choice::All.algorithms(), &mut |more, all| {
            told += more;
            expected = all;
        })
        .unwrap();
        assert!(told > 0);
        assert_eq!(told, expected);
    }

    #[test]
    fn the_ladder_ends_at_the_highest_peak() {
        assert_eq!(ladder(&[]), [] as [u64; 0]);
        assert_eq!(ladder(&[1]), [1]);
        assert_eq!(ladder(&[1, 5, 7]), [1, 2, 5, 7]);
        assert_eq!(ladder(&[10]), [1, 2, 5, 10]);
        assert_eq!(ladder(&[u64::MAX]).last(), Some(&u64::MAX));
    }

    #[test]
    fn what_is_shown_adds_up() {
        let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
        for client in ["a", "a", "a", "b", "c", "c", "a", "d"] {
            let line = format!(r#"{client} - - [06/Jan/2025:08:00:00 +0000] "GET /" 200 2"#);
            builder.push_line(line.as_bytes());
        }
        let log = builder.finish();
        let suggestion =
            suggest(&log, MINUTE, &[AnyAlgorithm::SlidingLog], &mut |_, _| {}).unwrap();
        let expected = "\
peaks per min: the most that each key asked for in any one period (a sliding one, not the clock's)
half of the keys 1 or less, 90 % 4, 99 % 4, 99.9 % 4, the highest 4

  peak        keys
     1  2 (50.0 %)  ####################
     2  1 (25.0 %)  ##########
3 to 4  1 (25.0 %)  ##########

keys denied at least once (of 4)
limit  sliding_log
1/min            2
2/min            1
4/min            0

requests denied (of 8)
limit  sliding_log
1/min            4
2/min            2
4/min            0

With sliding_log, 4/min is the smallest of these limits that denies no key.

";
        assert_eq!(suggestion.to_string(), expected);
    }

    #[test]
    fn a_smaller_limit_that_few_keys_meet_is_named_too() {
        let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
        for client in (0..101).chain([7, 7]) {
            let line = format!(r#"h{client} - - [06/Jan/2025:08:00:00 +0000] "GET /" 200 2"#);
            builder.push_line(line.as_bytes());
        }
        let log = builder.finish();
        let suggestion = suggest(&log, MINUTE, &Choice::All.algorithms(), &mut |_, _| {}).unwrap();
        let expected = "
With the token bucket (gcra), 3/min is the smallest of these limits that denies no key.
The smallest that denies fewer than 1 % of keys is 1/min: 1 of 101 keys, 2 of 103 requests.

";
        let shown = suggestion.to_string();
        assert!(shown.ends_with(expected), "{shown}");
    }

    #[test]
    fn a_log_of_nothing_suggests_nothing() {
        let log = LogBuilder::new(KeyKind::Client, Layout::Plain).finish();
        let suggestion = suggest(&log, MINUTE, &Choice::All.algorithms(), &mut |_, _| {}).unwrap();
        assert_eq!(suggestion.to_string(), "");
    }
}
