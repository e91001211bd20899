//! Capture files mapped into memory.

use bytes::Bytes;
use core::sync::atomic::AtomicBool;
use std::io::{self, Read};

/// File mapped into memory. The implementation must make reading the octets safe even if another
/// process truncates the file meanwhile.
pub trait Mapped: Send {
    /// All octets that the file had when it was mapped.
    fn octets(&self) -> Bytes;

    /// Makes more of the file ready to be read and returns the new end of the ready part. The end
    /// does not advance if there is no more. Octets before `from` are not read again.
    fn reach(&mut self, from: usize) -> usize;

    /// Flag, set when a read met a page that no longer exists; the page then reads as zeros.
    fn torn(&self) -> &'static AtomicBool;

    /// Current length of the file. Octets beyond it, in the page of the file's end, read as zeros
    /// as well.
    fn octets_now(&self) -> u64;

    /// Returns a reader from this offset on.
    ///
    /// # Errors
    /// The file cannot be read from there.
    fn rest(self: Box<Self>, from: u64) -> io::Result<Box<dyn Read + Send>>;
}
