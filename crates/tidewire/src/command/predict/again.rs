//! `predict --resume`: goes on where an interrupted run folder ends.
//!
//! A run is a function of its point and its seed, and runs are written in an order that the scenario
//! and the command line decide. So those that are missing are made and written behind those that are
//! there, and the file becomes what it would have been.

use super::shard::{self, Part};
use super::{carry_out, choose, open, prepare};
use crate::args::page::PageOptions;
use crate::args::{Cli, Predict, Verb};
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};
use crate::runs::{self, Kept, Recording};
use crate::scenario_choice::{Chosen, Purpose};
use bench::PROGRAM_VERSION;
use bench::folder::{self, Provenance};
use bench::run::Made;
use bench::sample::{Origin, Sample};
use clap::Parser as _;
use std::path::{Path, PathBuf};

pub(super) fn resume(folder: &Path, page: &PageOptions, output: &Output) -> anyhow::Result<Exit> {
    let folder = &run_folder(folder)?;
    let provenance = folder::provenance(folder)?;
    let options = Predict { page: page.clone(), ..options(folder, &provenance)? };
    let chosen = scenario_of(folder, &provenance, &options, output)?;
    let results = folder::read(folder)?;
    let whole = |sample: &Sample| sample.complete && sample.source == Origin::Predicted;
    let found: Vec<Sample> = results.samples.into_iter().take_while(whole).collect();
    let made: Made = found.iter().map(|it| ((it.point, it.replication), it.clone())).collect();
    let all = if results.end.complete { ", none is missing" } else { "" };
    output.remark(format_args!("{} runs found{all}", made.len()));
    let stop = output::install_interrupts()?;
    prepare(&options)?;
    let is_part = provenance.shard.is_some();
    if is_part && page.web.is_some() {
        let message = "--web: no effect on a shard, which has no verdicts before its merge";
        return Err(Failure::usage(message).with_fix("leave it out").into());
    }
    let page = if is_part { None } else { open(&chosen, &options, output)? };
    let recording = Recording::resume(folder, &found, output)?.on(page);
    match provenance.shard {
        Some(shard) => {
            let part = Part { shard, made, recording };
            shard::make(part, &chosen, &options, stop, output)
        }
        None => carry_out(&chosen, &options, &made, recording, stop, output),
    }
}

/// The scenario of a run folder, which has to be as it was.
///
/// # Errors
/// The folder is of another version, or its scenario was changed.
pub(super) fn scenario_of(
    folder: &Path,
    provenance: &Provenance,
    options: &Predict,
    output: &Output,
) -> anyhow::Result<Chosen> {
    let scenario = folder.join("scenario.toml");
    let purpose = Purpose::Resume(provenance.copies(folder));
    let chosen = choose(&scenario.to_string_lossy(), &purpose, options, output)?;
    let changed = |what: &str| {
        let message = format!("{} cannot be gone on with: {what}", folder.display());
        Failure::usage(message).with_fix("make the whole run anew")
    };
    if provenance.program_version != PROGRAM_VERSION {
        let what = format!("it is of version {}", provenance.program_version);
        return Err(changed(&what).into());
    }
    if provenance.scenario_hash != chosen.hash() {
        let has_files = chosen.study.files().next().is_some();
        let or_file = if has_files { " or a file that it names" } else { "" };
        return Err(changed(&format!("its scenario.toml{or_file} was changed")).into());
    }
    Ok(chosen)
}

/// The run folder itself, or the only one in a folder that `--output` named.
fn run_folder(folder: &Path) -> Result<PathBuf, Failure> {
    let found = runs::below(folder, Kept::Samples);
    match &found[..] {
        [] => Ok(folder.to_owned()),
        [only] => Ok(only.clone()),
        [.., latest] => {
            let message = format!("{} has {} run folders", folder.display(), found.len());
            let fix = format!("name one; the latest is --resume {}", latest.display());
            Err(Failure::usage(message).with_fix(fix))
        }
    }
}

/// Options of the command line in the folder.
pub(super) fn options(folder: &Path, provenance: &Provenance) -> anyhow::Result<Predict> {
    let foreign = || {
        let message = format!("{} was not written by predict", folder.display());
        Failure::usage(message).with_fix("name a folder in ./runs, or where -o said")
    };
    let cli = Cli::try_parse_from(&provenance.command).map_err(|_| foreign())?;
    let Verb::Predict(options) = cli.verb else { return Err(foreign().into()) };
    Ok(*options)
}
