//! How a frame holds an LPDU: what stands in it behind the two addresses.
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
//! frame control (FC) go in front of them, on an 802.4 bus FC alone, and ProNET-10 has no such fields:
//! there the two octets say what an observer on 802.3 needs, and the ring does not send them. The media count time by
//! what their standard sends.
//!
//! Rings and token buses have no length field and no shortest frame, so that the LPDU is the rest of the frame. A
//! length field cannot say more than 1,500: a longer LPDU goes behind the type of LLC encapsulation
//! (IEEE 802.1AC), where an interface takes so long a frame.
//!
//! On 802.1Q networks every frame has a priority tag (VLAN 0), so that switches know its priority.
//!
//! Left out: source routing, addresses of one octet, VLANs.

use crate::llc::type3::Lpdu;
use crate::messaging::Datagram;
use crate::station::Frame;
use wire::addr::Mac;
use wire::llc::{Control, POLL_FINAL, RESPONSE};
use wire::mac;
use wire::packet::Packet;

/// AC of a frame: the token bit, which says that it is none; priority in the three highest bits.
const ACCESS_CONTROL: u8 = 0x10;
/// FC of a frame with an LPDU; its priority in the three lowest bits.
const FRAME_CONTROL: u8 = 0x40;
/// MAC action of an 802.4 frame in FC, 01MMMPPP: MMM = 001 asks for a response, and 010 is one.
const REQUEST_WITH_RESPONSE: u8 = 0x08;
const RESPONSE_FRAME: u8 = 0x10;
/// The bits of FC that are the priority.
const PRIORITY: u8 = 0x07;
/// The bits of FC that say that there is an LPDU.
const FRAME_TYPE: u8 = 0xC0;

/// TPID of an 802.1Q tag.
const TAG: u16 = 0x8100;
/// Octets of a tag.
const TAG_OCTETS: usize = 4;

/// Which MAC's frames a station makes and reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Framing {
    /// IEEE 802.3: a length, and padding behind short LPDUs.
    Ieee8023,
    /// IEEE 802.3 with a priority tag of 802.1Q, which holds the priority of the LPDU.
    Ieee8021Q,
    /// IEEE 802.4: FC with the priority of the LPDU, of which two make an access class.
    Ieee8024,
    /// The same where commands of LLC type 3 are requests with response, and its responses answer them
    /// at once: the MAC tells nobody what became of those.
    Ieee8024Responding,
    /// IEEE 802.5: AC with the priority of access, FC with the priority of the LPDU.
    Ieee8025,
    /// ProNET-10: the LPDU ends where the frame does. The two octets behind the addresses are those
    /// of 802.3, for observers; they are not read.
    WholeFrame,
}

impl Framing {
    /// The longest LSDU of a frame, where the framing bounds it: 1,500 octets less the LLC header.
    #[must_use]
    pub const fn longest_lsdu(self) -> usize {
        match self {
            Self::Ieee8023 | Self::Ieee8021Q => 1_497,
            Self::Ieee8024 | Self::Ieee8024Responding | Self::Ieee8025 | Self::WholeFrame => {
                usize::MAX
            }
        }
    }

    /// Whether a receiver learns the priority of an LPDU.
    #[must_use]
    pub const fn carries_priority(self) -> bool {
        matches!(self, Self::Ieee8021Q | Self::Ieee8024 | Self::Ieee8024Responding | Self::Ieee8025)
    }

    /// The frame in which the station of address `source` sends an LPDU.
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

