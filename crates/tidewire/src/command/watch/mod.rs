//! `tidewire watch`: the meter, or the monitor, on a capture file or on a live port. Nothing is ever
//! sent.

mod annotate;
mod detail;
mod events;
mod export;
mod file;
mod frames;
mod live_port;
mod monitor;
mod remarks;
pub(crate) mod require;
mod tell;
mod transit;

use crate::args::Watch;
use crate::calendar;
use crate::exit::{Exit, Failure};
use crate::metrics::Exporter;
use crate::output::Output;
use crate::{interrupt, quantity};
use bench::scenario::{Rate, Span};
use bench::verdict::Verdict;
use export::Export;
use frames::Frames;
use meter::{Meter, Settings};
use require::Requirements;
use tell::{Ended, Teller};

pub(super) use file::{name as name_of, open};

/// How the frames came to an end.
struct Heard {
    /// How many there were.
    frames: u64,
    /// How many the kernel dropped; none of a file, which does not say.
    dropped_by_kernel: Option<u64>,
    /// What stopped them, if they were stopped.
    failure: Option<Failure>,
    /// Whether the last interval lasts only as long as frames were heard: of a live port, and of
    /// whatever was broken off.
    is_cut: bool,
}

pub(crate) fn run(watch: &Watch, output: &Output) -> anyhow::Result<Exit> {
    let settings = settings(watch)?;
    let listen = match (&watch.read, watch.time.as_deref()) {
        (Some(_), Some(_)) => {
            return Err(Failure::usage("--time goes with --interface: a file has its own").into());
        }
        (_, time) => time.map(|text| quantity::option::<Span>("--time", text)).transpose()?,
    };
    if let (Some(near), Some(far)) = (&watch.read, &watch.far) {
        return transit::run(near, far, output);
    }
    if watch.monitor.screen.is_some() {
        return monitor::run(watch, listen, &watch.monitor, output);
    }
    interrupt::install()?;
    let exporter = exporter(watch, &settings, output)?;
    let export = Export::new(&watch.export, &settings)?;
    let requirements = Requirements::new(&watch.export.require);
    let mut teller = Teller::new(output, settings.clone(), exporter, (export, requirements));
    let mut meter = Meter::new(settings);
    let mut frames = Frames::new(watch)?;
    let heard = match (&watch.read, &watch.interface) {
        (Some(path), _) => file::meter(path, &mut meter, (&mut frames, &mut teller), output)?,
        (None, Some(name)) => {
            live_port::meter(name, listen, &mut meter, (&mut frames, &mut teller), output)?
        }
        (None, None) => return Err(Failure::usage("--read or --interface is needed").into()),
    };
    frames.finish()?;
    conclude(heard, &mut meter, &mut teller)
}

/// Serves what is counted, where that is wanted.
fn exporter(
    watch: &Watch,
    settings: &Settings,
    output: &Output,
) -> Result<Option<Exporter>, Failure> {
    let Some(at) = watch.metrics else { return Ok(None) };
    if !at.ip().is_loopback() && !watch.metrics_anywhere {
        let failure = Failure::usage(format!("--metrics {at}: other hosts could read it"));
        return Err(failure.with_fix("--metrics 127.0.0.1:9464, or add --metrics-anywhere"));
    }
    let (exporter, at) = Exporter::listen(at, settings)
        .map_err(|error| Failure::failed(format!("cannot serve metrics at {at}: {error}")))?;
    output.remark(format_args!("metrics at http://{at}/metrics"));
    Ok(Some(exporter))
}

fn settings(watch: &Watch) -> Result<Settings, Failure> {
    let Span(interval) = quantity::option("--measure", &watch.measure)?;
    if interval.is_zero() {
        return Err(Failure::usage("--measure \"0\": an interval takes some time"));
    }
    let Rate(channel) = quantity::option("--channel", &watch.channel)?;
    let origin = match &watch.start {
        None => None,
        Some(text) => Some(calendar::parse(text).ok_or_else(|| {
            Failure::usage(format!("--start {text:?}: expected {}", calendar::EXPECTED))
        })?),
    };
    Ok(Settings { origin, channel, ..Settings::every(interval) })
}

/// Tells the last interval, the total and the end.
fn conclude(heard: Heard, meter: &mut Meter, teller: &mut Teller<'_>) -> anyhow::Result<Exit> {
    let interrupted = interrupt::requested();
    let Heard { frames, dropped_by_kernel, failure, is_cut } = heard;
    let cut = meter.under_way().filter(|_| is_cut);
    let mut total = meter.finish();
    match cut {
        Some(last) => {
            teller.interval(&last)?;
            tell::end_with(&mut total, &last, teller.settings().channel);
        }
        None => teller.intervals(meter)?,
    }
    teller.total(&total)?;
    teller.who(meter)?;
    teller.export.finish(&total)?;
    let is_missing = failure.is_some() || dropped_by_kernel.is_some_and(|dropped| dropped > 0);
    let verdict = teller.judge(&total, is_missing)?;
    let error = match (&failure, interrupted) {
        (Some(failure), _) => Some(failure.to_string()),
        (None, true) => Some("interrupted".to_owned()),
        (None, false) => None,
    };
    teller.end(&Ended { frames, dropped_by_kernel, oddities: &total.oddities, error })?;
    match (failure, interrupted, dropped_by_kernel) {
        (_, true, _) => Ok(Exit::Interrupted),
        (Some(failure), ..) => Err(failure.into()),
        (None, false, _) if verdict == Some(Verdict::Fail) => Ok(Exit::RequirementNotMet),
        (None, false, _) if verdict == Some(Verdict::Undecided) => Ok(Exit::Undecided),
        // What was dropped is in no measure, so none of them is valid.
        (None, false, Some(1..)) => Ok(Exit::Undecided),
        (None, false, _) => Ok(Exit::Ok),
    }
}
