//! Messages over transport connections, of whichever class: opening, data, release.

use super::super::replies::{Conversation, Role};
use super::super::work::{Asker, Cargo};
use super::super::{Host, Unitdata};
use super::Task;
use super::association::{CASE_TSAP, FILE_TSAP, MMS_TSAP, Upper};
use super::titles::DIRECTORY_TSAP;
use crate::load::{Event, Flow, Outcome};
use crate::messaging::Priority;
use crate::session::Below;
use crate::transport::{Address, Endpoint, Indication, Reason, Request, disconnect_reason};
use bytes::Bytes;
use wire::addr::Mac;
use wire::control::SAP;
use wire::packet::Packet;
use wire::time::Instant;

/// TSAP-ID of the users that generate traffic.
const LOAD_TSAP: &[u8] = b"tidewire";
/// TSAP-ID of the protocol of control sessions.
const RENDEZVOUS_TSAP: &[u8] = b"tidewire-control";
/// Maximum number of control session PDUs waiting for their connection to open; further ones are lost,
/// and later retransmitted.
const CONTROL_WAITING: usize = 16;
/// Longest PDU of the protocol of control sessions and its report: the maximum in a frame of a LAN.
const CONTROL_OCTETS: usize = 1_497;
/// Longest TSDU that is echoed.
pub(super) const LONGEST_ECHO: usize = 1 << 16;

impl Host {
    #[inline]
    pub(super) fn serve_connection(&mut self, now: Instant, place: usize, task: Task) -> bool {
        match (task, self.users.flows[place].endpoint) {
            (Task::Start, _) => self.open_connection(now, place),
            (Task::HandOver, Some(endpoint)) => {
                let octets = self.users.flow(place).size_octets;
                if !self.transport.has_room(endpoint, octets) {
                    return false;
                }
                let Some(tsdu) = self.users.take_tsdu(now, place) else { return false };
                self.submit(now, Cargo::Tsdu { place, endpoint, tsdu, eot: false });
            }
            (Task::Close, Some(endpoint)) => {
                self.users.flows[place].endpoint = None;
                if let Some(conversation) = self.users.conversations.get_mut(&endpoint) {
                    conversation.role = Role::Accepted;
                    self.release(now, endpoint);
                }
            }
            (Task::HandOver | Task::Close, None) => return false,
        }
        true
    }

    fn open_connection(&mut self, now: Instant, place: usize) {
        let peer = self.users.flow(place).peer;
        // Over network connections, load names its session.
        let nonce = self.users.session.map(|nonce| Bytes::copy_from_slice(&nonce.to_be_bytes()));
        let calling = nonce.unwrap_or(Bytes::from_static(LOAD_TSAP));
        let endpoint = self.new_endpoint(now, place);
        self.connect(now, endpoint, peer, LOAD_TSAP, calling);
    }

    /// Endpoint of the connection that a flow is about to open.
    pub(super) fn new_endpoint(&mut self, now: Instant, place: usize) -> Endpoint {
        let Flow { id, priority, .. } = *self.users.flow(place);
        self.users.flows[place].sender.opening(now);
        let endpoint = self.transport.endpoint(priority);
        self.users.flows[place].endpoint = Some(endpoint);
        let conversation = Conversation::new(Role::Sender(place), Some(id));
        self.users.conversations.insert(endpoint, Box::new(conversation));
        endpoint
    }

    pub(super) fn connect(
        &mut self,
        now: Instant,
        endpoint: Endpoint,
        peer: Mac,
        called: &'static [u8],
        calling: Bytes,
    ) {
        let (peer, called) = (Address::Station(peer), Bytes::from_static(called));
        let data = Bytes::new();
        self.transport.request(now, Request::Connect { endpoint, peer, called, calling, data });
    }

    /// Requests the normal end of a connection.
    pub(in crate::host) fn release(&mut self, now: Instant, endpoint: Endpoint) {
        if self.is_associated(endpoint) {
            return self.release_association(now, endpoint);
        }
        let reason = disconnect_reason::NORMAL;
        self.transport.request(now, Request::Disconnect { endpoint, reason });
        if !self.transport.reports_close() {
            self.closed(now, endpoint);
        }
    }

    // ---- indications ----------------------------------------------------------------------------

