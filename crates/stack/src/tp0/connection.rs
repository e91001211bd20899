//! Transport connection on a network connection: executes the table.

use super::credit::{Credit, Grant};
use super::negotiate::{Agreement, Ends, connect_tpdu};
use super::service::{Note, Params};
use super::table::{Action, Class, Event, State, transition};
use crate::machine::{Deadline, Machine, Output, Timer};
use crate::network::{Network, NetworkConnectionId};
use crate::transport::service::{
    Address, Counters, Endpoint, Indication, Reason, Request, disconnect_reason,
};
use bytes::{Bytes, BytesMut};
use core::mem;
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::{
    Acknowledgement, Connect, Data, Disconnect, DisconnectConfirm, Format, Kind, Parameter,
    ParameterBuffer, Parameters, Pdu, Reference, Rejected, tpdus,
};

/// Octets of a rejected TPDU that are returned in an ER.
const REJECTED_OCTETS: usize = 64;

/// Connection of class 0 or 2; each value is used for at most one connection.
#[derive(Clone, Debug)]
pub struct Connection {
    params: Params,
    line: NetworkConnectionId,
    state: State,
    agreed: Agreement,
    /// True if the peer opened the network connection.
    is_called: bool,
    reference: Reference,
    peer: Reference,
    /// Called and calling TSAP-ID.
    tsaps: (Bytes, Bytes),
    /// Initial credit in the peer's CR or CC.
    credit_by_peer: u8,
    credit: Option<Credit>,
    queue: VecDeque<Bytes>,
    queued_octets: usize,
    /// Octets passed to the network that it has not accepted yet.
    ahead_octets: usize,
    /// Length of the TSDU that waits for room, in octets.
    waiting_octets: Option<usize>,
    /// True if TSDUs were accepted since the last Drained.
    owes_drained: bool,
    /// Reason for a DR to be sent, or for the indication to the user.
    reason: u8,
    rejected: Bytes,
    timer: Timer,
    outputs: VecDeque<Output<Network, Indication, Note>>,
    pub(super) counters: Counters,
}

