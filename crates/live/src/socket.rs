//! Sockets as required by the ports: gathered sends, kernel stamps, deadlines in nanoseconds.
//!
//! All system calls on sockets are here, so that no code above needs `unsafe`.
#![expect(unsafe_code, reason = "recvmsg, sendmsg, ppoll and socket options exist only in libc")]

use crate::clock;
use core::mem;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::ptr;
use std::io::{self, IoSlice};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use wire::addr::Mac;
use wire::time::{Instant, nanos};

/// Method by which a thread waits for its port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Wait {
    /// Sleeps until an arrival or the deadline: little load on the host, some 10 us of delay.
    Block,
    /// Polls: fastest if the thread has a processor of its own.
    Spin,
}

/// Maximum number of datagrams handed to the kernel in one call.
pub(crate) const BATCH: usize = 16;

/// linux/if_packet.h.
const PACKET_TIMESTAMP: libc::c_int = 17;

/// Socket that is closed on drop.
#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

/// Metadata of a received datagram or frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    /// Octets in the buffer.
    pub(crate) octets: usize,
    /// Octets of the whole datagram or frame.
    pub(crate) original_octets: usize,
    /// The kernel's stamp: nanoseconds since the Unix epoch.
    pub(crate) wall_nanos: Option<u64>,
    /// Tag protocol and control information of a VLAN tag that the kernel removed.
    pub(crate) vlan: Option<(u16, u16)>,
    /// Sender of a datagram.
    pub(crate) from: Option<SocketAddr>,
    /// True if this host sent the frame itself.
    pub(crate) outgoing: bool,
}

/// Room for a stamp (32 octets), VLAN data (40) and a queue overflow count, aligned as headers must
/// be.
type Control = [u64; 32];

fn check(status: libc::c_int) -> io::Result<libc::c_int> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
}

fn length<T>() -> libc::socklen_t {
    libc::socklen_t::try_from(mem::size_of::<T>()).expect("no option is that large")
}

impl Socket {
    /// Opens a raw socket for whole frames, which receives nothing until it is bound.
    pub(crate) fn raw() -> io::Result<Self> {
        Self::open(libc::AF_PACKET, libc::SOCK_RAW)
    }

    /// Opens a socket that bypasses most of the network stack, and receives nothing until it is
    /// bound.
    pub(crate) fn xdp() -> io::Result<Self> {
        Self::open(libc::AF_XDP, libc::SOCK_RAW)
    }

    /// Opens a socket that is never bound, for queries about interfaces.
    pub(crate) fn inquiry() -> io::Result<Self> {
        Self::open(libc::AF_INET, libc::SOCK_DGRAM)
    }

