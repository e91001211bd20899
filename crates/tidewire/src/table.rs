//! Tables of text, each column as wide as its widest cell.

use core::fmt;
use std::collections::BTreeSet;

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
    /// Rows whose last cell goes over all columns behind it.
    remarks: BTreeSet<usize>,
}

impl Table {
    /// A table with these columns and no rows but its heading.
    pub(crate) fn new<const N: usize>(columns: [(&str, Align); N]) -> Self {
        let heading = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        Self {
            columns: columns.map(|(_, align)| align).to_vec(),
            rows: vec![heading],
            remarks: BTreeSet::new(),
        }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }

    /// Adds a row of a few cells and then a text, which goes over all other columns without making any wider.
    pub(crate) fn remark<const N: usize>(&mut self, cells: [String; N], text: &str) {
        let mut row = cells.to_vec();
        row.push(text.to_owned());
        self.remarks.insert(self.rows.len());
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    /// Indented by two, columns two apart, nothing behind the last word of a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths = vec![0; self.columns.len()];
        for (place, row) in self.rows.iter().enumerate() {
            let counted = row.len() - usize::from(self.remarks.contains(&place));
            for (width, cell) in widths.iter_mut().zip(&row[..counted]) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for (place, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            let is_remark = self.remarks.contains(&place);
            for (column, ((cell, width), align)) in
                row.iter().zip(&widths).zip(&self.columns).enumerate()
            {
                line.push_str("  ");
                if is_remark && column + 1 == row.len() {
                    line.push_str(cell);
                    break;
                }
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
    fn a_remark_goes_over_the_columns_behind_it_and_makes_none_wider() {
        let mut table = Table::new([("a", Align::Left), ("b", Align::Right), ("c", Align::Right)]);
        table.row(["x".to_owned(), "1".to_owned(), "2".to_owned()]);
        table.remark(["yy".to_owned()], "lost 0 of 5000 (at most 0.00074)");
        let expected = "  a   b  c\n  x   1  2\n  yy  lost 0 of 5000 (at most 0.00074)";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn columns_are_as_wide_as_they_must_be() {
        let mut table = Table::new([("flow", Align::Left), ("p50", Align::Right)]);
        table.row(["a".to_owned(), "191 us".to_owned()]);
        table.row(["status µ".to_owned(), "4 ms".to_owned()]);
        let expected = "  flow         p50\n  a         191 us\n  status µ    4 ms";
        assert_eq!(table.to_string(), expected);
    }
}
