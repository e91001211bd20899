//! Families of measures: one row for all kinds of TPDUs, all delays, all classes of sizes.

use super::{Aggregation, Count, Measure, Unit};
use crate::measure::BOUNDS_OCTETS;
use crate::observation::DelayKind;
use core::fmt;
use wire::tp::Kind;

/// Count kept of each kind of TPDU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KindCount {
    /// TPDUs.
    Tpdus,
    /// Octets of their headers.
    HeaderOctets,
    /// Octets of their user data.
    DataOctets,
    /// Octets of user data sent for the first time.
    InformationOctets,
    /// Retransmitted TPDUs.
    Retransmissions,
}

impl KindCount {
    /// All of them, in the order of columns.
    pub const ALL: [Self; 5] = [
        Self::Tpdus,
        Self::HeaderOctets,
        Self::DataOctets,
        Self::InformationOctets,
        Self::Retransmissions,
    ];

    pub(super) const fn unit(self) -> Unit {
        match self {
            Self::Tpdus | Self::Retransmissions => Unit::One,
            Self::HeaderOctets | Self::DataOctets | Self::InformationOctets => Unit::Octets,
        }
    }

    /// Total of this count over all kinds.
    #[must_use]
    pub const fn total(self) -> Count {
        match self {
            Self::Tpdus => Count::Tpdus,
            Self::HeaderOctets => Count::TpduHeaderOctets,
            Self::DataOctets => Count::TpduDataOctets,
            Self::InformationOctets => Count::TpduInformationOctets,
            Self::Retransmissions => Count::TpduRetransmissions,
        }
    }

    pub(super) const fn name(self, kind: Kind) -> &'static str {
        of_kind(kind)[self as usize]
    }

    /// Definition and limits of the count.
    #[must_use]
    pub const fn help(self) -> &'static str {
        match self {
            Self::Tpdus => "TPDUs of the kind, retransmissions included",
            Self::HeaderOctets => "octets of the headers of these TPDUs",
            Self::DataOctets => "octets of their user data",
            Self::InformationOctets => "octets of user data sent for the first time",
            Self::Retransmissions => {
                "TPDUs of the kind that had been sent before: DTs and EDs by their number in their direction of \
                 the connection, AKs that acknowledge no new data and leave the credit as it was, CRs and CCs by \
                 their references, DRs and DCs by their sender. Cannot tell a TPDU that was lost before it \
                 reached the meter: sent again, it looks original"
            }
        }
    }
}

/// Writes the names of all kinds, in the order of [`KindCount::ALL`].
macro_rules! kinds {
    ($of:ident: $($kind:ident $prefix:literal)*) => {
        match $of {
            $(Kind::$kind => [
                concat!($prefix, "_tpdus"),
                concat!($prefix, "_header_octets"),
                concat!($prefix, "_data_octets"),
                concat!($prefix, "_information_octets"),
                concat!($prefix, "_retransmissions"),
            ],)*
        }
    };
}

/// Names of the counts of a kind of TPDU.
const fn of_kind(kind: Kind) -> [&'static str; 5] {
    kinds!(kind: Cr "cr" Cc "cc" Dr "dr" Dc "dc" Dt "dt" Ed "ed" Ak "ak" Ea "ea" Rj "rj" Er "er")
}

/// Statistic kept of each delay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DelayStatistic {
    /// Number of delays.
    Count,
    /// Their sum.
    Total,
    /// The least.
    Minimum,
    /// The median by nearest rank, as the upper edge of its class.
    P50,
    /// The 99th percentile by nearest rank, as the upper edge of its class.
    P99,
    /// The greatest.
    Maximum,
}

impl DelayStatistic {
    /// All of them, in the order of columns.
    pub const ALL: [Self; 6] =
        [Self::Count, Self::Total, Self::Minimum, Self::P50, Self::P99, Self::Maximum];

    pub(super) const fn unit(self) -> Unit {
        match self {
            Self::Count => Unit::One,
            Self::Total | Self::Minimum | Self::P50 | Self::P99 | Self::Maximum => {
                Unit::Nanoseconds
            }
        }
    }

    pub(super) const fn aggregation(self) -> Aggregation {
        match self {
            Self::Count | Self::Total => Aggregation::Sum,
            Self::Minimum => Aggregation::Minimum,
            Self::P50 | Self::P99 => Aggregation::Quantile,
            Self::Maximum => Aggregation::Maximum,
        }
    }

    pub(super) const fn name(self, delay: DelayKind) -> &'static str {
        of_delay(delay)[self as usize]
    }
}

/// Writes the names of all delays, in the order of [`DelayStatistic::ALL`].
macro_rules! delays {
    ($of:ident: $($delay:ident $count:literal $stem:literal)*) => {
        match $of {
            $(DelayKind::$delay => [
                $count,
                concat!($stem, "_total_ns"),
                concat!($stem, "_min_ns"),
                concat!($stem, "_p50_ns"),
                concat!($stem, "_p99_ns"),
                concat!($stem, "_max_ns"),
            ],)*
        }
    };
}

