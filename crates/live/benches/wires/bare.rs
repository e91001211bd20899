//! Lower bound: a packet socket, `send` and `recv`, and no protocol; the same with batches; UDP;
//! and TCP.
#![expect(unsafe_code, reason = "packet sockets exist only in libc")]

use crate::Way;
use live::interface::{Interface, in_namespace};
use live::port::PortError;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Number of frames in a batch.
const BATCH: usize = 64;
/// Maximum length of a frame here, in octets.
pub(crate) const FRAME: usize = 2_048;

/// Packet socket for LLC frames, and its interface's index.
pub(crate) struct Bare {
    pub(crate) fd: OwnedFd,
    pub(crate) index: i32,
    buffer: [u8; FRAME],
}

pub(crate) fn check(status: libc::c_int) -> Result<libc::c_int, PortError> {
    if status >= 0 {
        return Ok(status);
    }
    Err(PortError::System { doing: "prepare a benchmark", source: io::Error::last_os_error() })
}

pub(crate) fn set<T>(fd: &OwnedFd, level: i32, name: i32, value: &T) -> Result<(), PortError> {
    let (pointer, octets) = ((&raw const *value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the pointer and the length are those of `value`, which outlives the call.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, pointer, octets) })?;
    Ok(())
}

impl Bare {
    /// Creates a socket that is not bound yet.
    pub(crate) fn deaf(namespace: &str) -> Result<Self, PortError> {
        in_namespace(Some(namespace), || {
            let index = Interface::named(crate::INTERFACE)?.index as i32;
            // SAFETY: takes integers only; the descriptor has no other owner.
            let fd = unsafe {
                let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
                OwnedFd::from_raw_fd(check(libc::socket(libc::AF_PACKET, kind, 0))?)
            };
            set(&fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
            set(&fd, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32)?;
            set(&fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &(4 << 20))?;
            Ok(Self { fd, index, buffer: [0; FRAME] })
        })
    }

    /// Opens a socket that receives LLC frames.
    pub(crate) fn open(namespace: &str) -> Result<Self, PortError> {
        let bare = Self::deaf(namespace)?;
        bare.bind()?;
        Ok(bare)
    }

    /// Opens a socket that also skips frames of other hosts, as the port does: a filter of four
    /// steps.
    pub(crate) fn filtered(namespace: &str) -> Result<Self, PortError> {
        let bare = Self::deaf(namespace)?;
        let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
        let kind = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
        let others = u32::from(libc::PACKET_OTHERHOST);
        let program = [
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, kind),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, 0, others),
            step(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX),
            step(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
        ];
        let program = libc::sock_fprog { len: 4, filter: program.as_ptr().cast_mut() };
        set(&bare.fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
        bare.bind()?;
        Ok(bare)
    }

    pub(crate) fn bind(&self) -> Result<(), PortError> {
        self.bind_to(libc::ETH_P_802_2 as u16)
    }

    /// Binds it for sending only; it receives nothing.
    pub(crate) fn bind_to_send(&self) -> Result<(), PortError> {
        self.bind_to(0)
    }

    fn bind_to(&self, protocol: u16) -> Result<(), PortError> {
        // SAFETY: an all-zero address is a valid one; it outlives the call.
        unsafe {
            let mut address: libc::sockaddr_ll = core::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = protocol.to_be();
            address.sll_ifindex = self.index;
            let octets = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            check(libc::bind(self.fd.as_raw_fd(), (&raw const address).cast(), octets))?;
        }
        Ok(())
    }

    /// Octets handed to the kernel that it has not yet released.
    pub(crate) fn unsent_octets(&self) -> i32 {
        let mut octets = 0_i32;
        // SAFETY: this request writes one integer.
        unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut octets) };
        octets
    }
}

