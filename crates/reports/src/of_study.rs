//! Report of a study: a predicted or measured run with its samples.

mod checks;
mod next;
mod numbers;

use crate::difference;
use crate::document::{
    Acceptance, Comparison, Document, Fact, Grade, Illustration, Kind, Requirement, Table, Verdict,
};
use crate::figure::Picture;
use crate::glossary::Glossary;
use crate::hgrm::read::Percentiles;
use crate::study::{
    Ranked, Summed, TOP, deadline, interval, notes, settings, share, spans, summed, told, verdict,
    verdict_words,
};
use crate::text::Text;
use crate::{of_percentiles, sweep, tail};
use bench::analysis::{PointReport, Report, analyse};
use bench::folder::{Provenance, Results};
use bench::sample::Origin;
use bench::scenario::Point;
use bench::verdict::{Judged, Verdict as Decided, judge};
use records::findings::quoted;
use records::quantity::{counted, span};
use std::collections::BTreeSet;

pub use crate::study::LEVEL;

/// Rows of a table.
const MOST_ROWS: usize = 60;
/// Requirements that are listed, the worst first.
const MOST_REQUIREMENTS: usize = 100;
/// Figures of a study.
const MOST_FIGURES: usize = 6;

/// A predicted or measured run.
#[derive(Clone, Debug)]
pub struct StudyRun<'a> {
    /// Folder or file, as the user named it.
    pub path: &'a str,
    /// Its samples.
    pub results: &'a Results,
    /// Its provenance; none for a file of samples.
    pub provenance: Option<&'a Provenance>,
    /// Points of its scenario; none if the scenario cannot be read.
    pub points: &'a [Point],
    /// Requirements that looks at growing data judged; without them those of the scenario are judged by all runs.
    pub judged: Option<Vec<Judged>>,
    /// Files of percentiles that are drawn with it.
    pub percentiles: &'a [Percentiles],
}

impl StudyRun<'_> {
    /// Simulated or measured.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.results.samples.first().map_or(Origin::Predicted, |sample| sample.source)
    }

    /// Its report, with bounds where it was simulated.
    #[must_use]
    pub fn report(&self) -> Report {
        let bounded: &[Point] = if self.origin() == Origin::Predicted { self.points } else { &[] };
        let noise_ns = self.provenance.and_then(Provenance::host_noise_ns);
        analyse(&self.results.samples, LEVEL)
            .with_groups(self.points)
            .with_bounds(bounded)
            .with_host_noise(&self.results.samples, noise_ns)
    }
}

/// Run that another is compared with.
struct Baseline<'a> {
    run: &'a StudyRun<'a>,
    report: Report,
}

/// The report of a run, against a baseline if there is one.
#[must_use]
pub fn of_study(
    run: &StudyRun<'_>,
    baseline: Option<&StudyRun<'_>>,
    acceptance: Acceptance,
    glossary: &Glossary,
) -> Document {
    let report = run.report();
    let baseline = baseline.map(|run| Baseline { run, report: run.report() });
    let judged = run.judged.clone().unwrap_or_else(|| judge(&report, run.points));
    let checks = checks::of(run, &report, &judged);
    let numbers = numbers::of(&report, &judged);
    let mut document = Document {
        kind: match run.origin() {
            Origin::Predicted => Kind::Predicted,
            Origin::Measured => Kind::Measured,
        },
        title: Text::from(&report.title),
        verdict: concluded(&report, &judged),
        next: next::of_study(run, &report, &judged),
        numbers,
        about: Text::long(about(run, &report)),
        acceptance,
        requirements: requirements(&judged, &report),
        findings: Vec::new(),
        tables: tables(&report).into_iter().chain(of_percentiles::table(run.percentiles)).collect(),
        pictures: pictures(run, &report, baseline.as_ref()),
        checks,
        comparison: baseline.as_ref().map(|baseline| comparison(run, baseline, &report)),
        provenance: run.provenance.map(provenance).unwrap_or_default(),
        commands: commands(run, baseline.as_ref().map(|baseline| baseline.run)),
        glossary: Vec::new(),
    };
    document.weigh_checks();
    document.glossary = glossary.of_document(&document, &STANDING);
    document
}

/// Terms that every report of a study uses.
const STANDING: [&str; 6] =
    ["confidence interval", "delay", "flow", "p50, p99", "point", "replication"];

