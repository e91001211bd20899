//! Whether two studies differ, point by point, flow by flow, quantity by quantity.
//!
//! Points are matched by what was set, flows and quantities by name. Simulated replications of one seed
//! draw the same chance (common random numbers), so that they are compared pair by pair; others by Welch.
//! A difference is shown where its interval leaves out zero. Bias: of a hundred comparisons at 95 % about five show a
//! difference that is none.

use crate::analysis::{Found, PointReport, Report, Unit};
use core::fmt;
use serde::Serialize;
use stats::compare::{difference, paired_difference, paired_ratio, ratio};
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
    /// The mean of the first.
    pub first: f64,
    /// The mean of the second.
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
            if let Some(with) = other.quantity(found.name) {
                differences.push(compare_found(&flow.name, [found, with], order.as_deref(), level));
            }
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
        first: first.mean,
        second: second.mean,
        difference: second.mean - first.mean,
        interval: apart.map(|found| pair(found.interval)),
        ratio: times.map(|found| found.value),
        ratio_interval: times.map(|found| pair(found.interval)),
        verdict: match apart {
            None => Verdict::Undecided,
            Some(found) if found.interval.contains(0.0) => Verdict::NoDifferenceShown,
            Some(found) if found.value < 0.0 => Verdict::Lower,
            Some(_) => Verdict::Higher,
        },
    }
}
