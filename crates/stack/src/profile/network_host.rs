//! Host on a network with connections: transport class 0 or 2 on each, and its users.
//!
//! ```text
//!   senders ┐             ┌ sinks     TSAP "tidewire"
//!   rendezvous ─ class 0 ─┤           TSAP "tidewire-rendezvous"
//!            or 2         └ echo      any other TSAP, where asked for
//!      network connections            TCP, say: one for each transport connection
//! ```
//!
//! Messages and records are those of the LAN [`Host`](super::Host).

mod attached;

use super::Unitdata;
use super::conversation::{Conversation, Role};
use crate::load::{Event, Flow, FlowId, Outcome, Record, Sender, Sink, Stage, Stamp, StampKind};
use crate::machine::{Deadline, Machine, Output};
use crate::network::{Line, NetworkUser};
use crate::tp0::{
    Called, Class, Connection, Indication, Network, Params, Reason, Request, disconnect_reason,
};
use attached::{Attached, User};
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wire::addr::Mac;
use wire::packet::Packet;
use wire::rendezvous::SAP;
use wire::time::Instant;
use wire::tp::Reference;

/// TSAP-ID of the users that generate traffic.
const LOAD_TSAP: &[u8] = b"tidewire";
/// TSAP-ID of the rendezvous protocol.
const RENDEZVOUS_TSAP: &[u8] = b"tidewire-rendezvous";
/// Maximum number of rendezvous PDUs waiting for their connection to open; further ones are lost,
/// and later retransmitted.
const CONTROL_WAITING: usize = 16;
/// Longest PDU of the rendezvous protocol and its report: the maximum in a frame of a LAN.
const CONTROL_OCTETS: usize = 1_497;
/// Maximum number of rendezvous PDUs kept until fetched.
const OTHERS: usize = 64;
/// Number of waiting replies at which reading from their connection stops.
const REPLIES_AHEAD: usize = 128;
/// Longest TSDU that is echoed.
const LONGEST_ECHO: usize = 1 << 16;

/// Parameters of a host on a network with connections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetworkHostParams {
    /// Parameters of its transport connections.
    pub transport: Params,
    /// Maximum number of connections, in any state.
    pub lines: usize,
    /// True to accept load, and to answer requests.
    pub accepts: bool,
    /// True to accept calls for any other TSAP, or for none, and to echo every TSDU.
    pub echoes: bool,
}

#[derive(Clone, Debug)]
struct Flowing {
    sender: Sender,
    line: Option<Line>,
    drained: bool,
}

/// Sum of the counters of all connections of a host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NetworkCounters {
    /// TPDUs sent, by kind.
    pub sent: [u64; 10],
    /// TPDUs received, by kind.
    pub received: [u64; 10],
    /// NSDUs that contained an invalid TPDU.
    pub malformed: u64,
    /// Number of times a DT had to wait for credit.
    pub closed_window: u64,
    /// Calls refused, and network connections not accepted.
    pub refused: u64,
    /// TSDUs echoed.
    pub echoed: u64,
}

/// Host with transport connections of class 0 or 2.
#[derive(Clone, Debug)]
pub struct NetworkHost {
    params: NetworkHostParams,
    next_line: u32,
    /// Nonce of the session whose load connections are accepted; without one, none are.
    session: Option<u64>,
    attached: BTreeMap<Line, Attached>,
    /// Lines whose connection may have output, or room for input.
    touched: BTreeSet<Line>,
    flows: Vec<Flowing>,
    outputs: VecDeque<(Line, Network)>,
    records: VecDeque<Record>,
    others: VecDeque<Unitdata>,
    /// Counters of closed connections.
    counters: NetworkCounters,
}

impl NetworkHost {
    /// Creates a host without connections.
    #[must_use]
    pub const fn new(params: NetworkHostParams) -> Self {
        Self {
            params,
            next_line: 0,
            session: None,
            attached: BTreeMap::new(),
            touched: BTreeSet::new(),
            flows: Vec::new(),
            outputs: VecDeque::new(),
            records: VecDeque::new(),
            others: VecDeque::new(),
            counters: NetworkCounters {
                sent: [0; 10],
                received: [0; 10],
                malformed: 0,
                closed_window: 0,
                refused: 0,
                echoed: 0,
            },
        }
    }

