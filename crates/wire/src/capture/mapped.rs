//! A capture that is looked at where it lies in memory.

use bytes::Bytes;
use core::sync::atomic::AtomicBool;
use std::io::{self, Read};

/// A file whose octets lie in memory. Whoever puts it there sees to it that looking at it does no harm, also where
/// somebody else cuts the file meanwhile.
pub trait Mapped: Send {
    /// All that it was when it was put there.
    fn octets(&self) -> Bytes;

    /// Makes some more of it ready to be looked at, and tells up to where it is: no further than before where no more
    /// can be. What lies before `from` is not looked at again.
    fn reach(&mut self, from: usize) -> usize;

    /// Set when something that was looked at was not there any more; then it looked like zeros.
    fn torn(&self) -> &'static AtomicBool;

    /// How long the file is by now. What is looked at beyond that, in the page where it ends, looks like zeros too.
    fn octets_now(&self) -> u64;

    /// Reads on, from this octet.
    ///
    /// # Errors
    /// Where the file cannot be read from there.
    fn rest(self: Box<Self>, from: u64) -> io::Result<Box<dyn Read + Send>>;
}
