//! The program: print, draw if asked to, check if asked to.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Parser;

use crate::check::{Check, Difference};
use crate::figures::Figures;
use crate::{plot, report};

/// Attacks each algorithm of tollgate and prints what got through.
#[derive(Clone, Debug, Default, Parser)]
#[command(name = "attack")]
pub struct Arguments {
    /// Fail, naming the figures, if any is not what tollgate's contract says
    #[arg(long)]
    pub check: bool,

    /// Draw the permits allowed in the trailing minute, a curve for each algorithm
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
}

/// Why the program failed.
#[derive(Debug)]
pub enum Failure {
    /// The tables could not be printed.
    Print(io::Error),
    /// The curves could not be drawn.
    Draw(Box<dyn std::error::Error>),
    /// The drawing could not be written to the file.
    Write(PathBuf, io::Error),
    /// Some figures are not what they should be.
    Check(Vec<Difference>),
}

/// Reports `figures` as the `arguments` ask.
///
/// A reader of `out` that goes away is no failure: it has read what it wanted.
///
/// # Errors
///
/// If `out` or the plot's file cannot be written, or a checked figure differs.
pub fn run(arguments: &Arguments, figures: &Figures, out: &mut impl Write) -> Result<(), Failure> {
    print(out, |out| report::write(figures, out))?;

    if let Some(path) = &arguments.plot {
        let svg = plot::draw(&figures.sieges).map_err(Failure::Draw)?;
        fs::write(path, svg).map_err(|error| Failure::Write(path.clone(), error))?;
    }

    if arguments.check {
        let check = Check::of(figures);
        if !check.differences().is_empty() {
            return Err(Failure::Check(check.differences().to_vec()));
        }
        let compared = check.compared();
        print(out, |out| {
            writeln!(out, "\nall {compared} figures are as they should be")
        })?;
    }
    Ok(())
}

fn print<W: Write>(
    out: &mut W,
    write: impl FnOnce(&mut W) -> io::Result<()>,
) -> Result<(), Failure> {
    match write(out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Print(error)),
        _ => Ok(()),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Print(error) => write!(f, "cannot print the tables: {error}"),
            Self::Draw(error) => write!(f, "cannot draw the curves: {error}"),
            Self::Write(path, error) => write!(f, "cannot write {}: {error}", path.display()),
            Self::Check(differences) => {
                f.write_str("not every figure is as it should be")?;
                for difference in differences {
                    write!(f, "\n  {difference}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for Failure {}
