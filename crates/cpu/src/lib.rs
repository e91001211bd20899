//! Instructions of the processor that safe Rust lacks: vectors, and the loading of octets into the
//! cache ahead of use.
//!
//! Each function has a safe signature and the same effect on all octets; on a processor without the
//! instruction it says so or does nothing. The decoders of `wire` use them and hold no unsafe code.

#[cfg(target_arch = "x86_64")]
pub mod fletcher;
pub mod prefetch;
