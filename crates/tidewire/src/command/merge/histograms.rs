//! Histograms of several runs of `watch --hdr` as their sum.
//!
//! The total of each run has the distribution of each delay. Runs whose delays have another meaning or another
//! choice, and a run that is given twice, are refused: their sum would describe no traffic.

use crate::args::merge::Merge;
use crate::command::watch::digest::{self, StreamDigest};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::Output;
use crate::quantity::{self, span};
use crate::record_folder::{MEASURES, RecordFolder};
use crate::table::{Align, Table};
use bench::sample::{End as LastEnd, Line};
use meter::registry::Measure;
use records::{Counts, Head, Histograms, Reader, Record as OfStream, Total, delay_names};
use reports::provenance::{Provenance, ReadCapture};
use schemars::JsonSchema;
use serde::Serialize;
use stats::hdr::Sum;
use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// File of the merged histograms in a run folder.
const HISTOGRAMS: &str = "histograms.ndjson";
/// Most octets of a `run.json`.
const MOST_PROVENANCE_OCTETS: u64 = 16 << 20;

/// Run that was read.
struct Part {
    about: About,
    schema: String,
    only: Option<Vec<String>>,
    selection: Selection,
}

/// Delays in the total of a run.
struct Distributions {
    histograms: Histograms,
    measures: Counts,
}

/// Frames that a run has read.
#[derive(Default)]
struct Selection {
    /// SHA-256 of each capture.
    hashes: Vec<String>,
    filter: Option<String>,
}

/// Run in the record of the merge.
#[derive(Serialize, JsonSchema)]
struct About {
    path: PathBuf,
    source: String,
    /// SHA-256 of the file of records.
    sha256: Option<String>,
    start_ns: u64,
    length_ns: u64,
    complete: bool,
    error: Option<String>,
}

/// Sum of the distributions of a delay.
#[derive(Default)]
struct Delay {
    name: String,
    parts: usize,
    sum: Sum,
    /// Least and greatest delay of the runs so far; none if the records of one do not state them.
    extremes: Option<Extremes>,
}

/// Least and greatest value, in nanoseconds.
#[derive(Clone, Copy)]
struct Extremes {
    min_ns: u64,
    max_ns: u64,
}

/// NDJSON record of the merge.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename = "merged-histograms")]
#[schemars(rename = "MergedHistogramsRecord")]
pub(crate) struct Record<'a> {
    /// Run folder; none with --no-save.
    folder: Option<&'a Path>,
    parts: Vec<&'a About>,
    delays: Vec<Merged<'a>>,
}

/// Sum of the distributions of a delay, in nanoseconds. Quantiles are upper edges of classes, at most 0.8 % wide.
#[derive(Serialize, JsonSchema)]
struct Merged<'a> {
    delay: &'a str,
    /// Number of runs that have this delay.
    parts: usize,
    count: u64,
    /// True if `min_ns` and `max_ns` are exact; else they are edges of classes, because --only left out the measures
    /// that state them.
    exact: bool,
    min_ns: Option<u64>,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    p999_ns: Option<u64>,
    max_ns: Option<u64>,
    /// The histogram, as `watch --hdr` writes it.
    histogram: String,
}

/// Adds the histograms of these files of records.
pub(super) fn run(files: &[PathBuf], options: &Merge, output: &Output) -> anyhow::Result<Exit> {
    refuse_options_of_studies(options)?;
    let limits = options.keep.limits()?;
    let mut delays: Vec<Delay> =
        delay_names().map(|name| Delay { name, ..Delay::default() }).collect();
    let mut parts: Vec<Part> = Vec::new();
    for file in files {
        let (part, total) = read(file)?;
        parts.iter().try_for_each(|earlier| agree(earlier, &part))?;
        add(&mut delays, &total, file)?;
        parts.push(part);
        if interrupt::requested() {
            return Ok(Exit::Interrupted);
        }
    }
    delays.retain(|delay| delay.parts > 0);
    let title = format!("histograms of {} runs", parts.len());
    let create = || RecordFolder::create(&options.output, "histograms", &title, HISTOGRAMS, None);
    let mut folder = (!options.no_save).then(create).transpose()?.map(|it| it.within(limits));
    let path = folder.as_ref().map(|folder| folder.path().to_owned());
    let record = record(path.as_deref(), &parts, &delays);
    let end = Line::End(LastEnd { complete: true, error: None });
    if let Some(folder) = &mut folder {
        folder.record(&record);
        folder.record(&end);
    }
    output.record(&record)?;
    output.record(&end)?;
    print(&record, output)?;
    for About { path, error, .. } in record.parts.iter().filter(|part| !part.complete) {
        let error = error.as_deref().unwrap_or("no reason is given");
        output.remark(format_args!("warning: {} is not complete: {error}", path.display()));
    }
    folder.map_or(Ok(()), |folder| folder.finish(output))?;
    Ok(Exit::Ok)
}

