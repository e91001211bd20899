//! Ring of blocks in which the kernel passes the frames that a packet socket receives (TPACKET_V3,
//! Linux `packet_mmap`): no system call per frame, and none while frames keep arriving.
//!
//! The kernel fills a block and passes it on when it is full, or after [`RETIRE`] if there are few
//! frames. While all blocks wait to be read, the ring is frozen: the kernel drops frames and counts
//! them.

use crate::hardware_clock::Stamps;
use crate::mapping::Mapping;
use crate::socket::Socket;
use core::mem::{offset_of, size_of};
use core::sync::atomic::Ordering;
use core::time::Duration;
use std::io;

/// Octets of a block: four times the longest frame with its header.
const BLOCK_OCTETS: usize = 256 << 10;
/// Time after which a block that is not full is passed on, or after twice that if frames have just
/// begun to go into it. This time multiplied by the number of blocks is the time for which the
/// reader may be away, however few frames there are: two seconds for 16 MB.
const RETIRE: Duration = Duration::from_millis(32);
/// Frame size that the kernel requires, and does not use with blocks.
const FRAME_OCTETS: usize = 2_048;
const FEWEST_BLOCKS: usize = 2;
/// Offsets in the headers shared with the kernel.
const STATUS_AT: usize = offset_of!(libc::tpacket_block_desc, hdr);
const COUNT_AT: usize = STATUS_AT + offset_of!(libc::tpacket_hdr_v1, num_pkts);
const FIRST_AT: usize = STATUS_AT + offset_of!(libc::tpacket_hdr_v1, offset_to_first_pkt);
/// Bit of a frame's status: the interface stamped it (linux/if_packet.h).
const RAW_HARDWARE: u32 = 1 << 31;
const HEADER_OCTETS: usize = size_of::<libc::tpacket3_hdr>();
/// The sender's address follows the header, on the next alignment boundary.
const ADDRESS_AT: usize = HEADER_OCTETS.next_multiple_of(libc::TPACKET_ALIGNMENT);
const DIRECTION_AT: usize = ADDRESS_AT + offset_of!(libc::sockaddr_ll, sll_pkttype);

/// Frame in the ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'a> {
    /// Octets of the frame, as far as it was kept.
    pub(crate) octets: &'a [u8],
    /// Octets of the whole frame.
    pub(crate) original_octets: usize,
    /// Its stamp: nanoseconds since the Unix epoch, or by the interface's own clock.
    pub(crate) nanos: u64,
    /// Clock of the stamp.
    pub(crate) stamps: Stamps,
    /// Tag protocol and control information of a VLAN tag that the kernel removed.
    pub(crate) vlan: Option<(u16, u16)>,
    /// True if this host sent the frame itself.
    pub(crate) outgoing: bool,
}

/// Clock that stamped the frame with this status.
const fn stamps_of(status: u32) -> Stamps {
    if status & RAW_HARDWARE == 0 { Stamps::Kernel } else { Stamps::Hardware }
}

/// Unread rest of a block that this side owns.
#[derive(Clone, Copy, Debug)]
struct Rest {
    /// Offset of the next frame in the mapping.
    at: usize,
    frames: u32,
}

/// Fill of a ring at one moment. A full ring drops frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fill {
    /// Blocks that wait to be read.
    pub waiting: u32,
    /// Blocks of the ring.
    pub blocks: u32,
}

impl Fill {
    /// Returns the share of the blocks that wait to be read, from 0 to 1.
    #[must_use]
    pub fn share(self) -> f64 {
        f64::from(self.waiting) / f64::from(self.blocks.max(1))
    }
}

/// Reader's side of a ring.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: Mapping,
    blocks: usize,
    /// Block being read, or the next one.
    block: usize,
    rest: Option<Rest>,
}

impl Ring {
    /// Creates a ring of about `octets` for a socket that is not bound yet.
    pub(crate) fn new(socket: &Socket, octets: usize) -> io::Result<Self> {
        let blocks = (octets / BLOCK_OCTETS).max(FEWEST_BLOCKS);
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        socket.set(libc::SOL_PACKET, libc::PACKET_VERSION, version)?;
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK_OCTETS as libc::c_uint,
            tp_block_nr: blocks as libc::c_uint,
            tp_frame_size: FRAME_OCTETS as libc::c_uint,
            tp_frame_nr: (blocks * (BLOCK_OCTETS / FRAME_OCTETS)) as libc::c_uint,
            tp_retire_blk_tov: RETIRE.as_millis() as libc::c_uint,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
        let memory = Mapping::of(socket.fd(), blocks * BLOCK_OCTETS, 0)?;
        Ok(Self { memory, blocks, block: 0, rest: None })
    }

