//! Associations on transport connections: of CASE, and of MMS.
//!
//! ```text
//!   users ── case, mms
//!   association ── CASE with its session, or session, presentation and association control
//!   connection ── transport
//! ```
//!
//! Each association has a transport connection of its own. Its TSDUs wait here until the transport has
//! room for them, and a received TSDU is passed up when it is complete.

use super::super::Host;
use super::super::replies::Role;
use super::super::work::Cargo;
use super::titles::DIRECTORY_TSAP;
use crate::acse;
use crate::case::{self, Case};
use crate::load::{Event, Service};
use crate::machine::{Deadline, Machine as _, Output};
use crate::session::Below;
use crate::station::WorkLayer;
use crate::transport::{Endpoint, Request as TransportRequest, disconnect_reason};
use crate::upper::{self, Joint, Primitive};
use bytes::Bytes;
use std::collections::VecDeque;
use wire::case::{HEADER_OCTETS, LONGEST};
use wire::session::DATA;
use wire::time::Instant;

/// TSAP-ID of the users of CASE.
pub(super) const CASE_TSAP: &[u8] = b"tidewire-case";
/// TSAP-ID of the users of MMS: the one that most devices have.
pub(super) const MMS_TSAP: &[u8] = &[0, 1];
/// TSAP-ID of the users of the FTAM-like file transfer.
pub(super) const FILE_TSAP: &[u8] = b"tidewire-file";
/// Octets in front of the data of an A-TRANSFER: GT and DT SPDU, and the header of CASE.
pub(super) const CASE_HEADERS: usize = DATA.len() + HEADER_OCTETS;

/// Association, and its TSDUs that wait for room in the transport.
#[derive(Clone, Debug)]
pub(in crate::host) struct Associated {
    pub(super) upper: Upper,
    pub(super) waiting: VecDeque<Bytes>,
    /// Messages on their way to CASE.
    pub(super) coming: usize,
}

impl Associated {
    pub(super) const fn new(upper: Upper) -> Self {
        Self { upper, waiting: VecDeque::new(), coming: 0 }
    }
}

/// Layers of an association.
#[derive(Clone, Debug)]
pub(super) enum Upper {
    /// CASE over session version 1.
    Case(Box<Case>),
    /// Session, presentation and association control below MMS.
    Mms(Box<Joint>),
}

/// Indication of an association to its user.
enum ToUser {
    Case(case::Indication),
    Mms(Primitive),
}

impl Upper {
    /// Layers of CASE, without a connection.
    pub(super) fn case() -> Self {
        Self::Case(Box::new(Case::new(case::Params::map_2_1())))
    }

    /// Layers below MMS, without a connection.
    pub(super) fn mms() -> Self {
        Self::Mms(Box::new(Joint::new(upper::Params::mms())))
    }

    fn receive(&mut self, now: Instant, below: Below) {
        match self {
            Self::Case(case) => case.receive(now, below),
            Self::Mms(joint) => joint.receive(now, below),
        }
    }

    fn expire(&mut self, now: Instant) {
        match self {
            Self::Case(case) => case.expire(now),
            Self::Mms(joint) => joint.expire(now),
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        match self {
            Self::Case(case) => case.deadline(),
            Self::Mms(joint) => joint.deadline(),
        }
    }

    fn poll(&mut self) -> Option<Output<Below, ToUser, ()>> {
        Some(match self {
            Self::Case(case) => match case.poll()? {
                Output::Send(below) => Output::Send(below),
                Output::Deliver(indication) => Output::Deliver(ToUser::Case(indication)),
                Output::Note(_) => Output::Note(()),
            },
            Self::Mms(joint) => match joint.poll()? {
                Output::Send(below) => Output::Send(below),
                Output::Deliver(primitive) => Output::Deliver(ToUser::Mms(primitive)),
                Output::Note(_) => Output::Note(()),
            },
        })
    }

    /// Layer above session, which is charged for the work on its TSDUs.
    const fn layer(&self) -> WorkLayer {
        match self {
            Self::Case(_) => WorkLayer::Case,
            Self::Mms(_) => WorkLayer::Mms,
        }
    }

    /// State of the association.
    pub(super) const fn state(&self) -> acse::State {
        match self {
            Self::Case(case) => case.state(),
            Self::Mms(joint) => joint.association(),
        }
    }

    /// Longest TSDU that it receives, in octets.
    const fn longest_tsdu(&self) -> usize {
        match self {
            Self::Case(_) => LONGEST + CASE_HEADERS,
            Self::Mms(_) => upper::LONGEST_TSDU,
        }
    }
}

impl Host {
    /// Returns true if a connection carries an association.
    #[inline]
    pub(in crate::host) fn is_associated(&self, endpoint: Endpoint) -> bool {
        !self.associations.is_empty() && self.associations.contains_key(&endpoint)
    }

