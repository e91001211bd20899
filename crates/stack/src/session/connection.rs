//! Session connection on a transport connection: executes the table.

use super::service::{Below, LONGEST_IN_VERSION_1, Note, Params, Primitive, Reason};
use super::table::{Action, Event, State, transition};
use crate::machine::{Deadline, Machine, Output, Timer};
use bytes::{Bytes, BytesMut};
use core::mem;
use std::collections::VecDeque;
use wire::ber::Writer;
use wire::session::{self as spdu, DUPLEX, Kind, Parameters, Pdu, VERSION_1, VERSION_2};
use wire::time::Instant;

/// Reason of an RF: rejection by the user, with data.
const REJECTED_WITH_DATA: u8 = 2;
/// Reason of an RF: the proposed versions are not supported.
const NO_VERSION: u8 = 0x84;
/// Reason of an RF: rejection by the provider.
const REJECTED_BY_PROVIDER: u8 = 0x85;
/// Transport disconnect: the transport connection is released.
const RELEASED: u8 = 1;
/// Transport disconnect: user abort.
const USER_ABORT: u8 = 2;
/// Transport disconnect: protocol error.
const PROTOCOL_ERROR: u8 = 4;

/// Session connection; the value may be used for several, one after the other.
#[derive(Clone, Debug)]
pub struct Connection {
    params: Params,
    state: State,
    /// True if this side opened the transport connection (p01 of the standard).
    is_caller: bool,
    /// Version agreed, or proposed.
    version: u8,
    /// Called SSAP selector of the CN received.
    called: Bytes,
    /// CN to be sent as soon as the transport connection is open.
    waiting: Option<Bytes>,
    /// FNs have crossed (Vcoll).
    in_collision: bool,
    /// The user has requested a release, after which it may not send data.
    has_released: bool,
    /// An FN has arrived, after which neither a second one nor a DT may follow.
    has_fn: bool,
    /// User data of the DN that waits for that of the peer.
    held: Option<Bytes>,
    /// True if the FN received keeps the transport connection.
    keeps: bool,
    timer: Timer,
    outputs: VecDeque<Output<Below, Primitive, Note>>,
}

/// Contents of the primitive or SPDU that an action concerns.
#[derive(Clone, Default)]
struct Subject {
    calling: Bytes,
    called: Bytes,
    data: Bytes,
    /// Reason of a refusal.
    reason: u8,
    /// Transport disconnect of an AB.
    disconnect: u8,
}

impl Connection {
    /// Creates a connection without a transport connection.
    #[must_use]
    pub const fn new(params: Params) -> Self {
        Self {
            params,
            state: State::Sta01,
            is_caller: false,
            version: params.versions,
            called: Bytes::new(),
            waiting: None,
            in_collision: false,
            has_released: false,
            has_fn: false,
            held: None,
            keeps: false,
            timer: Timer::new("TIM"),
            outputs: VecDeque::new(),
        }
    }

