//! EtherNet/IP (CIP volume 2): the encapsulation header, and the head of an explicit CIP message in it.
//!
//! ```text
//! octet  0-1      2-3     4-7      8-11    12-19           20-23    24-27      28-29    30-31
//!        command  length  session  status  sender context  options  interface  timeout  items ...
//! ```
//!
//! Numbers are little-endian. SendRRData (0x6F) has an unconnected message in item 0x00B2; a reply
//! repeats the sender context. SendUnitData (0x70) has a connected one in item 0x00B1, with a sequence
//! count before it, which the reply repeats. In a reply the service has its high bit set.
//!
//! Left out: paths and data of services. I/O data over UDP and their set-up are in `cip_io`.

use crate::read::{Malformed, Reader};

/// Assigned port, of TCP and UDP.
pub const PORT: u16 = 44_818;
/// Octets of the encapsulation header.
pub const HEADER_OCTETS: usize = 24;
/// Octets of interface handle and timeout before the items.
const BEFORE_ITEMS: usize = 6;
/// Bit of the service that marks a reply.
const REPLY: u8 = 0x80;

/// Message of CIP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Message<'a> {
    /// Sequence count of a connected message.
    pub sequence: Option<u16>,
    /// Service without its high bit.
    pub service: u8,
    /// True if its high bit is set.
    pub is_reply: bool,
    /// Octets behind the service: the path and data of a request; of a reply a reserved octet, and the
    /// general status.
    pub data: &'a [u8],
}

impl Message<'_> {
    /// General status of a reply; 0 is success.
    #[must_use]
    pub fn status(&self) -> Option<u8> {
        if self.is_reply { self.data.get(1).copied() } else { None }
    }
}

/// Encapsulated message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// Its header.
    pub header: Header,
    /// CIP message, if there is one and its head was captured.
    pub message: Option<Message<'a>>,
}

/// Encapsulation header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    /// Command.
    pub command: u16,
    /// Octets of the whole message, header included.
    pub octets: usize,
    /// Session handle.
    pub session: u32,
    /// Status; 0 is success.
    pub status: u32,
    /// Sender context, which a reply repeats.
    pub context: [u8; 8],
}

/// True for the commands that the specification defines (2-3.2).
const fn is_command(command: u16) -> bool {
    matches!(command, 0 | 0x04 | 0x63..=0x66 | 0x6F | 0x70 | 0x72)
}

impl Header {
    /// Decodes the header at the front of `octets`.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    #[inline]
    pub fn decode(octets: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let wrong = reader.malformed("encapsulation command");
        let command = u16::from_le_bytes(reader.array("encapsulation command")?);
        if !is_command(command) {
            return Err(wrong);
        }
        let length = u16::from_le_bytes(reader.array("encapsulation length")?);
        let session = u32::from_le_bytes(reader.array("session handle")?);
        let status = u32::from_le_bytes(reader.array("encapsulation status")?);
        let context = reader.array("sender context")?;
        let wrong = reader.malformed("encapsulation options");
        // Receivers discard a message with options (2-3.3.6).
        if reader.array("encapsulation options")? != [0; 4] {
            return Err(wrong);
        }
        let octets = HEADER_OCTETS + usize::from(length);
        Ok(Self { command, octets, session, status, context })
    }
}

impl<'a> Pdu<'a> {
    /// Decodes the message at the front of `octets`.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let header = Header::decode(octets)?;
        let end = header.octets.min(octets.len());
        let data = octets.get(HEADER_OCTETS..end).unwrap_or_default();
        let has_message = matches!(header.command, 0x6F | 0x70);
        Ok(Self { header, message: if has_message { message(data) } else { None } })
    }
}

