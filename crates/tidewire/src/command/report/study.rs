//! Studies: samples with the scenario and the requirements of their folder, and its timeline.

use super::source::{Records, Source};
use crate::args::{Cli, RunOptions, Verb};
use crate::exit::Failure;
use crate::interrupt;
use crate::output::Output;
use crate::runs;
use crate::scenario_choice::{self, Purpose};
use bench::PROGRAM_VERSION;
use bench::analysis::analyse;
use bench::folder::{self, Provenance, Results};
use bench::run::look_at;
use bench::sample::Sample;
use bench::scenario::{Point, Requirement, Setting, Study};
use bench::timeline::{Window, timeline};
use bench::verdict::{Judged, judge, level_of_look};
use clap::Parser as _;
use reports::Document;
use reports::document::{Acceptance, Illustration};
use reports::figure::Picture;
use reports::glossary::Glossary;
use reports::hgrm::read::Percentiles;
use reports::hgrm::{self, Spectrum};
use reports::of_study::{LEVEL, StudyRun, of_study};
use reports::text::Text;
use reports::timeline::{Run, picture};
use std::path::Path;

/// A run that was read.
struct Read {
    path: String,
    results: Results,
    provenance: Option<Provenance>,
    points: Vec<Point>,
    judged: Option<Vec<Judged>>,
    timeline: Option<Wanted>,
}

/// Timeline of a run folder.
struct Wanted {
    window: Window,
    repetition: u64,
    scenario: String,
}

impl Read {
    fn run<'a>(&'a self, percentiles: &'a [Percentiles]) -> StudyRun<'a> {
        StudyRun {
            path: &self.path,
            results: &self.results,
            provenance: self.provenance.as_ref(),
            points: &self.points,
            judged: self.judged.clone(),
            percentiles,
        }
    }

    /// The timeline in the folder, whose run is made again; none if the folder has none.
    fn timeline(&self) -> Option<Picture> {
        let Wanted { window, repetition, scenario } = self.timeline.as_ref()?;
        let point = self.points.first()?;
        let made = timeline(point, *repetition, *window, &interrupt::requested).ok()?;
        let run = Run { scenario, settings: &point.settings, repetition: *repetition };
        Some(picture(&made, run))
    }
}

pub(super) fn document(
    reported: &Source,
    baseline: Option<&Source>,
    acceptance: Acceptance,
    glossary: &Glossary,
    files: &[Percentiles],
) -> anyhow::Result<Document> {
    let reported = read(reported)?;
    let baseline = baseline.map(read).transpose()?;
    let baseline = baseline.as_ref().map(|read| read.run(&[]));
    let mut document = of_study(&reported.run(files), baseline.as_ref(), acceptance, glossary);
    let drawn =
        reported.timeline().map(|picture| Illustration { picture, thinned: Text::default() });
    document.pictures.extend(drawn);
    Ok(document)
}

/// Percentiles of the times of all flows.
pub(super) fn spectra(source: &Source) -> Result<Vec<Spectrum>, Failure> {
    let read = read(source)?;
    Ok(hgrm::spectra(&read.run(&[]).report(), &read.results.samples))
}

fn read(source: &Source) -> Result<Read, Failure> {
    if source.records != Records::Samples {
        let message = format!("{} holds no samples", source.path.display());
        return Err(Failure::usage(message).with_fix("compare two runs of one kind"));
    }
    let failed =
        |error: folder::ReadError| Failure::failed(error.to_string()).with_fix("make the run anew");
    let results = folder::read(&source.path).map_err(failed)?;
    let is_folder = source.path.is_dir();
    let provenance =
        if is_folder { Some(folder::provenance(&source.path).map_err(failed)?) } else { None };
    if let Some(shard) = provenance.as_ref().and_then(|provenance| provenance.shard) {
        return Err(runs::is_a_part(&source.path, shard));
    }
    let path = source.path.display().to_string();
    let made = provenance.as_ref().map(made).unwrap_or_default();
    let study = provenance.as_ref().and_then(|provenance| study(source, provenance, &made));
    let points = study.map(|study| study.points).unwrap_or_default();
    let judged = made.is_growing.then(|| at_looks(&results, &points));
    let is_ours = provenance.as_ref().is_some_and(|it| it.program_version == PROGRAM_VERSION);
    let has_timeline = is_ours && source.path.join("timeline.csv").is_file();
    let timeline = made.timeline.filter(|_| has_timeline);
    Ok(Read { path, results, provenance, points, judged, timeline })
}

/// Verdicts of runs that grew until they were enough: each look at them is another chance of error, so that a point is
/// judged at the level of its last look, as `predict` did ([`bench::run::run_until`]).
fn at_looks(results: &Results, points: &[Point]) -> Vec<Judged> {
    let mut judged = Vec::new();
    let first = points.iter().map(|point| point.scenario.replications).max().unwrap_or(1);
    for point in points {
        let samples = results.samples.iter().filter(|sample| sample.point == point.index);
        let here: Vec<Sample> = samples.cloned().collect();
        let look = look_at(here.len() as u64, first);
        let report = analyse(&here, level_of_look(LEVEL, look)).with_bounds(points);
        judged.extend(judge(&report, points));
    }
    judged
}

/// Options of the command that made a run.
#[derive(Default)]
struct Made {
    run: RunOptions,
    vary: Vec<Setting>,
    require: Vec<Requirement>,
    /// True if runs were added until they were enough.
    is_growing: bool,
    timeline: Option<Wanted>,
}

fn made(provenance: &Provenance) -> Made {
    match Cli::try_parse_from(&provenance.command).map(|cli| cli.verb) {
        Ok(Verb::Predict(options)) => Made {
            vary: options.settings(),
            timeline: options.timeline.map(|window| Wanted {
                window,
                repetition: options.repetition.unwrap_or(0),
                scenario: name(options.scenario.as_deref()),
            }),
            run: options.run,
            is_growing: options.until.until_decided || options.until.precision.is_some(),
            require: options.until.require,
        },
        Ok(Verb::Measure(options)) => {
            Made { run: options.run, require: options.require, ..Made::default() }
        }
        _ => Made::default(),
    }
}

/// Name of a scenario by the word that named it.
fn name(scenario: Option<&str>) -> String {
    let path = Path::new(scenario.filter(|word| *word != "-").unwrap_or("stdin"));
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The study of a folder, with the keys and requirements of its command line; none if its scenario cannot be read by
/// this version.
fn study(source: &Source, provenance: &Provenance, made: &Made) -> Option<Study> {
    let scenario = source.path.join("scenario.toml");
    let purpose = Purpose::Resume(provenance.copies(&source.path));
    let quiet = Output { json: false, quiet: true };
    let scenario = scenario.to_string_lossy();
    let mut chosen =
        scenario_choice::choose_with(&scenario, &purpose, &made.run, &made.vary, &quiet).ok()?;
    scenario_choice::require(&mut chosen, &made.require).ok()?;
    Some(chosen.study)
}