    fn open(family: libc::c_int, kind: libc::c_int) -> io::Result<Self> {
        // SAFETY: takes integers only.
        let fd = check(unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: the descriptor was just created and has no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Receives frames of this protocol (`ETH_P_…`) from one interface.
    pub(crate) fn bind_interface(&self, index: u32, protocol: u16) -> io::Result<()> {
        // SAFETY: an all-zero sockaddr_ll is a valid one.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = i32::try_from(index).unwrap_or(0);
        let pointer = (&raw const address).cast();
        // SAFETY: the pointer and the length are those of `address`, which outlives the call.
        check(unsafe { libc::bind(self.fd(), pointer, length::<libc::sockaddr_ll>()) })?;
        Ok(())
    }

    /// Binds to the first queue of an interface, in copy mode. A queue that was just released may
    /// stay busy for some milliseconds; binding is retried until `until`.
    pub(crate) fn bind_xdp(&self, index: u32, until: Instant) -> io::Result<()> {
        // SAFETY: an all-zero sockaddr_xdp is a valid one.
        let mut address: libc::sockaddr_xdp = unsafe { mem::zeroed() };
        address.sxdp_family = libc::AF_XDP as u16;
        address.sxdp_flags = libc::XDP_COPY;
        address.sxdp_ifindex = index;
        let pointer = (&raw const address).cast();
        loop {
            // SAFETY: the pointer and the length are those of `address`, which outlives the call.
            let status = unsafe { libc::bind(self.fd(), pointer, length::<libc::sockaddr_xdp>()) };
            let Err(error) = check(status) else { return Ok(()) };
            let now = clock::now();
            if error.raw_os_error() != Some(libc::EBUSY) || now >= until {
                return Err(error);
            }
            clock::sleep_until(now + core::time::Duration::from_millis(5));
        }
    }

    /// Lets the kernel send the frames in the socket's ring.
    pub(crate) fn push(&self) -> io::Result<()> {
        let (none, flags) = (ptr::null(), libc::MSG_DONTWAIT);
        // SAFETY: without a buffer and a name nothing is read from this process's memory.
        let status = unsafe { libc::sendto(self.fd(), none, 0, flags, ptr::null(), 0) };
        if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Sets an option whose value is the plain C type `T`.
    pub(crate) fn set<T: Copy>(&self, level: i32, name: i32, value: T) -> io::Result<()> {
        let pointer = (&raw const value).cast();
        // SAFETY: the pointer and the length are those of `value`, which outlives the call.
        check(unsafe { libc::setsockopt(self.fd(), level, name, pointer, length::<T>()) })?;
        Ok(())
    }

    /// Number of frames dropped by the kernel for lack of room since the last query.
    pub(crate) fn dropped(&self) -> io::Result<u32> {
        self.statistics().map(|statistics| statistics.tp_drops)
    }

    /// Kernel counters since the last query: frames that passed the filter, those of them that were
    /// dropped, and the number of times the ring was full. Without a ring the last stays 0.
    pub(crate) fn statistics(&self) -> io::Result<libc::tpacket_stats_v3> {
        let mut statistics =
            libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        let mut size = length::<libc::tpacket_stats_v3>();
        let pointer = (&raw mut statistics).cast();
        let (level, name) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        // SAFETY: the pointer and the size are those of `statistics`, which the call may write; of a
        // socket without a ring it writes the first two fields.
        check(unsafe { libc::getsockopt(self.fd(), level, name, pointer, &raw mut size) })?;
        Ok(statistics)
    }

    /// Error of the socket since the last query, for example because its interface went down.
    pub(crate) fn error(&self) -> io::Result<()> {
        let mut error: libc::c_int = 0;
        let mut size = length::<libc::c_int>();
        let pointer = (&raw mut error).cast();
        let (level, name) = (libc::SOL_SOCKET, libc::SO_ERROR);
        // SAFETY: the pointer and the size are those of `error`, which the call may write.
        check(unsafe { libc::getsockopt(self.fd(), level, name, pointer, &raw mut size) })?;
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    }

    /// Requests the kernel's stamp with each datagram.
    pub(crate) fn stamp(&self) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1_i32)
    }

    /// Has the ring carry the interface's own stamps, and the kernel's for frames without one.
    pub(crate) fn stamp_by_hardware(&self) -> io::Result<()> {
        let kinds = libc::SOF_TIMESTAMPING_RAW_HARDWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        self.set(libc::SOL_PACKET, PACKET_TIMESTAMP, kinds as libc::c_int)
    }

    /// Attaches a filter: the kernel skips every frame for which `program` returns length 0.
    pub(crate) fn filter(&self, program: &[libc::sock_filter]) -> io::Result<()> {
        // The kernel copies the program, and does not write to it.
        let program = libc::sock_fprog {
            len: program.len() as libc::c_ushort,
            filter: program.as_ptr().cast_mut(),
        };
        self.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program)
    }

