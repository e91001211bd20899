//! Dissection of a frame, from the link header to the user data.
//!
//! [`levels`] is the meter's decoder: fixed offsets, no allocation, only what the meter counts.
//! [`dissect`] keeps every layer for printing. Neither fails: both return the layers read and the
//! field that stopped them. [`strip_user_data`] removes the user data of one frame; a [`Stripper`]
//! does so for the frames of a stream.
//!
//! Both decoders accept frames truncated by the capture. Lengths are checked against the original
//! frame, contents end where the capture ends, and a header beyond that is missing, not malformed.
//!
//! Above transport, [`dissect`] also decodes session to MMS where a DT holds a whole TSDU.
//!
//! Left out: reassembly of CLNP segments and TCP streams, which is the meter's task; fragments of
//! IP, which are recognised and skipped; protocols over IP other than TCP and UDP, and those over UDP;
//! the bodies of ES-IS and
//! IS-IS.

mod headers;
mod layers;
mod levels;
mod streams;
#[cfg(test)]
mod tests;
mod upper;

pub use headers::strip_user_data;
pub(crate) use layers::dissect_to_transport;
pub use layers::{Dissection, Layer};
pub use levels::levels;
pub use streams::Stripper;
pub use upper::{dissect, dissect_cut, dissect_tsdu};

use crate::addr::{Mac, Nsap, Socket};
use crate::leaf::{Cyclic, Leaf};
use crate::next::OverType;
use crate::read::Malformed;
use crate::{encapsulation, llc, mac, tcp};
use core::fmt;
use core::net::Ipv6Addr;
use core::time::Duration;

/// Reason given for a frame whose headers the capture cut off.
pub const CUT: &str = "headers not captured";
/// Code of UD of the connectionless transport protocol (ISO 8602), at the place of a TPDU code.
const UNIT_DATA: u8 = 0x40;

/// Link type of a capture's frames.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Link {
    /// Ethernet, from the destination address on.
    Ethernet,
    /// Any other link type, by its number in the registry of capture link types.
    Other(u32),
}

impl Link {
    /// Returns true for Ethernet. Takes fewer steps than `==`.
    #[inline]
    #[must_use]
    pub const fn is_ethernet(self) -> bool {
        matches!(self, Self::Ethernet)
    }

    /// Returns true if frames of this link type are decoded.
    #[must_use]
    pub fn is_read(self) -> bool {
        match self {
            Self::Ethernet => true,
            Self::Other(number) => encapsulation::LINKS.iter().any(|(known, _)| *known == number),
        }
    }

    /// Converts from the number in the registry.
    #[must_use]
    pub const fn from_dlt(number: u32) -> Self {
        match number {
            1 => Self::Ethernet,
            other => Self::Other(other),
        }
    }

    /// Number in the registry.
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

/// TPDUs of a frame, with source and destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nsdu<'a> {
    /// MAC address of the sending station.
    pub source: Mac,
    /// MAC address of the receiving station.
    pub destination: Mac,
    /// Source NSAP; empty under the inactive subset.
    pub source_nsap: Nsap,
    /// Destination NSAP; empty under the inactive subset.
    pub destination_nsap: Nsap,
    /// Captured octets of the TPDUs.
    pub octets: &'a [u8],
    /// Octets of the TPDUs that the capture cut off.
    pub missing_octets: usize,
    /// Position in the NSDU, if this is only a segment of it.
    pub segment: Option<Segment>,
}

/// Position of a segment in its NSDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Identifier of the NSDU between these two addresses.
    pub identifier: u16,
    /// Offset of the segment in the NSDU, in octets.
    pub offset: usize,
    /// Length of the whole NSDU in octets.
    pub nsdu_octets: usize,
    /// True if more segments follow.
    pub more: bool,
    /// Remaining lifetime of the NSDU.
    pub lifetime: Duration,
}

/// Segment of a TCP stream, which may contain TPDUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece<'a> {
    /// Sender.
    pub source: Socket,
    /// Receiver.
    pub destination: Socket,
    /// Identification of the IPv4 datagram; 0 over IPv6, which has none.
    pub identification: u16,
    /// Sequence number of the first octet; of a SYN, the number before it.
    pub sequence: u32,
    /// Acknowledgement number: the next expected, if ACK is set.
    pub acknowledgement: u32,
    /// Control bits.
    pub flags: tcp::Flags,
    /// Receive window of the sender, before scaling.
    pub window: u16,
    /// Checksum as received.
    pub checksum: u16,
    /// Captured octets.
    pub octets: &'a [u8],
    /// Octets that the capture cut off.
    pub missing_octets: usize,
}

/// Datagram of UDP (RFC 768).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram<'a> {
    /// Sender.
    pub source: Socket,
    /// Receiver.
    pub destination: Socket,
    /// Captured octets behind the header.
    pub octets: &'a [u8],
    /// Octets that the capture cut off.
    pub missing_octets: usize,
}

