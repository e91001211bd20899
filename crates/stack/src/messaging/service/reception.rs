//! Receiving side of the sockets: buffers, and the processing of received LSDUs.

use super::{Messaging, Timed};
use crate::llc::type1;
use crate::messaging::socket::Receive;
use crate::messaging::{Address, Completion, Failure, Indication, Message, check, sap};
use wire::addr::Sap;
use wire::crc16::CHECK_OCTETS;
use wire::packet::Packet;

impl Messaging {
    /// Reports the buffer for the next LSDU of a socket to LLC type 3, if it has changed.
    pub(super) fn tell_buffer(&mut self, socket: u8) {
        let Some(open) = self.sockets.get_mut(&socket) else { return };
        let octets = open.receives.front().map(|receive| receive.octets);
        if core::mem::replace(&mut open.known_buffer, octets) != octets {
            self.acknowledged.provide_buffer(sap(socket), octets);
        }
    }

    /// Records that LLC type 3 has used the buffer of a socket and has no other.
    pub(super) fn buffer_taken(&mut self, socket: u8) {
        if let Some(open) = self.sockets.get_mut(&socket) {
            open.known_buffer = None;
        }
    }

    /// Completes the oldest reception of a socket.
    pub(super) fn received(&mut self, socket: u8, completion: Completion) {
        let Some(open) = self.sockets.get_mut(&socket) else { return };
        let Some(Receive { id, due, .. }) = open.receives.pop_front() else { return };
        due.map(|due| self.timers.remove(&(due, Timed::Receive, id)));
        open.reception = completion;
        if open.options.receive_indication {
            self.indications.push_back(Indication::Received { socket, completion });
        }
        self.tell_buffer(socket);
    }

    /// Delivers an LSDU to a socket that has a buffer for it.
    pub(super) fn deliver(&mut self, socket: u8, from: Address, mut data: Packet) {
        let Some(open) = self.sockets.get_mut(&socket) else { return };
        if open.options.crc {
            data.truncate(data.len().saturating_sub(CHECK_OCTETS));
        }
        open.received.push_back(Message { from, data });
        self.received(socket, Completion::Done);
    }

    pub(super) fn datagram(&mut self, socket: u8, from: Address, data: Packet) {
        let Some(open) = self.sockets.get(&socket) else { return };
        if open.options.crc && !check::is_good(&data) {
            self.counters.bad_crc += 1;
            return;
        }
        match open.receives.front() {
            None => self.counters.no_buffer += 1,
            Some(receive) if data.len() > receive.octets => {
                self.counters.overruns += 1;
                self.received(socket, Completion::Failed(Failure::BufferTooSmall));
            }
            Some(_) => self.deliver(socket, from, data),
        }
    }

    /// Returns true if an LPDU is a damaged command of type 3 for a socket with CRC.
    pub(super) fn is_damaged(&self, packet: &Packet) -> bool {
        let Some(socket) = check::command_for(packet) else { return false };
        let wants_crc = self.sockets.get(&socket).is_some_and(|open| open.options.crc);
        let mut data = packet.clone();
        wants_crc && data.strip(3).is_some() && !data.is_empty() && !check::is_good(&data)
    }

    pub(super) fn datagrams_say(&mut self, indication: type1::Indication) {
        let type1::Indication::Unitdata { station, destination, source, data } = indication else {
            return;
        };
        let from = Address { station, socket: source.0 };
        if destination != Sap::GLOBAL {
            return self.datagram(destination.0, from, data);
        }
        let all: Vec<u8> = self.sockets.keys().copied().collect();
        all.into_iter().for_each(|socket| self.datagram(socket, from, data.clone()));
    }
}
