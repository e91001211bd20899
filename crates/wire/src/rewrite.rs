//! Frames under other names: addresses are mapped in every header, and checksums follow.
//!
//! Where the addresses of a protocol stand, and which of its fields may hold user data, is in the
//! file of the protocol. Checksums over addresses are updated: valid ones stay valid, invalid ones
//! invalid. Everything above transport reaches the meter unchanged, because it detects the user
//! protocol by the octets above; the part that may be kept holds headers only. Of CLNP without
//! segments those are the headers of TPDUs, with selectors mapped and other parameters with
//! possible user octets cleared; of TCP its own header, after which [`Renamer`] adds those of TPKT,
//! TPDUs and S7.

mod streams;

pub use crate::addr::Names;
pub use streams::Renamer;

use crate::dissect::{Link, levels};
use crate::encapsulation::{self, Protocol};
use crate::leaf::Leaf;
use crate::next::{OverInternet, OverOsi, OverSap, OverType};
use crate::{clnp, ipv4, ipv6, llc, mac, mpls, prp, snap, tcp, tp};

/// Frame with mapped addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renamed {
    /// Complete frame, for the meter.
    pub octets: Vec<u8>,
    /// Part that may be kept: selectors mapped, parameters cleared.
    pub kept: Vec<u8>,
    /// Offset after a TCP header that is kept whole.
    stream: Option<usize>,
}

/// Maps the addresses of a frame of which `octets` were captured.
#[must_use]
pub fn rename(names: &dyn Names, link: Link, octets: &[u8], original_octets: usize) -> Renamed {
    let mut frame = Frame {
        names,
        link,
        octets: octets.to_vec(),
        original_octets,
        kept_octets: 0,
        tpdus: None,
        stream: None,
    };
    frame.link();
    let Frame { octets, kept_octets, tpdus, stream, .. } = frame;
    let mut kept = octets.get(..kept_octets).unwrap_or(&octets).to_vec();
    if let Some((start, end)) = tpdus {
        tp::rewrite(names, octets.get(start..end).unwrap_or_default(), &mut kept);
    }
    Renamed { octets, kept, stream }
}

/// A frame whose addresses are being mapped.
struct Frame<'a> {
    names: &'a dyn Names,
    link: Link,
    octets: Vec<u8>,
    original_octets: usize,
    /// End of the part known to hold no private data.
    kept_octets: usize,
    /// Start and end of its TPDUs.
    tpdus: Option<(usize, usize)>,
    /// Start of the TCP payload, if the TCP header is kept whole.
    stream: Option<usize>,
}

