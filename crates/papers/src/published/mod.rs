//! Published figures next to ours: the paper's claim, our result, and whether they agree.
//!
//! A paper is a list of [`row`]s with claims that a program can judge, and sources, which obtain
//! our results. A [`verdict`] follows by rule. An input of a model is no success when the model
//! returns it: see [`verdict::Role`].

pub mod diagram;
#[cfg(test)]
pub(crate) mod listed;
pub mod plot;
pub mod row;
pub mod summary;
pub mod value;
pub mod verdict;

use diagram::{Matrix, TimeDiagram};
use plot::Plot;
use row::Row;
use std::collections::BTreeSet;
use value::{Spread, Value};
use verdict::{Role, Verdict};

/// Paper that can be reproduced.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Name in commands.
    pub name: &'static str,
    /// Authors, title and year.
    pub title: &'static str,
    /// Default number of repetitions.
    pub repetitions: u64,
    /// Reproduces it, and reports progress and every row as soon as it is final.
    pub run: fn(&Options, &mut Report<'_>) -> Result<Reproduction, ReproduceError>,
}

/// Runs made so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Number of runs made.
    pub done: u64,
    /// Number of all runs.
    pub of: u64,
}

/// Event of a reproduction under way.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event<'a> {
    /// A run was made, or none yet.
    Progress(Progress),
    /// Rows that are final: no later run changes them. Within the list they are in the order of the
    /// paper.
    Rows(&'a [Outcome]),
}

/// Receiver of events; it may stop the reproduction, for example because its output is closed.
pub type Report<'a> = dyn FnMut(Event<'_>) -> Result<(), Stopped> + 'a;

/// The receiver of events stopped the reproduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("stopped by the receiver of its rows")]
pub struct Stopped;

/// Options of a reproduction.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Seed of all simulations.
    pub seed: u64,
    /// Repetitions of each timed operation, or of each run.
    pub messages: u64,
    /// Properties of the monitor, which this crate cannot import.
    pub monitor: Option<Monitor>,
}

/// Properties of a live monitor of the network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Monitor {
    /// Packets per second that fill a bar.
    pub full_scale_packets_per_second: f64,
    /// Bits per second that fill a bar.
    pub full_scale_bits_per_second: f64,
    /// Default sampling interval, in milliseconds.
    pub default_interval_ms: f64,
    /// Shortest sampling interval, in milliseconds.
    pub shortest_interval_ms: f64,
    /// Number of samples in its history.
    pub samples: f64,
}

