//! `tidewire web`: stored runs in a browser, with their reports and comparisons.

use super::report::html_of;
use crate::args::page::Web;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::{self, Output};
use crate::page;
use crate::runs::{self, Kept};
use clap::Parser as _;
use core::time::Duration;
use live::clock;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use web::{Server, Shelf, StoredRun};

/// Longest wait for a browser that is slow to take a report.
const PATIENCE: Duration = Duration::from_secs(1);
/// Runs that are listed, the newest.
const MOST_RUNS: usize = 1_000;
/// Most octets of a run.json.
const MOST_OCTETS: u64 = 1 << 20;

pub(crate) fn run(options: &Web, output: &Output) -> anyhow::Result<Exit> {
    let Web { runs, web: at, web_anywhere } = options;
    if !runs.is_dir() {
        let failure = Failure::usage(format!("{} is not a folder", runs.display()));
        return Err(failure.with_fix("name the folder that -o of predict or measure named").into());
    }
    let reach = page::reach(*at, *web_anywhere)?;
    output::install_interrupts()?;
    let shelf = Box::new(Folder(runs.clone()));
    let server = Server::of_runs(*at, reach, shelf)
        .map_err(|error| Failure::failed(format!("cannot serve pages at {at}: {error}")))?;
    output.record(&json!({ "type": "page", "url": server.url() }))?;
    output.line(format_args!("runs of {} at {}", runs.display(), server.url()))?;
    page::warn(reach, output);
    output.remark("Ctrl-C ends it");
    while !interrupt::requested() {
        clock::sleep_until(clock::now() + interrupt::LOOK_UP);
    }
    server.finish(PATIENCE);
    Ok(Exit::Ok)
}

/// A folder of run folders.
struct Folder(PathBuf);

impl Folder {
    /// A run folder by its name, which has to be in the list.
    fn find(&self, name: &str) -> Result<PathBuf, String> {
        let found = runs::below(&self.0, Kept::Any).into_iter();
        let mut found = found.filter(|path| path.file_name().is_some_and(|it| it == name));
        found.next().ok_or_else(|| format!("there is no run {name}"))
    }
}

impl Shelf for Folder {
    fn place(&self) -> String {
        self.0.display().to_string()
    }

    fn runs(&self) -> Vec<StoredRun> {
        let newest = runs::below(&self.0, Kept::Any).into_iter().rev().take(MOST_RUNS);
        newest.filter_map(|path| stored(&path)).collect()
    }

    fn report(&self, run: &str, baseline: Option<&str>) -> Result<String, String> {
        let run = self.find(run)?;
        let baseline = baseline.map(|name| self.find(name)).transpose()?;
        let runs: Vec<PathBuf> = baseline.into_iter().chain([run]).collect();
        html_of(&runs).map_err(|error| format!("{error:#}"))
    }
}

/// Entry of a run in the list; none if its run.json cannot be read.
fn stored(path: &Path) -> Option<StoredRun> {
    let file = path.join("run.json");
    let about = fs::metadata(&file).ok().filter(|about| about.len() <= MOST_OCTETS);
    let json: Value = about.and_then(|_| serde_json::from_slice(&fs::read(file).ok()?).ok())?;
    let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
    let words = json["command"].as_array().cloned().unwrap_or_default();
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    let verb = crate::args::Cli::try_parse_from(&words).ok().and(words.get(1).copied());
    Some(StoredRun {
        name: path.file_name()?.to_str()?.to_owned(),
        title: text("title"),
        verb: verb.unwrap_or_default().to_owned(),
        started: text("started"),
        seed: text("seed"),
    })
}
