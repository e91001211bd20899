//! Station of one user, who sends messages through the layers up to a chosen one.
//!
//! ```text
//!   user
//!   MMS ── an information report with one octet string
//!   │ presentation and association control (MAP 3.0)
//!   │   CASE (MAP 2.1)
//!   session
//!   transport class 4, inactive CLNP
//!   LLC type 1, framing
//! ```
//!
//! It has one connection with one peer, and a message passes each layer once. Such a station shows
//! the cost of each layer: two of them with neighbouring tops differ in one layer alone. On a machine
//! that takes time, its layers request work as those of a [`Host`](crate::host::Host) do.
//!
//! Left out: the release of the connection, and MMS's initiate, which a report does not need.

mod upper;

use super::Framing;
use crate::clnp::{self, Network};
use crate::host::MESSAGE_SAP;
use crate::host::pdu_work::{self, Steps};
use crate::llc::type1::{self, Type1};
use crate::llc::type3;
use crate::machine::{Deadline, Machine as _, Output};
use crate::session::Below;
use crate::station::{Charge, Frame, Station, Transmission, Work, WorkLayer};
use crate::tp4::{self, Nsdu, TransmitHandle};
use crate::transport::{Address, Endpoint, Indication, Request};
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use upper::{Above, Upper};
use wire::addr::{Mac, Nsap, Sap};
use wire::packet::Packet;
use wire::time::Instant;

/// Limit of octets of a message under reassembly.
const LONGEST: usize = 1 << 16;
/// Limit of messages that wait to be taken.
const MOST_MESSAGES: usize = 64;

/// Highest layer that a message passes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Top {
    /// LLC type 1.
    Link,
    /// Class 4 transport.
    Transport,
    /// Session.
    Session,
    /// CASE, above session.
    Case,
    /// MMS with presentation and association control, above session.
    Mms,
}

/// Parameters of a station.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LayeredParams {
    /// MAC address.
    pub address: Mac,
    /// Station of the other user.
    pub peer: Mac,
    /// Highest layer.
    pub top: Top,
    /// Frame format.
    pub framing: Framing,
    /// Parameters of the transport entity.
    pub transport: tp4::Params,
    /// Reference before the first one that transport assigns: another one than that of an earlier
    /// station at this address, whose frames may still be under way.
    pub last_reference: u16,
    /// Work that takes time on its machine.
    pub charged: BTreeSet<Charge>,
}

/// Data unit between two layers, which waits for the work on it.
#[derive(Clone, Debug)]
enum Cargo {
    /// Message of the user, on its way to the highest layer.
    Message(Bytes),
    /// TSDU of the layers above transport.
    Tsdu(Bytes),
    Outgoing(Nsdu, Option<TransmitHandle>),
    Incoming(Nsdu),
    /// TSDU for the layers above transport.
    Received(Bytes),
    /// Message for the user.
    Arrival(Bytes),
}

/// Station of one user and its layers.
#[derive(Clone, Debug)]
pub struct Layered {
    params: LayeredParams,
    llc: Type1,
    network: Network,
    transport: tp4::Entity,
    upper: Upper,
    endpoint: Option<Endpoint>,
    is_open: bool,
    is_drained: bool,
    failure: Option<&'static str>,
    /// Octets of a TSDU received so far.
    piece: BytesMut,
    messages: VecDeque<Bytes>,
    frames: VecDeque<(Frame, Option<TransmitHandle>)>,
    /// Timers of the frames that the medium has, oldest first.
    ahead: VecDeque<Option<TransmitHandle>>,
    begun: VecDeque<Work>,
    under_way: BTreeMap<u64, (Cargo, Steps)>,
    next: u64,
}

impl Layered {
    /// Creates a station without a connection.
    #[must_use]
    pub fn new(params: LayeredParams) -> Self {
        let network = clnp::Params::inactive(Nsap::of_station(params.address));
        Self {
            llc: Type1::new([Sap::ISO_NETWORK, MESSAGE_SAP]),
            network: Network::new(network),
            transport: tp4::Entity::new(params.transport.clone(), params.last_reference),
            upper: Upper::new(params.top),
            endpoint: None,
            is_open: params.top == Top::Link,
            is_drained: true,
            failure: None,
            piece: BytesMut::new(),
            messages: VecDeque::new(),
            frames: VecDeque::new(),
            ahead: VecDeque::new(),
            begun: VecDeque::new(),
            under_way: BTreeMap::new(),
            next: 0,
            params,
        }
    }

    /// Opens the connection, and the association if there is one.
    pub fn open(&mut self, now: Instant) {
        if self.params.top == Top::Transport {
            self.connect(now);
        }
        self.upper.connect(now);
        self.drain(now);
    }

    /// Returns true if messages can be sent.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Returns true if the peer's transport has acknowledged every message; without transport, true.
    #[must_use]
    pub const fn is_acknowledged(&self) -> bool {
        self.is_drained
    }

