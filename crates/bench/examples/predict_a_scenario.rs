//! Predicts a built-in scenario, or a file, and prints the mean delay of each flow at each point.
#![expect(clippy::unwrap_used, reason = "an example may fail by panicking")]

use bench::analysis::analyse;
use bench::run::{Plan, run_all};
use bench::{scenario, scenarios};
use core::ops::ControlFlow;
use core::sync::atomic::AtomicBool;

fn main() {
    let name = std::env::args().nth(1).unwrap_or_else(|| "status-short".to_owned());
    let text = match scenarios::get(&name) {
        Some(built_in) => built_in.text.to_owned(),
        None => std::fs::read_to_string(&name).unwrap(),
    };
    let study = scenario::load(&text, &name).unwrap_or_else(|error| panic!("{error}"));
    let mut samples = Vec::new();
    run_all(&study, Plan { replications: None, jobs: 2 }, &AtomicBool::new(false), |sample| {
        samples.push(sample);
        ControlFlow::Continue(())
    })
    .unwrap();
    for point in analyse(&samples, 0.95).points {
        for flow in point.flows {
            let mean = flow.quantity("delay.mean").and_then(|found| found.estimate());
            let delay = mean.map_or("-".to_owned(), |mean| format!("{} ms", mean.scaled(1e-6)));
            println!("{:?} {}: {delay}, lost {:?}", point.settings, flow.name, flow.lost.events);
        }
    }
}
