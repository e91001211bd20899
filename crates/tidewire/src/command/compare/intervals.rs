//! A prediction against watched traffic, interval by interval.
//!
//! The meter reads both: captures, and the wires of simulated runs. Records of watch were metered before.

use super::print::{self, Sides};
use super::source::Source;
use crate::args::Compare;
use crate::command::predict;
use crate::command::watch::{name_of, open};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::{self, Output};
use crate::quantity;
use crate::runs::{self, Kept};
use crate::scenario_choice::{self, Chosen, Purpose};
use bench::PROGRAM_VERSION;
use bench::layout::{lay_out, seed_of};
use bench::run::{self, Watch};
use bench::scenario::{Point, Span};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use meter::Settings;
use records::comparison::{Comparison, Run, Stations, compare};
use records::{Details, Head, Origin, Reader, Record, Recorder, Spans, Subset};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use wire::dissect::Link;
use wire::time::Instant;

/// Streams, functions and connections that are reported in each interval.
const TOP: usize = 1_000;
/// Intervals of a capture, about.
const INTERVALS: u64 = 10;
/// Shortest interval that is chosen.
const SHORTEST_NS: u64 = 1_000_000;
const SECOND: &str = "name the prediction first, and a capture or a run folder of watch second";

/// Compares watched traffic with a prediction.
pub(super) fn run(
    [predicted, watched]: &[Source; 2],
    options: &Compare,
    output: &Output,
) -> anyhow::Result<Exit> {
    let stop = output::install_interrupts()?;
    let given = options.measure.as_deref().map(interval).transpose()?;
    let (seen, origin_ns) = match watched {
        Source::Measures(file) => {
            let seen = read(file)?;
            refuse_other(given, &seen, file)?;
            let origin_ns = seen.origin_ns();
            (seen, origin_ns)
        }
        Source::Capture(file) => capture(file, given, output)?,
        Source::Samples(path) | Source::Scenario(path) => {
            let message = format!("{} is no watched traffic", path.display());
            return Err(Failure::usage(message).with_fix(SECOND).into());
        }
    };
    let measure = Duration::from_nanos(seen.measure_ns());
    if let (Some(runs), Source::Measures(path) | Source::Capture(path)) = (options.runs, predicted)
    {
        let message = format!("--runs {runs}: {} has one run", path.display());
        return Err(Failure::usage(message)
            .with_fix("name the scenario in the first place")
            .into());
    }
    let made = match predicted {
        Source::Measures(file) => {
            let run = read(file)?;
            refuse_other(Some(measure), &run, file)?;
            vec![run]
        }
        Source::Capture(file) => vec![capture(file, Some(measure), output)?.0],
        Source::Samples(_) | Source::Scenario(_) => {
            simulated(predicted, measure, options, stop, output)?
        }
    };
    if stop.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    let comparison = compare(&made, &seen);
    let (made, measure_ns) = (made.len(), seen.measure_ns());
    let (predicted, watched) = (predicted.path(), watched.path());
    let sides = Sides { predicted, watched, measure_ns, made, origin_ns };
    if comparison.each.is_empty() {
        return Err(nothing_in_common(&comparison, &sides).into());
    }
    if seen.left_out() > 0 {
        let left_out = seen.left_out();
        output.remark(format_args!("warning: {left_out} intervals of streams are left out"));
    }
    print::comparison(&comparison, &sides, options, output)?;
    Ok(Exit::Ok)
}

fn interval(text: &str) -> Result<Duration, Failure> {
    let Span(span) = quantity::option("--measure", text)?;
    if span.is_zero() {
        let message = format!("--measure {text:?}: an interval must be longer than 0");
        return Err(Failure::usage(message));
    }
    Ok(span)
}

/// Refuses records whose intervals have another length.
fn refuse_other(wanted: Option<Duration>, run: &Run, file: &Path) -> Result<(), Failure> {
    let own = Duration::from_nanos(run.measure_ns());
    if wanted.is_none_or(|wanted| wanted == own) {
        return Ok(());
    }
    let [own, wanted] =
        [own, wanted.unwrap_or(own)].map(|it| quantity::span(wire::time::nanos(it)));
    let message = format!("{} has intervals of {own}, not of {wanted}", file.display());
    Err(Failure::usage(message).with_fix("watch both with the same --measure, or name captures"))
}

