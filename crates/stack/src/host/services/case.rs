//! Messages through CASE: an association of each flow, on a transport connection of its own.
//!
//! The association is opened before the first message and released after the last. The transport's
//! "drained" is the acknowledgement that EOT waits for.

use super::super::Host;
use super::super::replies::Role;
use super::super::work::{Asker, Cargo};
use super::Task;
use crate::acse::{self, Associate, Entity, Source};
use crate::case::{Case, Indication, Params, Request};
use crate::load::{Eot, Event, Sink};
use crate::machine::{Deadline, Machine as _, Output};
use crate::presentation::Addresses;
use crate::session::Below;
use crate::transport::{Endpoint, Request as TransportRequest, disconnect_reason};
use bytes::Bytes;
use std::collections::VecDeque;
use wire::case::{HEADER_OCTETS, LONGEST};
use wire::session::DATA;
use wire::time::Instant;

/// TSAP-ID of the users of CASE.
pub(super) const CASE_TSAP: &[u8] = b"tidewire-case";
/// Octets in front of the data of an A-TRANSFER: GT and DT SPDU, and the header of CASE.
const HEADERS: usize = DATA.len() + HEADER_OCTETS;
/// Messages of a user that may wait: on their way to CASE, in CASE for the acknowledgement of an
/// earlier one, or in the transport for its window.
const AHEAD: usize = 2;

/// Association, and its TSDUs that wait for room in the transport.
#[derive(Clone, Debug)]
pub(in crate::host) struct Associated {
    case: Case,
    waiting: VecDeque<Bytes>,
    /// Messages on their way to CASE.
    coming: usize,
}

impl Associated {
    fn new() -> Self {
        Self { case: Case::new(Params::map_2_1()), waiting: VecDeque::new(), coming: 0 }
    }
}

impl Host {
    pub(super) fn serve_case(&mut self, now: Instant, place: usize, task: Task, eot: Eot) -> bool {
        match (task, self.users.flows[place].endpoint) {
            (Task::Start, _) if self.link.is_none() => {
                return self.refuse(now, place, "CASE needs acknowledgements of class 4");
            }
            (Task::Start, _) => self.associate(now, place),
            (Task::HandOver, Some(endpoint)) => {
                let octets = self.users.flow(place).size_octets;
                if !self.has_room(endpoint, octets) {
                    return false;
                }
                let Some(tsdu) = self.users.take_tsdu(now, place) else { return false };
                let eot = eot == Eot::Each || self.users.flows[place].sender.has_taken_last();
                self.submit(now, Cargo::Tsdu { place, endpoint, tsdu, eot });
            }
            (Task::Close, Some(endpoint)) => self.dissociate(now, place, endpoint),
            (Task::HandOver | Task::Close, None) => return false,
        }
        true
    }

    /// Requests an association for a flow.
    fn associate(&mut self, now: Instant, place: usize) {
        let endpoint = self.new_endpoint(now, place);
        self.associations.insert(endpoint, Associated::new());
        let (addresses, calling, called) =
            (Addresses::default(), Entity::default(), Entity::default());
        let associate = Associate { addresses, calling, called, information: None };
        let primitive = acse::Primitive::Associate(Box::new(associate));
        self.request_case(now, endpoint, Request::Association(primitive));
    }

    /// Ends the association of a flow that has ended: releases it, or aborts it before it is open.
    fn dissociate(&mut self, now: Instant, place: usize, endpoint: Endpoint) {
        self.users.flows[place].endpoint = None;
        if let Some(conversation) = self.users.conversations.get_mut(&endpoint) {
            conversation.role = Role::Accepted;
        }
        self.release_case(now, endpoint);
    }

    /// Requests the release of an association, or aborts one that is not open.
    pub(in crate::host) fn release_case(&mut self, now: Instant, endpoint: Endpoint) {
        let Some(associated) = self.associations.get(&endpoint) else { return };
        let primitive = match associated.case.state() {
            acse::State::Sta5 => acse::Primitive::Release,
            acse::State::Sta0 | acse::State::Sta1 | acse::State::Sta2 => {
                acse::Primitive::Abort { source: Source::User }
            }
            // A release is under way.
            acse::State::Sta3 | acse::State::Sta4 | acse::State::Sta6 | acse::State::Sta7 => return,
        };
        self.request_case(now, endpoint, Request::Association(primitive));
    }

