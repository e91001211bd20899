//! A station on a LAN interface: whole 802.3 frames through a raw socket of Linux.
//!
//! A filter in the kernel lets through frames with a length field and no VLAN, so that the host's
//! own IP traffic never reaches the socket. (A socket bound to the protocol of LLC frames would do
//! without a filter, but gets the frames of all VLANs, their tags already taken out.) Frames are
//! padded to 60 octets here; the FCS is the interface's.

use super::{Arrival, Counts, MOST_PASSED_OVER, Port, PortError, Wait};
use crate::clock::{self, Converter};
use crate::interface::{Interface, Kind, in_namespace};
use crate::socket::{Received, Socket};
use bytes::Bytes;
use core::cell::Cell;
use core::time::Duration;
use stack::station::{Frame, Transmission, destination, source};
use std::io::{self, IoSlice};
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// The shortest frame without FCS (ISO 8802-3: 64 octets with it).
const SHORTEST_FRAME: usize = 60;
const PADDING: [u8; SHORTEST_FRAME] = [0; SHORTEST_FRAME];
/// Octets of a MAC header.
const MAC_HEADER: usize = 14;
/// The largest length field; beyond it stand types.
const LARGEST_LENGTH: u32 = 1_500;
/// What the kernel may keep for this port while its thread is busy.
const RECEIVE_BUFFER_OCTETS: i32 = 4 << 20;
/// How long a send waits for room in the interface's queue: eight of the longest frames at 10
/// Mbit/s.
const WAIT_FOR_ROOM: Duration = Duration::from_millis(10);

/// How a raw port is opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AfPacketParams {
    /// The interface's name.
    pub interface: String,
    /// The network namespace it is in, as `ip netns` names it; the process's own without one.
    pub namespace: Option<String>,
    /// The station's address; the interface's own without one.
    pub station: Option<Mac>,
    /// Groups the station belongs to, beside that of all stations.
    pub groups: Vec<Mac>,
    /// How the thread waits.
    pub wait: Wait,
}

/// A station's port on a LAN interface.
#[derive(Debug)]
pub struct AfPacket {
    socket: Socket,
    interface: Interface,
    station: Mac,
    wait: Wait,
    converter: Converter,
    counts: Counts,
    /// Frames the kernel dropped, as far as it was asked.
    overrun: Cell<u64>,
    buffer: Vec<u8>,
}

impl AfPacket {
    /// Opens the interface.
    ///
    /// # Errors
    /// [`PortError::NoSuchInterface`], [`PortError::NoSuchNamespace`], [`PortError::Down`],
    /// [`PortError::NotPermitted`] where CAP_NET_RAW is missing, or what the system said.
    pub fn open(params: &AfPacketParams) -> Result<Self, PortError> {
        let (interface, socket) = in_namespace(params.namespace.as_deref(), || {
            let interface = Interface::named(&params.interface)?;
            if !interface.is_up {
                return Err(PortError::Down(interface.name));
            }
            let socket = Socket::raw()
                .map_err(|error| PortError::from_opening(&interface.name, "CAP_NET_RAW", error))?;
            Ok((interface, socket))
        })?;
        let station = params.station.unwrap_or(interface.mac);
        let port = Self {
            socket,
            station,
            wait: params.wait,
            converter: Converter::new(),
            counts: Counts::default(),
            overrun: Cell::new(0),
            buffer: vec![0; interface.mtu.max(1_500) + MAC_HEADER],
            interface,
        };
        port.prepare(&params.groups).map_err(PortError::system("prepare a raw socket"))?;
        Ok(port)
    }

