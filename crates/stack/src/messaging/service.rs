//! State machine of the messaging service: sockets, LLC types 1 and 3, queues.

mod reception;

use super::check;
use super::queue::{Datagram, QueuedOutput, Queues, Waiting, Whose};
use super::socket::{OperationId, Options, Priority, Receive, Socket, Transmit};
use super::{
    Address, Completion, Counters, Failure, Indication, Message, Outcome, Params, Side, SideState,
    is_socket, sap,
};
use crate::llc::type1::{self, Class, Type1};
use crate::llc::type3::{self, Association, CommandStatus, Lpdu, Type3};
use crate::machine::{Deadline, Machine, Output};
use crate::station::{MacQueues, PRIORITIES, Transmission};
use bytes::Bytes;
use core::convert::Infallible;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wire::addr::{Mac, Sap};
use wire::crc16::CHECK_OCTETS;
use wire::packet::Packet;
use wire::time::Instant;

/// Purpose of a timer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Timed {
    /// Time limit of a transmission.
    Transmit,
    /// Time limit of a reception.
    Receive,
    /// Next attempt to a receiver that had no buffer.
    Again,
}

impl Timed {
    const fn name(self) -> &'static str {
        match self {
            Self::Transmit => "transmit time",
            Self::Receive => "receive time",
            Self::Again => "receiver without buffer",
        }
    }
}

/// Messaging service of a station.
///
/// Its requests are methods, because each returns at once whether it was accepted. For a MAC with
/// one queue it outputs one LPDU, and the next only after [`Messaging::transmitted`].
#[derive(Clone, Debug)]
pub struct Messaging {
    params: Params,
    sockets: BTreeMap<u8, Socket>,
    datagrams: Type1,
    acknowledged: Type3,
    queues: Queues,
    /// Frames passed to the MAC, by priority, oldest first.
    ahead: [VecDeque<Whose>; PRIORITIES],
    timers: BTreeSet<(Instant, Timed, OperationId)>,
    operations: u64,
    indications: VecDeque<Indication>,
    counters: Counters,
}

impl Messaging {
    /// Creates the messaging service of a station without open sockets.
    ///
    /// # Errors
    /// The parameters of LLC are invalid.
    pub fn new(params: Params) -> Result<Self, type3::Invalid> {
        Ok(Self {
            params,
            sockets: BTreeMap::new(),
            datagrams: Type1::of_class(Class::Iii, []),
            acknowledged: Type3::new(params.link)?,
            queues: Queues::default(),
            ahead: Default::default(),
            timers: BTreeSet::new(),
            operations: 0,
            indications: VecDeque::new(),
            counters: Counters::default(),
        })
    }

    /// Event counters.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Read access to LLC type 3.
    #[must_use]
    pub const fn acknowledged(&self) -> &Type3 {
        &self.acknowledged
    }

    /// Read access to LLC type 1.
    #[must_use]
    pub const fn datagrams(&self) -> &Type1 {
        &self.datagrams
    }

    /// Opens a socket with [`Options::plain`].
    pub fn open(&mut self, now: Instant, socket: u8) -> Outcome {
        if !is_socket(socket) {
            return Outcome::InvalidSocket;
        }
        if self.sockets.contains_key(&socket) {
            return Outcome::DuplicateSocket;
        }
        if self.sockets.len() >= self.params.sockets {
            return Outcome::TooManySockets;
        }
        self.sockets.insert(socket, Socket::new());
        self.datagrams.open(sap(socket));
        self.acknowledged.request(now, type3::Request::Open { sap: sap(socket) });
        Outcome::Accepted
    }

    /// Closes a socket without pending operations.
    pub fn close(&mut self, now: Instant, socket: u8) -> Outcome {
        match self.sockets.get(&socket) {
            None => return Outcome::InvalidSocket,
            Some(open) if !open.transmits.is_empty() || !open.receives.is_empty() => {
                return Outcome::SocketBusy;
            }
            Some(open) => self.counters.never_taken += open.received.len() as u64,
        }
        self.sockets.remove(&socket);
        self.datagrams.close(sap(socket));
        self.acknowledged.request(now, type3::Request::Close { sap: sap(socket) });
        Outcome::Accepted
    }

    /// Resets and closes every socket.
    pub fn close_all(&mut self, now: Instant) {
        while let Some(socket) = self.sockets.first_key_value().map(|(socket, _)| *socket) {
            for side in [Side::Transmit, Side::Receive] {
                let _ = self.reset(now, socket, side);
            }
            let _ = self.close(now, socket);
        }
    }

