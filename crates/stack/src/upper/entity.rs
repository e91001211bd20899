//! Upper layers of a host: one joint on each transport connection, whichever its class.

use super::joint::{Joint, Params, Primitive};
use crate::machine::{Deadline, Machine, Output};
use crate::messaging::Priority;
use crate::network::{Network, NetworkConnectionId};
use crate::session::Below;
use crate::tp4;
use crate::transport::{Address, Endpoint, Indication, Request, Transport, disconnect_reason};
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, VecDeque};
use wire::addr::Mac;
use wire::time::Instant;

/// Longest TSDU that is received: an MMS PDU of 65,000 octets, and the headers around it.
pub const LONGEST_TSDU: usize = 66_560;
/// Octets that may wait for room in the transport; a connection with more is aborted.
const WAITING_OCTETS: usize = 1 << 20;

/// Parameters of the entity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntityParams {
    /// Session, presentation and association control.
    pub joint: Params,
    /// True to accept transport connections, from any calling TSAP-ID to any called one.
    pub accepts: bool,
}

/// Primitive of one association.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Addressed {
    /// Endpoint of its transport connection.
    pub endpoint: Endpoint,
    /// Primitive.
    pub primitive: Primitive,
}

/// Transport service access points of a call.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tsaps {
    /// Calling TSAP-ID.
    pub calling: Bytes,
    /// Called TSAP-ID.
    pub called: Bytes,
}

#[derive(Clone, Debug)]
struct Connection {
    joint: Joint,
    /// TSAP-IDs and station to be called.
    tsaps: Tsaps,
    peer: Address,
    /// Octets of a TSDU that is not complete.
    piece: BytesMut,
    waiting: VecDeque<Bytes>,
    waiting_octets: usize,
    /// True once the transport connection is open.
    is_open: bool,
}

/// Output of the transport to its network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lower {
    /// Action on a network connection: classes 0 and 2.
    Network(NetworkConnectionId, Network),
    /// NSDU: class 4.
    Nsdu(tp4::Nsdu),
}

/// Upper layers of a host, and the transport below.
#[derive(Clone, Debug)]
pub struct Entity {
    params: EntityParams,
    transport: Transport,
    connections: BTreeMap<Endpoint, Connection>,
    down: VecDeque<Lower>,
    up: VecDeque<Addressed>,
    /// Transport connections that this side has opened.
    opened: VecDeque<Endpoint>,
}

impl Entity {
    /// Creates an entity above a transport.
    #[must_use]
    pub const fn new(params: EntityParams, transport: Transport) -> Self {
        Self {
            params,
            transport,
            connections: BTreeMap::new(),
            down: VecDeque::new(),
            up: VecDeque::new(),
            opened: VecDeque::new(),
        }
    }

    /// Creates a connection that is opened by its first A-ASSOCIATE request.
    pub fn call(&mut self, peer: Mac, tsaps: Tsaps) -> Endpoint {
        let endpoint = self.transport.endpoint(Priority::default());
        let peer = Address::Station(peer);
        let connection = Connection { tsaps, ..Connection::new(self.params.joint.clone(), peer) };
        self.connections.insert(endpoint, connection);
        endpoint
    }

    /// Read access to the layers of a connection; `None` after its end.
    #[must_use]
    pub fn joint(&self, endpoint: Endpoint) -> Option<&Joint> {
        self.connections.get(&endpoint).map(|connection| &connection.joint)
    }

    /// Read access to the transport.
    #[must_use]
    pub const fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Returns true if data of an association waits for room in the transport.
    #[must_use]
    pub fn is_congested(&self, endpoint: Endpoint) -> bool {
        self.connections.get(&endpoint).is_some_and(|it| !it.waiting.is_empty())
    }

    /// Number of transport connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Processes a primitive of an application.
    pub fn request(&mut self, now: Instant, addressed: Addressed) {
        if let Some(connection) = self.connections.get_mut(&addressed.endpoint) {
            connection.joint.request(now, addressed.primitive);
        }
        self.drain(now);
    }

    /// Ends a transport connection without the layers above it.
    pub fn disconnect(&mut self, now: Instant, endpoint: Endpoint) {
        let reason = disconnect_reason::NORMAL;
        self.transport_request(now, Request::Disconnect { endpoint, reason });
        self.drain(now);
    }

    /// Returns the next primitive to an application.
    pub fn poll(&mut self) -> Option<Addressed> {
        self.up.pop_front()
    }

