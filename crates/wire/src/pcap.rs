//! pcap, the capture format of libpcap and tcpdump (draft-ietf-opsawg-pcap).
//!
//! A header of 24 octets, then records: seconds, fraction, captured length, original length,
//! octets. The magic number gives the byte order and the unit of the fractions, microseconds or
//! nanoseconds. Files are read through [`Capture`](crate::capture::Capture).
//!
//! Left out: time zone and accuracy in the header, which are always zero in practice.

use crate::capture::record::{
    CaptureError, Interface, MAX_RECORD_OCTETS, Record, Resolution, SNAP_OCTETS, Statistics,
    lengths,
};
use crate::capture::source::{Order, Source};
use crate::dissect::Link;
use crate::time::Instant;
use std::io::{self, Write};

const FILE_HEADER_OCTETS: usize = 24;
const RECORD_HEADER_OCTETS: usize = 16;
/// Length of a record header in files of a patched libpcap of the 1990s: the usual one, then the
/// index of the interface, a protocol, a packet type and a pad octet.
const PATCHED_RECORD_HEADER_OCTETS: usize = 24;

const MICRO: u32 = 0xA1B2_C3D4;
const NANO: u32 = 0xA1B2_3C4D;
const PATCHED: u32 = 0xA1B2_CD34;

/// Flag in the link type field: the highest four bits are the length of the FCS, in units of two
/// octets.
const FCS_IS_TOLD: u32 = 0x0400_0000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Returns the byte order and the magic number at the start of a file.
fn magic(octets: [u8; 4]) -> Option<(Order, u32)> {
    [Order::Big, Order::Little]
        .map(|order| (order, order.u32(octets)))
        .into_iter()
        .find(|(_, magic)| [MICRO, NANO, PATCHED].contains(magic))
}

pub(crate) fn is_magic(octets: [u8; 4]) -> bool {
    magic(octets).is_some()
}

/// Order of the two lengths in a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lengths {
    /// Captured length first, as in version 2.4.
    CapturedFirst,
    /// Either order, because version 2.3 had writers of both kinds. The smaller is the captured
    /// length.
    Either,
    /// Original length first, before version 2.3.
    OriginalFirst,
}

/// Header of a record.
struct Header {
    nanos: u64,
    captured: usize,
    original: usize,
}

/// Properties of a file, from its header.
#[derive(Debug)]
pub(crate) struct Reader {
    order: Order,
    nanos_per_fraction: u64,
    record_header_octets: usize,
    lengths: Lengths,
    fcs_octets: usize,
    interface: Interface,
}

impl Reader {
    pub(crate) fn open(source: &mut Source) -> Result<Self, CaptureError> {
        let offset = source.offset();
        let reader = source
            .whole(FILE_HEADER_OCTETS)?
            .and_then(|octets| octets.first_chunk())
            .map(Self::from_header)
            .ok_or(CaptureError::CutShort { offset })??;
        source.take(FILE_HEADER_OCTETS, (0, 0));
        Ok(reader)
    }

    fn from_header(header: &[u8; FILE_HEADER_OCTETS]) -> Result<Self, CaptureError> {
        let (words, _) = header.as_chunks::<4>();
        let &[first, version, _, _, snap, link] = words else {
            return Err(CaptureError::CutShort { offset: 0 });
        };
        let Some((order, magic)) = magic(first) else {
            return Err(CaptureError::Malformed { offset: 0, field: "magic number" });
        };
        let [a, b, c, d] = version;
        let lengths = match (order.u16([a, b]), order.u16([c, d])) {
            (2, 0..=2) => Lengths::OriginalFirst,
            (2, 3) => Lengths::Either,
            (2, _) => Lengths::CapturedFirst,
            _ => return Err(CaptureError::Malformed { offset: 4, field: "version" }),
        };
        let link = order.u32(link);
        let fcs_octets = if link & FCS_IS_TOLD == 0 { 0 } else { (link >> 28) as u8 * 2 };
        let resolution = if magic == NANO { Resolution::NANO } else { Resolution::MICRO };
        Ok(Self {
            order,
            nanos_per_fraction: resolution.nanos(1),
            record_header_octets: match magic {
                PATCHED => PATCHED_RECORD_HEADER_OCTETS,
                _ => RECORD_HEADER_OCTETS,
            },
            lengths,
            fcs_octets: usize::from(fcs_octets),
            interface: Interface {
                link: Link::from_dlt(link & 0xFFFF),
                name: String::new(),
                snap_octets: order.u32(snap),
                fcs_octets,
                resolution,
                offset_seconds: 0,
                leaves_out_data: false,
                statistics: Statistics::default(),
            },
        })
    }

