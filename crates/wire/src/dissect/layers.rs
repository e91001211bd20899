//! Every layer of a frame, to be printed.

use super::{Link, is_bare_ipx, is_datagram, is_missing, is_unit_data};
use crate::encapsulation::{self, Protocol};
use crate::leaf::Leaf;
use crate::next::{OverInternet, OverOsi, OverSap, OverType};
use crate::read::Malformed;
use crate::{
    acse, case, clnp, ipv4, ipv6, llc, mac, mms, mpls, presentation, prp, s7, session, snap, tcp,
};
use crate::{tp, tpkt};
use core::fmt;
use smallvec::SmallVec;

/// One layer of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Layer<'a> {
    /// The MAC frame.
    Mac(mac::Pdu<'a>),
    /// The LLC PDU.
    Llc(llc::Pdu<'a>),
    /// The SNAP PDU.
    Snap(snap::Pdu<'a>),
    /// The header of a link other than Ethernet.
    Encapsulation(encapsulation::Pdu<'a>),
    /// Trailer of PRP, behind all other layers, or tag of HSR.
    Redundancy(prp::Mark),
    /// The MPLS label stack.
    Mpls(mpls::Pdu<'a>),
    /// The IP packet, version 4.
    Ipv4(ipv4::Pdu<'a>),
    /// The IP packet, version 6.
    Ipv6(ipv6::Pdu<'a>),
    /// The TCP segment.
    Tcp(tcp::Pdu<'a>),
    /// A TPKT header in a TCP stream.
    Tpkt(tpkt::Header),
    /// PDU of a protocol that ends the frame; the leaf's `kind` accepts it.
    Leaf(&'static Leaf, &'a [u8]),
    /// Protocol identifier of the inactive subset: no network header.
    InactiveNetwork,
    /// CLNP PDU and the result of its checksum.
    Clnp(clnp::Pdu<'a>, clnp::Checksum),
    /// TPDU and the result of its checksum; `None` if not all octets that it covers were captured.
    Tp(tp::Pdu<'a>, Option<tp::Checksum>),
    /// Segment of an NSDU: its TPDUs cannot be separated before reassembly.
    Segment(&'a [u8]),
    /// Name and octets of a protocol that is not decoded here.
    Opaque(&'static str, &'a [u8]),
    /// Header of an S7 PDU in the user data of a DT.
    S7(s7::Header),
    /// TSDU with an SPDU; [`session::Pdu::decode`] accepts it.
    Session(&'a [u8]),
    /// PPDU in an SPDU of a kind; [`presentation::Pdu::decode`] accepts it.
    Presentation(session::Kind, &'a [u8]),
    /// APDU of association control; [`acse::Pdu::decode`] accepts it.
    Acse(&'a [u8]),
    /// Data of CASE; [`case::Pdu::decode`] accepts it.
    Case(&'a [u8]),
    /// MMS PDU; [`mms::Pdu::decode`] accepts it.
    Mms(&'a [u8]),
    /// Field that stopped the decoding above session; its offset counts from the start of the TSDU.
    NotUnderstood(Malformed),
    /// Name and captured octets of a layer whose header the capture cut off.
    Cut(&'static str, &'a [u8]),
    /// End of a frame that was not captured.
    Missing {
        /// Captured octets of the frame.
        captured_octets: usize,
        /// Octets not captured.
        missing_octets: usize,
    },
}

impl fmt::Display for Layer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mac(pdu) => pdu.fmt(f),
            Self::Llc(pdu) => pdu.fmt(f),
            Self::Snap(pdu) => pdu.fmt(f),
            Self::Encapsulation(pdu) => pdu.fmt(f),
            Self::Redundancy(mark) => mark.fmt(f),
            Self::Mpls(pdu) => pdu.fmt(f),
            Self::Ipv4(pdu) => pdu.fmt(f),
            Self::Ipv6(pdu) => pdu.fmt(f),
            Self::Tcp(pdu) => pdu.fmt(f),
            Self::Tpkt(header) => write!(f, "TPKT {} octets", header.packet_octets),
            Self::Leaf(leaf, octets) => (leaf.print)(octets, f),
            Self::InactiveNetwork => f.write_str("CLNP inactive"),
            Self::Clnp(pdu, clnp::Checksum::Bad) => write!(f, "{pdu} BAD CHECKSUM"),
            Self::Clnp(pdu, _) => pdu.fmt(f),
            Self::Tp(pdu, Some(tp::Checksum::Bad)) => write!(f, "{pdu} BAD CHECKSUM"),
            Self::Tp(pdu, _) => pdu.fmt(f),
            Self::Segment(octets) => write!(f, "segment of an NSDU {} octets", octets.len()),
            Self::Opaque(name, octets) => write!(f, "{name} {} octets", octets.len()),
            Self::S7(header) => header.fmt(f),
            Self::Session(tsdu) => line(f, session::Pdu::decode(tsdu)),
            Self::Presentation(kind, ssdu) => line(f, presentation::Pdu::decode(*kind, ssdu)),
            Self::Acse(apdu) => line(f, acse::Pdu::decode(apdu)),
            Self::Case(apdu) => line(f, case::Pdu::decode(apdu)),
            Self::Mms(pdu) => line(f, mms::Pdu::decode(pdu)),
            Self::NotUnderstood(fault) => write!(f, "{fault} of the TSDU"),
            Self::Cut(name, octets) => {
                write!(f, "{name} header, only the first octets: {}", octets.len())
            }
            Self::Missing { captured_octets, missing_octets } => {
                write!(f, "{missing_octets} octets not captured, from octet {captured_octets} on")
            }
        }
    }
}

/// Prints a layer that is kept as octets.
fn line<T: fmt::Display>(f: &mut fmt::Formatter<'_>, pdu: Result<T, Malformed>) -> fmt::Result {
    match pdu {
        Ok(pdu) => pdu.fmt(f),
        Err(fault) => write!(f, "{fault}"),
    }
}

/// Layers of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dissection<'a> {
    /// Layers, outermost first; each of several concatenated TPDUs is one.
    pub layers: SmallVec<[Layer<'a>; 6]>,
    /// Field that stopped the decoding; its offset counts from the start of the frame.
    pub fault: Option<Malformed>,
}

impl fmt::Display for Dissection<'_> {
    /// Prints one line per layer, and one for the fault.
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

/// Decodes the layers of a frame that was `original_octets` long and of which `octets` were
/// captured, but none above transport other than S7.
pub(crate) fn dissect_to_transport(
    link: Link,
    octets: &[u8],
    original_octets: usize,
) -> Dissection<'_> {
    let mut dissection = Dissection { layers: SmallVec::new(), fault: None };
    let missing_octets = original_octets.saturating_sub(octets.len());
    let original_octets = octets.len() + missing_octets;
    let is_ethernet = link.is_ethernet();
    let trailer = prp::Mark::trailer(octets).filter(|_| is_ethernet && missing_octets == 0);
    let read = match (link, trailer) {
        (Link::Ethernet, Some(_)) => {
            let front_octets = octets.len().saturating_sub(prp::MARK_OCTETS);
            let front = octets.get(..front_octets).unwrap_or(octets);
            ethernet(front, front.len(), &mut dissection.layers)
        }
        (Link::Ethernet, None) => ethernet(octets, original_octets, &mut dissection.layers),
        (Link::Other(number), _) => {
            encapsulated(number, octets, original_octets, &mut dissection.layers)
        }
    };
    if let Err(Stop { name, octets: there, fault }) = read {
        if missing_octets == 0 || !is_missing(fault, octets.len()) {
            dissection.fault = Some(fault);
        } else if !there.is_empty() {
            dissection.layers.push(Layer::Cut(name, there));
        }
    }
    dissection.layers.extend(trailer.map(Layer::Redundancy));
    if missing_octets > 0 {
        let captured_octets = octets.len();
        dissection.layers.push(Layer::Missing { captured_octets, missing_octets });
    }
    dissection
}

pub(super) type Layers<'a> = SmallVec<[Layer<'a>; 6]>;

/// Layer that cannot be decoded, and the reason.
struct Stop<'a> {
    /// Name of the layer.
    name: &'static str,
    /// Octets of the layer.
    octets: &'a [u8],
    /// Field, with its offset from the start of `octets`.
    fault: Malformed,
}

impl<'a> Stop<'a> {
    /// Returns a function that attaches the layer's name and octets to a decoding error.
    fn at(name: &'static str, octets: &'a [u8]) -> impl Fn(Malformed) -> Self {
        move |fault| Self { name, octets, fault }
    }

    /// Moves the offset by `octets`, the length of the outer headers.
    const fn within(self, octets: usize) -> Self {
        Self { fault: self.fault.within(octets), ..self }
    }
}

fn ethernet<'a>(
    octets: &'a [u8],
    original_octets: usize,
    layers: &mut Layers<'a>,
) -> Result<(), Stop<'a>> {
    let frame = mac::Pdu::decode_cut(octets, original_octets).map_err(Stop::at("MAC", octets))?;
    let (header, data) = (frame.header_octets(), frame.data);
    let length = frame.lpdu_octets(original_octets);
    let kind = frame.kind;
    layers.push(Layer::Mac(frame));
    let Some(length) = length else {
        let mac::Kind::Type(number) = kind else { return Ok(()) };
        let rest_octets = original_octets - header;
        return match number {
            prp::TAG => ring(data, rest_octets, layers),
            _ => typed(number, data, rest_octets, layers),
        }
        .map_err(|stop| stop.within(header));
    };
    if is_bare_ipx(data) {
        layers.push(Layer::Opaque("IPX without LLC", data));
        return Ok(());
    }
    lpdu(data, length, layers).map_err(|stop| stop.within(header))
}

/// Decodes a frame of HSR behind the EtherType of its tag.
fn ring<'a>(
    octets: &'a [u8],
    original_octets: usize,
    layers: &mut Layers<'a>,
) -> Result<(), Stop<'a>> {
    let prp::Behind { mark, kind, data } =
        prp::Mark::tag(octets, original_octets).map_err(Stop::at("HSR", octets))?;
    layers.push(Layer::Redundancy(mark));
    match kind {
        mac::Kind::Type(number) => {
            typed(number, data, original_octets.saturating_sub(prp::MARK_OCTETS), layers)
        }
        mac::Kind::Length(length) => lpdu(data, length.into(), layers),
    }
    .map_err(|stop| stop.within(prp::MARK_OCTETS))
}

fn encapsulated<'a>(
    link: u32,
    octets: &'a [u8],
    original_octets: usize,
    layers: &mut Layers<'a>,
) -> Result<(), Stop<'a>> {
    let Some(frame) = encapsulation::Pdu::decode(link, octets) else {
        layers.push(Layer::Opaque("frame of a link type not decoded here,", octets));
        return Ok(());
    };
    let frame = frame.map_err(Stop::at("link", octets))?;
    let (data, rest_octets) = (frame.data, original_octets - frame.header_octets);
    layers.push(Layer::Encapsulation(frame));
    let read = match frame.protocol {
        Protocol::Llc => lpdu(data, rest_octets, layers),
        Protocol::Osi => npdu(data, rest_octets, layers),
        Protocol::Internet => internet(data, rest_octets, layers),
        Protocol::Transport => nsdu(data, rest_octets, layers),
        Protocol::Type(number) => typed(number, data, rest_octets, layers),
        Protocol::Other => {
            layers.push(Layer::Opaque("data", data));
            Ok(())
        }
    };
    read.map_err(|stop| stop.within(frame.header_octets))
}

fn lpdu<'a>(octets: &'a [u8], length: usize, layers: &mut Layers<'a>) -> Result<(), Stop<'a>> {
    let pdu = llc::Pdu::decode(octets).map_err(Stop::at("LLC", octets))?;
    layers.push(Layer::Llc(pdu));
    let (offset, rest_octets) = (pdu.header_octets(), length.saturating_sub(pdu.header_octets()));
    let read = match OverSap::of(pdu.destination).filter(|_| is_datagram(&pdu)) {
        Some(OverSap::Osi) => npdu(pdu.information, rest_octets, layers),
        Some(OverSap::Snap) => access(pdu.information, rest_octets, layers),
        None => Ok(()),
    };
    read.map_err(|stop| stop.within(offset))
}

/// Decodes a SNAP PDU.
fn access<'a>(
    octets: &'a [u8],
    original_octets: usize,
    layers: &mut Layers<'a>,
) -> Result<(), Stop<'a>> {
    let pdu = snap::Pdu::decode(octets).map_err(Stop::at("SNAP", octets))?;
    layers.push(Layer::Snap(pdu));
    if pdu.organization != [0; 3] {
        return Ok(());
    }
    let rest_octets = original_octets.saturating_sub(snap::HEADER_OCTETS);
    typed(pdu.protocol, pdu.data, rest_octets, layers)
        .map_err(|stop| stop.within(snap::HEADER_OCTETS))
}

/// Decodes the contents of an EtherType.
fn typed<'a>(
    number: u16,
    octets: &'a [u8],
    original_octets: usize,
    layers: &mut Layers<'a>,
) -> Result<(), Stop<'a>> {
    match OverType::of(number) {
        Some(OverType::Internet) => return internet(octets, original_octets, layers),
        Some(OverType::Mpls) => {}
        Some(OverType::Leaf(found)) => return leaf(found, octets, original_octets, layers),
        None => {
            layers.push(Layer::Opaque("data", octets));
            return Ok(());
        }
    }
    let stack = mpls::Pdu::decode(octets).map_err(Stop::at("MPLS", octets))?;
    layers.push(Layer::Mpls(stack));
    if OverType::of_labelled(stack.data).is_none() {
        layers.push(Layer::Opaque("data", stack.data));
        return Ok(());
    }
    let offset = stack.header_octets();
    internet(stack.data, original_octets.saturating_sub(offset), layers)
        .map_err(|stop| stop.within(offset))
}

