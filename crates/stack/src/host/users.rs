//! Users of a host: each flow is examined only when it has work.

use super::replies::Conversation;
use super::services::Task;
use super::waiting::Waiting;
use super::work::UNCONFIRMED;
use super::{Host, Unitdata};
use crate::load::jitter::Jitter;
use crate::load::{Event, Flow, FlowId, Record, Sender, Stage, Stamp};
use crate::messaging::Priority;
use crate::transport::Endpoint;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wire::packet::Packet;
use wire::time::Instant;

/// Maximum number of LSDUs for further SAPs that are kept until fetched.
const UNITDATA: usize = 64;

/// Sending end of a flow, with the service access that it has opened.
#[derive(Clone, Debug)]
pub(super) struct Flowing {
    pub(super) sender: Sender,
    pub(super) endpoint: Option<Endpoint>,
    pub(super) socket: Option<u8>,
    /// True if all data passed to the service has been acknowledged.
    pub(super) drained: bool,
    /// True while a message is on its way to its service.
    pub(super) is_crossing: bool,
    /// Number of messages whose confirm is under way.
    pub(super) unconfirmed: u32,
}

/// Users of a host.
#[derive(Clone, Debug, Default)]
pub(super) struct Users {
    /// True to accept connections and answer requests.
    pub(super) accepts: bool,
    /// True to echo the TSDUs of connections for an unknown TSAP.
    pub(super) echoes: bool,
    /// Nonce of the session whose load connections are accepted over network connections; without
    /// one, none are.
    pub(super) session: Option<u64>,
    pub(super) flows: Vec<Flowing>,
    /// Flows with pending work.
    pub(super) waiting: Waiting,
    /// Index of flow numbers.
    pub(super) places: BTreeSet<(FlowId, usize)>,
    /// Number of flows that have not ended.
    pub(super) under_way: usize,
    /// Number of times a flow was examined.
    pub(super) looks: u64,
    /// Boxed, because a node of the map has room for eleven, and most hosts have one.
    pub(super) conversations: BTreeMap<Endpoint, Box<Conversation>>,
    /// Connections with waiting TSDUs, and room for one.
    pub(super) replying: BTreeSet<Endpoint>,
    pub(super) records: VecDeque<Record>,
    pub(super) unitdata: VecDeque<Unitdata>,
    pub(super) echoed: u64,
}

impl Users {
    /// Reserves memory for a number of flows and no more, because large networks have hosts of one flow.
    pub(super) fn reserve(&mut self, flows: usize) {
        self.flows.reserve_exact(flows);
    }

    pub(super) fn add(&mut self, flow: Flow) {
        let place = self.flows.len();
        self.places.insert((flow.id, place));
        self.waiting.until(place, Some(flow.start));
        let sender = Sender::new(flow);
        self.flows.push(Flowing {
            sender,
            endpoint: None,
            socket: None,
            drained: true,
            is_crossing: false,
            unconfirmed: 0,
        });
        self.under_way += 1;
    }

    /// Draws the intervals of a flow from this table; no effect on flows of other hosts.
    pub(super) fn deviate(&mut self, flow: FlowId, jitter: Jitter) {
        let of_flow = self.places.range((flow, 0)..=(flow, usize::MAX)).next();
        let flowing = of_flow.and_then(|(_, place)| self.flows.get_mut(*place));
        if let Some(Flowing { sender, .. }) = flowing {
            sender.deviate(jitter);
        }
    }

    /// Flow at this place.
    pub(super) fn flow(&self, place: usize) -> &Flow {
        self.flows[place].sender.flow()
    }

    pub(super) fn record(&mut self, at: Instant, flow: FlowId, event: Event) {
        self.records.push_back(Record { at, flow, event });
    }

    /// Keeps an LSDU until it is fetched.
    pub(super) fn keep_unitdata(&mut self, lsdu: Unitdata) {
        if self.unitdata.len() < UNITDATA {
            self.unitdata.push_back(lsdu);
        }
    }

    /// Takes the oldest waiting message of a flow as a TSDU.
    #[inline]
    pub(super) fn take_tsdu(&mut self, now: Instant, place: usize) -> Option<Bytes> {
        let flowing = &mut self.flows[place];
        let tsdu = flowing.sender.take_tsdu(now, &mut self.records)?;
        flowing.drained = false;
        Some(tsdu)
    }

    /// Takes the oldest waiting message of a flow whose service makes its octets: sequence number and
    /// due time.
    pub(super) fn take_call(&mut self, now: Instant, place: usize) -> Option<(u32, Instant)> {
        self.flows[place].sender.take_call(now, &mut self.records)
    }

