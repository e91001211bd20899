//! DT and AK on an open connection (ISO 8073 12.2.3).

use super::super::context::Context;
use super::super::params::Params;
use super::super::policy::{Acknowledgement, Credit, Retransmission, When};
use super::super::selective::Blocks;
use super::super::service::Note;
use super::super::table::{Event, State};
use super::super::tpdu::{Form, Window, ak_header, ak_packet, dt_header};
use super::super::window::{Acknowledged, Arrival, News, Trip};
use super::{Cause, Connection};
use crate::transport::service::Indication;
use bytes::Bytes;
use core::ops::Range;
use wire::tp::{FlowControlConfirmation, Format, Kind, Parameter, selective_blocks};

/// Received DT.
#[derive(Clone, Copy, Debug)]
pub(in crate::tp4) struct Arrived {
    /// TPDU-NR.
    pub(in crate::tp4) number: u32,
    /// EOT.
    pub(in crate::tp4) end_of_tsdu: bool,
    /// ROA.
    pub(in crate::tp4) acknowledgement_requested: bool,
}

impl Connection {
    /// Queues a TSDU of the user.
    pub(in crate::tp4) fn data(&mut self, cx: &mut Context<'_>, tsdu: Bytes) {
        let room = cx.params.queue_octets.saturating_sub(self.send.queued_octets());
        let takes = matches!(self.state, State::CrSent | State::CcSent | State::Open);
        // A single TSDU is accepted at any length: its octets are the user's, and shared.
        if !takes || (room < tsdu.len() && self.send.queued_octets() > 0) {
            self.user_waits = takes.then_some(cx.params.queue_octets / 2);
            cx.deliver(Indication::Full { endpoint: self.endpoint, tsdu });
            return;
        }
        self.send.queue(tsdu);
        self.transmit(cx);
    }

    /// Requests an indication when at most `most` octets wait to be sent.
    pub(in crate::tp4) const fn wait_for_room(&mut self, most: usize) {
        self.user_waits = Some(most);
    }

    /// Returns receive buffers from the user.
    pub(in crate::tp4) fn give_back(&mut self, cx: &mut Context<'_>, buffers: u32) {
        let all = self.buffers;
        self.receive.give_back(buffers, all);
        let worth_telling = Credit::worth_telling(self.receive.ungranted(), all);
        if self.state == State::Open && (self.receive.is_closed() || worth_telling) {
            self.send_ak(cx);
        }
    }

    /// Adds receive buffers from the memory of the entity.
    pub(in crate::tp4) fn add_buffers(&mut self, cx: &mut Context<'_>, buffers: u32) {
        self.buffers += buffers;
        self.give_back(cx, buffers);
    }

    /// Withdraws receive buffers from the user; unused credit is reduced with them.
    pub(in crate::tp4) fn withdraw(&mut self, cx: &mut Context<'_>, buffers: u32) {
        if self.receive.withdraw(buffers) && self.state == State::Open {
            cx.counters.credit_reductions += 1;
            self.send_ak(cx);
        }
    }

    /// Records a TPDU of an open connection with a correct checksum; returns true if the connection
    /// is open.
    pub(super) fn heard_data(&mut self, cx: &mut Context<'_>) -> bool {
        if self.state != State::Open {
            self.step(cx, Event::DataReceived, Cause::None);
        }
        self.heard = cx.now;
        self.state == State::Open
    }

    /// Sends the data that the user queued since it accepted, after the third part of the handshake
    /// was processed: expedited data first.
    #[cold]
    #[inline(never)]
    pub(in crate::tp4) fn begin(&mut self, cx: &mut Context<'_>) {
        self.send_expedited(cx);
        self.transmit(cx);
    }

