//! Rows of text under a title, lined up, and what to conclude from them.

use std::fmt;

/// A table for a terminal. Columns of numbers line up on the right, others on the left.
///
/// # Examples
///
/// ```
/// use tollgate_attack::table::Table;
///
/// let mut table = Table::new("5/s, two clients", ["key", "allowed"]);
/// table.row(["ada", "5"]);
/// table.row(["grace", "1,000"]);
/// assert_eq!(
///     table.to_string(),
///     "5/s, two clients\n\n  key    allowed\n  ada          5\n  grace    1,000\n",
/// );
/// table.conclude("Grace asked more often.");
/// assert!(table.to_string().ends_with("  grace    1,000\n\n  Grace asked more often.\n"));
/// ```
#[derive(Clone, Debug)]
pub struct Table<const N: usize> {
    title: String,
    head: [String; N],
    rows: Vec<[String; N]>,
    conclusion: String,
}

/// A conclusion is broken into lines of at most so many characters.
const LINE: usize = 98;

impl<const N: usize> Table<N> {
    /// A table without rows.
    pub fn new(title: impl Into<String>, head: [&str; N]) -> Self {
        Self {
            title: title.into(),
            head: head.map(str::to_owned),
            rows: Vec::new(),
            conclusion: String::new(),
        }
    }

    /// Adds a row.
    pub fn row<T: ToString>(&mut self, cells: [T; N]) {
        self.rows.push(cells.map(|cell| cell.to_string()));
    }

    /// Says in a sentence, below the rows, what they show.
    pub fn conclude(&mut self, sentence: impl Into<String>) {
        self.conclusion = sentence.into();
    }

    fn lines(&self) -> impl Iterator<Item = &[String; N]> {
        std::iter::once(&self.head).chain(&self.rows)
    }

    fn width(&self, column: usize) -> usize {
        self.lines()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    }

    fn is_numeric(&self, column: usize) -> bool {
        self.rows.iter().all(|row| {
            row[column].is_empty() || row[column].starts_with(|c: char| c.is_ascii_digit())
        })
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.title)?;
        let widths: [usize; N] = std::array::from_fn(|column| self.width(column));
        let numeric: [bool; N] = std::array::from_fn(|column| self.is_numeric(column));
        for cells in self.lines() {
            let mut line = String::new();
            for column in 0..N {
                let (cell, width) = (&cells[column], widths[column]);
                line += "  ";
                line += &match numeric[column] {
                    true => format!("{cell:>width$}"),
                    false => format!("{cell:<width$}"),
                };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        if self.conclusion.is_empty() {
            return Ok(());
        }
        writeln!(f)?;
        let mut line = String::new();
        for word in self.conclusion.split(' ') {
            if line.chars().count() + 1 + word.chars().count() > LINE {
                writeln!(f, " {line}")?;
                line.clear();
            }
            line += " ";
            line += word;
        }
        writeln!(f, " {line}")
    }
}

/// A number with a comma at every thousand.
///
/// # Examples
///
/// ```
/// use tollgate_attack::table::grouped;
///
/// assert_eq!(grouped(599), "599");
/// assert_eq!(grouped(1_000_000), "1,000,000");
/// ```
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
