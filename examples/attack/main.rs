//! Prints what each algorithm lets through under attack: `cargo run --release --example attack`.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use tollgate_attack::Figures;
use tollgate_attack::command::{self, Arguments};

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // `eprintln!` panics where standard error is closed, and there is nobody left to tell.
            let _ = writeln!(io::stderr(), "attack: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let figures = Figures::measure()?;
    command::run(arguments, &figures, &mut io::stdout().lock())?;
    Ok(())
}
