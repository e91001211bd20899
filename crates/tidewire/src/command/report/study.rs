//! Studies: samples with the scenario and the requirements of their folder.

use super::source::{Records, Source};
use crate::args::{Cli, Verb};
use crate::exit::Failure;
use crate::output::Output;
use crate::scenario_choice::{self, Purpose};
use bench::folder::{self, Provenance, Results};
use bench::scenario::{Point, Requirement, Setting, Study};
use bench::verdict::Judged;
use clap::Parser as _;
use reports::Document;
use reports::document::Acceptance;
use reports::glossary::Glossary;
use reports::of_study::{StudyRun, of_study};

/// A run that was read.
struct Read {
    path: String,
    results: Results,
    provenance: Option<Provenance>,
    points: Vec<Point>,
    judged: Option<Vec<Judged>>,
}

impl Read {
    fn run(&self) -> StudyRun<'_> {
        StudyRun {
            path: &self.path,
            results: &self.results,
            provenance: self.provenance.as_ref(),
            points: &self.points,
            judged: self.judged.clone(),
        }
    }
}

pub(super) fn document(
    reported: &Source,
    baseline: Option<&Source>,
    acceptance: Acceptance,
    glossary: &Glossary,
) -> anyhow::Result<Document> {
    let reported = read(reported)?;
    let baseline = baseline.map(read).transpose()?;
    let baseline = baseline.as_ref().map(Read::run);
    Ok(of_study(&reported.run(), baseline.as_ref(), acceptance, glossary))
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
    let path = source.path.display().to_string();
    let study = provenance.as_ref().and_then(|provenance| study(source, provenance));
    let points = study.map(|study| study.points).unwrap_or_default();
    Ok(Read { path, results, provenance, points, judged: None })
}

/// Options of the command that made a run.
#[derive(Default)]
struct Made {
    vary: Vec<Setting>,
    require: Vec<Requirement>,
}

/// The study of a folder, with the keys and requirements of its command line; none if its scenario cannot be read by
/// this version.
fn study(source: &Source, provenance: &Provenance) -> Option<Study> {
    let scenario = source.path.join("scenario.toml");
    let purpose = Purpose::Resume(provenance.copies(&source.path));
    let quiet = Output { json: false, quiet: true };
    let cli = Cli::try_parse_from(&provenance.command).ok();
    let (run, made) = match cli.map(|cli| cli.verb) {
        Some(Verb::Predict(options)) => {
            (options.run, Made { vary: options.vary, require: options.until.require })
        }
        Some(Verb::Measure(options)) => {
            (options.run, Made { require: options.require, ..Made::default() })
        }
        _ => (crate::args::RunOptions::default(), Made::default()),
    };
    let scenario = scenario.to_string_lossy();
    let mut chosen =
        scenario_choice::choose_with(&scenario, &purpose, &run, &made.vary, &quiet).ok()?;
    scenario_choice::require(&mut chosen, &made.require).ok()?;
    Some(chosen.study)
}
