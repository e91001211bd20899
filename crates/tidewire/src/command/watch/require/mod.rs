//! What must hold of what passes, and whether it does.
//!
//! A share of two counts holds if the whole interval of Clopper and Pearson lies on the right side of
//! its limit, as in `predict`. A count, a time or a metric is a fact about what passed: it holds or it
//! does not. Where the meter did not get everything, only what more frames could not change is told.

mod tell;
mod wanted;

pub(crate) use wanted::Wanted;

use super::export::rows;
use crate::stream::{is_greatest, sent_of};
use bench::verdict::Verdict;
use meter::measure::{Measure as _, Transport, Values};
use meter::metric::{Metric, ratios};
use meter::{Connection, Direction, Host, Report, Settings};
use stats::interval::proportion;
use wanted::{Scope, Subject};

/// The confidence of every interval.
const LEVEL: f64 = 0.95;
/// What is kept of each requirement of those that failed or are not decided.
const KEPT: usize = 20;

/// What was found of one host, connection or interval, or of the whole.
#[derive(Clone, PartialEq, Debug)]
struct Finding {
    /// Of whom; none for the whole.
    of: Option<String>,
    found: Option<f64>,
    /// What it may be instead, where it is not a fact.
    interval: Option<(f64, f64)>,
    verdict: Verdict,
    because: &'static str,
}

/// A requirement and what became of it.
struct Judged {
    wanted: Wanted,
    /// How many passed, failed and are not decided.
    counts: [u64; 3],
    /// Failures first, then what is not decided, as far as kept; a pass only if it is the whole's.
    findings: Vec<Finding>,
}

impl Judged {
    fn verdict(&self) -> Verdict {
        let [passed, failed, undecided] = self.counts;
        if failed > 0 {
            Verdict::Fail
        } else if undecided > 0 || passed == 0 {
            Verdict::Undecided
        } else {
            Verdict::Pass
        }
    }

    fn take(&mut self, finding: Finding) {
        let place = match finding.verdict {
            Verdict::Pass => 0,
            Verdict::Fail => 1,
            Verdict::Undecided => 2,
        };
        self.counts[place] += 1;
        let is_kept = place > 0 || self.wanted.scope.is_one();
        if !is_kept {
            return;
        }
        self.findings.push(finding);
        self.findings.sort_by_key(|finding| finding.verdict != Verdict::Fail);
        self.findings.truncate(KEPT);
    }
}

/// All that is required.
#[derive(Default)]
pub(in crate::command) struct Requirements {
    judged: Vec<Judged>,
}

impl Requirements {
    pub(in crate::command) fn new(wanted: &[Wanted]) -> Self {
        let judged = |wanted: &Wanted| Judged {
            wanted: wanted.clone(),
            counts: [0; 3],
            findings: Vec::new(),
        };
        Self { judged: wanted.iter().map(judged).collect() }
    }

    fn each(
        &mut self,
        scope: impl Fn(&Scope) -> bool,
        of: Option<&str>,
        values: impl FnOnce() -> Values,
        metrics: &[Metric],
    ) {
        let mut wanted = self.judged.iter_mut().filter(|it| scope(&it.wanted.scope)).peekable();
        if wanted.peek().is_none() {
            return;
        }
        let values = values();
        for judged in wanted {
            if let Some(mut finding) = judge(&judged.wanted, &values, metrics) {
                finding.of = of.map(str::to_owned);
                judged.take(finding);
            }
        }
    }

    /// Judges an interval; one that was broken off is too short to be compared.
    pub(in crate::command) fn interval(&mut self, report: &Report, settings: &Settings) {
        if report.length.as_nanos() < settings.interval.as_nanos() || self.judged.is_empty() {
            return;
        }
        let of = format!("interval {}", report.index.unwrap_or(0));
        let values = || seen(report);
        self.each(|scope| *scope == Scope::Interval, Some(&of), values, &report.metrics);
    }

    /// Judges a connection, both its sides together.
    pub(in crate::command) fn connection(&mut self, connection: &Connection) {
        if self.judged.is_empty() {
            return;
        }
        let of = crate::stream::ends_name(connection);
        let values = || both(connection);
        let [mut all, back] = connection.directions.each_ref().map(Direction::transport);
        all.add(&back);
        let metrics = ratios(&all, &Transport::default());
        self.each(|scope| *scope == Scope::Connection, Some(&of), values, &metrics);
    }

