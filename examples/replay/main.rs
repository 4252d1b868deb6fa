//! What would this limit have done to my traffic?
//!
//! ```text
//! cargo run --release --example replay -- access.log --limit 60/min
//! ```

mod cli;
mod plot;
mod progress;

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, Write as _, stderr, stdout};
use std::process::ExitCode;

use clap::Parser;
use tollgate_replay::input::Source;
use tollgate_replay::{
    Log, LogBuilder, Replayed, Suggestion, Trial, made_up, replay, suggest, suggestion_to_json,
    to_json, trials,
};

use crate::cli::Arguments;
use crate::progress::Progress;

const YEAR_NS: u64 = 31_557_600 * 1_000_000_000;

fn main() -> ExitCode {
    let answer = answer(&Arguments::parse());
    match answer.and_then(|text| Ok(print(&text)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            note(&format!("error: {why}"));
            ExitCode::FAILURE
        }
    }
}

/// What is to be printed. Plots are written on the way, and notes go to standard error.
fn answer(arguments: &Arguments) -> Result<String, Box<dyn Error>> {
    let (possible, refused) = trials(&arguments.limit, arguments.algorithm.choice());
    for (name, why) in &refused {
        note(&format!("{name} is left out: {why}"));
    }
    if possible.is_empty() {
        return Err("no algorithm is left to try".into());
    }

    let logs = read(arguments)?;
    for (name, log) in &logs {
        warn_about(name, log);
    }
    if logs.iter().all(|(_, log)| log.requests().is_empty()) {
        return Err("no line is a log line, Common or Combined".into());
    }
    let all = replay_each(logs, &possible)?;

    if let Some(path) = &arguments.plot {
        let svg = plot::draw(&all)?;
        std::fs::write(path, svg)
            .map_err(|why| format!("cannot write {}: {why}", path.display()))?;
        note(&format!("wrote {}", path.display()));
    }
    let mut text = String::new();
    if arguments.json {
        let mut json = to_json(&all, arguments.top);
        if arguments.suggest {
            for replayed in &all {
                let suggestions = suggestions(arguments, &replayed.log)?;
                let suggestions: Vec<_> = suggestions.iter().map(suggestion_to_json).collect();
                json["logs"][&replayed.name]["suggest"] = suggestions.into();
            }
        }
        writeln!(text, "{json:#}")?;
    } else {
        for replayed in &all {
            write!(text, "{}", replayed.report(arguments.top))?;
            if arguments.suggest {
                for suggestion in suggestions(arguments, &replayed.log)? {
                    write!(text, "{suggestion}")?;
                }
            }
        }
    }
    Ok(text)
}

/// The logs, by the name that each goes under.
fn read(arguments: &Arguments) -> Result<Vec<(String, Log)>, Box<dyn Error>> {
    let builder = || LogBuilder::new(arguments.key.kind(), arguments.layout());
    if arguments.files.is_empty() {
        let mut builder = builder();
        made_up(arguments.seed, &mut builder);
        return Ok(vec![("made-up traffic".to_owned(), builder.finish())]);
    }

    let sources: Vec<_> = arguments
        .files
        .iter()
        .cloned()
        .map(Source::from_argument)
        .collect();
    let mut progress = Progress::of_reading(sources.iter().map(Source::size).sum());
    let mut tick = |bytes| progress.advance(bytes);
    if arguments.merge {
        let mut builder = builder();
        for source in &sources {
            source.read(&mut builder, &mut tick)?;
        }
        return Ok(vec![(names(&sources).join(" + "), builder.finish())]);
    }
    let mut logs = Vec::new();
    for (source, name) in sources.iter().zip(names(&sources)) {
        let mut builder = builder();
        source.read(&mut builder, &mut tick)?;
        logs.push((name, builder.finish()));
    }
    Ok(logs)
}

