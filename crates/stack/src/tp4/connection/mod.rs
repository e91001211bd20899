//! Connection of class 4: executes the state table, runs the timers, moves the windows.
//!
//! This file covers opening and closing; `data` covers DT and AK, `urgent` ED and EA, `timers` the
//! timers.

mod below;
mod data;
mod timers;
mod urgent;

pub(super) use data::Arrived;

use super::context::Context;
use super::expedited::Expedited;
use super::flow_control::Grants;
use super::invalid::{self, Allowed, Broken};
use super::negotiate::{Agreement, Ends, connect_tpdu};
use super::params::Params;
use super::policy::{Repeats, Retransmission, RoundTrip};
use super::service::Note;
use super::table::{Action, Event, State, transition};
use super::tpdu::{dc_packet, dr_packet, er_packet};
use super::transmit_handle::AwaitedTpdu;
use super::window::{ReceiveWindow, SendWindow};
use crate::machine::Timer;
use crate::messaging::Priority;
use crate::transport::service::{Address, Endpoint, Indication, Reason, disconnect_reason};
use bytes::Bytes;
use core::time::Duration;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::{
    Disconnect, DisconnectConfirm, Format, Kind, Parameter, Parameters, Pdu, Reference,
};

/// Number of TPDUs in violation of the protocol after which a connection is released.
const ERRORS_BORNE: u8 = 3;

/// Cause of an event, for the DR and for the indication to the user.
#[derive(Clone, Copy)]
enum Cause {
    /// The protocol itself.
    None,
    /// The user, with a reason code for the DR.
    Asked(u8),
    /// Reason that is indicated to the user.
    Told(Reason),
}

impl Cause {
    /// Reason code of the DR that follows.
    const fn code(self) -> u8 {
        match self {
            Self::Asked(code) => code,
            Self::Told(Reason::NegotiationFailed) => disconnect_reason::NEGOTIATION_FAILED,
            Self::Told(Reason::ProtocolError) => disconnect_reason::PROTOCOL_ERROR,
            Self::None | Self::Told(_) => disconnect_reason::NOT_SPECIFIED,
        }
    }
}

/// Connection, from the first CR until its reference may be reused.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) endpoint: Endpoint,
    pub(super) state: State,
    /// Receive buffers, free or in use, that it has from the memory of the entity.
    pub(super) buffers: u32,
    pub(super) peer: Address,
    pub(super) local: Reference,
    pub(super) remote: Reference,
    agreed: Agreement,
    /// CR, CC or DR that awaits an answer, and its number of transmissions.
    pub(super) kept: Option<(Kind, Bytes, u32)>,
    /// True while its last copy is in a queue of this station.
    pub(super) kept_below: bool,
    /// True after the last permitted transmission, while T1 runs for the last time.
    giving_up: bool,
    /// Acknowledge time stated by the peer (A_R).
    acknowledge_time: Duration,
    /// AKs sent; round trips; expedited data, if agreed.
    grants: Grants,
    trips: RoundTrip,
    pub(super) expedited: Option<Box<Expedited>>,
    /// Number of outstanding DTs that were sent before the last detected loss.
    recovering: usize,
    repeats: Repeats,
    /// TPDUs of the peer that violated the protocol.
    errors: u8,
    pub(super) send: SendWindow,
    receive: ReceiveWindow,
    /// DTs in sequence not covered by an AK yet.
    unacknowledged: u16,
    /// True once the current lack of credit was counted.
    blocked: bool,
    /// Number of waiting octets at or below which the user gets [`Indication::Ready`].
    user_waits: Option<usize>,
    heard: Instant,
    pub(super) t1: Timer,
    /// T1 of a repeated AK.
    t1_ak: Timer,
    w: Timer,
    a: Timer,
    l: Timer,
    m: Timer,
}

impl Connection {
    /// Priority of its frames.
    pub(super) const fn priority(&self) -> Priority {
        self.agreed.priority
    }

    pub(super) fn new(
        endpoint: Endpoint,
        peer: Address,
        local: Reference,
        agreed: Agreement,
    ) -> Self {
        Self {
            endpoint,
            state: State::Closed,
            buffers: 0,
            peer,
            local,
            remote: Reference(0),
            agreed,
            kept: None,
            kept_below: false,
            giving_up: false,
            acknowledge_time: Duration::ZERO,
            grants: Grants::new(0),
            trips: RoundTrip::default(),
            expedited: None,
            recovering: 0,
            repeats: Repeats::default(),
            errors: 0,
            send: SendWindow::new(128, 0),
            receive: ReceiveWindow::new(128, 0, 0),
            unacknowledged: 0,
            blocked: false,
            user_waits: None,
            heard: Instant::ZERO,
            t1: Timer::new("T1"),
            t1_ak: Timer::new("T1"),
            w: Timer::new("W"),
            a: Timer::new("A_L"),
            l: Timer::new("L"),
            m: Timer::new("M"),
        }
    }

