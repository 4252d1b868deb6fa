//! Turns what criterion has measured in a run into tables of ratios, and one plot.
//!
//! `cargo run --release -p tollgate-benches --bin table` writes `benches/BENCHMARKS.md` and
//! `benches/contention.svg`.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_benches::report;

/// Work → contender → nanoseconds a check.
type Group = BTreeMap<String, BTreeMap<String, f64>>;

const OURS: &str = "tollgate";

fn main() {
    let groups = read(&report::target().join("criterion"));
    assert!(!groups.is_empty(), "run cargo bench first");
    let benches = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut text = head();
    for name in [
        "ratios",
        "eviction",
        "growth",
        "memory",
        "instructions",
        "wire",
        "redis",
        "redis-denied",
        "redis-split",
        "redis-first-denial",
    ] {
        let kept = report::target().join("tables").join(format!("{name}.md"));
        if let Ok(kept) = fs::read_to_string(kept) {
            let _ = writeln!(text, "{}\n", kept.trim_end());
        }
    }
    text += "## Bench by bench\n\n\
             Nanoseconds a check (with several threads: the time that all of them take together, over \
             all checks), medians; in brackets how many checks tollgate makes in the time of one. These \
             are measured one after the other, so that where the machine is shared a figure may lie \
             in a slow moment: the ratios above may not.\n\n";
    for (name, group) in &groups {
        table(&mut text, name, group);
    }
    fs::write(benches.join("BENCHMARKS.md"), text).expect("to write the tables");
    if let Some(group) = groups.get("many threads, u64, one hot key, denied") {
        fs::write(benches.join("contention.svg"), plot(group)).expect("to write the plot");
    }
}

fn head() -> String {
    let run = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.unwrap_or_default().trim().to_owned()
    };
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown", |(_, model)| model);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "# Benchmarks\n\n\
         All of it from one run. Every bench counts what was allowed, so that nothing is measured \
         that is not done.\n\n\
         {model}, {cores} cores; {}.\n\n\
         ```sh\n\
         cargo bench -p tollgate-benches   # needs redis-server\n\
         benches/instructions   # needs valgrind\n\
         examples/gateway/wire-cost   # needs wrk\n\
         cargo run --release -p tollgate-benches --bin table\n\
         ```\n\n\
         ![Checks of one hot key, denied](contention.svg)\n\n",
        run("rustc", "--version"),
    )
}

/// Reads what criterion keeps: a folder for each group, in it one for each contender, in that one for
/// each task.
fn read(criterion: &Path) -> BTreeMap<String, Group> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect()
    };
    let json = |path: PathBuf| -> Option<Value> {
        serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
    };
    for group in folders(criterion) {
        for contender in folders(&group) {
            for work in folders(&contender) {
                let Some(id) = json(work.join("new/benchmark.json")) else {
                    continue;
                };
                let Some(estimates) = json(work.join("new/estimates.json")) else {
                    continue;
                };
                let text = |key: &str| id[key].as_str().unwrap_or_default().to_owned();
                // What is measured may be a million checks.
                let checks = id["throughput"]["Elements"].as_f64().unwrap_or(1.0);
                let median = estimates["median"]["point_estimate"]
                    .as_f64()
                    .unwrap_or(f64::NAN);
                groups
                    .entry(text("group_id"))
                    .or_default()
                    .entry(text("value_str"))
                    .or_default()
                    .insert(text("function_id"), median / checks);
            }
        }
    }
    groups
}

/// "16 threads" after "2 threads".
fn by_number(work: &str) -> (u64, &str) {
    let digits: String = work
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == ',')
        .filter(char::is_ascii_digit)
        .collect();
    (digits.parse().unwrap_or(u64::MAX), work)
}

fn table(text: &mut String, name: &str, group: &Group) {
    let mut contenders: Vec<&String> = group.values().flat_map(BTreeMap::keys).collect();
    contenders.sort_unstable_by_key(|name| (!name.starts_with(OURS), *name));
    contenders.dedup();
    let mut works: Vec<&String> = group.keys().collect();
    works.sort_unstable_by_key(|work| by_number(work));
    let _ = writeln!(text, "### {name}\n");
    let _ = write!(text, "| |");
    contenders
        .iter()
        .for_each(|name| _ = write!(text, " {name} |"));
    let _ = writeln!(text, "\n|{}", "---|".repeat(contenders.len() + 1));
    for work in works {
        let _ = write!(text, "| {work} |");
        let figures = &group[work];
        for contender in &contenders {
            let Some(time) = figures.get(*contender) else {
                let _ = write!(text, " – |");
                continue;
            };
            let _ = write!(text, " {}", digits(*time));
            match figures.get(OURS) {
                Some(ours) if *contender != OURS => _ = write!(text, " ({:.2}) |", time / ours),
                _ => text.push_str(" |"),
            }
        }
        text.push('\n');
    }
    text.push('\n');
}

fn digits(nanoseconds: f64) -> String {
    match nanoseconds {
        time if time < 100.0 => format!("{time:.1}"),
        time => format!("{time:.0}"),
    }
}

/// Millions of checks a second, over the number of threads.
fn plot(group: &Group) -> String {
    const COLOURS: [&str; 6] = [
        "#0b6e4f", "#6bbf59", "#c8553d", "#f28f3b", "#588b8b", "#999999",
    ];
    let mut lines: BTreeMap<&String, Vec<(u64, f64)>> = BTreeMap::new();
    for (work, figures) in group {
        for (contender, time) in figures {
            lines
                .entry(contender)
                .or_default()
                .push((by_number(work).0, 1_000.0 / time));
        }
    }
    let top = lines
        .values()
        .flatten()
        .map(|(_, rate)| *rate)
        .fold(1.0, f64::max)
        * 1.05;
    let x = |threads: u64| 60.0 + 70.0 * (threads as f64).log2();
    let y = |rate: f64| 300.0 - 260.0 * rate / top;
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 340\" font-family=\"sans-serif\" \
         font-size=\"12\"><rect width=\"720\" height=\"340\" fill=\"white\"/>\n",
    );
    let _ = writeln!(
        svg,
        "<text x=\"60\" y=\"22\">one hot key, denied: millions of checks a second, by threads</text>"
    );
    for step in 0..=4 {
        let rate = top * f64::from(step) / 4.0;
        let _ = writeln!(
            svg,
            "<path d=\"M60 {0:.0}H480\" stroke=\"#ddd\"/><text x=\"52\" y=\"{0:.0}\" \
             text-anchor=\"end\">{rate:.0}</text>",
            y(rate)
        );
    }
    for (index, (contender, points)) in lines.iter_mut().enumerate() {
        points.sort_unstable_by_key(|(threads, _)| *threads);
        let colour = COLOURS[index % COLOURS.len()];
        let path: Vec<String> = points
            .iter()
            .map(|(threads, rate)| format!("{:.0},{:.0}", x(*threads), y(*rate)))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"500\" y=\"{}\" fill=\"{colour}\">{contender}</text>",
            path.join(" "),
            60 + 22 * index
        );
        for (threads, _) in points {
            let _ = writeln!(
                svg,
                "<text x=\"{:.0}\" y=\"318\" text-anchor=\"middle\">{threads}</text>",
                x(*threads)
            );
        }
    }
    svg + "</svg>\n"
}
