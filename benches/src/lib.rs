//! What the benches share: the contenders, behind one trait, and the keys that they are asked for.

#![allow(missing_debug_implementations, reason = "nobody looks at a contender")]

pub mod contenders;
pub mod keys;
pub mod report;
pub mod threads;
