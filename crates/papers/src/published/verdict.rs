//! Agreement of our results with the paper: by rule, never by hand.
//!
//! | ours | verdict |
//! |---|---|
//! | lies in the published range | reproduced |
//! | lies in that range widened by the reading error | within reading error |
//! | has nothing in common with the widened range | differs |
//! | is a band of single runs that has a part of the widened range, where the paper has one run | one of ours |
//! | lies partly inside, partly outside | not decided |
//! | cannot be obtained | not reproducible here |
//! | went into the model | input |
//!
//! "Lies in" applies to the whole interval, so that a wide interval is no success. For one
//! published run the question is different: that run is among ours if it lies in the band that
//! contains 90 % of our single runs. A run of a correct model falls outside once in ten times.

use super::row::{Claim, Kind, Row};
use super::value::Value;
use core::fmt;
use serde::Serialize;
use std::collections::BTreeSet;

/// Role of a row for the model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Setup: checked against the program, if the program defines it.
    Configuration,
    /// Formula: compared with the simulation.
    Formula,
    /// A cell of a table.
    Table,
    /// Built-in property of the model.
    Assumption,
    /// Figure from which a cost of the model was derived.
    CalibrationInput,
    /// Figure that calibration inputs largely determine, so that it can hardly fail.
    Implied,
    /// Figure that the model has not seen.
    Prediction,
    /// A shape.
    Qualitative,
}

impl Role {
    /// All roles, in the order of output.
    pub const ALL: [Self; 8] = [
        Self::Configuration,
        Self::Formula,
        Self::Table,
        Self::Assumption,
        Self::CalibrationInput,
        Self::Implied,
        Self::Prediction,
        Self::Qualitative,
    ];

    /// Role of a row, if `inputs` are the rows on which the model was calibrated. A row derived
    /// from inputs alone is an input itself, and so is a row that restates an input.
    #[must_use]
    pub fn of(row: &Row, inputs: &BTreeSet<String>) -> Self {
        match row.kind {
            Kind::C => Self::Configuration,
            Kind::F => Self::Formula,
            Kind::T => Self::Table,
            Kind::M | Kind::S | Kind::D | Kind::Q if row.assumed => Self::Assumption,
            Kind::Q => Self::Qualitative,
            Kind::M | Kind::S | Kind::D => {
                let is_input = inputs.contains(&row.id)
                    || row.restates.as_ref().is_some_and(|id| inputs.contains(id))
                    || (!row.derived_from.is_empty()
                        && row.derived_from.iter().all(|id| inputs.contains(id)));
                let all_in = |rows: &[String]| rows.iter().all(|id| inputs.contains(id));
                let is_implied = !row.implied_by.is_empty() && all_in(&row.implied_by);
                match (is_input, is_implied) {
                    (true, _) => Self::CalibrationInput,
                    (false, true) => Self::Implied,
                    (false, false) => Self::Prediction,
                }
            }
        }
    }

    /// True if agreement of a row of this role supports the model.
    #[must_use]
    pub const fn can_succeed(self) -> bool {
        matches!(self, Self::Prediction | Self::Qualitative)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Configuration => "configuration",
            Self::Formula => "formula",
            Self::Table => "table",
            Self::Assumption => "assumption",
            Self::CalibrationInput => "calibration input",
            Self::Implied => "follows from inputs",
            Self::Prediction => "prediction",
            Self::Qualitative => "qualitative",
        })
    }
}

/// Verdict on a claim or a row. A row has the greatest verdict of its claims.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is an input of the model, and the model returns it.
    Input,
    /// Our interval lies in the published range.
    Reproduced,
    /// Our interval lies in the range widened by the reading error.
    WithinReadingError,
    /// The paper's single run lies in the band of our single runs.
    OneOfOurs,
    /// Our interval is too wide to decide.
    NotDecided,
    /// It cannot be obtained here.
    NotReproducibleHere,
    /// It is an input of the model, and the model does not return it.
    InputMissed,
    /// Our interval lies outside.
    Differs,
}

impl Verdict {
    /// All verdicts, in the order of output.
    pub const ALL: [Self; 8] = [
        Self::Reproduced,
        Self::WithinReadingError,
        Self::OneOfOurs,
        Self::NotDecided,
        Self::Differs,
        Self::NotReproducibleHere,
        Self::Input,
        Self::InputMissed,
    ];

    /// Verdict on a claim of a row of this role.
    #[must_use]
    pub fn of(claim: &Claim, role: Role, ours: Option<Value>) -> Self {
        let Some(ours) = ours else { return Self::NotReproducibleHere };
        let published = claim.published();
        let widened = (published.0 - claim.error, published.1 + claim.error);
        if role == Role::CalibrationInput {
            return if lies_in(ours, widened) { Self::Input } else { Self::InputMissed };
        }
        if lies_in(ours, published) {
            Self::Reproduced
        } else if lies_in(ours, widened) {
            Self::WithinReadingError
        } else if ours.high < widened.0 || ours.low > widened.1 {
            Self::Differs
        } else if claim.one_run {
            Self::OneOfOurs
        } else {
            Self::NotDecided
        }
    }

    /// True if our result and the paper agree.
    #[must_use]
    pub const fn agrees(self) -> bool {
        matches!(self, Self::Reproduced | Self::WithinReadingError | Self::OneOfOurs)
    }

    /// True if the verdict needs a reason why our result differs.
    #[must_use]
    pub const fn calls_for_a_reason(self) -> bool {
        matches!(self, Self::NotDecided | Self::Differs | Self::InputMissed)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Reproduced => "reproduced",
            Self::WithinReadingError => "within error",
            Self::OneOfOurs => "one of ours",
            Self::NotDecided => "not decided",
            Self::NotReproducibleHere => "not here",
            Self::InputMissed => "input missed",
            Self::Differs => "differs",
        })
    }
}

