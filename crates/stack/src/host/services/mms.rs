//! Flows of MMS: each is a client, which makes one call of a confirmed service for each message, over
//! an association of its own; a host with a model is a server.
//!
//! A message is sent when its call is passed to the layers below, and answered when the response is
//! complete. Its size is that of the PDUs, which the encoders of the protocol make: MMS has no stamps.
//! A call that ends otherwise is a message that failed. Client and server run where their users run:
//! crossing between a user and its protocols costs nothing.
//!
//! The server answers at once. The machine below charges for the layers, and for each value that a read
//! returns ([`WorkKind::Access`]).
//!
//! [`WorkKind::Access`]: crate::station::WorkKind::Access

use super::super::Host;
use super::super::work::Cargo;
use super::Task;
use super::association::{Associated, Upper};
use crate::acse::{self, Entity};
use crate::load::{Event, FlowId};
use crate::machine::{Deadline, Machine as _, Output};
use crate::mms::client::{self, Call, End, Indication, Loss};
use crate::mms::server::{self, Files, Model};
use crate::mms::{Client, Proposal, Server};
use crate::presentation::Addresses;
use crate::transport::Endpoint;
use crate::upper::{Addressed, Primitive};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use wire::mms::{Pdu, Response};
use wire::time::Instant;

/// Presentation context of MMS: the second that the presentation layer proposes.
const CONTEXT: i64 = 3;
/// Octets around a call on its way to the transport: data SPDUs, presentation and the head of the PDU.
const AROUND_OCTETS: usize = 64;
/// Maximum number of associations of a server, and of outstanding requests that it agrees to.
const ASSOCIATIONS: usize = 1_024;
const OUTSTANDING: u16 = 64;
/// Time-out of association and conclude.
const PATIENCE: Duration = Duration::from_secs(60);

/// Parameters of MMS at a host.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MmsParams {
    /// Objects of its server; `None` if it serves no clients.
    pub model: Option<Model>,
    /// Calls of its flows.
    pub calls: BTreeMap<FlowId, Call>,
}

/// Users of MMS at a host.
#[derive(Clone, Debug)]
pub(in crate::host) struct Manufacturing {
    pub(in crate::host) params: MmsParams,
    server: Option<Server>,
    clients: BTreeMap<Endpoint, Calling>,
}

/// Client of a flow.
#[derive(Clone, Debug)]
struct Calling {
    client: Client,
    place: usize,
    outstanding: usize,
    /// Times at which the calls that have not ended were due, and made, by sequence number.
    made: BTreeMap<u32, Times>,
}

#[derive(Clone, Copy, Debug)]
struct Times {
    planned: Instant,
    sent: Instant,
}

impl Manufacturing {
    pub(in crate::host) fn new(params: MmsParams) -> Self {
        let server = params.model.clone().map(|model| {
            let proposal = Proposal { outstanding: OUTSTANDING, ..Proposal::usual() };
            let params = server::Params {
                proposal,
                associations: ASSOCIATIONS,
                writable: BTreeSet::new(),
                files: Files::new(),
                epoch_ns: 0,
            };
            Server::new(params, model)
        });
        Self { params, server, clients: BTreeMap::new() }
    }

    fn deadline(&self) -> Option<Deadline> {
        let clients = self.clients.values().map(|calling| calling.client.deadline());
        clients.fold(self.server.as_ref().and_then(Server::deadline), Deadline::earlier)
    }
}

/// Parameters of the client of a flow.
fn client_params(outstanding: u16) -> client::Params {
    client::Params {
        addresses: Addresses::default(),
        calling: Entity::default(),
        called: Entity::default(),
        context: CONTEXT,
        proposal: Proposal { outstanding, ..Proposal::usual() },
        patience: PATIENCE,
        waiting: 1,
    }
}

/// Number of values in a response of a server; zero for a service that reads none.
fn values_in(pdu: &[u8]) -> usize {
    match Pdu::decode(pdu) {
        Ok(Pdu::ConfirmedResponse(response)) => match response.service {
            Response::Read(read) => read.results.iter().count(),
            _ => 0,
        },
        _ => 0,
    }
}

impl Host {
    /// Gives the host users of MMS.
    #[must_use]
    pub fn with_mms(mut self, params: MmsParams) -> Self {
        self.mms = Some(Box::new(Manufacturing::new(params)));
        self
    }

