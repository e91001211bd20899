//! Fields in which a publisher differs from the file.

use super::declared::{Declared, NANOS_PER_MS, cut};
use super::text_of;
use crate::quantity::span;
use core::fmt::Display;
use meter::{Protocol, Station, StreamReport};
use scl::SampleMode;
use serde::{Deserialize, Serialize};
use wire::addr::Mac;
use wire::printable::Printable;

/// Nominal frequencies of power systems, in Hz.
const FREQUENCIES: [u32; 2] = [50, 60];

/// A field that differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Difference {
    /// Name of the field.
    pub field: String,
    /// Value in the file.
    pub declared: String,
    /// Value in frames.
    pub seen: String,
}

/// Field of a publisher, the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Field {
    /// Destination.
    Mac,
    /// VLAN.
    Vlan,
    /// APPID.
    Appid,
    /// confRev.
    Revision,
    /// goID, or svID.
    Identifier,
    /// gocbRef.
    Reference,
    /// datSet.
    DataSet,
    /// numDatSetEntries.
    Entries,
    /// noASDU.
    Asdus,
    /// Rate of samples.
    Rate,
    /// VLAN priority.
    Priority,
    /// MaxTime.
    MaxTime,
}

impl Field {
    /// All, the worst first.
    pub(crate) const ALL: [Self; 12] = [
        Self::Mac,
        Self::Vlan,
        Self::Appid,
        Self::Revision,
        Self::Identifier,
        Self::Reference,
        Self::DataSet,
        Self::Entries,
        Self::Asdus,
        Self::Rate,
        Self::Priority,
        Self::MaxTime,
    ];

    /// Name in the trade.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mac => "MAC",
            Self::Vlan => "VLAN",
            Self::Appid => "APPID",
            Self::Revision => "confRev",
            Self::Identifier => "goID/svID",
            Self::Reference => "gocbRef",
            Self::DataSet => "datSet",
            Self::Entries => "numDatSetEntries",
            Self::Asdus => "noASDU",
            Self::Rate => "smpRate",
            Self::Priority => "priority",
            Self::MaxTime => "MaxTime",
        }
    }

    /// True if subscribers that are configured by the file do not take the frames.
    pub(crate) const fn is_fatal(self) -> bool {
        !matches!(self, Self::Priority | Self::MaxTime)
    }

    /// Value in the file and in frames; none if one of them is not known.
    fn values(self, declared: &Declared, seen: &StreamReport) -> Option<Values> {
        let address = declared.address;
        match self {
            Self::Mac => match seen.key.destination {
                Station::Lan(mac) => Values::of(&Mac(address?.mac), &mac),
                Station::Internet(_) => None,
            },
            Self::Vlan => Values::of(&address?.vlan?, &seen.tag?.vlan()),
            Self::Priority => Values::of(&address?.priority?, &seen.tag?.priority()),
            Self::Appid => {
                let declared = format!("{:04x}", address?.appid?);
                Values::of(&declared, &format!("{:04x}", seen.key.identifier))
            }
            Self::Revision => Values::of(&declared.revision?, &seen.revision),
            Self::Identifier => {
                let name = match declared.protocol {
                    Protocol::SampledValues => &seen.key.name,
                    _ => seen.labels.as_ref()?.identifier.as_ref()?,
                };
                Values::of_names(&declared.id, name)
            }
            Self::Reference => match declared.protocol {
                Protocol::Goose => Values::of_names(&declared.reference, &seen.key.name),
                _ => None,
            },
            Self::DataSet => {
                let set = &seen.labels.as_ref()?.data_set;
                Values::of_names(declared.data_set.as_ref()?, set)
            }
            Self::Entries => Values::of(&declared.entries?, &seen.labels.as_ref()?.entries),
            Self::Asdus => {
                let asdus = u64::from(declared.samples?.asdus);
                let frames = seen.frames.max(1);
                let is_whole = seen.samples.is_multiple_of(frames);
                Values::of(&asdus, &(seen.samples / frames)).filter(|_| is_whole)
            }
            Self::Rate => rate(declared, seen),
            Self::MaxTime => max_time(declared, seen),
        }
    }
}

/// Samples in a second, if they are not those of the file.
fn rate(declared: &Declared, seen: &StreamReport) -> Option<Values> {
    let (samples, found) = (declared.samples?, seen.rate?);
    let (is_same, unit) = match samples.mode {
        SampleMode::PerSecond => (samples.rate == found, "/s"),
        SampleMode::PerPeriod => {
            let of_period = |hz: &u32| samples.rate.checked_mul(*hz) == Some(found);
            (FREQUENCIES.iter().any(of_period), "/period")
        }
        SampleMode::SecondsPerSample => return None,
    };
    let (declared, seen) = (format!("{}{unit}", samples.rate), format!("{found}/s"));
    (!is_same && samples.rate > 0).then_some(Values { declared, seen })
}

/// Longest gap, if it is longer than one and a half times MaxTime, and no frame is missing in it.
fn max_time(declared: &Declared, seen: &StreamReport) -> Option<Values> {
    let max_ns = u64::from(declared.max_ms?) * NANOS_PER_MS;
    let is_longer = seen.gaps.max_ns > max_ns + max_ns / 2;
    let is_whole = seen.order.missing == 0 && seen.order.missed_states == 0;
    let values = Values { declared: span(max_ns), seen: span(seen.gaps.max_ns) };
    (is_longer && is_whole).then_some(values)
}

/// Two values of a field that differ.
struct Values {
    declared: String,
    seen: String,
}

impl Values {
    fn of<T: PartialEq + Display>(declared: &T, seen: &T) -> Option<Self> {
        let values = || Self { declared: declared.to_string(), seen: seen.to_string() };
        (declared != seen).then(values)
    }

    /// Names; one that the file leaves empty is not compared.
    fn of_names(declared: &str, seen: &[u8]) -> Option<Self> {
        let is_same = declared.is_empty() || *cut(declared.as_bytes()) == *seen;
        let values = || Self { declared: Printable(declared).to_string(), seen: text_of(seen) };
        (!is_same).then(values)
    }
}

/// Set of fields.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Fields(u16);

impl Fields {
    pub(super) const fn has(self, field: Field) -> bool {
        self.0 & 1 << field as u16 != 0
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds fields; returns true if one of them is new.
    pub(super) const fn add(&mut self, more: Self) -> bool {
        let before = self.0;
        self.0 |= more.0;
        self.0 != before
    }

    /// Rank of the worst field, from 0; of none a higher one.
    pub(super) const fn worst(self) -> u32 {
        self.0.trailing_zeros()
    }
}

/// Fields in which a publisher differs from the file.
pub(super) fn of(declared: &Declared, seen: &StreamReport) -> Fields {
    let differs = |field: &Field| field.values(declared, seen).is_some();
    let fields = Field::ALL.into_iter().filter(differs);
    Fields(fields.fold(0, |fields, field| fields | 1 << field as u16))
}

/// These fields with their values.
pub(super) fn described(
    fields: Fields,
    declared: &Declared,
    seen: &StreamReport,
) -> Vec<Difference> {
    let fields = Field::ALL.into_iter().filter(|field| fields.has(*field));
    let described = fields.filter_map(|field| {
        let Values { declared, seen } = field.values(declared, seen)?;
        Some(Difference { field: field.name().to_owned(), declared, seen })
    });
    described.collect()
}
