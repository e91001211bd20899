//! Carrier over TCP: transport connections of class 0 or 2 on TPKT (RFC 1006, RFC 2126).
//!
//! Load and the control session use separate connections, so an Alive never waits behind load.

pub use stack::tp0::Class;

use super::SessionError;
use super::carrier::{Carrier, OnWake, UNBOUNDED, offer};
use super::party::Party;
use core::net::SocketAddr;
use core::sync::atomic::AtomicBool;
use live::iso_tcp::{Counts, IsoTcp, IsoTcpParams};
use live::runner::Stopped;
use stack::host::{ConnectedParams, Host};
use stack::tp0;
use wire::addr::Mac;
use wire::control::Limits;
use wire::time::Instant;

/// Maximum number of connections of a server at a time.
const SERVER_LINES: usize = 256;
/// Maximum number of connections of a client: those of its flows, and the control session's.
const CLIENT_LINES: usize = 1_024;

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
        let offered = offer(params.frames_per_second, None, wire.is_within_host());
        let address = wire.address().or(remote);
        let name = address.map_or_else(String::new, |address| format!("iso-tcp://{address}"));
        Ok(Self { wire, params, offered, name })
    }

    /// Creates the host for it.
    pub(super) fn host(&self) -> Host {
        let (connections, accepts) = match self.params.end {
            End::Server(_) => (SERVER_LINES, true),
            End::Client(_) => (CLIENT_LINES, false),
        };
        let IsoWayParams { class, echoes, .. } = self.params;
        let transport = tp0::Params { class, connections, ..tp0::Params::class0() };
        Host::connected(ConnectedParams { transport, accepts, echoes })
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

    /// Address that stands for the server in a client's flows.
    pub(super) const fn server() -> Mac {
        Mac::local(1)
    }
}

impl Carrier for IsoWay {
    fn run(
        &mut self,
        party: &mut Party,
        until: Instant,
        stop: &AtomicBool,
        on_wake: OnWake<'_>,
    ) -> Result<Stopped, SessionError> {
        Ok(self.wire.run(party, until, stop, on_wake)?)
    }

    fn offered(&self) -> Limits {
        self.offered
    }

    // There are none only if both ends are on this host.
    fn agree(&mut self, limits: Limits) {
        let is_free = self.wire.is_within_host() && limits == UNBOUNDED;
        self.wire.limit((!is_free).then_some(limits));
    }

    fn disagree(&mut self) {
        self.wire.limit(None);
    }

    fn is_within_host(&self) -> bool {
        self.wire.is_within_host()
    }

    // A server distinguishes its callers by their connections alone.
    fn name_of(&self, peer: Mac) -> String {
        match self.params.end {
            End::Client(address) => format!("iso-tcp://{address}"),
            End::Server(_) => {
                let Mac([.., high, middle, low]) = peer;
                format!("connection {}", u32::from_be_bytes([0, high, middle, low]))
            }
        }
    }
}
