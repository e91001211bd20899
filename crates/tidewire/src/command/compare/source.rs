//! Source of one side of a comparison, by what a path holds.

use crate::command::watch::{is_stream, open};
use crate::interrupt;
use crate::output::Output;
use crate::runs::{self, Kept};
use bench::scenarios;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// Most octets of the first record.
const MOST_OCTETS: u64 = 16 << 20;

/// Source of one side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// Run folder of predict or measure, or a file of its samples.
    Samples(PathBuf),
    /// Scenario, to be simulated.
    Scenario(PathBuf),
    /// File of records of watch or meter.
    Measures(PathBuf),
    /// Capture.
    Capture(PathBuf),
}

impl Source {
    /// The source at a path; a path without any is one of samples, whose reader reports the error.
    pub(super) fn find(path: &Path, output: &Output) -> Self {
        if path.is_dir() {
            let folder = runs::latest(path, Kept::Any, output);
            let measures = folder.join("measures.ndjson");
            return match measures.is_file() {
                true => Self::Measures(measures),
                false => Self::Samples(path.to_owned()),
            };
        }
        let path = path.to_owned();
        if path.extension().is_some_and(|ending| ending == "toml") {
            return Self::Scenario(path);
        }
        if !path.exists() {
            let is_built_in = path.to_str().is_some_and(|name| scenarios::get(name).is_some());
            return if is_built_in { Self::Scenario(path) } else { Self::Samples(path) };
        }
        if has_measures(&path) {
            return Self::Measures(path);
        }
        let quiet = Output { json: false, quiet: true };
        match !is_stream(&path) && open(&path, &quiet).is_ok() {
            true => Self::Capture(path),
            false => Self::Samples(path),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Samples(path)
            | Self::Scenario(path)
            | Self::Measures(path)
            | Self::Capture(path) => path,
        }
    }
}

/// True if the first line of a file is the head of a stream of measures.
fn has_measures(path: &Path) -> bool {
    let mut line = Vec::new();
    let Ok(file) = interrupt::open(path) else { return false };
    if BufReader::new(file.take(MOST_OCTETS)).read_until(b'\n', &mut line).is_err() {
        return false;
    }
    let head = serde_json::from_slice::<serde_json::Value>(&line).ok();
    head.is_some_and(|head| head.get("type").is_some_and(|it| it == "stream"))
}