/// The verdict by the requirements alone.
fn concluded(report: &Report, judged: &[Judged]) -> Verdict {
    let number = |decided| judged.iter().filter(|it| it.verdict == decided).count();
    let (failed, open) = (number(Decided::Fail), number(Decided::Undecided));
    let of = judged.len();
    let first = |decided: Decided| {
        let first = judged.iter().find(|it| it.verdict == decided);
        first.map_or_else(String::new, |it| {
            let point = report.points.iter().find(|point| point.point == it.point);
            let place = point.filter(|point| !point.settings.is_empty());
            let place = place.map(|point| format!(", first where {}", settings(&point.settings)));
            format!("{} for {}{}", it.requirement, it.flow, place.unwrap_or_default())
        })
    };
    if of == 0 {
        let reason = Text::long(no_requirement(report));
        return Verdict { grade: Grade::Note, word: "NOT JUDGED".into(), reason };
    }
    verdict_words([of, failed, open], &first)
}

/// The reason if nothing was required: deadlines that were met or missed.
fn no_requirement(report: &Report) -> String {
    let flows = || report.points.iter().flat_map(|point| &point.flows);
    let missed: u64 = flows().filter_map(|flow| flow.missed).map(|missed| missed.events).sum();
    let trials: u64 = flows().filter_map(|flow| flow.missed).map(|missed| missed.trials).sum();
    let deadlines = match (trials, missed) {
        (0, _) => String::new(),
        (_, 0) => format!(" None of {trials} messages with a deadline missed it."),
        _ => format!(" {missed} of {trials} messages with a deadline missed it."),
    };
    format!("The run has no requirement.{deadlines}")
}

/// The run in a sentence or two.
fn about(run: &StudyRun<'_>, report: &Report) -> String {
    let samples = &run.results.samples;
    let runs = counted(samples.len() as u64, "run");
    let done = match run.origin() {
        Origin::Predicted => "simulated",
        Origin::Measured => "measured in real time",
    };
    let points = match report.points.len() {
        1 => String::new(),
        points => format!(" of {points} points"),
    };
    let longest = samples.iter().map(|sample| sample.ended_at_ns).max().unwrap_or(0);
    let mut text = format!("tidewire {done} {runs}{points}, each of up to {}", span(longest));
    if let Some(scenario) = run.points.first().map(|point| &point.scenario) {
        let medium = serde_json::to_value(&scenario.medium).unwrap_or_default();
        let kind = medium.get("kind").and_then(|kind| kind.as_str()).unwrap_or("unknown");
        let flows = counted(scenario.flows.len() as u64, "flow");
        let names: Vec<&str> = scenario.flows.iter().take(5).map(|it| it.name.as_str()).collect();
        let more = if scenario.flows.len() > names.len() { ", ..." } else { "" };
        text += &format!(", on a medium of kind {kind} with {flows} ({}{more})", names.join(", "));
        let keys: Vec<&str> = scenario.vary.keys().map(String::as_str).collect();
        if !keys.is_empty() {
            text += &format!("; {} varies", keys.join(", "));
        }
    }
    let messages: u64 =
        report.points.iter().flat_map(|point| &point.flows).map(|flow| flow.sent).sum();
    text + &format!(". {messages} messages were sent.")
}

/// Requirements with their verdicts, the worst first.
#[must_use]
pub fn requirements(judged: &[Judged], report: &Report) -> Vec<Requirement> {
    let many = report.points.len() > 1;
    let mut sorted: Vec<&Judged> = judged.iter().collect();
    sorted.sort_by_key(|it| core::cmp::Reverse(grade(it.verdict)));
    let row = |it: &&Judged| {
        let point = report.points.iter().find(|point| point.point == it.point);
        let place = point.filter(|_| many).map(|point| settings(&point.settings));
        let place = place.map(|place| format!(", {place}")).unwrap_or_default();
        Requirement {
            text: Text::from(&it.requirement),
            of: Text::from(format!("{}{place}", it.flow)),
            found: Text::from(it.found.map_or_else(|| "n/a".to_owned(), |found| told(it, found))),
            interval: Text::from(interval(it)),
            grade: grade(it.verdict),
            verdict: Text::from(verdict(it)),
        }
    };
    sorted.iter().take(MOST_REQUIREMENTS).map(row).collect()
}