/// Relative tolerance for numbers after floating-point arithmetic: 1e-9 is far below any reading
/// error and far above rounding.
const ROUNDING: f64 = 1e-9;

fn lies_in(ours: Value, (least, most): (f64, f64)) -> bool {
    let slack = |end: f64| if end.is_finite() { end.abs() * ROUNDING } else { 0.0 };
    ours.low >= least - slack(least) && ours.high <= most + slack(most)
}

#[cfg(test)]
mod tests {
    use super::super::row;
    use super::*;

    #[test]
    fn the_verdict_follows_from_range_error_and_interval() {
        // Published 4, read to within 0.5: from 3.5 to 4.5.
        let claim = "is = 4\nerror = 0.5\nerror-because = \"read off\"";
        check(claim, Some((4.0, 4.0)), Verdict::Reproduced);
        check(claim, Some((3.9, 4.1)), Verdict::WithinReadingError);
        check(claim, Some((3.5, 4.5)), Verdict::WithinReadingError);
        check(claim, Some((4.4, 4.6)), Verdict::NotDecided);
        check(claim, Some((0.0, 9.0)), Verdict::NotDecided);
        check(claim, Some((4.6, 5.0)), Verdict::Differs);
        check(claim, Some((3.0, 3.4)), Verdict::Differs);
        check(claim, None, Verdict::NotReproducibleHere);
    }

    #[test]
    fn a_published_run_is_compared_with_the_band_of_single_runs() {
        let claim = "is = 4\nerror = 0.5\nerror-because = \"read off\"\none-run = true";
        check(claim, Some((3.9, 4.1)), Verdict::WithinReadingError);
        check(claim, Some((4.4, 9.0)), Verdict::OneOfOurs);
        check(claim, Some((0.0, 3.6)), Verdict::OneOfOurs);
        check(claim, Some((4.6, 9.0)), Verdict::Differs);
        assert!(Verdict::OneOfOurs.agrees() && !Verdict::OneOfOurs.calls_for_a_reason());
    }

    #[test]
    fn ranges_may_have_one_end() {
        check("least = 2\nmost = 3", Some((2.1, 2.9)), Verdict::Reproduced);
        check("most = 3", Some((-9.0, 2.0)), Verdict::Reproduced);
        check("most = 3", Some((2.0, 3.1)), Verdict::NotDecided);
        check("least = 3", Some((2.0, 2.9)), Verdict::Differs);
    }

    #[test]
    fn an_input_is_never_a_success() {
        let [row] = rows("is = 4").try_into().unwrap();
        let inputs = BTreeSet::from(["A-1".to_owned()]);
        assert_eq!(Role::of(&row, &BTreeSet::new()), Role::Prediction);
        let role = Role::of(&row, &inputs);
        assert_eq!(role, Role::CalibrationInput);
        for (value, expected) in [(4.0, Verdict::Input), (5.0, Verdict::InputMissed)] {
            let verdict = Verdict::of(&row.claims[0], role, Some(Value::exact(value)));
            assert_eq!(verdict, expected);
            assert!(!verdict.agrees() && !role.can_succeed());
        }
    }

    #[test]
    fn a_row_implied_by_inputs_alone_is_no_success() {
        let [mut row] = rows("is = 4").try_into().unwrap();
        row.implied_by = vec!["A-8".to_owned(), "A-9".to_owned()];
        let both = BTreeSet::from(["A-8".to_owned(), "A-9".to_owned()]);
        let one = BTreeSet::from(["A-8".to_owned()]);
        assert_eq!(Role::of(&row, &both), Role::Implied);
        assert!(!Role::Implied.can_succeed());
        assert_eq!(Role::of(&row, &one), Role::Prediction);
    }

    #[test]
    fn a_row_derived_from_inputs_alone_is_an_input() {
        let mut rows = rows("is = 4");
        let mut derived = rows[0].clone();
        derived.id = "A-2".to_owned();
        derived.kind = Kind::D;
        derived.derived_from = vec!["A-1".to_owned(), "A-3".to_owned()];
        let one = BTreeSet::from(["A-1".to_owned()]);
        let both = BTreeSet::from(["A-1".to_owned(), "A-3".to_owned()]);
        assert_eq!(Role::of(&derived, &one), Role::Prediction);
        assert_eq!(Role::of(&derived, &both), Role::CalibrationInput);
        derived.assumed = true;
        assert_eq!(Role::of(&derived, &one), Role::Assumption);
        assert!(!Role::Assumption.can_succeed());
        rows[0].id = "A-4".to_owned();
        rows[0].restates = Some("A-1".to_owned());
        assert_eq!(Role::of(&rows[0], &one), Role::CalibrationInput);
    }

    fn rows(claim: &str) -> Vec<Row> {
        let head = "[[row]]\nid = \"A-1\"\nkind = \"M\"\nvalue = \"4\"\n";
        row::parse(&format!("{head}[[row.claim]]\nasks = \"x\"\nours = \"x\"\n{claim}")).unwrap()
    }

    #[track_caller]
    fn check(claim: &str, ours: Option<(f64, f64)>, verdict: Verdict) {
        let rows = rows(claim);
        let ours =
            ours.map(|(low, high)| Value { value: low.midpoint(high), low, high, observations: 1 });
        assert_eq!(Verdict::of(&rows[0].claims[0], Role::Prediction, ours), verdict);
    }
}
