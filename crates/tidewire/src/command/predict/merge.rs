//! `merge`: the shards of a study become the folder that one machine would have written.

use super::again::scenario_of;
use super::shard::without;
use super::{carry_out, goal, prepare};
use crate::args::merge::Merge;
use crate::args::top::TopOptions;
use crate::args::{Predict, shard};
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};
use crate::quantity::counted;
use crate::runs::{self, Findings, Kept, Making, Recording};
use crate::scenario_choice::Chosen;
use bench::folder::{self, Part, Provenance};
use bench::run::{Made, Plan, Rounds, Shard, all_runs, shard_numbers};
use bench::sample::{Origin, Sample};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Most missing parts that are named one by one.
const MOST_NAMED: usize = 10;

/// A folder with a part of the runs.
struct Found {
    path: PathBuf,
    provenance: Provenance,
    options: Predict,
    samples: Vec<Sample>,
    is_complete: bool,
}

pub(crate) fn run(options: &Merge, output: &Output) -> anyhow::Result<Exit> {
    let parts = find(&options.folders)?;
    let Some(first) = parts.first() else {
        let fix = "name the folders that `tidewire predict --shard K/N` wrote";
        return Err(Failure::usage("no run folder is there to merge").with_fix(fix).into());
    };
    parts.iter().try_for_each(|part| agree(first, part))?;
    let made = gather(&parts)?;
    let (whole, chosen) = study(first, options, output)?;
    prepare(&whole)?;
    let rounds = goal(&whole)?.map(|goal| Rounds::begin(&chosen.study, None, goal).after(&made));
    // The runs that have to be there: all, or those of a round that was begun.
    let needed = match &rounds {
        None => all_runs(&chosen.study, Plan { replications: None, jobs: 1 }),
        Some(rounds) if rounds.is_over() => Vec::new(),
        Some(rounds) => {
            let is_begun = rounds.runs().iter().any(|run| made.contains_key(run));
            if is_begun || rounds.number() == 1 { rounds.runs().to_vec() } else { Vec::new() }
        }
    };
    nothing_is_missing(&needed, &made, &parts)?;
    let [runs, folders] =
        [(made.len(), "run"), (parts.len(), "folder")].map(|(n, noun)| counted(n as u64, noun));
    output.remark(format_args!("{runs} found in {folders}"));
    let recording = Recording::begin(&chosen, &whole.run, making(&parts), output)?;
    match rounds.filter(|rounds| !rounds.is_over()) {
        Some(rounds) => another_round(rounds, recording, &chosen, first, whole.run.top, output),
        None => {
            let stop = output::install_interrupts()?;
            carry_out(&chosen, &whole, &made, recording, stop, output)
        }
    }
}

/// The run folders that are meant, each once.
fn find(folders: &[PathBuf]) -> anyhow::Result<Vec<Found>> {
    let mut paths = BTreeSet::new();
    for folder in folders {
        let below = runs::below(folder, Kept::Samples);
        match below.is_empty() {
            true if folder.join("run.json").is_file() => {
                paths.insert(folder.clone());
            }
            true if !folder.exists() => {
                return Err(Failure::failed(format!("{} does not exist", folder.display())).into());
            }
            true => {
                let message = format!("{} is no run folder, and holds none", folder.display());
                return Err(Failure::usage(message).into());
            }
            false => paths.extend(below),
        }
    }
    let read = |path: PathBuf| {
        let provenance = folder::provenance(&path)?;
        let options = super::again::options(&path, &provenance)?;
        let results = folder::read(&path)?;
        let is_whole = |sample: &Sample| sample.complete && sample.source == Origin::Predicted;
        let samples = results.samples.into_iter().filter(is_whole).collect();
        Ok(Found { path, provenance, options, samples, is_complete: results.end.complete })
    };
    paths.into_iter().map(read).collect()
}

/// Makes sure that two folders are of one study.
fn agree(first: &Found, part: &Found) -> Result<(), Failure> {
    let of = |found: &Found| {
        let Found { provenance, options, .. } = found;
        let until = &options.until;
        [
            ("version", provenance.program_version.clone()),
            ("scenario, or a file that it names,", provenance.scenario_hash.clone()),
            ("seed", provenance.seed.to_string()),
            ("--runs", format!("{:?}", options.run.runs)),
            ("--vary", format!("{:?}", options.vary)),
            ("--require", format!("{:?}", until.require)),
            ("--until-decided", until.until_decided.to_string()),
            ("--precision", format!("{:?}", until.precision)),
            ("--at-most", until.at_most.to_string()),
        ]
    };
    let differs = of(first).into_iter().zip(of(part)).find(|(first, part)| first != part);
    let Some(((what, _), _)) = differs else { return Ok(()) };
    let (first, part) = (first.path.display(), part.path.display());
    let message = format!("{part} is no part of the study of {first}: its {what} differs");
    Err(Failure::usage(message).with_fix("leave it out, or merge the two studies one by one"))
}

/// All runs of the parts, of which two may have the same if they agree on it.
fn gather(parts: &[Found]) -> Result<Made, Failure> {
    let mut made: BTreeMap<(usize, u64), (&Sample, &Path)> = BTreeMap::new();
    for Found { path, samples, .. } in parts {
        for sample in samples {
            let run = (sample.point, sample.replication);
            let (earlier, from) = *made.entry(run).or_insert((sample, path));
            if earlier != sample {
                let message = format!(
                    "{} and {} differ in the run of point {}, repetition {}",
                    from.display(),
                    path.display(),
                    run.0,
                    run.1
                );
                let fix = "make one of them anew: a run is a function of its scenario and seed";
                return Err(Failure::failed(message).with_fix(fix));
            }
        }
    }
    Ok(made.into_iter().map(|(run, (sample, _))| (run, sample.clone())).collect())
}

