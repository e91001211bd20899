//! Pseudonymisation of a frame, and the part of it that may be kept.
//!
//! Addresses are rewritten in the headers of links, CLNP and IP, and checksums over them are
//! updated: valid checksums stay valid, invalid ones invalid. Everything else reaches the meter
//! unchanged, because it detects the user protocol by the octets above; a capture receives headers
//! only. Of CLNP without segments those are the headers of TPDUs, with selectors mapped and other
//! parameters with possible user octets cleared; of TCP its own header, after which
//! [`super::tpkts`] adds others.

use super::{Key, tcp_options};
use wire::addr::Sap;
use wire::checksum::Fletcher;
use wire::dissect::{Link, levels};
use wire::encapsulation::{self, Protocol};
use wire::tp::{Kind, Raw, tpdus};
use wire::{clnp, ipv4, ipv6, llc, mac, mpls, snap, tcp, tp};

/// Offsets of addresses in headers.
const SLL_ADDRESS: usize = 6;
const SLL2_ADDRESS: usize = 12;
const FDDI_ADDRESSES: usize = 1;
const CLNP_ADDRESSES: usize = 9;
const CLNP_CHECKSUM: usize = 7;
const IPV4_CHECKSUM: usize = 10;
const IPV4_ADDRESSES: usize = 12;
const IPV6_ADDRESSES: usize = 8;
const TCP_CHECKSUM: usize = 16;
/// Padding options of CLNP (ISO 8473 7.5.2) and of IPv4.
const CLNP_PADDING: u8 = 0xCC;
const IPV4_PADDING: u8 = 1;
/// Calling and called transport selector (ISO 8073 13.3.4).
const SELECTORS: [u8; 2] = [0xC1, 0xC2];
/// The checksum (ISO 8073 13.2.3.1).
const CHECKSUM: u8 = 0xC3;
/// Other parameters that hold only numbers: sizes, versions, times, options, credit.
const NUMBERS: [u8; 13] =
    [0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x8B, 0x8C, 0xC0, 0xC4, 0xC6, 0xC7, 0xF0];

/// A pseudonymised frame.
pub(crate) struct Renamed {
    /// Complete frame, for the meter.
    pub(crate) octets: Vec<u8>,
    /// Part that may be kept: selectors mapped, parameters cleared.
    pub(crate) kept: Vec<u8>,
    /// Offset after a TCP header that is kept whole.
    pub(super) stream: Option<usize>,
}

/// Pseudonymises a frame.
pub(crate) fn rename(key: &Key, link: Link, octets: &[u8], original_octets: usize) -> Renamed {
    let mut frame = Frame {
        key,
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
        headers(key, octets.get(start..end).unwrap_or_default(), &mut kept);
    }
    Renamed { octets, kept, stream }
}

