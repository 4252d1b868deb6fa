//! Keys, and the order in which they are asked for.

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_distr::Zipf;
use std::net::{IpAddr, Ipv6Addr};

/// A kind of key.
pub trait Key: Clone + Eq + std::hash::Hash + Send + Sync + 'static {
    const NAME: &'static str;

    /// The key of this number: no two are the same.
    fn number(number: u64) -> Self;
}

/// A number that looks like any other: keys from outside do not come in order.
fn scattered(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Key for u64 {
    const NAME: &'static str = "u64";

    fn number(number: u64) -> Self {
        scattered(number)
    }
}

impl Key for IpAddr {
    const NAME: &'static str = "IpAddr";

    fn number(number: u64) -> Self {
        Ipv6Addr::from_bits((0x2001_0db8 << 96) | u128::from(scattered(number))).into()
    }
}

impl Key for String {
    const NAME: &'static str = "String";

    /// 24 bytes, as API keys have them.
    fn number(number: u64) -> Self {
        format!("key-{:020}", scattered(number))
    }
}

/// Keys, and an order in which they are asked for.
pub struct Asked<K> {
    pub keys: Vec<K>,
    /// A power of two of them. Copies, one after the other in memory: a request brings its key along,
    /// so that fetching it is no part of what a limiter does.
    order: Vec<K>,
}

impl<K: Key> Asked<K> {
    /// Each of so many keys as often as any other, in an order without one.
    pub fn evenly(count: usize) -> Self {
        let mut rng = SmallRng::seed_from_u64(7);
        let length = count.next_power_of_two().max(1 << 12);
        let mut order: Vec<usize> = (0..length).map(|index| index % count).collect();
        order.shuffle(&mut rng);
        Self::new(count, order.into_iter())
    }

    /// Some keys much more often than others, as in traffic: Zipf with the exponent 1.
    pub fn zipf(count: usize) -> Self {
        let mut rng = SmallRng::seed_from_u64(7);
        let zipf = Zipf::new(count as f64, 1.0).expect("a distribution");
        Self::new(count, (0..1 << 20).map(|_| rng.sample(zipf) as usize - 1))
    }

    fn new(count: usize, order: impl Iterator<Item = usize>) -> Self {
        let keys: Vec<K> = (0..count as u64).map(K::number).collect();
        Self {
            order: order.map(|index| keys[index].clone()).collect(),
            keys,
        }
    }

    /// So many keys in the order, from a place in it.
    #[inline]
    pub fn from(&self, start: u64, times: u64) -> impl Iterator<Item = &K> {
        let mask = self.order.len() as u64 - 1;
        (start..start + times).map(move |at| &self.order[(at & mask) as usize])
    }
}