/// The whole study, as the command line of its first part would make it without a shard.
fn study(first: &Found, merge: &Merge, output: &Output) -> anyhow::Result<(Predict, Chosen)> {
    let mut whole = super::again::options(&first.path, &first.provenance)?;
    whole.shards = shard::ShardOptions::default();
    whole.run.output.clone_from(&merge.output);
    whole.run.no_save = merge.no_save;
    whole.run.keep = merge.keep.clone();
    whole.run.top = merge.top;
    whole.figure.clone_from(&merge.figure);
    whole.emit = merge.emit;
    whole.plot = merge.plot;
    whole.differences.clone_from(&merge.differences);
    let mut chosen = scenario_of(&first.path, &first.provenance, &whole, output)?;
    if let Some(scenario) = &whole.scenario {
        let stem = Path::new(scenario).file_stem().unwrap_or_default();
        chosen.name = stem.to_string_lossy().into_owned();
    }
    if let Some(key) = &whole.differences {
        crate::paired_differences::check(&chosen.study, key)?;
    }
    Ok((whole, chosen))
}

/// Makes sure that all of these runs are there.
fn nothing_is_missing(all: &[(usize, u64)], made: &Made, parts: &[Found]) -> Result<(), Failure> {
    let is_missing = |run: &(usize, u64)| !made.contains_key(run);
    let missing = all.iter().filter(|run| is_missing(run)).count();
    if missing == 0 {
        return Ok(());
    }
    let message = format!("{missing} of {} runs are missing", all.len());
    let mut fixes: Vec<String> = parts
        .iter()
        .filter(|part| !part.is_complete)
        .map(|part| format!("tidewire predict --resume {}", part.path.display()))
        .collect();
    let shards: Vec<Shard> = parts.iter().filter_map(|part| part.provenance.shard).collect();
    if let (Some(of), Some(first)) = (shards.iter().map(|it| it.of()).max(), parts.first()) {
        let numbers = shard_numbers(all.len(), of, first.provenance.seed);
        let lacking = all.iter().zip(numbers).filter(|(run, _)| is_missing(run));
        let lacking: BTreeSet<u64> = lacking.map(|(_, number)| number).collect();
        let is_there =
            |number: &u64| shards.iter().any(|shard| shard.of() == of && shard.number() == *number);
        let absent = lacking.iter().filter(|number| !is_there(number));
        fixes.extend(absent.filter_map(|number| {
            let shard = Shard::new(*number, of)?;
            Some(with_shard(&first.provenance.command, &shard.to_string(), None))
        }));
    }
    let more = fixes.len().saturating_sub(MOST_NAMED);
    fixes.truncate(MOST_NAMED);
    if more > 0 {
        fixes.push(format!("and {more} more"));
    }
    Err(Failure::failed(format!("{message}; these make them:\n  {}", fixes.join("\n  "))))
}

/// The command line of a shard as that of another one.
fn with_shard(command: &[String], shard: &str, after: Option<&Path>) -> String {
    let mut words = without(command, &["--shard", "--after-runs"]);
    words.extend(["--shard".to_owned(), shard.to_owned()]);
    if let Some(after) = after {
        words.extend(["--after-runs".to_owned(), after.to_string_lossy().into_owned()]);
    }
    reports::of_study::command_line(&words)
}

/// Provenance of the merged folder.
fn making(parts: &[Found]) -> Making {
    let command =
        parts.first().map(|part| without(&part.provenance.command, &["--shard", "--after-runs"]));
    let of = |found: &Found| {
        let Provenance { shard, started, host, .. } = &found.provenance;
        let own = Part { shard: *shard, started: started.clone(), host: host.clone() };
        // A folder that was merged itself has no machine of its own.
        match found.provenance.parts.is_empty() {
            true => vec![own],
            false => found.provenance.parts.clone(),
        }
    };
    let parts: Vec<Part> = parts.iter().flat_map(of).collect();
    Making { command: command.unwrap_or_default(), parts, ..Making::default() }
}

/// Stores the rounds so far, and names the command of the next.
fn another_round(
    rounds: Rounds<'_>,
    mut recording: Recording<'_>,
    chosen: &Chosen,
    first: &Found,
    top: TopOptions,
    output: &Output,
) -> anyhow::Result<Exit> {
    let number = rounds.number();
    for sample in rounds.samples() {
        recording.sample(sample.clone())?;
    }
    let next = rounds.runs().len();
    let reason = format!("round {number} of its runs is not made yet");
    let judged = Some(rounds.end().judged);
    let findings = Findings {
        points: &chosen.study.points,
        is_predicted: true,
        host_noise_ns: None,
        judged,
        differences: None,
        top: top.rows(),
    };
    let outcome = recording.end(Some(reason), findings)?;
    let Some(folder) = outcome.folder.as_deref() else {
        output.remark(format_args!(
            "undecided after {} rounds; merge without --no-save for the next round, which needs the merged folder",
            number - 1
        ));
        return Ok(Exit::Undecided);
    };
    let command = with_shard(&first.provenance.command, "K/N", Some(folder));
    output.remark(format_args!(
        "undecided after {} rounds; round {number} has {next} runs, of which each machine makes a shard:\n  {command}\n\
         then merge again, with {} and the new shards",
        number - 1,
        folder.display()
    ));
    Ok(Exit::Undecided)
}
