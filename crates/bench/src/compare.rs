//! Comparison of two studies, point by point, flow by flow, quantity by quantity.
//!
//! Points are matched by their settings, flows and quantities by name. Simulated replications with
//! one seed draw the same random numbers (common random numbers), so they are compared in pairs. In
//! other cases means are compared by Welch's method. Quantiles and shares are those of all messages
//! together, so that each message counts the same, with intervals that are no narrower than those
//! over runs. A difference is significant if its interval excludes zero. A difference of times that is
//! no greater than the noise of the host that measured one of them decides nothing: another run may
//! turn it round. Bias: of a hundred comparisons at 95 % about five show a difference that does not
//! exist.

use crate::analysis::{FlowReport, Found, PointReport, Report, Unit};
use core::fmt;
use schemars::JsonSchema;
use serde::Serialize;
use stats::compare::{difference, difference_of_intervals, paired_difference, paired_ratio, ratio};
use stats::interval::Interval;
use std::collections::{BTreeMap, BTreeSet};

/// Result of comparing two studies.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Comparison {
    /// Confidence level of all its intervals.
    pub level: f64,
    /// Points that both have, in the order of the first.
    pub points: Vec<PointComparison>,
    /// Settings of the points that only the first has.
    pub only_first: Vec<BTreeMap<String, String>>,
    /// Settings of the points that only the second has.
    pub only_second: Vec<BTreeMap<String, String>>,
}

/// Comparison at one point.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct PointComparison {
    /// Settings of the point.
    pub settings: BTreeMap<String, String>,
    /// Number of pairs of replications with one seed; `None` if they do not pair.
    pub pairs: Option<u64>,
    /// All quantities of the flows that both have.
    pub differences: Vec<Difference>,
}

/// Comparison of one quantity of one flow. The difference is the second less the first, the ratio
/// the second over the first.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Difference {
    /// Flow.
    pub flow: String,
    /// Quantity.
    pub quantity: &'static str,
    /// Unit.
    pub unit: Unit,
    /// Statistic compared.
    pub of: Compared,
    /// Value in the first.
    pub first: f64,
    /// Value in the second.
    pub second: f64,
    /// Difference.
    pub difference: f64,
    /// Its interval; `None` if either study has a single replication.
    pub interval: Option<(f64, f64)>,
    /// Ratio, if the first is significantly different from zero.
    pub ratio: Option<f64>,
    /// Its interval.
    pub ratio_interval: Option<(f64, f64)>,
    /// Verdict.
    pub verdict: Verdict,
}

/// Statistic of a quantity that is compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compared {
    /// Mean over runs of each run's value.
    MeanOfRuns,
    /// Value of all messages of all runs together.
    AllMessages,
}

/// Verdict of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The second is lower.
    Lower,
    /// The second is higher.
    Higher,
    /// The interval of the difference includes zero, or the runs of both studies are copies of one run
    /// with the same value.
    NoDifferenceShown,
    /// There is no interval: a study has a single replication.
    Undecided,
    /// The times differ by no more than the noise of the host that measured them.
    WithinHostNoise,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::NoDifferenceShown => "no difference shown",
            Self::Undecided => "undecided: too few replications",
            Self::WithinHostNoise => "undecided: within host noise",
        })
    }
}

/// Compares the second study with the first at this confidence level.
#[must_use]
pub fn compare(first: &Report, second: &Report, level: f64) -> Comparison {
    let twin = |point: &PointReport, others: &Report| -> Option<PointReport> {
        others.points.iter().find(|other| other.settings == point.settings).cloned()
    };
    let only = |these: &Report, others: &Report| {
        let lonely = these.points.iter().filter(|point| twin(point, others).is_none());
        lonely.map(|point| point.settings.clone()).collect()
    };
    let noise_ns = first.host_noise_ns.max(second.host_noise_ns).unwrap_or(0);
    let compare = |point: &PointReport| {
        let other = twin(point, second)?;
        Some(compare_points(point, &other, level).with_host_noise(noise_ns))
    };
    let points = first.points.iter().filter_map(compare).collect();
    Comparison { level, points, only_first: only(first, second), only_second: only(second, first) }
}

impl PointComparison {
    /// Takes the verdict from each difference of times that is no greater than this noise.
    fn with_host_noise(mut self, noise_ns: u64) -> Self {
        for it in &mut self.differences {
            let is_decided = matches!(it.verdict, Verdict::Lower | Verdict::Higher);
            let is_time = it.unit == Unit::Nanoseconds;
            if is_decided && is_time && it.difference.abs() <= noise_ns as f64 {
                it.verdict = Verdict::WithinHostNoise;
            }
        }
        self
    }
}

