//! Report of a stream of measures: a watched capture or port.
//!
//! Memory is bounded however long the stream is: the series are merged as they grow, and of hosts, connections, services
//! and streams of cyclic data the worst are kept.

mod checks;
mod figures;
mod numbers;
mod ranked;

use crate::document::{
    Acceptance, Comparison, Document, Fact, Finding, Grade, Kind, Requirement, Table, Verdict,
};
use crate::glossary::Glossary;
use crate::next;
use crate::of_study::{command_line, grade};
use crate::provenance::Provenance;
use crate::series::{Series, Span};
use crate::study::verdict_words;
use crate::text::Text;
use bench::verdict::Verdict as Decided;
use meter::observation::DelayKind;
use meter::registry::Measure;
use ranked::{ConnectionRow, FunctionRow, HostRow, Ranked, ServiceRow, StreamRow};
use records::findings::quoted;
use records::quantity::{counted, span};
use records::require::Outcome;
use records::{End, Entry, Head, Reader, Record, Total, Unreadable, calendar};
use std::io::BufRead;
use std::path::Path;
use wire::time::Instant;

/// Rows of a table.
const MOST_ROWS: usize = 20;
/// Findings and requirements that are kept.
const MOST_KEPT: usize = 200;
/// Offset from which a time is one of the calendar: 1980.
const CALENDAR_NS: u64 = 315_532_800_000_000_000;

/// A stream that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct Measures {
    head: Head,
    total: Option<Total>,
    series: Series,
    hosts: Ranked<HostRow>,
    all_hosts: u64,
    connections: Ranked<ConnectionRow>,
    services: Ranked<ServiceRow>,
    streams: Ranked<StreamRow>,
    functions: Ranked<FunctionRow>,
    findings: Vec<records::Finding>,
    outcomes: Vec<Outcome>,
    end: Option<End>,
    /// Reason why the stream cannot be read to its end.
    cut: Option<String>,
}

impl Measures {
    /// Reads a stream. One that breaks off is kept as far as it goes, and is not valid.
    ///
    /// # Errors
    /// Input that is not a stream of measures.
    pub fn read(from: impl BufRead) -> Result<Self, Unreadable> {
        let (mut reader, head) = Reader::open(from)?;
        let mut measures = Self {
            head,
            total: None,
            series: Series::new(),
            hosts: Ranked::new(),
            all_hosts: 0,
            connections: Ranked::new(),
            services: Ranked::new(),
            streams: Ranked::new(),
            functions: Ranked::new(),
            findings: Vec::new(),
            outcomes: Vec::new(),
            end: None,
            cut: None,
        };
        loop {
            match reader.next_entry() {
                Ok(Some(Entry::Record(record))) => measures.take(*record),
                Ok(Some(Entry::Other(line))) => measures.outcome(line),
                Ok(None) => return Ok(measures),
                Err(error) => {
                    measures.cut = Some(error.to_string());
                    return Ok(measures);
                }
            }
        }
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Interval(interval) if interval.complete => {
                let of = |measure| interval.measures.count(measure);
                let rate = interval.frames as f64 * 1e9 / interval.length_ns.max(1) as f64;
                self.series.add(Span {
                    start_ns: interval.start_ns,
                    length_ns: interval.length_ns,
                    frames: interval.frames,
                    octets: of(Measure::LpduOctets),
                    dts: of(Measure::DtTpdus),
                    retransmissions: of(Measure::DtRetransmissions),
                    busiest: rate,
                });
            }
            Record::Total(total) => self.total = Some(total),
            Record::Host(host) => {
                self.all_hosts += 1;
                self.hosts.add(HostRow::of(&host));
            }
            Record::Connection(connection) => self.connections.add(ConnectionRow::of(&connection)),
            Record::Services(services) => {
                for service in &services.services {
                    self.services.add(Some(ServiceRow::of(service)));
                }
            }
            Record::CyclicStream(stream) => self.streams.add(Some(StreamRow::of(&stream))),
            Record::Transactions(of) => self.functions.add(Some(FunctionRow(*of))),
            Record::Finding(finding) if self.findings.len() < MOST_KEPT => {
                self.findings.push(finding);
            }
            Record::End(end) => {
                self.series.end_at(end.heard_until_ns);
                self.end = Some(end);
            }
            _ => {}
        }
    }

    fn outcome(&mut self, line: &[u8]) {
        if self.outcomes.len() < MOST_KEPT {
            self.outcomes.extend(Outcome::read(line));
        }
    }

    /// Value of a measure over the whole stream.
    fn count(&self, measure: Measure) -> u64 {
        self.total.as_ref().map_or(0, |total| total.measures.count(measure))
    }

    fn frames(&self) -> u64 {
        self.end.as_ref().map_or_else(
            || self.series.spans.iter().map(|span| span.frames).sum(),
            |end| end.frames,
        )
    }

    const fn is_live(&self) -> bool {
        self.head.files.is_none()
    }

    /// Length of the metered time: up to the last frame, or the end of listening.
    fn length_ns(&self) -> u64 {
        let spans = self.series.spans.iter().map(|span| span.length_ns).sum();
        let Some(total) = &self.total else { return spans };
        let until = self.end.as_ref().and_then(|end| end.heard_until_ns);
        let heard = until.and_then(|until| until.checked_sub(total.start_ns));
        heard.filter(|heard| *heard > 0).map_or(total.length_ns, |it| it.min(total.length_ns))
    }

    /// Number of measurement intervals; a record may stand for several in a silence.
    fn intervals(&self) -> u64 {
        self.total.as_ref().map_or(self.series.intervals, |total| total.intervals)
    }

    /// Returns true if a requirement limits replies, and none was seen.
    fn lacks_replies(&self) -> bool {
        let wanted = self.outcomes.iter().any(|it| it.requirement.starts_with("response"));
        let replies = self.count(DelayKind::Response.count());
        let answers = self.count(DelayKind::MmsResponse.count());
        let has_any = self.services.all + self.functions.all > 0;
        wanted && replies == 0 && answers == 0 && !has_any
    }

    /// Name of the port, or of the files without their folders.
    fn name(&self) -> String {
        let Some(files) = &self.head.files else { return format!("port {}", self.head.source) };
        let name = |file: &String| match file.as_str() {
            "-" => "standard input".to_owned(),
            records::DEMO => "the built-in capture".to_owned(),
            file => Path::new(file)
                .file_name()
                .map_or_else(|| file.to_owned(), |name| name.to_string_lossy().into_owned()),
        };
        let names: Vec<String> = files.iter().take(3).map(name).collect();
        let more = if files.len() > names.len() { ", ..." } else { "" };
        format!("{}{more}", names.join(", "))
    }
}

