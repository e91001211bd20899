//! Station on a LAN interface that bypasses most of the kernel's network stack: AF_XDP.
//!
//! It takes LLC frames (with a length field) for its own address, for the broadcast group and for
//! its own groups. The host does not see these frames: no other program receives them, nor does a
//! tap, which also misses the frames that the port sends. All other frames stay with the host: IP,
//! other stations' frames, other groups (such as those of bridges), frames with a VLAN tag. A tag
//! that the interface removes beforehand cannot be detected.
//!
//! Not included: several receive queues, the kernel's stamps, native hooks of drivers, frames of
//! more than 1,500 octets of data. Frames are padded to 60 octets here; the FCS is added by the
//! interface.

use super::{Arrival, Counts, MOST_PASSED_OVER, Port, PortError, Stamp, Wait};
use crate::clock;
use crate::interface::{Interface, Kind, in_namespace};
use crate::socket::Socket;
use crate::xdp::{LONGEST_FRAME, Sent, Xdp};
use stack::station::{Frame, Transmission};
use std::io;
use wire::addr::Mac;
use wire::mac;
use wire::time::Instant;
use wire::units::BitRate;

/// Minimum frame length without FCS (ISO 8802-3: 64 octets with it).
const SHORTEST_FRAME: usize = 60;
/// Maximum number of groups, because the program has a bounded length.
const MOST_GROUPS: usize = 64;
/// Capabilities that such a port needs.
const CAPABILITIES: &str = "CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF";

/// Parameters of an AF_XDP port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AfXdpParams {
    /// Interface name.
    pub interface: String,
    /// Network namespace of the interface, as named by `ip netns`; `None` for that of the process.
    pub namespace: Option<String>,
    /// Station address; `None` for that of the interface.
    pub station: Option<Mac>,
    /// Groups the station belongs to, in addition to the broadcast group: at most 64.
    pub groups: Vec<Mac>,
    /// Method of waiting.
    pub wait: Wait,
}

/// Station's port that bypasses the kernel's network stack.
#[derive(Debug)]
pub struct AfXdp {
    xdp: Xdp,
    /// Lets the interface accept the station's addresses, while it lives.
    _joined: Socket,
    interface: Interface,
    station: Mac,
    wait: Wait,
    counts: Counts,
}

impl AfXdp {
    /// Opens the interface.
    ///
    /// [`PortError::NoSuchInterface`], [`PortError::NoSuchNamespace`], [`PortError::Down`],
    /// [`PortError::NotPermitted`] if a capability is missing, [`PortError::NotForXdp`] if the
    /// interface or the kernel does not support it, or the system's error.
    pub fn open(params: &AfXdpParams) -> Result<Self, PortError> {
        in_namespace(params.namespace.as_deref(), || Self::open_here(params))
    }

    fn open_here(params: &AfXdpParams) -> Result<Self, PortError> {
        let interface = Interface::named(&params.interface)?;
        let unfit =
            |reason: String| PortError::NotForXdp { interface: interface.name.clone(), reason };
        if interface.kind == Kind::Loopback {
            return Err(unfit("the loopback carries no frames of stations".to_owned()));
        }
        if !interface.is_up {
            return Err(PortError::Down(interface.name));
        }
        if params.groups.len() > MOST_GROUPS {
            return Err(unfit(format!("at most {MOST_GROUPS} groups are possible")));
        }
        let queues = interface.receive_queues();
        if queues > 1 {
            let fix = format!("ethtool -L {} combined 1", interface.name);
            return Err(unfit(format!(
                "it has {queues} receive queues, of which one is read: {fix}"
            )));
        }
        let station = params.station.unwrap_or(interface.mac);
        let failed = |source: io::Error| match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                PortError::NotPermitted { place: interface.name.clone(), capability: CAPABILITIES }
            }
            Some(libc::EBUSY | libc::EEXIST) => unfit("another program uses its queue".to_owned()),
            Some(libc::EAFNOSUPPORT | libc::ENOSYS | libc::EOPNOTSUPP | libc::EINVAL) => {
                unfit(format!("not supported by this kernel or interface: {source}"))
            }
            _ => PortError::System { doing: "open an AF_XDP socket", source },
        };
        let joined = Socket::raw().map_err(failed)?;
        if station != interface.mac {
            joined.join(interface.index, libc::PACKET_MR_UNICAST, station).map_err(failed)?;
        }
        for group in &params.groups {
            joined.join(interface.index, libc::PACKET_MR_MULTICAST, *group).map_err(failed)?;
        }
        let addresses = [&[station, Mac::BROADCAST], &params.groups[..]].concat();
        let xdp = Xdp::open(interface.index, &addresses).map_err(failed)?;
        let (wait, counts) = (params.wait, Counts::default());
        Ok(Self { xdp, _joined: joined, interface, station, wait, counts })
    }

    /// Interface, as it was when the port was opened.
    #[must_use]
    pub const fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Maximum length of a frame.
    fn limit(&self) -> usize {
        (self.interface.mtu + mac::HEADER_OCTETS).min(LONGEST_FRAME)
    }

    fn failed(&self, doing: &'static str) -> impl Fn(io::Error) -> PortError {
        let name = self.interface.name.clone();
        move |source| match source.raw_os_error() {
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => PortError::Down(name.clone()),
            _ => PortError::System { doing, source },
        }
    }
}

