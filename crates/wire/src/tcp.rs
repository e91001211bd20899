//! TCP segments (RFC 9293): the complete header.
//!
//! Left out: verification of the checksum (adapters fill it in after the capture), and the meaning
//! of options (they are kept).

use crate::checksum;
use crate::read::{Malformed, Reader};
use bytes::BufMut;
use core::fmt;

/// Protocol number of TCP in IP.
pub const PROTOCOL: u8 = 6;
/// Length of the header without options.
pub const HEADER_OCTETS: usize = 20;
const CHECKSUM_AT: usize = 16;
/// Option at the end of the list, and option without meaning.
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
/// Options that hold only numbers of the connection itself (RFC 9293 3.2, RFC 7323, RFC 2018): maximum
/// segment size, window scale, SACK permitted, SACK, timestamps. Others may hold addresses (Multipath
/// TCP, RFC 8684), keys (TCP-AO, RFC 5925; Fast Open, RFC 7413) or anything (experiments, RFC 6994).
const HARMLESS: [u8; 5] = [2, 3, 4, 5, 8];

/// Control bits, including those of ECN.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// FIN: the sender will send no more data.
    pub const FIN: Self = Self(0x01);
    /// SYN: initial sequence number.
    pub const SYN: Self = Self(0x02);
    /// RST: the connection is reset.
    pub const RST: Self = Self(0x04);
    /// ACK: the acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);

    /// Returns true if all bits of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let mut between = "";
        for (bit, name) in names.into_iter().enumerate() {
            if self.0 >> bit & 1 == 1 {
                write!(f, "{between}{name}")?;
                between = ",";
            }
        }
        if self.0 == 0 { f.write_str("-") } else { Ok(()) }
    }
}

/// TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number of the first octet; of a SYN, the number before it.
    pub sequence: u32,
    /// Acknowledgement number: the next expected, if ACK is set.
    pub acknowledgement: u32,
    /// The four reserved bits, as received.
    pub reserved: u8,
    /// Control bits.
    pub flags: Flags,
    /// Receive window of the sender, before scaling.
    pub window: u16,
    /// Checksum as received.
    pub checksum: u16,
    /// Urgent pointer: end of urgent data.
    pub urgent: u16,
    /// Options as received, padding included.
    pub options: &'a [u8],
    /// Captured octets of the data.
    pub data: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Creates a segment without options from one port to another, with its sequence number and the
    /// next expected one, which is written as zero if ACK is not set. Its window is 8,192 octets,
    /// and its checksum is left to the adapter.
    #[must_use]
    pub const fn between(
        [source_port, destination_port]: [u16; 2],
        flags: Flags,
        [sequence, next]: [u32; 2],
        data: &'a [u8],
    ) -> Self {
        Self {
            source_port,
            destination_port,
            sequence,
            acknowledgement: if flags.has(Flags::ACK) { next } else { 0 },
            reserved: 0,
            flags,
            window: 8_192,
            checksum: 0,
            urgent: 0,
            options: &[],
            data,
        }
    }

    /// Decodes the segment in `octets`.
    ///
    /// # Errors
    /// Names the field that cannot be read.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let source_port = reader.u16("source port")?;
        let destination_port = reader.u16("destination port")?;
        let sequence = reader.u32("sequence number")?;
        let acknowledgement = reader.u32("acknowledgement number")?;
        let at_offset = reader.malformed("data offset");
        let offset = reader.u8("data offset")?;
        let flags = Flags(reader.u8("control bits")?);
        let window = reader.u16("window")?;
        let checksum = reader.u16("checksum")?;
        let urgent = reader.u16("urgent pointer")?;
        let header_octets = usize::from(offset >> 4) * 4;
        let options_octets = header_octets.checked_sub(HEADER_OCTETS).ok_or(at_offset)?;
        let options = reader.take("options", options_octets)?;
        Ok(Self {
            source_port,
            destination_port,
            sequence,
            acknowledgement,
            reserved: offset & 0x0F,
            flags,
            window,
            checksum,
            urgent,
            options,
            data: reader.rest(),
        })
    }

    /// Length of the header in octets.
    #[must_use]
    pub const fn header_octets(&self) -> usize {
        HEADER_OCTETS + self.options.len()
    }

    /// Writes the segment, with the checksum as it is; options must be whole words.
    pub fn encode(&self, out: &mut impl BufMut) {
        out.put_u16(self.source_port);
        out.put_u16(self.destination_port);
        out.put_u32(self.sequence);
        out.put_u32(self.acknowledgement);
        out.put_u8(((self.header_octets() / 4) as u8) << 4 | self.reserved & 0x0F);
        out.put_u8(self.flags.0);
        out.put_u16(self.window);
        out.put_u16(self.checksum);
        out.put_u16(self.urgent);
        out.put_slice(self.options);
        out.put_slice(self.data);
    }
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source_port, destination_port, sequence, flags, window, .. } = self;
        write!(f, "TCP {source_port}>{destination_port} {flags} seq={sequence}")?;
        if flags.has(Flags::ACK) {
            write!(f, " ack={}", self.acknowledgement)?;
        }
        write!(f, " window={window} {} octets", self.data.len())
    }
}

