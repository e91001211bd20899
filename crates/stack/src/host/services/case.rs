//! Messages through CASE: an association of each flow, on a transport connection of its own.
//!
//! The association is opened before the first message and released after the last. The transport's
//! "drained" is the acknowledgement that EOT waits for.

use super::super::Host;
use super::super::replies::Role;
use super::super::work::{Asker, Cargo};
use super::Task;
use super::association::{Associated, CASE_HEADERS, Upper};
use crate::acse::{self, Associate, Entity, Source};
use crate::case::{Case, Indication, Request};
use crate::load::{Eot, Outcome, Sink};
use crate::machine::Machine as _;
use crate::presentation::Addresses;
use crate::transport::{Endpoint, Request as TransportRequest};
use bytes::Bytes;
use wire::time::Instant;

/// Messages of a user that may wait: on their way to CASE, in CASE for the acknowledgement of an
/// earlier one, or in the transport for its window.
const AHEAD: usize = 2;

impl Associated {
    fn case_mut(&mut self) -> Option<&mut Case> {
        match &mut self.upper {
            Upper::Case(case) => Some(case),
            Upper::Mms(_) => None,
        }
    }

    const fn case(&self) -> Option<&Case> {
        match &self.upper {
            Upper::Case(case) => Some(case),
            Upper::Mms(_) => None,
        }
    }
}

impl Host {
    pub(super) fn serve_case(&mut self, now: Instant, place: usize, task: Task, eot: Eot) -> bool {
        match (task, self.users.flows[place].endpoint) {
            (Task::Start, _) if self.link.is_none() => {
                return self.refuse(now, place, "CASE needs acknowledgements of class 4");
            }
            (Task::Start, _) => self.call(now, place),
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
    pub(super) fn associate(&mut self, now: Instant, place: usize) {
        let endpoint = self.new_endpoint(now, place);
        self.request_association(now, endpoint);
    }

    /// Requests an association on a connection that is not open yet.
    pub(super) fn request_association(&mut self, now: Instant, endpoint: Endpoint) {
        self.associations.insert(endpoint, Associated::new(Upper::case()));
        let (addresses, calling, called) =
            (Addresses::default(), Entity::default(), Entity::default());
        let associate = Associate { addresses, calling, called, information: None };
        let primitive = acse::Primitive::Associate(Box::new(associate));
        self.request_case(now, endpoint, Request::Association(primitive));
    }

    /// Requests the release of an association, or aborts one that is not open.
    pub(in crate::host) fn release_case(&mut self, now: Instant, endpoint: Endpoint) {
        let associated = self.associations.get(&endpoint);
        let Some(case) = associated.and_then(Associated::case) else { return };
        let primitive = match case.state() {
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
        let Some(case) = associated.case() else { return false };
        let above = case.held() + associated.coming;
        let Some(below) = (AHEAD - 1).checked_sub(above) else { return false };
        associated.waiting.is_empty()
            && self.transport.has_at_most_queued(endpoint, below * (octets + CASE_HEADERS))
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

    // ---- transport ------------------------------------------------------------------------------

    /// Processes the acknowledgement of all data passed to a connection.
    pub(super) fn case_drained(&mut self, now: Instant, endpoint: Endpoint) {
        let associated = self.associations.get_mut(&endpoint);
        let Some(case) = associated.and_then(Associated::case_mut) else { return };
        case.acknowledged(now);
        self.drain_association(now, endpoint);
    }

    /// Returns true if CASE has passed on everything that its user requested, and waits for no
    /// acknowledgement.
    pub(super) fn is_case_idle(&self, endpoint: Endpoint) -> bool {
        let Some(associated) = self.associations.get(&endpoint) else { return true };
        let is_holding = associated.case().is_some_and(Case::is_holding);
        !is_holding && associated.coming == 0
    }

    // ---- the loop -------------------------------------------------------------------------------

    pub(super) fn request_case(&mut self, now: Instant, endpoint: Endpoint, request: Request) {
        let associated = self.associations.get_mut(&endpoint);
        if let Some(case) = associated.and_then(Associated::case_mut) {
            case.request(now, request);
        }
        self.drain_association(now, endpoint);
    }

    pub(super) fn indicate_case(
        &mut self,
        now: Instant,
        endpoint: Endpoint,
        indication: Indication,
    ) {
        let respond = |primitive| Request::Association(primitive);
        match indication {
            Indication::Transfer { data } => self.case_message(now, endpoint, data),
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

    fn case_message(&mut self, now: Instant, endpoint: Endpoint, data: Bytes) {
        if self.is_filing(endpoint) {
            return self.submit(now, Cargo::FileReceived { endpoint, data });
        }
        let role = self.users.conversations.get(&endpoint).map(|found| found.role);
        if let Some(Role::Query | Role::Directory) = role {
            return self.directory_message(now, endpoint, &data);
        }
        let Some(outcome) = Sink::default().take(&data, true) else { return };
        let Some(conversation) = self.users.conversations.get_mut(&endpoint) else { return };
        conversation.note_flow(outcome);
        let flow = conversation.flow;
        if let Outcome::Damaged { .. } = outcome {
            self.release_buffer(now, endpoint);
        }
        self.message(now, flow, outcome, Asker::Connection(endpoint));
    }
}
