//! Hears everything on a LAN interface, and cannot send.
//!
//! There is no way to send in this type, and its socket is never used for it: what watches a plant
//! must not be able to disturb it. Frames come one by one, or through a ring shared with the
//! kernel. Stamps are the kernel's own, of when a frame reached its network stack; stamps of the
//! interface's hardware, whose clock is another, are not asked for.

use crate::clock::{self, Converter};
use crate::interface::{Interface, raw_socket};
use crate::port::{PortError, Stamp, Wait};
use crate::ring::Ring;
use crate::socket::{Received, Socket};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};
use wire::filter::Filter;
use wire::time::Instant;

/// Octets of the two addresses, behind which a VLAN tag stands.
const ADDRESSES: usize = 12;
/// Octets of a VLAN tag.
const TAG: usize = 4;

/// How frames come out of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Collection {
    /// One by one, each at once: for whoever passes them on.
    OneByOne,
    /// Through a ring of blocks, some milliseconds later: for whoever counts them.
    Ring,
}

/// What the kernel counted since a tap was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Frames that passed the filter and were kept.
    pub received: u64,
    /// Frames that passed the filter and were dropped, as there was no room for them.
    pub dropped: u64,
    /// How often the ring was full.
    pub frozen: u64,
}

/// How a tap is opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TapParams {
    /// The interface's name.
    pub interface: String,
    /// The network namespace it is in, as `ip netns` names it; the process's own without one.
    pub namespace: Option<String>,
    /// Frames are cut after this many octets.
    pub snap_octets: usize,
    /// Whether frames for other stations are heard as well, where the interface gets to see them.
    pub promiscuous: bool,
    /// Whether frames this host sends are heard as well.
    pub outgoing: bool,
    /// What the kernel may keep while the tap is busy; beyond that it drops frames and counts them.
    pub buffer_octets: i32,
    /// How frames come out of the kernel.
    pub collection: Collection,
    /// Which frames are wanted. The kernel judges by a few octets of each: all frames that pass come,
    /// and some others.
    pub filter: Filter,
    /// How the thread waits; for a ring it always sleeps.
    pub wait: Wait,
}

/// A frame heard on a LAN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sighting<'a> {
    /// When, on the clock of [`crate::clock::now`].
    pub at: Instant,
    /// Who says so.
    pub stamp: Stamp,
    /// The kernel's stamp as it stood: nanoseconds since the Unix epoch.
    pub wall_nanos: Option<u64>,
    /// The frame from its destination address on, without FCS, as far as it was kept.
    pub octets: &'a [u8],
    /// Octets of the whole frame.
    pub original_octets: usize,
    /// Whether this host sent it.
    pub outgoing: bool,
}

/// A receiver of every frame on an interface. It has no way to send.
#[derive(Debug)]
pub struct Tap {
    socket: Socket,
    ring: Option<Ring>,
    interface: Interface,
    wait: Wait,
    converter: Converter,
    statistics: Statistics,
    /// Frames that were handed out.
    taken: u64,
    /// Room for a tag, then a frame: the kernel takes VLAN tags out, and here they are put back.
    buffer: Vec<u8>,
    snap_octets: usize,
}

impl Tap {
    /// Opens the interface.
    ///
    /// # Errors
    /// As [`crate::port::AfPacket::open`].
    pub fn open(params: &TapParams) -> Result<Self, PortError> {
        let (interface, socket) = raw_socket(&params.interface, params.namespace.as_deref())?;
        let snap_octets = params.snap_octets.clamp(ADDRESSES, 1 << 18);
        let mut tap = Self {
            socket,
            ring: None,
            interface,
            wait: params.wait,
            converter: Converter::new(),
            statistics: Statistics::default(),
            taken: 0,
            buffer: vec![0; TAG + snap_octets],
            snap_octets,
        };
        tap.prepare(params).map_err(PortError::system("prepare a raw socket"))?;
        Ok(tap)
    }

