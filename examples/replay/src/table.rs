//! Columns of text, each as wide as its widest cell.

use std::fmt;

/// Which side of its column a cell keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Rows that line up. An empty cell is fine.
#[derive(Debug)]
pub(crate) struct Table {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(sides: impl IntoIterator<Item = Side>) -> Self {
        Self {
            sides: sides.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths = vec![0; self.sides.len()];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, side), width) in row.iter().zip(&self.sides).zip(&widths) {
                let width = *width;
                line.push_str(&match side {
                    Side::Left => format!("{cell:<width$}  "),
                    Side::Right => format!("{cell:>width$}  "),
                });
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A count, and what share of all it is: `93 (1.9 %)`.
pub(crate) fn share(count: u64, all: u64) -> String {
    if count == 0 {
        return "0".to_owned();
    }
    let percent = count as f64 * 100.0 / all as f64;
    if percent < 0.1 {
        format!("{count} (<0.1 %)")
    } else {
        format!("{count} ({percent:.1} %)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_line_up_and_lines_do_not_end_in_spaces() {
        let mut table = Table::new([Side::Left, Side::Right, Side::Left]);
        table.row(["", "denied", ""]);
        table.row(["straße", "7", "a"]);
        table.row(["b", "1000000", ""]);
        assert_eq!(
            table.to_string(),
            "         denied\nstraße        7  a\nb       1000000\n"
        );
    }

    #[test]
    fn a_small_share_is_not_shown_as_none() {
        assert_eq!(share(0, 0), "0");
        assert_eq!(share(1, 3), "1 (33.3 %)");
        assert_eq!(share(1, 10_000), "1 (<0.1 %)");
        assert_eq!(share(5, 5), "5 (100.0 %)");
    }
}
