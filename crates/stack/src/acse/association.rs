//! Association on a presentation connection: executes the table.

use super::service::{Associate, ContextName, Entity, Note, Primitive, Rejection, Source};
use super::table::{Action, Event, State, transition};
use crate::machine::{Deadline, Machine, Output};
use crate::presentation::{self, Addresses, Pdv, Refusal};
use bytes::Bytes;
use std::collections::VecDeque;
use wire::acse::{self as apdu, Abort, Diagnostic, External, Pdu, Release, Request, Response};
use wire::ber::{BitString, List, Oid, Writer};
use wire::presentation::Value;
use wire::time::Instant;

/// Result of an AARE: rejected permanently.
const PERMANENT: i64 = 1;
/// Result of an AARE: rejected for now.
const TRANSIENT: i64 = 2;
/// Diagnostic of the user: null.
const NULL: Diagnostic = Diagnostic::User(0);
/// Diagnostic of the user: no reason given.
const NO_REASON: Diagnostic = Diagnostic::User(1);
/// Diagnostic of the provider: no version in common.
const NO_VERSION: Diagnostic = Diagnostic::Provider(2);

/// Parameters of an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Application context name, proposed and returned.
    pub context_name: ContextName,
    /// Presentation context of the APDUs that this side sends first; 0 without a presentation layer.
    pub context: i64,
}

impl Params {
    /// MMS: ACSE has the first context.
    #[must_use]
    pub const fn mms() -> Self {
        Self { context_name: ContextName::MMS, context: 1 }
    }
}

/// Association; the value may be used for several, one after the other.
#[derive(Clone, Debug)]
pub struct Association {
    params: Params,
    state: State,
    /// Presentation context of the APDUs.
    context: i64,
    /// True if this side requested the association.
    is_initiator: bool,
    outputs: VecDeque<Output<presentation::Primitive, Primitive, Note>>,
}

/// Contents of the primitive or APDU that an action concerns.
#[derive(Clone, Default)]
struct Subject {
    addresses: Addresses,
    calling: Entity,
    called: Entity,
    information: Option<Pdv>,
    rejection: Option<Rejection>,
    source: Option<Source>,
    reason: Option<presentation::Reason>,
}

/// Primitive in which an APDU arrived.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Connect,
    Accept,
    Refuse,
    Release,
    Released,
    Abort,
}

impl Association {
    /// Creates an association that is not requested yet.
    #[must_use]
    pub const fn new(params: Params) -> Self {
        Self {
            params,
            state: State::Sta0,
            context: params.context,
            is_initiator: false,
            outputs: VecDeque::new(),
        }
    }

    /// State.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    // ---- the table ------------------------------------------------------------------------------

    fn step(&mut self, event: Event, subject: Subject) -> bool {
        let Some((next, action)) = transition(self.state, event) else { return false };
        self.state = next;
        self.carry_out(action, subject);
        true
    }

    fn carry_out(&mut self, action: Action, subject: Subject) {
        match action {
            Action::SendAarq => self.send_aarq(subject),
            Action::IndicateAssociate => {
                self.is_initiator = false;
                let Subject { addresses, calling, called, information, .. } = subject;
                let associate = Associate { addresses, calling, called, information };
                self.deliver(Primitive::Associate(Box::new(associate)));
            }
            Action::SendAareAccepting => self.send_aare(0, Some(NULL), subject.information),
            Action::SendAareRejecting => {
                let (result, diagnostic) = match subject.rejection {
                    Some(Rejection::Association { is_transient, diagnostic }) => {
                        let result = if is_transient { TRANSIENT } else { PERMANENT };
                        (result, diagnostic.unwrap_or(NO_REASON))
                    }
                    Some(Rejection::Below(_)) | None => (PERMANENT, NO_REASON),
                };
                self.send_aare(result, Some(diagnostic), subject.information);
            }
            Action::RejectByProvider => self.send_aare(PERMANENT, Some(NO_VERSION), None),
            Action::ConfirmAssociate => {
                self.deliver(Primitive::Accept { information: subject.information });
            }
            Action::ConfirmRejection | Action::ConfirmRejectionAndAbort => {
                let rejection = subject.rejection.unwrap_or(Rejection::Below(Refusal::User));
                let information = subject.information;
                self.deliver(Primitive::Reject { rejection, information });
                if action == Action::ConfirmRejectionAndAbort {
                    self.send(presentation::Primitive::Abort { data: None });
                }
            }
            Action::SendRlrq => {
                let data = Some(self.release(true));
                self.send(presentation::Primitive::Release { data });
            }
            Action::IndicateRelease => self.deliver(Primitive::Release),
            Action::SendRlre => {
                let data = Some(self.release(false));
                self.send(presentation::Primitive::Released { data });
            }
            Action::ConfirmRelease => self.deliver(Primitive::Released),
            Action::SendAbrt => self.send_abrt(subject.source.unwrap_or(Source::Provider)),
            Action::IndicateAbort => {
                let source = subject.source.unwrap_or(Source::User);
                self.deliver(Primitive::Abort { source });
            }
            Action::IndicateProviderAbort => {
                let reason = subject.reason.unwrap_or(presentation::Reason::ProtocolError);
                self.deliver(Primitive::ProviderAbort { reason });
            }
            Action::ProtocolError => {
                self.deliver(Primitive::Abort { source: Source::Provider });
                self.send_abrt(Source::Provider);
            }
        }
    }