/// Base names, and whole paths for files that have the same.
fn names(sources: &[Source]) -> Vec<String> {
    let base_names: Vec<_> = sources.iter().map(Source::base_name).collect();
    let once = |name| base_names.iter().filter(|other| *other == name).count() == 1;
    sources
        .iter()
        .zip(&base_names)
        .map(|(source, name)| match once(name) {
            true => name.clone(),
            false => source.to_string(),
        })
        .collect()
}

fn warn_about(name: &str, log: &Log) {
    for line in log.first_rejected() {
        note(&format!("{}:{}: {}", line.source, line.line, line.reason));
    }
    let more = log.rejected() - log.first_rejected().len() as u64;
    if more > 0 {
        note(&format!(
            "{name}: and {more} more lines that are not log lines"
        ));
    }
    if let Some((first, last)) = log.span()
        && last - first > 30 * YEAR_NS
    {
        let years = (last - first) / YEAR_NS;
        note(&format!(
            "{name}: from first to last line it is {years} years, and token buckets are exact for \
             30: is a clock wrong?"
        ));
    }
}

fn replay_each(
    logs: Vec<(String, Log)>,
    possible: &[Trial],
) -> Result<Vec<Replayed>, Box<dyn Error>> {
    let requests: usize = logs.iter().map(|(_, log)| log.requests().len()).sum();
    let mut progress = Progress::of_replaying((requests * possible.len()) as u64);
    let mut all = Vec::new();
    for (name, log) in logs {
        let outcomes = possible
            .iter()
            .map(|trial| replay(&log, trial, &mut |requests| progress.advance(requests)))
            .collect::<Result<_, _>>()?;
        all.push(Replayed {
            name,
            log,
            outcomes,
        });
    }
    Ok(all)
}

/// One for each period among the limits.
fn suggestions(arguments: &Arguments, log: &Log) -> Result<Vec<Suggestion>, Box<dyn Error>> {
    let mut suggestions = Vec::new();
    for (position, limit) in arguments.limit.iter().enumerate() {
        let period = limit.period();
        if arguments.limit[..position]
            .iter()
            .any(|earlier| earlier.period() == period)
        {
            continue;
        }
        let algorithms = arguments.algorithm.choice().algorithms();
        let mut progress = None;
        let suggestion = suggest(log, period, &algorithms, &mut |more, all| {
            progress
                .get_or_insert_with(|| Progress::of_replaying(all))
                .advance(more);
        })?;
        suggestions.push(suggestion);
    }
    Ok(suggestions)
}

