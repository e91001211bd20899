//! Analysis of samples: a report with estimates and their confidence for each point and flow.
//!
//! A replication gives one value of each quantity; the interval is Student's t over replications,
//! which are independent by construction. A single replication has an interval by batch means
//! within it, if it is long enough. Far quantiles are pooled over all replications, with the
//! interval of their order statistics. Bias: messages of one run are correlated, so the intervals
//! of pooled quantiles and of shares are too narrow under heavy load.

use crate::bound::{Bound, Reason, assumptions, bounds};
use crate::sample::{FlowSample, Origin, Sample, Within};
use crate::scenario::{Flow, Point, Start};
use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use stats::histogram::Histogram;
use stats::interval::{self, Estimate, proportion};
use stats::summary::Summary;
use std::collections::BTreeMap;

/// Quantity derived from a flow sample.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// Name in requirements and tables.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Function that computes it; `None` if the sample is too small.
    pub of: fn(&FlowSample) -> Option<f64>,
}

/// Unit of a quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bits per second.
    #[serde(rename = "bit/s")]
    BitsPerSecond,
    /// A fraction of one.
    #[serde(rename = "1")]
    Fraction,
}

/// Every quantity, in the order of tables.
pub const QUANTITIES: [Quantity; 19] = [
    Quantity { name: "delay.mean", unit: Unit::Nanoseconds, of: |flow| flow.delay.mean_ns },
    Quantity {
        name: "delay.sd",
        unit: Unit::Nanoseconds,
        of: |flow| flow.delay.standard_deviation_ns,
    },
    Quantity { name: "delay.min", unit: Unit::Nanoseconds, of: |f| whole(f.delay.min_ns) },
    Quantity { name: "delay.p50", unit: Unit::Nanoseconds, of: |f| far(&f.delay, 0.5) },
    Quantity { name: "delay.p90", unit: Unit::Nanoseconds, of: |f| far(&f.delay, 0.9) },
    Quantity { name: "delay.p99", unit: Unit::Nanoseconds, of: |f| far(&f.delay, 0.99) },
    Quantity { name: "delay.p99.9", unit: Unit::Nanoseconds, of: |f| far(&f.delay, 0.999) },
    Quantity { name: "delay.max", unit: Unit::Nanoseconds, of: |f| whole(f.delay.max_ns) },
    Quantity { name: "response.mean", unit: Unit::Nanoseconds, of: |f| f.response.mean_ns },
    Quantity {
        name: "response.sd",
        unit: Unit::Nanoseconds,
        of: |flow| flow.response.standard_deviation_ns,
    },
    Quantity { name: "response.min", unit: Unit::Nanoseconds, of: |f| whole(f.response.min_ns) },
    Quantity { name: "response.p50", unit: Unit::Nanoseconds, of: |f| far(&f.response, 0.5) },
    Quantity { name: "response.p90", unit: Unit::Nanoseconds, of: |f| far(&f.response, 0.9) },
    Quantity { name: "response.p99", unit: Unit::Nanoseconds, of: |f| far(&f.response, 0.99) },
    Quantity { name: "response.max", unit: Unit::Nanoseconds, of: |f| whole(f.response.max_ns) },
    Quantity {
        name: "throughput",
        unit: Unit::BitsPerSecond,
        of: |flow| flow.throughput_bits_per_second,
    },
    Quantity { name: "lost", unit: Unit::Fraction, of: |f| share(Some(f.lost), f.sent) },
    Quantity { name: "missed", unit: Unit::Fraction, of: |f| share(f.missed, f.judged()) },
    Quantity { name: "setup", unit: Unit::Nanoseconds, of: |flow| whole(flow.setup_ns) },
];

/// Quantile of one run, if at least ten values lie beyond it.
fn far(spans: &crate::sample::Distribution, level: f64) -> Option<f64> {
    let beyond = spans.count as f64 * (1.0 - level);
    (beyond >= 10.0 - 1e-9).then(|| whole(spans.quantile_ns(level)))?
}

fn whole(count: Option<u64>) -> Option<f64> {
    count.map(|count| count as f64)
}

fn share(part: Option<u64>, all: u64) -> Option<f64> {
    part.filter(|_| all > 0).map(|part| part as f64 / all as f64)
}

/// Results of a study.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Report {
    /// Title of its scenario.
    pub title: String,
    /// Confidence level of all its intervals.
    pub level: f64,
    /// Noise of the host that measured; `None` if simulated or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_noise_ns: Option<u64>,
    /// Results of each point, in order.
    pub points: Vec<PointReport>,
}

