//! `predict --each-message`: a table with a row for each message of each run.
//!
//! A run is a function of its scenario and seed, so making it once more makes the same messages. The runs follow
//! each other, and rows are written as messages are complete, so that memory does not grow with their number.

use super::shard;
use crate::args::Predict;
use crate::command::watch::export::lines;
use crate::exit::Failure;
use crate::output_file::{self, Created, Placing};
use crate::scenario_choice::Chosen;
use anyhow::Context;
use bench::messages::Message;
use bench::run::{self, Watch};
#[cfg(feature = "parquet")]
use records::tables::Columnar;
#[cfg(feature = "arrow")]
use records::tables::Ipc;
use records::tables::{Cell, Comma, Kind, Layout, Sheet};
use std::fs::File;
#[cfg(any(feature = "arrow", feature = "parquet"))]
use std::io::BufWriter;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::time::{Instant, nanos};

/// Columns of the table. Times are counted from the start of the run.
const COLUMNS: [(&str, Kind); 9] = [
    ("point", Kind::Count),
    ("repetition", Kind::Count),
    ("flow", Kind::Text),
    ("sequence", Kind::Count),
    ("due", Kind::Span),
    ("sent", Kind::Span),
    ("delay", Kind::Span),
    ("response", Kind::Span),
    ("outcome", Kind::Text),
];

/// Writes the table, if one is requested.
///
/// # Errors
/// A name of another form, a build without that form, a file that cannot be written, or a run that cannot be made.
pub(super) fn write(chosen: &Chosen, options: &Predict, stop: &AtomicBool) -> anyhow::Result<()> {
    let Some(path) = &options.each_message else { return Ok(()) };
    let begin = form(path)?;
    chosen.inputs.refuse("--each-message", path)?;
    let others = [&options.capture, &options.capture_senders].map(Option::as_deref);
    let all = others.into_iter().map(|path| ("--capture", path));
    output_file::refuse_same(all.chain([("--each-message", Some(path.as_path()))]))?;
    let cannot = || format!("cannot write {}", path.display());
    let Created { file, pending: _pending } =
        output_file::create(path, Placing::AtTheEnd).with_context(cannot)?;
    let mut sheet = begin(file);
    let mut written = sheet.open(&Layout::new("messages", &COLUMNS), Instant::ZERO);
    let is_interrupted = || stop.load(Ordering::Relaxed);
    for (place, repetition) in shard::all_of(&chosen.study, options) {
        let Some(point) = chosen.study.points.get(place) else { continue };
        if is_interrupted() || written.is_err() {
            break;
        }
        let mut each = |message: &Message<'_>| {
            if written.is_ok() {
                written = sheet.row(&row(place, repetition, message));
            }
        };
        let mut watch = Watch {
            tap: None,
            is_interrupted: &is_interrupted,
            messages: Some(&mut each),
            trace: None,
        };
        run::run_watched(point, "", repetition, &mut watch)
            .map_err(|error| Failure::failed(format!("a run cannot be made: {error}")))?;
    }
    written.and_then(|()| sheet.close(Instant::ZERO)).with_context(cannot)
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
    let Message { flow, sequence, due, sent, delay, response, outcome } = message;
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
        Cell::Text(outcome.word().to_owned()),
    ]
}