    fn prepare(&mut self, params: &TapParams) -> io::Result<()> {
        let (socket, index) = (&self.socket, self.interface.index);
        socket.stamp()?;
        match params.collection {
            Collection::OneByOne => {
                socket.room_for_receiving(params.buffer_octets)?;
                // A frame that the kernel cut does not say how long it was.
                socket.filter(&program(&params.filter, u32::MAX))?;
            }
            Collection::Ring => {
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

    /// The interface, as it was when the tap was opened.
    #[must_use]
    pub const fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The next frame; waits for one until `until`.
    ///
    /// # Errors
    /// [`PortError::Down`] where the interface was switched off, or what the system said.
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
        let (at, stamp) = self.converter.arrival(received.wall_nanos, clock::now());
        let (octets, original_octets) = whole(&mut self.buffer, &received, self.snap_octets);
        let Received { outgoing, wall_nanos, .. } = received;
        Ok(Some(Sighting { at, stamp, wall_nanos, octets, original_octets, outgoing }))
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
        let wall_nanos = Some(slot.wall_nanos);
        let (at, stamp) = self.converter.arrival(wall_nanos, clock::now());
        let (mut octets, mut original_octets) = (slot.octets, slot.original_octets);
        if let Some(vlan) = slot.vlan.filter(|_| octets.len() >= ADDRESSES) {
            let room = self.buffer.get_mut(TAG..TAG + octets.len()).unwrap_or_default();
            room.copy_from_slice(octets);
            let (octets, vlan) = (octets.len(), Some(vlan));
            let received = Received { octets, original_octets, vlan, ..Received::default() };
            let tagged = whole(&mut self.buffer, &received, self.snap_octets);
            return Ok(Some(Sighting {
                at,
                stamp,
                wall_nanos,
                octets: tagged.0,
                original_octets: tagged.1,
                outgoing: slot.outgoing,
            }));
        }
        octets = octets.get(..octets.len().min(self.snap_octets)).unwrap_or_default();
        original_octets = original_octets.max(octets.len());
        let outgoing = slot.outgoing;
        Ok(Some(Sighting { at, stamp, wall_nanos, octets, original_octets, outgoing }))
    }

    /// Sleeps until there is a frame, or until `until`. May return early.
    ///
    /// # Errors
    /// As [`Tap::receive`].
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

    /// What to wait for frames at.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The same for a sandbox that names what may be asked of it; reading or sending there is not its
    /// holder's to do.
    #[must_use]
    pub fn number(&self) -> RawFd {
        self.socket.as_fd().as_raw_fd()
    }

    /// Lets nobody change what the kernel filters, from now on.
    ///
    /// # Errors
    /// What the system said.
    pub fn lock_filter(&self) -> Result<(), PortError> {
        self.socket
            .set(libc::SOL_SOCKET, libc::SO_LOCK_FILTER, 1_i32)
            .map_err(PortError::system("lock the filter"))
    }

    /// Frames the kernel dropped since the tap was opened, as it had no room for them.
    ///
    /// # Errors
    /// What the system said.
    pub fn dropped(&mut self) -> Result<u64, PortError> {
        self.statistics().map(|statistics| statistics.dropped)
    }

    /// How many frames the kernel has received that were not handed out yet: whoever stops listening
    /// takes these before.
    ///
    /// # Errors
    /// What the system said.
    pub fn waiting(&mut self) -> Result<u64, PortError> {
        let received = self.statistics()?.received;
        Ok(received.saturating_sub(self.taken))
    }

    /// What the kernel counted since the tap was opened.
    ///
    /// # Errors
    /// What the system said.
    pub fn statistics(&mut self) -> Result<Statistics, PortError> {
        let more = self.socket.statistics().map_err(PortError::system("count frames"))?;
        let Statistics { received, dropped, frozen } = &mut self.statistics;
        // The kernel counts what it dropped among what passed.
        *received += u64::from(more.tp_packets.saturating_sub(more.tp_drops));
        *dropped += u64::from(more.tp_drops);
        *frozen += u64::from(more.tp_freeze_q_cnt);
        Ok(self.statistics)
    }
}

/// A filter's program in the kernel's own type.
fn program(filter: &Filter, snap_octets: u32) -> Vec<libc::sock_filter> {
    let instruction = |step: wire::filter::Instruction| libc::sock_filter {
        code: step.code,
        jt: step.jump_true,
        jf: step.jump_false,
        k: step.operand,
    };
    filter.program(snap_octets).into_iter().map(instruction).collect()
}

/// The frame behind the first [`TAG`] octets of `buffer`, with its VLAN tag where it had one.
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
    fn a_tag_the_kernel_took_out_stands_behind_the_addresses_again() {
        let mut buffer: Vec<u8> = (0..24).collect();
        let (octets, original) = whole(&mut buffer, &received(16, Some((0x8100, 0x2007))), 20);
        // Octets 4 to 15 are the addresses, 16 to 19 what follows them.
        let expected = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0x81, 0, 0x20, 7, 16, 17, 18, 19];
        assert_eq!((octets, original), (&expected[..], 20));

        let mut buffer: Vec<u8> = (0..24).collect();
        let (octets, original) = whole(&mut buffer, &received(16, None), 20);
        assert_eq!((octets[0], octets.len(), original), (4, 16, 16));
    }
}