    #[inline]
    pub(in crate::host) fn indicate(&mut self, now: Instant, indication: Indication) {
        match indication {
            Indication::Connect { endpoint, peer, called, calling, .. } => {
                let Address::Station(peer) = peer;
                match self.user_of(peer, &called, &calling) {
                    Some(role) => {
                        let conversation = Conversation::new(role, None);
                        self.users.conversations.insert(endpoint, Box::new(conversation));
                        let data = Bytes::new();
                        self.transport.request(now, Request::Accept { endpoint, data });
                        match &called[..] {
                            // Echoes of any TSAP-ID are TSDUs as they are.
                            _ if role == Role::Echo => {}
                            CASE_TSAP | DIRECTORY_TSAP => {
                                self.called(now, endpoint, Upper::case());
                            }
                            FILE_TSAP => {
                                self.respond_to_files(endpoint);
                                self.called(now, endpoint, Upper::case());
                            }
                            MMS_TSAP => self.called(now, endpoint, Upper::mms()),
                            _ => {}
                        }
                    }
                    None => {
                        let reason = disconnect_reason::ADDRESS_UNKNOWN;
                        self.transport.request(now, Request::Disconnect { endpoint, reason });
                    }
                }
            }
            Indication::Confirm { endpoint, .. } if self.is_associated(endpoint) => {
                self.receive_below(now, endpoint, Below::Connect);
            }
            Indication::Confirm { endpoint, .. } => self.opened(now, endpoint),
            Indication::Data { endpoint, octets, end } => self.piece(now, endpoint, &octets, end),
            Indication::Drained { endpoint } => {
                self.case_drained(now, endpoint);
                if let Some(place) = self.sender_of(endpoint)
                    && self.is_case_idle(endpoint)
                    && !self.is_filing(endpoint)
                {
                    self.users.drained(place);
                }
            }
            Indication::Disconnect { endpoint, reason } => {
                if self.is_associated(endpoint) {
                    self.receive_below(now, endpoint, Below::Disconnect);
                    self.forget_association(now, endpoint);
                }
                self.disconnected(now, endpoint, reason);
            }
            Indication::Closed { endpoint } => self.closed(now, endpoint),
            Indication::Ready { endpoint } => {
                self.pass_spdus_on(now, endpoint);
                self.is_ready(endpoint);
            }
            // Room is checked before a TSDU is passed on, so none is returned. Expedited data is
            // not sent, and only agreed on if a program requests it.
            Indication::Established { .. }
            | Indication::Full { .. }
            | Indication::Expedited { .. }
            | Indication::ExpeditedRefused { .. } => {}
        }
    }

    /// Starts the flow whose connection or association is open.
    pub(super) fn opened(&mut self, now: Instant, endpoint: Endpoint) {
        if let Some(place) = self.sender_of(endpoint) {
            let took = self.users.flows[place].sender.open(now);
            let id = self.users.flow(place).id;
            self.users.record(now, id, Event::Opened { took });
        }
        self.query_opened(now, endpoint);
        self.is_ready(endpoint);
    }

    /// User that a caller is connected with; `None` to refuse it.
    fn user_of(&self, peer: Mac, called: &[u8], calling: &[u8]) -> Option<Role> {
        let users = &self.users;
        // A LAN's frames are admitted by their source.
        let is_lan = self.link.is_some();
        let is_of_session = users.session.is_some_and(|nonce| calling == nonce.to_be_bytes());
        match called {
            RENDEZVOUS_TSAP if !is_lan => Some(Role::Control(peer)),
            CASE_TSAP | FILE_TSAP if is_lan => users.accepts.then_some(Role::Accepted),
            DIRECTORY_TSAP if is_lan => self.has_directory().then_some(Role::Directory),
            MMS_TSAP if is_lan => self.serves_mms().then_some(Role::Accepted),
            LOAD_TSAP => (users.accepts && (is_lan || is_of_session)).then_some(Role::Accepted),
            [] if is_lan => users.accepts.then_some(Role::Accepted),
            _ => users.echoes.then_some(Role::Echo),
        }
    }

    pub(super) fn sender_of(&self, endpoint: Endpoint) -> Option<usize> {
        match self.users.conversations.get(&endpoint)?.role {
            Role::Sender(place) => Some(place),
            _ => None,
        }
    }

    /// Resumes the users that waited for room in a connection.
    pub(super) fn is_ready(&mut self, endpoint: Endpoint) {
        let Some(conversation) = self.users.conversations.get(&endpoint) else { return };
        if conversation.has_waiting() {
            self.users.replying.insert(endpoint);
        }
        if let Role::Sender(place) = conversation.role {
            self.users.waiting.wake(place);
        }
        self.has_room_for_files(endpoint);
    }

