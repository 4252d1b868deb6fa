//! The arguments.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use tollgate::{AnyAlgorithm, Limit};
use tollgate_replay::access_log::Layout;
use tollgate_replay::{Choice, KeyKind};

/// What would this limit have done to my traffic? Replays access logs through rate limiters.
///
/// Logs are Common or Combined, plain or gzip. Their lines are sorted by time first. Each file is
/// replayed on its own unless --merge is given. Without a file, an hour of traffic is made up.
#[derive(Clone, Debug, Parser)]
#[command(name = "replay", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Access logs; `-` is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// What to allow, like 60/min, 5/s, '2/s burst 20' or 100/10min. Given several times, every
    /// request needs a permit of each, all or none: token buckets together
    #[arg(long, value_name = "LIMIT", default_value = "60/min")]
    pub limit: Vec<Limit>,

    /// How to count
    #[arg(long, value_enum, default_value_t = Algorithm::All)]
    pub algorithm: Algorithm,

    /// Whom a request is counted against
    #[arg(long, value_enum, default_value_t = Key::Client)]
    pub key: Key,

    /// How many of the most denied keys to name
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub top: usize,

    /// Show the peaks of the keys, and what a ladder of limits with the same period would have
    /// denied, to choose one by
    #[arg(long, conflicts_with = "json")]
    pub suggest: bool,

    /// Print JSON instead of tables: {"logs":{FILE:{"lines":N,"results":{NAME:{..}}}}}
    #[arg(long)]
    pub json: bool,

    /// Draw what was allowed and denied over time
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,

    /// Replay all files as one log: the pieces of a rotated log, or the logs of several servers
    #[arg(long)]
    pub merge: bool,

    /// Lines begin with the virtual host, and the client comes second
    #[arg(long)]
    pub vhost: bool,

    /// What made-up traffic is made from
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "files")]
    pub seed: u64,
}

const EXAMPLES: &str = "\
Examples:
  replay access.log --limit 60/min
  replay access.log --limit 5/s --limit 100/10min
  replay access.log --limit '2/s burst 20' --algorithm token-bucket --json
  replay access.log.*.gz access.log --merge --key prefix64 --suggest
  ssh web zcat '/var/log/nginx/*.gz' | replay - --plot denied.svg";

impl Arguments {
    pub(crate) fn layout(&self) -> Layout {
        if self.vhost {
            Layout::VirtualHost
        } else {
            Layout::Plain
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Algorithm {
    /// The burst at once, then a steady rate (GCRA)
    #[value(alias = "gcra")]
    TokenBucket,
    /// So many in each period of the clock, a minute say
    FixedWindow,
    /// So many in any period, wherever it begins
    SlidingLog,
    /// This period's count and a share of the last one's
    SlidingCounter,
    /// Each that can keep the limit
    All,
}

impl Algorithm {
    pub(crate) fn choice(self) -> Choice {
        match self {
            Self::TokenBucket => Choice::One(AnyAlgorithm::TokenBucket),
            Self::FixedWindow => Choice::One(AnyAlgorithm::FixedWindow),
            Self::SlidingLog => Choice::One(AnyAlgorithm::SlidingLog),
            Self::SlidingCounter => Choice::One(AnyAlgorithm::SlidingCounter),
            Self::All => Choice::All,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Key {
    /// The address or host name that asked
    Client,
    /// The same, but of IPv6 only the /64 network
    Prefix64,
    /// The target without its query; `-` where there is none
    Path,
    /// The user; whoever has no name counts by address, shown as `-@ADDRESS`
    User,
}

impl Key {
    pub(crate) fn kind(self) -> KeyKind {
        match self {
            Self::Client => KeyKind::Client,
            Self::Prefix64 => KeyKind::Prefix64,
            Self::Path => KeyKind::Path,
            Self::User => KeyKind::User,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use tollgate_replay::trials;

    fn names(arguments: &str) -> Vec<String> {
        let arguments = std::iter::once("replay").chain(arguments.split('|'));
        let arguments = Arguments::try_parse_from(arguments).unwrap();
        let (possible, _) = trials(&arguments.limit, arguments.algorithm.choice());
        possible.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_arguments_are_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn arguments_lead_to_the_names_in_reports() {
        for (arguments, expected) in [
            ("--limit|60/min|--algorithm|token-bucket", "gcra 60/min"),
            ("--limit|60/min|--algorithm|gcra", "gcra 60/min"),
            ("--limit|2/s burst 20", "gcra 2/s burst 20"),
            ("a.log|--limit=10/min burst 5|--json", "gcra 10/min burst 5"),
            (
                "--limit|60/min|--algorithm|fixed-window",
                "fixed_window 60/min",
            ),
            ("--algorithm|sliding-log", "sliding_log 60/min"),
            ("--algorithm|sliding-counter", "sliding_counter 60/min"),
            (
                "--limit|5/s|--limit|100/10min",
                "all_of gcra 5/s + gcra 100/10min",
            ),
            (
                "--limit|5/s|--limit|100/10min|--algorithm|token-bucket",
                "all_of gcra 5/s + gcra 100/10min",
            ),
        ] {
            assert_eq!(names(arguments), [expected], "{arguments}");
        }
        assert_eq!(
            names("--limit|60/min|--algorithm|all").join(", "),
            "gcra 60/min, fixed_window 60/min, sliding_log 60/min, sliding_counter 60/min"
        );
    }
}