    /// Returns the next transport connection that has opened.
    pub fn poll_opened(&mut self) -> Option<Endpoint> {
        self.opened.pop_front()
    }

    /// Returns the next output of the transport.
    pub fn poll_below(&mut self) -> Option<Lower> {
        self.down.pop_front()
    }

    // ---- network --------------------------------------------------------------------------------

    /// Accepts a network connection; `None` if the maximum number exists, or in class 4.
    pub fn incoming(&mut self, now: Instant) -> Option<NetworkConnectionId> {
        let Transport::Network(entity) = &mut self.transport else { return None };
        let line = entity.incoming(now);
        self.drain(now);
        line
    }

    /// Processes an event on a network connection.
    pub fn receive(&mut self, now: Instant, line: NetworkConnectionId, network: Network) {
        if let Transport::Network(entity) = &mut self.transport {
            entity.receive(now, (line, network));
        }
        self.drain(now);
    }

    /// Processes an NSDU.
    pub fn receive_nsdu(&mut self, now: Instant, nsdu: tp4::Nsdu) {
        if let Transport::Class4(entity) = &mut self.transport {
            entity.receive(now, nsdu);
        }
        self.drain(now);
    }

    /// Processes expired timers.
    pub fn expire(&mut self, now: Instant) {
        self.transport.expire(now);
        for connection in self.connections.values_mut() {
            connection.joint.expire(now);
        }
        self.drain(now);
    }

    /// Time and timer of the next [`Entity::expire`].
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        let joints = self.connections.values().map(|it| it.joint.deadline());
        joints.fold(self.transport.deadline(), Deadline::earlier)
    }

    // ---- the loop ---------------------------------------------------------------------------------

    /// Passes outputs on until there are none.
    fn drain(&mut self, now: Instant) {
        while self.poll_transport(now) || self.poll_joints(now) {}
    }

    fn poll_transport(&mut self, now: Instant) -> bool {
        let indication = match &mut self.transport {
            Transport::Class4(entity) => match entity.poll() {
                Some(Output::Deliver(indication)) => indication,
                Some(Output::Send(nsdu)) => {
                    self.down.push_back(Lower::Nsdu(nsdu));
                    return true;
                }
                Some(Output::Note(_)) => return true,
                None => return false,
            },
            Transport::Network(entity) => match entity.poll() {
                Some(Output::Deliver(indication)) => indication,
                Some(Output::Send((line, network))) => {
                    self.down.push_back(Lower::Network(line, network));
                    return true;
                }
                Some(Output::Note(_)) => return true,
                None => return false,
            },
        };
        self.indicate(now, indication);
        true
    }

    fn poll_joints(&mut self, now: Instant) -> bool {
        let mut acted = false;
        let mut requests = Vec::new();
        for (endpoint, connection) in &mut self.connections {
            while let Some(output) = connection.joint.poll() {
                acted = true;
                match output {
                    Output::Send(below) => requests.extend(connection.take(*endpoint, below)),
                    Output::Deliver(primitive) => {
                        self.up.push_back(Addressed { endpoint: *endpoint, primitive });
                    }
                    Output::Note(_) => {}
                }
            }
            if connection.waiting_octets > WAITING_OCTETS {
                // The user of a transport connection that it ends itself gets no indication.
                connection.drop_waiting();
                connection.joint.receive(now, Below::Disconnect);
                let (endpoint, reason) = (*endpoint, disconnect_reason::NOT_SPECIFIED);
                requests.push(Request::Disconnect { endpoint, reason });
            }
            acted |= connection.pass_on(now, *endpoint, &mut self.transport);
        }
        acted |= !requests.is_empty();
        for request in requests {
            self.transport_request(now, request);
        }
        acted
    }

    /// Passes a request to the transport. Where no other indication follows a disconnect request, it
    /// ends the connection here.
    fn transport_request(&mut self, now: Instant, request: Request) {
        let endpoint = request.endpoint();
        let is_end = matches!(request, Request::Disconnect { .. });
        self.transport.request(now, request);
        if is_end && !self.transport.reports_close() {
            self.remove(endpoint);
        }
    }

    /// Processes an indication of the transport.
    fn indicate(&mut self, now: Instant, indication: Indication) {
        match indication {
            Indication::Connect { endpoint, peer, .. } => self.connect(now, endpoint, peer),
            Indication::Confirm { endpoint, .. } => {
                self.opened.push_back(endpoint);
                self.tell(now, endpoint, Below::Connect);
            }
            Indication::Data { endpoint, octets, end } => self.data(now, endpoint, &octets, end),
            Indication::Full { endpoint, tsdu } => {
                if let Some(connection) = self.connections.get_mut(&endpoint) {
                    connection.waiting_octets += tsdu.len();
                    connection.waiting.push_front(tsdu);
                }
            }
            Indication::Disconnect { endpoint, .. } | Indication::Closed { endpoint } => {
                self.tell(now, endpoint, Below::Disconnect);
                self.remove(endpoint);
            }
            Indication::Established { .. }
            | Indication::Expedited { .. }
            | Indication::ExpeditedRefused { .. }
            | Indication::Ready { .. }
            | Indication::Drained { .. } => {}
        }
    }

    fn connect(&mut self, now: Instant, endpoint: Endpoint, peer: Address) {
        if !self.params.accepts {
            let reason = disconnect_reason::ADDRESS_UNKNOWN;
            return self.transport.request(now, Request::Disconnect { endpoint, reason });
        }
        let mut connection = Connection::new(self.params.joint.clone(), peer);
        connection.is_open = true;
        self.connections.insert(endpoint, connection);
        self.transport.request(now, Request::Accept { endpoint, data: Bytes::new() });
        self.tell(now, endpoint, Below::Connect);
    }

    fn data(&mut self, now: Instant, endpoint: Endpoint, octets: &Bytes, end: bool) {
        let Some(connection) = self.connections.get_mut(&endpoint) else { return };
        let tsdu = if connection.piece.is_empty() && end {
            octets.clone()
        } else {
            if connection.piece.len() + octets.len() > LONGEST_TSDU {
                let reason = disconnect_reason::PROTOCOL_ERROR;
                connection.piece.clear();
                self.transport.request(now, Request::Disconnect { endpoint, reason });
                self.tell(now, endpoint, Below::Disconnect);
                return self.remove(endpoint);
            }
            connection.piece.extend_from_slice(octets);
            if !end {
                return;
            }
            connection.piece.split().freeze()
        };
        self.tell(now, endpoint, Below::Data(tsdu));
    }

    /// Passes an event on to the session layer of a connection.
    fn tell(&mut self, now: Instant, endpoint: Endpoint, below: Below) {
        if let Some(connection) = self.connections.get_mut(&endpoint) {
            connection.is_open |= below == Below::Connect;
            connection.joint.receive(now, below);
        }
    }

    /// Removes a connection, after its last outputs.
    fn remove(&mut self, endpoint: Endpoint) {
        let Some(mut connection) = self.connections.remove(&endpoint) else { return };
        while let Some(output) = connection.joint.poll() {
            if let Output::Deliver(primitive) = output {
                self.up.push_back(Addressed { endpoint, primitive });
            }
        }
    }
}

