//! Traffic for those who have no log at hand: an hour of a small site, made up from a seed.
//!
//! | who | does what |
//! |---|---|
//! | 60 steady clients, 20 of them on IPv6 | a request every 10 to 60 s each |
//! | a household, 180 addresses of one /64 | changes its address every 20 s |
//! | a burst, `203.0.113.66` | 300 requests within 20 s, once |
//! | a scraper, `203.0.113.99` | 3 requests a second for 25 minutes |
//! | an office, `192.0.2.10` | 40 people with names behind one address, in a spell of work |
//!
//! So one limit per client meets all that makes it hard to choose: the scraper hides under a high
//! one, the office suffers from a low one, and the household slips through any that does not cut
//! addresses to their network. The lines stand in the order in which the requests ended.

use crate::access_log::Entry;
use crate::instant::SECOND;
use crate::log::LogBuilder;

/// When the hour begins: 2025-01-06 08:00:00 UTC, a Monday.
const START: u64 = 1_736_150_400 * SECOND;

const MILLISECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// One request, until its line is written.
struct Asked {
    at: u64,
    ended: u64,
    client: String,
    user: Option<String>,
    target: String,
}

/// Writes an hour of traffic into `builder`. The same seed makes the same traffic.
///
/// # Examples
///
/// ```
/// use tollgate_replay::access_log::Layout;
/// use tollgate_replay::{KeyKind, LogBuilder, made_up};
///
/// let log = |seed| {
///     let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
///     made_up(seed, &mut builder);
///     builder.finish()
/// };
/// assert_eq!(log(1).requests(), log(1).requests());
/// assert_ne!(log(1).requests(), log(2).requests());
/// ```
pub fn made_up(seed: u64, builder: &mut LogBuilder) {
    let mut hour = Hour {
        rng: fastrand::Rng::with_seed(seed),
        asked: Vec::new(),
    };
    hour.steady_clients();
    hour.household();
    hour.burst();
    hour.scraper();
    hour.office();

    hour.asked.sort_by_key(|asked| asked.ended);
    for asked in &hour.asked {
        builder.push(&Entry {
            client: asked.client.as_bytes(),
            user: asked.user.as_deref().map(str::as_bytes),
            time_ns: START + asked.at,
            method: Some(b"GET"),
            target: Some(asked.target.as_bytes()),
            status: 200,
            size: None,
        });
    }
}

struct Hour {
    rng: fastrand::Rng,
    asked: Vec<Asked>,
}

impl Hour {
    fn steady_clients(&mut self) {
        for number in 1..=60 {
            let client = if number <= 40 {
                format!("198.51.100.{number}")
            } else {
                format!("2001:db8:0:{number:x}::1")
            };
            let pause = self.rng.u64(10..=60) * SECOND;
            let mut at = self.rng.u64(..pause);
            while at < HOUR {
                let target = self.page();
                self.ask(at, &client, None, target);
                at += self.pause_around(pause);
            }
        }
    }

    fn household(&mut self) {
        let mut at = 0;
        while at < HOUR {
            let client = format!("2001:db8:0:ff::{:x}", at / (20 * SECOND));
            let target = self.page();
            self.ask(at, &client, None, target);
            at += self.pause_around(SECOND);
        }
    }

    fn burst(&mut self) {
        for _ in 0..300 {
            let at = 20 * MINUTE + self.rng.u64(..20 * SECOND);
            let target = self.page();
            self.ask(at, "203.0.113.66", None, target);
        }
    }

    fn scraper(&mut self) {
        for number in 0..3 * 25 * 60 {
            let at = 30 * MINUTE + number * SECOND / 3;
            let target = format!("/archive/{number}");
            self.ask(at, "203.0.113.99", None, target);
        }
    }

    fn office(&mut self) {
        for person in 1..=40 {
            let name = format!("person{person:02}");
            let mut at = self.rng.u64(..10 * MINUTE);
            let leaves = at + self.rng.u64(10 * MINUTE..45 * MINUTE);
            while at < leaves {
                let target = self.page();
                self.ask(at, "192.0.2.10", Some(&name), target);
                at += self.pause_around(20 * SECOND);
            }
        }
    }

    fn ask(&mut self, at: u64, client: &str, user: Option<&str>, target: String) {
        // One request in a hundred is a long download, and its line comes late.
        let longest = match self.rng.u8(..100) {
            0 => 90 * SECOND,
            _ => 20 * MILLISECOND,
        };
        self.asked.push(Asked {
            at: at / MILLISECOND * MILLISECOND,
            ended: at + self.rng.u64(..longest),
            client: client.to_owned(),
            user: user.map(str::to_owned),
            target,
        });
    }

    fn page(&mut self) -> String {
        let number = self.rng.u32(1..=200);
        match self.rng.u8(..10) {
            0..=2 => "/".to_owned(),
            3..=4 => "/news".to_owned(),
            5..=6 => format!("/search?q={number}"),
            7..=8 => format!("/items/{number}"),
            _ => format!("/img/{number}.png"),
        }
    }

    /// Somewhere from half of `pause` to one and a half.
    fn pause_around(&mut self, pause: u64) -> u64 {
        self.rng.u64(pause / 2..=pause + pause / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_log::Layout;
    use crate::key::KeyKind;
    use crate::log::Log;

    fn log(kind: KeyKind) -> Log {
        let mut builder = LogBuilder::new(kind, Layout::Plain);
        made_up(7, &mut builder);
        builder.finish()
    }

    fn requests_of(log: &Log, name: &str) -> usize {
        let number = log.keys().iter().position(|key| **key == *name.as_bytes());
        log.each_key().nth(number.unwrap()).unwrap().len()
    }

    #[test]
    fn everybody_in_the_table_is_there() {
        let log = log(KeyKind::Client);
        assert_eq!(requests_of(&log, "203.0.113.66"), 300);
        assert_eq!(requests_of(&log, "203.0.113.99"), 4500);
        assert!(requests_of(&log, "192.0.2.10") > 2000);
        assert!((40..=400).contains(&requests_of(&log, "198.51.100.1")));
        assert!((60 + 3 + 150..=60 + 3 + 180).contains(&log.keys().len()));
    }

    #[test]
    fn it_lasts_an_hour_and_some_lines_are_late() {
        let log = log(KeyKind::Client);
        let (first, last) = log.span().unwrap();
        assert!(first >= START && last < START + HOUR);
        assert!(last - first > HOUR * 9 / 10);
        assert!(log.late() > 0);
        assert!(log.latest_by_ns() < 91 * SECOND);
    }

    #[test]
    fn every_kind_of_key_sees_something_else() {
        assert_eq!(log(KeyKind::Prefix64).keys().len(), 60 + 1 + 3);
        assert!(requests_of(&log(KeyKind::Prefix64), "2001:db8:0:ff::/64") > 2000);
        assert!(requests_of(&log(KeyKind::User), "person01") > 10);
        assert!(requests_of(&log(KeyKind::Path), "/search") > 1000);
    }
}
