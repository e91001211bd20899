//! Users of a host: each is examined only when it has work.

use super::super::conversation::{Conversation, Role};
use super::{Flowing, Host, TSAP, To};
use crate::load::{Event, Flow, Pattern, Service, Stage};
use crate::machine::Machine;
use crate::messaging::Priority;
use crate::tp4::{Address, Endpoint, Request, disconnect_reason};
use bytes::Bytes;
use wire::time::Instant;

impl Host {
    /// Runs every user that has work; returns true if any acted.
    pub(super) fn pump(&mut self, now: Instant) -> bool {
        let mut acted = self.pump_replies(now);
        self.waiting.come_due(now);
        if self.waiting.is_for_frames() {
            for priority in Priority::ALL {
                self.waiting.frames_left(priority, self.room_ahead(priority));
            }
        }
        for _ in 0..self.waiting.woken() {
            let Some(place) = self.waiting.next() else { break };
            self.looks += 1;
            let has_acted = self.pump_flow(now, place);
            acted |= has_acted;
            let sender = &self.flows[place].sender;
            if has_acted && !sender.rests(now) {
                self.waiting.wake(place);
            } else {
                self.waiting.until(place, sender.deadline().map(|due| due.at));
            }
        }
        acted
    }

    /// Passes one waiting reply to each connection that has room.
    fn pump_replies(&mut self, now: Instant) -> bool {
        let mut acted = false;
        for endpoint in core::mem::take(&mut self.replying) {
            let Some(conversation) = self.conversations.get_mut(&endpoint) else { continue };
            let room = self.transport.room(endpoint);
            let idle = room == self.params.transport.queue_octets;
            match conversation.next_reply(room, idle) {
                Some(tsdu) => {
                    self.transport.request(now, Request::Data { endpoint, tsdu });
                    self.replying.insert(endpoint);
                    acted = true;
                }
                None => {
                    if let Some(octets) = conversation.first_reply_octets() {
                        self.transport.wait_for_room(endpoint, octets);
                    }
                }
            }
        }
        acted
    }

    /// Resumes the users that waited for room in a connection.
    pub(super) fn has_room(&mut self, endpoint: Endpoint) {
        let Some(conversation) = self.conversations.get(&endpoint) else { return };
        if conversation.has_replies() {
            self.replying.insert(endpoint);
        }
        if let Role::Sender(place) = conversation.role {
            self.waiting.wake(place);
        }
    }

    fn pump_flow(&mut self, now: Instant, place: usize) -> bool {
        let flowing = &mut self.flows[place];
        match flowing.sender.stage() {
            Stage::Waiting if flowing.sender.flow().start <= now => self.start(now, place),
            Stage::Running | Stage::Finishing => {
                flowing.sender.expire(now, &mut self.records);
                let handed = self.hand_over(now, place);
                let flowing = &self.flows[place];
                let done = flowing.sender.is_done() && flowing.drained;
                if done {
                    self.finish(now, place);
                }
                handed || done
            }
            Stage::Waiting | Stage::Opening | Stage::Over => false,
        }
    }

    fn start(&mut self, now: Instant, place: usize) -> bool {
        let flowing = &mut self.flows[place];
        match flowing.sender.flow().service {
            Service::Datagram => {
                flowing.sender.open(now);
            }
            Service::Message(options) => {
                let peer = flowing.sender.flow().peer;
                let to = To { station: peer, priority: flowing.sender.flow().priority };
                let sockets = self.sockets.as_mut();
                flowing.socket = sockets.and_then(|it| it.start(now, place, to, options));
                if flowing.socket.is_none() {
                    let id = flowing.sender.id();
                    self.end(place);
                    let (reason, orderly) = ("no socket", false);
                    self.record_event(now, id, Event::Ended { reason, orderly });
                    return true;
                }
                flowing.sender.open(now);
            }
            Service::Class4 => {
                let endpoint = self.transport.endpoint();
                self.transport.prioritise(endpoint, flowing.sender.flow().priority);
                flowing.endpoint = Some(endpoint);
                flowing.sender.opening(now);
                let (peer, id) = (flowing.sender.flow().peer, flowing.sender.id());
                let conversation = Conversation::new(Role::Sender(place), Some(id));
                self.conversations.insert(endpoint, conversation);
                let (peer, tsap) = (Address::Station(peer), Bytes::from_static(TSAP));
                let (called, calling, data) = (tsap.clone(), tsap, Bytes::new());
                let request = Request::Connect { endpoint, peer, called, calling, data };
                self.transport.request(now, request);
            }
        }
        true
    }

    /// Passes one message to the service, if one waits and the service accepts it.
    fn hand_over(&mut self, now: Instant, place: usize) -> bool {
        let Flowing { sender, endpoint, drained, is_crossing, .. } = &mut self.flows[place];
        if !sender.has_waiting() || *is_crossing {
            return false;
        }
        match (sender.flow().service, *endpoint) {
            (Service::Class4, Some(endpoint)) => {
                let room = self.transport.room(endpoint);
                let idle = room == self.params.transport.queue_octets;
                let octets = sender.flow().size_octets;
                if !idle && room < octets {
                    self.transport.wait_for_room(endpoint, octets);
                    return false;
                }
                let Some(tsdu) = sender.take_tsdu(now, &mut self.records) else { return false };
                *drained = false;
                self.submit_tsdu(now, place, endpoint, tsdu);
            }
            (Service::Class4, None) => return false,
            (Service::Message(_), _) => return self.hand_to_socket(now, place),
            (Service::Datagram, _) => {
                let Flow { pattern, priority, .. } = *sender.flow();
                if pattern == Pattern::Bulk && self.room_ahead(priority) == 0 {
                    self.waiting.for_frames(place, priority);
                    return false;
                }
                let sender = &mut self.flows[place].sender;
                let Some(data) = sender.take_lsdu(now, &mut self.records) else { return false };
                let to = To { station: sender.flow().peer, priority: sender.flow().priority };
                self.submit_lsdu(now, place, to, data);
            }
        }
        true
    }

    fn finish(&mut self, now: Instant, place: usize) {
        let id = self.flows[place].sender.id();
        self.abandon(now, place);
        self.record_event(now, id, Event::Done);
        self.record_event(now, id, Event::Ended { reason: "all sent", orderly: true });
    }

    /// Ends a flow and releases its resources.
    pub(super) fn abandon(&mut self, now: Instant, place: usize) {
        self.end(place);
        if let Some(endpoint) = self.flows[place].endpoint.take() {
            self.conversations.remove(&endpoint);
            let reason = disconnect_reason::NORMAL;
            self.transport.request(now, Request::Disconnect { endpoint, reason });
        }
        self.close_socket(now, place);
    }

    /// Ends a flow.
    pub(super) fn end(&mut self, place: usize) {
        let sender = &mut self.flows[place].sender;
        self.under_way -= usize::from(sender.stage() != Stage::Over);
        sender.end();
        self.waiting.until(place, None);
    }
}