/// Names of the statistics of a delay.
const fn of_delay(delay: DelayKind) -> [&'static str; 6] {
    delays!(delay:
        Acknowledgement "ack_delays" "ack_delay"
        Response "responses" "response"
        SetUp "set_ups" "set_up"
        CalleeHandshake "tcp_callee_handshakes" "tcp_callee_handshake"
        CallerHandshake "tcp_caller_handshakes" "tcp_caller_handshake"
        RoundTrip "tcp_round_trips" "tcp_round_trip"
        DelayedAck "tcp_delayed_acks" "tcp_delayed_ack"
        ClosedWindow "closed_windows" "closed_window"
        MmsResponse "mms_responses" "mms_response"
        Association "associations" "association")
}

/// Definition and limits of a delay.
pub(super) const fn delay_help(delay: DelayKind) -> &'static str {
    match delay {
        DelayKind::Acknowledgement => {
            "from a DT, first seen, to the first AK that covers it. Cannot tell the way to the receiver, the \
             receiver and the way back apart"
        }
        DelayKind::Response => {
            "from the end of a request to the beginning of the reply. A reply of S7 pairs with the request that has \
             its PDU reference, one of MMS with the request that has its invoke identifier. Of other users no key is \
             read: a reply pairs only while one request is outstanding, and the side that sent the CR asks. Cannot tell \
             a report from a reply there"
        }
        DelayKind::SetUp => "from a CR to its CC",
        DelayKind::CalleeHandshake => {
            "from a SYN to the SYN that answers; none where the SYN was sent again, because the answer may be to \
             either (RFC 6298, 3). Cannot tell the way to the callee, its answer and the way back apart"
        }
        DelayKind::CallerHandshake => {
            "from the answering SYN to the ACK; none where that SYN was sent again. Cannot tell the way to the \
             caller, its answer and the way back apart"
        }
        DelayKind::RoundTrip => {
            "from octets to the first ACK that covers them, one segment at a time and none that was sent again. An \
             ACK with data includes the wait for the data"
        }
        DelayKind::DelayedAck => {
            "the same, where the ACK is of that segment alone and without data. The receiver may delay such an ACK \
             by up to 500 ms (RFC 1122, 4.2.3.2): not a time of the network"
        }
        DelayKind::ClosedWindow => {
            "time for which a receiver gave no credit (an AK with credit 0), counted when it gives some again, or \
             when the connection or the metering ends"
        }
        DelayKind::MmsResponse => {
            "from the last octet of an MMS request to the last octet of the response or error with its invoke identifier"
        }
        DelayKind::Association => {
            "from the last octet of an association request (CN with CP, AARQ and initiate request) to the last octet of \
             its acceptance"
        }
    }
}

/// Count kept of each class of sizes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SizeCount {
    /// TPDUs, by all their octets.
    Tpdus,
    /// DTs, by the octets of their user data.
    DtTpdus,
    /// Retransmitted DTs, likewise.
    DtRetransmissions,
    /// TSDUs, by their octets.
    Tsdus,
}

impl SizeCount {
    /// All of them, in the order of columns.
    pub const ALL: [Self; 4] = [Self::Tpdus, Self::DtTpdus, Self::DtRetransmissions, Self::Tsdus];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Tpdus => "tpdus",
            Self::DtTpdus => "dt_tpdus",
            Self::DtRetransmissions => "dt_retransmissions",
            Self::Tsdus => "tsdus",
        }
    }

    pub(super) const fn help(self) -> &'static str {
        match self {
            Self::Tpdus => "TPDUs by their size, header and data",
            Self::DtTpdus => "DTs by the size of their data",
            Self::DtRetransmissions => "retransmitted DTs by the size of their data",
            Self::Tsdus => "TSDUs by their size",
        }
    }
}

/// Class of sizes: up to and including a bound, or beyond the last bound.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SizeBound {
    /// Up to and including this number of octets.
    To(u64),
    /// Beyond this number of octets.
    Beyond(u64),
}

/// Writes the names of the classes with default bounds, in the order of [`SizeCount::ALL`].
macro_rules! sizes {
    ($bound:ident: $($octets:literal)* beyond $last:literal) => {
        match $bound {
            $(SizeBound::To($octets) => Some(sizes!(@names "_to_" $octets)),)*
            SizeBound::Beyond($last) => Some(sizes!(@names "_beyond_" $last)),
            SizeBound::To(_) | SizeBound::Beyond(_) => None,
        }
    };
    (@names $word:literal $octets:literal) => {
        [
            concat!("tpdus", $word, $octets, "_octets"),
            concat!("dt_tpdus", $word, $octets, "_octets"),
            concat!("dt_retransmissions", $word, $octets, "_octets"),
            concat!("tsdus", $word, $octets, "_octets"),
        ]
    };
}

