//! Comparison of a prediction with watched traffic, interval by interval.
//!
//! ```text
//! records of simulated runs ─ Run, Run, … ─┐
//!                                          ├─ compare ─ each stream: its intervals, worst first
//! records of watched traffic ─ Run ────────┘
//! ```
//!
//! The same meter measured both sides. Definition: the prediction of a quantity is the range of its values
//! over all whole intervals of all simulated runs that are not copies of each other. A value is outside
//! if it is beyond that range by more than it is resolved: by the step of the stamps, or by the width
//! of a class of the meter's histograms, 1/128. Bias: a range has no confidence level; with few
//! intervals a value outside of it is no proof.

mod flows;
mod quantity;
mod run;
mod subject;

pub use quantity::{Quantity, Values};
pub use run::Run;
pub use subject::{Stations, Subject};

use core::cmp::Ordering;
use run::Row;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Share of a value by which the classes of a histogram resolve it.
const CLASSES: u64 = 128;
/// Steps of the stamps in a period, at least.
const STEPS: u64 = 64;

/// Result of comparing a prediction with watched traffic.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Streams and pollers of both, the one furthest outside first.
    pub each: Vec<Compared>,
    /// Streams and pollers that only the prediction has.
    pub only_predicted: Vec<Subject>,
    /// Streams and pollers that were watched only.
    pub only_watched: Vec<Subject>,
    /// Simulated runs that are not copies of each other.
    pub runs: usize,
}

/// Comparison of a stream or poller.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Compared {
    /// Its identity, as it was watched.
    pub subject: Subject,
    /// Whole intervals that were watched and can be judged.
    pub judged: u64,
    /// Those with all values within the predicted range.
    pub within: u64,
    /// The value furthest outside; null if none is.
    pub worst: Option<Worst>,
    /// Each quantity over all intervals.
    pub quantities: Vec<OfQuantity>,
    /// Each interval that was watched.
    #[serde(skip)]
    pub intervals: Vec<ComparedInterval>,
}

/// Value outside the predicted range.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ValueOutside")]
pub struct Worst {
    /// Quantity.
    pub quantity: Quantity,
    /// Start of its interval.
    pub start_ns: u64,
    /// Value, in nanoseconds if it is a time.
    pub watched: u64,
    /// Distance from the range, as a share: of the period for deviations from it, of the upper end of
    /// the range for others.
    pub share: f64,
}

/// Range of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(rename = "RangeOfValues")]
pub struct Range {
    /// Number of intervals.
    pub n: u64,
    /// Least value.
    pub low: u64,
    /// Median.
    pub median: u64,
    /// Greatest value.
    pub high: u64,
}

/// A quantity over all whole intervals.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ComparedQuantity")]
pub struct OfQuantity {
    /// Quantity.
    pub quantity: Quantity,
    /// Predicted values; null if the prediction has none.
    pub predicted: Option<Range>,
    /// Watched values; null if there are none.
    pub watched: Option<Range>,
    /// Intervals with a watched value that can be judged.
    pub judged: u64,
    /// Those within the predicted range.
    pub within: u64,
    /// Value furthest outside.
    pub worst: Option<Worst>,
}

/// Interval that was watched, next to the predicted one.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ComparedInterval {
    /// Start of the interval.
    pub start_ns: u64,
    /// Length of the interval.
    pub length_ns: u64,
    /// True if the stream was measured throughout it; other intervals are not judged.
    pub whole: bool,
    /// Quantities.
    pub values: Vec<ComparedValue>,
}

/// Value in an interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ComparedValue {
    /// Quantity.
    pub quantity: Quantity,
    /// Median over the runs of the value in the interval with the same number; null if there is none.
    pub predicted: Option<u64>,
    /// Watched value; null if there is none.
    pub watched: Option<u64>,
    /// Watched less predicted.
    pub difference: Option<i64>,
    /// True if the watched value is within the predicted range; null if it is not judged.
    pub within: Option<bool>,
}

