//! Quantities on the command line and on the terminal: in the unit that suits their size, and
//! never without their spread where that is known.

use crate::exit::Failure;
use bench::analysis::{Found, Unit};
use bench::sample::Within;
use bench::scenario::NotAQuantity;
use core::str::FromStr;
pub(crate) use records::quantity::{
    Scale, counted, level, scale, significant, span, trimmed, value, with_unit,
};
use stats::interval::Estimate;

/// Reads the value of an option, such as `"15 min"`.
///
/// # Errors
/// A usage error that names the option.
pub(crate) fn option<T: FromStr<Err = NotAQuantity>>(name: &str, text: &str) -> Result<T, Failure> {
    text.parse().map_err(|error| Failure::usage(format!("{name} {text:?}: {error}")))
}

/// A mean over replications with half the width of its interval: `4.1 ± 0.2 ms`; of a single
/// replication the mean alone.
pub(crate) fn mean(found: &Found) -> String {
    match found.estimate() {
        Some(of) => estimate(found.unit, of),
        None => value(found.unit, found.mean),
    }
}

/// A number with half the width of its interval, `4.1 ± 0.2 ms`; with both ends where the lower would
/// be below zero, which no time, rate or share is: `83 us (0 to 249)`.
pub(crate) fn estimate(unit: Unit, estimate: Estimate) -> String {
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
pub(crate) fn within(within: &Within) -> String {
    let Within { mean_ns, half_width_ns, level, batches } = *within;
    let of = Estimate { mean: mean_ns, half_width: half_width_ns, level, n: batches };
    estimate(Unit::Nanoseconds, of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::scenario::Span;

    #[test]
    fn values_are_told_in_the_unit_that_suits_them() {
        assert_eq!(span(0), "0 ns");
        assert_eq!(span(999), "999 ns");
        assert_eq!(span(191_397), "191 us");
        assert_eq!(span(4_123_456), "4.12 ms");
        assert_eq!(value(Unit::BitsPerSecond, 9_540_000.0), "9.54 Mbit/s");
        assert_eq!(value(Unit::Fraction, 0.012_34), "0.0123");
        assert_eq!(value(Unit::Nanoseconds, -2_500.0), "-2.50 us");
    }

    #[test]
    fn numbers_have_the_digits_that_are_asked_for() {
        assert_eq!(significant(1234.5, 6), "1234.50");
        assert_eq!(significant(0.001_234_567, 4), "0.001235");
        assert_eq!(significant(123_456.0, 3), "123456");
        assert_eq!(significant(1e-9, 3), "1.00e-9");
        assert_eq!(trimmed(7_200.0, 9), "7200");
        assert_eq!(trimmed(81.797_941, 9), "81.797941");
        assert_eq!(trimmed(1_000_000_000.0, 9), "1000000000");
        assert_eq!(level(0.95), "95 %");
        assert_eq!(level(0.999), "99.9 %");
    }

    #[test]
    fn a_bad_option_says_which_and_what_was_expected() {
        let failure = option::<Span>("--measure", "15").unwrap_err();
        let expected = "--measure \"15\": expected a span of time such as \"20 ms\": \
                        the unit is missing (ns, us, µs, ms, s, min, h)";
        assert_eq!(failure.to_string(), expected);
    }
}
