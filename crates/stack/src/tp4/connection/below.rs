//! TPDUs of a connection in queues below it: their timers start when they leave the station.

use super::super::context::Context;
use super::super::table::State;
use super::super::transmit_handle::AwaitedTpdu;
use super::Connection;
use wire::tp::Kind;

impl Connection {
    /// Records that a copy is in a queue below, and stops its timer.
    pub(in crate::tp4) fn queued_below(&mut self, timed: AwaitedTpdu) {
        match timed {
            AwaitedTpdu::Kept(kind) => {
                if self.keeps(kind) {
                    self.kept_below = true;
                    self.t1.stop();
                }
            }
            AwaitedTpdu::Data(number) => {
                if self.send.set_below(number) == Some(0) {
                    self.t1.stop();
                }
            }
            AwaitedTpdu::Expedited(number) => {
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
    pub(in crate::tp4) fn left_station(&mut self, cx: &mut Context<'_>, timed: AwaitedTpdu) {
        match timed {
            AwaitedTpdu::Kept(kind) => {
                if self.keeps(kind) && core::mem::take(&mut self.kept_below) {
                    self.start_t1(cx);
                }
            }
            AwaitedTpdu::Data(number) => {
                let place = self.send.left_station(number, cx.now);
                let is_open = self.state == State::Open && self.kept.is_none();
                if place == Some(0) && is_open && self.send.may_send_again() {
                    self.start_t1(cx);
                }
            }
            AwaitedTpdu::Expedited(number) => {
                let left = self.expedited.as_mut().is_some_and(|it| it.left_station(number));
                if left && self.state == State::Open {
                    self.start_expedited_t1(cx);
                }
            }
        }
    }
}
