//! AF_XDP in copy mode on the generic hook: frames bypass most of the kernel's network stack.
#![expect(unsafe_code, reason = "bpf(2) and the rings exist only as system calls and memory")]

use crate::bare::{check, set};
use crate::rings::{Shared, checked};
use crate::{INTERFACE, Way};
use core::sync::atomic::Ordering;
use live::interface::{Interface, in_namespace};
use live::port::PortError;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const RING: u32 = 1_024;
const CHUNK: usize = 2_048;
/// Chunks: the first half to receive, the second to send.
const CHUNKS: usize = 2 * RING as usize;
const BATCH: u32 = 64;

const MAP_CREATE: i64 = 0;
const MAP_UPDATE: i64 = 2;
const PROGRAM_LOAD: i64 = 5;
const LINK_CREATE: i64 = 28;
const MAP_OF_SOCKETS: u32 = 17;
const PROGRAM_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
const GENERIC: u32 = 2;

fn bpf(command: i64, words: &mut [u64; 16]) -> Result<i32, PortError> {
    // SAFETY: the attributes have the stated length, are zero where unused, and outlive the call;
    // so does the memory they point to.
    checked(unsafe { libc::syscall(libc::SYS_bpf, command, words.as_mut_ptr(), 128) })
}

fn owned(fd: i32) -> OwnedFd {
    // SAFETY: the descriptor was just created and has no other owner.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Two words of 32 bits in one of 64, in memory order.
const fn two(first: u32, second: u32) -> u64 {
    first as u64 | (second as u64) << 32
}

/// Redirects frames that arrive on queue 0 to the socket, as long as the returned descriptors live.
fn attach(socket: &OwnedFd, index: u32) -> Result<[OwnedFd; 3], PortError> {
    let mut words = [0; 16];
    (words[0], words[1]) = (two(MAP_OF_SOCKETS, 4), two(4, 1));
    let map = owned(bpf(MAP_CREATE, &mut words)?);
    let (key, value) = (0_u32, socket.as_raw_fd());
    words = [0; 16];
    (words[0], words[1], words[2]) =
        (map.as_raw_fd() as u64, (&raw const key) as u64, (&raw const value) as u64);
    bpf(MAP_UPDATE, &mut words)?;
    let step = |code: u64, registers: u64, offset: u64, value: i32| {
        code | registers << 8 | offset << 16 | u64::from(value as u32) << 32
    };
    // r2 = queue; r1 = map; r3 = pass on frames without a socket; redirect; return.
    let program = [
        step(0x61, 0x12, 16, 0),
        step(0x18, 0x11, 0, map.as_raw_fd()),
        0,
        step(0xB7, 0x03, 0, 2),
        step(0x85, 0, 0, 51),
        step(0x95, 0, 0, 0),
    ];
    let licence = c"Dual MIT/GPL";
    words = [0; 16];
    (words[0], words[1], words[2]) =
        (two(PROGRAM_XDP, program.len() as u32), program.as_ptr() as u64, licence.as_ptr() as u64);
    let program = owned(bpf(PROGRAM_LOAD, &mut words)?);
    words = [0; 16];
    (words[0], words[1]) = (two(program.as_raw_fd() as u32, index), two(ATTACH_XDP, GENERIC));
    let link = owned(bpf(LINK_CREATE, &mut words)?);
    Ok([map, program, link])
}

/// One of the four rings, by the offsets of its producer, consumer and entries.
struct Ring {
    memory: Shared,
    producer: usize,
    consumer: usize,
    entries: usize,
}

impl Ring {
    fn of(
        fd: &OwnedFd,
        offsets: &libc::xdp_ring_offset,
        at: i64,
        entry: usize,
    ) -> Result<Self, PortError> {
        let entries = offsets.desc as usize;
        let memory = Shared::of(fd, entries + RING as usize * entry, at)?;
        Ok(Self {
            memory,
            producer: offsets.producer as usize,
            consumer: offsets.consumer as usize,
            entries,
        })
    }

    fn place(&self, number: u32, entry: usize) -> usize {
        self.entries + (number % RING) as usize * entry
    }

    fn read(&self, offset: usize) -> u32 {
        self.memory.word(offset).load(Ordering::Acquire)
    }

    fn set(&self, offset: usize, value: u32) {
        self.memory.word(offset).store(value, Ordering::Release);
    }

    fn address(&self, number: u32, entry: usize) -> usize {
        self.memory.word(self.place(number, entry)).load(Ordering::Relaxed) as usize
    }
}

/// Socket that bypasses most of the network stack.
pub(crate) struct Xdp {
    fd: OwnedFd,
    _attached: [OwnedFd; 3],
    chunks: Box<[u8]>,
    filling: Ring,
    completed: Ring,
    receiving: Ring,
    sending: Ring,
    waiting: u32,
}

const DESCRIPTOR: usize = 16;
const ADDRESS: usize = 8;

impl Xdp {
    pub(crate) fn open(namespace: &str) -> Result<Self, PortError> {
        in_namespace(Some(namespace), Self::open_here)
    }

    fn open_here() -> Result<Self, PortError> {
        let index = Interface::named(INTERFACE)?.index;
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: takes integers only.
        let fd = owned(check(unsafe { libc::socket(libc::AF_XDP, kind, 0) })?);
        let chunks = vec![0_u8; CHUNKS * CHUNK + 4_096].into_boxed_slice();
        let begins = (chunks.as_ptr() as u64).next_multiple_of(4_096);
        // SAFETY: an all-zero registration is a valid one.
        let mut memory: libc::xdp_umem_reg = unsafe { core::mem::zeroed() };
        (memory.addr, memory.len) = (begins, (CHUNKS * CHUNK) as u64);
        memory.chunk_size = CHUNK as u32;
        set(&fd, libc::SOL_XDP, libc::XDP_UMEM_REG, &memory)?;
        let rings = [
            libc::XDP_UMEM_FILL_RING,
            libc::XDP_UMEM_COMPLETION_RING,
            libc::XDP_RX_RING,
            libc::XDP_TX_RING,
        ];
        rings.iter().try_for_each(|ring| set(&fd, libc::SOL_XDP, *ring, &RING))?;
        // SAFETY: all-zero offsets are valid; the call writes no more than their size.
        let offsets = unsafe {
            let mut offsets: libc::xdp_mmap_offsets = core::mem::zeroed();
            let mut size = size_of::<libc::xdp_mmap_offsets>() as libc::socklen_t;
            let pointer = (&raw mut offsets).cast();
            let (level, name) = (libc::SOL_XDP, libc::XDP_MMAP_OFFSETS);
            check(libc::getsockopt(fd.as_raw_fd(), level, name, pointer, &raw mut size))?;
            offsets
        };
        let filling = Ring::of(&fd, &offsets.fr, 0x1_0000_0000, ADDRESS)?;
        let completed = Ring::of(&fd, &offsets.cr, 0x1_8000_0000, ADDRESS)?;
        let receiving = Ring::of(&fd, &offsets.rx, 0, DESCRIPTOR)?;
        let sending = Ring::of(&fd, &offsets.tx, 0x8000_0000, DESCRIPTOR)?;
        for number in 0..RING {
            let address = u64::from(number) * CHUNK as u64;
            filling.memory.write(filling.place(number, ADDRESS), &address.to_ne_bytes());
        }
        filling.set(filling.producer, RING);
        let attached = attach(&fd, index)?;
        bind(&fd, index)?;
        let waiting = 0;
        Ok(Self {
            fd,
            _attached: attached,
            chunks,
            filling,
            completed,
            receiving,
            sending,
            waiting,
        })
    }
}

/// Binds to queue 0. A socket that was just closed may hold it for some milliseconds more.
fn bind(fd: &OwnedFd, index: u32) -> Result<(), PortError> {
    // SAFETY: an all-zero address is a valid one.
    let mut address: libc::sockaddr_xdp = unsafe { core::mem::zeroed() };
    address.sxdp_family = libc::AF_XDP as u16;
    address.sxdp_flags = libc::XDP_COPY;
    address.sxdp_ifindex = index;
    let octets = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
    let mut attempts = 0;
    loop {
        // SAFETY: the pointer and the length are those of `address`.
        let status = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), octets) };
        attempts += 1;
        if status == 0 || attempts == 100 {
            return check(status).map(|_| ());
        }
        let soon = live::clock::now() + core::time::Duration::from_millis(10);
        live::clock::sleep_until(soon);
    }
}