    /// Requests a receive buffer of `octets`, or as much as the process may have.
    pub(crate) fn room_for_receiving(&self, octets: i32) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, octets)
            .or_else(|_| self.set(libc::SOL_SOCKET, libc::SO_RCVBUF, octets))
    }

    /// Lets an interface accept frames it would otherwise skip (`PACKET_MR_…`), for as long as this
    /// socket lives.
    pub(crate) fn join(&self, index: u32, kind: i32, mac: Mac) -> io::Result<()> {
        let Mac([a, b, c, d, e, g]) = mac;
        let membership = libc::packet_mreq {
            mr_ifindex: i32::try_from(index).unwrap_or(0),
            mr_type: kind as u16,
            mr_alen: 6,
            mr_address: [a, b, c, d, e, g, 0, 0],
        };
        self.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, membership)
    }

    /// Sets the time for which a send waits for room in the interface's queue; then it fails.
    pub(crate) fn wait_for_room(&self, span: core::time::Duration) -> io::Result<()> {
        let span = libc::timeval {
            tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
            tv_usec: span.subsec_micros().into(),
        };
        self.set(libc::SOL_SOCKET, libc::SO_SNDTIMEO, span)
    }

    /// Sends the parts as one datagram, without copying them together first.
    pub(crate) fn send(&self, parts: &[IoSlice<'_>], to: Option<SocketAddr>) -> io::Result<()> {
        let name = to.map(Name::of);
        // SAFETY: an all-zero msghdr is a valid one.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        if let Some(name) = &name {
            message.msg_name = name.pointer().cast_mut().cast();
            message.msg_namelen = name.length;
        }
        // An IoSlice has the layout of an iovec, and the kernel does not write to these.
        message.msg_iov = parts.as_ptr().cast_mut().cast();
        // Counts and flags are wider or narrower in musl's headers than in those of glibc.
        message.msg_iovlen = parts.len() as _;
        loop {
            // SAFETY: `message` points to `name` and `parts`, which both outlive the call.
            let sent = unsafe { libc::sendmsg(self.fd(), &raw const message, libc::MSG_NOSIGNAL) };
            if sent >= 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    /// Sends a datagram of one part.
    pub(crate) fn send_whole(&self, octets: &[u8]) -> io::Result<()> {
        loop {
            let (pointer, count) = (octets.as_ptr().cast(), octets.len());
            // SAFETY: the pointer and the length are those of `octets`, which outlives the call.
            let sent = unsafe { libc::send(self.fd(), pointer, count, libc::MSG_NOSIGNAL) };
            if sent >= 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    /// Sends up to [`BATCH`] datagrams in one call; returns the number that the kernel accepted.
    /// The call reports nothing more about them.
    pub(crate) fn send_several(&self, datagrams: &[IoSlice<'_>]) -> usize {
        // SAFETY: all-zero headers are valid ones.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
        let count = datagrams.len().min(BATCH);
        for (header, datagram) in headers.iter_mut().zip(datagrams) {
            // An IoSlice has the layout of an iovec, and the kernel does not write to these.
            header.msg_hdr.msg_iov = ptr::from_ref(datagram).cast_mut().cast();
            header.msg_hdr.msg_iovlen = 1;
        }
        let (pointer, flags) = (headers.as_mut_ptr(), libc::MSG_NOSIGNAL);
        // SAFETY: the first `count` headers point to slices that outlive the call.
        let taken =
            unsafe { libc::sendmmsg(self.fd(), pointer, count as libc::c_uint, flags as _) };
        usize::try_from(taken).unwrap_or(0)
    }

    /// Receives the next datagram, if there is one, without metadata; returns its original length.
    /// The buffer holds as many of its octets as fit.
    fn receive_bare(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        let (pointer, room) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: the pointer and the length are those of `buffer`, which nothing else touches.
        let received = unsafe { libc::recv(self.fd(), pointer, room, flags) };
        let Ok(original_octets) = usize::try_from(received) else { return nothing_there() };
        Ok(Some(original_octets))
    }

    /// Receives the next datagram, if there is one, truncated to the buffer.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let mut control: Control = [0; 32];
        // SAFETY: an all-zero sockaddr_storage is a valid one.
        let mut name: libc::sockaddr_storage = unsafe { mem::zeroed() };
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: an all-zero msghdr is a valid one.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_name = (&raw mut name).cast();
        message.msg_namelen = length::<libc::sockaddr_storage>();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = mem::size_of::<Control>() as _;
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: `message` points to `name`, `buffer` and `control` with their right lengths, and
        // nothing else touches them during the call.
        let received = unsafe { libc::recvmsg(self.fd(), &raw mut message, flags) };
        let Ok(original_octets) = usize::try_from(received) else { return nothing_there() };
        let (wall_nanos, vlan) = ancillary(&message);
        Ok(Some(Received {
            octets: original_octets.min(buffer.len()),
            original_octets,
            wall_nanos,
            vlan,
            from: socket_address(&name),
            outgoing: is_outgoing(&name),
        }))
    }

    /// Sleeps until something can be received, or until `until`. May return early.
    pub(crate) fn wait(&self, until: Instant) -> io::Result<()> {
        let left = clock::to_spec(nanos(until - clock::now()));
        let mut poll = libc::pollfd { fd: self.fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one pollfd is given and one is announced; both structures outlive the call.
        let status = unsafe { libc::ppoll(&raw mut poll, 1, &raw const left, ptr::null()) };
        match check(status) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    /// Receives until there is a datagram or the time is over, with this method of waiting.
    pub(crate) fn receive_until(
        &self,
        buffer: &mut [u8],
        until: Instant,
        wait: Wait,
    ) -> io::Result<Option<Received>> {
        self.ask_until(until, wait, || self.receive(buffer))
    }

    /// Like [`Socket::receive_until`], without stamp, tag and sender.
    pub(crate) fn receive_bare_until(
        &self,
        buffer: &mut [u8],
        until: Instant,
        wait: Wait,
    ) -> io::Result<Option<usize>> {
        self.ask_until(until, wait, || self.receive_bare(buffer))
    }

    fn ask_until<T>(
        &self,
        until: Instant,
        wait: Wait,
        mut ask: impl FnMut() -> io::Result<Option<T>>,
    ) -> io::Result<Option<T>> {
        loop {
            if let Some(received) = ask()? {
                return Ok(Some(received));
            }
            if clock::now() >= until {
                return Ok(None);
            }
            match wait {
                Wait::Block => self.wait(until)?,
                Wait::Spin => core::hint::spin_loop(),
            }
        }
    }

    /// Descriptor to wait on.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Raw descriptor, valid while the socket lives.
    pub(crate) fn fd(&self) -> libc::c_int {
        self.0.as_raw_fd()
    }
}

/// Events for which a thread waits at one socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interest<'a> {
    /// The socket.
    pub(crate) socket: BorrowedFd<'a>,
    /// Wait until something can be read, or the other end has closed.
    pub(crate) read: bool,
    /// Wait until something can be written, or connecting is over.
    pub(crate) write: bool,
}

/// Sleeps until one of these events occurs, or until `until`. May return early.
pub(crate) fn wait_for(interests: &[Interest<'_>], until: Instant) -> io::Result<()> {
    let events = |wanted: bool, event: libc::c_short| if wanted { event } else { 0 };
    let mut polls: Vec<libc::pollfd> = interests
        .iter()
        .map(|interest| libc::pollfd {
            fd: interest.socket.as_raw_fd(),
            events: events(interest.read, libc::POLLIN) | events(interest.write, libc::POLLOUT),
            revents: 0,
        })
        .collect();
    // A broken socket is always reported, even without events. It must not keep the thread from
    // sleeping if there is no interest in it.
    polls.retain(|poll| poll.events != 0);
    let left = clock::to_spec(nanos(until - clock::now()));
    let count = polls.len() as libc::nfds_t;
    // SAFETY: as many pollfds are given as are announced; both structures outlive the call.
    let status = unsafe { libc::ppoll(polls.as_mut_ptr(), count, &raw const left, ptr::null()) };
    match check(status) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// Starts to connect to a TCP port. The stream does not block. Once connected it becomes writable;
/// a failure is then reported as its error.
pub(crate) fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let socket = Socket::open(family, libc::SOCK_STREAM | libc::SOCK_NONBLOCK)?;
    let name = Name::of(to);
    // SAFETY: the pointer and the length are those of `name`, which outlives the call.
    let status = unsafe { libc::connect(socket.fd(), name.pointer().cast(), name.length) };
    match check(status) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(TcpStream::from(socket.0)),
    }
}

impl From<UdpSocket> for Socket {
    fn from(socket: UdpSocket) -> Self {
        Self(socket.into())
    }
}

/// Interprets the system's last error for a receiver that does not wait.
fn nothing_there<T>() -> io::Result<Option<T>> {
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR) => Ok(None),
        _ => Err(error),
    }
}

/// Stamp and VLAN tag in the control messages.
fn ancillary(message: &libc::msghdr) -> (Option<u64>, Option<(u16, u16)>) {
    let (mut wall_nanos, mut vlan) = (None, None);
    // SAFETY: the kernel has set the control pointer and length of `message`, whose buffer lives in
    // the caller; CMSG_FIRSTHDR and CMSG_NXTHDR stay within that length.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: `header` is not null, so it points to a whole, aligned cmsghdr in the buffer.
        let (level, kind, data) =
            unsafe { ((*header).cmsg_level, (*header).cmsg_type, libc::CMSG_DATA(header)) };
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                // SAFETY: a control message of this type carries a timespec.
                let spec: libc::timespec = unsafe { ptr::read_unaligned(data.cast()) };
                let seconds = u64::try_from(spec.tv_sec).unwrap_or(0);
                let rest = u64::try_from(spec.tv_nsec).unwrap_or(0);
                wall_nanos = Some(seconds.saturating_mul(1_000_000_000).saturating_add(rest));
            }
            (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                // SAFETY: a control message of this type carries a tpacket_auxdata.
                let data: libc::tpacket_auxdata = unsafe { ptr::read_unaligned(data.cast()) };
                if data.tp_status & libc::TP_STATUS_VLAN_VALID != 0 {
                    let has_protocol = data.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
                    let protocol = if has_protocol { data.tp_vlan_tpid } else { 0x8100 };
                    vlan = Some((protocol, data.tp_vlan_tci));
                }
            }
            _ => {}
        }
        // SAFETY: `header` came from the same message.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    (wall_nanos, vlan)
}

