//! Report of a run, before it has a form: verdict, numbers, tables, figures, checks.

use crate::figure::Picture;
use crate::text::Text;

/// A report.
#[derive(Clone, PartialEq, Debug)]
pub struct Document {
    /// Kind of the run.
    pub kind: Kind,
    /// Title of the run.
    pub title: Text,
    /// Verdict, and its reason in a sentence.
    pub verdict: Verdict,
    /// Next steps: distance from a limit, runs that are needed, a command to try.
    pub next: Vec<Text>,
    /// The numbers that decided it, at most [`MOST_NUMBERS`].
    pub numbers: Vec<Number>,
    /// The run in a sentence or two.
    pub about: Text,
    /// Data of an acceptance test.
    pub acceptance: Acceptance,
    /// Requirements with their evidence.
    pub requirements: Vec<Requirement>,
    /// Findings of a meter, the worst first.
    pub findings: Vec<Finding>,
    /// Results.
    pub tables: Vec<Table>,
    /// Figures.
    pub pictures: Vec<Illustration>,
    /// Validity of the run.
    pub checks: Vec<Check>,
    /// Comparison with another run.
    pub comparison: Option<Comparison>,
    /// Provenance.
    pub provenance: Vec<Fact>,
    /// Commands that repeat the run, or show more of it.
    pub commands: Vec<Fact>,
    /// Terms that the report uses.
    pub glossary: Vec<Fact>,
}

/// Most deciding numbers.
pub const MOST_NUMBERS: usize = 3;

/// Kind of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Simulated.
    Predicted,
    /// Measured with a load.
    Measured,
    /// Metered from captures.
    WatchedFile,
    /// Metered from a live port.
    WatchedLive,
    /// Compared with a paper.
    Reproduced,
    /// Cost of each layer, predicted or measured.
    Layers,
    /// Files of percentiles, made by any program.
    Percentiles,
}

impl Kind {
    /// Name of the kind of run.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Predicted => "Prediction",
            Self::Measured => "Measurement",
            Self::WatchedFile => "Watched capture",
            Self::WatchedLive => "Watched port",
            Self::Reproduced => "Reproduction of a paper",
            Self::Layers => "Cost of layers",
            Self::Percentiles => "Percentiles",
        }
    }
}

impl Kind {
    /// Name of what is judged.
    #[must_use]
    pub const fn claims(self) -> &'static str {
        match self {
            Self::Reproduced => "Claims",
            Self::Predicted
            | Self::Measured
            | Self::WatchedFile
            | Self::WatchedLive
            | Self::Layers
            | Self::Percentiles => "Requirements",
        }
    }
}

/// Outcome of a requirement, a check or a whole run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Grade {
    /// It holds.
    Pass,
    /// For information.
    Note,
    /// It is not decided, or limits what the numbers mean.
    Open,
    /// It does not hold.
    Fail,
}

/// Verdict on a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// Severity, for its colour.
    pub grade: Grade,
    /// The verdict in a word or two: `PASS`, `FAIL`, `NOT VALID`.
    pub word: Text,
    /// Its reason in a sentence.
    pub reason: Text,
}

/// A number that decided the verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct Number {
    /// Quantity.
    pub name: Text,
    /// Value with its unit.
    pub value: Text,
    /// Spread or interval, with its level.
    pub spread: Text,
    /// Count that it rests on.
    pub count: Text,
    /// Outcome where it is judged.
    pub grade: Grade,
}

/// Data of an acceptance test, as its tester gives them.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Acceptance {
    /// Person who made the test.
    pub tester: Option<Text>,
    /// Time of the test.
    pub tested_at: Option<Text>,
}

impl Acceptance {
    /// Returns true if the report is that of an acceptance test.
    #[must_use]
    pub const fn is_given(&self) -> bool {
        self.tester.is_some() || self.tested_at.is_some()
    }
}

/// A requirement for a flow, a host or the whole, with its evidence.
#[derive(Clone, PartialEq, Debug)]
pub struct Requirement {
    /// Requirement as written.
    pub text: Text,
    /// Flow, host or stream, and the point of a sweep.
    pub of: Text,
    /// Value found.
    pub found: Text,
    /// Interval of the value.
    pub interval: Text,
    /// Outcome.
    pub grade: Grade,
    /// Verdict with its reason.
    pub verdict: Text,
}

/// A finding of a meter.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Outcome.
    pub grade: Grade,
    /// The finding with its counts.
    pub text: Text,
    /// Connection or host that accounts for most of it.
    pub evidence: Text,
    /// Command that shows more.
    pub command: Text,
}

/// A table of results.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Caption.
    pub caption: Text,
    /// Headings of the columns.
    pub heads: Vec<Text>,
    /// Rows; the first cell of a row is its heading.
    pub rows: Vec<Vec<Text>>,
    /// Rows that are left out.
    pub left_out: usize,
    /// Notes below the table.
    pub notes: Vec<Text>,
}

impl Table {
    /// A table of rows of text, of which the first `most` are kept.
    #[must_use]
    pub fn of(
        caption: impl Into<Text>,
        heads: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
        most: usize,
    ) -> Self {
        let mut kept: Vec<Vec<Text>> = Vec::new();
        let mut left_out = 0;
        for row in rows {
            if kept.len() < most {
                kept.push(row.into_iter().map(Text::from).collect());
            } else {
                left_out += 1;
            }
        }
        let heads = heads.iter().map(|head| Text::from(*head)).collect();
        Self { caption: caption.into(), heads, rows: kept, left_out, notes: Vec::new() }
    }
}

/// A figure, and the way in which its points were chosen.
#[derive(Clone, PartialEq, Debug)]
pub struct Illustration {
    /// Figure.
    pub picture: Picture,
    /// Points left out or merged; empty if all are drawn.
    pub thinned: Text,
}

/// A check of the validity of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Check {
    /// Subject.
    pub name: &'static str,
    /// Outcome.
    pub grade: Grade,
    /// Result in words.
    pub text: Text,
}

/// Comparison with another run.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The two runs in a sentence.
    pub about: Text,
    /// Differences.
    pub tables: Vec<Table>,
}

/// A name with a value: a fact of provenance, a command with its purpose, a term with its definition.
#[derive(Clone, PartialEq, Debug)]
pub struct Fact {
    /// Name.
    pub name: Text,
    /// Value.
    pub value: Text,
}

impl Fact {
    /// A fact.
    pub fn new(name: impl Into<Text>, value: impl AsRef<str>) -> Self {
        Self { name: name.into(), value: Text::long(value) }
    }
}

impl Document {
    /// Returns true if no check failed.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.checks.iter().all(|check| check.grade != Grade::Fail)
    }

    /// Makes the verdict of a run that is not valid say so. A failure stays one: it was observed.
    pub(crate) fn weigh_checks(&mut self) {
        let failed: Vec<String> = self
            .checks
            .iter()
            .filter(|check| check.grade == Grade::Fail)
            .map(|check| format!("{}: {}", check.name, check.text))
            .collect();
        if failed.is_empty() {
            return;
        }
        let because = failed.join("; ");
        let Verdict { grade, word, reason } = &mut self.verdict;
        if word.as_str() == "FAIL" {
            *reason =
                Text::long(format!("{reason} In addition, the run is not valid ({because})."));
        } else {
            *reason = Text::long(format!("The run is not valid ({because}). {reason}"));
            (*grade, *word) = (Grade::Open, "NOT VALID".into());
        }
    }
}
