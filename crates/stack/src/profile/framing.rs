//! Framing of LPDUs: the fields after the two addresses, for each MAC.
//!
//! ```text
//!   802.3      destination  source  length       LPDU  padding
//!              destination  source  type 8870    LPDU            of more than 1,500 octets
//!   802.1Q     destination  source  8100  PCP  length  LPDU  padding
//!   802.4      destination  source  0    FC      LPDU
//!   802.5      destination  source  AC   FC      LPDU
//!   ProNET-10  destination  source               LPDU
//! ```
//!
//! A [`Frame`] has its addresses first on every medium. On an 802.5 ring access control (AC) and
//! frame control (FC) precede them, on an 802.4 bus FC alone, and ProNET-10 has no such fields. In
//! its frames the two octets are those that an observer on 802.3 needs, and the ring does not send
//! them. The media compute time from the octets that their standard sends.
//!
//! Rings and token buses have neither a length field nor a minimum frame length, so the LPDU is the
//! rest of the frame. A length field is limited to 1,500: a longer LPDU follows the type of LLC
//! encapsulation (IEEE 802.1AC), if an interface accepts such a long frame.
//!
//! On 802.1Q networks every frame has a priority tag (VLAN 0), from which switches read its
//! priority.
//!
//! Left out: source routing, addresses of one octet, VLANs.

use crate::llc::type3::Lpdu;
use crate::messaging::Datagram;
use crate::station::Frame;
use wire::addr::Mac;
use wire::llc::{Control, POLL_FINAL, RESPONSE};
use wire::mac;
use wire::packet::Packet;

/// AC of a frame: token bit set, for a frame instead of a token; priority in the three highest
/// bits.
const ACCESS_CONTROL: u8 = 0x10;
/// FC of a frame with an LPDU; its priority in the three lowest bits.
const FRAME_CONTROL: u8 = 0x40;
/// MAC action of an 802.4 frame in FC, 01MMMPPP: MMM = 001 requests a response, and 010 is a
/// response.
const REQUEST_WITH_RESPONSE: u8 = 0x08;
const RESPONSE_FRAME: u8 = 0x10;
/// Bits of FC with the priority.
const PRIORITY: u8 = 0x07;
/// Bits of FC that mark a frame with an LPDU.
const FRAME_TYPE: u8 = 0xC0;

/// TPID of an 802.1Q tag.
const TAG: u16 = 0x8100;
/// Length of a tag.
const TAG_OCTETS: usize = 4;

/// Frame format of a station's MAC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Framing {
    /// IEEE 802.3: a length, and padding after short LPDUs.
    Ieee8023,
    /// IEEE 802.3 with a priority tag of 802.1Q, which carries the priority of the LPDU.
    Ieee8021Q,
    /// IEEE 802.4: FC with the priority of the LPDU; two priorities form an access class.
    Ieee8024,
    /// IEEE 802.4 with commands of LLC type 3 as requests with response, and its responses sent at
    /// once; the MAC does not report the fate of those.
    Ieee8024Responding,
    /// IEEE 802.5: AC with the priority of access, FC with the priority of the LPDU.
    Ieee8025,
    /// ProNET-10: the LPDU ends with the frame. The two octets after the addresses are those of
    /// 802.3, for observers; they are ignored on receipt.
    WholeFrame,
}

impl Framing {
    /// Longest LSDU of a frame, if the framing limits it: 1,500 octets minus the LLC header.
    #[must_use]
    pub const fn longest_lsdu(self) -> usize {
        match self {
            Self::Ieee8023 | Self::Ieee8021Q => 1_497,
            Self::Ieee8024 | Self::Ieee8024Responding | Self::Ieee8025 | Self::WholeFrame => {
                usize::MAX
            }
        }
    }

    /// Returns true if frames carry the priority of their LPDU to the receiver.
    #[must_use]
    pub const fn carries_priority(self) -> bool {
        matches!(self, Self::Ieee8021Q | Self::Ieee8024 | Self::Ieee8024Responding | Self::Ieee8025)
    }

