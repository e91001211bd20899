//! The whole chain, from the frame to what it carries.
//!
//! [`levels`] is the meter's way: fixed offsets, no allocation, only what has to be counted. [`dissect`]
//! keeps every layer, to be printed. Neither fails: both say what they could read and what stopped them.
//!
//! Both take frames that a capture cut: lengths are held against what the frame had, contents end where
//! the capture does, and a header beyond that is missing, not malformed.
//!
//! Left out: putting CLNP segments together, which is the meter's; IP and what rides on it; the bodies of ES-IS and IS-IS.

#[cfg(test)]
mod tests;

use crate::addr::{Mac, Nsap, Sap};
use crate::read::Malformed;
use crate::{clnp, llc, mac, snap, tp};
use core::fmt;
use core::time::Duration;
use smallvec::SmallVec;

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
            Self::Other(number) => write!(f, "link type {number}"),
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

/// Why a frame carries no TPDUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoNsdu {
    /// It carries something else.
    Foreign(&'static str),
    /// Something in it is not what it should be; the offset counts from the start of the frame.
    Malformed(Malformed),
}

/// What a frame counts as at each level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Levels<'a> {
    /// Octets of the LPDU as NBSIR 85-3104 counts them: MAC header and LLC PDU, without padding and FCS.
    /// `None` where the frame carries no LLC.
    pub lpdu_octets: Option<usize>,
    /// Octets of the NPDU: what the link carries for SAP FE. `None` where it is for another SAP.
    pub npdu_octets: Option<usize>,
    /// The TPDUs.
    pub nsdu: Result<Nsdu<'a>, NoNsdu>,
}

/// What a frame that was `original_octets` long, and of which `octets` were captured, counts as.
#[must_use]
pub fn levels(link: Link, octets: &[u8], original_octets: usize) -> Levels<'_> {
    let original_octets = original_octets.max(octets.len());
    let mut levels =
        Levels { lpdu_octets: None, npdu_octets: None, nsdu: Err(NoNsdu::Foreign("link type")) };
    if link == Link::Ethernet {
        levels.nsdu = link_layer(octets, original_octets, &mut levels).map_err(|why| match why {
            NoNsdu::Malformed(malformed)
                if octets.len() < original_octets && is_missing(malformed, octets.len()) =>
            {
                NoNsdu::Foreign(CUT)
            }
            NoNsdu::Malformed(_) | NoNsdu::Foreign(_) => why,
        });
    }
    levels
}

fn link_layer<'a>(
    octets: &'a [u8],
    original_octets: usize,
    levels: &mut Levels<'_>,
) -> Result<Nsdu<'a>, NoNsdu> {
    let frame = mac::Pdu::decode_cut(octets, original_octets).map_err(NoNsdu::Malformed)?;
    let Some(length) = frame.lpdu_octets(original_octets) else {
        return Err(NoNsdu::Foreign("EtherType"));
    };
    if is_bare_ipx(frame.data) {
        return Err(NoNsdu::Foreign("IPX without LLC"));
    }
    let header = frame.header_octets();
    levels.lpdu_octets = Some(header + length);
    let llc = llc::Pdu::decode(frame.data)
        .map_err(|malformed| NoNsdu::Malformed(malformed.within(header)))?;
    if llc.destination != Sap::ISO_NETWORK {
        return Err(NoNsdu::Foreign("SAP"));
    }
    if !is_datagram(&llc) {
        return Err(NoNsdu::Foreign("LLC control"));
    }
    let npdu_octets = length.saturating_sub(llc.header_octets());
    levels.npdu_octets = Some(npdu_octets);
    network(&frame, llc.information, npdu_octets)
        .map_err(|why| within(why, header + llc.header_octets()))
}