    /// Time and timer of the next timeout of an association or of a user of MMS.
    pub(in crate::host) fn association_deadline(&self) -> Option<Deadline> {
        let all = self.associations.values().map(|associated| associated.upper.deadline());
        let others = Deadline::earlier(self.mms_deadline(), self.query_deadline());
        all.fold(Deadline::earlier(others, self.files_deadline()), Deadline::earlier)
    }

    /// Processes expired timers of associations and of the users of MMS.
    pub(in crate::host) fn expire_associations(&mut self, now: Instant) {
        let due = |associated: &Associated| {
            associated.upper.deadline().is_some_and(|deadline| deadline.at <= now)
        };
        let expired = self.associations.iter().filter(|(_, associated)| due(associated));
        for endpoint in expired.map(|(endpoint, _)| *endpoint).collect::<Vec<_>>() {
            if let Some(associated) = self.associations.get_mut(&endpoint) {
                associated.upper.expire(now);
            }
            self.drain_association(now, endpoint);
        }
        self.expire_mms(now);
        self.expire_queries(now);
        self.expire_files(now);
    }

    /// Requests the normal end of an association, or aborts one that is not open.
    pub(in crate::host) fn release_association(&mut self, now: Instant, endpoint: Endpoint) {
        if self.terminate_files(now, endpoint) {
            return;
        }
        match self.associations.get(&endpoint).map(|associated| &associated.upper) {
            Some(Upper::Case(_)) => self.release_case(now, endpoint),
            Some(Upper::Mms(_)) => self.release_mms(now, endpoint),
            None => {}
        }
    }

    /// Ends the association of a flow that has ended: releases it, or aborts it before it is open.
    pub(super) fn dissociate(&mut self, now: Instant, place: usize, endpoint: Endpoint) {
        self.users.flows[place].endpoint = None;
        if let Some(conversation) = self.users.conversations.get_mut(&endpoint) {
            conversation.role = Role::Accepted;
        }
        self.release_association(now, endpoint);
    }

    /// Opens the transport connection of an association that a flow has requested.
    fn connect_association(&mut self, now: Instant, endpoint: Endpoint) {
        if let Some(directory) = self.directory_of(endpoint) {
            let calling = Bytes::from_static(CASE_TSAP);
            return self.connect(now, endpoint, directory, DIRECTORY_TSAP, calling);
        }
        let Some(place) = self.sender_of(endpoint) else { return };
        let flow = self.users.flow(place);
        let peer = flow.peer;
        let tsap = match flow.service {
            Service::Mms { .. } => MMS_TSAP,
            Service::File(_) => FILE_TSAP,
            _ => CASE_TSAP,
        };
        self.connect(now, endpoint, peer, tsap, Bytes::from_static(tsap));
    }

    // ---- transport ------------------------------------------------------------------------------

    /// Begins the called side of an association on a new connection.
    pub(super) fn called(&mut self, now: Instant, endpoint: Endpoint, upper: Upper) {
        self.associations.insert(endpoint, Associated::new(upper));
        self.receive_below(now, endpoint, Below::Connect);
    }

    /// Passes an event of the transport on to an association.
    pub(super) fn receive_below(&mut self, now: Instant, endpoint: Endpoint, below: Below) {
        if let Some(associated) = self.associations.get_mut(&endpoint) {
            associated.upper.receive(now, below);
        }
        self.drain_association(now, endpoint);
    }

    /// Passes a piece of a TSDU on to an association, once the TSDU is complete.
    pub(super) fn piece_of_association(
        &mut self,
        now: Instant,
        endpoint: Endpoint,
        octets: &[u8],
        end: bool,
    ) {
        let Some(associated) = self.associations.get(&endpoint) else { return };
        let (user, most) = (associated.upper.layer(), associated.upper.longest_tsdu());
        let Some(conversation) = self.users.conversations.get_mut(&endpoint) else { return };
        if let Some(tsdu) = conversation.gather(octets, end, most) {
            self.submit(now, Cargo::Received { endpoint, tsdu, user });
        }
    }