    pub(super) fn serve_mms(
        &mut self,
        now: Instant,
        place: usize,
        task: Task,
        outstanding: u16,
    ) -> bool {
        match (task, self.users.flows[place].endpoint) {
            (Task::Start, _) if self.link.is_none() => {
                return self.refuse(now, place, "flows of MMS need a LAN");
            }
            (Task::Start, _) if self.call_of(place).is_none() => {
                return self.refuse(now, place, "a flow of MMS without a call");
            }
            (Task::Start, _) => self.open_mms(now, place, outstanding),
            (Task::HandOver, Some(endpoint)) => return self.hand_call_over(now, place, endpoint),
            (Task::Close, Some(endpoint)) => self.dissociate(now, place, endpoint),
            (Task::HandOver | Task::Close, None) => return false,
        }
        true
    }

    fn call_of(&self, place: usize) -> Option<&Call> {
        self.mms.as_deref()?.params.calls.get(&self.users.flow(place).id)
    }

    /// Returns true if it has an MMS server.
    pub(super) fn serves_mms(&self) -> bool {
        self.users.accepts && self.mms.as_deref().is_some_and(|mms| mms.server.is_some())
    }

    fn client(&mut self, endpoint: Endpoint) -> Option<&mut Calling> {
        self.mms.as_deref_mut()?.clients.get_mut(&endpoint)
    }

    /// Requests an association for a flow.
    fn open_mms(&mut self, now: Instant, place: usize, outstanding: u16) {
        let endpoint = self.new_endpoint(now, place);
        self.associations.insert(endpoint, Associated::new(Upper::mms()));
        let mut client = Client::new(client_params(outstanding));
        client.request(now, client::Request::Associate);
        let outstanding = usize::from(outstanding);
        let calling = Calling { client, place, outstanding, made: BTreeMap::new() };
        if let Some(mms) = &mut self.mms {
            mms.clients.insert(endpoint, calling);
        }
        self.drain_client(now, endpoint);
    }

    /// Makes a call, if one waits and one more may be outstanding.
    fn hand_call_over(&mut self, now: Instant, place: usize, endpoint: Endpoint) -> bool {
        let octets = self.users.flow(place).size_octets + AROUND_OCTETS;
        let waits = self.associations.get(&endpoint).is_none_or(|it| !it.waiting.is_empty());
        let Some(call) = self.call_of(place).cloned() else { return false };
        let is_full = self.client(endpoint).is_none_or(|it| it.made.len() >= it.outstanding);
        if waits || is_full || !self.transport.has_room(endpoint, octets) {
            return false;
        }
        let Some((sequence, planned)) = self.users.take_call(now, place) else { return false };
        if let Some(calling) = self.client(endpoint) {
            calling.made.insert(sequence, Times { planned, sent: now });
            let call = call.numbered(u64::from(sequence));
            calling.client.request(now, client::Request::Call(call));
        }
        self.drain_client(now, endpoint);
        true
    }

    /// Concludes and releases an association, or aborts one that is not open.
    pub(super) fn release_mms(&mut self, now: Instant, endpoint: Endpoint) {
        let state = self.associations.get(&endpoint).map(|it| it.upper.state());
        let Some(calling) = self.client(endpoint) else { return };
        let request = match (calling.client.state(), state) {
            (client::State::Open, Some(acse::State::Sta5)) => client::Request::Conclude,
            (client::State::Associating | client::State::Open, _) => client::Request::Abort,
            _ => return,
        };
        calling.client.request(now, request);
        self.drain_client(now, endpoint);
    }

    pub(super) fn mms_deadline(&self) -> Option<Deadline> {
        self.mms.as_deref().and_then(Manufacturing::deadline)
    }

    pub(super) fn expire_mms(&mut self, now: Instant) {
        let Some(mms) = &mut self.mms else { return };
        if mms.deadline().is_none_or(|deadline| deadline.at > now) {
            return;
        }
        mms.clients.values_mut().for_each(|calling| calling.client.expire(now));
        if let Some(server) = &mut mms.server {
            server.expire(now);
        }
        for endpoint in mms.clients.keys().copied().collect::<Vec<_>>() {
            self.drain_client(now, endpoint);
        }
        self.drain_server(now);
    }

