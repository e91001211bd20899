//! Hears everything on a LAN interface, and cannot send.
//!
//! There is no way to send in this type, and its socket is never used for it: what watches a plant
//! must not be able to disturb it. Not yet here: a ring shared with the kernel, which would save a
//! system call for each frame.

use crate::clock::{self, Converter};
use crate::interface::{Interface, in_namespace};
use crate::port::{PortError, Stamp, Wait};
use crate::socket::{Received, Socket};
use std::io;
use std::os::fd::BorrowedFd;
use wire::time::Instant;

/// Octets of the two addresses, behind which a VLAN tag stands.
const ADDRESSES: usize = 12;
/// Octets of a VLAN tag.
const TAG: usize = 4;

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
    /// How the thread waits.
    pub wait: Wait,
}

/// A frame heard on a LAN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sighting<'a> {
    /// When, on the clock of [`crate::clock::now`].
    pub at: Instant,
    /// Who says so.
    pub stamp: Stamp,
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
    interface: Interface,
    wait: Wait,
    converter: Converter,
    dropped: u64,
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
        let (interface, socket) = in_namespace(params.namespace.as_deref(), || {
            let interface = Interface::named(&params.interface)?;
            if !interface.is_up {
                return Err(PortError::Down(interface.name));
            }
            let socket = Socket::raw()
                .map_err(|error| PortError::from_opening(&interface.name, "CAP_NET_RAW", error))?;
            Ok((interface, socket))
        })?;
        let snap_octets = params.snap_octets.clamp(ADDRESSES, 1 << 18);
        let tap = Self {
            socket,
            interface,
            wait: params.wait,
            converter: Converter::new(),
            dropped: 0,
            buffer: vec![0; TAG + snap_octets],
            snap_octets,
        };
        tap.prepare(params).map_err(PortError::system("prepare a raw socket"))?;
        Ok(tap)
    }

    fn prepare(&self, params: &TapParams) -> io::Result<()> {
        let (socket, index) = (&self.socket, self.interface.index);
        socket.stamp()?;
        socket.room_for_receiving(params.buffer_octets)?;
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
        let room = self.buffer.get_mut(TAG..).unwrap_or_default();
        let received = match self.socket.receive_until(room, until, self.wait) {
            Ok(received) => received,
            Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => {
                return Err(PortError::Down(self.interface.name.clone()));
            }
            Err(error) => return Err(PortError::system("receive a frame")(error)),
        };
        let Some(received) = received else { return Ok(None) };
        let (at, stamp) = self.converter.arrival(received.wall_nanos, clock::now());
        let (octets, original_octets) = whole(&mut self.buffer, &received, self.snap_octets);
        Ok(Some(Sighting { at, stamp, octets, original_octets, outgoing: received.outgoing }))
    }

    /// What to wait for frames at.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Frames the kernel dropped since the tap was opened, as it had no room for them.
    ///
    /// # Errors
    /// What the system said.
    pub fn dropped(&mut self) -> Result<u64, PortError> {
        let dropped = self.socket.dropped().map_err(PortError::system("count dropped frames"))?;
        self.dropped += u64::from(dropped);
        Ok(self.dropped)
    }
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
        let original_octets = octets;
        Received { octets, original_octets, wall_nanos: None, vlan, from: None, outgoing: false }
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
