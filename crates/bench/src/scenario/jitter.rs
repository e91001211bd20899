//! Quantile of a sender's jitter, as text: `"99 % 12 us"`, or `"1 % -12 us"` for an early message.

use super::fields::{Placed, Read};
use super::problem::Problem;
use super::quantity::{NotAQuantity, Share, Span};
use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use stack::load::jitter::{Jitter, Quantile, WHOLE};
use std::borrow::Cow;
use wire::time::nanos;

/// Most quantiles of a table.
pub(super) const MOST: usize = 1_000;

/// Share of intervals, and the deviation from the period that they do not exceed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(into = "String")]
pub struct JitterQuantile {
    /// Share of intervals.
    pub share: Share,
    /// Deviation from the period in nanoseconds; below zero for an early message.
    pub deviation_ns: i64,
}

impl JitterQuantile {
    /// Mean deviation of a table in nanoseconds, which its sender takes out; none if the table makes no
    /// sense.
    #[must_use]
    pub fn mean_ns(table: &[Self]) -> Option<i64> {
        self::table(table).map(|jitter| jitter.mean_ns())
    }
}

impl FromStr for JitterQuantile {
    type Err = NotAQuantity;

    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        let wrong = || NotAQuantity {
            expected: "a share and a deviation such as \"99 % 12 us\" or \"1 % -12 us\"".to_owned(),
            because: None,
        };
        let (share, deviation) = text.split_once('%').ok_or_else(wrong)?;
        let share: Share = format!("{share}%").parse()?;
        let deviation = deviation.trim();
        let (is_early, span) = match deviation.strip_prefix('-') {
            Some(span) => (true, span),
            None => (false, deviation),
        };
        let Span(span) = span.parse()?;
        let late_ns = i64::try_from(nanos(span)).map_err(|_| wrong())?;
        let deviation_ns = if is_early { -late_ns } else { late_ns };
        Ok(Self { share, deviation_ns })
    }
}

impl fmt::Display for JitterQuantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { share, deviation_ns } = *self;
        let sign = if deviation_ns < 0 { "-" } else { "" };
        let span = Span(Duration::from_nanos(deviation_ns.unsigned_abs()));
        write!(f, "{share} {sign}{span}")
    }
}

impl From<JitterQuantile> for String {
    fn from(quantile: JitterQuantile) -> Self {
        quantile.to_string()
    }
}

impl Read for JitterQuantile {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let written = String::read(value, problems)?;
        match written.parse() {
            Ok(found) => Some(found),
            Err(NotAQuantity { expected, because }) => {
                let problem = Problem::error(value.span(), format!("expected {expected}"));
                problems.push(because.into_iter().fold(problem, Problem::label));
                None
            }
        }
    }
}

impl JsonSchema for JitterQuantile {
    fn schema_name() -> Cow<'static, str> {
        "JitterQuantile".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Share of intervals, and the deviation that they do not exceed, such as \"99 % 12 us\"; below zero for early ones.",
            "examples": ["99 % 12 us", "1 % -12 us"],
        })
    }
}

/// The table of a stream; none if it has none, or if it was not checked.
pub(super) fn table(quantiles: &[JitterQuantile]) -> Option<Jitter> {
    let quantile =
        |it: &JitterQuantile| Quantile { share: it.share.0, deviation_ns: it.deviation_ns };
    Jitter::new(quantiles.iter().map(quantile).collect())
}

/// Complaint about a table, if there is one, and its remedy.
pub(super) fn complaint(
    quantiles: &[JitterQuantile],
    period: Duration,
) -> Option<[&'static str; 2]> {
    let (first, last) = (quantiles.first()?, quantiles.last()?);
    if quantiles.len() > MOST {
        return Some(["at most 1000 quantiles", "leave some out: the table is linear in between"]);
    }
    if first.share.0 != 0 || last.share.0 != WHOLE {
        return Some(["`jitter` must begin at 0 % and end at 100 %", "add the extremes"]);
    }
    let Some(jitter) = table(quantiles) else {
        return Some(["shares and deviations of `jitter` must ascend", "sort them"]);
    };
    let is_late =
        i128::from(first.deviation_ns) - i128::from(jitter.mean_ns()) >= -i128::from(nanos(period));
    (!is_late).then_some(["a message cannot be earlier than by its period", "a longer period"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_share_and_a_deviation() {
        for text in ["0 % -700 us", "24.95 % 0 s", "99.9999999 % 1500 ns", "100 % 12 ms"] {
            let found: JitterQuantile = text.parse().unwrap();
            assert_eq!(found.to_string(), text);
        }
        let found: JitterQuantile = "50% -1.5us".parse().unwrap();
        assert_eq!((found.share.0, found.deviation_ns), (WHOLE / 2, -1_500));
        for wrong in ["", "50 %", "12 us", "50 % 12", "50 % --1 us", "x % 1 us", "5 % 1 us 2 us"] {
            assert!(wrong.parse::<JitterQuantile>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_table_that_makes_no_sense_is_refused() {
        let of = |texts: &[&str]| {
            let quantiles: Vec<JitterQuantile> =
                texts.iter().map(|text| text.parse().unwrap()).collect();
            complaint(&quantiles, Duration::from_millis(1)).map(|[complaint, _]| complaint)
        };
        assert_eq!(of(&["0 % -1 ms", "100 % 1 ms"]), None);
        let ends = Some("`jitter` must begin at 0 % and end at 100 %");
        assert_eq!(of(&["1 % -1 ms", "100 % 1 ms"]), ends);
        assert_eq!(of(&["0 % 0 ns"]), ends);
        let order = Some("shares and deviations of `jitter` must ascend");
        assert_eq!(of(&["0 % 1 us", "50 % 0 ns", "100 % 1 ms"]), order);
        let early = Some("a message cannot be earlier than by its period");
        assert_eq!(of(&["0 % -1.1 ms", "100 % 1 ms"]), early);
    }
}
