//! Agreement by initiate (ISO 9506-2 8): sizes, outstanding requests, services.

use bytes::Bytes;
use wire::ber::{BitString, Writer};
use wire::mms::{Initiate, Pdu};

/// Optional features (parameter CBB): arrays, structures, named variables, alternate access, named
/// variable lists.
const FEATURES: BitString<'static> = BitString { unused: 5, octets: &[0xF1, 0x00] };
/// Services that this side uses or provides, bit 0 for status. The octets are those that the
/// makers of substation devices agreed on.
const SERVICES: BitString<'static> =
    BitString { unused: 3, octets: &[0xEE, 0x1C, 0, 0, 0x04, 0x08, 0, 0, 0x79, 0xEF, 0x18] };
/// Version of the protocol. Peers refuse any other.
const VERSION: i64 = 1;
/// Smallest PDU that this side works with.
const SMALLEST_PDU: usize = 512;

/// Values to propose, and limits of what is accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proposal {
    /// Longest PDU in octets.
    pub pdu_octets: u32,
    /// Requests of each side that may be outstanding.
    pub outstanding: u16,
    /// Levels of nested data.
    pub nesting: u8,
}

impl Proposal {
    /// The values of most peers: 65,000 octets, 5 requests, 10 levels.
    #[must_use]
    pub const fn usual() -> Self {
        Self { pdu_octets: 65_000, outstanding: 5, nesting: 10 }
    }

    fn initiate(self) -> Initiate<'static> {
        Initiate {
            local_detail: Some(i64::from(self.pdu_octets)),
            outstanding_calling: i64::from(self.outstanding),
            outstanding_called: i64::from(self.outstanding),
            nesting: Some(i64::from(self.nesting)),
            version: VERSION,
            parameters: FEATURES,
            services: SERVICES,
            further: &[],
        }
    }

    /// Initiate request.
    pub(super) fn request(self) -> Bytes {
        encoded(&Pdu::InitiateRequest(self.initiate()))
    }

    /// Initiate response, within the limits of both sides.
    pub(super) fn response(self, agreement: Agreement) -> Bytes {
        let Agreement { pdu_octets, outstanding } = agreement;
        let outstanding = i64::from(outstanding);
        encoded(&Pdu::InitiateResponse(Initiate {
            local_detail: Some(i64::try_from(pdu_octets).unwrap_or(i64::MAX)),
            outstanding_calling: outstanding,
            outstanding_called: outstanding,
            ..self.initiate()
        }))
    }

    /// Agreement on what the peer proposes or answers; `None` if it has no common version, or no
    /// room for a PDU of 512 octets.
    pub(super) fn agree(self, peer: &Initiate<'_>) -> Option<Agreement> {
        let own = i64::from(self.pdu_octets);
        let octets = peer.local_detail.unwrap_or(own).min(own);
        let pdu_octets = usize::try_from(octets).ok().filter(|octets| *octets >= SMALLEST_PDU)?;
        let least = peer.outstanding_calling.min(peer.outstanding_called);
        let outstanding = u16::try_from(least.max(1)).unwrap_or(u16::MAX).min(self.outstanding);
        (peer.version == VERSION).then_some(Agreement { pdu_octets, outstanding })
    }
}

/// Values agreed by initiate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// Longest PDU in octets.
    pub pdu_octets: usize,
    /// Requests of a side that may be outstanding.
    pub outstanding: u16,
}

/// Octets of a PDU.
pub(super) fn encoded(pdu: &Pdu<'_>) -> Bytes {
    let mut out = Writer::new();
    pdu.encode(&mut out);
    Bytes::copy_from_slice(out.octets())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_octets_of_libiec61850() {
        let octets = [
            0xA8, 0x26, 0x80, 0x03, 0x00, 0xFD, 0xE8, 0x81, 1, 5, 0x82, 1, 5, 0x83, 1, 10, 0xA4,
            0x16, 0x80, 1, 1, 0x81, 3, 5, 0xF1, 0, 0x82, 0x0C, 3, 0xEE, 0x1C, 0, 0, 4, 8, 0, 0,
            0x79, 0xEF, 0x18,
        ];
        assert_eq!(Proposal::usual().request()[..], octets);
    }

    #[test]
    fn the_smaller_of_two_sizes_is_agreed_and_version_0_is_not() {
        let own = Proposal::usual();
        let peer = Initiate { local_detail: Some(8_000), outstanding_called: 2, ..own.initiate() };
        assert_eq!(own.agree(&peer), Some(Agreement { pdu_octets: 8_000, outstanding: 2 }));
        assert_eq!(own.agree(&Initiate { version: 0, ..peer }), None);
        assert_eq!(own.agree(&Initiate { local_detail: Some(100), ..peer }), None);
        let eager = Initiate { outstanding_calling: 90, outstanding_called: 0, ..peer };
        assert_eq!(own.agree(&eager).map(|it| it.outstanding), Some(1));
    }
}
