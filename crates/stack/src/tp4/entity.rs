//! The transport entity of a station: references, demultiplexing, the deadlines of all connections.

use super::connection::{Connection, acknowledge_ms};
use super::context::Context;
use super::negotiate::{Agreement, Ends, connect_tpdu};
use super::params::Params;
use super::service::{
    Address, Counters, Endpoint, Indication, Note, Nsdu, Reason, Request, disconnect_reason,
};
use super::table::{Event, State};
use super::tpdu::{dc_packet, dr_packet};
use crate::machine::{Deadline, Machine, Output};
use bytes::Bytes;
use core::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use wire::time::Instant;
use wire::tp::{Checksum, Kind, Pdu, Raw, Reference, tpdus};

/// A place for a connection. Its generation grows each time it is used again.
#[derive(Clone, Debug, Default)]
struct Slot {
    generation: u32,
    connection: Option<Box<Connection>>,
    /// The earliest time in the agenda for it.
    scheduled: Option<Instant>,
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
    /// When a connection may want to be looked at: never later than its deadline, often earlier.
    agenda: BinaryHeap<Reverse<(Instant, u32)>>,
    outputs: VecDeque<Output<Nsdu, Indication, Note>>,
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
            agenda: BinaryHeap::new(),
            outputs: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// An endpoint for a connection this side is about to ask for.
    pub fn endpoint(&mut self) -> Endpoint {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        Endpoint { slot, generation: self.slots[slot as usize].generation }
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
        let Self { params, slots, outputs, counters, agenda, .. } = self;
        let place = &mut slots[slot as usize];
        let Some(connection) = place.connection.as_deref_mut() else { return };
        act(connection, &mut Context { now, params, outputs, counters });
        if connection.state == State::Closed {
            self.forget(slot);
            return;
        }
        if let Some(Deadline { at, .. }) = connection.deadline(params)
            && place.scheduled.is_none_or(|scheduled| at < scheduled)
        {
            place.scheduled = Some(at);
            agenda.push(Reverse((at, slot)));
        }
    }