/// A frame during pseudonymisation.
struct Frame<'a> {
    key: &'a Key,
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

    fn station(&mut self, offset: usize) {
        if let Some(address) = self.octets.get_mut(offset..offset + 6) {
            self.key.station(address);
        }
    }

    fn link(&mut self) {
        let number = match self.link {
            Link::Ethernet => return self.ethernet(),
            Link::Other(number) => number,
        };
        let Some(Ok(frame)) = encapsulation::Pdu::decode(number, &self.octets) else { return };
        let (header, protocol) = (frame.header_octets, frame.protocol);
        match number {
            10 => [0, 6].into_iter().for_each(|place| self.station(FDDI_ADDRESSES + place)),
            113 => self.station(SLL_ADDRESS),
            276 => self.station(SLL2_ADDRESS),
            252 => self.tags(),
            _ => {}
        }
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

    /// Maps the addresses among the tags of an exported PDU.
    fn tags(&mut self) {
        let key = self.key;
        let mut rest = self.octets.as_mut_slice();
        while let [a, b, c, d, behind @ ..] = rest {
            let (tag, length) = (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]));
            let (value, next) = behind.split_at_mut(usize::from(length).min(behind.len()));
            match tag {
                0 => return,
                20..=23 => key.internet(value),
                _ => {}
            }
            rest = next;
        }
    }

    fn ethernet(&mut self) {
        self.station(0);
        self.station(6);
        let Ok(frame) = mac::Pdu::decode_cut(&self.octets, self.original_octets) else { return };
        let header = frame.header_octets();
        let (is_llc, kind) = (frame.lpdu_octets(self.original_octets).is_some(), frame.kind);
        self.kept_octets = header;
        match kind {
            _ if is_llc => self.llc(header),
            mac::Kind::Type(kind) => self.typed(kind, header),
            mac::Kind::Length(_) => {}
        }
    }

    fn llc(&mut self, offset: usize) {
        let Ok(pdu) = llc::Pdu::decode(self.at(offset)) else { return };
        let (behind, sap, control) = (offset + pdu.header_octets(), pdu.destination, pdu.control);
        self.kept_octets = behind;
        if control != llc::Control::Ui {
            return;
        }
        if sap == Sap::ISO_NETWORK {
            self.network(behind);
        } else if sap == Sap::SNAP
            && let Ok(pdu) = snap::Pdu::decode(self.at(behind))
            && pdu.organization == [0; 3]
        {
            let kind = pdu.protocol;
            self.kept_octets = behind + snap::HEADER_OCTETS;
            self.typed(kind, behind + snap::HEADER_OCTETS);
        }
    }

    fn typed(&mut self, kind: u16, offset: usize) {
        match kind {
            0x0800 | 0x86DD => self.internet(offset),
            kind if mpls::ETHERTYPES.contains(&kind) => {
                let Ok(stack) = mpls::Pdu::decode(self.at(offset)) else { return };
                let behind = offset + stack.header_octets();
                self.kept_octets = behind;
                if matches!(self.at(behind).first().map(|first| first >> 4), Some(4 | 6)) {
                    self.internet(behind);
                }
            }
            _ => {}
        }
    }

    fn network(&mut self, offset: usize) {
        match self.at(offset).first() {
            Some(&clnp::INACTIVE) => self.nsdu(offset + 1),
            Some(&clnp::CLNP) => self.clnp(offset),
            _ => {}
        }
    }

    fn clnp(&mut self, offset: usize) {
        let length = self.original_octets.saturating_sub(offset);
        let Ok(pdu) = clnp::Pdu::decode_cut(self.at(offset), length) else { return };
        let (header_octets, is_segment) = (pdu.header_octets, pdu.is_segment());
        let options = header_octets.saturating_sub(pdu.options.len());
        let is_data = pdu.kind == clnp::Kind::Data;
        let key = self.key;
        let Some(header) = self.octets.get_mut(offset..offset + header_octets) else { return };
        let checksum = [header[CLNP_CHECKSUM], header[CLNP_CHECKSUM + 1]];
        let was_good = Fletcher::of(header).is_good();
        let mut place = CLNP_ADDRESSES;
        for _ in 0..2 {
            let Some(length) = header.get(place).map(|length| usize::from(*length)) else { return };
            if let Some(address) = header.get_mut(place + 1..place + 1 + length) {
                key.network(address);
            }
            place += 1 + length;
        }
        if let Some([code, length, rest @ ..]) = header.get_mut(options..) {
            (*code, *length) = (CLNP_PADDING, rest.len() as u8);
            rest.fill(0);
        }
        if checksum != [0, 0] && was_good {
            header[CLNP_CHECKSUM..CLNP_CHECKSUM + 2].fill(0);
            clnp::seal(header);
        } else if checksum != [0, 0] && Fletcher::of(header).is_good() {
            // An invalid checksum became valid by chance, as it does once in 65,025 times.
            header[CLNP_CHECKSUM] ^= 1;
        }
        self.kept_octets = offset + header_octets;
        if is_data && !is_segment {
            self.nsdu(offset + header_octets);
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
        let header_octets = pdu.header_octets();
        let is_tcp = pdu.protocol == tcp::PROTOCOL && !pdu.is_fragment();
        let key = self.key;
        let Some(header) = self.octets.get_mut(offset..offset + header_octets) else { return };
        let before = header.to_vec();
        let (first, rest) = header[IPV4_ADDRESSES..].split_at_mut(4);
        let (second, options) = rest.split_at_mut(4);
        key.internet(first);
        key.internet(second);
        options.fill(IPV4_PADDING);
        let addresses = header[IPV4_ADDRESSES..IPV4_ADDRESSES + 8].to_vec();
        adjust(header, IPV4_CHECKSUM, &before[IPV4_ADDRESSES..], None);
        self.kept_octets = offset + header_octets;
        if is_tcp {
            self.tcp(offset + header_octets, &before[IPV4_ADDRESSES..][..8], &addresses);
        }
    }

    fn ipv6(&mut self, offset: usize) {
        let length = self.original_octets.saturating_sub(offset);
        let Ok(pdu) = ipv6::Pdu::decode_cut(self.at(offset), length) else { return };
        let carried = pdu.carried().ok().map(|it| (it.protocol, it.offset, it.is_fragment));
        let key = self.key;
        let range = offset + IPV6_ADDRESSES..offset + ipv6::HEADER_OCTETS;
        let Some(addresses) = self.octets.get_mut(range) else { return };
        let before = addresses.to_vec();
        addresses.chunks_mut(16).for_each(|address| key.internet(address));
        let after = addresses.to_vec();
        self.kept_octets = offset + ipv6::HEADER_OCTETS;
        if let Some((tcp::PROTOCOL, behind, false)) = carried {
            // Extension headers may name hosts: the octets after them are not kept.
            let kept = self.kept_octets;
            self.tcp(offset + ipv6::HEADER_OCTETS + behind, &before, &after);
            if behind != 0 {
                (self.kept_octets, self.stream) = (kept, None);
            }
        }
    }

    fn tcp(&mut self, offset: usize, before: &[u8], after: &[u8]) {
        let Ok(pdu) = tcp::Pdu::decode(self.at(offset)) else { return };
        let behind = offset + pdu.header_octets();
        let Some(header) = self.octets.get_mut(offset..behind) else { return };
        adjust(header, TCP_CHECKSUM, before, Some(after));
        let Some(options) = header.get_mut(tcp::HEADER_OCTETS..) else { return };
        let as_sent = options.to_vec();
        tcp_options::clear(options);
        let cleared = options.to_vec();
        adjust(header, TCP_CHECKSUM, &as_sent, Some(&cleared));
        (self.kept_octets, self.stream) = (behind, Some(behind));
    }
}

