//! Application above transport, recognised by selectors and first octets, never by port alone.
//!
//! Evidence: the text and the requests that RDP clients put into a CR; TSAP selectors that S7
//! stations use; the first octet of S7 PDUs; the object identifiers of application contexts in the
//! first session PDU (MMS, X.400 in its versions, FTAM), and names that only ICCP has.
//!
//! Bias: encrypted or compressed data cannot be recognised; a connection found under way gives less
//! evidence than one whose CR and first TSDU were seen; ICCP is MMS with names of its own, and is
//! taken for MMS until one of them passes.

use memchr::{memchr3_iter, memmem};
use wire::tp::{Connect, Parameter};

/// Application above transport.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum User {
    /// Not recognised.
    #[default]
    Unknown,
    /// S7 communication of programmable controllers.
    S7,
    /// S7 communication plus, its successor.
    S7Plus,
    /// Manufacturing messages (ISO 9506), as in IEC 61850.
    Mms,
    /// ICCP or TASE.2 between control centres (IEC 60870-6), which is MMS.
    Iccp,
    /// Remote desktops.
    Rdp,
    /// Message handling (X.400).
    X400,
    /// Files (FTAM).
    Ftam,
    /// Conferences (T.125) of unknown purpose.
    T125,
    /// Another application above the OSI session layer.
    Session,
}

impl User {
    /// Name in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::S7 => "S7",
            Self::S7Plus => "S7-plus",
            Self::Mms => "MMS",
            Self::Iccp => "ICCP",
            Self::Rdp => "RDP",
            Self::X400 => "X.400",
            Self::Ftam => "FTAM",
            Self::T125 => "T.125",
            Self::Session => "OSI session",
        }
    }
}

/// Confidence in the recognised application.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Confidence {
    /// None.
    #[default]
    None,
    /// Based on one octet or a selector.
    Guess,
    /// Based on several octets.
    Likely,
    /// Based on a name or an object identifier.
    Sure,
}

impl Confidence {
    /// Name in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Guess => "guess",
            Self::Likely => "likely",
            Self::Sure => "sure",
        }
    }
}

/// Octets of a TSDU that are examined.
const LOOKED_AT_OCTETS: usize = 1_024;

/// Application that a CR or CC indicates. `header` is the whole header, because some applications
/// put more than parameters there.
pub(crate) fn of_connect(connect: &Connect<'_>, header: &[u8]) -> (User, Confidence) {
    if has(header, b"Cookie: msts") || has(connect.data, b"Cookie: msts") {
        return (User::Rdp, Confidence::Sure);
    }
    // RDP_NEG_REQ and RDP_NEG_RSP ([MS-RDPBCGR] 2.2.1.1.1): type, flags, length 8.
    let tail = if connect.data.is_empty() { header } else { connect.data };
    if let Some([1 | 2, _, 8, 0, ..]) = tail.last_chunk::<8>() {
        return (User::Rdp, Confidence::Likely);
    }
    let mut found = (User::Unknown, Confidence::None);
    for parameter in connect.parameters.iter() {
        let Parameter::CalledTsap(selector) = parameter else { continue };
        found = match selector {
            b"SIMATIC-ROOT-ES" | b"SIMATIC-ROOT-HMI" => (User::S7Plus, Confidence::Likely),
            // Connection type (1 programmer, 2 operator, 3 other), then rack and slot; IEC 61850
            // stacks use 0001 too.
            [1..=3, slot] if *slot > 1 && connect.class.class < 2 => (User::S7, Confidence::Guess),
            b"ICCP" | b"TASE2" => (User::Iccp, Confidence::Likely),
            _ => found,
        };
    }
    found
}

/// Application that the first octets of a TSDU indicate.
pub(crate) fn of_data(tsdu: &[u8]) -> (User, Confidence) {
    let tsdu = tsdu.get(..LOOKED_AT_OCTETS).unwrap_or(tsdu);
    match tsdu {
        // Protocol identifier, ROSCTR (1 job, 2, 3 acknowledgements, 7 user data), zeros.
        [0x32, 1 | 2 | 3 | 7, 0, 0, ..] => (User::S7, Confidence::Sure),
        [0x32, 1 | 2 | 3 | 7, ..] => (User::S7, Confidence::Likely),
        [0x72, 1..=3 | 0xFE, ..] => (User::S7Plus, Confidence::Likely),
        // Connect-Initial and Connect-Response; RDP puts the key "Duca" or "McDn" into it.
        [0x7F, 0x65 | 0x66, ..] if has(tsdu, b"Duca") || has(tsdu, b"McDn") => {
            (User::Rdp, Confidence::Sure)
        }
        [0x7F, 0x65 | 0x66, ..] => (User::T125, Confidence::Likely),
        [0x0D | 0x0E, _, ..] => of_session(tsdu),
        // GIVE TOKENS and DATA TRANSFER, then a presentation PDU of user data.
        [1, 0, 1, 0, 0x61, ..] if is_iccp(tsdu) => (User::Iccp, Confidence::Sure),
        [1, 0, 1, 0, 0x61, rest @ ..] => of_presentation(rest),
        [1, 0, 1, 0, ..] => (User::Session, Confidence::Likely),
        _ => (User::Unknown, Confidence::None),
    }
}

