//! Connections of a station: by the peer and the ports of their segments.

use super::connection::{Connection, Outgoing, Told};
use super::segment::{Datagram, Ports, Segment, with};
use super::service::{Counters, Indication, Note, Params, Request, Socket};
use super::table::{Event, State};
use crate::machine::{Deadline, Machine, Output};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use wire::addr::Mac;
use wire::tcp::Flags;
use wire::time::Instant;

/// First port of the connections that a station requests (RFC 6335 6), and the number of such ports.
const FIRST_PORT: u16 = 49_152;
const PORTS: u32 = 16_384;
/// Distance of the initial sequence numbers of two connections.
const SEQUENCE_STEP: u32 = 0x0100_0193;

/// Peer of a connection, and the ports of this side's segments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Ends {
    peer: Mac,
    ports: Ports,
}

/// TCP of a station.
#[derive(Clone, Debug)]
pub struct Entity {
    params: Params,
    last: u32,
    connections: BTreeMap<Socket, (Ends, Connection)>,
    sockets: BTreeMap<Ends, Socket>,
    outputs: VecDeque<Output<Datagram, Indication, Note>>,
    /// Counters of connections that have ended, and of datagrams for none.
    counters: Counters,
}

impl Entity {
    /// Creates an entity without connections.
    #[must_use]
    pub const fn new(params: Params) -> Self {
        Self {
            params,
            last: 0,
            connections: BTreeMap::new(),
            sockets: BTreeMap::new(),
            outputs: VecDeque::new(),
            counters: Counters {
                sent: 0,
                received: 0,
                retransmitted: 0,
                duplicates: 0,
                dropped: 0,
            },
        }
    }

    /// Parameters.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Socket for a connection that this side is about to request.
    pub const fn socket(&mut self) -> Socket {
        self.last += 1;
        Socket(self.last)
    }

    /// Number of connections in any state.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// State of a connection; `None` after its end.
    #[must_use]
    pub fn state(&self, socket: Socket) -> Option<State> {
        self.connections.get(&socket).map(|(_, connection)| connection.state())
    }

    /// Event counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let all = self.connections.values().map(|(_, connection)| connection.counters);
        all.fold(self.counters, sum)
    }

    const fn initial(&self, socket: Socket) -> u32 {
        self.params.first_sequence.wrapping_add(socket.0.wrapping_mul(SEQUENCE_STEP))
    }

    fn connect(&mut self, now: Instant, socket: Socket, peer: Mac) {
        let source = FIRST_PORT + (socket.0 % PORTS) as u16;
        let ends = Ends { peer, ports: Ports { source, destination: self.params.port } };
        let is_full = self.connections.len() >= self.params.connections;
        if is_full || self.sockets.contains_key(&ends) || self.connections.contains_key(&socket) {
            let lost = Indication::Ended { socket, lost: true };
            return self.outputs.push_back(Output::Deliver(lost));
        }
        let connection = Connection::request(now, &self.params, self.initial(socket));
        self.insert(socket, ends, connection);
    }

    fn insert(&mut self, socket: Socket, ends: Ends, connection: Connection) {
        self.sockets.insert(ends, socket);
        self.connections.insert(socket, (ends, connection));
        self.with(socket, |_| {});
    }

    /// Runs an action on a connection, and collects its outputs.
    fn with(&mut self, socket: Socket, act: impl FnOnce(&mut Connection)) {
        let Some((ends, connection)) = self.connections.get_mut(&socket) else { return };
        let (Ends { peer, ports }, here) = (*ends, self.params.address);
        act(connection);
        while let Some(output) = connection.poll() {
            self.outputs.push_back(match output {
                Outgoing::Segment(segment) => Output::Send(segment.datagram(here, peer, ports)),
                Outgoing::Retransmitted => Output::Note(Note::Retransmitted(socket)),
                Outgoing::Told(told) => Output::Deliver(match told {
                    Told::Opened if connection.is_called => Indication::Accepted { socket, peer },
                    Told::Opened => Indication::Opened { socket },
                    Told::Data(octets) => Indication::Data { socket, octets },
                    Told::Taken(octets) => Indication::Taken { socket, octets },
                    Told::Ended => Indication::Ended { socket, lost: false },
                    Told::Lost => Indication::Ended { socket, lost: true },
                }),
            });
        }
        if connection.state() == State::Closed
            && let Some((ends, connection)) = self.connections.remove(&socket)
        {
            self.sockets.remove(&ends);
            self.counters = sum(self.counters, connection.counters);
        }
    }

    /// Answers a segment of a peer for no connection: a SYN opens one, anything else is reset.
    fn stray(&mut self, now: Instant, ends: Ends, segment: &Segment) {
        self.counters.received += 1;
        let is_syn = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        let has_room = self.connections.len() < self.params.connections;
        if is_syn && ends.ports.source == self.params.port && has_room {
            let socket = self.socket();
            let initial = self.initial(socket);
            let connection = Connection::answer(now, &self.params, initial, segment);
            return self.insert(socket, ends, connection);
        }
        if segment.flags.has(Flags::RST) {
            return;
        }
        // RFC 9293 3.10.7.1.
        let octets = segment.data.len() as u32 + u32::from(is_syn);
        let octets = octets + u32::from(segment.flags.has(Flags::FIN));
        let has_number = segment.flags.has(Flags::ACK);
        let reset = Segment {
            flags: if has_number { Flags::RST } else { with(Flags::RST, Flags::ACK) },
            sequence: if has_number { segment.acknowledgement } else { 0 },
            acknowledgement: if has_number { 0 } else { segment.sequence.wrapping_add(octets) },
            window: 0,
            mss: None,
            data: Bytes::new(),
        };
        self.counters.sent += 1;
        let datagram = reset.datagram(self.params.address, ends.peer, ends.ports);
        self.outputs.push_back(Output::Send(datagram));
    }
}

