//! What was found, for people to read.

use std::fmt;

use tollgate::Limit;

use crate::instant::{SECOND, show_time};
use crate::key::show_key;
use crate::log::Log;
use crate::replay::Outcome;
use crate::table::{Side, Table, share};

/// A log with the outcomes of all that was tried on it.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What the log is called.
    pub name: String,
    /// The log.
    pub log: Log,
    /// One for each trial, in the order in which they were made.
    pub outcomes: Vec<Outcome>,
}

impl Replayed {
    /// The table: what each trial allowed and denied, and the `top` keys that it denied most.
    pub fn report(&self, top: usize) -> impl fmt::Display {
        Report {
            replayed: self,
            top,
        }
    }
}

struct Report<'a> {
    replayed: &'a Replayed,
    top: usize,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_heading(f, &self.replayed.name, &self.replayed.log)?;
        if self.replayed.log.requests().is_empty() {
            return Ok(());
        }
        writeln!(f, "\n{}", self.totals())?;
        let denied = self.denied_most();
        if let Some(denied) = denied {
            writeln!(f, "denied most\n{denied}")?;
        }
        Ok(())
    }
}

fn write_heading(f: &mut fmt::Formatter<'_>, name: &str, log: &Log) -> fmt::Result {
    let requests = log.requests().len();
    write!(
        f,
        "{name}: {requests} requests under {} keys",
        log.keys().len()
    )?;
    if let Some((first, last)) = log.span() {
        write!(f, ", {} to {} UTC", show_time(first), show_time(last))?;
    }
    writeln!(f)?;
    if log.late() > 0 {
        let by = log.latest_by_ns().div_ceil(SECOND);
        writeln!(
            f,
            "late lines: {}, by up to {by} s; sorted by time",
            log.late()
        )?;
    }
    if log.rejected() > 0 {
        writeln!(f, "no log lines: {}; left out", log.rejected())?;
    }
    Ok(())
}

impl Report<'_> {
    fn totals(&self) -> Table {
        let mut table = Table::new([
            Side::Left,
            Side::Right,
            Side::Right,
            Side::Right,
            Side::Right,
        ]);
        table.row(["", "allowed", "denied", "keys denied", "most allowed"]);
        for outcome in &self.replayed.outcomes {
            table.row([
                outcome.trial.to_string(),
                outcome.allowed.to_string(),
                share(outcome.denied, outcome.allowed + outcome.denied),
                share(outcome.keys_denied.len() as u64, outcome.keys),
                show_most(&outcome.most),
            ]);
        }
        table
    }

    /// `None` if nothing was denied, or none of it is to be shown.
    fn denied_most(&self) -> Option<Table> {
        let mut table = Table::new([Side::Left, Side::Right, Side::Left]);
        let mut any = false;
        for outcome in &self.replayed.outcomes {
            let mut name = outcome.trial.to_string();
            for (key, denied) in outcome.keys_denied.iter().take(self.top) {
                let key = show_key(&self.replayed.log.keys()[*key as usize]);
                table.row([std::mem::take(&mut name), denied.to_string(), cut(&key)]);
                any = true;
            }
        }
        any.then_some(table)
    }
}

/// `119/min`; for several limits `9/s, 103/10min`.
fn show_most(most: &[(Limit, u64)]) -> String {
    let shown: Vec<String> = most
        .iter()
        .map(|(limit, most)| {
            let once = Limit::new(1, limit.period()).expect("a limit has a period already");
            format!("{most}{}", once.to_string().trim_start_matches('1'))
        })
        .collect();
    shown.join(", ")
}

/// A key short enough for a line.
fn cut(key: &str) -> String {
    const MOST: usize = 60;
    match key.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &key[..end]),
        None => key.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use tollgate::AnyAlgorithm;

    use super::*;
    use crate::access_log::Layout;
    use crate::key::KeyKind;
    use crate::log::LogBuilder;
    use crate::replay::replay;
    use crate::trial::Trial;

    fn replayed(lines: &[&str], limits: &[&str]) -> Replayed {
        let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
        for line in lines {
            builder.push_line(line.as_bytes());
        }
        let log = builder.finish();
        let limits = limits.iter().map(|limit| limit.parse().unwrap()).collect();
        let trial = Trial::new(AnyAlgorithm::AllOf, limits).unwrap();
        let outcome = replay(&log, &trial, &mut |_| {}).unwrap();
        Replayed {
            name: "access.log".to_owned(),
            log,
            outcomes: vec![outcome],
        }
    }

    #[test]
    fn the_report_says_what_was_denied_and_to_whom() {
        let line = |client, time| {
            format!(r#"{client} - - [06/Jan/2025:08:{time} +0000] "GET / HTTP/1.1" 200 1"#)
        };
        let lines = [
            line("198.51.100.1", "00:00"),
            line("198.51.100.1", "00:00"),
            line("198.51.100.1", "00:00"),
            line("198.51.100.2", "01:00"),
            line("198.51.100.1", "00:58"),
            "free text".to_owned(),
        ];
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let replayed = replayed(&lines, &["2/s", "10/min"]);
        let expected = "\
access.log: 5 requests under 2 keys, 2025-01-06 08:00:00 to 2025-01-06 08:01:00 UTC
late lines: 1, by up to 2 s; sorted by time
no log lines: 1; left out

                               allowed      denied  keys denied  most allowed
all_of gcra 2/s + gcra 10/min        4  1 (20.0 %)   1 (50.0 %)    2/s, 3/min

denied most
all_of gcra 2/s + gcra 10/min  1  198.51.100.1

";
        assert_eq!(replayed.report(3).to_string(), expected);
        assert!(!replayed.report(0).to_string().contains("denied most"));
    }

    #[test]
    fn a_log_of_nothing_has_a_heading_only() {
        let replayed = replayed(&[], &["1/s"]);
        assert_eq!(
            replayed.report(3).to_string(),
            "access.log: 0 requests under 0 keys\n"
        );
    }

    #[test]
    fn a_long_key_is_cut() {
        assert_eq!(cut("ä"), "ä");
        assert_eq!(cut(&"ä".repeat(61)).chars().count(), 61);
    }
}
