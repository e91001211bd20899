//! Contents of a capture file, whatever its format: frames, interfaces, counters, and errors.

use crate::dissect::Link;
use crate::time::Instant;
use arrayvec::ArrayVec;
use core::fmt;
use std::io;

/// Longest accepted record or block. A greater length is an error of the file.
pub const MAX_RECORD_OCTETS: usize = 256 << 20;
/// Snap length that the writers announce. They refuse longer records.
pub const SNAP_OCTETS: usize = 262_144;
/// Number of octets of an unknown file that an error shows.
pub(super) const SHOWN_OCTETS: usize = 16;

/// Frame of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// Capture time. A record without a time (pcapng's simple packet) has the time of the record
    /// before it.
    pub at: Instant,
    /// Link type of the frame.
    pub link: Link,
    /// Captured octets of the frame, without FCS.
    pub octets: &'a [u8],
    /// Length of the frame on the wire, without FCS; at least `octets.len()`.
    pub original_octets: usize,
    /// Index of the capturing interface in [`Capture::interfaces`](super::Capture::interfaces).
    pub interface: u32,
}

/// Description of an interface at which frames were captured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Link type of its frames.
    pub link: Link,
    /// Name on the capturing host, cut at 64 octets; empty if the file has none.
    pub name: String,
    /// Largest number of octets kept of a frame; 0 if all were kept.
    pub snap_octets: u32,
    /// Octets of FCS at the end of its frames. Records exclude the FCS.
    pub fcs_octets: u8,
    /// Resolution of its timestamps.
    pub resolution: Resolution,
    /// Offset added to its timestamps, in seconds (`if_tsoffset`).
    pub offset_seconds: i64,
    /// True if a comment of the writer states that user data was left out, as tidewire writes it.
    pub leaves_out_data: bool,
    /// Counters of the interface, up to the current position in the file.
    pub statistics: Statistics,
}

/// Counters of the capturing program for an interface. Each is `None` if the file does not contain
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Frames received by the interface (`isb_ifrecv`).
    pub received: Option<u64>,
    /// Frames dropped by the interface, or counted there by the writer (`isb_ifdrop`).
    pub dropped_by_interface: Option<u64>,
    /// Frames accepted by the kernel's filter (`isb_filteraccept`).
    pub accepted: Option<u64>,
    /// Frames dropped by the kernel (`isb_osdrop`).
    pub dropped_by_system: Option<u64>,
    /// Frames delivered to the writer (`isb_usrdeliv`).
    pub delivered: Option<u64>,
    /// Number of times that the writer's receive ring was full. pcapng has no option for it;
    /// tidewire's writers put it into the comment, `ring full 2 times`.
    pub ring_full: Option<u64>,
}

impl Statistics {
    /// Number of frames dropped by interface and kernel; `None` if neither counter is present.
    #[must_use]
    pub const fn dropped(&self) -> Option<u64> {
        match (self.dropped_by_interface, self.dropped_by_system) {
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => Some(one),
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
        }
    }

    /// Adds the counters of `other`. A counter absent from both stays `None`.
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

/// Resolution of timestamps (`if_tsresol` of pcapng).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolution {
    /// A step is 10^-n seconds.
    Decimal(u8),
    /// A step is 2^-n seconds; n is at most 127.
    Binary(u8),
}

/// Nanoseconds in 10^-n seconds, for n from 0 to 9.
const NANOS_PER_STEP: [u64; 10] =
    [1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];

impl Resolution {
    /// Microseconds.
    pub const MICRO: Self = Self::Decimal(6);
    /// Nanoseconds.
    pub const NANO: Self = Self::Decimal(9);

    /// Converts `ticks` steps to nanoseconds, rounded down; saturates after 584 years.
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

/// Reason why a capture cannot be read, or not any further. Offsets count octets of the
/// decompressed file.
///
/// All whole records before that offset are returned first, and every later call returns the same
/// error. The exception is [`CaptureError::Unreadable`] with [`io::ErrorKind::WouldBlock`]: a later
/// call may then return more. Records are lost only if a zstd frame is corrupt: those of the window
/// before the corruption.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CaptureError {
    /// The octets are not a capture file of a known format.
    NotACapture {
        /// First octets of the file.
        octets: ArrayVec<u8, SHOWN_OCTETS>,
    },
    /// The file ends inside the header, record or block that starts at `offset`.
    CutShort {
        /// Start of the header, record or block.
        offset: u64,
    },
    /// The length field of a header, record or block exceeds [`MAX_RECORD_OCTETS`].
    TooLong {
        /// Start of the header, record or block.
        offset: u64,
        /// Value of the length field.
        octets: u64,
    },
    /// A field has an invalid value.
    Malformed {
        /// Start of the field.
        offset: u64,
        /// Name of the field in the format's specification.
        field: &'static str,
    },
    /// The octets could not be read or decompressed.
    Unreadable {
        /// Offset of the first missing octet.
        offset: u64,
        /// Kind of the error.
        kind: io::ErrorKind,
        /// Text of the error.
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

/// Checks the captured and the original length and converts them for both formats.
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
