//! Requirements on the observed traffic, and their verdicts.
//!
//! A ratio of two counts satisfies its limit if the whole Clopper–Pearson interval does, as in
//! `predict`. A count, a time or a metric is a fact about the traffic: it satisfies the limit or it
//! does not. If frames are missing, only verdicts that more frames could not change are reported.

mod early;
mod report;
mod streams;
mod transactions;
mod wanted;

pub use early::EarlyFailure;
pub use report::{Outcome, OutcomeFinding};
pub use wanted::Wanted;

use crate::{Publisher, PublisherState};
use bench::scenario::NotARequirement;
use bench::verdict::Verdict;
use meter::measure::{Measures, Transport};
use meter::metric::{Metric, ratios};
use meter::observation::DelayKind;
use meter::registry::{
    Aggregation, Measure, Values, of_direction, of_host, of_network, of_service,
};
use meter::{Connection, Direction, Host, Report, Settings, StreamReport, TransactionReport};
use stats::interval::proportion;
use wanted::{Scope, Subject};
use wire::time::Instant;

/// Confidence level of every interval.
const LEVEL: f64 = 0.95;
/// Maximum number of failed or undecided findings stored for each requirement.
const KEPT: usize = 20;

/// Error in the text of a requirement, with help.
fn wrong(message: impl Into<String>, help: impl Into<String>) -> NotARequirement {
    NotARequirement { message: message.into(), help: Some(help.into()) }
}

/// Value found for one host, connection or interval, or for the whole.
#[derive(Clone, PartialEq, Debug)]
struct Finding {
    /// Name of the host, connection or interval; none for the whole.
    of: Option<String>,
    found: Option<f64>,
    /// Confidence interval of the value; none if the value is a fact.
    interval: Option<(f64, f64)>,
    verdict: Verdict,
    because: &'static str,
}

/// A requirement and its outcome.
struct Judged {
    wanted: Wanted,
    /// Number of passed, failed and undecided findings.
    counts: [u64; 3],
    /// Number of permanent failures: those that more frames could not change.
    for_good: u64,
    /// Failures first, then undecided findings, up to the maximum; a pass only for the whole.
    findings: Vec<Finding>,
    /// True if a failure was reported before the end.
    is_reported: bool,
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

    /// Returns true if a failure holds even though frames are missing: a count beyond its limit
    /// stays beyond it.
    fn stands(&self, finding: &Finding) -> bool {
        let is_count = matches!(self.wanted.subject, Subject::Count(_));
        let is_beyond = finding.found.is_some_and(|found| self.wanted.is_refuted_for_good(found));
        finding.verdict == Verdict::Fail && is_count && is_beyond
    }

    /// Judges a value of a subject of this name.
    fn take_value(&mut self, of: String, found: f64) {
        let interval = self.wanted.is_class().then_some((found * 127.0 / 128.0, found));
        self.take(Finding {
            of: Some(of),
            found: Some(found),
            interval,
            verdict: verdict(&self.wanted, interval.unwrap_or((found, found))),
            because: "",
        });
    }

    fn take(&mut self, finding: Finding) {
        let place = match finding.verdict {
            Verdict::Pass => 0,
            Verdict::Fail => 1,
            Verdict::Undecided => 2,
        };
        self.counts[place] += 1;
        self.for_good += u64::from(self.stands(&finding));
        let is_kept = place > 0 || self.wanted.scope.is_one();
        if !is_kept {
            return;
        }
        self.findings.push(finding);
        self.findings.sort_by_key(|finding| finding.verdict != Verdict::Fail);
        self.findings.truncate(KEPT);
    }
}

/// All requirements of a measurement.
#[derive(Default)]
pub struct Requirements {
    judged: Vec<Judged>,
    /// Sum of the traffic so far; none if failures are reported only at the end.
    passed: Option<early::Passed>,
}