/// Records of watch or meter.
fn read(file: &Path) -> Result<Run, Failure> {
    let wrong = |error: &dyn core::fmt::Display| {
        Failure::failed(format!("cannot read {}: {error}", file.display()))
    };
    let from = interrupt::open(file).map_err(|error| wrong(&error))?;
    let (mut reader, head) =
        Reader::<BufReader<File>>::open(BufReader::new(from)).map_err(|error| wrong(&error))?;
    let mut run = Run::default();
    run.take(&Record::Stream(head));
    while let Some(record) = reader.next_record().map_err(|error| wrong(&error))? {
        run.take(&record);
    }
    Ok(run)
}

/// A recorder with intervals of this length from `origin`, or from its first frame.
fn recorder(measure: Duration, origin: Option<Instant>) -> Recorder {
    let settings = Settings { origin, ..Settings::every(measure) };
    let spans = Spans { report: measure, sample: None, intervals: None };
    Recorder::new(settings, spans, Details { top: TOP })
}

/// Intervals that a recorder measures.
struct Metered {
    recorder: Recorder,
    run: Run,
}

impl Metered {
    fn new(measure: Duration, origin: Option<Instant>, mut run: Run) -> Self {
        let recorder = recorder(measure, origin);
        let spans = Spans { report: measure, sample: None, intervals: None };
        let none = Origin { source: String::new(), files: None };
        let details = Details { top: TOP };
        let head = Head::of(none, recorder.settings(), spans, details, &Subset::default());
        run.take(&Record::Stream(head));
        Self { recorder, run }
    }

    fn observe(&mut self, at: Instant, link: Link, octets: &[u8], original_octets: usize) {
        self.recorder.observe(at, link, octets, original_octets);
        if self.recorder.has_found() {
            self.take();
        }
    }

    fn take(&mut self) {
        while let Some(item) = self.recorder.take() {
            self.run.take(&Record::of(&item, &Subset::default()));
        }
    }

    fn finish(mut self) -> Run {
        self.recorder.finish(false, None);
        self.take();
        self.run
    }
}

/// First and last time of the cyclic data, or of all frames where there are none.
fn lasted(path: &Path, output: &Output) -> Result<[Instant; 2], Failure> {
    let mut recorder = recorder(Duration::MAX / 4, None);
    let mut all: Option<[Instant; 2]> = None;
    each(path, output, |at, link, octets, original_octets| {
        recorder.observe(at, link, octets, original_octets);
        let [first, last] = all.unwrap_or([at; 2]);
        all = Some([first.min(at), last.max(at)]);
    })?;
    let Some([first, last]) = all else {
        return Err(Failure::failed(format!("{} has no frames", name_of(path))));
    };
    let begun = recorder.meter().each_stream().iter().map(|stream| stream.first).min();
    Ok([begun.unwrap_or(first), last])
}

/// Passes every frame of a capture.
fn each(
    path: &Path,
    output: &Output,
    mut pass: impl FnMut(Instant, Link, &[u8], usize),
) -> Result<(), Failure> {
    let mut capture = open(path, output)?;
    let wrong = |error| Failure::failed(format!("{}: {error}", name_of(path)));
    while !interrupt::requested()
        && let Some(frame) = capture.next().map_err(wrong)?
    {
        pass(frame.at, frame.link, frame.octets, frame.original_octets);
    }
    Ok(())
}

/// A capture in intervals, and the start of the first: that of the first stream, because a scenario of
/// watched traffic begins there.
fn capture(path: &Path, measure: Option<Duration>, output: &Output) -> Result<(Run, u64), Failure> {
    let [first, last] = lasted(path, output)?;
    let measure = measure.unwrap_or_else(|| Duration::from_nanos(tenth(last.nanos_since(first))));
    let mut metered = Metered::new(measure, Some(first), Run::default());
    each(path, output, |at, link, octets, original_octets| {
        metered.observe(at, link, octets, original_octets);
    })?;
    Ok((metered.finish(), first.as_nanos()))
}

