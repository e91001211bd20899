//! `tidewire measure layers` and `tidewire predict layers`: what each layer of a station costs.

mod draw;
mod predicted;
mod print;
mod record;

pub(super) use predicted::predict;

use crate::args::layers::{Extent, MeasureLayers};
use crate::busy::Host;
use crate::exit::{Exit, Failure};
use crate::figure::Emit;
use crate::output::{self, Output};
use crate::quantity::agreed;
use crate::{figure, port_options};
use bench::sample::{End, Line};
use bench::session::SessionError;
use indicatif::{ProgressBar, ProgressStyle};
use papers::layers::added::added;
use papers::layers::fit::Curve;
use papers::layers::live::{self, Findings, LARGEST, LayersError, Over, Pair, Plan};
use papers::layers::{Operation, Service};
use reports::layers::{self, LayerCost};
use std::path::Path;

/// Curves, and notes on all of them.
pub(super) struct Study {
    /// Timed operations, in one line.
    pub(super) title: String,
    /// Extent of the measurement.
    pub(super) extent: String,
    /// Meaning of the lines and of their intervals.
    pub(super) lines: &'static str,
    /// Curves in the order of output.
    pub(super) curves: Vec<Curve>,
    /// Operations without a prediction, with the reason.
    pub(super) missing: Vec<Missing>,
    /// Limits of the numbers, and operations that were not measured, with the reason.
    pub(super) remarks: Vec<String>,
}

/// Operation without a result.
pub(super) struct Missing {
    /// Operation.
    pub(super) operation: Operation,
    /// Reason.
    pub(super) reason: &'static str,
}

/// Makes the experiment on this host.
pub(crate) fn measure(options: &MeasureLayers, output: &Output) -> anyhow::Result<Exit> {
    if let Some(folder) = &options.figure {
        figure::make_folder(folder)?;
    }
    let plan = plan(&options.extent, options.seed)?;
    let stop = output::install_interrupts()?;
    let mut pair = Pair::open(&over(options)?, options.max_frames).map_err(explain)?;
    announce(&pair, &plan, options.max_frames, output);
    for warning in Host::look().warnings() {
        output.warn(&warning);
    }
    let bar = if output.draws_progress() { bar(plan.rounds) } else { ProgressBar::hidden() };
    let measured = live::measure(&mut pair, &plan, stop, &mut || bar.inc(1));
    bar.finish_and_clear();
    let found = match measured {
        Ok(found) => found,
        Err(error) => {
            let reason = Some(error.to_string());
            output.record(&Line::End(End { complete: false, error: reason }))?;
            return Err(explain(error));
        }
    };
    let study = study(&pair, &plan, &found);
    output.record(&record::experiment(&study.title, &pair, &plan, &found))?;
    for curve in &study.curves {
        output.record(&record::curve(curve, source(curve)))?;
    }
    record_layers(&study, output)?;
    print::tell(&study, output)?;
    let figures = options.figure.as_deref().map(|folder| Figures { folder, emit: options.emit });
    draw_to(&study, "measure layers", figures, output)?;
    let error = (!found.complete).then(|| "interrupted".to_owned());
    output.record(&Line::End(End { complete: found.complete, error }))?;
    Ok(if found.complete { Exit::Ok } else { Exit::Interrupted })
}

/// Cost of each layer, from below.
fn costs(study: &Study) -> Vec<LayerCost> {
    added(&study.curves).iter().map(record::cost).collect()
}

/// Records of what each layer adds.
fn record_layers(study: &Study, output: &Output) -> std::io::Result<()> {
    costs(study).into_iter().try_for_each(|cost| output.record(&record::Layer { cost }))
}

/// Figures that are wanted.
#[derive(Clone, Copy, Debug)]
struct Figures<'a> {
    /// Folder for them.
    folder: &'a Path,
    /// Further form of each.
    emit: Option<Emit>,
}

/// Draws the transmit times, if requested, and the costs of the layers, and prints their paths. Their metadata name
/// the source of the study.
fn draw_to(
    study: &Study,
    source: &str,
    figures: Option<Figures<'_>>,
    output: &Output,
) -> Result<(), Failure> {
    let Some(Figures { folder, emit }) = figures else { return Ok(()) };
    let times = figure::Picture::Curves(draw::transmit(study));
    let stack = layers::stack(&costs(study), &study.title).map(figure::Picture::Stack);
    let drawn = [("transmit.svg", Some(times)), ("layers.svg", stack)];
    for (name, picture) in drawn {
        let Some(picture) = picture else { continue };
        let path = folder.join(name);
        figure::write(&picture, source, &path, emit)?;
        let table = figure::table_path(&path);
        output.remark(format_args!("{} and {} written", path.display(), table.display()));
    }
    Ok(())
}

/// Reads how much is to be measured.
fn plan(extent: &Extent, seed: u64) -> Result<Plan, Failure> {
    let sizes = sizes(&extent.sizes, LARGEST)?;
    Ok(Plan { sizes, messages: extent.messages, rounds: extent.rounds, seed })
}

/// Reads sizes, none above the largest; in rising order.
fn sizes(texts: &[String], largest: usize) -> Result<Vec<usize>, Failure> {
    let mut sizes = Vec::new();
    for text in texts {
        let octets = port_options::size("--sizes", text.trim())?;
        if !(1..=largest).contains(&octets) {
            let message = format!("--sizes {text:?}: a message has 1 to {largest} octets");
            return Err(Failure::usage(message).with_fix("tidewire help layers"));
        }
        sizes.push(octets);
    }
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() < 2 {
        let fix = format!("--sizes 64,512,{largest}");
        return Err(Failure::usage("a line needs two sizes at least").with_fix(fix));
    }
    Ok(sizes)
}