/// Compares simulated runs with watched traffic.
pub fn compare(predicted: &[Run], watched: &Run) -> Comparison {
    let mut runs: Vec<&Run> = Vec::new();
    for run in predicted {
        if !runs.iter().any(|known| run.is_copy_of(known)) {
            runs.push(run);
        }
    }
    let of_runs: BTreeSet<&Subject> = runs.iter().flat_map(|run| run.subjects()).collect();
    let of_watched: BTreeSet<&Subject> = watched.subjects().collect();
    let mut twins = twins(&of_runs, &of_watched);
    // Flows have the same names in all runs.
    if let Some(run) = runs.first() {
        twins.extend(stand_ins(&of_watched, run));
    }
    let pairs = twins.iter().map(|(seen, known)| Pair { runs: &runs, known, watched, seen });
    let mut each: Vec<Compared> = pairs.map(|pair| pair.compare()).collect();
    each.sort_by(worse);
    let matched: BTreeSet<&Subject> = twins.values().copied().collect();
    Comparison {
        each,
        only_predicted: of_runs.difference(&matched).map(|it| (*it).clone()).collect(),
        only_watched: of_watched
            .into_iter()
            .filter(|it| !twins.contains_key(it))
            .cloned()
            .collect(),
        runs: runs.len(),
    }
}

/// Orders by the value furthest outside, then by the share of intervals outside.
fn worse(one: &Compared, other: &Compared) -> Ordering {
    let share = |it: &Compared| it.worst.map_or(0.0, |worst| worst.share);
    let outside = |it: &Compared| (it.judged - it.within) as f64 / it.judged.max(1) as f64;
    let by_worst = share(other).total_cmp(&share(one));
    by_worst
        .then_with(|| outside(other).total_cmp(&outside(one)))
        .then_with(|| one.subject.cmp(&other.subject))
}

/// The predicted twin of each watched subject: that of the same identity; else the only stream that
/// is the same but for its name, because a scenario cannot give every name.
fn twins<'a>(
    predicted: &BTreeSet<&'a Subject>,
    watched: &BTreeSet<&'a Subject>,
) -> BTreeMap<&'a Subject, &'a Subject> {
    let mut twins: BTreeMap<_, _> = watched.intersection(predicted).map(|it| (*it, *it)).collect();
    let nameless = |of: &BTreeSet<&'a Subject>| {
        let mut found: BTreeMap<Subject, Vec<&'a Subject>> = BTreeMap::new();
        for subject in of.difference(if of == predicted { watched } else { predicted }) {
            let mut key = (*subject).clone();
            if let Subject::Stream { name, .. } = &mut key {
                *name = None;
                found.entry(key).or_default().push(subject);
            }
        }
        found
    };
    let of_predicted = nameless(predicted);
    for (key, seen) in nameless(watched) {
        if let (&[seen], Some(&[known])) = (&seen[..], of_predicted.get(&key).map(Vec::as_slice)) {
            twins.insert(seen, known);
        }
    }
    twins
}

/// The predicted twins of what a scenario has in another protocol: for a function the connection of the
/// flow that polls it, for a stream that no scenario sends as it is the test load in its place.
fn stand_ins<'a>(watched: &BTreeSet<&'a Subject>, run: &'a Run) -> Vec<(&'a Subject, &'a Subject)> {
    let twin =
        |seen: &&'a Subject| Some((*seen, run.poller_of(seen).or_else(|| run.load_of(seen))?));
    watched.iter().filter_map(twin).collect()
}

/// A stream or poller on both sides.
struct Pair<'a> {
    runs: &'a [&'a Run],
    /// Its identity in the prediction.
    known: &'a Subject,
    watched: &'a Run,
    seen: &'a Subject,
}