impl Way for Bare {
    fn put(&mut self, frame: &[u8]) {
        // SAFETY: the pointer and the length are those of `frame`.
        unsafe { libc::send(self.fd.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
    }

    fn take(&mut self) -> usize {
        let (pointer, octets) = (self.buffer.as_mut_ptr().cast(), self.buffer.len());
        // SAFETY: the pointer and the length are those of the buffer.
        let status =
            unsafe { libc::recv(self.fd.as_raw_fd(), pointer, octets, libc::MSG_DONTWAIT) };
        usize::from(status > 0)
    }
}

/// Packet socket that hands over 64 frames at a time.
pub(crate) struct Batches {
    bare: Bare,
    outgoing: Vec<[u8; FRAME]>,
    incoming: Vec<[u8; FRAME]>,
    octets: usize,
    waiting: usize,
}

impl Batches {
    pub(crate) fn open(namespace: &str) -> Result<Self, PortError> {
        let (bare, room) = (Bare::open(namespace)?, vec![[0; FRAME]; BATCH]);
        Ok(Self { bare, outgoing: room.clone(), incoming: room, octets: 0, waiting: 0 })
    }
}

/// Headers for `sendmmsg` and `recvmmsg`, one for each buffer.
fn headers(
    buffers: &mut [[u8; FRAME]],
    octets: usize,
    parts: &mut [libc::iovec; BATCH],
) -> [libc::mmsghdr; BATCH] {
    // SAFETY: an all-zero header is a valid one.
    let mut all: [libc::mmsghdr; BATCH] = unsafe { core::mem::zeroed() };
    for ((header, part), buffer) in all.iter_mut().zip(parts.iter_mut()).zip(buffers) {
        *part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: octets };
        header.msg_hdr.msg_iov = part;
        header.msg_hdr.msg_iovlen = 1;
    }
    all
}

const NO_PART: libc::iovec = libc::iovec { iov_base: core::ptr::null_mut(), iov_len: 0 };

impl Way for Batches {
    fn put(&mut self, frame: &[u8]) {
        self.outgoing[self.waiting][..frame.len()].copy_from_slice(frame);
        self.octets = frame.len();
        self.waiting += 1;
        if self.waiting == BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let mut parts = [NO_PART; BATCH];
        let mut all = headers(&mut self.outgoing, self.octets, &mut parts);
        let (fd, count) = (self.bare.fd.as_raw_fd(), core::mem::take(&mut self.waiting) as u32);
        // SAFETY: the first `count` headers point to parts and buffers that outlive the call.
        unsafe { libc::sendmmsg(fd, all.as_mut_ptr(), count, 0) };
    }

    fn take(&mut self) -> usize {
        let mut parts = [NO_PART; BATCH];
        let mut all = headers(&mut self.incoming, FRAME, &mut parts);
        let (fd, flags) = (self.bare.fd.as_raw_fd(), libc::MSG_DONTWAIT);
        let no_limit = core::ptr::null_mut();
        // SAFETY: all headers point to parts and buffers that outlive the call.
        let status = unsafe { libc::recvmmsg(fd, all.as_mut_ptr(), BATCH as u32, flags, no_limit) };
        usize::try_from(status).unwrap_or(0)
    }
}

/// UDP socket with one peer.
pub(crate) struct Udp {
    socket: UdpSocket,
    buffer: [u8; FRAME],
}

impl Udp {
    /// `own` is 1 or 2, the last number of its address; the other end has the other.
    pub(crate) fn open(namespace: &str, own: u8) -> Result<Self, PortError> {
        let socket = in_namespace(Some(namespace), || {
            let failed = |source| PortError::System { doing: "open a UDP socket", source };
            let socket = UdpSocket::bind((Ipv4Addr::new(10, 0, 0, own), 5_000)).map_err(failed)?;
            socket.connect((Ipv4Addr::new(10, 0, 0, 3 - own), 5_000)).map_err(failed)?;
            socket.set_nonblocking(true).map_err(failed)?;
            Ok(socket)
        })?;
        Ok(Self { socket, buffer: [0; FRAME] })
    }
}

impl Way for Udp {
    fn put(&mut self, frame: &[u8]) {
        // The message alone: UDP has its own headers.
        let _ = self.socket.send(&frame[crate::HEADERS..]);
    }

    fn take(&mut self) -> usize {
        usize::from(self.socket.recv(&mut self.buffer).is_ok())
    }
}

/// TCP connection with TCP_NODELAY that carries messages of one length.
pub(crate) struct Tcp {
    stream: TcpStream,
    taken: usize,
}

impl Tcp {
    /// Both ends of a connection from the first namespace to the second.
    pub(crate) fn pair(names: &[String; 2]) -> Result<[Self; 2], PortError> {
        let failed = |source| PortError::System { doing: "open a TCP connection", source };
        let listener = in_namespace(Some(&names[1]), || {
            TcpListener::bind((Ipv4Addr::new(10, 0, 0, 2), 5_001)).map_err(failed)
        })?;
        let asking = in_namespace(Some(&names[0]), || {
            TcpStream::connect((Ipv4Addr::new(10, 0, 0, 2), 5_001)).map_err(failed)
        })?;
        let (answering, _) = listener.accept().map_err(failed)?;
        for stream in [&asking, &answering] {
            stream.set_nodelay(true).map_err(failed)?;
            stream.set_nonblocking(true).map_err(failed)?;
        }
        Ok([asking, answering].map(|stream| Self { stream, taken: 0 }))
    }
}

impl Way for Tcp {
    fn put(&mut self, frame: &[u8]) {
        // The message alone. One message at a time is under way, so the buffer always has room.
        let _ = self.stream.write(&frame[crate::HEADERS..]);
    }

    fn take(&mut self) -> usize {
        let mut buffer = [0; crate::MESSAGE];
        self.taken += self.stream.read(&mut buffer).unwrap_or(0);
        let whole = self.taken / crate::MESSAGE;
        self.taken %= crate::MESSAGE;
        whole
    }
}
