//! XDP program that decides for each frame whether it goes to the socket or stays with the host.
//!
//! It is short, so it is assembled here. An 802.3 frame with a length field, for one of a few
//! addresses, goes to the socket of its queue. All other frames, and those on a queue without a
//! socket, are passed on. It is loaded and attached by bpf(2), and removed when the descriptor is
//! closed.
#![expect(unsafe_code, reason = "bpf(2) has no wrapper")]

use crate::socket::Socket;
use core::mem;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use wire::addr::Mac;

/// Largest length field; higher values are types.
const LARGEST_LENGTH: i32 = 1_500;
/// Octets of a MAC header.
const MAC_HEADER: i32 = 14;

// Commands, kinds and flags of linux/bpf.h and linux/if_link.h.
const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE: libc::c_int = 2;
const PROGRAM_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
const MAP_OF_SOCKETS: u32 = 17;
const PROGRAM_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
const GENERIC_HOOK: u32 = 2;
const PASS: i32 = 2;
const REDIRECT_MAP: i32 = 51;

/// Instruction: `struct bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    code: u8,
    registers: u8,
    offset: i16,
    value: i32,
}

/// Builds an instruction; the registers are the one written or compared, and the one read.
const fn step(code: u8, [to, from]: [u8; 2], offset: i16, value: i32) -> Step {
    let registers = if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
    Step { code, registers, offset, value }
}

const LOAD_WORD: u8 = 0x61;
const LOAD_HALF: u8 = 0x69;
const LOAD_MAP: u8 = 0x18;
const MOVE: u8 = 0xBF;
const MOVE_VALUE: u8 = 0xB7;
const ADD_VALUE: u8 = 0x07;
const TO_BIG_ENDIAN: u8 = 0xDC;
const IF_GREATER: u8 = 0x2D;
const IF_GREATER_VALUE: u8 = 0x25;
const IF_EQUAL_VALUE: u8 = 0x15;
const IF_NOT_EQUAL_WORD: u8 = 0x56;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

/// Builds the program. Its context holds the start of the frame (0), its end (4), and the queue
/// (16).
fn steps(map: i32, addresses: &[Mac]) -> Vec<Step> {
    // Jumps count from the next instruction. Each address takes two instructions; after them come
    // two that pass the frame on, and those that redirect it.
    let comparing = 2 * addresses.len() as i16;
    let mut steps = vec![
        step(LOAD_WORD, [2, 1], 0, 0),
        step(LOAD_WORD, [3, 1], 4, 0),
        step(MOVE, [4, 2], 0, 0),
        step(ADD_VALUE, [4, 0], 0, MAC_HEADER),
        step(IF_GREATER, [4, 3], 5 + comparing, 0),
        step(LOAD_HALF, [4, 2], 12, 0),
        step(TO_BIG_ENDIAN, [4, 0], 0, 16),
        step(IF_GREATER_VALUE, [4, 0], 2 + comparing, LARGEST_LENGTH),
        step(LOAD_WORD, [4, 2], 0, 0),
        step(LOAD_HALF, [5, 2], 4, 0),
    ];
    for (place, Mac([a, b, c, d, e, f])) in addresses.iter().enumerate() {
        let left = comparing - 2 * place as i16;
        let first = i32::from_ne_bytes([*a, *b, *c, *d]);
        steps.push(step(IF_NOT_EQUAL_WORD, [4, 0], 1, first));
        steps.push(step(IF_EQUAL_VALUE, [5, 0], left, u16::from_ne_bytes([*e, *f]).into()));
    }
    steps.extend([
        step(MOVE_VALUE, [0, 0], 0, PASS),
        step(EXIT, [0, 0], 0, 0),
        step(LOAD_WORD, [2, 1], 16, 0),
        // A map given by its descriptor (1), in two halves.
        step(LOAD_MAP, [1, 1], 0, map),
        step(0, [0, 0], 0, 0),
        step(MOVE_VALUE, [3, 0], 0, PASS),
        step(CALL, [0, 0], 0, REDIRECT_MAP),
        step(EXIT, [0, 0], 0, 0),
    ]);
    steps
}

