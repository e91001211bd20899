//! Items as records, which are printed to standard output and, if they are of the whole, judged.

use crate::output::{self, Output};
use crate::stream::lines::{self, Lines};
use records::findings::Findings;
use records::{Interval, Item, Record, Subset};
use std::io;

/// Octets that are written together, while more are due at the same time.
const TOGETHER_OCTETS: usize = 1 << 16;

/// Measures and distributions that records have.
#[derive(Clone)]
pub(super) struct Content {
    pub(super) only: Subset,
    /// True if records have the distributions of delays.
    pub(super) histograms: bool,
}

impl Content {
    /// Converts an item to a record.
    pub(super) fn record(&self, item: &Item) -> Record {
        let record = Record::of(item, &self.only);
        if self.histograms { record.with_histograms(item, &self.only) } else { record }
    }

    /// Converts an item to a record of what lines and findings need.
    pub(super) fn brief(&self, item: &Item) -> Record {
        match item {
            Item::Interval(interval) => {
                Record::Interval(Interval::brief(interval, &self.only, &lines::COUNTS))
            }
            Item::Connection(known) => {
                Record::Connection(Box::new(lines::BRIEF.record(known, &self.only)))
            }
            item => self.record(item),
        }
    }

    /// Adds a record to those of the whole that are judged: all measures, whichever of them are
    /// reported.
    pub(super) fn judge(&self, findings: &mut Findings, item: &Item, record: Record) {
        let is_whole = self.only.patterns().is_none();
        findings.take(if is_whole { record } else { Record::of(item, &Subset::default()) });
    }
}

/// Printer of records as NDJSON or as lines of text.
pub(super) struct Printer {
    output: Output,
    lines: Lines,
    /// Lines that are not written yet.
    pending: Vec<u8>,
}

impl Printer {
    /// Creates a printer that has received no record.
    pub(super) const fn new(output: Output, lines: Lines) -> Self {
        Self { output, lines, pending: Vec::new() }
    }

    /// Prints a record, at the latest when flushed.
    ///
    /// # Errors
    /// Errors of standard output.
    pub(super) fn print(&mut self, record: &Record) -> io::Result<()> {
        if self.output.json {
            record.write_line(&mut self.pending)?;
        } else {
            self.lines
                .told(record)
                .into_iter()
                .for_each(|line| output::push_text(&mut self.pending, line));
        }
        if self.pending.len() < TOGETHER_OCTETS { Ok(()) } else { self.flush() }
    }

    /// Writes the lines that are not written yet.
    ///
    /// # Errors
    /// Errors of standard output.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.output.lines(&mut self.pending)
    }
}