    fn piece(&mut self, now: Instant, endpoint: Endpoint, octets: &[u8], end: bool) {
        // The last piece of a message stays in limited memory until its user has the message.
        let stays = end && self.transport.keeps_buffers();
        if self.transport.is_credit_by_user() && !stays {
            self.transport.request(now, Request::GiveBack { endpoint, buffers: 1 });
        }
        if self.is_associated(endpoint) {
            return self.piece_of_association(now, endpoint, octets, end);
        }
        let Some(conversation) = self.users.conversations.get_mut(&endpoint) else { return };
        match conversation.role {
            // Associations have been passed on.
            Role::Query | Role::Directory => {}
            Role::Sender(_) | Role::Accepted => {
                let Some(outcome) = conversation.sink.take(octets, end) else { return };
                conversation.note_flow(outcome);
                let flow = conversation.flow;
                if let Outcome::Damaged { .. } = outcome {
                    self.release_buffer(now, endpoint);
                }
                self.message(now, flow, outcome, Asker::Connection(endpoint));
            }
            Role::Control(station) => {
                let Some(whole) = conversation.gather(octets, end, CONTROL_OCTETS) else { return };
                let data = Packet::new(whole);
                self.users.keep_unitdata(Unitdata { station, sap: SAP, data });
            }
            Role::Echo => {
                let Some(whole) = conversation.gather(octets, end, LONGEST_ECHO) else { return };
                conversation.waiting.push_back(whole);
                self.users.replying.insert(endpoint);
                self.users.echoed += 1;
            }
        }
    }

    /// Returns the buffer of a message that has reached its user, or that was dropped.
    pub(in crate::host) fn release_buffer(&mut self, now: Instant, endpoint: Endpoint) {
        if self.transport.keeps_buffers() {
            self.transport.request(now, Request::GiveBack { endpoint, buffers: 1 });
        }
    }

    fn disconnected(&mut self, now: Instant, endpoint: Endpoint, reason: Reason) {
        let Some(conversation) = self.users.conversations.get_mut(&endpoint) else { return };
        let mut orderly =
            matches!(reason, Reason::Released | Reason::ByPeer(disconnect_reason::NORMAL));
        let (role, mut flow) = (conversation.role, conversation.flow);
        conversation.end();
        if self.query_lost(now, endpoint)
            || matches!(role, Role::Sender(place) if self.ask_again(now, place))
        {
            flow = None;
        } else if let Role::Sender(place) = role {
            flow = Some(self.users.flow(place).id);
            self.users.end(place);
            self.users.flows[place].endpoint = None;
            // The sender of a connection ended by the peer has not sent all messages, even after an
            // orderly release.
            orderly = false;
        }
        if let Some(flow) = flow {
            let event = Event::Ended { reason: reason.text(), orderly };
            self.users.record(now, flow, event);
        }
        if !self.transport.reports_close() {
            self.users.conversations.remove(&endpoint);
        }
    }

    /// Removes a connection that exists no more. If its flow has released it, the flow is complete.
    pub(super) fn closed(&mut self, now: Instant, endpoint: Endpoint) {
        let Some(conversation) = self.users.conversations.remove(&endpoint) else { return };
        if let Role::Sender(place) = conversation.role {
            self.users.flows[place].endpoint = None;
            self.complete(now, place);
        }
    }

    // ---- control session ------------------------------------------------------------------------

    /// Sends a PDU of the control session: over the connection with the station if there is one,
    /// else over a new one.
    pub(in crate::host) fn send_control(&mut self, now: Instant, lsdu: Unitdata) {
        let role = Role::Control(lsdu.station);
        let mut open = self.users.conversations.iter().filter(|(_, found)| found.role == role);
        let known = open.next().map(|(endpoint, _)| *endpoint);
        let endpoint = known.unwrap_or_else(|| {
            let endpoint = self.transport.endpoint(Priority::LOWEST);
            self.users.conversations.insert(endpoint, Box::new(Conversation::new(role, None)));
            let tsap = Bytes::from_static(RENDEZVOUS_TSAP);
            self.connect(now, endpoint, lsdu.station, RENDEZVOUS_TSAP, tsap);
            endpoint
        });
        let conversation = self.users.conversations.get_mut(&endpoint);
        if let Some(found) = conversation.filter(|found| found.waiting.len() < CONTROL_WAITING) {
            found.waiting.push_back(lsdu.data.to_bytes());
            self.users.replying.insert(endpoint);
        }
    }
}