/// Results of one point.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct PointReport {
    /// Index of the point.
    pub point: usize,
    /// Settings of the point.
    pub settings: BTreeMap<String, String>,
    /// Number of replications in the results.
    pub replications: u64,
    /// Number of these that did not run to their end: all of them or none.
    pub incomplete: u64,
    /// Number of further replications that did not run to their end. They are in no result, because
    /// others did.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// True if several replications are identical to the last octet because nothing in the scenario
    /// is random. All results are then those of one run, which has no interval.
    pub deterministic: bool,
    /// Seed of each replication, in order; empty for measured runs, whose randomness is not only
    /// seeded.
    #[serde(skip)]
    pub seeds: Vec<u64>,
    /// Results of each flow, in the order of the scenario.
    pub flows: Vec<FlowReport>,
    /// Assumptions of the flows' bounds, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumptions: Option<&'static str>,
    /// Sums of the counters of media and faults.
    pub counts: BTreeMap<String, u64>,
}

/// Results of one flow at one point.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct FlowReport {
    /// Name.
    pub name: String,
    /// Group of flows that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The service that carries it, if the architectures of its stations choose among several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<&'static str>,
    /// Standing of its service, if its octets are an assumption, or its transport a minimal model, that
    /// has to be named with each result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<&'static str>,
    /// True if the time to open its connection is a result: the scenario has a directory.
    #[serde(skip)]
    pub shows_setup: bool,
    /// Available quantities, in the order of [`QUANTITIES`].
    pub quantities: Vec<Found>,
    /// For a single replication: its mean delay, or response, with an interval from within the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
    /// Far quantiles of the delay, pooled over all replications.
    pub delay_pooled: Vec<PooledQuantile>,
    /// Far quantiles of the response, pooled over all replications.
    pub response_pooled: Vec<PooledQuantile>,
    /// Deadline, if there is one.
    pub deadline_ns: Option<u64>,
    /// True if its start is drawn for each run, so that the worst alignment may not have occurred.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub random_start: bool,
    /// Upper bound of a message's delay in theory, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_ns: Option<u64>,
    /// Reason for the lack of a bound, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_bound: Option<Reason>,
    /// Maximum delay, or response, over all replications.
    pub longest_ns: Option<u64>,
    /// Maximum delay over all replications.
    #[serde(skip)]
    pub longest_delay_ns: Option<u64>,
    /// Maximum response time over all replications.
    #[serde(skip)]
    pub longest_response_ns: Option<u64>,
    /// Probability that a message, or its answer, misses its deadline.
    pub missed: Option<Probability>,
    /// Messages that are as near to the deadline as the noise of the host; `None` without noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near_deadline: Option<NearDeadline>,
    /// Probability that a message is lost.
    pub lost: Probability,
    /// Messages sent, over all replications.
    pub sent: u64,
    /// Messages not taken.
    pub not_taken: u64,
    /// Messages not offered because their station was absent.
    pub not_offered: u64,
    /// Messages that arrived.
    pub delivered: u64,
    /// Duplicates that arrived.
    pub duplicated: u64,
    /// Messages that arrived after a later one.
    pub out_of_order: u64,
    /// Damaged arrivals.
    pub damaged: u64,
    /// Messages that were acknowledged.
    pub acknowledged: u64,
    /// Messages that the service could not send, or that were not acknowledged.
    pub failed: u64,
    /// Messages that were acknowledged but did not arrive.
    pub acknowledged_and_lost: u64,
    /// Number of the messages that failed, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, u64>,
    /// Replications in which the end of the warm-up was not found.
    pub warmup_too_short: u64,
    /// Reasons for the end of its connections, with their counts.
    pub ends: BTreeMap<String, u64>,
}

impl FlowReport {
    /// Removes all intervals: the messages of a deterministic run are no random sample.
    fn without_intervals(mut self) -> Self {
        self.within = None;
        for quantile in self.delay_pooled.iter_mut().chain(&mut self.response_pooled) {
            (quantile.interval_ns, quantile.least_ns) = (None, None);
        }
        for probability in self.missed.iter_mut().chain([&mut self.lost]) {
            (probability.low, probability.high) = (0.0, 1.0);
        }
        self
    }

    /// Returns a quantity by its name.
    #[must_use]
    pub fn quantity(&self, name: &str) -> Option<&Found> {
        self.quantities.iter().find(|found| found.name == name)
    }
}

