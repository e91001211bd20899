//! Registry of measures: every measure once, with its name, unit, scopes, aggregation, help and accessors.
//!
//! Names in records, the JSON Schema, columns of tables, Prometheus families, `--only`, `--require`, `help metrics`
//! and labels on screens follow from it. Code names a measure by [`Measure`], never by text, so that one that does not
//! exist does not compile. Regular families (a kind of TPDU, a delay, a class of sizes) have one row for all their
//! members; every other measure has a row in `rows`.

mod family;
mod rows;
mod scope;

pub use family::{DelayStatistic, KindCount, SizeBound, SizeCount};
pub use rows::Count;
pub use scope::{
    PartOfSide, Values, add_so_far, interval_of_direction, interval_of_traffic, of_direction,
    of_host, of_network, of_service, of_service_report, of_traffic, so_far_of, some_of_network,
    whole_of_direction, whole_replies,
};

use crate::measure::{Measures, Traffic};
use crate::observation::DelayKind;
use crate::track::Direction;
use core::fmt;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use wire::tp::Kind;

/// A measure of the meter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Measure {
    /// A count with a row of its own.
    Count(Count),
    /// TPDUs of one kind.
    OfKind(Kind, KindCount),
    /// A statistic of a delay, over all that was measured.
    Delay(DelayKind, DelayStatistic),
    /// A statistic of a delay from the first observation to the end of an interval.
    DelaySoFar(DelayKind, DelayStatistic),
    /// PDUs in one class of sizes.
    OfSize(SizeCount, SizeBound),
}

#[expect(non_upper_case_globals, reason = "read and written as the variants that they stand for")]
impl Measure {
    /// CRs, retransmissions included.
    pub const CrTpdus: Self = Self::OfKind(Kind::Cr, KindCount::Tpdus);
    /// Retransmitted CRs.
    pub const CrRetransmissions: Self = Self::OfKind(Kind::Cr, KindCount::Retransmissions);
    /// DTs, retransmissions included.
    pub const DtTpdus: Self = Self::OfKind(Kind::Dt, KindCount::Tpdus);
    /// Retransmitted DTs.
    pub const DtRetransmissions: Self = Self::OfKind(Kind::Dt, KindCount::Retransmissions);
    /// AKs, retransmissions included.
    pub const AkTpdus: Self = Self::OfKind(Kind::Ak, KindCount::Tpdus);
    /// AKs that neither acknowledge new data nor change the credit.
    pub const AkRetransmissions: Self = Self::OfKind(Kind::Ak, KindCount::Retransmissions);
}

/// Rows of Table 4 of NBSIR 85-3104, in the paper's order.
pub const TABLE_4: [Measure; 17] = [
    Measure::Lpdus,
    Measure::LpduOctets,
    Measure::Npdus,
    Measure::NpduOctets,
    Measure::Tpdus,
    Measure::TpduInformationOctets,
    Measure::TpduOverheadOctets,
    Measure::TpduHeaderOctets,
    Measure::TpduDataOctets,
    Measure::TpduTotalOctets,
    Measure::Tsdus,
    Measure::TsduOctets,
    Measure::DtTpdus,
    Measure::DtRetransmissions,
    Measure::AkTpdus,
    Measure::AkRetransmissions,
    Measure::TransportConnections,
];

/// Unit of a measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Number of PDUs, segments or events.
    One,
    /// Octets.
    Octets,
    /// Nanoseconds; the name ends in `_ns`.
    Nanoseconds,
    /// Sequence number, unwrapped.
    Number,
}

/// Rule that combines the values of two parts into one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregation {
    /// The values add up.
    Sum,
    /// The greater value counts.
    Maximum,
    /// The lesser value counts; a part without values has 0.
    Minimum,
    /// None: a quantile of the whole does not follow from those of the parts.
    Quantile,
    /// The later value counts.
    Latest,
}

/// Layer that a tap must see for a measure to have a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// The data link layer.
    Link,
    /// The network layer.
    Network,
    /// The transport layer, or TCP.
    Transport,
}

/// Row of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Name in records and tables.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Rule for the value of several parts.
    pub aggregation: Aggregation,
    /// Layer that must be visible.
    pub layer: Layer,
    /// Definition and limits of the value.
    pub help: &'static str,
    /// Value of the network.
    pub(crate) network: Option<fn(&Measures) -> u64>,
    /// Value of what a host sent or received.
    pub(crate) host: Option<fn(&Traffic) -> u64>,
    /// Value of one side of a connection, for what it sent.
    pub(crate) side: Option<fn(&Direction) -> Option<u64>>,
}