impl Connection {
    /// Creates a connection, not opened yet, for this network connection.
    pub(super) fn new(params: Params, line: NetworkConnectionId) -> Self {
        Self {
            agreed: Agreement::proposed(&params),
            params,
            line,
            state: State::Idle,
            is_called: false,
            // A network connection carries one connection, so any reference except zero is unique.
            reference: Reference((line.0 % 0xFFFF) as u16 + 1),
            peer: Reference(0),
            tsaps: (Bytes::new(), Bytes::new()),
            credit_by_peer: 0,
            credit: None,
            queue: VecDeque::new(),
            queued_octets: 0,
            ahead_octets: 0,
            waiting_octets: None,
            owes_drained: false,
            reason: disconnect_reason::NOT_SPECIFIED,
            rejected: Bytes::new(),
            timer: Timer::new("TS"),
            outputs: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Endpoint of the user.
    fn endpoint(&self) -> Endpoint {
        self.line.into()
    }

    /// State of the connection.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Agreed class, or the preferred class before agreement.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.agreed.class
    }

    /// Agreed maximum TPDU size, or the proposed size before agreement.
    #[must_use]
    pub const fn tpdu_octets(&self) -> usize {
        self.agreed.tpdu_octets
    }

    /// Octets of TSDUs accepted now. A longer TSDU is accepted only if the queue is empty.
    #[must_use]
    pub const fn room(&self) -> usize {
        self.params.queue_octets.saturating_sub(self.queued_octets)
    }

    /// Returns true if nothing waits to be sent.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns true if a TSDU of this length fits the queue of an open connection, or the queue is
    /// empty. If not, [`Indication::Ready`] follows.
    pub(super) fn has_room(&mut self, octets: usize) -> bool {
        let has_room = self.state == State::Open && (self.is_idle() || octets <= self.room());
        if !has_room {
            self.waiting_octets = Some(octets);
        }
        has_room
    }

    /// Returns true if a peer opened it and no user has accepted it.
    pub(super) fn has_no_user(&self) -> bool {
        self.is_called && self.credit.is_none()
    }

    // ---- the table ------------------------------------------------------------------------------

    fn step(&mut self, now: Instant, event: Event) {
        let Some((next, action)) = transition(self.agreed.class, self.state, event) else { return };
        self.state = next;
        match action {
            Action::OpenNetwork => {
                self.start(now);
                self.outputs.push_back(Output::Send(Network::Connect));
            }
            Action::AwaitCr => {
                self.is_called = true;
                self.start(now);
            }
            Action::SendCr => self.send_connect(Kind::Cr),
            Action::SendCc => {
                self.send_connect(Kind::Cc);
                self.open();
            }
            // The contents of CR and CC are indicated where these are decoded.
            Action::Indicate | Action::Confirm => self.timer.stop(),
            Action::Deliver | Action::TakeCredit | Action::Forget => {}
            Action::Refuse | Action::Release => {
                self.start(now);
                self.clear();
                self.send_dr(action);
            }
            Action::ConfirmRelease => {
                self.start(now);
                self.clear();
                self.send_dc();
                self.tell(Reason::ByPeer(self.reason));
            }
            Action::CloseNetwork => self.close(),
            Action::Abandon => {
                self.tell(self.why(event));
                self.close();
            }
            Action::Reject => {
                self.send_er();
                self.tell(Reason::InvalidTpdu);
                self.close();
            }
            Action::Report => self.tell(self.why(event)),
        }
        if self.state == State::Closed {
            self.timer.stop();
            self.clear();
        }
    }

    /// Reason for the end of the connection after an event.
    const fn why(&self, event: Event) -> Reason {
        match event {
            Event::DrReceived => Reason::ByPeer(self.reason),
            Event::ErReceived => Reason::ErReceived,
            Event::UnfitCcReceived => Reason::NegotiationFailed,
            Event::TimerRanOut => Reason::NoAnswer,
            // `credit` is set at the opening in every class: see `open`.
            Event::NetworkClosed if self.peer_said_goodbye() => Reason::Released,
            Event::NetworkClosed => Reason::NetworkLost,
            _ => Reason::InvalidTpdu,
        }
    }

    /// Returns true if the release of the network connection is the regular release of this
    /// connection.
    const fn peer_said_goodbye(&self) -> bool {
        matches!(self.agreed.class, Class::Class0) && self.credit.is_some()
    }

    fn start(&mut self, now: Instant) {
        self.timer.start(now + self.params.patience);
    }

    fn tell(&mut self, reason: Reason) {
        let endpoint = self.endpoint();
        self.outputs.push_back(Output::Deliver(Indication::Disconnect { endpoint, reason }));
    }

    fn close(&mut self) {
        self.outputs.push_back(Output::Send(Network::Disconnect));
    }

    fn clear(&mut self) {
        self.queue.clear();
        self.queued_octets = 0;
        (self.waiting_octets, self.owes_drained) = (None, false);
    }

    fn open(&mut self) {
        self.timer.stop();
        self.credit = Some(Credit::new(self.credit_by_peer, self.granted()));
    }

    // ---- sending --------------------------------------------------------------------------------

    /// Initial credit granted by this side: zero except in class 2 with explicit flow control.
    fn granted(&self) -> u8 {
        match self.agreed.class {
            Class::Class2 { flow_control: true } => self.params.credit.clamp(1, 15),
            Class::Class0 | Class::Class2 { flow_control: false } => 0,
        }
    }

    fn send(&mut self, kind: Kind, packet: Packet) {
        self.counters.sent[kind as usize] += 1;
        self.ahead_octets += packet.len();
        self.outputs.push_back(Output::Send(Network::Data(packet)));
    }

    fn send_pdu(&mut self, pdu: &Pdu<'_>) {
        let mut octets = BytesMut::with_capacity(pdu.header_octets());
        pdu.encode(&mut octets);
        self.send(pdu.kind(), Packet::new(octets.freeze()));
    }

    fn send_connect(&mut self, kind: Kind) {
        let (called, calling) = self.tsaps.clone();
        let ends = Ends {
            destination_reference: self.peer,
            source_reference: self.reference,
            credit: self.granted(),
            calling: &calling,
            called: &called,
        };
        let packet = connect_tpdu(kind, &ends, self.agreed);
        self.send(kind, packet.expect("the lengths of the TSAP-IDs were checked"));
    }

    fn send_dr(&mut self, action: Action) {
        let parameters = Parameters::none(Kind::Dr);
        // 6.6.2: a refusal has source reference zero, because the refusing side never assigned one.
        let is_refusal = action == Action::Refuse;
        let source_reference = if is_refusal { Reference(0) } else { self.reference };
        let (destination_reference, reason) = (self.peer, self.reason);
        let pdu =
            Disconnect { destination_reference, source_reference, reason, parameters, data: &[] };
        self.send_pdu(&Pdu::Dr(pdu));
    }

    fn send_dc(&mut self) {
        self.send_pdu(&Pdu::Dc(DisconnectConfirm {
            destination_reference: self.peer,
            source_reference: self.reference,
            parameters: Parameters::none(Kind::Dc),
        }));
    }

    fn send_er(&mut self) {
        let rejected = mem::take(&mut self.rejected);
        let mut buffer = ParameterBuffer::new();
        let carried = buffer.push(&Parameter::InvalidTpdu(&rejected));
        debug_assert!(carried.is_some(), "64 octets fit an ER");
        self.send_pdu(&Pdu::Er(Rejected {
            destination_reference: self.peer,
            cause: 0,
            parameters: buffer.parameters(Kind::Er),
        }));
    }

    const fn format(&self) -> Format {
        match self.agreed.class {
            Class::Class0 => Format::Class0,
            Class::Class2 { .. } => Format::Normal,
        }
    }

    const fn has_credit(&self) -> bool {
        matches!(self.agreed.class, Class::Class2 { flow_control: true })
    }

    /// Segments TSDUs into DTs, as long as the network accepts them and the peer's credit lasts.
    fn pump(&mut self) {
        let header = if self.format() == Format::Class0 { 3 } else { 5 };
        let most = self.agreed.tpdu_octets - header;
        while self.state == State::Open && self.ahead_octets < self.params.network_octets {
            let has_credit = self.has_credit();
            let (Some(front), Some(credit)) = (self.queue.front_mut(), &mut self.credit) else {
                break;
            };
            if has_credit && !credit.is_open() {
                self.counters.closed_window += 1;
                break;
            }
            let number = if has_credit { credit.send() } else { 0 };
            let piece = front.split_to(front.len().min(most));
            let end_of_tsdu = front.is_empty();
            self.queued_octets -= piece.len();
            if end_of_tsdu {
                self.queue.pop_front();
            }
            let packet = self.dt(number, end_of_tsdu, piece);
            self.send(Kind::Dt, packet);
        }
        let endpoint = self.endpoint();
        let is_ready = |octets| self.is_idle() || octets <= self.room();
        if self.waiting_octets.is_some_and(is_ready) {
            self.waiting_octets = None;
            self.outputs.push_back(Output::Deliver(Indication::Ready { endpoint }));
        }
        if self.owes_drained && self.queue.is_empty() && self.ahead_octets == 0 {
            self.owes_drained = false;
            self.outputs.push_back(Output::Deliver(Indication::Drained { endpoint }));
        }
    }

    /// Creates a DT in front of its user data, which is shared and not copied.
    fn dt(&self, number: u32, end_of_tsdu: bool, piece: Bytes) -> Packet {
        let format = self.format();
        let is_nameless = format == Format::Class0;
        let pdu = Pdu::Dt(Data {
            format,
            destination_reference: if is_nameless { Reference(0) } else { self.peer },
            number,
            end_of_tsdu,
            acknowledgement_requested: false,
            parameters: Parameters::none(Kind::Dt),
            data: &[],
        });
        let mut room = [0; 5];
        pdu.encode_header(&mut &mut room[..]);
        let (header, _) = room.split_at(pdu.header_octets());
        let mut packet = Packet::new(piece);
        packet.prepend(header);
        packet
    }

    fn grant(&mut self) {
        let grant = self.credit.as_mut().and_then(Credit::grant);
        if let Some(Grant { next, credit }) = grant {
            self.send_pdu(&Pdu::Ak(Acknowledgement {
                format: Format::Normal,
                destination_reference: self.peer,
                next,
                credit,
                parameters: Parameters::none(Kind::Ak),
            }));
        }
    }

    // ---- receiving ------------------------------------------------------------------------------

    /// Processes the TPDUs of an NSDU. A class 0 NSDU carries one (6.4 is not used there).
    fn nsdu(&mut self, now: Instant, nsdu: &Bytes) {
        let mut place = 0;
        for raw in tpdus(nsdu) {
            if self.state == State::Closed {
                return;
            }
            let pdu = raw.and_then(|raw| {
                let fault = |fault: wire::read::Malformed| fault.within(raw.offset);
                let format = self.format();
                let is_other =
                    raw.kind == Kind::Dt && (raw.header_octets == 3) != (format == Format::Class0);
                let wrong = wire::read::Malformed { field: "length indicator", offset: raw.offset };
                if is_other {
                    Err(wrong)
                } else {
                    Ok((raw, Pdu::decode(&raw, Some(format)).map_err(fault)?))
                }
            });
            match pdu {
                Ok((raw, pdu)) => {
                    self.counters.received[raw.kind as usize] += 1;
                    let end = raw.offset + raw.octets.len();
                    self.rejected = nsdu.slice(raw.offset..end.min(raw.offset + REJECTED_OCTETS));
                    let data = nsdu.slice(raw.offset + raw.header_octets..end);
                    let first = place == 0;
                    place += 1;
                    if !first && self.format() == Format::Class0 {
                        self.invalid(now, Note::OutOfPlace(raw.kind));
                    } else {
                        self.tpdu(now, &pdu, data, raw.octets.len());
                    }
                }
                Err(fault) => {
                    self.counters.malformed += 1;
                    self.rejected = nsdu.slice(..nsdu.len().min(REJECTED_OCTETS));
                    self.invalid(now, Note::Malformed(fault));
                }
            }
        }
    }

    fn invalid(&mut self, now: Instant, note: Note) {
        self.outputs.push_back(Output::Note(note));
        self.step(now, Event::InvalidReceived);
    }

    fn tpdu(&mut self, now: Instant, pdu: &Pdu<'_>, data: Bytes, octets: usize) {
        let is_ours = pdu.destination_reference() == self.reference;
        match pdu {
            Pdu::Cr(cr) => self.cr(now, cr),
            Pdu::Cc(cc) if self.state == State::CrSent && is_ours => self.cc(now, cc),
            Pdu::Dt(dt) => self.data(now, dt, data, octets),
            Pdu::Ak(ak) if self.state == State::Open && self.has_credit() => {
                let credit = self.credit.as_mut().filter(|_| is_ours);
                if credit.is_some_and(|credit| credit.take(ak.next, ak.credit)) {
                    self.step(now, Event::AkReceived);
                } else {
                    self.invalid(now, Note::Excess(Kind::Ak));
                }
            }
            // The reference of a DR or ER may be wrong because of the error that it reports.
            Pdu::Dr(dr) => {
                self.reason = dr.reason;
                self.step(now, Event::DrReceived);
            }
            Pdu::Er(_) => self.step(now, Event::ErReceived),
            Pdu::Dc(_) if self.state == State::Releasing => self.step(now, Event::DcReceived),
            Pdu::Cc(_) if self.state == State::CrSent => {
                self.invalid(now, Note::Misdirected(Kind::Cc));
            }
            Pdu::Ed(_) | Pdu::Ea(_) | Pdu::Rj(_) | Pdu::Cc(_) | Pdu::Ak(_) | Pdu::Dc(_) => {
                self.invalid(now, Note::OutOfPlace(pdu.kind()));
            }
        }
    }

    fn cr(&mut self, now: Instant, cr: &Connect<'_>) {
        if self.state != State::AwaitingCr {
            return self.invalid(now, Note::OutOfPlace(Kind::Cr));
        }
        self.peer = cr.source_reference;
        // 13.3.3: DST-REF is zero in a CR.
        if cr.destination_reference != Reference(0) {
            return self.invalid(now, Note::Misdirected(Kind::Cr));
        }
        match Agreement::answer(&self.params, cr) {
            Some(agreed) => {
                self.agreed = agreed;
                self.credit_by_peer = cr.credit;
                let tsap =
                    |code| Bytes::copy_from_slice(cr.parameters.value(code).unwrap_or_default());
                let (called, calling) = (tsap(0xC2), tsap(0xC1));
                self.tsaps = (called.clone(), calling.clone());
                if called.len().max(calling.len()) > 32 {
                    return self.invalid(now, Note::Excess(Kind::Cr));
                }
                self.step(now, Event::CrReceived);
                let (endpoint, data) = (self.endpoint(), Bytes::new());
                // No station of a LAN has such an address.
                let peer = Address::Station(Mac::local(self.line.0 | 0x8000_0000));
                let call = Indication::Connect { endpoint, peer, called, calling, data };
                self.outputs.push_back(Output::Deliver(call));
            }
            None => {
                self.reason = disconnect_reason::NEGOTIATION_FAILED;
                self.step(now, Event::UnfitCrReceived);
            }
        }
    }

    fn cc(&mut self, now: Instant, cc: &Connect<'_>) {
        let Some(agreed) = self.agreed.settle(cc) else {
            return self.step(now, Event::UnfitCcReceived);
        };
        // The credit granted by the CR stays valid, whatever class was selected.
        let granted = self.granted();
        self.agreed = agreed;
        self.peer = cc.source_reference;
        self.credit_by_peer = cc.credit;
        self.open();
        self.credit = Some(Credit::new(cc.credit, granted));
        self.step(now, Event::CcReceived);
        let (endpoint, data) = (self.endpoint(), Bytes::new());
        self.outputs.push_back(Output::Deliver(Indication::Confirm { endpoint, data }));
    }

    fn data(&mut self, now: Instant, dt: &Data<'_>, data: Bytes, octets: usize) {
        if self.state != State::Open {
            return self.step(now, Event::DtReceived);
        }
        let is_misdirected =
            dt.format != Format::Class0 && dt.destination_reference != self.reference;
        if is_misdirected {
            return self.invalid(now, Note::Misdirected(Kind::Dt));
        }
        let has_credit = self.has_credit();
        let is_next =
            !has_credit || self.credit.as_mut().is_some_and(|credit| credit.receive(dt.number));
        if !is_next || octets > self.agreed.tpdu_octets {
            return self.invalid(now, Note::Excess(Kind::Dt));
        }
        self.step(now, Event::DtReceived);
        let (endpoint, octets, end) = (self.endpoint(), data, dt.end_of_tsdu);
        self.outputs.push_back(Output::Deliver(Indication::Data { endpoint, octets, end }));
        if has_credit {
            self.grant();
        }
    }
}

impl Machine for Connection {
    type Request = Request;
    type Indication = Indication;
    type Pdu = Network;
    type Note = Note;