impl Pair<'_> {
    fn compare(&self) -> Compared {
        let rows: Vec<Row<'_>> = self.watched.values(self.seen).collect();
        let predicted: Vec<Row<'_>> =
            self.runs.iter().flat_map(|run| run.values(self.known)).collect();
        let all = rows.iter().chain(&predicted).flat_map(|row| row.values.keys().copied());
        let mut quantities: BTreeSet<Quantity> = all.collect();
        if matches!((self.seen, self.known), (Subject::Function { .. }, Subject::Poller { .. })) {
            // That of a function is from one request to the next for the same data.
            quantities.remove(&Quantity::Period);
        }
        let period_ns = ranged(&rows, Quantity::Period)
            .or_else(|| ranged(&predicted, Quantity::Period))
            .map_or(1, |range| range.median.max(1));
        // Times that are all multiples of the period do not show what the stamps resolve.
        let step_ns = self
            .runs
            .iter()
            .map(|run| run.stamp_step_ns(self.known))
            .chain([self.watched.stamp_step_ns(self.seen)])
            .max()
            .map_or(0, |step_ns| step_ns.min(period_ns / STEPS));
        let scale = Scale { period_ns, step_ns };
        let (mut of_each, mut intervals) = (Vec::new(), blank(&rows));
        for quantity in quantities {
            let range = ranged(&predicted, quantity);
            let mut found = OfQuantity {
                quantity,
                predicted: range,
                watched: ranged(&rows, quantity),
                judged: 0,
                within: 0,
                worst: None,
            };
            for (row, interval) in rows.iter().zip(&mut intervals) {
                let watched = row.values.get(&quantity).copied();
                let share = watched.zip(range).filter(|_| row.is_whole);
                let share = share.map(|(watched, range)| scale.outside(quantity, watched, range));
                if let (Some(watched), Some(share)) = (watched, share) {
                    found.judge(Worst { quantity, start_ns: row.span.start_ns, watched, share });
                }
                let here = predicted.iter().filter(|it| it.place == row.place);
                let predicted = median(here.filter_map(|it| it.values.get(&quantity).copied()));
                if predicted.is_some() || watched.is_some() {
                    interval.values.push(ComparedValue {
                        quantity,
                        predicted,
                        watched,
                        difference: watched.zip(predicted).map(|(a, b)| a.wrapping_sub(b) as i64),
                        within: share.map(|share| share == 0.0),
                    });
                }
            }
            of_each.push(found);
        }
        summed(self.seen.clone(), of_each, intervals)
    }
}

/// The watched intervals, without values.
fn blank(rows: &[Row<'_>]) -> Vec<ComparedInterval> {
    let interval = |row: &Row<'_>| ComparedInterval {
        start_ns: row.span.start_ns,
        length_ns: row.span.length_ns,
        whole: row.is_whole,
        values: Vec::new(),
    };
    rows.iter().map(interval).collect()
}

fn summed(
    subject: Subject,
    quantities: Vec<OfQuantity>,
    intervals: Vec<ComparedInterval>,
) -> Compared {
    let verdicts = |of: &ComparedInterval| -> Vec<bool> {
        of.values.iter().filter_map(|value| value.within).collect()
    };
    let judged: Vec<_> = intervals.iter().map(verdicts).filter(|it| !it.is_empty()).collect();
    let within = judged.iter().filter(|it| it.iter().all(|within| *within)).count() as u64;
    let each = quantities.iter().filter_map(|of| of.worst);
    let worst = each.max_by(|one, other| one.share.total_cmp(&other.share));
    Compared { subject, judged: judged.len() as u64, within, worst, quantities, intervals }
}

impl OfQuantity {
    /// Counts a value; its share is zero within the range.
    fn judge(&mut self, value: Worst) {
        self.judged += 1;
        self.within += u64::from(value.share == 0.0);
        if value.share > self.worst.map_or(0.0, |worst| worst.share) {
            self.worst = Some(value);
        }
    }
}

/// Scale of distances.
#[derive(Clone, Copy)]
struct Scale {
    period_ns: u64,
    step_ns: u64,
}

impl Scale {
    /// Distance of a value from a range as a share; zero within it.
    fn outside(self, quantity: Quantity, value: u64, range: Range) -> f64 {
        let Range { low, high, .. } = range;
        let beyond = value.saturating_sub(high).max(low.saturating_sub(value));
        let resolved = match quantity.is_time() {
            true => self.step_ns.max(high.max(value).div_ceil(CLASSES)),
            false => 0,
        };
        if beyond <= resolved {
            return 0.0;
        }
        let of = if quantity.is_deviation() { self.period_ns } else { high.max(1) };
        beyond as f64 / of as f64
    }
}

/// Range of a quantity over whole intervals; none without values.
fn ranged(rows: &[Row<'_>], quantity: Quantity) -> Option<Range> {
    let whole = rows.iter().filter(|row| row.is_whole);
    let mut values: Vec<u64> = whole.filter_map(|row| row.values.get(&quantity).copied()).collect();
    values.sort_unstable();
    let (low, high) = (*values.first()?, *values.last()?);
    let median = *values.get((values.len() - 1) / 2)?;
    Some(Range { n: values.len() as u64, low, median, high })
}

/// Median; the lower one of an even number of values.
fn median(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}
