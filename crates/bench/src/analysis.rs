//! From samples to a report: for each point and flow what was found, and how sure that is.
//!
//! A replication gives one value of each quantity; the interval is Student's t over replications,
//! which are independent by construction. A single replication has an interval by batch means within
//! it, where it is long enough. Quantiles far out are taken of all replications together,
//! with the interval of their order statistics. Bias: messages of one run are correlated, so the
//! intervals of pooled quantiles and of shares are too narrow under heavy load.

use crate::bound::{Bound, Reason, assumptions, bounds};
use crate::sample::{FlowSample, Origin, Sample, Within};
use crate::scenario::Point;
use core::time::Duration;
use serde::Serialize;
use stats::histogram::Histogram;
use stats::interval::{self, Estimate, proportion};
use stats::summary::Summary;
use std::collections::BTreeMap;

/// Something a flow sample tells.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// What requirements and tables call it.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// How to find it; none where there is too little to tell it from.
    pub of: fn(&FlowSample) -> Option<f64>,
}

/// A unit of a quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
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

/// A quantile of one run, where at least ten spans lie beyond it.
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

/// What a study found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// The title of its scenario.
    pub title: String,
    /// The confidence of every interval in it.
    pub level: f64,
    /// Point by point, in their order.
    pub points: Vec<PointReport>,
}

/// What was found at one point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PointReport {
    /// Its place among the points.
    pub point: usize,
    /// What was set.
    pub settings: BTreeMap<String, String>,
    /// How many replications were made.
    pub replications: u64,
    /// How many of them did not run to their end.
    pub incomplete: u64,
    /// Whether several replications gave the same to the last octet: nothing in the scenario is random.
    /// Everything below is then that of one run, which has no interval.
    pub deterministic: bool,
    /// What chance of each replication derived from, in their order; none of runs that were measured,
    /// whose chance is not all from there.
    #[serde(skip)]
    pub seeds: Vec<u64>,
    /// Flow by flow, in the order of the scenario.
    pub flows: Vec<FlowReport>,
    /// What the bounds of its flows rest on, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumptions: Option<&'static str>,
    /// The sums of what media and faults counted.
    pub counts: BTreeMap<String, u64>,
}

/// What was found of one flow at one point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowReport {
    /// Its name.
    pub name: String,
    /// The group of flows that it is one of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The quantities that could be found, in the order of [`QUANTITIES`].
    pub quantities: Vec<Found>,
    /// Of a single replication: its mean delay, or response, with an interval from within the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
    /// Far quantiles of the delay of all replications together.
    pub delay_pooled: Vec<PooledQuantile>,
    /// Far quantiles of the response of all replications together.
    pub response_pooled: Vec<PooledQuantile>,
    /// The deadline, if there is one.
    pub deadline_ns: Option<u64>,
    /// Whether its start is drawn anew for each run, so that the worst alignment may not have come.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub random_start: bool,
    /// The longest that a message can take in theory, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_ns: Option<u64>,
    /// Why theory gives no bound, where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_bound: Option<Reason>,
    /// How long the slowest message, or answer, took of all replications.
    pub longest_ns: Option<u64>,
    /// How probably a message, or its answer, misses its deadline.
    pub missed: Option<Probability>,
    /// How probably a message is lost.
    pub lost: Probability,
    /// Messages sent, over all replications.
    pub sent: u64,
    /// Messages not taken.
    pub not_taken: u64,
    /// Messages that would have been due while their station was away.
    pub not_offered: u64,
    /// Messages that arrived.
    pub delivered: u64,
    /// Copies that arrived.
    pub duplicated: u64,
    /// Messages that arrived behind a later one.
    pub out_of_order: u64,
    /// Arrivals that were damaged.
    pub damaged: u64,
    /// Messages that were acknowledged.
    pub acknowledged: u64,
    /// Messages that the service could not send, or that were not acknowledged.
    pub failed: u64,
    /// Messages that were acknowledged and did not arrive.
    pub acknowledged_and_lost: u64,
    /// Replications whose warm-up could not be found.
    pub warmup_too_short: u64,
    /// How its connections ended, and how often.
    pub ends: BTreeMap<String, u64>,
}

