#![no_main]

#[path = "../../tests/common/mod.rs"]
mod common;
#[path = "../checks/decisions.rs"]
mod decisions;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| decisions::check(bytes));
