//! PROFINET on Ethernet (IEC 61158-6-10): frames by their FrameID. Of cyclic data the status at the
//! end is read; DCP, alarms and PTCP are only recognised.
//!
//! ```text
//! 0   FrameID 2
//! 2   data, 40 octets or more
//! -4  CycleCounter 2 (in units of 31.25 us), DataStatus 1, TransferStatus 1
//! ```
//!
//! Left out: the data, fragments of RT class 3, and the form over UDP.

use crate::leaf::{Cyclic, Leaf};
use crate::read::{Malformed, Reader};
use core::fmt;

/// Octets of the FrameID.
pub const HEADER_OCTETS: usize = 2;
/// Octets of the status at the end.
const STATUS_OCTETS: usize = 4;
/// Fewest octets of data, padding included.
const LEAST_DATA_OCTETS: usize = 40;

/// PROFINET as a leaf of the layering. Everything behind the FrameID counts as user data.
pub const LEAF: Leaf = Leaf {
    name: "PROFINET",
    cyclic: Some(Cyclic::ProfinetRt),
    kind: |octets| Pdu::decode(octets).map(|pdu| pdu.kind.name()),
    print: |octets, f| Pdu::decode(octets).map_or(Ok(()), |pdu| write!(f, "{pdu}")),
    headers_octets: |_| HEADER_OCTETS,
    rewrite: |_, _| HEADER_OCTETS,
};

/// Kind of a frame, by its FrameID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Cyclic data of RT class 1 or 2, or of class 3.
    Cyclic(Status),
    /// Alarm of high or low priority.
    Alarm,
    /// Discovery and configuration (DCP).
    Dcp,
    /// Synchronisation of clocks (PTCP).
    Ptcp,
    /// Any other FrameID.
    Other,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Cyclic(_) => "PROFINET RT",
            Self::Alarm => "PROFINET alarm",
            Self::Dcp => "PROFINET DCP",
            Self::Ptcp => "PROFINET PTCP",
            Self::Other => "PROFINET, other FrameID",
        }
    }
}

/// Status of cyclic data (APDU status).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// CycleCounter: time at which the sender's cycle began, in units of 31.25 us.
    pub cycle_counter: u16,
    /// DataStatus: bit 0 primary, 2 valid, 4 provider runs, 5 no problem, 7 ignore.
    pub data: u8,
    /// TransferStatus: 0 for RT classes 1 and 2.
    pub transfer: u8,
}

impl Status {
    /// True if the data are valid, and the provider runs.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.data & 0b1_0100 == 0b1_0100 && self.transfer == 0
    }
}

/// PROFINET frame behind its EtherType.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu<'a> {
    /// FrameID: identifies the relation, or the kind of frame.
    pub frame_id: u16,
    /// Kind, by the FrameID.
    pub kind: Kind,
    /// The octets between FrameID and status, or up to the end.
    pub data: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Decodes the octets behind the EtherType, all of them: the status is at their end.
    ///
    /// # Errors
    /// Names the field that cannot be read.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let frame_id = reader.u16("FrameID")?;
        let kind = match frame_id {
            0x0100..=0xFBFF => {
                let fault = reader.malformed("cyclic data");
                let status = reader.rest().split_last_chunk::<STATUS_OCTETS>();
                let (data, status) = status.ok_or(fault)?;
                if data.len() < LEAST_DATA_OCTETS {
                    return Err(fault);
                }
                let [high, low, data_status, transfer] = *status;
                let cycle_counter = u16::from_be_bytes([high, low]);
                let status = Status { cycle_counter, data: data_status, transfer };
                return Ok(Self { frame_id, kind: Kind::Cyclic(status), data });
            }
            0xFC01 | 0xFE01 => Kind::Alarm,
            0xFEFC..=0xFEFF => Kind::Dcp,
            0x0020..=0x00FF | 0xFF00..=0xFF43 => Kind::Ptcp,
            _ => Kind::Other,
        };
        Ok(Self { frame_id, kind, data: reader.rest() })
    }
}

impl fmt::Display for Pdu<'_> {
    /// Prints the frame on one line, without its data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} FrameID={:04x}", self.kind.name(), self.frame_id)?;
        if let Kind::Cyclic(status) = self.kind {
            let Status { cycle_counter, data, transfer } = status;
            write!(f, " CycleCounter={cycle_counter} DataStatus={data:02x}")?;
            write!(f, " TransferStatus={transfer:02x}")?;
        }
        write!(f, " {} octets", self.data.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_at_the_end() {
        let octets = [&[0x80, 1][..], &[0; 40], &[0xE4, 0xC0, 0x35, 0]].concat();
        let pdu = Pdu::decode(&octets).unwrap();
        let status = Status { cycle_counter: 0xE4C0, data: 0x35, transfer: 0 };
        assert_eq!(pdu.kind, Kind::Cyclic(status));
        assert!(status.is_valid() && !Status { data: 0x25, ..status }.is_valid());
        assert_eq!(
            pdu.to_string(),
            "PROFINET RT FrameID=8001 CycleCounter=58560 DataStatus=35 TransferStatus=00 40 octets"
        );
    }

    #[test]
    fn a_frame_is_named_by_its_frame_id_and_too_short_a_one_refused() {
        for (frame_id, name) in [
            (0xFE01_u16, "PROFINET alarm"),
            (0xFEFE, "PROFINET DCP"),
            (0xFF00, "PROFINET PTCP"),
            (0xFF80, "PROFINET, other FrameID"),
        ] {
            assert_eq!((LEAF.kind)(&frame_id.to_be_bytes()), Ok(name));
        }
        let short = [&[0x80, 1][..], &[0; 43]].concat();
        let fault = Pdu::decode(&short).unwrap_err();
        assert_eq!(fault.to_string(), "malformed cyclic data at octet 2");
    }
}