    // ---- out ------------------------------------------------------------------------------------

    fn send(&mut self, primitive: presentation::Primitive) {
        self.outputs.push_back(Output::Send(primitive));
    }

    fn deliver(&mut self, primitive: Primitive) {
        self.outputs.push_back(Output::Deliver(primitive));
    }

    /// Value in the context of association control.
    fn value(&self, pdu: &Pdu<'_>) -> Pdv {
        let mut out = Writer::new();
        pdu.encode(&mut out);
        Pdv { context: self.context, octets: Bytes::copy_from_slice(out.octets()) }
    }

    fn send_aarq(&mut self, subject: Subject) {
        (self.is_initiator, self.context) = (true, self.params.context);
        let Subject { addresses, calling, called, information, .. } = subject;
        let mut room = Writer::new();
        let data = self.value(&Pdu::Aarq(Request {
            context_name: Some(Oid(self.params.context_name.0)),
            called: entity(&called),
            calling: entity(&calling),
            information: external(information.as_ref(), &mut room),
            ..Request::default()
        }));
        self.send(presentation::Primitive::Connect { addresses, data });
    }

    fn send_aare(&mut self, result: i64, diagnostic: Option<Diagnostic>, information: Option<Pdv>) {
        let mut room = Writer::new();
        let data = self.value(&Pdu::Aare(Response {
            context_name: Some(Oid(self.params.context_name.0)),
            result,
            diagnostic,
            information: external(information.as_ref(), &mut room),
            ..Response::default()
        }));
        self.send(if result == 0 {
            presentation::Primitive::Accept { data }
        } else {
            let (refusal, data) = (Refusal::User, Some(data));
            presentation::Primitive::Refuse { refusal, data }
        });
    }

    fn release(&self, is_request: bool) -> Pdv {
        let release = Release { reason: Some(0), ..Release::default() };
        self.value(&if is_request { Pdu::Rlrq(release) } else { Pdu::Rlre(release) })
    }

    fn send_abrt(&mut self, source: Source) {
        let code = match source {
            Source::User => 0,
            Source::Provider => 1,
        };
        let abort = Abort { source: Some(code), ..Abort::default() };
        let data = Some(self.value(&Pdu::Abrt(abort)));
        self.send(presentation::Primitive::Abort { data });
    }

    // ---- in -------------------------------------------------------------------------------------

    /// Processes the APDU in a primitive.
    fn apdu(&mut self, carrier: Carrier, data: &Pdv, mut subject: Subject) {
        let pdu = match Pdu::decode(&data.octets) {
            Ok(pdu) => pdu,
            Err(malformed) => {
                self.outputs.push_back(Output::Note(Note::Malformed(malformed)));
                self.arrive(Event::Invalid, subject);
                return;
            }
        };
        let event = self.event_of(carrier, &pdu);
        if carrier == Carrier::Connect && self.state == State::Sta0 {
            self.context = data.context;
        }
        subject.information = information(&data.octets, &pdu);
        match pdu {
            Pdu::Aarq(request) => {
                subject.calling = owned(&data.octets, &request.calling);
                subject.called = owned(&data.octets, &request.called);
            }
            Pdu::Aare(Response { result, diagnostic, .. }) => {
                let is_transient = result == TRANSIENT;
                subject.rejection = Some(Rejection::Association { is_transient, diagnostic });
            }
            Pdu::Abrt(Abort { source, .. }) => {
                let is_provider = source == Some(1);
                subject.source = Some(if is_provider { Source::Provider } else { Source::User });
            }
            Pdu::Rlrq(_) | Pdu::Rlre(_) => {}
        }
        self.arrive(event, subject);
    }

    fn arrive(&mut self, event: Event, subject: Subject) {
        let is_error =
            transition(self.state, event).is_none_or(|(_, action)| action == Action::ProtocolError);
        if is_error {
            self.outputs.push_back(Output::Note(Note::OutOfPlace));
        }
        self.step(event, subject);
    }