/// Whether a complaint is that a header field lies beyond the first `captured` octets of a frame.
fn is_missing(complaint: Malformed, captured: usize) -> bool {
    let field_octets = match complaint.field {
        "destination address" | "source address" if complaint.offset < mac::HEADER_OCTETS => 6,
        "length" | "tag" | "protocol" => 2,
        "organization code" => 3,
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

/// Where a segment belongs; nothing of a PDU that is whole.
fn segment(pdu: &clnp::Pdu<'_>) -> Result<Option<Segment>, NoNsdu> {
    if !pdu.is_segment() {
        return Ok(None);
    }
    let malformed = |field, offset| NoNsdu::Malformed(Malformed { field, offset });
    // RFC 994 7.2.6: where segmentation is not permitted, no segments follow.
    let part = pdu.segmentation.ok_or(malformed("flags and type", clnp::FLAGS_AT))?;
    let nsdu_octets = usize::from(part.total_octets)
        .checked_sub(pdu.header_octets)
        .ok_or(malformed("total length", pdu.header_octets - pdu.options.len() - 2))?;
    Ok(Some(Segment {
        identifier: part.identifier,
        offset: usize::from(part.offset),
        nsdu_octets,
        more: pdu.more_segments,
        lifetime: clnp::LIFETIME_UNIT * u32::from(pdu.lifetime),
    }))
}

fn within(why: NoNsdu, octets: usize) -> NoNsdu {
    match why {
        NoNsdu::Malformed(malformed) => NoNsdu::Malformed(malformed.within(octets)),
        NoNsdu::Foreign(_) => why,
    }
}

fn network<'a>(
    frame: &mac::Pdu<'a>,
    npdu: &'a [u8],
    original_octets: usize,
) -> Result<Nsdu<'a>, NoNsdu> {
    let (source, destination) = (frame.source, frame.destination);
    let missing = |length: usize, octets: &[u8]| length.saturating_sub(octets.len());
    let nsdu = match npdu.split_first() {
        Some((&clnp::INACTIVE, octets)) => Nsdu {
            source,
            destination,
            source_nsap: Nsap::default(),
            destination_nsap: Nsap::default(),
            octets,
            missing_octets: missing(original_octets - 1, octets),
            segment: None,
        },
        Some((&clnp::CLNP, _)) => {
            let pdu = clnp::Pdu::decode_cut(npdu, original_octets).map_err(NoNsdu::Malformed)?;
            if pdu.kind != clnp::Kind::Data {
                return Err(NoNsdu::Foreign("CLNP type"));
            }
            // RFC 994 6.11, 7.2.4: receivers discard it, so that no peer ever sees its TPDUs.
            if pdu.version != clnp::VERSION {
                return Err(NoNsdu::Foreign("CLNP version"));
            }
            if pdu.verify(npdu) == clnp::Checksum::Bad {
                let field = "network header checksum";
                return Err(NoNsdu::Malformed(Malformed { field, offset: clnp::CHECKSUM_AT }));
            }
            let whole = usize::from(pdu.segment_octets) - pdu.header_octets;
            Nsdu {
                source,
                destination,
                source_nsap: pdu.source,
                destination_nsap: pdu.destination,
                octets: pdu.data,
                missing_octets: missing(whole, pdu.data),
                segment: segment(&pdu)?,
            }
        }
        Some((&clnp::ES_IS, _)) => return Err(NoNsdu::Foreign("ES-IS")),
        Some((&clnp::IS_IS, _)) => return Err(NoNsdu::Foreign("IS-IS")),
        Some(_) => return Err(NoNsdu::Foreign("network protocol")),
        None => {
            let field = "network layer protocol identifier";
            return Err(NoNsdu::Malformed(Malformed { field, offset: 0 }));
        }
    };
    if nsdu.segment.is_none() && is_unit_data(nsdu.octets) {
        return Err(NoNsdu::Foreign("connectionless transport"));
    }
    Ok(nsdu)
}

