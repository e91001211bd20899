//! Storage of the runs of a study: samples as they come, the report, its end.

use crate::args::RunOptions;
use crate::exit::{Exit, Failure};
use crate::oldest_runs::Keep;
pub(crate) use crate::oldest_runs::{Kept, below};
use crate::output::Output;
use crate::page::{self, StudyPage, StudyState};
use crate::report::Limit;
use crate::scenario_choice::Chosen;
use crate::tui::Shared;
use crate::utilisation::Utilisation;
use crate::{details, host, paired_differences, report, verdicts};
use anyhow::Context;
use bench::PROGRAM_VERSION;
use bench::analysis::{Report, analyse};
use bench::folder::{self, Folder, Part, Provenance};
use bench::paragraph::wrapped;
use bench::run::Shard;
use bench::sample::{End, Line, Sample};
use bench::scenario::Point;
use bench::verdict::{Judged, Verdict, judge, worst};
use live::clock;
use records::calendar;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wire::printable::Printable;

/// Confidence level of every printed interval.
pub(crate) const LEVEL: f64 = 0.95;

/// Destination of samples while a study runs.
pub(crate) struct Recording<'a> {
    output: &'a Output,
    folder: Option<Folder>,
    /// Samples that the folder has already, in its order.
    kept: VecDeque<(usize, u64)>,
    samples: Shared<Vec<Sample>>,
    page: Option<StudyPage>,
    /// Limits of the folder of runs; none of runs that are resumed.
    keep: Option<Keep>,
}

/// Making of runs: what their folder says of it in addition to the scenario.
#[derive(Default)]
pub(crate) struct Making {
    /// Command line that makes all of them, word by word.
    pub(crate) command: Vec<String>,
    /// Known properties of the machine.
    pub(crate) host: BTreeMap<String, String>,
    /// The part that is made, if not all are.
    pub(crate) shard: Option<Shard>,
    /// Folders that are merged.
    pub(crate) parts: Vec<Part>,
}

impl Making {
    /// By this process, on a machine with these properties.
    pub(crate) fn here(host: BTreeMap<String, String>) -> Self {
        Self { command: words(), host, ..Self::default() }
    }
}

/// Refusal of a part where a whole study is needed.
pub(crate) fn is_a_part(folder: &Path, shard: Shard) -> Failure {
    let message = format!("{} has shard {shard} of a study", folder.display());
    Failure::usage(message).with_fix("tidewire merge FOLDERS puts its shards together")
}

/// Words of this process's command line, without the options of a page: they change no result.
pub(crate) fn words() -> Vec<String> {
    page::without_page(std::env::args_os().map(|word| word.to_string_lossy().into_owned()))
}

/// Findings in addition to the samples.
pub(crate) struct Findings<'a> {
    /// The points that were run.
    pub(crate) points: &'a [Point],
    /// True if they were simulated, so that bounds from theory are printed with them.
    pub(crate) is_predicted: bool,
    /// Noise of the host that measured, in nanoseconds; none of simulated runs.
    pub(crate) host_noise_ns: Option<u64>,
    /// Requirements that looks at growing data judged; those of the scenario are judged by the report
    /// where there are none.
    pub(crate) judged: Option<Vec<Judged>>,
    /// Key whose differences are printed, if any.
    pub(crate) differences: Option<&'a str>,
    /// Number of flows, or groups of them, with rows of their own.
    pub(crate) top: usize,
}

impl<'a> Findings<'a> {
    /// The machines of simulated stations that take time, and their titles.
    fn machines(&self) -> BTreeMap<&'a str, &'a str> {
        let points = self.points.iter().filter(|_| self.is_predicted);
        let machines = points.flat_map(|point| point.scenario.machines.iter());
        let machines = machines.filter(|(_, profile)| !profile.is_ideal());
        machines.map(|(name, profile)| (name.as_str(), profile.title.as_str())).collect()
    }
}

/// Outcome of a study.
pub(crate) struct Outcome {
    /// Report of the study.
    pub(crate) report: Report,
    /// Verdicts on the requirements.
    pub(crate) judged: Vec<Judged>,
    /// Run folder, if any.
    pub(crate) folder: Option<PathBuf>,
}

