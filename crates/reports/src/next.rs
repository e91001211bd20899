//! Next steps after a verdict: the distance of a failed requirement from its limit, and the command to try.

use crate::text::Text;
use bench::verdict::Verdict;
use records::Finding;
use records::quantity::significant;
use records::require::Outcome;

/// Most steps of a report.
pub(crate) const MOST_STEPS: usize = 3;

/// Distance from the limit as a share of it: `12 % above its limit`.
pub(crate) fn of_limit(found: f64, limit: f64) -> Option<String> {
    if limit <= 0.0 || found.total_cmp(&limit).is_eq() {
        return None;
    }
    let share = (found - limit).abs() / limit;
    Some(match (found > limit, found >= 2.0 * limit) {
        (_, true) => format!("{} times its limit", significant(found / limit, 2)),
        (true, false) => format!("{} % above its limit", significant(share * 100.0, 2)),
        (false, false) => format!("{} % below its limit", significant(share * 100.0, 2)),
    })
}

/// Steps after a watched capture or port.
pub(crate) fn of_stream(outcomes: &[Outcome], findings: &[Finding]) -> Vec<Text> {
    let mut steps: Vec<String> = Vec::new();
    let of = |verdict| outcomes.iter().find(|it| it.verdict == verdict);
    if let Some(outcome) = of(Verdict::Fail).or_else(|| of(Verdict::Undecided)) {
        let worst = outcome.findings.iter().find(|it| it.verdict == outcome.verdict);
        steps.extend(worst.and_then(|it| {
            let name = it.of.as_deref().unwrap_or("the whole");
            let limit = outcome.limit()?;
            let beyond = of_limit(it.found?, limit).filter(|_| it.verdict == Verdict::Fail);
            let open = || {
                let because = Some(&it.because).filter(|because| !because.is_empty());
                because.map_or_else(
                    || "not decided by this capture: a longer one may".to_owned(),
                    |because| format!("not decided: {because}"),
                )
            };
            let words = beyond.unwrap_or_else(open);
            Some(format!("{}: {name} is {words}.", outcome.requirement))
        }));
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
