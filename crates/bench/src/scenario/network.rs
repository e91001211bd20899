//! The `[network]` table of a scenario: the form of CLNP at every station.

use super::fields::{Fields, Placed, Read, pick};
use super::parse::set;
use super::problem::Problem;
use super::quantity::Span;
use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use stack::clnp::{Params, Subset};
use wire::addr::{Mac, Nsap};
use wire::clnp::LIFETIME_UNIT;

/// The longest life of a PDU: its lifetime is one octet.
pub(super) const LONGEST_LIFETIME: Duration = Duration::from_millis(127_500);
/// Octets of the full header: fixed part 9, two addresses of 10 with their lengths.
const HEADER_OCTETS: u64 = 9 + 2 * 11;
/// Octets of its segmentation part.
const SEGMENTATION_OCTETS: u64 = 6;
/// Maximum total length of a PDU (16 bits).
const LONGEST_PDU_OCTETS: u64 = 65_535;

/// The network protocol for NSDUs of class 4 on the LAN.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Network {
    /// The header in front of TPDUs.
    #[schemars(with = "Option<Protocol>")]
    pub protocol: Protocol,
    /// True if a full header has a checksum.
    #[schemars(with = "Option<bool>")]
    pub checksum: bool,
    /// True if an NSDU under a full header may be cut into segments.
    #[schemars(with = "Option<bool>")]
    pub segmentation: bool,
    /// The lifetime of a PDU with a full header, and the time for which its segments wait for each
    /// other.
    #[schemars(with = "Option<Span>")]
    pub lifetime: Span,
}

/// A form of the network protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The inactive subset: one octet.
    Inactive,
    /// The full header.
    Clnp,
}

impl Network {
    /// The inactive subset; full headers have everything, and live for one unit.
    #[must_use]
    pub const fn inactive() -> Self {
        Self {
            protocol: Protocol::Inactive,
            checksum: true,
            segmentation: true,
            lifetime: Span(LIFETIME_UNIT),
        }
    }

    /// The parameters of the protocol machine of `station`, on a LAN with LSDUs of `lsdu_octets`
    /// octets.
    #[must_use]
    pub fn params(&self, station: Mac, lsdu_octets: u64) -> Params {
        let Self { protocol, checksum, segmentation, lifetime } = *self;
        let subset = match protocol {
            Protocol::Inactive => Subset::Inactive,
            Protocol::Clnp => Subset::Full { checksum, segmentation, error_report: true },
        };
        Params {
            subset,
            lifetime: lifetime.0,
            subnetwork_octets: usize::try_from(lsdu_octets).unwrap_or(usize::MAX),
            ..Params::inactive(Nsap::of_station(station))
        }
    }

    /// The longest NSDU in octets, on a LAN with LSDUs of `lsdu_octets` octets.
    #[must_use]
    pub const fn nsdu_octets(&self, lsdu_octets: u64) -> u64 {
        match (self.protocol, self.segmentation) {
            (Protocol::Inactive, _) => lsdu_octets.saturating_sub(1),
            (Protocol::Clnp, false) => lsdu_octets.saturating_sub(HEADER_OCTETS),
            (Protocol::Clnp, true) => LONGEST_PDU_OCTETS - HEADER_OCTETS - SEGMENTATION_OCTETS,
        }
    }

    /// The lifetime of a PDU: whole units, rounded up.
    #[must_use]
    pub fn life(&self) -> Duration {
        let units = self.lifetime.0.as_nanos().div_ceil(LIFETIME_UNIT.as_nanos());
        LIFETIME_UNIT * u32::try_from(units).unwrap_or(u32::from(u8::MAX)).min(255)
    }
}

impl Read for Network {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let mut network = Self::inactive();
        set(&mut network.protocol, "protocol", &mut fields, problems);
        set(&mut network.checksum, "checksum", &mut fields, problems);
        set(&mut network.segmentation, "segmentation", &mut fields, problems);
        set(&mut network.lifetime, "lifetime", &mut fields, problems);
        fields.finish(problems);
        Some(network)
    }
}

impl Read for Protocol {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let words = [("inactive", Self::Inactive), ("clnp", Self::Clnp)];
        pick(&String::read(value, problems)?, value.span(), "network protocol", &words, problems)
    }
}
