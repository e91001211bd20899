//! What makes a TPDU that was decoded, and whose checksum is right, break the protocol (ISO 8073 6.22, 13.2).

use wire::read::Malformed;
use wire::tp::{Data, Kind, Parameter, Parameters, Pdu};

/// The reject causes of an ER (13.12.3).
mod cause {
    pub(super) const NOT_SPECIFIED: u8 = 0;
    pub(super) const PARAMETER_CODE: u8 = 1;
    pub(super) const TPDU_TYPE: u8 = 2;
    pub(super) const PARAMETER_VALUE: u8 = 3;
}

/// The most user data in CC and DR.
const CC_OCTETS: usize = 32;
const DR_OCTETS: usize = 64;

/// How a TPDU breaks the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Broken {
    /// The reject cause of the ER that says so.
    pub(super) cause: u8,
    /// The octet of the TPDU at which it shows.
    pub(super) offset: usize,
}

impl Broken {
    /// For a TPDU that could not be decoded.
    pub(super) const fn undecodable(malformed: Malformed) -> Self {
        Self { cause: cause::PARAMETER_VALUE, offset: malformed.offset }
    }
}

/// What a connection agreed on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    pub(super) expedited: bool,
    pub(super) tpdu_octets: usize,
}

/// What of `pdu` breaks the protocol of a connection; `data_octets` of user data are with it.
pub(super) fn complaint(pdu: &Pdu<'_>, data_octets: usize, allowed: Allowed) -> Option<Broken> {
    let header = pdu.header_octets();
    let at = |cause, offset| Some(Broken { cause, offset });
    let found = match pdu {
        Pdu::Dt(dt) => return data_complaint(dt, data_octets, allowed),
        // 6.11.4 and 13.8.4: from 1 to 16 octets.
        Pdu::Ed(_) if allowed.expedited && !(1..=16).contains(&data_octets) => {
            at(cause::PARAMETER_VALUE, header)
        }
        Pdu::Ed(_) | Pdu::Ea(_) if !allowed.expedited => at(cause::TPDU_TYPE, 1),
        Pdu::Rj(_) => at(cause::TPDU_TYPE, 1),
        Pdu::Cc(_) if data_octets > CC_OCTETS => at(cause::PARAMETER_VALUE, header),
        Pdu::Dr(_) if data_octets > DR_OCTETS => at(cause::PARAMETER_VALUE, header),
        Pdu::Ed(_) | Pdu::Ea(_) | Pdu::Ak(_) | Pdu::Er(_) => None,
        Pdu::Cr(_) | Pdu::Cc(_) | Pdu::Dr(_) | Pdu::Dc(_) => None,
    };
    // 13.2.3: a parameter this TPDU does not have is an error in all TPDUs but a CR.
    let unknown = || unknown_parameter(pdu.parameters(), header);
    found.or_else(|| if pdu.kind() == Kind::Cr { None } else { unknown() })
}

/// What of a DT breaks the protocol of a connection; `data_octets` of user data are with it.
#[inline]
pub(super) fn data_complaint(
    dt: &Data<'_>,
    data_octets: usize,
    allowed: Allowed,
) -> Option<Broken> {
    let offset = dt.header_octets();
    if offset + data_octets > allowed.tpdu_octets {
        return Some(Broken { cause: cause::NOT_SPECIFIED, offset });
    }
    unknown_parameter(dt.parameters, offset)
}

/// The first parameter that the TPDU, with a header of so many octets, does not have.
#[inline]
fn unknown_parameter(parameters: Parameters<'_>, header_octets: usize) -> Option<Broken> {
    // Nearly every TPDU has a checksum and nothing else, or nothing at all.
    match parameters.octets() {
        [] | [0xC3, 2, _, _] => None,
        octets => unknown_of_several(parameters, octets, header_octets),
    }
}

fn unknown_of_several(
    parameters: Parameters<'_>,
    octets: &[u8],
    header_octets: usize,
) -> Option<Broken> {
    let mut offset = header_octets - octets.len();
    for parameter in parameters.iter() {
        if let Parameter::Unknown { code, .. } = parameter {
            let cause =
                if is_defined(code) { cause::PARAMETER_VALUE } else { cause::PARAMETER_CODE };
            return Some(Broken { cause, offset });
        }
        offset += parameter_octets(octets, offset + octets.len() - header_octets);
    }
    None
}

/// Octets of the parameter that begins at `at`.
fn parameter_octets(octets: &[u8], at: usize) -> usize {
    octets.get(at + 1).map_or(0, |length| usize::from(*length) + 2)
}

/// Whether the standard has a parameter with this code in some TPDU.
const fn is_defined(code: u8) -> bool {
    matches!(code, 0x85..=0x8C | 0x8F | 0xC0..=0xC7 | 0xE0 | 0xF0 | 0xF2)
}
