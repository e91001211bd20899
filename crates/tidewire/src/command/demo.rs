//! `tidewire demo`: everything once, in this process, offline and without any privilege.

use super::report::html_of;
use crate::args::top::TopOptions;
use crate::args::{Demo, RunOptions};
use crate::exit::{Exit, Failure};
use crate::oldest_runs::Keep;
use crate::output::{self, Output};
use crate::output_file::{self, Inputs};
use crate::quantity;
use crate::runs::{LEVEL, keep};
use crate::scenario_choice::{self, Chosen, Purpose};
use crate::{host, interrupt, port_options};
use bench::analysis::{FlowReport, Report, analyse};
use bench::compare::{Verdict, compare};
use bench::paragraph::wrapped;
use bench::run::{Plan, run_all};
use bench::sample::Sample;
use bench::session::local;
use core::ops::ControlFlow;
use core::time::Duration;
use meter::registry::{Measure, of_network};
use meter::{Meter, Settings};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use wire::capture::Capture;

/// Five seconds of a cell with a lossy path, made as `captures/README.md` describes.
pub(super) const CELL: &[u8] = include_bytes!("../../../../captures/cell.pcapng");
/// Scenario that is both predicted and measured.
const BOTH: &str = "status-short";
/// Scenario that is only predicted.
const PREDICTED: &str = "status-csma";

/// Result of a step: the action, the finding, and success.
struct Step {
    about: String,
    found: String,
    passed: bool,
}

pub(crate) fn run(demo: &Demo, output: &Output) -> anyhow::Result<Exit> {
    let stop = output::install_interrupts()?;
    output.line(
        "tidewire demo: everything runs inside this process; nothing leaves this machine\n",
    )?;
    let options = options(demo, None);
    let folder = Keep { root: demo.output.clone(), limits: demo.keep.limits()? };
    let quiet = Output { json: false, quiet: true };
    let both = scenario_choice::choose(BOTH, &Purpose::Measure, &options, &quiet)?;
    let mut steps = Vec::new();
    let (measured, step) = measure(&both, stop)?;
    tell(&mut steps, "measure", step, output)?;
    tell(&mut steps, "watch", watch()?, output)?;
    let short = scenario_choice::choose(
        PREDICTED,
        &Purpose::Simulate,
        &self::options(demo, Some(4)),
        &quiet,
    )?;
    for step in predict(&short, stop)? {
        tell(&mut steps, "predict", step, output)?;
    }
    let (predicted, step) = hold(&both, &measured, stop)?;
    tell(&mut steps, "compare", step, output)?;
    if !demo.no_save {
        let mut folders = Vec::new();
        for (name, samples) in [("predicted", predicted), ("measured", measured)] {
            let chosen = Chosen {
                name: format!("demo-{name}"),
                study: both.study.clone(),
                inputs: Inputs::default(),
                set: BTreeMap::new(),
            };
            let error = interrupt::requested().then(|| "interrupted".to_owned());
            let folder = keep(&chosen, &options, &samples, error)?.unwrap_or_default();
            let found = folder.display().to_string();
            let about = format!("the {name} runs, with their scenario, are in");
            tell(&mut steps, "keep", Step { about, found, passed: true }, output)?;
            folders.push(folder);
        }
        tell(&mut steps, "report", report(&folders)?, output)?;
        let made: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        folder.apply(&made, output)?;
    }
    verdict(&steps, output)
}

/// Equivalent options of `predict` and `measure`.
fn options(demo: &Demo, runs: Option<u64>) -> RunOptions {
    RunOptions {
        seed: None,
        runs,
        output: demo.output.clone(),
        no_save: demo.no_save,
        keep: demo.keep.clone(),
        top: TopOptions::default(),
        print_scenario: false,
        dry_run: false,
    }
}