    /// Judges what a host sent.
    pub(in crate::command) fn host(&mut self, host: &Host) {
        let of = host.address.map_or_else(|| "others".to_owned(), |address| address.to_string());
        let is_it = |scope: &Scope| match scope {
            Scope::Host => true,
            Scope::Named(name) => *name == of,
            Scope::Whole | Scope::Interval | Scope::Connection => false,
        };
        let metrics = ratios(&host.sent.transport, &host.received.transport);
        self.each(is_it, Some(&of), || sent_of(host), &metrics);
    }

    /// Judges the whole, and makes of every verdict what it is worth if frames are missing.
    pub(in crate::command) fn total(&mut self, total: &Report, is_missing: bool) {
        let values = || seen(total);
        if total.intervals > 0 {
            self.each(|scope| *scope == Scope::Whole, None, values, &total.metrics);
        }
        if is_missing {
            self.judged.iter_mut().for_each(lessen);
        }
    }

    /// The worst verdict; none where nothing is required.
    pub(in crate::command) fn verdict(&self) -> Option<Verdict> {
        let of = |wanted| self.judged.iter().any(|judged| judged.verdict() == wanted);
        [Verdict::Fail, Verdict::Undecided, Verdict::Pass].into_iter().find(|verdict| of(*verdict))
    }
}

/// Values of what the tap can see.
fn seen(report: &Report) -> Values {
    let mut values = report.measures.values();
    values.retain(|(name, _)| !report.measures.is_unseen(name));
    values
}

/// The values of both sides of a connection together.
fn both(connection: &Connection) -> Values {
    let [mut sum, other] = connection.directions.each_ref().map(rows::direction);
    for ((name, value), (_, more)) in sum.iter_mut().zip(other) {
        // Percentiles of both sides are those of the slower one: as a rule one side replies.
        let is_of_one = name.starts_with("response_p") || name.as_ref() == "response_min_ns";
        let is_greatest = is_of_one || is_greatest(name);
        *value = if is_greatest { more.max(*value) } else { value.saturating_add(more) };
    }
    sum
}

/// What of the verdicts stands though frames are missing: that a count is beyond a limit already.
fn lessen(judged: &mut Judged) {
    let Wanted { subject, side, .. } = &judged.wanted;
    let is_count = matches!(subject, Subject::Count(_));
    let fails = is_count && side.is_refuted_by_more();
    let passes = is_count && side.is_shown_by_more();
    let [passed, failed, undecided] = &mut judged.counts;
    if !passes {
        *undecided += core::mem::take(passed);
    }
    if !fails {
        *undecided += core::mem::take(failed);
    }
    for finding in &mut judged.findings {
        let stands = match finding.verdict {
            Verdict::Pass => passes,
            Verdict::Fail => fails,
            Verdict::Undecided => true,
        };
        if !stands {
            (finding.verdict, finding.because) = (Verdict::Undecided, "frames are missing");
        }
    }
}

/// Judges one; nothing where each is to be judged and this one has nothing to judge.
fn judge(wanted: &Wanted, values: &Values, metrics: &[Metric]) -> Option<Finding> {
    let value =
        |name: &str| values.iter().find(|(found, _)| found == name).map(|(_, value)| *value);
    let mut finding = Finding {
        of: None,
        found: None,
        interval: None,
        verdict: Verdict::Undecided,
        because: "a quotient by nothing, or of a layer that the tap cannot see",
    };
    match &wanted.subject {
        Subject::Share(events, trials) => {
            let (events, trials) = (value(events)?, value(trials)?);
            if trials == 0 {
                return wanted.scope.is_one().then_some(finding);
            }
            let found = proportion(events, trials, LEVEL);
            finding.found = found.share();
            let ends = (found.interval.low, found.interval.high);
            (finding.interval, finding.because) = (Some(ends), "");
            // More events than trials: no share, and no chance to be one.
            if events > trials {
                finding.found = Some(events as f64 / trials as f64);
                finding.interval = None;
            }
        }
        Subject::Count(name) | Subject::Time(name) => {
            let value = value(name)? as f64;
            (finding.found, finding.because) = (Some(value), "");
            if wanted.is_class() {
                finding.interval = Some((value * 127.0 / 128.0, value));
            }
        }
        Subject::Metric(symbol) => {
            let found = metrics.iter().find(|metric| metric.definition.symbol == *symbol)?;
            let Some(value) = found.value else {
                return wanted.scope.is_whole().then_some(finding);
            };
            (finding.found, finding.because) = (Some(value), "");
        }
    }
    let found = finding.found?;
    let (low, high) = finding.interval.unwrap_or((found, found));
    finding.verdict = match (wanted.holds(low), wanted.holds(high)) {
        (true, true) => Verdict::Pass,
        (false, false) => Verdict::Fail,
        (true, false) | (false, true) => Verdict::Undecided,
    };
    Some(finding)
}

#[cfg(test)]
mod tests;
