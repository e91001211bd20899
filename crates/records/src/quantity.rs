//! Numbers formatted for people, in the unit that suits their size.

use bench::analysis::{Found, Unit};
use bench::sample::Within;
use stats::histogram::has_quantile;
use stats::interval::Estimate;

/// A display unit and its size in base units.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    /// Text written after the number; empty for fractions.
    pub unit: &'static str,
    /// Base units per display unit.
    pub each: f64,
}

/// Returns the unit in which a value of this size has one to three digits before its decimal point.
pub fn scale(unit: Unit, size: f64) -> Scale {
    let units: &[(&'static str, f64)] = match unit {
        Unit::Nanoseconds => &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)],
        Unit::BitsPerSecond => &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)],
        Unit::Fraction => &[("", 1.0)],
    };
    let fits = units.iter().rev().find(|(_, each)| size.abs() >= *each);
    let (unit, each) = fits.or(units.first()).copied().unwrap_or(("", 1.0));
    Scale { unit, each }
}

/// Formats a value to `digits` significant digits, without an exponent unless its magnitude is
/// extreme.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let place = value.abs().log10().floor();
    if !(-6.0..15.0).contains(&place) {
        return format!("{value:.*e}", digits.saturating_sub(1));
    }
    let decimals = (digits as f64 - 1.0 - place).max(0.0) as usize;
    format!("{value:.decimals$}")
}

/// Like [`significant`], without trailing zeros in the decimals.
pub fn trimmed(value: f64, digits: usize) -> String {
    let text = significant(value, digits);
    if !text.contains('.') || text.contains('e') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Joins a number and its unit; returns the number alone where the unit is empty.
pub fn with_unit(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

/// Formats a value to three digits in the unit that suits it: `1.23 ms`.
pub fn value(unit: Unit, value: f64) -> String {
    let Scale { unit, each } = scale(unit, value);
    with_unit(&significant(value / each, 3), unit)
}

/// Formats a count with its noun: `1 frame`, `2 frames`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Returns a sentence whose noun and verb agree with its count, if that is the first word and 1: `1 of 5 DTs was`.
#[must_use]
pub fn agreed(sentence: &str) -> String {
    let Some(rest) = sentence.strip_prefix("1 ") else { return sentence.to_owned() };
    let rest = match rest.split_once(' ') {
        // The noun behind a part is that of the whole.
        Some(("of", _)) | None => rest.to_owned(),
        Some((noun, more)) => format!("{} {more}", noun.strip_suffix('s').unwrap_or(noun)),
    };
    let verbs =
        [(" were ", " was "), (" are ", " is "), (" have ", " has "), (" carry ", " carries ")];
    let first = verbs.into_iter().filter_map(|(many, one)| Some((rest.find(many)?, many, one)));
    match first.min() {
        Some((_, many, one)) => format!("1 {}", rest.replacen(many, one, 1)),
        None => format!("1 {rest}"),
    }
}

/// Formats a duration to three digits in the unit that suits it.
pub fn span(nanos: u64) -> String {
    value(Unit::Nanoseconds, nanos as f64)
}

/// Returns the quantile of this share of `count` values, if they are enough for it.
pub fn enough<T>(share: f64, count: u64, value: Option<T>) -> Option<T> {
    value.filter(|_| has_quantile(count, share))
}

/// Formats the quantile of this share of `count` durations; `n/a` if they are too few for it.
pub fn quantile(share: f64, count: u64, nanos: Option<u64>) -> String {
    enough(share, count, nanos).map_or_else(|| "n/a".to_owned(), span)
}

/// Formats the 99th percentile of `count` durations, if they are enough for it, and the maximum: `p99 7.00 ms, max 9.00 ms`.
pub fn longest(count: u64, p99_ns: u64, max_ns: u64) -> String {
    let p99 = enough(0.99, count, Some(p99_ns)).map(|p99| format!("p99 {}, ", span(p99)));
    format!("{}max {}", p99.unwrap_or_default(), span(max_ns))
}

/// Formats a count in at most six columns.
pub fn short(count: u64) -> String {
    match count {
        0..=99_999 => count.to_string(),
        100_000..=9_999_999 => format!("{}k", count / 1_000),
        10_000_000..=9_999_999_999 => format!("{}M", count / 1_000_000),
        _ => format!("{}G", count / 1_000_000_000),
    }
}

/// Formats a count in at most six columns, with its noun.
pub fn counted_short(count: u64, what: &str) -> String {
    format!("{} {what}{}", short(count), if count == 1 { "" } else { "s" })
}

/// Formats a confidence level: `95 %`.
pub fn level(level: f64) -> String {
    format!("{} %", trimmed(level * 100.0, 4))
}

/// A mean over replications with half the width of its interval: `4.1 ± 0.2 ms`; of a single
/// replication the mean alone.
#[must_use]
pub fn mean(found: &Found) -> String {
    match found.estimate() {
        Some(of) => estimate(found.unit, of),
        None => value(found.unit, found.mean),
    }
}

/// A number with half the width of its interval, `4.1 ± 0.2 ms`; with both ends where the lower would
/// be below zero, which no time, rate or share is: `83 us (0 to 249)`.
#[must_use]
pub fn estimate(unit: Unit, estimate: Estimate) -> String {
    if estimate.half_width > estimate.mean {
        let high = estimate.mean + estimate.half_width;
        let shown = scale(unit, high);
        let [mean, high] = [estimate.mean, high].map(|value| significant(value / shown.each, 3));
        return format!("{} (0 to {high})", with_unit(&mean, shown.unit));
    }
    let Scale { unit, each } = scale(unit, estimate.mean);
    let text = estimate.scaled(each.recip()).to_string();
    with_unit(text.split(" (").next().unwrap_or_default(), unit)
}

/// A mean from within one run with half the width of its interval.
#[must_use]
pub fn within(within: &Within) -> String {
    let Within { mean_ns, half_width_ns, level, batches } = *within;
    let of = Estimate { mean: mean_ns, half_width: half_width_ns, level, n: batches };
    estimate(Unit::Nanoseconds, of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_many_has_a_verb_in_the_singular() {
        for (text, expected) in [
            ("1 of 43 DTs were retransmitted", "1 of 43 DTs was retransmitted"),
            ("2 of 43 DTs were retransmitted", "2 of 43 DTs were retransmitted"),
            ("1 frames were dropped", "1 frame was dropped"),
            ("1 of 9 replies have no request", "1 of 9 replies has no request"),
            ("1 frames are earlier: are they in order?", "1 frame is earlier: are they in order?"),
            ("11 PDUs were malformed", "11 PDUs were malformed"),
        ] {
            assert_eq!(agreed(text), expected);
        }
    }
}