fn tell(steps: &mut Vec<bool>, what: &str, step: Step, output: &Output) -> anyhow::Result<()> {
    let Step { about, found, passed } = step;
    output.record(&json!({
        "type": "step", "step": what, "about": about, "found": found, "passed": passed,
    }))?;
    output.line(format_args!("{what:8} {}{about}", if passed { "" } else { "FAILED: " }))?;
    // The folder of a run is copied as one line; anything else is words.
    let is_path = ["keep", "report"].contains(&what);
    let indent = " ".repeat(9);
    output.line(if is_path { indent + &found } else { wrapped(&indent, &found) })?;
    steps.push(passed);
    Ok(())
}

/// The scenario on the in-process LAN, live.
fn measure(chosen: &Chosen, stop: &AtomicBool) -> anyhow::Result<(Vec<Sample>, Step)> {
    let point = &chosen.study.points[0];
    let hash = chosen.hash();
    let mut samples = Vec::new();
    for replication in 0..point.scenario.replications {
        samples
            .push(local::measure(point, &hash, replication, stop).map_err(port_options::explain)?);
    }
    let report = analyse(&samples, LEVEL);
    let flow = flow(&report, "status");
    let passed = flow.lost.events == 0 && flow.damaged == 0 && flow.delivered > 0;
    let about = "class 4 over an in-process LAN, live: a status report every 20 ms".to_owned();
    let (sent, lost) = (flow.sent, flow.lost.events);
    let found = format!("{sent} messages, {lost} lost, delay {}", spread(flow));
    Ok((samples, Step { about, found, passed }))
}

/// The embedded capture through the meter.
fn watch() -> anyhow::Result<Step> {
    let mut capture = Capture::open(Cursor::new(CELL))?;
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    let mut frames = 0_u64;
    while let Some(record) = capture.next()? {
        frames += 1;
        meter.observe(record.at, record.link, record.octets, record.original_octets);
    }
    let total = meter.finish();
    let values = of_network(&total.measures);
    let count = |wanted| {
        values.iter().find(|(measure, _)| *measure == wanted).map_or(0, |(_, value)| *value)
    };
    let metric = |symbol| {
        let metrics = total.metrics.iter();
        metrics.filter(|metric| metric.definition.symbol == symbol).find_map(|metric| metric.value)
    };
    let found = format!(
        "{} connections, {} DTs of which {} were retransmitted, E_T = {}",
        count(Measure::TransportConnections),
        count(Measure::DtTpdus),
        count(Measure::DtRetransmissions),
        metric("E_T").map_or_else(|| "n/a".to_owned(), |value| quantity::significant(value, 3)),
    );
    let passed = count(Measure::TransportConnections) > 0 && count(Measure::Tpdus) > 0;
    let about = format!("an embedded capture of a cell with a bad path: {frames} frames");
    Ok(Step { about, found, passed })
}

/// A status report on CSMA/CD under some background loads; stations are ideal.
fn predict(chosen: &Chosen, stop: &AtomicBool) -> anyhow::Result<Vec<Step>> {
    let report = analyse(&simulate(chosen, stop)?, LEVEL);
    let steps = report.points.iter().map(|point| {
        let flow = &point.flows[0];
        let load = point.settings.values().next().map_or("", String::as_str);
        let about = format!("a status report every 20 ms, CSMA/CD, ideal stations, load {load}");
        let passed = point.incomplete + point.left_out == 0 && flow.delivered > 0;
        Step { about, found: format!("delay {}", spread(flow)), passed }
    });
    Ok(steps.collect())
}

fn simulate(chosen: &Chosen, stop: &AtomicBool) -> anyhow::Result<Vec<Sample>> {
    let mut samples = Vec::new();
    let plan = Plan { replications: None, jobs: host::cores() };
    run_all(&chosen.study, plan, stop, |sample| {
        samples.push(sample);
        ControlFlow::Continue(())
    })?;
    Ok(samples)
}

