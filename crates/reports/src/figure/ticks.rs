//! Labels of ticks: plain decimals where an engineer reads them, powers of ten beyond.

/// Largest and smallest value that is written as a plain decimal.
const PLAIN: core::ops::RangeInclusive<f64> = 0.001..=100_000.0;
/// Significant digits of a tick; what lies below them is the error of adding up steps.
const DIGITS: i32 = 9;

/// Label of the tick at a value: `0.1`, `20`, `10,000`, `2 × 10⁶`.
pub fn label(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let size = rounded(value.abs());
    if PLAIN.contains(&size) {
        return format!("{sign}{}", grouped(&format!("{size}")));
    }
    let power = exponent(size);
    let digits = rounded(size / 10_f64.powi(power));
    let power = superscript(power);
    if digits == 1.0 { format!("{sign}10{power}") } else { format!("{sign}{digits} × 10{power}") }
}

fn exponent(size: f64) -> i32 {
    // A logarithm of 1,000 that is a last bit too small must not make it 100.
    (size.log10() + 1e-9).floor() as i32
}

/// To [`DIGITS`] significant digits.
fn rounded(size: f64) -> f64 {
    let places = DIGITS - 1 - exponent(size);
    let scaled = 10_f64.powi(places.abs());
    if places < 0 { (size / scaled).round() * scaled } else { (size * scaled).round() / scaled }
}

/// A plain decimal with a comma before each three digits of its whole part.
fn grouped(number: &str) -> String {
    let (whole, decimals) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut text = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + decimals
}

fn superscript(power: i32) -> String {
    let raised = |digit: char| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        _ => '⁰',
    };
    power.to_string().chars().map(raised).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_plain_decimals_from_a_thousandth_to_100_000() {
        let powers = (-5..=7).map(|power| label(10_f64.powi(power)));
        let expected = [
            "10⁻⁵", "10⁻⁴", "0.001", "0.01", "0.1", "1", "10", "100", "1,000", "10,000", "100,000",
            "10⁶", "10⁷",
        ];
        assert_eq!(powers.collect::<Vec<_>>(), expected);
        let others = [0.0, -0.0, -2_500.0, 0.05, 2e6, 1.25e-12].map(label);
        assert_eq!(others, ["0", "0", "-2,500", "0.05", "2 × 10⁶", "1.25 × 10⁻¹²"]);
    }

    #[test]
    fn a_tick_shows_no_error_of_adding_up_steps() {
        assert_eq!(label(0.1 + 0.2), "0.3");
        assert_eq!(label(999.999_999_999_9), "1,000");
        assert_eq!(label(0.000_999_999_999_99), "0.001");
    }
}
