//! `tidewire watch`: the meter, or the monitor, on a capture file or on a live port. Nothing is ever
//! sent.

mod annotate;
mod events;
mod export;
pub(super) mod file;
mod frames;
mod live_port;
mod measures;
mod monitor;
mod remarks;
pub(crate) mod require;
mod transit;

use super::measuring::{Beside, Measuring, Teller, conclude};
use crate::args::{Screen, Watch};
use crate::exit::{Exit, Failure};
use crate::metrics::Exporter;
use crate::output::Output;
use crate::{interrupt, quantity};
use bench::scenario::Span;
use meter::Settings;

pub(super) use export::Export;
pub(super) use frames::Frames;
pub(super) use require::Requirements;

pub(super) use file::{name as name_of, open};

pub(crate) fn run(watch: &Watch, output: &Output) -> anyhow::Result<Exit> {
    let listen = match (&watch.read, watch.time.as_deref()) {
        (Some(_), Some(_)) => {
            return Err(Failure::usage("--time goes with --interface: a file has its own").into());
        }
        (_, time) => time.map(|text| quantity::option::<Span>("--time", text)).transpose()?,
    };
    if let (Some(near), Some(far)) = (&watch.read, &watch.far) {
        return transit::run(near, far, output);
    }
    if watch.monitor.screen == Some(Screen::Monitor) {
        return monitor::run(watch, listen, &watch.monitor, output);
    }
    if watch.monitor.screen == Some(Screen::Measures) && !watch.monitor.plain && !output.json {
        return measures::run(watch, listen);
    }
    let mut measuring = Measuring::of(&watch.measuring)?;
    interrupt::install()?;
    let beside = Beside {
        exporter: exporter(watch, &measuring.settings, output)?,
        export: Export::new(&watch.export, &measuring.settings)?,
        requirements: Requirements::new(&watch.export.require),
    };
    if !output.json {
        // Lines do not tell who took part interval by interval.
        measuring.details.top = 0;
    }
    let head = measuring.head(source(watch));
    let mut teller = Teller::begin(output, head, measuring.only.clone(), beside)?;
    let mut recorder = measuring.recorder();
    let mut frames = Frames::new(watch)?;
    let heard = match (&watch.read, &watch.interface) {
        (Some(path), _) => file::meter(path, &mut recorder, (&mut frames, &mut teller), output)?,
        (None, Some(name)) => {
            live_port::meter(name, listen, &mut recorder, (&mut frames, &mut teller), output)?
        }
        (None, None) => return Err(Failure::usage("--read or --interface is needed").into()),
    };
    frames.finish()?;
    conclude(heard, &mut recorder, &mut teller)
}

/// What is heard or read.
fn source(watch: &Watch) -> String {
    match (&watch.read, &watch.interface) {
        (Some(path), _) => name_of(path),
        (None, interface) => interface.clone().unwrap_or_default(),
    }
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
