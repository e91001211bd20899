//! Range in which deadlines and requirements hold in a sweep: "how many stations fit?" in one line.

use bench::analysis::{PointReport, Report};
use bench::verdict::{Judged, Verdict};
use reports::study::{Met, summed};
use reports::sweep::across;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Range in which deadlines and requirements hold along a numeric key of a sweep.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub(crate) struct Limit {
    /// The key.
    key: String,
    /// Other settings, if several keys vary.
    #[serde(skip_serializing_if = "String::is_empty")]
    at: String,
    /// Values at which theory shows every deadline, in rising order: each flow has a bound within it.
    always: Vec<String>,
    /// Values at which every deadline and requirement held in the runs that were made.
    met: Vec<String>,
    /// Values at which one did not.
    missed: Vec<String>,
    /// Values at which the runs do not decide it.
    undecided: Vec<String>,
    /// All values in rising order, to find neighbours.
    #[serde(skip)]
    all: Vec<String>,
    /// First failure: the flow or the requirement, at the value nearest to those where all held.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<First>,
}

/// Something that did not hold.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
struct First {
    value: String,
    what: String,
}

/// Result of all deadlines and requirements of a point.
struct Held {
    value: String,
    verdict: Verdict,
    always: bool,
    what: Option<String>,
}

/// The limits of a sweep: one for each setting of what else varies. None where nothing that varies is a
/// number, or nothing was asked.
pub(crate) fn limits(report: &Report, judged: &[Judged]) -> Vec<Limit> {
    let is_asked = report.points.iter().any(super::deadlines::are_there) || !judged.is_empty();
    if report.points.len() < 2 || !is_asked {
        return Vec::new();
    }
    let across = across(&report.points);
    if across.legend.is_some() {
        return Vec::new();
    }
    let key = &across.axis.name;
    let mut rows: BTreeMap<&str, Vec<(f64, Held)>> = BTreeMap::new();
    for point in &report.points {
        let Some((x, rest)) = across.places.get(&point.point) else { continue };
        let value = point.settings.get(key).cloned().unwrap_or_default();
        rows.entry(rest).or_default().push((*x, held(point, value, judged)));
    }
    let each = |(at, mut row): (&str, Vec<(f64, Held)>)| {
        row.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        limit(key, at, row.into_iter().map(|(_, held)| held).collect())
    };
    rows.into_iter().map(each).collect()
}

fn held(point: &PointReport, value: String, judged: &[Judged]) -> Held {
    let here = || judged.iter().filter(|judged| judged.point == point.point);
    let of = |verdict| here().find(|judged| judged.verdict == verdict);
    let deadlines = || summed(point).into_iter().flat_map(|it| it.flows);
    let met = || deadlines().map(|flow| Met::of(flow, point)).filter(|met| *met != Met::NoDeadline);
    let missed = summed(point)
        .into_iter()
        .map(|group| group.worst())
        .find(|flow| Met::of(flow, point) == Met::Missed)
        .map(|flow| format!("{} misses its deadline", flow.name));
    let refused = of(Verdict::Fail).map(|it| format!("{} does not hold", it.requirement));
    let is_known = met().all(|met| !matches!(met, Met::NotKnown | Met::NoneSent));
    let verdict = match (&missed, &refused, of(Verdict::Undecided)) {
        (None, None, None) if is_known => Verdict::Pass,
        (None, None, _) => Verdict::Undecided,
        _ => Verdict::Fail,
    };
    let always = met().all(|met| met == Met::Always);
    Held { value, verdict, always, what: refused.or(missed) }
}

fn limit(key: &str, at: &str, row: Vec<Held>) -> Limit {
    let is = |verdict| row.iter().filter(move |held| held.verdict == verdict);
    let values = |verdict| is(verdict).map(|held| held.value.clone()).collect::<Vec<_>>();
    let (always, met): (Vec<&Held>, Vec<&Held>) = is(Verdict::Pass).partition(|held| held.always);
    let named = |held: Vec<&Held>| held.into_iter().map(|held| held.value.clone()).collect();
    let failed = |held: &&Held| held.verdict == Verdict::Fail;
    // The failure next to where all holds: above it, or below it where larger values are better.
    let is_rising = row.first().is_some_and(|held| held.verdict == Verdict::Fail)
        && row.last().is_some_and(|held| held.verdict != Verdict::Fail);
    let first = if is_rising { row.iter().rev().find(failed) } else { row.iter().find(failed) };
    let first = first.map(|held| First {
        value: held.value.clone(),
        what: held.what.clone().unwrap_or_default(),
    });
    Limit {
        key: key.to_owned(),
        at: at.to_owned(),
        all: row.iter().map(|held| held.value.clone()).collect(),
        always: named(always),
        met: named(met),
        missed: values(Verdict::Fail),
        undecided: values(Verdict::Undecided),
        first,
    }
}