fn over(options: &MeasureLayers) -> Result<Over, Failure> {
    match (&options.interface, &options.peer_interface, options.udp, options.udp_peer) {
        (Some(here), Some(there), ..) if here == there => {
            let fix = "a second interface of this host, on the same LAN, as --peer-interface";
            Err(Failure::usage("an interface cannot be its own peer").with_fix(fix))
        }
        (Some(here), Some(there), ..) => {
            Ok(Over::Interfaces { here: here.clone(), there: there.clone() })
        }
        (_, _, Some(here), Some(there)) => Ok(Over::Udp { here, there }),
        _ => Ok(Over::InProcess),
    }
}

fn explain(error: LayersError) -> anyhow::Error {
    match error {
        LayersError::Port(error) => port_options::explain(SessionError::Port(error)),
        other => Failure::failed(other.to_string()).into(),
    }
}

/// Prints the expected load and duration on a shared wire before the begin.
fn announce(pair: &Pair, plan: &Plan, max_frames: Option<u32>, output: &Output) {
    if pair.is_within_host() {
        return;
    }
    let rate = max_frames.unwrap_or(100).max(1);
    output.remark(format_args!(
        "{}: about {} frames, {} of them at once at the most, {rate} a second on average: {} min",
        pair.name(),
        plan.frames(),
        live::BURST,
        (plan.frames() / u64::from(rate)).div_ceil(60),
    ));
}

fn bar(rounds: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} rounds, {eta} to go")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(rounds).with_style(style)
}

/// Source of the times of a curve.
const fn source(curve: &Curve) -> &'static str {
    match curve.operation {
        Operation::BufferTransmit => "arithmetic",
        _ => "measured",
    }
}

/// Results with their notes.
fn study(pair: &Pair, plan: &Plan, found: &Findings) -> Study {
    let Plan { sizes, messages, rounds, .. } = plan;
    let rounds_made = found.curves.iter().filter(|curve| source(curve) == "measured");
    let rounds_made = rounds_made.filter_map(|curve| curve.fit).map(|fit| fit.intercept.n).max();
    let made = rounds_made.map_or(0, |made| made.min(*rounds));
    let mut curves = found.curves.clone();
    in_order(&mut curves);
    let (first, last) = (sizes.first().unwrap_or(&0), sizes.last().unwrap_or(&0));
    Study {
        title: format!("layers of this host, {}", pair.name()),
        extent: format!(
            "{made} rounds of {messages} messages of each of {} sizes, {first} to {last} octets",
            sizes.len()
        ),
        lines: "lines through the medians of each round, with 95 % intervals over rounds",
        curves,
        missing: Vec::new(),
        remarks: remarks(pair, found),
    }
}

/// Sorts curves into the order of output.
fn in_order(curves: &mut [Curve]) {
    curves.sort_by_key(|curve| (place(curve.operation), place_of(curve.service)));
}

/// Order of operations in the output: from the wire upwards, transmit times first.
fn place(operation: Operation) -> usize {
    let order = [
        Operation::BufferWrite,
        Operation::BufferTransmit,
        Operation::BufferRead,
        Operation::MacTransmit,
        Operation::MacEndToEnd,
        Operation::LlcTransmit,
        Operation::LlcReceive,
        Operation::LlcEndToEnd,
        Operation::TransportEndToEnd,
        Operation::SessionEndToEnd,
        Operation::CaseEndToEnd,
        Operation::MmsEndToEnd,
    ];
    order.iter().position(|one| *one == operation).unwrap_or(order.len())
}

fn place_of(service: Service) -> usize {
    Service::ALL.iter().position(|one| *one == service).unwrap_or(Service::ALL.len())
}

/// Protocols above LLC.
const ABOVE_LLC: &str = "transport is class 4 over inactive CLNP, without checksum, each DT \
    acknowledged; the time ends with the delivery, before its AK; CASE (MAP 2.1) and MMS (an \
    information report, with the presentation layer of MAP 3.0) are both above session";

/// Limits of the numbers.
fn remarks(pair: &Pair, found: &Findings) -> Vec<String> {
    let physical = match pair.link_rate() {
        Some(rate) => format!("PHY is arithmetic: the bits of a frame at {rate}"),
        None => "PHY transmit is not told: there is no medium with a rate between the two".into(),
    };
    let mut remarks = vec![
        physical,
        "buffer write and buffer read are not told: interfaces of today do both by themselves"
            .to_owned(),
        "one thread drives both stations: no wake-up of a receiver is in any time".to_owned(),
        ABOVE_LLC.to_owned(),
    ];
    if pair.is_within_host() {
        let what = "what this host does for the receiver while the sender sends is in the \
                    sender's times";
        remarks.push(what.to_owned());
    }
    remarks.push(format!(
        "each time includes 1 to 3 readings of the clock, {} ns each",
        found.clock_reading.as_nanos()
    ));
    if found.lost > 0 {
        let of = found.frames;
        let lost = agreed(&format!("{} of {of} frames were lost", found.lost));
        remarks.push(format!("{lost}, and no time has them"));
    }
    remarks
}
