//! What was found, for people to read.

use std::fmt;

use tollgate::{AnyAlgorithm, Limit};

use crate::instant::{SECOND, show_time};
use crate::key::show_key;
use crate::log::Log;
use crate::replay::Outcome;
use crate::table::{Side, Table, share};
use crate::trial::short_name;

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
        writeln!(f, "{}", self.about_most())?;
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
        writeln!(f, "lines left out, not log lines: {}", log.rejected())?;
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

    /// What the last column means, and how an algorithm came to allow more than its limit there.
    fn about_most(&self) -> String {
        let mut text =
            "most allowed: the most that one key got in any one period, wherever that begins\n"
                .to_owned();
        let mut explained = Vec::new();
        for outcome in &self.replayed.outcomes {
            let algorithm = outcome.trial.algorithm();
            let exceeds = |(limit, most): &(Limit, u64)| *most > limit.permits();
            if !explained.contains(&algorithm)
                && outcome.most.iter().any(exceeds)
                && let Some(why) = why_more(algorithm)
            {
                explained.push(algorithm);
                text += &format!("- {} {why}\n", short_name(algorithm));
            }
        }
        text
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

/// How more than the limit comes to be allowed in some period, where that can be.
fn why_more(algorithm: AnyAlgorithm) -> Option<&'static str> {
    match algorithm {
        AnyAlgorithm::TokenBucket | AnyAlgorithm::AllOf => {
            Some("(the token bucket) may allow its burst and then what is refilled in a period")
        }
        AnyAlgorithm::FixedWindow => {
            Some("may allow its limit late in one period of the clock and again early in the next")
        }
        AnyAlgorithm::SlidingLog => None,
        AnyAlgorithm::SlidingCounter => {
            Some("estimates: it takes what the last period allowed as spread evenly over it")
        }
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
lines left out, not log lines: 1

                               allowed      denied  keys denied  most allowed
all_of gcra 2/s + gcra 10/min        4  1 (20.0 %)   1 (50.0 %)    2/s, 3/min

most allowed: the most that one key got in any one period, wherever that begins

denied most
all_of gcra 2/s + gcra 10/min  1  198.51.100.1

";
        assert_eq!(replayed.report(3).to_string(), expected);
        assert!(!replayed.report(0).to_string().contains("denied most"));
    }

    #[test]
    fn more_than_the_limit_is_explained_where_it_was_allowed() {
        let line = |second| format!(r#"h - - [06/Jan/2025:08:00:{second:02} +0000] "GET /" 200 1"#);
        let lines: Vec<_> = [0, 0, 30].map(line).into();
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let why = "\n- gcra (the token bucket) may allow its burst and then";
        let exceeding = replayed(&lines, &["2/min"]).report(3).to_string();
        assert!(exceeding.contains("3/min\n"), "{exceeding}");
        assert!(exceeding.contains(why), "{exceeding}");
        let keeping = replayed(&lines, &["3/min"]).report(3).to_string();
        assert!(keeping.contains("3/min\n"), "{keeping}");
        assert!(!keeping.contains(why), "{keeping}");
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