    fn event_of(&self, carrier: Carrier, pdu: &Pdu<'_>) -> Event {
        match (carrier, pdu) {
            (Carrier::Connect, Pdu::Aarq(request)) => {
                // X.227 9.1: an absent version is version 1.
                let is_known =
                    request.version.is_none_or(|versions: BitString<'_>| versions.bit(0));
                if is_known { Event::AarqReceived } else { Event::AarqUnacceptable }
            }
            (Carrier::Accept, Pdu::Aare(Response { result: 0, .. })) => Event::AareAccepting,
            (Carrier::Accept, Pdu::Aare(_)) => Event::AareRejectingLate,
            (Carrier::Refuse, Pdu::Aare(_)) => Event::AareRejecting,
            (Carrier::Release, Pdu::Rlrq(_)) => self.rlrq(),
            (Carrier::Released, Pdu::Rlre(_)) => Event::RlreReceived,
            (Carrier::Abort, Pdu::Abrt(_)) => Event::AbrtReceived,
            (_, Pdu::Aarq(_) | Pdu::Aare(_) | Pdu::Rlrq(_) | Pdu::Rlre(_) | Pdu::Abrt(_)) => {
                Event::Invalid
            }
        }
    }

    const fn rlrq(&self) -> Event {
        if self.is_initiator { Event::RlrqByResponder } else { Event::RlrqByInitiator }
    }
}

fn entity(entity: &Entity) -> apdu::Entity<'_> {
    let some = |octets: &Bytes| !octets.is_empty();
    apdu::Entity {
        title: Some(&entity.title).filter(|it| some(it)).map(|it| &it[..]),
        qualifier: Some(&entity.qualifier).filter(|it| some(it)).map(|it| &it[..]),
        ..apdu::Entity::default()
    }
}

fn owned(whole: &Bytes, entity: &apdu::Entity<'_>) -> Entity {
    let part = |octets: Option<&[u8]>| octets.map_or_else(Bytes::new, |it| whole.slice_ref(it));
    Entity { title: part(entity.title), qualifier: part(entity.qualifier) }
}

/// User information of one value; its octets are written to `room`.
fn external<'a>(value: Option<&'a Pdv>, room: &'a mut Writer) -> List<'a, External<'a>> {
    let Some(value) = value else { return List::EMPTY };
    let external = External {
        direct: None,
        indirect: Some(value.context),
        descriptor: None,
        value: Value::Single(&value.octets),
    };
    List::encode(&[external], room)
}

/// First value of the user information. Without an indirect reference its context is 0.
fn information(whole: &Bytes, pdu: &Pdu<'_>) -> Option<Pdv> {
    let external = pdu.information().iter().next()?;
    let octets = whole.slice_ref(external.value.octets());
    Some(Pdv { context: external.indirect.unwrap_or(0), octets })
}

impl Machine for Association {
    type Request = Primitive;
    type Indication = Primitive;
    type Pdu = presentation::Primitive;
    type Note = Note;

    fn request(&mut self, _now: Instant, request: Primitive) {
        let with = |information| Subject { information, ..Subject::default() };
        let (event, subject) = match request {
            Primitive::Associate(associate) => {
                let Associate { addresses, calling, called, information } = *associate;
                let subject = Subject { addresses, calling, called, ..with(information) };
                (Event::AssociateRequested, subject)
            }
            Primitive::Accept { information } => (Event::Accepted, with(information)),
            Primitive::Reject { rejection, information } => {
                let rejection = Some(rejection);
                (Event::Rejected, Subject { rejection, ..with(information) })
            }
            Primitive::Release => (Event::ReleaseRequested, with(None)),
            Primitive::Released => (Event::ReleaseAccepted, with(None)),
            Primitive::Abort { source } => {
                (Event::AbortRequested, Subject { source: Some(source), ..with(None) })
            }
            Primitive::ProviderAbort { .. } => {
                return self.outputs.push_back(Output::Note(Note::Refused));
            }
        };
        if !self.step(event, subject) {
            self.outputs.push_back(Output::Note(Note::Refused));
        }
    }

    fn receive(&mut self, _now: Instant, primitive: presentation::Primitive) {
        use presentation::Primitive as Below;
        let plain = Subject::default();
        match primitive {
            Below::Connect { addresses, data } => {
                let subject = Subject { addresses, ..plain };
                self.apdu(Carrier::Connect, &data, subject);
            }
            Below::Accept { data } => self.apdu(Carrier::Accept, &data, plain),
            Below::Refuse { data: Some(data), .. } => self.apdu(Carrier::Refuse, &data, plain),
            Below::Refuse { refusal, data: None } => {
                let rejection = Some(Rejection::Below(refusal));
                self.arrive(Event::PresentationRefused, Subject { rejection, ..plain });
            }
            // Some peers release without an APDU.
            Below::Release { data: None } => self.arrive(self.rlrq(), plain),
            Below::Release { data: Some(data) } => self.apdu(Carrier::Release, &data, plain),
            Below::Released { data: None } => self.arrive(Event::RlreReceived, plain),
            Below::Released { data: Some(data) } => self.apdu(Carrier::Released, &data, plain),
            Below::Abort { data: None } => self.arrive(Event::AbrtReceived, plain),
            Below::Abort { data: Some(data) } => self.apdu(Carrier::Abort, &data, plain),
            Below::ProviderAbort { reason } => {
                let reason = Some(reason);
                self.arrive(Event::ProviderAborted, Subject { reason, ..plain });
            }
            // Data is for the user of the association.
            Below::Data(_) => self.outputs.push_back(Output::Note(Note::OutOfPlace)),
        }
    }

    fn expire(&mut self, _now: Instant) {}

    fn deadline(&self) -> Option<Deadline> {
        None
    }

    fn poll(&mut self) -> Option<Output<presentation::Primitive, Primitive, Note>> {
        self.outputs.pop_front()
    }
}