/// Counts the outcome of a frame.
const fn counted(counts: &mut Counts, sent: Sent) -> Transmission {
    match sent {
        Sent::Out => {
            counts.sent += 1;
            Transmission::Sent
        }
        Sent::NoRoom => {
            counts.not_sent += 1;
            Transmission::GivenUp
        }
    }
}

impl Port for AfXdp {
    fn name(&self) -> &str {
        &self.interface.name
    }

    fn addr(&self) -> Mac {
        self.station
    }

    fn send(&mut self, frame: &Frame) -> Result<Transmission, PortError> {
        let limit = self.limit();
        if frame.len() > limit {
            return Err(PortError::TooLong { octets: frame.len(), limit });
        }
        let sent = self.xdp.send([frame.head(), frame.payload()], SHORTEST_FRAME);
        let sent = sent.map_err(|error| self.failed("send a frame")(error))?;
        Ok(counted(&mut self.counts, sent))
    }

    fn takes_several(&self) -> bool {
        true
    }

    fn send_several(
        &mut self,
        frames: &[Frame],
        outcomes: &mut Vec<Transmission>,
    ) -> Result<(), PortError> {
        let limit = self.limit();
        let mut rest = frames;
        while let [first, ..] = rest {
            let before = outcomes.len();
            let fitting = rest.iter().take_while(|frame| frame.len() <= limit);
            let parts = fitting.map(|frame| [frame.head(), frame.payload()]);
            let counts = &mut self.counts;
            let sent = self.xdp.send_several(parts, SHORTEST_FRAME, |sent| {
                outcomes.push(counted(counts, sent));
            });
            sent.map_err(|error| self.failed("send frames")(error))?;
            // The reason for missing room is only reported for a frame sent by itself.
            if outcomes.len() == before {
                outcomes.push(self.send(first)?);
            }
            rest = rest.get(outcomes.len() - before..).unwrap_or_default();
        }
        Ok(())
    }

    fn receive(&mut self, until: Instant) -> Result<Option<Arrival>, PortError> {
        for passed_over in 0_u64.. {
            let received = self.xdp.receive_until(until, self.wait);
            let received = received.map_err(|error| self.failed("receive a frame")(error))?;
            let Some(octets) = received else { return Ok(None) };
            let (at, frame) = (clock::now(), Frame::new(octets));
            if stack::station::source(&frame) != Some(self.station) {
                self.counts.received += 1;
                return Ok(Some(Arrival { at, taken: at, stamp: Stamp::User, frame }));
            }
            if passed_over >= MOST_PASSED_OVER && at >= until {
                break;
            }
        }
        Ok(None)
    }

    fn takes_typed(&self) -> bool {
        false
    }

    fn link_rate(&self) -> Option<BitRate> {
        self.interface.rate
    }

    fn is_unbounded(&self) -> bool {
        matches!(self.interface.kind, Kind::Loopback | Kind::Veth)
    }

    fn counts(&self) -> Counts {
        // If the query fails, nothing is added.
        Counts { overrun: self.xdp.dropped().unwrap_or(0), ..self.counts }
    }
}
