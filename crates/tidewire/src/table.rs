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

impl Align {
    /// A cell filled up with blanks to this width.
    fn padded(self, cell: &str, width: usize) -> String {
        match self {
            Self::Left => format!("{cell:<width$}"),
            Self::Right => format!("{cell:>width$}"),
        }
    }
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
struct Layout {
    /// Width of each column.
    widths: Vec<usize>,
    /// Blanks between two columns.
    gap: usize,
    is_wide: bool,
    /// True if the first cell of a row has a line of its own.
    is_folded: bool,
    /// True if cells of words take several lines within their columns.
    is_broken: bool,
}

impl Layout {
    /// Columns of the terminal that a row takes if its cells have these widths.
    fn row(&self, widths: &[usize]) -> usize {
        let first = if self.is_folded { 0 } else { widths.first().copied().unwrap_or_default() };
        let others = widths.iter().skip(1).map(|width| width + self.gap).sum::<usize>();
        GAP + first + others
    }
}

impl fmt::Display for Table {
    /// Indented by two, columns two apart, nothing behind the last word of a line. In a table wider than a
    /// terminal the first cell of a row has a line of its own, and a last column of words is wrapped. If the
    /// first cells are short, columns of numbers are one apart instead, as long as that is enough. If a row is
    /// still too wide, its words are wrapped within their columns.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = self.layout();
        for place in 0..self.rows.len() {
            if place > 0 {
                f.write_str("\n")?;
            }
            let text = if layout.is_broken && !self.remarks.contains(&place) {
                self.lines(place, &layout)
            } else {
                self.line(place, &layout)
            };
            f.write_str(&text)?;
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

    /// Layout that fits a terminal, as far as the numbers and the longest words permit.
    fn layout(&self) -> Layout {
        let (widths, is_wide) = (self.widths(), self.is_wide());
        let is_label = self.columns.len() > 2 && self.columns[0] == Align::Left;
        let is_last_wrapped = self.columns.last() == Some(&Align::Left);
        let is_close = is_wide && is_label && !is_last_wrapped && widths[0] <= SHORT;
        let width = 1 + widths.iter().map(|width| width + 1).sum::<usize>();
        let is_folded = is_wide && is_label && (widths[0] > SHORT || is_close && width > COLUMNS);
        let gap = if is_close { 1 } else { GAP };
        let layout = Layout { widths, gap, is_wide, is_folded, is_broken: false };
        let least = self.least_widths(&layout.widths);
        let mut taken = layout.widths.clone();
        if let Some((last, least)) = taken.last_mut().zip(least.last())
            && is_last_wrapped
        {
            *last = *least;
        }
        if layout.row(&taken) <= COLUMNS { layout } else { self.broken(layout, &least) }
    }

    /// Width of each column if its words are wrapped: that of the longest word, and of the longest number.
    fn least_widths(&self, widths: &[usize]) -> Vec<usize> {
        let mut least = vec![0; self.columns.len()];
        for (place, row) in self.rows.iter().enumerate() {
            let counted = row.len() - usize::from(self.remarks.contains(&place));
            for (least, cell) in least.iter_mut().zip(&row[..counted]) {
                let words = cell.split_whitespace().map(|word| word.chars().count());
                *least = words.max().unwrap_or_default().max(*least);
            }
        }
        let columns = self.columns.iter().zip(widths).zip(least);
        let wrapped = |align: &Align| *align == Align::Left;
        columns.map(|((align, width), least)| if wrapped(align) { least } else { *width }).collect()
    }

    /// Layout with narrower columns of words: the widest one gives way first, and gaps only if they have to.
    fn broken(&self, layout: Layout, least: &[usize]) -> Layout {
        let gap = if layout.row(least) > COLUMNS { 1 } else { layout.gap };
        let mut layout = Layout { gap, is_broken: true, ..layout };
        let first = usize::from(layout.is_folded);
        while layout.row(&layout.widths) > COLUMNS {
            let narrower = (first..layout.widths.len())
                .filter(|column| layout.widths[*column] > least[*column])
                .max_by_key(|column| layout.widths[*column]);
            let Some(column) = narrower else { break };
            layout.widths[column] -= 1;
        }
        layout
    }

    /// A row whose words are wrapped within their columns.
    fn lines(&self, place: usize, layout: &Layout) -> String {
        let row = &self.rows[place];
        let mut text = Vec::new();
        let cells = row.iter().zip(&layout.widths).enumerate().map(|(column, (cell, width))| {
            if layout.is_folded && column == 0 {
                if !cell.is_empty() {
                    text.push(wrapped(&" ".repeat(GAP), cell));
                }
                return Vec::new();
            }
            lines_of(cell, *width)
        });
        let cells: Vec<Vec<String>> = cells.collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        for number in 0..height {
            let mut line = " ".repeat(GAP);
            for (column, cell) in cells.iter().enumerate() {
                let part = cell.get(number).map(String::as_str).unwrap_or_default();
                let width = if layout.is_folded && column == 0 { 0 } else { layout.widths[column] };
                line.push_str(&" ".repeat(if column == 0 { 0 } else { layout.gap }));
                line.push_str(&self.columns[column].padded(part, width));
            }
            text.push(line.trim_end().to_owned());
        }
        text.join("\n")
    }

    /// A row as text; folded, below a line with its first cell unless that is empty.
    fn line(&self, place: usize, layout: &Layout) -> String {
        let Layout { ref widths, gap, is_wide, is_folded, .. } = *layout;
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
                line.push_str(&align.padded(cell, width));
            }
        }
        above + line.trim_end()
    }
}