    fn request(&mut self, now: Instant, request: Request) {
        match request {
            Request::Connect { called, calling, .. } => {
                // No TSAP-ID is longer than 32 octets, so the rest is not sent.
                let (called, calling) = (called.slice(..called.len().min(32)), calling);
                let calling = calling.slice(..calling.len().min(32));
                self.tsaps = (called, calling);
                self.step(now, Event::ConnectRequested);
            }
            Request::Accept { .. } => self.step(now, Event::Accepted),
            Request::Data { endpoint, tsdu } => {
                if self.state != State::Open || tsdu.is_empty() {
                    return;
                }
                if !self.queue.is_empty() && tsdu.len() > self.room() {
                    self.waiting_octets = Some(tsdu.len());
                    self.outputs.push_back(Output::Deliver(Indication::Full { endpoint, tsdu }));
                    return;
                }
                self.queued_octets += tsdu.len();
                self.queue.push_back(tsdu);
                self.owes_drained = true;
            }
            // Expedited data is never offered.
            Request::Expedited { endpoint, data } => {
                let refused = Indication::ExpeditedRefused { endpoint, data };
                self.outputs.push_back(Output::Deliver(refused));
            }
            // The network connection controls the flow.
            Request::Withdraw { .. } | Request::GiveBack { .. } => {}
            Request::Disconnect { reason, .. } => {
                self.reason = reason;
                self.step(now, Event::DisconnectRequested);
            }
        }
        self.pump();
    }

    fn receive(&mut self, now: Instant, pdu: Network) {
        match pdu {
            Network::Connect => self.step(now, Event::NetworkOpened),
            Network::Data(packet) => self.nsdu(now, &packet.to_bytes()),
            Network::Taken { octets } => {
                self.ahead_octets = self.ahead_octets.saturating_sub(octets);
            }
            Network::Disconnect => self.step(now, Event::NetworkClosed),
        }
        self.pump();
    }

    fn expire(&mut self, now: Instant) {
        if self.timer.ran_out(now) {
            self.step(now, Event::TimerRanOut);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.timer.deadline()
    }

    fn poll(&mut self) -> Option<Output<Network, Indication, Note>> {
        self.outputs.pop_front()
    }
}
