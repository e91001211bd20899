//! Prefetching into the cache.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the instruction takes a pointer; it reads nothing")
)]

/// Asks the processor to load the cache line of `octets[at]`; does nothing where it has no such
/// instruction. `at` may be past the end.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn line_of(octets: &[u8], at: usize) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch has no visible effect and cannot fault, whatever the pointer.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(octets.as_ptr().wrapping_add(at).cast()) };
}

/// Does nothing: this processor has no such instruction that Rust offers.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn line_of(_: &[u8], _: usize) {}
