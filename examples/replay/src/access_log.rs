//! One line of an access log, read with good will.
//!
//! The format is Common, with or without what Combined adds to it:
//!
//! ```text
//! 198.51.100.7 - ada [21/Apr/2004:10:56:07 -0400] "GET / HTTP/1.1" 200 2890 "-" "browser"
//! client    ident user  time                       request       status size  (not read)
//! ```
//!
//! A limiter needs to know who asked and when, so those two must be right or the line is refused.
//! For the rest the reader is lenient, because a request holds whatever its sender chose. A line cut
//! off before its size is refused; one cut off after it has told everything, and counts.

use std::fmt;

use crate::instant::{STAMP, parse_stamp};
use crate::request::{read_request, read_words};

/// What a line says. The parts are as they stand in the line: escapes are not undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The address or host name that asked.
    pub client: &'a [u8],
    /// The authenticated user; `None` where the line has `-` or nothing.
    pub user: Option<&'a [u8]>,
    /// When, in nanoseconds since the Unix epoch.
    pub time_ns: u64,
    /// The first word of the request; `None` if that has fewer than two words.
    pub method: Option<&'a [u8]>,
    /// The second word of the request; `None` if there is none.
    pub target: Option<&'a [u8]>,
    /// The status that was answered.
    pub status: u16,
    /// The size of the answer; `None` where the line has `-`.
    pub size: Option<u64>,
}

/// What stands before the client's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Nothing: a line begins with the client.
    #[default]
    Plain,
    /// The virtual host that was asked, and a space: Apache's `vhost_combined`.
    VirtualHost,
}

/// Why a line is no log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reject {
    /// There is nothing in it.
    Empty,
    /// It does not begin with a word of printable characters.
    NoClient,
    /// No ` [` in it: the time is missing, or the line was cut before it.
    NoTime,
    /// What is in square brackets is no time that a log writes.
    BadTime,
    /// Client and time are there, ident or user is not.
    NoUser,
    /// There is one field too many before the time: probably a virtual host.
    VirtualHost,
    /// No quoted request after the time.
    NoRequest,
    /// The request's closing quote is missing.
    OpenQuote,
    /// No status and size after the request.
    NoStatus,
    /// More bytes than are kept of a line.
    TooLong,
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the line is empty",
            Self::NoClient => "no client at the start",
            Self::NoTime => "no time in square brackets",
            Self::BadTime => "the time is not like [21/Apr/2004:10:56:07 -0400]",
            Self::NoUser => "ident or user is missing before the time",
            Self::VirtualHost => "a field too many before the time: a virtual host (see --vhost)?",
            Self::NoRequest => "no quoted request after the time",
            Self::OpenQuote => "the quote around the request is never closed",
            Self::NoStatus => "no status and size after the request",
            Self::TooLong => "the line is longer than 256 KiB",
        })
    }
}

impl std::error::Error for Reject {}

/// Reads one line, with or without its line end.
///
/// # Errors
///
/// If it is no log line: the reason why. There is no panic, whatever the bytes.
///
/// # Examples
///
/// ```
/// use tollgate_replay::access_log::{Layout, Reject, read_line};
///
/// let line = br#"198.51.100.7 - ada [21/Apr/2004:10:56:07 -0400] "GET / HTTP/1.1" 200 2890"#;
/// let entry = read_line(line, Layout::Plain)?;
/// assert_eq!(entry.client, b"198.51.100.7");
/// assert_eq!(entry.time_ns, 1_082_559_367_000_000_000);
///
/// assert_eq!(read_line(&line[..60], Layout::Plain), Err(Reject::OpenQuote));
/// # Ok::<(), Reject>(())
/// ```
pub fn read_line(line: &[u8], layout: Layout) -> Result<Entry<'_>, Reject> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Err(Reject::Empty);
    }
    let line = match layout {
        Layout::Plain => line,
        Layout::VirtualHost => split_word(line).ok_or(Reject::NoClient)?.1,
    };
    let (client, rest) = split_word(line).ok_or(Reject::NoTime)?;
    if client.is_empty() || client.iter().any(u8::is_ascii_control) {
        return Err(Reject::NoClient);
    }
    let (names, time_ns, rest) = split_at_time(rest)?;
    let user = read_user(names)?;
    let (request, status, size) = read_request(rest)?;
    let (method, target) = read_words(request);
    Ok(Entry {
        client,
        user,
        time_ns,
        method,
        target,
        status,
        size,
    })
}