impl Requirements {
    /// Creates requirements without verdicts.
    pub fn new(wanted: &[Wanted]) -> Self {
        let judged = |wanted: &Wanted| Judged {
            wanted: wanted.clone(),
            counts: [0; 3],
            for_good: 0,
            findings: Vec::new(),
            is_reported: false,
        };
        Self { judged: wanted.iter().map(judged).collect(), passed: None }
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

    /// Judges an interval; a truncated interval is too short to compare and is skipped.
    pub fn interval(&mut self, report: &Report, settings: &Settings) {
        if report.length.as_nanos() < settings.interval.as_nanos() || self.judged.is_empty() {
            return;
        }
        let of = format!("interval {}", report.index.unwrap_or(0));
        let values = || seen(report);
        self.each(|scope| *scope == Scope::Interval, Some(&of), values, &report.metrics);
    }

    /// Judges a connection, both sides together.
    pub fn connection(&mut self, connection: &Connection) {
        if self.judged.is_empty() {
            return;
        }
        let of = crate::ends_name(connection);
        let values = || both(connection);
        let [mut all, back] = connection.directions.each_ref().map(Direction::transport);
        all.add(&back);
        let metrics = ratios(&all, &Transport::default());
        self.each(|scope| *scope == Scope::Connection, Some(&of), values, &metrics);
    }

    /// Judges the traffic that a host sent.
    pub fn host(&mut self, host: &Host) {
        let of = host.address.map_or_else(|| "others".to_owned(), |address| address.to_string());
        let is_it = |scope: &Scope| match scope {
            Scope::Host => true,
            Scope::Named(name) => *name == of,
            Scope::Whole
            | Scope::Interval
            | Scope::Connection
            | Scope::Service(_)
            | Scope::Streams(_)
            | Scope::Transactions(_) => false,
        };
        let metrics = ratios(&host.sent.transport, &host.received.transport);
        self.each(is_it, Some(&of), || of_host(host), &metrics);
    }

    /// Judges a stream of cyclic data, which was measured up to `until`.
    pub fn stream(&mut self, report: &StreamReport, until: Instant) {
        for judged in &mut self.judged {
            let (Scope::Streams(streams), Subject::OfStreams(of)) =
                (&judged.wanted.scope, &judged.wanted.subject)
            else {
                continue;
            };
            let found = of.value(report, until).filter(|_| streams.has(report));
            if let Some(found) = found {
                judged.take_value(streams::name(report), found);
            }
        }
    }

    /// Judges a publisher, as a file declares it and as it was seen.
    pub fn publisher(&mut self, publisher: &Publisher) {
        for judged in &mut self.judged {
            let (Scope::Streams(streams), Subject::OfStreams(of)) =
                (&judged.wanted.scope, &judged.wanted.subject)
            else {
                continue;
            };
            let found = of.of_publisher(publisher).filter(|_| streams.has_publisher(publisher));
            match found {
                Some(_) if publisher.state == PublisherState::NotDue => judged.take(Finding {
                    of: Some(publisher.label()),
                    found: None,
                    interval: None,
                    verdict: Verdict::Undecided,
                    because: "not seen, and not watched for its MaxTime",
                }),
                Some(found) => judged.take_value(publisher.label(), found),
                None => {}
            }
        }
    }

    /// Judges the transactions of a function of a unit.
    pub fn transactions(&mut self, report: &TransactionReport) {
        for judged in &mut self.judged {
            let (Scope::Transactions(whom), Subject::OfTransactions(of)) =
                (&judged.wanted.scope, &judged.wanted.subject)
            else {
                continue;
            };
            if let Some(found) = of.value(report).filter(|_| whom.has(report)) {
                judged.take_value(transactions::name(report), found);
            }
        }
    }

    /// Judges the whole; if frames are missing, weakens every verdict that they could change.
    pub fn total(&mut self, total: &Report, is_missing: bool) {
        let values = || seen(total);
        if total.intervals > 0 {
            self.each(|scope| *scope == Scope::Whole, None, values, &total.metrics);
        }
        for (service, counts) in total.measures.mms.services() {
            let of = format!("mms.{}", service.name());
            let is_it = |scope: &Scope| *scope == Scope::Service(service);
            self.each(is_it, Some(&of), || of_service(counts), &[]);
        }
        if is_missing {
            self.judged.iter_mut().for_each(lessen);
        }
    }

    /// Returns the worst verdict; none where nothing is required.
    pub fn verdict(&self) -> Option<Verdict> {
        let of = |wanted| self.judged.iter().any(|judged| judged.verdict() == wanted);
        [Verdict::Fail, Verdict::Undecided, Verdict::Pass].into_iter().find(|verdict| of(*verdict))
    }
}

/// Returns the values that the tap can observe.
fn seen(report: &Report) -> Values {
    seen_of(&report.measures)
}

fn seen_of(measures: &Measures) -> Values {
    let mut values = of_network(measures);
    values.retain(|(measure, _)| !measures.is_unseen(*measure));
    values
}

/// Combines the values of both sides of a connection.
fn both(connection: &Connection) -> Values {
    let [mut sum, other] = connection.directions.each_ref().map(of_direction);
    // Sequence numbers of the two sides are unrelated.
    sum.retain(|(measure, _)| measure.aggregation() != Aggregation::Latest);
    for (measure, value) in &mut sum {
        let more = other.iter().find(|(known, _)| known == measure).map_or(0, |(_, more)| *more);
        // Quantiles of both sides are those of the slower one: usually only one side replies.
        let is_sum = measure.aggregation() == Aggregation::Sum;
        *value = if is_sum { value.saturating_add(more) } else { more.max(*value) };
    }
    sum
}

/// Keeps only verdicts that hold although frames are missing: counts already beyond a limit.
fn lessen(judged: &mut Judged) {
    let is_count = matches!(judged.wanted.subject, Subject::Count(_));
    let passes = is_count && judged.wanted.is_shown_by_more();
    let [passed, failed, undecided] = &mut judged.counts;
    if !passes {
        *undecided += core::mem::take(passed);
    }
    *undecided += *failed - judged.for_good;
    *failed = judged.for_good;
    let mut findings = core::mem::take(&mut judged.findings);
    for finding in &mut findings {
        let stands = match finding.verdict {
            Verdict::Pass => passes,
            Verdict::Fail => judged.stands(finding),
            Verdict::Undecided => true,
        };
        if !stands {
            (finding.verdict, finding.because) = (Verdict::Undecided, "frames are missing");
        }
    }
    judged.findings = findings;
}

/// Judges one subject; none if the requirement applies to each and this one has nothing to judge. A
/// delay that did not occur is nothing to judge, but a window that was never closed is good.
fn judge(wanted: &Wanted, values: &Values, metrics: &[Metric]) -> Option<Finding> {
    let value = |wanted: &Measure| {
        values.iter().find(|(found, _)| found == wanted).map(|(_, value)| *value)
    };
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
            // With more events than trials the ratio is not a proportion.
            if events > trials {
                finding.found = Some(events as f64 / trials as f64);
                finding.interval = None;
            }
        }
        Subject::Time(Measure::Delay(delay, _))
            if *delay != DelayKind::ClosedWindow && value(&delay.count()) == Some(0) =>
        {
            finding.because = "no such delay was seen";
            return wanted.scope.is_one().then_some(finding);
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
        // Streams and transactions have no values of measures.
        Subject::OfStreams(_) | Subject::OfTransactions(_) => return None,
    }
    let found = finding.found?;
    finding.verdict = verdict(wanted, finding.interval.unwrap_or((found, found)));
    Some(finding)
}

/// Verdict on a value that lies between two ends.
fn verdict(wanted: &Wanted, (low, high): (f64, f64)) -> Verdict {
    match (wanted.holds(low), wanted.holds(high)) {
        (true, true) => Verdict::Pass,
        (false, false) => Verdict::Fail,
        (true, false) | (false, true) => Verdict::Undecided,
    }
}

#[cfg(test)]
mod tests;