    /// Format of its TPDUs.
    pub(super) const fn format(&self) -> Format {
        if self.agreed.extended { Format::Extended } else { Format::Normal }
    }

    /// Returns true if a TPDU for it must carry the checksum. Until a CC selects, the proposal
    /// applies.
    pub(super) fn requires_checksum(&self, pdu: &Pdu<'_>) -> bool {
        match pdu {
            // The lower classes have no checksum; a CC that is invalid anyway need not be
            // distinguished from a damaged one.
            Pdu::Cc(cc) if self.state == State::CrSent => match self.agreed.settle(cc) {
                Ok(agreed) => agreed.checksum,
                Err(reason) => reason != Reason::NegotiationFailed,
            },
            _ => self.agreed.checksum,
        }
    }

    /// Returns true if its TPDUs carry the checksum, according to the agreement so far.
    pub(super) const fn uses_checksum(&self) -> bool {
        self.agreed.checksum
    }

    pub(super) const fn queued_octets(&self) -> usize {
        self.send.queued_octets()
    }

    /// Credit in its CR or CC.
    const fn first_credit(&self) -> u32 {
        first_credit(self.buffers)
    }

    // ---- events -----------------------------------------------------------------------------------

    /// Looks up the event in the table and executes the action. An event without a row has no
    /// effect.
    fn step(&mut self, cx: &mut Context<'_>, event: Event, cause: Cause) {
        let Some((next, action)) = transition(self.state, event) else { return };
        self.state = next;
        match action {
            // The caller created the TPDU from its contents.
            Action::SendCr | Action::SendCc => self.send_kept(cx),
            Action::SendAgain => self.send_again(cx),
            Action::Confirm | Action::Acknowledge => self.send_ak(cx),
            Action::Establish => {
                self.settle(cx);
                cx.deliver(Indication::Established { endpoint: self.endpoint });
            }
            Action::Release => self.release(cx, cause.code()),
            Action::Abort => {
                self.release(cx, cause.code());
                self.tell(cx, cause);
            }
            Action::ConfirmRelease => {
                self.send_dc(cx);
                self.freeze(cx);
                self.tell(cx, cause);
            }
            Action::ConfirmAgain => self.send_dc(cx),
            Action::Fail => {
                self.freeze(cx);
                self.tell(cx, cause);
            }
            Action::Freeze => self.freeze(cx),
            Action::Refuse => {
                cx.counters.refusals += 1;
                // 6.6.3: the source reference of a refusal is zero, because none was assigned.
                self.send_dr(cx, Reference(0), cause.code());
            }
            Action::Reject => {
                self.send_dr(cx, self.local, disconnect_reason::MISMATCHED_REFERENCES);
            }
            Action::Indicate | Action::Exchange | Action::Forget => {}
        }
    }

    fn tell(&self, cx: &mut Context<'_>, cause: Cause) {
        if let Cause::Told(reason) = cause {
            cx.deliver(Indication::Disconnect { endpoint: self.endpoint, reason });
        }
    }

    /// Requests the connection for the user with the TPDU `cr`.
    pub(super) fn connect(&mut self, cx: &mut Context<'_>, cr: Bytes) {
        self.kept = Some((Kind::Cr, cr, 0));
        self.step(cx, Event::ConnectRequested, Cause::None);
    }

    /// Processes the CR for this connection.
    pub(super) fn indicate(&mut self, cx: &mut Context<'_>, cr: &wire::tp::Connect<'_>) {
        self.remote = cr.source_reference;
        self.acknowledge_time = acknowledge_time(cr.parameters);
        self.open_windows(cx, u32::from(cr.credit));
        self.step(cx, Event::CrReceived, Cause::None);
    }

    /// Processes a repetition of the CR.
    pub(super) fn cr_again(&mut self, cx: &mut Context<'_>) {
        self.heard = cx.now;
        self.step(cx, Event::CrReceived, Cause::None);
    }