/// Application that a session CONNECT or ACCEPT indicates.
fn of_session(tsdu: &[u8]) -> (User, Confidence) {
    // 1.0.9506.2: MMS; 2.6.0.1: contexts of message transfer and access; 1.0.8571: FTAM.
    if is_iccp(tsdu) {
        (User::Iccp, Confidence::Sure)
    } else if has(tsdu, &[0x28, 0xCA, 0x22, 0x02]) {
        (User::Mms, Confidence::Sure)
    } else if has(tsdu, &[0x56, 0x00, 0x01]) {
        (User::X400, Confidence::Sure)
    } else if has(tsdu, &[0x28, 0xC2, 0x7B]) {
        (User::Ftam, Confidence::Sure)
    } else if has(tsdu, &[0xA0, 0x03, 0x80, 0x01, 0x00]) {
        // Presentation in X.410 mode, which only message handling of 1984 uses.
        (User::X400, Confidence::Likely)
    } else {
        (User::Session, Confidence::Likely)
    }
}

/// Fully encoded data with presentation context 3, the number that all MMS stacks use, and an MMS
/// PDU in it.
fn of_presentation(octets: &[u8]) -> (User, Confidence) {
    let place = octets.windows(4).take(8).position(|at| matches!(at, [2, 1, 3, 0xA0]));
    let pdu = place.and_then(|place| octets.get(place + 4..));
    let pdu = pdu.map(|rest| match rest {
        [0x81, _, rest @ ..] | [0x82, _, _, rest @ ..] => rest,
        [_, rest @ ..] => rest,
        [] => rest,
    });
    match pdu {
        // Confirmed request, response and error, unconfirmed, reject, conclude.
        Some([0xA0..=0xA4 | 0x8B | 0x8C, ..]) => (User::Mms, Confidence::Likely),
        _ => (User::Session, Confidence::Likely),
    }
}

/// True if a name of ICCP (IEC 60870-6-503) is among the octets.
fn is_iccp(tsdu: &[u8]) -> bool {
    const NAMES: [&[u8]; 5] = [
        b"TASE2_Version",
        b"Bilateral_Table",
        b"DSTransfer_Set",
        b"Transfer_Set_",
        b"DSConditions",
    ];
    let begins = |at: usize| {
        tsdu.get(at..).is_some_and(|rest| NAMES.iter().any(|name| rest.starts_with(name)))
    };
    memchr3_iter(b'T', b'B', b'D', tsdu).any(begins)
}

fn has(octets: &[u8], part: &[u8]) -> bool {
    memmem::find(octets, part).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_octets_identify_the_application() {
        // From the layouts of the protocols: an S7 job, an MMS read request, GT and DT alone.
        check(&[0x32, 1, 0, 0, 0, 1, 0, 8], User::S7, Confidence::Sure);
        check(&[0x72, 1, 0, 0xC2], User::S7Plus, Confidence::Likely);
        let read = [1, 0, 1, 0, 0x61, 9, 0x30, 7, 2, 1, 3, 0xA0, 2, 0xA0, 0];
        check(&read, User::Mms, Confidence::Likely);
        let mut named = read.to_vec();
        named.extend(b"TASE2_Version");
        check(&named, User::Iccp, Confidence::Sure);
        check(&[1, 0, 1, 0, 7], User::Session, Confidence::Likely);
        check(&[0x0D, 9, 0x28, 0xCA, 0x22, 2, 3], User::Mms, Confidence::Sure);
        check(&[0x0D, 9, 6, 4, 0x56, 0, 1, 6], User::X400, Confidence::Sure);
        check(&[0x7F, 0x65, 0x82, 1], User::T125, Confidence::Likely);
        check(b"GET / HTTP", User::Unknown, Confidence::None);
        check(&[], User::Unknown, Confidence::None);
    }

    #[track_caller]
    fn check(tsdu: &[u8], user: User, confidence: Confidence) {
        assert_eq!(of_data(tsdu), (user, confidence));
    }
}