    /// State.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Version agreed, as its bit; the proposed ones before agreement.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.version
    }

    // ---- the table ------------------------------------------------------------------------------

    fn step(&mut self, now: Instant, event: Event, subject: Subject) -> bool {
        let Some((next, action)) = transition(self.state, event) else { return false };
        self.state = next;
        self.carry_out(action, now, subject);
        true
    }

    fn carry_out(&mut self, action: Action, now: Instant, subject: Subject) {
        match action {
            Action::ConnectTransport => {
                self.is_caller = true;
                self.waiting = Some(self.cn(&subject));
                self.send(Below::Connect);
            }
            Action::AwaitCn => self.start(now),
            Action::SendCn => {
                self.begin();
                let cn = self.waiting.take().unwrap_or_else(|| self.cn(&subject));
                self.send(Below::Data(cn));
            }
            Action::IndicateConnect => {
                self.begin();
                self.called = subject.called.clone();
                let Subject { calling, called, data, .. } = subject;
                self.deliver(Primitive::Connect { calling, called, data });
            }
            Action::SendAc => self.send_ac(&subject.data),
            Action::SendRf => {
                let by_user = if subject.data.is_empty() { 0 } else { REJECTED_WITH_DATA };
                self.send_rf(now, subject.reason.max(by_user), &subject.data);
            }
            Action::RefuseByProvider => self.send_rf(now, subject.reason, &[]),
            Action::ConfirmConnect => self.deliver(Primitive::Accept { data: subject.data }),
            Action::ConfirmRefusal | Action::ConfirmRefusalKeeping => {
                let Subject { reason, data, .. } = subject;
                self.deliver(Primitive::Refuse { reason, data });
                if action == Action::ConfirmRefusal {
                    self.disconnect();
                }
            }
            Action::SendDt => self.send_dt(&subject.data),
            Action::IndicateData => self.deliver(Primitive::Data { ssdu: subject.data }),
            Action::IndicateAbort | Action::IndicateAbortKeeping => {
                self.indicate_abort(subject);
                if action == Action::IndicateAbort { self.disconnect() } else { self.send_aa() }
            }
            Action::ProtocolError => {
                self.deliver(Primitive::ProviderAbort { reason: Reason::ProtocolError });
                self.send_ab(now, RELEASED | PROTOCOL_ERROR, &[]);
            }
            Action::SendAb => self.send_ab(now, RELEASED | USER_ABORT, &subject.data),
            Action::SendAbKeeping => self.send_ab(now, USER_ABORT, &subject.data),
            Action::IndicateLoss => {
                self.end();
                self.deliver(Primitive::ProviderAbort { reason: Reason::TransportLost });
            }
            Action::SendAa => self.send_aa(),
            Action::DisconnectTransport => self.disconnect(),
            Action::Reuse => self.timer.stop(),
            Action::End => self.end(),
            Action::SendFn
            | Action::IndicateRelease
            | Action::IndicateCollision
            | Action::SendDn
            | Action::SendDnKeeping
            | Action::SendDnFirst
            | Action::HoldDn
            | Action::ConfirmRelease
            | Action::ConfirmInCollision
            | Action::ConfirmAndSendDn => self.release(action, now, subject.data),
        }
    }

    /// Carries out the actions of the release.
    fn release(&mut self, action: Action, now: Instant, data: Bytes) {
        match action {
            // An absent transport disconnect releases the transport connection (8.3.6.2).
            Action::SendFn => {
                self.has_released = true;
                self.send_with(Kind::Fn, &data);
            }
            Action::IndicateRelease => {
                self.has_fn = true;
                self.deliver(Primitive::Release { data });
            }
            Action::IndicateCollision => {
                (self.in_collision, self.has_fn) = (true, true);
                self.deliver(Primitive::Release { data });
            }
            Action::SendDn => {
                self.send_with(Kind::Dn, &data);
                self.start(now);
            }
            Action::SendDnKeeping | Action::SendDnFirst => {
                self.in_collision = false;
                self.send_with(Kind::Dn, &data);
            }
            Action::HoldDn => self.held = Some(data),
            Action::ConfirmRelease => {
                self.deliver(Primitive::Released { data });
                self.disconnect();
            }
            Action::ConfirmInCollision => {
                self.in_collision = false;
                self.deliver(Primitive::Released { data });
            }
            Action::ConfirmAndSendDn => {
                self.deliver(Primitive::Released { data });
                let held = self.held.take().unwrap_or_default();
                self.send_with(Kind::Dn, &held);
                self.start(now);
            }
            _ => {}
        }
    }

    // ---- state ----------------------------------------------------------------------------------

    /// Begins a session connection.
    fn begin(&mut self) {
        self.timer.stop();
        (self.in_collision, self.keeps, self.held) = (false, false, None);
        (self.has_released, self.has_fn) = (false, false);
    }

    /// Ends the use of the transport connection.
    fn end(&mut self) {
        self.begin();
        (self.is_caller, self.waiting) = (false, None);
        self.version = self.params.versions;
    }

    fn disconnect(&mut self) {
        self.end();
        self.send(Below::Disconnect);
    }

    fn start(&mut self, now: Instant) {
        self.timer.start(now + self.params.patience);
    }

    // ---- out ------------------------------------------------------------------------------------

    fn send(&mut self, below: Below) {
        self.outputs.push_back(Output::Send(below));
    }

    fn deliver(&mut self, primitive: Primitive) {
        self.outputs.push_back(Output::Deliver(primitive));
    }

    fn send_pdu(&mut self, kind: Kind, parameters: Parameters<'_>) {
        self.send(Below::Data(encoded(&Pdu::new(kind, parameters))));
    }

    fn send_with(&mut self, kind: Kind, data: &[u8]) {
        self.send_pdu(kind, Parameters { user_data: some(data), ..Parameters::default() });
    }

    fn cn(&self, subject: &Subject) -> Bytes {
        let parameters = Parameters {
            options: Some(0),
            version: Some(self.params.versions),
            requirements: Some(DUPLEX),
            calling: some(&subject.calling),
            called: some(&subject.called),
            user_data: some(&subject.data),
            ..Parameters::default()
        };
        encoded(&Pdu::new(Kind::Cn, parameters))
    }

    fn send_ac(&mut self, data: &[u8]) {
        let called = mem::take(&mut self.called);
        self.send_pdu(
            Kind::Ac,
            Parameters {
                options: Some(0),
                version: Some(self.version),
                requirements: Some(DUPLEX),
                called: some(&called),
                user_data: some(data),
                ..Parameters::default()
            },
        );
    }

    fn send_rf(&mut self, now: Instant, reason: u8, data: &[u8]) {
        let (disconnect, reason) = (Some(RELEASED), Some(reason));
        let user_data = some(data);
        self.send_pdu(
            Kind::Rf,
            Parameters { disconnect, reason, user_data, ..Parameters::default() },
        );
        self.start(now);
    }

    fn send_dt(&mut self, data: &[u8]) {
        let mut tsdu = BytesMut::with_capacity(spdu::DATA.len() + data.len());
        tsdu.extend_from_slice(&spdu::DATA);
        tsdu.extend_from_slice(data);
        self.send(Below::Data(tsdu.freeze()));
    }

    fn send_ab(&mut self, now: Instant, disconnect: u8, data: &[u8]) {
        let (disconnect, user_data) = (Some(disconnect), some(data));
        self.send_pdu(Kind::Ab, Parameters { disconnect, user_data, ..Parameters::default() });
        self.start(now);
    }

    fn send_aa(&mut self) {
        self.timer.stop();
        self.send_pdu(Kind::Aa, Parameters::default());
    }

    fn indicate_abort(&mut self, subject: Subject) {
        self.timer.stop();
        self.deliver(if subject.disconnect & USER_ABORT == 0 {
            Primitive::ProviderAbort { reason: Reason::ByPeer }
        } else {
            Primitive::Abort { data: subject.data }
        });
    }

    // ---- in -------------------------------------------------------------------------------------

    fn receive_tsdu(&mut self, now: Instant, tsdu: &Bytes) {
        let pdu = match Pdu::decode(tsdu) {
            Ok(pdu) => pdu,
            Err(malformed) => {
                self.outputs.push_back(Output::Note(Note::Malformed(malformed)));
                self.step(now, Event::Invalid, Subject::default());
                return;
            }
        };
        let event = self.event_of(&pdu);
        let octets =
            |octets: Option<&[u8]>| octets.map_or_else(Bytes::new, |it| tsdu.slice_ref(it));
        let subject = Subject {
            calling: octets(pdu.parameters.calling),
            called: octets(pdu.parameters.called),
            data: octets(Some(pdu.ssdu()).filter(|data| !data.is_empty())),
            reason: match event {
                Event::CnUnacceptable => refusal(&pdu.parameters, self.params.versions),
                _ => pdu.parameters.reason.unwrap_or_default(),
            },
            // Some peers set "no reason" along with "user abort".
            disconnect: pdu.parameters.disconnect.unwrap_or(RELEASED),
        };
        match event {
            Event::CnReceived | Event::AcReceived if self.is_awaited(event) => {
                self.version = agreed(pdu.parameters.version, self.params.versions);
            }
            Event::FnReceived => self.keeps = keeps(&pdu.parameters),
            _ => {}
        }
        let is_error =
            transition(self.state, event).is_none_or(|(_, action)| action == Action::ProtocolError);
        if is_error {
            self.outputs.push_back(Output::Note(Note::OutOfPlace(pdu.kind)));
        }
        self.step(now, event, subject);
    }

    fn is_awaited(&self, event: Event) -> bool {
        matches!(
            (self.state, event),
            (State::Sta01C, Event::CnReceived) | (State::Sta02A, Event::AcReceived)
        )
    }

    fn event_of(&self, pdu: &Pdu<'_>) -> Event {
        let parameters = &pdu.parameters;
        match pdu.kind {
            Kind::Cn if self.is_caller => Event::Invalid,
            Kind::Cn if refusal(parameters, self.params.versions) != 0 => Event::CnUnacceptable,
            Kind::Cn => Event::CnReceived,
            Kind::Ac if refusal(parameters, self.params.versions) != 0 => Event::Invalid,
            Kind::Ac => Event::AcReceived,
            Kind::Rf if keeps(parameters) => Event::RfReceivedKeeping,
            Kind::Rf => Event::RfReceived,
            Kind::Fn if self.has_fn => Event::Invalid,
            Kind::Fn => Event::FnReceived,
            Kind::Dn if self.held.is_some() => Event::DnAfterResponse,
            Kind::Dn if self.in_collision => Event::DnInCollision,
            Kind::Dn => Event::DnReceived,
            Kind::Ab if keeps(parameters) => Event::AbReceivedKeeping,
            Kind::Ab => Event::AbReceived,
            Kind::Aa => Event::AaReceived,
            Kind::Dt if self.has_fn => Event::Invalid,
            Kind::Dt => Event::DtReceived,
            Kind::Gt | Kind::Pt | Kind::Short(_) | Kind::Other(_) => Event::Invalid,
        }
    }

    fn event_of_release(&self) -> Event {
        match (self.in_collision, self.is_caller, self.keeps) {
            (true, true, _) => Event::ReleaseAcceptedByCaller,
            (true, false, _) => Event::ReleaseAcceptedByCalled,
            (false, _, true) => Event::ReleaseAcceptedKeeping,
            (false, _, false) => Event::ReleaseAccepted,
        }
    }

    /// Longest user data of a request. Data transfer has no limit.
    const fn longest(&self, event: Event) -> usize {
        match event {
            Event::DataRequested => usize::MAX,
            Event::ConnectRequested => self.params.longest(),
            _ if self.version & VERSION_2 == 0 => LONGEST_IN_VERSION_1,
            // 65,535 less the other parameters; the peer may have less.
            _ => 65_000,
        }
    }
}