    /// The same for a UI, all of whose headers are written in whole words: one that were written in
    /// pieces could not be moved before they have all arrived.
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
        // One octet of the first address, the rest of it with the first half of the second, and so on.
        let words =
            [station >> 40, station << 24 | source >> 24, source << 40 | length << 24 | llc];
        let mut header = [0; 24];
        for (place, word) in header.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_be_bytes();
        }
        Packet::headed(header, mac::HEADER_OCTETS + 3, data)
    }

    /// What 802.3 has behind the addresses in front of an LPDU of so many octets.
    #[must_use]
    pub const fn length_or_type(lpdu_octets: usize) -> u16 {
        if lpdu_octets > mac::MOST_DATA_OCTETS {
            mac::LLC_ENCAPSULATION
        } else {
            lpdu_octets as u16
        }
    }

    /// The LPDU in a frame, and the station it comes from; `None` where the frame holds none.
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
        Some(Lpdu { station: Mac([a, b, c, d, e, f]), priority, packet: frame, ticket: None })
    }

    /// The priority with which an 802.5 station asks for the token for a frame: that in its AC.
    #[must_use]
    pub fn access_priority(frame: &Frame) -> u8 {
        frame.first::<13>().map_or(0, |[.., access_control]| access_control >> 5)
    }

    /// The priority by which a MAC queues a frame: that in its tag, AC or FC; 0 of frames that carry
    /// none.
    #[must_use]
    pub fn priority_of(self, frame: &Frame) -> u8 {
        match self {
            Self::Ieee8023 | Self::WholeFrame => 0,
            Self::Ieee8021Q => Self::tag_priority(frame),
            Self::Ieee8024 | Self::Ieee8024Responding => Self::data_priority(frame),
            Self::Ieee8025 => Self::access_priority(frame),
        }
    }

    /// The priority in the tag of an 802.1Q frame; 0 of a frame without tag.
    #[must_use]
    pub fn tag_priority(frame: &Frame) -> u8 {
        let Some([.., high, low, control]) = frame.first::<15>() else { return 0 };
        if [high, low] == TAG.to_be_bytes() { control >> 5 } else { 0 }
    }

    /// Whether an 802.4 frame asks for a response at once.
    #[must_use]
    pub fn asks(frame: &Frame) -> bool {
        Self::has_action(frame, REQUEST_WITH_RESPONSE)
    }

    /// Whether an 802.4 frame is such a response.
    #[must_use]
    pub fn answers(frame: &Frame) -> bool {
        Self::has_action(frame, RESPONSE_FRAME)
    }

    fn has_action(frame: &Frame, action: u8) -> bool {
        let control = frame.first::<14>().map(|[.., frame_control]| frame_control);
        control.is_some_and(|control| control & !PRIORITY == FRAME_CONTROL | action)
    }

    /// The priority of the LPDU in an 802.4 frame: that in its FC.
    #[must_use]
    pub fn data_priority(frame: &Frame) -> u8 {
        frame.first::<14>().map_or(0, |[.., frame_control]| frame_control & 7)
    }
}

/// What an LPDU asks of the MAC of 802.4: commands of LLC type 3 a response, which its responses are.
fn action(packet: &Packet) -> u8 {
    let Some([_, source, control]) = packet.first::<3>() else { return 0 };
    let control = control & !POLL_FINAL;
    if control != Control::Ac0.u_format() && control != Control::Ac1.u_format() {
        return 0;
    }
    if source & RESPONSE == 0 { REQUEST_WITH_RESPONSE } else { RESPONSE_FRAME }
}

/// The octets of an address as a number.
fn number(address: Mac) -> u64 {
    let Mac([a, b, c, d, e, f]) = address;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

/// Leaves of what follows a length, or the type of LLC encapsulation, the LPDU.
fn until_length(frame: &mut Frame, length_or_type: [u8; 2]) -> Option<()> {
    let value = u16::from_be_bytes(length_or_type);
    let length = usize::from(value);
    if value < mac::FIRST_TYPE && length <= frame.len() {
        // What follows the LPDU is padding.
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
        Lpdu { station: THERE, priority, packet, ticket: None }
    }

    #[test]
    fn an_lpdu_comes_out_of_a_frame_as_it_went_in_with_the_priority_that_the_mac_carries() {
        // 1,500 is the most that a length says; 2,046 the most on ProNET-10, 4,472 on some 802.5 rings.
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
    fn what_stands_behind_the_addresses_is_that_of_the_standard() {
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
            let lpdu = Lpdu { station: THERE, priority: 5, packet, ticket: None };
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
        // A type, a length of more than there is, and FC of a ring's own MAC frame.
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