/// Limits in lines. If no value holds at any of several other settings, that is one line.
pub(super) fn lines(limits: &[Limit]) -> Vec<String> {
    let is_never = |limit: &Limit| {
        [&limit.always, &limit.met, &limit.undecided].iter().all(|values| values.is_empty())
    };
    match limits {
        [first, _, ..] if limits.iter().all(is_never) => {
            let all = first.listed(&first.all);
            vec![format!("{}: at none of {all} do all deadlines hold, in no setting", first.key)]
        }
        _ => limits.iter().map(Limit::line).collect(),
    }
}

impl Limit {
    /// In one line.
    fn line(&self) -> String {
        let Self { key, at, always, met, missed, undecided, first, .. } = self;
        let at = if at.is_empty() { String::new() } else { format!(" ({at})") };
        let mut parts = Vec::new();
        let kinds = [("always met", always), ("met in these runs", met), ("undecided", undecided)];
        for (how, values) in kinds.into_iter().filter(|(_, values)| !values.is_empty()) {
            parts.push(format!("{how} at {}", self.listed(values)));
        }
        if let Some(First { value, what }) = first {
            let others: Vec<String> =
                missed.iter().filter(|other| *other != value).cloned().collect();
            let others = if others.is_empty() {
                String::new()
            } else {
                format!(", nor at {}", self.listed(&others))
            };
            parts.push(format!("not at {value}{others}: {what}"));
        }
        format!("{key}{at}: {}", parts.join("; "))
    }

    /// Values in a list, with three and more neighbours as a range: `20 to 100, 140`.
    fn listed(&self, values: &[String]) -> String {
        let mut told: Vec<String> = Vec::new();
        let neighbours = self.all.chunk_by(|a, b| values.contains(a) == values.contains(b));
        for values in neighbours.filter(|run| values.contains(&run[0])) {
            match values {
                [first, _, .., last] => told.push(format!("{first} to {last}")),
                few => told.extend_from_slice(few),
            }
        }
        told.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(verdicts: &[(Verdict, bool)]) -> Vec<Held> {
        let each = |(number, (verdict, always)): (usize, &(Verdict, bool))| {
            let what =
                (*verdict == Verdict::Fail).then(|| format!("f{number} misses its deadline"));
            Held { value: (number * 4).to_string(), verdict: *verdict, always: *always, what }
        };
        verdicts.iter().enumerate().map(each).collect()
    }

    #[track_caller]
    fn check(verdicts: &[(Verdict, bool)], expected: &str) {
        assert_eq!(limit("n", "", row(verdicts)).line(), format!("n: {expected}"));
    }

    #[test]
    fn a_limit_lies_between_all_met_and_the_first_miss() {
        use Verdict::{Fail, Pass, Undecided};
        check(
            &[(Pass, true), (Pass, true), (Pass, false), (Fail, false), (Fail, false)],
            "always met at 0, 4; met in these runs at 8; not at 12, nor at 16: f3 misses its deadline",
        );
        // Larger values are better here: what is next to them is named.
        check(
            &[(Fail, false), (Fail, false), (Undecided, false), (Pass, true)],
            "always met at 12; undecided at 8; not at 4, nor at 0: f1 misses its deadline",
        );
        check(&[(Pass, true), (Pass, true)], "always met at 0, 4");
        check(&[(Fail, false)], "not at 0: f0 misses its deadline");
    }

    #[test]
    fn limits_that_hold_nowhere_are_one_line() {
        use Verdict::{Fail, Pass};
        let of = |at, verdict| limit("loss", at, row(&[(verdict, false), (Fail, false)]));
        assert_eq!(
            lines(&[of("ring", Fail), of("bus", Fail)]),
            ["loss: at none of 0, 4 do all deadlines hold, in no setting"]
        );
        assert_eq!(lines(&[of("ring", Fail), of("bus", Pass)]).len(), 2);
        assert_eq!(lines(&[of("ring", Fail)]).len(), 1);
    }
}