    /// Builds the frame for an LPDU from the station `source`.
    #[must_use]
    pub fn frame(self, source: Mac, lpdu: Lpdu) -> Frame {
        let Lpdu { station, priority, mut packet, .. } = lpdu;
        let behind = match self {
            Self::Ieee8023 | Self::WholeFrame => Self::length_or_type(packet.len()),
            Self::Ieee8021Q => {
                let [high, low] = Self::length_or_type(packet.len()).to_be_bytes();
                packet.prepend(&[priority.min(7) << 5, 0, high, low]);
                TAG
            }
            Self::Ieee8024 => u16::from(FRAME_CONTROL | priority.min(7)),
            Self::Ieee8024Responding => {
                u16::from(FRAME_CONTROL | action(&packet) | priority.min(7))
            }
            Self::Ieee8025 => {
                let priority = priority.min(7);
                u16::from_be_bytes([ACCESS_CONTROL | priority << 5, FRAME_CONTROL | priority])
            }
        };
        packet.prepend(&mac::header(station, source, behind));
        packet
    }

    /// Builds the frame for a UI, all of whose headers are written in whole words: after piecewise
    /// writes, moving them would stall the processor.
    pub(crate) fn datagram(self, source: Mac, datagram: Datagram) -> Frame {
        match self {
            Self::Ieee8023 | Self::WholeFrame => {}
            Self::Ieee8021Q | Self::Ieee8024 | Self::Ieee8024Responding | Self::Ieee8025 => {
                return self.frame(source, datagram.lpdu());
            }
        }
        let Datagram { station, destination, source: from, data, .. } = datagram;
        let llc = [destination.0, from.0, Control::Ui.u_format()];
        let length = u64::from(Self::length_or_type(llc.len() + data.len()));
        let (station, source) = (number(station), number(source));
        let llc = u64::from_be_bytes([0, 0, 0, 0, 0, llc[0], llc[1], llc[2]]);
        // One octet of the first address, the rest of it with the first half of the second, and so
        // on.
        let words =
            [station >> 40, station << 24 | source >> 24, source << 40 | length << 24 | llc];
        let mut header = [0; 24];
        for (place, word) in header.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_be_bytes();
        }
        Packet::headed(header, mac::HEADER_OCTETS + 3, data)
    }

    /// Builds a frame with an EtherType, and the lowest priority; `None` on a MAC that has no such
    /// field.
    #[must_use]
    pub fn typed(
        self,
        source: Mac,
        destination: Mac,
        ethertype: u16,
        mut packet: Packet,
    ) -> Option<Frame> {
        let behind = match self {
            Self::Ieee8023 => ethertype,
            Self::Ieee8021Q => {
                let [high, low] = ethertype.to_be_bytes();
                packet.prepend(&[0, 0, high, low]);
                TAG
            }
            Self::Ieee8024 | Self::Ieee8024Responding | Self::Ieee8025 | Self::WholeFrame => {
                return None;
            }
        };
        packet.prepend(&mac::header(destination, source, behind));
        Some(packet)
    }

    /// Source and data of a frame with this EtherType, the padding of a short frame included; `None`
    /// for any other frame.
    #[must_use]
    pub fn typed_data(self, frame: &Frame, ethertype: u16) -> Option<(Mac, Packet)> {
        let [_, _, _, _, _, _, a, b, c, d, e, f, first, second] = frame.first()?;
        let found = u16::from_be_bytes([first, second]);
        let header_octets = match self {
            Self::Ieee8023 if found == ethertype => mac::HEADER_OCTETS,
            Self::Ieee8021Q if found == TAG => {
                let [.., high, low] = frame.first::<{ mac::HEADER_OCTETS + TAG_OCTETS }>()?;
                if u16::from_be_bytes([high, low]) != ethertype {
                    return None;
                }
                mac::HEADER_OCTETS + TAG_OCTETS
            }
            Self::Ieee8023
            | Self::Ieee8021Q
            | Self::Ieee8024
            | Self::Ieee8024Responding
            | Self::Ieee8025
            | Self::WholeFrame => return None,
        };
        let mut packet = frame.clone();
        packet.strip(header_octets)?;
        Some((Mac([a, b, c, d, e, f]), packet))
    }

    /// Length or type field of 802.3 in front of an LPDU of `lpdu_octets` octets.
    #[must_use]
    pub const fn length_or_type(lpdu_octets: usize) -> u16 {
        if lpdu_octets > mac::MOST_DATA_OCTETS {
            mac::LLC_ENCAPSULATION
        } else {
            lpdu_octets as u16
        }
    }

    /// Extracts the LPDU and its source station from a frame; `None` if the frame contains none.
    #[must_use]
    pub fn lpdu(self, mut frame: Frame) -> Option<Lpdu> {
        let [_, _, _, _, _, _, a, b, c, d, e, f, high, low] = frame.first()?;
        frame.strip(mac::HEADER_OCTETS)?;
        let mut priority = 0;
        match self {
            Self::Ieee8023 => until_length(&mut frame, [high, low])?,
            Self::Ieee8021Q if [high, low] == TAG.to_be_bytes() => {
                let [control, _, high, low] = frame.first()?;
                frame.strip(TAG_OCTETS)?;
                priority = control >> 5;
                until_length(&mut frame, [high, low])?;
            }
            Self::Ieee8021Q => return None,
            Self::Ieee8024 | Self::Ieee8024Responding | Self::Ieee8025
                if low & FRAME_TYPE == FRAME_CONTROL =>
            {
                priority = low & 7;
            }
            Self::Ieee8024 | Self::Ieee8024Responding | Self::Ieee8025 => return None,
            Self::WholeFrame => {}
        }
        Some(Lpdu { station: Mac([a, b, c, d, e, f]), priority, packet: frame, handle: None })
    }

    /// Priority in the AC of an 802.5 frame, with which a station requests the token.
    #[must_use]
    pub fn access_priority(frame: &Frame) -> u8 {
        frame.first::<13>().map_or(0, |[.., access_control]| access_control >> 5)
    }

    /// Priority by which a MAC queues a frame: that in its tag, AC or FC; 0 for frames without
    /// priority.
    #[must_use]
    pub fn priority_of(self, frame: &Frame) -> u8 {
        match self {
            Self::Ieee8023 | Self::WholeFrame => 0,
            Self::Ieee8021Q => Self::tag_priority(frame),
            Self::Ieee8024 | Self::Ieee8024Responding => Self::data_priority(frame),
            Self::Ieee8025 => Self::access_priority(frame),
        }
    }

    /// Priority in the tag of an 802.1Q frame; 0 without a tag.
    #[must_use]
    pub fn tag_priority(frame: &Frame) -> u8 {
        let Some([.., high, low, control]) = frame.first::<15>() else { return 0 };
        if [high, low] == TAG.to_be_bytes() { control >> 5 } else { 0 }
    }

    /// Returns true if an 802.4 frame requests a response at once.
    #[must_use]
    pub fn asks(frame: &Frame) -> bool {
        Self::has_action(frame, REQUEST_WITH_RESPONSE)
    }

    /// Returns true if an 802.4 frame is such a response.
    #[must_use]
    pub fn answers(frame: &Frame) -> bool {
        Self::has_action(frame, RESPONSE_FRAME)
    }

    fn has_action(frame: &Frame, action: u8) -> bool {
        let control = frame.first::<14>().map(|[.., frame_control]| frame_control);
        control.is_some_and(|control| control & !PRIORITY == FRAME_CONTROL | action)
    }

    /// Priority in the FC of an 802.4 frame.
    #[must_use]
    pub fn data_priority(frame: &Frame) -> u8 {
        frame.first::<14>().map_or(0, |[.., frame_control]| frame_control & 7)
    }
}

