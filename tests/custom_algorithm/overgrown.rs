//! An algorithm whose words know no bounds.

use tollgate::{Decision, Limit, LimitError, OneWord, Reading};

/// Each of its steps answers with the largest number there is, and each permit left is a word.
#[derive(Clone, Copy)]
pub(crate) struct Overgrown;

impl OneWord for Overgrown {
    type Rule = u64;

    fn rule(&self, limits: &[Limit]) -> Result<u64, LimitError> {
        Ok(limits[0].permits())
    }
    fn capacity(_: &u64) -> u64 {
        u64::MAX
    }
    fn fresh(_: &u64) -> u64 {
        u64::MAX
    }
    fn spend(_: &u64, _: u64, _: Reading, cost: u64) -> Option<u64> {
        Some(u64::MAX - cost % 2)
    }
    fn remaining(_: &u64, word: u64, _: Reading) -> u64 {
        word
    }
    fn retry_after(_: &u64, _: u64, _: Reading, _: u64) -> u64 {
        1
    }
    fn reset_after(_: &u64, _: u64, _: Reading) -> u64 {
        1
    }
    fn refund(_: &u64, _: u64, _: Reading, _: &Decision) -> u64 {
        u64::MAX
    }
    fn convert(_: &u64, _: u64, _: Reading, _: &u64) -> u64 {
        u64::MAX
    }
}
