//! The transport entity of a station: references, demultiplexing, the deadlines of all connections.
//!
//! `receive` has what becomes of the TPDUs that come in.

mod receive;

use receive::UserData;

use super::connection::{Connection, acknowledge_ms, first_credit};
use super::context::Context;
use super::negotiate::{Agreement, Ends, connect_tpdu};
use super::outbox::Outbox;
use super::params::Params;
use super::service::{Address, Counters, Endpoint, Indication, Note, Nsdu, Reason, Request};
use super::table::State;
use super::ticket::Ticket;
use crate::machine::{Deadline, Machine, Output};
use crate::messaging::Priority;
use bytes::{Buf, Bytes};
use std::collections::{BTreeMap, BTreeSet};
use wire::time::Instant;
use wire::tp::{Kind, Reference, tpdus};

/// A place for a connection. Its generation grows each time it is used again.
#[derive(Clone, Debug, Default)]
struct Slot {
    generation: u32,
    connection: Option<Box<Connection>>,
    /// The time in the agenda for it.
    scheduled: Option<Instant>,
    /// That of the connection that this side is about to ask for.
    priority: Priority,
}

/// The class 4 transport entity of a station.
#[derive(Clone, Debug)]
pub struct Entity {
    params: Params,
    slots: Vec<Slot>,
    free: Vec<u32>,
    in_use: usize,
    /// Slot plus one of each local reference, grown as references are given out.
    by_reference: Vec<u32>,
    /// Which connection a peer's source reference stands for: tells a CR that comes again.
    by_peer: BTreeMap<(Address, Reference), u32>,
    last_reference: u16,
    /// When a connection may want to be looked at: never later than its deadline, often earlier, so that a
    /// timer that is moved back costs nothing. One entry for each connection at the most.
    agenda: BTreeSet<(Instant, u32)>,
    /// Connections that peers began and have not completed.
    half_open: usize,
    /// The TSAPs there are; with none, users answer for themselves.
    tsaps: BTreeSet<Bytes>,
    outputs: Outbox,
    counters: Counters,
}

impl Entity {
    /// An entity without connections, whose first reference will be the one after `last_reference`.
    ///
    /// A station that starts again should not start from the same reference: its peers may still have
    /// the old ones frozen.
    #[must_use]
    pub fn new(params: Params, last_reference: u16) -> Self {
        Self {
            params,
            slots: Vec::new(),
            free: Vec::new(),
            in_use: 0,
            by_reference: Vec::new(),
            by_peer: BTreeMap::new(),
            last_reference,
            agenda: BTreeSet::new(),
            half_open: 0,
            tsaps: BTreeSet::new(),
            outputs: Outbox::default(),
            counters: Counters::default(),
        }
    }