impl Frame<'_> {
    fn at(&self, offset: usize) -> &[u8] {
        self.octets.get(offset..).unwrap_or_default()
    }

    fn link(&mut self) {
        let number = match self.link {
            Link::Ethernet => return self.ethernet(),
            Link::Other(number) => number,
        };
        let Some(Ok(frame)) = encapsulation::Pdu::decode(number, &self.octets) else { return };
        let (header, protocol) = (frame.header_octets, frame.protocol);
        encapsulation::rewrite(self.names, number, &mut self.octets);
        self.kept_octets = header;
        match protocol {
            Protocol::Llc => self.llc(header),
            Protocol::Osi => self.network(header),
            Protocol::Internet => self.internet(header),
            Protocol::Type(kind) => self.typed(kind, header),
            // Its tags may reveal more than addresses: nothing of it is kept.
            Protocol::Transport => self.kept_octets = 0,
            Protocol::Other => {}
        }
    }

    fn ethernet(&mut self) {
        mac::rewrite(self.names, &mut self.octets);
        let Ok(frame) = mac::Pdu::decode_cut(&self.octets, self.original_octets) else { return };
        let header = frame.header_octets();
        let (is_llc, kind) = (frame.lpdu_octets(self.original_octets).is_some(), frame.kind);
        self.kept_octets = header;
        match kind {
            _ if is_llc => self.llc(header),
            mac::Kind::Type(prp::TAG) => self.ring(header),
            mac::Kind::Type(kind) => self.typed(kind, header),
            mac::Kind::Length(_) => {}
        }
    }

    /// Rewrites a frame of HSR behind the EtherType of its tag.
    fn ring(&mut self, offset: usize) {
        let length = self.original_octets.saturating_sub(offset);
        let Ok(prp::Behind { kind, .. }) = prp::Mark::tag(self.at(offset), length) else { return };
        let behind = offset + prp::MARK_OCTETS;
        self.kept_octets = behind;
        match kind {
            mac::Kind::Type(kind) => self.typed(kind, behind),
            mac::Kind::Length(_) => self.llc(behind),
        }
    }

    fn llc(&mut self, offset: usize) {
        let Ok(pdu) = llc::Pdu::decode(self.at(offset)) else { return };
        let (behind, sap, control) = (offset + pdu.header_octets(), pdu.destination, pdu.control);
        self.kept_octets = behind;
        if control != llc::Control::Ui {
            return;
        }
        match OverSap::of(sap) {
            Some(OverSap::Osi) => self.network(behind),
            Some(OverSap::Snap) => {
                if let Ok(pdu) = snap::Pdu::decode(self.at(behind))
                    && pdu.organization == [0; 3]
                {
                    let kind = pdu.protocol;
                    self.kept_octets = behind + snap::HEADER_OCTETS;
                    self.typed(kind, behind + snap::HEADER_OCTETS);
                }
            }
            None => {}
        }
    }

    fn typed(&mut self, kind: u16, offset: usize) {
        match OverType::of(kind) {
            Some(OverType::Internet) => self.internet(offset),
            Some(OverType::Leaf(leaf)) => self.leaf(leaf, offset),
            Some(OverType::Mpls) => {
                let Ok(stack) = mpls::Pdu::decode(self.at(offset)) else { return };
                let behind = offset + stack.header_octets();
                self.kept_octets = behind;
                if OverType::of_labelled(self.at(behind)) == Some(OverType::Internet) {
                    self.internet(behind);
                }
            }
            None => {}
        }
    }

    fn network(&mut self, offset: usize) {
        match self.at(offset).first().and_then(|identifier| OverOsi::of(*identifier)) {
            Some(OverOsi::Inactive) => self.nsdu(offset + 1),
            Some(OverOsi::Clnp) => self.clnp(offset),
            Some(OverOsi::Leaf(leaf)) => self.leaf(leaf, offset),
            None => {}
        }
    }

    fn leaf(&mut self, leaf: &Leaf, offset: usize) {
        let octets = self.octets.get_mut(offset..).unwrap_or_default();
        self.kept_octets = offset + (leaf.rewrite)(self.names, octets).min(octets.len());
    }

    fn clnp(&mut self, offset: usize) {
        let length = self.original_octets.saturating_sub(offset);
        let Ok(pdu) = clnp::Pdu::decode_cut(self.at(offset), length) else { return };
        let (behind, is_segment) = (offset + pdu.header_octets, pdu.is_segment());
        let options = pdu.header_octets.saturating_sub(pdu.options.len());
        let is_data = pdu.kind == clnp::Kind::Data;
        let Some(header) = self.octets.get_mut(offset..behind) else { return };
        if clnp::rewrite(self.names, header, options).is_none() {
            return;
        }
        self.kept_octets = behind;
        if is_data && !is_segment {
            self.nsdu(behind);
        }
    }

    /// Marks the start of the TPDUs; `levels` finds their end.
    fn nsdu(&mut self, offset: usize) {
        self.kept_octets = offset.min(self.octets.len());
        let found = levels(self.link, &self.octets, self.original_octets).nsdu;
        if let Ok(nsdu) = found
            && nsdu.segment.is_none()
        {
            self.tpdus = Some((offset, offset + nsdu.octets.len()));
        }
    }

    fn internet(&mut self, offset: usize) {
        if self.at(offset).first().is_some_and(|first| first >> 4 == 6) {
            return self.ipv6(offset);
        }
        let length = self.original_octets.saturating_sub(offset);
        let Ok(pdu) = ipv4::Pdu::decode_cut(self.at(offset), length) else { return };
        let behind = offset + pdu.header_octets();
        let is_tcp =
            OverInternet::of(pdu.protocol) == Some(OverInternet::Tcp) && !pdu.is_fragment();
        let Some(header) = self.octets.get_mut(offset..behind) else { return };
        let Some([before, after]) = ipv4::rewrite(self.names, header) else { return };
        self.kept_octets = behind;
        if is_tcp {
            self.tcp(behind, &before, &after);
        }
    }

    fn ipv6(&mut self, offset: usize) {
        let length = self.original_octets.saturating_sub(offset);
        let Ok(pdu) = ipv6::Pdu::decode_cut(self.at(offset), length) else { return };
        let carried = pdu.carried().ok().map(|it| (it.protocol, it.offset, it.is_fragment));
        let behind = offset + ipv6::HEADER_OCTETS;
        let Some(header) = self.octets.get_mut(offset..behind) else { return };
        let Some([before, after]) = ipv6::rewrite(self.names, header) else { return };
        self.kept_octets = behind;
        if let Some((tcp::PROTOCOL, extensions, false)) = carried {
            self.tcp(behind + extensions, &before, &after);
            // Extension headers may name hosts: the octets after them are not kept.
            if extensions != 0 {
                (self.kept_octets, self.stream) = (behind, None);
            }
        }
    }

    fn tcp(&mut self, offset: usize, before: &[u8], after: &[u8]) {
        let Ok(pdu) = tcp::Pdu::decode(self.at(offset)) else { return };
        let behind = offset + pdu.header_octets();
        let Some(header) = self.octets.get_mut(offset..behind) else { return };
        tcp::rewrite(header, before, after);
        (self.kept_octets, self.stream) = (behind, Some(behind));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inverts the last octet of every address.
    #[derive(Debug)]
    struct Inverted;

    fn invert(address: &mut [u8]) {
        address.iter_mut().last().into_iter().for_each(|octet| *octet = !*octet);
    }

    impl Names for Inverted {
        fn internet(&self, address: &mut [u8]) {
            invert(address);
        }

        fn station(&self, address: &mut [u8]) {
            invert(address);
        }

        fn network(&self, address: &mut [u8]) {
            invert(address);
        }

        fn selector(&self, selector: &mut [u8]) {
            invert(selector);
        }
    }

    #[test]
    fn addresses_of_every_layer_are_mapped_and_the_rest_stays() {
        // A DT over CLNP with NSAPs of two octets, on a LAN.
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0, 24, 0xFE, 0xFE, 3];
        frame.extend([0x81, 15, 1, 64, 0x1C, 0, 21, 0, 0, 2, 0x49, 7, 2, 0x49, 8]);
        frame.extend([4, 0xF0, 0, 1, 0x80, 0x55]);
        let Renamed { octets, kept, .. } = rename(&Inverted, Link::Ethernet, &frame, frame.len());
        let mut expected = frame.clone();
        for place in [5, 11, 28, 31] {
            invert(&mut expected[..=place]);
        }
        assert_eq!(octets, expected);
        // User data is not kept.
        assert_eq!(kept, expected[..expected.len() - 1]);
    }
}
