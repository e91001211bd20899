//! Modbus over TCP: the header MBAP, and the function of the PDU behind it.
//!
//! ```text
//! octet  0-1          2-3       4-5                 6     7         8
//!        transaction  protocol  length (from 6 on)  unit  function  data, or the code of an exception
//! ```
//!
//! *MODBUS Messaging on TCP/IP Implementation Guide* V1.0b, 3.1.3, and *MODBUS Application Protocol
//! Specification* V1.1b3, 4.1. A reply repeats the transaction identifier and the unit of its request,
//! and its function; an exception sets the high bit of the function. A PDU is a request or a reply by
//! its direction alone: nothing in it tells which.
//!
//! A PDU has up to 253 octets by the standard. Those of vendor functions are longer, so that lengths up
//! to [`LONGEST`] are read.
//!
//! Left out: the data of functions, except for the front that says which data are read or written.

use crate::read::{Malformed, Reader};
use core::fmt;

/// Assigned TCP port ("mbap").
pub const PORT: u16 = 502;
/// Length of MBAP with the unit.
pub const HEADER_OCTETS: usize = 7;
/// Shortest ADU: the header and a function.
pub const SHORTEST: usize = HEADER_OCTETS + 1;
/// Longest ADU that is read.
pub const LONGEST: usize = 1_040;
/// Bit of the function that marks an exception.
const EXCEPTION: u8 = 0x80;
/// Octets of MBAP before those that its length counts.
const BEFORE_LENGTH: usize = 6;

/// Header MBAP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    /// Transaction identifier, which the client chooses and the server repeats.
    pub transaction: u16,
    /// Unit identifier: a device behind a gateway; 0 and 255 are commonly the server itself.
    pub unit: u8,
    /// Octets of the whole ADU, header included: 8 to [`LONGEST`].
    pub adu_octets: usize,
}

impl Header {
    /// Decodes a header.
    ///
    /// # Errors
    /// Names the field: missing, a protocol other than 0, or a length out of range.
    pub fn decode(octets: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let transaction = reader.u16("MBAP transaction")?;
        let protocol = reader.malformed("MBAP protocol");
        if reader.u16("MBAP protocol")? != 0 {
            return Err(protocol);
        }
        let length = reader.malformed("MBAP length");
        let adu_octets = BEFORE_LENGTH + usize::from(reader.u16("MBAP length")?);
        if !(SHORTEST..=LONGEST).contains(&adu_octets) {
            return Err(length);
        }
        let unit = reader.u8("MBAP unit")?;
        Ok(Self { transaction, unit, adu_octets })
    }
}

/// ADU: header, function and data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// Transaction identifier.
    pub transaction: u16,
    /// Unit identifier.
    pub unit: u8,
    /// Function code without the bit of exceptions.
    pub function: u8,
    /// True if the bit of exceptions is set: only replies have it.
    pub is_exception: bool,
    /// Data of the function; of an exception its code.
    pub data: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Decodes the ADU at the front of `octets`. Its data end with `octets`, if those are fewer.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let Header { transaction, unit, adu_octets } = Header::decode(octets)?;
        let adu = octets.get(..adu_octets).unwrap_or(octets);
        let mut reader = Reader::new(adu.get(HEADER_OCTETS..).unwrap_or_default());
        let code = reader.u8("function code").map_err(|malformed| malformed.within(7))?;
        let (function, is_exception) = (code & !EXCEPTION, code & EXCEPTION != 0);
        Ok(Self { transaction, unit, function, is_exception, data: reader.rest() })
    }

    /// Code of the exception, if it is one and has a code.
    #[must_use]
    pub fn exception(&self) -> Option<u8> {
        if self.is_exception { self.data.first().copied() } else { None }
    }

    /// Octets of a request that say which data it is about: addresses and numbers, without the values
    /// that it writes. Equal octets are the same poll.
    #[must_use]
    pub fn subject(&self) -> &'a [u8] {
        let octets = match self.function {
            // Read coils, inputs and registers; write several: address and quantity.
            1..=4 | 15 | 16 => 4,
            // Write one coil or register, mask a register, read a FIFO: address.
            5 | 6 | 22 | 24 => 2,
            // Read and write: both addresses and quantities.
            23 => 8,
            _ => self.data.len(),
        };
        self.data.get(..octets).unwrap_or(self.data)
    }

    /// Encodes the ADU.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let code = self.function & !EXCEPTION | if self.is_exception { EXCEPTION } else { 0 };
        let mut out = Vec::with_capacity(SHORTEST + self.data.len());
        out.extend(self.transaction.to_be_bytes());
        out.extend([0; 2]);
        let length = u16::try_from(2 + self.data.len()).unwrap_or(u16::MAX);
        out.extend(length.to_be_bytes());
        out.extend([self.unit, code]);
        out.extend(self.data);
        out
    }
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { transaction, unit, function, data, .. } = self;
        write!(f, "Modbus transaction {transaction} unit {unit} function {function}")?;
        match self.exception() {
            Some(code) => write!(f, " exception {code}"),
            None => write!(f, ", {} octets", data.len()),
        }
    }
}