impl Way for Xdp {
    fn put(&mut self, frame: &[u8]) {
        let number = self.sending.read(self.sending.producer);
        // The number under way is limited by the chunks to send from.
        while number - self.completed.read(self.completed.consumer) >= RING {
            let done = self.completed.read(self.completed.producer);
            self.completed.set(self.completed.consumer, done);
            if number - done >= RING {
                self.flush();
            }
        }
        let address = (RING + number % RING) as usize * CHUNK;
        let begins = (self.chunks.as_ptr() as usize).next_multiple_of(4_096);
        let offset = begins - self.chunks.as_ptr() as usize + address;
        self.chunks[offset..offset + frame.len()].copy_from_slice(frame);
        let mut descriptor = [0; DESCRIPTOR];
        descriptor[..8].copy_from_slice(&(address as u64).to_ne_bytes());
        descriptor[8..12].copy_from_slice(&(frame.len() as u32).to_ne_bytes());
        self.sending.memory.write(self.sending.place(number, DESCRIPTOR), &descriptor);
        self.sending.set(self.sending.producer, number + 1);
        self.waiting += 1;
        if self.waiting == BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.waiting = 0;
        let fd = self.fd.as_raw_fd();
        // A call sends at most 32 frames.
        while self.sending.read(self.sending.consumer) != self.sending.read(self.sending.producer) {
            let (none, flags) = (core::ptr::null(), libc::MSG_DONTWAIT);
            // SAFETY: without a buffer the call sends what the ring holds.
            unsafe { libc::sendto(fd, none, 0, flags, core::ptr::null(), 0) };
            let done = self.completed.read(self.completed.producer);
            self.completed.set(self.completed.consumer, done);
        }
    }

    fn take(&mut self) -> usize {
        let number = self.receiving.read(self.receiving.consumer);
        let frames = (self.receiving.read(self.receiving.producer) - number).min(BATCH);
        let filled = self.filling.read(self.filling.producer);
        for place in 0..frames {
            // The chunk of the frame goes back to the kernel as it is.
            let chunk = self.receiving.address(number + place, DESCRIPTOR) / CHUNK * CHUNK;
            let slot = self.filling.place(filled + place, ADDRESS);
            self.filling.memory.write(slot, &(chunk as u64).to_ne_bytes());
        }
        if frames > 0 {
            self.filling.set(self.filling.producer, filled + frames);
            self.receiving.set(self.receiving.consumer, number + frames);
        }
        frames as usize
    }
}
