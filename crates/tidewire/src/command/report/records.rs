//! Records of watch and reproduce, with the provenance of their folder.

use super::source::{Records, Source};
use crate::exit::Failure;
use crate::interrupt;
use reports::Document;
use reports::document::Acceptance;
use reports::glossary::Glossary;
use reports::layers::{self, LayersRun};
use reports::of_rows::{Rows, of_rows};
use reports::of_stream::{Measures, of_stream};
use reports::provenance::Provenance;
use std::fs::{self, File};
use std::io::BufReader;

/// The report of a stream of measures.
pub(super) fn of_measures(
    reported: &Source,
    baseline: Option<&Source>,
    acceptance: Acceptance,
    glossary: &Glossary,
) -> Result<Document, Failure> {
    let measures = measures(reported)?;
    let baseline = baseline.map(self::measures).transpose()?;
    let provenance = provenance(reported)?;
    Ok(of_stream(&measures, provenance.as_ref(), baseline.as_ref(), acceptance, glossary))
}

/// The report of a reproduction.
pub(super) fn of_reproduction(
    reported: &Source,
    acceptance: Acceptance,
    glossary: &Glossary,
) -> Result<Document, Failure> {
    let rows = Rows::read(open(reported)?).map_err(|error| unreadable(reported, &error))?;
    let provenance = provenance(reported)?;
    Ok(of_rows(&rows, provenance.as_ref(), acceptance, glossary))
}

/// The report of the cost of layers.
pub(super) fn of_layers(
    reported: &Source,
    acceptance: Acceptance,
    glossary: &Glossary,
) -> Result<Document, Failure> {
    let run = LayersRun::read(open(reported)?).map_err(|error| unreadable(reported, &error))?;
    Ok(layers::of_layers(&run, &reported.path.to_string_lossy(), acceptance, glossary))
}

fn measures(source: &Source) -> Result<Measures, Failure> {
    if source.records != Records::Measures {
        let message = format!("{} is no stream of measures", source.path.display());
        return Err(Failure::usage(message).with_fix("compare two runs of one kind"));
    }
    Measures::read(open(source)?).map_err(|error| unreadable(source, &error))
}

fn open(source: &Source) -> Result<BufReader<File>, Failure> {
    interrupt::open(&source.file).map(BufReader::new).map_err(|error| unreadable(source, &error))
}

fn unreadable(source: &Source, error: &dyn core::fmt::Display) -> Failure {
    Failure::failed(format!("cannot read {}: {error}", source.file.display()))
        .with_fix("make the run anew")
}

/// Provenance in a run folder; none of a file of records.
fn provenance(source: &Source) -> Result<Option<Provenance>, Failure> {
    if source.path == source.file {
        return Ok(None);
    }
    let text = fs::read_to_string(source.path.join("run.json"))
        .map_err(|error| unreadable(source, &error))?;
    serde_json::from_str(&text).map(Some).map_err(|error| unreadable(source, &error))
}
