//! Tables as logs in Zeek's ASCII form: tab-separated fields under a header with names and types,
//! readable by `zeek-cut` and similar tools.
//!
//! Times are seconds since 1970 with nine decimals (Zeek writes six). The first time of a row is
//! called `ts`, and the ends of a connection have Zeek's names. All addresses have the type
//! `string`, because some are not IP addresses.

use super::table::{Cell, Column, Kind, Layout, Sheet};
use crate::calendar;
use std::io::{self, Write};
use wire::printable::is_printable;
use wire::time::Instant;

const UNSET: &str = "-";
const EMPTY: &str = "(empty)";
/// Zeek's names of some columns.
const NAMES: [(&str, &str); 5] = [
    ("start", "ts"),
    ("orig_host", "id.orig_h"),
    ("orig_port", "id.orig_p"),
    ("resp_host", "id.resp_h"),
    ("resp_port", "id.resp_p"),
];

/// A Zeek log.
pub struct Log<W: Write>(W);

impl<W: Write> Log<W> {
    /// Creates a log that is written to `out`.
    pub const fn new(out: W) -> Self {
        Self(out)
    }
}

fn name(column: &Column) -> &str {
    let known = NAMES.iter().find(|(ours, _)| *ours == column.name);
    known.map_or(&column.name, |(_, theirs)| theirs)
}

const fn kind(column: &Column) -> &'static str {
    match column.kind {
        Kind::Time => "time",
        Kind::Span => "interval",
        Kind::Count => "count",
        Kind::Real => "double",
        Kind::Text => "string",
        Kind::Port => "port",
    }
}

/// Formats a time as whole seconds and nine decimals.
fn seconds(nanos: u64) -> String {
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

/// Formats the time at which a log was opened as Zeek does, here in UTC: `2019-09-18-00-00-05`.
fn date(at: Instant) -> String {
    let seconds = core::time::Duration::from_secs(at.as_nanos() / 1_000_000_000);
    calendar::folder_name(seconds).replace('T', "-")
}

/// Escapes a text so that it ends neither its field nor its line, and is not read as a missing
/// value.
fn escaped(text: &str) -> String {
    match text {
        "" => EMPTY.to_owned(),
        UNSET => "\\x2d".to_owned(),
        EMPTY => "\\x28empty)".to_owned(),
        _ => text.chars().fold(String::new(), |mut line, character| {
            match character {
                '\\' => line.push_str("\\\\"),
                obeyed if !is_printable(obeyed) => {
                    let mut room = [0; 4];
                    for octet in obeyed.encode_utf8(&mut room).bytes() {
                        line += &format!("\\x{octet:02x}");
                    }
                }
                other => line.push(other),
            }
            line
        }),
    }
}

fn field(cell: &Cell) -> String {
    match cell {
        Cell::Unset => UNSET.to_owned(),
        Cell::Time(at) => seconds(at.as_nanos()),
        Cell::Nanos(nanos) => seconds(*nanos),
        Cell::Count(count) => count.to_string(),
        Cell::Real(value) => value.to_string(),
        Cell::Text(text) => escaped(text),
    }
}

impl<W: Write> Sheet for Log<W> {
    fn open(&mut self, layout: &Layout, began: Instant) -> io::Result<()> {
        let joined =
            |of: fn(&Column) -> &str| layout.columns.iter().map(of).collect::<Vec<_>>().join("\t");
        writeln!(self.0, "#separator \\x09")?;
        writeln!(self.0, "#set_separator\t,")?;
        writeln!(self.0, "#empty_field\t{EMPTY}")?;
        writeln!(self.0, "#unset_field\t{UNSET}")?;
        writeln!(self.0, "#path\ttidewire_{}", layout.name)?;
        writeln!(self.0, "#open\t{}", date(began))?;
        writeln!(self.0, "#fields\t{}", joined(name))?;
        writeln!(self.0, "#types\t{}", joined(|column| kind(column)))
    }

    fn row(&mut self, row: &[Cell]) -> io::Result<()> {
        let fields: Vec<String> = row.iter().map(field).collect();
        writeln!(self.0, "{}", fields.join("\t"))
    }

    fn close(&mut self, ended: Instant) -> io::Result<()> {
        writeln!(self.0, "#close\t{}", date(ended))?;
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_the_heading_and_the_end_that_zeek_writes() {
        let columns = [
            ("start", Kind::Time),
            ("orig_host", Kind::Text),
            ("orig_port", Kind::Port),
            ("duration", Kind::Span),
            ("tpdus", Kind::Count),
            ("U_C", Kind::Real),
        ];
        let mut file = Vec::new();
        let mut log = Log::new(&mut file);
        // 5,277 days and 76,560 seconds after the epoch: 13 June 1984, 21:16.
        let began = (5_277 * 86_400 + 76_560) * 1_000_000_000;
        log.open(&Layout::new("connections", &columns), Instant::from_nanos(began)).unwrap();
        log.row(&[
            Cell::Time(Instant::from_nanos(began + 1_500)),
            Cell::Text("02:00:00:00:00:01".into()),
            Cell::Unset,
            Cell::Nanos(2_000_000_001),
            Cell::Count(3),
            Cell::Real(0.5),
        ])
        .unwrap();
        log.close(Instant::from_nanos(began + 60_000_000_000)).unwrap();
        let expected = "#separator \\x09\n\
            #set_separator\t,\n\
            #empty_field\t(empty)\n\
            #unset_field\t-\n\
            #path\ttidewire_connections\n\
            #open\t1984-06-13-21-16-00\n\
            #fields\tts\tid.orig_h\tid.orig_p\tduration\ttpdus\tU_C\n\
            #types\ttime\tstring\tport\tinterval\tcount\tdouble\n\
            456009360.000001500\t02:00:00:00:00:01\t-\t2.000000001\t3\t0.5\n\
            #close\t1984-06-13-21-17-00\n";
        assert_eq!(String::from_utf8(file).unwrap(), expected);
    }

    #[test]
    fn no_text_ends_its_field_or_looks_like_none() {
        let check = |text: &str, expected: &str| assert_eq!(escaped(text), expected);
        check("a\tb\nc\\d", "a\\x09b\\x0ac\\\\d");
        check("\u{1b}\u{202e}", "\\x1b\\xe2\\x80\\xae");
        check("-", "\\x2d");
        check("", "(empty)");
        check("(empty)", "\\x28empty)");
        check("é-", "é-");
    }
}
