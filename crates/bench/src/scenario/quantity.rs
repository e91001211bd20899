//! Quantities as scenarios write them: a number and its unit, kept as exact integers.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use wire::time::nanos;
use wire::units::BitRate;

/// The form of one kind of quantity in a scenario.
struct Kind {
    /// `a span of time`.
    name: &'static str,
    /// `20 ms`.
    example: &'static str,
    /// Its units, and the number of the smallest ones in each.
    units: &'static [(&'static str, u64)],
}

const SPAN: Kind = Kind {
    name: "a span of time",
    example: "20 ms",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
};
const RATE: Kind = Kind {
    name: "a bit rate",
    example: "10 Mbit/s",
    units: &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)],
};
const SIZE: Kind = Kind {
    name: "a size in octets",
    example: "200 B",
    units: &[("B", 1), ("kB", 1_000), ("KiB", 1_024), ("MB", 1_000_000), ("MiB", 1_048_576)],
};
const LENGTH: Kind = Kind {
    name: "a length",
    example: "500 m",
    units: &[("mm", 1), ("cm", 10), ("m", 1_000), ("km", 1_000_000)],
};
const SHARE: Kind = Kind { name: "a share", example: "30 %", units: &[("%", 10_000_000)] };

/// Text that is not a quantity of the expected kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotAQuantity {
    /// The expected form: `a span of time such as "20 ms"`.
    pub expected: String,
    /// The particular mistake, if more can be said.
    pub because: Option<String>,
}

impl fmt::Display for NotAQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)?;
        self.because.iter().try_for_each(|because| write!(f, ": {because}"))
    }
}

impl core::error::Error for NotAQuantity {}

/// A decimal number and its unit, as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Decimal<'a> {
    /// Its digits, without the point.
    pub(super) digits: u64,
    /// The number of digits after the point.
    pub(super) decimals: u32,
    /// The text after the number; empty for a bare number.
    pub(super) unit: &'a str,
}

impl<'a> Decimal<'a> {
    /// Reads `12.5 ms`; `None` if it does not begin with a number, or the number has over 18
    /// digits.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at_checked(end)?;
        let (whole, behind) = number.split_once('.').unwrap_or((number, "0"));
        let is_number = !whole.is_empty() && !behind.is_empty() && !behind.contains('.');
        let behind = behind.trim_end_matches('0');
        let digits = format!("{whole}{behind}");
        if !is_number || digits.len() > 18 {
            return None;
        }
        let decimals = u32::try_from(behind.len()).ok()?;
        Some(Self { digits: digits.parse().ok()?, decimals, unit: unit.trim() })
    }

    /// The quantity in a smaller unit (`each` of them make one), if that is a whole number below
    /// 2^64.
    fn in_units_of(&self, each: u64) -> Option<u64> {
        let scaled = u128::from(self.digits) * u128::from(each);
        let divisor = 10_u128.pow(self.decimals);
        (scaled % divisor == 0).then(|| u64::try_from(scaled / divisor).ok())?
    }
}

impl fmt::Display for Decimal<'_> {
    /// Writes the number in one spelling: `12.5 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = self.decimals as usize;
        let digits = format!("{:0width$}", self.digits, width = decimals + 1);
        let (whole, behind) = digits.split_at(digits.len() - decimals);
        f.write_str(whole)?;
        if decimals > 0 {
            write!(f, ".{behind}")?;
        }
        if self.unit.is_empty() { Ok(()) } else { write!(f, " {}", self.unit) }
    }
}

/// Reads a quantity as a count of its kind's smallest unit.
fn read(text: &str, kind: &Kind) -> Result<u64, NotAQuantity> {
    let complain = |because: Option<String>| NotAQuantity {
        expected: format!("{} such as \"{}\"", kind.name, kind.example),
        because,
    };
    let decimal = Decimal::read(text).ok_or_else(|| complain(None))?;
    let Some((_, each)) = kind.units.iter().find(|(unit, _)| *unit == decimal.unit) else {
        let units: Vec<&str> = kind.units.iter().map(|(unit, _)| *unit).collect();
        return Err(complain(Some(match decimal.unit {
            "" => format!("the unit is missing ({})", units.join(", ")),
            unit => format!("\"{unit}\" is none of its units ({})", units.join(", ")),
        })));
    };
    decimal.in_units_of(*each).ok_or_else(|| {
        let smallest = kind.units.first().map_or("", |(unit, _)| unit);
        complain(Some(match (kind.name, smallest) {
            (_, "%") => "it is finer than a ten-millionth of a percent or too large".to_owned(),
            _ => format!("it is no whole number of {smallest}, or too large"),
        }))
    })
}

