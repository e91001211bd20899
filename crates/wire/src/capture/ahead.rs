//! Has the processor fetch what is looked at soon, where a capture lies in memory: the headers of frames are too far
//! apart for it to foretell.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the instruction takes a pointer; it reads nothing")
)]

/// How far ahead: some ten frames of 400 octets, which take longer to be metered than memory takes to answer.
const AHEAD_OCTETS: usize = 4_096;
/// A line of the cache.
const LINE_OCTETS: usize = 64;

/// How far ahead has been fetched.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    octets: usize,
}

impl Ahead {
    /// Fetches what follows the octet that is looked at now.
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
    // SAFETY: whatever the pointer, nothing is read or written that a program could see, and nothing faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(octets.as_ptr().wrapping_add(at).cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn fetch(_: &[u8], _: usize) {}
