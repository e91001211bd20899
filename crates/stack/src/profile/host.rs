//! Station of a LAN: class 4 transport over CLNP over LLC type 1, the messaging service over LLC
//! types 1 and 3, and their users.
//!
//! ```text
//!   senders ┬──────────┬─────────┬ sinks          users: stack::load
//!           │ class 4  │ sockets │                TSAP "tidewire"; a socket for each flow
//!           │ inactive │         │                one octet, 00
//!           ├ LLC 1 ───┴ LLC 1+3 ┤                SAP FE; messages without connection on SAP 5C
//!           └─ 802.3, 802.5 … ───┘
//! ```
//!
//! If a MAC has one queue and the host has sockets, or if [`Host::above`] requires it, the host
//! passes one frame at a time. So the most urgent frame waits for at most one frame of its own
//! station. The order is by priority, and messages go first among equals. A MAC with queues by
//! priority gets every frame at once ([`MacQueues`]). Frames of the further SAPs are few and keep
//! sessions alive: they go first, and do not wait for that one frame.

mod crossing;
mod frames;
mod network;
mod station;
mod users;
mod waiting;

use super::conversation::{Conversation, Role};
use super::framing::Framing;
use super::sockets::{Handed, Said, Sockets};
use crate::clnp::{self, Network};
use crate::llc::type1::{self, Lpdu, Type1};
use crate::llc::type3;
use crate::load::{Absence, Event, Flow, FlowId, Outcome, Pattern, Record, Sender, Sink, Stage};
use crate::machine::{Machine, Output};
use crate::messaging::{self, Messaging, Priority};
use crate::station::{Frame, MacQueues, PRIORITIES};
use crate::tp4::{
    Endpoint, Entity, Indication, Params, Reason, Request, Ticket, disconnect_reason,
};
use bytes::Bytes;
use crossing::{Arrival, Asker, Crossings};
use frames::{Frames, Outgoing};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use waiting::Waiting;
use wire::addr::{Mac, Sap};
use wire::packet::Packet;
use wire::time::Instant;

/// LSAP of messages sent without a connection.
pub const MESSAGE_SAP: Sap = Sap(0x5C);
/// TSAP-ID of the users that generate traffic.
const TSAP: &[u8] = b"tidewire";
/// Maximum number of frames of bulk datagram flows at the medium.
const FRAMES_AHEAD: usize = 4;
/// Maximum number of LSDUs for other SAPs that are kept until fetched.
const OTHERS: usize = 64;

/// Parameters of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostParams {
    /// MAC address.
    pub address: Mac,
    /// Parameters of the transport entity.
    pub transport: Params,
    /// Parameters of the network layer. Peers have the NSAP of [`wire::addr::Nsap::of_station`].
    pub network: clnp::Params,
    /// Reference before the first one that it assigns.
    pub last_reference: u16,
    /// True to accept connections and answer requests.
    pub accepts: bool,
    /// Further SAPs, whose LSDUs are fetched with [`Host::unitdata`].
    pub saps: Vec<Sap>,
    /// Frame format.
    pub framing: Framing,
    /// Parameters of the messaging service, if there is one.
    pub messaging: Option<messaging::Params>,
}

/// Destination and priority of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct To {
    /// Destination station.
    pub(super) station: Mac,
    /// Priority in its frames.
    pub(super) priority: Priority,
}

/// An LSDU from or to one of the further SAPs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unitdata {
    /// Other station.
    pub station: Mac,
    /// SAP, the same at both ends.
    pub sap: Sap,
    /// The LSDU.
    pub data: Packet,
}

#[derive(Clone, Debug)]
struct Flowing {
    sender: Sender,
    endpoint: Option<Endpoint>,
    socket: Option<u8>,
    /// True if all data passed to the transport has been acknowledged.
    drained: bool,
    /// True while a message is on its way to a front end.
    is_crossing: bool,
}

impl Flowing {
    fn new(flow: Flow) -> Self {
        Self {
            sender: Sender::new(flow),
            endpoint: None,
            socket: None,
            drained: true,
            is_crossing: false,
        }
    }
}

