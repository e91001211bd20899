//! The host as its medium sees it: which frame goes first, and whose a frame is.

use super::{Host, Sockets};
use crate::llc::type1::Lpdu;
use crate::llc::type3;
use crate::machine::{Deadline, Machine};
use crate::station::{Crossing, Frame, Station, Transmission};
use wire::addr::Mac;
use wire::time::Instant;

impl Station for Host {
    fn addr(&self) -> Mac {
        self.params.address
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        let Some(lpdu) = self.params.framing.lpdu(frame) else {
            self.foreign += 1;
            return;
        };
        match &mut self.sockets {
            Some(sockets) if sockets.is_for(&lpdu.packet) => sockets.receive(now, lpdu),
            _ => {
                let type3::Lpdu { station, packet, .. } = lpdu;
                self.link.receive(now, Lpdu { station, packet });
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
        let flows = self.flows.iter().map(|flowing| flowing.sender.deadline());
        let sockets = self.sockets.as_ref().and_then(Sockets::deadline);
        let below = Deadline::earlier(self.network.deadline(), sockets);
        flows.fold(Deadline::earlier(self.transport.deadline(), below), Deadline::earlier)
    }

    fn poll(&mut self) -> Option<Frame> {
        if let Some(sockets) = &mut self.sockets {
            if self.ahead > 0 {
                return None;
            }
            if self.urgent.is_empty()
                && let Some(lpdu) = sockets.next()
            {
                self.ahead += 1;
                self.socket_ahead = true;
                return Some(self.params.framing.frame(self.params.address, lpdu));
            }
        }
        let frame = self.urgent.pop_front().or_else(|| self.frames.pop_front())?;
        self.ahead += 1;
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
        self.ahead = self.ahead.saturating_sub(1);
        if core::mem::take(&mut self.socket_ahead)
            && let Some(sockets) = &mut self.sockets
        {
            sockets.transmitted(now, outcome);
            return self.drain(now);
        }
        if self.flows.iter().any(|flowing| flowing.sender.has_waiting()) {
            self.drain(now);
        }
    }
}
