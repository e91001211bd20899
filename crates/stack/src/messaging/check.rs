//! CRC at the end of messages, and classification of LPDUs before they reach LLC.

use bytes::{BufMut, Bytes, BytesMut};
use wire::crc16::{CHECK_OCTETS, Crc16};
use wire::llc::{Control, POLL_FINAL, RESPONSE};
use wire::packet::Packet;

/// Returns the message followed by its CRC.
pub(super) fn with_crc(data: &[u8]) -> Bytes {
    let mut octets = BytesMut::with_capacity(data.len() + CHECK_OCTETS);
    octets.put_slice(data);
    octets.put_slice(&Crc16::of(data).octets());
    octets.freeze()
}

/// Returns true if an LSDU ends with its CRC.
pub(super) fn is_good(data: &Packet) -> bool {
    let mut crc = Crc16::of(data.head());
    crc.add(data.payload());
    data.len() >= CHECK_OCTETS && crc.is_good()
}

/// Returns true for a command or response of LLC type 3.
pub(super) fn is_acknowledged(packet: &Packet) -> bool {
    packet.first().is_some_and(|[_, _, control]| {
        let control = control & !POLL_FINAL;
        control == Control::Ac0.u_format() || control == Control::Ac1.u_format()
    })
}

/// Destination socket of an LPDU, if it is a command of LLC type 3.
pub(super) fn command_for(packet: &Packet) -> Option<u8> {
    let [socket, source] = packet.first()?;
    (is_acknowledged(packet) && source & RESPONSE == 0).then_some(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_lsdu_without_room_for_a_crc_has_none() {
        assert!(!is_good(&Packet::new(Bytes::new())));
        assert!(!is_good(&Packet::new(Bytes::from_static(&[0xFF]))));
        // The CRC over no octets is FFFF, which are also its check octets.
        assert!(is_good(&Packet::new(Bytes::from_static(&[0xFF, 0xFF]))));
        assert!(is_good(&Packet::new(with_crc(b"123456789"))));
    }

    #[test]
    fn only_commands_of_type_3_are_recognised() {
        let of = |octets: &'static [u8]| command_for(&Packet::new(Bytes::from_static(octets)));
        assert_eq!(of(&[8, 4, 0x67]), Some(8));
        assert_eq!(of(&[8, 4, 0xF7, 1]), Some(8), "AC1 with P");
        assert_eq!(of(&[8, 5, 0x67, 0x40]), None, "a response");
        assert_eq!((of(&[8, 4, 0x03, 1]), of(&[8, 4])), (None, None), "a UI; no control field");
    }
}