/// Decodes a PDU that ends the frame.
fn leaf<'a>(
    leaf: &'static Leaf,
    octets: &'a [u8],
    original_octets: usize,
    layers: &mut Layers<'a>,
) -> Result<(), Stop<'a>> {
    match (leaf.kind)(octets) {
        Ok(_) => layers.push(Layer::Leaf(leaf, octets)),
        Err(_) if octets.len() < original_octets => layers.push(Layer::Cut(leaf.name, octets)),
        Err(fault) => return Err(Stop::at(leaf.name, octets)(fault)),
    }
    Ok(())
}

fn internet<'a>(
    octets: &'a [u8],
    original_octets: usize,
    layers: &mut Layers<'a>,
) -> Result<(), Stop<'a>> {
    let (protocol, is_fragment, offset, data) =
        if octets.first().is_some_and(|first| first >> 4 == 6) {
            let pdu =
                ipv6::Pdu::decode_cut(octets, original_octets).map_err(Stop::at("IPv6", octets))?;
            layers.push(Layer::Ipv6(pdu));
            let carried = pdu.carried().map_err(Stop::at("IPv6 extension", pdu.data))?;
            let offset = ipv6::HEADER_OCTETS + carried.offset;
            (carried.protocol, carried.is_fragment, offset, carried.octets)
        } else {
            let pdu =
                ipv4::Pdu::decode_cut(octets, original_octets).map_err(Stop::at("IPv4", octets))?;
            layers.push(Layer::Ipv4(pdu));
            (pdu.protocol, pdu.is_fragment(), pdu.header_octets(), pdu.data)
        };
    if OverInternet::of(protocol) != Some(OverInternet::Tcp) || is_fragment {
        layers.push(Layer::Opaque("data", data));
        return Ok(());
    }
    let pdu =
        tcp::Pdu::decode(data).map_err(|fault| Stop::at("TCP", data)(fault).within(offset))?;
    layers.push(Layer::Tcp(pdu));
    stream(pdu.data, octets.len() >= original_octets, layers);
    Ok(())
}

