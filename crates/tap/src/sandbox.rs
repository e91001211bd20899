//! Sandbox entered once the interface is open. It drops other users' rights, all capabilities, and
//! all system calls except those needed to read the ring and write to the output.
//!
//! The kernel answers every other call with "operation not permitted". Even compromised code in
//! this process can no longer send, open, start or connect anything. Only one thread may be
//! running.
#![expect(unsafe_code, reason = "rights are dropped by calls that only libc has")]

use core::mem;
use core::ptr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, RawFd};

/// User and group ID without privileges, 65534 on every Linux.
const UNPRIVILEGED: u32 = 65_534;
/// Upper bound of capability numbers.
const MOST_CAPABILITIES: libc::c_ulong = 64;
/// `_LINUX_CAPABILITY_VERSION_3`.
const CAPABILITY_VERSION: u32 = 0x2008_0522;
/// Kernel's identifier of the processor (`AUDIT_ARCH_…`); `None` for untested ones.
const ARCHITECTURE: Option<u32> = if cfg!(all(target_arch = "x86_64", target_pointer_width = "64"))
{
    Some(0xC000_003E)
} else if cfg!(target_arch = "aarch64") {
    Some(0xC000_00B7)
} else {
    None
};

/// Result of entering the sandbox.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Confined {
    /// True if system calls are filtered.
    pub(crate) filters_calls: bool,
}

fn check(status: libc::c_long) -> io::Result<()> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn prctl(option: libc::c_int, first: libc::c_ulong, second: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the options used here take integers and no pointers.
    check(unsafe { libc::prctl(option, first, second, 0, 0) }.into())
}

/// Keeps other processes of the same user from attaching to this one and from reading its memory,
/// which holds frames, and the kernel from writing it to a core file.
pub(crate) fn hide() -> io::Result<()> {
    prctl(libc::PR_SET_DUMPABLE, 0, 0)
}

/// Drops all rights not needed to read the ring of `packets` and to write to `out`.
pub(crate) fn enter(packets: RawFd, out: &File) -> io::Result<Confined> {
    for capability in 0..MOST_CAPABILITIES {
        // Fails harmlessly without CAP_SETPCAP, or beyond the last capability.
        prctl(libc::PR_CAPBSET_DROP, capability, 0).ok();
    }
    become_unprivileged()?;
    // Kernels before 4.3 have no ambient capabilities.
    let clear = libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong;
    prctl(libc::PR_CAP_AMBIENT, clear, 0).ok();
    give_up_capabilities()?;
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0)?;
    let filters_calls = match ARCHITECTURE {
        Some(architecture) => {
            filter_calls(&program(architecture, packets, out.as_raw_fd()))?;
            true
        }
        None => false,
    };
    Ok(Confined { filters_calls })
}

/// Changes from root to the user without privileges.
fn become_unprivileged() -> io::Result<()> {
    // SAFETY: takes nothing and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(());
    }
    // SAFETY: no group is read through the pointer, since there is none.
    let groups = check(unsafe { libc::setgroups(0, ptr::null()) }.into());
    // SAFETY: takes integers only.
    let group = check(unsafe { libc::setresgid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED) }.into());
    // SAFETY: takes integers only.
    let user = check(unsafe { libc::setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED) }.into());
    for done in [groups, group, user] {
        match done {
            // In a user namespace there may be root alone, whose capabilities are dropped below.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EPERM)) => {}
            done => done?,
        }
    }
    Ok(())
}

/// `struct __user_cap_header_struct` and two of `struct __user_cap_data_struct`.
#[repr(C)]
struct Header {
    version: u32,
    process: libc::c_int,
}

fn give_up_capabilities() -> io::Result<()> {
    let header = Header { version: CAPABILITY_VERSION, process: 0 };
    let none = [0_u32; 6];
    // SAFETY: the kernel reads a header and two structures of three words each.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, &raw const none) })?;
    let mut left = [u32::MAX; 6];
    // SAFETY: the kernel reads the header and writes two structures of three words each.
    check(unsafe { libc::syscall(libc::SYS_capget, &raw const header, &raw mut left) })?;
    if left == none { Ok(()) } else { Err(io::Error::other("capabilities stay")) }
}