    /// Accepts the connection for the user.
    pub(super) fn accept(&mut self, cx: &mut Context<'_>, data: &[u8]) {
        let ends = Ends {
            destination_reference: self.remote,
            source_reference: self.local,
            credit: self.first_credit() as u8,
            calling: &[],
            called: &[],
            acknowledge_ms: acknowledge_ms(cx.params),
            data,
        };
        // Encoding fails only if the user data is too long; it is then left out.
        let bare = || connect_tpdu(Kind::Cc, &Ends { data: &[], ..ends }, self.agreed);
        let cc = connect_tpdu(Kind::Cc, &ends, self.agreed).or_else(bare);
        if self.state == State::Indicated
            && let Some(cc) = cc
        {
            self.kept = Some((Kind::Cc, cc, 0));
            self.step(cx, Event::Accepted, Cause::None);
        }
    }

    /// Processes a received CC.
    pub(super) fn confirm(&mut self, cx: &mut Context<'_>, cc: &wire::tp::Connect<'_>) {
        self.heard = cx.now;
        if self.state != State::CrSent {
            if self.remote.0 == 0 {
                self.remote = cc.source_reference;
            }
            self.step(cx, Event::CcReceived, Cause::None);
            return;
        }
        self.remote = cc.source_reference;
        let agreed = match self.agreed.settle(cc) {
            Ok(agreed) => agreed,
            Err(reason) => {
                cx.counters.protocol_errors += u64::from(reason == Reason::ProtocolError);
                self.step(cx, Event::BadCcReceived, Cause::Told(reason));
                return;
            }
        };
        self.acknowledge_time = acknowledge_time(cc.parameters);
        self.agreed = agreed;
        self.settle(cx);
        self.open_windows(cx, u32::from(cc.credit));
        self.step(cx, Event::CcReceived, Cause::None);
        let data = Bytes::copy_from_slice(cc.data);
        cx.deliver(Indication::Confirm { endpoint: self.endpoint, data });
        self.transmit(cx);
    }

    /// Processes a received DR, DC or ER.
    pub(super) fn ended(&mut self, cx: &mut Context<'_>, event: Event, reason: Reason) {
        self.heard = cx.now;
        self.step(cx, event, Cause::Told(reason));
    }

    /// Releases the connection for the user.
    pub(super) fn disconnect(&mut self, cx: &mut Context<'_>, reason: u8) {
        self.step(cx, Event::DisconnectRequested, Cause::Asked(reason));
    }

    /// Returns true if a CC belongs to this connection, not to another that the peer confuses with
    /// it (6.9.4.2 e).
    pub(super) fn expects_cc(&self, cc: &wire::tp::Connect<'_>) -> bool {
        let source = cc.source_reference;
        let unpaired = self.state == State::CrSent || self.remote.0 == 0;
        source.0 != 0 && (unpaired || source == self.remote)
    }

    /// Returns true if a DR belongs to this connection (6.9.4.2 d); before the answer to the CR any
    /// DR does.
    pub(super) fn expects_dr(&self, dr: &Disconnect<'_>) -> bool {
        self.remote.0 == 0 || dr.source_reference == self.remote
    }

    /// Returns true if a DC belongs to this connection (6.9.4.2 c).
    pub(super) fn expects_dc(&self, dc: &DisconnectConfirm<'_>) -> bool {
        self.remote.0 == 0 || dc.source_reference == self.remote
    }

    /// Protocol violation of a TPDU with a correct checksum; `None` if there is none.
    pub(super) fn complaint(&self, pdu: &Pdu<'_>, tail_octets: usize) -> Option<Broken> {
        invalid::complaint(pdu, tail_octets, self.allowed())
    }

    /// Limits for TPDUs of this connection.
    pub(super) const fn allowed(&self) -> Allowed {
        Allowed { expedited: self.agreed.expedited, tpdu_octets: self.agreed.tpdu_octets }
    }

    /// Handles a protocol violation of the peer: answers with an ER, and releases the connection
    /// after repeated violations.
    ///
    /// 6.22.3 leaves the choice between ignoring, ER and release, and warns of endless errors.
    pub(super) fn broken(&mut self, cx: &mut Context<'_>, broken: Broken, rejected: &[u8]) {
        cx.counters.protocol_errors += 1;
        if self.state == State::CrSent
            && let [_, 0xD0..=0xDF, _, _, high, low, ..] = rejected
        {
            self.remote = Reference(u16::from_be_bytes([*high, *low]));
            return self.step(cx, Event::BadCcReceived, Cause::Told(Reason::ProtocolError));
        }
        if !matches!(self.state, State::CcSent | State::Open) {
            return;
        }
        self.heard = cx.now;
        self.errors = self.errors.saturating_add(1);
        if self.errors >= ERRORS_BORNE {
            self.step(cx, Event::ProtocolErrors, Cause::Told(Reason::ProtocolError));
            return;
        }
        let upto = rejected.get(..=broken.offset).unwrap_or(rejected);
        let packet = er_packet(self.remote, self.agreed.checksum, broken.cause, upto);
        cx.send(self.peer, Kind::Er, packet);
    }