/// Decodes the TPKTs of a segment that begins with one, as far as they lie within it. A segment
/// that the capture cut is not whole.
fn stream<'a>(octets: &'a [u8], is_whole: bool, layers: &mut Layers<'a>) {
    let mut rest = octets;
    while tpkt::is_believable(rest)
        && let Ok(header) = tpkt::Header::decode(rest)
    {
        layers.push(Layer::Tpkt(header));
        let packet_octets = usize::from(header.packet_octets);
        let (packet, behind) = rest.split_at_checked(packet_octets).unwrap_or((rest, &[]));
        let tpdus = packet.get(tpkt::HEADER_OCTETS..).unwrap_or_default();
        if nsdu(tpdus, header.tpdu_octets(), layers).is_err() {
            layers.push(Layer::Opaque("TPDUs not understood,", tpdus));
        }
        rest = behind;
    }
    match rest {
        [] => {}
        // A single octet identifies no protocol, unless a packet ends before it.
        [_] if is_whole || octets.len() == 1 => layers.push(Layer::Opaque("data", rest)),
        _ if !is_whole && tpkt::is_front(rest) => front(rest, layers),
        _ => layers.push(Layer::Opaque("data", rest)),
    }
}

/// Decodes the front of a TPKT of which the capture has too little to identify its contents.
fn front<'a>(octets: &'a [u8], layers: &mut Layers<'a>) {
    let Ok(header) = tpkt::Header::decode(octets) else {
        return layers.push(Layer::Cut("TPKT", octets));
    };
    layers.push(Layer::Tpkt(header));
    layers.extend(cut_tpdu(octets.get(tpkt::HEADER_OCTETS..).unwrap_or_default()));
}

