//! Timers that wait for a TPDU to leave the station (RFC 1008 3.4.3.2, network queuing delay NQ).
//!
//! T1 bounds the wait for an answer. While a TPDU is in a queue of its own station there can be none, and
//! a queue longer than T1 would have each TPDU in it sent twice. So a driver that knows when a frame has
//! left takes a [`Ticket`] for it, and hands that back then: T1 begins at that time, the round trip is
//! counted from it, and until it nothing is sent again. A driver that does not know takes none, and T1
//! begins when a TPDU is handed over.
//!
//! Left out: T1 of AKs that are repeated, which counts from when they are handed over.

use super::connection::Connection;
use super::context::Context;
use super::service::Endpoint;
use super::table::State;
use wire::tp::Kind;

/// What of a connection waits to leave the station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timed {
    /// The CR, CC or DR that awaits an answer.
    Kept(Kind),
    /// The DT of this number.
    Data(u32),
    /// The ED of this number.
    Expedited(u32),
}

/// A TPDU below whose timer waits for it to leave the station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    pub(super) endpoint: Endpoint,
    pub(super) timed: Timed,
}

impl Connection {
    /// A copy is in a queue below from now on: its timer waits.
    pub(super) fn queued_below(&mut self, timed: Timed) {
        match timed {
            Timed::Kept(kind) => {
                if self.keeps(kind) {
                    self.kept_below = true;
                    self.t1.stop();
                }
            }
            Timed::Data(number) => {
                if self.send.set_below(number) == Some(0) {
                    self.t1.stop();
                }
            }
            Timed::Expedited(number) => {
                if let Some(expedited) = &mut self.expedited {
                    expedited.set_below(number);
                }
            }
        }
    }

    fn keeps(&self, kind: Kind) -> bool {
        self.kept.as_ref().is_some_and(|(kept, ..)| *kept == kind)
    }

    /// The copy has left the station, or was given up by it: its timer begins.
    pub(super) fn left_station(&mut self, cx: &mut Context<'_>, timed: Timed) {
        match timed {
            Timed::Kept(kind) => {
                if self.keeps(kind) && core::mem::take(&mut self.kept_below) {
                    self.start_t1(cx);
                }
            }
            Timed::Data(number) => {
                let place = self.send.left_station(number, cx.now);
                let is_open = self.state == State::Open && self.kept.is_none();
                if place == Some(0) && is_open && self.send.may_send_again() {
                    self.start_t1(cx);
                }
            }
            Timed::Expedited(number) => {
                let left = self.expedited.as_mut().is_some_and(|it| it.left_station(number));
                if left && self.state == State::Open {
                    self.start_expedited_t1(cx);
                }
            }
        }
    }
}
