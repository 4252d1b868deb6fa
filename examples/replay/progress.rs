//! A bar on standard error, for those who watch and wait.
//!
//! It shows itself only on a terminal, and only once the work has taken a while.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_millis(500);

/// What has been done of some work. Dropped, it wipes its bar away.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    bytes: bool,
    all: Option<u64>,
    done: u64,
    begun: Instant,
    watched: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Reading so many bytes, if it is known how many.
    pub(crate) fn of_reading(bytes: Option<u64>) -> Self {
        Self::new("reading", true, bytes)
    }

    /// Answering so many requests.
    pub(crate) fn of_replaying(requests: u64) -> Self {
        Self::new("replaying", false, Some(requests))
    }

    fn new(what: &'static str, bytes: bool, all: Option<u64>) -> Self {
        Self {
            what,
            bytes,
            all,
            done: 0,
            begun: Instant::now(),
            watched: stderr().is_terminal(),
            bar: None,
        }
    }

    pub(crate) fn advance(&mut self, by: u64) {
        self.done += by;
        if self.bar.is_none() && self.watched && self.begun.elapsed() > PATIENCE {
            self.bar = Some(self.new_bar());
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }

    fn new_bar(&self) -> ProgressBar {
        let template = match (self.all, self.bytes) {
            (Some(_), true) => "{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left",
            (Some(_), false) => "{msg} {wide_bar} {human_pos} of {human_len}, {eta} left",
            (None, _) => "{msg} {spinner} {bytes}",
        };
        let style = ProgressStyle::with_template(template).expect("the template is well formed");
        ProgressBar::with_draw_target(self.all, ProgressDrawTarget::stderr())
            .with_style(style)
            .with_message(self.what)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_bar_can_be_drawn() {
        for progress in [
            Progress::of_reading(Some(7)),
            Progress::of_reading(None),
            Progress::of_replaying(7),
        ] {
            progress
                .new_bar()
                .set_draw_target(ProgressDrawTarget::hidden());
        }
    }

    #[test]
    fn nobody_watching_sees_no_bar() {
        let mut progress = Progress::of_replaying(2);
        progress.watched = false;
        progress.begun -= 2 * PATIENCE;
        progress.advance(1);
        assert!(progress.bar.is_none());
    }
}