/// Layer of a TPDU in whose header the capture ends; `None` if it ends before the TPDU.
fn cut_tpdu(octets: &[u8]) -> Option<Layer<'_>> {
    let kind = octets.get(1).and_then(|code| tp::Kind::of_code(*code));
    (!octets.is_empty()).then_some(Layer::Cut(kind.map_or("TPDU", tp::Kind::name), octets))
}

fn npdu<'a>(
    octets: &'a [u8],
    original_octets: usize,
    layers: &mut Layers<'a>,
) -> Result<(), Stop<'a>> {
    let Some((identifier, behind)) = octets.split_first() else {
        let field = "network layer protocol identifier";
        return Err(Stop::at("network", octets)(Malformed { field, offset: 0 }));
    };
    let (data, offset, nsdu_octets) = match OverOsi::of(*identifier) {
        Some(OverOsi::Inactive) => {
            layers.push(Layer::InactiveNetwork);
            (behind, 1, original_octets.saturating_sub(1))
        }
        Some(OverOsi::Clnp) => {
            let pdu =
                clnp::Pdu::decode_cut(octets, original_octets).map_err(Stop::at("CLNP", octets))?;
            let (data, offset) = (pdu.data, pdu.header_octets);
            layers.push(Layer::Clnp(pdu, pdu.verify(octets)));
            if pdu.kind != clnp::Kind::Data {
                return Ok(());
            }
            if pdu.is_segment() {
                layers.push(Layer::Segment(data));
                return Ok(());
            }
            (data, offset, usize::from(pdu.segment_octets).saturating_sub(offset))
        }
        Some(OverOsi::Leaf(found)) => return leaf(found, octets, original_octets, layers),
        None => {
            layers.push(Layer::Opaque("network protocol", behind));
            return Ok(());
        }
    };
    if is_unit_data(data) {
        layers.push(Layer::Opaque("connectionless transport", data));
        return Ok(());
    }
    nsdu(data, nsdu_octets, layers).map_err(|stop| stop.within(offset))
}