    /// Takes the oldest waiting message of a flow whose service makes its octets: its stamp.
    #[inline]
    pub(super) fn take_stamp(&mut self, now: Instant, place: usize) -> Option<Stamp> {
        self.flows[place].sender.take_stamp(now, &mut self.records)
    }

    /// Takes the oldest waiting message of a flow as an LSDU.
    #[inline]
    pub(super) fn take_lsdu(&mut self, now: Instant, place: usize) -> Option<Packet> {
        self.flows[place].sender.take_lsdu(now, &mut self.records)
    }

    /// Notes that all data passed to the service of a flow has been acknowledged.
    pub(super) fn drained(&mut self, place: usize) {
        self.flows[place].drained = true;
        self.waiting.wake(place);
    }

    /// Ends a flow.
    pub(super) fn end(&mut self, place: usize) {
        let sender = &mut self.flows[place].sender;
        self.under_way -= usize::from(sender.stage() != Stage::Over);
        sender.end();
        self.waiting.until(place, None);
    }
}

impl Host {
    /// Runs every user that has work; returns true if any acted.
    pub(super) fn pump(&mut self, now: Instant) -> bool {
        let mut acted = self.pump_replies(now) | self.pump_files(now);
        self.users.waiting.come_due(now);
        if self.users.waiting.is_for_frames() {
            for priority in Priority::ALL {
                let room = self.room_ahead(priority);
                self.users.waiting.frames_left(priority, room);
            }
        }
        for _ in 0..self.users.waiting.woken() {
            let Some(place) = self.users.waiting.next() else { break };
            self.users.looks += 1;
            let has_acted = self.pump_flow(now, place);
            acted |= has_acted;
            let Users { flows, waiting, .. } = &mut self.users;
            let sender = &flows[place].sender;
            if has_acted && !sender.rests(now) {
                waiting.wake(place);
            } else {
                waiting.until(place, sender.deadline().map(|due| due.at));
            }
        }
        acted
    }

    fn pump_flow(&mut self, now: Instant, place: usize) -> bool {
        let Users { flows, records, .. } = &mut self.users;
        let sender = &mut flows[place].sender;
        match sender.stage() {
            Stage::Waiting if sender.flow().start <= now => self.serve(now, place, Task::Start),
            Stage::Running | Stage::Finishing => {
                sender.expire(now, records);
                let handed = self.hand_over(now, place);
                let flowing = &self.users.flows[place];
                let done = flowing.sender.is_done() && flowing.drained;
                if done {
                    self.finish(now, place);
                }
                handed || done
            }
            Stage::Waiting | Stage::Opening | Stage::Over => false,
        }
    }

    /// Passes one message to the service, if one waits and the service accepts it.
    fn hand_over(&mut self, now: Instant, place: usize) -> bool {
        let flowing = &self.users.flows[place];
        let is_free = !flowing.is_crossing && flowing.unconfirmed < UNCONFIRMED;
        flowing.sender.has_waiting() && is_free && self.serve(now, place, Task::HandOver)
    }

    /// Number of frames of bulk datagram flows of this priority that may still be passed on.
    pub(super) fn room_ahead(&self, priority: Priority) -> usize {
        self.link.as_ref().map_or(0, |link| link.room_ahead(priority))
    }

    /// Releases the connection of a completed flow, or completes it at once.
    fn finish(&mut self, now: Instant, place: usize) {
        match self.users.flows[place].endpoint {
            Some(endpoint) => {
                self.users.flows[place].drained = false;
                self.release(now, endpoint);
            }
            None => self.complete(now, place),
        }
    }

    /// Ends a flow whose messages were all delivered.
    pub(super) fn complete(&mut self, now: Instant, place: usize) {
        let id = self.users.flow(place).id;
        self.abandon(now, place);
        self.users.record(now, id, Event::Done);
        self.users.record(now, id, Event::Ended { reason: "all sent", orderly: true });
    }

    /// Ends a flow that its service cannot carry; returns true, because a flow has changed.
    pub(super) fn refuse(&mut self, now: Instant, place: usize, reason: &'static str) -> bool {
        let id = self.users.flow(place).id;
        self.users.end(place);
        self.users.record(now, id, Event::Ended { reason, orderly: false });
        true
    }

    /// Ends a flow, and releases what its service has opened.
    pub(super) fn abandon(&mut self, now: Instant, place: usize) {
        self.users.end(place);
        self.serve(now, place, Task::Close);
    }
}