#[repr(C)]
struct MapAttributes {
    kind: u32,
    key_octets: u32,
    value_octets: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
struct UpdateAttributes {
    map: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramAttributes {
    kind: u32,
    steps: u32,
    pointer: u64,
    licence: u64,
    log_level: u32,
    log_octets: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

#[repr(C)]
struct LinkAttributes {
    program: u32,
    interface: u32,
    kind: u32,
    flags: u32,
}

/// Executes a command of bpf(2) on one of the structures above, each of which begins like the
/// kernel's union for that command.
fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_long> {
    let (pointer, octets) = ((&raw const *attributes), mem::size_of::<T>());
    // SAFETY: the pointer and the length are those of `attributes`, which the kernel copies; callers
    // keep alive what it points to.
    let status = unsafe { libc::syscall(libc::SYS_bpf, command, pointer, octets) };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
}

/// Descriptor returned by a command of bpf(2).
fn descriptor<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
    let fd = bpf(command, attributes)? as libc::c_int;
    // SAFETY: the descriptor was just created and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Program that stays attached to an interface while this value lives.
#[derive(Debug)]
pub(super) struct Program {
    _link: OwnedFd,
}

impl Program {
    /// Redirects LLC frames for these addresses to the socket, if they arrive on the first queue.
    pub(super) fn attach(socket: &Socket, interface: u32, addresses: &[Mac]) -> io::Result<Self> {
        let (kind, key_octets, value_octets) = (MAP_OF_SOCKETS, 4, 4);
        let attributes = MapAttributes { kind, key_octets, value_octets, entries: 1, flags: 0 };
        let map = descriptor(MAP_CREATE, &attributes)?;
        let (queue, fd) = (0_u32, socket.fd());
        let (key, value) = ((&raw const queue) as u64, (&raw const fd) as u64);
        let number = map.as_raw_fd() as u32;
        bpf(MAP_UPDATE, &UpdateAttributes { map: number, pad: 0, key, value, flags: 0 })?;
        let steps = steps(map.as_raw_fd(), addresses);
        let attributes = ProgramAttributes {
            kind: PROGRAM_XDP,
            steps: steps.len() as u32,
            pointer: steps.as_ptr() as u64,
            licence: c"Dual MIT/GPL".as_ptr() as u64,
            log_level: 0,
            log_octets: 0,
            log: 0,
            kernel_version: 0,
            flags: 0,
        };
        let program = descriptor(PROGRAM_LOAD, &attributes)?;
        let program = program.as_raw_fd() as u32;
        let link = LinkAttributes { program, interface, kind: ATTACH_XDP, flags: GENERIC_HOOK };
        Ok(Self { _link: descriptor(LINK_CREATE, &link)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interprets the program as the kernel would; returns whether it redirects the frame to the
    /// socket.
    fn redirects(steps: &[Step], frame: &[u8]) -> bool {
        const BEGIN: u64 = 0x1000;
        let mut registers = [0_u64; 11];
        let mut at = 0;
        loop {
            let Step { code, registers: pair, offset, value } = steps[at];
            let (to, from) = (usize::from(pair & 15), usize::from(pair >> 4));
            at += 1;
            let context = from == 1;
            let in_frame = |octets: usize| {
                let begin = (registers[from] - BEGIN) as usize + offset as usize;
                &frame[begin..begin + octets]
            };
            let compared = registers[to];
            let jumps = match code {
                IF_GREATER => compared > registers[from],
                IF_GREATER_VALUE => compared > value as u64,
                IF_EQUAL_VALUE => compared == value as u64,
                IF_NOT_EQUAL_WORD => compared as u32 != value as u32,
                _ => false,
            };
            match code {
                LOAD_WORD if context && offset == 0 => registers[to] = BEGIN,
                LOAD_WORD if context && offset == 4 => registers[to] = BEGIN + frame.len() as u64,
                LOAD_WORD if context => registers[to] = 0,
                LOAD_WORD => {
                    registers[to] = u32::from_ne_bytes(in_frame(4).try_into().unwrap()).into();
                }
                LOAD_HALF => {
                    registers[to] = u16::from_ne_bytes(in_frame(2).try_into().unwrap()).into();
                }
                MOVE => registers[to] = registers[from],
                MOVE_VALUE => registers[to] = value as u64,
                ADD_VALUE => registers[to] += value as u64,
                TO_BIG_ENDIAN => registers[to] = (registers[to] as u16).to_be().into(),
                LOAD_MAP => at += 1,
                CALL => return true,
                EXIT => return false,
                _ if jumps => at = at.wrapping_add_signed(offset.into()),
                _ => {}
            }
        }
    }

    #[test]
    fn the_socket_gets_llc_frames_for_its_addresses_and_no_others() {
        let (own, group) = (Mac::local(7), Mac([0x01, 0x80, 0xC2, 0, 0, 0x14]));
        let steps = steps(3, &[own, Mac::BROADCAST, group]);
        let frame = |to: Mac, behind: u16| {
            let mut octets = [&to.0[..], &[2, 0, 0, 0, 0, 9], &behind.to_be_bytes()].concat();
            octets.resize(60, 0);
            octets
        };
        for to in [own, Mac::BROADCAST, group] {
            // 1,500 is the largest length; 0x0800 and 0x0806 are IP and ARP, 0x8100 a VLAN's tag.
            for behind in [0, 3, 103, 1_500] {
                assert!(redirects(&steps, &frame(to, behind)), "{to} {behind}");
            }
            for behind in [1_501, 1_536, 0x0800, 0x0806, 0x8100, u16::MAX] {
                assert!(!redirects(&steps, &frame(to, behind)), "{to} {behind:#x}");
            }
        }
        // Bridges use 01-80-C2-00-00-00; the other addresses differ in the first and the last
        // octets.
        let bridges = Mac([0x01, 0x80, 0xC2, 0, 0, 0]);
        let [.., last] = own.0;
        let near = Mac([0x12, 0, 0, 0, 0, last]);
        for to in [bridges, Mac::local(8), near] {
            assert!(!redirects(&steps, &frame(to, 103)), "{to}");
        }
        assert!(!redirects(&steps, &frame(own, 103)[..13]), "shorter than a header");
    }

    #[test]
    fn the_structures_have_the_kernels_sizes() {
        // linux/bpf.h: an instruction has 8 octets; the members of the union up to those used here.
        assert_eq!(mem::size_of::<Step>(), 8);
        assert_eq!(mem::size_of::<MapAttributes>(), 20);
        assert_eq!(mem::size_of::<UpdateAttributes>(), 32);
        assert_eq!(mem::size_of::<ProgramAttributes>(), 48);
        assert_eq!(mem::size_of::<LinkAttributes>(), 16);
    }
}
