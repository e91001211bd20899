//! Transport entity of a station: references, demultiplexing, deadlines of all connections.
//!
//! `receive` processes the received TPDUs.

mod receive;
mod references;

use receive::UserData;
use references::References;

use super::connection::{Connection, acknowledge_ms, first_credit};
use super::context::Context;
use super::negotiate::{Agreement, Ends, connect_tpdu};
use super::output_queue::OutputQueue;
use super::params::{Params, Receiving};
use super::service::{Note, Nsdu};
use super::table::State;
use super::transmit_handle::TransmitHandle;
use crate::machine::{Deadline, Machine, Output};
use crate::messaging::Priority;
use crate::transport::service::{Address, Counters, Endpoint, Indication, Reason, Request};
use bytes::{Buf, Bytes};
use std::collections::{BTreeMap, BTreeSet};
use wire::time::Instant;
use wire::tp::{Kind, Reference, tpdus};

/// Slot for a connection. Its generation increases with each reuse.
#[derive(Clone, Debug, Default)]
struct Slot {
    generation: u32,
    connection: Option<Box<Connection>>,
    /// Time of its entry in the agenda.
    scheduled: Option<Instant>,
    /// Priority of the connection that this side is about to request.
    priority: Priority,
}

/// Class 4 transport entity of a station.
#[derive(Clone, Debug)]
pub struct Entity {
    params: Params,
    slots: Vec<Slot>,
    free: Vec<u32>,
    in_use: usize,
    references: References,
    /// Slot by source reference of a peer, to recognise a repeated CR.
    by_peer: BTreeMap<(Address, Reference), u32>,
    /// Times at which connections are to be examined. An entry is never later than the connection's
    /// deadline and often earlier, so postponing a timer costs nothing. At most one entry per
    /// connection.
    agenda: BTreeSet<(Instant, u32)>,
    /// Number of connections opened by peers and not completed.
    half_open: usize,
    /// TSAPs in use; if there are none, users answer every CR themselves.
    tsaps: BTreeSet<Bytes>,
    outputs: OutputQueue,
    counters: Counters,
    /// Free receive buffers; `None` if memory is unlimited.
    free_buffers: Option<u32>,
}

impl Entity {
    /// Creates an entity without connections, whose first reference follows `last_reference`.
    ///
    /// A restarted station should not start from the same reference, because its peers may still
    /// have the old ones frozen.
    #[must_use]
    pub fn new(params: Params, last_reference: u16) -> Self {
        let free_buffers = params.memory_octets.map(|octets| {
            let buffers = octets.checked_div(params.tpdu_octets).unwrap_or(0);
            u32::try_from(buffers).unwrap_or(u32::MAX)
        });
        Self {
            params,
            free_buffers,
            slots: Vec::new(),
            free: Vec::new(),
            in_use: 0,
            references: References::after(last_reference),
            by_peer: BTreeMap::new(),
            agenda: BTreeSet::new(),
            half_open: 0,
            tsaps: BTreeSet::new(),
            outputs: OutputQueue::default(),
            counters: Counters::default(),
        }
    }

