//! Outcome of requirements: records, and rows of a table.

use super::wanted::{Subject, Wanted};
use super::{Finding, Judged, LEVEL, Requirements};
use crate::quantity::{self, level, significant};
use bench::analysis::Unit;
use bench::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// Maximum number of failed or undecided findings shown for each requirement.
const SHOWN: usize = 5;

/// A requirement and its outcome as NDJSON.
#[derive(Serialize)]
#[serde(tag = "type", rename = "requirement")]
pub struct Record<'a> {
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

/// A requirement and its outcome, read from a record.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Outcome {
    /// Requirement as written.
    pub requirement: String,
    /// Verdict.
    pub verdict: Verdict,
    /// Hosts, connections or intervals for which it holds.
    pub passed: u64,
    /// Those for which it does not.
    pub failed: u64,
    /// Those for which it is not decided.
    pub undecided: u64,
    /// Confidence level of the intervals of shares.
    pub level: f64,
    /// Those that did not pass, as far as they are listed.
    pub findings: Vec<OutcomeFinding>,
}

/// Outcome of a requirement for a host, a connection, an interval or the whole.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct OutcomeFinding {
    /// Host, connection or interval; none for the whole.
    pub of: Option<String>,
    /// Value found, in the base unit of the requirement.
    pub found: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Verdict.
    pub verdict: Verdict,
    /// Reason of the verdict where the value is none.
    pub because: String,
}

impl Outcome {
    /// Reads a line of NDJSON; none for a record of another type.
    #[must_use]
    pub fn read(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(tag = "type", rename_all = "kebab-case")]
        enum Line {
            Requirement(Outcome),
        }
        let Line::Requirement(outcome) = serde_json::from_slice(line).ok()?;
        Some(outcome)
    }

    /// Interval of a finding: of a share with its confidence level, of other quantities the class that it fell into.
    #[must_use]
    pub fn interval(&self, finding: &OutcomeFinding) -> Option<String> {
        let (low, high) = (self.told(finding.low?), self.told(finding.high?));
        let wanted = self.requirement.parse::<Wanted>().ok();
        let is_share = wanted.is_some_and(|it| matches!(it.subject, Subject::Share(..)));
        let level = if is_share { format!(", {}", level(self.level)) } else { String::new() };
        Some(format!("{low} to {high}{level}"))
    }

    /// Limit of the requirement, in its base unit; none of a text that is no requirement.
    #[must_use]
    pub fn limit(&self) -> Option<f64> {
        self.requirement.parse::<Wanted>().ok().map(|wanted| wanted.limit)
    }

    /// Formats a number in the unit of the requirement.
    #[must_use]
    pub fn told(&self, number: f64) -> String {
        match self.requirement.parse::<Wanted>() {
            Ok(wanted) => value(&wanted, number),
            Err(_) => significant(number, 3),
        }
    }
}

impl Requirements {
    /// Returns the records of all requirements in order.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.judged.iter().map(record)
    }

    /// Returns table rows of all requirements: text, subject, value found, interval, verdict.
    #[must_use]
    pub fn rows(&self) -> Vec<[String; 5]> {
        self.judged.iter().flat_map(rows).collect()
    }

    /// Returns the number of requirements, and of those with this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> [usize; 2] {
        let of = self.judged.iter().filter(|judged| judged.verdict() == verdict).count();
        [self.judged.len(), of]
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

/// Returns table rows of a requirement: text, subject, value found, interval, verdict.
fn rows(judged: &Judged) -> Vec<[String; 5]> {
    let mut rows = Vec::new();
    let Judged { wanted, counts, findings, .. } = judged;
    for (nth, finding) in findings.iter().take(SHOWN).enumerate() {
        rows.push([
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
        (0, ..) => return rows,
        (_, _, true) => (format!("{rest} more"), format!("{passed} pass")),
        (_, 0, false) => (format!("all {rest}"), Verdict::Pass.word().to_owned()),
        (_, _, false) => (format!("the other {rest}"), Verdict::Pass.word().to_owned()),
    };
    rows.push([text, of, String::new(), String::new(), verdict]);
    rows
}

/// Formats a number in the unit of the requirement's quantity.
pub(super) fn value(wanted: &Wanted, number: f64) -> String {
    match &wanted.subject {
        Subject::Count(_) => number.to_string(),
        Subject::Time(_) => quantity::value(Unit::Nanoseconds, number),
        Subject::OfStreams(of) if of.is_time() => quantity::value(Unit::Nanoseconds, number),
        Subject::OfStreams(of) if of.is_share => format!("{} %", significant(number * 100.0, 3)),
        Subject::OfTransactions(of) if of.is_time() => quantity::value(Unit::Nanoseconds, number),
        Subject::OfStreams(_) | Subject::OfTransactions(_) => number.to_string(),
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
        Subject::Count(_)
        | Subject::Time(_)
        | Subject::Metric(_)
        | Subject::OfStreams(_)
        | Subject::OfTransactions(_) => {
            format!("{least} to {most}")
        }
    }
}

fn verdict(finding: &Finding) -> String {
    let word = finding.verdict.word();
    match finding.because {
        "" => word.to_owned(),
        because => format!("{word} ({because})"),
    }
}
