//! What would this limit have done to my traffic?
//!
//! An access log says who asked when. Replayed through a limiter whose ticker shows the log's time,
//! it says who would have been denied. This is the part that reads, replays and reports; the program
//! beside it adds arguments, plots and progress.
//!
//! A log goes one way through the modules:
//!
//! ```text
//! bytes → input → access_log → LogBuilder → Log → replay → Outcome → report, JSON
//!         lines   Entry or     (key)        sorted  Trial   per trial
//!                 Reject                    by time
//! ```
//!
//! # Examples
//!
//! ```
//! use tollgate_replay::access_log::Layout;
//! use tollgate_replay::{Choice, KeyKind, LogBuilder, input, replay, trials};
//!
//! let text = br#"
//! 198.51.100.7 - - [21/Apr/2004:10:56:07 -0400] "GET / HTTP/1.1" 200 2890
//! 198.51.100.7 - - [21/Apr/2004:10:56:07 -0400] "GET /logo.png HTTP/1.1" 200 377
//! 198.51.100.9 - - [21/Apr/2004:10:56:09 -0400] "GET / HTTP/1.1" 200 2890
//! "#;
//! let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
//! input::read_all(&text[1..], &mut builder, &mut |_| {})?;
//! let log = builder.finish();
//!
//! let (possible, _) = trials(&["1/s".parse()?], Choice::All);
//! for trial in &possible {
//!     let outcome = replay(&log, trial, &mut |_| {})?;
//!     assert_eq!((outcome.allowed, outcome.denied), (2, 1), "{trial}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod access_log;
pub mod input;

mod instant;
mod json;
mod key;
mod log;
mod peak;
mod replay;
mod report;
mod request;
mod suggest;
mod table;
mod traffic;
mod trial;

pub use instant::show_time;
pub use json::{suggestion_to_json, to_json};
pub use key::{KeyKind, show_key};
pub use log::{Log, LogBuilder, Rejected, Request};
pub use peak::most_in_any;
pub use replay::{Outcome, replay};
pub use report::Replayed;
pub use suggest::{Rung, Suggestion, Touched, suggest};
pub use traffic::made_up;
pub use trial::{Choice, Trial, trials};
