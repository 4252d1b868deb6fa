//! The figures as tables.

use std::io::{self, Write};
use std::time::Duration;

use crate::clock::Clock;
use crate::figures::Figures;
use crate::stampede::{self, Stampede};
use crate::table::{Table, grouped};
use crate::tiers::{self, Tiers};
use crate::{boundary, burst, eviction, siege};

/// Writes every table to `out`.
///
/// # Errors
///
/// If `out` fails.
pub fn write(figures: &Figures, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", sieges(figures))?;
    writeln!(out, "{}", bursts(figures))?;
    writeln!(out, "{}", boundaries(figures))?;
    writeln!(out, "{}", both_tiers(figures))?;
    writeln!(out, "{}", evictions(figures))?;
    write!(out, "{}", stampedes(figures))
}

fn sieges(figures: &Figures) -> Table<4> {
    let mut table = Table::new(
        format!(
            "{}: one client tries every {} for {}, from {} on the clock",
            siege::LIMIT,
            span(siege::EVERY),
            span(siege::LENGTH),
            Clock(siege::START)
        ),
        [
            "algorithm",
            "tries",
            "allowed",
            &format!("most in any {}", span(siege::LIMIT.period_ns())),
        ],
    );
    for siege in &figures.sieges {
        table.row([
            siege.algorithm.to_string(),
            grouped(siege.tries),
            grouped(siege.allowed),
            grouped(siege.trailing.most()),
        ]);
    }
    table
}

fn bursts(figures: &Figures) -> Table<5> {
    let mut table = Table::new(
        format!(
            "{}, token bucket: more than a burst at one instant",
            burst::LIMIT
        ),
        ["clock", "key", "answer", "remaining", "retry after"],
    );
    for request in &figures.burst {
        let decision = request.decision;
        table.row([
            Clock(request.at).to_string(),
            request.key.to_owned(),
            match decision.is_allowed() {
                true => "allowed".to_owned(),
                false => "denied".to_owned(),
            },
            grouped(decision.remaining()),
            decision
                .retry_after()
                .map_or_else(String::new, |wait| format!("{wait:?}")),
        ]);
    }
    table
}

fn boundaries(figures: &Figures) -> Table<3> {
    let mut table = Table::new(
        format!(
            "{}, fixed window: either side of the minute",
            boundary::LIMIT
        ),
        ["clock", "sent", "allowed"],
    );
    for volley in figures.boundary {
        table.row([
            Clock(volley.at).to_string(),
            grouped(volley.sent),
            grouped(volley.allowed),
        ]);
    }
    table
}

fn both_tiers(figures: &Figures) -> Table<4> {
    let mut table = Table::new(
        format!(
            "{} and {}: a request every {} for {}",
            tiers::PER_SECOND,
            tiers::PER_MINUTE,
            span(tiers::EVERY),
            span(tiers::LENGTH)
        ),
        ["limiter", "sent", "allowed", "in each second at first"],
    );
    let mut row = |name: &str, tiers: &Tiers| {
        table.row([
            name,
            &grouped(tiers.sent),
            &grouped(tiers.allowed),
            &tiers.by_second.map(grouped).join(", "),
        ]);
    };
    row("all-of", &figures.all_of);
    row("two chained, minute first", &figures.chained);
    table
}

fn evictions(figures: &Figures) -> Table<4> {
    let eviction = figures.eviction;
    let mut table = Table::new(
        format!(
            "{}, token bucket: {} keys, one request each",
            eviction::LIMIT,
            grouped(eviction::KEYS)
        ),
        ["clock", "allowed", "forgotten", "keys in the map"],
    );
    table.row([
        Clock(0).to_string(),
        grouped(eviction.allowed),
        String::new(),
        grouped(eviction.tracked),
    ]);
    for sweep in eviction.sweeps {
        table.row([
            Clock(sweep.at).to_string(),
            String::new(),
            grouped(sweep.evicted),
            grouped(sweep.tracked),
        ]);
    }
    table
}

fn stampedes(figures: &Figures) -> Table<6> {
    let mut table = Table::new(
        format!(
            "{} (all-of: and {}): {} requests to one key, from {} threads on {}, the clock standing still",
            stampede::LIMIT,
            stampede::HOURLY,
            grouped(stampede::REQUESTS as u64),
            stampede::THREADS,
            match figures.cores {
                1 => "one core".to_owned(),
                cores => format!("{cores} cores"),
            }
        ),
        [
            "algorithm",
            "rounds",
            "fewest allowed",
            "most allowed",
            "rounds with too many",
            "too many on average",
        ],
    );
    let mut row = |name: String, stampede: &Stampede| {
        table.row([
            name,
            grouped(stampede.rounds()),
            grouped(stampede.fewest()),
            grouped(stampede.most()),
            grouped(stampede.rounds_over()),
            format!("{:.1} %", stampede.percent_over()),
        ]);
    };
    for (algorithm, stampede) in &figures.stampedes {
        row(algorithm.to_string(), stampede);
    }
    row("unsynchronised".to_owned(), &figures.unsynchronised);
    table
}

fn span(ns: u64) -> String {
    format!("{:?}", Duration::from_nanos(ns))
}