    /// Everything is set before the socket is bound: until then it hears nothing.
    fn prepare(&self, groups: &[Mac]) -> io::Result<()> {
        let (socket, index) = (&self.socket, self.interface.index);
        socket.stamp()?;
        socket.wait_for_room(WAIT_FOR_ROOM)?;
        socket.room_for_receiving(RECEIVE_BUFFER_OCTETS)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1_i32)?;
        // Past the queueing discipline a frame goes straight to the driver, and nothing reorders
        // it.
        socket.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1_i32)?;
        if self.station != self.interface.mac && self.interface.kind != Kind::Loopback {
            socket.join(index, libc::PACKET_MR_UNICAST, self.station)?;
        }
        for group in groups {
            socket.join(index, libc::PACKET_MR_MULTICAST, *group)?;
        }
        socket.filter(&plain_llc())?;
        socket.bind_interface(index, libc::ETH_P_ALL as u16)
    }

    /// The interface, as it was when the port was opened.
    #[must_use]
    pub const fn interface(&self) -> &Interface {
        &self.interface
    }

    fn failed(&self, doing: &'static str) -> impl Fn(io::Error) -> PortError {
        let name = self.interface.name.clone();
        move |source| match source.raw_os_error() {
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => PortError::Down(name.clone()),
            _ => PortError::System { doing, source },
        }
    }

    /// The frame in the buffer, if it is for this station.
    ///
    /// A veth end, and any interface in promiscuous mode, passes on what is for others as well.
    fn accept(&self, received: &Received) -> Option<Frame> {
        let octets = self.buffer.get(..received.octets)?;
        let frame = Frame::new(Bytes::copy_from_slice(octets));
        let to = destination(&frame)?;
        let is_meant = to == self.station || to.is_group();
        let is_own = source(&frame)? == self.station;
        (is_meant && !is_own && !received.outgoing).then_some(frame)
    }
}

/// Classic BPF that keeps a frame whole if it has a length field and belongs to no VLAN.
///
/// A tag of VLAN 0 is no more than a priority (IEEE 802.1Q); the kernel has taken it out as well.
fn plain_llc() -> [libc::sock_filter; 7] {
    const LOAD_HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
    const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
    const IF_GREATER: u32 = libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K;
    const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let tag = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TAG) as u32;
    [
        step(LOAD_HALF, 0, 0, 12),
        step(IF_GREATER, 4, 0, LARGEST_LENGTH),
        step(LOAD_WORD, 0, 0, tag),
        step(AND, 0, 0, 0x0FFF),
        step(IF_EQUAL, 0, 1, 0),
        step(RETURN, 0, 0, u32::MAX),
        step(RETURN, 0, 0, 0),
    ]
}

impl Port for AfPacket {
    fn name(&self) -> &str {
        &self.interface.name
    }

    fn addr(&self) -> Mac {
        self.station
    }

    fn send(&mut self, frame: &Frame) -> Result<Transmission, PortError> {
        let limit = self.interface.mtu + MAC_HEADER;
        if frame.len() > limit {
            return Err(PortError::TooLong { octets: frame.len(), limit });
        }
        let pad = SHORTEST_FRAME.saturating_sub(frame.len());
        let parts = [
            IoSlice::new(frame.head()),
            IoSlice::new(frame.payload()),
            IoSlice::new(PADDING.get(..pad).unwrap_or_default()),
        ];
        match self.socket.send(&parts, None) {
            Ok(()) => {
                self.counts.sent += 1;
                Ok(Transmission::Sent)
            }
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock
                    || error.raw_os_error() == Some(libc::ENOBUFS) =>
            {
                self.counts.not_sent += 1;
                Ok(Transmission::GivenUp)
            }
            Err(error) => Err(self.failed("send a frame")(error)),
        }
    }

    fn receive(&mut self, until: Instant) -> Result<Option<Arrival>, PortError> {
        for passed_over in 0_u64.. {
            let received = self.socket.receive_until(&mut self.buffer, until, self.wait);
            let received = received.map_err(|error| self.failed("receive a frame")(error))?;
            let now = clock::now();
            let is_last = received.is_none() || passed_over >= MOST_PASSED_OVER;
            if let Some(received) = received {
                if received.original_octets > received.octets {
                    self.counts.foreign += 1;
                } else if let Some(frame) = self.accept(&received) {
                    self.counts.received += 1;
                    let (at, stamp) = self.converter.arrival(received.wall_nanos, now);
                    return Ok(Some(Arrival { at, stamp, frame }));
                }
            }
            if is_last && now >= until {
                break;
            }
        }
        Ok(None)
    }

    fn link_rate(&self) -> Option<BitRate> {
        self.interface.rate
    }

    fn is_unbounded(&self) -> bool {
        matches!(self.interface.kind, Kind::Loopback | Kind::Veth)
    }

    fn counts(&self) -> Counts {
        // The kernel forgets its count each time it is asked. Where it cannot be asked, nothing is
        // added.
        let dropped = self.socket.dropped().unwrap_or(0);
        self.overrun.set(self.overrun.get() + u64::from(dropped));
        Counts { overrun: self.overrun.get(), ..self.counts }
    }
}