/// Reason why a figure cannot be obtained here.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// Reason why a paper cannot be reproduced at all.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReproduceError {
    /// Its rows cannot be read.
    #[error("its rows: {0}")]
    Rows(#[from] row::BadRows),
    /// A profile of a station is missing.
    #[error("there is no station profile {0}")]
    NoProfile(&'static str),
    /// Too few repetitions for an interval.
    #[error("{asked} repetitions: at least {fewest} are needed")]
    TooFew {
        /// Number of repetitions requested.
        asked: u64,
        /// Least number of repetitions.
        fewest: u64,
    },
    /// A figure cannot be drawn.
    #[error("its figures: {0}")]
    Figures(#[from] Unavailable),
    /// The receiver of events stopped it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Result for one claim.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// Our result; `None` if it cannot be obtained.
    pub ours: Option<Value>,
    /// Verdict.
    pub verdict: Verdict,
    /// Reason why it differs or cannot be obtained, if one is needed and known.
    pub why: Option<String>,
}

/// Result for one row.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Row.
    pub row: Row,
    /// Role of the row for the model.
    pub role: Role,
    /// Greatest verdict of its claims.
    pub verdict: Verdict,
    /// Answers to its claims, in their order.
    pub answers: Vec<Answer>,
}

/// Paper with our results.
#[derive(Clone, PartialEq, Debug)]
pub struct Reproduction {
    /// All rows, in the order of the paper's list.
    pub outcomes: Vec<Outcome>,
    /// Its figures of curves.
    pub plots: Vec<Plot>,
    /// Its time diagrams.
    pub time_diagrams: Vec<TimeDiagram>,
    /// Its matrices.
    pub matrices: Vec<Matrix>,
    /// The same rows at each tier of the calibration, where it has tiers.
    pub tiers: Vec<AtTier>,
    /// Basis of our results, in sentences.
    pub remarks: Vec<String>,
}

/// Rows at one tier of a calibration: with more inputs than at the tier before, and fewer
/// predictions.
#[derive(Clone, PartialEq, Debug)]
pub struct AtTier {
    /// Name.
    pub name: String,
    /// Figures that the tier adds to the inputs, in words.
    pub title: String,
    /// Number of models that fit them.
    pub models: usize,
    /// All rows, in the order of the paper's list.
    pub outcomes: Vec<Outcome>,
}

/// Judges rows: `inputs` are those on which the model was calibrated; `obtain` returns our result
/// for the claim of a row, by the name of its source.
#[must_use]
pub fn judge(
    rows: Vec<Row>,
    inputs: &BTreeSet<String>,
    mut obtain: impl FnMut(&str, Spread) -> Result<Value, Unavailable>,
) -> Vec<Outcome> {
    rows.into_iter().map(|row| judge_row(row, inputs, &mut obtain)).collect()
}

/// Judges one row, as [`judge`] does.
fn judge_row(
    row: Row,
    inputs: &BTreeSet<String>,
    obtain: &mut impl FnMut(&str, Spread) -> Result<Value, Unavailable>,
) -> Outcome {
    let role = Role::of(&row, inputs);
    let mut answers = Vec::with_capacity(row.claims.len());
    for claim in &row.claims {
        let unavailable = || Unavailable(claim.not_here.clone().unwrap_or_default());
        let spread = if claim.one_run { Spread::SingleRuns } else { Spread::Mean };
        let source = claim.ours.as_deref().ok_or_else(unavailable);
        let ours = source.and_then(|source| obtain(source, spread));
        let verdict = Verdict::of(claim, role, ours.as_ref().ok().copied());
        let known = || Some(claim.differs_because.clone()).filter(|why| !why.is_empty());
        let why = match &ours {
            Ok(_) if verdict.calls_for_a_reason() => known(),
            Ok(_) => None,
            Err(not_here) => Some(not_here.to_string()),
        };
        answers.push(Answer { ours: ours.ok(), verdict, why });
    }
    let verdict = answers.iter().map(|answer| answer.verdict).max();
    let verdict = verdict.unwrap_or(Verdict::NotReproducibleHere);
    Outcome { row, role, verdict, answers }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = r#"
        [[row]]
        id = "A-1"
        kind = "M"
        value = "1 and 2"
        [[row.claim]]
        asks = "at once"
        is = 1
        ours = "one"
        differs-because = "of the first"
        [[row.claim]]
        asks = "later"
        is = 2
        ours = "one"
        differs-because = "of the second"
        [[row]]
        id = "A-2"
        kind = "C"
        value = "3"
        [[row.claim]]
        asks = "cables"
        is = 3
        not-here = "there are no cables"
    "#;

    #[test]
    fn a_row_has_its_worst_verdict_and_a_reason_if_needed() {
        let rows = row::parse(ROWS).unwrap();
        let outcomes = judge(rows, &BTreeSet::new(), |source, _| match source {
            "one" => Ok(Value::exact(1.0)),
            other => Err(Unavailable(format!("no {other}"))),
        });
        let [measured, cables] = outcomes.as_slice() else { panic!("{outcomes:?}") };
        assert_eq!((measured.role, measured.verdict), (Role::Prediction, Verdict::Differs));
        let [first, second] = measured.answers.as_slice() else { panic!("{measured:?}") };
        assert_eq!((first.verdict, first.why.as_deref()), (Verdict::Reproduced, None));
        assert_eq!(second.why.as_deref(), Some("of the second"));
        assert_eq!(cables.verdict, Verdict::NotReproducibleHere);
        assert_eq!(cables.answers[0].why.as_deref(), Some("there are no cables"));
    }
}
