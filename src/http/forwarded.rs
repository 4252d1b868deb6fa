//! The `Forwarded` header of RFC 7239, read from its right end.
//!
//! A line is a list of elements, one for each hop: `for=203.0.113.7;proto=https, for="[::1]:80"`.
//! Only the elements at the right are written by hops that are trusted; what stands left of them
//! may be anything, such as a quote that is never closed. Read from the left, that quote would
//! swallow the elements that follow it. Read from the right it is never met: each quote of an
//! element that was written well has its partner before the comma that ends the search. For the
//! line `for="x, for=203.0.113.7` the last element is `for=203.0.113.7`.
//!
//! Where an element begins is found backwards, what it says is read forwards, and the forward
//! reading must use up the element to the byte. An element on which the two disagree is junk.

use std::net::IpAddr;

use super::node;

/// A list without its last element, if there is a comma before that, and the element.
pub(super) type Split<'a> = (Option<&'a [u8]>, &'a [u8]);

/// Takes the last element off `line`.
pub(super) fn split_last(line: &[u8]) -> Split<'_> {
    let mut at = line.len();
    while at > 0 {
        at -= 1;
        match line[at] {
            b',' => return (Some(&line[..at]), &line[at + 1..]),
            b'"' => match opening_quote(&line[..at]) {
                Some(opening) => at = opening,
                None => break,
            },
            _ => {}
        }
    }
    (None, line)
}

/// Where the quoted string began, of which `before` is all up to its closing quote.
fn opening_quote(mut before: &[u8]) -> Option<usize> {
    loop {
        let quote = before.iter().rposition(|&byte| byte == b'"')?;
        before = &before[..quote];
        // Within the string a quote has a backslash before it. The first has the equals sign.
        if before.last() != Some(&b'\\') {
            return Some(quote);
        }
    }
}

/// The address that an element, without spaces around it, says the request was forwarded for.
///
/// `None` is junk: an element that is malformed anywhere, names nobody, or names more than one.
/// Two things are taken that the RFC does not have but proxies write: spaces around semicolons,
/// and addresses with colons and brackets that are not in quotes.
pub(super) fn address(element: &[u8]) -> Option<IpAddr> {
    let mut client = None;
    let mut rest = element;
    while !rest.is_empty() {
        if rest[0] != b';' {
            let (name, value, after) = pair(rest)?;
            if name.eq_ignore_ascii_case(b"for") && client.replace(value).is_some() {
                return None;
            }
            rest = after.trim_ascii_start();
        }
        // The end, or the semicolon before the next pair, which may be empty.
        rest = match rest {
            [] => rest,
            [b';', after @ ..] => after.trim_ascii_start(),
            _ => return None,
        };
    }
    client?.address()
}

/// The value of a pair.
enum Value<'a> {
    Plain(&'a [u8]),
    /// What stands between the quotes.
    Quoted(&'a [u8]),
}

impl Value<'_> {
    fn address(self) -> Option<IpAddr> {
        match self {
            Self::Plain(node) => node::address(node),
            Self::Quoted(text) => {
                // On the stack: nobody who sends escapes makes this allocate.
                let mut node = [0; node::MAX_LEN];
                let mut len = 0;
                let mut bytes = text.iter();
                while let Some(&byte) = bytes.next() {
                    *node.get_mut(len)? = if byte == b'\\' { *bytes.next()? } else { byte };
                    len += 1;
                }
                node::address(&node[..len])
            }
        }
    }
}

/// The first pair of `text`: name, value, and what follows.
fn pair(text: &[u8]) -> Option<(&[u8], Value<'_>, &[u8])> {
    let (name, rest) = text.split_at(run(text, is_token));
    let rest = rest.strip_prefix(b"=")?;
    if name.is_empty() {
        return None;
    }
    if let [b'"', quoted @ ..] = rest {
        let end = closing_quote(quoted)?;
        return Some((name, Value::Quoted(&quoted[..end]), &quoted[end + 1..]));
    }
    let (value, after) = rest.split_at(run(rest, |byte| {
        is_token(byte) || matches!(byte, b':' | b'[' | b']')
    }));
    (!value.is_empty()).then_some((name, Value::Plain(value), after))
}

/// Where the quoted string ends that `text` is the inside of.
fn closing_quote(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// How many bytes at the start of `text` are of a kind.
fn run(text: &[u8], is_kind: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|&&byte| is_kind(byte)).count()
}

/// A byte of a `token` of RFC 9110.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
