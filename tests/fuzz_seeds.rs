//! The seeds that fuzzing begins with. The code in `fuzz_seeds/` writes them, and here they are
//! checked as the fuzzer checks its inputs, on any toolchain.
//!
//! `WRITE_SEEDS=1 cargo test --test fuzz_seeds` writes them anew. A file whose name begins with
//! `found-` is an input on which a target once failed, and is checked like the others.

mod common;

#[path = "../fuzz/checks/access_log.rs"]
mod access_log;
#[path = "fuzz_seeds/access_log_seeds.rs"]
mod access_log_seeds;
#[path = "../fuzz/checks/decisions.rs"]
mod decisions;
#[path = "fuzz_seeds/decisions_seeds.rs"]
mod decisions_seeds;
#[path = "../fuzz/checks/limit_parse.rs"]
mod limit_parse;
#[path = "fuzz_seeds/limit_parse_seeds.rs"]
mod limit_parse_seeds;
#[path = "fuzz_seeds/reached.rs"]
mod reached;
#[path = "../fuzz/checks/together.rs"]
mod together;
#[path = "fuzz_seeds/together_seeds.rs"]
mod together_seeds;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use common::script::KINDS;
use common::subject::Oracle;
use decisions::Play;
use reached::Reached;

/// Seeds by the names of their files.
type Seeds = BTreeMap<String, Vec<u8>>;

/// Checks that the files are those that the code writes, and what a target checks of each.
fn hold(target: &str, seeds: Seeds, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/seeds")
        .join(target);
    let is_written = |name: &str| !name.starts_with("found-");
    if std::env::var_os("WRITE_SEEDS").is_some() {
        fs::create_dir_all(&folder).unwrap();
        for name in files(&folder).keys().filter(|name| is_written(name)) {
            fs::remove_file(folder.join(name)).unwrap();
        }
        for (name, seed) in &seeds {
            fs::write(folder.join(name), seed).unwrap();
        }
    }

    let mut files = files(&folder);
    for seed in files.values() {
        check(seed);
    }
    files.retain(|name, _| is_written(name));
    let differ = |name: &&String| files.get(*name) != seeds.get(*name);
    let differing: BTreeSet<_> = seeds.keys().chain(files.keys()).filter(differ).collect();
    assert!(
        differing.is_empty(),
        "the code writes other seeds than fuzz/seeds/{target} holds: {differing:?}\n\
         if they are right, write them with: WRITE_SEEDS=1 cargo test --test fuzz_seeds"
    );
}

fn files(folder: &Path) -> Seeds {
    let mut files = Seeds::new();
    for file in fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        files.insert(name, fs::read(file.path()).unwrap());
    }
    files
}

#[test]
fn every_seed_of_decisions_agrees_with_the_oracle() {
    let mut seeds = Seeds::new();
    for (name, play) in decisions_seeds::all() {
        let bytes = play.to_bytes();
        assert_eq!(Play::from_bytes(&bytes), play, "{name}");
        let same = seeds.insert(name, bytes);
        assert!(same.is_none(), "two seeds of one name");
    }
    hold("decisions", seeds, decisions::check);
}

#[test]
fn every_seed_of_limit_parse_is_read_as_it_is_written() {
    hold("limit_parse", limit_parse_seeds::all(), limit_parse::check);
}

#[test]
fn every_seed_of_access_log_says_what_its_lines_say() {
    hold("access_log", access_log_seeds::all(), access_log::check);
}

#[test]
fn every_seed_of_together_takes_from_all_or_from_none() {
    let mut seeds = Seeds::new();
    for (name, party) in together_seeds::all() {
        let bytes = together::to_bytes(&party);
        assert_eq!(together::from_bytes(&bytes), party, "{name}");
        let same = seeds.insert(name, bytes);
        assert!(same.is_none(), "two seeds of one name");
    }
    hold("together", seeds, together::check);
}

/// Plays to an oracle that counts what happens.
fn reached(play: &Play) -> Reached {
    let oracle = Oracle::new(play.kind, &play.script.lists[0], play.script.start);
    let mut counting = reached::Counting::new(oracle);
    play.check_beside(&mut counting);
    counting.reached()
}

#[test]
fn the_seeds_reach_everything_that_can_happen_under_every_algorithm() {
    for kind in KINDS {
        let mut sum = Reached::default();
        for (_, play) in decisions_seeds::all() {
            if play.kind == kind {
                sum += reached(&play);
            }
        }
        assert!(sum.has_everything(), "{kind:?}: {sum:?}");
    }
}

#[test]
#[ignore = "a measurement: in which share of random inputs something happens at all"]
fn random_bytes_reach_everything_often() {
    let mut numbers = 0x9e37_79b9_7f4a_7c15_u64;
    let mut byte = || {
        // Marsaglia's xorshift.
        numbers ^= numbers << 13;
        numbers ^= numbers >> 7;
        numbers ^= numbers << 17;
        (numbers >> 32) as u8
    };
    for length in [16, 64, 256] {
        let mut sums = KINDS.map(|_| (0, Reached::default()));
        for _ in 0..5_000 {
            let bytes: Vec<u8> = (0..length).map(|_| byte()).collect();
            let play = Play::from_bytes(&bytes);
            let kind = KINDS.iter().position(|kind| *kind == play.kind).unwrap();
            sums[kind].0 += 1;
            sums[kind].1 += reached(&play).at_all();
        }
        for (kind, (inputs, sum)) in KINDS.iter().zip(sums) {
            println!("{length} bytes, {kind:?}, of {inputs} inputs: {sum:?}");
        }
    }
}
