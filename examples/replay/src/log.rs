//! A log in memory: who asked when, in order of time.
//!
//! A request takes 16 bytes, its place in order of keys 8, and a key is stored once, so that ten
//! million lines fit in some 350 MB.
//!
//! A server writes a line when a request *ends*, so a long download stands below requests that began
//! minutes after it. A limiter sees them as they begin. Hence the lines are sorted by their time
//! first; of equal times the upper line goes first.

use std::collections::HashMap;

use crate::access_log::{Entry, Layout, Reject, read_line};
use crate::key::KeyKind;

/// How many rejected lines are remembered with their reason.
const NAMED: usize = 5;

/// One request: when, and the number of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Nanoseconds since the Unix epoch.
    pub time_ns: u64,
    /// Which key, numbered in the order in which they came.
    pub key: u32,
}

/// A line that is no log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The file that it is in.
    pub source: String,
    /// Its number there, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: Reject,
}

/// The requests of one log, sorted, and what happened on the way.
#[derive(Clone, Debug, Default)]
pub struct Log {
    requests: Vec<Request>,
    keys: Vec<Box<[u8]>>,
    /// The numbers of all requests, those of the first key first, each key's in order of time.
    by_key: Vec<usize>,
    /// Where in `by_key` each key ends.
    ends: Vec<usize>,
    late: u64,
    latest_by_ns: u64,
    rejected: u64,
    first_rejected: Vec<Rejected>,
}

impl Log {
    /// Every request, in order of time.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// Every key, by its number.
    pub fn keys(&self) -> &[Box<[u8]>] {
        &self.keys
    }

    /// For each key in turn the positions of its requests, in order of time.
    pub fn each_key(&self) -> impl Iterator<Item = &[usize]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let of_key = &self.by_key[start..*end];
            start = *end;
            of_key
        })
    }

    /// The times of the first and the last request; `None` if there is none.
    pub fn span(&self) -> Option<(u64, u64)> {
        let (first, last) = (self.requests.first()?, self.requests.last()?);
        Some((first.time_ns, last.time_ns))
    }

    /// How many lines stood below one with a later time.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// By how much at most a line was earlier than the one above it.
    pub fn latest_by_ns(&self) -> u64 {
        self.latest_by_ns
    }

    /// How many lines were no log lines.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// The first few of them.
    pub fn first_rejected(&self) -> &[Rejected] {
        &self.first_rejected
    }
}

/// Takes lines as they come, of one file or of several.
#[derive(Debug)]
pub struct LogBuilder {
    kind: KeyKind,
    layout: Layout,
    source: String,
    line: u64,
    previous_ns: u64,
    numbers: HashMap<Box<[u8]>, u32>,
    key: Vec<u8>,
    log: Log,
}

impl LogBuilder {
    /// A log whose requests are counted by `kind`, from lines laid out like `layout`.
    pub fn new(kind: KeyKind, layout: Layout) -> Self {
        Self {
            kind,
            layout,
            source: String::new(),
            line: 0,
            previous_ns: 0,
            numbers: HashMap::new(),
            key: Vec::new(),
            log: Log::default(),
        }
    }

    /// What follows comes from another file, which messages are to call `name`.
    pub fn begin_source(&mut self, name: &str) {
        name.clone_into(&mut self.source);
        self.line = 0;
        self.previous_ns = 0;
    }

    /// Reads the next line, whatever is in it.
    pub fn push_line(&mut self, line: &[u8]) {
        match read_line(line, self.layout) {
            Ok(entry) => self.push(&entry),
            Err(reason) => self.reject(reason),
        }
    }

    /// Counts the next line as no log line.
    pub fn reject(&mut self, reason: Reject) {
        self.line += 1;
        self.log.rejected += 1;
        if self.log.first_rejected.len() < NAMED {
            self.log.first_rejected.push(Rejected {
                source: self.source.clone(),
                line: self.line,
                reason,
            });
        }
    }