    /// Processes a received DT.
    pub(in crate::tp4) fn dt(&mut self, cx: &mut Context<'_>, dt: Arrived, octets: Bytes) {
        let Arrived { number, end_of_tsdu: end, acknowledgement_requested } = dt;
        if !self.heard_data(cx) {
            return;
        }
        let endpoint = self.endpoint;
        let arrival = if self.receive.passes(number) {
            self.receive.pass();
            cx.outputs.deliver_data(endpoint, octets, end);
            self.delivered(cx, 1);
            Arrival::InSequence
        } else {
            self.receive.arrive(number, octets, end)
        };
        match arrival {
            Arrival::InSequence => {
                let mut count = 0;
                while let Some((octets, end)) = self.receive.pop() {
                    cx.outputs.deliver_data(endpoint, octets, end);
                    count += 1;
                }
                self.delivered(cx, count);
                // A sender may wait for a gap to be filled.
                if count > 0 && self.agreed.selective {
                    self.send_ak(cx);
                } else {
                    self.acknowledge(cx, acknowledgement_requested);
                }
            }
            // The AKs for the DTs before it have shown the gaps.
            Arrival::OutOfOrder { follows: true } if self.agreed.selective => {
                cx.counters.out_of_order += 1;
                self.unacknowledged = self.unacknowledged.saturating_add(1);
                self.acknowledge(cx, acknowledgement_requested);
            }
            // An immediate AK reports the gap to the sender before T1 expires.
            Arrival::OutOfOrder { .. } => {
                cx.counters.out_of_order += 1;
                self.send_ak(cx);
            }
            // 12.2.3.5: acknowledged again, because our AK may have been lost.
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
        if !cx.params.credit.is_by_user() {
            self.receive.give_back(u32::from(count), u32::from(cx.params.window));
        }
    }

    /// Sends an AK now, or starts A_L.
    fn acknowledge(&mut self, cx: &mut Context<'_>, requested: bool) {
        let every = cx.params.acknowledge_every;
        let when = self.acknowledgement(cx.params).when(every, self.unacknowledged, requested);
        if when == When::Now || self.receive.is_closed() {
            self.send_ak(cx);
        } else if !self.a.is_running() {
            self.a.start(cx.now + cx.params.acknowledgement_delay);
        }
    }

    /// Policy in force: a peer that does not request acknowledgements is not waited for.
    fn acknowledgement(&self, params: &Params) -> Acknowledgement {
        match params.acknowledgement {
            Acknowledgement::OnRequest if !self.agreed.requests => Acknowledgement::Withhold,
            policy => policy,
        }
    }

    /// Policy in force: of a peer that does not name the DTs that arrived, none is known to be missing.
    pub(super) const fn retransmission(&self, params: &Params) -> Retransmission {
        match params.retransmission {
            Retransmission::Missing if !self.agreed.selective => Retransmission::Early,
            policy => policy,
        }
    }

    /// Processes a received AK.
    pub(in crate::tp4) fn ak(&mut self, cx: &mut Context<'_>, ak: &wire::tp::Acknowledgement<'_>) {
        if !self.heard_data(cx) {
            return;
        }
        let (mut subsequence, mut confirmation, mut blocks) = (0, None, None);
        for parameter in ak.parameters.iter() {
            match parameter {
                Parameter::Subsequence(number) => subsequence = number,
                Parameter::FlowControlConfirmation(confirmed) => confirmation = Some(confirmed),
                Parameter::SelectiveAcknowledgement(octets) => blocks = Some(octets),
                _ => {}
            }
        }
        if let Some(confirmation) = &confirmation {
            self.confirmed(cx, confirmation);
        }
        let credit = u32::from(ak.credit);
        let is_same = (ak.next, subsequence, credit) == self.send.latest();
        let repeats = is_same && self.send.outstanding() > 0;
        let Acknowledged::InSequence { newly, opened, news, trip } =
            self.send.acknowledge(ak.next, subsequence, credit)
        else {
            cx.counters.stale_acknowledgements += 1;
            return;
        };
        self.acknowledged(cx, newly, trip);
        if let Some(octets) = blocks {
            self.send.mark(selective_blocks(octets, self.format()));
        }
        self.send_missing(cx);
        // An AK that confirms our own AK is an answer to that, not to a DT.
        if self.repeats.heard(repeats && confirmation.is_none()) {
            self.send_early(cx);
        }
        self.blocked &= !opened;
        let sent = self.transmit(cx);
        let owed = match news {
            News::None => false,
            News::Opened => !sent,
            // A retransmitted DT, under T1, gives the peer more information than a confirmation.
            News::Duplicate => {
                confirmation.is_none() && (subsequence > 0 || !self.send.may_send_again())
            }
        };
        if owed {
            self.send_confirmation(cx);
        }
        if newly > 0 && self.send.is_drained() {
            cx.deliver(Indication::Drained { endpoint: self.endpoint });
        }
    }

    /// Updates T1 and the recovery after `newly` more DTs were acknowledged.
    fn acknowledged(&mut self, cx: &mut Context<'_>, newly: u32, trip: Trip) {
        if newly > 0 {
            cx.counters.sequence_wraps += u64::from(self.send.wrapped(newly));
            self.giving_up = false;
            match trip {
                Trip::Since(sent) => self.trips.learn(cx.now.since(sent)),
                Trip::Waited => self.trips.moved_on(),
                Trip::Unknown => {}
            }
        }
        // 12.2.1.2 note 1: restarted on an acknowledgement, stopped on the last or at a closed
        // window.
        if self.send.outstanding() == 0 {
            self.t1.stop();
        } else if !self.send.may_send_again() {
            self.t1.stop();
            self.giving_up = false;
        } else if newly > 0 || !self.t1.is_running() {
            self.start_t1(cx);
        }
        if newly > 0 && self.recovering > 0 {
            self.recovering = self.recovering.saturating_sub(newly as usize);
            let transmissions = self.send.oldest_transmissions().unwrap_or(0);
            if self.retransmission(cx.params).upon_ak(self.recovering, transmissions) {
                self.send_places_again(cx, 0..1);
            }
        }
    }

    /// Sends all new DTs within the credit, but none while expedited data waits for its EA
    /// (12.2.3.4). Returns true if any was sent.
    pub(super) fn transmit(&mut self, cx: &mut Context<'_>) -> bool {
        if self.state != State::Open {
            return false;
        }
        let mut sent = false;
        let held = self.expedited.as_ref().is_some_and(|expedited| expedited.holds_data());
        let octets = self.dt_octets(cx.params);
        let form = self.form();
        while !held
            && self.may_number(cx)
            && let request = self.requests_at(octets)
            && let Some(segment) = self.send.take_new(cx.now, octets)
        {
            let data = self.send.data(segment);
            let dt = dt_header(form, segment, &data, request);
            cx.send_dt(self.peer, self.endpoint, segment.number, dt, data);
            sent = true;
            if !self.t1.is_running() {
                self.start_t1(cx);
            }
        }
        if self.send.is_blocked() && !self.blocked {
            self.blocked = true;
            cx.counters.closed_window += 1;
        }
        if self.user_waits.is_some_and(|most| self.send.queued_octets() <= most) {
            self.user_waits = None;
            cx.deliver(Indication::Ready { endpoint: self.endpoint });
        }
        sent
    }

    /// Returns true if the next DT, of at most `octets` octets of user data, requests its
    /// acknowledgement.
    fn requests_at(&self, octets: usize) -> bool {
        self.agreed.requests && self.send.next_is_last(octets)
    }

    /// Returns true if the next number may be used; otherwise starts M for the time at which it
    /// may.
    fn may_number(&mut self, cx: &mut Context<'_>) -> bool {
        let at = self.send.reusable_at(cx.params.nsdu_lifetime).filter(|at| *at > cx.now);
        let Some(at) = at.filter(|_| self.send.has_new()) else { return true };
        cx.counters.number_waits += u64::from(!self.m.is_running());
        self.m.start(at);
        false
    }

    /// Maximum user data of a DT, within the agreed TPDU size and the NSDU size, after subtracting
    /// the header.
    fn dt_octets(&self, params: &Params) -> usize {
        let header = match self.format() {
            Format::Extended => 8,
            Format::Class0 | Format::Normal => 5,
        };
        let checksum = if self.agreed.checksum { 4 } else { 0 };
        self.agreed.tpdu_octets.min(params.nsdu_octets).saturating_sub(header + checksum)
    }

    pub(super) const fn form(&self) -> Form {
        let (format, destination_reference) = (self.format(), self.remote);
        Form { format, destination_reference, checksum: self.agreed.checksum }
    }

    /// Retransmits before T1 expires, because the AKs indicate the loss of the first outstanding
    /// DT.
    fn send_early(&mut self, cx: &mut Context<'_>) {
        let transmissions = self.send.oldest_transmissions().unwrap_or(0);
        if self.retransmission(cx.params).before_t1(transmissions) && self.send.may_send_again() {
            self.send_dts_again(cx);
        }
    }

    /// Retransmits the DTs that selective acknowledgement shows to be missing.
    fn send_missing(&mut self, cx: &mut Context<'_>) {
        let (most, mut from) = (cx.params.transmissions, 0);
        while let Some(place) = self.send.missing(from, most)
            && self.send.may_send_again()
        {
            self.send_places_again(cx, place..place + 1);
            if place == 0 {
                self.start_t1(cx);
            }
            from = place + 1;
        }
    }

    /// Retransmits DTs, as many as the policy permits within the window (12.2.1.2 j).
    pub(super) fn send_dts_again(&mut self, cx: &mut Context<'_>) {
        let outstanding = self.send.outstanding();
        self.recovering = outstanding;
        self.send.forget_marks();
        self.send_places_again(cx, 0..cx.params.retransmission.at_time_out(outstanding));
        if self.send.may_send_again() {
            self.start_t1(cx);
        }
    }

    fn send_places_again(&mut self, cx: &mut Context<'_>, places: Range<usize>) {
        let (endpoint, kind) = (self.endpoint, Kind::Dt);
        let form = self.form();
        for place in places {
            // A copy that is still queued makes another superfluous.
            if self.send.is_below(place) {
                continue;
            }
            let Some(segment) = self.send.take_again(cx.now, place) else { break };
            let data = self.send.data(segment);
            let dt = dt_header(form, segment, &data, self.agreed.requests);
            cx.counters.sent_again += 1;
            cx.note(Note::SentAgain { endpoint, kind });
            cx.send_dt(self.peer, endpoint, segment.number, dt, data);
        }
    }

    // ---- AKs sent ---------------------------------------------------------------------------------

    /// Sends an AK with the current values.
    pub(super) fn send_ak(&mut self, cx: &mut Context<'_>) {
        self.put_ak(cx, false);
        // 12.2.3.8.3, 12.2.3.8.4: repeated until the peer is known to have received that the window
        // is open.
        if self.grants.in_doubt(cx.params.transmissions) {
            self.t1_ak.start(cx.now + cx.params.retransmission_time);
        } else {
            self.t1_ak.stop();
        }
    }

    /// Sends an AK that confirms the peer's latest (12.2.3.9). It is not repeated.
    fn send_confirmation(&mut self, cx: &mut Context<'_>) {
        cx.counters.confirmations += 1;
        self.put_ak(cx, true);
    }

    fn put_ak(&mut self, cx: &mut Context<'_>, confirms: bool) {
        let most = if self.agreed.extended { 0xFFFF } else { 15 };
        let credit = self.receive.grant(most);
        let confirmation = confirms.then(|| {
            let (lower_window_edge, subsequence, credit) = self.send.latest();
            let credit = credit as u16;
            FlowControlConfirmation { lower_window_edge, subsequence, credit }
        });
        let blocks =
            if self.agreed.selective { self.receive.blocks(self.format()) } else { Blocks::new() };
        let window = Window {
            blocks: &blocks,
            next: self.receive.next(),
            subsequence: self.grants.send(self.receive.delivered(), credit),
            credit: credit as u16,
            confirmation,
        };
        match ak_header(self.form(), &window) {
            Some(header) => cx.send_ak(self.peer, header),
            None => cx.send(self.peer, Kind::Ak, ak_packet(self.form(), &window)),
        }
        self.unacknowledged = 0;
        self.a.stop();
        self.w.start(cx.now + cx.params.window_time);
    }

    /// Processes the confirmation of one of our AKs.
    fn confirmed(&mut self, cx: &Context<'_>, confirmation: &FlowControlConfirmation) {
        self.grants.confirmed(confirmation, self.format().modulus());
        if !self.grants.in_doubt(cx.params.transmissions) {
            self.t1_ak.stop();
        }
    }

    /// Repeats an AK after its T1 expired.
    pub(super) fn ak_again(&mut self, cx: &mut Context<'_>) {
        cx.counters.acknowledgements_again += 1;
        self.send_ak(cx);
    }
}
