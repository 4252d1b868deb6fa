//! Whom a request is counted against.

use std::net::Ipv6Addr;

use crate::access_log::Entry;

/// Which part of a request is its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyKind {
    /// The client, as the log has it. An IPv4 address that is written as IPv6
    /// (`::ffff:192.0.2.1`) is the same key as the address itself.
    #[default]
    Client,
    /// The client, IPv6 addresses cut to their /64 network, which is what one customer gets.
    /// IPv4 addresses stay whole, also where they are written as IPv6.
    Prefix64,
    /// The target without its query; `-` where a request has none.
    Path,
    /// The user. A request without one is counted against its client, written `-@CLIENT`: one key
    /// for all of them would make strangers share a limit.
    User,
}

impl KeyKind {
    /// Writes the key of a request into `key`, in place of what is there.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate_replay::access_log::{Layout, read_line};
    /// use tollgate_replay::KeyKind;
    ///
    /// let line = br#"2001:db8:1:2:3:4:5:6 - - [05/Mar/2021:09:01:38 +0100] "GET /a?b" 200 1"#;
    /// let entry = read_line(line, Layout::Plain)?;
    /// let mut key = Vec::new();
    /// for (kind, expected) in [
    ///     (KeyKind::Client, "2001:db8:1:2:3:4:5:6"),
    ///     (KeyKind::Prefix64, "2001:db8:1:2::/64"),
    ///     (KeyKind::Path, "/a"),
    ///     (KeyKind::User, "-@2001:db8:1:2:3:4:5:6"),
    /// ] {
    ///     kind.write_key(&entry, &mut key);
    ///     assert_eq!(key, expected.as_bytes());
    /// }
    /// # Ok::<(), tollgate_replay::access_log::Reject>(())
    /// ```
    pub fn write_key(self, entry: &Entry<'_>, key: &mut Vec<u8>) {
        key.clear();
        match self {
            Self::Client => write_client(entry.client, key),
            Self::Prefix64 => write_prefix64(entry.client, key),
            Self::Path => key.extend_from_slice(match entry.target {
                Some(target) => path(target),
                None => b"-",
            }),
            Self::User => match entry.user {
                Some(user) => key.extend_from_slice(user),
                None => {
                    key.extend_from_slice(b"-@");
                    write_client(entry.client, key);
                }
            },
        }
    }
}

/// A key as text that is safe to print: bytes that are no UTF-8, and control characters, become
/// `\\xHH`.
///
/// # Examples
///
/// ```
/// use tollgate_replay::show_key;
///
/// assert_eq!(show_key("/straße".as_bytes()), "/straße");
/// assert_eq!(show_key(b"/\x1b[2J\xb1"), r"/\x1b[2J\xb1");
/// ```
pub fn show_key(key: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in key.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() {
                let mut utf8 = [0; 4];
                escape(c.encode_utf8(&mut utf8).as_bytes(), &mut shown);
            } else {
                shown.push(c);
            }
        }
        escape(chunk.invalid(), &mut shown);
    }
    shown
}

fn escape(bytes: &[u8], shown: &mut String) {
    for byte in bytes {
        shown.push_str(&format!("\\x{byte:02x}"));
    }
}

/// The client as it is written, unless that is IPv4 written as IPv6.
fn write_client(client: &[u8], key: &mut Vec<u8>) {
    match ipv6(client).and_then(|address| address.to_ipv4_mapped()) {
        Some(address) => key.extend_from_slice(address.to_string().as_bytes()),
        None => key.extend_from_slice(client),
    }
}

fn write_prefix64(client: &[u8], key: &mut Vec<u8>) {
    match ipv6(client) {
        Some(address) if address.to_ipv4_mapped().is_none() => {
            let network = Ipv6Addr::from(u128::from(address) & !u128::from(u64::MAX));
            key.extend_from_slice(format!("{network}/64").as_bytes());
        }
        _ => write_client(client, key),
    }
}

fn ipv6(client: &[u8]) -> Option<Ipv6Addr> {
    str::from_utf8(client).ok()?.parse().ok()
}

fn path(target: &[u8]) -> &[u8] {
    let end = target.iter().position(|byte| matches!(byte, b'?' | b'#'));
    &target[..end.unwrap_or(target.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: KeyKind, client: &str, user: Option<&str>, target: Option<&str>) -> String {
        let entry = Entry {
            client: client.as_bytes(),
            user: user.map(str::as_bytes),
            time_ns: 0,
            method: target.map(|_| &b"GET"[..]),
            target: target.map(str::as_bytes),
            status: 200,
            size: None,
        };
        let mut key = b"left over".to_vec();
        kind.write_key(&entry, &mut key);
        String::from_utf8(key).unwrap()
    }

    #[test]
    fn only_ipv6_is_cut_to_its_network() {
        for (client, expected) in [
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("2001:DB8:1:2::9", "2001:db8:1:2::/64"),
            ("::1", "::/64"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("192.0.2.1", "192.0.2.1"),
            ("host.example", "host.example"),
            ("192.0.2.999", "192.0.2.999"),
        ] {
            assert_eq!(key(KeyKind::Prefix64, client, None, None), expected);
        }
    }

    #[test]
    fn one_client_is_one_key_however_its_address_is_written() {
        for (client, expected) in [
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("::FFFF:c000:201", "192.0.2.1"),
            ("0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"),
            ("192.0.2.1", "192.0.2.1"),
            ("::192.0.2.1", "::192.0.2.1"),
            ("2001:DB8:1:2::9", "2001:DB8:1:2::9"),
            ("host.example", "host.example"),
        ] {
            assert_eq!(key(KeyKind::Client, client, None, None), expected);
            let stranger = key(KeyKind::User, client, None, None);
            assert_eq!(stranger, format!("-@{expected}"));
        }
    }

    #[test]
    fn a_path_has_no_query() {
        for (target, expected) in [
            (Some("/a/b?c=/d?e"), "/a/b"),
            (Some("/a#b"), "/a"),
            (Some("/a"), "/a"),
            (Some("http://other.example/a?b"), "http://other.example/a"),
            (None, "-"),
        ] {
            assert_eq!(key(KeyKind::Path, "h", None, target), expected);
        }
    }

    #[test]
    fn strangers_do_not_share_a_key() {
        assert_eq!(key(KeyKind::User, "h", Some("ada"), None), "ada");
        assert_eq!(key(KeyKind::User, "h", None, None), "-@h");
        assert_ne!(
            key(KeyKind::User, "h", None, None),
            key(KeyKind::User, "i", None, None)
        );
    }
}