/// Refuses the options that only a study has.
fn refuse_options_of_studies(options: &Merge) -> Result<(), Failure> {
    let given = [
        ("--figure", options.figure.is_some()),
        ("--plot", options.plot),
        ("--differences", options.differences.is_some()),
    ];
    let Some((name, _)) = given.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    let message = format!("{name} goes with shards of a study, not with histograms");
    Err(Failure::usage(message).with_fix("leave it out"))
}

/// Reads a file of records, and the provenance next to it.
fn read(file: &Path) -> Result<(Part, Distributions), Failure> {
    let wrong = |error: &dyn core::fmt::Display| {
        Failure::failed(format!("cannot read {}: {error}", file.display()))
    };
    let digest = StreamDigest::default();
    let from = interrupt::open(file).map_err(|error| wrong(&error))?;
    let (mut reader, head) =
        Reader::open(BufReader::new(digest.of(from))).map_err(|error| wrong(&error))?;
    let (mut total, mut end) = (None, None);
    while let Some(record) = reader.next_record().map_err(|error| wrong(&error))? {
        match record {
            OfStream::Total(it) if total.is_none() => total = Some(it),
            OfStream::Total(_) => return Err(wrong(&"it has two records of the type \"total\"")),
            OfStream::End(it) => end = Some(it),
            _ => {}
        }
    }
    let Some(total) = total else {
        return Err(wrong(&"it has no record of the type \"total\""));
    };
    let Total { start_ns, length_ns, histograms, measures, .. } = total;
    let Some(histograms) = histograms else {
        let message = format!("{} has no histograms", file.display());
        return Err(Failure::usage(message).with_fix("watch again with --hdr"));
    };
    let Head { schema, only, source, .. } = head;
    let ReadCapture { sha256, .. } = digest::of_read(file, String::new(), &digest);
    let complete = end.as_ref().is_some_and(|end| end.complete);
    let error = end.and_then(|end| end.error);
    let path = file.to_owned();
    let about = About { path, source, sha256, start_ns, length_ns, complete, error };
    let selection = selection(file);
    let distributions = Distributions { histograms, measures };
    Ok((Part { about, schema, only, selection }, distributions))
}

/// Captures that were read, as the run folder of a file states them; empty without a folder.
fn selection(file: &Path) -> Selection {
    let read = || -> io::Result<Provenance> {
        let from = File::open(file.with_file_name("run.json"))?;
        let text = io::read_to_string(from.take(MOST_PROVENANCE_OCTETS))?;
        Ok(serde_json::from_str(&text)?)
    };
    let is_of_a_run = file.file_name().is_some_and(|name| name == MEASURES);
    let Some(Provenance { command, captures, .. }) = is_of_a_run.then(read).and_then(Result::ok)
    else {
        return Selection::default();
    };
    let values = command.iter().skip(1).map(Some).chain([None]);
    let filter = command.iter().zip(values).find_map(|(word, value)| match word.as_str() {
        "-f" | "--filter" => value.cloned(),
        word => word.strip_prefix("--filter=").map(str::to_owned),
    });
    let hashes = captures.into_iter().filter_map(|capture| capture.sha256).collect();
    Selection { hashes, filter }
}

/// Makes sure that two runs can be added: with the same meaning of their delays, and not the same traffic.
fn agree(first: &Part, part: &Part) -> Result<(), Failure> {
    let [one, another] = [first, part].map(|part| part.about.path.display());
    let only = |part: &Part| part.only.as_ref().map_or("all".to_owned(), |only| only.join(","));
    let fields =
        [("schema", first.schema.clone(), part.schema.clone()), ("only", only(first), only(part))];
    if let Some((field, one_has, other_has)) =
        fields.into_iter().find(|(_, one, other)| one != other)
    {
        let message = format!(
            "{another} cannot be added to {one}: the field {field} is {other_has}, not {one_has}"
        );
        return Err(Failure::usage(message).with_fix("watch both with the same version and --only"));
    }
    let leave_out = "leave one of them out, so that no delay counts twice";
    if first.about.sha256.is_some() && first.about.sha256 == part.about.sha256 {
        let message = format!("{one} and {another} have the same records");
        return Err(Failure::usage(message).with_fix(leave_out));
    }
    let [Selection { hashes, filter }, other] = [&first.selection, &part.selection];
    let shared = hashes.iter().find(|hash| filter == &other.filter && other.hashes.contains(hash));
    if let Some(shared) = shared {
        let message = format!("{one} and {another} are of the same capture, SHA-256 {shared}");
        return Err(Failure::usage(message).with_fix(leave_out));
    }
    Ok(())
}

