//! EtherCAT on Ethernet (IEC 61158-4-12): datagrams that devices read and write while the frame passes
//! through them, and their working counters.
//!
//! ```text
//! 0   length 11 bits, reserved 1, type 4: little-endian, as all that follows
//! 2   datagram: command 1, index 1, address 4, length 11 bits, reserved 3, circulating 1, more 1,
//!     interrupt 2, data, working counter 2
//! ```
//!
//! The frame comes back to its sender with the locally administered bit set in the source address.
//!
//! Left out: the data but for the time of the reference clock and the state of devices, mailboxes, and
//! the form over UDP.

use crate::leaf::{Cyclic, Leaf};
use crate::read::{Malformed, Reader};
use core::fmt;

/// Octets of the header before the datagrams.
pub const HEADER_OCTETS: usize = 2;
/// Octets of a datagram's header.
const DATAGRAM_OCTETS: usize = 10;
/// Type of frames with datagrams.
const COMMANDS: u16 = 1;
/// Offset of the system time in a device (distributed clocks).
const SYSTEM_TIME: u16 = 0x0910;
/// Offset of the AL status in a device.
const AL_STATUS: u16 = 0x0130;
/// Nanoseconds from 1970-01-01 to 2000-01-01, the origin of the system time.
const ORIGIN_NS: u64 = 946_684_800_000_000_000;

/// EtherCAT as a leaf of the layering. All behind the first datagram's header counts as user data.
pub const LEAF: Leaf = Leaf {
    name: "EtherCAT",
    cyclic: Some(Cyclic::EtherCat),
    kind: |octets| Pdu::decode(octets).map(|pdu| pdu.kind_name()),
    print: |octets, f| Pdu::decode(octets).map_or(Ok(()), |pdu| write!(f, "{pdu}")),
    headers_octets: |_| HEADER_OCTETS + DATAGRAM_OCTETS,
    rewrite: |_, _| HEADER_OCTETS + DATAGRAM_OCTETS,
};

/// EtherCAT frame behind its EtherType.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu<'a> {
    /// Type: 1 for datagrams, 4 for network variables, 5 for the mailbox gateway.
    pub kind: u16,
    /// Octets of the datagrams, or of other contents.
    pub contents: &'a [u8],
}

/// Datagram: one command to one or more devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram<'a> {
    /// Command: 1 APRD, 2 APWR ... 14 FRMW.
    pub command: u8,
    /// Index, by which the master finds the answer.
    pub index: u8,
    /// Position or station and offset, of a logical command the logical address.
    pub address: u32,
    /// Interrupt requests of the devices.
    pub interrupt: u16,
    /// Data that are read, written or both.
    pub data: &'a [u8],
    /// Working counter: incremented by each device that the command reached.
    pub working_counter: u16,
}

/// Time of a reference clock, as a returned datagram has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SystemTime {
    /// Nanoseconds; since 1970-01-01 if they are whole.
    pub nanos: u64,
    /// True if the datagram has all 64 bits, and not only the lower 32.
    pub is_whole: bool,
}

/// Names of the commands, by their codes.
const COMMAND_NAMES: [&str; 15] = [
    "NOP", "APRD", "APWR", "APRW", "FPRD", "FPWR", "FPRW", "BRD", "BWR", "BRW", "LRD", "LWR",
    "LRW", "ARMW", "FRMW",
];

