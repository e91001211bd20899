//! Read buffer of a capture.

use super::ahead::Ahead;
use super::mapped::Mapped;
use super::record::{CaptureError, MAX_RECORD_OCTETS};
use bytes::Bytes;
use core::sync::atomic::{self, AtomicBool, Ordering};
use std::io::{self, Read};

/// Fits into the second-level cache; larger buffers are slower.
const BUFFER_OCTETS: usize = 512 << 10;

/// Byte order of the integers in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Big,
    Little,
}

impl Order {
    #[inline]
    pub(crate) const fn u16(self, octets: [u8; 2]) -> u16 {
        match self {
            Self::Big => u16::from_be_bytes(octets),
            Self::Little => u16::from_le_bytes(octets),
        }
    }

    #[inline]
    pub(crate) const fn u32(self, octets: [u8; 4]) -> u32 {
        match self {
            Self::Big => u32::from_be_bytes(octets),
            Self::Little => u32::from_le_bytes(octets),
        }
    }

    pub(crate) const fn i64(self, octets: [u8; 8]) -> i64 {
        match self {
            Self::Big => i64::from_be_bytes(octets),
            Self::Little => i64::from_le_bytes(octets),
        }
    }
}

enum State {
    Open,
    Ended,
    /// The compressed file ended before the end of its contents.
    Cut,
    Failed(CaptureError),
}

/// File mapped into memory.
struct Lying {
    octets: Bytes,
    file: Box<dyn Mapped>,
    torn: &'static AtomicBool,
    ahead: Ahead,
}

/// Octets of a file, buffered or mapped. The buffer grows beyond its first size only as octets
/// arrive, so a large length field alone does not allocate memory.
pub(crate) struct Source {
    read: Box<dyn Read + Send>,
    /// Mapped file, used instead of the buffer, which is then empty.
    lying: Option<Lying>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of the first octet of the buffer.
    first_offset: u64,
    state: State,
}

/// Octets of a source that are ready. What is taken of them is taken from the source when this
/// value is dropped.
pub(crate) struct Ready<'a> {
    rest: &'a [u8],
    /// Position of `rest` in `all`.
    at: usize,
    start: &'a mut usize,
    all: &'a [u8],
    torn: Option<&'static AtomicBool>,
    ahead: Option<&'a mut Ahead>,
}

impl<'a> Ready<'a> {
    /// Returns the octets that are not taken.
    #[inline]
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns true if all mapped octets read so far existed.
    #[inline]
    pub(crate) fn is_sound(&self) -> bool {
        is_sound(self.torn)
    }

    /// Takes octets as [`Source::take`] does.
    #[inline]
    pub(crate) fn take(&mut self, octets: usize, (at, count): (usize, usize)) -> &'a [u8] {
        let taken = self.rest.get(at..at + count).unwrap_or_default();
        self.rest = self.rest.get(octets..).unwrap_or_default();
        self.at += octets;
        if let Some(ahead) = &mut self.ahead {
            ahead.look(self.at, self.all);
        }
        taken
    }
}

impl Drop for Ready<'_> {
    #[inline]
    fn drop(&mut self) {
        *self.start = self.at;
    }
}

/// Returns true if no read of a mapping met a page that no longer exists.
#[inline]
fn is_sound(torn: Option<&'static AtomicBool>) -> bool {
    // The compiler must not move earlier reads of mapped octets below this point.
    atomic::compiler_fence(Ordering::SeqCst);
    torn.is_none_or(|torn| !torn.load(Ordering::Relaxed))
}

impl Source {
    pub(crate) fn new(read: Box<dyn Read + Send>) -> Self {
        let buffer = vec![0; BUFFER_OCTETS];
        Self { read, lying: None, buffer, start: 0, end: 0, first_offset: 0, state: State::Open }
    }

    /// Creates a source over a mapped file of which the first `end` octets are ready.
    pub(crate) fn mapped(octets: Bytes, end: usize, file: Box<dyn Mapped>) -> Self {
        let lying = Some(Lying { octets, torn: file.torn(), file, ahead: Ahead::default() });
        let read = Box::new(io::empty());
        Self { read, lying, buffer: Vec::new(), start: 0, end, first_offset: 0, state: State::Open }
    }

