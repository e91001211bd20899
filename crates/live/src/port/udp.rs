//! 802.3 frames in UDP datagrams: a LAN between processes, without any privilege.
//!
//! A datagram is four octets, "TWF1", and one frame without FCS. A station's socket is a static
//! entry, or is learnt from the source address of its frames, like in a bridge. A frame for a
//! station with an unknown socket, or for a group, is sent to all. Datagrams from unknown sockets
//! are dropped unless learning is on. Not modelled: transmission time, collisions.

use super::{Arrival, Counts, MOST_PASSED_OVER, Port, PortError, Wait};
use crate::clock::{self, Converter};
use crate::socket::{Received, Socket};
use bytes::Bytes;
use core::net::SocketAddr;
use stack::station::{Frame, Transmission, destination, source};
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::net::UdpSocket;
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// Prefix of each datagram.
const MAGIC: [u8; 4] = *b"TWF1";
/// Maximum frame length: the largest UDP datagram over IPv4 without the prefix.
const LONGEST_FRAME: usize = 65_507 - MAGIC.len();
/// Maximum number of stations; a further one evicts the learnt station with the oldest frame.
const MOST_PEERS: usize = 256;

/// Scope of the LAN.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reach {
    /// Processes of this host: every address must be a loopback address.
    ThisHost,
    /// Any host.
    AnyHost,
}

/// Parameters of a UDP port.
#[derive(Clone, Debug)]
pub struct UdpParams {
    /// Address of the own socket; port 0 lets the system choose.
    pub address: SocketAddr,
    /// Station address on the LAN.
    pub station: Mac,
    /// Stations and their sockets as static entries.
    pub peers: Vec<(Mac, SocketAddr)>,
    /// Learn stations from their frames.
    pub learn: bool,
    /// Scope.
    pub reach: Reach,
    /// Method of waiting.
    pub wait: Wait,
}

/// Entry of a station.
#[derive(Clone, Copy, Debug)]
struct Peer {
    address: SocketAddr,
    /// A static entry is never evicted.
    is_static: bool,
    /// Serial number of its latest datagram.
    heard: u64,
}

/// Station's port on a LAN of UDP sockets.
#[derive(Debug)]
pub struct Udp {
    socket: Socket,
    address: SocketAddr,
    name: String,
    params: UdpParams,
    peers: BTreeMap<Mac, Peer>,
    /// Datagrams admitted so far.
    admitted: u64,
    /// True once a station was evicted. A frame for an unknown station is then discarded; otherwise
    /// one sender that invents stations would have it copied to all of them.
    has_evicted: bool,
    converter: Converter,
    counts: Counts,
    buffer: Vec<u8>,
}

impl Udp {
    /// Opens the socket.
    ///
    /// # Errors
    /// [`PortError::NotLoopback`] if other hosts were not allowed, or the system's error.
    pub fn open(params: UdpParams) -> Result<Self, PortError> {
        let addresses = params.peers.iter().map(|(_, address)| *address);
        let elsewhere = addresses.chain([params.address]).find(|address| !is_here(*address));
        if let Some(address) = elsewhere.filter(|_| params.reach == Reach::ThisHost) {
            return Err(PortError::NotLoopback(address));
        }
        let socket = UdpSocket::bind(params.address).map_err(PortError::system("bind a socket"))?;
        let address = socket.local_addr().map_err(PortError::system("ask a socket's address"))?;
        let socket = Socket::from(socket);
        socket.stamp().map_err(PortError::system("ask for kernel stamps"))?;
        Ok(Self {
            socket,
            address,
            name: format!("udp/{address}"),
            peers: params
                .peers
                .iter()
                .map(|(mac, address)| (*mac, Peer::entered(*address)))
                .collect(),
            admitted: 0,
            has_evicted: false,
            params,
            converter: Converter::new(),
            counts: Counts::default(),
            buffer: vec![0; 65_536],
        })
    }