impl<'a> Pdu<'a> {
    /// Decodes the octets behind the EtherType, with or without padding.
    ///
    /// # Errors
    /// Names the field that cannot be read. All datagrams are checked.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let head = u16::from_le_bytes(reader.array("EtherCAT length")?);
        let (length, kind) = (head & 0x07FF, head >> 12);
        let fault = Malformed { field: "EtherCAT length", offset: 0 };
        let contents = reader.rest().get(..length.into()).ok_or(fault)?;
        let pdu = Self { kind, contents };
        pdu.datagrams()
            .try_for_each(|datagram| datagram.map(|_| ()))
            .map_err(|fault| fault.within(HEADER_OCTETS))?;
        Ok(pdu)
    }

    /// Datagrams in their order; an error ends them.
    #[must_use]
    pub fn datagrams(&self) -> Datagrams<'a> {
        let has_datagrams = self.kind == COMMANDS && !self.contents.is_empty();
        Datagrams { reader: Reader::new(self.contents), has_more: has_datagrams }
    }

    const fn kind_name(&self) -> &'static str {
        match self.kind {
            COMMANDS => "EtherCAT",
            4 => "EtherCAT network variables",
            5 => "EtherCAT mailbox gateway",
            _ => "EtherCAT of unknown type",
        }
    }

    /// Encodes a frame of datagrams. Data beyond 2,047 octets are left out.
    #[must_use]
    pub fn encode(datagrams: &[Datagram<'_>]) -> Vec<u8> {
        let mut out = vec![0; HEADER_OCTETS];
        for (place, it) in datagrams.iter().enumerate() {
            let data = it.data.get(..it.data.len().min(0x07FF)).unwrap_or_default();
            let more = u16::from(place + 1 < datagrams.len()) << 15;
            out.extend([it.command, it.index]);
            out.extend(it.address.to_le_bytes());
            out.extend((data.len() as u16 | more).to_le_bytes());
            out.extend(it.interrupt.to_le_bytes());
            out.extend(data);
            out.extend(it.working_counter.to_le_bytes());
        }
        let length = (out.len() - HEADER_OCTETS).min(0x07FF) as u16;
        out.splice(..HEADER_OCTETS, (length | COMMANDS << 12).to_le_bytes());
        out
    }
}

/// Datagrams of a frame.
#[derive(Clone, Debug)]
pub struct Datagrams<'a> {
    reader: Reader<'a>,
    has_more: bool,
}

impl<'a> Iterator for Datagrams<'a> {
    type Item = Result<Datagram<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if !core::mem::take(&mut self.has_more) {
            return None;
        }
        Some(self.datagram())
    }
}

impl<'a> Datagrams<'a> {
    fn datagram(&mut self) -> Result<Datagram<'a>, Malformed> {
        let reader = &mut self.reader;
        let command = reader.u8("command")?;
        let index = reader.u8("index")?;
        let address = u32::from_le_bytes(reader.array("address")?);
        let length = u16::from_le_bytes(reader.array("datagram length")?);
        let interrupt = u16::from_le_bytes(reader.array("interrupt")?);
        let data = reader.take("data", (length & 0x07FF).into())?;
        let working_counter = u16::from_le_bytes(reader.array("working counter")?);
        self.has_more = length & 0x8000 != 0;
        Ok(Datagram { command, index, address, interrupt, data, working_counter })
    }
}

impl Datagram<'_> {
    /// Name of the command.
    #[must_use]
    pub fn command_name(&self) -> &'static str {
        COMMAND_NAMES.get(usize::from(self.command)).copied().unwrap_or("command")
    }

    /// True if the address is a logical one: LRD, LWR or LRW, the process data.
    #[must_use]
    pub const fn is_logical(&self) -> bool {
        matches!(self.command, 10..=12)
    }

    /// Offset in the device.
    #[must_use]
    pub const fn offset(&self) -> u16 {
        (self.address >> 16) as u16
    }

    /// True if the first device reads and all behind it write (ARMW, FRMW) the system time, as in each
    /// cycle of a master that keeps clocks together.
    #[must_use]
    pub const fn distributes_time(&self) -> bool {
        matches!(self.command, 13 | 14) && self.offset() == SYSTEM_TIME
    }

    /// System time that a device filled in; none in a datagram that no device answered.
    #[must_use]
    pub fn system_time(&self) -> Option<SystemTime> {
        let reads = matches!(self.command, 1 | 4 | 13 | 14) && self.offset() == SYSTEM_TIME;
        if !reads || self.working_counter == 0 {
            return None;
        }
        match self.data.first_chunk::<8>() {
            Some(whole) => {
                let nanos = u64::from_le_bytes(*whole).wrapping_add(ORIGIN_NS);
                Some(SystemTime { nanos, is_whole: true })
            }
            None => {
                let low = u32::from_le_bytes(*self.data.first_chunk()?);
                Some(SystemTime { nanos: low.into(), is_whole: false })
            }
        }
    }

    /// AL status of all devices that a BRD collected: bits 0 to 3 the states, bit 4 an error.
    #[must_use]
    pub fn al_status(&self) -> Option<u16> {
        let is_status = self.command == 7 && self.offset() == AL_STATUS;
        let data = self.data.first_chunk().filter(|_| is_status && self.working_counter > 0)?;
        Some(u16::from_le_bytes(*data))
    }
}

