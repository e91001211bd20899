//! Capture files: frames with the times they were seen at.
//!
//! [`Capture`] reads pcap and pcapng, plain or packed by gzip or zstd, and tells them apart by
//! their first octets. A record borrows the buffer the file is read into, or the memory it lies in
//! ([`Mapped`]), so nothing is copied. Offsets in errors count octets of the unpacked file.
//!
//! `flate2` and `ruzstd` unpack: people keep captures packed, and both formats are large. `ruzstd`
//! is built without its hash, so the checksum behind a zstd frame is passed over, not verified.
//!
//! Not here: opening files, which the caller does; other capture formats; packed files inside
//! packed files; capture comments, statistics and decryption secrets.

mod ahead;
mod mapped;
mod source;
mod zstd;

use crate::dissect::Link;
use crate::time::Instant;
use crate::{pcap, pcapng};
use arrayvec::ArrayVec;
use core::fmt;
use flate2::read::MultiGzDecoder;
use std::io::{self, Read};

pub use mapped::Mapped;
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
    /// Whether its writer left user data out and says so in a comment, as tidewire does.
    pub leaves_out_data: bool,
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
        Self::of(Source::new(read), first, is_packed)
    }

    /// As [`Self::open`], a file whose octets lie in memory; a packed one is read.
    ///
    /// # Errors
    /// Foreign octets, and a header that is cut short or malformed.
    pub fn open_mapped(mut file: Box<dyn Mapped>) -> Result<Self, CaptureError> {
        let reached = file.reach(0);
        let octets = file.octets();
        let first = shown(octets.get(..reached).unwrap_or_default(), SHOWN_OCTETS);
        let is_plain = first
            .first_chunk()
            .is_some_and(|magic| *magic == pcapng::MAGIC || pcap::is_magic(*magic));
        if is_plain {
            return Self::of(Source::mapped(octets, reached, file), first, false);
        }
        drop(octets);
        Self::open(file.rest(0).map_err(|error| source::unreadable(0, &error))?)
    }

    /// What begins with these octets.
    fn of(
        mut source: Source,
        first: ArrayVec<u8, SHOWN_OCTETS>,
        is_packed: bool,
    ) -> Result<Self, CaptureError> {
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
pub(crate) mod tests;
