//! Ethernet frames with an EtherType, and with a tag of 802.1Q if their publisher gives them one.
//!
//! ```text
//!   destination  source  [8100  PCP, VLAN]  type  data  padding
//! ```

use crate::station::Frame;
use wire::addr::Mac;
use wire::mac::{self, Tag};
use wire::packet::Packet;

/// TPID of an 802.1Q tag.
pub const TAG: u16 = 0x8100;
/// Length of a tag.
const TAG_OCTETS: usize = 4;

/// Frame with an EtherType.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Typed {
    /// Source address.
    pub source: Mac,
    /// Destination address: a station, or a group.
    pub destination: Mac,
    /// Tag of 802.1Q.
    pub tag: Option<Tag>,
    /// EtherType.
    pub ethertype: u16,
    /// Data behind the EtherType; of a received frame with its padding.
    pub data: Packet,
}

impl Typed {
    /// The frame, without padding.
    #[must_use]
    pub fn frame(self) -> Frame {
        let Self { source, destination, tag, ethertype, mut data } = self;
        let behind = match tag {
            None => ethertype,
            Some(Tag { protocol, control }) => {
                let [[a, b], [c, d]] = [control, ethertype].map(u16::to_be_bytes);
                data.prepend(&[a, b, c, d]);
                protocol
            }
        };
        data.prepend(&mac::header(destination, source, behind));
        data
    }

    /// Parts of a frame; `None` if it has a length, or a type of LLC.
    #[must_use]
    pub fn of(frame: &Frame) -> Option<Self> {
        let head: [u8; mac::HEADER_OCTETS] = frame.first()?;
        let [a, b, c, d, e, f, g, h, i, j, k, l, high, low] = head;
        let (destination, source) = (Mac([a, b, c, d, e, f]), Mac([g, h, i, j, k, l]));
        let mut data = frame.clone();
        data.strip(mac::HEADER_OCTETS)?;
        let (mut tag, mut ethertype) = (None, u16::from_be_bytes([high, low]));
        if ethertype == TAG {
            let [a, b, c, d] = data.first()?;
            data.strip(TAG_OCTETS)?;
            tag = Some(Tag { protocol: TAG, control: u16::from_be_bytes([a, b]) });
            ethertype = u16::from_be_bytes([c, d]);
        }
        let is_typed = ethertype >= mac::FIRST_TYPE && ethertype != mac::LLC_ENCAPSULATION;
        is_typed.then_some(Self { source, destination, tag, ethertype, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn a_frame_is_read_as_it_was_made_with_and_without_a_tag() {
        let tag = Tag { protocol: TAG, control: 0x8005 };
        for tag in [None, Some(tag)] {
            let typed = Typed {
                source: Mac::local(1),
                destination: Mac([1, 0x0C, 0xCD, 1, 0, 1]),
                tag,
                ethertype: 0x88B8,
                data: Packet::new(Bytes::from_static(&[7; 50])),
            };
            let frame = typed.clone().frame();
            assert_eq!(frame.len(), 64 + if tag.is_some() { 4 } else { 0 });
            let pdu = frame.to_bytes();
            let pdu = mac::Pdu::decode(&pdu).unwrap();
            assert_eq!((pdu.kind, pdu.tags.first().copied()), (mac::Kind::Type(0x88B8), tag));
            assert_eq!(Typed::of(&frame), Some(typed));
        }
        let with_length = [&[2; 12][..], &[0, 3], &[0x5C, 0x5C, 3]].concat();
        assert_eq!(Typed::of(&Packet::new(Bytes::from(with_length))), None);
    }
}
