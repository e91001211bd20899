//! MMS client of one association: calls, each with a time-out, several in flight.

use super::initiate::{Agreement, Proposal, encoded};
use crate::acse::{self, Associate, Entity, Rejection, Source};
use crate::machine::{Deadline, Machine, Output, Timer};
use crate::presentation::{Addresses, Pdv};
use crate::upper::Primitive;
use bytes::Bytes;
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use wire::ber::{Reader, Tag};
use wire::mms::{ConfirmedRequest, Kind, Pdu, Reject, Request as ServiceRequest, Service};
use wire::read::Malformed;
use wire::time::Instant;

/// Reject of a confirmed request: unrecognized service.
const UNRECOGNIZED_SERVICE: i64 = 1;
/// Octets of a confirmed request around its service, at most.
const AROUND_OCTETS: usize = 16;

/// Parameters of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params {
    /// Selectors of both ends.
    pub addresses: Addresses,
    /// Calling entity. Some peers refuse an association without it.
    pub calling: Entity,
    /// Called entity.
    pub called: Entity,
    /// Presentation context of MMS.
    pub context: i64,
    /// Values to propose.
    pub proposal: Proposal,
    /// Time-out of the association, the conclude and the release.
    pub patience: Duration,
    /// Maximum number of calls that wait for one in flight to be answered.
    pub waiting: usize,
}

/// Call of a confirmed service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Number that the answer repeats; its meaning is the user's.
    pub token: u64,
    /// Time-out.
    pub patience: Duration,
    tag: Tag,
    content: Bytes,
}

impl Call {
    /// Creates a call. Its octets are shared by all copies of it.
    #[must_use]
    pub fn new(token: u64, service: ServiceRequest<'_>, patience: Duration) -> Self {
        let request = ConfirmedRequest { invoke: 0, modifiers: None, service, detail: &[] };
        let whole = encoded(&Pdu::ConfirmedRequest(request));
        let mut reader = Reader::new(&whole);
        let mut inside = reader.element("PDU").map_or(Reader::new(&[]), |it| it.reader());
        // The invoke identifier, then the service.
        let element = inside.element("invoke identifier").and_then(|_| inside.element("service"));
        let content = element.map_or_else(|_| Bytes::new(), |it| whole.slice_ref(it.content));
        Self { token, patience, tag: service.tag(), content }
    }

    /// Service.
    #[must_use]
    pub const fn service(&self) -> Service {
        Service(self.tag.number())
    }

    /// The same call with another number.
    #[must_use]
    pub fn numbered(self, token: u64) -> Self {
        Self { token, ..self }
    }

    fn pdu(&self, invoke: u32) -> Bytes {
        let service = ServiceRequest::Other { tag: self.tag, content: &self.content };
        let request = ConfirmedRequest { invoke, modifiers: None, service, detail: &[] };
        encoded(&Pdu::ConfirmedRequest(request))
    }
}

/// Request of the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Associate, with initiate.
    Associate,
    /// Call of a service; it waits if as many are in flight as agreed.
    Call(Call),
    /// Conclude and release, once the calls made so far have ended.
    Conclude,
    /// Abort.
    Abort,
}

/// Indication to the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// The association is open.
    Associated(Agreement),
    /// The association was not opened.
    Rejected(Refusal),
    /// A call has ended.
    Ended {
        /// Number of the call.
        token: u64,
        /// Result.
        end: End,
    },
    /// Unconfirmed service of the server, as its whole PDU: an information report.
    Unconfirmed(Bytes),
    /// The association has ended as requested.
    Released,
    /// The association has ended otherwise. Its calls ended before.
    Lost(Loss),
}

/// Result of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// Response, as its whole PDU.
    Response(Bytes),
    /// Error of the service, as its whole PDU.
    Error(Bytes),
    /// The server rejected the PDU.
    Rejected(Reject),
    /// The response is of another service, or no PDU.
    Wrong,
    /// No response within the time-out.
    TimedOut,
    /// The association ended first.
    Unanswered,
    /// The call was not made: no association, too many calls, or a PDU longer than agreed.
    Refused,
}

