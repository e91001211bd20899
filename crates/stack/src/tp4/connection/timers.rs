//! Timers of a connection: T1, W, I, A_L, L, and M for the reuse of numbers (ISO 8073 12.2.1.1).

use super::super::context::Context;
use super::super::params::Params;
use super::super::policy::RetransmissionTimer;
use super::super::table::{Event, State};
use super::{Cause, Connection};
use crate::machine::{Deadline, Timer};
use crate::transport::service::Reason;
use core::time::Duration;
use wire::time::Instant;

impl Connection {
    /// Earliest deadline of its timers.
    pub(in crate::tp4) fn deadline(&self, params: &Params) -> Option<Deadline> {
        let listens = matches!(self.state, State::CcSent | State::Open);
        let at = self.heard + params.inactivity_time;
        let inactivity = listens.then_some(Deadline { at, timer: "I" });
        let expedited = self.expedited.as_ref().and_then(|expedited| expedited.t1.deadline());
        [self.t1, self.t1_ak, self.a, self.w, self.l, self.m]
            .iter()
            .map(Timer::deadline)
            .fold(Deadline::earlier(inactivity, expedited), Deadline::earlier)
    }

    /// Expiry time of the earliest timer; [`Instant::MAX`] if none runs.
    #[inline]
    pub(in crate::tp4) fn due(&self, params: &Params) -> Instant {
        let listens = matches!(self.state, State::CcSent | State::Open);
        let inactivity = self.heard + params.inactivity_time;
        let inactivity = if listens { inactivity } else { Instant::MAX };
        let expedited = self.expedited.as_ref().map_or(Instant::MAX, |it| it.t1.due());
        let timers = [self.t1, self.t1_ak, self.a, self.w, self.l, self.m];
        timers.iter().map(Timer::due).fold(inactivity.min(expedited), Instant::min)
    }

    /// Handles every expired timer.
    pub(in crate::tp4) fn expire(&mut self, cx: &mut Context<'_>) {
        let silent = cx.now >= self.heard + cx.params.inactivity_time;
        if silent && matches!(self.state, State::CcSent | State::Open) {
            cx.counters.inactivity += 1;
            self.step(cx, Event::InactivityRanOut, Cause::Told(Reason::PeerSilent));
        }
        if self.t1.ran_out(cx.now) {
            self.t1_ran_out(cx);
        }
        if self.expedited.as_mut().is_some_and(|expedited| expedited.t1.ran_out(cx.now)) {
            self.expedited_ran_out(cx);
        }
        if self.t1_ak.ran_out(cx.now) && self.state == State::Open {
            self.ak_again(cx);
        }
        if self.a.ran_out(cx.now) {
            self.send_ak(cx);
        }
        if self.w.ran_out(cx.now) && self.state == State::Open {
            cx.counters.window_timer += 1;
            self.send_ak(cx);
            self.send.rest(cx.now, cx.params.nsdu_lifetime);
            self.receive.rest();
        }
        if self.m.ran_out(cx.now) {
            self.transmit(cx);
        }
        if self.l.ran_out(cx.now) {
            self.step(cx, Event::LRanOut, Cause::None);
        }
    }

    /// Starts T1, or, after the last permitted transmission, the final wait: T1 + W + M_RL for a
    /// DT, and T1 + M_RL for the others (12.2.1.2 note 3).
    ///
    /// While a copy of the TPDU is in a queue of this station, T1 is not started.
    pub(in crate::tp4) fn start_t1(&mut self, cx: &Context<'_>) {
        let kept = self.kept.as_ref().map(|(_, _, sent)| *sent);
        let sent = kept.or_else(|| self.send.oldest_transmissions()).unwrap_or(0);
        let mut wait =
            if kept.is_some() { cx.params.retransmission_time } else { self.t1(cx.params) };
        self.giving_up = sent >= cx.params.transmissions;
        if self.giving_up {
            wait += cx.params.nsdu_lifetime;
            wait += if kept.is_some() { Duration::ZERO } else { cx.params.window_time };
        }
        let below = if kept.is_some() { self.kept_below } else { self.send.is_below(0) };
        if below {
            self.t1.stop();
        } else {
            self.t1.start(cx.now + wait);
        }
    }

    /// T1 of a DT or ED.
    pub(super) fn t1(&self, params: &Params) -> Duration {
        match params.retransmission_timer {
            RetransmissionTimer::Fixed => params.retransmission_time,
            RetransmissionTimer::Adaptive => {
                let (first, most) = (params.retransmission_time, params.window_time);
                self.trips.t1(first, self.acknowledge_time, most)
            }
        }
    }

    fn t1_ran_out(&mut self, cx: &mut Context<'_>) {
        if self.giving_up {
            cx.counters.gave_up += 1;
            let reason =
                if self.kept.is_some() { Reason::NoAnswer } else { Reason::NotAcknowledged };
            self.step(cx, Event::GaveUp, Cause::Told(reason));
        } else {
            cx.counters.t1 += 1;
            self.trips.ran_out();
            self.step(cx, Event::T1RanOut, Cause::None);
        }
    }
}
