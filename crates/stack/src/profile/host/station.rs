//! Station interface of a host: order of its frames, and assignment of received frames.

use super::{Ahead, Frames, Framing, Host, HostParams, Outgoing, Sockets};
use crate::llc::type1::{Indication, Lpdu};
use crate::llc::type3;
use crate::machine::{Deadline, Machine};
use crate::messaging::Priority;
use crate::station::{Crossing, Frame, MacQueues, Station, Transmission};
use wire::addr::{Mac, Sap};
use wire::time::Instant;

impl Host {
    /// Resets the station: no flows, connections or pending data, as after a loss of power.
    ///
    /// `last_reference` is the reference before the first one that it assigns from now on.
    pub fn restart(&mut self, last_reference: u16) {
        let params = HostParams { last_reference, ..self.params.clone() };
        *self = Self { queues: self.queues, ..Self::new(params, Vec::new()) };
    }
}

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
                let type3::Lpdu { station, priority, mut packet, .. } = lpdu;
                self.heard = Priority::new(priority).unwrap_or_default();
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
        if let Some(frame) = self.urgent.pop_front() {
            return Some(self.hand_down(frame, Ahead::Other(None)));
        }
        let has_frames_ahead = self.ahead.iter().any(|queue| !queue.is_empty());
        if has_frames_ahead && self.queues == Some(MacQueues::One) {
            return None;
        }
        // A MAC with queues by priority chooses by itself.
        let is_ours_to_choose = self.queues == Some(MacQueues::One);
        let highest = self.frames.highest().filter(|_| is_ours_to_choose);
        let sockets = self.sockets.as_mut().filter(|it| highest <= it.most_urgent());
        if let Some(lpdu) = sockets.and_then(Sockets::next) {
            let frame = self.params.framing.frame(self.params.address, lpdu);
            return Some(self.hand_down(frame, Ahead::Socket));
        }
        let next = if is_ours_to_choose { Frames::take_most_urgent } else { Frames::take_first };
        let Outgoing { frame, ticket, .. } = next(&mut self.frames)?;
        Some(self.hand_down(frame, Ahead::Other(ticket)))
    }

    fn queue_of(&self, frame: &Frame) -> u8 {
        self.params.framing.priority_of(frame)
    }

    fn crossing(&mut self) -> Option<Crossing> {
        self.crossings.as_mut()?.next()
    }

    fn crossed(&mut self, now: Instant, crossing: Crossing) {
        self.has_crossed(now, crossing);
        self.drain(now);
    }

    fn transmitted(&mut self, now: Instant, queue: u8, outcome: Transmission) {
        let place = self.place_of(queue);
        let Some(ahead) = self.ahead.get_mut(place) else { return };
        let sender = match outcome {
            Transmission::NotTaken => ahead.pop_back(),
            Transmission::Sent | Transmission::GivenUp | Transmission::Refused => ahead.pop_front(),
        };
        match sender {
            Some(Ahead::Socket) => {
                if let Some(sockets) = &mut self.sockets {
                    sockets.transmitted(now, queue, outcome);
                }
                return self.drain(now);
            }
            Some(Ahead::Other(ticket)) => {
                self.others_ahead[place] -= 1;
                if let Some(ticket) = ticket {
                    self.transport.transmitted(now, ticket);
                }
            }
            None => {}
        }
        if self.waiting.is_for_frames() {
            self.drain(now);
        }
    }
}

impl Host {
    /// Index of a MAC queue in `ahead`: a host that passes one frame at a time uses one queue,
    /// whatever the MAC has.
    fn place_of(&self, queue: u8) -> usize {
        match self.queues {
            Some(MacQueues::ByPriority) => usize::from(queue),
            Some(MacQueues::One) | None => 0,
        }
    }

    /// Records the sender of a frame that is passed to the medium.
    fn hand_down(&mut self, frame: Frame, sender: Ahead) -> Frame {
        let place = self.place_of(self.params.framing.priority_of(&frame));
        self.others_ahead[place] += usize::from(matches!(sender, Ahead::Other(_)));
        self.ahead[place].push_back(sender);
        frame
    }
}
