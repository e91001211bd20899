//! Ring of slots in which the kernel passes the frames that a packet socket receives (TPACKET_V2,
//! Linux `packet_mmap`). Each frame is visible as soon as the kernel has it, and polling reads
//! memory instead of calling the kernel.
//!
//! Not included: waiting without polling, the kernel's stamps, and slots for frames above normal
//! LAN length.

use crate::mapping::Mapping;
use crate::socket::Socket;
use core::mem::offset_of;
use core::sync::atomic::Ordering;
use std::io;

/// Octets of a slot: the kernel's header and a frame.
const SLOT_OCTETS: usize = 2_048;
/// Maximum length of a frame after the kernel's header and the sender's address.
pub(crate) const LONGEST_FRAME: usize = 1_920;
/// Maximum number of frames that wait to be taken: 4 MiB.
const SLOTS: usize = 2_048;
/// Octets that the kernel allocates in one piece.
const BLOCK_OCTETS: usize = 64 << 10;
/// Offsets in the header at the start of each slot.
const STATUS_AT: usize = offset_of!(libc::tpacket2_hdr, tp_status);
const ORIGINAL_AT: usize = offset_of!(libc::tpacket2_hdr, tp_len);
const KEPT_AT: usize = offset_of!(libc::tpacket2_hdr, tp_snaplen);
const FRAME_AT: usize = offset_of!(libc::tpacket2_hdr, tp_mac);

const NO_RING: libc::tpacket_req =
    libc::tpacket_req { tp_block_size: 0, tp_block_nr: 0, tp_frame_size: 0, tp_frame_nr: 0 };

/// Reader's side of a ring.
#[derive(Debug)]
pub(crate) struct Slots {
    memory: Mapping,
    /// Slot of the next frame.
    next: usize,
    in_vain: u64,
}

impl Slots {
    /// Attaches a ring to a socket that is not bound yet.
    pub(crate) fn of(socket: &Socket) -> io::Result<Self> {
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_OCTETS as libc::c_uint,
            tp_block_nr: (SLOTS * SLOT_OCTETS / BLOCK_OCTETS) as libc::c_uint,
            tp_frame_size: SLOT_OCTETS as libc::c_uint,
            tp_frame_nr: SLOTS as libc::c_uint,
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_VERSION, version)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
        let memory = Mapping::of(socket.fd(), SLOTS * SLOT_OCTETS, 0).or_else(|error| {
            // With a ring that is not mapped, the socket would deliver nothing.
            socket.set(libc::SOL_PACKET, libc::PACKET_RX_RING, NO_RING)?;
            Err(error)
        })?;
        Ok(Self { memory, next: 0, in_vain: 0 })
    }

    /// Number of reads that found no frame.
    pub(crate) const fn in_vain(&self) -> u64 {
        self.in_vain
    }

    /// Applies `read` to the next frame, if there is one: its octets as far as they were kept, and
    /// its original length.
    pub(crate) fn take<T>(&mut self, read: impl FnOnce(&[u8], usize) -> T) -> Option<T> {
        let at = self.next * SLOT_OCTETS;
        let status = self.memory.word(at + STATUS_AT).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            self.in_vain += 1;
            return None;
        }
        let field = |place| self.memory.word(at + place).load(Ordering::Relaxed);
        let (original, kept) = (field(ORIGINAL_AT) as usize, field(KEPT_AT) as usize);
        // The next half word gives the offset of the network layer.
        let [a, b, _, _] = field(FRAME_AT).to_ne_bytes();
        let begins = at + usize::from(u16::from_ne_bytes([a, b]));
        let made = read(self.memory.borrow(begins, kept).unwrap_or_default(), original);
        self.memory.word(at + STATUS_AT).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % SLOTS;
        Some(made)
    }
}
