//! `--each-message` of `predict` and `measure`: a table with a row for each message of each run.
//!
//! Rows are written as they come, so that memory does not grow with their number. `predict` makes its runs once more for
//! the table, one by one, and passes messages on as they are complete. `measure` passes them on after each run, so that
//! no write disturbs it.

use super::watch::export::lines;
use crate::exit::Failure;
use crate::output_file::{self, Created, Inputs, Pending, Placing};
use anyhow::Context;
use bench::messages::Message;
#[cfg(feature = "parquet")]
use records::tables::Columnar;
#[cfg(feature = "arrow")]
use records::tables::Ipc;
use records::tables::{Cell, Comma, Kind, Layout, Sheet};
use std::fs::File;
use std::io;
#[cfg(any(feature = "arrow", feature = "parquet"))]
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use wire::time::{Instant, nanos};

/// Columns of the table. Times are counted from the start of the run.
const COLUMNS: [(&str, Kind); 10] = [
    ("point", Kind::Count),
    ("repetition", Kind::Count),
    ("flow", Kind::Text),
    ("sequence", Kind::Count),
    ("due", Kind::Span),
    ("sent", Kind::Span),
    ("delay", Kind::Span),
    ("response", Kind::Span),
    ("octets", Kind::Count),
    ("outcome", Kind::Text),
];

/// Refuses a table of a form that cannot be written, and one in place of an input or of another output.
///
/// # Errors
/// A usage error that names the option.
pub(super) fn check<'a>(
    path: &'a Path,
    inputs: &Inputs,
    others: impl IntoIterator<Item = (&'static str, Option<&'a Path>)>,
) -> Result<(), Failure> {
    form(path)?;
    inputs.refuse("--each-message", path)?;
    output_file::refuse_same(others.into_iter().chain([("--each-message", Some(path))]))
}

/// Table of messages that is being written.
pub(super) struct Table {
    path: PathBuf,
    sheet: Box<dyn Sheet>,
    written: io::Result<()>,
    has_rows: bool,
    // Dropped after the sheet, which writes its rest.
    pending: Pending,
}

impl Table {
    /// Creates the file, and writes the names of the columns.
    ///
    /// # Errors
    /// A name of another form, a build without that form, or a file that cannot be created.
    pub(super) fn create(path: &Path) -> anyhow::Result<Self> {
        let begin = form(path)?;
        let Created { file, pending } =
            output_file::create(path, Placing::AtTheEnd).with_context(|| cannot(path))?;
        let mut sheet = begin(file);
        let written = sheet.open(&Layout::new("messages", &COLUMNS), Instant::ZERO);
        Ok(Self { path: path.to_owned(), sheet, written, has_rows: false, pending })
    }

    /// Returns a sink that writes the messages of a run. After an error it writes nothing more.
    pub(super) fn rows(&mut self, point: usize, repetition: u64) -> impl FnMut(&Message<'_>) {
        let Self { sheet, written, has_rows, .. } = self;
        move |message| {
            *has_rows = true;
            if written.is_ok() {
                *written = sheet.row(&row(point, repetition, message));
            }
        }
    }

    /// Returns the error of the rows so far.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        std::mem::replace(&mut self.written, Ok(())).with_context(|| cannot(&self.path))
    }

    /// Ends the table of a command that failed. Without a row it is discarded, so that an older file of its name stays.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn abandon(self) -> anyhow::Result<()> {
        if self.has_rows {
            return self.close();
        }
        self.pending.discard();
        Ok(())
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn close(mut self) -> anyhow::Result<()> {
        self.check()?;
        self.sheet.close(Instant::ZERO).with_context(|| cannot(&self.path))
    }
}

fn cannot(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// Begin of a table in a file.
type Begin = fn(File) -> Box<dyn Sheet>;

/// Writer of the form that the name of a file has.
fn form(path: &Path) -> Result<Begin, Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "csv" => Ok(|file| Box::new(Comma::new(lines(file)))),
        "arrow" => arrow(),
        "parquet" => columnar(),
        _ => Err(Failure::usage(format!("--each-message {}: no form of table", path.display()))
            .with_fix("a name that ends in .csv, .arrow or .parquet")),
    }
}

#[cfg(feature = "arrow")]
fn arrow() -> Result<Begin, Failure> {
    Ok(|file| Box::new(Ipc::new(BufWriter::new(file))))
}

#[cfg(not(feature = "arrow"))]
fn arrow() -> Result<Begin, Failure> {
    let fix = "build tidewire with its feature `arrow`, or name a file that ends in .csv";
    Err(Failure::usage("--each-message: this tidewire writes no Arrow").with_fix(fix))
}

#[cfg(feature = "parquet")]
fn columnar() -> Result<Begin, Failure> {
    Ok(|file| Box::new(Columnar::new(BufWriter::new(file))))
}

#[cfg(not(feature = "parquet"))]
fn columnar() -> Result<Begin, Failure> {
    let fix = "build tidewire with its feature `parquet`, or name a file that ends in .csv";
    Err(Failure::usage("--each-message: this tidewire writes no Parquet").with_fix(fix))
}

fn row(point: usize, repetition: u64, message: &Message<'_>) -> Vec<Cell> {
    let Message { flow, sequence, due, sent, delay, response, octets, outcome } = message;
    let span = |span: &Option<core::time::Duration>| Cell::of(span.map(nanos), Cell::Nanos);
    vec![
        Cell::Count(point as u64),
        Cell::Count(repetition),
        Cell::Text((*flow).to_owned()),
        Cell::Count(u64::from(*sequence)),
        Cell::Nanos(due.as_nanos()),
        Cell::of(sent.map(Instant::as_nanos), Cell::Nanos),
        span(delay),
        span(response),
        Cell::of(octets.map(|octets| octets as u64), Cell::Count),
        Cell::Text(outcome.word().to_owned()),
    ]
}