impl Outcome {
    /// Exit of a command with this outcome.
    pub(crate) fn exit(&self) -> Exit {
        match worst(&self.judged) {
            Verdict::Pass => Exit::Ok,
            Verdict::Fail => Exit::RequirementNotMet,
            Verdict::Undecided => Exit::Undecided,
        }
    }
}

/// The line of NDJSON between the samples and the end.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename = "report")]
#[schemars(rename = "ReportRecord")]
pub(crate) struct Record<'a> {
    folder: Option<&'a Path>,
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "<[Judged]>::is_empty")]
    requirements: &'a [Judged],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    limits: Vec<Limit>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    profiles: BTreeMap<&'a str, &'a str>,
}

impl<'a> Recording<'a> {
    /// Makes the run folder, unless none is wanted.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub(crate) fn begin(
        chosen: &Chosen,
        run: &RunOptions,
        making: Making,
        output: &'a Output,
    ) -> anyhow::Result<Self> {
        let keep = Some(Keep { root: run.output.clone(), limits: run.keep.limits()? });
        let folder = if run.no_save { None } else { Some(create(chosen, run, making)?) };
        let samples = Shared::new(Vec::new());
        Ok(Self { output, folder, kept: VecDeque::new(), samples, page: None, keep })
    }

    /// Goes on with a folder that has these samples, which are printed again but not written.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(crate) fn resume(path: &Path, made: &[Sample], output: &'a Output) -> anyhow::Result<Self> {
        let folder = Folder::reopen(path, made.len())
            .with_context(|| format!("cannot go on with {}", path.display()))?;
        let kept = made.iter().map(|sample| (sample.point, sample.replication)).collect();
        let samples = Shared::new(Vec::new());
        Ok(Self { output, folder: Some(folder), kept, samples, page: None, keep: None })
    }

    /// Shows the samples on a page too.
    #[must_use]
    pub(crate) fn on(mut self, page: Option<StudyPage>) -> Self {
        if let Some(page) = &page {
            self.samples = page.state().samples();
            page.state().begin(self.folder.as_ref().map(Folder::path), self.kept.len());
        }
        Self { page, ..self }
    }

    /// Run folder, if there is one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_ref().map(Folder::path)
    }

    /// State of the page, if there is one.
    pub(crate) fn page(&self) -> Option<Arc<StudyState>> {
        self.page.as_ref().map(|page| Arc::clone(page.state()))
    }

    /// Takes what one run gave.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(crate) fn sample(&mut self, sample: Sample) -> std::io::Result<()> {
        let Sample { point, replication, seed, ended_at_ns, .. } = &sample;
        let ended = records::quantity::span(*ended_at_ns);
        details::detail(format_args!(
            "point {point}, repetition {replication}, seed {seed}: {ended}"
        ));
        match (self.kept.pop_front(), &mut self.folder) {
            (Some(kept), _) if kept == (sample.point, sample.replication) => {}
            (Some(_), _) => {
                let message = "the folder has other runs than this study makes";
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, message));
            }
            (None, Some(folder)) => folder.sample(&sample)?,
            (None, None) => {}
        }
        let line = Line::Sample(Box::new(sample));
        self.output.record(&line)?;
        if let Line::Sample(sample) = line {
            self.samples.lock().push(*sample);
        }
        Ok(())
    }

    /// Removes the run folder if it holds no sample, and the folder of runs if it was made for this one.
    ///
    /// # Errors
    /// A folder that cannot be removed.
    pub(crate) fn discard_if_empty(&mut self) -> std::io::Result<()> {
        if !self.samples.lock().is_empty() {
            return Ok(());
        }
        self.folder.take().map_or(Ok(()), Folder::discard)
    }

    /// Writes the end record of a part, which is no study to report on; returns its folder.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(crate) fn close(self, error: Option<String>) -> anyhow::Result<Option<PathBuf>> {
        let end = End { complete: error.is_none(), error };
        let path = finish(self.folder, &end)?;
        self.output.record(&Line::End(end))?;
        Ok(path)
    }

    /// Writes the end record, and prints the report.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(crate) fn end(
        self,
        error: Option<String>,
        findings: Findings<'_>,
    ) -> anyhow::Result<Outcome> {
        let Self { output, folder, samples, page, keep, .. } = self;
        let end = End { complete: error.is_none(), error };
        let path = finish(folder, &end)?;
        let bounded: &[Point] = if findings.is_predicted { findings.points } else { &[] };
        let (report, utilisation) = {
            let samples = samples.lock();
            let report = analyse(&samples, LEVEL);
            let report = report.with_host_noise(&samples, findings.host_noise_ns);
            (report, Utilisation::of(&samples))
        };
        let report = report.with_groups(findings.points).with_bounds(bounded);
        let profiles = findings.machines();
        let judged = findings.judged.unwrap_or_else(|| judge(&report, findings.points));
        let (folder, requirements) = (path.as_deref(), judged.as_slice());
        if let Some(page) = &page {
            page.state().end(end.error.clone(), &judged);
        }
        let limits = report::limits(&report, &judged);
        output.record(&Record {
            folder,
            report: &report,
            requirements,
            limits: limits.clone(),
            profiles: profiles.clone(),
        })?;
        if let Some(key) = findings.differences {
            paired_differences::record(&report, key, output)?;
        }
        output.record(&Line::End(end))?;
        report::tell(&report, findings.top, output)?;
        for (name, title) in &profiles {
            output.line(wrapped(&format!("  machine {}: ", Printable(name)), title))?;
        }
        utilisation.print(output)?;
        // Last, because the end of long output is what is seen.
        report::tell_overview(&report, findings.top, output)?;
        verdicts::tell(&judged, &report, findings.top, output)?;
        report::tell_limits(&limits, output)?;
        if let Some(key) = findings.differences {
            paired_differences::tell(&report, key, findings.top, output)?;
        }
        if let Some(path) = &path {
            output.remark(format_args!("run folder: {}", path.display()));
        }
        if let (Some(keep), Some(path)) = (&keep, &path) {
            keep.apply(&[path], output)?;
        }
        if let Some(page) = page {
            page.close();
        }
        Ok(Outcome { report, judged, folder: path })
    }
}

