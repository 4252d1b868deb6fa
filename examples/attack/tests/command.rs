//! The program as its user meets it: what it prints, draws and refuses.

use std::io::{self, Write};
use std::sync::LazyLock;

use tollgate_attack::Figures;
use tollgate_attack::command::{Arguments, Failure, run};

static FIGURES: LazyLock<Figures> = LazyLock::new(|| Figures::measure().unwrap());

/// An output that fails in one way.
struct Broken(io::ErrorKind);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(self.0.into())
    }
}

fn checked() -> Arguments {
    Arguments {
        check: true,
        ..Arguments::default()
    }
}

fn plotted(path: impl Into<std::path::PathBuf>) -> Arguments {
    Arguments {
        plot: Some(path.into()),
        ..Arguments::default()
    }
}

#[test]
fn every_figure_is_as_the_contract_says() {
    let mut out = Vec::new();
    run(&checked(), &FIGURES, &mut out).unwrap_or_else(|failure| panic!("{failure}"));
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains("figures are as they should be"), "{out}");
}

#[test]
fn a_row_of_the_table_shows_what_was_counted() {
    let mut figures = FIGURES.clone();
    figures.boundary[1].allowed = 77;
    let mut out = Vec::new();
    run(&Arguments::default(), &figures, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains("\n  1:00.5   100       77\n"), "{out}");
}

#[test]
fn a_sentence_under_a_table_says_what_was_counted() {
    let mut figures = FIGURES.clone();
    figures.boundary[1].allowed = 77;
    figures.chained.allowed = 54;
    figures.eviction.sweeps[0].evicted = 8;
    figures.sieges.remove(1);
    let mut out = Vec::new();
    run(&Arguments::default(), &figures, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let words: Vec<_> = out.split_whitespace().collect();
    let out = words.join(" ");
    for sentence in [
        "Of these, none stays within the limit in any 60s.",
        "177 were allowed within 1.5s, under a limit of 100/min",
        "the client is allowed 54 instead of 59.",
        "at 0:00.5 8 were, at 0:01.5 1,000,000 were forgotten.",
    ] {
        assert!(out.contains(sentence), "{sentence}: {out}");
    }
}

#[test]
fn a_check_names_each_figure_that_differs() {
    let mut figures = FIGURES.clone();
    figures.boundary[1].allowed = 77;
    figures.sieges[3].allowed = 600;
    figures.eviction.sweeps[0].evicted = 1;
    let failure = run(&checked(), &figures, &mut Vec::new()).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "not every figure is as it should be\n\
         \x20 siege, token-bucket: allowed is 600, not 599\n\
         \x20 boundary, 1:00.5: allowed is 77, not 100\n\
         \x20 eviction, 0:00.5: forgotten is 1, not 0"
    );
}

#[test]
fn a_missing_figure_does_not_pass_for_a_right_one() {
    let mut figures = FIGURES.clone();
    figures.stampedes.pop();
    let failure = run(&checked(), &figures, &mut Vec::new()).unwrap_err();
    assert!(matches!(failure, Failure::Check(differences) if differences.len() == 1));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut gone = Broken(io::ErrorKind::BrokenPipe);
    assert!(run(&checked(), &FIGURES, &mut gone).is_ok());
}

#[test]
fn a_reader_that_goes_away_does_not_hide_a_difference() {
    let mut figures = FIGURES.clone();
    figures.all_of.allowed = 60;
    let mut gone = Broken(io::ErrorKind::BrokenPipe);
    let failure = run(&checked(), &figures, &mut gone).unwrap_err();
    assert!(matches!(failure, Failure::Check(_)));
}

#[test]
fn a_full_disk_under_the_output_is_a_failure() {
    let mut full = Broken(io::ErrorKind::StorageFull);
    let failure = run(&Arguments::default(), &FIGURES, &mut full).unwrap_err();
    assert!(failure.to_string().starts_with("cannot print the tables: "));
}

#[test]
fn a_plot_holds_a_curve_and_a_caption_for_each_algorithm() {
    let path = std::env::temp_dir().join(format!("tollgate-attack-{}.svg", std::process::id()));
    run(&plotted(&path), &FIGURES, &mut Vec::new()).unwrap();
    let svg = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    for caption in [
        "fixed-window: 600 allowed in all, at most 200 in any 60s",
        "sliding-log: 500 allowed in all, at most 100 in any 60s",
        "sliding-counter: 546 allowed in all, at most 149 in any 60s",
        "token-bucket: 599 allowed in all, at most 199 in any 60s",
    ] {
        assert!(svg.contains(caption), "{caption}");
    }
    assert_eq!(svg.matches("the limit").count(), 4);
    assert_eq!(svg.matches("stroke-width=\"2\"").count(), 4, "a curve each");
}

#[test]
fn a_plot_that_cannot_be_written_is_named() {
    let path = std::env::temp_dir()
        .join("no such folder")
        .join("attack.svg");
    let failure = run(&plotted(&path), &FIGURES, &mut Vec::new()).unwrap_err();
    let message = failure.to_string();
    let expected = format!("cannot write {}: ", path.display());
    assert!(message.starts_with(&expected), "{message}");
}