    pub(crate) const fn interface(&self) -> &Interface {
        &self.interface
    }

    // Always inlined: the record then need not be stored in memory.
    #[inline(always)]
    pub(crate) fn next<'s>(
        &mut self,
        source: &'s mut Source,
    ) -> Result<Option<Record<'s>>, CaptureError> {
        // Fast path: the whole record is in the buffer, and it is not empty.
        let is_plain = |header: &Header| self.is_plain(header, source.left()) && source.is_sound();
        let header = source.first().map(|header| self.header(header));
        let header = match header.filter(is_plain) {
            Some(header) => header,
            None => match self.next_header(source)? {
                Some(header) => header,
                None => return Ok(None),
            },
        };
        Ok(Some(self.record(&header, source)))
    }

    /// Passes the records that lie in the buffer as a whole, up to the first empty one, to `take`, until it returns
    /// false. Returns true if it never did.
    #[inline(always)]
    pub(crate) fn each_ready(
        &self,
        source: &mut Source,
        take: &mut impl FnMut(Record<'_>) -> bool,
    ) -> bool {
        let mut ready = source.ready();
        while let Some(header) = ready.rest().first_chunk().map(|header| self.header(header)) {
            if !self.is_plain(&header, ready.rest().len()) || !ready.is_sound() {
                break;
            }
            let frame = ready.take(self.octets(&header) as usize, self.frame(&header));
            if !take(self.record_of(&header, frame)) {
                return false;
            }
        }
        true
    }

    /// Reads the header of the next record after refilling the buffer.
    #[cold]
    fn next_header(&self, source: &mut Source) -> Result<Option<Header>, CaptureError> {
        let Some(octets) = source.whole(self.record_header_octets)? else { return Ok(None) };
        let Some(header) = octets.first_chunk().map(|header| self.header(header)) else {
            return Err(CaptureError::CutShort { offset: source.offset() });
        };
        if header.captured == 0 || !source.is_sound() {
            source.check()?;
        }
        if header.captured > MAX_RECORD_OCTETS - self.record_header_octets {
            let octets = header.captured as u64;
            return Err(CaptureError::TooLong { offset: source.offset(), octets });
        }
        if source.whole(self.octets(&header) as usize)?.is_none() {
            return Err(CaptureError::CutShort { offset: source.offset() });
        }
        Ok(Some(header))
    }

    /// True if a record lies whole in the `ready` octets, and is not empty.
    #[inline]
    const fn is_plain(&self, header: &Header, ready: usize) -> bool {
        self.octets(header) <= ready as u64 && header.captured > 0
    }

    /// Octets of a record, header included.
    const fn octets(&self, header: &Header) -> u64 {
        self.record_header_octets as u64 + header.captured as u64
    }

    /// Decodes the header of a record.
    #[inline]
    fn header(&self, header: &[u8; RECORD_HEADER_OCTETS]) -> Header {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *header;
        let [mut seconds, mut fraction, mut captured, mut original] = [
            u32::from_le_bytes([a, b, c, d]),
            u32::from_le_bytes([e, f, g, h]),
            u32::from_le_bytes([i, j, k, l]),
            u32::from_le_bytes([m, n, o, p]),
        ];
        // One decision for all, which no call hides.
        if self.order == Order::Big {
            (seconds, fraction) = (seconds.swap_bytes(), fraction.swap_bytes());
            (captured, original) = (captured.swap_bytes(), original.swap_bytes());
        }
        if self.lengths != Lengths::CapturedFirst
            && (self.lengths == Lengths::OriginalFirst || captured > original)
        {
            (captured, original) = (original, captured);
        }
        let nanos =
            u64::from(seconds) * NANOS_PER_SECOND + u64::from(fraction) * self.nanos_per_fraction;
        Header { nanos, captured: captured as usize, original: original as usize }
    }

    /// Octets of a frame on the wire, without its FCS.
    #[inline]
    fn original_octets(&self, header: &Header) -> usize {
        header.original.max(header.captured).saturating_sub(self.fcs_octets)
    }

    /// Place of the frame in its record, and its length, without its FCS.
    #[inline]
    fn frame(&self, header: &Header) -> (usize, usize) {
        (self.record_header_octets, header.captured.min(self.original_octets(header)))
    }

    /// Takes a record that is completely in the buffer.
    #[inline]
    fn record<'s>(&self, header: &Header, source: &'s mut Source) -> Record<'s> {
        let frame = source.take(self.octets(header) as usize, self.frame(header));
        self.record_of(header, frame)
    }

    #[inline]
    fn record_of<'s>(&self, header: &Header, octets: &'s [u8]) -> Record<'s> {
        Record {
            at: Instant::from_nanos(header.nanos),
            link: self.interface.link,
            octets,
            original_octets: self.original_octets(header),
            interface: 0,
        }
    }
}