/// About a tenth of a time: 1, 2 or 5 times a power of ten, at least a millisecond.
fn tenth(lasted_ns: u64) -> u64 {
    let least_ns = (lasted_ns / INTERVALS).max(SHORTEST_NS);
    let power = 10_u64.saturating_pow(least_ns.ilog10());
    let steps = [1, 2, 5, 10].map(|step: u64| power.saturating_mul(step));
    steps.into_iter().find(|step| *step >= least_ns).unwrap_or(least_ns)
}

/// The runs of a scenario or of a run folder, metered as they are simulated.
fn simulated(
    source: &Source,
    measure: Duration,
    options: &Compare,
    stop: &AtomicBool,
    output: &Output,
) -> anyhow::Result<Vec<Run>> {
    let chosen = chosen(source, options, output)?;
    let [point] = &chosen.study.points[..] else {
        let message = format!("{} varies a key", source.path().display());
        let fix = "make a scenario of one point, without vary";
        return Err(Failure::usage(message).with_fix(fix).into());
    };
    let mut made = Vec::new();
    for replication in 0..point.scenario.replications {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        made.push(simulate(point, replication, measure, stop)?);
    }
    Ok(made)
}

fn chosen(source: &Source, options: &Compare, output: &Output) -> anyhow::Result<Chosen> {
    let run = crate::args::RunOptions { runs: options.runs, ..Default::default() };
    match source {
        Source::Samples(path) => {
            let folder = runs::latest(path, Kept::Samples, output);
            let mut chosen = predict::scenario_of_folder(&folder, output)?;
            if let Some(runs) = options.runs {
                let refused = |why| Failure::usage(format!("--runs {runs}: {why}"));
                chosen.study.set_runs(runs).map_err(refused)?;
            }
            Ok(chosen)
        }
        _ => {
            let path = source.path().to_string_lossy();
            scenario_choice::choose(&path, &Purpose::Simulate, &run, output)
        }
    }
}

/// One run of a scenario, metered.
fn simulate(
    point: &Point,
    replication: u64,
    measure: Duration,
    stop: &AtomicBool,
) -> anyhow::Result<Run> {
    let layout = lay_out(&point.scenario, seed_of(&point.scenario, replication));
    let places = layout.places.iter();
    let stations: Stations =
        places.map(|place| (place.host.address.to_string(), place.name.clone())).collect();
    let run = Run::of_scenario(&point.scenario, stations);
    let mut metered = Metered::new(measure, None, run);
    let mut tap = run::tap(&point.scenario.medium);
    let mut watch = Watch {
        tap: Some(&mut |passage| {
            if let Some(frame) = tap.capture(passage) {
                metered.observe(frame.at, Link::Ethernet, frame.octets, frame.octets.len());
            }
        }),
        is_interrupted: &|| stop.load(Ordering::Relaxed),
        messages: None,
        trace: None,
    };
    run::run_watched(point, PROGRAM_VERSION, replication, &mut watch)
        .map_err(|error| Failure::failed(format!("run {replication} cannot be made: {error}")))?;
    Ok(metered.finish())
}

/// Failure that names some streams of each side.
fn nothing_in_common(comparison: &Comparison, sides: &Sides<'_>) -> Failure {
    let some = |all: &[records::comparison::Subject]| match all {
        [] => "no stream and no poller".to_owned(),
        all => {
            let first: Vec<String> = all.iter().take(3).map(ToString::to_string).collect();
            let more = all.len() - first.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", first.join(", "))
        }
    };
    let Comparison { only_predicted, only_watched, .. } = comparison;
    let (predicted, watched) = (sides.predicted.display(), sides.watched.display());
    let message = format!(
        "the two have no stream and no poller in common: {predicted} has {}; {watched} has {}",
        some(only_predicted),
        some(only_watched)
    );
    let fix = format!("tidewire watch -r {watched} --write-scenario FILE makes a scenario of it");
    Failure::failed(message).with_fix(fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_about_a_tenth() {
        let millis = |ms: u64| tenth(ms * 1_000_000) / 1_000_000;
        assert_eq!([0, 9, 499, 2_400, 29_600, 100_000].map(millis), [1, 1, 50, 500, 5_000, 10_000]);
    }
}
