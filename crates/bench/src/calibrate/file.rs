//! Profile file of a calibrated machine.

use super::{Costs, HeldOut};
use serde::Serialize;
use stats::interval::Estimate;

/// Calibration to be written.
#[derive(Clone, Copy, Debug)]
pub struct Calibration<'a> {
    /// Server in words: its address, and its identity if it has one.
    pub server: &'a str,
    /// Costs.
    pub costs: &'a Costs,
    /// Steps that were held out.
    pub held_out: &'a [HeldOut],
}

/// The assumptions of the model.
const ASSUMPTIONS: [&str; 3] = [
    "the way between hosts delays each TSDU by half of a TCP handshake, and delays none behind it",
    "the server processes requests one by one",
    "what a read of one variable takes beyond identify is the cost of its value",
];

#[derive(Serialize)]
struct Machine {
    version: u32,
    title: String,
    interface: &'static str,
    assumptions: Vec<String>,
    resource: Vec<Resource>,
    task: Vec<Task>,
    input: Vec<Input>,
}

#[derive(Serialize)]
struct Resource {
    name: &'static str,
    processor: bool,
}

#[derive(Serialize)]
struct Task {
    name: &'static str,
    at: &'static str,
    kind: &'static str,
    level: &'static str,
    uses: Vec<&'static str>,
    cost: Cost,
}

#[derive(Serialize)]
struct Cost {
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'static str>,
}

#[derive(Serialize)]
struct Input {
    name: &'static str,
    value: f64,
    unit: &'static str,
    source: String,
}

/// Profile with these inputs in nanoseconds, each with its source: path, request, value.
pub(super) fn machine(title: &str, inputs: [(f64, String); 3]) -> String {
    written(&with(title.to_owned(), inputs))
}

/// Profile of a calibration, with the intervals of its costs and the errors of the steps held out.
#[must_use]
pub fn text(calibration: &Calibration<'_>) -> String {
    let Calibration { server, costs, held_out } = calibration;
    let source = |what: &str, cost: &Estimate| {
        let microseconds = cost.scaled(1e-3);
        format!("{what} of {server}: {microseconds:.1} us")
    };
    let sources = [
        source("half of TCP connect", &costs.path),
        source("identify less TCP connect", &costs.request),
        source("read of one variable less identify", &costs.value),
    ];
    let [path, request, value] = costs.inputs();
    let [of_path, of_request, of_value] = sources;
    let inputs = [(path, of_path), (request, of_request), (value, of_value)];
    let mut machine = with(format!("an MMS server, calibrated on {server}"), inputs);
    machine.assumptions.extend(held_out.iter().map(|it| {
        format!(
            "held out: {}: measured {:.1} us, predicted {:.1} us, {:+.0} %",
            it.step.name(),
            it.measured.scaled(1e-3),
            it.predicted_ns / 1e3,
            100.0 * it.error()
        )
    }));
    written(&machine)
}

fn with(title: String, inputs: [(f64, String); 3]) -> Machine {
    let task = |name, at, kind, uses: &[&'static str], cost| {
        let uses = uses.to_vec();
        Task { name, at, kind, level: "base", uses, cost }
    };
    let fixed = |input| Cost { fixed: Some(input), value: None };
    let names = ["path", "request", "value"];
    let input = |(name, (nanos, source)): (&'static str, (f64, String))| {
        // A profile has milliseconds.
        Input { name, value: nanos / 1e6, unit: "ms", source }
    };
    Machine {
        version: 1,
        title,
        interface: "unlimited",
        assumptions: ASSUMPTIONS.map(str::to_owned).to_vec(),
        resource: vec![Resource { name: "server", processor: true }],
        task: vec![
            task("way in", "session", "up", &[], fixed("path")),
            task("request", "mms", "up", &["server"], fixed("request")),
            task("value", "mms", "access", &["server"], Cost { fixed: None, value: Some("value") }),
            task("way out", "session", "down", &[], fixed("path")),
        ],
        input: names.into_iter().zip(inputs).map(input).collect(),
    }
}

fn written(machine: &Machine) -> String {
    toml::to_string(machine).expect("it holds only tables, strings and numbers")
}