    /// Takes the next line as read already.
    pub fn push(&mut self, entry: &Entry<'_>) {
        self.line += 1;
        if entry.time_ns < self.previous_ns {
            self.log.late += 1;
            let by = self.previous_ns - entry.time_ns;
            self.log.latest_by_ns = self.log.latest_by_ns.max(by);
        }
        self.previous_ns = entry.time_ns;

        self.kind.write_key(entry, &mut self.key);
        let key = match self.numbers.get(self.key.as_slice()) {
            Some(number) => *number,
            None => {
                let number =
                    u32::try_from(self.numbers.len()).expect("memory ends before 2³² keys");
                self.numbers.insert(self.key.as_slice().into(), number);
                number
            }
        };
        self.log.requests.push(Request {
            time_ns: entry.time_ns,
            key,
        });
    }

    /// The log, sorted.
    pub fn finish(self) -> Log {
        let mut log = self.log;
        log.requests.sort_by_key(|request| request.time_ns);

        log.keys = vec![Box::default(); self.numbers.len()];
        for (key, number) in self.numbers {
            log.keys[number as usize] = key;
        }

        // A counting sort: how many requests each key has, then where each key begins. What was a
        // key's beginning has become its end when its last request is in place.
        let mut ends = vec![0; log.keys.len()];
        for request in &log.requests {
            ends[request.key as usize] += 1;
        }
        let mut before = 0;
        for end in &mut ends {
            before += std::mem::replace(end, before);
        }
        log.by_key = vec![0; log.requests.len()];
        for (position, request) in log.requests.iter().enumerate() {
            let next = &mut ends[request.key as usize];
            log.by_key[*next] = position;
            *next += 1;
        }
        log.ends = ends;
        log
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant::SECOND;

    fn push(builder: &mut LogBuilder, client: &str, second: u64) {
        builder.push(&Entry {
            client: client.as_bytes(),
            user: None,
            time_ns: second * SECOND,
            method: None,
            target: None,
            status: 200,
            size: None,
        });
    }

    #[test]
    fn lines_are_sorted_by_time_and_equal_times_keep_their_order() {
        let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
        for (client, second) in [("a", 9), ("b", 3), ("c", 9), ("b", 9), ("a", 4)] {
            push(&mut builder, client, second);
        }
        let log = builder.finish();

        let asked: Vec<_> = log
            .requests()
            .iter()
            .map(|request| {
                let key = str::from_utf8(&log.keys()[request.key as usize]).unwrap();
                (key, request.time_ns / SECOND)
            })
            .collect();
        assert_eq!(asked, [("b", 3), ("a", 4), ("a", 9), ("c", 9), ("b", 9)]);
        assert_eq!(
            log.each_key().collect::<Vec<_>>(),
            [&[1, 2][..], &[0, 4], &[3]]
        );
        assert_eq!(log.span(), Some((3 * SECOND, 9 * SECOND)));
    }

    #[test]
    fn a_line_is_late_when_the_one_above_it_is_later() {
        let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
        builder.begin_source("first");
        for second in [10, 4, 7, 7, 1] {
            push(&mut builder, "a", second);
        }
        builder.begin_source("second");
        push(&mut builder, "a", 0);
        let log = builder.finish();
        assert_eq!(log.late(), 2, "4 and 1; the second file begins anew");
        assert_eq!(log.latest_by_ns(), 6 * SECOND);
    }

    #[test]
    fn rejected_lines_are_counted_and_the_first_few_named() {
        let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
        builder.begin_source("first.log");
        push(&mut builder, "a", 1);
        builder.push_line(b"");
        builder.reject(Reject::TooLong);
        builder.begin_source("second.log");
        for _ in 0..10 {
            builder.push_line(b"free text");
        }
        let log = builder.finish();

        assert_eq!(log.requests().len(), 1);
        assert_eq!(log.rejected(), 12);
        let named: Vec<_> = log
            .first_rejected()
            .iter()
            .map(|line| (line.source.as_str(), line.line, line.reason))
            .collect();
        assert_eq!(
            named,
            [
                ("first.log", 2, Reject::Empty),
                ("first.log", 3, Reject::TooLong),
                ("second.log", 1, Reject::NoTime),
                ("second.log", 2, Reject::NoTime),
                ("second.log", 3, Reject::NoTime),
            ]
        );
    }

    #[test]
    fn a_log_of_nothing_is_a_log() {
        let log = LogBuilder::new(KeyKind::Client, Layout::Plain).finish();
        assert_eq!(log.span(), None);
        assert_eq!(log.each_key().count(), 0);
    }
}