/// Reason to refuse the parameters of a CN or AC; 0 for none.
fn refusal(parameters: &Parameters<'_>, versions: u8) -> u8 {
    let is_version = parameters.version.unwrap_or(VERSION_1) & versions != 0;
    // An absent parameter stands for half-duplex and more, without duplex (8.3.1.17).
    let is_duplex = parameters.requirements.unwrap_or_default() & DUPLEX != 0;
    match (is_version, is_duplex) {
        (false, _) => NO_VERSION,
        (true, false) => REJECTED_BY_PROVIDER,
        (true, true) => 0,
    }
}

/// Highest version in common.
fn agreed(proposed: Option<u8>, own: u8) -> u8 {
    let common = proposed.unwrap_or(VERSION_1) & own;
    if common & VERSION_2 == 0 { VERSION_1 } else { VERSION_2 }
}

/// Returns true if an SPDU keeps the transport connection.
fn keeps(parameters: &Parameters<'_>) -> bool {
    parameters.disconnect.is_some_and(|it| it & RELEASED == 0)
}

fn some(octets: &[u8]) -> Option<&[u8]> {
    Some(octets).filter(|octets| !octets.is_empty())
}

fn encoded(pdu: &Pdu<'_>) -> Bytes {
    let mut out = Writer::new();
    pdu.encode(&mut out);
    Bytes::copy_from_slice(out.octets())
}