/// The same scenario predicted, held against what was measured.
fn hold(
    chosen: &Chosen,
    measured: &[Sample],
    stop: &AtomicBool,
) -> anyhow::Result<(Vec<Sample>, Step)> {
    let predicted = simulate(chosen, stop)?;
    let comparison = compare(&analyse(&predicted, LEVEL), &analyse(measured, LEVEL), LEVEL);
    let differences = comparison.points.iter().flat_map(|point| &point.differences);
    let found = differences
        .into_iter()
        .find(|found| found.flow == "status" && found.quantity == "delay.mean");
    let Some(found) = found else {
        let (about, found) = ("one scenario".to_owned(), "nothing to compare".to_owned());
        return Ok((predicted, Step { about, found, passed: false }));
    };
    let value = |value| quantity::value(found.unit, value);
    let about = format!(
        "status delay: {} predicted at 10 Mbit/s, {} measured here",
        value(found.first),
        value(found.second),
    );
    let interval = match found.interval {
        Some((low, high)) => {
            format!("difference {} to {} ({})", value(low), value(high), quantity::level(LEVEL))
        }
        None => "no interval: too few runs".to_owned(),
    };
    let is_alike = found.verdict == Verdict::NoDifferenceShown;
    let found = if is_alike { format!("{interval}: no difference shown") } else { interval };
    Ok((predicted, Step { about, found, passed: true }))
}

/// A page of the last of these runs, compared with the one before it, in the folder of the last.
fn report(folders: &[PathBuf]) -> anyhow::Result<Step> {
    let page = html_of(folders)?;
    let path = folders.last().map(|folder| folder.join("report.html")).unwrap_or_default();
    output_file::write(&path, page.as_bytes())
        .map_err(|error| Failure::cannot_write(&path, &error))?;
    let about = "a page for browsers has the measurement next to the prediction".to_owned();
    Ok(Step { about, found: path.display().to_string(), passed: true })
}

fn flow<'a>(report: &'a Report, name: &str) -> &'a FlowReport {
    let mut flows = report.points.iter().flat_map(|point| &point.flows);
    flows.find(|flow| flow.name == name).expect("the built-in scenario has this flow")
}

/// Mean with its interval, and the longest.
fn spread(flow: &FlowReport) -> String {
    let mean = flow.quantity("delay.mean");
    let longest = flow.quantity("delay.max").and_then(|found| found.values.max());
    let (Some(mean), Some(longest)) = (mean, longest) else { return "n/a".to_owned() };
    let (n, longest) = (mean.n, quantity::span(longest as u64));
    // Copies of one run count as one.
    let sureness = match mean.half_width {
        Some(_) => format!("{}, n = {n}", quantity::level(LEVEL)),
        None => "one run: no interval".to_owned(),
    };
    let told = format!("{} ({sureness}), max {longest}", quantity::mean(mean));
    told.replace(") (", ", ")
}

fn verdict(steps: &[bool], output: &Output) -> anyhow::Result<Exit> {
    let passed = steps.iter().filter(|passed| **passed).count();
    let all = passed == steps.len() && !interrupt::requested();
    let word = if all { "PASS" } else { "FAIL" };
    output.line(format_args!("\nverdict  {word} ({passed} of {} steps)\n", steps.len()))?;
    output.line("next:")?;
    for (command, what) in [
        ("tidewire scenarios list", "built-in scenarios, to be copied and edited"),
        ("tidewire predict status-csma", "the delays above, in full"),
        ("tidewire measure status-short", "the live run above, in full"),
        ("tidewire doctor", "what this machine can do"),
    ] {
        output.line(format_args!("  {command:32} {what}"))?;
    }
    let complete = !interrupt::requested();
    output.record(&json!({ "type": "end", "complete": complete, "verdict": word }))?;
    Ok(match (complete, all) {
        (false, _) => Exit::Interrupted,
        (true, true) => Exit::Ok,
        (true, false) => Exit::Failed,
    })
}
