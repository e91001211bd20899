//! `tidewire report`: a run as one page, or in a form for other programs. It reads the run and nothing else.

mod records;
mod source;
mod study;

use crate::args::report::{Form, Report};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::output_file::{self, Inputs};
use crate::percentiles;
use bench::paragraph::wrapped;
use reports::Document;
use reports::document::Acceptance;
use reports::glossary::Glossary;
use reports::hgrm::Spectrum;
use reports::hgrm::read::Percentiles;
use reports::of_percentiles::{MOST_FILES, of_percentiles};
use reports::text::Text;
use serde::Serialize;
use source::{Records, Source};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Files of percentiles.
const MOST_SPECTRA: usize = 1_000;

/// NDJSON record of a written report.
#[derive(Serialize)]
#[serde(tag = "type", rename = "report-file")]
struct Record<'a> {
    path: &'a Path,
    run: &'a Path,
    verdict: &'a str,
    reason: &'a str,
    octets: usize,
}

pub(crate) fn run(options: &Report, output: &Output) -> anyhow::Result<Exit> {
    let (files, runs): (Vec<&PathBuf>, Vec<&PathBuf>) =
        options.runs.iter().partition(|path| percentiles::is_file(path));
    percentiles::check(options.hgrm_unit, !files.is_empty())?;
    are_few("runs", runs.len(), 2)?;
    are_few("files of percentiles", files.len(), MOST_FILES)?;
    let read = |path: &&PathBuf| percentiles::read(path, options.hgrm_unit);
    let read = files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let sources =
        runs.iter().map(|run| Source::find(run, output)).collect::<Result<Vec<_>, _>>()?;
    let Some((reported, baseline)) = sources.split_last() else {
        return of_files(&files, &read, options, output);
    };
    let path = options.output.clone().unwrap_or_else(|| reported.place(options.format));
    let inputs = sources.iter().flat_map(Source::files).chain(files.iter().copied().cloned());
    Inputs::of(inputs).refuse("--output", &path)?;
    if let Some(folder) = &options.hgrm {
        hgrm(reported, folder, output)?;
    }
    let document = document(reported, baseline.first(), acceptance(options), &read)?;
    write(&document, &path, &reported.path, options, output)
}

fn acceptance(options: &Report) -> Acceptance {
    Acceptance {
        tester: options.tester.as_ref().map(Text::from),
        tested_at: options.tested_at.as_ref().map(Text::from),
    }
}

/// Refuses more of something than a report takes.
fn are_few(name: &str, given: usize, most: usize) -> Result<(), Failure> {
    if given > most {
        let message = format!("{given} {name} are more than the {most} of a report");
        return Err(Failure::usage(message).with_fix("tidewire help output"));
    }
    Ok(())
}

/// Report of files of percentiles alone.
fn of_files(
    files: &[&PathBuf],
    read: &[Percentiles],
    options: &Report,
    output: &Output,
) -> anyhow::Result<Exit> {
    let Some(last) = files.last() else { return Ok(Exit::Usage) };
    if options.hgrm.is_some() {
        let fix = "name a run of predict or measure, or leave --hgrm out";
        return Err(Failure::usage("--hgrm: no run is named").with_fix(fix).into());
    }
    let path = options.output.clone().unwrap_or_else(|| next_to(last, options.format));
    Inputs::of(files.iter().copied().cloned()).refuse("--output", &path)?;
    let document = of_percentiles(read, acceptance(options), &glossary());
    write(&document, &path, last, options, output)
}

/// Writes a report in the requested form.
fn write(
    document: &Document,
    path: &Path,
    run: &Path,
    options: &Report,
    output: &Output,
) -> anyhow::Result<Exit> {
    let text = match options.format {
        Form::Html => reports::html::html(document),
        Form::Md => reports::markdown::markdown(document),
        Form::Junit => reports::junit::junit(document)?,
        Form::Github => reports::github::github(document),
    };
    if path.as_os_str() == "-" {
        std::io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(Exit::Ok);
    }
    output_file::write(path, text.as_bytes())
        .map_err(|error| Failure::cannot_write(path, &error))?;
    tell(document, path, run, text.len(), output)?;
    Ok(Exit::Ok)
}

