//! Requirements on streams of cyclic data: their quantities, the streams that they are about, and the
//! values found.
//!
//! ```text
//! quantity = "missing" | "silent" | "invalid" | ("late" | "early") "." ("p50" | "p99" | "max")
//! whom     = "*" | "goose" | "sv" | "profinet" | SOURCE "/" NUMBER | gocbRef | svID
//! limit    = count | time | share of the period
//! ```

use super::wrong;
use bench::scenario::{NotARequirement, Relation, Share, Span};
use meter::measure::Summary;
use meter::{Protocol, StreamReport};
use wire::time::{Instant, nanos};

/// Statistic of deviations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Statistic {
    /// Median.
    P50,
    /// 99th percentile.
    P99,
    /// The most.
    Maximum,
}

/// Quantity of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// Frames, or samples, that did not arrive.
    Missing,
    /// Gaps longer than allowed, that at the end included.
    Silent,
    /// Frames with data that are not valid.
    Invalid,
    /// Time by which frames were later than the period.
    Late(Statistic),
    /// Time by which they were earlier.
    Early(Statistic),
}

/// Quantity of streams, and whether it is a share of the period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OfStreams {
    /// The quantity.
    pub quantity: Quantity,
    /// True if the limit is a share of the period.
    pub is_share: bool,
}

/// Streams that a requirement is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Streams {
    /// Each stream.
    All,
    /// Each of a protocol.
    Of(Protocol),
    /// Those of this source and number, or of this name.
    Named(String),
}

/// Words of protocols.
const PROTOCOLS: [(&str, Protocol); 3] = [
    ("goose", Protocol::Goose),
    ("sv", Protocol::SampledValues),
    ("profinet", Protocol::ProfinetRt),
];

impl Quantity {
    /// Reads the name of a quantity; none for any other name.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (name, statistic) = text.split_once('.').unwrap_or((text, ""));
        let statistic = match statistic {
            "p50" => Some(Statistic::P50),
            "p99" => Some(Statistic::P99),
            "max" => Some(Statistic::Maximum),
            _ => None,
        };
        match (name, statistic) {
            ("late", Some(statistic)) => Some(Self::Late(statistic)),
            ("early", Some(statistic)) => Some(Self::Early(statistic)),
            _ => [("missing", Self::Missing), ("silent", Self::Silent), ("invalid", Self::Invalid)]
                .into_iter()
                .find_map(|(name, quantity)| (name == text).then_some(quantity)),
        }
    }

    const fn is_time(self) -> bool {
        matches!(self, Self::Late(_) | Self::Early(_))
    }
}

impl OfStreams {
    /// True if its values are the upper edges of classes.
    pub(super) const fn is_class(self) -> bool {
        use Statistic::{P50, P99};
        matches!(self.quantity, Quantity::Late(P50 | P99) | Quantity::Early(P50 | P99))
    }

    /// True if its value only grows while more frames come. A missing frame may still arrive late.
    pub(super) const fn grows(self) -> bool {
        !matches!(self.quantity, Quantity::Missing) && !self.is_class()
    }

    /// True if it is a time, not a share or a count.
    pub(super) const fn is_time(self) -> bool {
        self.quantity.is_time() && !self.is_share
    }

    /// Value of a stream that was measured up to `until`; none if its period is not known.
    pub(super) fn value(self, report: &StreamReport, until: Instant) -> Option<f64> {
        let time = |of: &Summary, statistic| match statistic {
            Statistic::P50 => of.p50_ns,
            Statistic::P99 => of.p99_ns,
            Statistic::Maximum => of.max_ns,
        };
        let value = match self.quantity {
            Quantity::Missing => report.order.missing,
            Quantity::Silent => report.silences + u64::from(report.is_silent(until)),
            Quantity::Invalid => report.invalid,
            Quantity::Late(statistic) => time(&report.deviations?.late, statistic),
            Quantity::Early(statistic) => time(&report.deviations?.early, statistic),
        };
        let of = if self.is_share { report.period_ns.filter(|it| *it > 0)? } else { 1 };
        Some(value as f64 / of as f64)
    }
}

impl Streams {
    /// Reads what stands in brackets; no brackets are each stream.
    pub(super) fn read(whom: Option<&str>) -> Self {
        match whom {
            None | Some("*") => Self::All,
            Some(word) => match PROTOCOLS.into_iter().find(|(known, _)| *known == word) {
                Some((_, protocol)) => Self::Of(protocol),
                None => Self::Named(word.to_owned()),
            },
        }
    }

    /// True if the requirement is about this stream.
    pub(super) fn has(&self, report: &StreamReport) -> bool {
        match self {
            Self::All => true,
            Self::Of(protocol) => report.key.protocol == *protocol,
            Self::Named(name) => {
                let number = format!("{}/{:04x}", report.key.source, report.key.identifier);
                let given = name.replace("/0x", "/");
                given.eq_ignore_ascii_case(&number) || report.key.name[..] == *name.as_bytes()
            }
        }
    }
}

/// Name of a stream in verdicts.
pub(super) fn name(report: &StreamReport) -> String {
    let key = &report.key;
    match String::from_utf8_lossy(&key.name) {
        name if name.is_empty() => format!("{}/{:04x}", key.source, key.identifier),
        name => format!("{} {name}", key.source),
    }
}

/// Reads the limit of a quantity.
pub(super) fn limit(
    quantity: Quantity,
    relation: Relation,
    text: &str,
) -> Result<(OfStreams, f64), NotARequirement> {
    let subject = |is_share| OfStreams { quantity, is_share };
    if !quantity.is_time() {
        let number = text.parse::<u64>().ok();
        let number =
            number.ok_or_else(|| wrong(format!("`{text}` is no limit"), "a count is a number"));
        return Ok((subject(false), number? as f64));
    }
    if relation == Relation::Equal {
        return Err(wrong("only a count can be equal to a limit", "write < or >"));
    }
    if let Ok(Span(span)) = text.parse::<Span>() {
        return Ok((subject(false), nanos(span) as f64));
    }
    let share = text.parse::<Share>().ok().map(Share::fraction);
    let share = share.ok_or_else(|| {
        wrong(
            format!("`{text}` is no limit"),
            "a time or a share of the period: \"50 us\", \"50 %\"",
        )
    });
    Ok((subject(true), share?))
}
