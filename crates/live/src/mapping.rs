//! Memory that this process shares with the kernel.
#![expect(unsafe_code, reason = "shared memory exists only as pointers")]

use bytes::Bytes;
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicU32;
use std::io;

/// Memory that the kernel writes to as well, and so only borrowed where it is this side's turn.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    octets: usize,
}

// SAFETY: the memory belongs to this value alone, on whatever thread it is.
unsafe impl Send for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing points to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.octets) };
    }
}

impl Mapping {
    fn new(octets: usize, flags: libc::c_int, fd: libc::c_int, offset: i64) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: maps new memory, which nothing else uses.
        let base = unsafe { libc::mmap(ptr::null_mut(), octets, protection, flags, fd, offset) };
        match NonNull::new(base.cast()) {
            Some(mapped) if base != libc::MAP_FAILED => Ok(Self { base: mapped, octets }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Memory of this process, on the boundary of a page.
    pub(crate) fn anonymous(octets: usize) -> io::Result<Self> {
        Self::new(octets, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }

    /// What a socket has to share, from this offset on.
    pub(crate) fn of(fd: libc::c_int, octets: usize, offset: i64) -> io::Result<Self> {
        Self::new(octets, libc::MAP_SHARED | libc::MAP_POPULATE, fd, offset)
    }

    /// Where it begins, for the kernel to be told.
    pub(crate) fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    /// Its size.
    pub(crate) const fn octets(&self) -> usize {
        self.octets
    }

    const fn holds(&self, offset: usize, octets: usize) -> bool {
        match offset.checked_add(octets) {
            Some(end) => end <= self.octets,
            None => false,
        }
    }

    /// A word that both sides write.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(self.holds(offset, 4) && offset.is_multiple_of(4), "a ring lies in its mapping");
        // SAFETY: inside the mapping and aligned, as was just checked; atomics may be shared.
        unsafe { self.base.add(offset).cast::<AtomicU32>().as_ref() }
    }

    /// Writes where it is this side's turn.
    pub(crate) fn write(&self, offset: usize, octets: &[u8]) {
        assert!(self.holds(offset, octets.len()), "a frame lies in its chunk");
        // SAFETY: inside the mapping, as was just checked; by the rings' protocol the kernel does not
        // touch a chunk or an entry that was not passed to it.
        unsafe {
            let to = self.base.as_ptr().add(offset);
            ptr::copy_nonoverlapping(octets.as_ptr(), to, octets.len());
        }
    }

    /// A copy of what lies here, where it is this side's turn.
    pub(crate) fn read(&self, offset: usize, octets: usize) -> Bytes {
        assert!(self.holds(offset, octets), "the kernel puts frames into chunks");
        // SAFETY: inside the mapping, as was just checked; by the rings' protocol the kernel does not
        // touch a chunk that it has passed to this side, and the slice is gone when this returns.
        Bytes::copy_from_slice(unsafe {
            core::slice::from_raw_parts(self.base.as_ptr().add(offset), octets)
        })
    }

    /// Copies what lies here, where it is this side's turn.
    pub(crate) fn read_into(&self, offset: usize, copy: &mut [u8]) {
        assert!(self.holds(offset, copy.len()), "the kernel puts frames into chunks");
        // SAFETY: inside the mapping, as was just checked; by the rings' protocol the kernel does not
        // touch a chunk or an entry that it has passed to this side.
        unsafe {
            let from = self.base.as_ptr().add(offset);
            ptr::copy_nonoverlapping(from, copy.as_mut_ptr(), copy.len());
        }
    }

    /// What lies here, for whoever may pass it back to the kernel, and does not while it is borrowed;
    /// nothing where it does not lie in the mapping.
    pub(crate) fn borrow(&mut self, offset: usize, octets: usize) -> Option<&[u8]> {
        if !self.holds(offset, octets) {
            return None;
        }
        // SAFETY: inside the mapping, as was just checked; nothing passes this part back to the kernel
        // while the mapping is borrowed, since that takes the mapping.
        Some(unsafe { core::slice::from_raw_parts(self.base.as_ptr().add(offset), octets) })
    }
}