/// Sender of a frame that was passed to the medium.
#[derive(Clone, Copy, Debug)]
enum Ahead {
    /// Sockets.
    Socket,
    /// Any other user, with the timer that waits for the transmission.
    Other(Option<Ticket>),
}

/// Station with transport, link and users.
#[derive(Clone, Debug)]
pub struct Host {
    params: HostParams,
    link: Type1,
    network: Network,
    transport: Entity,
    sockets: Option<Sockets>,
    flows: Vec<Flowing>,
    /// Flows with pending work.
    waiting: Waiting,
    /// Index of flow numbers.
    places: BTreeSet<(FlowId, usize)>,
    /// Number of flows that have not ended.
    under_way: usize,
    /// Number of times a flow was examined.
    looks: u64,
    conversations: BTreeMap<Endpoint, Conversation>,
    /// Connections with waiting replies, and room for one.
    replying: BTreeSet<Endpoint>,
    /// Responses that are sent at once and not reported (802.4).
    answers: VecDeque<Frame>,
    /// Frames of the further SAPs, if there are sockets.
    urgent: VecDeque<Frame>,
    frames: Frames,
    /// Queues of the MAC below; `None` if no priorities are in use, so order does not matter.
    queues: Option<MacQueues>,
    /// Priority of the LPDUs that the link sends, and priority of the last frame received.
    sending: Priority,
    heard: Priority,
    /// Frames passed to the medium and not reported back yet, by MAC queue, oldest first.
    ahead: [VecDeque<Ahead>; PRIORITIES],
    /// Number of them that are not from the sockets.
    others_ahead: [usize; PRIORITIES],
    records: VecDeque<Record>,
    /// Transfers to and from a front end, if there is one.
    crossings: Option<Crossings>,
    others: VecDeque<Unitdata>,
    foreign: u64,
}

impl Host {
    /// Creates a host with `flows`.
    ///
    /// # Panics
    /// The parameters of the messaging service are invalid.
    #[must_use]
    pub fn new(params: HostParams, flows: Vec<Flow>) -> Self {
        let saps = [Sap::ISO_NETWORK, MESSAGE_SAP].into_iter().chain(params.saps.iter().copied());
        let sockets = params
            .messaging
            .map(|messaging| Sockets::new(messaging).expect("the parameters were checked"));
        let mut host = Self {
            link: Type1::new(saps),
            network: Network::new(params.network.clone()),
            transport: Entity::new(params.transport.clone(), params.last_reference),
            sockets,
            flows: Vec::new(),
            waiting: Waiting::default(),
            places: BTreeSet::new(),
            under_way: 0,
            looks: 0,
            conversations: BTreeMap::new(),
            replying: BTreeSet::new(),
            answers: VecDeque::new(),
            urgent: VecDeque::new(),
            frames: Frames::default(),
            queues: params.messaging.map(|messaging| messaging.queues),
            sending: Priority::LOWEST,
            heard: Priority::LOWEST,
            ahead: Default::default(),
            others_ahead: Default::default(),
            records: VecDeque::new(),
            crossings: None,
            others: VecDeque::new(),
            foreign: 0,
            params,
        };
        flows.into_iter().for_each(|flow| host.add(flow));
        host
    }

    /// Sets the periods in which its users offer nothing.
    #[must_use]
    pub fn absent(mut self, absences: &[Absence]) -> Self {
        self.flows.iter_mut().for_each(|flow| flow.sender.absent(absences));
        self
    }

    /// Sets the queues of its MAC.
    #[must_use]
    pub const fn above(mut self, queues: MacQueues) -> Self {
        self.queues = Some(queues);
        self
    }