    fn forget(&mut self, slot: u32) {
        let place = &mut self.slots[slot as usize];
        let Some(connection) = place.connection.take() else { return };
        place.generation = place.generation.wrapping_add(1);
        place.scheduled = None;
        self.by_reference[usize::from(connection.local.0)] = 0;
        self.by_peer.remove(&(connection.peer, connection.remote));
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
            entity.outputs.push_back(Output::Deliver(indication));
            let slot = &mut entity.slots[endpoint.slot as usize];
            slot.generation = slot.generation.wrapping_add(1);
            entity.free.push(endpoint.slot);
        };
        let slot = self.slots.get(endpoint.slot as usize);
        if slot.is_none_or(|s| s.generation != endpoint.generation || s.connection.is_some()) {
            return;
        }
        let full = self.in_use >= self.params.connections;
        let Some(local) = Some(()).filter(|()| !full).and_then(|()| self.reference()) else {
            return fail(self, Reason::TooManyConnections);
        };
        let agreed = Agreement::proposed(&self.params);
        let ends = Ends {
            destination_reference: Reference(0),
            source_reference: local,
            credit: self.params.window.min(15) as u8,
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

    /// One TPDU of an NSDU; `tail` is its user data where that does not follow it directly.
    fn tpdu(&mut self, now: Instant, nsdu: &Nsdu, raw: &Raw<'_>, tail: Option<&Bytes>) {
        let slot = raw.destination_reference().and_then(|reference| {
            let slot = self.by_reference.get(usize::from(reference.0))?.checked_sub(1)?;
            let connection = self.slots[slot as usize].connection.as_deref()?;
            (connection.peer == nsdu.peer).then_some((slot, connection))
        });
        let format = slot.as_ref().map(|(_, connection)| connection.format());
        let Ok(pdu) = Pdu::decode(raw, format) else {
            self.counters.malformed += 1;
            return self.discard(raw, "malformed");
        };
        let required = match (&pdu, &slot) {
            (Pdu::Cr(_), _) => true,
            (pdu, Some((_, connection))) => connection.requires_checksum(pdu),
            (_, None) => false,
        };
        // 6.17.3: what fails the check is discarded as if it had never come.
        match raw.checksum(pdu.parameters(), tail.map_or(&[], |tail| tail)) {
            Checksum::Absent if !required => {}
            Checksum::Good => {}
            Checksum::Absent | Checksum::Bad => {
                self.counters.bad_checksum += 1;
                return self.discard(raw, "checksum");
            }
        }
        let slot = slot.map(|(slot, _)| slot);
        match (pdu, slot) {
            (Pdu::Cr(cr), _) => self.connect_request(now, nsdu.peer, &cr),
            (pdu, Some(slot)) => {
                self.counters.received[raw.kind as usize] += 1;
                let data = || match tail {
                    Some(tail) => tail.clone(),
                    None => nsdu.packet.payload().slice_ref(raw.data()),
                };
                self.associated(now, slot, &pdu, data);
            }
            (pdu, None) => self.unknown(nsdu.peer, &pdu),
        }
    }

    /// A TPDU for a connection of this entity (6.9.4.2).
    fn associated(&mut self, now: Instant, slot: u32, pdu: &Pdu<'_>, data: impl Fn() -> Bytes) {
        let frozen = self.slots[slot as usize]
            .connection
            .as_deref()
            .is_some_and(|connection| connection.state == State::Frozen);
        self.counters.frozen_reference += u64::from(frozen);
        self.with(now, slot, |connection, cx| match pdu {
            Pdu::Dt(dt) => connection.dt(cx, dt.number, dt.end_of_tsdu, data()),
            Pdu::Ak(ak) => connection.ak(cx, ak),
            Pdu::Ed(_) | Pdu::Ea(_) => connection.expedited(cx),
            Pdu::Cc(cc) => connection.confirm(cx, cc),
            Pdu::Dr(dr) => {
                if connection.remote.0 == 0 {
                    connection.remote = dr.source_reference;
                }
                connection.ended(cx, Event::DrReceived, Reason::ByPeer(dr.reason));
            }
            Pdu::Dc(_) => connection.ended(cx, Event::DcReceived, Reason::NoAnswer),
            Pdu::Er(_) => connection.ended(cx, Event::ErReceived, Reason::ProtocolError),
            // RJ belongs to classes 1 and 3; a CR never gets here.
            Pdu::Rj(_) | Pdu::Cr(_) => {}
        });
        if let Some(connection) = self.slots[slot as usize].connection.as_deref() {
            let (peer, remote) = (connection.peer, connection.remote);
            if matches!(pdu, Pdu::Cc(_)) && remote.0 != 0 {
                self.by_peer.insert((peer, remote), slot);
            }
        }
    }

    /// A TPDU for a reference nobody has: a DR is confirmed, a CC refused, the rest ignored.
    fn unknown(&mut self, peer: Address, pdu: &Pdu<'_>) {
        self.counters.unknown_reference += 1;
        let (kind, packet) = match pdu {
            Pdu::Dr(dr) if dr.source_reference.0 != 0 => {
                (Kind::Dc, dc_packet(dr.source_reference, dr.destination_reference, true))
            }
            Pdu::Cc(cc) => {
                let reason = disconnect_reason::MISMATCHED_REFERENCES;
                let to = cc.source_reference;
                (Kind::Dr, dr_packet(to, cc.destination_reference, reason, true))
            }
            _ => {
                let reference = Some(pdu.destination_reference());
                let note = Note::Discarded { reference, reason: "unknown reference" };
                self.outputs.push_back(Output::Note(note));
                return;
            }
        };
        self.counters.sent[kind as usize] += 1;
        self.outputs.push_back(Output::Send(Nsdu { peer, packet }));
    }

    fn discard(&mut self, raw: &Raw<'_>, reason: &'static str) {
        let reference = raw.destination_reference();
        self.outputs.push_back(Output::Note(Note::Discarded { reference, reason }));
    }

    /// A CR: a new connection, or one that is known already (12.2.2.2 b 2).
    fn connect_request(&mut self, now: Instant, peer: Address, cr: &wire::tp::Connect<'_>) {
        let source = cr.source_reference;
        if cr.destination_reference.0 != 0 || source.0 == 0 {
            self.counters.malformed += 1;
            return;
        }
        if let Some(slot) = self.by_peer.get(&(peer, source)).copied() {
            self.counters.received[Kind::Cr as usize] += 1;
            let frozen = self.slots[slot as usize]
                .connection
                .as_deref()
                .is_some_and(|connection| connection.state == State::Frozen);
            self.counters.frozen_reference += u64::from(frozen);
            return self.with(now, slot, |connection, cx| connection.cr_again(cx));
        }
        let Some(agreed) = Agreement::answer(&self.params, cr) else {
            return self.refuse(peer, source, disconnect_reason::NEGOTIATION_FAILED);
        };
        let full = self.in_use >= self.params.connections;
        let Some(local) = Some(()).filter(|()| !full).and_then(|()| self.reference()) else {
            return self.refuse(peer, source, disconnect_reason::CONGESTION_AT_CONNECT);
        };
        self.counters.received[Kind::Cr as usize] += 1;
        let endpoint = self.endpoint();
        self.place(Connection::new(endpoint, peer, local, agreed));
        self.by_peer.insert((peer, source), endpoint.slot);
        self.with(now, endpoint.slot, |connection, cx| connection.indicate(cx, source, cr.credit));
        let tsap = |code| Bytes::copy_from_slice(cr.parameters.value(code).unwrap_or_default());
        self.outputs.push_back(Output::Deliver(Indication::Connect {
            endpoint,
            peer,
            called: tsap(0xC2),
            calling: tsap(0xC1),
            data: Bytes::copy_from_slice(cr.data),
        }));
    }

    fn refuse(&mut self, peer: Address, to: Reference, reason: u8) {
        self.counters.refusals += 1;
        self.counters.sent[Kind::Dr as usize] += 1;
        let packet = dr_packet(to, Reference(0), reason, true);
        self.outputs.push_back(Output::Send(Nsdu { peer, packet }));
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
            Request::Disconnect { endpoint, reason } => {
                if let Some(slot) = self.slot_of(endpoint) {
                    self.with(now, slot, |connection, cx| connection.disconnect(cx, reason));
                }
            }
        }
    }