    /// Ends the client of an association that exists no more.
    pub(super) fn forget_mms(&mut self, now: Instant, endpoint: Endpoint) {
        self.drain_client(now, endpoint);
        if let Some(mms) = &mut self.mms {
            mms.clients.remove(&endpoint);
        }
    }

    // ---- the loop -------------------------------------------------------------------------------

    /// Passes a primitive of the layers below to client or server.
    pub(super) fn indicate_mms(&mut self, now: Instant, endpoint: Endpoint, primitive: Primitive) {
        let Some(mms) = &mut self.mms else { return };
        if let Some(calling) = mms.clients.get_mut(&endpoint) {
            calling.client.receive(now, primitive);
            self.drain_client(now, endpoint);
        } else if let Some(server) = &mut mms.server {
            server.receive(now, Addressed { endpoint, primitive });
            self.drain_server(now);
        }
    }

    /// Passes a primitive of client or server to the layers below.
    pub(in crate::host) fn request_below(&mut self, now: Instant, addressed: Addressed) {
        let Addressed { endpoint, primitive } = addressed;
        if let Some(Associated { upper: Upper::Mms(joint), .. }) =
            self.associations.get_mut(&endpoint)
        {
            joint.request(now, primitive);
        }
        self.drain_association(now, endpoint);
    }

    fn drain_server(&mut self, now: Instant) {
        while let Some(server) = self.mms.as_deref_mut().and_then(|mms| mms.server.as_mut())
            && let Some(output) = server.poll()
        {
            let Output::Send(addressed) = output else { continue };
            let values = match &addressed.primitive {
                Primitive::Data(data) => values_in(&data.octets),
                Primitive::Association(_) => 0,
            };
            self.submit(now, Cargo::Answered { addressed: Box::new(addressed), values });
        }
    }

    fn drain_client(&mut self, now: Instant, endpoint: Endpoint) {
        while let Some(calling) = self.client(endpoint)
            && let Some(output) = calling.client.poll()
        {
            match output {
                Output::Send(primitive) => {
                    self.request_below(now, Addressed { endpoint, primitive });
                }
                Output::Deliver(indication) => self.indicate_client(now, endpoint, indication),
                Output::Note(_) => {}
            }
        }
    }

    fn indicate_client(&mut self, now: Instant, endpoint: Endpoint, indication: Indication) {
        match indication {
            Indication::Associated(_) => self.opened(now, endpoint),
            Indication::Ended { token, end } => self.ended(now, endpoint, token, &end),
            Indication::Rejected(client::Refusal::Lost(Loss::Provider(_)))
            | Indication::Lost(Loss::Provider(_)) => {
                // That of a lost transport connection is recorded with its reason.
            }
            Indication::Rejected(_) => {
                self.association_lost(now, endpoint, "association rejected");
            }
            Indication::Lost(_) => {
                self.association_lost(now, endpoint, "association aborted");
            }
            // The T-DISCONNECT that follows a release ends the flow. Reports are no answers.
            Indication::Released | Indication::Unconfirmed(_) => {}
        }
    }

    /// Records the end of a call.
    fn ended(&mut self, now: Instant, endpoint: Endpoint, token: u64, end: &End) {
        let Some(calling) = self.client(endpoint) else { return };
        let place = calling.place;
        let Ok(sequence) = u32::try_from(token) else { return };
        let Some(Times { planned, sent }) = calling.made.remove(&sequence) else { return };
        let failed = |reason| Event::Failed { sequence, planned, reason };
        let event = match end {
            End::Response(pdu) => {
                Event::Answered { sequence, planned, sent: Some(sent), octets: pdu.len() }
            }
            End::Error(_) => failed("the server answered with an error"),
            End::Rejected(_) => failed("the server rejected the request"),
            End::Wrong => failed("the server's answer is none to the request"),
            End::TimedOut => failed("no answer within the time-out"),
            End::Unanswered => failed("the association ended first"),
            End::Refused => failed("the client cannot make the call"),
        };
        let id = self.users.flow(place).id;
        self.users.record(now, id, event);
        self.users.flows[place].sender.answered(now);
        self.users.waiting.wake(place);
    }
}
