//! The scenario a command line names: a file, or one that comes with the program.

use crate::args::RunOptions;
use crate::details;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::Output;
use crate::output_file::{self, Inputs};
use crate::quantity::counted;
use bench::folder;
use bench::profile::Files;
use bench::scenario::{self, CannotSet, Matters, Problem, Requirement, Setting, Study, meant};
use bench::scenarios;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// A scenario to be run.
pub(crate) struct Chosen {
    /// Name that its run folder is called after.
    pub(crate) name: String,
    /// The points to run.
    pub(crate) study: Study,
    /// The files that it was read from: its own, and those of profiles and servers.
    pub(crate) inputs: Inputs,
    /// Keys that options set after the scenario was read, and those options.
    pub(crate) set: BTreeMap<String, String>,
}

impl Chosen {
    /// Hash of the scenario's text and of the files that it names.
    pub(crate) fn hash(&self) -> String {
        folder::hash_of(&self.study)
    }
}

/// Purpose for which a scenario is loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// To be simulated.
    Simulate,
    /// To be simulated further, with the profiles that a run folder has.
    Resume(Files),
    /// To be run by this host: warnings about simulated stations are left out.
    Measure,
}

/// Loads a scenario, replaces its keys by those of the command line, and prints its
/// warnings.
///
/// # Errors
/// There is no such scenario, or it has errors; all of them are listed.
pub(crate) fn choose(
    which: &str,
    purpose: &Purpose,
    run: &RunOptions,
    output: &Output,
) -> anyhow::Result<Chosen> {
    choose_with(which, purpose, run, &[], output)
}

/// The same with some of its keys set by the command line.
///
/// # Errors
/// There is no such scenario, or it or a given key has errors; all of them are listed.
pub(crate) fn choose_with(
    which: &str,
    purpose: &Purpose,
    run: &RunOptions,
    settings: &[Setting],
    output: &Output,
) -> anyhow::Result<Chosen> {
    let is_input = which == "-";
    let path = Path::new(if is_input { "/dev/stdin" } else { which });
    let (name, file, text, files) = match scenarios::get(which) {
        Some(built_in) if !path.is_file() => {
            (built_in.name.to_owned(), built_in.file(), built_in.text.to_owned(), Files::None)
        }
        _ => {
            let text = interrupt::read_to_string(path).map_err(|error| missing(which, &error))?;
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            let file = if is_input { "standard input" } else { which };
            let folder = if is_input { PathBuf::new() } else { folder };
            (stem, file.to_owned(), text, Files::In(folder))
        }
    };
    let files = if let Purpose::Resume(copies) = purpose { copies } else { &files };
    let mut study = scenario::load_from(&text, &file, files, settings).map_err(|error| {
        Failure::scenario_is_wrong(format!("{file} cannot run:\n{error}"), error)
            .with_fix("tidewire help scenario explains the keys")
    })?;
    let is_simulated = *purpose != Purpose::Measure;
    let lines = study.source.lines();
    let matters = |it: &&Problem| is_simulated || it.matters == Matters::Always;
    for warning in scenario::warnings(study.warnings.iter().filter(matters), &lines) {
        output.remark(warning);
    }
    let mut set = BTreeMap::new();
    if let Some(runs) = run.runs {
        set.insert("replications".to_owned(), "--runs".to_owned());
        let refused = |why: CannotSet| Failure::usage(format!("--runs {runs}: {why}"));
        study.set_runs(runs).map_err(refused)?;
    }
    if let Some(seed) = run.seed {
        set.insert("seed".to_owned(), "--seed".to_owned());
        study.set_seed(seed);
    }
    let points = counted(study.points.len() as u64, "point");
    let runs = counted(study.scenario().replications, "run");
    details::detail(format_args!("scenario {file}: {points}, {runs} of each"));
    for named in study.files() {
        details::detail(format_args!(
            "file {} of the scenario: {} octets",
            named.name,
            named.octets.len()
        ));
    }
    let inputs = Inputs::of(study.files().map(|file| file.path).chain([path]));
    Ok(Chosen { name, study, inputs, set })
}

/// Flows that are named where a requirement names none of them.
const MOST_NAMED: usize = 20;

/// Adds the requirements of the command line to those of the scenario, each once.
///
/// # Errors
/// A requirement of a flow that the scenario does not have.
pub(crate) fn require(chosen: &mut Chosen, requirements: &[Requirement]) -> Result<(), Failure> {
    if !requirements.is_empty() {
        let own = chosen.study.scenario().require.first().map(|_| chosen.study.origin("require"));
        let origin = own.map_or_else(|| "--require".to_owned(), |it| format!("{it}, --require"));
        chosen.set.insert("require".to_owned(), origin);
    }
    chosen.study.require(requirements).map_err(|why| match &why {
        CannotSet::NoSuchFlow { requirement, name, flows } => {
            let near = meant(name, flows.iter().map(String::as_str));
            let near = near.map(|name| format!("did you mean {name}? There are"));
            let first = flows.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>();
            let more = match flows.len() - first.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let before = near.unwrap_or_else(|| "one of".to_owned());
            let fix = format!("{before} {}{more}", first.join(", "));
            Failure::usage(format!("--require {requirement:?}: {why}")).with_fix(fix)
        }
        CannotSet::NoRuns | CannotSet::TooManyRuns => Failure::usage(why.to_string()),
    })
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
        let failure = Failure::failed(format!("cannot read {which}: {error}"));
        let is_missing = error.kind() == io::ErrorKind::NotFound && which.ends_with(".toml");
        return match is_missing {
            true => {
                failure.with_fix(format!("tidewire scenarios copy status-short {which} makes one"))
            }
            false => failure,
        };
    }
    Failure::usage(format!("no scenario file and no built-in scenario {which:?}"))
        .with_fix(names(which))
}

/// Writes a new file; one that exists stays as it is.
pub(crate) fn write_new(text: &str, path: &Path) -> Result<(), Failure> {
    output_file::write_new(path, text.as_bytes()).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::failed(format!("{} exists and is not overwritten", path.display()))
                .with_fix("name another file, or remove this one")
        }
        _ => Failure::cannot_write(path, &error),
    })
}

/// The line of NDJSON of `--print-scenario`.
#[derive(Serialize)]
#[serde(tag = "type", rename = "scenario")]
struct Record {
    scenario: Value,
    /// Text of the scenario, with the origin of each value.
    text: String,
}

/// Prints a scenario as it would run, defaults filled in, with the origin of each value.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn print(chosen: &Chosen, output: &Output) -> anyhow::Result<Exit> {
    let scenario = chosen.study.scenario();
    let text = chosen.study.annotated(&chosen.set);
    let mut record = Record { scenario: serde_json::to_value(scenario)?, text };
    if let Some(seed) = record.scenario.get_mut("seed") {
        *seed = scenario.seed.to_string().into();
    }
    output.record(&record)?;
    output.line(record.text.trim_end())?;
    Ok(Exit::Ok)
}
