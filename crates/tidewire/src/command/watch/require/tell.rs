//! What became of requirements, as a table and as records.

use super::wanted::{Subject, Wanted};
use super::{Finding, Judged, LEVEL, Requirements};
use crate::output::Output;
use crate::quantity::{self, level, significant};
use crate::table::{Align, Table};
use bench::analysis::Unit;
use bench::verdict::Verdict;
use serde::Serialize;
use std::io;

/// Failures, and what is not decided, that lines show of a requirement.
const SHOWN: usize = 5;

/// A requirement as NDJSON has it.
#[derive(Serialize)]
#[serde(tag = "type", rename = "requirement")]
struct Record<'a> {
    requirement: &'a str,
    verdict: Verdict,
    passed: u64,
    failed: u64,
    undecided: u64,
    level: f64,
    findings: Vec<Found<'a>>,
}

#[derive(Serialize)]
struct Found<'a> {
    of: Option<&'a str>,
    found: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    verdict: Verdict,
    because: &'a str,
}

impl Requirements {
    /// Tells what became of each.
    pub(in crate::command) fn tell(&self, output: &Output) -> io::Result<()> {
        for judged in &self.judged {
            output.record(&record(judged))?;
        }
        if output.json || self.judged.is_empty() {
            return Ok(());
        }
        let mut table = Table::new([
            ("requirement", Align::Left),
            ("of", Align::Left),
            ("found", Align::Right),
            ("interval", Align::Left),
            ("verdict", Align::Left),
        ]);
        for judged in &self.judged {
            rows(judged, &mut table);
        }
        output.line(format_args!("\n{table}"))?;
        let of = |verdict| self.judged.iter().filter(|it| it.verdict() == verdict).count();
        let verdict = self.verdict().unwrap_or(Verdict::Pass);
        let all = self.judged.len();
        output.line(format_args!("verdict  {} ({} of {all})", verdict.word(), of(verdict)))
    }
}

fn record(judged: &Judged) -> Record<'_> {
    let [passed, failed, undecided] = judged.counts;
    let findings = judged.findings.iter().map(|finding| Found {
        of: finding.of.as_deref(),
        found: finding.found,
        low: finding.interval.map(|(low, _)| low),
        high: finding.interval.map(|(_, high)| high),
        verdict: finding.verdict,
        because: finding.because,
    });
    Record {
        requirement: &judged.wanted.text,
        verdict: judged.verdict(),
        passed,
        failed,
        undecided,
        level: LEVEL,
        findings: findings.collect(),
    }
}

fn rows(judged: &Judged, table: &mut Table) {
    let Judged { wanted, counts, findings } = judged;
    for (nth, finding) in findings.iter().take(SHOWN).enumerate() {
        table.row([
            if nth == 0 { wanted.text.clone() } else { String::new() },
            finding.of.clone().unwrap_or_default(),
            finding.found.map_or_else(|| "n/a".to_owned(), |found| value(wanted, found)),
            interval(wanted, finding),
            verdict(finding),
        ]);
    }
    let shown = findings.len().min(SHOWN) as u64;
    let [passed, failed, undecided] = *counts;
    let rest = passed + failed + undecided - shown;
    let text = if findings.is_empty() { wanted.text.clone() } else { String::new() };
    let (of, verdict) = match (rest, shown, failed + undecided > shown) {
        (0, 0, _) => ("nothing".to_owned(), "undecided (there is nothing to judge)".to_owned()),
        (0, ..) => return,
        (_, _, true) => (format!("{rest} more"), format!("{passed} pass")),
        (_, 0, false) => (format!("all {rest}"), Verdict::Pass.word().to_owned()),
        (_, _, false) => (format!("the other {rest}"), Verdict::Pass.word().to_owned()),
    };
    table.row([text, of, String::new(), String::new(), verdict]);
}

/// A number in the unit of what it is about.
fn value(wanted: &Wanted, number: f64) -> String {
    match &wanted.subject {
        Subject::Count(_) => number.to_string(),
        Subject::Time(_) => quantity::value(Unit::Nanoseconds, number),
        Subject::Share(..) => significant(number, 2),
        Subject::Metric("T_L" | "T_T") => quantity::value(Unit::BitsPerSecond, number),
        Subject::Metric(_) => significant(number, 3),
    }
}

fn interval(wanted: &Wanted, finding: &Finding) -> String {
    let Some((low, high)) = finding.interval else { return String::new() };
    let (least, most) = (value(wanted, low), value(wanted, high));
    match &wanted.subject {
        Subject::Share(..) if low == 0.0 => format!("at most {most}, {}", level(LEVEL)),
        Subject::Share(..) => format!("{least} to {most}, {}", level(LEVEL)),
        Subject::Count(_) | Subject::Time(_) | Subject::Metric(_) => format!("{least} to {most}"),
    }
}

fn verdict(finding: &Finding) -> String {
    let word = finding.verdict.word();
    match finding.because {
        "" => word.to_owned(),
        because => format!("{word} ({because})"),
    }
}
