#![no_main]

#[path = "../checks/access_log.rs"]
mod access_log;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| access_log::check(bytes));
