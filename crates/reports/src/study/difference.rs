//! Difference of two runs or values in words: its spread, ratio and verdict.

use bench::compare::{Difference, PointComparison, Verdict};
use records::quantity::{scale, significant};

/// Note on runs that were compared pair by pair, with their number.
pub fn paired(point: &PointComparison) -> String {
    match point.pairs {
        Some(pairs) => format!(", {pairs} pairs of runs, each of one seed"),
        None => String::new(),
    }
}

/// The difference with half the width of its interval where it lies evenly around it, else with both ends.
pub fn apart(found: &Difference) -> String {
    if let Some((low, high)) = found.interval
        && ((high + low) / 2.0 - found.difference).abs() > (high - low) * 1e-6
    {
        let unit = scale(found.unit, found.difference.abs().max(high.abs()).max(low.abs()));
        let number = |value: f64| significant(value / unit.each, 3);
        let sign = if found.difference > 0.0 { "+" } else { "" };
        let (apart, low, high) = (number(found.difference), number(low), number(high));
        return format!("{sign}{apart} {} ({low} to {high})", unit.unit).replace("  ", " ");
    }
    let half = found.interval.map(|(low, high)| (high - low) / 2.0);
    let unit = scale(found.unit, found.difference.abs().max(half.unwrap_or(0.0)));
    let number = |value: f64| significant(value / unit.each, 3);
    let sign = if found.difference > 0.0 { "+" } else { "" };
    let spread = half.map(|half| format!(" ± {}", number(half))).unwrap_or_default();
    format!("{sign}{}{spread} {}", number(found.difference), unit.unit).trim_end().to_owned()
}

/// Text of a difference: its verdict, and the ratio with its interval if there is one.
pub fn shown(found: &Difference) -> String {
    let verdict = found.verdict;
    match (verdict, found.ratio, found.ratio_interval) {
        (Verdict::Lower | Verdict::Higher, Some(ratio), Some((low, high))) => {
            let [ratio, low, high] = [ratio, low, high].map(|value| significant(value, 3));
            format!("{verdict}: {ratio} ({low} to {high})")
        }
        (Verdict::Lower | Verdict::Higher, Some(ratio), None) => {
            format!("{verdict}: {}", significant(ratio, 3))
        }
        _ => verdict.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::analysis::Unit;
    use bench::compare::Compared;

    fn difference(interval: Option<(f64, f64)>, verdict: Verdict) -> Difference {
        Difference {
            flow: "status".to_owned(),
            quantity: "delay.mean",
            unit: Unit::Nanoseconds,
            of: Compared::MeanOfRuns,
            first: 2e6,
            second: 3e6,
            difference: 1e6,
            interval,
            ratio: Some(1.5),
            ratio_interval: interval.map(|_| (1.25, 1.75)),
            verdict,
        }
    }

    #[test]
    fn a_difference_is_told_with_its_spread_and_what_it_shows() {
        let clear = difference(Some((0.5e6, 1.5e6)), Verdict::Higher);
        assert_eq!(apart(&clear), "+1.00 ± 0.500 ms");
        assert_eq!(shown(&clear), "higher: 1.50 (1.25 to 1.75)");
        let open = difference(Some((-1e6, 3e6)), Verdict::NoDifferenceShown);
        assert_eq!(apart(&open), "+1.00 ± 2.00 ms");
        assert_eq!(shown(&open), "no difference shown");
        let single = difference(None, Verdict::Undecided);
        assert_eq!(apart(&single), "+1.00 ms");
        assert_eq!(shown(&single), "undecided: too few replications");
    }
}
