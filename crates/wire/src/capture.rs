//! Capture files: frames with the times they were seen at.
//!
//! [`Capture`] reads pcap and pcapng, plain or packed by gzip or zstd, and tells them apart by
//! their first octets. A record borrows the buffer the file is read into, so nothing is copied.
//! Offsets in errors count octets of the unpacked file.
//!
//! `flate2` and `ruzstd` unpack: people keep captures packed, and both formats are large. `ruzstd`
//! is built without its hash, so the checksum behind a zstd frame is passed over, not verified.
//!
//! Not here: opening files, which the caller does; other capture formats; packed files inside
//! packed files; capture comments, statistics and decryption secrets.

mod source;
mod zstd;

use crate::dissect::Link;
use crate::time::Instant;
use crate::{pcap, pcapng};
use arrayvec::ArrayVec;
use core::fmt;
use flate2::read::MultiGzDecoder;
use std::io::{self, Read};

pub(crate) use source::{Order, Source};

/// The longest record or block that is believed. Longer lengths are errors of the file.
pub const MAX_RECORD_OCTETS: usize = 256 << 20;
/// The snap length that writers announce: longer records are refused.
pub const SNAP_OCTETS: usize = 262_144;
/// How many octets of a foreign file an error shows.
const SHOWN_OCTETS: usize = 16;

/// A frame of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// When the frame was seen. A record without a time (pcapng's simple packet) has that of the
    /// record before it.
    pub at: Instant,
    /// What the first octet belongs to.
    pub link: Link,
    /// The frame without FCS, or as much of it as was captured.
    pub octets: &'a [u8],
    /// How long the frame was, without FCS. Never less than there are octets.
    pub original_octets: usize,
    /// Where the frame was seen: a place in [`Capture::interfaces`].
    pub interface: u32,
}

/// What is known of a port that frames were captured at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// What its frames are.
    pub link: Link,
    /// Its name where it was captured; empty if the file does not say, cut at 64 octets.
    pub name: String,
    /// The most octets kept of a frame; 0 if all were kept.
    pub snap_octets: u32,
    /// Octets of FCS at the end of its frames. Records come without them.
    pub fcs_octets: u8,
    /// The step of its clock.
    pub resolution: Resolution,
    /// What is added to its times, in seconds (`if_tsoffset`).
    pub offset_seconds: i64,
    /// What was counted there, as far as the file has been read.
    pub statistics: Statistics,
}

/// What the program that captured counted at an interface. Each is told or is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Frames that came to the interface (`isb_ifrecv`).
    pub received: Option<u64>,
    /// Frames that the interface dropped, or that the writer counts so (`isb_ifdrop`).
    pub dropped_by_interface: Option<u64>,
    /// Frames that passed the filter of the kernel (`isb_filteraccept`).
    pub accepted: Option<u64>,
    /// Frames that the kernel dropped (`isb_osdrop`).
    pub dropped_by_system: Option<u64>,
    /// Frames that reached the writer (`isb_usrdeliv`).
    pub delivered: Option<u64>,
    /// How often what the writer heard with had no room left. pcapng has no option for it; writers
    /// of ours say it in the comment, `ring full 2 times`.
    pub ring_full: Option<u64>,
}

impl Statistics {
    /// Frames that were dropped, by whomever; none where nothing is told.
    #[must_use]
    pub const fn dropped(&self) -> Option<u64> {
        match (self.dropped_by_interface, self.dropped_by_system) {
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => Some(one),
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
        }
    }

    /// Adds what was counted elsewhere; what neither tells stays untold.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.received, other.received),
            (&mut self.dropped_by_interface, other.dropped_by_interface),
            (&mut self.accepted, other.accepted),
            (&mut self.dropped_by_system, other.dropped_by_system),
            (&mut self.delivered, other.delivered),
            (&mut self.ring_full, other.ring_full),
        ] {
            *sum = more.map_or(*sum, |more| Some(sum.unwrap_or(0).saturating_add(more)));
        }
    }
}

/// The step in which times are written (`if_tsresol` of pcapng).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolution {
    /// A step is a second divided by ten this many times.
    Decimal(u8),
    /// A step is a second halved this many times, at the most 127.
    Binary(u8),
}