    /// Reason why the connection has ended, if it has.
    #[must_use]
    pub const fn failure(&self) -> Option<&'static str> {
        self.failure
    }

    /// Passes a message to the highest layer.
    pub fn send(&mut self, now: Instant, data: Bytes) {
        self.is_drained = self.params.top == Top::Link;
        self.submit(now, Cargo::Message(data));
        self.drain(now);
    }

    /// Takes the oldest message for the user.
    pub fn take(&mut self) -> Option<Bytes> {
        self.messages.pop_front()
    }

    // ---- work -----------------------------------------------------------------------------------

    /// Layer above session.
    const fn user_layer(&self) -> WorkLayer {
        match self.params.top {
            Top::Case => WorkLayer::Case,
            Top::Mms => WorkLayer::Mms,
            Top::Link | Top::Transport | Top::Session => WorkLayer::Session,
        }
    }

    fn path(&self, cargo: &Cargo) -> Steps {
        let crossing = |charge| core::iter::once(charge).collect();
        match cargo {
            Cargo::Message(_) => crossing(Charge::DOWN),
            Cargo::Arrival(_) => crossing(Charge::UP),
            Cargo::Tsdu(tsdu) => pdu_work::of_spdu_down(tsdu, self.user_layer()),
            Cargo::Received(tsdu) => pdu_work::of_spdu_up(tsdu, self.user_layer()),
            Cargo::Outgoing(nsdu, _) => pdu_work::of_nsdu_down(&nsdu.packet),
            Cargo::Incoming(nsdu) => pdu_work::of_nsdu_up(&nsdu.packet),
        }
    }

    /// Passes a data unit on, after the work on it that takes time.
    fn submit(&mut self, now: Instant, cargo: Cargo) {
        if self.params.charged.is_empty() {
            return self.carry(now, cargo);
        }
        let mut steps = self.path(&cargo);
        steps.retain(|charge| self.params.charged.contains(charge));
        self.step(now, cargo, steps);
    }

    fn step(&mut self, now: Instant, cargo: Cargo, mut steps: Steps) {
        let Some(charge) = steps.pop() else { return self.carry(now, cargo) };
        let octets = match &cargo {
            Cargo::Message(data)
            | Cargo::Tsdu(data)
            | Cargo::Received(data)
            | Cargo::Arrival(data) => data.len(),
            Cargo::Outgoing(nsdu, _) | Cargo::Incoming(nsdu) => nsdu.packet.len(),
        };
        let is_link = self.params.top == Top::Link;
        let sap = if is_link { MESSAGE_SAP } else { Sap::ISO_NETWORK };
        self.begun.push_back(Work { number: self.next, charge, sap, octets });
        self.under_way.insert(self.next, (cargo, steps));
        self.next += 1;
    }

    /// Passes a data unit to the next layer.
    fn carry(&mut self, now: Instant, cargo: Cargo) {
        match cargo {
            Cargo::Message(data) => self.pass_message(now, data),
            Cargo::Tsdu(tsdu) => self.pass_tsdu(now, tsdu),
            Cargo::Outgoing(Nsdu { peer: Address::Station(station), mut packet }, handle) => {
                if self.network.send_inactive(station, &mut packet) {
                    self.send_lsdu(Sap::ISO_NETWORK, packet, handle);
                }
            }
            Cargo::Incoming(nsdu) => self.transport.receive(now, nsdu),
            Cargo::Received(tsdu) => self.upper.receive(now, Below::Data(tsdu)),
            Cargo::Arrival(data) => {
                if self.messages.len() < MOST_MESSAGES {
                    self.messages.push_back(data);
                }
            }
        }
    }

    // ---- downwards ------------------------------------------------------------------------------

    fn pass_message(&mut self, now: Instant, data: Bytes) {
        match self.params.top {
            Top::Link => self.send_lsdu(MESSAGE_SAP, Packet::new(data), None),
            Top::Transport => self.pass_tsdu(now, data),
            Top::Session | Top::Case | Top::Mms => self.upper.send(now, data),
        }
    }

    fn connect(&mut self, now: Instant) {
        let endpoint = self.transport.endpoint();
        self.endpoint = Some(endpoint);
        let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
        let peer = Address::Station(self.params.peer);
        self.transport.request(now, Request::Connect { endpoint, peer, called, calling, data });
    }

    fn pass_tsdu(&mut self, now: Instant, tsdu: Bytes) {
        if let Some(endpoint) = self.endpoint {
            self.transport.request(now, Request::Data { endpoint, tsdu });
        }
    }

    fn send_lsdu(&mut self, sap: Sap, data: Packet, handle: Option<TransmitHandle>) {
        let type1::Lpdu { station, packet } = type1::Lpdu::ui(self.params.peer, sap, sap, data);
        let lpdu = type3::Lpdu { station, priority: 0, packet, handle: None };
        let frame = self.params.framing.frame(self.params.address, lpdu);
        self.frames.push_back((frame, handle));
    }

    // ---- upwards --------------------------------------------------------------------------------

    /// Processes an indication of transport.
    fn indicate(&mut self, now: Instant, indication: Indication) {
        match indication {
            Indication::Connect { endpoint, .. } if self.endpoint.is_none() => {
                self.endpoint = Some(endpoint);
                self.transport.request(now, Request::Accept { endpoint, data: Bytes::new() });
                self.connected(now);
            }
            Indication::Confirm { .. } => self.connected(now),
            Indication::Data { octets, end, .. } => {
                if self.piece.len() + octets.len() <= LONGEST {
                    self.piece.extend_from_slice(&octets);
                }
                if !end {
                    return;
                }
                let tsdu = self.piece.split().freeze();
                let is_top = self.params.top == Top::Transport;
                self.submit(now, if is_top { Cargo::Arrival(tsdu) } else { Cargo::Received(tsdu) });
            }
            Indication::Drained { .. } => self.is_drained = true,
            Indication::Disconnect { reason, .. } => {
                self.failure = Some(reason.text());
                self.is_open = false;
                self.upper.receive(now, Below::Disconnect);
            }
            Indication::Connect { .. }
            | Indication::Established { .. }
            | Indication::Expedited { .. }
            | Indication::ExpeditedRefused { .. }
            | Indication::Full { .. }
            | Indication::Ready { .. }
            | Indication::Closed { .. } => {}
        }
    }

    fn connected(&mut self, now: Instant) {
        if self.params.top == Top::Transport {
            self.is_open = true;
        }
        self.upper.receive(now, Below::Connect);
    }

    fn indicate_above(&mut self, now: Instant, above: Above) {
        match above {
            Above::Requested => {
                self.upper.accept(now);
                self.is_open = true;
            }
            Above::Accepted => self.is_open = true,
            Above::Message(data) => self.submit(now, Cargo::Arrival(data)),
            Above::Ended => {
                self.is_open = false;
                self.failure = self.failure.or(Some("association ended"));
            }
        }
    }

    // ---- the loop -------------------------------------------------------------------------------

    fn drain(&mut self, now: Instant) {
        while self.poll_above(now) || self.poll_transport(now) {}
    }

    fn poll_transport(&mut self, now: Instant) -> bool {
        match self.transport.poll() {
            Some(Output::Deliver(indication)) => self.indicate(now, indication),
            Some(Output::Send(nsdu)) => {
                let handle = self.transport.handle();
                self.submit(now, Cargo::Outgoing(nsdu, handle));
            }
            Some(Output::Note(_)) => {}
            None => return false,
        }
        true
    }

    fn poll_above(&mut self, now: Instant) -> bool {
        match self.upper.poll() {
            Some(Output::Send(Below::Connect)) => self.connect(now),
            Some(Output::Send(Below::Data(tsdu))) => self.submit(now, Cargo::Tsdu(tsdu)),
            Some(Output::Send(Below::Disconnect)) => {
                self.indicate_above(now, Above::Ended);
            }
            Some(Output::Deliver(above)) => self.indicate_above(now, above),
            Some(Output::Note(())) => {}
            None => return false,
        }
        true
    }
}