/// Writes the times of each flow of a study into a folder, a file for each.
fn hgrm(reported: &Source, folder: &Path, output: &Output) -> anyhow::Result<()> {
    if reported.records != Records::Samples {
        let message = format!("--hgrm: {} holds no samples", reported.path.display());
        let fix = "name a run of predict or measure, or leave --hgrm out";
        return Err(Failure::usage(message).with_fix(fix).into());
    }
    let spectra = study::spectra(reported)?;
    if spectra.len() > MOST_SPECTRA {
        let message = format!("--hgrm: {} files are more than {MOST_SPECTRA}", spectra.len());
        return Err(Failure::usage(message)
            .with_fix("report a run with fewer points or flows")
            .into());
    }
    std::fs::create_dir_all(folder).map_err(|error| Failure::no_folder(folder, &error))?;
    for Spectrum { point, number, flow, kind, text } in &spectra {
        // Numbers keep names apart that are the same as names of files.
        let name =
            format!("point-{point}-flow-{number}-{}-{kind}.hgrm", bench::folder::plain(flow));
        let path = folder.join(name);
        output_file::write(&path, text.as_bytes())
            .map_err(|error| Failure::cannot_write(&path, &error))?;
    }
    output.remark(format_args!("{} files of percentiles: {}", spectra.len(), folder.display()));
    Ok(())
}

/// The report of the last of these runs as a page, compared with the one before it if there are two.
///
/// # Errors
/// A run that cannot be read, or two that cannot be compared.
pub(super) fn html_of(runs: &[PathBuf]) -> anyhow::Result<String> {
    let quiet = Output { json: false, quiet: true };
    let sources =
        runs.iter().map(|run| Source::find(run, &quiet)).collect::<Result<Vec<_>, _>>()?;
    let Some((reported, baseline)) = sources.split_last() else { return Ok(String::new()) };
    let document = document(reported, baseline.first(), Acceptance::default(), &[])?;
    Ok(reports::html::html(&document))
}

fn document(
    reported: &Source,
    baseline: Option<&Source>,
    acceptance: Acceptance,
    files: &[Percentiles],
) -> anyhow::Result<Document> {
    let glossary = glossary();
    Ok(match reported.records {
        Records::Samples => study::document(reported, baseline, acceptance, &glossary, files)?,
        _ if !files.is_empty() => {
            let message = format!("{} holds no samples", reported.path.display());
            let fix = "files of percentiles are drawn with a run of predict or measure, or alone";
            return Err(Failure::usage(message).with_fix(fix).into());
        }
        Records::Measures => records::of_measures(reported, baseline, acceptance, &glossary)?,
        Records::Rows | Records::Layers if baseline.is_some() => {
            let message = "a reproduction and costs of layers are not compared with another run";
            return Err(Failure::usage(message).with_fix("name one run").into());
        }
        Records::Layers => records::of_layers(reported, acceptance, &glossary)?,
        Records::Rows => records::of_reproduction(reported, acceptance, &glossary)?,
    })
}

fn glossary() -> Glossary {
    Glossary::read(include_str!("../../../help/glossary.md"))
}

/// Prints the verdict and the path of the report.
fn tell(
    document: &Document,
    path: &Path,
    run: &Path,
    octets: usize,
    output: &Output,
) -> std::io::Result<()> {
    let (verdict, reason) = (document.verdict.word.as_str(), document.verdict.reason.as_str());
    output.record(&Record { path, run, verdict, reason, octets })?;
    if !output.json {
        output.line(wrapped("", &format!("{verdict}: {reason}")))?;
    }
    output.remark(format_args!("report: {}", path.display()));
    Ok(())
}

/// Path of a report next to a file of records.
fn next_to(file: &Path, form: Form) -> PathBuf {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{name}-{}", form.file()))
}