/// Nanoseconds in a second divided by ten so many times.
const NANOS_PER_STEP: [u64; 10] =
    [1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];

impl Resolution {
    /// Microseconds.
    pub const MICRO: Self = Self::Decimal(6);
    /// Nanoseconds.
    pub const NANO: Self = Self::Decimal(9);

    /// What `ticks` steps are in nanoseconds, rounded down; saturates after 584 years.
    #[must_use]
    pub fn nanos(self, ticks: u64) -> u64 {
        match self {
            Self::Decimal(digits) => match NANOS_PER_STEP.get(usize::from(digits)) {
                Some(nanos) => ticks.saturating_mul(*nanos),
                None => match 10_u64.checked_pow(u32::from(digits) - 9) {
                    Some(steps) => ticks / steps,
                    None => 0,
                },
            },
            Self::Binary(halvings) => {
                // 2^64 ticks of 10^9 ns take 94 bits.
                let nanos = (u128::from(ticks) * 1_000_000_000) >> (halvings & 0x7F);
                u64::try_from(nanos).unwrap_or(u64::MAX)
            }
        }
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decimal(digits) => write!(f, "10^-{digits} s"),
            Self::Binary(halvings) => write!(f, "2^-{halvings} s"),
        }
    }
}

/// Why a capture cannot be read, or not further. Offsets count octets of the unpacked file.
///
/// All whole records before the place come first, and asking again gives the same error, unless that is
/// [`CaptureError::Unreadable`] for [`io::ErrorKind::WouldBlock`]: then there may be more by now. Only
/// where a zstd frame is broken inside, records of the window before it may be lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CaptureError {
    /// The octets are no capture file of a known format.
    NotACapture {
        /// The first of them.
        octets: ArrayVec<u8, SHOWN_OCTETS>,
    },
    /// The file ends inside the header, record or block that starts here.
    CutShort {
        /// Where that starts.
        offset: u64,
    },
    /// A header, record or block claims more than [`MAX_RECORD_OCTETS`].
    TooLong {
        /// Where it starts.
        offset: u64,
        /// What it claims.
        octets: u64,
    },
    /// A field cannot be what it is.
    Malformed {
        /// Where the field stands.
        offset: u64,
        /// The field, in the words of the format.
        field: &'static str,
    },
    /// The octets could not be read or unpacked.
    Unreadable {
        /// The first octet that is missing.
        offset: u64,
        /// The kind of the error.
        kind: io::ErrorKind,
        /// The error in words.
        reason: String,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotACapture { octets } if octets.is_empty() => {
                f.write_str("not a capture file: empty")
            }
            Self::NotACapture { octets } => {
                f.write_str("not a capture file: begins with")?;
                octets.iter().try_for_each(|octet| write!(f, " {octet:02x}"))
            }
            Self::CutShort { offset } => {
                write!(f, "capture cut short: what starts at octet {offset} is not whole")
            }
            Self::TooLong { offset, octets } => {
                write!(f, "absurd length at octet {offset} of the capture: {octets} octets")
            }
            Self::Malformed { offset, field } => {
                write!(f, "malformed {field} at octet {offset} of the capture")
            }
            Self::Unreadable { offset, reason, .. } => {
                write!(f, "capture unreadable from octet {offset} on: {reason}")
            }
        }
    }
}

impl core::error::Error for CaptureError {}

enum Format {
    Pcap(pcap::Reader),
    Pcapng(pcapng::Reader),
}

/// A capture file under way, read record by record.
pub struct Capture {
    source: Source,
    format: Format,
    is_packed: bool,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("offset", &self.offset())
            .field("interfaces", &self.interfaces())
            .finish_non_exhaustive()
    }
}