/// Updates the checksum of a header for addresses that changed, and clears the options that may hold
/// an address or user data.
pub(crate) fn rewrite(header: &mut [u8], before: &[u8], after: &[u8]) {
    let Some(options) = header.get_mut(HEADER_OCTETS..) else { return };
    let as_sent = options.to_vec();
    clear_options(options);
    let cleared = options.to_vec();
    if let Some(checksum) = header.get_mut(CHECKSUM_AT..) {
        checksum::adjust(checksum, before, after);
        checksum::adjust(checksum, &as_sent, &cleared);
    }
}

/// Replaces options that are not known to be harmless. The octets after the end of the list become
/// zero; a truncated list is replaced from the truncation on.
fn clear_options(options: &mut [u8]) {
    let mut rest = options;
    loop {
        let taken = match &*rest {
            [] => return,
            [END, ..] => return rest.fill(END),
            [NO_OPERATION, ..] => 1,
            [_, length, ..] if *length >= 2 && usize::from(*length) <= rest.len() => {
                usize::from(*length)
            }
            _ => return rest.fill(NO_OPERATION),
        };
        let (option, behind) = rest.split_at_mut(taken);
        if option.first().is_some_and(|kind| !HARMLESS.contains(kind)) {
            option.fill(NO_OPERATION);
        }
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Port 1025 to 102, number 1, expecting 2; PSH and ACK; window 8192; one word of options.
    const SEGMENT: [u8; 26] = [
        4, 1, 0, 102, 0, 0, 0, 1, 0, 0, 0, 2, 0x60, 0x18, 0x20, 0, 0xAB, 0xCD, 0, 0, 1, 1, 1, 1, 3,
        0,
    ];

    #[test]
    fn a_segment_reads_and_writes_back() {
        let pdu = Pdu::decode(&SEGMENT).unwrap();
        assert_eq!(pdu.to_string(), "TCP 1025>102 PSH,ACK seq=1 ack=2 window=8192 2 octets");
        let mut again = Vec::new();
        pdu.encode(&mut again);
        assert_eq!(again, SEGMENT);
    }

    #[test]
    fn a_segment_between_two_ports_has_a_header_of_twenty_octets() {
        let mut octets = Vec::new();
        Pdu::between([1_025, 102], Flags(0x18), [1, 2], &[3, 0]).encode(&mut octets);
        // The segment above without its options (the header is five words) and its checksum.
        let mut expected = [&SEGMENT[..20], &SEGMENT[24..]].concat();
        (expected[12], expected[16], expected[17]) = (0x50, 0, 0);
        assert_eq!(octets, expected);
        let syn = Pdu::between([1_025, 102], Flags::SYN, [1, 2], &[]);
        assert_eq!((syn.sequence, syn.acknowledgement), (1, 0));
    }

    #[test]
    fn a_broken_header_names_the_field() {
        let mut octets = SEGMENT;
        octets[12] = 0x40;
        let complaint = Pdu::decode(&octets).unwrap_err();
        assert_eq!(complaint.to_string(), "malformed data offset at octet 12");
        octets[12] = 0xF0;
        let complaint = Pdu::decode(&octets).unwrap_err();
        assert_eq!(complaint.to_string(), "malformed options at octet 20");
        let complaint = Pdu::decode(&SEGMENT[..13]).unwrap_err();
        assert_eq!(complaint.to_string(), "malformed control bits at octet 13");
    }

    #[track_caller]
    fn check_options(before: &[u8], after: &[u8]) {
        let mut options = before.to_vec();
        clear_options(&mut options);
        assert_eq!(options, after);
    }

    #[test]
    fn numbers_of_the_connection_stay() {
        let syn = [2, 4, 5, 0xB4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
        check_options(&syn, &syn);
        check_options(
            &[1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 9],
            &[1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 9],
        );
    }

    #[test]
    fn addresses_keys_and_experiments_become_no_operation() {
        // ADD_ADDR of Multipath TCP with 192.0.2.7; an experiment; a Fast Open cookie.
        check_options(&[30, 8, 0x30, 1, 192, 0, 2, 7], &[1; 8]);
        check_options(&[2, 4, 5, 0xB4, 254, 4, 0xAB, 0xCD], &[2, 4, 5, 0xB4, 1, 1, 1, 1]);
        check_options(&[34, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1], &[1; 12]);
    }

    #[test]
    fn what_stands_behind_the_end_or_breaks_off_goes() {
        check_options(&[2, 4, 5, 0xB4, 0, 192, 0, 2], &[2, 4, 5, 0xB4, 0, 0, 0, 0]);
        check_options(&[2, 40, 192, 0], &[1; 4]);
        check_options(&[8, 1, 192, 0], &[1; 4]);
        check_options(&[1, 1, 1, 30], &[1; 4]);
    }
}
