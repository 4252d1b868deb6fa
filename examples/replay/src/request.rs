//! The second half of a log line: the request in quotes, its status and its size.
//!
//! What is in a request was chosen by whoever sent it: any bytes, any number of words, no words at
//! all, quotes that the server did not escape. So a request ends at the first unescaped quote that a
//! status and a size follow. Of
//!
//! ```text
//! "GET" /hostadmin/?page=' HTTP/1.0" 501 345
//! ```
//!
//! the request is all that is before ` 501`, and the second quote is part of it.

use crate::access_log::{Reject, split_word};

/// The request and, from after its closing quote, the status and the size.
pub(crate) fn read_request(rest: &[u8]) -> Result<(&[u8], u16, Option<u64>), Reject> {
    let request = rest.strip_prefix(b" \"").ok_or(Reject::NoRequest)?;
    let mut reason = Reject::OpenQuote;
    let mut at = 0;
    while let Some(byte) = request.get(at) {
        match byte {
            b'\\' => at += 1,
            b'"' => {
                if let Some((status, size)) = read_status(&request[at + 1..]) {
                    return Ok((&request[..at], status, size));
                }
                reason = Reject::NoStatus;
            }
            _ => {}
        }
        at += 1;
    }
    Err(reason)
}

/// ` 200 2890` or ` 200 -`, and then the end or another field.
fn read_status(rest: &[u8]) -> Option<(u16, Option<u64>)> {
    let (status, rest) = split_word(rest.strip_prefix(b" ")?)?;
    if status.len() != 3 {
        return None;
    }
    let status = digits(status)?;
    let size = match split_word(rest) {
        Some((size, _)) => size,
        None => rest,
    };
    let size = match size {
        b"-" => None,
        size => Some(digits(size)?),
    };
    Some((status as u16, size))
}

fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| byte - b'0')?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Method and target: the first two words, if there are two.
pub(crate) fn read_words(request: &[u8]) -> (Option<&[u8]>, Option<&[u8]>) {
    let mut words = request
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty());
    match (words.next(), words.next()) {
        (Some(method), Some(target)) => (Some(method), Some(target)),
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use crate::access_log::{Layout, read_line};

    fn with_request(request: &str) -> String {
        format!("203.0.113.5 - - [05/Mar/2021:09:01:38 +0100] \"{request}\" 200 12 \"-\" \"x\"")
    }

    #[test]
    fn a_request_may_be_anything() {
        for (request, method, target) in [
            ("GET / HTTP/1.1", "GET", "/"),
            ("GET /no-protocol", "GET", "/no-protocol"),
            ("GET /a b c HTTP/1.1", "GET", "/a"),
            (
                "CONNECT example.com:25 HTTP/1.1",
                "CONNECT",
                "example.com:25",
            ),
            ("GET  /two-spaces", "GET", "/two-spaces"),
            (r#"GET /\"quoted\" HTTP/1.0"#, "GET", r#"/\"quoted\""#),
            (r"GET /\\ HTTP/1.0", "GET", r"/\\"),
            (r"\x16\x03\x01 \x02", r"\x16\x03\x01", r"\x02"),
            ("GET\" /bare' HTTP/1.0", "GET\"", "/bare'"),
        ] {
            let line = with_request(request);
            let entry = read_line(line.as_bytes(), Layout::Plain).expect(request);
            assert_eq!(entry.method, Some(method.as_bytes()), "{request}");
            assert_eq!(entry.target, Some(target.as_bytes()), "{request}");
            assert_eq!((entry.status, entry.size), (200, Some(12)), "{request}");
        }
        for request in ["-", "", "HELP", r"\x16\x03"] {
            let line = with_request(request);
            let entry = read_line(line.as_bytes(), Layout::Plain).expect(request);
            assert_eq!((entry.method, entry.target), (None, None), "{request}");
        }
    }

    #[test]
    fn what_a_client_sends_cannot_pass_for_the_end_of_its_request() {
        let line = with_request(r#"GET /\" 500 1 \"-\" HTTP/1.1"#);
        let entry = read_line(line.as_bytes(), Layout::Plain).unwrap();
        assert_eq!((entry.status, entry.size), (200, Some(12)));
    }
}
