//! Measurement of a peer that is no tidewire: transport connections over TCP, opened and released,
//! and TSDUs that it echoes, if the user states that it does.
//!
//! Such a peer has not agreed to a load. So there is one connection at a time, one TSDU at a time,
//! a pause between connections, and all of it only on this host or in a private network.

use super::SessionError;
use bytes::{Bytes, BytesMut};
use core::mem;
use core::net::{IpAddr, SocketAddr};
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use live::iso_tcp::{IsoTcp, IsoTcpParams};
use live::runner::{Control, Stopped};
use stack::machine::{Deadline, Machine, Output};
use stack::network::{Network, NetworkConnectionId, NetworkStation};
use stack::tp0::{Class, Connection, Entity, Params};
use stack::transport::{Address, Endpoint, Indication, Reason, Request, disconnect_reason};
use stats::histogram::Histogram;
use wire::addr::Mac;
use wire::time::Instant;

/// Minimum pause between two connections.
pub const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
/// Largest TPDU proposed: the maximum of the standard for class 0, which some peers require.
const TPDU_OCTETS: usize = 2_048;
/// Maximum length of a TSDU that is sent to be echoed, in octets.
pub const LONGEST_ECHO: usize = 60_000;

/// Measurement of a foreign peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inquiry {
    /// Address of the peer.
    pub remote: SocketAddr,
    /// Preferred class.
    pub class: Class,
    /// Called TSAP-ID.
    pub called: Vec<u8>,
    /// Calling TSAP-ID.
    pub calling: Vec<u8>,
    /// Number of connections, opened one after the other.
    pub connections: u64,
    /// Time from opening one connection to opening the next.
    pub pause: Duration,
    /// Number of TSDUs sent on each connection, to be echoed by the peer.
    pub echoes: u64,
    /// Length of each TSDU in octets.
    pub echo_octets: usize,
    /// Timeout for every response of the peer.
    pub patience: Duration,
}

/// Results.
#[derive(Clone, Debug)]
pub struct Found {
    /// Connections requested.
    pub asked: u64,
    /// Connections that opened.
    pub opened: u64,
    /// Time from the TCP connect to T-CONNECT confirm.
    pub setup: Histogram,
    /// Time from the hand-over of a TSDU to the last octet of the same TSDU back.
    pub response: Histogram,
    /// TSDUs that came back changed.
    pub differing: u64,
    /// TSDUs that did not come back in time, or because the connection ended.
    pub unanswered: u64,
    /// Class of the last connection that opened.
    pub class: Option<Class>,
    /// TPDU size agreed for the last connection, in octets.
    pub tpdu_octets: usize,
    /// Reason for the last failure of a connection.
    pub failure: Option<Reason>,
}

/// Returns whether a foreign peer may be at this address: on this host or in a private network.
#[must_use]
pub fn is_near(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            address.is_loopback() || address.is_private() || address.is_link_local()
        }
        IpAddr::V6(address) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
    }
}

/// Carries out an inquiry; once `stop` is set it ends early, with the results so far.
///
/// # Errors
/// [`SessionError::TooFar`], or the system's error.
pub fn inquire(inquiry: &Inquiry, stop: &AtomicBool) -> Result<Found, SessionError> {
    if !is_near(inquiry.remote.ip()) {
        return Err(SessionError::TooFar(inquiry.remote));
    }
    let mut wire = IsoTcp::open(IsoTcpParams { listen: None, remote: Some(inquiry.remote) })?;
    let mut caller = Caller::new(inquiry.clone());
    // The inquiry ends by itself, because each of its steps has a timeout.
    let stopped = wire.run(&mut caller, Instant::MAX, stop, |caller, now| {
        caller.go_on(now);
        if caller.is_done() { Control::Stop } else { Control::Continue }
    })?;
    if stopped == Stopped::Flagged {
        caller.found.unanswered += u64::from(caller.sent_at.is_some());
    }
    Ok(caller.found)
}

/// User of one connection at a time.
struct Caller {
    inquiry: Inquiry,
    found: Found,
    entity: Entity,
    /// Current connection.
    endpoint: Option<Endpoint>,
    /// Time at which the current connection was requested.
    called_at: Instant,
    /// Earliest time for the next connection.
    next_at: Instant,
    /// Time at which the current TSDU was sent.
    sent_at: Option<Instant>,
    sent: u64,
    piece: BytesMut,
    outputs: Vec<(NetworkConnectionId, Network)>,
}

impl Caller {
    fn new(inquiry: Inquiry) -> Self {
        let found = Found {
            asked: 0,
            opened: 0,
            setup: Histogram::new(),
            response: Histogram::new(),
            differing: 0,
            unanswered: 0,
            class: None,
            tpdu_octets: 0,
            failure: None,
        };
        let Inquiry { class, patience, .. } = inquiry;
        let params = Params { class, patience, tpdu_octets: TPDU_OCTETS, ..Params::class0() };
        Self {
            inquiry,
            found,
            entity: Entity::new(params),
            endpoint: None,
            called_at: Instant::ZERO,
            next_at: Instant::ZERO,
            sent_at: None,
            sent: 0,
            piece: BytesMut::new(),
            outputs: Vec::new(),
        }
    }

    fn is_done(&self) -> bool {
        self.endpoint.is_none() && self.found.asked >= self.inquiry.connections
    }