/// Estimate of a quantity over the replications of a point.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Found {
    /// Name.
    pub name: &'static str,
    /// Unit.
    pub unit: Unit,
    /// Mean over replications.
    pub mean: f64,
    /// Half-width of its interval; `None` for a single replication.
    pub half_width: Option<f64>,
    /// Confidence level.
    pub level: f64,
    /// Number of replications.
    pub n: u64,
    /// Summary of the values.
    #[serde(skip)]
    pub values: Summary,
    /// Value of each replication, in order.
    #[serde(skip)]
    pub each: Vec<f64>,
}

impl Found {
    /// Mean with its interval, if it has one.
    #[must_use]
    pub fn estimate(&self) -> Option<Estimate> {
        interval::mean(&self.values, self.level)
    }
}

/// Quantile pooled over all replications.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct PooledQuantile {
    /// Share: 0.999 for the value that 99.9 % do not exceed.
    pub share: f64,
    /// Quantile in nanoseconds.
    pub value_ns: u64,
    /// Its interval, if there are enough values to bound it on both sides.
    pub interval_ns: Option<(u64, u64)>,
    /// Lower end alone, if there are enough values for it but not for the upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_ns: Option<u64>,
    /// Number of values.
    pub count: u64,
}

/// Shares of the reported pooled quantiles.
pub const POOLED: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// Messages of a flow, or answers to its requests, whose times are as near to the deadline as the
/// noise of the host. Times have three digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
pub struct NearDeadline {
    /// Number of those that met it.
    pub met: u64,
    /// Number of those that missed it.
    pub missed: u64,
}

/// Estimate of a probability.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Probability {
    /// Number of events.
    pub events: u64,
    /// Number of trials.
    pub trials: u64,
    /// Lower end of its interval by [`share_interval`]; 0 if the runs are copies of one.
    pub low: f64,
    /// Upper end; above 0 even without events, and 1 if the runs are copies of one.
    pub high: f64,
}

/// Confidence of an interval, and the extrapolation of the data it applies to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Confidence {
    /// Confidence level: 0.95.
    pub level: f64,
    /// Factor on the number of runs; 1 for the runs made.
    pub times: f64,
}

/// Interval of a share of messages: that of Clopper and Pearson for all messages together, widened
/// to Student's over runs if messages of one run share their fate. `over_runs` is the share of each
/// run.
#[must_use]
pub fn share_interval(
    events: u64,
    trials: u64,
    over_runs: Option<&Found>,
    Confidence { level, times }: Confidence,
) -> (f64, f64) {
    let exact = proportion(events, trials, level).interval;
    let over_runs = over_runs.and_then(|found| interval::mean(&found.values, level));
    match over_runs.filter(|_| events > 0) {
        Some(estimate) => {
            let half_width = estimate.half_width / times.sqrt();
            let low = exact.low.min(estimate.mean - half_width).max(0.0);
            (low, exact.high.max(estimate.mean + half_width).min(1.0))
        }
        None => (exact.low, exact.high),
    }
}

/// Computes the report of samples at this confidence level.
#[must_use]
pub fn analyse(samples: &[Sample], level: f64) -> Report {
    let mut points: BTreeMap<usize, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        points.entry(sample.point).or_default().push(sample);
    }
    Report {
        title: samples.first().map(|sample| sample.title.clone()).unwrap_or_default(),
        level,
        host_noise_ns: None,
        points: points.into_iter().map(|(point, of)| point_report(point, of, level)).collect(),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn point_report<'a>(point: usize, mut samples: Vec<&'a Sample>, level: f64) -> PointReport {
    // The last bits of a mean depend on the order, which must not depend on threads.
    samples.sort_by_key(|sample| sample.replication);
    let mut incomplete = samples.iter().filter(|sample| !sample.complete).count() as u64;
    let mut left_out = 0;
    // A run that was interrupted has fewer messages, so its rates and longest times are lower.
    if incomplete < samples.len() as u64 {
        (left_out, incomplete) = (incomplete, 0);
        samples.retain(|sample| sample.complete);
    }
    let (replications, seeds) = (samples.len() as u64, seeds(&samples));
    let deterministic = are_copies(&samples);
    if deterministic {
        samples.truncate(1);
    }
    let mut counts = BTreeMap::new();
    for (name, count) in samples.iter().flat_map(|sample| &sample.counts) {
        *counts.entry(name.clone()).or_insert(0) += count;
    }
    let names: Vec<&str> = samples
        .first()
        .map(|sample| sample.flows.iter().map(|flow| flow.name.as_str()).collect())
        .unwrap_or_default();
    let by_name = |sample: &&'a Sample| -> BTreeMap<&'a str, &'a FlowSample> {
        sample.flows.iter().map(|flow| (flow.name.as_str(), flow)).collect()
    };
    let by_name: Vec<BTreeMap<&str, &FlowSample>> = samples.iter().map(by_name).collect();
    let flows = names
        .into_iter()
        .map(|name| {
            let of = by_name.iter().filter_map(|flows| flows.get(name).copied().cloned());
            let of: Vec<FlowSample> = of.collect();
            let found = flow_report(name, &of, level);
            if deterministic { found.without_intervals() } else { found }
        })
        .collect();
    PointReport {
        point,
        settings: samples.first().map(|sample| sample.settings.clone()).unwrap_or_default(),
        replications,
        seeds,
        incomplete,
        left_out,
        deterministic,
        flows,
        assumptions: None,
        counts,
    }
}