/// Prints to standard output. Nobody reading on (`| head`) is no failure.
fn print(text: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(why) if why.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Says something on standard error, if anybody listens.
fn note(text: &str) {
    let _ = writeln!(stderr(), "replay: {text}");
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// A folder of a test's own, removed after it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("tollgate-replay-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(path.join("old")).unwrap();
            Self(path)
        }

        fn write(&self, name: &str, bytes: &[u8]) -> String {
            let path = self.0.join(name);
            fs::write(&path, bytes).unwrap();
            path.to_str().unwrap().to_owned()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn try_answer(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
        answer(&Arguments::try_parse_from(
            [&["replay"], arguments].concat(),
        )?)
    }

    fn json(arguments: &[&str]) -> serde_json::Value {
        let text = try_answer(&[arguments, &["--json"]].concat()).unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        json["logs"].take()
    }

    fn line(second: u32) -> String {
        format!("h.example - - [06/Jan/2025:08:00:{second:02} +0000] \"GET /\" 200 1\n")
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn files_are_replayed_each_on_its_own_or_as_one() {
        let folder = Folder::new("files");
        let new = folder.write("access.log", line(2).as_bytes());
        let old = folder.write("access.log.1.gz", &gzip(&(line(0) + &line(1))));
        let other = folder.write("old/access.log", line(0).as_bytes());
        let name = "sliding_log 1/min";
        let limit = ["--limit", "1/min"];

        let each = json(&[&[new.as_str(), &old][..], &limit].concat());
        assert_eq!(each["access.log"]["results"][name]["denied"], 0);
        assert_eq!(each["access.log.1.gz"]["lines"], 2);
        assert_eq!(each["access.log.1.gz"]["results"][name]["denied"], 1);

        let merged = json(&[&[new.as_str(), &old, "--merge"][..], &limit].concat());
        let merged = &merged["access.log + access.log.1.gz"];
        assert_eq!(merged["lines"], 3);
        assert_eq!(merged["results"][name]["denied"], 2);

        let alike = json(&[&new, &other]);
        assert_eq!(alike[&new]["lines"], 1);
        assert_eq!(alike[&other]["lines"], 1);
    }

    #[test]
    fn what_cannot_be_read_or_written_is_an_error_that_names_it() {
        let folder = Folder::new("errors");
        let whole = gzip(&line(0));
        let cut = folder.write("cut.gz", &whole[..whole.len() - 4]);
        let missing = folder.0.join("missing").to_str().unwrap().to_owned();
        for file in [&cut, &missing] {
            let error = try_answer(&[file]).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("cannot read {file}: ")),
                "{error}"
            );
        }
        let svg = format!("{missing}/plot.svg");
        let error = try_answer(&["--plot", &svg]).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("cannot write {svg}: ")),
            "{error}"
        );
    }

    #[test]
    fn a_burst_is_refused_only_where_nothing_else_is_left_to_try() {
        let burst = ["--limit", "2/s burst 20"];
        let all = json(&burst);
        let results = all["made-up traffic"]["results"].as_object().unwrap();
        assert_eq!(results.keys().collect::<Vec<_>>(), ["gcra 2/s burst 20"]);

        let fixed = [&burst[..], &["--algorithm", "fixed-window"]].concat();
        let error = try_answer(&fixed).unwrap_err().to_string();
        assert_eq!(error, "no algorithm is left to try");
    }

    #[test]
    fn files_without_a_log_line_are_an_error_unless_another_has_one() {
        let folder = Folder::new("no-lines");
        let empty = folder.write("empty.log", b"");
        let other = folder.write("other.csv", b"a,b\n1,2\n");
        let log = folder.write("access.log", line(0).as_bytes());
        for files in [&[&*empty][..], &[&other, "--json"], &[&empty, &other]] {
            let error = try_answer(files).unwrap_err().to_string();
            assert_eq!(error, "no line is a log line, Common or Combined");
        }
        let text = try_answer(&[&empty, &log]).unwrap();
        assert!(text.starts_with("empty.log: 0 requests"), "{text}");
    }

    #[test]
    fn a_suggestion_stands_beside_the_results() {
        let folder = Folder::new("suggest");
        let log = folder.write("access.log", (line(0) + &line(1)).as_bytes());
        let found = json(&[&log, "--limit", "1/min", "--suggest"]);
        let suggest = &found["access.log"]["suggest"];
        assert_eq!(suggest[0]["period"], "min");
        assert_eq!(suggest[0]["peaks"]["highest"], 2);
        let first = &suggest[0]["ladder"][0];
        assert_eq!(first["limit"], "1/min");
        assert_eq!(first["results"]["gcra"]["denied"], 1);
        assert_eq!(first["results"]["gcra"]["keys_denied"], 1);
        assert!(json(&[&log])["access.log"].get("suggest").is_none());
    }

    #[test]
    fn everything_can_be_asked_for_at_once() {
        let folder = Folder::new("everything");
        let svg = folder.0.join("plot.svg").to_str().unwrap().to_owned();
        let text = try_answer(&[
            "--limit",
            "5/s",
            "--limit",
            "100/10min",
            "--limit",
            "6/s",
            "--key",
            "path",
            "--top",
            "2",
            "--suggest",
            "--plot",
            &svg,
            "--seed",
            "9",
        ])
        .unwrap();
        assert!(text.starts_with("made-up traffic: "), "{text}");
        assert!(
            text.contains("all_of gcra 5/s + gcra 100/10min + gcra 6/s"),
            "{text}"
        );
        let ladders: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("peaks"))
            .collect();
        assert_eq!(ladders.len(), 2, "one for each period: {ladders:?}");
        assert!(fs::read_to_string(&svg).unwrap().starts_with("<svg"));
    }
}
