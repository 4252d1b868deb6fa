//! Keys that know their place, and look-ups of what is at a place, without the key.
//!
//! A place remembers its key's hash and nothing else: a copy of every key would double what strings
//! take, and keys need not be `Clone`. To find an entry by that hash, the map's hasher must give it
//! back unchanged, which [`Replay`] does: a look-up by place announces itself by writing [`MARK`],
//! known by its address, which no key's own `Hash` can write.

use super::places::TAKEN;
use papaya::Equivalent;
use std::hash::{BuildHasher, Hash, Hasher};

/// A key in the map.
pub(super) struct Keyed<K> {
    pub(super) key: K,
    pub(super) place: u32,
    tag: Tag,
}

impl<K> Keyed<K> {
    pub(super) fn new(key: K, hash: u64, place: u32) -> Self {
        Self {
            key,
            place,
            tag: tag(hash),
        }
    }
}

/// A part of a key's hash, in bytes: with most keys they fit where the entry would be padded.
type Tag = [u8; 3];

fn tag(hash: u64) -> Tag {
    // Neither the lowest bits nor the highest, by which the map looks for an entry.
    let bytes = hash.to_le_bytes();
    [bytes[3], bytes[4], bytes[5]]
}

impl<K: Hash> Hash for Keyed<K> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl<K: Eq> PartialEq for Keyed<K> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<K: Eq> Eq for Keyed<K> {}

/// A look-up by the key, or by any form of it that is equivalent.
pub(super) struct ByKey<'a, Q: ?Sized>(pub(super) &'a Q);

impl<Q: Hash + ?Sized> Hash for ByKey<'_, Q> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<K, Q: Equivalent<K> + ?Sized> Equivalent<Keyed<K>> for ByKey<'_, Q> {
    #[inline]
    fn equivalent(&self, entry: &Keyed<K>) -> bool {
        self.0.equivalent(&entry.key)
    }
}

/// A look-up of the entry that has a place, whose key has this hash.
///
/// While the map grows, a look-up that comes to an entry which equals what is looked for, and was
/// copied, goes on in the new table, and one that comes to the end of a chain does not. The old table
/// holds what it has copied even when that is removed. So what is looked for has to equal its own key
/// at any place: a key that is begun anew is in the new table, behind its former self. And it must not
/// equal another key, behind whose copy it may not be yet. Told by the tag alone, both hold of keys
/// that do not hash alike, but for one pair of neighbours in 2^24; told by the place as well, only the
/// second, but of all keys. Asked in this order, a look-up misses an entry only while the map grows,
/// if the key was forgotten and begun anew, and hashes as another that is in its way.
#[derive(Clone, Copy)]
pub(super) struct ByPlace {
    pub(super) hash: u64,
    pub(super) place: u32,
    /// Whether keys that hash alike are told apart by their places.
    alike: bool,
}

impl ByPlace {
    /// The two ways to ask, in order.
    pub(super) fn both(hash: u64, place: u32) -> [Self; 2] {
        [false, true].map(|alike| Self { hash, place, alike })
    }

    pub(super) fn other(self) -> Self {
        Self {
            alike: !self.alike,
            ..self
        }
    }
}

impl Hash for ByPlace {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&MARK);
        state.write_u64(self.hash);
    }
}

impl<K> Equivalent<Keyed<K>> for ByPlace {
    #[inline]
    fn equivalent(&self, entry: &Keyed<K>) -> bool {
        tag(self.hash) == entry.tag && (!self.alike || self.place == entry.place)
    }
}

/// Written before a hash that is to be given back. Only its address counts; no constant has the same
/// bytes, with which the compiler could make it one.
static MARK: [u8; 16] = *b"\xd1\x07\xe4\x9a\x52\xfc\x3b\x88\xa6\x1d\xc5\x70\x94\x2e\xbb\x69";

/// The caller's hasher, for keys; for a look-up by place, the hash as it stands.
#[derive(Clone)]
pub(super) struct Replay<S>(pub(super) S);

impl<S: BuildHasher> BuildHasher for Replay<S> {
    type Hasher = ReplayHasher<S::Hasher>;

    #[inline]
    fn build_hasher(&self) -> Self::Hasher {
        ReplayHasher {
            inner: self.0.build_hasher(),
            marked: false,
            given: None,
        }
    }
}

/// See [`Replay`].
pub(super) struct ReplayHasher<H> {
    inner: H,
    marked: bool,
    given: Option<u64>,
}

impl<H: Hasher> Hasher for ReplayHasher<H> {
    #[inline]
    fn finish(&self) -> u64 {
        match self.given {
            Some(hash) => hash,
            None => self.inner.finish() | TAKEN,
        }
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        if std::ptr::eq(bytes, &MARK[..]) {
            self.marked = true;
        } else {
            self.inner.write(bytes);
        }
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        if self.marked {
            self.given = Some(value);
        } else {
            self.inner.write_u64(value);
        }
    }

    // The caller's hasher may have ways of its own with these.
    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.inner.write_u8(value);
    }
    #[inline]
    fn write_u16(&mut self, value: u16) {
        self.inner.write_u16(value);
    }
    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.inner.write_u32(value);
    }
    #[inline]
    fn write_u128(&mut self, value: u128) {
        self.inner.write_u128(value);
    }
    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.inner.write_usize(value);
    }
    #[inline]
    fn write_i8(&mut self, value: i8) {
        self.inner.write_i8(value);
    }
    #[inline]
    fn write_i16(&mut self, value: i16) {
        self.inner.write_i16(value);
    }
    #[inline]
    fn write_i32(&mut self, value: i32) {
        self.inner.write_i32(value);
    }
    #[inline]
    fn write_i64(&mut self, value: i64) {
        self.inner.write_i64(value);
    }
    #[inline]
    fn write_i128(&mut self, value: i128) {
        self.inner.write_i128(value);
    }
    #[inline]
    fn write_isize(&mut self, value: isize) {
        self.inner.write_isize(value);
    }
}
