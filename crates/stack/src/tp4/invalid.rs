//! Protocol violations of decoded TPDUs with a correct checksum (ISO 8073 6.22, 13.2).

use wire::read::Malformed;
use wire::tp::{Data, Kind, Parameter, Parameters, Pdu};

/// Reject causes of an ER (13.12.3).
mod cause {
    pub(super) const NOT_SPECIFIED: u8 = 0;
    pub(super) const PARAMETER_CODE: u8 = 1;
    pub(super) const TPDU_TYPE: u8 = 2;
    pub(super) const PARAMETER_VALUE: u8 = 3;
}

/// Maximum user data in CC and DR.
const CC_OCTETS: usize = 32;
const DR_OCTETS: usize = 64;

/// Protocol violation of a TPDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Broken {
    /// Reject cause of the ER.
    pub(super) cause: u8,
    /// Offset of the octet in error.
    pub(super) offset: usize,
}

impl Broken {
    /// Violation of a TPDU that could not be decoded.
    pub(super) const fn undecodable(malformed: Malformed) -> Self {
        Self { cause: cause::PARAMETER_VALUE, offset: malformed.offset }
    }
}

/// Limits agreed for a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    pub(super) expedited: bool,
    pub(super) tpdu_octets: usize,
}

/// Protocol violation of `pdu` with `data_octets` octets of user data, if any.
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
    // 13.2.3: a parameter not defined for the TPDU is an error in every TPDU except a CR.
    let unknown = || unknown_parameter(pdu.parameters(), header);
    found.or_else(|| if pdu.kind() == Kind::Cr { None } else { unknown() })
}

/// Protocol violation of a DT with `data_octets` octets of user data, if any.
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

/// First parameter that is not defined for the TPDU, whose header has `header_octets` octets.
#[inline]
fn unknown_parameter(parameters: Parameters<'_>, header_octets: usize) -> Option<Broken> {
    // Nearly every TPDU has only a checksum parameter, or none.
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

/// Length of the parameter at offset `at`.
fn parameter_octets(octets: &[u8], at: usize) -> usize {
    octets.get(at + 1).map_or(0, |length| usize::from(*length) + 2)
}

/// Returns true if the standard defines this code for any TPDU.
const fn is_defined(code: u8) -> bool {
    matches!(code, 0x85..=0x8C | 0x8F | 0xC0..=0xC7 | 0xE0 | 0xF0 | 0xF2)
}
