//! Checks of one key, for a tool that counts instructions: see `benches/instructions`.

use std::hint::black_box;
use tollgate::{Ticker, TscTicker, UnkeyedLimiter};
use tollgate_benches::contenders::{ByHand, Contender, Governed, Pinned, Rate, Tollgate};

const TIMES: u64 = 100_000;

/// What is counted: nothing else, and none of what it takes to make a limiter.
#[inline(never)]
fn counted(check: impl Fn(u64) -> u64) -> u64 {
    black_box(check(black_box(TIMES)))
}

fn keyed<C: Contender<u64>>(rate: Rate) {
    let contender = C::new(rate);
    let key = 7;
    let _ = contender.ask([&key].into_iter(), 1);
    let allowed = counted(|times| contender.ask((0..times).map(|_| black_box(&key)), 1));
    assert_eq!(allowed, TIMES * u64::from(rate == Rate::Plenty));
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let name = names.first().map_or("", String::as_str);
    let rate = match names.get(1).map(String::as_str) {
        Some("denied") => Rate::OneAnHour,
        _ => Rate::Plenty,
    };
    match name {
        "limiter" => keyed::<Tollgate<u64>>(rate),
        "pinned" => keyed::<Pinned<u64>>(rate),
        "by-hand" => keyed::<ByHand>(rate),
        "governor" => keyed::<Governed<u64, std::collections::hash_map::RandomState>>(rate),
        "governor-our-hasher" => keyed::<Governed<u64, foldhash::fast::RandomState>>(rate),
        "no-keys" => {
            let limiter = UnkeyedLimiter::new(rate.limit()).expect("a limit");
            let _ = limiter.try_acquire();
            let check = |_: &u64| limiter.try_acquire().is_allowed();
            let _ = counted(|times| (0..times).filter(check).count() as u64);
        }
        "clock" => {
            let ticker = TscTicker::new();
            let _ = counted(|times| (0..times).fold(0, |all, _| all ^ ticker.now()));
        }
        _ => panic!("limiter, pinned, by-hand, governor, governor-our-hasher, no-keys or clock"),
    }
}
