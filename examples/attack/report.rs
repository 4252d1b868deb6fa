//! The figures as tables, and under each what to conclude from it.
//!
//! The numbers in those sentences are counted or worked out from the limits, as those above are.

use std::io::{self, Write};
use std::time::Duration;

use crate::clock::Clock;
use crate::figures::Figures;
use crate::siege::{self, Siege};
use crate::stampede::{self, Stampede};
use crate::table::{Table, grouped};
use crate::tiers::{self, Tiers};
use crate::{boundary, burst, eviction};

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
            "{}: one client tries every {} for {}, from {} on",
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
    let period = siege::LIMIT.period_ns();
    let (from, to) = (siege::START, siege::START + siege::LENGTH - 1);
    let keeps = |siege: &&Siege| siege.trailing.most() <= siege::LIMIT.permits();
    let keeping: Vec<_> = figures
        .sieges
        .iter()
        .filter(keeps)
        .map(|siege| siege.algorithm.name())
        .collect();
    table.conclude(format!(
        "Of these, {} within the limit in any {period}. fixed-window gives {permits} in each of the \
         {windows} windows of the clock that the siege touches; as it begins {into} into the first, \
         so that windows are cut, the permits of two fall within {period}. sliding-counter takes the \
         last window's permits as spread evenly over it, and so forgets some before they are \
         {period} old. token-bucket gives {burst} at once and then a permit every {refill}.",
        match &keeping[..] {
            [] => "none stays".to_owned(),
            [one] => format!("only {one} stays"),
            several => format!("{} stay", several.join(", ")),
        },
        period = span(period),
        permits = grouped(siege::LIMIT.permits()),
        windows = to / period - from / period + 1,
        into = span(from % period),
        burst = grouped(siege::LIMIT.burst()),
        refill = span(period / siege::LIMIT.permits()),
    ));
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
    let at_once = |request: &&burst::Request| {
        let is_like = |first: &burst::Request| (request.at, request.key) == (first.at, first.key);
        figures.burst.first().is_some_and(is_like) && request.decision.is_allowed()
    };
    table.conclude(format!(
        "A key may spend its burst, {} permits, at one instant; then a permit comes back every {}, \
         which is what a denied request is told to wait, and nobody else's permits are touched.",
        figures.burst.iter().filter(at_once).count(),
        span(burst::LIMIT.period_ns() / burst::LIMIT.permits()),
    ));
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
    let [before, after] = figures.boundary;
    table.conclude(format!(
        "{} were allowed within {}, under a limit of {}: a window of the clock ended between them, \
         and the next one starts from zero.",
        grouped(before.allowed + after.allowed),
        span(after.at - before.at),
        boundary::LIMIT,
    ));
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
        [
            "limiter",
            "sent",
            "allowed",
            &format!(
                "allowed in each of the first {} seconds",
                match tiers::FIRST_SECONDS {
                    6 => "six".to_owned(),
                    other => other.to_string(),
                }
            ),
        ],
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
    table.conclude(format!(
        "all-of spends from both limits or from neither. Chained are two limiters, {minute} asked \
         first and {second} only if that allows: a request that {second} then denies has spent a \
         permit of {minute} for nothing, and the client is allowed {} instead of {}.",
        grouped(figures.chained.allowed),
        grouped(figures.all_of.allowed),
        minute = tiers::PER_MINUTE,
        second = tiers::PER_SECOND,
    ));
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
    let forgotten = eviction
        .sweeps
        .map(|sweep| format!("at {} {} were", Clock(sweep.at), grouped(sweep.evicted)));
    table.conclude(format!(
        "A key is forgotten only once it is as good as new, and a permit takes {} to come back: {} \
         forgotten.",
        span(eviction::LIMIT.period_ns() / eviction::LIMIT.permits()),
        forgotten.join(", "),
    ));
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
    let all = || figures.stampedes.iter().map(|(_, stampede)| stampede);
    let fewest = all().map(Stampede::fewest).min().unwrap_or(0);
    let most = all().map(Stampede::most).max().unwrap_or(0);
    table.conclude(format!(
        "The algorithms allow {} in every round, however the threads interleave, as each decision \
         takes effect in one atomic step. unsynchronised is no algorithm of tollgate's but a plain \
         read-then-write of a count, for contrast: threads that read the same count are all \
         allowed, up to {} in a round.",
        match fewest == most {
            true => format!("exactly {}", grouped(most)),
            false => format!("from {} to {}", grouped(fewest), grouped(most)),
        },
        grouped(figures.unsynchronised.most()),
    ));
    table
}

fn span(ns: u64) -> String {
    format!("{:?}", Duration::from_nanos(ns))
}
