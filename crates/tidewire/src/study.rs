//! The scenario a command line names: a file, or one that comes with the program.

use crate::args::RunOptions;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::output_file::Inputs;
use bench::folder;
use bench::scenario::{self, MOST_REPLICATIONS, MOST_RUNS, Scenario, Study, meant};
use bench::scenarios;
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// A scenario to be run.
pub(crate) struct Chosen {
    /// What its run folder is called after.
    pub(crate) name: String,
    /// The points to run.
    pub(crate) study: Study,
    /// The file that it was read from, if it was.
    pub(crate) inputs: Inputs,
}

impl Chosen {
    /// The scenario's text as it was read.
    pub(crate) fn text(&self) -> &str {
        let source = &self.study.source;
        source.text.get(..source.file_octets).unwrap_or_default()
    }

    /// What samples call that text.
    pub(crate) fn hash(&self) -> String {
        folder::hash(self.text())
    }
}

/// Loads a scenario, puts what the command line says in place of what it says, and prints its
/// warnings.
///
/// # Errors
/// Where there is no such scenario, or everything that is wrong with it.
pub(crate) fn choose(which: &str, run: &RunOptions, output: &Output) -> anyhow::Result<Chosen> {
    let path = Path::new(which);
    let (name, file, text) = match scenarios::get(which) {
        Some(built_in) if !path.is_file() => {
            (built_in.name.to_owned(), built_in.file(), built_in.text.to_owned())
        }
        _ => {
            let text = fs::read_to_string(path).map_err(|error| missing(which, &error))?;
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (stem, which.to_owned(), text)
        }
    };
    let mut study = scenario::load(&text, &file)
        .map_err(|error| Failure::usage(format!("{file} cannot run:\n{error}")))?;
    for warning in &study.warnings {
        output.remark(warning.render(&study.source).trim_end());
    }
    if run.runs == Some(0) {
        return Err(Failure::usage("--runs 0: a point takes at least one run").into());
    }
    let runs = run.runs.unwrap_or(1);
    let all = runs.saturating_mul(study.points.len() as u64);
    if runs > MOST_REPLICATIONS || all > MOST_RUNS {
        let message = format!(
            "--runs {runs}: at most {MOST_REPLICATIONS} runs of a point and {MOST_RUNS} of all"
        );
        return Err(Failure::usage(message).into());
    }
    for point in &mut study.points {
        let scenario = &mut point.scenario;
        scenario.seed = run.seed.unwrap_or(scenario.seed);
        scenario.replications = run.runs.unwrap_or(scenario.replications);
    }
    Ok(Chosen { name, study, inputs: Inputs::of([path]) })
}

/// The names of the scenarios that come with the program, the likely one first.
pub(crate) fn names(instead_of: &str) -> String {
    let all = || scenarios::ALL.into_iter().map(|built_in| built_in.name);
    match meant(instead_of, all()) {
        Some(name) => format!("did you mean {name}? There are {}", join(all())),
        None => format!("one of {}", join(all())),
    }
}

fn join(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn missing(which: &str, error: &io::Error) -> Failure {
    let is_path = which.contains('/') || which.ends_with(".toml") || Path::new(which).exists();
    if is_path {
        return Failure::failed(format!("cannot read {which}: {error}"));
    }
    Failure::usage(format!("no scenario file and no built-in scenario {which:?}"))
        .with_fix(names(which))
}

/// Writes a new file; one that exists stays as it is.
pub(crate) fn write_new(text: &str, path: &Path) -> Result<(), Failure> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::failed(format!("{} exists and is not overwritten", path.display()))
        }
        _ => Failure::cannot_write(path, &error),
    })
}

/// The line of NDJSON of `--print-scenario`.
#[derive(Serialize)]
#[serde(tag = "type", rename = "scenario")]
struct Record<'a> {
    scenario: &'a Scenario,
}

/// Prints a scenario as it would run, defaults filled in.
///
/// # Errors
/// Where nobody reads.
pub(crate) fn print(chosen: &Chosen, output: &Output) -> anyhow::Result<Exit> {
    let scenario = chosen.study.scenario();
    output.record(&Record { scenario })?;
    output.line(scenario::to_toml(scenario).trim_end())?;
    Ok(Exit::Ok)
}
