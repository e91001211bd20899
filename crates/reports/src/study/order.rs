//! Order of results: requirements with the worst first, differences with the clearest first.

use crate::of_study::grade;
use bench::compare::{Difference, Verdict};
use bench::scenario::Requirement;
use bench::verdict::Judged;

/// Flows, or groups of them, with rows, columns or figures of their own, where no other number is given.
pub const TOP: usize = 20;

/// Requirements, the worst first; of those with the same verdict, the one that uses up most of its limit.
#[must_use]
pub fn worst_first(judged: &[Judged]) -> Vec<&Judged> {
    let mut sorted: Vec<(f64, &Judged)> = judged.iter().map(|it| (used_up(it), it)).collect();
    sorted.sort_by(|(a_used, a), (b_used, b)| {
        grade(b.verdict).cmp(&grade(a.verdict)).then(b_used.total_cmp(a_used))
    });
    sorted.into_iter().map(|(_, judged)| judged).collect()
}

/// Part of the limit that is used up: the greater, the closer is the verdict.
fn used_up(judged: &Judged) -> f64 {
    let limit = judged.requirement.parse::<Requirement>().map_or(0.0, |it| it.limit);
    let found = judged.high.or(judged.found).unwrap_or(0.0);
    if limit == 0.0 { 0.0 } else { found / limit }
}

/// Differences of two runs, flow by flow: all flows in their order, or, where they are more than `top`, those with the
/// greatest differences that are shown.
#[must_use]
pub fn clearest(differences: &[Difference], top: usize) -> Vec<&[Difference]> {
    let mut flows: Vec<&[Difference]> =
        differences.chunk_by(|one, next| one.flow == next.flow).collect();
    if flows.len() > top {
        let clarity = |of_flow: &[Difference]| of_flow.iter().map(clarity).fold(0.0_f64, f64::max);
        flows.sort_by(|a, b| clarity(b).total_cmp(&clarity(a)));
        flows.truncate(top);
    }
    flows
}

/// Says how many flows differ, and that not all of them have rows; none where all have.
#[must_use]
pub fn differing(differences: &[Difference], top: usize) -> Option<String> {
    let flows = || differences.chunk_by(|one, next| one.flow == next.flow);
    let all = flows().count();
    let differs = |of_flow: &&[Difference]| {
        of_flow.iter().any(|it| matches!(it.verdict, Verdict::Lower | Verdict::Higher))
    };
    let differing = flows().filter(differs).count();
    (all > top).then(|| {
        format!(
            "{differing} of {all} flows show a difference, and the tables have the {top} clearest: --top N shows more, \
             --json all"
        )
    })
}

/// Part of the greater value by which two values differ; beyond 1 if the difference is shown.
fn clarity(found: &Difference) -> f64 {
    let greatest = found.first.abs().max(found.second.abs());
    let part = if greatest > 0.0 { found.difference.abs() / greatest } else { 0.0 };
    match found.verdict {
        Verdict::Lower | Verdict::Higher => 2.0 + part,
        Verdict::Undecided | Verdict::WithinHostNoise => part,
        Verdict::NoDifferenceShown => 0.0,
    }
}
