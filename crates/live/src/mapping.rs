//! Memory shared between this process and the kernel.
#![expect(unsafe_code, reason = "shared memory exists only as pointers")]

use bytes::Bytes;
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicU32;
use std::io;

/// Memory that the kernel also writes, and so only accessed in parts that this side owns.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    octets: usize,
}

// SAFETY: the memory belongs to this value alone, on any thread.
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

    /// Allocates memory of this process, aligned to a page.
    pub(crate) fn anonymous(octets: usize) -> io::Result<Self> {
        Self::new(octets, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }

    /// Maps the memory that a socket shares, from `offset` on.
    pub(crate) fn of(fd: libc::c_int, octets: usize, offset: i64) -> io::Result<Self> {
        Self::new(octets, libc::MAP_SHARED | libc::MAP_POPULATE, fd, offset)
    }

    /// Start address, for registration with the kernel.
    pub(crate) fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    /// Size in octets.
    pub(crate) const fn octets(&self) -> usize {
        self.octets
    }

    const fn holds(&self, offset: usize, octets: usize) -> bool {
        match offset.checked_add(octets) {
            Some(end) => end <= self.octets,
            None => false,
        }
    }

    /// Word that both sides write.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(self.holds(offset, 4) && offset.is_multiple_of(4), "a ring lies in its mapping");
        // SAFETY: inside the mapping and aligned, as was just checked; atomics may be shared.
        unsafe { self.base.add(offset).cast::<AtomicU32>().as_ref() }
    }

    /// Writes to a part that this side owns.
    pub(crate) fn write(&self, offset: usize, octets: &[u8]) {
        assert!(self.holds(offset, octets.len()), "a frame lies in its chunk");
        // SAFETY: inside the mapping, as was just checked; by the rings' protocol the kernel does not
        // touch a chunk or an entry that was not passed to it.
        unsafe {
            let to = self.base.as_ptr().add(offset);
            ptr::copy_nonoverlapping(octets.as_ptr(), to, octets.len());
        }
    }

    /// Returns a copy of a part that this side owns.
    pub(crate) fn read(&self, offset: usize, octets: usize) -> Bytes {
        assert!(self.holds(offset, octets), "the kernel puts frames into chunks");
        // SAFETY: inside the mapping, as was just checked; by the rings' protocol the kernel does not
        // touch a chunk that it has passed to this side, and the slice is gone when this returns.
        Bytes::copy_from_slice(unsafe {
            core::slice::from_raw_parts(self.base.as_ptr().add(offset), octets)
        })
    }

    /// Copies a part that this side owns.
    pub(crate) fn read_into(&self, offset: usize, copy: &mut [u8]) {
        assert!(self.holds(offset, copy.len()), "the kernel puts frames into chunks");
        // SAFETY: inside the mapping, as was just checked; by the rings' protocol the kernel does not
        // touch a chunk or an entry that it has passed to this side.
        unsafe {
            let from = self.base.as_ptr().add(offset);
            ptr::copy_nonoverlapping(from, copy.as_mut_ptr(), copy.len());
        }
    }

    /// Borrows a part that this side owns and does not return to the kernel while it is borrowed;
    /// `None` if it is outside the mapping.
    pub(crate) fn borrow(&mut self, offset: usize, octets: usize) -> Option<&[u8]> {
        if !self.holds(offset, octets) {
            return None;
        }
        // SAFETY: inside the mapping, as was just checked; nothing passes this part back to the kernel
        // while the mapping is borrowed, since that takes the mapping.
        Some(unsafe { core::slice::from_raw_parts(self.base.as_ptr().add(offset), octets) })
    }
}
