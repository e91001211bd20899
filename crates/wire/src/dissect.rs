//! The whole chain, from the frame to what it carries.
//!
//! [`levels`] is the meter's way: fixed offsets, no allocation, only what has to be counted. [`dissect`]
//! keeps every layer, to be printed. Neither fails: both say what they could read and what stopped them.

use crate::addr::{Mac, Nsap, Sap};
use crate::read::Malformed;
use crate::{clnp, llc, mac, snap, tp};
use core::fmt;
use smallvec::SmallVec;

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
    /// Whether this is only a segment of an NSDU.
    pub segmented: bool,
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
    let none = |why| Levels { lpdu_octets: None, npdu_octets: None, nsdu: Err(why) };
    if link != Link::Ethernet {
        return none(NoNsdu::Foreign("link type"));
    }
    let frame = match mac::Pdu::decode_cut(octets, original_octets.max(octets.len())) {
        Ok(frame) => frame,
        Err(malformed) => return none(NoNsdu::Malformed(malformed)),
    };
    let mac::Kind::Length(length) = frame.kind else {
        return none(NoNsdu::Foreign("EtherType"));
    };
    let (header, length) = (frame.header_octets(), usize::from(length));
    let lpdu_octets = Some(header + length);
    let llc = match llc::Pdu::decode(frame.data) {
        Ok(llc) => llc,
        Err(malformed) => {
            let why = NoNsdu::Malformed(malformed.within(header));
            return Levels { lpdu_octets, npdu_octets: None, nsdu: Err(why) };
        }
    };
    let foreign = |why| Levels { lpdu_octets, npdu_octets: None, nsdu: Err(NoNsdu::Foreign(why)) };
    if llc.destination != Sap::ISO_NETWORK {
        return foreign("SAP");
    }
    if llc.control != llc::Control::Ui {
        return foreign("LLC control");
    }
    let npdu_octets = length.saturating_sub(llc.header_octets());
    let nsdu = network(&frame, llc.information, npdu_octets)
        .map_err(|why| within(why, header + llc.header_octets()));
    Levels { lpdu_octets, npdu_octets: Some(npdu_octets), nsdu }
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
    match npdu.split_first() {
        Some((&clnp::INACTIVE, octets)) => Ok(Nsdu {
            source,
            destination,
            source_nsap: Nsap::default(),
            destination_nsap: Nsap::default(),
            octets,
            missing_octets: missing(original_octets - 1, octets),
            segmented: false,
        }),
        Some((&clnp::CLNP, _)) => {
            let pdu = clnp::Pdu::decode_cut(npdu, original_octets).map_err(NoNsdu::Malformed)?;
            if pdu.kind != clnp::Kind::Data {
                return Err(NoNsdu::Foreign("CLNP type"));
            }
            let whole = usize::from(pdu.segment_octets) - pdu.header_octets;
            Ok(Nsdu {
                source,
                destination,
                source_nsap: pdu.source,
                destination_nsap: pdu.destination,
                octets: pdu.data,
                missing_octets: missing(whole, pdu.data),
                segmented: pdu.is_segment(),
            })
        }
        Some((&clnp::ES_IS, _)) => Err(NoNsdu::Foreign("ES-IS")),
        Some((&clnp::IS_IS, _)) => Err(NoNsdu::Foreign("IS-IS")),
        Some(_) => Err(NoNsdu::Foreign("network protocol")),
        None => {
            let field = "network layer protocol identifier";
            Err(NoNsdu::Malformed(Malformed { field, offset: 0 }))
        }
    }
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
    /// A TPDU and what its checksum says.
    Tp(tp::Pdu<'a>, tp::Checksum),
    /// Octets of a protocol that is not decoded here, and its name.
    Opaque(&'static str, &'a [u8]),
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
            Self::Tp(pdu, tp::Checksum::Bad) => write!(f, "{pdu} BAD CHECKSUM"),
            Self::Tp(pdu, _) => pdu.fmt(f),
            Self::Opaque(name, octets) => write!(f, "{name} {} octets", octets.len()),
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
        let mut lines = self.layers.iter().map(|layer| layer as &dyn fmt::Display);
        if let Some(first) = lines.next() {
            first.fmt(f)?;
        }
        for line in lines.chain(self.fault.iter().map(|fault| fault as &dyn fmt::Display)) {
            write!(f, "\n{line}")?;
        }
        Ok(())
    }
}

/// Every layer of a frame.
#[must_use]
pub fn dissect(link: Link, octets: &[u8]) -> Dissection<'_> {
    let mut dissection = Dissection { layers: SmallVec::new(), fault: None };
    if link == Link::Ethernet {
        dissection.fault = ethernet(octets, &mut dissection.layers).err();
    } else {
        dissection.layers.push(Layer::Opaque("frame of a link type not decoded here,", octets));
    }
    dissection
}

type Layers<'a> = SmallVec<[Layer<'a>; 6]>;

fn ethernet<'a>(octets: &'a [u8], layers: &mut Layers<'a>) -> Result<(), Malformed> {
    let frame = mac::Pdu::decode(octets)?;
    let (header, data, kind) = (frame.header_octets(), frame.data, frame.kind);
    layers.push(Layer::Mac(frame));
    if let mac::Kind::Type(_) = kind {
        layers.push(Layer::Opaque("data", data));
        return Ok(());
    }
    let pdu = llc::Pdu::decode(data).map_err(|malformed| malformed.within(header))?;
    layers.push(Layer::Llc(pdu));
    let offset = header + pdu.header_octets();
    let result = match (pdu.destination, pdu.control) {
        (Sap::ISO_NETWORK, llc::Control::Ui) => npdu(pdu.information, layers),
        (Sap::SNAP, llc::Control::Ui) => snap::Pdu::decode(pdu.information).map(|pdu| {
            layers.push(Layer::Snap(pdu));
        }),
        _ => Ok(()),
    };
    result.map_err(|malformed| malformed.within(offset))
}