    /// Opens the next connection, if it is due.
    fn go_on(&mut self, now: Instant) {
        if self.endpoint.is_some() || now < self.next_at || self.is_done() {
            return;
        }
        self.found.asked += 1;
        self.called_at = now;
        self.next_at = now + self.inquiry.pause.max(SHORTEST_PAUSE);
        (self.sent, self.sent_at) = (0, None);
        self.piece.clear();
        let endpoint = self.entity.endpoint();
        self.endpoint = Some(endpoint);
        let called = Bytes::from(self.inquiry.called.clone());
        let calling = Bytes::from(self.inquiry.calling.clone());
        // The driver calls the only peer there is.
        let (peer, data) = (Address::Station(Mac::local(1)), Bytes::new());
        self.entity.request(now, Request::Connect { endpoint, peer, called, calling, data });
        self.drain(now);
    }

    fn drain(&mut self, now: Instant) {
        while let Some(output) = self.entity.poll() {
            match output {
                Output::Send(action) => self.outputs.push(action),
                Output::Deliver(indication) => self.told(now, indication),
                Output::Note(_) => {}
            }
        }
    }

    fn told(&mut self, now: Instant, indication: Indication) {
        match indication {
            Indication::Confirm { endpoint, .. } => {
                self.found.opened += 1;
                self.found.setup.record(now - self.called_at);
                let connection = self.entity.connection(endpoint);
                self.found.class = connection.map(Connection::class);
                self.found.tpdu_octets = connection.map_or(0, Connection::tpdu_octets);
                self.next_echo(now);
            }
            Indication::Data { octets, end, .. } => self.came_back(now, &octets, end),
            Indication::Disconnect { reason, .. } => {
                self.found.failure = Some(reason);
                self.found.unanswered += u64::from(self.sent_at.take().is_some());
            }
            Indication::Closed { .. } => self.endpoint = None,
            Indication::Connect { .. }
            | Indication::Established { .. }
            | Indication::Expedited { .. }
            | Indication::ExpeditedRefused { .. }
            | Indication::Full { .. }
            | Indication::Ready { .. }
            | Indication::Drained { .. } => {}
        }
    }

    /// Sends the next TSDU, or releases the connection.
    fn next_echo(&mut self, now: Instant) {
        let tsdu = self.tsdu();
        let Some(endpoint) = self.endpoint else { return };
        if self.sent < self.inquiry.echoes {
            self.sent += 1;
            self.sent_at = Some(now);
            self.entity.request(now, Request::Data { endpoint, tsdu });
        } else {
            let reason = disconnect_reason::NORMAL;
            self.entity.request(now, Request::Disconnect { endpoint, reason });
        }
    }

    /// Octets of the next TSDU, which differ from those of the previous one.
    fn tsdu(&self) -> Bytes {
        let octets = self.inquiry.echo_octets.clamp(1, LONGEST_ECHO);
        (0..octets).map(|place| (place as u64 + self.sent) as u8).collect()
    }

    fn came_back(&mut self, now: Instant, octets: &[u8], end: bool) {
        if self.piece.len() <= LONGEST_ECHO {
            self.piece.extend_from_slice(octets);
        }
        if !end {
            return;
        }
        let whole = mem::take(&mut self.piece);
        let Some(sent_at) = self.sent_at.take() else {
            // Unsolicited data is no echo.
            self.found.differing += 1;
            return;
        };
        self.sent -= 1;
        let is_same = whole[..] == self.tsdu()[..];
        self.sent += 1;
        if is_same {
            self.found.response.record(now - sent_at);
        } else {
            self.found.differing += 1;
        }
        self.next_echo(now);
    }

    /// Time at which a TSDU that did not come back counts as unanswered.
    fn echo_due(&self) -> Option<Instant> {
        self.sent_at.map(|sent_at| sent_at + self.inquiry.patience)
    }
}

impl NetworkStation for Caller {
    fn incoming(&mut self, _now: Instant) -> Option<NetworkConnectionId> {
        None
    }

    fn receive(&mut self, now: Instant, line: NetworkConnectionId, network: Network) {
        self.entity.receive(now, (line, network));
        self.drain(now);
    }

    fn expire(&mut self, now: Instant) {
        self.entity.expire(now);
        if self.echo_due().is_some_and(|due| due <= now) {
            self.sent_at = None;
            self.found.unanswered += 1;
            self.sent = self.inquiry.echoes;
            self.next_echo(now);
        }
        self.drain(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        let echo = self.echo_due().map(|at| Deadline { at, timer: "echo" });
        let next = Deadline { at: self.next_at, timer: "pause" };
        match self.endpoint {
            Some(_) => Deadline::earlier(self.entity.deadline(), echo),
            None => Some(next).filter(|_| !self.is_done()),
        }
    }

    fn poll(&mut self) -> Option<(NetworkConnectionId, Network)> {
        if self.outputs.is_empty() { None } else { Some(self.outputs.remove(0)) }
    }

    fn takes_input(&self, _line: NetworkConnectionId) -> bool {
        true
    }

    fn is_idle(&self, line: NetworkConnectionId) -> bool {
        self.entity.is_idle(line.into())
    }

    fn is_control(&self, _line: NetworkConnectionId) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_peer_is_on_this_host_or_in_a_private_network() {
        for near in ["127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.0.9", "169.254.3.4", "::1"] {
            assert!(is_near(near.parse().unwrap()), "{near}");
        }
        for near in ["fd00::1", "fe80::1", "::ffff:10.0.0.1"] {
            assert!(is_near(near.parse().unwrap()), "{near}");
        }
        for far in ["8.8.8.8", "172.32.0.1", "2001:db8::1", "::ffff:1.1.1.1", "0.0.0.0"] {
            assert!(!is_near(far.parse().unwrap()), "{far}");
        }
    }
}
