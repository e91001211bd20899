//! One side of the relay: a tap that receives, and a socket that only sends.

use super::Place;
use crate::clock;
use crate::interface::{Interface, in_namespace};
use crate::port::{PortError, Wait};
use crate::socket::{Interest, Socket};
use crate::tap::{Collection, Tap, TapParams};
use bytes::Bytes;
use core::time::Duration;
use stack::station::Frame;
use std::io::{self, IoSlice};
use wire::filter::Filter;
use wire::time::Instant;

/// MAC header and one VLAN tag, which do not count towards an interface's MTU.
const HEADERS: usize = 18;
/// Kernel buffer for received frames, in octets.
const RECEIVE_BUFFER_OCTETS: i32 = 16 << 20;
/// Time for which a send waits for room in the interface's queue.
const WAIT_FOR_ROOM: Duration = Duration::from_millis(10);

/// Received frame.
pub(super) struct Heard {
    /// Arrival time.
    pub(super) at: Instant,
    /// The frame; `None` if it was too long to be received whole.
    pub(super) frame: Option<Frame>,
}

/// Outcome of sending a frame.
pub(super) enum Handed {
    /// It was sent.
    Sent,
    /// The interface's queue was full.
    QueueFull,
    /// The interface does not carry frames of this length.
    TooLong,
}

#[derive(Debug)]
pub(super) struct End {
    tap: Tap,
    out: Socket,
    kernel_drops: u64,
}

impl End {
    pub(super) fn open(place: &Place) -> Result<Self, PortError> {
        let open = || Interface::named(&place.interface);
        let interface = in_namespace(place.namespace.as_deref(), open)?;
        let tap = Tap::open(&TapParams {
            interface: place.interface.clone(),
            namespace: place.namespace.clone(),
            snap_octets: interface.mtu.max(1_500) + HEADERS,
            promiscuous: true,
            outgoing: false,
            buffer_octets: RECEIVE_BUFFER_OCTETS,
            collection: Collection::OneByOne,
            filter: Filter::all(),
            wait: Wait::Block,
        })?;
        let out = in_namespace(place.namespace.as_deref(), || {
            Socket::raw().map_err(|e| PortError::from_opening(&interface.name, "CAP_NET_RAW", e))
        })?;
        let prepare = || {
            out.wait_for_room(WAIT_FOR_ROOM)?;
            // Bound to no protocol, so it receives nothing. Frames go through the interface's
            // queue, because otherwise other taps of this host would miss them (packet(7),
            // PACKET_QDISC_BYPASS).
            out.bind_interface(interface.index, 0)
        };
        prepare().map_err(PortError::system("prepare a raw socket"))?;
        Ok(Self { tap, out, kernel_drops: 0 })
    }

    pub(super) fn name(&self) -> &str {
        &self.tap.interface().name
    }

    /// Returns the next received frame without waiting.
    pub(super) fn hear(&mut self) -> Result<Option<Heard>, PortError> {
        let sighting = self.tap.receive(clock::now())?;
        Ok(sighting.map(|sighting| Heard {
            at: sighting.at,
            frame: (sighting.octets.len() == sighting.original_octets)
                .then(|| Frame::new(Bytes::copy_from_slice(sighting.octets))),
        }))
    }

    pub(super) fn send(&self, frame: &Frame) -> Result<Handed, PortError> {
        let parts = [IoSlice::new(frame.head()), IoSlice::new(frame.payload())];
        match self.out.send(&parts, None) {
            Ok(()) => Ok(Handed::Sent),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Handed::QueueFull),
            Err(error) => match error.raw_os_error() {
                Some(libc::ENOBUFS) => Ok(Handed::QueueFull),
                Some(libc::EMSGSIZE) => Ok(Handed::TooLong),
                Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => {
                    Err(PortError::Down(self.name().to_owned()))
                }
                _ => Err(PortError::system("send a frame")(error)),
            },
        }
    }

    /// Frames dropped by the kernel so far; the last value if the query fails.
    pub(super) fn kernel_drops(&mut self) -> u64 {
        self.kernel_drops = self.tap.dropped().unwrap_or(self.kernel_drops);
        self.kernel_drops
    }

    pub(super) fn interest(&self) -> Interest<'_> {
        Interest { socket: self.tap.descriptor(), read: true, write: false }
    }
}
