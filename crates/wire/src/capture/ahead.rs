//! Software prefetch for captures mapped into memory: frame headers are too far apart for the
//! processor's own prefetcher.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the instruction takes a pointer; it reads nothing")
)]

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
            fetch(octets, self.octets);
            self.octets += LINE_OCTETS;
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn fetch(octets: &[u8], at: usize) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch has no visible effect and cannot fault, whatever the pointer.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(octets.as_ptr().wrapping_add(at).cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn fetch(_: &[u8], _: usize) {}
