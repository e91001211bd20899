//! `predict --shard`: makes one of several parts of the runs, and the scripts that make all of them.

use super::{goal, job};
use crate::args::Predict;
use crate::exit::{Exit, Failure};
use crate::host;
use crate::output::{self, Output};
use crate::runs::{Making, Recording, words};
use crate::scenario_choice::Chosen;
use crate::steps::RunBar;
use bench::folder;
use bench::run::{self, Made, Plan, Rounds, Shard, all_runs};
use bench::sample::Sample;
use bench::scenario::Study;
use core::ops::ControlFlow;
use records::findings::quoted;
use reports::of_study::command_line;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A part of the runs, those of it that were made earlier, and where they go.
pub(super) struct Part<'a> {
    pub(super) shard: Shard,
    pub(super) made: Made,
    pub(super) recording: Recording<'a>,
}

/// The shard that the options name.
pub(super) fn wanted(options: &Predict) -> Result<Option<Shard>, Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    options.shards.shard.map(|wanted| job::shard(wanted, variable)).transpose()
}

/// Makes a shard in a new folder.
pub(super) fn begin(
    shard: Shard,
    chosen: &Chosen,
    options: &Predict,
    output: &Output,
) -> anyhow::Result<Exit> {
    let making = Making { shard: Some(shard), ..Making::here(host::facts()) };
    let stop = output::install_interrupts()?;
    let recording = Recording::begin(chosen, &options.run, making, output)?;
    let part = Part { shard, made: Made::new(), recording };
    make(part, chosen, options, stop, output)
}

/// Makes the runs of a shard that are missing.
pub(super) fn make(
    part: Part<'_>,
    chosen: &Chosen,
    options: &Predict,
    stop: &AtomicBool,
    output: &Output,
) -> anyhow::Result<Exit> {
    let Part { shard, made, mut recording } = part;
    let all = all_of_round(chosen, options)?;
    let runs = shard.runs(&all, chosen.study.scenario().seed);
    let mut bar = RunBar::new(runs.len() as u64, output.draws_progress() && !output.json);
    let (mut written, mut finished) = (Ok(()), 0);
    let each = |sample: Sample| {
        bar.run(&sample);
        finished += usize::from(sample.complete);
        written = recording.sample(sample);
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let result = run::run_these(&chosen.study, &runs, &made, host::cores(), stop, each);
    bar.end();
    let interrupted = stop.load(Ordering::Relaxed);
    let reason = match &result {
        Err(error) => Some(error.to_string()),
        Ok(()) => interrupted.then(|| "interrupted".to_owned()),
    };
    let folder = recording.close(reason)?;
    result?;
    written?;
    let folder = folder.map(|folder| folder.display().to_string()).unwrap_or_default();
    if interrupted {
        output.remark(format_args!(
            "interrupted: {finished} of {} runs are finished and kept: tidewire predict --resume {folder}",
            runs.len()
        ));
        return Ok(Exit::Interrupted);
    }
    output.remark(format_args!(
        "shard {shard} is made: {finished} of {} runs, in {folder}; once all shards are made: tidewire merge FOLDERS",
        all.len()
    ));
    Ok(Exit::Ok)
}

/// Every run of a study whose number is fixed, or the one repetition of each point that is wanted.
pub(super) fn all_of(study: &Study, options: &Predict) -> Vec<(usize, u64)> {
    match options.repetition {
        None => all_runs(study, Plan { replications: None, jobs: 1 }),
        Some(only) => study.points.iter().map(|point| (point.index, only)).collect(),
    }
}

/// The runs of all shards: every run of the study, or those of the round under way.
pub(super) fn all_of_round(
    chosen: &Chosen,
    options: &Predict,
) -> anyhow::Result<Vec<(usize, u64)>> {
    let study = &chosen.study;
    let Some(goal) = goal(options)? else { return Ok(all_of(study, options)) };
    let rounds = Rounds::begin(study, None, goal);
    let Some(after) = &options.shards.after_runs else { return Ok(rounds.runs().to_vec()) };
    let rounds = rounds.after(&merged(after, chosen)?);
    if rounds.is_over() {
        let message = format!("--after-runs {}: its runs are enough", after.display());
        return Err(Failure::usage(message).into());
    }
    Ok(rounds.runs().to_vec())
}

/// The runs of a merged folder, which has to be of this study.
fn merged(folder: &Path, chosen: &Chosen) -> anyhow::Result<Made> {
    let provenance = folder::provenance(folder)?;
    if provenance.scenario_hash != chosen.hash() || provenance.seed != chosen.study.scenario().seed
    {
        let message =
            format!("--after-runs {}: it is of another scenario or seed", folder.display());
        let fix = "name the folder that tidewire merge wrote for this study";
        return Err(Failure::usage(message).with_fix(fix).into());
    }
    let samples = folder::read(folder)?.samples.into_iter().filter(|sample| sample.complete);
    Ok(samples.map(|sample| ((sample.point, sample.replication), sample)).collect())
}

/// Prints a script that makes all shards and merges them, if one is wanted; returns whether it did.
pub(super) fn print_script(
    chosen: &Chosen,
    options: &Predict,
    output: &Output,
) -> anyhow::Result<bool> {
    let shards = &options.shards;
    let Some(number) = shards.print_slurm.or(shards.print_parallel) else { return Ok(false) };
    let mut words = without(&words(), &["--print-slurm", "--print-parallel"]);
    words = without(&words, &["-o", "--output"]);
    let parts = options.run.output.join(format!("{}-parts", folder::plain(&chosen.name)));
    let predict = |shard: &str| {
        let more = ["--shard", shard, "-o", &*parts.to_string_lossy()].map(str::to_owned);
        command_line(&[words.clone(), more.to_vec()].concat())
    };
    let merge = [
        "tidewire",
        "merge",
        &parts.to_string_lossy(),
        "-o",
        &options.run.output.to_string_lossy(),
    ];
    let merge = command_line(&merge.map(str::to_owned));
    let script = if shards.print_slurm.is_some() {
        format!(
            "#!/bin/sh -e\n# {number} shards as a Slurm array, and their merge after them.\n\
             array=$(sbatch --parsable --array=1-{number} <<'END'\n#!/bin/sh\n{}\nEND\n)\n\
             sbatch --dependency=\"afterok:$array\" <<'END'\n#!/bin/sh\n{merge}\nEND",
            predict("auto")
        )
    } else {
        format!(
            "#!/bin/sh -e\n# {number} shards with GNU parallel, one at a time on each host, and their merge.\n\
             # For several hosts that share this folder: --sshloginfile HOSTS --workdir .\n\
             seq {number} | parallel --jobs 1 --halt soon,fail=1 {}\n{merge}",
            quoted(&predict(&format!("{{}}/{number}")))
        )
    };
    output.line(script)?;
    Ok(true)
}

/// Words of a command line without these options, which take a value each.
pub(super) fn without(words: &[String], options: &[&str]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        // `--shard=3/40`, `-oparts`.
        let is_joined = |option: &&str| {
            let rest = word.strip_prefix(*option).unwrap_or_default();
            !rest.is_empty() && (rest.starts_with('=') || !option.starts_with("--"))
        };
        if options.contains(&word.as_str()) {
            words.next();
        } else if !options.iter().any(is_joined) {
            kept.push(word.clone());
        }
    }
    kept
}
