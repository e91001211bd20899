//! Number of rows with each verdict, by kind and role.

use super::Outcome;
use super::row::Kind;
use super::verdict::{Role, Verdict};
use serde::Serialize;

/// Rows of one kind and role.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Group {
    /// Kind.
    pub kind: Kind,
    /// Role.
    pub role: Role,
    /// Number of rows with each verdict, in the order of [`Verdict::ALL`].
    pub verdicts: [usize; Verdict::ALL.len()],
}

/// Summary of a paper.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Summary {
    /// Groups that have rows, in the order of kinds and roles.
    pub groups: Vec<Group>,
    /// Rows of roles that can succeed, without those that restate another.
    pub candidates: usize,
    /// Candidates that agree.
    pub successes: usize,
    /// Rows that restate another row.
    pub restatements: usize,
}

/// Counts verdicts.
#[must_use]
pub fn summarise(outcomes: &[Outcome]) -> Summary {
    let mut groups = Vec::new();
    for kind in Kind::ALL {
        for role in Role::ALL {
            let here = |outcome: &&Outcome| outcome.row.kind == kind && outcome.role == role;
            let group: Vec<&Outcome> = outcomes.iter().filter(here).collect();
            let count = |verdict| group.iter().filter(|o| o.verdict == verdict).count();
            if !group.is_empty() {
                groups.push(Group { kind, role, verdicts: Verdict::ALL.map(count) });
            }
        }
    }
    let stands_alone = |outcome: &&Outcome| outcome.row.restates.is_none();
    let can_succeed = |outcome: &&Outcome| outcome.role.can_succeed() && stands_alone(outcome);
    let candidates: Vec<&Outcome> = outcomes.iter().filter(can_succeed).collect();
    Summary {
        groups,
        candidates: candidates.len(),
        successes: candidates.iter().filter(|outcome| outcome.verdict.agrees()).count(),
        restatements: outcomes.iter().filter(|outcome| !stands_alone(outcome)).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::Value;
    use super::super::{judge, row};
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn only_predictions_and_shapes_can_succeed_and_each_counts_once() {
        // All claim 1 and get it; A-2 is an input, A-5 restates A-3.
        let mut text = String::new();
        for (id, kind, more) in [
            ("A-1", "C", ""),
            ("A-2", "M", ""),
            ("A-3", "M", ""),
            ("A-4", "Q", ""),
            ("A-5", "M", "restates = \"A-3\"\n"),
            ("A-6", "F", ""),
            ("A-7", "T", ""),
        ] {
            text += &format!("[[row]]\nid = \"{id}\"\nkind = \"{kind}\"\nvalue = \"1\"\n{more}");
            text += "[[row.claim]]\nasks = \"x\"\nis = 1\nours = \"x\"\n";
        }
        let rows = row::parse(&text).unwrap();
        let inputs = BTreeSet::from(["A-2".to_owned()]);
        let summary = summarise(&judge(rows, &inputs, |_, _| Ok(Value::exact(1.0))));
        assert_eq!((summary.candidates, summary.successes, summary.restatements), (2, 2, 1));
        let counted: usize = summary.groups.iter().flat_map(|group| group.verdicts).sum();
        assert_eq!(counted, 7);
        let inputs = summary.groups.iter().find(|group| group.role == Role::CalibrationInput);
        // Reproduced, within error, one of ours, not decided, differs, not here, input, input missed.
        assert_eq!(inputs.unwrap().verdicts, [0, 0, 0, 0, 0, 0, 1, 0]);
    }
}
