//! How a caller's key is named in the store.

use sha2::{Digest, Sha256};
use std::net::IpAddr;

/// Longer keys are told by their digest.
const LONGEST: usize = 64;

/// A key of the store's limiters, as bytes: any bytes will do.
///
/// All servers of a fleet must name a key by the same bytes. Of a pair the first half says where it is
/// kept: `(client, route)` lies in the same slot of a cluster as `client`, so that limits for both can be
/// asked together.
///
/// # Examples
///
/// ```
/// use tollgate::redis::StoreKey;
///
/// let mut bytes = Vec::new();
/// ("ada", "/search").write_key(&mut bytes);
/// assert_eq!(bytes, b"3:ada/search", "whatever the halves hold, pairs that differ differ here");
/// ```
pub trait StoreKey {
    /// Appends the key's bytes: different keys, different bytes.
    fn write_key(&self, bytes: &mut Vec<u8>);

    /// Appends the bytes that say where the key is kept. All keys that are asked about in one request
    /// must have the same.
    fn write_place(&self, bytes: &mut Vec<u8>) {
        self.write_key(bytes);
    }
}

macro_rules! as_bytes {
    ($($type:ty),*) => {$(
        impl StoreKey for $type {
            fn write_key(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(self.as_ref());
            }
        }
    )*};
}

as_bytes!(str, String, [u8], Vec<u8>);

macro_rules! as_number {
    ($($type:ty),*) => {$(
        impl StoreKey for $type {
            fn write_key(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(self.to_string().as_bytes());
            }
        }
    )*};
}

as_number!(u32, u64, u128, usize, i32, i64, IpAddr);

impl<K: StoreKey + ?Sized> StoreKey for &K {
    fn write_key(&self, bytes: &mut Vec<u8>) {
        (**self).write_key(bytes);
    }

    fn write_place(&self, bytes: &mut Vec<u8>) {
        (**self).write_place(bytes);
    }
}

/// One key for all: a limit of the fleet as a whole.
impl StoreKey for () {
    fn write_key(&self, _: &mut Vec<u8>) {}
}

impl<A: StoreKey, B: StoreKey> StoreKey for (A, B) {
    fn write_key(&self, bytes: &mut Vec<u8>) {
        let mut first = Vec::new();
        self.0.write_key(&mut first);
        bytes.extend_from_slice(first.len().to_string().as_bytes());
        bytes.push(b':');
        bytes.extend_from_slice(&first);
        self.1.write_key(bytes);
    }

    fn write_place(&self, bytes: &mut Vec<u8>) {
        self.0.write_place(bytes);
    }
}

/// The first 16 hexadecimal digits of a digest: braces and what stands between them come from here
/// only, so that nobody outside chooses a slot by more than chance.
pub(super) fn tag(place: &[u8]) -> String {
    let digest = Sha256::digest(place);
    let (first, _) = digest.split_at(8);
    let word = first
        .iter()
        .fold(0, |word, byte| word << 8 | u64::from(*byte));
    format!("{word:016x}")
}

/// What stands between the braces of a key, or the whole key: what a cluster hashes.
pub(super) fn tag_of(stored: &[u8]) -> &[u8] {
    let open = stored.iter().position(|byte| *byte == b'{');
    let inner = open.map(|open| &stored[open + 1..]).unwrap_or_default();
    match inner.iter().position(|byte| *byte == b'}') {
        Some(close @ 1..) => &inner[..close],
        _ => stored,
    }
}

/// A part of a key that is never longer than `LONGEST` and a letter.
pub(super) fn bounded(bytes: &[u8]) -> Vec<u8> {
    if bytes.len() <= LONGEST {
        [b"=", bytes].concat()
    } else {
        format!("#{}", hex(&Sha256::digest(bytes))).into_bytes()
    }
}

/// Where `place` belongs of so many.
pub(super) fn share(place: &[u8], of: u32) -> u32 {
    let digest = Sha256::digest(place);
    let word = u32::from_be_bytes([digest[8], digest[9], digest[10], digest[11]]);
    word % of
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(key: &(impl StoreKey + ?Sized)) -> Vec<u8> {
        let mut bytes = Vec::new();
        key.write_key(&mut bytes);
        bytes
    }

    #[test]
    fn a_long_key_is_told_by_its_digest_and_never_as_another_s_text() {
        let long = vec![b'a'; 65_536];
        assert_eq!(bounded(&long).len(), 65);
        assert_ne!(bounded(&bounded(&long)), bounded(&long));
        assert_eq!(bounded(b""), b"=");
    }

    proptest! {
        #[test]
        fn pairs_that_differ_differ_in_bytes(
            a in any::<Vec<u8>>(), b in any::<Vec<u8>>(), at in any::<prop::sample::Index>(),
        ) {
            let joined = [a.clone(), b.clone()].concat();
            let at = at.index(joined.len() + 1);
            let other = (joined[..at].to_vec(), joined[at..].to_vec());
            let same = other.0 == a;
            prop_assert_eq!(bytes(&other) == bytes(&(a, b)), same);
        }

        #[test]
        fn a_tag_is_hexadecimal_whatever_the_bytes(place in any::<Vec<u8>>()) {
            let tag = tag(&place);
            prop_assert_eq!(tag.len(), 16);
            prop_assert!(tag.bytes().all(|byte| byte.is_ascii_hexdigit()));
        }
    }
}
