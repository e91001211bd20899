//! Presentation kernel (ISO 8823): connection with contexts, data, release, abort.

use super::service::{Addresses, Note, Params, Pdv, Primitive, Reason, Refusal, Selectors, Syntax};
use crate::machine::Output;
use crate::session;
use bytes::Bytes;
use core::mem;
use std::collections::VecDeque;
use wire::ber::{List, Oid, Reader, Writer};
use wire::presentation::{
    self as ppdu, BER, Context, Defined, Name, Outcome, Parameters, Pdu, UserData, Value,
};
use wire::read::Malformed;
use wire::session::Kind;
use wire::time::Instant;

/// Maximum number of contexts of a connection; further proposals are rejected.
const MOST_CONTEXTS: usize = 16;
/// Reason of a CPR: not specified.
const NOT_SPECIFIED: i64 = 0;
/// Reason of a CPR: user data not readable.
const NOT_READABLE: i64 = 6;
/// Reason of an ARP: parameter invalid.
const INVALID: i64 = 6;
/// Reason of an ARP: PPDU unexpected.
const UNEXPECTED: i64 = 2;

/// State (ISO 8823 annex A).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// STAI0: no connection.
    Idle,
    /// STAI1: waiting for the CPA.
    Connecting,
    /// STAI2: waiting for the P-CONNECT response.
    Indicated,
    /// STAt0: connected.
    Connected,
}

/// Agreed context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Agreed {
    identifier: i64,
    syntax: Syntax,
}

/// Presentation entity of one connection.
#[derive(Clone, Debug)]
pub struct Kernel {
    params: Params,
    state: State,
    agreed: Vec<Agreed>,
    /// List of results for the CPA.
    outcomes: Bytes,
    /// Called PSAP selector of the CP received.
    called: Bytes,
    /// True if this side has requested a release that is not confirmed.
    is_releasing: bool,
    /// True if the user has a release of the peer to answer.
    is_to_answer: bool,
    outputs: VecDeque<Output<session::Primitive, Primitive, Note>>,
}

impl Kernel {
    /// Creates an entity without a connection.
    #[must_use]
    pub const fn new(params: Params) -> Self {
        Self {
            params,
            state: State::Idle,
            agreed: Vec::new(),
            outcomes: Bytes::new(),
            called: Bytes::new(),
            is_releasing: false,
            is_to_answer: false,
            outputs: VecDeque::new(),
        }
    }

    /// Context agreed for an abstract syntax, or proposed by this side.
    pub(super) fn context_of(&self, syntax: Syntax) -> Option<i64> {
        if self.state == State::Idle || self.state == State::Connecting {
            return self.proposed().find(|it| it.syntax == syntax).map(|it| it.identifier);
        }
        self.agreed.iter().find(|it| it.syntax == syntax).map(|it| it.identifier)
    }

    /// Contexts that this side proposes: odd identifiers, as the initiator has to assign.
    fn proposed(&self) -> impl Iterator<Item = Agreed> {
        let numbered = self.params.syntaxes.iter().zip((1..).step_by(2));
        numbered.map(|(syntax, identifier)| Agreed { identifier, syntax: *syntax })
    }

    // ---- out ------------------------------------------------------------------------------------

    fn send(&mut self, primitive: session::Primitive) {
        self.outputs.push_back(Output::Send(primitive));
    }

    fn deliver(&mut self, primitive: Primitive) {
        self.outputs.push_back(Output::Deliver(primitive));
    }

    /// Processes a request or response of the user.
    pub(super) fn request(&mut self, _now: Instant, request: Primitive) {
        let is_permitted = match (&request, self.state) {
            (Primitive::Connect { .. }, state) => state == State::Idle,
            (Primitive::Accept { .. } | Primitive::Refuse { .. }, state) => {
                state == State::Indicated
            }
            (
                Primitive::Data(_) | Primitive::Release { .. } | Primitive::Released { .. },
                state,
            ) => state == State::Connected,
            (Primitive::Abort { .. }, state) => state != State::Idle,
            (Primitive::ProviderAbort { .. }, _) => false,
        };
        if !is_permitted {
            return self.outputs.push_back(Output::Note(Note::Refused));
        }
        match request {
            Primitive::Connect { addresses, data } => self.send_cp(addresses, &data),
            Primitive::Accept { data } => self.send_cpa(&data),
            Primitive::Refuse { data, .. } => self.send_cpr(None, data.as_ref()),
            Primitive::Data(data) => self.send(session::Primitive::Data { ssdu: wrapped(&data) }),
            Primitive::Release { data } => {
                self.is_releasing = true;
                let data = data.as_ref().map_or_else(Bytes::new, wrapped);
                self.send(session::Primitive::Release { data });
            }
            Primitive::Released { data } => {
                let data = data.as_ref().map_or_else(Bytes::new, wrapped);
                self.send(session::Primitive::Released { data });
                self.is_to_answer = false;
                self.end_if_released();
            }
            Primitive::Abort { data } => self.send_aru(data.as_ref()),
            Primitive::ProviderAbort { .. } => {}
        }
    }

