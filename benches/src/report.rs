//! Figures that are no durations, kept beside those of criterion for the table.

use std::fs;
use std::path::PathBuf;

/// The folder of the build's output in which criterion keeps its figures, too.
pub fn target() -> PathBuf {
    let program = std::env::current_exe().expect("a program has a path");
    let target = program.ancestors().find(|path| path.ends_with("release"));
    let target = target.expect("benches are built for release");
    target.parent().expect("it has a parent").to_owned()
}

/// Prints a table and keeps it for `BENCHMARKS.md`.
pub fn keep(name: &str, title: &str, note: &str, columns: &[&str], rows: &[Vec<String>]) {
    let mut text = format!("### {title}\n\n{note}\n\n| {} |\n", columns.join(" | "));
    text += &format!("|{}\n", "---|".repeat(columns.len()));
    for row in rows {
        text += &format!("| {} |\n", row.join(" | "));
    }
    println!("\n{text}");
    let folder = target().join("tables");
    fs::create_dir_all(&folder).expect("a folder for tables");
    fs::write(folder.join(format!("{name}.md")), text).expect("a table");
}
