//! Sockets of a host's messaging service, and the flows that send from them.
//!
//! Each flow sends from a socket of its own, so flows do not wait for each other's
//! acknowledgements. All flows arrive at two sockets, because only the CRC has to be agreed on. All
//! sockets are LSAPs that ISO 8802-2 reserves for local use.

use super::host::To;
use crate::llc::type3::{Invalid, Lpdu};
use crate::load::MessageOptions;
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
/// LSAPs of local use with other users: messages without connection, and the rendezvous protocol.
const TAKEN: [u8; 2] = [super::MESSAGE_SAP.0, wire::rendezvous::SAP.0];
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
pub(super) struct Handed {
    pub(super) sequence: u32,
    pub(super) planned: Instant,
}

/// Output of the sockets.
#[derive(Debug)]
pub(super) enum Said {
    /// A message arrived.
    Arrived(Packet),
    /// A message of the flow at this place has ended: sent, acknowledged, or failed with a reason.
    Over { place: usize, handed: Handed, acknowledged: bool, result: Result<(), &'static str> },
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
pub(super) struct Sockets {
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
    pub(super) fn new(params: Params) -> Result<Self, Invalid> {
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
    pub(super) const fn messaging(&self) -> &Messaging {
        &self.messaging
    }

    fn enable(&mut self, now: Instant, socket: u8) {
        let check_octets = if socket == CHECKED { wire::crc16::CHECK_OCTETS } else { 0 };
        let octets = self.information_octets.saturating_sub(check_octets);
        let _ = self.messaging.enable_reception(now, socket, octets);
    }

    /// Returns true if an LPDU is for one of the sockets.
    pub(super) fn is_for(&self, packet: &Packet) -> bool {
        let Some([destination]) = packet.first::<1>() else { return false };
        destination == PLAIN || destination == CHECKED || self.sending.contains_key(&destination)
    }

    /// Opens a socket for the flow at this place; `None` if none is left.
    pub(super) fn start(
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
    pub(super) fn under_way(&self, socket: u8) -> usize {
        self.sending.get(&socket).map_or(0, |sending| sending.under_way.len())
    }

    /// Returns true if a socket accepts another message.
    pub(super) fn has_room(&self, socket: u8) -> bool {
        self.under_way(socket) < UNDER_WAY
    }

    /// Transmits a message.
    ///
    /// # Errors
    /// Reason why the service does not accept it.
    pub(super) fn transmit(
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
    pub(super) fn finish(&mut self, now: Instant, socket: u8) {
        if self.sending.remove(&socket).is_some() {
            let _ = self.messaging.reset(now, socket, Side::Transmit);
            let _ = self.messaging.close(now, socket);
        }
    }

    /// Next output of the sockets.
    pub(super) fn said(&mut self, now: Instant) -> Option<Said> {
        loop {
            let next = self.indications.pop_front().or_else(|| self.messaging.indication())?;
            match next {
                Indication::Received { socket, completion } => {
                    let message = self.messaging.take(socket);
                    self.enable(now, socket);
                    if let (Completion::Done, Some(message)) = (completion, message) {
                        return Some(Said::Arrived(message.data));
                    }
                }
                Indication::Transmitted { socket, sequence, completion } => {
                    let Some(sending) = self.sending.get_mut(&socket) else { continue };
                    let Some(handed) = sending.under_way.remove(&sequence) else { continue };
                    return Some(Said::Over {
                        place: sending.place,
                        handed,
                        acknowledged: sending.acknowledged,
                        result: result(completion),
                    });
                }
            }
        }
    }

    pub(super) fn receive(&mut self, now: Instant, lpdu: Lpdu) {
        self.messaging.receive(now, lpdu);
    }

    /// Processes a command that requests a response at once; returns that response.
    pub(super) fn asked(&mut self, now: Instant, lpdu: Lpdu) -> Option<Lpdu> {
        self.messaging.asked(now, lpdu)
    }

    pub(super) fn expire(&mut self, now: Instant) {
        self.messaging.expire(now);
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.messaging.deadline()
    }

    pub(super) fn transmitted(&mut self, now: Instant, queue: u8, outcome: Transmission) {
        self.messaging.transmitted(now, queue, outcome);
    }

    /// Priority of the next LPDU; `None` if none waits.
    pub(super) fn most_urgent(&self) -> Option<Priority> {
        self.messaging.most_urgent()
    }

    /// Next LPDU to be sent. For a MAC with one queue there is no other before
    /// [`Sockets::transmitted`].
    pub(super) fn next(&mut self) -> Option<Lpdu> {
        loop {
            match self.messaging.poll()? {
                Output::Send(lpdu) => return Some(lpdu),
                Output::Deliver(indication) => self.indications.push_back(indication),
                Output::Note(never) => match never {},
            }
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