    fn send_cp(&mut self, addresses: Addresses, data: &Pdv) {
        self.state = State::Connecting;
        let Addresses { calling, called } = addresses;
        let mut names = Writer::new();
        let transfer_syntaxes = List::encode(&[Name(BER)], &mut names);
        let contexts = self.proposed().map(|it| Context {
            identifier: it.identifier,
            abstract_syntax: Oid(it.syntax.0),
            transfer_syntaxes,
        });
        let contexts: Vec<_> = contexts.collect();
        let mut room = Writer::new();
        let contexts = List::encode(&contexts, &mut room);
        let mut value = Writer::new();
        let data = encoded(&Pdu::Cp(Parameters {
            calling: some(&calling.presentation),
            called: some(&called.presentation),
            contexts,
            user_data: user_data(data, &mut value),
            ..Parameters::default()
        }));
        let (calling, called) = (calling.session, called.session);
        self.send(session::Primitive::Connect { calling, called, data });
    }

    fn send_cpa(&mut self, data: &Pdv) {
        self.state = State::Connected;
        let outcomes = mem::take(&mut self.outcomes);
        let called = mem::take(&mut self.called);
        let mut value = Writer::new();
        let data = encoded(&Pdu::Cpa(Parameters {
            responding: some(&called),
            outcomes: List::decode(Reader::new(&outcomes)).unwrap_or_default(),
            user_data: user_data(data, &mut value),
            ..Parameters::default()
        }));
        self.send(session::Primitive::Accept { data });
    }

    fn send_cpr(&mut self, reason: Option<i64>, data: Option<&Pdv>) {
        self.state = State::Idle;
        let outcomes = mem::take(&mut self.outcomes);
        let mut value = Writer::new();
        let data = encoded(&Pdu::Cpr(Parameters {
            outcomes: List::decode(Reader::new(&outcomes)).unwrap_or_default(),
            reason,
            user_data: data.and_then(|data| user_data(data, &mut value)),
            ..Parameters::default()
        }));
        self.send(session::Primitive::Refuse { reason: 0, data });
    }

    fn send_aru(&mut self, data: Option<&Pdv>) {
        let mut room = Writer::new();
        // 8823 6.4.2: the contexts of the user data have to be named until they are agreed.
        let contexts: Vec<_> = match (self.state, data) {
            (State::Connected, _) | (_, None) => Vec::new(),
            (_, Some(data)) => vec![Defined { identifier: data.context, transfer: BER }],
        };
        let contexts = List::encode(&contexts, &mut room);
        let mut value = Writer::new();
        let user_data = data.and_then(|data| user_data(data, &mut value));
        let data = encoded(&Pdu::Aru { contexts, user_data });
        self.end();
        self.send(session::Primitive::Abort { data });
    }

    /// Aborts a connection whose peer violates the protocol.
    fn protocol_error(&mut self, reason: i64) {
        self.end();
        let data = encoded(&Pdu::Arp { reason: Some(reason), event: None });
        self.send(session::Primitive::Abort { data });
        self.deliver(Primitive::ProviderAbort { reason: Reason::ProtocolError });
    }

    fn end(&mut self) {
        self.state = State::Idle;
        self.agreed.clear();
        (self.outcomes, self.called) = (Bytes::new(), Bytes::new());
        (self.is_releasing, self.is_to_answer) = (false, false);
    }

    /// Ends the connection once the releases of both sides, which may cross, are answered.
    fn end_if_released(&mut self) {
        if !self.is_releasing && !self.is_to_answer {
            self.end();
        }
    }

    // ---- in -------------------------------------------------------------------------------------

