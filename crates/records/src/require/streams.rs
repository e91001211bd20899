//! Requirements on streams of cyclic data: their quantities, the streams that they are about, and the
//! values found.
//!
//! ```text
//! quantity = "missing" | "silent" | "invalid" | "no-answer" | "low-counters" | "stalled"
//!          | "grandmaster-changes" | "lone"
//!          | "not-seen" | "unexpected" | "different"      of publishers that a file declares
//!          | ("late" | "early" | "round-trip" | "transit" | "peer-delay") "." ("p50" | "p99" | "max")
//! whom     = "*" | PROTOCOL | SOURCE "/" NUMBER | name
//! limit    = count | time | share of the period
//! ```

use super::wrong;
use crate::{Publisher, PublisherState};
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
    /// Requests of PTP without an answer.
    Unanswered,
    /// EtherCAT frames that came back with a working counter too low.
    LowCounters,
    /// Frames with the data of the frame before.
    Stalled,
    /// Changes of the grandmaster.
    GrandmasterChanges,
    /// 1 for a declared publisher that was not seen.
    NotSeen,
    /// 1 for a publisher that the file does not declare.
    Unexpected,
    /// Fields in which a declared publisher differs from the file.
    Different,
    /// Frames of PRP or HSR that came on one of two LANs only.
    Lone,
    /// Time by which frames were later than the period.
    Late(Statistic),
    /// Time by which they were earlier.
    Early(Statistic),
    /// Time from a frame to its answer.
    RoundTrip(Statistic),
    /// Time by which a frame took longer than the one before, by the sender's times.
    Transit(Statistic),
    /// Delay of the link to the peer.
    PeerDelay(Statistic),
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

/// Quantities that are counts.
const COUNTS: [(&str, Quantity); 11] = [
    ("missing", Quantity::Missing),
    ("silent", Quantity::Silent),
    ("invalid", Quantity::Invalid),
    ("no-answer", Quantity::Unanswered),
    ("low-counters", Quantity::LowCounters),
    ("stalled", Quantity::Stalled),
    ("grandmaster-changes", Quantity::GrandmasterChanges),
    ("lone", Quantity::Lone),
    ("not-seen", Quantity::NotSeen),
    ("unexpected", Quantity::Unexpected),
    ("different", Quantity::Different),
];

/// Words of protocols.
const PROTOCOLS: [(&str, Protocol); 14] = [
    ("goose", Protocol::Goose),
    ("sv", Protocol::SampledValues),
    ("profinet", Protocol::ProfinetRt),
    ("ethercat", Protocol::EtherCat),
    ("ptp", Protocol::Ptp),
    ("cip-io", Protocol::CipIo),
    ("uadp", Protocol::Uadp),
    ("avtp", Protocol::Avtp),
    ("cc-link", Protocol::CcLink),
    ("powerlink", Protocol::Powerlink),
    ("someip", Protocol::SomeIp),
    ("load", Protocol::Load),
    ("prp", Protocol::Prp),
    ("hsr", Protocol::Hsr),
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
            ("round-trip", Some(statistic)) => Some(Self::RoundTrip(statistic)),
            ("transit", Some(statistic)) => Some(Self::Transit(statistic)),
            ("peer-delay", Some(statistic)) => Some(Self::PeerDelay(statistic)),
            _ => COUNTS.into_iter().find_map(|(name, it)| (name == text).then_some(it)),
        }
    }

    const fn is_time(self) -> bool {
        self.statistic().is_some()
    }

    const fn statistic(self) -> Option<Statistic> {
        match self {
            Self::Late(of)
            | Self::Early(of)
            | Self::RoundTrip(of)
            | Self::Transit(of)
            | Self::PeerDelay(of) => Some(of),
            Self::Missing
            | Self::Silent
            | Self::Invalid
            | Self::Unanswered
            | Self::LowCounters
            | Self::Stalled
            | Self::GrandmasterChanges
            | Self::Lone
            | Self::NotSeen
            | Self::Unexpected
            | Self::Different => None,
        }
    }

    /// True for a quantity of publishers, which a file declares.
    pub(super) const fn is_of_publishers(self) -> bool {
        matches!(self, Self::NotSeen | Self::Unexpected | Self::Different)
    }
}

impl OfStreams {
    /// True if its values are the upper edges of classes.
    pub(super) const fn is_class(self) -> bool {
        matches!(self.quantity.statistic(), Some(Statistic::P50 | Statistic::P99))
    }

    /// True if its value only grows while more frames come. A missing frame may still arrive late.
    pub(super) const fn grows(self) -> bool {
        !matches!(self.quantity, Quantity::Missing)
            && !self.quantity.is_of_publishers()
            && !self.is_class()
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
            Quantity::Unanswered => report.extra.answers?.lost,
            Quantity::LowCounters => report.extra.low_working_counters,
            Quantity::Stalled => report.extra.stalled,
            Quantity::GrandmasterChanges => report.extra.grandmaster_changes,
            Quantity::RoundTrip(statistic) => time(&report.extra.answers?.round_trips, statistic),
            Quantity::Lone => report.extra.redundancy?.lone()?,
            Quantity::NotSeen | Quantity::Unexpected | Quantity::Different => return None,
            Quantity::Transit(statistic) => time(&report.extra.clock?.transit?.late, statistic),
            Quantity::PeerDelay(statistic) => time(&report.extra.peer_delays?, statistic),
        };
        let of = if self.is_share { report.period_ns.filter(|it| *it > 0)? } else { 1 };
        Some(value as f64 / of as f64)
    }

    /// Value of a publisher; none of quantities of streams.
    pub(super) fn of_publisher(self, publisher: &Publisher) -> Option<f64> {
        let in_state = |state| f64::from(u8::from(publisher.state == state));
        match self.quantity {
            Quantity::NotSeen => Some(in_state(PublisherState::NotSeen)),
            Quantity::Unexpected => Some(in_state(PublisherState::Unexpected)),
            Quantity::Different => Some(publisher.differences.len() as f64),
            _ => None,
        }
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

impl Streams {
    /// True if the requirement is about this publisher.
    pub(super) fn has_publisher(&self, publisher: &Publisher) -> bool {
        match self {
            Self::All => true,
            Self::Of(protocol) => protocol.name() == publisher.protocol,
            Self::Named(name) => {
                *name == publisher.name || publisher.ied.as_ref().is_some_and(|ied| ied == name)
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