impl Capture {
    /// Finds out what `read` holds and reads the header of the file.
    ///
    /// # Errors
    /// Foreign octets, and a header that is cut short or malformed.
    pub fn open(read: impl Read + Send + 'static) -> Result<Self, CaptureError> {
        let (magic, read) = sniff(Box::new(read))?;
        let mut is_packed = true;
        let (first, read) = match magic.as_slice() {
            [0x1F, 0x8B, ..] => sniff(Box::new(MultiGzDecoder::new(read)))?,
            // The frame of zstd, and frames to be skipped, which some of its writers put first.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => {
                sniff(Box::new(zstd::Frames::new(read)))?
            }
            _ => {
                is_packed = false;
                (magic, read)
            }
        };
        let mut source = Source::new(read);
        let format = match first.first_chunk() {
            Some(magic) if *magic == pcapng::MAGIC => Format::Pcapng(pcapng::Reader::new()),
            Some(magic) if pcap::is_magic(*magic) => Format::Pcap(pcap::Reader::open(&mut source)?),
            _ => return Err(CaptureError::NotACapture { octets: first }),
        };
        Ok(Self { source, format, is_packed })
    }

    /// Whether it is packed: then it cannot be asked again where there was nothing to read.
    #[must_use]
    pub const fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// The next record, or `None` at the end of the file.
    ///
    /// # Errors
    /// Whatever is wrong with the file from here on.
    // Always: the record need not be written down.
    #[inline(always)]
    #[expect(clippy::should_implement_trait, reason = "a record lends; an Iterator cannot")]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        match &mut self.format {
            Format::Pcap(reader) => reader.next(&mut self.source),
            Format::Pcapng(reader) => reader.next(&mut self.source),
        }
    }

    /// The interfaces read of so far. Those of later sections follow those of earlier ones.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        match &self.format {
            Format::Pcap(reader) => core::slice::from_ref(reader.interface()),
            Format::Pcapng(reader) => reader.interfaces(),
        }
    }

    /// Octets of the unpacked file before the next record, to show how far a reading is.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.source.offset()
    }
}

type Octets = Box<dyn Read + Send>;

/// The first octets, and a reader that gives them again.
fn sniff(mut read: Octets) -> Result<(ArrayVec<u8, SHOWN_OCTETS>, Octets), CaptureError> {
    let mut first = [0; SHOWN_OCTETS];
    let mut filled = 0;
    while let Some(room @ [_, ..]) = first.get_mut(filled..) {
        match read.read(room) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The source meets it again, behind what came before it.
            Err(error) if filled > 0 => {
                let again = source::Failing::new(error);
                let first = shown(&first, filled);
                return Ok((first.clone(), Box::new(io::Cursor::new(first).chain(again))));
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(CaptureError::CutShort { offset: 0 });
            }
            Err(error) => return Err(source::unreadable(0, &error)),
        }
    }
    let first = shown(&first, filled);
    Ok((first.clone(), Box::new(io::Cursor::new(first).chain(read))))
}

fn shown(octets: &[u8], count: usize) -> ArrayVec<u8, SHOWN_OCTETS> {
    octets.iter().copied().take(count).collect()
}