    /// Address of the socket, with the port that the system chose.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    fn transmit(&mut self, frame: &Frame, to: SocketAddr) -> Result<Transmission, PortError> {
        let parts =
            [IoSlice::new(&MAGIC), IoSlice::new(frame.head()), IoSlice::new(frame.payload())];
        match self.socket.send(&parts, Some(to)) {
            Ok(()) => Ok(Transmission::Sent),
            // A peer that has gone answers with an ICMP message; on a LAN this would go undetected.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                Ok(Transmission::Sent)
            }
            Err(error) if is_full(&error) => Ok(Transmission::GivenUp),
            Err(error) if is_down(&error) => Err(PortError::Down(self.name.clone())),
            Err(error) => Err(PortError::system("send a datagram")(error)),
        }
    }

    /// Returns the frame in the buffer, if it is valid, from an admitted sender, and for this
    /// station.
    fn accept(&mut self, received: &Received) -> Option<Frame> {
        let octets = self.buffer.get(..received.octets).unwrap_or_default();
        let frame = octets.strip_prefix(&MAGIC).map(Bytes::copy_from_slice).map(Frame::new);
        let from = received.from;
        let Some(frame) = frame.filter(|frame| from.is_some_and(|from| self.admit(frame, from)))
        else {
            self.counts.foreign += 1;
            return None;
        };
        let to = destination(&frame)?;
        (to == self.params.station || to.is_group()).then_some(frame)
    }

    /// Learns the sender's socket; returns whether the frame is accepted.
    fn admit(&mut self, frame: &Frame, from: SocketAddr) -> bool {
        let Some(mac) = source(frame).filter(|mac| !mac.is_group() && *mac != self.params.station)
        else {
            return false;
        };
        if self.params.reach == Reach::ThisHost && !is_here(from) {
            return false;
        }
        self.admitted += 1;
        let heard = self.admitted;
        match self.peers.get_mut(&mac) {
            Some(peer) if peer.is_static => peer.address == from,
            Some(peer) => {
                *peer = Peer { address: from, is_static: false, heard };
                true
            }
            None if self.params.learn => {
                if self.peers.len() >= MOST_PEERS {
                    self.evict();
                }
                self.peers.insert(mac, Peer { address: from, is_static: false, heard });
                true
            }
            None => false,
        }
    }

    /// Evicts the station with the oldest frame.
    fn evict(&mut self) {
        let learnt = self.peers.iter().filter(|(_, peer)| !peer.is_static);
        let oldest = learnt.min_by_key(|(_, peer)| peer.heard).map(|(mac, _)| *mac);
        if let Some(oldest) = oldest {
            self.peers.remove(&oldest);
            self.has_evicted = true;
        }
    }
}

impl Peer {
    const fn entered(address: SocketAddr) -> Self {
        Self { address, is_static: true, heard: 0 }
    }
}

fn is_here(address: SocketAddr) -> bool {
    address.ip().is_loopback()
}

fn is_down(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENETDOWN | libc::ENETUNREACH))
}

fn is_full(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::ENOBUFS)
}

impl Port for Udp {
    fn name(&self) -> &str {
        &self.name
    }

    fn addr(&self) -> Mac {
        self.params.station
    }

    fn send(&mut self, frame: &Frame) -> Result<Transmission, PortError> {
        if frame.len() > LONGEST_FRAME {
            return Err(PortError::TooLong { octets: frame.len(), limit: LONGEST_FRAME });
        }
        let to = destination(frame).unwrap_or_default();
        let known = self.peers.get(&to).map(|peer| peer.address);
        let outcome = if let Some(address) = known {
            self.transmit(frame, address)?
        } else if self.has_evicted && !to.is_group() {
            Transmission::GivenUp
        } else {
            let all: Vec<SocketAddr> = self.peers.values().map(|peer| peer.address).collect();
            let mut outcome = Transmission::Sent;
            for address in all {
                outcome = outcome.max(self.transmit(frame, address)?);
            }
            outcome
        };
        match outcome {
            Transmission::Sent => self.counts.sent += 1,
            Transmission::GivenUp | Transmission::NotTaken | Transmission::Refused => {
                self.counts.not_sent += 1
            }
        }
        Ok(outcome)
    }

    fn receive(&mut self, until: Instant) -> Result<Option<Arrival>, PortError> {
        for passed_over in 0_u64.. {
            let received = self.socket.receive_until(&mut self.buffer, until, self.params.wait);
            let received = match received {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => None,
                other => other.map_err(PortError::system("receive a datagram"))?,
            };
            let now = clock::now();
            let is_last = received.is_none() || passed_over >= MOST_PASSED_OVER;
            if let Some(received) = received
                && let Some(frame) = self.accept(&received)
            {
                self.counts.received += 1;
                let (at, stamp) = self.converter.arrival(received.wall_nanos, now);
                return Ok(Some(Arrival { at, taken: now, stamp, frame }));
            }
            if is_last && now >= until {
                break;
            }
        }
        Ok(None)
    }

    fn link_rate(&self) -> Option<BitRate> {
        None
    }

    fn is_unbounded(&self) -> bool {
        is_here(self.address)
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}