impl Station for Layered {
    fn addr(&self) -> Mac {
        self.params.address
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        let Some(type3::Lpdu { station, mut packet, .. }) = self.params.framing.lpdu(frame) else {
            return;
        };
        match self.llc.read_ui(&mut packet) {
            Some((Sap::ISO_NETWORK, _)) if self.network.receive_inactive(station, &mut packet) => {
                self.submit(now, Cargo::Incoming(Nsdu { peer: Address::Station(station), packet }));
            }
            Some((MESSAGE_SAP, _)) => self.submit(now, Cargo::Arrival(packet.to_bytes())),
            // Neither full CLNP nor XID and TEST: the peer sends none.
            _ => {}
        }
        self.drain(now);
    }

    fn expire(&mut self, now: Instant) {
        self.transport.expire(now);
        self.upper.expire(now);
        self.drain(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        Deadline::earlier(self.transport.deadline(), self.upper.deadline())
    }

    fn poll(&mut self) -> Option<Frame> {
        let (frame, handle) = self.frames.pop_front()?;
        self.ahead.push_back(handle);
        Some(frame)
    }

    fn work(&mut self) -> Option<Work> {
        self.begun.pop_front()
    }

    fn worked(&mut self, now: Instant, work: Work) {
        if let Some((cargo, steps)) = self.under_way.remove(&work.number) {
            self.step(now, cargo, steps);
        }
        self.drain(now);
    }

    fn transmitted(&mut self, now: Instant, _queue: u8, outcome: Transmission) {
        let handle = match outcome {
            Transmission::NotTaken => self.ahead.pop_back(),
            Transmission::Sent | Transmission::GivenUp | Transmission::Refused => {
                self.ahead.pop_front()
            }
        };
        if let Some(handle) = handle.flatten() {
            self.transport.transmitted(now, handle);
            self.drain(now);
        }
    }
}

#[cfg(test)]
mod tests;
