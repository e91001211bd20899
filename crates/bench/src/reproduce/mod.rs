//! The figures of a paper beside ours: what it says, what we find, how far they agree.
//!
//! A paper is a list of [`row`]s, each with claims that a program can judge, and sources, which say
//! how ours is obtained. A [`verdict`] follows by rule. What went into a model is no success when
//! it comes out again: see [`verdict::Role`].

pub mod diagram;
pub mod found;
#[cfg(test)]
mod listed;
pub mod nbs_1986;
pub mod nbsir_85_3104;
pub mod plot;
pub mod row;
pub mod summary;
pub mod tr_88_04;
pub mod tr_88_08;
pub mod verdict;

use diagram::{Matrix, TimeDiagram};
use found::{Found, Spread};
use plot::Plot;
use row::Row;
use std::collections::BTreeSet;
use verdict::{Role, Verdict};

/// A paper that can be reproduced.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// What commands call it.
    pub name: &'static str,
    /// Who wrote it, what it is called, and when it appeared.
    pub title: &'static str,
    /// How often what is repeated is, where nobody says it.
    pub repetitions: u64,
    /// Reproduces it, and reports progress and every row as soon as it is final.
    pub run: fn(&Options, &mut Report<'_>) -> Result<Reproduction, Impossible>,
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
    /// Rows that are final: no later run changes them. In the order of the paper's list among themselves.
    Rows(&'a [Outcome]),
}

/// Receiver of events; it may stop the reproduction, for example because its output is closed.
pub type Report<'a> = dyn FnMut(Event<'_>) -> Result<(), Stopped> + 'a;

/// The receiver of events stopped the reproduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("stopped by the receiver of its rows")]
pub struct Stopped;

/// All of them, in the order in which they are listed.
pub const PAPERS: [Paper; 4] =
    [tr_88_08::PAPER, tr_88_04::PAPER, nbs_1986::PAPER, nbsir_85_3104::PAPER];

/// The paper of this name.
#[must_use]
pub fn paper(name: &str) -> Option<Paper> {
    PAPERS.into_iter().find(|paper| paper.name == name)
}

/// What a reproduction is done with.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// The seed of all simulations.
    pub seed: u64,
    /// Repetitions of each operation that is timed, or of each run.
    pub messages: u64,
    /// What the monitor is like, which this crate cannot see.
    pub monitor: Option<Monitor>,
}

/// What a live monitor of the network is like.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Monitor {
    /// Packets per second that fill a bar.
    pub full_scale_packets_per_second: f64,
    /// Bits per second that fill a bar.
    pub full_scale_bits_per_second: f64,
    /// The sampling interval that nobody has to choose, in milliseconds.
    pub default_interval_ms: f64,
    /// The shortest that can be chosen, in milliseconds.
    pub shortest_interval_ms: f64,
    /// How many samples it keeps to be looked at.
    pub samples: f64,
}

/// Why a figure cannot be obtained here.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotHere(pub String);

/// Why a paper cannot be reproduced at all.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Impossible {
    /// Its rows cannot be read.
    #[error("its rows: {0}")]
    Rows(#[from] row::BadRows),
    /// A profile of a station is missing.
    #[error("there is no station profile {0}")]
    NoProfile(&'static str),
    /// So few repetitions have no interval.
    #[error("{asked} repetitions: at least {fewest} are needed")]
    TooFew {
        /// How many were asked for.
        asked: u64,
        /// How many it takes.
        fewest: u64,
    },
    /// A figure cannot be drawn.
    #[error("its figures: {0}")]
    Figures(#[from] NotHere),
    /// The receiver of events stopped it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// What came out for one claim.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// What we find; `None` where that cannot be had.
    pub ours: Option<Found>,
    /// How far it agrees.
    pub verdict: Verdict,
    /// Why it is another or cannot be had, where that is called for and known.
    pub why: Option<String>,
}

/// What came out for one row.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The row.
    pub row: Row,
    /// What it is to the model.
    pub role: Role,
    /// The greatest verdict of its claims.
    pub verdict: Verdict,
    /// An answer to each of its claims, in their order.
    pub answers: Vec<Answer>,
}

/// A paper beside ours.
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
    /// What ours rests on, in sentences.
    pub remarks: Vec<String>,
}

/// Judges rows: `inputs` are those on which the model was calibrated, `obtain` answers the claim of a row,
/// which names its source, with what we find.
#[must_use]
pub fn judge(
    rows: Vec<Row>,
    inputs: &BTreeSet<String>,
    mut obtain: impl FnMut(&str, Spread) -> Result<Found, NotHere>,
) -> Vec<Outcome> {
    rows.into_iter().map(|row| judge_row(row, inputs, &mut obtain)).collect()
}

/// Judges one row, as [`judge`] does.
fn judge_row(
    row: Row,
    inputs: &BTreeSet<String>,
    obtain: &mut impl FnMut(&str, Spread) -> Result<Found, NotHere>,
) -> Outcome {
    let role = Role::of(&row, inputs);
    let mut answers = Vec::with_capacity(row.claims.len());
    for claim in &row.claims {
        let unavailable = || NotHere(claim.not_here.clone().unwrap_or_default());
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
    fn a_row_is_as_good_as_its_worst_claim_and_says_why_only_where_it_must() {
        let rows = row::parse(ROWS).unwrap();
        let outcomes = judge(rows, &BTreeSet::new(), |source, _| match source {
            "one" => Ok(Found::exact(1.0)),
            other => Err(NotHere(format!("no {other}"))),
        });
        let [measured, cables] = outcomes.as_slice() else { panic!("{outcomes:?}") };
        assert_eq!((measured.role, measured.verdict), (Role::Prediction, Verdict::Differs));
        let [first, second] = measured.answers.as_slice() else { panic!("{measured:?}") };
        assert_eq!((first.verdict, first.why.as_deref()), (Verdict::Reproduced, None));
        assert_eq!(second.why.as_deref(), Some("of the second"));
        assert_eq!(cables.verdict, Verdict::NotReproducibleHere);
        assert_eq!(cables.answers[0].why.as_deref(), Some("there are no cables"));
    }

    #[test]
    fn every_paper_is_found_by_its_name() {
        for listed in PAPERS {
            assert_eq!(paper(listed.name).map(|found| found.title), Some(listed.title));
        }
        assert!(paper("tr-88-99").is_none());
    }
}