/// IP packet around a segment of TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Around {
    /// Source and destination.
    pub addresses: [Ipv6Addr; 2],
    /// Identification of the IPv4 datagram; 0 over IPv6, which has none.
    pub identification: u16,
    /// Octets of the segment by the length of the packet, header of TCP included.
    pub segment_octets: usize,
}

impl<'a> Piece<'a> {
    /// Segment of a packet.
    #[must_use]
    #[inline]
    pub fn of(tcp: &tcp::Pdu<'a>, around: Around) -> Self {
        let Around { addresses: [source, destination], identification, segment_octets } = around;
        let data_octets = segment_octets.saturating_sub(tcp.header_octets());
        Self {
            source: Socket { address: source, port: tcp.source_port },
            destination: Socket { address: destination, port: tcp.destination_port },
            identification,
            sequence: tcp.sequence,
            acknowledgement: tcp.acknowledgement,
            flags: tcp.flags,
            window: tcp.window,
            checksum: tcp.checksum,
            octets: tcp.data,
            missing_octets: data_octets.saturating_sub(tcp.data.len()),
        }
    }
}

/// PDU of a protocol that ends the frame, and carries no TPDUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alone<'a> {
    /// Protocol.
    pub leaf: &'static Leaf,
    /// Name under which the PDU is counted.
    pub kind: &'static str,
    /// Captured octets from the start of the PDU to the end of the frame.
    pub octets: &'a [u8],
    /// Octets of the frame that the capture cut off.
    pub missing_octets: usize,
}

/// Reason why a frame carries no NSDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoNsdu<'a> {
    /// It carries a segment of a TCP stream.
    Stream(Piece<'a>),
    /// It carries a datagram of UDP.
    Datagram(Datagram<'a>),
    /// It carries a protocol that is decoded by itself.
    Leaf(Alone<'a>),
    /// It carries another protocol, which is named.
    Foreign(&'static str),
    /// A field is malformed; the offset counts from the start of the frame.
    Malformed(Malformed),
}

/// Octets and contents of a frame at each protocol level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Levels<'a> {
    /// Octets of the LPDU as NBSIR 85-3104 counts them: MAC header and LLC PDU, without padding and
    /// FCS. On a link that carries IP or OSI without LLC: the link header and its contents. `None`
    /// if the frame carries neither.
    pub lpdu_octets: Option<usize>,
    /// Octets of the NPDU: the contents of the link for SAP FE, or an IP packet. `None` for
    /// anything else.
    pub npdu_octets: Option<usize>,
    /// Control field of the LLC PDU. `None` if the frame carries no LLC.
    pub llc: Option<llc::Control>,
    /// TPDUs, or the reason why there are none.
    pub nsdu: Result<Nsdu<'a>, NoNsdu<'a>>,
}

/// Returns true if the malformed header field lies beyond the `captured` octets of a frame.
fn is_missing(complaint: Malformed, captured: usize) -> bool {
    let field_octets = match complaint.field {
        "destination address" | "source address" if complaint.offset < mac::HEADER_OCTETS => 6,
        "HSR path" | "HSR sequence" | "length" | "tag" | "protocol" | "total length"
        | "identification" | "fragment offset" | "header checksum" | "payload length"
        | "source port" | "destination port" | "window" | "checksum" | "urgent pointer"
        | "holding time" => 2,
        "organization code" | "flow label" => 3,
        "label stack entry"
        | "sequence number"
        | "acknowledgement number"
        | "source internet address"
        | "destination internet address" => 4,
        "source IPv6 address" | "destination IPv6 address" => 16,
        // These are malformed only if they end too early.
        "link header" | "options" | "extension header" | "addresses" => captured + 1,
        _ => 1,
    };
    complaint.offset + field_octets > captured
}

/// Returns true if a length frame carries Novell's raw 802.3 format instead of LLC: an IPX packet,
/// whose unused checksum would read as two global SAPs.
fn is_bare_ipx(data: &[u8]) -> bool {
    data.starts_with(&[0xFF, 0xFF])
}

/// Returns true if an LLC PDU carries an LSDU of the connectionless service. A UI is never a
/// response.
fn is_datagram(pdu: &llc::Pdu<'_>) -> bool {
    pdu.control == llc::Control::Ui && !pdu.is_response
}

/// Returns the protocol that an EtherType stands for, if it has streams of cyclic data.
#[must_use]
#[inline]
pub fn cyclic_of_type(number: u16) -> Option<Cyclic> {
    match OverType::of(number)? {
        OverType::Leaf(leaf) => leaf.cyclic,
        OverType::Internet | OverType::Mpls => None,
    }
}

/// Returns true if an NSDU belongs to the connectionless transport protocol, which shares NSAPs
/// with the connection-oriented one.
#[must_use]
pub const fn is_unit_data(nsdu: &[u8]) -> bool {
    matches!(nsdu, [_, UNIT_DATA, ..])
}
