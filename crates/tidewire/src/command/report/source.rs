//! Run that a command line names: a run folder, a folder of them, or a file of records.

use super::next_to;
use crate::args::report::Form;
use crate::exit::Failure;
use crate::interrupt;
use crate::output::Output;
use crate::runs::{self, Kept};
use serde::Deserialize;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// Most octets of the first record.
const MOST_OCTETS: u64 = 16 << 20;
const ADVICE: &str = "name a folder that predict, measure, watch -o or reproduce -o wrote, or a file \
                      of their records";

/// Records of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Records {
    /// Samples of predict and measure.
    Samples,
    /// Stream of measures of watch and meter.
    Measures,
    /// Rows of reproduce.
    Rows,
    /// Layers of measure layers and predict layers.
    Layers,
}

/// A run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Source {
    /// Run folder, or file of records.
    pub(super) path: PathBuf,
    /// File of records.
    pub(super) file: PathBuf,
    /// Its kind.
    pub(super) records: Records,
}

/// Files of records in a run folder.
const FILES: [(&str, Records); 3] = [
    ("samples.ndjson", Records::Samples),
    ("measures.ndjson", Records::Measures),
    ("rows.ndjson", Records::Rows),
];

/// Type of a record.
#[derive(Deserialize)]
struct Type {
    r#type: String,
}

impl Source {
    /// The run at a path; of a folder of runs the latest.
    ///
    /// # Errors
    /// A path without a run.
    pub(super) fn find(path: &Path, output: &Output) -> Result<Self, Failure> {
        let fail = |why: String| Failure::failed(why).with_fix(ADVICE);
        if !path.exists() {
            return Err(fail(format!("there is no run {}", path.display())));
        }
        if path.is_dir() {
            let path = runs::latest(path, Kept::Any, output);
            let found = FILES.into_iter().find(|(name, _)| path.join(name).is_file());
            let Some((name, records)) = found else {
                return Err(fail(format!("{} is not a run folder", path.display())));
            };
            let file = path.join(name);
            return Ok(Self { path, file, records });
        }
        let records = first(path)
            .map_err(|error| fail(format!("cannot read {}: {error}", path.display())))?;
        let Some(records) = records else {
            return Err(fail(format!("{} holds no records of a run", path.display())));
        };
        Ok(Self { path: path.to_owned(), file: path.to_owned(), records })
    }

    /// Files of the run, which a report must not replace.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let folder = self.path.read_dir();
        let inside = folder.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let is_report = |path: &PathBuf| {
            let forms = [Form::Html, Form::Md, Form::Junit, Form::Github];
            forms.iter().any(|form| path.file_name().is_some_and(|name| name == form.file()))
        };
        inside.filter(|path| !is_report(path)).chain([self.file.clone()]).collect()
    }

    /// Path of a report without `--output`.
    pub(super) fn place(&self, form: Form) -> PathBuf {
        if self.path == self.file { next_to(&self.file, form) } else { self.path.join(form.file()) }
    }
}

/// Kind of the records of a file, by its first line; none if it is not one.
fn first(path: &Path) -> std::io::Result<Option<Records>> {
    let mut line = Vec::new();
    let file = interrupt::open(path)?.take(MOST_OCTETS);
    BufReader::new(file).read_until(b'\n', &mut line)?;
    let kind = serde_json::from_slice::<Type>(&line).ok();
    Ok(match kind.as_ref().map(|it| it.r#type.as_str()) {
        Some("sample" | "end") => Some(Records::Samples),
        Some("stream") => Some(Records::Measures),
        Some("paper") => Some(Records::Rows),
        Some("layers") => Some(Records::Layers),
        _ => None,
    })
}