/// The report of a stream, against a baseline if there is one.
#[must_use]
pub fn of_stream(
    measures: &Measures,
    provenance: Option<&Provenance>,
    baseline: Option<&Measures>,
    acceptance: Acceptance,
    glossary: &Glossary,
) -> Document {
    let mut document = Document {
        kind: if measures.is_live() { Kind::WatchedLive } else { Kind::WatchedFile },
        title: Text::from(measures.name()),
        verdict: concluded(measures),
        next: next::of_stream(&measures.outcomes, &measures.findings),
        numbers: numbers::of(measures),
        about: Text::long(about(measures)),
        acceptance,
        requirements: requirements(measures),
        findings: findings(measures),
        tables: tables(measures),
        pictures: figures::of(measures),
        checks: checks::of(measures),
        comparison: baseline.map(|baseline| comparison(measures, baseline)),
        provenance: facts(measures, provenance),
        commands: vec![Fact::new("repeat the run", command(measures, provenance))],
        glossary: Vec::new(),
    };
    document.weigh_checks();
    document.glossary = glossary.of_document(&document, &["interval", "measure", "tap"]);
    document
}

/// The verdict by the requirements; without them by the findings.
fn concluded(measures: &Measures) -> Verdict {
    let number = |decided| measures.outcomes.iter().filter(|it| it.verdict == decided).count();
    let of = measures.outcomes.len();
    if of > 0 {
        let first = |decided| {
            let first = measures.outcomes.iter().find(|it| it.verdict == decided);
            first.map_or_else(String::new, |it| it.requirement.clone())
        };
        let counts = [of, number(Decided::Fail), number(Decided::Undecided)];
        let mut verdict = verdict_words(counts, &first);
        if measures.lacks_replies() {
            let reason = format!("{} No reply was seen that could have been late.", verdict.reason);
            verdict.reason = Text::long(reason);
        }
        return verdict;
    }
    let graded =
        |grade: &str| measures.findings.iter().filter(|it| it.grade == grade).collect::<Vec<_>>();
    let (wrong, look) = (graded("wrong"), graded("look"));
    let (grade, word, reason) = match (wrong.first(), look.first()) {
        (Some(worst), _) => (
            Grade::Fail,
            "FAULTS FOUND",
            format!(
                "No requirement was given. {} graded wrong, first: {}.",
                counted(wrong.len() as u64, "finding"),
                worst.text
            ),
        ),
        (None, Some(worst)) => (
            Grade::Open,
            "CHECK",
            format!(
                "No requirement was given. {} may be wrong, first: {}.",
                counted(look.len() as u64, "finding"),
                worst.text
            ),
        ),
        (None, None) => (
            Grade::Note,
            "NO FAULT FOUND",
            "No requirement was given, and no finding is wrong or may be.".to_owned(),
        ),
    };
    Verdict { grade, word: word.into(), reason: Text::long(reason) }
}

