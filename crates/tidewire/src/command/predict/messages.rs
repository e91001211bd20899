//! Table of `predict --each-message`.
//!
//! A run is a function of its scenario and seed, so making it once more makes the same messages.

use super::shard;
use crate::args::Predict;
use crate::command::each_message::{self, Table};
use crate::exit::Failure;
use crate::scenario_choice::Chosen;
use bench::run::{self, Watch};
use std::sync::atomic::{AtomicBool, Ordering};

/// Refuses a table that cannot be written.
///
/// # Errors
/// A usage error that names the option.
pub(super) fn check(chosen: &Chosen, options: &Predict) -> Result<(), Failure> {
    let Some(path) = &options.each_message else { return Ok(()) };
    let others = [&options.capture, &options.capture_senders].map(Option::as_deref);
    each_message::check(path, &chosen.inputs, others.map(|path| ("--capture", path)))
}

/// Writes the table, if one is requested.
///
/// # Errors
/// A file that cannot be written, or a run that cannot be made.
pub(super) fn write(chosen: &Chosen, options: &Predict, stop: &AtomicBool) -> anyhow::Result<()> {
    let Some(path) = &options.each_message else { return Ok(()) };
    let mut table = Table::create(path)?;
    let is_interrupted = || stop.load(Ordering::Relaxed);
    for (place, repetition) in shard::all_of(&chosen.study, options) {
        let Some(point) = chosen.study.points.get(place) else { continue };
        if is_interrupted() {
            break;
        }
        let mut rows = table.rows(place, repetition);
        let mut watch = Watch {
            tap: None,
            is_interrupted: &is_interrupted,
            messages: Some(&mut rows),
            trace: None,
        };
        let made = run::run_watched(point, "", repetition, &mut watch);
        drop(rows);
        made.map_err(|error| Failure::failed(format!("a run cannot be made: {error}")))?;
        table.check()?;
    }
    table.close()
}
