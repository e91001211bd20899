//! Host over network connections: events and actions on them, and the session that uses them.

use super::super::Host;
use super::super::replies::Role;
use super::connection::LONGEST_ECHO;
use crate::machine::{Deadline, Machine as _};
use crate::network::{Network, NetworkConnectionId, NetworkStation};
use crate::station::Station;
use crate::transport::{Endpoint, Transport};
use bytes::Bytes;
use wire::time::Instant;

/// Number of waiting replies at which reading from their connection stops.
const REPLIES_AHEAD: usize = 128;

impl Host {
    /// Joins the session with this nonce, or leaves it. Its load connections over network
    /// connections carry the nonce as calling TSAP-ID, so no other caller can add to its load. Load
    /// connections of another session are released. A LAN has no such connections.
    pub fn take_part(&mut self, now: Instant, session: Option<u64>) {
        if self.users.session == session || self.link.is_some() {
            return;
        }
        self.users.session = session;
        let accepted = self.users.conversations.iter();
        let accepted = accepted.filter(|(_, conversation)| conversation.role == Role::Accepted);
        for endpoint in accepted.map(|(endpoint, _)| *endpoint).collect::<Vec<_>>() {
            self.release(now, endpoint);
        }
        self.drain(now);
    }
}

impl NetworkStation for Host {
    fn incoming(&mut self, now: Instant) -> Option<NetworkConnectionId> {
        let Transport::Network(entity) = &mut self.transport else { return None };
        let line = entity.incoming(now);
        self.drain(now);
        line
    }

    fn receive(&mut self, now: Instant, line: NetworkConnectionId, network: Network) {
        if let Transport::Network(entity) = &mut self.transport {
            entity.receive(now, (line, network));
        }
        self.drain(now);
    }

    fn expire(&mut self, now: Instant) {
        Station::expire(self, now);
    }

    fn deadline(&self) -> Option<Deadline> {
        Station::deadline(self)
    }

    fn poll(&mut self) -> Option<(NetworkConnectionId, Network)> {
        self.actions.pop_front()
    }

    fn takes_input(&self, line: NetworkConnectionId) -> bool {
        self.users.conversations.get(&line.into()).is_none_or(|conversation| {
            conversation.replies() < REPLIES_AHEAD
                && conversation.waiting.iter().map(Bytes::len).sum::<usize>() < LONGEST_ECHO
                && conversation.waiting.len() < REPLIES_AHEAD
        })
    }

    fn is_idle(&self, line: NetworkConnectionId) -> bool {
        let endpoint = Endpoint::from(line);
        let waits = |at| self.users.conversations.get(at).is_some_and(|found| found.has_waiting());
        self.transport.is_idle(endpoint) && !waits(&endpoint)
    }

    fn is_control(&self, line: NetworkConnectionId) -> bool {
        let conversation = self.users.conversations.get(&line.into());
        conversation.is_some_and(|conversation| conversation.is_control)
    }
}