    /// Sets the options of the socket's further operations.
    pub fn option(&mut self, socket: u8, options: Options) -> Outcome {
        let Some(open) = self.sockets.get_mut(&socket) else { return Outcome::InvalidSocket };
        open.options = options;
        Outcome::Accepted
    }

    /// Transmits a message from a socket.
    pub fn transmit(&mut self, now: Instant, socket: u8, to: Address, data: Bytes) -> Outcome {
        let Some(open) = self.sockets.get_mut(&socket) else { return Outcome::InvalidSocket };
        let options = &open.options;
        let no_group = options.acknowledged && to.station.is_group();
        if !is_socket(to.socket) || no_group {
            return Outcome::InvalidSocket;
        }
        if open.transmits.len() >= options.pending_transmits.min(self.params.link.waiting) {
            return Outcome::SocketBusy;
        }
        let check_octets = if options.crc { CHECK_OCTETS } else { 0 };
        if data.len() + check_octets > self.params.link.information_octets {
            return Outcome::TooLarge;
        }
        let id = OperationId { socket, number: self.operations };
        self.operations += 1;
        let due = options.transmit_time.map(|time| now + time);
        self.timers.extend(due.map(|due| (due, Timed::Transmit, id)));
        open.transmits.push_back(Transmit {
            id,
            sequence: open.accepted,
            to,
            data: if options.crc { check::with_crc(&data) } else { data },
            priority: options.priority,
            acknowledged: options.acknowledged,
            in_progress: false,
            left: options.transmissions.max(1),
            due,
            again: None,
        });
        open.accepted += 1;
        if options.acknowledged {
            self.send(now, id);
            self.settle(now);
        } else {
            let priority = options.priority;
            self.queues.put(priority, Waiting::Datagram(id));
        }
        Outcome::Accepted
    }

    /// Enables the reception of one message of at most `octets` octets.
    pub fn enable_reception(&mut self, now: Instant, socket: u8, octets: usize) -> Outcome {
        let Some(open) = self.sockets.get_mut(&socket) else { return Outcome::InvalidSocket };
        if open.receives.len() + open.received.len() >= open.options.pending_receives {
            return Outcome::SocketBusy;
        }
        let check_octets = if open.options.crc { CHECK_OCTETS } else { 0 };
        let octets = octets.saturating_add(check_octets);
        if octets > self.params.link.information_octets {
            return Outcome::TooLarge;
        }
        let id = OperationId { socket, number: self.operations };
        self.operations += 1;
        let due = open.options.receive_time.map(|time| now + time);
        self.timers.extend(due.map(|due| (due, Timed::Receive, id)));
        open.receives.push_back(Receive { id, octets, due });
        self.tell_buffer(socket);
        Outcome::Accepted
    }

    /// Takes the oldest received message of a socket.
    pub fn take(&mut self, socket: u8) -> Option<Message> {
        self.sockets.get_mut(&socket)?.received.pop_front()
    }

    /// Cancels all pending operations of a side. A message that was passed to the MAC, or whose
    /// acknowledgement is awaited, may nevertheless be delivered.
    pub fn reset(&mut self, now: Instant, socket: u8, side: Side) -> Outcome {
        let Some(open) = self.sockets.get_mut(&socket) else { return Outcome::InvalidSocket };
        match side {
            Side::Transmit => {
                open.transmitted = Completion::Done;
                for transmit in core::mem::take(&mut open.transmits) {
                    self.withdraw(now, &transmit);
                }
            }
            Side::Receive => {
                open.reception = Completion::Done;
                for Receive { id, due, .. } in core::mem::take(&mut open.receives) {
                    due.map(|due| self.timers.remove(&(due, Timed::Receive, id)));
                }
                self.tell_buffer(socket);
            }
        }
        self.settle(now);
        Outcome::Accepted
    }

    /// State of a socket's side.
    ///
    /// # Errors
    /// [`Outcome::InvalidSocket`] if the socket is not open.
    pub fn status(&self, socket: u8, side: Side) -> Result<SideState, Outcome> {
        let open = self.sockets.get(&socket).ok_or(Outcome::InvalidSocket)?;
        Ok(match side {
            Side::Transmit => match open.transmits.front() {
                Some(oldest) if oldest.in_progress => SideState::InProgress,
                Some(_) => SideState::Pending,
                None => open.transmitted.state(),
            },
            Side::Receive if !open.receives.is_empty() => SideState::Pending,
            Side::Receive => open.reception.state(),
        })
    }

