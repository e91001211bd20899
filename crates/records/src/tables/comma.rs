//! Tables as CSV (RFC 4180): a header line, then a line for each row. Times and durations are whole
//! nanoseconds and the header says so; a missing value is empty.

use super::table::{Cell, Kind, Layout, Sheet};
use meter::registry::NANOSECONDS;
use std::io::{self, Write};
use wire::printable::Printable;
use wire::time::Instant;

/// A file of comma-separated values.
pub struct Comma<W: Write>(csv::Writer<W>);

impl<W: Write> Comma<W> {
    /// Creates a table that is written to `out`.
    pub fn new(out: W) -> Self {
        Self(csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out))
    }
}

impl<W: Write> Sheet for Comma<W> {
    fn open(&mut self, layout: &Layout, _: Instant) -> io::Result<()> {
        let heading = layout.columns.iter().map(|column| match column.kind {
            Kind::Time | Kind::Span => format!("{}{NANOSECONDS}", column.name),
            Kind::Count | Kind::Real | Kind::Text | Kind::Port => column.name.to_string(),
        });
        Ok(self.0.write_record(heading)?)
    }

    fn row(&mut self, row: &[Cell]) -> io::Result<()> {
        let fields = row.iter().map(|cell| match cell {
            Cell::Unset => String::new(),
            Cell::Time(at) => at.as_nanos().to_string(),
            Cell::Nanos(count) | Cell::Count(count) => count.to_string(),
            Cell::Real(value) => value.to_string(),
            Cell::Text(text) => Printable(text).to_string(),
        });
        Ok(self.0.write_record(fields)?)
    }

    fn close(&mut self, _: Instant) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_are_quoted_and_missing_values_are_empty() {
        let layout =
            Layout::new("t", &[("at", Kind::Time), ("who", Kind::Text), ("x", Kind::Real)]);
        let mut file = Vec::new();
        let mut sheet = Comma::new(&mut file);
        sheet.open(&layout, Instant::ZERO).unwrap();
        sheet
            .row(&[Cell::Time(Instant::from_nanos(7)), Cell::Text("a,\"b".into()), Cell::Unset])
            .unwrap();
        let obeyed = "c\u{1b}]0;\u{202e}".to_owned();
        sheet.row(&[Cell::Unset, Cell::Text(obeyed), Cell::Real(0.25)]).unwrap();
        sheet.close(Instant::ZERO).unwrap();
        drop(sheet);
        let text = String::from_utf8(file).unwrap();
        assert_eq!(text, "at_ns,who,x\r\n7,\"a,\"\"b\",\r\n,c\\u{1b}]0;\\u{202e},0.25\r\n");
    }
}