/// Returns whether standard input has ended: its other end is closed.
pub(crate) fn has_input_ended() -> bool {
    let mut input = libc::pollfd { fd: libc::STDIN_FILENO, events: 0, revents: 0 };
    let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: one pollfd is given and one is announced; both structures outlive the call.
    let status = unsafe { libc::ppoll(&raw mut input, 1, &raw const now, ptr::null()) };
    status > 0 && input.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
}

/// Ignores SIGINT. Ctrl-C at the terminal goes to every process there; this one ends with its
/// input.
pub(crate) fn ignore_interrupts() {
    // SAFETY: no function is installed.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
}

// Offsets in `struct seccomp_data`: number of the call, processor, and arguments.
const CALL_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;
const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
/// Calls of x86-64's 32-bit variant, which have other arguments.
const OTHER_KIND: u32 = 0x4000_0000;
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

const fn step(code: u16, operand: u32, jump_true: u8, jump_false: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt: jump_true, jf: jump_false, k: operand }
}

/// Condition on an argument of a call: its number, and the condition on its lower half.
#[derive(Clone, Copy)]
enum Argument {
    Is(u32, u32),
    /// None of these bits is set.
    Lacks(u32, u32),
    /// One of these bits is set.
    Has(u32, u32),
}

/// Allowed calls with the conditions on their arguments. A call that is listed twice may be made
/// either way.
fn calls(packets: RawFd, out: RawFd) -> Vec<(libc::c_long, Vec<Argument>)> {
    use Argument::{Has, Is, Lacks};
    let [packets, out] = [packets, out].map(|number| number as u32);
    let executable = libc::PROT_EXEC as u32;
    let option = |level: libc::c_int, name: libc::c_int| {
        vec![Is(0, packets), Is(1, level as u32), Is(2, name as u32)]
    };
    vec![
        (libc::SYS_write, vec![Is(0, out)]),
        (libc::SYS_write, vec![Is(0, libc::STDERR_FILENO as u32)]),
        (libc::SYS_ppoll, vec![]),
        (libc::SYS_getsockopt, option(libc::SOL_PACKET, libc::PACKET_STATISTICS)),
        (libc::SYS_getsockopt, option(libc::SOL_SOCKET, libc::SO_ERROR)),
        (libc::SYS_clock_gettime, vec![]),
        (libc::SYS_exit, vec![]),
        (libc::SYS_exit_group, vec![]),
        (libc::SYS_rt_sigreturn, vec![]),
        (libc::SYS_restart_syscall, vec![]),
        (libc::SYS_sigaltstack, vec![]),
        (libc::SYS_close, vec![]),
        (libc::SYS_futex, vec![]),
        // Memory, but neither executable nor backed by a file.
        (libc::SYS_brk, vec![]),
        (libc::SYS_munmap, vec![]),
        (libc::SYS_madvise, vec![]),
        (libc::SYS_mremap, vec![]),
        (libc::SYS_mmap, vec![Lacks(2, executable), Has(3, libc::MAP_ANONYMOUS as u32)]),
        (libc::SYS_mprotect, vec![Lacks(2, executable)]),
    ]
}