impl Measure {
    /// Unit of its values.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Count(count) => count.row().unit,
            Self::OfKind(_, count) => count.unit(),
            Self::Delay(_, statistic) | Self::DelaySoFar(_, statistic) => statistic.unit(),
            Self::OfSize(..) => Unit::One,
        }
    }

    /// Rule for the value of several parts.
    #[must_use]
    pub fn aggregation(self) -> Aggregation {
        match self {
            Self::Count(count) => count.row().aggregation,
            Self::OfKind(..) | Self::OfSize(..) => Aggregation::Sum,
            Self::Delay(_, statistic) => statistic.aggregation(),
            Self::DelaySoFar(..) => Aggregation::Latest,
        }
    }

    /// Layer that a tap must see for the measure to have a value.
    #[must_use]
    pub fn layer(self) -> Layer {
        match self {
            Self::Count(count) => count.row().layer,
            _ => Layer::Transport,
        }
    }

    /// Number of PDUs or octets in the busiest second; of a part it is known only where it is the busiest so far.
    #[must_use]
    pub const fn is_peak(self) -> bool {
        matches!(
            self,
            Self::PeakSecondLpdus
                | Self::PeakSecondLpduOctets
                | Self::PeakSecondTpdus
                | Self::PeakSecondTpduOctets
        )
    }

    /// True for a total over all kinds of TPDUs, which a reader obtains from the kinds.
    #[must_use]
    pub const fn is_total_of_kinds(self) -> bool {
        matches!(
            self,
            Self::Tpdus
                | Self::TpduHeaderOctets
                | Self::TpduDataOctets
                | Self::TpduInformationOctets
                | Self::TpduRetransmissions
        )
    }

    /// Name of the measure where it is part of the program: all but classes of sizes with the user's bounds, and
    /// statistics so far.
    #[must_use]
    #[inline]
    pub fn static_name(self) -> Option<&'static str> {
        match self {
            Self::Count(count) => Some(count.row().name),
            Self::OfKind(kind, count) => Some(count.name(kind)),
            Self::Delay(delay, statistic) => Some(statistic.name(delay)),
            Self::OfSize(count, bound) => Some(family::of_default_size(bound)?[count as usize]),
            Self::DelaySoFar(..) => None,
        }
    }

    /// Number of the measure in the order of [`Measure::numbered`]; none for a class of sizes with a
    /// bound of the user.
    #[must_use]
    #[inline]
    pub const fn number(self) -> Option<usize> {
        const KINDS: usize = Count::ALL.len();
        const DELAYS: usize = KINDS + Kind::ALL.len() * KindCount::ALL.len();
        const SO_FAR: usize = DELAYS + DelayKind::ALL.len() * DelayStatistic::ALL.len();
        const SIZES: usize = SO_FAR + DelayKind::ALL.len() * DelayStatistic::ALL.len();
        match self {
            Self::Count(count) => Some(count as usize),
            Self::OfKind(kind, count) => {
                Some(KINDS + kind as usize * KindCount::ALL.len() + count as usize)
            }
            Self::Delay(delay, of) => {
                Some(DELAYS + delay as usize * DelayStatistic::ALL.len() + of as usize)
            }
            Self::DelaySoFar(delay, of) => {
                Some(SO_FAR + delay as usize * DelayStatistic::ALL.len() + of as usize)
            }
            Self::OfSize(count, bound) => match bound.default_class() {
                Some(class) => Some(SIZES + class * SizeCount::ALL.len() + count as usize),
                None => None,
            },
        }
    }

    /// Measures whose names do not depend on the bounds of size classes.
    pub fn numbered() -> impl Iterator<Item = Self> {
        Count::ALL.into_iter().map(Self::Count).chain(family::all()).chain(family::default_sizes())
    }

    /// Writes the name of the measure behind a text.
    pub fn push_name(self, text: &mut String) {
        match self {
            Self::OfSize(count, bound) => {
                text.push_str(count.name());
                bound.push_name(text);
            }
            other => match other.static_name() {
                Some(name) => text.push_str(name),
                None => text.push_str(&other.to_string()),
            },
        }
    }

    /// Measure with this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        static KNOWN: LazyLock<BTreeMap<String, Measure>> = LazyLock::new(|| {
            let counts = Count::ALL.into_iter().map(Measure::Count);
            counts.chain(family::all()).map(|measure| (measure.to_string(), measure)).collect()
        });
        KNOWN.get(name).copied().or_else(|| family::of_size(name))
    }

    /// Definition and limits of the measure.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::Count(count) => count.row().help,
            Self::OfKind(_, count) => count.help(),
            Self::Delay(delay, _) | Self::DelaySoFar(delay, _) => family::delay_help(delay),
            Self::OfSize(count, _) => count.help(),
        }
    }
}

impl From<Count> for Measure {
    fn from(count: Count) -> Self {
        Self::Count(count)
    }
}

/// The name of the measure, which ends in its unit where that is time.
impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => f.write_str(count.row().name),
            Self::OfKind(kind, count) => f.write_str(count.name(*kind)),
            Self::Delay(delay, statistic) => f.write_str(statistic.name(*delay)),
            Self::DelaySoFar(delay, statistic) => {
                let name = statistic.name(*delay);
                match name.strip_suffix(NANOSECONDS) {
                    Some(bare) => write!(f, "{bare}{SO_FAR}{NANOSECONDS}"),
                    None => write!(f, "{name}{SO_FAR}"),
                }
            }
            Self::OfSize(count, bound) => write!(f, "{}_{bound}", count.name()),
        }
    }
}

/// End of the name of a time.
pub const NANOSECONDS: &str = "_ns";

/// End of the name of a statistic so far, before the unit.
const SO_FAR: &str = "_so_far";

impl Measures {
    /// True for a measure of a layer that the tap cannot see: its value is unknown, not zero.
    #[must_use]
    pub fn is_unseen(&self, measure: Measure) -> bool {
        match measure.layer() {
            Layer::Link => self.link.unseen > 0,
            Layer::Network => self.network.unseen > 0,
            Layer::Transport => false,
        }
    }
}

#[cfg(test)]
mod tests;