impl FlowReport {
    /// The same without any interval: the messages of a run without chance are no sample of anything.
    fn without_intervals(mut self) -> Self {
        self.within = None;
        for quantile in self.delay_pooled.iter_mut().chain(&mut self.response_pooled) {
            quantile.interval_ns = None;
        }
        for probability in self.missed.iter_mut().chain([&mut self.lost]) {
            (probability.low, probability.high) = (0.0, 1.0);
        }
        self
    }

    /// A quantity by its name.
    #[must_use]
    pub fn quantity(&self, name: &str) -> Option<&Found> {
        self.quantities.iter().find(|found| found.name == name)
    }
}

/// A quantity over the replications of a point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Found {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// The mean over replications.
    pub mean: f64,
    /// Half the width of its interval; none of a single replication.
    pub half_width: Option<f64>,
    /// The confidence.
    pub level: f64,
    /// From how many replications.
    pub n: u64,
    /// The values.
    #[serde(skip)]
    pub values: Summary,
    /// The value of each replication, in their order.
    #[serde(skip)]
    pub each: Vec<f64>,
}

impl Found {
    /// With its interval, if it has one.
    #[must_use]
    pub fn estimate(&self) -> Option<Estimate> {
        interval::mean(&self.values, self.level)
    }
}

/// A quantile of all replications together.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PooledQuantile {
    /// Which: 0.999 for what 99.9 % do not exceed.
    pub share: f64,
    /// The quantile.
    pub value_ns: u64,
    /// Its interval, where there are spans enough to bound it on both sides.
    pub interval_ns: Option<(u64, u64)>,
    /// Of how many spans.
    pub count: u64,
}

/// The shares of which pooled quantiles are told.
pub const POOLED: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// How probable something is.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Probability {
    /// How often it happened.
    pub events: u64,
    /// How often it could have.
    pub trials: u64,
    /// The lower end of its interval, as [`share_interval`] has it; 0 where the runs are copies of one.
    pub low: f64,
    /// The upper end; above zero even where nothing happened, and 1 where the runs are copies of one.
    pub high: f64,
}

/// How sure an interval is, and of how much more than was seen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Confidence {
    /// Its confidence: 0.95.
    pub level: f64,
    /// How many times as many runs as were made; 1 for those that were made.
    pub times: f64,
}

/// The interval of a share of messages: that of Clopper and Pearson for all messages together, widened
/// to Student's over runs where messages of one run share their fate. `over_runs` is the share of each run.
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

/// Reports what samples show, at this confidence.
#[must_use]
pub fn analyse(samples: &[Sample], level: f64) -> Report {
    let mut points: BTreeMap<usize, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        points.entry(sample.point).or_default().push(sample);
    }
    Report {
        title: samples.first().map(|sample| sample.title.clone()).unwrap_or_default(),
        level,
        points: points.into_iter().map(|(point, of)| point_report(point, of, level)).collect(),
    }
}

fn point_report(point: usize, mut samples: Vec<&Sample>, level: f64) -> PointReport {
    // The last bits of a mean depend on the order, which must not depend on threads.
    samples.sort_by_key(|sample| sample.replication);
    let (replications, seeds) = (samples.len() as u64, seeds(&samples));
    let incomplete = samples.iter().filter(|sample| !sample.complete).count() as u64;
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
    let flows = names
        .into_iter()
        .map(|name| {
            let of_name = |sample: &&'_ Sample| -> Option<FlowSample> {
                sample.flows.iter().find(|flow| flow.name == name).cloned()
            };
            let of: Vec<FlowSample> = samples.iter().filter_map(of_name).collect();
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
        deterministic,
        flows,
        assumptions: None,
        counts,
    }
}

