//! Timers that wait until a TPDU has left the station (RFC 1008 3.4.3.2, network queuing delay NQ).
//!
//! T1 bounds the wait for an answer. While a TPDU is in a queue of its own station there can be no
//! answer, and a queue longer than T1 would cause a retransmission of each TPDU in it. So a driver
//! that knows when a frame has left takes a [`Ticket`] for it, and returns the ticket at that time.
//! T1 and the round trip then start at that time, and nothing is retransmitted before it. If a
//! driver takes no ticket, T1 starts when a TPDU is output.
//!
//! Left out: T1 of repeated AKs, which starts at their output.

use super::connection::Connection;
use super::context::Context;
use super::table::State;
use crate::transport::Endpoint;
use wire::tp::Kind;

/// TPDU of a connection that waits to leave the station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timed {
    /// CR, CC or DR that awaits an answer.
    Kept(Kind),
    /// DT with this number.
    Data(u32),
    /// ED with this number.
    Expedited(u32),
}

/// Handle of an output TPDU whose timer waits until it leaves the station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    pub(super) endpoint: Endpoint,
    pub(super) timed: Timed,
}

impl Connection {
    /// Records that a copy is in a queue below, and stops its timer.
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

    /// Records that the copy has left the station, or was dropped by it, and starts its timer.
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