impl fmt::Display for Datagram<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, address, data, working_counter, .. } = self;
        f.write_str(self.command_name())?;
        if self.is_logical() {
            write!(f, " {address:08x}")?;
        } else {
            write!(f, " {:04x}:{:04x}", address & 0xFFFF, self.offset())?;
        }
        write!(f, " index={index} {} octets WKC={working_counter}", data.len())
    }
}

impl fmt::Display for Pdu<'_> {
    /// Prints the frame on one line, without its data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind_name())?;
        if self.kind != COMMANDS {
            return write!(f, " {} octets", self.contents.len());
        }
        for (place, datagram) in self.datagrams().map_while(Result::ok).enumerate() {
            write!(f, "{} {datagram}", if place == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Datagram<'_> = Datagram {
        command: 14,
        index: 12,
        address: 0x0910_1001,
        interrupt: 0,
        data: &[1, 0, 0, 0, 0, 0, 0, 0],
        working_counter: 2,
    };

    #[test]
    fn datagrams_read_as_written_and_print() {
        let logical = Datagram { command: 12, address: 0x1_0000, data: &[7; 5], ..CLOCK };
        let octets = [Pdu::encode(&[CLOCK, logical]), vec![0; 9]].concat();
        let pdu = Pdu::decode(&octets).unwrap();
        assert_eq!(pdu.datagrams().map(Result::unwrap).collect::<Vec<_>>(), [CLOCK, logical]);
        assert_eq!(
            pdu.to_string(),
            "EtherCAT FRMW 1001:0910 index=12 8 octets WKC=2, LRW 00010000 index=12 5 octets WKC=2"
        );
    }

    #[test]
    fn the_time_counts_from_2000_and_takes_an_answer() {
        let time = SystemTime { nanos: 946_684_800_000_000_001, is_whole: true };
        assert_eq!(CLOCK.system_time(), Some(time));
        assert_eq!(Datagram { working_counter: 0, ..CLOCK }.system_time(), None);
        let short = Datagram { data: &[9, 0, 0, 0], ..CLOCK };
        assert_eq!(short.system_time(), Some(SystemTime { nanos: 9, is_whole: false }));
        let status = Datagram { command: 7, address: 0x0130_0000, data: &[0x18, 0], ..CLOCK };
        assert_eq!((status.al_status(), CLOCK.al_status()), (Some(0x18), None));
    }

    #[test]
    fn a_broken_frame_names_the_field() {
        let whole = Pdu::encode(&[CLOCK, CLOCK]);
        let fault = |octets: &[u8]| Pdu::decode(octets).unwrap_err().to_string();
        assert_eq!(fault(&whole[..1]), "malformed EtherCAT length at octet 0");
        assert_eq!(fault(&whole[..30]), "malformed EtherCAT length at octet 0");
        let mut bent = whole.clone();
        // The first datagram is longer than the frame.
        bent[8] = 0xFF;
        assert_eq!(fault(&bent), "malformed data at octet 12");
    }
}
