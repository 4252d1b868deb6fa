//! The arguments.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{EnumValueParser, PathBufValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Command, Parser, ValueEnum};
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
    /// request needs a permit of each, all or none: the algorithm all-of
    #[arg(long, value_name = "LIMIT", default_value = "60/min")]
    pub limit: Vec<Limit>,

    /// How to count. Several limits mean all-of (`AllOf`), also with token-bucket or all, as no
    /// other algorithm takes more than one. The names in JSON (`gcra`, `fixed_window`) will do, too
    #[arg(long, value_parser = AlgorithmParser, default_value = "all")]
    pub algorithm: Algorithm,

    /// Whom a request is counted against
    #[arg(long, value_enum, default_value_t = Key::Client)]
    pub key: Key,

    /// How many of the most denied keys to name
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub top: usize,

    /// Show the peaks of the keys, and what a ladder of limits with the same period would have
    /// denied, to choose one by. With --json, under "suggest" of each log
    #[arg(long)]
    pub suggest: bool,

    /// Print JSON instead of tables: {"logs":{FILE:{"lines":N,"results":{NAME:{..}}}}}
    #[arg(long)]
    pub json: bool,

    /// Draw what was allowed and denied over time, as SVG
    #[arg(long, value_name = "FILE.svg", value_parser = svg_file())]
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
    /// Token buckets, one for each limit, that spend from all or from none
    AllOf,
    /// Each of the first four that can keep the limit
    All,
}

impl Algorithm {
    pub(crate) fn choice(self) -> Choice {
        match self {
            Self::TokenBucket => Choice::One(AnyAlgorithm::TokenBucket),
            Self::FixedWindow => Choice::One(AnyAlgorithm::FixedWindow),
            Self::SlidingLog => Choice::One(AnyAlgorithm::SlidingLog),
            Self::SlidingCounter => Choice::One(AnyAlgorithm::SlidingCounter),
            Self::AllOf => Choice::One(AnyAlgorithm::AllOf),
            Self::All => Choice::All,
        }
    }
}

/// Takes names however [`AnyAlgorithm`] takes them: with `_` for `-`, and in capitals.
#[derive(Clone, Copy, Debug)]
struct AlgorithmParser;

impl TypedValueParser for AlgorithmParser {
    type Value = Algorithm;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Algorithm, clap::Error> {
        let name = value.to_string_lossy();
        let name = name.trim().replace('_', "-").to_ascii_lowercase();
        EnumValueParser::new().parse_ref(command, argument, OsStr::new(&name))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let variants = Algorithm::value_variants().iter();
        Some(Box::new(variants.filter_map(ValueEnum::to_possible_value)))
    }
}

/// A file that does not pretend to be anything but an SVG.
fn svg_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.extension() {
        Some(other) if !other.eq_ignore_ascii_case("svg") => {
            Err("plots are SVG: use a name in .svg")
        }
        _ => Ok(path),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Key {
    /// The address or host name that asked; IPv4 within IPv6 (`::ffff:192.0.2.1`) counts as IPv4
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
            ("--algorithm|fixed_window", "fixed_window 60/min"),
            ("--algorithm|all-of", "all_of gcra 60/min"),
            (
                "--limit|5/s|--limit|9/min|--algorithm|all_of",
                "all_of gcra 5/s + gcra 9/min",
            ),
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
        for algorithm in AnyAlgorithm::ALL {
            let name = algorithm.name();
            for name in [name.replace('-', "_"), format!(" {}", name.to_uppercase())] {
                assert_eq!(name.parse(), Ok(algorithm));
                let arguments = Arguments::try_parse_from(["replay", "--algorithm", &name]);
                let choice = arguments.unwrap().algorithm.choice();
                assert_eq!(choice, Choice::One(algorithm));
            }
        }
        assert_eq!(
            names("--limit|60/min|--algorithm|all").join(", "),
            "gcra 60/min, fixed_window 60/min, sliding_log 60/min, sliding_counter 60/min"
        );
    }

    #[test]
    fn a_plot_may_not_go_by_the_name_of_another_format() {
        let plot = |file| Arguments::try_parse_from(["replay", "--plot", file]);
        for file in ["plot.png", "plot.svg.gz"] {
            let error = plot(file).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            let error = error.to_string();
            assert!(error.contains(file) && error.contains(".svg"), "{error}");
        }
        for file in ["plot.svg", "PLOT.SVG", "v1.2/plot"] {
            assert_eq!(plot(file).unwrap().plot, Some(file.into()));
        }
    }
}