fn program(architecture: u32, packets: RawFd, out: RawFd) -> Vec<libc::sock_filter> {
    let mut program = vec![
        step(LOAD, ARCHITECTURE_AT, 0, 0),
        step(EQUAL, architecture, 1, 0),
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS, 0, 0),
        step(LOAD, CALL_AT, 0, 0),
        step(AT_LEAST, OTHER_KIND, 0, 1),
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS, 0, 0),
    ];
    for (call, arguments) in calls(packets, out) {
        // Each argument takes two steps; after them come the permission and a load for the next
        // call.
        let rest = |done: usize| (2 * (arguments.len() - done) + 1) as u8;
        program.push(step(LOAD, CALL_AT, 0, 0));
        program.push(step(EQUAL, call as u32, 0, rest(0)));
        for (done, argument) in (1..).zip(&arguments) {
            let (Argument::Is(number, _) | Argument::Lacks(number, _) | Argument::Has(number, _)) =
                *argument;
            let low = if cfg!(target_endian = "big") { 4 } else { 0 };
            program.push(step(LOAD, ARGUMENTS_AT + 8 * number + low, 0, 0));
            program.push(match *argument {
                Argument::Is(_, value) => step(EQUAL, value, 0, rest(done)),
                Argument::Lacks(_, bits) => step(ANY_BIT, bits, rest(done), 0),
                Argument::Has(_, bits) => step(ANY_BIT, bits, 0, rest(done)),
            });
        }
        program.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0));
    }
    program.push(step(RETURN, REFUSE, 0, 0));
    program
}

fn filter_calls(program: &[libc::sock_filter]) -> io::Result<()> {
    // The kernel copies the program, and does not write to it.
    let program = libc::sock_fprog {
        len: program.len() as libc::c_ushort,
        filter: program.as_ptr().cast_mut(),
    };
    let mode = libc::SECCOMP_MODE_FILTER as libc::c_ulong;
    // SAFETY: the structure and the program it points to outlive the call.
    check(unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) }.into())
}

/// Tries operations that must no longer be possible, and writes a line for each: the operation and
/// the system's answer.
pub(crate) fn probe(packets: RawFd, mut out: File) -> io::Result<()> {
    let frame = [0_u8; 60];
    let (octets, length) = (frame.as_ptr().cast::<libc::c_void>(), frame.len());
    // SAFETY: an all-zero message, of no parts, is a valid one.
    let message: libc::msghdr = unsafe { mem::zeroed() };
    let path = c"/".as_ptr();
    let size = mem::size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointers are those of whole values that outlive the calls, with their lengths.
    let tried: [(&str, libc::c_long); 9] = unsafe {
        [
            ("sendto", tried(libc::sendto(packets, octets, length, 0, ptr::null(), 0) as _)),
            ("sendmsg", tried(libc::sendmsg(packets, &raw const message, 0) as _)),
            ("write to the packet socket", tried(libc::write(packets, octets, length) as _)),
            ("socket", tried(libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0).into())),
            ("open", tried(libc::open(path, libc::O_RDONLY).into())),
            ("fork", tried(libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0))),
            ("ptrace", tried(libc::syscall(libc::SYS_ptrace, 0, 0, 0, 0))),
            ("setsockopt", {
                let value = (&raw const size).cast();
                let (level, name) = (libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS);
                tried(libc::setsockopt(packets, level, name, value, size).into())
            }),
            ("executable memory", {
                let protection = libc::PROT_READ | libc::PROT_EXEC;
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                let mapped = libc::mmap(ptr::null_mut(), 4_096, protection, flags, -1, 0);
                tried(if mapped == libc::MAP_FAILED { -1 } else { 0 })
            }),
        ]
    };
    for (what, errno) in tried {
        let said = match errno {
            0 => "done".to_owned(),
            errno => io::Error::from_raw_os_error(errno as i32).to_string(),
        };
        writeln!(out, "{what}: {said}")?;
    }
    Ok(())
}

/// Error number of a call, or 0.
fn tried(status: libc::c_long) -> libc::c_long {
    if status >= 0 {
        return 0;
    }
    io::Error::last_os_error().raw_os_error().unwrap_or(-1).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_process_may_not_be_dumped_or_attached_to() {
        // SAFETY: this option takes and gives integers.
        let dumpable = || unsafe { libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0) };
        assert_eq!(dumpable(), 1, "a process begins as one that may be dumped");
        hide().unwrap();
        assert_eq!(dumpable(), 0);
    }
}