    /// An endpoint for a connection this side is about to ask for.
    pub fn endpoint(&mut self) -> Endpoint {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize].priority = Priority::LOWEST;
        Endpoint { slot, generation: self.slots[slot as usize].generation }
    }

    /// Gives a priority to a connection that this side is about to ask for: to all its TPDUs, of both sides. The CR tells
    /// the peer (parameter 87). Without it a connection has the lowest.
    pub fn prioritise(&mut self, endpoint: Endpoint, priority: Priority) {
        let slot = self.slots.get_mut(endpoint.slot as usize);
        if let Some(slot) = slot.filter(|slot| slot.generation == endpoint.generation) {
            slot.priority = priority;
        }
    }

    /// The priority of the connection of which [`Machine::poll`] said something last; the lowest where it was of none.
    #[must_use]
    pub const fn priority(&self) -> Priority {
        self.outputs.polled_priority()
    }

    /// Says that a user has this TSAP-ID. From the first on, a CR for another is refused with
    /// [`super::disconnect_reason::ADDRESS_UNKNOWN`] and no connection is made for it; one that names no
    /// TSAP is for whoever listens.
    pub fn serve(&mut self, tsap: Bytes) {
        self.tsaps.insert(tsap);
    }

    /// What it was made with.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// How often things happened.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The state of a connection; [`State::Closed`] for one that is gone.
    #[must_use]
    pub fn state(&self, endpoint: Endpoint) -> State {
        self.connection(endpoint).map_or(State::Closed, |connection| connection.state)
    }

    /// Octets of TSDUs a connection would take now without [`Indication::Full`].
    #[must_use]
    pub fn room(&self, endpoint: Endpoint) -> usize {
        let queued = self.connection(endpoint).map(|connection| connection.queued_octets());
        queued.map_or(0, |queued| self.params.queue_octets.saturating_sub(queued))
    }

    /// Connections there are, frozen references included.
    #[must_use]
    pub const fn connections(&self) -> usize {
        self.in_use
    }

    /// Has the timer that waits for an answer to what [`Machine::poll`] said last wait for
    /// [`Entity::transmitted`] with this first; `None` where no timer does. Without it, the timer runs
    /// from when the TPDU was handed over.
    pub fn ticket(&mut self) -> Option<Ticket> {
        let (slot, timed) = self.outputs.take_timed()?;
        let place = self.slots.get_mut(slot as usize)?;
        let endpoint = Endpoint { slot, generation: place.generation };
        place.connection.as_deref_mut()?.queued_below(timed);
        Some(Ticket { endpoint, timed })
    }

    /// What a ticket was taken for has left the station, or the station has given it up: either way its
    /// timer begins.
    pub fn transmitted(&mut self, now: Instant, ticket: Ticket) {
        if let Some(slot) = self.slot_of(ticket.endpoint) {
            self.with(now, slot, |connection, cx| connection.left_station(cx, ticket.timed));
        }
    }

    /// Has [`Indication::Ready`] said as soon as a TSDU of so many octets finds room, or where that is
    /// more than there ever is, all of it.
    pub fn wait_for_room(&mut self, endpoint: Endpoint, octets: usize) {
        let most = self.params.queue_octets.saturating_sub(octets);
        let slot = self.slots.get_mut(endpoint.slot as usize);
        let slot = slot.filter(|slot| slot.generation == endpoint.generation);
        if let Some(connection) = slot.and_then(|slot| slot.connection.as_deref_mut()) {
            connection.wait_for_room(most);
        }
    }

    fn connection(&self, endpoint: Endpoint) -> Option<&Connection> {
        let slot = self.slots.get(endpoint.slot as usize)?;
        slot.connection.as_deref().filter(|_| slot.generation == endpoint.generation)
    }

    /// The next reference, in turn, so that none comes back soon (6.18); `None` if all are in use.
    fn reference(&mut self) -> Option<Reference> {
        for _ in 0..=u16::MAX {
            self.last_reference = self.last_reference.checked_add(1).unwrap_or(1);
            let index = usize::from(self.last_reference);
            if self.by_reference.get(index).is_none_or(|slot| *slot == 0) {
                return Some(Reference(self.last_reference));
            }
        }
        None
    }

    fn place(&mut self, connection: Connection) {
        let index = usize::from(connection.local.0);
        if self.by_reference.len() <= index {
            self.by_reference.resize(index + 1, 0);
        }
        self.by_reference[index] = connection.endpoint.slot + 1;
        let slot = connection.endpoint.slot as usize;
        self.slots[slot].connection = Some(Box::new(connection));
        self.in_use += 1;
    }

    /// Lets a connection act, and looks after its deadline and its end.
    fn with(
        &mut self,
        now: Instant,
        slot: u32,
        act: impl FnOnce(&mut Connection, &mut Context<'_>),
    ) {
        let Self { params, slots, outputs, counters, agenda, half_open, .. } = self;
        let place = &mut slots[slot as usize];
        let Some(connection) = place.connection.as_deref_mut() else { return };
        let before = is_half_open(connection.state);
        outputs.speak_for(connection.priority());
        act(connection, &mut Context { now, params, outputs, counters });
        outputs.speak_for(Priority::LOWEST);
        *half_open += usize::from(is_half_open(connection.state));
        *half_open -= usize::from(before);
        if connection.state == State::Closed {
            self.forget(slot);
            return;
        }
        let at = connection.due(params);
        if at < place.scheduled.unwrap_or(Instant::MAX) {
            if let Some(later) = place.scheduled.replace(at) {
                agenda.remove(&(later, slot));
            }
            agenda.insert((at, slot));
        }
    }

    fn forget(&mut self, slot: u32) {
        let place = &mut self.slots[slot as usize];
        let Some(connection) = place.connection.take() else { return };
        place.generation = place.generation.wrapping_add(1);
        if let Some(at) = place.scheduled.take() {
            self.agenda.remove(&(at, slot));
        }
        self.by_reference[usize::from(connection.local.0)] = 0;
        // A peer that answers two CRs with one reference must not make us forget the other.
        let name = (connection.peer, connection.remote);
        if self.by_peer.get(&name) == Some(&slot) {
            self.by_peer.remove(&name);
        }
        self.free.push(slot);
        self.in_use -= 1;
    }

    fn connect(
        &mut self,
        now: Instant,
        endpoint: Endpoint,
        peer: Address,
        [called, calling, data]: [Bytes; 3],
    ) {
        let fail = |entity: &mut Self, reason| {
            let indication = Indication::Disconnect { endpoint, reason };
            entity.outputs.deliver(indication);
            let slot = &mut entity.slots[endpoint.slot as usize];
            slot.generation = slot.generation.wrapping_add(1);
            entity.free.push(endpoint.slot);
        };
        let slot = self.slots.get(endpoint.slot as usize);
        let slot = slot.filter(|s| s.generation == endpoint.generation && s.connection.is_none());
        let Some(&Slot { priority, .. }) = slot else { return };
        let full = self.in_use >= self.params.connections;
        let Some(local) = Some(()).filter(|()| !full).and_then(|()| self.reference()) else {
            return fail(self, Reason::TooManyConnections);
        };
        let agreed = Agreement { priority, ..Agreement::proposed(&self.params) };
        let ends = Ends {
            destination_reference: Reference(0),
            source_reference: local,
            credit: first_credit(&self.params) as u8,
            calling: &calling,
            called: &called,
            acknowledge_ms: acknowledge_ms(&self.params),
            data: &data,
        };
        let Some(cr) = connect_tpdu(Kind::Cr, &ends, agreed) else {
            return fail(self, Reason::NegotiationFailed);
        };
        self.place(Connection::new(endpoint, peer, local, agreed));
        self.with(now, endpoint.slot, |connection, cx| connection.connect(cx, cr));
    }

    fn slot_of(&self, endpoint: Endpoint) -> Option<u32> {
        self.connection(endpoint).map(|_| endpoint.slot)
    }
}

