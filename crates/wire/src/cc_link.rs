//! CC-Link IE Field Network Basic: cyclic requests of a master and responses of slaves, in datagrams of
//! UDP to port 61450. The layout is that of the header files of an open stack, checked on a capture.
//!
//! ```text
//! request   0  50 00 00 FF FF 03 00, length 2, 0, command 0E70; 15 cyclic header 20; 35 state 2, 0,
//!              clock 8 (ms since 1970); 47 master 4, group 1, 0; 53 sequence 2, timeout 2 (ms), times 2
//! response  0  D0 00 00 FF FF 03 00, length 2, end code 2; 11 cyclic header 20, notification 20;
//!           51 slave 4, group 1, 0; 57 sequence 2
//! ```
//!
//! Numbers are little-endian. Left out: the values of registers and relays, and detection (port 61451).

use crate::read::{Malformed, Reader};

/// Port of cyclic data.
pub const PORT: u16 = 61_450;
/// Octets behind the first one that all messages have.
const ROUTE: [u8; 6] = [0, 0, 0xFF, 0xFF, 3, 0];
/// Command of cyclic data.
const CYCLIC: [u8; 2] = [0x70, 0x0E];

/// Cyclic message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu {
    /// True for a response of a slave.
    pub is_response: bool,
    /// Group number.
    pub group: u8,
    /// frameSequenceNo; a response repeats that of its request.
    pub sequence: u16,
    /// End code of a response; 0 is success.
    pub end_code: u16,
    /// Clock of the master in milliseconds since 1970, of a request.
    pub clock_ms: Option<u64>,
    /// Time without a response after which a slave counts as lost, in a request: the timeout times the
    /// timeout count.
    pub allowed_ms: Option<u32>,
}

impl Pdu {
    /// Decodes a datagram.
    ///
    /// # Errors
    /// Names the field that cannot be read, or that no cyclic message has.
    pub fn decode(octets: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let fault = reader.malformed("subheader");
        let is_response = match reader.u8("subheader")? {
            0x50 => false,
            0xD0 => true,
            _ => return Err(fault),
        };
        if reader.array("subheader")? != ROUTE {
            return Err(fault);
        }
        reader.take("length", 2)?;
        let end_code = u16::from_le_bytes(reader.array("end code")?);
        if is_response {
            reader.take("cyclic header", 20)?;
            reader.take("slave notification", 20)?;
            let group = group(&mut reader)?;
            let sequence = u16::from_le_bytes(reader.array("frameSequenceNo")?);
            let (clock_ms, allowed_ms) = (None, None);
            return Ok(Self { is_response, group, sequence, end_code, clock_ms, allowed_ms });
        }
        let fault = reader.malformed("command");
        if reader.array("command")? != CYCLIC {
            return Err(fault);
        }
        reader.take("cyclic header", 22)?;
        reader.take("master state", 4)?;
        let clock_ms = Some(u64::from_le_bytes(reader.array("clock")?));
        let group = group(&mut reader)?;
        let sequence = u16::from_le_bytes(reader.array("frameSequenceNo")?);
        let [timeout, times] = [reader.array("timeout")?, reader.array("timeout")?];
        let [timeout, times] = [timeout, times].map(u16::from_le_bytes).map(u32::from);
        let allowed_ms = Some(timeout * times);
        Ok(Self { is_response, group, sequence, end_code: 0, clock_ms, allowed_ms })
    }
}

fn group(reader: &mut Reader<'_>) -> Result<u8, Malformed> {
    reader.take("address", 4)?;
    let group = reader.u8("group")?;
    reader.u8("group")?;
    Ok(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frame 1 of cclink_ief_basic_only.pcap, without its data.
    const REQUEST: [u8; 59] = [
        0x50, 0, 0, 0xFF, 0xFF, 3, 0, 0x86, 0, 0, 0, 0x70, 0x0E, 0, 0, 1, 0, 0, 0, 0x24, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x2B, 0xAF, 0x8D, 0x68, 0x81, 1, 0, 0,
        0x80, 0x86, 0x10, 0xAC, 1, 0, 0xD8, 6, 0xF4, 1, 3, 0,
    ];

    #[test]
    fn a_request_and_its_response_have_one_number() {
        let pdu = Pdu::decode(&REQUEST).unwrap();
        assert_eq!((pdu.group, pdu.sequence, pdu.allowed_ms), (1, 1_752, Some(1_500)));
        assert_eq!(pdu.clock_ms, Some(0x181_688D_AF2B));
        let mut response = vec![0xD0, 0, 0, 0xFF, 0xFF, 3, 0, 0x7A, 0, 0, 0];
        response.extend([0; 40]);
        response.extend([0x81, 0x86, 0x10, 0xAC, 1, 0, 0xD8, 6]);
        let pdu = Pdu::decode(&response).unwrap();
        assert_eq!((pdu.is_response, pdu.group, pdu.sequence), (true, 1, 1_752));
        for cut in 0..REQUEST.len() {
            assert!(Pdu::decode(&REQUEST[..cut]).is_err(), "{cut}");
        }
        let fault = Pdu::decode(&[0x51, 0]).unwrap_err();
        assert_eq!(fault.to_string(), "malformed subheader at octet 0");
    }
}
