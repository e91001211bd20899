//! `tidewire measure tr-88-04`: the experiments of that paper on a network that is there, one report.

use super::measure::peer;
use super::reproduce::figure;
use crate::args::MeasureTransfer;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::table::{Align, Table};
use crate::{interrupt, way};
use bench::reproduce::NotHere;
use bench::reproduce::found::Found;
use bench::reproduce::plot::{Curve, Plot, Point};
use bench::sample::{End, Line, Sample};
use bench::session::way::Way;
use bench::session::{initiator, local};
use bench::transfer::curves::{self, IsModel};
use bench::transfer::{Setup, Trial};
use core::time::Duration;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicBool;
use wire::addr::Mac;

/// Retransmission times, from the paper's first down to what is short on a LAN of today.
const T1S: [Duration; 8] = [
    Duration::from_millis(100),
    Duration::from_millis(50),
    Duration::from_millis(20),
    Duration::from_millis(10),
    Duration::from_millis(5),
    Duration::from_millis(2),
    Duration::from_millis(1),
    Duration::from_micros(500),
];

pub(crate) fn measure(options: &MeasureTransfer, output: &Output) -> anyhow::Result<Exit> {
    if options.port.over.is_some() {
        let fix = "leave --over out, and name a station with --to";
        return Err(Failure::usage("datagrams need a LAN, not TCP").with_fix(fix).into());
    }
    let octets = way::size("--bytes", &options.bytes)?;
    let setup = Setup::live(options.messages, octets, options.seed);
    let stop = interrupt::install()?;
    let mut against = match peer(&options.port, options.to)? {
        Some(peer) => Some((way::open(&options.port, options.seed)?, peer)),
        None => None,
    };
    let result = plots(&setup, &mut against, stop);
    if let Some((way, _)) = against {
        way.close().map_err(way::explain)?;
    }
    let plots = result?;
    if interrupt::requested() {
        return Ok(Exit::Interrupted);
    }
    tell(options, octets, &plots, output)?;
    Ok(Exit::Ok)
}

/// Answers every trial, each once.
fn plots(
    setup: &Setup,
    against: &mut Option<(Way, Mac)>,
    stop: &AtomicBool,
) -> anyhow::Result<Vec<Plot>> {
    let mut known: BTreeMap<Trial, Found> = BTreeMap::new();
    for trial in curves::trials(&T1S) {
        if interrupt::requested() {
            return Ok(Vec::new());
        }
        let point = setup.point(&trial).map_err(failed)?;
        let sample = carry_out(&point, against, stop)?;
        known.insert(trial, setup.read(&trial, &sample).map_err(failed)?);
    }
    let unasked = || NotHere("a trial was not made".to_owned());
    let answer = |trial: &Trial| known.get(trial).copied().ok_or_else(unasked);
    curves::plots(&T1S, IsModel::No, setup.messages, answer).map_err(|error| failed(error).into())
}

fn failed(NotHere(why): NotHere) -> Failure {
    Failure::failed(why)
}

fn carry_out(
    point: &bench::scenario::Point,
    against: &mut Option<(Way, Mac)>,
    stop: &AtomicBool,
) -> anyhow::Result<Sample> {
    let Some((way, peer)) = against else {
        return local::measure(point, "", 0, stop).map_err(way::explain);
    };
    let order = initiator::Order {
        point,
        scenario_hash: "",
        replication: 0,
        peer: *peer,
        stop,
        progress: &mut |_| {},
    };
    let measured = initiator::measure(way, order).map_err(way::explain)?;
    match measured.failure {
        Some(failure) => Err(way::explain(failure)),
        None => Ok(measured.sample),
    }
}

fn tell(
    options: &MeasureTransfer,
    octets: usize,
    plots: &[Plot],
    output: &Output,
) -> io::Result<()> {
    output.line(format_args!(
        "tr-88-04 on this network: n = {} messages for each delay, which is half of a round trip\n\
         with an answer of the same size; {octets} octets but at most 500 messages for each throughput",
        options.messages
    ))?;
    for plot in plots {
        let (name, unit) = plot.vertical;
        output.line(format_args!("\nFigure {}: {}, {name} in {unit}", plot.number, plot.title))?;
        for curve in &plot.curves {
            output.line(table(plot, curve))?;
        }
        output.record(&figure(plot))?;
    }
    output.record(&Line::End(End { complete: true, error: None }))
}

/// The points of a curve, each with its 95 % interval where it has one.
fn table(plot: &Plot, curve: &Curve) -> Table {
    let right = Align::Right;
    let head = [(plot.horizontal.0, right), (curve.name.as_str(), right)];
    let [x, y] = head;
    let mut table = Table::new([x, y, ("from", right), ("to", right), ("n", right)]);
    for point in &curve.points {
        let Point { x, y, low, high, observations } = point;
        let [y, low, high] = [y, low, high].map(|number| format!("{number:.3}"));
        table.row([x.to_string(), y, low, high, observations.to_string()]);
    }
    table
}
