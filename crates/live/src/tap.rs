//! Tap: receives everything on a LAN interface, and cannot send.
//!
//! This type has no send operation, and its socket is never used to send: an observer of a plant
//! must not be able to disturb it. Frames come one by one, or through a ring shared with the
//! kernel. Stamps are the kernel's, taken when a frame reaches its network stack, or those of the
//! interface itself, if it stamps frames and the tap was opened for them.

use crate::clock::{self, Converter};
pub use crate::hardware_clock::Stamps;
use crate::hardware_clock::{Hardware, HardwareClock, HardwareStamps};
use crate::interface::{Interface, in_namespace, raw_socket};
use crate::port::{PortError, Stamp, Wait};
pub use crate::ring::Fill;
use crate::ring::Ring;
use crate::socket::{Received, Socket};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};
use wire::filter::Filter;
use wire::time::Instant;

/// Octets of the two addresses, which precede a VLAN tag.
const ADDRESSES: usize = 12;
/// Octets of a VLAN tag.
const TAG: usize = 4;

/// Delivery of frames by the kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Collection {
    /// One by one, each at once, for consumers that forward them.
    OneByOne,
    /// Through a ring of blocks, some milliseconds later, for consumers that count them; with these
    /// stamps.
    Ring(Stamps),
}

/// Kernel counters since a tap was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Frames that passed the filter and were kept.
    pub received: u64,
    /// Frames that passed the filter and were dropped for lack of room.
    pub dropped: u64,
    /// Number of times the ring was full.
    pub frozen: u64,
}

/// Parameters of a tap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TapParams {
    /// Interface name.
    pub interface: String,
    /// Network namespace of the interface, as named by `ip netns`; `None` for that of the process.
    pub namespace: Option<String>,
    /// Number of octets after which frames are truncated.
    pub snap_octets: usize,
    /// Also receive frames for other stations, if they reach the interface.
    pub promiscuous: bool,
    /// Also receive frames that this host sends.
    pub outgoing: bool,
    /// Kernel buffer in octets for use while the tap is busy; beyond it frames are dropped and
    /// counted.
    pub buffer_octets: i32,
    /// Delivery of frames by the kernel.
    pub collection: Collection,
    /// Filter for frames. The kernel checks a few octets of each: all matching frames are
    /// delivered, and some others.
    pub filter: Filter,
    /// Method of waiting; a ring always sleeps.
    pub wait: Wait,
}

/// Frame received from a LAN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sighting<'a> {
    /// Arrival time, on the clock of [`crate::clock::now`].
    pub at: Instant,
    /// Clock of the time; `None` if this process read it, later by the wake-up.
    pub stamps: Option<Stamps>,
    /// Unconverted kernel stamp: nanoseconds since the Unix epoch.
    pub wall_nanos: Option<u64>,
    /// Octets from the destination address on, without FCS, as far as they were kept.
    pub octets: &'a [u8],
    /// Octets of the whole frame.
    pub original_octets: usize,
    /// True if this host sent it.
    pub outgoing: bool,
}

/// Receiver of every frame on an interface. It cannot send.
#[derive(Debug)]
pub struct Tap {
    socket: Socket,
    ring: Option<Ring>,
    interface: Interface,
    wait: Wait,
    converter: Converter,
    hardware: Option<Hardware>,
    statistics: Statistics,
    /// Number of frames handed out.
    taken: u64,
    /// Room for a tag and a frame: the kernel removes VLAN tags, and here they are put back.
    buffer: Vec<u8>,
    snap_octets: usize,
}

impl Tap {
    /// Opens the interface.
    ///
    /// # Errors
    /// Those of [`crate::port::AfPacket::open`], [`PortError::NoHardwareStamps`], or
    /// [`PortError::HardwareClock`].
    pub fn open(params: &TapParams) -> Result<Self, PortError> {
        let (interface, socket) = raw_socket(&params.interface, params.namespace.as_deref())?;
        let snap_octets = params.snap_octets.clamp(ADDRESSES, 1 << 18);
        let mut tap = Self {
            socket,
            ring: None,
            interface,
            wait: params.wait,
            converter: Converter::new(),
            hardware: None,
            statistics: Statistics::default(),
            taken: 0,
            buffer: vec![0; TAG + snap_octets],
            snap_octets,
        };
        if params.collection == Collection::Ring(Stamps::Hardware) {
            tap.hardware = Some(hardware(&tap.interface, params.namespace.as_deref())?);
        }
        tap.prepare(params).map_err(PortError::system("prepare a raw socket"))?;
        Ok(tap)
    }

