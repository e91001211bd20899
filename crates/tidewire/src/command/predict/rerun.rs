//! `rerun`: makes the runs of a folder anew, and compares them with those that it has.

use super::again::{options, scenario_of};
use super::{goal, shard};
use crate::args::rerun::Rerun;
use crate::exit::{Exit, Failure};
use crate::host;
use crate::output::{self, Output};
use crate::record_folder::MEASURES;
use crate::runs::{self, Kept};
use crate::steps::bar;
use bench::folder;
use bench::run::{self, Made, Plan};
use bench::sample::{Origin, Sample};
use core::ops::ControlFlow;
use indicatif::ProgressBar;
use records::quantity::counted;
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::Ordering;

/// The record of NDJSON.
#[derive(Serialize)]
#[serde(tag = "type", rename = "rerun")]
struct Record<'a> {
    folder: &'a Path,
    /// Runs that are the same.
    same: u64,
    /// The first that is not: point and repetition.
    differs: Option<(usize, u64)>,
    /// Hash of the samples of the folder (FNV-1a, 128 bits).
    digest: &'a str,
}

/// Refuses a folder of `watch`, and says how to see it again.
fn refuse_watched(folder: &Path) -> Result<(), Failure> {
    if !folder.join(MEASURES).is_file() {
        return Ok(());
    }
    let path = folder.display();
    let message = format!("{path} was watched: a network repeats nothing");
    let fix =
        format!("tidewire show {path} shows it again, and tidewire report {path} writes a page");
    Err(Failure::usage(message).with_fix(fix))
}

pub(crate) fn run(rerun: &Rerun, output: &Output) -> anyhow::Result<Exit> {
    let folder = &runs::latest(&rerun.run, Kept::Samples, output);
    refuse_watched(folder)?;
    let provenance = folder::provenance(folder)?;
    let results = folder::read(folder)?;
    if let Some(sample) = results.samples.first()
        && sample.source == Origin::Measured
    {
        let message = format!("{} was measured: a network repeats nothing", folder.display());
        let again = reports::of_study::command_line(&provenance.command);
        let fix = format!("measure again, and compare the two: {again}");
        return Err(Failure::usage(message).with_fix(fix).into());
    }
    let options = options(folder, &provenance)?;
    let chosen = scenario_of(folder, &provenance, &options, output)?;
    let stop = output::install_interrupts()?;
    let text = serde_json::to_string(&results.samples)?;
    let digest = folder::hash(&text);
    let bar = match output.draws_progress() && !output.json {
        true => bar(results.samples.len() as u64),
        false => ProgressBar::hidden(),
    };
    let mut kept = results.samples.iter();
    let (mut same, mut differs) = (0, None);
    let each = |sample: Sample| {
        bar.inc(1);
        if kept.next() == Some(&sample) {
            same += 1;
            return ControlFlow::Continue(());
        }
        differs = Some((sample.point, sample.replication));
        ControlFlow::Break(())
    };
    let (study, plan) = (&chosen.study, Plan { replications: None, jobs: host::cores() });
    let none = Made::new();
    match (goal(&options)?, provenance.shard) {
        (Some(goal), None) => {
            run::run_until(study, plan, goal, &none, stop, each, |_| ())?;
        }
        (_, of_shard) => {
            let all = shard::all_of_round(&chosen, &options)?;
            let seed = study.scenario().seed;
            let runs = of_shard.map_or_else(|| all.clone(), |shard| shard.runs(&all, seed));
            run::run_these(study, &runs, &none, plan.jobs, stop, each)?;
        }
    }
    bar.finish_and_clear();
    if stop.load(Ordering::Relaxed) {
        output.remark(format_args!("interrupted: {} were the same", counted(same, "run")));
        return Ok(Exit::Interrupted);
    }
    output.record(&Record { folder, same, differs, digest: &digest })?;
    let path = folder.display();
    if let Some((point, replication)) = differs {
        let message = format!("{path}: point {point}, repetition {replication} differs");
        let fix =
            "it was made by another build, on a machine with other arithmetic, or was changed";
        return Err(Failure::failed(message).with_fix(fix).into());
    }
    output.line(format_args!(
        "{path}:\n{} made anew, each the same; digest {digest}",
        counted(same, "run")
    ))?;
    if !results.end.complete {
        output.remark(format_args!("it is not complete: tidewire predict --resume {path}"));
    }
    Ok(Exit::Ok)
}