    // ---- actions ----------------------------------------------------------------------------------

    fn open_windows(&mut self, cx: &Context<'_>, credit: u32) {
        let (modulus, granted) = (self.format().modulus(), self.first_credit());
        self.send.open(modulus, credit, cx.params.retained_octets);
        self.receive = ReceiveWindow::new(modulus, self.buffers, granted);
        self.grants = Grants::new(granted);
        if self.retransmission(cx.params) == Retransmission::Missing {
            self.send.mark_arrivals();
        }
        if self.agreed.expedited && self.expedited.is_none() {
            self.expedited = Some(Box::new(Expedited::new(modulus)));
        }
    }

    /// Completes the handshake: no TPDU is kept any more, and AKs are sent.
    fn settle(&mut self, cx: &mut Context<'_>) {
        cx.counters.opened += 1;
        (self.kept, self.kept_below) = (None, false);
        self.giving_up = false;
        self.t1.stop();
        self.heard = cx.now;
        self.w.start(cx.now + cx.params.window_time);
    }

    fn send_kept(&mut self, cx: &mut Context<'_>) {
        self.heard = cx.now;
        if let Some((kind, octets, sent)) = &mut self.kept {
            *sent += 1;
            cx.send(self.peer, *kind, Packet::new(octets.clone()));
            cx.wait_for_last(self.endpoint, AwaitedTpdu::Kept(*kind));
            self.start_t1(cx);
        }
    }

    /// Retransmits the kept TPDU, or the unacknowledged DTs.
    fn send_again(&mut self, cx: &mut Context<'_>) {
        let endpoint = self.endpoint;
        let Some((kind, octets, sent)) = &mut self.kept else { return self.send_dts_again(cx) };
        // A copy that is still queued makes another superfluous.
        if self.kept_below {
            return;
        }
        *sent += 1;
        let (kind, packet) = (*kind, Packet::new(octets.clone()));
        cx.note(Note::SentAgain { endpoint, kind });
        cx.send(self.peer, kind, packet);
        cx.wait_for_last(endpoint, AwaitedTpdu::Kept(kind));
        self.start_t1(cx);
    }

    fn send_dr(&self, cx: &mut Context<'_>, source: Reference, reason: u8) {
        let packet = dr_packet(self.remote, source, reason, self.agreed.checksum);
        cx.send(self.peer, Kind::Dr, packet);
    }

    fn send_dc(&self, cx: &mut Context<'_>) {
        // 6.6.3: a refusal comes without a reference and needs no confirmation.
        if self.remote.0 == 0 {
            return;
        }
        cx.send(self.peer, Kind::Dc, dc_packet(self.remote, self.local, self.agreed.checksum));
    }

    /// Sends the DR that releases the connection, and keeps it until it is confirmed.
    fn release(&mut self, cx: &mut Context<'_>, reason: u8) {
        self.stop();
        let packet = dr_packet(self.remote, self.local, reason, self.agreed.checksum);
        self.kept = Some((Kind::Dr, packet.to_bytes(), 0));
        self.send_kept(cx);
    }

    fn freeze(&mut self, cx: &Context<'_>) {
        self.stop();
        self.l.start(cx.now + cx.params.reference_time);
    }

    /// Drops all data and stops all timers.
    fn stop(&mut self) {
        (self.kept, self.kept_below) = (None, false);
        self.giving_up = false;
        self.send = SendWindow::new(128, 0);
        self.receive = ReceiveWindow::new(128, 0, 0);
        self.expedited = None;
        for timer in [&mut self.t1, &mut self.t1_ak, &mut self.w, &mut self.a, &mut self.m] {
            timer.stop();
        }
    }
}

pub(super) fn acknowledge_ms(params: &Params) -> u16 {
    u16::try_from(params.acknowledgement_delay.as_millis()).unwrap_or(u16::MAX)
}

/// Credit in a CR or CC, limited by its four bits in either format.
pub(super) const fn first_credit(buffers: u32) -> u32 {
    if buffers < 15 { buffers } else { 15 }
}

/// A_R in the parameters of a CR or CC.
fn acknowledge_time(parameters: Parameters<'_>) -> Duration {
    let times = parameters.iter().filter_map(|parameter| match parameter {
        Parameter::AcknowledgeTime(ms) => Some(Duration::from_millis(u64::from(ms))),
        _ => None,
    });
    times.last().unwrap_or(Duration::ZERO)
}
