//! Attacks each algorithm of tollgate, on a clock that moves only when told to, and counts what
//! got through.
//!
//! ```text
//! cargo run --release --example attack                       # the tables
//! cargo run --release --example attack -- --check            # and fail if a figure is off
//! cargo run --release --example attack -- --plot attack.svg  # and draw the four curves
//! ```
//!
//! One file is one attack. [`Figures`] runs them all; [`report`] prints what they found,
//! [`plot`] draws it, and [`check`] alone knows what it should have been.

pub mod boundary;
pub mod burst;
pub mod check;
pub mod clock;
pub mod command;
pub mod eviction;
pub mod figures;
pub mod plot;
pub mod report;
pub mod restless;
pub mod siege;
pub mod stampede;
pub mod table;
pub mod tiers;
pub mod trailing;
pub mod unsynchronised;

pub use figures::Figures;

/// A millisecond on the ticker.
pub const MILLISECOND: u64 = 1_000_000;

/// A second on the ticker.
pub const SECOND: u64 = 1_000_000_000;