    /// Reason why the last operation of a side failed, if it did.
    #[must_use]
    pub fn failure(&self, socket: u8, side: Side) -> Option<Failure> {
        let open = self.sockets.get(&socket)?;
        let last = match side {
            Side::Transmit => open.transmitted,
            Side::Receive => open.reception,
        };
        match last {
            Completion::Failed(failure) => Some(failure),
            Completion::Done | Completion::TimedOut => None,
        }
    }

    /// Next indication to the user. (The same as delivered by [`Machine::poll`], without an LPDU.)
    pub fn indication(&mut self) -> Option<Indication> {
        self.indications.pop_front()
    }

    /// Reports that the MAC has finished with the oldest LPDU of this queue, or did not accept the
    /// newest. The queue is the LPDU's priority if [`Params::queues`] has one for each, and
    /// otherwise 0.
    pub fn transmitted(&mut self, now: Instant, queue: u8, outcome: Transmission) {
        let queue = match self.params.queues {
            MacQueues::One => 0,
            MacQueues::ByPriority => queue,
        };
        let Some(ahead) = self.ahead.get_mut(usize::from(queue)) else { return };
        let whose = match outcome {
            Transmission::NotTaken => ahead.pop_back(),
            Transmission::Sent | Transmission::GivenUp | Transmission::Refused => ahead.pop_front(),
        };
        match whose {
            // Neither LLC machine has new output.
            Some(Whose::Datagram(id)) => self.datagram_transmitted(now, id, outcome),
            Some(Whose::Command(handle)) => {
                self.acknowledged.transmitted(now, handle, outcome);
                self.settle(now);
            }
            Some(Whose::Answer) | None => {}
        }
    }

    /// Processes a command that requests a response at once; returns that response, which bypasses
    /// the queues.
    pub(crate) fn asked(&mut self, now: Instant, lpdu: Lpdu) -> Option<Lpdu> {
        let before = self.queues.answers();
        self.receive(now, lpdu);
        self.queues.take_answer_beyond(before)
    }

    fn transmission(&mut self, id: OperationId) -> Option<&mut Transmit> {
        let open = self.sockets.get_mut(&id.socket)?;
        open.transmits.iter_mut().find(|transmit| transmit.id == id)
    }

    /// Passes a transmission to LLC.
    fn send(&mut self, now: Instant, id: OperationId) {
        let Some(transmit) = self.transmission(id) else { return };
        transmit.again = None;
        let (to, priority) = (transmit.to, transmit.priority);
        if !transmit.acknowledged {
            return self.queues.put(priority, Waiting::Datagram(id));
        }
        let (transmissions, data) = (transmit.left, Packet::new(transmit.data.clone()));
        let association = association(sap(id.socket), to.station, sap(to.socket), priority);
        let id = id.request();
        let request = type3::Request::DataAck { id, association, transmissions, data };
        self.acknowledged.request(now, request);
    }

    /// Creates the UI for a transmission without acknowledgement.
    fn ui(&mut self, id: OperationId) -> Option<Datagram> {
        let transmit = self.transmission(id)?;
        transmit.in_progress = true;
        let is_last = transmit.left <= 1;
        let data =
            if is_last { core::mem::take(&mut transmit.data) } else { transmit.data.clone() };
        let Address { station, socket } = transmit.to;
        let (destination, source) = (sap(socket), sap(id.socket));
        Some(Datagram { station, destination, source, priority: transmit.priority.number(), data })
    }

    fn datagram_transmitted(&mut self, now: Instant, id: OperationId, outcome: Transmission) {
        let Some(transmit) = self.transmission(id) else { return };
        transmit.left = transmit.left.saturating_sub(1);
        let completion = match outcome {
            Transmission::Sent => Completion::Done,
            Transmission::GivenUp | Transmission::NotTaken | Transmission::Refused
                if transmit.left > 0 =>
            {
                transmit.in_progress = false;
                return self.send(now, id);
            }
            Transmission::GivenUp | Transmission::NotTaken | Transmission::Refused => {
                Completion::Failed(Failure::NotTransmitted)
            }
        };
        self.complete(id, completion);
    }