/// Updates the checksum of a header for a change from `before` to `after`, or to the current
/// addresses of the header (RFC 1624, equation 3).
fn adjust(header: &mut [u8], checksum: usize, before: &[u8], after: Option<&[u8]>) {
    let after = after.unwrap_or(&header[IPV4_ADDRESSES..]).to_vec();
    let words = |octets: &[u8]| -> Vec<u32> {
        octets
            .chunks(2)
            .map(|word| word.iter().fold(0, |sum, it| sum << 8 | u32::from(*it)))
            .collect()
    };
    let Some([high, low]) = header.get_mut(checksum..checksum + 2) else { return };
    let mut sum = u32::from(!u16::from_be_bytes([*high, *low]));
    for (old, new) in words(before).into_iter().zip(words(&after)) {
        sum += u32::from(!(old as u16)) + new;
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    [*high, *low] = (!(sum as u16)).to_be_bytes();
}

/// Appends the headers of TPDUs to the kept part, up to the first user data.
pub(super) fn headers(key: &Key, nsdu: &[u8], kept: &mut Vec<u8>) {
    for raw in tpdus(nsdu) {
        let Ok(raw) = raw else { return };
        let start = kept.len();
        kept.extend(raw.header());
        let Some(header) = kept.get_mut(start..) else { return };
        match raw.kind {
            Kind::Cr | Kind::Cc | Kind::Dr => renew(key, &raw, header, 7),
            Kind::Er => renew(key, &raw, header, 5),
            Kind::Dt | Kind::Ed | Kind::Ak | Kind::Ea | Kind::Rj | Kind::Dc => {}
        }
        if !raw.data().is_empty() {
            return;
        }
    }
}

/// Maps and clears parameters in the header of a TPDU, and keeps its checksum valid or invalid as
/// it was.
fn renew(key: &Key, raw: &Raw<'_>, header: &mut [u8], offset: usize) {
    let Some(checksum) = parameters(key, header, offset) else { return };
    let is_good = |header: &[u8]| {
        let mut sums = Fletcher::of(header);
        sums.add(raw.data());
        sums.is_good()
    };
    if is_good(raw.header()) {
        header[checksum..checksum + 2].fill(0);
        tp::seal(header, checksum, raw.data());
    } else if is_good(header) {
        header[checksum] ^= 1;
    }
}

/// Maps selectors, and clears possible user data, in the variable part that begins at `offset`.
/// Returns the offset of the checksum, if there is one: the last of several counts.
fn parameters(key: &Key, header: &mut [u8], offset: usize) -> Option<usize> {
    let (mut place, mut checksum) = (offset, None);
    while let Some([code, length, behind @ ..]) = header.get_mut(place..) {
        // A length beyond the header: the meter reports it as malformed, and the octets there are
        // cleared.
        let octets = usize::from(*length).min(behind.len());
        let (value, _) = behind.split_at_mut(octets);
        if SELECTORS.contains(code) {
            key.selector(value);
        } else if *code == CHECKSUM {
            checksum = (octets == 2).then_some(place + 2);
        } else if !NUMBERS.contains(code) {
            value.fill(0);
        }
        place += 2 + octets;
    }
    checksum
}

#[cfg(test)]
mod tests {
    use super::super::hostile::SECRET;
    use super::*;
    use wire::dissect::dissect;

    fn renamed(link: Link, octets: &[u8]) -> Renamed {
        rename(&Key::new(SECRET), link, octets, octets.len())
    }

    fn layers(link: Link, octets: &[u8]) -> Vec<String> {
        dissect(link, octets).layers.iter().map(ToString::to_string).collect()
    }

    /// Returns the one's complement sum of a header and a pseudo header, zero if the checksum is
    /// valid.
    fn sum(parts: &[&[u8]]) -> u16 {
        let words = parts.iter().flat_map(|part| part.chunks(2));
        let sum: u32 =
            words.map(|it| u32::from(it[0]) << 8 | u32::from(*it.get(1).unwrap_or(&0))).sum();
        !((sum & 0xFFFF) + (sum >> 16)) as u16
    }

    /// Returns a SYN from 128.11.68.132 to 129.118.74.4 with both checksums valid, and 4 octets of
    /// data.
    fn segment() -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 44, 0, 1, 0x40, 0, 64, 6, 0, 0];
        packet.extend([128, 11, 68, 132, 129, 118, 74, 4]);
        packet.extend([4, 0, 0, 102, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0x20, 0, 0, 0, 0, 0]);
        packet.extend([1, 2, 3, 4]);
        let ip = sum(&[&packet[..20]]).to_be_bytes();
        packet[10..12].copy_from_slice(&ip);
        let tcp = sum(&[&packet[12..20], &[0, 6, 0, 24], &packet[20..]]).to_be_bytes();
        packet[36..38].copy_from_slice(&tcp);
        packet
    }

    #[test]
    fn checksums_over_internet_addresses_stay_as_right_as_they_were() {
        let link = Link::Other(101);
        let renamed_segment = renamed(link, &segment());
        let new = &renamed_segment.octets;
        // As published for this key.
        assert_eq!(new[12..20], [135, 242, 180, 132, 134, 136, 186, 123]);
        assert_eq!(sum(&[&new[..20]]), 0);
        assert_eq!(sum(&[&new[12..20], &[0, 6, 0, 24], &new[20..]]), 0);
        // The data reaches the meter, and no capture.
        assert_eq!(new[40..], [1, 2, 3, 4]);
        assert_eq!(renamed_segment.kept, new[..40]);
        let mut wrong = segment();
        wrong[10] ^= 1;
        assert_ne!(sum(&[&renamed(link, &wrong).octets[..20]]), 0);
    }

    #[test]
    fn an_address_in_a_tcp_option_goes_and_the_checksum_stays_right() {
        // ADD_ADDR of Multipath TCP (RFC 8684): 192.0.2.7.
        let mut packet = segment();
        packet[2..4].copy_from_slice(&52_u16.to_be_bytes());
        packet[32] = 0x70;
        packet.splice(40..40, [30, 8, 0x30, 1, 192, 0, 2, 7]);
        packet[36..38].fill(0);
        let tcp = sum(&[&packet[12..20], &[0, 6, 0, 32], &packet[20..]]).to_be_bytes();
        packet[36..38].copy_from_slice(&tcp);
        let Renamed { octets: new, kept, .. } = renamed(Link::Other(101), &packet);
        assert_eq!((kept.len(), &kept[40..]), (48, &[1; 8][..]));
        assert_eq!(sum(&[&new[12..20], &[0, 6, 0, 32], &new[20..]]), 0);
    }

    #[test]
    fn a_cr_keeps_its_numbers_and_loses_selectors_and_data() {
        // CR of class 4 with two selectors, the size of TPDUs, a security parameter, and two octets of
        // data.
        let mut cr = vec![21, 0xE0, 0, 0, 0, 5, 0x40, 0xC1, 2, 0x41, 0x42, 0xC2, 2, 0x43, 0x44];
        cr.extend([0xC0, 1, 0x0A, 0xC5, 2, 0x53, 0x54, 0x61, 0x62]);
        let frame = on_a_lan(&cr);
        let Renamed { octets, kept, .. } = renamed(Link::Ethernet, &frame);
        assert_eq!(octets[14..], frame[14..], "the meter gets what stands above");
        assert_ne!(octets[..12], frame[..12]);
        assert_eq!(kept.len(), frame.len() - 2);
        let holds = |text: &[u8]| kept.windows(text.len()).any(|window| window == text);
        assert!(holds(&[0xC0, 1, 0x0A]) && holds(&[0xC5, 2, 0, 0]));
        for secret in [&[0x41, 0x42][..], &[0x43, 0x44], &[0x53, 0x54], &[0x61, 0x62]] {
            assert!(!holds(secret), "{secret:02x?}");
        }
    }

    /// Returns a frame from 2 to 1 with these TPDUs over LLC and the inactive network layer.
    fn on_a_lan(tpdus: &[u8]) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0, tpdus.len() as u8 + 4];
        frame.extend([0xFE, 0xFE, 3, 0]);
        frame.extend(tpdus);
        frame
    }

    #[test]
    fn the_checksum_of_a_cr_stays_valid_under_mapped_selectors() {
        // A CR with a selector, a security parameter and a checksum, which stands at octet 17.
        let mut cr = vec![18, 0xE0, 0, 0, 0, 5, 0x40, 0xC1, 2, 0x41, 0x42, 0xC5, 2, 0x53, 0x54];
        cr.extend([0xC3, 2, 0, 0]);
        tp::seal(&mut cr, 17, &[]);
        let kept = |cr: &[u8]| renamed(Link::Ethernet, &on_a_lan(cr)).kept.split_off(18);
        let right = kept(&cr);
        assert_eq!((right.len(), Fletcher::of(&right).is_good()), (19, true));
        assert_ne!(right[9..11], cr[9..11]);
        cr[17] ^= 1;
        assert!(!Fletcher::of(&kept(&cr)).is_good());
        // A checksum valid for the new octets is invalid for the old ones, and stays invalid.
        cr[17..19].copy_from_slice(&right[17..19]);
        assert!(!Fletcher::of(&cr).is_good() && !Fletcher::of(&kept(&cr)).is_good());
    }

    #[test]
    fn an_invalid_clnp_checksum_stays_invalid_for_new_addresses() {
        let mut pdu = vec![0x81, 23, 1, 64, 0x1C, 0, 26, 0, 0];
        pdu.extend([6, 0x49, 0, 1, 2, 3, 1, 6, 0x49, 0, 1, 2, 4, 1]);
        pdu.extend([2, 0xF0, 0x80]);
        clnp::seal(&mut pdu[..23]);
        let verdict = |pdu: &[u8]| clnp::Pdu::decode(pdu).unwrap().verify(pdu);
        // Over PPP, which has no addresses: what follows is a PDU of OSI's network layer (RFC 1377).
        let new = |pdu: &[u8]| {
            let frame = [&[0, 0x23], pdu].concat();
            renamed(Link::Other(9), &frame).octets.split_off(2)
        };
        let right = new(&pdu);
        assert_eq!((verdict(&pdu), verdict(&right)), (clnp::Checksum::Good, clnp::Checksum::Good));
        pdu[7..9].copy_from_slice(&right[7..9]);
        assert_eq!(
            (verdict(&pdu), verdict(&new(&pdu))),
            (clnp::Checksum::Bad, clnp::Checksum::Bad)
        );
    }

    #[test]
    fn addresses_in_tags_of_exported_pdus_are_mapped_and_none_kept() {
        // Wireshark's export format: protocol name (12), source and destination over IPv4 (20, 21)
        // and IPv6 (22, 23), a port (25), the end, and a DT of class 0.
        let mut exported = vec![0, 12, 0, 8];
        exported.extend(b"ositp\0\0\0");
        exported.extend([0, 20, 0, 4, 128, 11, 68, 132, 0, 21, 0, 4, 129, 118, 74, 4]);
        let (v4, v6) = (16..20, exported.len() + 4);
        exported.extend([0, 22, 0, 16, 0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
        exported.extend([0, 25, 0, 4, 0, 0, 0, 102, 0, 0, 0, 0, 2, 0xF0, 0x80, 0x41]);
        let Renamed { octets, kept, .. } = renamed(Link::Other(252), &exported);
        // The two IPv4 addresses map as published for this key, as in a packet.
        assert_eq!(octets[v4], [135, 242, 180, 132]);
        assert_eq!(octets[24..28], [134, 136, 186, 123]);
        assert_ne!(octets[v6..v6 + 16], exported[v6..v6 + 16]);
        let with_addresses_of = |octets: &[u8], from: &[u8]| {
            let mut octets = octets.to_vec();
            for range in [16..20, 24..28, v6..v6 + 16] {
                octets[range.clone()].copy_from_slice(&from[range]);
            }
            octets
        };
        assert_eq!(with_addresses_of(&octets, &exported), exported, "all else is as it was");
        assert!(kept.is_empty());
        let told = layers(Link::Other(252), &octets).join("\n");
        assert!(told.contains("TP DT") && !told.contains("128.11.68.132"), "{told}");
    }

    #[test]
    fn truncated_or_overlong_tags_are_mapped_as_far_as_they_reach() {
        for exported in [
            &[0, 20, 0, 4, 128, 11][..],
            &[0, 20, 0xFF, 0xFF, 128, 11, 68, 132, 1],
            &[0, 22, 0, 4, 128, 11, 68, 132, 0],
            &[0, 20, 0],
        ] {
            let octets = renamed(Link::Other(252), exported).octets;
            assert_eq!(octets.len(), exported.len());
        }
    }

    #[test]
    fn a_frame_of_another_protocol_keeps_its_link_header_alone() {
        let mut arp = vec![0xFF; 6];
        arp.extend([2, 0, 0, 0, 0, 1, 8, 6]);
        arp.extend([0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1]);
        let kept = renamed(Link::Ethernet, &arp).kept;
        assert_eq!((kept.len(), &kept[..6]), (14, &[0xFF; 6][..]));
    }

    #[test]
    fn no_octets_make_it_panic_and_no_length_changes() {
        let mut frames = vec![segment()];
        let mut clnp = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0, 45, 0xFE, 0xFE, 3];
        clnp.extend([
            0x81, 24, 1, 64, 0x1C, 0, 42, 0, 0, 6, 0x49, 0, 1, 2, 3, 1, 6, 0x49, 0, 1, 2, 4, 1,
        ]);
        clnp.resize(60, 0xC5);
        frames.push(clnp);
        let mut state = 1_u32;
        for frame in frames {
            for cut in 0..=frame.len() {
                for number in [0, 1, 9, 10, 101, 104, 107, 113, 276] {
                    let mut octets = frame[..cut].to_vec();
                    for octet in &mut octets {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        *octet ^= if state >> 29 == 0 { (state >> 16) as u8 } else { 0 };
                    }
                    let new = renamed(Link::from_dlt(number), &octets);
                    assert_eq!(new.octets.len(), octets.len());
                    assert!(new.kept.len() <= octets.len());
                }
            }
        }
    }

    #[test]
    fn layers_are_unchanged_except_for_addresses() {
        let link = Link::Other(101);
        let (before, after) = (segment(), renamed(link, &segment()).octets);
        let swap = |line: &String| {
            line.replace("135.242.180.132", "128.11.68.132")
                .replace("134.136.186.123", "129.118.74.4")
        };
        assert_eq!(
            layers(link, &before),
            layers(link, &after).iter().map(swap).collect::<Vec<_>>()
        );
    }
}