    /// Returns true if a message of this length may be passed to the connection, or to CASE on it.
    #[inline]
    pub(in crate::host) fn has_room(&mut self, endpoint: Endpoint, octets: usize) -> bool {
        if self.associations.is_empty() {
            return self.transport.has_room(endpoint, octets);
        }
        let Some(associated) = self.associations.get(&endpoint) else {
            return self.transport.has_room(endpoint, octets);
        };
        let above = associated.case.held() + associated.coming;
        let Some(below) = (AHEAD - 1).checked_sub(above) else { return false };
        associated.waiting.is_empty()
            && self.transport.has_at_most_queued(endpoint, below * (octets + HEADERS))
    }

    /// Passes a message to the connection, or to CASE on it.
    #[inline]
    pub(in crate::host) fn send_tsdu(
        &mut self,
        now: Instant,
        endpoint: Endpoint,
        tsdu: Bytes,
        eot: bool,
    ) {
        if !self.associations.is_empty()
            && let Some(associated) = self.associations.get_mut(&endpoint)
        {
            associated.coming += 1;
            self.submit(now, Cargo::Transfer { endpoint, data: tsdu, eot });
        } else {
            self.transport.request(now, TransportRequest::Data { endpoint, tsdu });
        }
    }

    /// Passes a message to CASE.
    pub(in crate::host) fn transfer(
        &mut self,
        now: Instant,
        endpoint: Endpoint,
        data: Bytes,
        eot: bool,
    ) {
        if let Some(associated) = self.associations.get_mut(&endpoint) {
            associated.coming = associated.coming.saturating_sub(1);
            self.request_case(now, endpoint, Request::Transfer { data, eot });
            self.is_ready(endpoint);
        }
    }

    /// Returns true if a connection carries an association of CASE.
    #[inline]
    pub(in crate::host) fn is_case(&self, endpoint: Endpoint) -> bool {
        !self.associations.is_empty() && self.associations.contains_key(&endpoint)
    }

    /// Time and timer of the next timeout of an association.
    pub(in crate::host) fn association_deadline(&self) -> Option<Deadline> {
        let all = self.associations.values().map(|associated| associated.case.deadline());
        all.fold(None, Deadline::earlier)
    }

    /// Processes expired timers of associations.
    pub(in crate::host) fn expire_associations(&mut self, now: Instant) {
        let due = |associated: &Associated| {
            associated.case.deadline().is_some_and(|deadline| deadline.at <= now)
        };
        let expired = self.associations.iter().filter(|(_, associated)| due(associated));
        for endpoint in expired.map(|(endpoint, _)| *endpoint).collect::<Vec<_>>() {
            if let Some(associated) = self.associations.get_mut(&endpoint) {
                associated.case.expire(now);
            }
            self.drain_case(now, endpoint);
        }
    }

    // ---- transport ------------------------------------------------------------------------------

    /// Begins the called side of an association on a new connection.
    pub(super) fn called(&mut self, now: Instant, endpoint: Endpoint) {
        self.associations.insert(endpoint, Associated::new());
        self.receive_case(now, endpoint, Below::Connect);
    }

    /// Passes an event of the transport on to CASE.
    pub(super) fn receive_case(&mut self, now: Instant, endpoint: Endpoint, below: Below) {
        if let Some(associated) = self.associations.get_mut(&endpoint) {
            associated.case.receive(now, below);
        }
        self.drain_case(now, endpoint);
    }

    /// Passes a piece of a TSDU on to CASE, once the TSDU is complete.
    pub(super) fn piece_of_case(
        &mut self,
        now: Instant,
        endpoint: Endpoint,
        octets: &[u8],
        end: bool,
    ) {
        let Some(conversation) = self.users.conversations.get_mut(&endpoint) else { return };
        if let Some(tsdu) = conversation.gather(octets, end, LONGEST + HEADERS) {
            self.submit(now, Cargo::Received { endpoint, tsdu });
        }
    }

    /// Passes a TSDU to CASE.
    pub(in crate::host) fn received_tsdu(&mut self, now: Instant, endpoint: Endpoint, tsdu: Bytes) {
        self.receive_case(now, endpoint, Below::Data(tsdu));
    }

    /// Processes the acknowledgement of all data passed to a connection.
    pub(super) fn case_drained(&mut self, now: Instant, endpoint: Endpoint) {
        let Some(associated) = self.associations.get_mut(&endpoint) else { return };
        associated.case.acknowledged(now);
        self.drain_case(now, endpoint);
    }

    /// Returns true if CASE has passed on everything that its user requested, and waits for no
    /// acknowledgement.
    pub(super) fn is_case_idle(&self, endpoint: Endpoint) -> bool {
        let is_idle = |it: &Associated| !it.case.is_holding() && it.coming == 0;
        self.associations.get(&endpoint).is_none_or(is_idle)
    }

    // ---- the loop -------------------------------------------------------------------------------

