//! One connection: acts out the table, keeps the timers, moves the windows.

use super::context::Context;
use super::negotiate::{Agreement, Ends, connect_tpdu};
use super::params::{Credit, Params};
use super::service::{Address, Endpoint, Indication, Note, Reason, disconnect_reason};
use super::table::{Action, Event, State, transition};
use super::tpdu::{ak_packet, dc_packet, dr_packet, dt_packet};
use super::window::{Acknowledged, Arrival, ReceiveWindow, SendWindow};
use crate::machine::{Deadline, Output, Timer};
use bytes::Bytes;
use core::time::Duration;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::{Acknowledgement, Format, Kind, Parameter, Pdu, Reference};

/// What lies behind an event, for those who are told of it.
#[derive(Clone, Copy)]
enum Cause {
    /// The protocol itself.
    None,
    /// The user, with a reason code for the DR.
    Asked(u8),
    /// Something the user is told.
    Told(Reason),
}

impl Cause {
    /// The reason code of the DR that follows.
    const fn code(self) -> u8 {
        match self {
            Self::Asked(code) => code,
            Self::Told(Reason::NegotiationFailed) => disconnect_reason::NEGOTIATION_FAILED,
            Self::Told(Reason::ProtocolError) => disconnect_reason::PROTOCOL_ERROR,
            Self::None | Self::Told(_) => disconnect_reason::NOT_SPECIFIED,
        }
    }
}

/// A connection, from the first CR until its reference may be used again.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) endpoint: Endpoint,
    pub(super) state: State,
    pub(super) peer: Address,
    pub(super) local: Reference,
    pub(super) remote: Reference,
    agreed: Agreement,
    /// The CR, CC or DR that awaits an answer, and how often it was sent.
    kept: Option<(Kind, Bytes, u32)>,
    /// Whether the last transmission allowed has been made and T1 runs for the last time.
    giving_up: bool,
    send: SendWindow,
    receive: ReceiveWindow,
    /// DTs in sequence that no AK has covered yet.
    unacknowledged: u16,
    /// Whether the lack of credit has been counted already.
    blocked: bool,
    /// Whether the user was turned away and waits to hear that there is room.
    user_waits: bool,
    heard: Instant,
    t1: Timer,
    w: Timer,
    a: Timer,
    l: Timer,
    m: Timer,
}

impl Connection {
    pub(super) fn new(
        endpoint: Endpoint,
        peer: Address,
        local: Reference,
        agreed: Agreement,
    ) -> Self {
        Self {
            endpoint,
            state: State::Closed,
            peer,
            local,
            remote: Reference(0),
            agreed,
            kept: None,
            giving_up: false,
            send: SendWindow::new(128, 0),
            receive: ReceiveWindow::new(128, 0, 0),
            unacknowledged: 0,
            blocked: false,
            user_waits: false,
            heard: Instant::ZERO,
            t1: Timer::new("T1"),
            w: Timer::new("W"),
            a: Timer::new("A_L"),
            l: Timer::new("L"),
            m: Timer::new("M"),
        }
    }

    /// The format its TPDUs are in.
    pub(super) const fn format(&self) -> Format {
        if self.agreed.extended { Format::Extended } else { Format::Normal }
    }

    /// Whether a TPDU for it must carry the checksum. What was proposed counts until a CC settles it.
    pub(super) fn requires_checksum(&self, pdu: &Pdu<'_>) -> bool {
        match pdu {
            Pdu::Cc(cc) if self.state == State::CrSent => {
                self.agreed.settle(cc).is_none_or(|agreed| agreed.checksum)
            }
            _ => self.agreed.checksum,
        }
    }

    pub(super) const fn queued_octets(&self) -> usize {
        self.send.queued_octets()
    }

    // ---- events -----------------------------------------------------------------------------------