    /// Processes a primitive of the session layer.
    pub(super) fn receive(&mut self, _now: Instant, primitive: session::Primitive) {
        match primitive {
            session::Primitive::Connect { calling, called, data } => {
                self.connect(calling, called, &data);
            }
            session::Primitive::Accept { data } => self.accepted(&data),
            session::Primitive::Refuse { reason, data } => self.refused(reason, &data),
            session::Primitive::Data { ssdu } => self.data(&ssdu),
            session::Primitive::Release { data } => {
                if let Some(data) = self.released(Kind::Fn, &data) {
                    self.deliver(Primitive::Release { data });
                }
            }
            session::Primitive::Released { data } => {
                if let Some(data) = self.released(Kind::Dn, &data) {
                    self.deliver(Primitive::Released { data });
                }
            }
            session::Primitive::Abort { data } => self.aborted(&data),
            session::Primitive::ProviderAbort { reason } => {
                self.end();
                self.deliver(Primitive::ProviderAbort { reason: Reason::Session(reason) });
            }
        }
    }

    fn note(&mut self, malformed: Malformed) {
        self.outputs.push_back(Output::Note(Note::Malformed(malformed)));
    }

    fn connect(&mut self, calling: Bytes, called: Bytes, data: &Bytes) {
        self.end();
        let parameters = match Pdu::decode(Kind::Cn, data) {
            Ok(Pdu::Cp(parameters)) => parameters,
            Ok(_) => return self.send_cpr(Some(NOT_SPECIFIED), None),
            Err(malformed) => {
                self.note(malformed);
                return self.send_cpr(Some(NOT_READABLE), None);
            }
        };
        self.agree(&parameters);
        let value = parameters.user_data.and_then(|user_data| user_data.first());
        let value = value.filter(|value| self.is_agreed(value.context));
        let Some(value) = value else { return self.send_cpr(Some(NOT_READABLE), None) };
        let octets = data.slice_ref(value.value.octets());
        let selector =
            |octets: Option<&[u8]>| octets.map_or_else(Bytes::new, |it| data.slice_ref(it));
        self.called = selector(parameters.called);
        let end = |presentation, session| Selectors { presentation, session };
        let addresses = Addresses {
            calling: end(selector(parameters.calling), calling),
            called: end(self.called.clone(), called),
        };
        self.state = State::Indicated;
        let data = Pdv { context: value.context, octets };
        self.deliver(Primitive::Connect { addresses, data });
    }

    /// Accepts the proposed contexts that this side knows.
    fn agree(&mut self, parameters: &Parameters<'_>) {
        let mut results = Vec::new();
        for proposed in parameters.contexts.iter() {
            let known =
                self.params.syntaxes.iter().find(|it| Oid(it.0) == proposed.abstract_syntax);
            let has_ber = proposed.transfer_syntaxes.iter().any(|Name(name)| name == BER);
            let is_new = !self.is_agreed(proposed.identifier);
            let (result, reason) = match known {
                Some(syntax) if has_ber && is_new && self.agreed.len() < MOST_CONTEXTS => {
                    let identifier = proposed.identifier;
                    self.agreed.push(Agreed { identifier, syntax: *syntax });
                    (0, None)
                }
                None => (2, Some(1)),
                Some(_) if !has_ber => (2, Some(2)),
                Some(_) => (2, Some(3)),
            };
            results.push(Outcome { result, transfer: (result == 0).then_some(BER), reason });
        }
        let mut room = Writer::new();
        self.outcomes = Bytes::copy_from_slice(List::encode(&results, &mut room).octets());
    }

    fn is_agreed(&self, context: i64) -> bool {
        self.agreed.iter().any(|it| it.identifier == context)
    }

    fn accepted(&mut self, data: &Bytes) {
        let parameters = match Pdu::decode(Kind::Ac, data) {
            Ok(Pdu::Cpa(parameters)) => parameters,
            Ok(_) => return self.protocol_error(UNEXPECTED),
            Err(malformed) => {
                self.note(malformed);
                return self.protocol_error(INVALID);
            }
        };
        // One result for each proposal, in order; a missing one is a rejection.
        let accepted = parameters.outcomes.iter().map(|outcome| outcome.result == 0);
        let agreed = self.proposed().zip(accepted).filter(|(_, is_accepted)| *is_accepted);
        self.agreed = agreed.map(|(agreed, _)| agreed).collect();
        let value = parameters.user_data.and_then(|user_data| user_data.first());
        let Some(value) = value.filter(|value| self.is_agreed(value.context)) else {
            return self.protocol_error(INVALID);
        };
        self.state = State::Connected;
        let data = Pdv { context: value.context, octets: data.slice_ref(value.value.octets()) };
        self.deliver(Primitive::Accept { data });
    }

