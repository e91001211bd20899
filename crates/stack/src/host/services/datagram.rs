//! Messages without connection: one UI frame each.

use super::super::work::{Asker, Cargo};
use super::super::{Host, To};
use super::Task;
use crate::load::{Flow, Pattern, Sink};
use wire::addr::Mac;
use wire::packet::Packet;
use wire::time::Instant;

impl Host {
    #[inline]
    pub(super) fn serve_datagrams(&mut self, now: Instant, place: usize, task: Task) -> bool {
        match (task, &self.link) {
            (Task::Start, Some(_)) => self.users.flows[place].sender.open(now),
            (Task::Start, None) => return self.refuse(now, place, "no LAN"),
            (Task::HandOver, _) => return self.hand_over_datagram(now, place),
            (Task::Close, _) => return false,
        };
        true
    }

    fn hand_over_datagram(&mut self, now: Instant, place: usize) -> bool {
        let Flow { pattern, priority, peer: station, .. } = *self.users.flow(place);
        if pattern == Pattern::Bulk && self.room_ahead(priority) == 0 {
            self.users.waiting.for_frames(place, priority);
            return false;
        }
        let Some(data) = self.users.take_lsdu(now, place) else { return false };
        self.submit(now, Cargo::Lsdu { place, to: To { station, priority }, data });
        true
    }

    #[inline]
    pub(in crate::host) fn send_message(&mut self, to: To, data: Packet) {
        if let Some(link) = &mut self.link {
            link.send_message(to, data);
        }
    }

    pub(in crate::host) fn datagram(&mut self, now: Instant, station: Mac, data: &Packet) {
        let priority = self.link.as_ref().map_or_else(Default::default, |link| link.heard);
        self.message(now, None, Sink::whole(data), Asker::Station(To { station, priority }));
    }
}