    fn prepare(&mut self, params: &TapParams) -> io::Result<()> {
        let (socket, index) = (&self.socket, self.interface.index);
        socket.stamp()?;
        match params.collection {
            Collection::OneByOne => {
                socket.room_for_receiving(params.buffer_octets)?;
                // A frame truncated by the kernel would lack its original length.
                socket.filter(&program(&params.filter, u32::MAX))?;
            }
            Collection::Ring(stamps) => {
                if stamps == Stamps::Hardware {
                    socket.stamp_by_hardware()?;
                }
                let octets = usize::try_from(params.buffer_octets).unwrap_or(0);
                self.ring = Some(Ring::new(socket, octets)?);
                let snap_octets = u32::try_from(self.snap_octets).unwrap_or(u32::MAX);
                socket.filter(&program(&params.filter, snap_octets))?;
            }
        }
        socket.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, 1_i32)?;
        if !params.outgoing {
            socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1_i32)?;
        }
        if params.promiscuous {
            socket.join(index, libc::PACKET_MR_PROMISC, self.interface.mac)?;
        }
        socket.bind_interface(index, libc::ETH_P_ALL as u16)
    }

    /// Interface, as it was when the tap was opened.
    #[must_use]
    pub const fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Returns the next frame; waits for one until `until`.
    ///
    /// # Errors
    /// [`PortError::Down`] if the interface was switched off, or the system's error.
    pub fn receive(&mut self, until: Instant) -> Result<Option<Sighting<'_>>, PortError> {
        if self.ring.is_some() {
            return self.receive_from_ring(until);
        }
        let room = self.buffer.get_mut(TAG..).unwrap_or_default();
        let received = match self.socket.receive_until(room, until, self.wait) {
            Ok(received) => received,
            Err(error) => return Err(self.broken(error)),
        };
        let Some(received) = received else { return Ok(None) };
        self.taken += 1;
        let (at, stamps) = by_kernel(&mut self.converter, received.wall_nanos);
        let (octets, original_octets) = whole(&mut self.buffer, &received, self.snap_octets);
        let Received { outgoing, wall_nanos, .. } = received;
        Ok(Some(Sighting { at, stamps, wall_nanos, octets, original_octets, outgoing }))
    }

    fn receive_from_ring(&mut self, until: Instant) -> Result<Option<Sighting<'_>>, PortError> {
        while !self.ring.as_mut().is_some_and(Ring::is_ready) {
            if clock::now() >= until {
                return Ok(None);
            }
            self.wait(until)?;
        }
        let Some(slot) = self.ring.as_mut().and_then(Ring::take) else { return Ok(None) };
        self.taken += 1;
        let (at, stamps, wall_nanos) = match (slot.stamps, &mut self.hardware) {
            (Stamps::Hardware, Some(hardware)) => {
                let now = clock::now();
                let at = hardware.convert(slot.nanos, now);
                (at.unwrap_or(now), at.map(|_| Stamps::Hardware), None)
            }
            _ => {
                let wall_nanos = Some(slot.nanos);
                let (at, stamps) = by_kernel(&mut self.converter, wall_nanos);
                (at, stamps, wall_nanos)
            }
        };
        let (mut octets, mut original_octets) = (slot.octets, slot.original_octets);
        if let Some(vlan) = slot.vlan.filter(|_| octets.len() >= ADDRESSES) {
            let room = self.buffer.get_mut(TAG..TAG + octets.len()).unwrap_or_default();
            room.copy_from_slice(octets);
            let (octets, vlan) = (octets.len(), Some(vlan));
            let received = Received { octets, original_octets, vlan, ..Received::default() };
            let tagged = whole(&mut self.buffer, &received, self.snap_octets);
            return Ok(Some(Sighting {
                at,
                stamps,
                wall_nanos,
                octets: tagged.0,
                original_octets: tagged.1,
                outgoing: slot.outgoing,
            }));
        }
        octets = octets.get(..octets.len().min(self.snap_octets)).unwrap_or_default();
        original_octets = original_octets.max(octets.len());
        let outgoing = slot.outgoing;
        Ok(Some(Sighting { at, stamps, wall_nanos, octets, original_octets, outgoing }))
    }

    /// Sleeps until there is a frame, or until `until`. May return early.
    ///
    /// # Errors
    /// Those of [`Tap::receive`].
    pub fn wait(&mut self, until: Instant) -> Result<(), PortError> {
        if self.ring.as_mut().is_some_and(Ring::is_ready) {
            return Ok(());
        }
        let waited = self.socket.wait(until).and_then(|()| self.socket.error());
        waited.map_err(|error| self.broken(error))
    }

    fn broken(&self, error: io::Error) -> PortError {
        match error.raw_os_error() {
            Some(libc::ENETDOWN) => PortError::Down(self.interface.name.clone()),
            _ => PortError::system("receive a frame")(error),
        }
    }

    /// Descriptor to wait on for frames.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Number of the descriptor, for a sandbox that restricts the system calls on it. The holder
    /// must not read or send with it.
    #[must_use]
    pub fn number(&self) -> RawFd {
        self.socket.as_fd().as_raw_fd()
    }

    /// Locks the kernel's filter against changes from now on.
    ///
    /// # Errors
    /// The system's error.
    pub fn lock_filter(&self) -> Result<(), PortError> {
        self.socket
            .set(libc::SOL_SOCKET, libc::SO_LOCK_FILTER, 1_i32)
            .map_err(PortError::system("lock the filter"))
    }

    /// Frames dropped by the kernel since the tap was opened, for lack of room.
    ///
    /// # Errors
    /// The system's error.
    pub fn dropped(&mut self) -> Result<u64, PortError> {
        self.statistics().map(|statistics| statistics.dropped)
    }

    /// Number of frames that the kernel has received and that were not handed out yet. A listener
    /// that stops takes these first.
    ///
    /// # Errors
    /// The system's error.
    pub fn waiting(&mut self) -> Result<u64, PortError> {
        let received = self.statistics()?.received;
        Ok(received.saturating_sub(self.taken))
    }

    /// Fill of the ring at this moment; none where frames come one by one.
    #[must_use]
    pub fn fill(&self) -> Option<Fill> {
        self.ring.as_ref().map(Ring::fill)
    }

    /// Kernel counters since the tap was opened.
    ///
    /// # Errors
    /// The system's error.
    pub fn statistics(&mut self) -> Result<Statistics, PortError> {
        let more = self.socket.statistics().map_err(PortError::system("count frames"))?;
        let Statistics { received, dropped, frozen } = &mut self.statistics;
        // The kernel includes dropped frames in the count of those that passed.
        *received += u64::from(more.tp_packets.saturating_sub(more.tp_drops));
        *dropped += u64::from(more.tp_drops);
        *frozen += u64::from(more.tp_freeze_q_cnt);
        Ok(self.statistics)
    }
}