/// CIP message in the items of a command.
fn message(data: &[u8]) -> Option<Message<'_>> {
    let mut reader = Reader::new(data.get(BEFORE_ITEMS..)?);
    let items = u16::from_le_bytes(reader.array("item count").ok()?);
    for _ in 0..items.min(8) {
        let kind = u16::from_le_bytes(reader.array("item type").ok()?);
        let length = u16::from_le_bytes(reader.array("item length").ok()?).into();
        let rest = reader.rest();
        let item = rest.get(..length).unwrap_or(rest);
        let (sequence, cip) = match (kind, item) {
            (0x00B1, [low, high, cip @ ..]) => (Some(u16::from_le_bytes([*low, *high])), cip),
            (0x00B2, cip) => (None, cip),
            _ => {
                reader.take("item", length).ok()?;
                continue;
            }
        };
        let [service, data @ ..] = cip else { return None };
        let (is_reply, service) = (service & REPLY != 0, service & !REPLY);
        return Some(Message { sequence, service, is_reply, data });
    }
    None
}

/// Name of a service of CIP that many objects have.
#[must_use]
pub const fn service_name(service: u8) -> Option<&'static str> {
    Some(match service {
        0x01 => "get attributes all",
        0x03 => "get attribute list",
        0x04 => "set attribute list",
        0x05 => "reset",
        0x0A => "multiple service",
        0x0E => "get attribute single",
        0x10 => "set attribute single",
        0x4B => "execute PCCC",
        0x4C => "read tag",
        0x4D => "write tag",
        0x4E => "forward close",
        0x52 => "unconnected send",
        0x53 => "write tag fragmented",
        0x54 => "forward open",
        0x55 => "get instance list",
        0x5B => "large forward open",
        _ => return None,
    })
}

/// Name of a command of the encapsulation.
#[must_use]
pub const fn command_name(command: u16) -> Option<&'static str> {
    Some(match command {
        0x04 => "list services",
        0x63 => "list identity",
        0x64 => "list interfaces",
        0x65 => "register session",
        0x6F => "send RR data",
        0x70 => "send unit data",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Message with this command, context and contents.
    fn encoded(command: u8, data: &[u8]) -> Vec<u8> {
        let mut octets = vec![command, 0, data.len() as u8, 0, 7, 0, 0, 0, 0, 0, 0, 0];
        octets.extend([1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0]);
        octets.extend(data);
        octets
    }

    #[test]
    fn explicit_messages_are_found_in_their_items() {
        let items = [0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0xB2, 0, 4, 0, 0x8E, 0, 5, 0];
        let read = encoded(0x6F, &items);
        let pdu = Pdu::decode(&read).unwrap();
        assert_eq!((pdu.header.octets, pdu.header.session, pdu.header.context[7]), (44, 7, 8));
        let message = pdu.message.unwrap();
        assert_eq!((message.service, message.is_reply, message.sequence), (0x0E, true, None));
        assert_eq!(message.status(), Some(5));
        let items =
            [0, 0, 0, 0, 0, 0, 2, 0, 0xA1, 0, 4, 0, 1, 2, 3, 4, 0xB1, 0, 5, 0, 9, 1, 0x4C, 2, 0x91];
        let message =
            Pdu::decode(&encoded(0x70, &items)).map(|pdu| pdu.message.map(|it| it.service));
        assert_eq!(message, Ok(Some(0x4C)));
        let register = encoded(0x65, &[1, 0, 0, 0]);
        assert_eq!(Pdu::decode(&register).unwrap().message, None);
    }

    #[test]
    fn octets_at_random_are_read_or_refused() {
        let mut state = 9_u32;
        let mut octet = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let mut read = 0;
        for _ in 0..20_000 {
            let mut octets = encoded(0x6F + (octet() & 1), &[0; 40]);
            for _ in 0..octet() % 8 {
                let place = usize::from(octet()) % octets.len();
                octets[place] = octet();
            }
            octets.truncate(64 - usize::from(octet() % 60));
            read += u32::from(Pdu::decode(&octets).is_ok());
        }
        assert!(read > 1_000, "{read}");
        let options = [&encoded(0x65, &[])[..20], &[1, 0, 0, 0]].concat();
        let wrong = Malformed { field: "encapsulation options", offset: 20 };
        assert_eq!(Pdu::decode(&options), Err(wrong));
    }
}
