//! Software prefetch for captures mapped into memory: frame headers are too far apart for the
//! processor's own prefetcher.

use cpu::prefetch;

/// Prefetch distance: about ten frames of 400 octets. Metering them takes longer than a memory
/// access.
const AHEAD_OCTETS: usize = 4_096;
/// Size of a cache line.
const LINE_OCTETS: usize = 64;

/// Prefetch position in a mapped capture.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    octets: usize,
}

impl Ahead {
    /// Prefetches the octets after position `at`.
    #[inline]
    pub(super) fn look(&mut self, at: usize, octets: &[u8]) {
        let goal = at + AHEAD_OCTETS;
        if self.octets < at {
            self.octets = at;
        }
        while self.octets < goal {
            prefetch::line_of(octets, self.octets);
            self.octets += LINE_OCTETS;
        }
    }
}
