//! Subnetwork access protocol (IEEE 802, RFC 1042): five octets after LLC SAP AA that name a
//! protocol.

use crate::read::{Malformed, Reader};
use bytes::BufMut;
use core::fmt;

/// Length of the header.
pub const HEADER_OCTETS: usize = 5;

/// SNAP PDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// OUI: organization that assigns the protocol numbers; zero for EtherTypes.
    pub organization: [u8; 3],
    /// Protocol number.
    pub protocol: u16,
    /// PDU of that protocol.
    pub data: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Decodes the PDU in `octets`.
    ///
    /// # Errors
    /// Names the missing field.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let organization = reader.array("organization code")?;
        let protocol = reader.u16("protocol")?;
        Ok(Self { organization, protocol, data: reader.rest() })
    }

    /// Writes the PDU.
    pub fn encode(&self, out: &mut impl BufMut) {
        out.put_slice(&self.organization);
        out.put_u16(self.protocol);
        out.put_slice(self.data);
    }
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c] = self.organization;
        let (protocol, octets) = (self.protocol, self.data.len());
        write!(f, "SNAP {a:02x}{b:02x}{c:02x} protocol={protocol:04x} {octets} octets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ethertype_over_snap_reads_and_writes_back() {
        let octets = [0, 0, 0, 8, 0, 69];
        let pdu = Pdu::decode(&octets).unwrap();
        assert_eq!(pdu.to_string(), "SNAP 000000 protocol=0800 1 octets");
        let mut again = Vec::new();
        pdu.encode(&mut again);
        assert_eq!(again, octets);
        assert_eq!(
            Pdu::decode(&octets[..4]).unwrap_err().to_string(),
            "malformed protocol at octet 3"
        );
    }
}
