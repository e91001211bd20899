//! Rings that a socket shares with the kernel.
#![expect(unsafe_code, reason = "socket options exist only in libc")]

use crate::mapping::Mapping;
use crate::socket::Socket;
use core::mem;
use core::sync::atomic::Ordering;
use std::io;

/// Octets of an address in the rings that pass chunks.
const ADDRESS_OCTETS: usize = 8;
/// Octets of a `struct xdp_desc` in the rings that pass frames: address, length, options.
const FRAME_OCTETS: usize = 16;

/// Ring: a producer counter, a consumer counter, and the entries.
#[derive(Debug)]
pub(super) struct Ring {
    memory: Mapping,
    entries: u32,
    producer: usize,
    consumer: usize,
    begins: usize,
}

impl Ring {
    fn of(
        socket: &Socket,
        option: libc::c_int,
        entries: u32,
        entry_octets: usize,
        offsets: libc::xdp_ring_offset,
        at: u64,
    ) -> io::Result<Self> {
        socket.set(libc::SOL_XDP, option, entries)?;
        let begins = offsets.desc as usize;
        let octets = begins + entries as usize * entry_octets;
        let memory = Mapping::of(socket.fd(), octets, at as i64)?;
        let (producer, consumer) = (offsets.producer as usize, offsets.consumer as usize);
        Ok(Self { memory, entries, producer, consumer, begins })
    }

    /// Number of entries ever added.
    pub(super) fn produced(&self) -> u32 {
        self.memory.word(self.producer).load(Ordering::Acquire)
    }

    /// Number of entries ever removed.
    pub(super) fn consumed(&self) -> u32 {
        self.memory.word(self.consumer).load(Ordering::Acquire)
    }

    const fn place(&self, number: u32, entry: usize) -> usize {
        self.begins + (number % self.entries) as usize * entry
    }

    /// Adds a chunk. There are never more chunks than entries.
    pub(super) fn put_address(&self, address: u64) {
        let number = self.produced();
        self.memory.write(self.place(number, ADDRESS_OCTETS), &address.to_ne_bytes());
        self.memory.word(self.producer).store(number.wrapping_add(1), Ordering::Release);
    }

    /// Adds a frame. The caller has checked that there is room.
    pub(super) fn put_frame(&self, address: u64, octets: u32) {
        let number = self.produced();
        let mut entry = [0; FRAME_OCTETS];
        let (front, back) = entry.split_at_mut(ADDRESS_OCTETS);
        front.copy_from_slice(&address.to_ne_bytes());
        back.copy_from_slice(&u64::from(octets).to_ne_bytes());
        if cfg!(target_endian = "big") {
            back.rotate_left(4);
        }
        self.memory.write(self.place(number, FRAME_OCTETS), &entry);
        self.memory.word(self.producer).store(number.wrapping_add(1), Ordering::Release);
    }

    /// Resets the producer counter to `number`; the kernel must not have seen the later entries.
    pub(super) fn take_back(&self, number: u32) {
        self.memory.word(self.producer).store(number, Ordering::Release);
    }

    /// Removes all entries unread.
    pub(super) fn take_all(&self) {
        self.memory.word(self.consumer).store(self.produced(), Ordering::Release);
    }

    /// Removes the next frame; returns its address and length in octets.
    pub(super) fn take_frame(&self) -> Option<(u64, u32)> {
        let number = self.consumed();
        if self.produced() == number {
            return None;
        }
        let place = self.place(number, FRAME_OCTETS);
        let mut address = [0; ADDRESS_OCTETS];
        self.memory.read_into(place, &mut address);
        let octets = self.memory.word(place + ADDRESS_OCTETS).load(Ordering::Relaxed);
        self.memory.word(self.consumer).store(number.wrapping_add(1), Ordering::Release);
        Some((u64::from_ne_bytes(address), octets))
    }
}

/// The four rings of a socket.
pub(super) struct Rings {
    /// Chunks for frames to be received.
    pub(super) filling: Ring,
    /// Chunks whose frames were sent.
    pub(super) completed: Ring,
    /// Received frames.
    pub(super) receiving: Ring,
    /// Frames to be sent.
    pub(super) sending: Ring,
}

impl Rings {
    /// Creates and maps them.
    pub(super) fn of(socket: &Socket, receiving: u32, sending: u32) -> io::Result<Self> {
        let at: libc::xdp_mmap_offsets = get(socket, libc::XDP_MMAP_OFFSETS)?;
        let ring = |option, entries, octets, offsets, page| {
            Ring::of(socket, option, entries, octets, offsets, page)
        };
        let addresses =
            |option, entries, offsets, page| ring(option, entries, ADDRESS_OCTETS, offsets, page);
        let frames =
            |option, entries, offsets, page| ring(option, entries, FRAME_OCTETS, offsets, page);
        let (fill_page, done_page) =
            (libc::XDP_UMEM_PGOFF_FILL_RING, libc::XDP_UMEM_PGOFF_COMPLETION_RING);
        let (receive_page, send_page) = (libc::XDP_PGOFF_RX_RING, libc::XDP_PGOFF_TX_RING);
        Ok(Self {
            filling: addresses(libc::XDP_UMEM_FILL_RING, receiving, at.fr, fill_page)?,
            completed: addresses(libc::XDP_UMEM_COMPLETION_RING, sending, at.cr, done_page)?,
            receiving: frames(libc::XDP_RX_RING, receiving, at.rx, receive_page as u64)?,
            sending: frames(libc::XDP_TX_RING, sending, at.tx, send_page as u64)?,
        })
    }
}

/// Registers the memory for frames with the kernel. The mapping has to outlive the socket's use.
pub(super) fn register(socket: &Socket, chunks: &Mapping, chunk: u32) -> io::Result<()> {
    // SAFETY: an all-zero registration is a valid one.
    let mut memory: libc::xdp_umem_reg = unsafe { mem::zeroed() };
    memory.addr = chunks.address();
    memory.len = chunks.octets() as u64;
    memory.chunk_size = chunk;
    socket.set(libc::SOL_XDP, libc::XDP_UMEM_REG, memory)
}

/// Kernel counters.
pub(super) fn statistics(socket: &Socket) -> io::Result<libc::xdp_statistics> {
    get(socket, libc::XDP_STATISTICS)
}

/// Reads an option of the socket whose value is a plain C structure of counters.
fn get<T: Copy>(socket: &Socket, name: libc::c_int) -> io::Result<T> {
    // SAFETY: both structures read here are plain counters, for which all zero is valid.
    let mut value: T = unsafe { mem::zeroed() };
    let mut size = libc::socklen_t::try_from(mem::size_of::<T>()).unwrap_or(0);
    let pointer = (&raw mut value).cast();
    // SAFETY: the pointer and the size are those of `value`, which the call may write to.
    let status =
        unsafe { libc::getsockopt(socket.fd(), libc::SOL_XDP, name, pointer, &raw mut size) };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}