fn npdu<'a>(octets: &'a [u8], layers: &mut Layers<'a>) -> Result<(), Malformed> {
    let (data, offset) = match octets.split_first() {
        Some((&clnp::INACTIVE, data)) => {
            layers.push(Layer::InactiveNetwork);
            (data, 1)
        }
        Some((&clnp::CLNP, _)) => {
            let pdu = clnp::Pdu::decode(octets)?;
            let (data, offset) = (pdu.data, pdu.header_octets);
            let is_transport = pdu.kind == clnp::Kind::Data && !pdu.is_segment();
            layers.push(Layer::Clnp(pdu, pdu.verify(octets)));
            if !is_transport {
                return Ok(());
            }
            (data, offset)
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
    nsdu(data, layers).map_err(|malformed| malformed.within(offset))
}

fn nsdu<'a>(octets: &'a [u8], layers: &mut Layers<'a>) -> Result<(), Malformed> {
    for raw in tp::tpdus(octets) {
        let raw = raw?;
        let pdu = tp::Pdu::decode(&raw, None).map_err(|malformed| malformed.within(raw.offset))?;
        layers.push(Layer::Tp(pdu, raw.checksum(pdu.parameters(), &[])));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

    fn frame(rest: &[u8]) -> Vec<u8> {
        [&MAC[..], rest].concat()
    }

    // Length 14: LLC fe fe 03, inactive 00, DT with five octets; then padding.
    const DT: [u8; 18] =
        [0, 14, 0xFE, 0xFE, 3, 0, 4, 0xF0, 2, 2, 0x80, b'h', b'e', b'l', b'l', b'o', 0, 0];

    #[test]
    fn a_frame_prints_a_line_per_layer() {
        let octets = frame(&DT);
        assert_eq!(
            dissect(Link::Ethernet, &octets).to_string(),
            "MAC 02:00:00:00:00:01>02:00:00:00:00:02 length=14 padding=2\n\
             LLC fe>fe UI 11 octets\n\
             CLNP inactive\n\
             TP DT 0x0202 nr=0 eot 5 octets"
        );
    }

    #[test]
    fn a_fault_keeps_what_came_before_it_and_counts_from_the_start_of_the_frame() {
        let mut octets = frame(&DT);
        octets[18] = 0x20;
        assert_eq!(
            dissect(Link::Ethernet, &octets).to_string(),
            "MAC 02:00:00:00:00:01>02:00:00:00:00:02 length=14 padding=2\n\
             LLC fe>fe UI 11 octets\n\
             CLNP inactive\n\
             malformed length indicator at octet 18"
        );
    }

    #[test]
    fn octets_are_counted_as_the_paper_counts_them() {
        // 14 of MAC and 3 of LLC make the 17 octets of link header; one octet is the network header.
        let octets = frame(&DT);
        let levels = levels(Link::Ethernet, &octets, octets.len());
        assert_eq!((levels.lpdu_octets, levels.npdu_octets), (Some(28), Some(11)));
        let nsdu = levels.nsdu.unwrap();
        assert_eq!((nsdu.octets.len(), nsdu.missing_octets), (10, 0));
        assert_eq!((nsdu.source, nsdu.destination), (Mac::local(1), Mac::local(2)));
    }

    #[test]
    fn a_capture_that_cuts_frames_short_still_counts_what_was_sent() {
        let octets = frame(&DT);
        let levels = levels(Link::Ethernet, &octets[..24], octets.len());
        assert_eq!((levels.lpdu_octets, levels.npdu_octets), (Some(28), Some(11)));
        let nsdu = levels.nsdu.unwrap();
        assert_eq!((nsdu.octets, nsdu.missing_octets), (&[4, 0xF0, 2, 2, 0x80, b'h'][..], 4));
    }

    #[test]
    fn what_is_not_transport_says_what_it_is() {
        let why = |rest: &[u8]| {
            let octets = frame(rest);
            levels(Link::Ethernet, &octets, octets.len()).nsdu.map(|_| ()).unwrap_err()
        };
        assert_eq!(why(&[8, 0, 69]), NoNsdu::Foreign("EtherType"));
        assert_eq!(why(&[0, 4, 0x42, 0x42, 3, 0]), NoNsdu::Foreign("SAP"));
        assert_eq!(why(&[0, 3, 0xFE, 0xFE, 0xAF]), NoNsdu::Foreign("LLC control"));
        assert_eq!(why(&[0, 4, 0xFE, 0xFE, 3, 0x83]), NoNsdu::Foreign("IS-IS"));
        let malformed = |field, offset| NoNsdu::Malformed(Malformed { field, offset });
        assert_eq!(why(&[0, 2, 0xFE, 0xFE]), malformed("control", 16));
        assert_eq!(why(&[0, 3, 0xFE, 0xFE, 3]), malformed("network layer protocol identifier", 17));
        assert_eq!(levels(Link::Other(147), &[], 0).nsdu, Err(NoNsdu::Foreign("link type")));
    }
}