    fn request_case(&mut self, now: Instant, endpoint: Endpoint, request: Request) {
        if let Some(associated) = self.associations.get_mut(&endpoint) {
            associated.case.request(now, request);
        }
        self.drain_case(now, endpoint);
    }

    /// Forwards the outputs of an association until there are none.
    fn drain_case(&mut self, now: Instant, endpoint: Endpoint) {
        while let Some(associated) = self.associations.get_mut(&endpoint)
            && let Some(output) = associated.case.poll()
        {
            match output {
                Output::Send(Below::Connect) => self.connect_for_case(now, endpoint),
                Output::Send(Below::Data(tsdu)) if tsdu.starts_with(&DATA) => {
                    self.send_spdu(now, endpoint, tsdu);
                }
                Output::Send(Below::Data(tsdu)) => {
                    self.submit(now, Cargo::Control { endpoint, tsdu });
                }
                Output::Send(Below::Disconnect) => {
                    self.associations.remove(&endpoint);
                    let reason = disconnect_reason::NORMAL;
                    let request = TransportRequest::Disconnect { endpoint, reason };
                    self.transport.request(now, request);
                    self.closed(now, endpoint);
                }
                Output::Deliver(indication) => self.indicate_case(now, endpoint, indication),
                Output::Note(_) => {}
            }
        }
    }

    /// Passes a TSDU of CASE to the transport, as soon as it has room.
    pub(in crate::host) fn send_spdu(&mut self, now: Instant, endpoint: Endpoint, tsdu: Bytes) {
        if let Some(associated) = self.associations.get_mut(&endpoint) {
            associated.waiting.push_back(tsdu);
            self.pass_case_on(now, endpoint);
        }
    }

    /// Passes waiting TSDUs on as far as the transport has room.
    pub(super) fn pass_case_on(&mut self, now: Instant, endpoint: Endpoint) {
        while let Some(associated) = self.associations.get_mut(&endpoint)
            && let Some(octets) = associated.waiting.front().map(Bytes::len)
            && self.transport.has_room(endpoint, octets)
            && let Some(tsdu) = associated.waiting.pop_front()
        {
            self.transport.request(now, TransportRequest::Data { endpoint, tsdu });
        }
    }

    fn indicate_case(&mut self, now: Instant, endpoint: Endpoint, indication: Indication) {
        let respond = |primitive| Request::Association(primitive);
        match indication {
            Indication::Transfer { data } => self.case_message(now, endpoint, &data),
            Indication::Acknowledged => self.is_ready(endpoint),
            Indication::Association(acse::Primitive::Associate(_)) => {
                let accept = acse::Primitive::Accept { information: None };
                self.request_case(now, endpoint, respond(accept));
            }
            Indication::Association(acse::Primitive::Accept { .. }) => {
                self.opened(now, endpoint);
            }
            Indication::Association(acse::Primitive::Release) => {
                self.request_case(now, endpoint, respond(acse::Primitive::Released));
            }
            // The T-DISCONNECT that follows ends the flow.
            Indication::Association(acse::Primitive::Released) => {}
            Indication::Association(acse::Primitive::Reject { .. }) => {
                self.association_lost(now, endpoint, "association rejected");
            }
            Indication::Association(acse::Primitive::Abort { source: Source::User }) => {
                self.association_lost(now, endpoint, "association aborted by the peer's user");
            }
            Indication::Association(acse::Primitive::Abort { source: Source::Provider }) => {
                self.association_lost(now, endpoint, "association aborted: protocol error");
            }
            // That of a lost transport connection is recorded with its reason.
            Indication::Association(acse::Primitive::ProviderAbort { .. }) => {}
        }
    }

    fn case_message(&mut self, now: Instant, endpoint: Endpoint, data: &[u8]) {
        let Some(outcome) = Sink::default().take(data, true) else { return };
        let Some(conversation) = self.users.conversations.get_mut(&endpoint) else { return };
        conversation.note_flow(outcome);
        let flow = conversation.flow;
        self.message(now, flow, outcome, Asker::Connection(endpoint));
    }

    /// Records the end of an association that its user did not request.
    fn association_lost(&mut self, now: Instant, endpoint: Endpoint, reason: &'static str) {
        let Some(conversation) = self.users.conversations.get_mut(&endpoint) else { return };
        let (role, mut flow) = (conversation.role, conversation.flow);
        conversation.end();
        conversation.flow = None;
        if let Role::Sender(place) = role {
            flow = Some(self.users.flow(place).id);
            self.users.end(place);
            self.users.flows[place].endpoint = None;
        }
        if let Some(flow) = flow {
            self.users.record(now, flow, Event::Ended { reason, orderly: false });
        }
    }
}
