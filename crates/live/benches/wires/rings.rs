//! Rings shared with the kernel: TPACKET_V2 in both directions, and TPACKET_V3 to receive.
#![expect(unsafe_code, reason = "rings are memory shared with the kernel")]

use crate::Way;
use crate::bare::{Bare, check, set};
use core::sync::atomic::{AtomicU32, Ordering};
use live::port::PortError;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

const SLOT: usize = 2_048;
const SLOTS: usize = 512;
const BLOCK: usize = 1 << 16;
const BLOCKS: usize = 16;
/// Offset of an outgoing frame in its slot of a V2 ring.
const DATA: usize = 32;
const BATCH: usize = 64;

/// Memory shared with a socket.
pub(crate) struct Shared {
    base: *mut u8,
    octets: usize,
}

// SAFETY: the memory belongs to this value alone, on any thread.
unsafe impl Send for Shared {}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing points to it any more.
        unsafe { libc::munmap(self.base.cast(), self.octets) };
    }
}

impl Shared {
    pub(crate) fn of(fd: &OwnedFd, octets: usize, offset: i64) -> Result<Self, PortError> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: maps new memory, which nothing else uses.
        let base = unsafe {
            let fd = fd.as_fd().as_raw_fd();
            libc::mmap(core::ptr::null_mut(), octets, protection, flags, fd, offset)
        };
        if base == libc::MAP_FAILED {
            let source = io::Error::last_os_error();
            return Err(PortError::System { doing: "map a ring", source });
        }
        Ok(Self { base: base.cast(), octets })
    }

    /// Word that both sides write.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset + 4 <= self.octets && offset.is_multiple_of(4));
        // SAFETY: inside the mapping and aligned, as was just checked; atomics may be shared.
        unsafe { &*self.base.add(offset).cast::<AtomicU32>() }
    }

    pub(crate) fn write(&self, offset: usize, octets: &[u8]) {
        assert!(offset + octets.len() <= self.octets);
        // SAFETY: inside the mapping, as was just checked, and this side's turn by the protocol.
        unsafe {
            core::ptr::copy_nonoverlapping(octets.as_ptr(), self.base.add(offset), octets.len());
        }
    }
}

/// V2 ring for each direction.
pub(crate) struct V2 {
    bare: Bare,
    memory: Shared,
    receiving: usize,
    sending: usize,
    waiting: usize,
}

const OFFSET_OF_SENDING: usize = SLOT * SLOTS;

impl V2 {
    pub(crate) fn open(namespace: &str) -> Result<Self, PortError> {
        let bare = Bare::deaf(namespace)?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (SLOT * SLOTS / BLOCK) as u32,
            tp_frame_size: SLOT as u32,
            tp_frame_nr: SLOTS as u32,
        };
        set(&bare.fd, libc::SOL_PACKET, libc::PACKET_VERSION, &1_i32)?;
        set(&bare.fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        set(&bare.fd, libc::SOL_PACKET, libc::PACKET_TX_RING, &request)?;
        let memory = Shared::of(&bare.fd, 2 * SLOT * SLOTS, 0)?;
        bare.bind()?;
        Ok(Self { bare, memory, receiving: 0, sending: 0, waiting: 0 })
    }

    /// Sends each frame at once, so that one can be answered.
    fn kick(&self) {
        // SAFETY: without a buffer the call sends what the ring holds.
        unsafe { libc::send(self.bare.fd.as_raw_fd(), core::ptr::null(), 0, libc::MSG_DONTWAIT) };
    }
}

impl Way for V2 {
    fn put(&mut self, frame: &[u8]) {
        let slot = OFFSET_OF_SENDING + self.sending * SLOT;
        while self.memory.word(slot).load(Ordering::Acquire) != libc::TP_STATUS_AVAILABLE {
            self.kick();
        }
        self.memory.write(slot + DATA, frame);
        self.memory.word(slot + 4).store(frame.len() as u32, Ordering::Relaxed);
        self.memory.word(slot).store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
        self.sending = (self.sending + 1) % SLOTS;
        self.waiting += 1;
        if self.waiting == BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.waiting = 0;
        self.kick();
    }

    fn take(&mut self) -> usize {
        let status = self.memory.word(self.receiving * SLOT);
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return 0;
        }
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.receiving = (self.receiving + 1) % SLOTS;
        1
    }
}

/// V3 ring for receiving, in blocks that close when they are full or after 1 ms; plain `send`.
pub(crate) struct V3 {
    sending: Bare,
    _receiving: Bare,
    memory: Shared,
    block: usize,
}

impl V3 {
    pub(crate) fn open(namespace: &str) -> Result<Self, PortError> {
        let (sending, receiving) = (Bare::deaf(namespace)?, Bare::deaf(namespace)?);
        // SAFETY: an all-zero request is a valid one.
        let mut request: libc::tpacket_req3 = unsafe { core::mem::zeroed() };
        request.tp_block_size = BLOCK as u32;
        request.tp_block_nr = BLOCKS as u32;
        request.tp_frame_size = SLOT as u32;
        request.tp_frame_nr = (BLOCK * BLOCKS / SLOT) as u32;
        request.tp_retire_blk_tov = 1;
        set(&receiving.fd, libc::SOL_PACKET, libc::PACKET_VERSION, &2_i32)?;
        set(&receiving.fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let memory = Shared::of(&receiving.fd, BLOCK * BLOCKS, 0)?;
        receiving.bind()?;
        sending.bind_to_send()?;
        Ok(Self { sending, _receiving: receiving, memory, block: 0 })
    }
}

impl Way for V3 {
    fn put(&mut self, frame: &[u8]) {
        self.sending.put(frame);
    }

    fn take(&mut self) -> usize {
        // A block begins with version and offset, followed by its status and its count of frames.
        let begins = self.block * BLOCK;
        let status = self.memory.word(begins + 8);
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return 0;
        }
        let frames = self.memory.word(begins + 12).load(Ordering::Relaxed);
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.block = (self.block + 1) % BLOCKS;
        frames as usize
    }
}

pub(crate) fn checked(status: i64) -> Result<i32, PortError> {
    check(status as libc::c_int)
}