/// Compares two points at this confidence level, whatever their settings.
#[must_use]
pub fn compare_points(first: &PointReport, second: &PointReport, level: f64) -> PointComparison {
    let order = pairing(first, second);
    let others: BTreeMap<&str, &FlowReport> =
        second.flows.iter().map(|other| (other.name.as_str(), other)).collect();
    let mut differences = Vec::new();
    for flow in &first.flows {
        let Some(other) = others.get(flow.name.as_str()) else { continue };
        for found in &flow.quantities {
            let Some(with) = other.quantity(found.name) else { continue };
            let together = [(flow, found, first), (other, with, second)];
            let together = together.map(|(flow, found, point)| of_all(flow, found, point));
            let difference = match (&order, together) {
                (None, [Some(first), Some(second)]) => {
                    compare_all(&flow.name, found, first, second)
                }
                _ => compare_found(&flow.name, [found, with], order.as_deref(), level),
            };
            differences.push(difference);
        }
    }
    // Equal numbers of two studies of one run each show no difference, whatever other runs would.
    let are_single = first.deterministic && second.deterministic;
    for it in &mut differences {
        if are_single && it.verdict == Verdict::Undecided && it.difference == 0.0 {
            it.verdict = Verdict::NoDifferenceShown;
        }
    }
    let pairs = order.map(|order| order.len() as u64);
    PointComparison { settings: first.settings.clone(), pairs, differences }
}

/// For each replication of the first, the index of the replication of the second with the same
/// seed; `None` unless they match one to one.
fn pairing(first: &PointReport, second: &PointReport) -> Option<Vec<usize>> {
    let places = second.seeds.iter().enumerate().map(|(place, seed)| (*seed, place));
    let places: BTreeMap<u64, usize> = places.collect();
    let order: Vec<usize> =
        first.seeds.iter().filter_map(|seed| places.get(seed).copied()).collect();
    let distinct: BTreeSet<usize> = order.iter().copied().collect();
    let all = [first.seeds.len(), second.seeds.len(), distinct.len()];
    (order.len() > 1 && all.iter().all(|count| *count == order.len())).then_some(order)
}

/// Value over all messages of all runs together.
#[derive(Clone, Copy)]
struct OfAll {
    value: f64,
    /// `None` for copies of one run, or with too few messages.
    interval: Option<Interval>,
}

/// Share or quantile over all messages; `None` for other quantities.
fn of_all(flow: &FlowReport, found: &Found, point: &PointReport) -> Option<OfAll> {
    let share = match found.name {
        "lost" => Some(&flow.lost),
        "missed" => flow.missed.as_ref(),
        _ => None,
    };
    if let Some(share) = share {
        let value = share.events as f64 / share.trials as f64;
        let interval = Interval { low: share.low, high: share.high };
        let interval = found.half_width.filter(|_| !point.deterministic).map(|_| interval);
        return (share.trials > 0).then_some(OfAll { value, interval });
    }
    let (kind, percent) = found.name.split_once(".p")?;
    let percent: f64 = percent.parse().ok()?;
    let pooled = if kind == "response" { &flow.response_pooled } else { &flow.delay_pooled };
    let is_it = |share: f64| (share * 100.0 - percent).abs() < 1e-9;
    let quantile = pooled.iter().find(|quantile| is_it(quantile.share))?;
    let value = quantile.value_ns as f64;
    let over_runs = found.half_width;
    let interval = quantile.interval_ns.zip(over_runs).map(|((low, high), half)| Interval {
        low: (low as f64).min(value - half),
        high: (high as f64).max(value + half),
    });
    Some(OfAll { value, interval })
}

fn compare_all(flow: &str, found: &Found, first: OfAll, second: OfAll) -> Difference {
    let apart = second.interval.zip(first.interval);
    let apart =
        apart.map(|(of_b, of_a)| difference_of_intervals(second.value, of_b, first.value, of_a));
    let difference = second.value - first.value;
    Difference {
        flow: flow.to_owned(),
        quantity: found.name,
        unit: found.unit,
        of: Compared::AllMessages,
        first: first.value,
        second: second.value,
        difference,
        interval: apart.map(|interval| (interval.low, interval.high)),
        ratio: (first.value > 0.0).then(|| second.value / first.value),
        ratio_interval: None,
        verdict: verdict(difference, apart),
    }
}

/// Verdict of a difference with this interval.
fn verdict(difference: f64, interval: Option<Interval>) -> Verdict {
    match interval {
        None => Verdict::Undecided,
        Some(interval) if interval.contains(0.0) => Verdict::NoDifferenceShown,
        Some(_) if difference < 0.0 => Verdict::Lower,
        Some(_) => Verdict::Higher,
    }
}

fn compare_found(
    flow: &str,
    [first, second]: [&Found; 2],
    order: Option<&[usize]>,
    level: f64,
) -> Difference {
    let pairs: Option<Vec<(f64, f64)>> = order.map(|order| {
        let pair = |(place, value): (&usize, &f64)| Some((*second.each.get(*place)?, *value));
        order.iter().zip(&first.each).filter_map(pair).collect()
    });
    let (apart, times) = match pairs {
        Some(pairs) => (paired_difference(&pairs, level), paired_ratio(&pairs, level)),
        None => (
            difference(&second.values, &first.values, level),
            ratio(&second.values, &first.values, level),
        ),
    };
    let pair = |interval: Interval| (interval.low, interval.high);
    Difference {
        flow: flow.to_owned(),
        quantity: first.name,
        unit: first.unit,
        of: Compared::MeanOfRuns,
        first: first.mean,
        second: second.mean,
        difference: second.mean - first.mean,
        interval: apart.map(|found| pair(found.interval)),
        ratio: times.map(|found| found.value),
        ratio_interval: times.map(|found| pair(found.interval)),
        verdict: verdict(second.mean - first.mean, apart.map(|found| found.interval)),
    }
}
