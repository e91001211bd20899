//! File in memory, to compare mapped and buffered reading.

use bytes::Bytes;
use core::sync::atomic::AtomicBool;
use std::io::{self, Cursor, Read};
use wire::capture::Mapped;

static WHOLE: AtomicBool = AtomicBool::new(false);

/// Octets in memory, ready `step` octets at a time, except for the last eleven, which are read.
pub(crate) struct Laid {
    octets: Bytes,
    ready: usize,
    step: usize,
}

impl Laid {
    /// Maps these octets, ready `step` octets at a time.
    pub(crate) fn new(octets: &[u8], step: usize) -> Box<Self> {
        Box::new(Self { octets: Bytes::copy_from_slice(octets), ready: 0, step })
    }
}

impl Mapped for Laid {
    fn octets(&self) -> Bytes {
        self.octets.slice(..self.octets.len().saturating_sub(11))
    }
    fn reach(&mut self, from: usize) -> usize {
        assert!(from <= self.ready, "no octets are skipped");
        self.ready = self.octets().len().min(self.ready + self.step);
        self.ready
    }
    fn torn(&self) -> &'static AtomicBool {
        &WHOLE
    }
    fn octets_now(&self) -> u64 {
        self.octets.len() as u64
    }
    fn rest(self: Box<Self>, from: u64) -> io::Result<Box<dyn Read + Send>> {
        let rest = self.octets.slice(usize::try_from(from).unwrap_or(usize::MAX)..);
        Ok(Box::new(Cursor::new(rest)))
    }
}
