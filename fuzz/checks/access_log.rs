//! What the target `access_log` checks: no bytes make the log reader panic, and a file says what
//! its lines say one by one, compressed or not, however the bytes arrive.
//!
//! `fuzz_targets/access_log.rs` and `tests/fuzz_seeds.rs` mount it.

#![allow(dead_code, reason = "only the test writes seeds")]
#![allow(unreachable_pub, reason = "a module of a test and of a fuzz target")]

#[path = "access_log/words.rs"]
mod words;

use std::io::{self, Read, Write};

use allocation_counter::measure;
use flate2::Compression;
use flate2::write::GzEncoder;
use tollgate_replay::access_log::{Entry, Layout, Reject, read_line};
use tollgate_replay::input::{self, LONGEST};
use tollgate_replay::{KeyKind, Log, LogBuilder, show_key, show_time};
use words::WORDS;

/// How the bytes after the first are read.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// As a file.
    Text,
    /// As a file with lines that [`WORDS`] are made into, one byte to the word.
    Words,
    /// As a file that is compressed first, and must then say the same.
    Gzip,
    /// As a file that is compressed and then damaged: what is compressed is behind four bytes that
    /// say where.
    DamagedGzip,
    /// As a file whose first line is made as long as a line may be, or longer.
    LongLine,
}

/// The first of each stand in the order of the forms.
const FORMS: [Form; 32] = {
    let mut forms = [Form::Text; 32];
    forms[1] = Form::Words;
    forms[2] = Form::Gzip;
    forms[3] = Form::DamagedGzip;
    // This one is slow, and there is not much to find.
    forms[4] = Form::LongLine;
    let mut more = 5;
    while more < 20 {
        forms[more] = Form::Words;
        more += 1;
    }
    forms
};

const KINDS: [KeyKind; 4] = [
    KeyKind::Client,
    KeyKind::Prefix64,
    KeyKind::Path,
    KeyKind::User,
];

const LAYOUTS: [Layout; 2] = [Layout::Plain, Layout::VirtualHost];

/// The bytes that are read so.
pub fn input(form: Form, kind: KeyKind, layout: Layout, rest: &[u8]) -> Vec<u8> {
    let kind = KINDS.iter().position(|other| *other == kind).unwrap();
    let layout = LAYOUTS.iter().position(|other| *other == layout).unwrap();
    let first = form as usize + FORMS.len() * (kind + KINDS.len() * layout);
    [&[first as u8], rest].concat()
}

/// # Panics
///
/// If the file says something else than its lines.
pub fn check(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let first = usize::from(*first);
    let form = FORMS[first % FORMS.len()];
    let kind = KINDS[first / FORMS.len() % KINDS.len()];
    let layout = LAYOUTS[first / FORMS.len() / KINDS.len() % LAYOUTS.len()];
    let check = Check { kind, layout };
    match form {
        Form::Text => check.file(rest),
        Form::Words => check.file(&words(rest)),
        Form::Gzip => check.compressed(rest),
        Form::DamagedGzip => check.damaged(rest),
        Form::LongLine => check.long(rest),
    }
}

fn words(bytes: &[u8]) -> Vec<u8> {
    let words = bytes
        .iter()
        .take(200)
        .map(|byte| WORDS[usize::from(*byte) % WORDS.len()]);
    words.collect::<String>().into_bytes()
}

#[derive(Clone, Copy)]
struct Check {
    kind: KeyKind,
    layout: Layout,
}

impl Check {
    /// A file says what its lines say, however the bytes arrive.
    fn file(self, text: &[u8]) {
        let read = self.read(text, text.len());
        let Ok(log) = read else {
            assert!(text.starts_with(&GZIP), "{:?}", read.err());
            return;
        };
        if text.starts_with(&GZIP) {
            // Whole members, which no fuzzer finds but by copying one. What is in them is unknown.
            return;
        }
        self.says_what_its_lines_say(&log, text);
        let slow = self
            .read(Slow(text), text.len())
            .expect("memory is always read");
        assert_eq!(told(&slow), told(&log), "in small pieces");
    }

