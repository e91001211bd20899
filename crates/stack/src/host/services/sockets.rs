//! Sockets of a host's messaging service, and the flows that send from them.
//!
//! Each flow sends from a socket of its own, so flows do not wait for each other's
//! acknowledgements. All flows arrive at two sockets, because only the CRC has to be agreed on. All
//! sockets are LSAPs that ISO 8802-2 reserves for local use.

use super::super::work::Asker;
use super::super::{FRAMES_AHEAD, Host, MESSAGE_SAP, To};
use super::Task;
use crate::llc::type3::{Invalid, Lpdu};
use crate::load::{Event, Flow, MessageOptions, Pattern, Sink};
use crate::machine::{Deadline, Machine, Output};
use crate::messaging::{
    Address, Completion, Failure, Indication, Messaging, Options, Params, Priority, Side,
};
use crate::station::Transmission;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use wire::addr::Sap;
use wire::packet::Packet;
use wire::time::Instant;

/// Socket for messages without CRC.
const PLAIN: u8 = 0x60;
/// Socket for messages with CRC. Its number differs from the other in many bits, because no CRC
/// covers LLC's header.
const CHECKED: u8 = 0x9C;
/// LSAPs of local use with other users: messages without connection, and the protocol of control sessions.
const TAKEN: [u8; 2] = [MESSAGE_SAP.0, wire::control::SAP.0];
/// SAP of the socket for messages with CRC.
pub const CHECKED_SAP: Sap = Sap(CHECKED);
/// Step between LSAPs of local use: neither the group bit nor the bit reserved by ISO is set.
const STEP: usize = 4;
/// Maximum number of outstanding messages of a flow.
const UNDER_WAY: usize = 64;
/// Maximum number of messages received before one is taken.
const RECEPTIONS: usize = 8;

/// Maximum number of flows per station over the messaging service: 63 LSAPs of local use minus
/// those above.
pub const MESSAGE_FLOWS: usize = 63 - 2 - TAKEN.len();

/// Message in progress.
#[derive(Clone, Copy, Debug)]
struct Handed {
    sequence: u32,
    planned: Instant,
}

/// Sending end of a flow.
#[derive(Clone, Debug)]
struct Sending {
    place: usize,
    peer: Address,
    acknowledged: bool,
    accepted: u64,
    under_way: BTreeMap<u64, Handed>,
}

/// Sockets of a host.
#[derive(Clone, Debug)]
pub(in crate::host) struct Sockets {
    messaging: Messaging,
    /// Length of the longest message without CRC, in octets.
    information_octets: usize,
    sending: BTreeMap<u8, Sending>,
    /// Indications that were polled while frames were requested.
    indications: VecDeque<Indication>,
}

impl Sockets {
    /// Creates the sockets that receive messages.
    ///
    /// # Errors
    /// The parameters of LLC are invalid.
    pub(in crate::host) fn new(params: Params) -> Result<Self, Invalid> {
        let mut sockets = Self {
            messaging: Messaging::new(params)?,
            information_octets: params.link.information_octets,
            sending: BTreeMap::new(),
            indications: VecDeque::new(),
        };
        for (socket, crc) in [(PLAIN, false), (CHECKED, true)] {
            let _ = sockets.messaging.open(Instant::ZERO, socket);
            let receive_indication = true;
            let options = Options {
                receive_indication,
                crc,
                pending_receives: RECEPTIONS,
                ..Options::plain()
            };
            let _ = sockets.messaging.option(socket, options);
            (0..RECEPTIONS).for_each(|_| sockets.enable(Instant::ZERO, socket));
        }
        Ok(sockets)
    }

    /// Read access to its messaging service.
    pub(in crate::host) const fn messaging(&self) -> &Messaging {
        &self.messaging
    }

    fn enable(&mut self, now: Instant, socket: u8) {
        let check_octets = if socket == CHECKED { wire::crc16::CHECK_OCTETS } else { 0 };
        let octets = self.information_octets.saturating_sub(check_octets);
        let _ = self.messaging.enable_reception(now, socket, octets);
    }

    /// Returns true if an LPDU is for one of the sockets.
    pub(in crate::host) fn is_for(&self, packet: &Packet) -> bool {
        let Some([destination]) = packet.first::<1>() else { return false };
        destination == PLAIN || destination == CHECKED || self.sending.contains_key(&destination)
    }

