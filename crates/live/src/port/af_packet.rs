//! Station on a LAN interface: whole 802.3 frames through a raw socket of Linux.
//!
//! A filter in the kernel skips frames of VLANs and the host's own IP traffic. A station with the
//! interface's own address has a socket bound to the protocol of LLC frames. This costs a third
//! less than a socket bound to all protocols, for which each frame is cloned. Such a socket
//! receives nothing from an interface that belongs to a bridge or a bond, which take each frame
//! before.
//!
//! A port that polls reads its frames from memory shared with the kernel, if frames are of normal
//! length and need no kernel stamp. An empty poll then costs no call, and a frame arrives 1 us
//! earlier. Frames are padded to 60 octets here; the FCS is added by the interface.

use super::{Arrival, Counts, MOST_PASSED_OVER, Port, PortError, Stamp, Wait};
use crate::clock::{self, Converter};
use crate::interface::{Interface, Kind, raw_socket};
use crate::slots::{self, Slots};
use crate::socket::{self, Received, Socket};
use bytes::Bytes;
use core::cell::Cell;
use core::time::Duration;
use stack::station::{Frame, Transmission};
use std::io::{self, IoSlice};
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// Minimum frame length without FCS (ISO 8802-3: 64 octets with it).
const SHORTEST_FRAME: usize = 60;
/// Maximum length of frames that are copied together before they are handed over; all frames of a
/// normal LAN are shorter.
const LONGEST_JOINED: usize = 1_536;
/// Maximum number of frames handed over in one call.
const BATCH: usize = socket::BATCH;
/// Octets of a MAC header.
const MAC_HEADER: usize = 14;
/// Largest length field; higher values are types.
const LARGEST_LENGTH: u16 = 1_500;
/// Kernel buffer for this port while its thread is busy, in octets.
const RECEIVE_BUFFER_OCTETS: i32 = 4 << 20;
/// Number of empty polls of shared memory, some 50 us, after which the interface's state is
/// queried.
const LOOKS_PER_CALL: u64 = 1_024;
/// Time for which a send waits for room in the interface's queue: eight of the longest frames at 10
/// Mbit/s.
const WAIT_FOR_ROOM: Duration = Duration::from_millis(10);

/// Parameters of a raw port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AfPacketParams {
    /// Interface name.
    pub interface: String,
    /// Network namespace of the interface, as named by `ip netns`; `None` for that of the process.
    pub namespace: Option<String>,
    /// Station address; `None` for that of the interface.
    pub station: Option<Mac>,
    /// Groups the station belongs to, in addition to the broadcast group.
    pub groups: Vec<Mac>,
    /// Method of waiting.
    pub wait: Wait,
    /// Source of arrival times. The kernel's stamp is earlier by the wake-up, but the kernel then
    /// stamps every frame that this host receives, and delivers it by a slower call.
    pub stamp: Stamp,
}

/// Station's port on a LAN interface.
#[derive(Debug)]
pub struct AfPacket {
    /// Ring that it polls; `None` if it receives by calls.
    slots: Option<Slots>,
    socket: Socket,
    interface: Interface,
    station: Mac,
    /// Station whose frames with an EtherType it takes too.
    followed: Option<Mac>,
    wait: Wait,
    converter: Converter,
    stamp: Stamp,
    counts: Counts,
    /// Frames dropped by the kernel up to the last query.
    overrun: Cell<u64>,
    buffer: Vec<u8>,
    /// Buffers in which frames are assembled, kept because a buffer per frame would have to be
    /// cleared each time.
    outgoing: Box<[[u8; LONGEST_JOINED]; BATCH]>,
}

/// Frame taken from the kernel.
struct Taken {
    /// The frame, if it is for this station.
    frame: Option<Frame>,
    /// True if it was longer than the buffer.
    is_cut: bool,
    wall_nanos: Option<u64>,
}