    /// Next record of its users.
    pub fn record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }

    /// Next rendezvous PDU.
    pub fn unitdata(&mut self) -> Option<Unitdata> {
        self.others.pop_front()
    }

    /// Sends a rendezvous PDU: over the connection from the station if there is one, else over a
    /// new one.
    pub fn send_unitdata(&mut self, now: Instant, Unitdata { station, data, .. }: Unitdata) {
        let known = self.attached.iter().find(|(_, attached)| {
            attached.user == User::Rendezvous(station) && !attached.is_over()
        });
        let line = match known {
            Some((line, _)) => Some(*line),
            None => self.call(now, RENDEZVOUS_TSAP, User::Rendezvous(station), Role::Accepted),
        };
        let attached = line.and_then(|line| self.attached.get_mut(&line));
        if let Some(attached) = attached.filter(|found| found.waiting.len() < CONTROL_WAITING) {
            attached.waiting.push_back(data.to_bytes());
        }
        self.touched.extend(line);
        self.drain(now);
    }

    /// Adds a flow; it begins at its start time, or at once if that is past.
    pub fn add(&mut self, flow: Flow) {
        self.flows.push(Flowing { sender: Sender::new(flow), line: None, drained: true });
    }

    /// Stops further messages from becoming due: flows end when the messages already handed over
    /// are delivered.
    pub fn wind_up(&mut self, now: Instant) {
        self.flows.iter_mut().for_each(|flowing| flowing.sender.wind_up());
        self.drain(now);
    }

    /// Ends all flows: connections are released, waiting messages are dropped.
    pub fn stop(&mut self, now: Instant) {
        let reason = disconnect_reason::NORMAL;
        for flowing in &mut self.flows {
            flowing.sender.end();
            if let Some(attached) = flowing.line.and_then(|line| self.attached.get_mut(&line)) {
                attached.connection.request(now, Request::Disconnect { reason });
            }
            self.touched.extend(flowing.line);
        }
        self.drain(now);
    }

    /// Returns true if every flow has ended and its network connection is closed. All sent data was
    /// then read by the peer's host, or is known to be lost.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.flows
            .iter()
            .all(|flowing| flowing.sender.stage() == Stage::Over && flowing.line.is_none())
    }

    /// Number of connections.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.attached.len()
    }

    /// Class of each open connection.
    pub fn classes(&self) -> impl Iterator<Item = Class> {
        self.attached.values().filter(|found| found.is_open).map(|found| found.connection.class())
    }

    /// Sum of the counters of its connections.
    #[must_use]
    pub fn counters(&self) -> NetworkCounters {
        let mut counters = self.counters.clone();
        self.attached.values().for_each(|attached| attached.add_to(&mut counters));
        counters
    }

    fn record_event(&mut self, at: Instant, flow: FlowId, event: Event) {
        self.records.push_back(Record { at, flow, event });
    }

    // ---- connections ----------------------------------------------------------------------------

    fn attach(&mut self, user: User, role: Role) -> Option<Line> {
        if self.attached.len() >= self.params.lines && !self.evict() {
            self.counters.refused += 1;
            return None;
        }
        self.next_line = self.next_line.wrapping_add(1).max(1);
        let line = Line(self.next_line);
        // One network connection carries one transport connection, so any reference except zero is
        // unique.
        let reference = Reference((self.next_line % 0xFFFF) as u16 + 1);
        let connection = Connection::new(self.params.transport.clone(), reference);
        let attached = Attached {
            connection,
            user,
            conversation: Conversation::new(role, None),
            piece: BytesMut::new(),
            waiting: VecDeque::new(),
            is_open: false,
        };
        self.attached.insert(line, attached);
        Some(line)
    }

    fn call(&mut self, now: Instant, tsap: &'static [u8], user: User, role: Role) -> Option<Line> {
        let user_of_call = user.clone();
        let line = self.attach(user, role)?;
        let called = Bytes::from_static(tsap);
        let calling = match (&user_of_call, self.session) {
            (User::Load, Some(nonce)) => Bytes::copy_from_slice(&nonce.to_be_bytes()),
            _ => called.clone(),
        };
        let request = Request::Connect { called, calling };
        self.attached.get_mut(&line)?.connection.request(now, request);
        self.touched.insert(line);
        Some(line)
    }

    /// Forwards the outputs of all connections until there are none.
    fn drain(&mut self, now: Instant) {
        loop {
            while let Some(line) = self.touched.pop_first() {
                self.drain_line(now, line);
            }
            let mut acted = false;
            for place in 0..self.flows.len() {
                acted |= self.pump_flow(now, place);
            }
            if !acted && self.touched.is_empty() {
                return;
            }
        }
    }

    fn drain_line(&mut self, now: Instant, line: Line) {
        loop {
            let Some(attached) = self.attached.get_mut(&line) else { return };
            match attached.connection.poll() {
                Some(Output::Send(network)) => self.outputs.push_back((line, network)),
                Some(Output::Deliver(indication)) => self.connection_says(now, line, indication),
                Some(Output::Note(_)) => {}
                None if attached.hand_over(now) => {}
                None => return,
            }
        }
    }

    fn connection_says(&mut self, now: Instant, line: Line, indication: Indication) {
        match indication {
            Indication::Connect(called) => self.called(now, line, &called),
            Indication::Confirm { .. } => {
                let Some(attached) = self.attached.get_mut(&line) else { return };
                attached.is_open = true;
                if let Role::Sender(place) = attached.conversation.role {
                    let took = self.flows[place].sender.open(now);
                    let id = self.flows[place].sender.id();
                    self.record_event(now, id, Event::Opened { took });
                }
            }
            Indication::Data { octets, end } => self.data(now, line, &octets, end),
            Indication::Drained => {
                if let Some(place) = self.sender_of(line) {
                    self.flows[place].drained = true;
                }
            }
            Indication::Disconnect { reason } => self.disconnected(now, line, reason),
            // Room is checked before a TSDU is passed on, so none is returned.
            Indication::Full { .. } | Indication::Ready => {}
        }
    }

    fn sender_of(&self, line: Line) -> Option<usize> {
        match self.attached.get(&line)?.conversation.role {
            Role::Sender(place) => Some(place),
            Role::Accepted => None,
        }
    }

    fn called(&mut self, now: Instant, line: Line, called: &Called) {
        let user = match &called.called[..] {
            RENDEZVOUS_TSAP => Some(User::Rendezvous(Mac::local(line.0 | 0x8000_0000))),
            LOAD_TSAP if self.params.accepts && self.is_of_session(&called.calling) => {
                Some(User::Load)
            }
            LOAD_TSAP => None,
            _ if self.params.echoes => Some(User::Echo),
            _ => None,
        };
        let Some(attached) = self.attached.get_mut(&line) else { return };
        match user {
            Some(user) => {
                attached.user = user;
                attached.is_open = true;
                attached.connection.request(now, Request::Accept);
            }
            None => {
                self.counters.refused += 1;
                let reason = disconnect_reason::ADDRESS_UNKNOWN;
                attached.connection.request(now, Request::Disconnect { reason });
            }
        }
    }

    fn disconnected(&mut self, now: Instant, line: Line, reason: Reason) {
        let Some(attached) = self.attached.get_mut(&line) else { return };
        attached.is_open = false;
        attached.waiting.clear();
        let mut orderly =
            matches!(reason, Reason::Released | Reason::ByPeer(disconnect_reason::NORMAL));
        let mut flow = attached.conversation.flow;
        if let Role::Sender(place) = attached.conversation.role {
            let flowing = &mut self.flows[place];
            flowing.sender.end();
            flowing.line = None;
            flow = Some(flowing.sender.id());
            // The sender of a connection ended by the peer has not sent all messages, even after an
            // orderly release.
            orderly = false;
            attached.conversation.role = Role::Accepted;
        }
        if let Some(flow) = flow {
            let event = Event::Ended { reason: reason.text(), orderly };
            self.record_event(now, flow, event);
        }
    }

    /// Removes the line after its network connection has ended.
    fn detach(&mut self, now: Instant, line: Line) {
        let Some(attached) = self.attached.remove(&line) else { return };
        attached.add_to(&mut self.counters);
        if let Role::Sender(place) = attached.conversation.role {
            let flowing = &mut self.flows[place];
            flowing.line = None;
            let id = flowing.sender.id();
            self.record_event(now, id, Event::Done);
            self.record_event(now, id, Event::Ended { reason: "all sent", orderly: true });
        }
    }

    // ---- messages -------------------------------------------------------------------------------

    fn data(&mut self, now: Instant, line: Line, octets: &Bytes, end: bool) {
        let Some(attached) = self.attached.get_mut(&line) else { return };
        match attached.user {
            User::Load => {
                let Some(outcome) = attached.conversation.sink.take(octets, end) else { return };
                self.message(now, line, outcome);
            }
            User::Rendezvous(station) => {
                let Some(whole) = attached.gather(octets, end, CONTROL_OCTETS) else { return };
                if self.others.len() < OTHERS {
                    let data = Packet::new(whole);
                    self.others.push_back(Unitdata { station, sap: SAP, data });
                }
            }
            User::Echo => {
                if let Some(whole) = attached.gather(octets, end, LONGEST_ECHO) {
                    attached.waiting.push_back(whole);
                    self.counters.echoed += 1;
                }
            }
            User::Unknown => {}
        }
    }

    /// Processes a received message, whole or damaged.
    fn message(&mut self, now: Instant, line: Line, outcome: Outcome) {
        let Some(attached) = self.attached.get_mut(&line) else { return };
        let (stamp, octets) = match outcome {
            Outcome::Whole { stamp, octets } => (stamp, octets),
            Outcome::Damaged { reason } => {
                let flow = attached.conversation.flow.unwrap_or(FlowId(0));
                return self.record_event(now, flow, Event::Damaged { reason });
            }
        };
        let Stamp { flow, sequence, planned, .. } = stamp;
        attached.conversation.flow = Some(flow);
        let sent = stamp.sent();
        if stamp.kind == StampKind::Reply {
            let event = Event::Answered { sequence, planned, sent, octets };
            for flowing in self.flows.iter_mut().filter(|found| found.sender.id() == flow) {
                flowing.sender.answered(now);
            }
            return self.record_event(now, flow, event);
        }
        let is_lost = Sink::reply_octets(&stamp).is_some() && !attached.conversation.reply(stamp);
        self.record_event(now, flow, Event::Delivered { sequence, planned, sent, octets });
        if is_lost {
            self.record_event(now, flow, Event::Damaged { reason: "too many replies wait" });
        }
    }

    // ---- flows ----------------------------------------------------------------------------------

    fn pump_flow(&mut self, now: Instant, place: usize) -> bool {
        let flowing = &mut self.flows[place];
        match flowing.sender.stage() {
            Stage::Waiting if flowing.sender.flow().start <= now => {
                flowing.sender.opening(now);
                let id = flowing.sender.id();
                let line = self.call(now, LOAD_TSAP, User::Load, Role::Sender(place));
                self.flows[place].line = line;
                if line.is_none() {
                    self.flows[place].sender.end();
                    let reason = "too many connections here";
                    self.record_event(now, id, Event::Ended { reason, orderly: false });
                }
                true
            }
            Stage::Running | Stage::Finishing => {
                flowing.sender.expire(now, &mut self.records);
                self.hand_over(now, place) || self.finish(now, place)
            }
            Stage::Waiting | Stage::Opening | Stage::Over => false,
        }
    }

    /// Passes one message to its connection, if one waits and the connection accepts it.
    fn hand_over(&mut self, now: Instant, place: usize) -> bool {
        let Flowing { sender, line, drained } = &mut self.flows[place];
        let attached = line.and_then(|line| self.attached.get_mut(&line));
        let Some(attached) = attached.filter(|_| sender.has_waiting()) else { return false };
        if !attached.takes(sender.flow().size_octets) {
            return false;
        }
        let Some(tsdu) = sender.take_tsdu(now, &mut self.records) else { return false };
        *drained = false;
        self.touched.extend(*line);
        attached.connection.request(now, Request::Data { tsdu });
        true
    }

    /// Releases the connection of a completed flow.
    fn finish(&mut self, now: Instant, place: usize) -> bool {
        let flowing = &mut self.flows[place];
        if !flowing.sender.is_done() || !flowing.drained {
            return false;
        }
        flowing.sender.end();
        if let Some(attached) = flowing.line.and_then(|line| self.attached.get_mut(&line)) {
            let reason = disconnect_reason::NORMAL;
            attached.connection.request(now, Request::Disconnect { reason });
        }
        self.touched.extend(flowing.line);
        true
    }
}

