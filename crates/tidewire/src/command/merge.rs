//! `tidewire merge`: shards of a study as the study, or histograms of runs of `watch` as one histogram.

pub(super) mod histograms;

use super::predict;
use crate::args::merge::Merge;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::record_folder::MEASURES;
use crate::runs::{self, Kept};
use std::path::{Path, PathBuf};

pub(super) fn run(options: &Merge, output: &Output) -> anyhow::Result<Exit> {
    let found: Vec<Vec<PathBuf>> = options.folders.iter().map(|path| measures(path)).collect();
    let of = |is_wanted: fn(&Vec<PathBuf>) -> bool| {
        let each = options.folders.iter().zip(&found);
        each.into_iter().find(|(_, files)| is_wanted(files)).map(|(path, _)| path)
    };
    match (of(|files| !files.is_empty()), of(Vec::is_empty)) {
        (None, _) => predict::merge::run(options, output),
        (Some(_), None) => histograms::run(&found.concat(), options, output),
        (Some(watched), Some(other)) => {
            let [watched, other] = [watched, other].map(|path| path.display());
            let message = format!("{watched} has records of watch or meter, and {other} has none");
            let fix = "merge runs of watch, or the shards of a study, each on their own";
            Err(Failure::usage(message).with_fix(fix).into())
        }
    }
}

/// Files of measures that a path means: a file, that of a run folder, or those of the runs in a folder without
/// shards.
fn measures(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let own = path.join(MEASURES);
    if own.is_file() {
        return vec![own];
    }
    if !runs::below(path, Kept::Samples).is_empty() {
        return Vec::new();
    }
    let each = runs::below(path, Kept::Any).into_iter().map(|run| run.join(MEASURES));
    each.filter(|file| file.is_file()).collect()
}