/// A time of the calendar, or since the begin of the stream.
fn moment(nanos: u64) -> String {
    if nanos < CALENDAR_NS {
        return format!("{} after its origin", span(nanos));
    }
    calendar::rfc_3339(Instant::from_nanos(nanos - nanos % 1_000_000_000))
}

fn about(measures: &Measures) -> String {
    let Head { measure_ns, .. } = measures.head;
    let start = measures.total.as_ref().map(|total| total.start_ns);
    let start = start.or_else(|| measures.series.spans.first().map(|span| span.start_ns));
    let from = start.map_or_else(String::new, |start| format!(" from {}", moment(start)));
    let functions = match measures.functions.all {
        0 => String::new(),
        all => {
            format!(" Requests and replies were those of {} of devices.", counted(all, "function"))
        }
    };
    format!(
        "tidewire metered {} of {}{from} for {}, in {} of {}, and sent nothing. It found {}, {} with \
         transport PDUs, {} and {}.{functions}",
        counted(measures.frames(), "frame"),
        measures.name(),
        span(measures.length_ns()),
        counted(measures.intervals(), "interval"),
        span(measure_ns),
        counted(measures.connections.all, "connection"),
        counted(measures.all_hosts, "host"),
        counted(measures.services.all, "MMS service"),
        match measures.streams.all {
            1 => "1 stream of cyclic data".to_owned(),
            all => format!("{all} streams of cyclic data"),
        },
    )
}

fn requirements(measures: &Measures) -> Vec<Requirement> {
    let mut rows = Vec::new();
    for outcome in &measures.outcomes {
        let Outcome { requirement, passed, failed, undecided, .. } = outcome;
        for finding in &outcome.findings {
            let told = |number: Option<f64>| number.map(|number| outcome.told(number));
            let interval = outcome.interval(finding).unwrap_or_default();
            let word = finding.verdict.word();
            let because = if finding.because.is_empty() {
                String::new()
            } else {
                format!(" ({})", finding.because)
            };
            rows.push(Requirement {
                text: Text::from(requirement),
                of: Text::from(finding.of.as_deref().unwrap_or("the whole")),
                found: Text::from(told(finding.found).unwrap_or_else(|| "n/a".to_owned())),
                interval: Text::from(interval),
                grade: grade(finding.verdict),
                verdict: Text::from(format!("{word}{because}")),
            });
        }
        let listed = outcome.findings.len() as u64;
        let rest = (failed + undecided).saturating_sub(listed);
        if *passed > 0 || listed == 0 {
            rows.push(Requirement {
                text: Text::from(requirement),
                of: Text::from(format!("{passed} passed")),
                found: Text::default(),
                interval: Text::default(),
                grade: if *passed > 0 { Grade::Pass } else { grade(outcome.verdict) },
                verdict: Text::from(match *passed {
                    0 => "undecided (there is nothing to judge)",
                    _ => "pass",
                }),
            });
        }
        if rest > 0 {
            rows.push(Requirement {
                text: Text::from(requirement),
                of: Text::from(format!("{rest} more")),
                found: Text::default(),
                interval: Text::default(),
                grade: grade(outcome.verdict),
                verdict: Text::from("did not pass, and are not listed"),
            });
        }
    }
    rows.sort_by_key(|row| core::cmp::Reverse(row.grade));
    rows
}

fn findings(measures: &Measures) -> Vec<Finding> {
    let finding = |it: &records::Finding| Finding {
        grade: match it.grade.as_str() {
            "wrong" => Grade::Fail,
            "look" => Grade::Open,
            _ => Grade::Note,
        },
        text: Text::from(&it.text),
        evidence: Text::from(it.evidence.as_deref().unwrap_or_default()),
        command: Text::from(&it.command),
    };
    measures.findings.iter().map(finding).collect()
}

