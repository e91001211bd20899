//! The host as its medium sees it: which frame goes first, and whose a frame is.

use super::{Framing, Host, Outgoing, Sockets};
use crate::llc::type1::{Indication, Lpdu};
use crate::llc::type3;
use crate::machine::{Deadline, Machine};
use crate::station::{Crossing, Frame, Station, Transmission};
use wire::addr::{Mac, Sap};
use wire::time::Instant;

impl Station for Host {
    fn addr(&self) -> Mac {
        self.params.address
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        let asks = self.params.framing == Framing::Ieee8024Responding && Framing::asks(&frame);
        let Some(lpdu) = self.params.framing.lpdu(frame) else {
            self.foreign += 1;
            return;
        };
        match &mut self.sockets {
            Some(sockets) if sockets.is_for(&lpdu.packet) && asks => {
                let answer = sockets.asked(now, lpdu);
                let frame = |lpdu| self.params.framing.frame(self.params.address, lpdu);
                self.answers.extend(answer.map(frame));
            }
            Some(sockets) if sockets.is_for(&lpdu.packet) => sockets.receive(now, lpdu),
            _ => {
                let type3::Lpdu { station, mut packet, .. } = lpdu;
                match self.link.read_ui(&mut packet) {
                    Some((Sap::ISO_NETWORK, _)) => self.receive_npdu(now, station, packet),
                    Some((destination, source)) => {
                        let data = packet;
                        let unitdata = Indication::Unitdata { station, destination, source, data };
                        self.link_says(now, unitdata);
                    }
                    None => self.link.receive(now, Lpdu { station, packet }),
                }
            }
        }
        self.drain(now);
    }

    fn expire(&mut self, now: Instant) {
        self.network.expire(now);
        self.drain_network(now);
        self.transport.expire(now);
        if let Some(sockets) = &mut self.sockets {
            sockets.expire(now);
        }
        self.drain(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        let load = self.waiting.next_due().map(|at| Deadline { at, timer: "load" });
        let sockets = self.sockets.as_ref().and_then(Sockets::deadline);
        let below = Deadline::earlier(self.network.deadline(), sockets);
        Deadline::earlier(Deadline::earlier(self.transport.deadline(), below), load)
    }

    fn poll(&mut self) -> Option<Frame> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        if let Some(sockets) = &mut self.sockets {
            if !self.ahead.is_empty() && self.urgent.is_empty() {
                return None;
            }
            if self.urgent.is_empty()
                && let Some(lpdu) = sockets.next()
            {
                self.ahead.push_back(None);
                self.socket_ahead = true;
                return Some(self.params.framing.frame(self.params.address, lpdu));
            }
        }
        if let Some(frame) = self.urgent.pop_front() {
            self.ahead.push_back(None);
            return Some(frame);
        }
        let Outgoing { frame, ticket } = self.frames.pop_front()?;
        self.ahead.push_back(ticket);
        Some(frame)
    }

    fn crossing(&mut self) -> Option<Crossing> {
        self.crossings.as_mut()?.next()
    }

    fn crossed(&mut self, now: Instant, crossing: Crossing) {
        self.has_crossed(now, crossing);
        self.drain(now);
    }

    fn transmitted(&mut self, now: Instant, outcome: Transmission) {
        let ticket = match outcome {
            Transmission::NotTaken => self.ahead.pop_back(),
            Transmission::Sent | Transmission::GivenUp | Transmission::Refused => {
                self.ahead.pop_front()
            }
        };
        if let Some(ticket) = ticket.flatten() {
            self.transport.transmitted(now, ticket);
        }
        if core::mem::take(&mut self.socket_ahead)
            && let Some(sockets) = &mut self.sockets
        {
            sockets.transmitted(now, outcome);
            return self.drain(now);
        }
        if self.waiting.is_for_frames() {
            self.drain(now);
        }
    }
}