impl NetworkUser for NetworkHost {
    fn incoming(&mut self, now: Instant) -> Option<Line> {
        let line = self.attach(User::Unknown, Role::Accepted)?;
        self.receive(now, line, Network::Connect);
        Some(line)
    }

    fn receive(&mut self, now: Instant, line: Line, network: Network) {
        let is_end = network == Network::Disconnect;
        if let Some(attached) = self.attached.get_mut(&line) {
            attached.connection.receive(now, network);
            self.drain_line(now, line);
        }
        if is_end {
            self.detach(now, line);
        }
        self.drain(now);
    }

    fn expire(&mut self, now: Instant) {
        for (line, attached) in &mut self.attached {
            attached.connection.expire(now);
            self.touched.insert(*line);
        }
        self.drain(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        let connections = self.attached.values().map(|attached| attached.connection.deadline());
        let flows = self.flows.iter().map(|flowing| flowing.sender.deadline());
        connections.chain(flows).fold(None, Deadline::earlier)
    }

    fn poll(&mut self) -> Option<(Line, Network)> {
        self.outputs.pop_front()
    }

    fn takes_input(&self, line: Line) -> bool {
        self.attached.get(&line).is_none_or(|attached| {
            attached.conversation.replies() < REPLIES_AHEAD
                && attached.waiting.iter().map(Bytes::len).sum::<usize>() < LONGEST_ECHO
                && attached.waiting.len() < REPLIES_AHEAD
        })
    }

    fn is_idle(&self, line: Line) -> bool {
        self.attached.get(&line).is_none_or(|attached| {
            attached.connection.is_idle()
                && attached.waiting.is_empty()
                && !attached.conversation.has_replies()
        })
    }

    fn is_control(&self, line: Line) -> bool {
        self.attached
            .get(&line)
            .is_some_and(|attached| matches!(attached.user, User::Rendezvous(_)))
    }
}