/// Returns whether these are several runs that are identical except for their seeds.
fn are_copies(samples: &[&Sample]) -> bool {
    let Some((first, others)) = samples.split_first() else { return false };
    let is_copy = |other: &&Sample| {
        first.flows == other.flows
            && first.counts == other.counts
            && first.ended_at_ns == other.ended_at_ns
    };
    !others.is_empty() && others.iter().all(is_copy)
}

/// Seeds of the samples, if all were simulated.
fn seeds(samples: &[&Sample]) -> Vec<u64> {
    let all_predicted = samples.iter().all(|sample| sample.source == Origin::Predicted);
    samples.iter().filter(|_| all_predicted).map(|sample| sample.seed).collect()
}

impl Report {
    /// Adds the group of each flow that belongs to one, and the service of each that names several.
    #[must_use]
    pub fn with_groups(mut self, points: &[Point]) -> Self {
        for found in &mut self.points {
            let Some(point) = points.get(found.point) else { continue };
            let flows = point.scenario.flows.iter();
            let flows: BTreeMap<&str, &Flow> = flows.map(|it| (it.name.as_str(), it)).collect();
            for found in &mut found.flows {
                let Some(flow) = flows.get(found.name.as_str()) else { continue };
                found.group.clone_from(&flow.group);
                let is_chosen = flow.services.all().len() > 1;
                found.shows_setup =
                    point.scenario.directory.is_some() && flow.service.is_connected();
                found.service = is_chosen.then(|| flow.service.name());
                found.standing = flow.standing();
            }
        }
        self
    }

    /// Adds the theoretical bounds of the flows of each point, and their groups.
    #[must_use]
    pub fn with_bounds(self, points: &[Point]) -> Self {
        let mut this = self.with_groups(points);
        for found in &mut this.points {
            let Some(point) = points.get(found.point) else { continue };
            let flows = point.scenario.flows.iter().zip(bounds(&point.scenario));
            let flows: BTreeMap<&str, (&Flow, Bound)> =
                flows.map(|(flow, bound)| (flow.name.as_str(), (flow, bound))).collect();
            for found in &mut found.flows {
                let Some((flow, bound)) = flows.get(found.name.as_str()) else { continue };
                found.random_start = flow.start == Start::Random;
                match *bound {
                    Bound::Longest(longest) => found.bound_ns = Some(wire::time::nanos(longest)),
                    Bound::None(reason) => found.no_bound = Some(reason),
                }
            }
            let is_any = found.flows.iter().any(|flow| flow.bound_ns.is_some());
            found.assumptions = assumptions(&point.scenario.medium).filter(|_| is_any);
        }
        this
    }
}

/// Failed messages of all runs of a flow, by reason.
fn failures(flows: &[FlowSample]) -> BTreeMap<String, u64> {
    let mut failures = BTreeMap::new();
    for (reason, n) in flows.iter().flat_map(|flow| &flow.failures) {
        *failures.entry(reason.clone()).or_default() += n;
    }
    failures
}