/// One layer of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Layer<'a> {
    /// The MAC frame.
    Mac(mac::Pdu<'a>),
    /// The LLC PDU.
    Llc(llc::Pdu<'a>),
    /// The SNAP PDU.
    Snap(snap::Pdu<'a>),
    /// The octet that says that there is no network header.
    InactiveNetwork,
    /// The CLNP PDU and what its checksum says.
    Clnp(clnp::Pdu<'a>, clnp::Checksum),
    /// A TPDU and what its checksum says; nothing where not all it covers was captured.
    Tp(tp::Pdu<'a>, Option<tp::Checksum>),
    /// A segment of an NSDU: its TPDUs cannot be told apart before reassembly.
    Segment(&'a [u8]),
    /// Octets of a protocol that is not decoded here, and its name.
    Opaque(&'static str, &'a [u8]),
    /// How many octets at the end of the frame were not captured.
    Missing(usize),
}

impl fmt::Display for Layer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mac(pdu) => pdu.fmt(f),
            Self::Llc(pdu) => pdu.fmt(f),
            Self::Snap(pdu) => pdu.fmt(f),
            Self::InactiveNetwork => f.write_str("CLNP inactive"),
            Self::Clnp(pdu, clnp::Checksum::Bad) => write!(f, "{pdu} BAD CHECKSUM"),
            Self::Clnp(pdu, _) => pdu.fmt(f),
            Self::Tp(pdu, Some(tp::Checksum::Bad)) => write!(f, "{pdu} BAD CHECKSUM"),
            Self::Tp(pdu, _) => pdu.fmt(f),
            Self::Segment(octets) => write!(f, "segment of an NSDU {} octets", octets.len()),
            Self::Opaque(name, octets) => write!(f, "{name} {} octets", octets.len()),
            Self::Missing(octets) => write!(f, "{octets} octets not captured"),
        }
    }
}

/// What a frame turned out to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dissection<'a> {
    /// Its layers, outermost first; of concatenated TPDUs each is one.
    pub layers: SmallVec<[Layer<'a>; 6]>,
    /// What stopped the reading; its offset counts from the start of the frame.
    pub fault: Option<Malformed>,
}

impl fmt::Display for Dissection<'_> {
    /// One line per layer, and one for the fault.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layers = self.layers.iter().map(|layer| layer as &dyn fmt::Display);
        let fault = self.fault.iter().map(|fault| fault as &dyn fmt::Display);
        for (place, line) in layers.chain(fault).enumerate() {
            f.write_str(if place == 0 { "" } else { "\n" })?;
            line.fmt(f)?;
        }
        Ok(())
    }
}

/// Every layer of a whole frame.
#[must_use]
pub fn dissect(link: Link, octets: &[u8]) -> Dissection<'_> {
    dissect_cut(link, octets, octets.len())
}

/// Every layer of a frame that was `original_octets` long, and of which `octets` were captured.
#[must_use]
pub fn dissect_cut(link: Link, octets: &[u8], original_octets: usize) -> Dissection<'_> {
    let mut dissection = Dissection { layers: SmallVec::new(), fault: None };
    let missing_octets = original_octets.saturating_sub(octets.len());
    if link == Link::Ethernet {
        let fault = ethernet(octets, octets.len() + missing_octets, &mut dissection.layers).err();
        dissection.fault =
            fault.filter(|fault| missing_octets == 0 || !is_missing(*fault, octets.len()));
    } else {
        dissection.layers.push(Layer::Opaque("frame of a link type not decoded here,", octets));
    }
    if missing_octets > 0 {
        dissection.layers.push(Layer::Missing(missing_octets));
    }
    dissection
}

type Layers<'a> = SmallVec<[Layer<'a>; 6]>;

