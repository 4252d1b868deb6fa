#![no_main]

#[path = "../checks/limit_parse.rs"]
mod limit_parse;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| limit_parse::check(bytes));
