//! `tidewire calibrate`: the costs of an MMS server as a profile, and the errors of what they predict.

use crate::args::calibrate::Calibrate;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::{self, Output};
use crate::steps::Steps;
use crate::table::{Align, Table};
use crate::{port_options, quantity, scenario_choice};
use bench::calibrate::{self, Calibration, Costs, HeldOut, Round};
use bench::mms::Found;
use bench::scenario::Span;
use bench::session::mms::{Inquiry, Selectors, inquire};
use core::time::Duration;
use live::clock;
use serde_json::{Value, json};
use stats::interval::Estimate;
use std::fs;
use wire::time::Instant;

/// Share of the measured time beyond which the error of a prediction is marked.
const MARKED: f64 = 0.15;

/// Waiting of this process for a processor, as a share of the time.
struct Waiting {
    began: Instant,
    before: Option<Duration>,
}

impl Waiting {
    fn begin() -> Self {
        Self { began: clock::now(), before: waited() }
    }

    fn share(&self) -> Option<f64> {
        let waited = waited()?.checked_sub(self.before?)?;
        Some(waited.as_secs_f64() / clock::now().since(self.began).as_secs_f64())
    }
}

/// Time for which this thread has waited for a processor: the second number of schedstat.
fn waited() -> Option<Duration> {
    let text = fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

pub(crate) fn run(options: &Calibrate, output: &Output) -> anyhow::Result<Exit> {
    if options.write_profile.symlink_metadata().is_ok() {
        let message = format!("{} exists and is not overwritten", options.write_profile.display());
        return Err(Failure::usage(message).with_fix("name another file").into());
    }
    let inquiry = inquiry(options)?;
    let waiting = Waiting::begin();
    let rounds = measure(options, &inquiry, output)?;
    if interrupt::requested() {
        return Ok(Exit::Interrupted);
    }
    let server = format!("iso-tcp://{}", inquiry.remote);
    let failed = |error: calibrate::CalibrateError| Failure::failed(format!("{server}: {error}"));
    let costs = calibrate::fit(&rounds).map_err(failed)?;
    let held_out = calibrate::held_out(&costs, &rounds).map_err(failed)?;
    let calibration = Calibration { server: &server, costs: &costs, held_out: &held_out };
    scenario_choice::write_new(&calibrate::text(&calibration), &options.write_profile)?;
    let share = waiting.share();
    output.record(&record(&calibration, rounds.len(), share))?;
    print(&calibration, rounds.len(), share, output)?;
    if !output.quiet {
        output.line(format_args!("{} written", options.write_profile.display()))?;
    }
    Ok(Exit::Ok)
}

fn inquiry(options: &Calibrate) -> anyhow::Result<Inquiry> {
    Ok(Inquiry {
        remote: port_options::over(&options.over)?,
        calling: Selectors::usual(),
        called: Selectors::usual(),
        // TCP connects are part of the calibration.
        associations: options.messages.min(20),
        messages: options.messages,
        period: None,
        per_second: options.max_requests,
        patience: quantity::option::<Span>("--time-out", &options.time_out)?.0,
        items: options.item.clone(),
        list: None,
        file: None,
        report: None,
        reporting: Duration::ZERO,
        writable: Vec::new(),
        outstanding: options.outstanding.clone(),
    })
}

/// Measures all rounds.
fn measure(options: &Calibrate, inquiry: &Inquiry, output: &Output) -> anyhow::Result<Vec<Round>> {
    let stop = output::install_interrupts()?;
    let mut steps = Steps::new("calibrate", options.rounds, output);
    let mut rounds = Vec::new();
    for _ in 0..options.rounds {
        let found = inquire(inquiry, stop).map_err(port_options::explain)?;
        if interrupt::requested() {
            break;
        }
        match Round::of(&found) {
            Some(round) => rounds.push(round),
            None => return Err(missing(&found, inquiry).into()),
        }
        steps.step();
    }
    steps.end();
    Ok(rounds)
}

/// Reason why a round has no calibration.
fn missing(found: &Found, inquiry: &Inquiry) -> Failure {
    let remote = inquiry.remote;
    if let (0, Some(why)) = (found.opened, &found.failure) {
        return Failure::failed(format!("no association with iso-tcp://{remote} opened: {why}"));
    }
    let message = format!("iso-tcp://{remote} does not answer identify and a read of one variable");
    Failure::failed(message).with_fix("measure mms shows what it answers")
}

/// Costs with the differences that they are.
fn named(costs: &Costs) -> [(&'static str, Estimate, &'static str); 3] {
    [
        ("path", costs.path, "half of TCP connect"),
        ("request", costs.request, "identify less TCP connect"),
        ("value", costs.value, "read of 1 variable less identify"),
    ]
}

fn microseconds(estimate: Estimate) -> String {
    format!("{:.1} us", estimate.scaled(1e-3))
}

fn print(
    calibration: &Calibration<'_>,
    rounds: usize,
    waited: Option<f64>,
    output: &Output,
) -> anyhow::Result<()> {
    let Calibration { server, costs, held_out } = calibration;
    output.line(format_args!("{server}: {rounds} rounds, means of the medians of each"))?;
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new([("cost", left), ("mean", left), ("from", left)]);
    for (name, cost, from) in named(costs) {
        table.row([name.to_owned(), microseconds(cost), from.to_owned()]);
    }
    output.line(format_args!("{table}"))?;
    if costs.value.mean < 0.0 {
        output.remark(format_args!(
            "the work on a value cannot be told from zero, and is taken as 0"
        ));
    }
    if held_out.is_empty() {
        return Ok(output.line("held out: nothing, for lack of further variables")?);
    }
    let columns = [("held out", left), ("measured", left), ("predicted", right), ("error", right)];
    let mut table = Table::new(columns);
    for it in *held_out {
        let mark = if it.error().abs() > MARKED { " !" } else { "" };
        table.row([
            it.step.name(),
            microseconds(it.measured),
            format!("{:.1} us", it.predicted_ns / 1e3),
            format!("{:+.0} %{mark}", 100.0 * it.error()),
        ]);
    }
    output.line(format_args!("{table}"))?;
    if held_out.iter().any(|it| it.error().abs() > MARKED) {
        output.remark(format_args!(
            "! differs by more than {:.0} %: the assumptions in the profile do not hold for this step",
            100.0 * MARKED
        ));
    }
    if let Some(share) = waited {
        output.remark(format_args!(
            "this process waited for a processor for {:.1} % of the time",
            100.0 * share
        ));
    }
    Ok(())
}

fn of_estimate(estimate: &Estimate) -> Value {
    json!({
        "mean_ns": estimate.mean,
        "half_width_ns": estimate.half_width,
        "level": estimate.level,
        "n": estimate.n,
    })
}

fn record(calibration: &Calibration<'_>, rounds: usize, waited: Option<f64>) -> Value {
    let held_out = |it: &HeldOut| {
        json!({
            "step": it.step.name(),
            "variables": it.step.variables,
            "outstanding": it.step.outstanding,
            "measured": of_estimate(&it.measured),
            "predicted_ns": it.predicted_ns,
            "error": it.error(),
        })
    };
    let Calibration { server, costs, .. } = calibration;
    let costs: serde_json::Map<String, Value> = named(costs)
        .iter()
        .map(|(name, cost, _)| ((*name).to_owned(), of_estimate(cost)))
        .collect();
    json!({
        "type": "calibration",
        "server": server,
        "rounds": rounds,
        "costs": costs,
        "held_out": calibration.held_out.iter().map(held_out).collect::<Vec<_>>(),
        "waited_for_processor": waited,
    })
}