    /// Endpoint for a connection that this side is about to request.
    pub fn endpoint(&mut self) -> Endpoint {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize].priority = Priority::LOWEST;
        Endpoint { slot, generation: self.slots[slot as usize].generation }
    }

    /// Sets the priority of a connection that this side is about to request. It applies to all its
    /// TPDUs, in both directions; the CR carries it to the peer (parameter 87). The default is the
    /// lowest.
    pub fn prioritise(&mut self, endpoint: Endpoint, priority: Priority) {
        let slot = self.slots.get_mut(endpoint.slot as usize);
        if let Some(slot) = slot.filter(|slot| slot.generation == endpoint.generation) {
            slot.priority = priority;
        }
    }

    /// Priority of the connection of the output that [`Machine::poll`] returned last; the lowest if
    /// it belongs to no connection.
    #[must_use]
    pub const fn priority(&self) -> Priority {
        self.outputs.polled_priority()
    }

    /// Registers a TSAP-ID of a user. From the first registration on, a CR for another TSAP-ID is
    /// refused with [`super::disconnect_reason::ADDRESS_UNKNOWN`] without creating a connection. A
    /// CR without a TSAP-ID is accepted for any user.
    pub fn serve(&mut self, tsap: Bytes) {
        self.tsaps.insert(tsap);
    }

    /// Parameters of the entity.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Sets the parameters of a receiver. Without effect while there are connections, whose windows
    /// follow the present ones.
    pub fn receive_with(&mut self, receiving: Receiving) {
        if self.in_use == 0 {
            self.params = self.params.clone().with_receiving(receiving);
        }
    }

    /// Event counters.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// State of a connection; [`State::Closed`] after its end.
    #[must_use]
    pub fn state(&self, endpoint: Endpoint) -> State {
        self.connection(endpoint).map_or(State::Closed, |connection| connection.state)
    }

    /// Octets of TSDUs that a connection accepts now without [`Indication::Full`].
    #[must_use]
    pub fn room(&self, endpoint: Endpoint) -> usize {
        let queued = self.connection(endpoint).map(|connection| connection.queued_octets());
        queued.map_or(0, |queued| self.params.queue_octets.saturating_sub(queued))
    }

    /// Number of connections, including frozen references.
    #[must_use]
    pub const fn connections(&self) -> usize {
        self.in_use
    }

    /// Returns a handle for the output that [`Machine::poll`] returned last, if a timer waits for
    /// its answer. The timer then starts at [`Entity::transmitted`]. `None` if there is no such
    /// timer. Without the handle, the timer runs from the output of the TPDU.
    pub fn handle(&mut self) -> Option<TransmitHandle> {
        let (slot, timed) = self.outputs.take_timed()?;
        let place = self.slots.get_mut(slot as usize)?;
        let endpoint = Endpoint { slot, generation: place.generation };
        place.connection.as_deref_mut()?.queued_below(timed);
        Some(TransmitHandle { endpoint, timed })
    }

    /// Reports that the TPDU of a handle has left the station, or was dropped by it. In both cases
    /// its timer starts.
    pub fn transmitted(&mut self, now: Instant, handle: TransmitHandle) {
        if let Some(slot) = self.slot_of(handle.endpoint) {
            self.with(now, slot, |connection, cx| connection.left_station(cx, handle.timed));
        }
    }

    /// Returns true if a TSDU of `octets` octets fits the queue or, if it is longer than the queue,
    /// if that is empty. If not, [`Indication::Ready`] follows as soon as it does.
    pub fn has_room(&mut self, endpoint: Endpoint, octets: usize) -> bool {
        let room = self.room(endpoint);
        if octets <= room || room == self.params.queue_octets {
            return true;
        }
        let most = self.params.queue_octets.saturating_sub(octets);
        self.wait_for_room(endpoint, most);
        false
    }

    /// Returns true if at most this number of octets wait for the window. If not,
    /// [`Indication::Ready`] follows as soon as that is so.
    pub fn has_at_most_queued(&mut self, endpoint: Endpoint, most: usize) -> bool {
        let queued = self.connection(endpoint).map_or(0, Connection::queued_octets);
        if queued > most {
            self.wait_for_room(endpoint, most);
        }
        queued <= most
    }

    fn wait_for_room(&mut self, endpoint: Endpoint, most: usize) {
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

    /// Buffers of a connection with a whole window.
    const fn whole_window(&self) -> u32 {
        self.params.credit.buffers(self.params.window)
    }

    /// Takes up to `wanted` receive buffers from the memory.
    fn take_buffers(&mut self, wanted: u32) -> u32 {
        let Some(free) = &mut self.free_buffers else { return wanted };
        let taken = wanted.min(*free);
        *free -= taken;
        taken
    }

    /// Returns the buffers of a connection that has ended, and gives them to connections with less
    /// than their window, in the order of their slots.
    fn return_buffers(&mut self, now: Instant, buffers: u32) {
        let Some(free) = &mut self.free_buffers else { return };
        *free += buffers;
        let wanted = self.whole_window();
        for slot in 0..self.slots.len() {
            let connection = self.slots[slot].connection.as_deref();
            let Some(has) = connection.filter(|it| it.state == State::Open).map(|it| it.buffers)
            else {
                continue;
            };
            let more = self.take_buffers(wanted.saturating_sub(has));
            if more > 0 {
                self.with(now, slot as u32, |connection, cx| connection.add_buffers(cx, more));
            }
        }
    }

    fn place(&mut self, mut connection: Connection) {
        connection.buffers = self.take_buffers(self.whole_window());
        let slot = connection.endpoint.slot;
        self.references.set(connection.local, slot);
        self.slots[slot as usize].connection = Some(Box::new(connection));
        self.in_use += 1;
    }

    /// Runs an action on a connection, and updates its deadline and its slot.
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
        let has_ended = matches!(connection.state, State::Frozen | State::Closed);
        let returned = if has_ended { core::mem::take(&mut connection.buffers) } else { 0 };
        if connection.state == State::Closed {
            self.forget(slot);
            return self.return_buffers(now, returned);
        }
        let at = connection.due(params);
        if at < place.scheduled.unwrap_or(Instant::MAX) {
            if let Some(later) = place.scheduled.replace(at) {
                agenda.remove(&(later, slot));
            }
            agenda.insert((at, slot));
        }
        if returned > 0 {
            self.return_buffers(now, returned);
        }
    }

    fn forget(&mut self, slot: u32) {
        let place = &mut self.slots[slot as usize];
        let Some(connection) = place.connection.take() else { return };
        place.generation = place.generation.wrapping_add(1);
        if let Some(at) = place.scheduled.take() {
            self.agenda.remove(&(at, slot));
        }
        self.references.free(connection.local);
        // If a peer answers two CRs with the same reference, only the entry of this connection is
        // removed.
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
        let Some(local) = Some(()).filter(|()| !full).and_then(|()| self.references.next()) else {
            return fail(self, Reason::TooManyConnections);
        };
        let agreed = Agreement { priority, ..Agreement::proposed(&self.params) };
        // Those that the connection takes when it is placed, below.
        let whole = self.whole_window();
        let buffers = self.free_buffers.map_or(whole, |free| whole.min(free));
        let ends = Ends {
            destination_reference: Reference(0),
            source_reference: local,
            credit: first_credit(buffers) as u8,
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

    /// Processes a request. A request for an ended connection has no effect, because its user was
    /// informed.
    fn request(&mut self, now: Instant, request: Request) {
        if let Request::Connect { endpoint, peer, called, calling, data } = request {
            return self.connect(now, endpoint, peer, [called, calling, data]);
        }
        let Some(slot) = self.slot_of(request.endpoint()) else { return };
        self.with(now, slot, |connection, cx| match request {
            Request::Connect { .. } => {}
            Request::Accept { data, .. } => connection.accept(cx, &data),
            Request::Data { tsdu, .. } => connection.data(cx, tsdu),
            Request::Expedited { data, .. } => connection.expedite(cx, data),
            Request::Withdraw { buffers, .. } => connection.withdraw(cx, buffers),
            Request::GiveBack { buffers, .. } => connection.give_back(cx, buffers),
            Request::Disconnect { reason, .. } => connection.disconnect(cx, reason),
        });
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

    /// First time in the agenda. It may be earlier than every timer, which is harmless.
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

/// Returns true if a peer opened the connection and has not completed the handshake.
const fn is_half_open(state: State) -> bool {
    matches!(state, State::Indicated | State::CcSent)
}
