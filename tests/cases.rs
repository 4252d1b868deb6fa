//! Cases with exact answers, worked out by hand from the definitions, against every algorithm as
//! a type, as the one chosen at run time, and against the oracle that other tests rely on.
//!
//! Those of `cases.jsonl` were distilled from public bug reports of other limiters. They are not
//! part of this project: the file is looked for beside it.

mod common;

#[path = "cases/all_of.rs"]
mod all_of;
#[path = "cases/fixed_window.rs"]
mod fixed_window;
#[path = "cases/operations.rs"]
mod operations;
#[path = "cases/script.rs"]
mod script;
#[path = "cases/sliding_counter.rs"]
mod sliding_counter;
#[path = "cases/sliding_log.rs"]
mod sliding_log;
#[path = "cases/token_bucket.rs"]
mod token_bucket;

use std::fs;
use std::path::Path;

use common::subject::{self, Oracle, Subject};
use script::Case;

fn check(cases: &[Case]) {
    for case in cases {
        let (limits, start) = (&case.limits, case.start());
        let mut subjects: Vec<Box<dyn Subject>> =
            vec![Box::new(Oracle::new(case.kind, limits, start))];
        subjects.extend(subject::limiters(case.kind, limits, start));
        if !case.refreshes() {
            subjects.extend(subject::limiters_of_one_limit(case.kind, limits, start));
        }
        for subject in &mut subjects {
            case.run(subject.as_mut());
        }
    }
}

#[test]
fn every_case_from_a_public_report_comes_out_exactly() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases.jsonl");
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: there is no {}", path.display());
        return;
    };
    let cases: Vec<Case> = text.lines().map(Case::from_json).collect();
    assert!(!cases.is_empty());
    check(&cases);
}

#[test]
fn token_buckets_come_out_exactly() {
    check(&token_bucket::cases());
}

#[test]
fn fixed_windows_come_out_exactly() {
    check(&fixed_window::cases());
}

#[test]
fn sliding_logs_come_out_exactly() {
    check(&sliding_log::cases());
}

#[test]
fn sliding_counters_come_out_exactly() {
    check(&sliding_counter::cases());
}

#[test]
fn several_limits_on_one_key_come_out_exactly() {
    check(&all_of::cases());
}

#[test]
fn refunds_resets_refreshes_and_evictions_come_out_exactly() {
    check(&operations::cases());
}