    fn refused(&mut self, reason: u8, data: &Bytes) {
        self.end();
        let mut refusal = if reason < 0x80 { Refusal::User } else { Refusal::Session(reason) };
        let mut found = None;
        if !data.is_empty() {
            match Pdu::decode(Kind::Rf, data) {
                Ok(pdu) => {
                    if let Pdu::Cpr(Parameters { reason: Some(reason), .. }) = pdu {
                        refusal = Refusal::Presentation(reason);
                    }
                    found = first(data, &pdu);
                }
                Err(malformed) => self.note(malformed),
            }
        }
        self.deliver(Primitive::Refuse { refusal, data: found });
    }

    fn data(&mut self, ssdu: &Bytes) {
        let list = match Pdu::decode(Kind::Dt, ssdu) {
            Ok(Pdu::Data(UserData::Full(list))) if self.state == State::Connected => list,
            Ok(_) => return self.protocol_error(UNEXPECTED),
            Err(malformed) => {
                self.note(malformed);
                return self.protocol_error(INVALID);
            }
        };
        for value in list.iter() {
            if !self.is_agreed(value.context) {
                self.outputs.push_back(Output::Note(Note::UnknownContext(value.context)));
                return self.protocol_error(INVALID);
            }
            let octets = ssdu.slice_ref(value.value.octets());
            self.deliver(Primitive::Data(Pdv { context: value.context, octets }));
        }
    }

    /// User data of an FN or DN; `None` if the connection was aborted instead.
    fn released(&mut self, kind: Kind, data: &Bytes) -> Option<Option<Pdv>> {
        let found = if data.is_empty() {
            None
        } else {
            match Pdu::decode(kind, data) {
                Ok(pdu) => first(data, &pdu),
                Err(malformed) => {
                    self.note(malformed);
                    self.protocol_error(INVALID);
                    return None;
                }
            }
        };
        if kind == Kind::Dn {
            self.is_releasing = false;
            self.end_if_released();
        } else {
            self.is_to_answer = true;
        }
        Some(found)
    }

    fn aborted(&mut self, data: &Bytes) {
        self.end();
        if data.is_empty() {
            return self.deliver(Primitive::Abort { data: None });
        }
        match Pdu::decode(Kind::Ab, data) {
            Ok(Pdu::Arp { reason, .. }) => {
                self.deliver(Primitive::ProviderAbort { reason: Reason::ByPeer(reason) });
            }
            Ok(pdu) => self.deliver(Primitive::Abort { data: first(data, &pdu) }),
            Err(malformed) => {
                self.note(malformed);
                self.deliver(Primitive::Abort { data: None });
            }
        }
    }

    /// Returns the next output.
    pub(super) fn poll(&mut self) -> Option<Output<session::Primitive, Primitive, Note>> {
        self.outputs.pop_front()
    }
}

/// First value of the user data of a PPDU.
fn first(whole: &Bytes, pdu: &Pdu<'_>) -> Option<Pdv> {
    let value = pdu.user_data()?.first()?;
    Some(Pdv { context: value.context, octets: whole.slice_ref(value.value.octets()) })
}

fn some(octets: &[u8]) -> Option<&[u8]> {
    Some(octets).filter(|octets| !octets.is_empty())
}

fn encoded(pdu: &Pdu<'_>) -> Bytes {
    let mut out = Writer::new();
    pdu.encode(&mut out);
    Bytes::copy_from_slice(out.octets())
}

/// User data of one value; its octets are written to `room`.
fn user_data<'a>(data: &'a Pdv, room: &'a mut Writer) -> Option<UserData<'a>> {
    let value = Value::Single(&data.octets);
    let value = ppdu::Pdv { transfer: None, context: data.context, value };
    Some(UserData::Full(List::encode(&[value], room)))
}

/// Data PPDU of one value.
fn wrapped(data: &Pdv) -> Bytes {
    let mut out = Writer::new();
    out.put(&data.octets);
    ppdu::wrap(data.context, 0, &mut out);
    Bytes::copy_from_slice(out.octets())
}