/// Writer of pcap files with nanoseconds, little-endian.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// Writes the file header.
    ///
    /// # Errors
    /// Errors of `out`; `InvalidInput` for a link type above 65535.
    pub fn new(mut out: W, link: Link) -> io::Result<Self> {
        let Ok(link) = u16::try_from(link.dlt()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "link type above 65535"));
        };
        out.write_all(&NANO.to_le_bytes())?;
        out.write_all(&2_u16.to_le_bytes())?;
        out.write_all(&4_u16.to_le_bytes())?;
        out.write_all(&[0; 8])?;
        out.write_all(&(SNAP_OCTETS as u32).to_le_bytes())?;
        out.write_all(&u32::from(link).to_le_bytes())?;
        Ok(Self { out })
    }

    /// Writes one frame of which `octets` were captured.
    ///
    /// # Errors
    /// Errors of the output; `InvalidInput` for times after February 2106, for more octets than
    /// [`SNAP_OCTETS`], and for more octets than there were originally.
    pub fn write(&mut self, at: Instant, octets: &[u8], original_octets: usize) -> io::Result<()> {
        let (captured, original) = lengths(octets, original_octets)?;
        let nanos = at.as_nanos();
        let Ok(seconds) = u32::try_from(nanos / NANOS_PER_SECOND) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "time after 2106"));
        };
        let fraction = (nanos % NANOS_PER_SECOND) as u32;
        for word in [seconds, fraction, captured, original] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.write_all(octets)
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Returns the output.
    pub fn into_inner(self) -> W {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::tests::{check_cuts, hex, read};

    /// Magic, version, zone, accuracy, snap length 65535, link type, in both byte orders.
    const BIG: &str = "a1 b2 c3 d4 00 02 00 04 00 00 00 00 00 00 00 00 00 00 ff ff 00 00 00 01";
    const LITTLE: &str = "4d 3c b2 a1 02 00 04 00 00 00 00 00 00 00 00 00 ff ff 00 00 69 00 00 00";

    fn file(header: &str, records: &str) -> Vec<u8> {
        [hex(header), hex(records)].concat()
    }

    #[test]
    fn both_orders_of_octets_and_both_fractions_are_read() {
        // 2 s and 0x0003_0d40 = 200000 us; 3 of 5 octets captured.
        let big = file(BIG, "00 00 00 02 00 03 0d 40 00 00 00 03 00 00 00 05 0a 0b 0c");
        assert_eq!(read(&big), (vec![(2_200_000_000, 1, vec![10, 11, 12], 5, 0)], None));
        // The same number of nanoseconds; link type 0x69 = 105.
        let little = file(LITTLE, "02 00 00 00 40 0d 03 00 03 00 00 00 05 00 00 00 0a 0b 0c");
        assert_eq!(read(&little), (vec![(2_000_200_000, 105, vec![10, 11, 12], 5, 0)], None));
    }

    #[test]
    fn the_header_describes_the_interface() {
        let capture = crate::capture::Capture::open(std::io::Cursor::new(hex(BIG))).unwrap();
        let [interface] = capture.interfaces() else { panic!("one interface") };
        assert_eq!((interface.snap_octets, interface.resolution), (65_535, Resolution::MICRO));
        assert_eq!((interface.link, interface.fcs_octets), (Link::Ethernet, 0));
    }

    #[test]
    fn a_file_cut_anywhere_gives_its_whole_records() {
        let records = "00 00 00 02 00 00 00 01 00 00 00 03 00 00 00 05 0a 0b 0c
             00 00 00 03 00 00 00 01 00 00 00 00 00 00 00 05
             00 00 00 04 00 00 00 01 00 00 00 01 00 00 00 01 0d";
        // 24 octets of header, records of 16 + 3, 16 and 16 + 1.
        check_cuts(&file(BIG, records), &[(0, 0), (24, 0), (43, 1), (59, 2), (76, 3)]);
    }

    #[test]
    fn absurd_lengths_are_errors_with_their_place() {
        let record = "00 00 00 02 00 00 00 01 00 00 00 01 00 00 00 01 0d";
        for (length, octets) in [("ff ff ff ff", 0xFFFF_FFFF), ("10 00 00 00", 0x1000_0000)] {
            let absurd = format!("00 00 00 02 00 00 00 01 {length} {length} 0d");
            let (seen, error) = read(&file(BIG, &format!("{record} {absurd}")));
            assert_eq!(seen.len(), 1);
            assert_eq!(error, Some(CaptureError::TooLong { offset: 24 + 17, octets }));
        }
    }

    #[test]
    fn the_fcs_is_excluded_from_records_and_lengths() {
        // Highest four bits 2: 2 x 2 octets of FCS; 04 00 00 00: flag that they are valid;
        // Ethernet.
        let header = BIG.replace("00 00 00 01", "24 00 00 01");
        let whole = "00 00 00 00 00 00 00 00 00 00 00 06 00 00 00 06 01 02 f1 f2 f3 f4";
        let partly = "00 00 00 00 00 00 00 00 00 00 00 05 00 00 00 08 01 02 03 04 f1";
        let not_at_all = "00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 08 01";
        let (seen, error) = read(&file(&header, &[whole, partly, not_at_all].join(" ")));
        assert_eq!(error, None);
        assert_eq!(seen[0], (0, 1, vec![1, 2], 2, 0));
        assert_eq!(seen[1], (0, 1, vec![1, 2, 3, 4], 4, 0));
        assert_eq!(seen[2], (0, 1, vec![1], 4, 0));
        // Without the flag, the highest bits are not valid.
        let header = BIG.replace("00 00 00 01", "20 00 00 01");
        assert_eq!(read(&file(&header, whole)).0[0].3, 6);
    }

    #[test]
    fn old_versions_have_their_lengths_in_reverse_order() {
        let original_first = "00 00 00 00 00 00 00 00 00 00 00 05 00 00 00 01 07";
        let captured_first = "00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 05 07";
        for (minor, record) in
            [("02", original_first), ("03", original_first), ("03", captured_first)]
        {
            let header = BIG.replace("00 02 00 04", &format!("00 02 00 {minor}"));
            assert_eq!(read(&file(&header, record)), (vec![(0, 1, vec![7], 5, 0)], None));
        }
        let (_, error) = read(&hex(&BIG.replace("00 02 00 04", "00 03 00 04")));
        assert_eq!(error, Some(CaptureError::Malformed { offset: 4, field: "version" }));
    }

    #[test]
    fn the_longer_record_header_of_the_patched_library_is_read() {
        let header = BIG.replace("c3 d4", "cd 34");
        let record = "00 00 00 00 00 00 00 01 00 00 00 01 00 00 00 01 00 00 00 02 08 00 00 00 07";
        assert_eq!(read(&file(&header, record)), (vec![(1_000, 1, vec![7], 1, 0)], None));
        // 24 octets of header, records of 24 and 24 + 1. The last is cut where a short record
        // header would end.
        let empty = "00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 01 00 00 00 02 08 00 00 00";
        let records = [empty, record].join(" ");
        check_cuts(&file(&header, &records), &[(0, 0), (24, 0), (48, 1), (73, 2)]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let longest: Vec<u8> = (0..SNAP_OCTETS).map(|i| (i / 7) as u8).collect();
        // The last nanosecond that 32 bits of seconds hold.
        let last = u64::from(u32::MAX) * NANOS_PER_SECOND + 999_999_999;
        let records = vec![
            (0, 147, vec![], 0, 0),
            (1_700_000_000_123_456_789, 147, vec![1, 2, 3], 1_500, 0),
            (5, 147, longest.clone(), SNAP_OCTETS, 0),
            (last, 147, longest[..70_000].to_vec(), 70_000, 0),
            (last, 147, vec![9], 0xFFFF_FFFF, 0),
        ];
        let mut writer = Writer::new(Vec::new(), Link::Other(147)).unwrap();
        for (at, _, octets, original, _) in &records {
            writer.write(Instant::from_nanos(*at), octets, *original).unwrap();
        }
        let written = writer.into_inner();
        assert_eq!(written[..4], [0x4D, 0x3C, 0xB2, 0xA1]);
        assert!(read(&written) == (records, None));
    }

    #[test]
    fn the_writer_refuses_what_the_format_cannot_hold() {
        let refused = |result: io::Result<()>| result.unwrap_err().to_string();
        let other = Link::Other(65_536);
        assert_eq!(refused(Writer::new(vec![], other).map(drop)), "link type above 65535");
        let mut writer = Writer::new(Vec::new(), Link::Ethernet).unwrap();
        let (zero, octets) = (Instant::ZERO, vec![0; SNAP_OCTETS + 1]);
        let after = Instant::from_nanos((1 << 32) * NANOS_PER_SECOND);
        assert_eq!(refused(writer.write(after, &[], 0)), "time after 2106");
        let long = "record longer than the snap length";
        assert_eq!(refused(writer.write(zero, &octets, octets.len())), long);
        assert_eq!(refused(writer.write(zero, &[1, 2], 1)), "record longer than its frame");
        assert_eq!(writer.into_inner().len(), FILE_HEADER_OCTETS, "nothing was written");
    }
}