fn tables(measures: &Measures) -> Vec<Table> {
    let Measures { hosts, connections, services, streams, functions, .. } = measures;
    let all = [
        hosts.table("Slowest replies"),
        functions.table("Slowest functions of devices: requests and replies"),
        services.table("Slowest MMS services"),
        streams.table("Streams of cyclic data, the worst first"),
        connections.table("Connections, most retransmissions first"),
    ];
    let metrics = measures.total.iter().flat_map(|total| total.metrics.iter());
    let metrics =
        metrics.filter_map(|(symbol, value)| Some((symbol, value?))).map(|(symbol, value)| {
            let known = meter::metric::METRICS.iter().find(|it| it.symbol == symbol);
            let (name, unit) = known.map_or(("", ""), |it| (it.name, it.unit));
            let unit = if unit == "1" { "" } else { unit };
            vec![
                symbol.to_owned(),
                name.to_owned(),
                records::quantity::significant(value, 3),
                unit.to_owned(),
            ]
        });
    let heads = ["symbol", "metric", "value", "unit"];
    let metrics =
        Table::of("Metrics of NBSIR 85-3104 over the whole run", &heads, metrics, MOST_ROWS);
    all.into_iter().flatten().chain(Some(metrics).filter(|table| !table.rows.is_empty())).collect()
}

/// Measures of both streams next to each other. Two captures have no common spread, so that no difference is judged.
fn comparison(measures: &Measures, baseline: &Measures) -> Comparison {
    let shown = |of: &Measures, measure: Measure| {
        let value = of.count(measure);
        let name = measure.to_string();
        if name.ends_with("_ns") { span(value) } else { value.to_string() }
    };
    let wanted = [
        Measure::Lpdus,
        Measure::LpduOctets,
        Measure::Tpdus,
        Measure::DtTpdus,
        Measure::DtRetransmissions,
        Measure::TcpSegments,
        Measure::TcpSegmentsAgain,
        DelayKind::Response.p99(),
        DelayKind::Response.maximum(),
        DelayKind::ClosedWindow.total(),
    ];
    let rows = wanted
        .into_iter()
        .filter(|it| measures.count(*it) + baseline.count(*it) > 0)
        .map(|it| vec![it.to_string(), shown(baseline, it), shown(measures, it)]);
    let table = Table::of(
        "Measures of the whole runs",
        &["measure", "baseline", "this run"],
        rows,
        MOST_ROWS,
    );
    let about = format!(
        "Baseline: {}, {}. Each run is one observation: a difference has no interval, and is not judged.",
        baseline.name(),
        span(baseline.length_ns()),
    );
    Comparison { about: Text::long(about), tables: vec![table] }
}

fn facts(measures: &Measures, provenance: Option<&Provenance>) -> Vec<Fact> {
    let Head { schema, source, measure_ns, channel_bits_per_second, only, expect, .. } =
        &measures.head;
    let mut facts = provenance.map(Provenance::facts).unwrap_or_default();
    facts.extend([
        Fact::new("format", schema),
        Fact::new("source", source),
        Fact::new("measurement interval", span(*measure_ns)),
        Fact::new("channel", format!("{channel_bits_per_second} bit/s")),
    ]);
    facts.extend(expect.as_ref().map(|expect| Fact::new("publishers compared with", expect)));
    facts.extend(only.as_ref().map(|only| Fact::new("measures reported", only.join(", "))));
    facts
}

/// A time in the largest unit in which it is a whole number, as options take it.
fn whole(nanos: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let fits = units.into_iter().find(|(_, each)| nanos.is_multiple_of(*each));
    fits.map_or_else(|| format!("{nanos}ns"), |(unit, each)| format!("{}{unit}", nanos / each))
}

/// The command line of the run; without it one by the settings of the stream.
fn command(measures: &Measures, provenance: Option<&Provenance>) -> String {
    if let Some(provenance) = provenance {
        return command_line(&provenance.command);
    }
    let Head { files, source, measure_ns, report_ns, sample_ns, top, .. } = &measures.head;
    let mut words = vec!["tidewire".to_owned(), "watch".to_owned()];
    match files {
        Some(files) => {
            words.push("-r".to_owned());
            let safe = |file: &String| match file.strip_prefix('-') {
                Some(rest) if !rest.is_empty() => format!("./{file}"),
                _ => file.clone(),
            };
            words.extend(files.iter().map(safe));
        }
        None => words.extend(["-i".to_owned(), source.clone()]),
    }
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    option("--measure", whole(*measure_ns));
    if report_ns != measure_ns {
        option("--report", whole(*report_ns));
    }
    if let Some(sample_ns) = sample_ns {
        option("--sample", whole(*sample_ns));
    }
    option("--top", top.to_string());
    if let Some(expect) = &measures.head.expect {
        option("--expect", expect.clone());
    }
    for outcome in &measures.outcomes {
        option("--require", outcome.requirement.clone());
    }
    words.push("--json".to_owned());
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}