    fn says_what_its_lines_say(self, log: &Log, text: &[u8]) {
        let text_lines = text.strip_suffix(b"\n").unwrap_or(text);
        let mut lines: Vec<&[u8]> = text_lines.split(|byte| *byte == b'\n').collect();
        if text.is_empty() {
            lines.clear();
        }

        let (mut entries, mut rejected) = (Vec::new(), Vec::new());
        let (mut late, mut latest_by, mut previous) = (0, 0, 0);
        for (line, number) in lines.iter().zip(1..) {
            match self.line(line) {
                Ok(entry) if line.len() <= LONGEST => {
                    late += u64::from(entry.time_ns < previous);
                    latest_by = previous.saturating_sub(entry.time_ns).max(latest_by);
                    previous = entry.time_ns;
                    entries.push(entry);
                }
                Err(reason) if line.len() <= LONGEST => rejected.push((number, reason)),
                _ => rejected.push((number, Reject::TooLong)),
            }
        }
        assert_eq!(entries.len() + rejected.len(), lines.len());
        assert_eq!(log.rejected(), rejected.len() as u64);
        let named = log.first_rejected().iter();
        let named: Vec<_> = named.map(|line| (line.line, line.reason)).collect();
        assert_eq!(named, rejected[..rejected.len().min(5)]);
        assert_eq!((log.late(), log.latest_by_ns()), (late, latest_by));

        // Of equal times the upper line goes first.
        entries.sort_by_key(|entry| entry.time_ns);
        let expected: Vec<_> = entries
            .iter()
            .map(|entry| (entry.time_ns, self.key(entry)))
            .collect();
        let requests = log.requests().iter();
        let found: Vec<_> = requests
            .map(|request| (request.time_ns, log.keys()[request.key as usize].to_vec()))
            .collect();
        assert_eq!(found, expected);

        // Each key's requests are in order, and every request is some key's.
        let mut seen = 0;
        for (key, requests) in log.each_key().enumerate() {
            assert!(requests.is_sorted());
            let of_key = |position: &usize| log.requests()[*position].key as usize == key;
            assert!(!requests.is_empty() && requests.iter().all(of_key));
            seen += requests.len();
        }
        assert_eq!(seen, log.requests().len());
    }