    /// Looks the event up in the table and acts. Where there is no row, nothing happens.
    fn step(&mut self, cx: &mut Context<'_>, event: Event, cause: Cause) {
        let Some((next, action)) = transition(self.state, event) else { return };
        self.state = next;
        match action {
            // Their TPDU was made by the caller, who has what goes into it.
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
                self.send_dr(cx, cause.code());
                self.freeze(cx);
            }
            Action::Reject => self.send_dr(cx, disconnect_reason::MISMATCHED_REFERENCES),
            Action::Indicate | Action::Exchange | Action::Forget => {}
        }
    }

    fn tell(&self, cx: &mut Context<'_>, cause: Cause) {
        if let Cause::Told(reason) = cause {
            cx.deliver(Indication::Disconnect { endpoint: self.endpoint, reason });
        }
    }

    /// The user asks for the connection; `cr` is what to send.
    pub(super) fn connect(&mut self, cx: &mut Context<'_>, cr: Bytes) {
        self.kept = Some((Kind::Cr, cr, 0));
        self.step(cx, Event::ConnectRequested, Cause::None);
    }

    /// A CR came in for it.
    pub(super) fn indicate(&mut self, cx: &mut Context<'_>, remote: Reference, credit: u8) {
        self.remote = remote;
        self.open_windows(cx, u32::from(credit));
        self.step(cx, Event::CrReceived, Cause::None);
    }

    /// The CR came in again.
    pub(super) fn cr_again(&mut self, cx: &mut Context<'_>) {
        self.heard = cx.now;
        self.step(cx, Event::CrReceived, Cause::None);
    }

    /// The user accepts.
    pub(super) fn accept(&mut self, cx: &mut Context<'_>, data: &[u8]) {
        let ends = Ends {
            destination_reference: self.remote,
            source_reference: self.local,
            credit: cx.params.window.min(15) as u8,
            calling: &[],
            called: &[],
            acknowledge_ms: acknowledge_ms(cx.params),
            data,
        };
        // Only user data that is too long can make it fail, and that is then left out.
        let bare = || connect_tpdu(Kind::Cc, &Ends { data: &[], ..ends }, self.agreed);
        let cc = connect_tpdu(Kind::Cc, &ends, self.agreed).or_else(bare);
        if self.state == State::Indicated
            && let Some(cc) = cc
        {
            self.kept = Some((Kind::Cc, cc, 0));
            self.step(cx, Event::Accepted, Cause::None);
        }
    }

    /// A CC came in.
    pub(super) fn confirm(&mut self, cx: &mut Context<'_>, cc: &wire::tp::Connect<'_>) {
        self.heard = cx.now;
        if self.state != State::CrSent {
            self.step(cx, Event::CcReceived, Cause::None);
            return;
        }
        self.remote = cc.source_reference;
        let Some(agreed) = self.agreed.settle(cc).filter(|_| cc.source_reference.0 != 0) else {
            self.step(cx, Event::BadCcReceived, Cause::Told(Reason::NegotiationFailed));
            return;
        };
        self.agreed = agreed;
        self.settle(cx);
        self.open_windows(cx, u32::from(cc.credit));
        self.step(cx, Event::CcReceived, Cause::None);
        let data = Bytes::copy_from_slice(cc.data);
        cx.deliver(Indication::Confirm { endpoint: self.endpoint, data });
        self.transmit(cx);
    }

    /// A DR, DC or ER came in.
    pub(super) fn ended(&mut self, cx: &mut Context<'_>, event: Event, reason: Reason) {
        self.heard = cx.now;
        if self.state == State::CrSent && event == Event::ErReceived {
            self.kept = None;
        }
        self.step(cx, event, Cause::Told(reason));
    }

    /// The user wants an end.
    pub(super) fn disconnect(&mut self, cx: &mut Context<'_>, reason: u8) {
        self.step(cx, Event::DisconnectRequested, Cause::Asked(reason));
    }

    // ---- data -------------------------------------------------------------------------------------

    /// The user hands over a TSDU.
    pub(super) fn data(&mut self, cx: &mut Context<'_>, tsdu: Bytes) {
        let room = cx.params.queue_octets.saturating_sub(self.send.queued_octets());
        let takes = matches!(self.state, State::CrSent | State::CcSent | State::Open);
        // One TSDU is taken whole however long it is: its octets are the user's, and shared.
        if !takes || (room < tsdu.len() && self.send.queued_octets() > 0) {
            self.user_waits = takes;
            cx.deliver(Indication::Full { endpoint: self.endpoint, tsdu });
            return;
        }
        self.send.queue(tsdu);
        self.transmit(cx);
    }

    /// The user gives buffers back.
    pub(super) fn give_back(&mut self, cx: &mut Context<'_>, buffers: u32) {
        self.receive.give_back(buffers, u32::from(cx.params.window));
        let worth_telling = self.receive.ungranted() >= u32::from(cx.params.window / 2).max(1);
        if self.state == State::Open && (self.receive.is_closed() || worth_telling) {
            self.send_ak(cx);
        }
    }

    /// A TPDU that belongs to an open connection came in, its checksum right.
    fn heard_data(&mut self, cx: &mut Context<'_>) -> bool {
        if self.state != State::Open {
            self.step(cx, Event::DataReceived, Cause::None);
        }
        self.heard = cx.now;
        self.state == State::Open
    }

    /// An ED or EA came in: expedited data was not agreed on, so it only shows that the peer is alive.
    pub(super) fn expedited(&mut self, cx: &mut Context<'_>) {
        self.heard_data(cx);
    }

    /// A DT came in.
    pub(super) fn dt(&mut self, cx: &mut Context<'_>, number: u32, end: bool, octets: Bytes) {
        if !self.heard_data(cx) {
            return;
        }
        let endpoint = self.endpoint;
        let arrival = if self.receive.passes(number) {
            self.receive.pass();
            cx.deliver(Indication::Data { endpoint, octets, end });
            self.delivered(cx, 1);
            Arrival::InSequence
        } else {
            self.receive.arrive(number, octets, end)
        };
        match arrival {
            Arrival::InSequence => {
                let mut count = 0;
                while let Some((octets, end)) = self.receive.pop() {
                    cx.deliver(Indication::Data { endpoint, octets, end });
                    count += 1;
                }
                self.delivered(cx, count);
                self.acknowledge(cx);
            }
            // An AK at once tells the sender what is missing before it waits for T1 of what is not.
            Arrival::OutOfOrder => {
                cx.counters.out_of_order += 1;
                self.send_ak(cx);
            }
            // 12.2.3.5: acknowledged again, since our AK may have been lost.
            Arrival::Duplicate => {
                cx.counters.duplicates += 1;
                self.send_ak(cx);
            }
            Arrival::OutsideWindow => {
                cx.counters.outside_window += 1;
                self.send_ak(cx);
            }
        }
    }

    fn delivered(&mut self, cx: &Context<'_>, count: u16) {
        self.unacknowledged = self.unacknowledged.saturating_add(count);
        if cx.params.credit == Credit::Automatic {
            self.receive.give_back(u32::from(count), u32::from(cx.params.window));
        }
    }

    /// Sends an AK now, or starts A_L.
    fn acknowledge(&mut self, cx: &mut Context<'_>) {
        let enough = self.unacknowledged >= cx.params.acknowledge_every;
        if enough || self.receive.is_closed() {
            self.send_ak(cx);
        } else if self.unacknowledged > 0 && !self.a.is_running() {
            self.a.start(cx.now + cx.params.acknowledgement_delay);
        }
    }

    /// An AK came in.
    pub(super) fn ak(&mut self, cx: &mut Context<'_>, ak: &Acknowledgement<'_>) {
        if !self.heard_data(cx) {
            return;
        }
        let subsequence = ak.parameters.iter().find_map(|parameter| match parameter {
            Parameter::Subsequence(number) => Some(number),
            _ => None,
        });
        let credit = u32::from(ak.credit);
        let Acknowledged::InSequence { newly, opened } =
            self.send.acknowledge(ak.next, subsequence.unwrap_or(0), credit)
        else {
            cx.counters.stale_acknowledgements += 1;
            return;
        };
        if newly > 0 {
            cx.counters.sequence_wraps += u64::from(self.send.wrapped(newly));
            self.giving_up = false;
        }
        // 12.2.1.2 note 1: restarted upon an acknowledgement, stopped upon the last or a closed window.
        if self.send.outstanding() == 0 {
            self.t1.stop();
        } else if credit == 0 {
            self.t1.stop();
            self.giving_up = false;
        } else if newly > 0 || (opened && !self.t1.is_running()) {
            self.start_t1(cx);
        }
        self.blocked &= !opened;
        self.transmit(cx);
        if newly > 0 && self.send.is_drained() {
            cx.deliver(Indication::Drained { endpoint: self.endpoint });
        }
    }

    /// Sends every new DT there is credit for.
    fn transmit(&mut self, cx: &mut Context<'_>) {
        if self.state != State::Open {
            return;
        }
        let octets = self.dt_octets(cx.params);
        let (header, checksum) = (self.header(), self.agreed.checksum);
        while self.may_number(cx)
            && let Some((number, retained)) = self.send.take_new(cx.now, octets)
        {
            let packet = dt_packet(header, checksum, number, retained);
            cx.send(self.peer, Kind::Dt, packet);
            if !self.t1.is_running() {
                self.start_t1(cx);
            }
        }
        if self.send.is_blocked() && !self.blocked {
            self.blocked = true;
            cx.counters.closed_window += 1;
        }
        if self.user_waits && self.send.queued_octets() <= cx.params.queue_octets / 2 {
            self.user_waits = false;
            cx.deliver(Indication::Ready { endpoint: self.endpoint });
        }
    }

    /// Whether the next number may be used; where it is too soon, M says when to look again.
    fn may_number(&mut self, cx: &mut Context<'_>) -> bool {
        let at = self.send.reusable_at(cx.params.nsdu_lifetime).filter(|at| *at > cx.now);
        let Some(at) = at.filter(|_| self.send.has_new()) else { return true };
        cx.counters.number_waits += u64::from(!self.m.is_running());
        self.m.start(at);
        false
    }

    /// User data of a DT: what both the agreed TPDU size and the network leave beside the header.
    fn dt_octets(&self, params: &Params) -> usize {
        let header = match self.format() {
            Format::Extended => 8,
            Format::Class0 | Format::Normal => 5,
        };
        let checksum = if self.agreed.checksum { 4 } else { 0 };
        self.agreed.tpdu_octets.min(params.nsdu_octets).saturating_sub(header + checksum)
    }

    const fn header(&self) -> (Format, Reference) {
        (self.format(), self.remote)
    }

    // ---- timers -----------------------------------------------------------------------------------

    /// The earliest of its timers.
    pub(super) fn deadline(&self, params: &Params) -> Option<Deadline> {
        let listens = matches!(self.state, State::CcSent | State::Open);
        let at = self.heard + params.inactivity_time;
        let inactivity = listens.then_some(Deadline { at, timer: "I" });
        [self.t1, self.a, self.w, self.l, self.m]
            .iter()
            .map(Timer::deadline)
            .fold(inactivity, Deadline::earlier)
    }

    /// Acts on every timer that has run out.
    pub(super) fn expire(&mut self, cx: &mut Context<'_>) {
        let silent = cx.now >= self.heard + cx.params.inactivity_time;
        if silent && matches!(self.state, State::CcSent | State::Open) {
            cx.counters.inactivity += 1;
            self.step(cx, Event::InactivityRanOut, Cause::Told(Reason::PeerSilent));
        }
        if self.t1.ran_out(cx.now) {
            self.t1_ran_out(cx);
        }
        if self.a.ran_out(cx.now) {
            self.send_ak(cx);
        }
        if self.w.ran_out(cx.now) && self.state == State::Open {
            cx.counters.window_timer += 1;
            self.send_ak(cx);
        }
        if self.m.ran_out(cx.now) {
            self.transmit(cx);
        }
        if self.l.ran_out(cx.now) {
            self.step(cx, Event::LRanOut, Cause::None);
        }
    }

    /// Starts T1, or, after the last transmission allowed, the last wait: T1 + W + M_RL for a DT and
    /// T1 + M_RL for the others (12.2.1.2 note 3).
    fn start_t1(&mut self, cx: &Context<'_>) {
        let kept = self.kept.as_ref().map(|(_, _, sent)| *sent);
        let sent = kept.or_else(|| self.send.oldest_transmissions()).unwrap_or(0);
        let mut wait = cx.params.retransmission_time;
        self.giving_up = sent >= cx.params.transmissions;
        if self.giving_up {
            wait += cx.params.nsdu_lifetime;
            wait += if kept.is_some() { Duration::ZERO } else { cx.params.window_time };
        }
        self.t1.start(cx.now + wait);
    }

    fn t1_ran_out(&mut self, cx: &mut Context<'_>) {
        if self.giving_up {
            cx.counters.gave_up += 1;
            let reason =
                if self.kept.is_some() { Reason::NoAnswer } else { Reason::NotAcknowledged };
            self.step(cx, Event::GaveUp, Cause::Told(reason));
        } else {
            cx.counters.t1 += 1;
            self.step(cx, Event::T1RanOut, Cause::None);
        }
    }

    // ---- what the actions do ----------------------------------------------------------------------

    fn open_windows(&mut self, cx: &Context<'_>, credit: u32) {
        let (modulus, window) = (self.format().modulus(), u32::from(cx.params.window));
        self.send.open(modulus, credit);
        self.receive = ReceiveWindow::new(modulus, window, window.min(15));
    }

    /// The handshake is over: nothing is kept any more, and AKs flow.
    fn settle(&mut self, cx: &mut Context<'_>) {
        cx.counters.opened += 1;
        self.kept = None;
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
            self.start_t1(cx);
        }
    }

    fn send_again(&mut self, cx: &mut Context<'_>) {
        let endpoint = self.endpoint;
        if let Some((kind, octets, sent)) = &mut self.kept {
            *sent += 1;
            let (kind, packet) = (*kind, Packet::new(octets.clone()));
            cx.outputs.push_back(Output::Note(Note::SentAgain { endpoint, kind }));
            cx.send(self.peer, kind, packet);
        } else {
            let places = match cx.params.retransmission {
                super::Retransmission::First => 1,
                super::Retransmission::All => self.send.outstanding(),
            };
            let (header, checksum) = (self.header(), self.agreed.checksum);
            for place in 0..places {
                let Some((number, retained)) = self.send.take_again(cx.now, place) else { break };
                let packet = dt_packet(header, checksum, number, retained);
                let kind = Kind::Dt;
                cx.counters.sent_again += 1;
                cx.outputs.push_back(Output::Note(Note::SentAgain { endpoint, kind }));
                cx.send(self.peer, kind, packet);
            }
        }
        self.start_t1(cx);
    }

    fn send_ak(&mut self, cx: &mut Context<'_>) {
        let max = if self.agreed.extended { 0xFFFF } else { 15 };
        let credit = self.receive.grant(max) as u16;
        let packet = ak_packet(self.header(), self.agreed.checksum, self.receive.next(), credit);
        cx.send(self.peer, Kind::Ak, packet);
        self.unacknowledged = 0;
        self.a.stop();
        self.w.start(cx.now + cx.params.window_time);
    }

    fn send_dr(&self, cx: &mut Context<'_>, reason: u8) {
        let packet = dr_packet(self.remote, self.local, reason, self.agreed.checksum);
        cx.send(self.peer, Kind::Dr, packet);
    }

    fn send_dc(&self, cx: &mut Context<'_>) {
        cx.send(self.peer, Kind::Dc, dc_packet(self.remote, self.local, self.agreed.checksum));
    }

    /// Sends the DR that ends it and keeps it until it is confirmed.
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

    /// Forgets all data and stops all timers.
    fn stop(&mut self) {
        self.kept = None;
        self.giving_up = false;
        self.send = SendWindow::new(128, 0);
        self.receive = ReceiveWindow::new(128, 0, 0);
        for timer in [&mut self.t1, &mut self.w, &mut self.a, &mut self.m] {
            timer.stop();
        }
    }
}

pub(super) fn acknowledge_ms(params: &Params) -> u16 {
    u16::try_from(params.acknowledgement_delay.as_millis()).unwrap_or(u16::MAX)
}