    fn receive(&mut self, now: Instant, nsdu: Nsdu) {
        let head = nsdu.packet.head();
        let split = !head.is_empty();
        let octets = if split { head } else { nsdu.packet.payload() };
        for raw in tpdus(octets) {
            match raw {
                Ok(raw) => {
                    let tail = (split && raw.kind.may_carry_data()).then(|| nsdu.packet.payload());
                    self.tpdu(now, &nsdu, &raw, tail);
                }
                Err(_) => self.counters.malformed += 1,
            }
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some(Reverse((at, slot))) = self.agenda.peek().copied() {
            if at > now {
                break;
            }
            self.agenda.pop();
            let place = &mut self.slots[slot as usize];
            if place.scheduled != Some(at) {
                continue;
            }
            place.scheduled = None;
            self.with(now, slot, |connection, cx| connection.expire(cx));
        }
    }

    /// The time in front of the agenda. It may come before any timer runs out; that is harmless.
    fn deadline(&self) -> Option<Deadline> {
        let Reverse((at, slot)) = *self.agenda.peek()?;
        let connection = self.slots[slot as usize].connection.as_deref();
        let deadline = connection.and_then(|connection| connection.deadline(&self.params));
        Some(Deadline { at, timer: deadline.map_or("L", |deadline| deadline.timer) })
    }

    fn poll(&mut self) -> Option<Output<Nsdu, Indication, Note>> {
        self.outputs.pop_front()
    }
}
