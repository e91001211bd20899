//! Tables of text, each column as wide as its widest cell.

use bench::paragraph::{COLUMNS, wrapped};
use core::fmt;
use std::collections::BTreeSet;

/// Gap between two columns.
const GAP: usize = 2;

/// First cells up to this width stay in their rows: a line of their own would save little, and the layout
/// of what is measured would differ from run to run.
const SHORT: usize = 8;

/// Side of its column on which a cell stands.
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

    /// A table whose number of columns is not fixed.
    pub(crate) fn of<'a>(columns: impl Iterator<Item = (&'a str, Align)>) -> Self {
        let (names, columns) = columns.map(|(name, align)| (name.to_owned(), align)).unzip();
        Self { columns, rows: vec![names], remarks: BTreeSet::new() }
    }

    /// True if it has no rows but its heading.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn add(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
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

/// Layout of a table.
#[derive(Clone, Copy)]
struct Layout {
    /// Blanks between two columns.
    gap: usize,
    is_wide: bool,
    /// True if the first cell of a row has a line of its own.
    is_folded: bool,
}

impl fmt::Display for Table {
    /// Indented by two, columns two apart, nothing behind the last word of a line. In a table wider than a
    /// terminal the first cell of a row has a line of its own, and a last column of words is wrapped. If the
    /// first cells are short, columns of numbers are one apart instead, as long as that is enough.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (widths, is_wide) = (self.widths(), self.is_wide());
        let is_label = self.columns.len() > 2 && self.columns[0] == Align::Left;
        let is_last_wrapped = self.columns.last() == Some(&Align::Left);
        let is_close = is_wide && is_label && !is_last_wrapped && widths[0] <= SHORT;
        let width = 1 + widths.iter().map(|width| width + 1).sum::<usize>();
        let is_folded = is_wide && is_label && (widths[0] > SHORT || is_close && width > COLUMNS);
        let layout = Layout { gap: if is_close { 1 } else { GAP }, is_wide, is_folded };
        for place in 0..self.rows.len() {
            if place > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&self.line(place, &widths, layout))?;
        }
        Ok(())
    }
}

impl Table {
    /// True if its lines are wider than a terminal, unless they are wrapped.
    pub(crate) fn is_wide(&self) -> bool {
        self.widths().iter().map(|width| width + GAP).sum::<usize>() > COLUMNS
    }

    /// Width of each column.
    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.columns.len()];
        for (place, row) in self.rows.iter().enumerate() {
            let counted = row.len() - usize::from(self.remarks.contains(&place));
            for (width, cell) in widths.iter_mut().zip(&row[..counted]) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }

    /// A row as text; folded, below a line with its first cell unless that is empty.
    fn line(&self, place: usize, widths: &[usize], layout: Layout) -> String {
        let Layout { gap, is_wide, is_folded } = layout;
        let row = &self.rows[place];
        let is_remark = self.remarks.contains(&place);
        let (mut above, mut line) = (String::new(), String::new());
        for (column, cell) in row.iter().enumerate() {
            let (width, align) = (widths[column], self.columns[column]);
            let is_last = column + 1 == row.len();
            line.push_str(&" ".repeat(if column == 0 { GAP } else { gap }));
            if is_folded && column == 0 {
                if !cell.is_empty() {
                    above = wrapped(&line, cell) + "\n";
                }
            } else if is_remark && is_last {
                line.push_str(cell);
            } else if is_wide && is_last && align == Align::Left {
                line = wrapped(&line, cell);
            } else {
                line.push_str(&match align {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                });
            }
        }
        above + line.trim_end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_spans_columns_and_widens_none() {
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

    #[test]
    fn first_cells_of_a_wide_table_have_lines_of_their_own() {
        let columns = [("flow", Align::Left), ("p50", Align::Right), ("verdict", Align::Left)];
        let mut table = Table::new(columns);
        let row =
            |flow: &str, verdict: &str| [flow.to_owned(), "5 ms".to_owned(), verdict.to_owned()];
        table.row(row("status-report", "met"));
        table.row(row("", &"word ".repeat(16)));
        table.remark(["alarm".to_owned()], "lost   0 of 5");
        let words = "word ".repeat(13);
        let expected = format!(
            "  flow\n     p50  verdict\n  status-report\n    5 ms  met\n    5 ms  {words}word\n          word word\n  \
             alarm\n    lost   0 of 5"
        );
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn numbers_below_short_names_come_nearer_to_stay_on_a_terminal() {
        let columns = ["", "min", "p50", "p99", "max"].map(|name| (name, Align::Right));
        let row = |flow: &str, mean: &str| {
            let times = ["delay", mean, "4.06 ms", "4.06 ms", "4.06 ms"].map(str::to_owned);
            [flow.to_owned()].into_iter().chain(times).collect::<Vec<_>>()
        };
        let lines = |flow: &str, mean: &str| {
            let mut table = Table::of([("flow", Align::Left)].into_iter().chain(columns));
            table.add(row(flow, mean));
            table.to_string()
        };
        // 2 + 4 + 5 + 42 + 3 x 7 columns, and two or one between any two of the six.
        let mean = "m".repeat(42);
        let expected = format!("  poll delay {mean} 4.06 ms 4.06 ms 4.06 ms");
        assert_eq!(lines("poll", &mean).lines().last(), Some(expected.as_str()));
        for mean in ["m".repeat(43), "m".repeat(47)] {
            let folded = lines("poll", &mean);
            assert!(folded.lines().all(|line| line.chars().count() <= COLUMNS), "{folded}");
        }
    }

    #[test]
    fn words_of_a_wide_table_are_wrapped_below_short_names_too() {
        let columns = [("flow", Align::Left), ("p50", Align::Right), ("verdict", Align::Left)];
        let mut table = Table::new(columns);
        table.row(["a".to_owned(), "5 ms".to_owned(), "word ".repeat(16).trim_end().to_owned()]);
        assert!(table.to_string().lines().all(|line| line.len() <= COLUMNS), "{table}");
    }
}
