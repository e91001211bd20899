//! Whether two studies differ, point by point, flow by flow, quantity by quantity.
//!
//! Points are matched by what was set, flows and quantities by name. A difference is shown where
//! its interval (Welch's) leaves out zero. Bias: of a hundred comparisons at 95 % about five show a
//! difference that is none.

use crate::analysis::{Found, PointReport, Report, Unit};
use core::fmt;
use serde::Serialize;
use stats::compare::{difference, ratio};
use stats::interval::Interval;
use std::collections::BTreeMap;

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

fn compare_points(first: &PointReport, second: &PointReport, level: f64) -> PointComparison {
    let mut differences = Vec::new();
    for flow in &first.flows {
        let Some(other) = second.flows.iter().find(|other| other.name == flow.name) else {
            continue;
        };
        for found in &flow.quantities {
            if let Some(with) = other.quantity(found.name) {
                differences.push(compare_found(&flow.name, found, with, level));
            }
        }
    }
    PointComparison { settings: first.settings.clone(), differences }
}

fn compare_found(flow: &str, first: &Found, second: &Found, level: f64) -> Difference {
    let apart = difference(&second.values, &first.values, level);
    let times = ratio(&second.values, &first.values, level);
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