    /// Passes a TSDU to an association.
    pub(in crate::host) fn received_tsdu(&mut self, now: Instant, endpoint: Endpoint, tsdu: Bytes) {
        if !self.is_message_of_case(endpoint, &tsdu) {
            self.release_buffer(now, endpoint);
        }
        self.receive_below(now, endpoint, Below::Data(tsdu));
    }

    /// Returns true if a TSDU is a message for a user of CASE, to whom it may take time to cross.
    fn is_message_of_case(&self, endpoint: Endpoint, tsdu: &[u8]) -> bool {
        let associated = self.associations.get(&endpoint);
        let is_case = associated.is_some_and(|it| matches!(it.upper, Upper::Case(_)));
        let role = self.users.conversations.get(&endpoint).map(|found| found.role);
        is_case && tsdu.starts_with(&DATA) && !matches!(role, Some(Role::Query | Role::Directory))
    }

    // ---- the loop -------------------------------------------------------------------------------

    /// Forwards the outputs of an association until there are none.
    pub(super) fn drain_association(&mut self, now: Instant, endpoint: Endpoint) {
        while let Some(associated) = self.associations.get_mut(&endpoint)
            && let Some(output) = associated.upper.poll()
        {
            let user = associated.upper.layer();
            match output {
                Output::Send(Below::Connect) => self.connect_association(now, endpoint),
                // The work on a message of CASE was done before CASE could hold it.
                Output::Send(Below::Data(tsdu))
                    if user == WorkLayer::Case && tsdu.starts_with(&DATA) =>
                {
                    self.send_spdu(now, endpoint, tsdu);
                }
                Output::Send(Below::Data(tsdu)) => {
                    self.submit(now, Cargo::Spdu { endpoint, tsdu, user });
                }
                Output::Send(Below::Disconnect) => {
                    self.forget_association(now, endpoint);
                    let reason = disconnect_reason::NORMAL;
                    let request = TransportRequest::Disconnect { endpoint, reason };
                    self.transport.request(now, request);
                    self.closed(now, endpoint);
                }
                Output::Deliver(ToUser::Case(indication)) => {
                    self.indicate_case(now, endpoint, indication);
                }
                Output::Deliver(ToUser::Mms(primitive)) => {
                    self.indicate_mms(now, endpoint, primitive);
                }
                Output::Note(()) => {}
            }
        }
    }

    /// Removes an association that exists no more.
    pub(super) fn forget_association(&mut self, now: Instant, endpoint: Endpoint) {
        self.associations.remove(&endpoint);
        self.forget_mms(now, endpoint);
        self.forget_files(now, endpoint);
    }

    /// Passes a TSDU of an association to the transport, as soon as it has room.
    pub(in crate::host) fn send_spdu(&mut self, now: Instant, endpoint: Endpoint, tsdu: Bytes) {
        if let Some(associated) = self.associations.get_mut(&endpoint) {
            associated.waiting.push_back(tsdu);
            self.pass_spdus_on(now, endpoint);
        }
    }

    /// Passes waiting TSDUs on as far as the transport has room.
    pub(super) fn pass_spdus_on(&mut self, now: Instant, endpoint: Endpoint) {
        while let Some(associated) = self.associations.get_mut(&endpoint)
            && let Some(octets) = associated.waiting.front().map(Bytes::len)
            && self.transport.has_room(endpoint, octets)
            && let Some(tsdu) = associated.waiting.pop_front()
        {
            self.transport.request(now, TransportRequest::Data { endpoint, tsdu });
        }
    }

    /// Records the end of an association that its user did not request.
    pub(super) fn association_lost(
        &mut self,
        now: Instant,
        endpoint: Endpoint,
        reason: &'static str,
    ) {
        let Some(conversation) = self.users.conversations.get_mut(&endpoint) else { return };
        let (role, mut flow) = (conversation.role, conversation.flow);
        conversation.end();
        conversation.flow = None;
        if self.query_lost(now, endpoint)
            || matches!(role, Role::Sender(place) if self.ask_again(now, place))
        {
            return;
        }
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