    /// Processes the outcome of a command, reported by LLC type 3.
    fn command_over(&mut self, now: Instant, id: OperationId, outcome: type3::Outcome, used: u32) {
        let again = now + self.params.link.acknowledgement_time;
        let Some(transmit) = self.transmission(id) else { return };
        transmit.left = transmit.left.saturating_sub(used.max(1));
        let completion = match outcome {
            type3::Outcome::Responded { command: CommandStatus::Accepted, .. } => Completion::Done,
            type3::Outcome::Responded { command, .. } => {
                if command.may_pass() && transmit.left > 0 {
                    transmit.in_progress = false;
                    transmit.again = Some(again);
                    self.timers.insert((again, Timed::Again, id));
                    return;
                }
                Completion::Failed(Failure::Refused(command))
            }
            type3::Outcome::NoAcknowledgement => Completion::Failed(Failure::NoAcknowledgement),
            // Only this machine cancels commands, and it removes the transmission first.
            type3::Outcome::Cancelled => return,
            // The length was checked before.
            type3::Outcome::QueueFull | type3::Outcome::TooLong => {
                Completion::Failed(Failure::NoVariable)
            }
        };
        self.complete(id, completion);
    }

    /// Withdraws a transmission from LLC and the queues.
    fn withdraw(&mut self, now: Instant, transmit: &Transmit) {
        let Transmit { id, to, priority, due, again, .. } = *transmit;
        due.map(|due| self.timers.remove(&(due, Timed::Transmit, id)));
        again.map(|again| self.timers.remove(&(again, Timed::Again, id)));
        if transmit.acknowledged {
            let association = association(sap(id.socket), to.station, sap(to.socket), priority);
            let request = type3::Request::Cancel { id: id.request(), association };
            self.acknowledged.request(now, request);
        } else {
            self.queues.take_back(priority, id);
        }
    }

    /// Completes a transmission.
    fn complete(&mut self, id: OperationId, completion: Completion) -> Option<Transmit> {
        let open = self.sockets.get_mut(&id.socket)?;
        let transmit = match open.transmits.front() {
            Some(oldest) if oldest.id == id => open.transmits.pop_front()?,
            _ => {
                let place = open.transmits.iter().position(|transmit| transmit.id == id)?;
                open.transmits.remove(place)?
            }
        };
        transmit.due.map(|due| self.timers.remove(&(due, Timed::Transmit, id)));
        open.transmitted = completion;
        if open.options.transmit_indication {
            let Transmit { sequence, .. } = transmit;
            let indication = Indication::Transmitted { socket: id.socket, sequence, completion };
            self.indications.push_back(indication);
        }
        Some(transmit)
    }

    /// Priority of the next frame; `None` if none waits.
    pub(crate) fn most_urgent(&self) -> Option<Priority> {
        self.queues.most_urgent()
    }

    /// Same as [`Machine::poll`], without building the packet of a datagram.
    pub(crate) fn say(&mut self) -> Option<QueuedOutput> {
        if let Some(indication) = self.indications.pop_front() {
            return Some(QueuedOutput::Indication(indication));
        }
        if self.params.queues == MacQueues::One && !self.ahead[0].is_empty() {
            return None;
        }
        loop {
            let (whose, priority, said) = match self.queues.next()? {
                Waiting::Datagram(id) => {
                    // A cancelled transmission has left the queue as well.
                    let Some(datagram) = self.ui(id) else { continue };
                    (Whose::Datagram(id), datagram.priority, QueuedOutput::Datagram(datagram))
                }
                Waiting::Command(handle, lpdu) => {
                    let id = handle.request.map(OperationId::of_request);
                    if let Some(transmit) = id.and_then(|id| self.transmission(id)) {
                        transmit.in_progress = true;
                    }
                    (Whose::Command(handle), lpdu.priority, QueuedOutput::Lpdu(lpdu))
                }
                Waiting::Answer(lpdu) => (Whose::Answer, lpdu.priority, QueuedOutput::Lpdu(lpdu)),
            };
            let queue = match self.params.queues {
                MacQueues::One => 0,
                MacQueues::ByPriority => usize::from(priority).min(PRIORITIES - 1),
            };
            self.ahead[queue].push_back(whose);
            return Some(said);
        }
    }