/// Adds the distributions of a run.
fn add(delays: &mut [Delay], total: &Distributions, file: &Path) -> Result<(), Failure> {
    let mut seen: Vec<&str> = Vec::new();
    for (name, text) in &total.histograms.0 {
        let wrong = |error: &dyn core::fmt::Display| {
            let file = file.display();
            Failure::failed(format!("{file}: histograms.{name} of the total: {error}"))
        };
        let Some(delay) = delays.iter_mut().find(|delay| delay.name == *name) else {
            return Err(wrong(&"this version has no such delay"));
        };
        if seen.contains(&&**name) {
            return Err(wrong(&"the name stands there twice"));
        }
        seen.push(name);
        delay.sum.add(text).map_err(|error| wrong(&error))?;
        delay.parts += 1;
        let found = extremes(&total.measures, name);
        delay.extremes = match (delay.extremes, found, delay.parts) {
            (_, found, 1) => found,
            (Some(earlier), Some(found), _) => Some(Extremes {
                min_ns: earlier.min_ns.min(found.min_ns),
                max_ns: earlier.max_ns.max(found.max_ns),
            }),
            _ => None,
        };
    }
    Ok(())
}

/// Least and greatest delay of this name, if both are among the measures.
fn extremes(measures: &Counts, name: &str) -> Option<Extremes> {
    let of = |statistic: &str| {
        Measure::from_name(&format!("{name}_{statistic}_ns")).and_then(|it| measures.get(it))
    };
    Some(Extremes { min_ns: of("min")?, max_ns: of("max")? })
}

fn record<'a>(folder: Option<&'a Path>, parts: &'a [Part], delays: &'a [Delay]) -> Record<'a> {
    let merged = |delay: &'a Delay| {
        let Delay { name, parts, sum, extremes } = delay;
        // The measures of a file may contradict its histogram, whose classes have them.
        let extremes = extremes.filter(|it| Some(it.max_ns) <= sum.max() && it.min_ns <= it.max_ns);
        let max_ns = extremes.map(|it| it.max_ns).or_else(|| sum.max());
        let quantile = |share| sum.quantile(share).min(max_ns);
        Merged {
            delay: name,
            parts: *parts,
            count: sum.count(),
            exact: extremes.is_some(),
            min_ns: extremes.map(|it| it.min_ns).or_else(|| sum.min()),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns,
            histogram: sum.encode(),
        }
    };
    let parts = parts.iter().map(|part| &part.about).collect();
    Record { folder, parts, delays: delays.iter().map(merged).collect() }
}

fn print(record: &Record<'_>, output: &Output) -> io::Result<()> {
    if output.json {
        return Ok(());
    }
    let mut parts =
        Table::new([("run", Align::Left), ("source", Align::Left), ("length", Align::Right)]);
    for About { path, source, length_ns, .. } in &record.parts {
        parts.row([path.display().to_string(), source.clone(), span(*length_ns)]);
    }
    output.line(parts)?;
    if record.delays.is_empty() {
        return output.line("\nno delay was seen");
    }
    let names = ["runs", "n", "min", "p50", "p99", "p99.9", "max"].map(|name| (name, Align::Right));
    let mut table = Table::of([("delay", Align::Left)].into_iter().chain(names));
    for delay in &record.delays {
        let Merged { exact, min_ns, p50_ns, p99_ns, p999_ns, max_ns, .. } = delay;
        let Merged { delay, parts, count, .. } = delay;
        let far = [(0.5, p50_ns), (0.99, p99_ns), (0.999, p999_ns)];
        let [p50_ns, p99_ns, p999_ns] =
            &far.map(|(share, nanos)| quantity::enough(share, *count, *nanos));
        let [min, p50, p99, p999, max] = [min_ns, p50_ns, p99_ns, p999_ns, max_ns]
            .map(|nanos| nanos.map_or_else(|| "n/a".to_owned(), span));
        let edge =
            |words: &str, value: String| if *exact { value } else { words.to_owned() + &value };
        let values = [edge("at least ", min), p50, p99, p999, edge("at most ", max)];
        let counts = [(*delay).to_owned(), parts.to_string(), count.to_string()];
        table.add(counts.into_iter().chain(values).collect());
    }
    output.line(format_args!(
        "\n{table}\n\nA quantile is the upper edge of its class, which is at most 0.8 % wide."
    ))
}