/// Converter for the stamps of an interface.
fn hardware(interface: &Interface, namespace: Option<&str>) -> Result<Hardware, PortError> {
    let name = || interface.name.clone();
    match in_namespace(namespace, || Ok(interface.hardware_stamps()))? {
        HardwareStamps::By(clock) => HardwareClock::open(clock)
            .map(Hardware::new)
            .map_err(|source| PortError::HardwareClock { interface: name(), clock, source }),
        why => Err(PortError::NoHardwareStamps { interface: name(), why }),
    }
}

/// Time of a frame by its kernel stamp if that is plausible, or else by this process.
fn by_kernel(converter: &mut Converter, wall_nanos: Option<u64>) -> (Instant, Option<Stamps>) {
    let (at, stamp) = converter.arrival(wall_nanos, clock::now());
    (at, (stamp == Stamp::Kernel).then_some(Stamps::Kernel))
}

/// Converts a filter's program to the kernel's type.
fn program(filter: &Filter, snap_octets: u32) -> Vec<libc::sock_filter> {
    let instruction = |step: wire::filter::Instruction| libc::sock_filter {
        code: step.code,
        jt: step.jump_true,
        jf: step.jump_false,
        k: step.operand,
    };
    filter.program(snap_octets).into_iter().map(instruction).collect()
}

/// Frame after the first [`TAG`] octets of `buffer`, with its VLAN tag put back if it had one.
fn whole<'a>(buffer: &'a mut [u8], received: &Received, snap: usize) -> (&'a [u8], usize) {
    let Some((protocol, control)) = received.vlan.filter(|_| received.octets >= ADDRESSES) else {
        let octets = buffer.get(TAG..TAG + received.octets).unwrap_or_default();
        return (octets, received.original_octets);
    };
    buffer.copy_within(TAG..TAG + ADDRESSES, 0);
    let tag = protocol.to_be_bytes().into_iter().chain(control.to_be_bytes());
    for (slot, octet) in buffer.iter_mut().skip(ADDRESSES).zip(tag) {
        *slot = octet;
    }
    let octets = buffer.get(..(TAG + received.octets).min(snap)).unwrap_or_default();
    (octets, received.original_octets + TAG)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(octets: usize, vlan: Option<(u16, u16)>) -> Received {
        Received { octets, original_octets: octets, vlan, ..Received::default() }
    }

    #[test]
    fn a_tag_removed_by_the_kernel_is_put_back_after_the_addresses() {
        let mut buffer: Vec<u8> = (0..24).collect();
        let (octets, original) = whole(&mut buffer, &received(16, Some((0x8100, 0x2007))), 20);
        // Octets 4 to 15 are the addresses, 16 to 19 those after them.
        let expected = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0x81, 0, 0x20, 7, 16, 17, 18, 19];
        assert_eq!((octets, original), (&expected[..], 20));

        let mut buffer: Vec<u8> = (0..24).collect();
        let (octets, original) = whole(&mut buffer, &received(16, None), 20);
        assert_eq!((octets[0], octets.len(), original), (4, 16, 16));
    }
}
