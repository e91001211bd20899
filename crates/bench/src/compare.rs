//! Whether two studies differ, point by point, flow by flow, quantity by quantity.
//!
//! Points are matched by what was set, flows and quantities by name. Simulated replications of one seed
//! draw the same chance (common random numbers), so that they are compared pair by pair. Of others means are
//! compared by Welch; quantiles and shares are those of all messages together, so that each message counts
//! the same, with intervals that are no narrower than those over runs. A difference is shown where its interval leaves out zero. Bias: of a hundred comparisons at 95 % about five show a
//! difference that is none.

use crate::analysis::{FlowReport, Found, PointReport, Report, Unit};
use core::fmt;
use serde::Serialize;
use stats::compare::{difference, difference_of_intervals, paired_difference, paired_ratio, ratio};
use stats::interval::Interval;
use std::collections::{BTreeMap, BTreeSet};

/// What two studies show against each other.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    /// The confidence of every interval in it.
    pub level: f64,
    /// The points that both have, in the order of the first.
    pub points: Vec<PointComparison>,
    /// What was set at points that only the first has.
    pub only_first: Vec<BTreeMap<String, String>>,
    /// What was set at points that only the second has.
    pub only_second: Vec<BTreeMap<String, String>>,
}

/// What they show at one point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PointComparison {
    /// What was set.
    pub settings: BTreeMap<String, String>,
    /// How many pairs of replications of one seed were compared; none where they do not pair.
    pub pairs: Option<u64>,
    /// Every quantity of every flow that both have.
    pub differences: Vec<Difference>,
}

/// One quantity of one flow in two studies. Differences are the second less the first, ratios the
/// second over the first.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Difference {
    /// The flow.
    pub flow: String,
    /// The quantity.
    pub quantity: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// What is compared.
    pub of: Compared,
    /// That of the first.
    pub first: f64,
    /// That of the second.
    pub second: f64,
    /// The difference.
    pub difference: f64,
    /// Its interval; none where either study has a single replication.
    pub interval: Option<(f64, f64)>,
    /// The ratio, where the first can be told from zero.
    pub ratio: Option<f64>,
    /// Its interval.
    pub ratio_interval: Option<(f64, f64)>,
    /// What this shows.
    pub verdict: Verdict,
}

/// What of a quantity is compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compared {
    /// The mean over runs of what each run gave.
    MeanOfRuns,
    /// What all messages of all runs give together.
    AllMessages,
}

/// What a comparison shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The second is lower.
    Lower,
    /// The second is higher.
    Higher,
    /// The interval of the difference includes zero.
    NoDifferenceShown,
    /// There is no interval: a study has a single replication.
    Undecided,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::NoDifferenceShown => "no difference shown",
            Self::Undecided => "undecided: too few replications",
        })
    }
}

/// Compares the second study with the first, at this confidence.
#[must_use]
pub fn compare(first: &Report, second: &Report, level: f64) -> Comparison {
    let twin = |point: &PointReport, others: &Report| -> Option<PointReport> {
        others.points.iter().find(|other| other.settings == point.settings).cloned()
    };
    let only = |these: &Report, others: &Report| {
        let lonely = these.points.iter().filter(|point| twin(point, others).is_none());
        lonely.map(|point| point.settings.clone()).collect()
    };
    let points = first
        .points
        .iter()
        .filter_map(|point| twin(point, second).map(|other| compare_points(point, &other, level)))
        .collect();
    Comparison { level, points, only_first: only(first, second), only_second: only(second, first) }
}

/// Compares one point with another at this confidence, whatever was set there.
#[must_use]
pub fn compare_points(first: &PointReport, second: &PointReport, level: f64) -> PointComparison {
    let order = pairing(first, second);
    let mut differences = Vec::new();
    for flow in &first.flows {
        let Some(other) = second.flows.iter().find(|other| other.name == flow.name) else {
            continue;
        };
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
    let pairs = order.map(|order| order.len() as u64);
    PointComparison { settings: first.settings.clone(), pairs, differences }
}

/// For each replication of the first the place of that of the second with the same seed, where each has
/// one and only one.
fn pairing(first: &PointReport, second: &PointReport) -> Option<Vec<usize>> {
    let places = second.seeds.iter().enumerate().map(|(place, seed)| (*seed, place));
    let places: BTreeMap<u64, usize> = places.collect();
    let order: Vec<usize> =
        first.seeds.iter().filter_map(|seed| places.get(seed).copied()).collect();
    let distinct: BTreeSet<usize> = order.iter().copied().collect();
    let all = [first.seeds.len(), second.seeds.len(), distinct.len()];
    (order.len() > 1 && all.iter().all(|count| *count == order.len())).then_some(order)
}

/// A quantity of all messages of all runs together.
#[derive(Clone, Copy)]
struct OfAll {
    value: f64,
    /// None of copies of one run, or where there are too few messages.
    interval: Option<Interval>,
}

/// A share or a quantile of all messages together; none of other quantities.
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

/// What a difference with this interval shows.
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