impl Connection {
    fn new(params: Params, peer: Address) -> Self {
        Self {
            joint: Joint::new(params),
            tsaps: Tsaps::default(),
            peer,
            piece: BytesMut::new(),
            waiting: VecDeque::new(),
            waiting_octets: 0,
            is_open: false,
        }
    }

    /// Request to the transport for an output of the session layer, unless it has to wait.
    fn take(&mut self, endpoint: Endpoint, below: Below) -> Option<Request> {
        match below {
            Below::Connect => {
                let Tsaps { calling, called } = self.tsaps.clone();
                let (peer, data) = (self.peer, Bytes::new());
                Some(Request::Connect { endpoint, peer, called, calling, data })
            }
            Below::Data(tsdu) => {
                self.waiting_octets += tsdu.len();
                self.waiting.push_back(tsdu);
                None
            }
            Below::Disconnect => {
                self.drop_waiting();
                let reason = disconnect_reason::NORMAL;
                Some(Request::Disconnect { endpoint, reason })
            }
        }
    }

    /// Passes waiting TSDUs on as far as the transport has room; returns true if there was one.
    fn pass_on(&mut self, now: Instant, endpoint: Endpoint, transport: &mut Transport) -> bool {
        let mut acted = false;
        while self.is_open
            && self.waiting.front().is_some_and(|tsdu| transport.has_room(endpoint, tsdu.len()))
        {
            let Some(tsdu) = self.waiting.pop_front() else { break };
            acted = true;
            self.waiting_octets -= tsdu.len();
            transport.request(now, Request::Data { endpoint, tsdu });
        }
        acted
    }

    fn drop_waiting(&mut self) {
        self.waiting.clear();
        self.waiting_octets = 0;
    }
}
