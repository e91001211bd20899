//! Capture files: frames with their capture times.
//!
//! [`Capture`] reads pcap and pcapng, plain or compressed by gzip or zstd, and detects the format
//! from the first octets. A record borrows the read buffer, or the memory that holds the file
//! ([`Mapped`]), so nothing is copied. Offsets in errors count octets of the decompressed file.
//!
//! `flate2` and `ruzstd` decompress, because captures are often stored compressed and both formats
//! are large. `ruzstd` is built without its hash, so the checksum after a zstd frame is skipped,
//! not verified.
//!
//! Left out: opening files, which is left to the caller; other capture formats; compressed files
//! inside compressed files; capture comments, statistics and decryption secrets.

mod ahead;
mod mapped;
pub(crate) mod record;
pub(crate) mod source;
mod zstd;

use crate::{pcap, pcapng};
use arrayvec::ArrayVec;
use core::fmt;
use flate2::read::MultiGzDecoder;
use record::SHOWN_OCTETS;
use source::Source;
use std::io::{self, Read};

pub use mapped::Mapped;
pub use record::{
    CaptureError, Interface, MAX_RECORD_OCTETS, Record, Resolution, SNAP_OCTETS, Statistics,
};

enum Format {
    Pcap(pcap::Reader),
    Pcapng(pcapng::Reader),
}

/// Capture file, read record by record.
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
    /// Detects the format of `read` and reads the file header.
    ///
    /// # Errors
    /// [`CaptureError::NotACapture`] for an unknown format; otherwise, the header is cut short or
    /// malformed.
    pub fn open(read: impl Read + Send + 'static) -> Result<Self, CaptureError> {
        let (magic, read) = sniff(Box::new(read))?;
        let mut is_packed = true;
        let (first, read) = match magic.as_slice() {
            [0x1F, 0x8B, ..] => sniff(Box::new(MultiGzDecoder::new(read)))?,
            // Magic of a zstd frame, and of the skippable frames that some writers put first.
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

    /// Like [`Self::open`], for a file mapped into memory. A compressed file is read instead.
    ///
    /// # Errors
    /// [`CaptureError::NotACapture`] for an unknown format; otherwise, the header is cut short or
    /// malformed.
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

    /// Opens the capture whose first octets are `first`.
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

    /// Returns true for a compressed file. Such a file cannot be read again after
    /// [`io::ErrorKind::WouldBlock`].
    #[must_use]
    pub const fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// Returns the next record, or `None` at the end of the file.
    ///
    /// # Errors
    /// Any [`CaptureError`] from this position on.
    // Always inlined: the record then need not be stored in memory.
    #[inline(always)]
    #[expect(clippy::should_implement_trait, reason = "a record lends; an Iterator cannot")]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        match &mut self.format {
            Format::Pcap(reader) => reader.next(&mut self.source),
            Format::Pcapng(reader) => reader.next(&mut self.source),
        }
    }

    /// Passes records to `take` until it returns false, or the file describes an interface anew. Returns false at the
    /// end of the file. Does the same as [`next`](Self::next), with fewer steps for each record.
    ///
    /// # Errors
    /// Any [`CaptureError`] from this position on.
    #[inline(always)]
    pub fn each(&mut self, mut take: impl FnMut(Record<'_>) -> bool) -> Result<bool, CaptureError> {
        let descriptions = self.descriptions();
        loop {
            if let Format::Pcap(reader) = &self.format
                && !reader.each_ready(&mut self.source, &mut take)
            {
                return Ok(true);
            }
            let Some(record) = self.next()? else { return Ok(false) };
            if !take(record) || self.descriptions() != descriptions {
                return Ok(true);
            }
        }
    }

    /// True if every interface described so far says that its frames are headers alone.
    #[must_use]
    pub fn leaves_out_data(&self) -> bool {
        self.interfaces().iter().all(|interface| interface.leaves_out_data)
    }

    /// Interfaces described so far. Those of later sections follow those of earlier ones.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        match &self.format {
            Format::Pcap(reader) => core::slice::from_ref(reader.interface()),
            Format::Pcapng(reader) => reader.interfaces(),
        }
    }

    /// Number of times so far that the file described an interface or stated its counters. As long
    /// as it is the same, so are [`interfaces`](Self::interfaces).
    #[must_use]
    pub const fn descriptions(&self) -> u64 {
        match &self.format {
            Format::Pcap(_) => 1,
            Format::Pcapng(reader) => reader.descriptions(),
        }
    }

    /// Offset of the next record in the decompressed file, for a progress display.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.source.offset()
    }
}

type Octets = Box<dyn Read + Send>;

/// Returns the first octets, and a reader that yields them again.
fn sniff(mut read: Octets) -> Result<(ArrayVec<u8, SHOWN_OCTETS>, Octets), CaptureError> {
    let mut first = [0; SHOWN_OCTETS];
    let mut filled = 0;
    while let Some(room @ [_, ..]) = first.get_mut(filled..) {
        match read.read(room) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The source returns the error again after the octets before it.
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

#[cfg(test)]
pub(crate) mod tests;