/// Reason why an association was not opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Rejected by association control or a layer below, with an initiate error if there is one.
    Rejected {
        /// Layer and reason.
        rejection: Rejection,
        /// Initiate error, as its whole PDU.
        error: Option<Bytes>,
    },
    /// Accepted without an initiate response that is acceptable.
    NotInitiated,
    /// The peer aborted, or the connection was lost. Some peers refuse so.
    Lost(Loss),
    /// No answer within the time-out.
    TimedOut,
}

/// Reason why an association ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// A-ABORT of the peer or of association control here.
    Aborted(Source),
    /// A-P-ABORT.
    Provider(crate::presentation::Reason),
    /// The peer released it without being asked.
    ReleasedByPeer,
    /// The release timed out, and was ended by an abort.
    TimedOut,
}

/// Note for observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// Octets arrived that are no MMS PDU.
    Malformed(Malformed),
    /// A response arrived that no call waits for, perhaps after its time-out.
    Late(u32),
    /// A PDU arrived that a server does not send.
    OutOfPlace(Kind),
    /// A request of the user is not permitted now.
    Refused,
}

/// State of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// No association.
    Idle,
    /// A-ASSOCIATE requested.
    Associating,
    /// Calls are made.
    Open,
    /// Calls are awaited before the conclude.
    Finishing,
    /// Conclude requested.
    Concluding,
    /// A-RELEASE requested.
    Releasing,
}

#[derive(Clone, Debug)]
struct Pending {
    token: u64,
    service: Service,
    due: Instant,
}

/// Client of one association; the value may be used for several, one after the other.
#[derive(Clone, Debug)]
pub struct Client {
    params: Params,
    state: State,
    agreement: Agreement,
    invoke: u32,
    in_flight: BTreeMap<u32, Pending>,
    waiting: VecDeque<Call>,
    timer: Timer,
    outputs: VecDeque<Output<Primitive, Indication, Note>>,
}

impl Client {
    /// Creates a client without an association.
    #[must_use]
    pub const fn new(params: Params) -> Self {
        Self {
            params,
            state: State::Idle,
            agreement: Agreement { pdu_octets: 0, outstanding: 1 },
            invoke: 0,
            in_flight: BTreeMap::new(),
            waiting: VecDeque::new(),
            timer: Timer::new("associate"),
            outputs: VecDeque::new(),
        }
    }

    /// State.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Number of calls in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    // ---- out ------------------------------------------------------------------------------------

    fn deliver(&mut self, indication: Indication) {
        self.outputs.push_back(Output::Deliver(indication));
    }

    fn note(&mut self, note: Note) {
        self.outputs.push_back(Output::Note(note));
    }

    fn association(&mut self, primitive: acse::Primitive) {
        self.outputs.push_back(Output::Send(Primitive::Association(primitive)));
    }

    fn data(&mut self, octets: Bytes) {
        let data = Primitive::Data(Pdv { context: self.params.context, octets });
        self.outputs.push_back(Output::Send(data));
    }

    fn associate(&mut self, now: Instant) {
        self.state = State::Associating;
        self.timer.start(now + self.params.patience);
        let information =
            Pdv { context: self.params.context, octets: self.params.proposal.request() };
        let associate = Associate {
            addresses: self.params.addresses.clone(),
            calling: self.params.calling.clone(),
            called: self.params.called.clone(),
            information: Some(information),
        };
        self.association(acse::Primitive::Associate(Box::new(associate)));
    }

    fn call(&mut self, now: Instant, call: Call) {
        let is_full = self.waiting.len() >= self.params.waiting;
        let is_long = call.content.len() + AROUND_OCTETS > self.agreement.pdu_octets;
        if self.state != State::Open || is_full || is_long {
            return self.deliver(Indication::Ended { token: call.token, end: End::Refused });
        }
        self.waiting.push_back(call);
        self.go_on(now);
    }

    /// Makes the calls that the agreement permits; then the conclude, if it is due.
    fn go_on(&mut self, now: Instant) {
        while self.in_flight.len() < usize::from(self.agreement.outstanding) {
            let Some(call) = self.waiting.pop_front() else { break };
            self.invoke = self.invoke.wrapping_add(1) & 0x7FFF_FFFF;
            let (token, service, due) = (call.token, call.service(), now + call.patience);
            self.in_flight.insert(self.invoke, Pending { token, service, due });
            self.data(call.pdu(self.invoke));
        }
        if self.state == State::Finishing && self.in_flight.is_empty() {
            self.state = State::Concluding;
            self.timer.start(now + self.params.patience);
            self.data(encoded(&Pdu::ConcludeRequest));
        }
    }