/// Words of a cell in lines of this width; a longer word has a line of its own.
fn lines_of(cell: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    if cell.chars().count() <= width {
        return vec![cell.to_owned()];
    }
    for word in cell.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::rng::Stream;

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

    /// A cell of words up to these numbers of words and letters.
    fn words(random: &mut Stream, most_words: u64, most_letters: u64) -> String {
        let n = random.below(most_words) + 1;
        let word = |random: &mut Stream| "w".repeat(random.below(most_letters) as usize + 1);
        (0..n).map(|_| word(random)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_table_whose_words_and_numbers_fit_is_no_wider() {
        let mut random = Stream::named(88, "tables");
        for _ in 0..2_000 {
            let columns = random.below(5) as usize + 3;
            let aligned: Vec<Align> = (0..columns)
                .map(|at| if at == 0 || random.below(2) == 0 { Align::Left } else { Align::Right })
                .collect();
            let mut table = Table::of(aligned.iter().map(|align| ("heading", *align)));
            for _ in 0..3 {
                let cells = aligned.iter().map(|align| match align {
                    Align::Left => words(&mut random, 4, 9),
                    Align::Right => words(&mut random, 1, 9),
                });
                table.add(cells.collect());
            }
            // At most 7 columns of 9, and 8 gaps.
            let text = table.to_string();
            assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
            let letters = |text: &str| text.chars().filter(|c| *c == 'w').count();
            let cells = table.rows.iter().flatten().map(|cell| letters(cell)).sum::<usize>();
            assert_eq!(letters(&text), cells, "{text}");
        }
    }

    #[test]
    fn words_wrap_within_their_columns_if_the_numbers_leave_no_room() {
        let columns = ["row", "asked", "ours", "verdict"].map(|name| match name {
            "ours" => (name, Align::Right),
            _ => (name, Align::Left),
        });
        let mut table = Table::new(columns);
        let ours = "1".repeat(50);
        table.row(["006", "greatest load of the bus", &ours, "not decided"].map(str::to_owned));
        let blanks = " ".repeat(46);
        let expected = [
            format!("  row  asked       {blanks}ours  verdict"),
            format!("  006  greatest    {ours}  not"),
            format!("       load of     {blanks}      decided"),
            "       the bus".to_owned(),
        ];
        assert_eq!(table.to_string().lines().collect::<Vec<_>>(), expected);
    }
}