impl Machine for Entity {
    type Request = Request;
    type Indication = Indication;
    type Pdu = Nsdu;
    type Note = Note;

    /// Takes a request; one for a connection that is gone does nothing, since its user has been told.
    fn request(&mut self, now: Instant, request: Request) {
        match request {
            Request::Connect { endpoint, peer, called, calling, data } => {
                self.connect(now, endpoint, peer, [called, calling, data]);
            }
            Request::Accept { endpoint, data } => {
                if let Some(slot) = self.slot_of(endpoint) {
                    self.with(now, slot, |connection, cx| connection.accept(cx, &data));
                }
            }
            Request::Data { endpoint, tsdu } => {
                if let Some(slot) = self.slot_of(endpoint) {
                    self.with(now, slot, |connection, cx| connection.data(cx, tsdu));
                }
            }
            Request::GiveBack { endpoint, buffers } => {
                if let Some(slot) = self.slot_of(endpoint) {
                    self.with(now, slot, |connection, cx| connection.give_back(cx, buffers));
                }
            }
            Request::Expedited { endpoint, data } => {
                if let Some(slot) = self.slot_of(endpoint) {
                    self.with(now, slot, |connection, cx| connection.expedite(cx, data));
                }
            }
            Request::Withdraw { endpoint, buffers } => {
                if let Some(slot) = self.slot_of(endpoint) {
                    self.with(now, slot, |connection, cx| connection.withdraw(cx, buffers));
                }
            }
            Request::Disconnect { endpoint, reason } => {
                if let Some(slot) = self.slot_of(endpoint) {
                    self.with(now, slot, |connection, cx| connection.disconnect(cx, reason));
                }
            }
        }
    }

    fn receive(&mut self, now: Instant, mut nsdu: Nsdu) {
        let peer = nsdu.peer;
        let mut payload = nsdu.packet.take_payload();
        let head = nsdu.packet.head();
        let whole = head.is_empty();
        let mut passed = None;
        for raw in tpdus(if whole { &payload } else { head }) {
            // Only the last TPDU of an NSDU may carry user data.
            let user_data = match raw {
                _ if whole => UserData::Within(&payload),
                Ok(raw) if raw.kind.may_carry_data() => UserData::Apart(&payload),
                Ok(_) | Err(_) => UserData::None,
            };
            passed = self.cut_out(now, peer, raw, user_data);
        }
        if let Some(passed) = passed {
            if whole {
                payload.advance(passed.data_at);
            }
            self.data(now, passed, payload);
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some((at, slot)) = self.agenda.first().copied()
            && at <= now
        {
            self.agenda.pop_first();
            self.slots[slot as usize].scheduled = None;
            self.with(now, slot, |connection, cx| connection.expire(cx));
        }
    }

    /// The time in front of the agenda. It may come before any timer runs out; that is harmless.
    fn deadline(&self) -> Option<Deadline> {
        let (at, slot) = *self.agenda.first()?;
        let connection = self.slots[slot as usize].connection.as_deref();
        let deadline = connection.and_then(|connection| connection.deadline(&self.params));
        Some(Deadline { at, timer: deadline.map_or("L", |deadline| deadline.timer) })
    }

    #[inline]
    fn poll(&mut self) -> Option<Output<Nsdu, Indication, Note>> {
        self.outputs.pop()
    }
}

/// Whether a peer began it and has not completed the handshake.
const fn is_half_open(state: State) -> bool {
    matches!(state, State::Indicated | State::CcSent)
}