/// Names of the counts of a class, if its bound is one of [`crate::measure::BOUNDS_OCTETS`].
pub(super) const fn of_default_size(bound: SizeBound) -> Option<[&'static str; 4]> {
    sizes!(bound: 16 32 64 128 256 512 1024 2048 4096 beyond 4096)
}

impl SizeBound {
    /// Number of the class, if its bound is one of [`BOUNDS_OCTETS`].
    #[inline]
    pub(super) const fn default_class(self) -> Option<usize> {
        let (octets, beyond) = match self {
            Self::To(octets) => (octets, 0),
            Self::Beyond(octets) => (octets, 1),
        };
        let mut class = 0;
        while class < BOUNDS_OCTETS.len() {
            if BOUNDS_OCTETS[class] == octets {
                let is_last = class + 1 == BOUNDS_OCTETS.len();
                return if beyond == 0 || is_last { Some(class + beyond) } else { None };
            }
            class += 1;
        }
        None
    }

    /// Writes the end of a name behind a text: `_to_64_octets`.
    pub(super) fn push_name(self, text: &mut String) {
        let (word, octets) = match self {
            Self::To(octets) => ("_to_", octets),
            Self::Beyond(octets) => ("_beyond_", octets),
        };
        text.push_str(word);
        push_number(octets, text);
        text.push_str("_octets");
    }
}

/// Writes a number in decimal. Records have thousands of these names, and formatting takes several times as long.
fn push_number(number: u64, text: &mut String) {
    if number >= 10 {
        push_number(number / 10, text);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
}

impl fmt::Display for SizeBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::To(octets) => write!(f, "to_{octets}_octets"),
            Self::Beyond(octets) => write!(f, "beyond_{octets}_octets"),
        }
    }
}

/// Members of all families but those of sizes, whose bounds vary.
pub(super) fn all() -> impl Iterator<Item = Measure> {
    let of_kind = |kind| KindCount::ALL.map(|count| Measure::OfKind(kind, count));
    let of_delay = |delay| DelayStatistic::ALL.map(|statistic| Measure::Delay(delay, statistic));
    let so_far = |delay| DelayStatistic::ALL.map(|statistic| Measure::DelaySoFar(delay, statistic));
    let kinds = Kind::ALL.into_iter().flat_map(of_kind);
    let delays = DelayKind::ALL.into_iter().flat_map(of_delay);
    kinds.chain(delays).chain(DelayKind::ALL.into_iter().flat_map(so_far))
}

/// Classes of sizes with default bounds.
pub(super) fn default_sizes() -> impl Iterator<Item = Measure> {
    let last = SizeBound::Beyond(BOUNDS_OCTETS[BOUNDS_OCTETS.len() - 1]);
    let bounds = BOUNDS_OCTETS.into_iter().map(SizeBound::To).chain([last]);
    bounds.flat_map(|bound| SizeCount::ALL.map(|count| Measure::OfSize(count, bound)))
}

/// Class of sizes with this name.
pub(super) fn of_size(name: &str) -> Option<Measure> {
    let bare = name.strip_suffix("_octets")?;
    let (what, bound) = match bare.split_once("_to_") {
        Some((what, octets)) => (what, SizeBound::To(octets.parse().ok()?)),
        None => {
            let (what, octets) = bare.split_once("_beyond_")?;
            (what, SizeBound::Beyond(octets.parse().ok()?))
        }
    };
    let count = SizeCount::ALL.into_iter().find(|count| count.name() == what)?;
    Some(Measure::OfSize(count, bound))
}

impl DelayKind {
    /// Name of the delay for a reader.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Acknowledgement => "acknowledgement",
            Self::Response => "response",
            Self::SetUp => "set-up",
            Self::CalleeHandshake => "TCP, callee",
            Self::CallerHandshake => "TCP, caller",
            Self::RoundTrip => "TCP round trip",
            Self::DelayedAck => "TCP delayed ACK",
            Self::ClosedWindow => "closed window",
            Self::MmsResponse => "MMS response",
            Self::Association => "association",
        }
    }
}

impl DelayKind {
    /// Number of delays of this kind.
    #[must_use]
    pub const fn count(self) -> Measure {
        Measure::Delay(self, DelayStatistic::Count)
    }

    /// Sum of the delays of this kind.
    #[must_use]
    pub const fn total(self) -> Measure {
        Measure::Delay(self, DelayStatistic::Total)
    }

    /// Median of the delays of this kind.
    #[must_use]
    pub const fn p50(self) -> Measure {
        Measure::Delay(self, DelayStatistic::P50)
    }

    /// 99th percentile of the delays of this kind.
    #[must_use]
    pub const fn p99(self) -> Measure {
        Measure::Delay(self, DelayStatistic::P99)
    }

    /// The greatest delay of this kind.
    #[must_use]
    pub const fn maximum(self) -> Measure {
        Measure::Delay(self, DelayStatistic::Maximum)
    }
}
