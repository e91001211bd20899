//! SOME/IP (AUTOSAR, SOME/IP protocol specification): headers of messages in datagrams of UDP.
//!
//! ```text
//! 0   service 2, method 2 (bit 15: event), length 4 (from octet 8 on), client 2, session 2,
//! 12  protocol version 1, interface version 1, message type 1 (bit 5: TP), return code 1
//! 16  of TP: offset 28 bits, reserved 3, more 1
//! ```
//!
//! The protocol has no port of its own, so [`Messages::of`] accepts a datagram only if its messages fill it
//! exactly. Left out: payloads, E2E protection, entries of service discovery, and the form over TCP.

use crate::read::Reader;

/// Octets of the header.
const HEADER_OCTETS: usize = 16;
/// Octets of the header that the length counts.
const COUNTED_OCTETS: usize = 8;
/// Protocol version.
const VERSION: u8 = 1;
/// Bit of the message type that marks a segment of TP.
const SEGMENT: u8 = 0x20;

/// Type of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// REQUEST: a response follows.
    Request,
    /// REQUEST_NO_RETURN.
    FireAndForget,
    /// NOTIFICATION: an event, or service discovery.
    Notification,
    /// RESPONSE or ERROR.
    Response,
}

impl Kind {
    /// Name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::FireAndForget => "no-return",
            Self::Notification => "event",
            Self::Response => "response",
        }
    }
}

/// Message of SOME/IP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu {
    /// Service.
    pub service: u16,
    /// Method or event.
    pub method: u16,
    /// Client.
    pub client: u16,
    /// Session; 0 if sessions are not used.
    pub session: u16,
    /// Interface version.
    pub interface: u8,
    /// Type.
    pub kind: Kind,
    /// Return code; 0 is success.
    pub return_code: u8,
    /// True for the second and later segments of TP.
    pub is_continued: bool,
}

/// Messages of a datagram.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    reader: Reader<'a>,
}

impl<'a> Messages<'a> {
    /// Messages of a whole datagram; none if they do not fill it exactly, or if one has a field that no
    /// message has.
    #[must_use]
    pub fn of(octets: &'a [u8]) -> Option<Self> {
        let all = Self { reader: Reader::new(octets) };
        let mut rest = all.clone();
        let count = rest.by_ref().count();
        (count > 0 && rest.reader.is_empty()).then_some(all)
    }
}

impl Iterator for Messages<'_> {
    type Item = Pdu;

    /// Returns the next message; none at the end, and where no message begins.
    fn next(&mut self) -> Option<Pdu> {
        let mut reader = self.reader.clone();
        let service = reader.u16("service").ok()?;
        let method = reader.u16("method").ok()?;
        let length = usize::try_from(u32::from_be_bytes(reader.array("length").ok()?)).ok()?;
        let client = reader.u16("client").ok()?;
        let session = reader.u16("session").ok()?;
        let [version, interface, kind, return_code] = reader.array("version").ok()?;
        let payload = length.checked_sub(COUNTED_OCTETS)?;
        let payload = reader.take("payload", payload).ok()?;
        if version != VERSION {
            return None;
        }
        let is_segment = kind & SEGMENT != 0;
        let kind = match kind & !SEGMENT {
            0x00 => Kind::Request,
            0x01 => Kind::FireAndForget,
            0x02 => Kind::Notification,
            0x80 | 0x81 => Kind::Response,
            _ => return None,
        };
        let offset = payload.first_chunk().map(|tp| u32::from_be_bytes(*tp) >> 4);
        let is_continued = match offset {
            Some(offset) if is_segment => offset > 0,
            None if is_segment => return None,
            _ => false,
        };
        self.reader = reader;
        Some(Pdu { service, method, client, session, interface, kind, return_code, is_continued })
    }
}

impl Pdu {
    /// Encodes a message with this payload, without segmentation.
    #[must_use]
    pub fn encode(&self, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_OCTETS + payload.len());
        out.extend(self.service.to_be_bytes());
        out.extend(self.method.to_be_bytes());
        out.extend(((payload.len() + COUNTED_OCTETS) as u32).to_be_bytes());
        out.extend(self.client.to_be_bytes());
        out.extend(self.session.to_be_bytes());
        let kind = match self.kind {
            Kind::Request => 0x00,
            Kind::FireAndForget => 0x01,
            Kind::Notification => 0x02,
            Kind::Response => 0x80,
        };
        out.extend([VERSION, self.interface, kind, self.return_code]);
        out.extend(payload);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: Pdu = Pdu {
        service: 0x1234,
        method: 0x8001,
        client: 0,
        session: 7,
        interface: 1,
        kind: Kind::Notification,
        return_code: 0,
        is_continued: false,
    };

    #[test]
    fn messages_fill_their_datagram() {
        let other = Pdu { kind: Kind::Response, session: 8, ..EVENT };
        let both = [EVENT.encode(&[1, 2, 3]), other.encode(&[])].concat();
        let all: Vec<_> = Messages::of(&both).unwrap().collect();
        assert_eq!(all, [EVENT, other]);
        for cut in (0..both.len()).filter(|cut| *cut != 19) {
            assert!(Messages::of(&both[..cut]).is_none(), "{cut}");
        }
        for (place, value) in [(12, 2), (14, 3), (7, 12), (4, 1)] {
            let mut bent = both.clone();
            bent[place] = value;
            assert!(Messages::of(&bent).is_none(), "{place}");
        }
    }

    #[test]
    fn later_segments_continue_a_message() {
        let segment = |offset: u32| {
            let mut octets = EVENT.encode(&(offset << 4 | 1).to_be_bytes());
            octets[14] |= SEGMENT;
            Messages::of(&octets).unwrap().next().unwrap().is_continued
        };
        assert_eq!([segment(0), segment(87)], [false, true]);
    }
}