    /// Opens a socket for the flow at this place; `None` if none is left.
    fn start(
        &mut self,
        now: Instant,
        place: usize,
        To { station: peer, priority }: To,
        options: MessageOptions,
    ) -> Option<u8> {
        let local = (STEP..256).step_by(STEP).filter_map(|number| u8::try_from(number).ok());
        let socket = local
            .filter(|number| ![PLAIN, CHECKED].contains(number) && !TAKEN.contains(number))
            .find(|number| !self.sending.contains_key(number))?;
        if !self.messaging.open(now, socket).is_accepted() {
            return None;
        }
        let MessageOptions { crc, acknowledged, transmissions, timeout } = options;
        let options = Options {
            transmit_indication: true,
            transmit_time: timeout,
            priority,
            crc,
            acknowledged,
            transmissions,
            pending_transmits: UNDER_WAY,
            ..Options::plain()
        };
        let _ = self.messaging.option(socket, options);
        let peer = Address { station: peer, socket: if crc { CHECKED } else { PLAIN } };
        let under_way = BTreeMap::new();
        let sending = Sending { place, peer, acknowledged, accepted: 0, under_way };
        self.sending.insert(socket, sending);
        Some(socket)
    }

    /// Number of outstanding messages of a socket.
    fn under_way(&self, socket: u8) -> usize {
        self.sending.get(&socket).map_or(0, |sending| sending.under_way.len())
    }

    /// Returns true if a socket accepts another message.
    fn has_room(&self, socket: u8) -> bool {
        self.under_way(socket) < UNDER_WAY
    }

    /// Transmits a message.
    ///
    /// # Errors
    /// Reason why the service does not accept it.
    fn transmit(
        &mut self,
        now: Instant,
        socket: u8,
        handed: Handed,
        data: Bytes,
    ) -> Result<(), &'static str> {
        let Some(sending) = self.sending.get_mut(&socket) else { return Err("invalid socket") };
        // Its outcome may be determined before the operation returns, and is reported later.
        sending.under_way.insert(sending.accepted, handed);
        if self.messaging.transmit(now, socket, sending.peer, data).is_accepted() {
            sending.accepted += 1;
            return Ok(());
        }
        sending.under_way.remove(&sending.accepted);
        Err("not taken by the messaging service")
    }

    /// Closes a socket and drops its waiting messages.
    fn finish(&mut self, now: Instant, socket: u8) {
        if self.sending.remove(&socket).is_some() {
            let _ = self.messaging.reset(now, socket, Side::Transmit);
            let _ = self.messaging.close(now, socket);
        }
    }

    /// Next indication of the messaging service.
    fn indication(&mut self) -> Option<Indication> {
        self.indications.pop_front().or_else(|| self.messaging.indication())
    }

    /// Takes a received message, if it is complete, and enables the next reception.
    fn take(&mut self, now: Instant, socket: u8, completion: Completion) -> Option<Packet> {
        let message = self.messaging.take(socket);
        self.enable(now, socket);
        message.filter(|_| matches!(completion, Completion::Done)).map(|message| message.data)
    }

    pub(in crate::host) fn receive(&mut self, now: Instant, lpdu: Lpdu) {
        self.messaging.receive(now, lpdu);
    }

    /// Processes a command that requests a response at once; returns that response.
    pub(in crate::host) fn asked(&mut self, now: Instant, lpdu: Lpdu) -> Option<Lpdu> {
        self.messaging.asked(now, lpdu)
    }

    pub(in crate::host) fn expire(&mut self, now: Instant) {
        self.messaging.expire(now);
    }

    pub(in crate::host) fn deadline(&self) -> Option<Deadline> {
        self.messaging.deadline()
    }

    pub(in crate::host) fn transmitted(&mut self, now: Instant, queue: u8, outcome: Transmission) {
        self.messaging.transmitted(now, queue, outcome);
    }

    /// Priority of the next LPDU; `None` if none waits.
    pub(in crate::host) fn most_urgent(&self) -> Option<Priority> {
        self.messaging.most_urgent()
    }

    /// Next LPDU to be sent. For a MAC with one queue there is no other before
    /// [`Sockets::transmitted`].
    pub(in crate::host) fn next(&mut self) -> Option<Lpdu> {
        loop {
            match self.messaging.poll()? {
                Output::Send(lpdu) => return Some(lpdu),
                Output::Deliver(indication) => self.indications.push_back(indication),
                Output::Note(never) => match never {},
            }
        }
    }
}

