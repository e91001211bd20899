//! Receiving side: V(RI) of each association, and the stored response for duplicates.

use super::{
    Ac, Association, CommandStatus, Counters, Indication, Lpdu, Outputs, Params, ReplyStatus,
    header,
};
use crate::machine::Output;
use bytes::{BufMut, BytesMut};
use std::collections::BTreeMap;
use wire::addr::Sap;
use wire::llc::RESPONSE;
use wire::packet::Packet;
use wire::time::Instant;

/// Receive variable.
#[derive(Clone, Debug)]
struct Variable {
    /// V(RI): number of the next command.
    expected: bool,
    /// Information field of the last response.
    response: Packet,
    /// Expiry time of T2.
    until: Instant,
}

/// SAP of a local user.
#[derive(Clone, Default, Debug)]
struct User {
    /// Longest LSDU for which it has a buffer.
    buffer: Option<usize>,
    /// Stored reply to polls.
    reply: Option<Packet>,
}

#[derive(Clone, Debug)]
pub(super) struct Receiver {
    params: Params,
    users: BTreeMap<Sap, User>,
    variables: BTreeMap<Association, Variable>,
}

impl Receiver {
    pub(super) const fn new(params: Params) -> Self {
        Self { params, users: BTreeMap::new(), variables: BTreeMap::new() }
    }

    pub(super) fn open(&mut self, sap: Sap) {
        self.users.entry(sap).or_default();
    }

    pub(super) fn close(&mut self, sap: Sap) {
        self.users.remove(&sap);
    }

    pub(super) fn buffer(&mut self, sap: Sap, octets: Option<usize>) {
        if let Some(user) = self.users.get_mut(&sap) {
            user.buffer = octets;
        }
    }

    pub(super) fn store_reply(&mut self, sap: Sap, data: Option<Packet>) {
        if let Some(user) = self.users.get_mut(&sap) {
            user.reply = data;
        }
    }

    /// Processes a received command.
    pub(super) fn command(
        &mut self,
        now: Instant,
        ac: Ac,
        outputs: &mut Outputs,
        counters: &mut Counters,
    ) {
        let Ac { association, number, poll_final, information, .. } = ac;
        let until = now + self.params.receive_lifetime;
        let known = self.variables.get_mut(&association).filter(|known| known.until > now);
        let response = match known {
            // 802.2: a duplicate gets the same response, because the first response may be lost.
            Some(known) if known.expected != number => {
                counters.duplicates += 1;
                known.until = until;
                known.response.clone()
            }
            _ => {
                if !self.has_room(now, association) {
                    counters.no_variable += 1;
                    return;
                }
                let response = self.accept(association, poll_final, information, outputs, counters);
                let variable = Variable { expected: !number, response: response.clone(), until };
                self.variables.insert(association, variable);
                response
            }
        };
        let Association { station, priority, .. } = association;
        let mut packet = response;
        packet.prepend(&header(association, RESPONSE, !number, poll_final));
        outputs.push_back(Output::Send(Lpdu { station, priority, packet, handle: None }));
    }

    /// Returns true if the association has a variable or may get one.
    fn has_room(&mut self, now: Instant, association: Association) -> bool {
        let full = |this: &Self| this.variables.len() >= this.params.associations;
        if self.variables.contains_key(&association) || !full(self) {
            return true;
        }
        self.variables.retain(|_, variable| variable.until > now);
        !full(self)
    }

    /// Delivers a new command and returns the information field of its response.
    fn accept(
        &mut self,
        association: Association,
        poll: bool,
        data: Packet,
        outputs: &mut Outputs,
        counters: &mut Counters,
    ) -> Packet {
        let mut information = BytesMut::new();
        let Some(user) = self.users.get_mut(&association.local) else {
            counters.no_such_sap += 1;
            let reply = if poll { ReplyStatus::NoService } else { ReplyStatus::NotRequested };
            information.put_u8(CommandStatus::NoService.code() | reply.code());
            return Packet::new(information.freeze());
        };
        let octets = data.len();
        let command = match user.buffer {
            _ if data.is_empty() => CommandStatus::Accepted,
            None => {
                counters.no_buffer += 1;
                CommandStatus::Unavailable
            }
            Some(buffer) if octets > buffer => {
                counters.overruns += 1;
                user.buffer = None;
                outputs.push_back(Output::Deliver(Indication::Overrun { association, octets }));
                CommandStatus::Permanent
            }
            Some(_) => {
                user.buffer = None;
                outputs.push_back(Output::Deliver(Indication::Data { association, data }));
                CommandStatus::Accepted
            }
        };
        let reply = match &user.reply {
            _ if !poll => ReplyStatus::NotRequested,
            None => ReplyStatus::NeverSubmitted,
            Some(_) => ReplyStatus::Present,
        };
        information.put_u8(command.code() | reply.code());
        if let Some(stored) = user.reply.as_ref().filter(|_| poll) {
            information.put_slice(stored.head());
            information.put_slice(stored.payload());
            outputs.push_back(Output::Deliver(Indication::Replied { association }));
        }
        Packet::new(information.freeze())
    }
}