    /// Reads one line, and checks what its parts promise.
    fn line(self, line: &[u8]) -> Result<Entry<'_>, Reject> {
        let read = read_line(line, self.layout);
        let ended = [line, b"\r\n"].concat();
        assert_eq!(read_line(&ended, self.layout), read, "with a line end");
        match read {
            Ok(entry) => {
                let no_word = |part: &[u8]| part.is_empty() || part.contains(&b' ');
                assert!(!no_word(entry.client));
                assert!(!entry.client.iter().any(u8::is_ascii_control));
                assert!(
                    entry
                        .user
                        .is_none_or(|user| !user.is_empty() && user != b"-")
                );
                assert_eq!(entry.method.is_some(), entry.target.is_some());
                assert!(
                    ![entry.method, entry.target]
                        .into_iter()
                        .flatten()
                        .any(no_word)
                );
                assert!(entry.status <= 999);
                assert_eq!(show_time(entry.time_ns).len(), "2025-01-29 16:51:12".len());
            }
            Err(reason) => assert!(!reason.to_string().is_empty()),
        }
        if self.layout == Layout::Plain && !line.trim_ascii().is_empty() {
            // A virtual host before the line moves everything by one field, and changes nothing.
            let moved = [b"www.example.com:443 ", line.trim_ascii()].concat();
            let moved = read_line(&moved, Layout::VirtualHost);
            assert_eq!(moved, read, "behind a virtual host");
        }
        read
    }

    fn key(self, entry: &Entry<'_>) -> Vec<u8> {
        let mut key = Vec::new();
        self.kind.write_key(entry, &mut key);
        assert!(!show_key(&key).contains(char::is_control));
        key
    }

    /// Compressed in two pieces, a file says the same.
    fn compressed(self, text: &[u8]) {
        let (middle, text) = text.split_first().unwrap_or((&0, text));
        let (upper, lower) = text.split_at(text.len() * usize::from(*middle) / 255);
        let file = [gzip(upper), gzip(lower)].concat();
        let log = self.read(&file[..], text.len()).expect("whole members");
        self.says_what_its_lines_say(&log, text);
    }

    /// A damaged file is refused, or its lines are counted like any.
    fn damaged(self, bytes: &[u8]) {
        let Some((damage, text)) = bytes.split_first_chunk::<4>() else {
            return;
        };
        let mut file = gzip(text);
        let [place, more, flip, cut] = damage.map(usize::from);
        let place = (place << 8 | more) % file.len();
        file[place] ^= flip as u8;
        file.truncate(file.len().saturating_sub(cut % 32));
        if let Ok(log) = self.read(&file[..], text.len() + file.len()) {
            let lines = log.requests().len() as u64 + log.rejected();
            assert!(lines <= 1 + text.len().max(file.len()) as u64);
        }
    }

    /// The first byte tells whether the first line is filled, with spaces, which say nothing, to
    /// the longest that there may be, to a byte more than that, or to many times that.
    fn long(self, text: &[u8]) {
        let (more, text) = text.split_first().unwrap_or((&0, text));
        let end = text.iter().position(|byte| *byte == b'\n');
        let (first, rest) = text.split_at(end.unwrap_or(text.len()));
        let filled = [LONGEST, LONGEST + 1, 16 * LONGEST][usize::from(*more) % 3];
        if text.starts_with(&GZIP) || first.len() > filled {
            return;
        }
        let spaces = io::repeat(b' ').take((filled - first.len()) as u64);
        let log = self.read(first.chain(spaces).chain(rest), text.len());
        let log = log.expect("memory is always read");
        let lines = log.requests().len() as u64 + log.rejected();
        let feeds = text.iter().filter(|byte| **byte == b'\n').count() as u64;
        let open = u64::from(rest.last().is_none_or(|last| *last != b'\n'));
        assert_eq!(lines, feeds + open);
        let first_is_rejected = (log.first_rejected().first()).is_some_and(|line| line.line == 1);
        assert_eq!(
            first_is_rejected,
            filled > LONGEST || self.line(first).is_err()
        );
    }

    /// Reads a file of so many bytes, not counting one line's that is too long, and checks that it
    /// takes no more memory than them and one line.
    fn read(self, file: impl Read, length: usize) -> io::Result<Log> {
        let mut read = None;
        let allocated = measure(|| {
            let mut builder = LogBuilder::new(self.kind, self.layout);
            let all = input::read_all(file, &mut builder, &mut |_| {});
            read = Some(all.map(|()| builder.finish()));
        });
        assert!(
            allocated.bytes_max <= (8 * LONGEST + 16 * length) as u64,
            "{allocated:?} for {length} bytes"
        );
        read.expect("it was read just now")
    }
}

/// How a gzip file begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).expect("memory is always written");
    encoder.finish().expect("memory is always written")
}

/// All that a log says.
fn told(log: &Log) -> impl PartialEq + std::fmt::Debug {
    (
        log.requests().to_vec(),
        log.keys().to_vec(),
        log.each_key().map(<[usize]>::to_vec).collect::<Vec<_>>(),
        log.first_rejected().to_vec(),
        [log.rejected(), log.late(), log.latest_by_ns()],
    )
}

/// Gives a few bytes at a time.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = buffer.len().min(3);
        self.0.read(&mut buffer[..end])
    }
}