    /// Next record of its users.
    pub fn record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }

    /// Next LSDU for one of the further SAPs.
    pub fn unitdata(&mut self) -> Option<Unitdata> {
        self.others.pop_front()
    }

    /// Sends an LSDU from one of the further SAPs.
    pub fn send_unitdata(&mut self, now: Instant, Unitdata { station, sap, data }: Unitdata) {
        let request = type1::Request::Unitdata { station, destination: sap, source: sap, data };
        self.link.request(now, request);
        self.drain(now);
    }

    /// Adds a flow; it begins at its start time, or at once if that is past.
    pub fn add(&mut self, flow: Flow) {
        let place = self.flows.len();
        self.places.insert((flow.id, place));
        self.waiting.until(place, Some(flow.start));
        self.flows.push(Flowing::new(flow));
        self.under_way += 1;
    }

    /// Stops further messages from becoming due: flows end when the messages already handed over
    /// are delivered.
    pub fn wind_up(&mut self, now: Instant) {
        for place in 0..self.flows.len() {
            match self.flows[place].sender.stage() {
                // The flow has not begun, and will not.
                Stage::Waiting => self.end(place),
                // Its connection is no longer needed.
                Stage::Opening => self.abandon(now, place),
                Stage::Running | Stage::Finishing | Stage::Over => {
                    self.flows[place].sender.wind_up();
                    self.waiting.wake(place);
                }
            }
        }
        self.drain(now);
    }

    /// Ends all flows: connections are released, waiting messages are dropped.
    pub fn stop(&mut self, now: Instant) {
        for place in 0..self.flows.len() {
            self.abandon(now, place);
        }
        self.drain(now);
    }

    /// Returns true if every flow has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.under_way == 0
    }

    /// Number of times a flow was examined for pending work: the cost of its users.
    #[must_use]
    pub const fn looks(&self) -> u64 {
        self.looks
    }

    /// Read access to its transport entity.
    #[must_use]
    pub const fn transport(&self) -> &Entity {
        &self.transport
    }

    /// Read access to its messaging service.
    #[must_use]
    pub fn messaging(&self) -> Option<&Messaging> {
        self.sockets.as_ref().map(Sockets::messaging)
    }

    /// Read access to its network layer.
    #[must_use]
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// Read access to its link machine.
    #[must_use]
    pub const fn link(&self) -> &Type1 {
        &self.link
    }

    /// Number of received frames without an LPDU.
    #[must_use]
    pub const fn foreign_frames(&self) -> u64 {
        self.foreign
    }

    fn record_event(&mut self, at: Instant, flow: FlowId, event: Event) {
        self.records.push_back(Record { at, flow, event });
    }

    // ---- the loop ---------------------------------------------------------------------------------

    /// Forwards the outputs of all machines until there are none.
    fn drain(&mut self, now: Instant) {
        loop {
            if let Some(output) = self.transport.poll() {
                match output {
                    Output::Send(nsdu) => self.send_nsdu(now, nsdu),
                    Output::Deliver(indication) => self.transport_says(now, indication),
                    Output::Note(_) => {}
                }
            } else if !self.poll_link(now) && !self.poll_sockets(now) && !self.pump(now) {
                return;
            }
        }
    }

    /// Forwards the next output of the link, if any.
    fn poll_link(&mut self, now: Instant) -> bool {
        let Some(output) = self.link.poll() else { return false };
        match output {
            Output::Send(lpdu) => self.send_lpdu(lpdu),
            Output::Deliver(indication) => self.link_says(now, indication),
            Output::Note(never) => match never {},
        }
        true
    }

    fn poll_sockets(&mut self, now: Instant) -> bool {
        let said = self.sockets.as_mut().and_then(|sockets| sockets.said(now));
        said.map(|said| self.socket_says(now, said)).is_some()
    }

    /// Number of frames of bulk datagram flows of this priority that may still be passed on. Frames
    /// of the sockets count if they share the queue; waiting frames of lower priority do not.
    fn room_ahead(&self, priority: Priority) -> usize {
        let ahead = match self.queues {
            Some(MacQueues::ByPriority) => self.others_ahead[usize::from(priority.number())],
            Some(MacQueues::One) | None => self.ahead.iter().map(VecDeque::len).sum(),
        };
        FRAMES_AHEAD.saturating_sub(ahead + self.frames.as_urgent_as(priority))
    }

    fn send_lpdu(&mut self, Lpdu { station, packet }: Lpdu) {
        let sap = packet.first::<1>().map(|[destination]| Sap(destination));
        let is_urgent = sap.is_some_and(|sap| self.params.saps.contains(&sap));
        let is_urgent = is_urgent && self.sockets.is_some();
        let priority = if is_urgent { Priority::HIGHEST } else { self.sending };
        let number = priority.number();
        let lpdu = type3::Lpdu { station, priority: number, packet, ticket: None };
        let frame = self.params.framing.frame(self.params.address, lpdu);
        if is_urgent {
            self.urgent.push_back(frame);
        } else {
            self.frames.push(frame, priority);
        }
    }

    fn link_says(&mut self, now: Instant, indication: type1::Indication) {
        let type1::Indication::Unitdata { station, destination, data, .. } = indication else {
            return;
        };
        match destination {
            Sap::ISO_NETWORK => self.receive_npdu(now, station, data),
            MESSAGE_SAP => self.datagram(now, station, &data),
            sap => {
                if self.others.len() < OTHERS {
                    self.others.push_back(Unitdata { station, sap, data });
                }
            }
        }
    }

    // ---- messages without connection --------------------------------------------------------------

    fn datagram(&mut self, now: Instant, station: Mac, data: &Packet) {
        self.message(
            now,
            None,
            Sink::whole(data),
            Asker::Station(To { station, priority: self.heard }),
        );
    }

    fn send_message(&mut self, now: Instant, To { station, priority }: To, data: Packet) {
        // Outputs of the link came before it.
        while self.poll_link(now) {}
        self.sending = priority;
        self.send_lpdu(Lpdu::ui(station, MESSAGE_SAP, MESSAGE_SAP, data));
        self.sending = Priority::LOWEST;
    }

    // ---- messages from sockets --------------------------------------------------------------------

    fn socket_says(&mut self, now: Instant, said: Said) {
        match said {
            // Messages are not requests and get no reply.
            Said::Arrived(data) => self.message(now, None, Sink::whole(&data), Asker::Nobody),
            Said::Over { place, handed: Handed { sequence, planned }, acknowledged, result } => {
                let flowing = &mut self.flows[place];
                let id = flowing.sender.id();
                let under_way =
                    self.sockets.as_ref().zip(flowing.socket).map(|(it, at)| it.under_way(at));
                flowing.drained = under_way.is_none_or(|count| count == 0);
                self.waiting.wake(place);
                match result {
                    Ok(()) if acknowledged => {
                        self.record_event(now, id, Event::Acknowledged { sequence, planned });
                    }
                    Ok(()) => {}
                    Err(reason) => {
                        self.record_event(now, id, Event::Failed { sequence, planned, reason });
                    }
                }
            }
        }
    }

    /// Passes one message of a flow to its socket, if one waits and the socket accepts it.
    fn hand_to_socket(&mut self, now: Instant, place: usize) -> bool {
        let Flowing { sender, socket, drained, .. } = &mut self.flows[place];
        let (Some(socket), Some(sockets)) = (*socket, &mut self.sockets) else { return false };
        let enough =
            sender.flow().pattern == Pattern::Bulk && sockets.under_way(socket) >= FRAMES_AHEAD;
        let Some((sequence, planned)) = sender.oldest_waiting() else { return false };
        if enough || !sockets.has_room(socket) {
            return false;
        }
        let Some(message) = sender.take_tsdu(now, &mut self.records) else { return false };
        *drained = false;
        let handed = Handed { sequence, planned };
        if let Err(reason) = sockets.transmit(now, socket, handed, message) {
            *drained = sockets.under_way(socket) == 0;
            let id = sender.id();
            self.record_event(now, id, Event::Failed { sequence, planned, reason });
        }
        true
    }

    fn close_socket(&mut self, now: Instant, place: usize) {
        if let (Some(socket), Some(sockets)) = (self.flows[place].socket.take(), &mut self.sockets)
        {
            sockets.finish(now, socket);
        }
    }

    /// Processes a received message, whole or damaged.
    fn message(&mut self, now: Instant, from: Option<FlowId>, outcome: Outcome, asker: Asker) {
        let (stamp, octets) = match outcome {
            Outcome::Whole { stamp, octets } => (stamp, octets),
            Outcome::Damaged { reason } => {
                let event = Event::Damaged { reason };
                return self.record_event(now, from.unwrap_or(FlowId(0)), event);
            }
        };
        let sap = if from.is_some() { Sap::ISO_NETWORK } else { MESSAGE_SAP };
        self.deliver(now, sap, Arrival { stamp, octets, asker });
    }

    // ---- transport --------------------------------------------------------------------------------

    fn transport_says(&mut self, now: Instant, indication: Indication) {
        match indication {
            Indication::Connect { endpoint, called, .. } => {
                if self.params.accepts && (called.is_empty() || called == TSAP) {
                    let conversation = Conversation::new(Role::Accepted, None);
                    self.conversations.insert(endpoint, conversation);
                    let accept = Request::Accept { endpoint, data: Bytes::new() };
                    self.transport.request(now, accept);
                } else {
                    let reason = disconnect_reason::ADDRESS_UNKNOWN;
                    self.transport.request(now, Request::Disconnect { endpoint, reason });
                }
            }
            Indication::Confirm { endpoint, .. } => {
                if let Some(place) = self.sender_of(endpoint) {
                    let took = self.flows[place].sender.open(now);
                    let id = self.flows[place].sender.id();
                    self.record_event(now, id, Event::Opened { took });
                    self.waiting.wake(place);
                }
            }
            Indication::Data { endpoint, octets, end } => self.piece(now, endpoint, &octets, end),
            Indication::Drained { endpoint } => {
                if let Some(place) = self.sender_of(endpoint) {
                    self.flows[place].drained = true;
                    self.waiting.wake(place);
                }
            }
            Indication::Disconnect { endpoint, reason } => self.disconnected(now, endpoint, reason),
            Indication::Ready { endpoint } => self.has_room(endpoint),
            // Room is checked before a TSDU is passed on, so none is returned. Expedited data is
            // not sent, and only agreed on if a program requests it.
            Indication::Established { .. }
            | Indication::Full { .. }
            | Indication::Expedited { .. }
            | Indication::ExpeditedRefused { .. } => {}
        }
    }

    fn sender_of(&self, endpoint: Endpoint) -> Option<usize> {
        match self.conversations.get(&endpoint)?.role {
            Role::Sender(place) => Some(place),
            Role::Accepted => None,
        }
    }

    fn piece(&mut self, now: Instant, endpoint: Endpoint, octets: &[u8], end: bool) {
        if self.params.transport.credit.is_by_user() {
            self.transport.request(now, Request::GiveBack { endpoint, buffers: 1 });
        }
        let Some(conversation) = self.conversations.get_mut(&endpoint) else { return };
        let Some(outcome) = conversation.sink.take(octets, end) else { return };
        if let Outcome::Whole { stamp, .. } = outcome {
            conversation.flow = Some(stamp.flow);
        }
        let flow = conversation.flow;
        self.message(now, flow, outcome, Asker::Connection(endpoint));
    }

    fn disconnected(&mut self, now: Instant, endpoint: Endpoint, reason: Reason) {
        let Some(conversation) = self.conversations.remove(&endpoint) else { return };
        let orderly = reason == Reason::ByPeer(disconnect_reason::NORMAL);
        let mut flow = conversation.flow;
        if let Role::Sender(place) = conversation.role {
            self.end(place);
            let flowing = &mut self.flows[place];
            flowing.endpoint = None;
            flow = Some(flowing.sender.id());
        }
        if let Some(flow) = flow {
            self.record_event(now, flow, Event::Ended { reason: reason.text(), orderly });
        }
    }
}
