//! Next steps after a verdict: the distance of a failed requirement from its limit, and the command to try.

use crate::text::Text;
use bench::verdict::Verdict;
use records::Finding;
use records::quantity::significant;
use records::require::{Outcome, OutcomeFinding};

/// Most steps of a report.
pub(crate) const MOST_STEPS: usize = 3;

/// A value that does not meet its limit, with its distance as a share of the limit: `12 % above its limit`.
pub(crate) fn of_limit(found: f64, limit: f64) -> String {
    if limit <= 0.0 || found.total_cmp(&limit).is_eq() {
        return format!("{found}, where its limit is {limit}");
    }
    let share = (found - limit).abs() / limit;
    match (found > limit, found >= 2.0 * limit) {
        (_, true) => format!("{} times its limit", significant(found / limit, 2)),
        (true, false) => format!("{} % above its limit", significant(share * 100.0, 2)),
        (false, false) => format!("{} % below its limit", significant(share * 100.0, 2)),
    }
}

/// Reason for which a host, a connection, a stream or the whole does not meet a requirement.
fn unmet(finding: &OutcomeFinding, limit: Option<f64>) -> String {
    let OutcomeFinding { of, found, verdict, because, .. } = finding;
    let name = of.as_deref().unwrap_or("the whole");
    match (verdict, found, limit) {
        (Verdict::Fail, Some(found), Some(limit)) => {
            format!("{name} is {}", of_limit(*found, limit))
        }
        (Verdict::Fail, ..) => format!("{name} does not meet it"),
        _ if because.is_empty() => {
            format!("{name} is not decided by this capture: a longer one may")
        }
        _ => format!("{name} is not decided: {because}"),
    }
}

/// Steps after a watched capture or port.
pub(crate) fn of_stream(outcomes: &[Outcome], findings: &[Finding]) -> Vec<Text> {
    let mut steps: Vec<String> = Vec::new();
    let of = |verdict| outcomes.iter().find(|it| it.verdict == verdict);
    if let Some(outcome) = of(Verdict::Fail).or_else(|| of(Verdict::Undecided)) {
        let worst = outcome.findings.iter().find(|it| it.verdict == outcome.verdict);
        let why = worst.map_or_else(
            || "this capture has nothing that could be judged".to_owned(),
            |it| unmet(it, outcome.limit()),
        );
        steps.push(format!("{}: {why}.", outcome.requirement));
    }
    let worst = findings.iter().find(|it| it.grade == "wrong");
    let worst = worst.or_else(|| findings.iter().find(|it| it.grade == "look"));
    steps.extend(worst.map(|it| format!("{}. See: {}", it.text, it.command)));
    if outcomes.is_empty() && worst.is_none() {
        let example = "State a requirement: tidewire help requirements has those of watch";
        steps.push(example.to_owned());
    }
    steps.into_iter().take(MOST_STEPS).map(Text::long).collect()
}
