//! Quantities on the command line and on the terminal: in the unit that suits their size, and
//! never without their spread where that is known.

use crate::exit::Failure;
use bench::scenario::NotAQuantity;
use core::str::FromStr;
pub(crate) use records::quantity::{
    Scale, agreed, counted, enough, estimate, level, mean, quantile, scale, significant, span,
    trimmed, value,
};

/// Reads the value of an option, such as `"15 min"`.
///
/// # Errors
/// A usage error that names the option.
pub(crate) fn option<T: FromStr<Err = NotAQuantity>>(name: &str, text: &str) -> Result<T, Failure> {
    let wrong = |error| Failure::usage(format!("{name} {text:?}: {error}")).within(name, text);
    text.parse().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::analysis::Unit;
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
                        the unit is missing (ns, us, µs, ms, s, min, h)\n  \
                        | --measure 15\n  |           ^^\n  fix: tidewire help units";
        assert_eq!(failure.to_string(), expected);
    }
}
