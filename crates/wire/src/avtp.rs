//! AVTP, the transport of Audio Video Bridging (IEEE 1722-2016): stream data with their numbers and
//! presentation times. Control messages are only recognised.
//!
//! ```text
//! 0   subtype 1; sv 1 bit, version 3, mr 1, 2 bits, tv 1; sequence 1; 7 bits, tu 1; stream 8
//! 12  presentation time 4 (gPTP, lower 32 bits of nanoseconds); of CRF frequency 4, length 2,
//!     interval 2, times of 8 each
//! ```
//!
//! Left out: the media data, and control streams without a time (NTSCF).

use crate::leaf::{Cyclic, Leaf};
use crate::read::{Malformed, Reader};
use core::fmt;

/// Octets up to the presentation time.
pub const HEADER_OCTETS: usize = 16;
/// Subtype of clock references.
const CRF: u8 = 0x04;
/// Subtypes from which on messages are control or have another header.
const FIRST_OTHER: u8 = 0x08;

/// AVTP as a leaf of the layering. All behind the presentation time counts as user data.
pub const LEAF: Leaf = Leaf {
    name: "AVTP",
    cyclic: Some(Cyclic::Avtp),
    kind: |octets| {
        Pdu::decode(octets).map(|pdu| if pdu.is_some() { "AVTP" } else { "AVTP control" })
    },
    print: |octets, f| match Pdu::decode(octets) {
        Ok(Some(pdu)) => write!(f, "{pdu}"),
        _ => f.write_str("AVTP control"),
    },
    headers_octets: |octets| HEADER_OCTETS.min(octets.len()),
    rewrite: |names, octets| {
        // A stream is identified by the address of its talker and a number.
        if let Some(station) = octets.get_mut(4..10) {
            names.station(station);
        }
        HEADER_OCTETS.min(octets.len())
    },
};

/// Stream data of AVTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu {
    /// Subtype: 0 IEC 61883, 2 audio (AAF), 3 video (CVF), 4 clock reference (CRF), 5 control (TSCF).
    pub subtype: u8,
    /// mr: toggles when the media clock restarts.
    pub media_restart: bool,
    /// sequence_num.
    pub sequence: u8,
    /// tu: the talker's time is uncertain.
    pub is_uncertain: bool,
    /// stream_id.
    pub stream: u64,
    /// Presentation time: 32 bits of nanoseconds, of CRF 64; none if it is not valid.
    pub time: Option<u64>,
}

impl Pdu {
    /// Decodes a frame behind its EtherType; none for control messages and subtypes with another header.
    ///
    /// # Errors
    /// Names the field that cannot be read; another version than 0 too.
    pub fn decode(octets: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut reader = Reader::new(octets);
        let subtype = reader.u8("subtype")?;
        let fault = reader.malformed("version");
        let bits = reader.u8("version")?;
        if bits & 0x70 != 0 {
            return Err(fault);
        }
        if subtype >= FIRST_OTHER || bits & 0x80 == 0 {
            return Ok(None);
        }
        let sequence = reader.u8("sequence_num")?;
        let fourth = reader.u8("tu")?;
        let stream = u64::from_be_bytes(reader.array("stream_id")?);
        let second = u32::from_be_bytes(reader.array("avtp_timestamp")?);
        let time = if subtype == CRF {
            reader.take("crf_data_length", 4)?;
            reader.array("crf_data").ok().map(u64::from_be_bytes)
        } else {
            (bits & 1 != 0).then_some(second.into())
        };
        // CRF has its bit of uncertain time in the second octet.
        let is_uncertain = if subtype == CRF { bits & 1 } else { fourth & 1 } != 0;
        let media_restart = bits & 0x08 != 0;
        Ok(Some(Self { subtype, media_restart, sequence, is_uncertain, stream, time }))
    }

    /// True if the time has all 64 bits.
    #[must_use]
    pub const fn has_whole_time(&self) -> bool {
        self.subtype == CRF
    }
}

impl fmt::Display for Pdu {
    /// Prints the frame on one line, without its data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subtype, stream, sequence, .. } = self;
        write!(f, "AVTP subtype={subtype:02x} stream={stream:016x} sequence={sequence}")?;
        if let Some(time) = self.time {
            write!(f, " time={time}")?;
        }
        f.write_str(if self.is_uncertain { " uncertain" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_data_are_read_and_control_is_not() {
        let head = [2, 0x89, 7, 1, 2, 0, 0, 0, 5, 1, 0, 1, 0, 0, 1, 0];
        let pdu = Pdu::decode(&head).unwrap().unwrap();
        assert!(pdu.media_restart && pdu.is_uncertain && !pdu.has_whole_time());
        assert_eq!(
            pdu.to_string(),
            "AVTP subtype=02 stream=0200000005010001 sequence=7 time=256 uncertain"
        );
        assert_eq!(Pdu::decode(&[0xFA, 0, 0, 0]), Ok(None));
        let crf = [&[4, 0x80, 9, 1][..], &head[4..12], &[0; 8], &[0, 0, 0, 1, 0, 0, 0, 2]].concat();
        let pdu = Pdu::decode(&crf).unwrap().unwrap();
        assert_eq!((pdu.time, pdu.is_uncertain), (Some(0x1_0000_0002), false));
        let fault = Pdu::decode(&head[..9]).unwrap_err();
        assert_eq!(fault.to_string(), "malformed stream_id at octet 4");
    }
}