fn flow_report(name: &str, flows: &[FlowSample], level: f64) -> FlowReport {
    let sum = |of: fn(&FlowSample) -> u64| flows.iter().map(of).sum::<u64>();
    let quantities: Vec<Found> =
        QUANTITIES.iter().filter_map(|quantity| found(quantity, flows, level)).collect();
    let probability = |name: &str, events, trials| {
        let over_runs = quantities.iter().find(|found| found.name == name);
        let (low, high) =
            share_interval(events, trials, over_runs, Confidence { level, times: 1.0 });
        Probability { events, trials, low, high }
    };
    let missed = flows.iter().filter_map(|flow| flow.missed).reduce(|a, b| a + b);
    let missed = missed.map(|missed| probability("missed", missed, sum(FlowSample::judged)));
    let lost = probability("lost", sum(|flow| flow.lost), sum(|flow| flow.sent));
    let mut ends = BTreeMap::new();
    for end in flows.iter().filter_map(|flow| flow.end.as_ref()) {
        *ends.entry(end.reason.clone()).or_insert(0) += 1;
    }
    FlowReport {
        name: name.to_owned(),
        group: None,
        service: None,
        standing: None,
        shows_setup: false,
        quantities,
        within: single(flows).and_then(|flow| flow.within),
        delay_pooled: pooled(flows.iter().map(|flow| &flow.delay), level),
        response_pooled: pooled(flows.iter().map(|flow| &flow.response), level),
        deadline_ns: flows.iter().find_map(|flow| flow.deadline_ns),
        random_start: false,
        bound_ns: None,
        no_bound: None,
        longest_ns: flows.iter().filter_map(|it| it.response.max_ns.or(it.delay.max_ns)).max(),
        longest_delay_ns: flows.iter().filter_map(|it| it.delay.max_ns).max(),
        longest_response_ns: flows.iter().filter_map(|it| it.response.max_ns).max(),
        missed,
        near_deadline: None,
        lost,
        sent: sum(|flow| flow.sent),
        not_taken: sum(|flow| flow.not_taken),
        not_offered: sum(|flow| flow.not_offered),
        delivered: sum(|flow| flow.delivered),
        duplicated: sum(|flow| flow.duplicated),
        out_of_order: sum(|flow| flow.out_of_order),
        damaged: sum(|flow| flow.damaged),
        acknowledged: sum(|flow| flow.acknowledged),
        failed: sum(|flow| flow.failed),
        acknowledged_and_lost: sum(|flow| flow.acknowledged_and_lost),
        failures: failures(flows),
        warmup_too_short: sum(|flow| u64::from(flow.warmup_too_short)),
        ends,
    }
}

/// The only element, if there is exactly one.
const fn single(flows: &[FlowSample]) -> Option<&FlowSample> {
    if let [flow] = flows { Some(flow) } else { None }
}

fn found(quantity: &Quantity, flows: &[FlowSample], level: f64) -> Option<Found> {
    let each: Vec<f64> = flows.iter().filter_map(quantity.of).collect();
    let values: Summary = each.iter().copied().collect();
    // A quantity available in some replications only would be biased towards those.
    if values.count() < flows.len() as u64 {
        return None;
    }
    Some(Found {
        name: quantity.name,
        unit: quantity.unit,
        mean: values.mean()?,
        half_width: interval::mean(&values, level).map(|estimate| estimate.half_width),
        level,
        n: values.count(),
        values,
        each,
    })
}

fn pooled<'a>(
    distributions: impl Iterator<Item = &'a crate::sample::Distribution>,
    level: f64,
) -> Vec<PooledQuantile> {
    let mut all = Histogram::new();
    distributions.for_each(|distribution| all.merge(&distribution.histogram()));
    let nanos = |span: Duration| wire::time::nanos(span);
    POOLED
        .iter()
        .filter_map(|share| {
            let interval = all.quantile_interval(*share, level);
            let least = all.quantile_least(*share, level).filter(|_| interval.is_none());
            Some(PooledQuantile {
                share: *share,
                value_ns: nanos(all.quantile(*share)?),
                interval_ns: interval.map(|(low, high)| (nanos(low), nanos(high))),
                least_ns: least.map(nanos),
                count: all.count(),
            })
        })
        .collect()
}

/// Returns whether a point has enough replications: the relative error of each of these quantities
/// of each flow is at most `error` (the sequential rule, applied in the order of replications).
#[must_use]
pub fn is_enough(point: &PointReport, quantities: &[&str], error: f64) -> bool {
    // Further copies of one run add nothing.
    point.deterministic
        || point.replications > 1
            && point.flows.iter().all(|flow| {
                let named = quantities.iter().filter_map(|name| flow.quantity(name));
                named.into_iter().all(|found| found.estimate().is_some_and(|e| e.is_within(error)))
            })
}