    fn release(&mut self, now: Instant) {
        self.state = State::Releasing;
        self.timer.start(now + self.params.patience);
        self.association(acse::Primitive::Release);
    }

    fn end_call(&mut self, now: Instant, token: u64, end: End) {
        self.deliver(Indication::Ended { token, end });
        self.go_on(now);
    }

    /// Ends the association and its calls.
    fn end(&mut self) {
        self.state = State::Idle;
        self.timer.stop();
        let in_flight = core::mem::take(&mut self.in_flight).into_values();
        let waiting = core::mem::take(&mut self.waiting);
        let tokens = in_flight.map(|it| it.token).chain(waiting.into_iter().map(|it| it.token));
        for token in tokens.collect::<Vec<_>>() {
            self.deliver(Indication::Ended { token, end: End::Unanswered });
        }
    }

    fn lose(&mut self, loss: Loss) {
        let state = self.state;
        self.end();
        match state {
            State::Idle => {}
            State::Associating => self.deliver(Indication::Rejected(Refusal::Lost(loss))),
            // Peers that close instead of answering the release have released all the same.
            State::Releasing => self.deliver(Indication::Released),
            State::Open | State::Finishing | State::Concluding => {
                self.deliver(Indication::Lost(loss));
            }
        }
    }

    // ---- in -------------------------------------------------------------------------------------

    fn primitive(&mut self, now: Instant, primitive: acse::Primitive) {
        match primitive {
            acse::Primitive::Accept { information } if self.state == State::Associating => {
                self.accepted(now, information.as_ref());
            }
            acse::Primitive::Reject { rejection, information } => {
                self.end();
                let error = information.map(|it| it.octets).filter(|it| !it.is_empty());
                self.deliver(Indication::Rejected(Refusal::Rejected { rejection, error }));
            }
            acse::Primitive::Released if self.state == State::Releasing => {
                self.end();
                self.deliver(Indication::Released);
            }
            acse::Primitive::Release => {
                self.association(acse::Primitive::Released);
                self.lose(Loss::ReleasedByPeer);
            }
            acse::Primitive::Abort { source } => self.lose(Loss::Aborted(source)),
            acse::Primitive::ProviderAbort { reason } => self.lose(Loss::Provider(reason)),
            acse::Primitive::Associate(_) => {
                self.association(acse::Primitive::Abort { source: Source::User });
            }
            acse::Primitive::Accept { .. } | acse::Primitive::Released => self.note(Note::Refused),
        }
    }

    fn accepted(&mut self, now: Instant, information: Option<&Pdv>) {
        let pdu = information.and_then(|it| Pdu::decode(&it.octets).ok());
        let agreement = match pdu {
            Some(Pdu::InitiateResponse(initiate)) => self.params.proposal.agree(&initiate),
            _ => None,
        };
        self.timer.stop();
        let Some(agreement) = agreement else {
            self.association(acse::Primitive::Abort { source: Source::User });
            self.end();
            return self.deliver(Indication::Rejected(Refusal::NotInitiated));
        };
        (self.state, self.agreement) = (State::Open, agreement);
        self.deliver(Indication::Associated(agreement));
        self.go_on(now);
    }

    fn pdu(&mut self, now: Instant, octets: Bytes) {
        // The kind and the invoke identifier are read, and the user decodes the rest.
        let head = match Head::read(&octets) {
            Ok(head) => head,
            Err(malformed) => return self.note(Note::Malformed(malformed)),
        };
        match head.kind {
            Kind::ConfirmedResponse | Kind::ConfirmedError | Kind::Reject => {
                self.answer(now, &head, octets);
            }
            Kind::Unconfirmed => self.deliver(Indication::Unconfirmed(octets)),
            Kind::ConcludeResponse | Kind::ConcludeError if self.state == State::Concluding => {
                self.release(now);
            }
            Kind::ConfirmedRequest => {
                let (invoke, reason) = (Some(head.invoke), UNRECOGNIZED_SERVICE);
                self.data(encoded(&Pdu::Reject(Reject { invoke, kind: 1, reason })));
            }
            Kind::ConcludeRequest => self.data(encoded(&Pdu::ConcludeResponse)),
            kind => self.note(Note::OutOfPlace(kind)),
        }
    }

