//! Tables of text, each column as wide as its widest cell.

use core::fmt;

/// Which side of its column a cell stands on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells under a heading.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns and no rows but its heading.
    pub(crate) fn new<const N: usize>(columns: [(&str, Align); N]) -> Self {
        let heading = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        Self { columns: columns.map(|(_, align)| align).to_vec(), rows: vec![heading] }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }
}

impl fmt::Display for Table {
    /// Indented by two, columns two apart, nothing behind the last word of a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths = vec![0; self.columns.len()];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for (place, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for ((cell, width), align) in row.iter().zip(&widths).zip(&self.columns) {
                line.push_str("  ");
                line.push_str(&match align {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                });
            }
            if place > 0 {
                f.write_str("\n")?;
            }
            f.write_str(line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_must_be() {
        let mut table = Table::new([("flow", Align::Left), ("p50", Align::Right)]);
        table.row(["a".to_owned(), "191 us".to_owned()]);
        table.row(["status µ".to_owned(), "4 ms".to_owned()]);
        let expected = "  flow         p50\n  a         191 us\n  status µ    4 ms";
        assert_eq!(table.to_string(), expected);
    }
}