/// Grade of a verdict on a requirement.
#[must_use]
pub const fn grade(verdict: Decided) -> Grade {
    match verdict {
        Decided::Pass => Grade::Pass,
        Decided::Undecided => Grade::Open,
        Decided::Fail => Grade::Fail,
    }
}

/// Times of messages, and deadlines if there are any.
#[must_use]
pub fn tables(report: &Report) -> Vec<Table> {
    let mut tables = vec![times(report)];
    let with_deadline = |group: &Summed<'_>| group.worst().deadline_ns.is_some();
    let (points, left_out) = fitting(report, with_deadline);
    let rows = points.iter().flat_map(|(point, flows)| {
        let place = place(report, point);
        flows.iter().filter_map(move |group| {
            let cells = deadline(group, point)?;
            Some(place.iter().cloned().chain(cells).collect())
        })
    });
    let heads = ["flow", "deadline", "missed", "share missed (95 %)", "longest", "bound", "result"];
    let mut table = Table::of("Deadlines", &with_place(report, &heads), rows, MOST_ROWS);
    table.left_out += left_out;
    tables.extend(Some(table).filter(|table| !table.rows.is_empty()));
    tables
}

/// Times, losses and throughput of each flow.
fn times(report: &Report) -> Table {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let (points, left_out) = fitting(report, |_| true);
    for (point, flows) in points {
        for group in flows {
            let flow = group.worst();
            let kinds = [("delay", &flow.delay_pooled), ("response", &flow.response_pooled)];
            for (kind, pooled) in kinds.into_iter().filter(|(_, pooled)| !pooled.is_empty()) {
                let count = pooled.first().map_or(0, |quantile| quantile.count);
                let cells = [group.label(), kind.to_owned()];
                let row = place(report, point).into_iter().chain(cells);
                let row = row.chain(spans(flow, kind, pooled)).chain([count.to_string()]);
                rows.push(row.chain([share(&flow.lost, point)]).collect());
            }
        }
    }
    let heads =
        ["flow", "time", "mean (95 %)", "sd", "min", "p50", "p99", "max", "n", "lost (95 %)"];
    let mut table = Table::of("Times of messages", &with_place(report, &heads), rows, MOST_ROWS);
    table.left_out += left_out;
    let many = report.points.len() > 1;
    for point in report.points.iter().take(MOST_ROWS) {
        let place = if many { format!("{}: ", settings(&point.settings)) } else { String::new() };
        let notes = notes(point, TOP).into_iter().map(|note| Text::from(format!("{place}{note}")));
        table.notes.extend(notes.take(MOST_ROWS.saturating_sub(table.notes.len()).min(8)));
    }
    table
}