fn ethernet<'a>(
    octets: &'a [u8],
    original_octets: usize,
    layers: &mut Layers<'a>,
) -> Result<(), Malformed> {
    let frame = mac::Pdu::decode_cut(octets, original_octets)?;
    let (header, data) = (frame.header_octets(), frame.data);
    let length = frame.lpdu_octets(original_octets);
    layers.push(Layer::Mac(frame));
    let Some(length) = length else {
        layers.push(Layer::Opaque("data", data));
        return Ok(());
    };
    if is_bare_ipx(data) {
        layers.push(Layer::Opaque("IPX without LLC", data));
        return Ok(());
    }
    let pdu = llc::Pdu::decode(data).map_err(|malformed| malformed.within(header))?;
    layers.push(Layer::Llc(pdu));
    let offset = header + pdu.header_octets();
    let result = match (pdu.destination, is_datagram(&pdu)) {
        (Sap::ISO_NETWORK, true) => {
            npdu(pdu.information, length.saturating_sub(pdu.header_octets()), layers)
        }
        (Sap::SNAP, true) => snap::Pdu::decode(pdu.information).map(|pdu| {
            layers.push(Layer::Snap(pdu));
        }),
        _ => Ok(()),
    };
    result.map_err(|malformed| malformed.within(offset))
}

fn npdu<'a>(
    octets: &'a [u8],
    original_octets: usize,
    layers: &mut Layers<'a>,
) -> Result<(), Malformed> {
    let (data, offset, is_whole) = match octets.split_first() {
        Some((&clnp::INACTIVE, data)) => {
            layers.push(Layer::InactiveNetwork);
            (data, 1, octets.len() >= original_octets)
        }
        Some((&clnp::CLNP, _)) => {
            let pdu = clnp::Pdu::decode_cut(octets, original_octets)?;
            let (data, offset) = (pdu.data, pdu.header_octets);
            layers.push(Layer::Clnp(pdu, pdu.verify(octets)));
            if pdu.kind != clnp::Kind::Data {
                return Ok(());
            }
            if pdu.is_segment() {
                layers.push(Layer::Segment(data));
                return Ok(());
            }
            (data, offset, offset + data.len() >= usize::from(pdu.segment_octets))
        }
        Some((&protocol, data)) => {
            let name = match protocol {
                clnp::ES_IS => "ES-IS",
                clnp::IS_IS => "IS-IS",
                _ => "network protocol",
            };
            layers.push(Layer::Opaque(name, data));
            return Ok(());
        }
        None => {
            let field = "network layer protocol identifier";
            return Err(Malformed { field, offset: 0 });
        }
    };
    if is_unit_data(data) {
        layers.push(Layer::Opaque("connectionless transport", data));
        return Ok(());
    }
    nsdu(data, is_whole, layers).map_err(|malformed| malformed.within(offset))
}

fn nsdu<'a>(octets: &'a [u8], is_whole: bool, layers: &mut Layers<'a>) -> Result<(), Malformed> {
    for raw in tp::tpdus(octets) {
        let raw = match raw {
            Err(malformed) if !is_whole && is_cut_header(octets, malformed.offset) => return Ok(()),
            raw => raw?,
        };
        let pdu = tp::Pdu::decode(&raw, None).map_err(|malformed| malformed.within(raw.offset))?;
        let checksum = match raw.checksum(pdu.parameters(), &[]) {
            // The sums go on over user data that is not here.
            tp::Checksum::Good | tp::Checksum::Bad if !is_whole && raw.kind.may_carry_data() => {
                None
            }
            verdict => Some(verdict),
        };
        layers.push(Layer::Tp(pdu, checksum));
    }
    Ok(())
}

/// Whether a TPDU about which there is a complaint at `offset` has a header that reaches past the end.
fn is_cut_header(nsdu: &[u8], offset: usize) -> bool {
    match nsdu.get(offset..) {
        None | Some([] | [_]) => true,
        // 255 is reserved, and less than 2 is no TPDU's, whatever follows.
        Some([indicator @ 2..=254, rest @ ..]) => rest.len() < usize::from(*indicator),
        Some(_) => false,
    }
}
