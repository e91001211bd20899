//! ED and EA on an open connection (ISO 8073 6.11, 12.2.3.4).

use super::super::context::Context;
use super::super::expedited::ED_OCTETS;
use super::super::service::Note;
use super::super::table::{Event, State};
use super::super::tpdu::{ea_packet, ed_packet};
use super::super::transmit_handle::AwaitedTpdu;
use super::{Cause, Connection};
use crate::transport::service::{Indication, Reason};
use bytes::Bytes;
use core::time::Duration;
use wire::tp::{Expedited, Kind};

impl Connection {
    /// Queues expedited data of the user.
    pub(in crate::tp4) fn expedite(&mut self, cx: &mut Context<'_>, data: Bytes) {
        let opening = self.state == State::CcSent;
        let open = self.state == State::Open || opening;
        let fits = (1..=ED_OCTETS).contains(&data.len());
        let taken =
            open && fits && self.expedited.as_mut().is_some_and(|expedited| expedited.queue(&data));
        if taken {
            self.send_expedited(cx);
        } else {
            cx.deliver(Indication::ExpeditedRefused { endpoint: self.endpoint, data });
        }
    }

    /// Sends the next ED, if none is outstanding.
    pub(super) fn send_expedited(&mut self, cx: &mut Context<'_>) {
        if self.state != State::Open {
            return;
        }
        let next = self.expedited.as_mut().and_then(|expedited| expedited.take_new());
        if let Some((number, data)) = next {
            self.put_ed(cx, number, &data);
        }
    }

    /// Sends an ED and starts T1.
    fn put_ed(&mut self, cx: &mut Context<'_>, number: u32, data: &Bytes) {
        let packet = ed_packet(self.form(), number, data);
        cx.send(self.peer, Kind::Ed, packet);
        cx.wait_for_last(self.endpoint, AwaitedTpdu::Expedited(number));
        self.start_expedited_t1(cx);
    }

    /// Starts T1 of the outstanding ED; after the last transmission, T1 + W + M_RL (12.2.1.2 note
    /// 3).
    pub(in crate::tp4) fn start_expedited_t1(&mut self, cx: &Context<'_>) {
        let wait = self.t1(cx.params);
        let Some(expedited) = &mut self.expedited else { return };
        expedited.giving_up = expedited.transmissions() >= cx.params.transmissions;
        let last = cx.params.window_time + cx.params.nsdu_lifetime;
        let more = if expedited.giving_up { last } else { Duration::ZERO };
        expedited.t1.start(cx.now + wait + more);
    }

    /// Handles the expiry of an ED's T1.
    pub(super) fn expedited_ran_out(&mut self, cx: &mut Context<'_>) {
        let (endpoint, kind) = (self.endpoint, Kind::Ed);
        let Some(expedited) = &mut self.expedited else { return };
        if expedited.giving_up {
            cx.counters.gave_up += 1;
            self.step(cx, Event::GaveUp, Cause::Told(Reason::NotAcknowledged));
        } else if let Some((number, data)) = expedited.take_again() {
            cx.counters.t1 += 1;
            cx.counters.expedited_again += 1;
            cx.note(Note::SentAgain { endpoint, kind });
            self.put_ed(cx, number, &data);
        }
    }

    /// Processes a received ED. Each gets an EA, duplicates too, because the first EA may be lost
    /// (6.11.4).
    pub(in crate::tp4) fn ed(&mut self, cx: &mut Context<'_>, ed: &Expedited<'_>, data: Bytes) {
        if !self.heard_data(cx) {
            return;
        }
        let endpoint = self.endpoint;
        let Some(expedited) = &mut self.expedited else { return };
        let new = expedited.arrive(ed.number);
        cx.send(self.peer, Kind::Ea, ea_packet(self.form(), ed.number));
        if new {
            cx.deliver(Indication::Expedited { endpoint, data });
        } else {
            cx.counters.expedited_duplicates += 1;
        }
    }

    /// Processes a received EA.
    pub(in crate::tp4) fn ea(&mut self, cx: &mut Context<'_>, number: u32) {
        if !self.heard_data(cx) {
            return;
        }
        if self.expedited.as_mut().is_some_and(|expedited| expedited.acknowledge(number)) {
            self.send_expedited(cx);
            self.transmit(cx);
        } else {
            cx.counters.stale_acknowledgements += 1;
        }
    }
}
