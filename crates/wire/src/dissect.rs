//! The whole chain, from the frame to what it carries.
//!
//! [`levels`] is the meter's way: fixed offsets, no allocation, only what has to be counted. [`dissect`]
//! keeps every layer, to be printed. Neither fails: both say what they could read and what stopped them.
//! [`strip_user_data`] leaves the headers of a frame, a [`Stripper`] those of frames that follow each other.
//!
//! Both take frames that a capture cut: lengths are held against what the frame had, contents end where
//! the capture does, and a header beyond that is missing, not malformed.
//!
//! Left out: putting CLNP segments and TCP streams together, which is the meter's; fragments of IP,
//! which are told from whole packets and left alone; what rides on IP other than TCP; the bodies of
//! ES-IS and IS-IS.

mod headers;
mod layers;
mod levels;
mod streams;
#[cfg(test)]
mod tests;

pub use headers::strip_user_data;
pub use layers::{Dissection, Layer, dissect, dissect_cut};
pub use levels::levels;
pub use streams::Stripper;

use crate::addr::{Mac, Nsap, Socket};
use crate::read::Malformed;
use crate::{encapsulation, llc, mac, tcp};
use core::fmt;
use core::time::Duration;

/// Why a frame has no NSDU of which a capture kept too little.
pub const CUT: &str = "headers not captured";
/// UD of the connectionless transport protocol (ISO 8602), where a TPDU has its code.
const UNIT_DATA: u8 = 0x40;

/// What the frames of a capture begin with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Link {
    /// Ethernet, from the destination address on.
    Ethernet,
    /// Something else, by its number in the registry of link types of capture files.
    Other(u32),
}

impl Link {
    /// Whether frames of it are read.
    #[must_use]
    pub fn is_read(self) -> bool {
        match self {
            Self::Ethernet => true,
            Self::Other(number) => encapsulation::LINKS.iter().any(|(known, _)| *known == number),
        }
    }

    /// From the number of the registry.
    #[must_use]
    pub const fn from_dlt(number: u32) -> Self {
        match number {
            1 => Self::Ethernet,
            other => Self::Other(other),
        }
    }

    /// The number of the registry.
    #[must_use]
    pub const fn dlt(self) -> u32 {
        match self {
            Self::Ethernet => 1,
            Self::Other(number) => number,
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ethernet => f.write_str("Ethernet"),
            Self::Other(number) => {
                let known = encapsulation::LINKS.iter().find(|(known, _)| known == number);
                match known {
                    Some((_, name)) => f.write_str(name),
                    None => write!(f, "link type {number}"),
                }
            }
        }
    }
}

/// The TPDUs of a frame, and who sent them to whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nsdu<'a> {
    /// The station that sent the frame.
    pub source: Mac,
    /// The station it is for.
    pub destination: Mac,
    /// The source NSAP; empty under the inactive subset.
    pub source_nsap: Nsap,
    /// The destination NSAP; empty under the inactive subset.
    pub destination_nsap: Nsap,
    /// The TPDUs, or as much of them as was captured.
    pub octets: &'a [u8],
    /// Octets of the TPDUs that the capture cut off.
    pub missing_octets: usize,
    /// Which part of an NSDU this is, where it is not the whole.
    pub segment: Option<Segment>,
}

/// Where in its NSDU a segment belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Which of the NSDUs between these two addresses.
    pub identifier: u16,
    /// Octets of the NSDU before it.
    pub offset: usize,
    /// Octets of the whole NSDU.
    pub nsdu_octets: usize,
    /// Whether others follow it.
    pub more: bool,
    /// How long the NSDU may still live.
    pub lifetime: Duration,
}

/// A piece of a TCP stream, in which there may be TPDUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece<'a> {
    /// Who sent it.
    pub source: Socket,
    /// Whom it is for.
    pub destination: Socket,
    /// The identification of the IPv4 datagram; 0 over IPv6, which has none.
    pub identification: u16,
    /// The number of its first octet; of a SYN, the one before.
    pub sequence: u32,
    /// The number expected next, if ACK is set.
    pub acknowledgement: u32,
    /// The control bits.
    pub flags: tcp::Flags,
    /// How much the sender takes, before scaling.
    pub window: u16,
    /// The checksum as it stands.
    pub checksum: u16,
    /// The octets, or as much of them as was captured.
    pub octets: &'a [u8],
    /// Octets that the capture cut off.
    pub missing_octets: usize,
}

/// Why a frame carries no NSDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoNsdu<'a> {
    /// It carries a piece of a TCP stream.
    Stream(Piece<'a>),
    /// It carries something else.
    Foreign(&'static str),
    /// Something in it is not what it should be; the offset counts from the start of the frame.
    Malformed(Malformed),
}

/// What a frame counts as at each level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Levels<'a> {
    /// Octets of the LPDU as NBSIR 85-3104 counts them: MAC header and LLC PDU, without padding and FCS;
    /// where a link carries IP or OSI without LLC, its header and what it carries. `None` where the
    /// frame carries neither.
    pub lpdu_octets: Option<usize>,
    /// Octets of the NPDU: what the link carries for SAP FE or as a packet of IP. `None` where it is
    /// something else.
    pub npdu_octets: Option<usize>,
    /// The control field of the LLC PDU. `None` where the frame carries no LLC.
    pub llc: Option<llc::Control>,
    /// The TPDUs.
    pub nsdu: Result<Nsdu<'a>, NoNsdu<'a>>,
}

/// Whether a complaint is that a header field lies beyond the first `captured` octets of a frame.
fn is_missing(complaint: Malformed, captured: usize) -> bool {
    let field_octets = match complaint.field {
        "destination address" | "source address" if complaint.offset < mac::HEADER_OCTETS => 6,
        "length" | "tag" | "protocol" | "total length" | "identification" | "fragment offset"
        | "header checksum" | "payload length" | "source port" | "destination port" | "window"
        | "checksum" | "urgent pointer" | "holding time" => 2,
        "organization code" | "flow label" => 3,
        "label stack entry"
        | "sequence number"
        | "acknowledgement number"
        | "source internet address"
        | "destination internet address" => 4,
        "source IPv6 address" | "destination IPv6 address" => 16,
        // These are wrong only where they end too early.
        "link header" | "options" | "extension header" | "addresses" => captured + 1,
        _ => 1,
    };
    complaint.offset + field_octets > captured
}

/// Whether a length frame carries what Novell put there before LLC: an IPX packet, whose unused
/// checksum would read as two global SAPs.
fn is_bare_ipx(data: &[u8]) -> bool {
    data.starts_with(&[0xFF, 0xFF])
}

/// Whether an LLC PDU carries an LSDU of the connectionless service. A UI is never a response.
fn is_datagram(pdu: &llc::Pdu<'_>) -> bool {
    pdu.control == llc::Control::Ui && !pdu.is_response
}

/// Whether an NSDU is of the connectionless transport protocol, which shares NSAPs with the other.
#[must_use]
pub const fn is_unit_data(nsdu: &[u8]) -> bool {
    matches!(nsdu, [_, UNIT_DATA, ..])
}
