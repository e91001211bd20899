//! One file per verb.

mod advise;
mod capture;
pub(crate) mod compare;
mod demo;
mod dissect;
mod doctor;
mod dry_run;
mod each_message;
mod foreign;
mod help;
mod layers;
mod measure;
mod measuring;
mod memory;
mod merge;
mod meter;
mod mms;
mod offered;
mod pace;
mod page;
mod predict;
mod profiles;
mod relay;
mod report;
mod reporter;
mod reproduce;
mod scenarios;
mod schema;
mod screen_keys;
mod selftest;
mod serve;
mod shell;
mod show;
mod side_outputs;
pub(crate) mod watch;
mod web;

use crate::args::{Cli, MeasureExperiment, PredictExperiment, ServeService, Verb};
use crate::exit::Exit;
use crate::output::Output;

/// Does what the command line asks for.
pub(crate) fn run(cli: Cli) -> anyhow::Result<Exit> {
    let output = Output { json: cli.json, quiet: cli.quiet };
    match cli.verb {
        Verb::Demo(demo) => demo::run(&demo, &output),
        Verb::Predict(predict) => match &predict.experiment {
            Some(PredictExperiment::Layers(options)) => layers::predict(options, &output),
            None => predict::run(&predict, &output),
        },
        Verb::Measure(measure) => match &measure.experiment {
            Some(MeasureExperiment::Layers(options)) => layers::measure(options, &output),
            Some(MeasureExperiment::Mms(options)) => mms::measure(options, &output),
            Some(MeasureExperiment::Transfer(moved)) => Err(reproduce::moved(moved).into()),
            None => measure::run(&measure, &output),
        },
        Verb::Serve(serve) => match &serve.service {
            Some(ServeService::Mms(options)) => mms::serve(options, &output),
            None => serve::run(&serve, &output),
        },
        Verb::Watch(watch) => watch::begin(*watch, &output),
        Verb::Meter(meter) => meter::run(&meter, &output),
        Verb::Show(show) => show::run(&show, &output),
        Verb::Capture(capture) => capture::run(&capture, &output),
        Verb::Relay(relay) => relay::run(&relay, &output),
        Verb::Dissect(dissect) => dissect::run(&dissect, &output),
        Verb::Calibrate(options) => mms::calibrate(&options, &output),
        Verb::Compare(compare) => compare::run(&compare, &output),
        Verb::Merge(merge) => merge::run(&merge, &output),
        Verb::Rerun(rerun) => predict::rerun::run(&rerun, &output),
        Verb::Report(report) => report::run(&report, &output),
        Verb::Web(options) => web::run(&options, &output),
        Verb::Advise(advise) => advise::run(&advise, &output),
        Verb::Reproduce(reproduce) => reproduce::run(&reproduce, &output),
        Verb::Scenarios(scenarios) => scenarios::run(&scenarios, &output),
        Verb::Schema(options) => schema::run(&options, &output),
        Verb::Profiles(profiles) => profiles::run(&profiles, &output),
        Verb::Doctor => doctor::run(&output),
        Verb::Selftest => selftest::run(&output),
        Verb::Completions(options) => shell::completions(&options, &output),
        Verb::Man(options) => shell::man(&options, &output),
        Verb::Help(help) => help::run(&help, &output),
    }
}