fn socket_address(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let pointer = ptr::from_ref(name);
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family marks this as a sockaddr_in, and the storage is large enough.
            let address = unsafe { &*pointer.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from_bits(u32::from_be(address.sin_addr.s_addr));
            Some(SocketAddr::new(IpAddr::V4(ip), u16::from_be(address.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: the family marks this as a sockaddr_in6, and the storage is large enough.
            let address = unsafe { &*pointer.cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
            Some(SocketAddr::new(IpAddr::V6(ip), u16::from_be(address.sin6_port)))
        }
        _ => None,
    }
}

fn is_outgoing(name: &libc::sockaddr_storage) -> bool {
    if i32::from(name.ss_family) != libc::AF_PACKET {
        return false;
    }
    // SAFETY: the family marks this as a sockaddr_ll, and the storage is large enough.
    let address = unsafe { &*ptr::from_ref(name).cast::<libc::sockaddr_ll>() };
    address.sll_pkttype == libc::PACKET_OUTGOING
}

/// Internet address in the system's form.
struct Name {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Name {
    fn of(address: SocketAddr) -> Self {
        // SAFETY: an all-zero sockaddr_storage is a valid one.
        let mut storage: libc::sockaddr_storage = unsafe { mem::zeroed() };
        let pointer = &raw mut storage;
        let length = match address {
            SocketAddr::V4(address) => {
                // SAFETY: the storage is large enough and aligned for every kind of address.
                let name = unsafe { &mut *pointer.cast::<libc::sockaddr_in>() };
                name.sin_family = libc::AF_INET as u16;
                name.sin_port = address.port().to_be();
                name.sin_addr.s_addr = address.ip().to_bits().to_be();
                length::<libc::sockaddr_in>()
            }
            SocketAddr::V6(address) => {
                // SAFETY: the storage is large enough and aligned for every kind of address.
                let name = unsafe { &mut *pointer.cast::<libc::sockaddr_in6>() };
                name.sin6_family = libc::AF_INET6 as u16;
                name.sin6_port = address.port().to_be();
                name.sin6_addr.s6_addr = address.ip().octets();
                name.sin6_scope_id = address.scope_id();
                length::<libc::sockaddr_in6>()
            }
        };
        Self { storage, length }
    }

    const fn pointer(&self) -> *const libc::sockaddr_storage {
        &raw const self.storage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_as_it_was_written() {
        for text in ["127.0.0.1:4711", "[::1]:65535"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(socket_address(&Name::of(address).storage), Some(address));
        }
    }

    #[test]
    fn parts_arrive_as_one_stamped_datagram_with_its_full_length() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = receiver.local_addr().unwrap();
        let receiver = Socket::from(receiver);
        receiver.stamp().unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let from = sender.local_addr().unwrap();
        let parts = [IoSlice::new(b"head"), IoSlice::new(b"payload")];
        Socket::from(sender).send(&parts, Some(to)).unwrap();

        let mut buffer = [0; 6];
        let until = clock::now() + core::time::Duration::from_secs(10);
        let received = receiver.receive_until(&mut buffer, until, Wait::Block).unwrap().unwrap();
        assert_eq!(&buffer, b"headpa");
        assert_eq!((received.octets, received.original_octets), (6, 11));
        assert_eq!(received.from, Some(from));
        assert!(received.wall_nanos.is_some() && !received.outgoing);
        assert!(receiver.receive(&mut buffer).unwrap().is_none());
    }
}