    #[inline]
    fn octets(&self) -> &[u8] {
        match &self.lying {
            Some(lying) => &lying.octets,
            None => &self.buffer,
        }
    }

    /// Returns true if all mapped octets read so far existed.
    #[inline]
    pub(crate) fn is_sound(&self) -> bool {
        is_sound(self.lying.as_ref().map(|lying| lying.torn))
    }

    /// Called for zeros: checks that the file really contains them, instead of having been
    /// truncated.
    ///
    /// # Errors
    /// [`CaptureError::Unreadable`] if the file was truncated.
    #[cold]
    pub(crate) fn check(&mut self) -> Result<(), CaptureError> {
        let is_whole = |lying: &Lying| lying.file.octets_now() >= lying.octets.len() as u64;
        if self.is_sound() && self.lying.as_ref().is_none_or(is_whole) {
            return Ok(());
        }
        Err(self.was_cut())
    }

    /// Sets and returns the error for a truncated mapping; nothing is read after it.
    fn was_cut(&mut self) -> CaptureError {
        let has_its_length = |lying: &Lying| lying.file.octets_now() >= lying.octets.len() as u64;
        // A page that is there and cannot be read is an error of the disk.
        let reason = if self.lying.as_ref().is_some_and(has_its_length) {
            "a page of the file could not be read".to_owned()
        } else {
            "the file was cut while it was read".to_owned()
        };
        let (offset, kind) = (self.offset(), io::ErrorKind::UnexpectedEof);
        let error = CaptureError::Unreadable { offset, kind, reason };
        self.first_offset = offset;
        (self.lying, self.start, self.end) = (None, 0, 0);
        self.state = State::Failed(error.clone());
        error
    }

    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.buffer.len()
    }

    /// Offset of the next octet.
    pub(crate) const fn offset(&self) -> u64 {
        self.first_offset + self.start as u64
    }

    /// All octets that are ready and not taken.
    #[inline]
    pub(crate) fn at_hand(&self) -> &[u8] {
        self.octets().get(self.start..self.end).unwrap_or_default()
    }

    /// Returns at least the next `octets` octets without taking them; `None` if the file ends
    /// exactly here.
    #[inline]
    pub(crate) fn whole(&mut self, octets: usize) -> Result<Option<&[u8]>, CaptureError> {
        if !self.is_sound() {
            self.check()?;
        }
        if self.end - self.start < octets {
            self.fill(octets)?;
            if self.end - self.start < octets {
                return match self.state {
                    State::Ended if self.end == self.start => Ok(None),
                    _ => Err(CaptureError::CutShort { offset: self.offset() }),
                };
            }
        }
        Ok(Some(self.at_hand()))
    }

    /// Returns the next `N` octets if they are ready.
    #[inline]
    pub(crate) fn first<const N: usize>(&self) -> Option<&[u8; N]> {
        if self.left() < N { None } else { self.octets().get(self.start..)?.first_chunk() }
    }

    /// Returns the octets that are ready and not taken, to take records one after the other.
    #[inline]
    pub(crate) fn ready(&mut self) -> Ready<'_> {
        let Self { lying, buffer, start, end, .. } = self;
        let (all, torn, ahead) = match lying {
            Some(Lying { octets, torn, ahead, .. }) => (&**octets, Some(*torn), Some(ahead)),
            None => (&**buffer, None, None),
        };
        let rest = all.get(*start..*end).unwrap_or_default();
        Ready { rest, at: *start, start, all, torn, ahead }
    }

    /// Number of octets that are ready and not taken.
    #[inline]
    pub(crate) const fn left(&self) -> usize {
        self.end - self.start
    }

    /// Takes the next `octets` octets, which must be ready, and returns `count` of them from
    /// position `at`.
    #[inline]
    pub(crate) fn take(&mut self, octets: usize, (at, count): (usize, usize)) -> &[u8] {
        debug_assert!(octets <= self.left() && at + count <= octets);
        let from = self.start + at;
        self.start += octets;
        if let Some(Lying { octets, ahead, .. }) = &mut self.lying {
            ahead.look(self.start, octets);
        }
        self.octets().get(from..from + count).unwrap_or_default()
    }

    /// Extends the ready part of a mapped file to `octets` octets. Returns true if they must be
    /// read into the buffer because the file is not mapped, or no longer.
    fn reach(&mut self, octets: usize) -> bool {
        let Some(lying) = &mut self.lying else { return true };
        while self.end - self.start < octets {
            let reached = lying.file.reach(self.start);
            if reached <= self.end {
                self.read_on();
                return true;
            }
            self.end = reached;
        }
        false
    }

    /// Switches from the mapping to reading, from the current offset on.
    fn read_on(&mut self) {
        let from = self.offset();
        let Some(Lying { file, .. }) = self.lying.take() else { return };
        let octets_now = file.octets_now();
        if octets_now < from {
            self.was_cut();
            return;
        }
        (self.first_offset, self.start, self.end) = (from, 0, 0);
        if octets_now == from {
            // Most files have not grown, and need no buffer.
            self.state = State::Ended;
            return;
        }
        self.buffer = vec![0; BUFFER_OCTETS];
        match file.rest(from) {
            Ok(read) => self.read = read,
            Err(error) => self.state = State::Failed(unreadable(from, &error)),
        }
    }

    /// Reads until `octets` octets are ready or the file ends.
    #[cold]
    fn fill(&mut self, octets: usize) -> Result<(), CaptureError> {
        if octets > MAX_RECORD_OCTETS {
            return Err(CaptureError::TooLong { offset: self.offset(), octets: octets as u64 });
        }
        if !self.reach(octets) {
            return Ok(());
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.first_offset += self.start as u64;
        self.start = 0;
        while self.end < octets {
            match &self.state {
                State::Open => {}
                State::Ended | State::Cut => return Ok(()),
                State::Failed(error) => return Err(error.clone()),
            }
            if self.end == self.buffer.len() {
                self.buffer.resize(2 * self.end, 0);
            }
            match self.read.read(self.buffer.get_mut(self.end..).unwrap_or_default()) {
                Ok(0) => self.state = State::Ended,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.state = State::Cut;
                }
                // A later call may succeed.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(unreadable(self.first_offset + self.end as u64, &error));
                }
                Err(error) => {
                    self.state =
                        State::Failed(unreadable(self.first_offset + self.end as u64, &error));
                }
            }
        }
        Ok(())
    }
}