impl Machine for Connection {
    type Request = Primitive;
    type Indication = Primitive;
    type Pdu = Below;
    type Note = Note;

    fn request(&mut self, now: Instant, request: Primitive) {
        let plain = |data| Subject { data, ..Subject::default() };
        let (event, subject) = match request {
            Primitive::Connect { calling, called, data } => {
                (Event::ConnectRequested, Subject { calling, called, ..plain(data) })
            }
            Primitive::Accept { data } => (Event::Accepted, plain(data)),
            Primitive::Refuse { reason, data } => {
                (Event::Refused, Subject { reason, ..plain(data) })
            }
            Primitive::Data { ssdu } => (Event::DataRequested, plain(ssdu)),
            Primitive::Release { data } => (Event::ReleaseRequested, plain(data)),
            Primitive::Released { data } => (self.event_of_release(), plain(data)),
            Primitive::Abort { data } if self.params.keeps_transport => {
                (Event::AbortRequestedKeeping, plain(data))
            }
            Primitive::Abort { data } => (Event::AbortRequested, plain(data)),
            Primitive::ProviderAbort { .. } => {
                return self.outputs.push_back(Output::Note(Note::Refused));
            }
        };
        // Only the side that opened the transport connection may reuse it (7.3.1).
        let is_misplaced =
            event == Event::ConnectRequested && self.state == State::Sta01C && !self.is_caller
                || event == Event::ReleaseAcceptedByCalled && self.held.is_some()
                || event == Event::DataRequested && self.has_released;
        if subject.data.len() > self.longest(event) {
            return self.deliver(Primitive::ProviderAbort { reason: Reason::TooLong });
        }
        if is_misplaced || !self.step(now, event, subject) {
            self.outputs.push_back(Output::Note(Note::Refused));
        }
    }

    fn receive(&mut self, now: Instant, below: Below) {
        match below {
            Below::Connect => {
                self.step(now, Event::TransportConnected, Subject::default());
            }
            Below::Data(tsdu) => self.receive_tsdu(now, &tsdu),
            Below::Disconnect => {
                self.step(now, Event::TransportDisconnected, Subject::default());
            }
        }
    }

    fn expire(&mut self, now: Instant) {
        if self.timer.ran_out(now) {
            self.step(now, Event::TimRanOut, Subject::default());
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.timer.deadline()
    }

    fn poll(&mut self) -> Option<Output<Below, Primitive, Note>> {
        self.outputs.pop_front()
    }
}