/// Name of a public function; none of others.
#[must_use]
pub const fn function_name(function: u8) -> Option<&'static str> {
    Some(match function {
        1 => "read coils",
        2 => "read discrete inputs",
        3 => "read holding registers",
        4 => "read input registers",
        5 => "write single coil",
        6 => "write single register",
        7 => "read exception status",
        8 => "diagnostics",
        11 => "get comm event counter",
        12 => "get comm event log",
        15 => "write multiple coils",
        16 => "write multiple registers",
        17 => "report server ID",
        20 => "read file record",
        21 => "write file record",
        22 => "mask write register",
        23 => "read/write registers",
        24 => "read FIFO queue",
        43 => "encapsulated interface",
        90 => "UMAS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the implementation guide, 4.4.2.1: read register 5 of unit 255.
    const REQUEST: [u8; 12] = [0x15, 1, 0, 0, 0, 6, 0xFF, 3, 0, 4, 0, 1];

    #[test]
    fn the_example_of_the_guide_is_read() {
        let pdu = Pdu::decode(&REQUEST).unwrap();
        let data = &[0, 4, 0, 1][..];
        let expected =
            Pdu { transaction: 0x1501, unit: 255, function: 3, is_exception: false, data };
        assert_eq!((pdu, pdu.subject()), (expected, data));
        assert_eq!(pdu.encode(), REQUEST);
        assert_eq!(pdu.to_string(), "Modbus transaction 5377 unit 255 function 3, 4 octets");
        let exception = Pdu { is_exception: true, data: &[2], ..pdu };
        let octets = exception.encode();
        assert_eq!(octets, [0x15, 1, 0, 0, 0, 3, 0xFF, 0x83, 2]);
        assert_eq!(Pdu::decode(&octets), Ok(exception));
        assert_eq!((exception.exception(), pdu.exception()), (Some(2), None));
        assert!(exception.to_string().ends_with("function 3 exception 2"));
    }

    #[test]
    fn an_invalid_header_names_its_field() {
        let check = |octets: &[u8], field, offset| {
            assert_eq!(Pdu::decode(octets), Err(Malformed { field, offset }), "{octets:?}");
        };
        check(&REQUEST[..1], "MBAP transaction", 0);
        check(&[0x15, 1, 0, 1, 0, 6, 1, 3], "MBAP protocol", 2);
        check(&[0x15, 1, 0, 0, 0, 1, 1, 3], "MBAP length", 4);
        check(&[0x15, 1, 0, 0, 4, 11, 1, 3], "MBAP length", 4);
        check(&REQUEST[..6], "MBAP unit", 6);
        check(&REQUEST[..7], "function code", 7);
        // A length beyond the octets is that of a cut ADU.
        let cut = Pdu::decode(&[0x15, 1, 0, 0, 4, 0, 1, 3, 9]).unwrap();
        assert_eq!(cut.data, [9]);
    }

    #[test]
    fn octets_at_random_are_read_or_refused() {
        let mut state = 7_u32;
        let mut octet = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let mut read = 0;
        for _ in 0..20_000 {
            let mut octets: Vec<u8> = (0..octet() % 20).map(|_| octet()).collect();
            if octets.len() > 5 {
                octets[2..5].fill(0);
            }
            let Ok(pdu) = Pdu::decode(&octets) else { continue };
            read += 1;
            assert!(pdu.subject().len() <= pdu.data.len());
            let again = pdu.encode();
            assert_eq!(Pdu::decode(&again), Ok(pdu));
        }
        assert!(read > 2_000, "{read}");
    }
}