/// Whether these are several runs, and the same but for their seeds.
fn are_copies(samples: &[&Sample]) -> bool {
    let Some((first, others)) = samples.split_first() else { return false };
    let is_copy = |other: &&Sample| {
        first.flows == other.flows
            && first.counts == other.counts
            && first.ended_at_ns == other.ended_at_ns
    };
    !others.is_empty() && others.iter().all(is_copy)
}

/// What all chance of these derived from, where they were simulated.
fn seeds(samples: &[&Sample]) -> Vec<u64> {
    let all_predicted = samples.iter().all(|sample| sample.source == Origin::Predicted);
    samples.iter().filter(|_| all_predicted).map(|sample| sample.seed).collect()
}

impl Report {
    /// With the group of each flow that is one of a group.
    #[must_use]
    pub fn with_groups(mut self, points: &[Point]) -> Self {
        for found in &mut self.points {
            let Some(point) = points.get(found.point) else { continue };
            let grouped = point
                .scenario
                .flows
                .iter()
                .filter_map(|flow| Some((flow.name.as_str(), flow.group.as_ref()?)));
            let groups: BTreeMap<&str, &String> = grouped.collect();
            for flow in &mut found.flows {
                flow.group = groups.get(flow.name.as_str()).map(|group| (*group).clone());
            }
        }
        self
    }

    /// With what theory says of the flows of each point, and with their groups.
    #[must_use]
    pub fn with_bounds(self, points: &[Point]) -> Self {
        let mut this = self.with_groups(points);
        for found in &mut this.points {
            let Some(point) = points.get(found.point) else { continue };
            let bounds = bounds(&point.scenario);
            for (flow, asked) in point.scenario.flows.iter().zip(bounds) {
                let Some(flow) = found.flows.iter_mut().find(|it| it.name == flow.name) else {
                    continue;
                };
                flow.random_start = point.scenario.starts_at_random(&flow.name);
                match asked {
                    Bound::Longest(longest) => flow.bound_ns = Some(wire::time::nanos(longest)),
                    Bound::None(reason) => flow.no_bound = Some(reason),
                }
            }
            let is_any = found.flows.iter().any(|flow| flow.bound_ns.is_some());
            found.assumptions = assumptions(&point.scenario.medium).filter(|_| is_any);
        }
        this
    }
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
        quantities,
        within: single(flows).and_then(|flow| flow.within),
        delay_pooled: pooled(flows.iter().map(|flow| &flow.delay), level),
        response_pooled: pooled(flows.iter().map(|flow| &flow.response), level),
        deadline_ns: flows.iter().find_map(|flow| flow.deadline_ns),
        random_start: false,
        bound_ns: None,
        no_bound: None,
        longest_ns: flows.iter().filter_map(|it| it.response.max_ns.or(it.delay.max_ns)).max(),
        missed,
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
        warmup_too_short: sum(|flow| u64::from(flow.warmup_too_short)),
        ends,
    }
}

/// The only one, if it is.
const fn single(flows: &[FlowSample]) -> Option<&FlowSample> {
    if let [flow] = flows { Some(flow) } else { None }
}

fn found(quantity: &Quantity, flows: &[FlowSample], level: f64) -> Option<Found> {
    let each: Vec<f64> = flows.iter().filter_map(quantity.of).collect();
    let values: Summary = each.iter().copied().collect();
    // A quantity that only some replications show would favour those that do.
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
            Some(PooledQuantile {
                share: *share,
                value_ns: nanos(all.quantile(*share)?),
                interval_ns: all
                    .quantile_interval(*share, level)
                    .map(|(low, high)| (nanos(low), nanos(high))),
                count: all.count(),
            })
        })
        .collect()
}

/// Whether a point has replications enough: the relative error of each of these quantities of each
/// flow is at most `error` (the sequential rule, looked at in the order of replications).
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
