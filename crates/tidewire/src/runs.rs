//! What is kept of the runs of a study: samples as they come, the report, how it ended.

use crate::args::RunOptions;
use crate::output::Output;
use crate::report;
use crate::study::Chosen;
use crate::{calendar, host};
use anyhow::Context;
use bench::PROGRAM_VERSION;
use bench::analysis::{Report, analyse};
use bench::folder::{Folder, Provenance};
use bench::sample::{End, Line, Sample};
use live::clock;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The confidence of every interval that is told.
pub(crate) const LEVEL: f64 = 0.95;

/// Where samples go while a study is run.
pub(crate) struct Recording<'a> {
    output: &'a Output,
    folder: Option<Folder>,
    samples: Vec<Sample>,
}

/// The line of NDJSON between the samples and the end.
#[derive(Serialize)]
#[serde(tag = "type", rename = "report")]
struct Record<'a> {
    folder: Option<&'a Path>,
    #[serde(flatten)]
    report: &'a Report,
}

impl<'a> Recording<'a> {
    /// Makes the run folder, unless none is wanted.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub(crate) fn begin(
        chosen: &Chosen,
        run: &RunOptions,
        output: &'a Output,
    ) -> anyhow::Result<Self> {
        let folder = if run.no_save { None } else { Some(create(chosen, run)?) };
        Ok(Self { output, folder, samples: Vec::new() })
    }

    /// Takes what one run gave.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn sample(&mut self, sample: Sample) -> std::io::Result<()> {
        if let Some(folder) = &mut self.folder {
            folder.sample(&sample)?;
        }
        let line = Line::Sample(Box::new(sample));
        self.output.record(&line)?;
        if let Line::Sample(sample) = line {
            self.samples.push(*sample);
        }
        Ok(())
    }

    /// Writes how it ended, and tells what was found.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn end(self, error: Option<String>) -> anyhow::Result<Report> {
        let Self { output, folder, samples } = self;
        let end = End { complete: error.is_none(), error };
        let path = finish(folder, &end)?;
        let report = analyse(&samples, LEVEL);
        output.record(&Record { folder: path.as_deref(), report: &report })?;
        output.record(&Line::End(end))?;
        report::tell(&report, output)?;
        if let Some(path) = path {
            output.remark(format_args!("run folder: {}", path.display()));
        }
        Ok(report)
    }
}

/// Keeps samples that were told already; where.
///
/// # Errors
/// Where they cannot be written.
pub(crate) fn keep(
    chosen: &Chosen,
    run: &RunOptions,
    samples: &[Sample],
    error: Option<String>,
) -> anyhow::Result<Option<PathBuf>> {
    let mut folder = create(chosen, run)?;
    samples.iter().try_for_each(|sample| folder.sample(sample))?;
    finish(Some(folder), &End { complete: error.is_none(), error })
}

fn finish(folder: Option<Folder>, end: &End) -> anyhow::Result<Option<PathBuf>> {
    Ok(folder.map(|folder| folder.end(end.clone())).transpose()?)
}

fn create(chosen: &Chosen, run: &RunOptions) -> anyhow::Result<Folder> {
    let text = chosen.text();
    let scenario = chosen.study.scenario();
    let provenance = Provenance {
        title: scenario.title.clone(),
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        scenario_hash: chosen.hash(),
        seed: scenario.seed,
        program_version: PROGRAM_VERSION.to_owned(),
        started: calendar::folder_name(clock::wall()),
        host: host::facts(),
    };
    Folder::create(&run.output, &chosen.name, text, &provenance)
        .with_context(|| format!("cannot write a run folder in {}", run.output.display()))
}