/// Flows of each point that are meant, those of a group together: all of them, or, where the rows of a table would be too
/// many, the worst of each point, and how many are left out.
fn fitting(
    report: &Report,
    is_meant: fn(&Summed<'_>) -> bool,
) -> (Vec<(&PointReport, Vec<Summed<'_>>)>, usize) {
    let meant = |point| summed(point).into_iter().filter(is_meant).collect();
    let all: Vec<Vec<Summed<'_>>> = report.points.iter().map(meant).collect();
    let fits = all.iter().map(Vec::len).sum::<usize>() <= MOST_ROWS;
    let each = if fits { MOST_ROWS } else { (MOST_ROWS / all.len()).max(1) };
    let ranked = all.into_iter().map(|flows| Ranked::of(flows, each));
    let points = report.points.iter().zip(ranked);
    let mut left_out = 0;
    let points = points.map(|(point, Ranked { shown, others })| {
        left_out += others;
        (point, shown)
    });
    (points.collect(), left_out)
}

/// Cell with the settings of a point, where there are several.
fn place(report: &Report, point: &PointReport) -> Option<String> {
    let only = point.settings.values().next().filter(|_| point.settings.len() == 1);
    let all = || only.cloned().unwrap_or_else(|| settings(&point.settings));
    (report.points.len() > 1).then(all)
}

fn with_place<'a>(report: &'a Report, heads: &[&'a str]) -> Vec<&'a str> {
    let keys = report.points.first().map(|point| &point.settings);
    let only = keys.filter(|keys| keys.len() == 1).and_then(|keys| keys.keys().next());
    let name = only.map_or("point", String::as_str);
    let place = (report.points.len() > 1).then_some(name);
    place.into_iter().chain(heads.iter().copied()).collect()
}

fn pictures(
    run: &StudyRun<'_>,
    report: &Report,
    baseline: Option<&Baseline<'_>>,
) -> Vec<Illustration> {
    let seed = run.provenance.map_or(0, |provenance| provenance.seed);
    let study = sweep::Study { seed, origin: run.origin() };
    let mut drawn = sweep::figures(report, study, usize::MAX);
    // Nothing is seen in a figure of zeros: the table has them.
    let has_values = |drawn: &sweep::Drawn| {
        drawn.figure.series.iter().flat_map(|it| &it.points).any(|point| point.y != 0.0)
    };
    drawn.retain(has_values);
    // Those of flows with a requirement first.
    let required = run.points.first().map(|point| &point.scenario.require);
    let is_required = |drawn: &sweep::Drawn| {
        let mut flows = required.into_iter().flatten().filter_map(|it| it.flow.as_deref());
        flows.any(|flow| drawn.figure.title.ends_with(&format!(" of {flow}")))
    };
    drawn.sort_by_key(|drawn| !is_required(drawn));
    let curves = drawn.into_iter().take(MOST_FIGURES).map(|drawn| Illustration {
        picture: Picture::Curves(drawn.figure),
        thinned: Text::default(),
    });
    // Of a sweep, the tail at its last point.
    let tail = report.points.last();
    let tail = tail.and_then(|point| {
        let same = baseline.and_then(|Baseline { run, report }| {
            let point = report.points.iter().find(|it| it.settings == point.settings)?;
            Some(tail::Of { point, samples: &run.results.samples })
        });
        let of = tail::Of { point, samples: &run.results.samples };
        tail::tail(report, of, same, run.percentiles)
    });
    curves.chain(tail.map(of_percentiles::illustration)).collect()
}

fn comparison(run: &StudyRun<'_>, baseline: &Baseline<'_>, report: &Report) -> Comparison {
    difference::of(&difference::Pair {
        baseline: &baseline.report,
        baseline_path: baseline.run.path,
        baseline_origin: baseline.run.origin(),
        other: report,
        other_path: run.path,
        other_origin: run.origin(),
    })
}

fn provenance(provenance: &Provenance) -> Vec<Fact> {
    let mut facts = vec![
        Fact::new("started", &provenance.started),
        Fact::new("program", format!("tidewire {}", provenance.program_version)),
        Fact::new("seed", provenance.seed.to_string()),
        Fact::new("hash of the scenario", &provenance.scenario_hash),
    ];
    facts.extend(provenance.host.iter().map(|(name, value)| Fact::new(name, value)));
    if !provenance.parts.is_empty() {
        let machines: BTreeSet<_> = provenance.parts.iter().map(|part| &part.host).collect();
        let kinds = if machines.len() == 1 { "kind" } else { "kinds" };
        let parts = provenance.parts.len();
        facts.push(Fact::new(
            "merged from",
            format!("{parts} parts, made by {} {kinds} of machine", machines.len()),
        ));
        facts.extend(machines.into_iter().flatten().map(|(name, value)| Fact::new(name, value)));
    }
    let profiles = provenance.profiles.iter();
    facts.extend(profiles.map(|(name, it)| Fact::new(format!("profile {name}"), &it.title)));
    facts.extend(
        provenance.models.iter().map(|(name, copy)| Fact::new(format!("SCL {name}"), copy)),
    );
    facts
}

/// Command line for a shell, of words.
#[must_use]
pub fn command_line(words: &[String]) -> String {
    let mut words = words.iter();
    // The first is the path of the program on that machine.
    let program = words.next().map(|_| "tidewire".to_owned());
    program.into_iter().chain(words.map(|word| quoted(word))).collect::<Vec<_>>().join(" ")
}

fn commands(run: &StudyRun<'_>, baseline: Option<&StudyRun<'_>>) -> Vec<Fact> {
    let mut commands = Vec::new();
    if let Some(provenance) = run.provenance {
        commands.push(Fact::new("repeat the run", command_line(&provenance.command)));
        commands
            .push(Fact::new("the scenario as it was read", "scenario.toml in the run's folder"));
    }
    if let Some(baseline) = baseline {
        let (baseline, run) = (quoted(baseline.path), quoted(run.path));
        commands
            .push(Fact::new("repeat the comparison", format!("tidewire compare {baseline} {run}")));
    }
    commands
}