    fn answer(&mut self, now: Instant, head: &Head, octets: Bytes) {
        let Some(Pending { token, service, .. }) = self.in_flight.remove(&head.invoke) else {
            return self.note(Note::Late(head.invoke));
        };
        let end = match head.kind {
            Kind::ConfirmedResponse if head.service == Some(service) => End::Response(octets),
            Kind::ConfirmedError => End::Error(octets),
            Kind::Reject => match Pdu::decode(&octets) {
                Ok(Pdu::Reject(reject)) => End::Rejected(reject),
                _ => End::Wrong,
            },
            _ => End::Wrong,
        };
        self.end_call(now, token, end);
    }

    /// Invoke identifier of a call whose time is over.
    fn first_due(&self, now: Instant) -> Option<u32> {
        let mut due = self.in_flight.iter().filter(|(_, pending)| pending.due <= now);
        due.next().map(|(invoke, _)| *invoke)
    }

    fn next_due(&self) -> Option<Deadline> {
        let first = self.in_flight.values().map(|pending| pending.due).min();
        first.map(|at| Deadline { at, timer: "service" })
    }
}

/// Kind of a PDU, its invoke identifier and its service.
struct Head {
    kind: Kind,
    invoke: u32,
    service: Option<Service>,
}

impl Head {
    fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let mut outer = Reader::new(octets);
        let element = outer.element("MMS PDU")?;
        let kind = Kind::of_tag(element.tag).ok_or_else(|| element.malformed("MMS PDU"))?;
        let mut inside = element.reader();
        let (mut invoke, mut service) = (0, None);
        match kind {
            Kind::ConfirmedRequest | Kind::ConfirmedResponse | Kind::ConfirmedError => {
                invoke = inside.element("invoke identifier")?.unsigned("invoke identifier")?;
                service = inside.peek().map(|tag| Service(tag.number()));
            }
            Kind::Reject => {
                let original = inside.optional("original invoke identifier", Tag(0x80))?;
                let original = original.map(|it| it.unsigned("original invoke identifier"));
                invoke = original.transpose()?.unwrap_or(u32::MAX);
            }
            _ => {}
        }
        Ok(Self { kind, invoke, service })
    }
}

impl Machine for Client {
    type Request = Request;
    type Indication = Indication;
    type Pdu = Primitive;
    type Note = Note;

    fn request(&mut self, now: Instant, request: Request) {
        match (request, self.state) {
            (Request::Associate, State::Idle) => self.associate(now),
            (Request::Call(call), _) => self.call(now, call),
            (Request::Conclude, State::Open) => {
                self.state = State::Finishing;
                self.go_on(now);
            }
            (Request::Abort, State::Idle) => {}
            (Request::Abort, _) => {
                self.association(acse::Primitive::Abort { source: Source::User });
                self.end();
            }
            (Request::Associate | Request::Conclude, _) => self.note(Note::Refused),
        }
    }

    fn receive(&mut self, now: Instant, primitive: Primitive) {
        match primitive {
            Primitive::Association(primitive) => self.primitive(now, primitive),
            Primitive::Data(data) if data.context == self.params.context => {
                self.pdu(now, data.octets);
            }
            Primitive::Data(_) => self.note(Note::Refused),
        }
    }

    fn expire(&mut self, now: Instant) {
        // The end of a call may send one that waited, and that may be due as well.
        while let Some(invoke) = self.first_due(now)
            && let Some(pending) = self.in_flight.remove(&invoke)
        {
            self.end_call(now, pending.token, End::TimedOut);
        }
        if !self.timer.ran_out(now) {
            return;
        }
        match self.state {
            // Some peers conclude by closing, and some not at all: the release follows.
            State::Concluding => self.release(now),
            State::Associating | State::Releasing => {
                self.association(acse::Primitive::Abort { source: Source::User });
                let was_open = self.state == State::Releasing;
                self.end();
                self.deliver(if was_open {
                    Indication::Lost(Loss::TimedOut)
                } else {
                    Indication::Rejected(Refusal::TimedOut)
                });
            }
            State::Idle | State::Open | State::Finishing => {}
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        Deadline::earlier(self.timer.deadline(), self.next_due())
    }

    fn poll(&mut self) -> Option<Output<Primitive, Indication, Note>> {
        self.outputs.pop_front()
    }
}

#[cfg(test)]
mod tests;