pub(super) fn unreadable(offset: u64, error: &io::Error) -> CaptureError {
    CaptureError::Unreadable { offset, kind: error.kind(), reason: error.to_string() }
}

/// Reader that repeats an earlier error.
pub(super) struct Failing(io::ErrorKind, String);

impl Failing {
    pub(super) fn new(error: io::Error) -> Self {
        Self(error.kind(), error.to_string())
    }
}

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(self.0, self.1.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Capture;
    use crate::dissect::Link;
    use crate::pcapng::Writer;
    use crate::time::Instant;

    /// Alternates between one octet and `WouldBlock`; yields the file header at once.
    struct Hesitant {
        octets: Vec<u8>,
        at: usize,
        waits: bool,
    }

    impl Read for Hesitant {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            self.waits = !self.waits;
            if self.at >= 28 && self.waits && self.at < self.octets.len() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let most = if self.at < 28 { room.len().min(28) } else { 1 };
            let rest = self.octets.get(self.at..).unwrap_or_default();
            let count = rest.len().min(most);
            room[..count].copy_from_slice(&rest[..count]);
            self.at += count;
            Ok(count)
        }
    }

    #[test]
    fn a_stream_that_would_block_resumes_without_loss() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let interface = writer.interface(Link::Ethernet, "eth0").unwrap();
        for at in 0..5 {
            writer.write(interface, Instant::from_nanos(at), &[at as u8; 7], 9, "").unwrap();
        }
        let hesitant = Hesitant { octets: writer.into_inner(), at: 0, waits: false };
        let mut capture = Capture::open(hesitant).unwrap();
        let (mut seen, mut waits) = (Vec::new(), 0);
        loop {
            match capture.next() {
                Ok(Some(record)) => seen.push(record.octets.to_vec()),
                Ok(None) => break,
                Err(CaptureError::Unreadable { kind: io::ErrorKind::WouldBlock, .. }) => waits += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(seen, [0_u8, 1, 2, 3, 4].map(|at| vec![at; 7]));
        assert!(waits > 100, "{waits}");
    }
}