impl Host {
    pub(super) fn serve_socket(
        &mut self,
        now: Instant,
        place: usize,
        task: Task,
        options: MessageOptions,
    ) -> bool {
        match task {
            Task::Start => {
                let Flow { peer: station, priority, .. } = *self.users.flow(place);
                let to = To { station, priority };
                let sockets = self.sockets.as_mut();
                let socket = sockets.and_then(|it| it.start(now, place, to, options));
                if socket.is_none() {
                    return self.refuse(now, place, "no socket");
                }
                self.users.flows[place].socket = socket;
                self.users.flows[place].sender.open(now);
                true
            }
            Task::HandOver => self.hand_to_socket(now, place),
            Task::Close => {
                let socket = self.users.flows[place].socket.take();
                if let (Some(socket), Some(sockets)) = (socket, &mut self.sockets) {
                    sockets.finish(now, socket);
                }
                socket.is_some()
            }
        }
    }

    /// Passes one message of a flow to its socket, if one waits and the socket accepts it.
    fn hand_to_socket(&mut self, now: Instant, place: usize) -> bool {
        let flowing = &self.users.flows[place];
        let (Some(socket), Some(sockets)) = (flowing.socket, &mut self.sockets) else {
            return false;
        };
        let Flow { id, pattern, .. } = *flowing.sender.flow();
        let enough = pattern == Pattern::Bulk && sockets.under_way(socket) >= FRAMES_AHEAD;
        let Some((sequence, planned)) = flowing.sender.oldest_waiting() else { return false };
        if enough || !sockets.has_room(socket) {
            return false;
        }
        let Some(message) = self.users.take_tsdu(now, place) else { return false };
        let handed = Handed { sequence, planned };
        if let Err(reason) = sockets.transmit(now, socket, handed, message) {
            self.users.flows[place].drained = sockets.under_way(socket) == 0;
            self.users.record(now, id, Event::Failed { sequence, planned, reason });
        }
        true
    }

    /// Forwards the next indication of the sockets, if any.
    pub(in crate::host) fn poll_sockets(&mut self, now: Instant) -> bool {
        let Some(sockets) = &mut self.sockets else { return false };
        match sockets.indication() {
            None => return false,
            // Messages are not requests and get no reply.
            Some(Indication::Received { socket, completion }) => {
                if let Some(data) = sockets.take(now, socket, completion) {
                    self.message(now, None, Sink::whole(&data), Asker::NoRequester);
                }
            }
            Some(Indication::Transmitted { socket, sequence, completion }) => {
                self.has_ended(now, socket, sequence, completion);
            }
        }
        true
    }

    /// Records the outcome of a message, and lets its flow pass another one.
    fn has_ended(&mut self, now: Instant, socket: u8, number: u64, completion: Completion) {
        let sending = self.sockets.as_mut().and_then(|it| it.sending.get_mut(&socket));
        let Some(sending) = sending else { return };
        let Some(handed) = sending.under_way.remove(&number) else { return };
        let Handed { sequence, planned } = handed;
        let event = match result(completion) {
            Ok(()) => sending.acknowledged.then_some(Event::Acknowledged { sequence, planned }),
            Err(reason) => Some(Event::Failed { sequence, planned, reason }),
        };
        let flowing = &mut self.users.flows[sending.place];
        flowing.drained = sending.under_way.is_empty();
        self.users.waiting.wake(sending.place);
        if let Some(event) = event {
            let id = self.users.flow(sending.place).id;
            self.users.record(now, id, event);
        }
    }
}

const fn result(completion: Completion) -> Result<(), &'static str> {
    match completion {
        Completion::Done => Ok(()),
        Completion::TimedOut => Err("timed out"),
        Completion::Failed(failure) => Err(match failure {
            Failure::NoAcknowledgement => "no acknowledgement",
            Failure::Refused(_) => "refused by the receiver",
            Failure::NotTransmitted => "not transmitted",
            Failure::NoVariable => "too many destinations at a time",
            Failure::BufferTooSmall => "message longer than the buffer",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::addr::Mac;

    #[test]
    fn there_are_as_many_flows_as_lsaps_of_local_use() {
        let mut sockets = Sockets::new(Params::lan()).unwrap();
        let options =
            MessageOptions { crc: false, acknowledged: false, transmissions: 1, timeout: None };
        let to = To { station: Mac::local(2), priority: Priority::LOWEST };
        let mut start = |place| sockets.start(Instant::ZERO, place, to, options);
        let started: Vec<u8> = (0..MESSAGE_FLOWS).filter_map(&mut start).collect();
        assert_eq!(started.len(), MESSAGE_FLOWS);
        // Neither a group (1) nor assigned by ISO (2).
        assert!(started.iter().all(|socket| socket & 3 == 0 && *socket != 0), "{started:?}");
        assert_eq!(start(MESSAGE_FLOWS), None);
    }
}
