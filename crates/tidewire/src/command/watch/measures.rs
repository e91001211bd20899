//! `tidewire watch --screen measures`: collection, measurement and display in one process.

use super::{Captures, Frames, captures, file, live_port, port, source};
use crate::args::Watch;
use crate::command::measuring::{self, Measuring, Teller, conclude};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::screens;
use crate::tui::{self, Look, Surroundings};
use bench::scenario::Span;
use core::time::Duration;
use std::sync::mpsc;

/// Default time between reports to a screen.
const REPORT: Duration = Duration::from_secs(1);
/// Default time between samples of sequence numbers.
const SAMPLE: Duration = Duration::from_millis(100);
/// Number of records buffered for the screen.
const AHEAD: usize = 1_024;

pub(super) fn run(watch: &Watch, listen: Option<Span>) -> anyhow::Result<Exit> {
    let options = &watch.monitor;
    let export = &watch.export;
    if export.csv.is_some()
        || export.zeek.is_some()
        || export.parquet.is_some()
        || export.annotate.is_some()
        || export.events.is_some()
        || !export.require.is_empty()
    {
        let failure = Failure::usage("--screen measures writes no files and judges nothing");
        return Err(failure.with_fix("--screen measures --plain").into());
    }
    let speed = options.speed.as_deref().map(measuring::speed).transpose()?.flatten();
    if speed.is_some() && watch.source.read.is_empty() {
        return Err(Failure::usage("--speed goes with --read: a port has its own").into());
    }
    tui::check_screen()?;
    let mut measuring = Measuring::of(&watch.measuring)?;
    if watch.measuring.report.is_none() {
        measuring.spans.report = REPORT.min(measuring.settings.interval);
    }
    measuring.spans.sample.get_or_insert(SAMPLE);
    let head = measuring.head(source(watch));
    let (to, records) = mpsc::sync_channel(AHEAD);
    let (port, filter) = (port(watch), watch.source.filter.clone());
    let Captures { paths, follow } = captures(watch);
    let paths = paths.to_vec();
    if let Some(port) = &port {
        // Errors are reported before the terminal is taken over.
        drop(live_port::open(port, Frames::wanting(filter.clone()).wanted())?);
    }
    let quiet = Output { json: false, quiet: true };
    let meter = std::thread::spawn(move || {
        let mut teller = Teller::on_screen(to, measuring.only.clone(), speed);
        let mut recorder = measuring.recorder();
        let mut frames = Frames::wanting(filter);
        let sinks = (&mut frames, &mut teller);
        let heard = match &port {
            None => {
                let captures = Captures { paths: &paths, follow };
                file::meter(captures, &mut recorder, sinks, &quiet)?
            }
            Some(port) => live_port::meter(port, listen, &mut recorder, sinks, &quiet)?,
        };
        conclude(heard, &mut recorder, &mut teller)
    });
    let look = Look::new(options.theme, options.symbols, &Surroundings::of_process());
    screens::show(head, (records, meter), &look)
}