/// Decodes the TPDUs of an NSDU that was `original_octets` long.
fn nsdu<'a>(
    octets: &'a [u8],
    original_octets: usize,
    layers: &mut Layers<'a>,
) -> Result<(), Stop<'a>> {
    let is_whole = octets.len() >= original_octets;
    let mut begins = 0;
    for raw in tp::tpdus(octets) {
        let rest = octets.get(begins..).unwrap_or_default();
        let raw = match raw {
            Err(fault) if !is_whole && is_cut_header(octets, fault.offset) => {
                layers.extend(cut_tpdu(rest));
                return Ok(());
            }
            raw => raw.map_err(Stop::at("TPDU", rest))?,
        };
        let pdu = tp::Pdu::decode(&raw, None)
            .map_err(|fault| Stop::at("TPDU", rest)(fault).within(raw.offset))?;
        let checksum = match raw.checksum(pdu.parameters(), &[]) {
            // The checksum also covers user data that was not captured.
            tp::Checksum::Good | tp::Checksum::Bad if !is_whole && raw.kind.may_carry_data() => {
                None
            }
            verdict => Some(verdict),
        };
        layers.push(Layer::Tp(pdu, checksum));
        if let tp::Pdu::Dt(dt) = pdu {
            let data_octets = original_octets.saturating_sub(raw.offset + raw.header_octets);
            layers.extend(user(&dt, data_octets));
        }
        begins = raw.offset + raw.octets.len();
    }
    Ok(())
}

/// S7 header in the user data of a DT, which had `data_octets` octets of it, as far as it was
/// captured.
fn user<'a>(dt: &tp::Data<'a>, data_octets: usize) -> Option<Layer<'a>> {
    // Fewer octets cannot be recognised as S7.
    if dt.data.len() < 2 || !s7::is_prefix(dt.data) {
        return None;
    }
    match s7::Header::decode(dt.data) {
        Ok(header) => {
            let ends = header.pdu_octets().cmp(&data_octets);
            let fits = if dt.end_of_tsdu { ends.is_eq() } else { ends.is_ge() };
            fits.then_some(Layer::S7(header))
        }
        Err(_) => (dt.data.len() < data_octets).then_some(Layer::Cut("S7", dt.data)),
    }
}

/// Returns true if the malformed TPDU at `offset` has a header that reaches past the end of `nsdu`.
fn is_cut_header(nsdu: &[u8], offset: usize) -> bool {
    match nsdu.get(offset..) {
        None | Some([] | [_]) => true,
        // 255 is reserved, and less than 2 is no TPDU's, whatever follows.
        Some([indicator @ 2..=254, rest @ ..]) => rest.len() < usize::from(*indicator),
        Some(_) => false,
    }
}