/// Splits at the first space, which belongs to neither half.
pub(crate) fn split_word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = line.iter().position(|byte| *byte == b' ')?;
    Some((&line[..end], &line[end + 1..]))
}

/// Splits at the first time in square brackets: what is before it, the time, what is after it.
///
/// A user name may hold anything, brackets too, so brackets without a time in them are passed over.
fn split_at_time(rest: &[u8]) -> Result<(&[u8], u64, &[u8]), Reject> {
    let mut reason = Reject::NoTime;
    for (at, _) in rest.iter().enumerate().filter(|(_, byte)| **byte == b'[') {
        if at > 0 && rest[at - 1] != b' ' {
            continue;
        }
        let stamp = &rest[at + 1..];
        let time = match stamp.get(STAMP) {
            Some(b']') => parse_stamp(&stamp[..STAMP]),
            _ => None,
        };
        match time {
            Some(time_ns) => return Ok((&rest[..at], time_ns, &stamp[STAMP + 1..])),
            None => reason = Reject::BadTime,
        }
    }
    Err(reason)
}

/// The user, from what stands between client and time: `ident user ` and nothing else.
///
/// A user name may have spaces in it. But where something before the client moved everything by a
/// field (a virtual host, syslog's prefix), taking it for such a name would limit the wrong client.
/// The ident tells: nobody runs that service, so it is `-` wherever it is the ident.
fn read_user(names: &[u8]) -> Result<Option<&[u8]>, Reject> {
    let names = names.strip_suffix(b" ").ok_or(Reject::NoUser)?;
    let (ident, user) = split_word(names).ok_or(Reject::NoUser)?;
    let user = user.trim_ascii();
    if user.contains(&b' ') && ident != b"-" {
        return Err(Reject::VirtualHost);
    }
    Ok(match user {
        b"" | b"-" | b"\"\"" => None,
        user => Some(user),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Entry<'_>, Reject> {
        read_line(line.as_bytes(), Layout::Plain)
    }

    #[test]
    fn common_and_combined_lines_say_the_same() {
        let common =
            r#"203.0.113.5 - ada [05/Mar/2021:09:01:38 +0100] "POST /a?b HTTP/1.0" 201 1513"#;
        let combined = format!(r#"{common} "http://example.com/" "curl/8""#);
        let entry = Entry {
            client: b"203.0.113.5",
            user: Some(b"ada"),
            time_ns: 1_614_931_298_000_000_000,
            method: Some(b"POST"),
            target: Some(b"/a?b"),
            status: 201,
            size: Some(1513),
        };
        assert_eq!(read(common), Ok(entry));
        assert_eq!(read(&combined), Ok(entry));
        for end in ["\n", "\r\n", " ", " \r\n", " \"-\""] {
            assert_eq!(read(&format!("{combined}{end}")), Ok(entry), "{end:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_read_as_they_are() {
        let line =
            b"h.example - \xff\xfe [05/Mar/2021:09:01:38 +0100] \"SEARCH /\x90\x02\xb1\" 414 -";
        let entry = read_line(line, Layout::Plain).unwrap();
        assert_eq!(entry.user, Some(&b"\xff\xfe"[..]));
        assert_eq!(entry.target, Some(&b"/\x90\x02\xb1"[..]));
        assert_eq!(entry.size, None);
    }

    #[test]
    fn a_user_name_may_hold_spaces_and_brackets() {
        for (names, user) in [
            ("- -", None),
            ("- ", None),
            ("- \"\"", None),
            ("- ada lovelace", Some("ada lovelace")),
            ("ident ada", Some("ada")),
            ("- [x] y", Some("[x] y")),
        ] {
            let line = format!(
                r#"203.0.113.5 {names} [05/Mar/2021:09:01:38 +0100] "GET / HTTP/1.1" 200 1"#
            );
            let entry = read(&line).expect(names);
            assert_eq!(entry.user, user.map(str::as_bytes), "{names}");
        }
    }

    #[test]
    fn a_virtual_host_is_never_taken_for_the_client() {
        let line = r#"203.0.113.5 - - [25/Oct/2021:11:05:52 +0200] "GET / HTTP/1.1" 403 6963"#;
        for before in [
            "www.example.com:443",
            "www.example.com",
            "Oct 25 web nginx:",
        ] {
            let moved = format!("{before} {line}");
            assert_eq!(read(&moved), Err(Reject::VirtualHost), "{before}");
        }
        let moved = format!("www.example.com:443 {line}");
        assert_eq!(
            read_line(moved.as_bytes(), Layout::VirtualHost),
            read_line(line.as_bytes(), Layout::Plain)
        );
        assert_eq!(
            read_line(line.as_bytes(), Layout::VirtualHost),
            Err(Reject::NoUser)
        );
    }

    #[test]
    fn a_line_cut_anywhere_before_its_size_is_refused_with_the_reason() {
        let line = r#"203.0.113.5 - - [05/Mar/2021:09:01:38 +0100] "GET / HTTP/1.1" 200 1513"#;
        let cut = |end| read(&line[..end]).unwrap_err();
        assert_eq!(cut(0), Reject::Empty);
        assert_eq!(cut(5), Reject::NoTime);
        assert_eq!(cut(15), Reject::NoTime);
        assert_eq!(cut(30), Reject::BadTime);
        assert_eq!(cut(44), Reject::NoRequest);
        assert_eq!(cut(50), Reject::OpenQuote);
        assert_eq!(cut(61), Reject::NoStatus);
        assert_eq!(cut(65), Reject::NoStatus);
        for end in 0..66 {
            assert!(read(&line[..end]).is_err(), "{}", &line[..end]);
        }
        assert!(read(&line[..67]).is_ok(), "from here on the size is short");
    }

    #[test]
    fn lines_of_other_kinds_are_refused() {
        for (line, reason) in [
            ("not a log line", Reject::NoTime),
            ("\t \r", Reject::Empty),
            ("/logo.gif HTTP/1.0\" 200 12054", Reject::NoTime),
            (
                "[Thu Oct 13 12:24:49.880562 2022] [auth_basic:error] [pid 10] user x not found: /",
                Reject::BadTime,
            ),
            (
                "203.0.113.5 - - [November 23, 2021T00:18:22 +0000] \"GET / HTTP/1.1\" 200 19",
                Reject::BadTime,
            ),
            (
                "203.0.113.5 [20/Jul/2009:22:59:29 +0000] \"GET / HTTP/1.0\" 404 46210",
                Reject::NoUser,
            ),
            (
                "203.0.113.5 - [20/Jul/2009:22:59:29 +0000] \"GET / HTTP/1.0\" 404 46210",
                Reject::NoUser,
            ),
            (
                "\0\0\x1b[1m - - [20/Jul/2009:22:59:29 +0000] \"GET / HTTP/1.0\" 404 46210",
                Reject::NoClient,
            ),
            (
                "203.0.113.5 - - [20/Jul/2009:22:59:29 +0000] GET / HTTP/1.0 404 46210",
                Reject::NoRequest,
            ),
            (
                "203.0.113.5 - - [20/Jul/2009:22:59:29 +0000] \"GET / HTTP/1.0\" 404 46k",
                Reject::NoStatus,
            ),
            (
                "203.0.113.5 - - [20/Jul/2009:22:59:29 +0000] \"GET / HTTP/1.0\" 4040 46",
                Reject::NoStatus,
            ),
        ] {
            assert_eq!(read(line), Err(reason), "{line}");
        }
    }

    #[test]
    fn no_bytes_whatever_make_it_panic() {
        let line = br#"a - - [05/Mar/2021:09:01:38 +0100] "G \" /" 200 1 "-" "x""#;
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let mut bytes = line.to_vec();
            for _ in 0..rng.usize(..6) {
                match rng.usize(..3) {
                    0 => bytes.truncate(rng.usize(..=bytes.len())),
                    1 => bytes.insert(
                        rng.usize(..=bytes.len()),
                        rng.choice(*b"\\\" []-\0").unwrap(),
                    ),
                    _ if bytes.is_empty() => {}
                    _ => {
                        let at = rng.usize(..bytes.len());
                        bytes[at] = rng.u8(..);
                    }
                }
            }
            for layout in [Layout::Plain, Layout::VirtualHost] {
                if let Ok(entry) = read_line(&bytes, layout) {
                    assert!(!entry.client.is_empty());
                }
            }
        }
    }
}