/// Stores samples that were printed already, and returns the folder.
///
/// # Errors
/// The samples cannot be written.
pub(crate) fn keep(
    chosen: &Chosen,
    run: &RunOptions,
    samples: &[Sample],
    error: Option<String>,
) -> anyhow::Result<Option<PathBuf>> {
    let mut folder = create(chosen, run, Making::here(host::facts()))?;
    samples.iter().try_for_each(|sample| folder.sample(sample))?;
    finish(Some(folder), &End { complete: error.is_none(), error })
}

/// The run folder itself, or the latest in a folder that `--output` named.
pub(crate) fn latest(path: &Path, kept: Kept, output: &Output) -> PathBuf {
    let found = below(path, kept);
    let Some(latest) = found.last() else { return path.to_owned() };
    if found.len() > 1 {
        output.remark(format_args!(
            "{} has {} run folders; the latest is {}",
            path.display(),
            found.len(),
            latest.display()
        ));
    }
    latest.clone()
}

fn finish(folder: Option<Folder>, end: &End) -> anyhow::Result<Option<PathBuf>> {
    Ok(folder.map(|folder| folder.end(end.clone())).transpose()?)
}

fn create(chosen: &Chosen, run: &RunOptions, making: Making) -> anyhow::Result<Folder> {
    let scenario = chosen.study.scenario();
    let Making { command, host, shard, parts } = making;
    let provenance = Provenance {
        title: scenario.title.clone(),
        command,
        scenario_hash: chosen.hash(),
        seed: scenario.seed,
        program_version: PROGRAM_VERSION.to_owned(),
        started: calendar::folder_name(clock::wall()),
        host,
        profiles: folder::used_profiles(&chosen.study),
        models: folder::used_models(&chosen.study),
        set: chosen.set.clone(),
        shard,
        parts,
    };
    Folder::create(&run.output, &folder_name(chosen, shard), &chosen.study, &provenance)
        .map_err(|error| Failure::no_folder(&run.output, &error).into())
}

/// Name of a run folder behind its time.
pub(crate) fn folder_name(chosen: &Chosen, shard: Option<Shard>) -> String {
    match shard {
        None => chosen.name.clone(),
        Some(shard) => format!("{}-shard-{}-of-{}", chosen.name, shard.number(), shard.of()),
    }
}