impl AfPacket {
    /// Opens the interface.
    ///
    /// # Errors
    /// [`PortError::NoSuchInterface`], [`PortError::NoSuchNamespace`], [`PortError::Down`],
    /// [`PortError::NotPermitted`] if CAP_NET_RAW is missing, or the system's error.
    pub fn open(params: &AfPacketParams) -> Result<Self, PortError> {
        let (interface, socket) = raw_socket(&params.interface, params.namespace.as_deref())?;
        let station = params.station.unwrap_or(interface.mac);
        let mut port = Self {
            slots: None,
            socket,
            station,
            followed: None,
            wait: params.wait,
            converter: Converter::new(),
            stamp: params.stamp,
            counts: Counts::default(),
            overrun: Cell::new(0),
            buffer: vec![0; interface.mtu.max(1_500) + MAC_HEADER],
            outgoing: Box::new([[0; LONGEST_JOINED]; BATCH]),
            interface,
        };
        port.prepare(&params.groups).map_err(PortError::system("prepare a raw socket"))?;
        Ok(port)
    }

    /// Sets all options before the socket is bound; until then it receives nothing.
    fn prepare(&mut self, groups: &[Mac]) -> io::Result<()> {
        let (socket, index) = (&self.socket, self.interface.index);
        let is_usual = self.interface.mtu + MAC_HEADER <= slots::LONGEST_FRAME;
        if self.wait == Wait::Spin && self.stamp == Stamp::User && is_usual {
            // Without memory for a ring, frames are received by calls.
            self.slots = Slots::of(socket).ok();
        }
        // Not enabled and disabled again: the kernel would continue to stamp until the socket is
        // closed.
        if self.stamp == Stamp::Kernel {
            socket.stamp()?;
        }
        socket.wait_for_room(WAIT_FOR_ROOM)?;
        socket.room_for_receiving(RECEIVE_BUFFER_OCTETS)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1_i32)?;
        // Without the queueing discipline a frame goes straight to the driver, and is not
        // reordered.
        socket.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1_i32)?;
        if self.station != self.interface.mac && self.interface.kind != Kind::Loopback {
            socket.join(index, libc::PACKET_MR_UNICAST, self.station)?;
        }
        for group in groups {
            socket.join(index, libc::PACKET_MR_MULTICAST, *group)?;
        }
        self.bind()
    }

    /// Binds the socket to the frames that it takes.
    fn bind(&self) -> io::Result<()> {
        let (socket, index) = (&self.socket, self.interface.index);
        if let Some(followed) = self.followed {
            socket.filter(&plain_llc_or_of(followed))?;
            return socket.bind_interface(index, libc::ETH_P_ALL as u16);
        }
        if self.station == self.interface.mac {
            socket.filter(&not_of_others())?;
            return socket.bind_interface(index, libc::ETH_P_802_2 as u16);
        }
        socket.filter(&plain_llc())?;
        socket.bind_interface(index, libc::ETH_P_ALL as u16)
    }

    /// Interface, as it was when the port was opened.
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

    /// Hands a frame to the kernel. A frame of normal length is copied into one part, because the
    /// kernel takes longer to read a list of parts than this process to copy them.
    fn hand_over(&mut self, frame: &Frame) -> io::Result<()> {
        let Some(whole) = joined(frame, &mut self.outgoing[0]) else {
            let parts = [IoSlice::new(frame.head()), IoSlice::new(frame.payload())];
            return self.socket.send(&parts, None);
        };
        self.socket.send_whole(whole)
    }

    /// Hands the kernel as many of these frames as it takes in one call; returns their number.
    fn hand_over_several(&mut self, frames: &[Frame]) -> usize {
        let mut batch = [IoSlice::new(&[]); BATCH];
        let limit = self.interface.mtu + MAC_HEADER;
        let mut count = 0;
        for ((frame, room), slot) in frames.iter().zip(&mut *self.outgoing).zip(&mut batch) {
            let Some(whole) = joined(frame, room).filter(|_| frame.len() <= limit) else { break };
            *slot = IoSlice::new(whole);
            count += 1;
        }
        self.socket.send_several(batch.get(..count).unwrap_or_default())
    }

    /// Outcome of a frame that was handed to the kernel.
    fn outcome(&mut self, handed: io::Result<()>) -> Result<Transmission, PortError> {
        match handed {
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

    /// Takes the kernel's next frame; `None` once the time is over.
    fn next(&mut self, until: Instant) -> Result<Option<Taken>, PortError> {
        let Self { slots, socket, station, followed, .. } = self;
        let ours = Ours { station: *station, followed: *followed };
        let taken = match slots {
            Some(slots) => next_in(slots, socket, ours, until),
            None => self.next_by_call(until),
        };
        taken.map_err(|error| self.failed("receive a frame")(error))
    }

    /// Takes the next frame by a system call, through the buffer.
    fn next_by_call(&mut self, until: Instant) -> io::Result<Option<Taken>> {
        let Self { socket, buffer, wait, station, followed, .. } = self;
        let ours = Ours { station: *station, followed: *followed };
        let room = buffer.len();
        let (octets, original_octets, wall_nanos, outgoing) = match self.stamp {
            Stamp::Kernel => match socket.receive_until(buffer, until, *wait)? {
                Some(Received { octets, original_octets, wall_nanos, outgoing, .. }) => {
                    (octets, original_octets, wall_nanos, outgoing)
                }
                None => return Ok(None),
            },
            Stamp::User => match socket.receive_bare_until(buffer, until, *wait)? {
                Some(original_octets) => (original_octets.min(room), original_octets, None, false),
                None => return Ok(None),
            },
        };
        let whole = buffer.get(..octets).filter(|_| !outgoing);
        let frame = whole.and_then(|octets| ours.accepted(octets));
        Ok(Some(Taken { frame, is_cut: original_octets > octets, wall_nanos }))
    }
}

/// Takes the next frame from memory shared with the kernel; `None` once the time is over.
fn next_in(
    slots: &mut Slots,
    socket: &Socket,
    ours: Ours,
    until: Instant,
) -> io::Result<Option<Taken>> {
    loop {
        let taken = slots.take(|octets, original_octets| Taken {
            frame: ours.accepted(octets),
            is_cut: original_octets > octets.len(),
            wall_nanos: None,
        });
        if taken.is_some() {
            return Ok(taken);
        }
        // Shared memory does not show that the interface is down.
        if slots.in_vain().is_multiple_of(LOOKS_PER_CALL) {
            socket.error()?;
        }
        if clock::now() >= until {
            return Ok(None);
        }
        core::hint::spin_loop();
    }
}

/// Frames that a port takes.
#[derive(Clone, Copy)]
struct Ours {
    station: Mac,
    followed: Option<Mac>,
}

impl Ours {
    /// Returns the frame of these octets if it is for this station.
    ///
    /// A veth end, like any interface in promiscuous mode, also delivers frames for other stations.
    fn accepted(self, octets: &[u8]) -> Option<Frame> {
        let (to, rest) = octets.split_first_chunk::<6>()?;
        let (from, rest) = rest.split_first_chunk::<6>()?;
        let is_meant = *to == self.station.0 || Mac(*to).is_group();
        let is_own = *from == self.station.0;
        // The kernel treats every value below the smallest type as a length.
        let has_length = u16::from_be_bytes(*rest.first_chunk()?) <= LARGEST_LENGTH;
        let is_kind = has_length || self.followed == Some(Mac(*from));
        (is_meant && is_kind && !is_own).then(|| Frame::new(Bytes::copy_from_slice(octets)))
    }
}

/// Copies a frame into one part, padded to the minimum length; `None` if it is longer than `room`.
fn joined<'a>(frame: &Frame, room: &'a mut [u8; LONGEST_JOINED]) -> Option<&'a [u8]> {
    let octets = frame.copy_to(room)?;
    if let Some(pad) = room.get_mut(octets..SHORTEST_FRAME) {
        pad.fill(0);
    }
    room.get(..octets.max(SHORTEST_FRAME))
}