    /// Returns whether a frame is available. Blocks that have been read are given back.
    pub(crate) fn is_ready(&mut self) -> bool {
        loop {
            let begins = self.block * BLOCK_OCTETS;
            let status = self.memory.word(begins + STATUS_AT);
            match self.rest {
                Some(Rest { frames: 1.., .. }) => return true,
                Some(Rest { frames: 0, .. }) => {
                    status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
                    self.rest = None;
                    self.block = (self.block + 1) % self.blocks;
                }
                None if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 => return false,
                None => {
                    let word = |at| self.memory.word(begins + at).load(Ordering::Relaxed);
                    let (frames, first) = (word(COUNT_AT), word(FIRST_AT) as usize);
                    self.rest = Some(Rest { at: begins + first, frames });
                }
            }
        }
    }

    /// Returns the blocks that wait to be read, the one being read included.
    pub(crate) fn fill(&self) -> Fill {
        let waits = |block: &usize| {
            let status = self.memory.word(block * BLOCK_OCTETS + STATUS_AT);
            status.load(Ordering::Relaxed) & libc::TP_STATUS_USER != 0
        };
        let waiting = (0..self.blocks).filter(waits).count();
        Fill { waiting: waiting as u32, blocks: self.blocks as u32 }
    }

    /// Takes the next frame, if there is one.
    pub(crate) fn take(&mut self) -> Option<Slot<'_>> {
        if !self.is_ready() {
            return None;
        }
        let Rest { at, frames } = self.rest?;
        let word = |field| self.memory.word(at + field).load(Ordering::Relaxed);
        let next = word(offset_of!(libc::tpacket3_hdr, tp_next_offset)) as usize;
        let seconds = u64::from(word(offset_of!(libc::tpacket3_hdr, tp_sec)));
        let nanos = u64::from(word(offset_of!(libc::tpacket3_hdr, tp_nsec)));
        let kept = word(offset_of!(libc::tpacket3_hdr, tp_snaplen)) as usize;
        let original_octets = word(offset_of!(libc::tpacket3_hdr, tp_len)) as usize;
        let status = word(offset_of!(libc::tpacket3_hdr, tp_status));
        let tag = offset_of!(libc::tpacket3_hdr, hv1);
        let control = word(tag + offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tci)) as u16;
        let mut protocol = [0; 2];
        let protocol_at = tag + offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tpid);
        self.memory.read_into(at + protocol_at, &mut protocol);
        let mut begins = [0; 2];
        self.memory.read_into(at + offset_of!(libc::tpacket3_hdr, tp_mac), &mut begins);
        let mut direction = [0];
        self.memory.read_into(at + DIRECTION_AT, &mut direction);
        self.rest = Some(Rest { at: at + next, frames: frames - 1 });
        let has_protocol = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        let protocol = if has_protocol { u16::from_ne_bytes(protocol) } else { 0x8100 };
        let has_tag = status & libc::TP_STATUS_VLAN_VALID != 0;
        let begins = at + usize::from(u16::from_ne_bytes(begins));
        Some(Slot {
            octets: self.memory.borrow(begins, kept).expect("a frame lies in its block"),
            original_octets,
            nanos: seconds.saturating_mul(1_000_000_000).saturating_add(nanos),
            stamps: stamps_of(status),
            vlan: has_tag.then_some((protocol, control)),
            outgoing: direction == [libc::PACKET_OUTGOING],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_frame_names_the_clock_of_its_stamp() {
        let usual = libc::TP_STATUS_USER | libc::TP_STATUS_VLAN_VALID;
        // TP_STATUS_TS_SOFTWARE is bit 29, TP_STATUS_TS_RAW_HARDWARE bit 31.
        assert_eq!(stamps_of(usual), Stamps::Kernel);
        assert_eq!(stamps_of(usual | 1 << 29), Stamps::Kernel);
        assert_eq!(stamps_of(usual | 0x8000_0000), Stamps::Hardware);
    }
}
