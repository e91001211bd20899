//! Carrier over TCP: transport connections of class 0 or 2 on TPKT (RFC 1006, RFC 2126).
//!
//! Load and the control session use separate connections, so an Alive never waits behind load.

pub use stack::tp0::Class;

use super::SessionError;
use core::net::SocketAddr;
use live::iso_tcp::{Counts, IsoTcp, IsoTcpParams};
use live::port::default_limits;
use stack::profile::{NetworkHost, NetworkHostParams};
use stack::tp0;
use wire::addr::Mac;
use wire::rendezvous::Limits;

/// Maximum number of connections of a server at a time.
const SERVER_LINES: usize = 256;
/// Maximum number of connections of a client: those of its flows, and the control session's.
const CLIENT_LINES: usize = 1_024;
/// Offer if load cannot affect other hosts.
const UNBOUNDED: Limits = Limits { frames_per_second: u32::MAX, bits_per_second: u64::MAX >> 1 };

/// Role in the connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Server, which listens at this address.
    Server(SocketAddr),
    /// Client, which calls this server.
    Client(SocketAddr),
}

/// Parameters of the carrier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IsoWayParams {
    /// Role.
    pub end: End,
    /// Preferred class when calling.
    pub class: Class,
    /// True if a server echoes the data of callers other than tidewire.
    pub echoes: bool,
    /// Packets per second to offer instead of the default.
    pub frames_per_second: Option<u32>,
}

/// TCP connections, with their limits.
#[derive(Debug)]
pub struct IsoWay {
    pub(super) wire: IsoTcp,
    params: IsoWayParams,
    offered: Limits,
    name: String,
}

impl IsoWay {
    /// Starts to listen, or prepares to call.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(params: IsoWayParams) -> Result<Self, SessionError> {
        let (listen, remote) = match params.end {
            End::Server(address) => (Some(address), None),
            End::Client(address) => (None, Some(address)),
        };
        let wire = IsoTcp::open(IsoTcpParams { listen, remote })?;
        let mut offered = default_limits(None);
        if let Some(frames_per_second) = params.frames_per_second {
            let bits_per_second = u64::from(frames_per_second) * 12_208;
            offered = Limits { frames_per_second, bits_per_second };
        }
        if wire.is_within_host() && params.frames_per_second.is_none() {
            offered = UNBOUNDED;
        }
        let address = wire.address().or(remote);
        let name = address.map_or_else(String::new, |address| format!("iso-tcp://{address}"));
        Ok(Self { wire, params, offered, name })
    }

    /// Creates the host for it.
    pub(super) fn host(&self) -> NetworkHost {
        let transport = tp0::Params { class: self.params.class, ..tp0::Params::class0() };
        let (lines, accepts) = match self.params.end {
            End::Server(_) => (SERVER_LINES, true),
            End::Client(_) => (CLIENT_LINES, false),
        };
        let echoes = self.params.echoes;
        NetworkHost::new(NetworkHostParams { transport, lines, accepts, echoes })
    }

    /// Display name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Address at which it listens, with the port that the system chose.
    #[must_use]
    pub const fn address(&self) -> Option<SocketAddr> {
        self.wire.address()
    }

    /// Counters so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.wire.counts()
    }

    /// Maximum load that this side offers to send or receive.
    #[must_use]
    pub const fn offered(&self) -> Limits {
        self.offered
    }

    /// Enforces the agreed limits. There are none only if both ends are on this host.
    pub(super) fn agree(&mut self, limits: Limits) {
        let is_free = self.wire.is_within_host() && limits == UNBOUNDED;
        self.wire.limit((!is_free).then_some(limits));
    }

    /// Address that stands for the server in a client's flows.
    pub(super) const fn server() -> Mac {
        Mac::local(1)
    }

    /// Display name of a peer. A server distinguishes its callers by their connections alone.
    pub(super) fn peer_name(&self, peer: Mac) -> String {
        match self.params.end {
            End::Client(address) => format!("iso-tcp://{address}"),
            End::Server(_) => {
                let Mac([.., high, middle, low]) = peer;
                format!("connection {}", u32::from_be_bytes([0, high, middle, low]))
            }
        }
    }
}