    /// Forwards the outputs of LLC until there are none.
    fn settle(&mut self, now: Instant) {
        loop {
            if let Some(output) = self.acknowledged.poll() {
                match output {
                    Output::Send(lpdu) => self.enqueue(lpdu),
                    Output::Deliver(indication) => self.acknowledged_says(now, indication),
                    Output::Note(never) => match never {},
                }
            } else if let Some(output) = self.datagrams.poll() {
                match output {
                    Output::Send(type1::Lpdu { station, packet }) => {
                        let priority = Priority::HIGHEST.number();
                        self.enqueue(Lpdu { station, priority, packet, handle: None });
                    }
                    Output::Deliver(indication) => self.datagrams_say(indication),
                    Output::Note(never) => match never {},
                }
            } else {
                return;
            }
        }
    }

    fn enqueue(&mut self, lpdu: Lpdu) {
        let priority = Priority::new(lpdu.priority).unwrap_or(Priority::HIGHEST);
        match lpdu.handle {
            Some(handle) => self.queues.put(priority, Waiting::Command(handle, Box::new(lpdu))),
            None => self.counters.answers_dropped += u64::from(!self.queues.answer(lpdu)),
        }
    }

    fn acknowledged_says(&mut self, now: Instant, indication: type3::Indication) {
        match indication {
            type3::Indication::Data { association, data } => {
                let from = Address { station: association.station, socket: association.remote.0 };
                self.buffer_taken(association.local.0);
                self.deliver(association.local.0, from, data);
            }
            type3::Indication::Overrun { association, .. } => {
                let completion = Completion::Failed(Failure::BufferTooSmall);
                self.buffer_taken(association.local.0);
                self.received(association.local.0, completion);
            }
            type3::Indication::Status { id, outcome, transmissions } => {
                self.command_over(now, OperationId::of_request(id), outcome, transmissions);
            }
            // Sockets store no replies.
            type3::Indication::Replied { .. } => {}
        }
    }

    fn ran_out(&mut self, now: Instant, timed: Timed, id: OperationId) {
        match timed {
            Timed::Again => self.send(now, id),
            Timed::Transmit => {
                if let Some(transmit) = self.complete(id, Completion::TimedOut) {
                    self.withdraw(now, &transmit);
                }
            }
            Timed::Receive => {
                let Some(open) = self.sockets.get_mut(&id.socket) else { return };
                let Some(place) = open.receives.iter().position(|receive| receive.id == id) else {
                    return;
                };
                // [`Self::received`] completes the first reception, so this one is moved to the
                // front.
                if let Some(receive) = open.receives.remove(place) {
                    open.receives.push_front(receive);
                }
                self.received(id.socket, Completion::TimedOut);
            }
        }
    }
}

fn association(local: Sap, station: Mac, remote: Sap, priority: Priority) -> Association {
    Association { local, station, remote, priority: priority.number() }
}

impl Machine for Messaging {
    type Request = Infallible;
    type Indication = Indication;
    type Pdu = Lpdu;
    type Note = Infallible;

    fn request(&mut self, _now: Instant, request: Infallible) {
        match request {}
    }

    fn receive(&mut self, now: Instant, mut lpdu: Lpdu) {
        if let Some((destination, source)) = self.datagrams.read_ui(&mut lpdu.packet) {
            let from = Address { station: lpdu.station, socket: source.0 };
            return self.datagram(destination.0, from, lpdu.packet);
        }
        if !check::is_acknowledged(&lpdu.packet) {
            let Lpdu { station, packet, .. } = lpdu;
            self.datagrams.receive(now, type1::Lpdu { station, packet });
        } else if self.is_damaged(&lpdu.packet) {
            // Treated like a wrong FCS: no acknowledgement, so the command is retransmitted.
            self.counters.bad_crc += 1;
        } else {
            self.acknowledged.receive(now, lpdu);
        }
        self.settle(now);
    }

    fn expire(&mut self, now: Instant) {
        self.acknowledged.expire(now);
        self.settle(now);
        while let Some((at, timed, id)) = self.timers.first().copied()
            && at <= now
        {
            self.timers.remove(&(at, timed, id));
            self.ran_out(now, timed, id);
            self.settle(now);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let own =
            self.timers.first().map(|(at, timed, _)| Deadline { at: *at, timer: timed.name() });
        Deadline::earlier(self.acknowledged.deadline(), own)
    }

    fn poll(&mut self) -> Option<Output<Lpdu, Indication, Infallible>> {
        Some(match self.say()? {
            QueuedOutput::Indication(indication) => Output::Deliver(indication),
            QueuedOutput::Datagram(datagram) => Output::Send(datagram.lpdu()),
            QueuedOutput::Lpdu(lpdu) => Output::Send(*lpdu),
        })
    }
}