/// The captured and original length as both formats write them.
pub(crate) fn lengths(octets: &[u8], original_octets: usize) -> io::Result<(u32, u32)> {
    let refused = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
    if octets.len() > SNAP_OCTETS {
        return Err(refused("record longer than the snap length"));
    }
    if original_octets < octets.len() {
        return Err(refused("record longer than its frame"));
    }
    let captured = u32::try_from(octets.len()).map_err(|_| refused("captured length"))?;
    let original = u32::try_from(original_octets).map_err(|_| refused("original length"))?;
    Ok((captured, original))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write as _;

    /// A record and its octets: time in nanoseconds, link type, octets, original octets, interface.
    pub(crate) type Seen = (u64, u32, Vec<u8>, usize, u32);

    pub(crate) fn hex(text: &str) -> Vec<u8> {
        text.split_whitespace().map(|octet| u8::from_str_radix(octet, 16).unwrap()).collect()
    }

    fn read_on(capture: &mut Capture) -> (Vec<Seen>, Option<CaptureError>) {
        let mut seen = Vec::new();
        loop {
            match capture.next() {
                Ok(Some(r)) => {
                    let at = r.at.as_nanos();
                    let octets = r.octets.to_vec();
                    seen.push((at, r.link.dlt(), octets, r.original_octets, r.interface));
                }
                Ok(None) => return (seen, None),
                Err(error) => return (seen, Some(error)),
            }
        }
    }

    /// All records, and the error behind them if there is one.
    pub(crate) fn read(octets: &[u8]) -> (Vec<Seen>, Option<CaptureError>) {
        match Capture::open(io::Cursor::new(octets.to_vec())) {
            Ok(mut capture) => read_on(&mut capture),
            Err(error) => (Vec::new(), Some(error)),
        }
    }

    /// Cuts a file before each of its octets: whole records come, then what is not whole is named.
    /// `ends` are the places behind which the file may end, each but the first one a record
    /// further.
    #[track_caller]
    pub(crate) fn check_cuts(octets: &[u8], ends: &[(usize, usize)]) {
        let (all, end) = read(octets);
        assert_eq!(end, None);
        assert_eq!(ends.last(), Some(&(octets.len(), all.len())));
        for cut in 4..octets.len() {
            let (seen, error) = read(&octets[..cut]);
            let (end, records) = ends.iter().rev().find(|(end, _)| *end <= cut).unwrap();
            assert_eq!(seen, all[..*records], "cut at {cut}");
            let expected = (*end < cut).then_some(CaptureError::CutShort { offset: *end as u64 });
            assert_eq!(error, expected, "cut at {cut}");
        }
    }

    /// 300 frames, the longest longer than the first block of an unpacker.
    fn many() -> Vec<u8> {
        let mut writer = pcap::Writer::new(Vec::new(), Link::Ethernet).unwrap();
        for i in 0..300_usize {
            let octets: Vec<u8> = (0..i * 13).map(|place| (place * place + i) as u8).collect();
            writer.write(Instant::from_nanos(i as u64), &octets, octets.len()).unwrap();
        }
        writer.into_inner()
    }

    fn gzip(octets: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(octets).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(octets: &[u8]) -> Vec<u8> {
        compress_to_vec(octets, CompressionLevel::Fastest)
    }

    #[test]
    fn a_packed_capture_reads_as_the_plain_one() {
        let plain = many();
        let expected = read(&plain);
        assert_eq!((expected.0.len(), &expected.1), (300, &None));
        // A file may be packed in pieces, which stand behind each other.
        let (a, b) = plain.split_at(plain.len() / 3);
        // RFC 8878 3.1.2: a frame to be skipped, of 3 octets.
        let skipped = hex("53 2a 4d 18 03 00 00 00 aa bb cc");
        for packed in [
            gzip(&plain),
            [gzip(a), gzip(b)].concat(),
            zstd(&plain),
            [skipped.clone(), zstd(a), skipped, zstd(b)].concat(),
        ] {
            assert!(read(&packed) == expected);
        }
    }

    #[test]
    fn a_zstd_frame_built_by_hand_is_unpacked() {
        let plain = hex("4d 3c b2 a1 02 00 04 00 00 00 00 00 00 00 00 00 00 00 04 00 01 00 00 00");
        // RFC 8878 3.1.1: magic, descriptor, window of 1 KiB; the last block, raw: 1 + 24 << 3 =
        // c1.
        let packed = [hex("28 b5 2f fd 00 00 c1 00 00"), plain].concat();
        assert_eq!(read(&packed), (vec![], None));
    }

    #[test]
    fn a_packed_capture_that_is_cut_gives_what_is_whole() {
        let plain = many();
        let (all, _) = read(&plain);
        for packed in [gzip(&plain), zstd(&plain)] {
            let mut most = 0;
            for cut in (20..packed.len()).step_by(997) {
                let (seen, error) = read(&packed[..cut]);
                assert!(seen == all[..seen.len()], "cut at {cut}");
                assert!(seen.len() >= most, "cut at {cut}: more octets, fewer records");
                most = seen.len();
                let error = error.expect("a cut file is not whole");
                assert!(matches!(error, CaptureError::CutShort { .. }), "cut at {cut}: {error}");
            }
            assert!(most > 250, "only {most} records of 300 before the last cut");
            // Only the trailer is missing: everything is there, and still the file is cut.
            let (seen, error) = read(&packed[..packed.len() - 1]);
            assert!(matches!(error, Some(CaptureError::CutShort { .. })), "{error:?}");
            assert!(seen == all[..seen.len()]);
        }
    }

    #[test]
    fn broken_packing_is_named_and_stays_broken() {
        let mut packed = gzip(&many());
        let crc = packed.len() - 8;
        packed[crc] ^= 1;
        let mut capture = Capture::open(io::Cursor::new(packed)).unwrap();
        let (seen, error) = read_on(&mut capture);
        assert!(matches!(error, Some(CaptureError::Unreadable { .. })), "{error:?}");
        assert_eq!(seen.len(), 300, "what was unpacked comes first");
        assert_eq!(read_on(&mut capture), (vec![], error));
    }

    #[test]
    fn foreign_files_show_their_first_octets() {
        let (_, error) = read(b"GET / HTTP/1.1\r\n\r\n");
        let shown =
            "not a capture file: begins with 47 45 54 20 2f 20 48 54 54 50 2f 31 2e 31 0d 0a";
        assert_eq!(error.unwrap().to_string(), shown);
        assert_eq!(read(&[]).1.unwrap().to_string(), "not a capture file: empty");
        let (_, error) = read(&gzip(b"abc"));
        assert_eq!(error.unwrap().to_string(), "not a capture file: begins with 61 62 63");
    }

    /// Gives one octet at a time and is interrupted before each.
    struct Slow(io::Cursor<Vec<u8>>, bool);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            self.0.read(buffer.get_mut(..1).unwrap_or_default())
        }
    }

    #[test]
    fn it_does_not_matter_in_what_pieces_a_file_comes() {
        let plain = many();
        let mut slow = Capture::open(Slow(io::Cursor::new(plain.clone()), false)).unwrap();
        assert!(read_on(&mut slow) == read(&plain));
    }

    #[test]
    fn a_length_alone_costs_no_memory() {
        // A record of 200 MiB of which 4 octets are there.
        let octets = hex("a1 b2 c3 d4 00 02 00 04 00 00 00 00 00 00 00 00 00 04 00 00 00 00 00 01
             00 00 00 00 00 00 00 00 0c 80 00 00 0c 80 00 00 01 02 03 04");
        let mut capture = Capture::open(io::Cursor::new(octets)).unwrap();
        assert_eq!(capture.next(), Err(CaptureError::CutShort { offset: 24 }));
        assert_eq!(capture.source.room(), 512 << 10);
    }

    #[test]
    fn every_power_of_a_clock_becomes_nanoseconds() {
        assert_eq!(Resolution::Decimal(0).nanos(3), 3_000_000_000);
        assert_eq!(Resolution::MICRO.nanos(1_700_000_000_123_456), 1_700_000_000_123_456_000);
        assert_eq!(Resolution::NANO.nanos(7), 7);
        assert_eq!(Resolution::Decimal(12).nanos(5_999), 5);
        assert_eq!(Resolution::Decimal(28).nanos(u64::MAX), 1, "2^64 / 10^19 = 1.8");
        assert_eq!(Resolution::Decimal(127).nanos(u64::MAX), 0);
        assert_eq!(Resolution::Binary(0).nanos(2), 2_000_000_000);
        assert_eq!(Resolution::Binary(10).nanos(1_536), 1_500_000_000);
        // 2^64 - 1 steps of 2^-32 s are 2^32 s less one step of 0.23 ns.
        assert_eq!(Resolution::Binary(32).nanos(u64::MAX), 4_294_967_295_999_999_999);
        assert_eq!(Resolution::Binary(127).nanos(u64::MAX), 0);
        assert_eq!(Resolution::Decimal(0).nanos(u64::MAX), u64::MAX);
    }

    #[test]
    fn public_captures_hold_as_many_packets_as_their_index_says() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/captures");
        let Ok(index) = std::fs::read_to_string(format!("{folder}/INDEX.md")) else {
            println!("skipped: no ../shared/captures");
            return;
        };
        let mut files = 0;
        for row in index.lines() {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [_, file, _, packets, ..] = cells[..] else { continue };
            let Ok(packets) = packets.parse::<usize>() else { continue };
            let octets = std::fs::read(format!("{folder}/{file}")).expect(file);
            let (seen, error) = read(&octets);
            assert_eq!((seen.len(), error), (packets, None), "{file}");
            files += 1;
        }
        assert!(files > 60, "the index was not understood: {files} files");
    }
}