/// MAC action of an LPDU on 802.4: commands of LLC type 3 request a response, and its responses are
/// one.
fn action(packet: &Packet) -> u8 {
    let Some([_, source, control]) = packet.first::<3>() else { return 0 };
    let control = control & !POLL_FINAL;
    if control != Control::Ac0.u_format() && control != Control::Ac1.u_format() {
        return 0;
    }
    if source & RESPONSE == 0 { REQUEST_WITH_RESPONSE } else { RESPONSE_FRAME }
}

/// Octets of an address as a number.
fn number(address: Mac) -> u64 {
    let Mac([a, b, c, d, e, f]) = address;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

/// Truncates a frame to the LPDU after its length, or after the type of LLC encapsulation.
fn until_length(frame: &mut Frame, length_or_type: [u8; 2]) -> Option<()> {
    let value = u16::from_be_bytes(length_or_type);
    let length = usize::from(value);
    if value < mac::FIRST_TYPE && length <= frame.len() {
        // Octets after the LPDU are padding.
        frame.truncate(length);
        return Some(());
    }
    (value == mac::LLC_ENCAPSULATION).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use wire::addr::Sap;

    const HERE: Mac = Mac::local(1);
    const THERE: Mac = Mac::local(2);

    fn lpdu(octets: usize, priority: u8) -> Lpdu {
        let packet = Packet::new(Bytes::from(vec![9; octets]));
        Lpdu { station: THERE, priority, packet, handle: None }
    }

    #[test]
    fn an_lpdu_round_trips_with_the_priority_that_the_mac_carries() {
        // 1,500 is the maximum of a length; 2,046 is the maximum on ProNET-10, 4,472 on some 802.5
        // rings.
        for octets in [3, 46, 1_500, 1_501, 1_535, 1_536, 1_537, 2_046, 4_472] {
            for (framing, carried, header) in [
                (Framing::Ieee8023, 0, 14),
                (Framing::Ieee8021Q, 5, 18),
                (Framing::Ieee8024, 5, 14),
                (Framing::Ieee8025, 5, 14),
                (Framing::WholeFrame, 0, 14),
            ] {
                let frame = framing.frame(HERE, lpdu(octets, 5));
                assert_eq!(frame.len(), octets + header);
                let read = framing.lpdu(frame).unwrap();
                assert_eq!((read.station, read.priority), (HERE, carried), "{framing:?}");
                assert_eq!(read.packet, lpdu(octets, 5).packet, "{framing:?} {octets}");
                assert_eq!(framing.carries_priority(), carried > 0);
            }
        }
    }

    #[test]
    fn a_datagram_is_framed_as_its_lpdu_is() {
        for octets in [0, 100, 1_497, 1_498, 2_043] {
            for framing in
                [Framing::Ieee8023, Framing::Ieee8021Q, Framing::Ieee8024, Framing::WholeFrame]
            {
                let datagram = Datagram {
                    station: Mac([0x03, 0xF1, 0xE2, 0xD3, 0xC4, 0xB5]),
                    destination: Sap(0x60),
                    source: Sap(0x9C),
                    priority: 5,
                    data: Bytes::from(vec![9; octets]),
                };
                let source = Mac([0x02, 0x1F, 0x2E, 0x3D, 0x4C, 0x5B]);
                let lpdu = datagram.clone().lpdu();
                let framed = framing.datagram(source, datagram);
                assert_eq!(framed, framing.frame(source, lpdu), "{framing:?}");
            }
        }
    }

    #[test]
    fn a_datagram_of_another_protocol_has_its_type() {
        let data = Packet::new(Bytes::from(vec![9; 46]));
        for (framing, behind) in
            [(Framing::Ieee8023, &[8, 0][..]), (Framing::Ieee8021Q, &[0x81, 0, 0, 0, 8, 0])]
        {
            let frame = framing.typed(HERE, THERE, 0x0800, data.clone()).unwrap();
            assert_eq!(frame.to_bytes()[12..12 + behind.len()], *behind);
            let found = framing.typed_data(&frame, 0x0800);
            assert_eq!(found, Some((HERE, data.clone())));
            assert_eq!(framing.typed_data(&frame, 0x0806), None);
            assert!(framing.lpdu(frame).is_none());
            assert_eq!(framing.typed_data(&framing.frame(HERE, lpdu(46, 0)), 0x0800), None);
        }
        assert_eq!(Framing::Ieee8025.typed(HERE, THERE, 0x0800, data), None);
    }

    #[test]
    fn the_fields_after_the_addresses_are_those_of_the_standard() {
        let behind = |framing: Framing, octets| {
            let [.., high, low] = framing.frame(HERE, lpdu(octets, 5)).first::<14>().unwrap();
            [high, low]
        };
        assert_eq!(behind(Framing::Ieee8023, 100), [0, 100]);
        // 802.1AC: EtherType 88-70.
        assert_eq!(behind(Framing::Ieee8023, 1_501), [0x88, 0x70]);
        // 802.1Q: TPID 81-00, then PCP = 5, DEI = 0 and VLAN 0, then the length.
        let tagged = Framing::Ieee8021Q.frame(HERE, lpdu(100, 5)).first::<18>().unwrap();
        assert_eq!(tagged[12..], [0x81, 0x00, 0b1010_0000, 0, 0, 100]);
        // 802.5: AC is PPPTMRRR with PPP = 5 and T = 1, FC is 01rrrYYY with YYY = 5.
        assert_eq!(behind(Framing::Ieee8025, 100), [0b1011_0000, 0b0100_0101]);
        assert_eq!(behind(Framing::WholeFrame, 2_046), [0x88, 0x70]);
        // 802.4: FC is 01MMMPPP with MMM = 0, request with no response, and PPP = 5.
        assert_eq!(behind(Framing::Ieee8024, 100), [0, 0b0100_0101]);
        // MMM = 001 for a command of LLC type 3, 010 for its response, else 0.
        for (llc, expected) in [
            ([2, 4, 0x67], 0b0100_1101),
            ([2, 4, 0xF7], 0b0100_1101),
            ([2, 5, 0xE7], 0b0101_0101),
            ([2, 4, 0x03], 0b0100_0101),
        ] {
            let packet = Packet::new(Bytes::copy_from_slice(&llc));
            let lpdu = Lpdu { station: THERE, priority: 5, packet, handle: None };
            let frame = Framing::Ieee8024Responding.frame(HERE, lpdu.clone());
            assert_eq!(frame.first::<14>().unwrap()[12..], [0, expected]);
            assert_eq!(Framing::asks(&frame), expected == 0b0100_1101);
            assert_eq!(Framing::answers(&frame), expected == 0b0101_0101);
            assert!(!Framing::asks(&Framing::Ieee8024.frame(HERE, lpdu)));
        }
        assert_eq!(Framing::data_priority(&Framing::Ieee8024.frame(HERE, lpdu(100, 5))), 5);
        let frame = Framing::Ieee8025.frame(HERE, lpdu(100, 5));
        assert_eq!(Framing::access_priority(&frame), 5);
    }

    #[test]
    fn frames_of_other_protocols_hold_no_lpdu() {
        let mut frame = Packet::new(Bytes::from(vec![9; 46]));
        // A type, a length of more octets than there are, and FC of a ring's own MAC frame.
        for (framing, behind) in
            [(Framing::Ieee8023, 0x0800), (Framing::Ieee8023, 47), (Framing::Ieee8025, 0x1000)]
        {
            frame.prepend(&mac::header(THERE, HERE, behind));
            assert_eq!(framing.lpdu(frame.clone()), None, "{behind:04x}");
            frame.strip(14).unwrap();
        }
        assert_eq!(Framing::WholeFrame.lpdu(Packet::new(Bytes::from(vec![9; 13]))), None);
    }
}
