//! Transport entity of a host on a network with connections: one transport connection on each of
//! them, admission and eviction.

use super::connection::Connection;
use super::service::{Note, Params};
use super::table::State;
use crate::machine::{Deadline, Machine, Output};
use crate::network::{Network, NetworkConnectionId};
use crate::transport::service::{Counters, Endpoint, Indication, Reason, Request};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wire::time::Instant;

/// Transport entity of class 0 and 2.
#[derive(Clone, Debug)]
pub struct Entity {
    params: Params,
    last_line: u32,
    /// Lines without a connection yet.
    assigned: BTreeSet<NetworkConnectionId>,
    connections: BTreeMap<NetworkConnectionId, Connection>,
    outputs: VecDeque<Output<(NetworkConnectionId, Network), Indication, Note>>,
    /// Counters of closed connections.
    counters: Counters,
}

impl Entity {
    /// Creates an entity without connections.
    #[must_use]
    pub fn new(params: Params) -> Self {
        Self {
            params,
            last_line: 0,
            assigned: BTreeSet::new(),
            connections: BTreeMap::new(),
            outputs: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Endpoint for a connection that this side is about to request.
    pub fn endpoint(&mut self) -> Endpoint {
        self.last_line = self.last_line.wrapping_add(1).max(1);
        self.assigned.insert(NetworkConnectionId(self.last_line));
        NetworkConnectionId(self.last_line).into()
    }

    /// Accepts a network connection; `None` if the maximum number exists.
    pub fn incoming(&mut self, now: Instant) -> Option<NetworkConnectionId> {
        let line = self.endpoint().line();
        self.admit(line).then(|| self.receive(now, (line, Network::Connect)))?;
        Some(line)
    }

    /// Read access to a connection; `None` after its end.
    #[must_use]
    pub fn connection(&self, endpoint: Endpoint) -> Option<&Connection> {
        self.connections.get(&endpoint.line())
    }

    /// Returns true if a TSDU of `octets` octets fits the queue of an open connection, or the queue
    /// is empty. If not, [`Indication::Ready`] follows as soon as it does.
    pub fn has_room(&mut self, endpoint: Endpoint, octets: usize) -> bool {
        let connection = self.connections.get_mut(&endpoint.line());
        connection.is_some_and(|connection| connection.has_room(octets))
    }

    /// Returns true if no data of a connection waits to be passed to the network.
    #[must_use]
    pub fn is_idle(&self, endpoint: Endpoint) -> bool {
        self.connection(endpoint).is_none_or(Connection::is_idle)
    }

    /// Event counters; zero where the classes have none.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut sum = self.counters.clone();
        self.connections.values().for_each(|connection| add(&mut sum, &connection.counters));
        sum
    }

    /// Number of connections in any state.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    fn is_indicated(&self, endpoint: Endpoint) -> bool {
        self.connection(endpoint).is_some_and(|it| it.state() == State::Indicated)
    }

    /// Creates the connection of a line; returns `false` if the maximum number exists.
    fn admit(&mut self, line: NetworkConnectionId) -> bool {
        self.assigned.remove(&line);
        if self.connections.len() >= self.params.connections && !self.evict() {
            self.counters.refusals += 1;
            return false;
        }
        self.connections.insert(line, Connection::new(self.params.clone(), line));
        true
    }

    /// Makes room by closing the oldest connection that a peer has opened without a user; returns
    /// true if there was one. Otherwise idle callers could keep out all others.
    fn evict(&mut self) -> bool {
        let idle = self.connections.iter().find(|(_, connection)| connection.has_no_user());
        let Some((line, _)) = idle else { return false };
        let line = *line;
        self.connections.remove(&line);
        self.counters.refusals += 1;
        // The first disconnect requests a release, the second does not wait for it.
        let disconnect = || Output::Send((line, Network::Disconnect));
        self.outputs.extend([disconnect(), disconnect()]);
        true
    }

    /// Runs an action on a connection, and collects its outputs.
    fn with(&mut self, line: NetworkConnectionId, act: impl FnOnce(&mut Connection)) {
        let Some(connection) = self.connections.get_mut(&line) else { return };
        act(connection);
        while let Some(output) = connection.poll() {
            self.outputs.push_back(match output {
                Output::Send(network) => Output::Send((line, network)),
                Output::Deliver(indication) => Output::Deliver(indication),
                Output::Note(note) => Output::Note(note),
            });
        }
    }
}

impl Machine for Entity {
    type Request = Request;
    type Indication = Indication;
    type Pdu = (NetworkConnectionId, Network);
    type Note = Note;

    /// Processes a request. A request for an ended connection has no effect, because its user was
    /// informed.
    fn request(&mut self, now: Instant, request: Request) {
        let endpoint = request.endpoint();
        match &request {
            // An endpoint is used once.
            Request::Connect { .. } if !self.assigned.contains(&endpoint.line()) => return,
            Request::Connect { .. } if !self.admit(endpoint.line()) => {
                let reason = Reason::TooManyConnections;
                let refused = Indication::Disconnect { endpoint, reason };
                self.outputs.push_back(Output::Deliver(refused));
                return self.outputs.push_back(Output::Deliver(Indication::Closed { endpoint }));
            }
            Request::Disconnect { .. } if self.is_indicated(endpoint) => {
                self.counters.refusals += 1;
            }
            _ => {}
        }
        self.with(endpoint.line(), |connection| connection.request(now, request));
    }

    fn receive(&mut self, now: Instant, pdu: Self::Pdu) {
        let (line, network) = pdu;
        let is_end = network == Network::Disconnect;
        self.with(line, |connection| connection.receive(now, network));
        if is_end && let Some(connection) = self.connections.remove(&line) {
            add(&mut self.counters, &connection.counters);
            let closed = Indication::Closed { endpoint: line.into() };
            self.outputs.push_back(Output::Deliver(closed));
        }
    }

    fn expire(&mut self, now: Instant) {
        let due = |connection: &Connection| connection.deadline().is_some_and(|due| due.at <= now);
        let expired = self.connections.iter().filter(|(_, connection)| due(connection));
        for line in expired.map(|(line, _)| *line).collect::<Vec<_>>() {
            self.with(line, |connection| connection.expire(now));
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.connections.values().map(Machine::deadline).fold(None, Deadline::earlier)
    }

    fn poll(&mut self) -> Option<Output<(NetworkConnectionId, Network), Indication, Note>> {
        self.outputs.pop_front()
    }
}

/// Adds the counters of a connection to a sum.
fn add(sum: &mut Counters, own: &Counters) {
    sum.sent.iter_mut().zip(own.sent).for_each(|(sum, own)| *sum += own);
    sum.received.iter_mut().zip(own.received).for_each(|(sum, own)| *sum += own);
    sum.malformed += own.malformed;
    sum.closed_window += own.closed_window;
}
