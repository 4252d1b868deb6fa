#![no_main]

#[path = "../../tests/common/mod.rs"]
mod common;
#[path = "../checks/decisions.rs"]
mod decisions;
#[path = "../checks/together.rs"]
mod together;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| together::check(bytes));