impl Machine for Entity {
    type Request = Request;
    type Indication = Indication;
    type Pdu = Datagram;
    type Note = Note;

    /// Processes a request. A request for an ended connection has no effect, because its user was
    /// informed.
    fn request(&mut self, now: Instant, request: Request) {
        match request {
            Request::Connect { socket, peer } => self.connect(now, socket, peer),
            Request::Data { socket, octets } => {
                self.with(socket, |connection| connection.push(now, octets));
            }
            Request::Release { socket } => {
                self.with(socket, |connection| connection.step(now, Event::ReleaseRequested));
            }
            Request::Abort { socket } => {
                self.with(socket, |connection| connection.step(now, Event::AbortRequested));
            }
        }
    }

    fn receive(&mut self, now: Instant, datagram: Datagram) {
        let peer = datagram.station;
        let Some((ports, segment)) = Segment::of(datagram, self.params.address) else {
            self.counters.dropped += 1;
            return self.outputs.push_back(Output::Note(Note::Dropped));
        };
        let ports = Ports { source: ports.destination, destination: ports.source };
        let ends = Ends { peer, ports };
        match self.sockets.get(&ends) {
            Some(socket) => {
                self.with(*socket, |connection| connection.receive(now, segment));
            }
            None => self.stray(now, ends, &segment),
        }
    }

    fn expire(&mut self, now: Instant) {
        let due = |connection: &Connection| connection.deadline().is_some_and(|it| it.at <= now);
        let all = self.connections.iter();
        let expired = all.filter(|(_, (_, connection))| due(connection));
        for socket in expired.map(|(socket, _)| *socket).collect::<Vec<_>>() {
            self.with(socket, |connection| connection.expire(now));
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let all = self.connections.values();
        all.map(|(_, connection)| connection.deadline()).fold(None, Deadline::earlier)
    }

    fn poll(&mut self) -> Option<Output<Datagram, Indication, Note>> {
        self.outputs.pop_front()
    }
}

fn sum(one: Counters, other: Counters) -> Counters {
    Counters {
        sent: one.sent + other.sent,
        received: one.received + other.received,
        retransmitted: one.retransmitted + other.retransmitted,
        duplicates: one.duplicates + other.duplicates,
        dropped: one.dropped + other.dropped,
    }
}