/// Classic BPF that keeps a whole frame unless the kernel classifies it as another host's.
///
/// That includes frames of VLANs that the kernel has no interface for; their tags are gone by the
/// time such a socket's filter runs. A tag of VLAN 0 is only a priority (IEEE 802.1Q).
fn not_of_others() -> [libc::sock_filter; 4] {
    const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let kind = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
    [
        step(LOAD_WORD, 0, 0, kind),
        step(IF_EQUAL, 1, 0, u32::from(libc::PACKET_OTHERHOST)),
        step(RETURN, 0, 0, u32::MAX),
        step(RETURN, 0, 0, 0),
    ]
}

/// Classic BPF that keeps a whole frame if it has a length field and belongs to no VLAN.
///
/// A tag of VLAN 0 is only a priority (IEEE 802.1Q); the kernel has removed it as well.
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
        step(IF_GREATER, 4, 0, u32::from(LARGEST_LENGTH)),
        step(LOAD_WORD, 0, 0, tag),
        step(AND, 0, 0, 0x0FFF),
        step(IF_EQUAL, 0, 1, 0),
        step(RETURN, 0, 0, u32::MAX),
        step(RETURN, 0, 0, 0),
    ]
}

/// Classic BPF that keeps what [`plain_llc`] keeps, and every frame of a station.
fn plain_llc_or_of(Mac([a, b, c, d, e, f]): Mac) -> Vec<libc::sock_filter> {
    const LOAD_HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
    const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    /// Octets of the destination address, and of the first two of the source.
    const BEHIND_TWO: u32 = 8;
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let of_station = [
        step(LOAD_HALF, 0, 0, 6),
        step(IF_EQUAL, 0, 3, u32::from(u16::from_be_bytes([a, b]))),
        step(LOAD_WORD, 0, 0, BEHIND_TWO),
        step(IF_EQUAL, 0, 1, u32::from_be_bytes([c, d, e, f])),
        step(RETURN, 0, 0, u32::MAX),
    ];
    of_station.into_iter().chain(plain_llc()).collect()
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
        let handed = self.hand_over(frame);
        self.outcome(handed)
    }

    fn takes_several(&self) -> bool {
        true
    }

    fn send_several(
        &mut self,
        frames: &[Frame],
        outcomes: &mut Vec<Transmission>,
    ) -> Result<(), PortError> {
        let mut rest = frames;
        while let [first, ..] = rest {
            let taken = self.hand_over_several(rest);
            self.counts.sent += taken as u64;
            outcomes.extend(core::iter::repeat_n(Transmission::Sent, taken));
            // The reason for a refusal is only reported for a frame sent by itself.
            if taken == 0 {
                outcomes.push(self.send(first)?);
            }
            rest = rest.get(taken.max(1)..).unwrap_or_default();
        }
        Ok(())
    }

    fn receive(&mut self, until: Instant) -> Result<Option<Arrival>, PortError> {
        for passed_over in 0_u64.. {
            let received = self.next(until)?;
            let now = clock::now();
            let is_last = received.is_none() || passed_over >= MOST_PASSED_OVER;
            if let Some(received) = received {
                let Taken { frame, is_cut, wall_nanos } = received;
                if is_cut {
                    self.counts.foreign += 1;
                } else if let Some(frame) = frame {
                    self.counts.received += 1;
                    let (at, stamp) = self.converter.arrival(wall_nanos, now);
                    return Ok(Some(Arrival { at, taken: now, stamp, frame }));
                }
            }
            if is_last && now >= until {
                break;
            }
        }
        Ok(None)
    }

    fn follow(&mut self, station: Option<Mac>) -> Result<(), PortError> {
        let is_first = self.followed.is_none() && station.is_some();
        self.followed = station;
        let (socket, index) = (&self.socket, self.interface.index);
        let joined = match is_first {
            // An interface that filters groups lets them pass until the socket is closed.
            true => socket.join(index, libc::PACKET_MR_ALLMULTI, Mac::default()),
            false => Ok(()),
        };
        joined.and_then(|()| self.bind()).map_err(PortError::system("prepare a raw socket"))
    }

    fn link_rate(&self) -> Option<BitRate> {
        self.interface.rate
    }

    fn is_unbounded(&self) -> bool {
        matches!(self.interface.kind, Kind::Loopback | Kind::Veth)
    }

    fn counts(&self) -> Counts {
        // The kernel resets its counter at each query. If the query fails, nothing is added.
        let dropped = self.socket.dropped().unwrap_or(0);
        self.overrun.set(self.overrun.get() + u64::from(dropped));
        Counts { overrun: self.overrun.get(), ..self.counts }
    }
}