/// Writes a count in the largest of these units that leaves a whole number.
fn write(f: &mut fmt::Formatter<'_>, count: u64, units: &[(&str, u64)]) -> fmt::Result {
    let fits = |each: &u64| count.is_multiple_of(*each);
    match units.iter().rev().find(|(_, each)| fits(each)) {
        Some((unit, each)) => write!(f, "{} {unit}", count / each),
        None => write!(f, "{count}"),
    }
}

/// The JSON Schema of a kind: a string with a pattern and an example.
fn schema_of(kind: &Kind) -> Schema {
    let units: Vec<String> = kind.units.iter().map(|(unit, _)| unit.replace('/', "\\/")).collect();
    json_schema!({
        "type": "string",
        "description": format!("{} such as \"{}\"", kind.name, kind.example),
        "pattern": format!("^\\s*[0-9]+(\\.[0-9]+)?\\s*({})\\s*$", units.join("|")),
        "examples": [kind.example],
    })
}

/// A span of time: `"20 ms"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(pub Duration);

impl Span {
    /// True for a span of zero.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.0.is_zero()
    }
}

impl FromStr for Span {
    type Err = NotAQuantity;
    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        read(text, &SPAN).map(|nanos| Self(Duration::from_nanos(nanos)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
        write(f, nanos(self.0), &units)
    }
}

/// A bit rate: `"10 Mbit/s"`. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate(pub BitRate);

impl FromStr for Rate {
    type Err = NotAQuantity;
    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        BitRate::new(read(text, &RATE)?).map(Self).ok_or_else(|| NotAQuantity {
            expected: "a bit rate above zero such as \"10 Mbit/s\"".to_owned(),
            because: None,
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A size in octets: `"200 B"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Size(pub u64);

impl Size {
    /// Octets, as lengths of buffers are counted.
    #[must_use]
    pub fn octets(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl FromStr for Size {
    type Err = NotAQuantity;
    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        read(text, &SIZE).map(Self)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

/// A length in whole millimetres: `"500 m"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Length(pub u64);

impl Length {
    /// A length in whole metres.
    #[must_use]
    pub const fn of_metres(metres: u64) -> Self {
        Self(metres * 1_000)
    }

    /// Returns the length in metres.
    #[must_use]
    pub fn metres(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl FromStr for Length {
    type Err = NotAQuantity;
    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        read(text, &LENGTH).map(Self)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self.0, &[("mm", 1), ("m", 1_000)])
    }
}

/// A share or probability in billionths: `"30 %"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Share(pub u64);

impl Share {
    /// All of it.
    pub const WHOLE: Self = Self(1_000_000_000);

    /// A share in percent, to the nearest billionth; nothing for less than zero.
    #[must_use]
    pub fn of_percent(percent: f64) -> Self {
        Self((percent * 1e7).round() as u64)
    }

    /// Returns the share as a fraction of one.
    #[must_use]
    pub fn fraction(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl FromStr for Share {
    type Err = NotAQuantity;
    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        read(text, &SHARE).map(Self)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let behind = format!("{:07}", self.0 % 10_000_000);
        match behind.trim_end_matches('0') {
            "" => write!(f, "{} %", self.0 / 10_000_000),
            behind => write!(f, "{}.{behind} %", self.0 / 10_000_000),
        }
    }
}

impl TryFrom<String> for Span {
    type Error = NotAQuantity;
    fn try_from(text: String) -> Result<Self, NotAQuantity> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(quantity: Span) -> Self {
        quantity.to_string()
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_of(&SPAN)
    }
}

impl TryFrom<String> for Rate {
    type Error = NotAQuantity;
    fn try_from(text: String) -> Result<Self, NotAQuantity> {
        text.parse()
    }
}

impl From<Rate> for String {
    fn from(quantity: Rate) -> Self {
        quantity.to_string()
    }
}

impl JsonSchema for Rate {
    fn schema_name() -> Cow<'static, str> {
        "Rate".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_of(&RATE)
    }
}

impl TryFrom<String> for Size {
    type Error = NotAQuantity;
    fn try_from(text: String) -> Result<Self, NotAQuantity> {
        text.parse()
    }
}

impl From<Size> for String {
    fn from(quantity: Size) -> Self {
        quantity.to_string()
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_of(&SIZE)
    }
}

impl TryFrom<String> for Length {
    type Error = NotAQuantity;
    fn try_from(text: String) -> Result<Self, NotAQuantity> {
        text.parse()
    }
}

impl From<Length> for String {
    fn from(quantity: Length) -> Self {
        quantity.to_string()
    }
}

impl JsonSchema for Length {
    fn schema_name() -> Cow<'static, str> {
        "Length".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_of(&LENGTH)
    }
}

impl TryFrom<String> for Share {
    type Error = NotAQuantity;
    fn try_from(text: String) -> Result<Self, NotAQuantity> {
        text.parse()
    }
}

impl From<Share> for String {
    fn from(quantity: Share) -> Self {
        quantity.to_string()
    }
}

impl JsonSchema for Share {
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_of(&SHARE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_print_in_one_spelling() {
        let span = |text: &str| text.parse::<Span>().unwrap().to_string();
        assert_eq!(span("20ms"), "20 ms");
        assert_eq!(span(" 1.5  s "), "1500 ms");
        assert_eq!(span("2 min"), "120 s");
        assert_eq!(span("0 ms"), "0 s");
        assert_eq!(span("12.80 µs"), "12800 ns");
        assert_eq!("10000 kbit/s".parse::<Rate>().unwrap().to_string(), "10 Mbit/s");
        assert_eq!("1 KiB".parse::<Size>().unwrap().to_string(), "1024 B");
        assert_eq!("2.5 km".parse::<Length>().unwrap().to_string(), "2500 m");
        for share in ["30 %", "0.1 %", "0 %", "12.25 %", "100 %", "0.0000001 %"] {
            assert_eq!(share.parse::<Share>().unwrap().to_string(), share);
        }
        assert!(("30 %".parse::<Share>().unwrap().fraction() - 0.3).abs() < f64::EPSILON);
    }

    #[test]
    fn a_wrong_quantity_is_described() {
        let wrong = |text: &str| text.parse::<Span>().unwrap_err().to_string();
        assert_eq!(wrong("fast"), "expected a span of time such as \"20 ms\"");
        assert_eq!(wrong("-1 s"), "expected a span of time such as \"20 ms\"");
        assert_eq!(wrong("1.2.3 s"), "expected a span of time such as \"20 ms\"");
        assert_eq!(
            wrong("20"),
            "expected a span of time such as \"20 ms\": the unit is missing \
             (ns, us, µs, ms, s, min, h)"
        );
        assert_eq!(
            wrong("20 msec"),
            "expected a span of time such as \"20 ms\": \"msec\" is none of its units \
             (ns, us, µs, ms, s, min, h)"
        );
        assert_eq!(
            wrong("0.5 ns"),
            "expected a span of time such as \"20 ms\": it is no whole number of ns, or too large"
        );
        assert!("0 Mbit/s".parse::<Rate>().is_err());
        assert!("99999999999999999 h".parse::<Span>().is_err());
    }

    #[test]
    fn a_decimal_keeps_its_text_without_redundant_zeros() {
        for (text, spelled) in
            [("0.50%", "0.5 %"), ("10", "10"), ("2.0 s", "2 s"), ("0.05 ms", "0.05 ms")]
        {
            assert_eq!(Decimal::read(text).unwrap().to_string(), spelled);
        }
    }
}
