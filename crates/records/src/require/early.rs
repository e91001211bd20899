//! Requirements that fail permanently before the end: counts and maxima beyond an upper limit, and
//! complete intervals.

use super::wanted::{Scope, Subject};
use super::{Judged, Requirements, both, report, seen_of};
use crate::calendar;
use bench::verdict::Verdict;
use core::fmt::{self, Display, Formatter};
use meter::measure::Measures;
use meter::registry::{Values, of_host, of_service};
use meter::{Meter, Report};
use wire::time::Instant;

/// Sum of all complete intervals.
#[derive(Default)]
pub(crate) struct Passed {
    measures: Measures,
}

/// A requirement that has failed permanently before the end.
#[derive(Clone, PartialEq, Debug)]
pub struct EarlyFailure {
    /// Requirement as written.
    pub requirement: String,
    /// Host, connection or interval; none for the whole.
    pub of: Option<String>,
    /// Value found, in the base unit of the requirement.
    pub found: f64,
    /// Value found, with its unit.
    pub found_text: String,
    /// Time at which the failure was certain.
    pub by: Instant,
}

impl Display for EarlyFailure {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let Self { requirement, of, found_text, by, .. } = self;
        let by = calendar::rfc_3339(*by);
        let of = of.as_ref().map_or_else(String::new, |of| format!(" {of}:"));
        write!(
            to,
            "requirement failed by {by}: {requirement}:{of} found {found_text}; more frames cannot \
             change that"
        )
    }
}

/// Value that violates a requirement permanently.
struct Refuted {
    /// Host, connection or interval; none for the whole.
    of: Option<String>,
    found: f64,
}

impl Requirements {
    /// Enables reports of permanent failures at the end of each interval, if `is_wanted`.
    pub fn reporting_early(mut self, is_wanted: bool) -> Self {
        self.passed = (is_wanted && !self.judged.is_empty()).then(Passed::default);
        self
    }

    /// Returns each requirement that has permanently failed by the end of an interval, once. If frames
    /// are missing (`has_dropped`), only counts beyond an upper limit are certain.
    pub fn failed_early(
        &mut self,
        report: &Report,
        meter: &Meter,
        has_dropped: bool,
    ) -> Vec<EarlyFailure> {
        let Some(passed) = &mut self.passed else { return Vec::new() };
        passed.measures.add(&report.measures);
        let mut failures = Vec::new();
        for judged in self.judged.iter_mut().filter(|judged| !judged.is_reported) {
            let is_count = matches!(judged.wanted.subject, Subject::Count(_));
            if has_dropped && !(is_count && judged.wanted.relation.is_upper()) {
                continue;
            }
            if let Some(refuted) = refuted(judged, &passed.measures, meter) {
                judged.is_reported = true;
                let end = report.start + report.length;
                let by = match judged.wanted.scope {
                    Scope::Whole | Scope::Interval | Scope::Service(_) => end,
                    // Hosts and connections have their current values, not those at the end of the
                    // interval.
                    Scope::Host
                    | Scope::Named(_)
                    | Scope::Connection
                    | Scope::Streams(_)
                    | Scope::Transactions(_) => meter.last().map_or(end, |last| last.max(end)),
                };
                failures.push(failure(judged, refuted, by));
            }
        }
        failures
    }
}

/// Returns the first value that violates a requirement permanently; none if more frames may still
/// satisfy it.
fn refuted(judged: &Judged, passed: &Measures, meter: &Meter) -> Option<Refuted> {
    let wanted = &judged.wanted;
    let within = |of: Option<String>, values: Values| {
        let name = match &wanted.subject {
            Subject::Count(name) | Subject::Time(name) => name,
            Subject::Share(..)
            | Subject::Metric(_)
            | Subject::OfStreams(_)
            | Subject::OfTransactions(_) => return None,
        };
        let found =
            values.iter().find(|(known, _)| known == name).map(|(_, value)| *value as f64)?;
        wanted.is_refuted_for_good(found).then_some(Refuted { of, found })
    };
    let failed = judged.findings.iter().find(|finding| finding.verdict == Verdict::Fail);
    // Evicted connections and complete intervals are judged already.
    let over = || failed.and_then(|it| Some(Refuted { of: it.of.clone(), found: it.found? }));
    match &wanted.scope {
        Scope::Whole => within(None, seen_of(passed)),
        Scope::Service(service) => {
            let of = format!("mms.{}", service.name());
            within(Some(of), of_service(passed.mms.of(*service)?))
        }
        Scope::Interval => over(),
        Scope::Host => meter.each_host().find_map(|host| {
            within(host.address.map(|address| address.to_string()), of_host(&host))
        }),
        Scope::Named(name) => meter.each_host().find_map(|host| {
            let of = host.address?.to_string();
            if of == *name { within(Some(of), of_host(&host)) } else { None }
        }),
        Scope::Streams(streams) => over().or_else(|| {
            let Subject::OfStreams(of) = &wanted.subject else { return None };
            let until = meter.last().unwrap_or_default();
            let each = meter.each_stream().into_iter().filter(|report| streams.has(report));
            let mut found =
                each.filter_map(|it| Some((super::streams::name(&it), of.value(&it, until)?)));
            found.find_map(|(name, found)| {
                wanted.is_refuted_for_good(found).then_some(Refuted { of: Some(name), found })
            })
        }),
        Scope::Transactions(whom) => over().or_else(|| {
            let Subject::OfTransactions(of) = &wanted.subject else { return None };
            let each = meter.transactions().filter(|report| whom.has(report));
            let mut found =
                each.filter_map(|it| Some((super::transactions::name(it), of.value(it)?)));
            found.find_map(|(name, found)| {
                wanted.is_refuted_for_good(found).then_some(Refuted { of: Some(name), found })
            })
        }),
        Scope::Connection => over().or_else(|| {
            meter.each_connection().find_map(|connection| {
                within(Some(crate::ends_name(&connection)), both(&connection))
            })
        }),
    }
}

fn failure(judged: &Judged, Refuted { of, found }: Refuted, by: Instant) -> EarlyFailure {
    let requirement = judged.wanted.text.clone();
    let found_text = report::value(&judged.wanted, found);
    EarlyFailure { requirement, of, found, found_text, by }
}
