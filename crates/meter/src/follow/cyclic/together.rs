//! Frames that belong together: those of EtherCAT with their return, messages of PTP with those that
//! complete them.

use super::ethercat::{Sent, Way};
use super::extra::record;
use super::frame::{Detail, Frame, Number, PairKey, Part, Sending};
use super::ptp::Effect;
use super::{Cyclic, DETAILED, Protocol, Stream, Streams};
use crate::follow::transactions::SetUp;
use crate::lru_slab::Handle;
use crate::observation::StreamEvent;
use crate::oddity::{Class, Oddities};
use wire::time::Instant;
use wire::{cip_io, ethercat, ptp};

/// Maximum number of requests without an answer.
const REQUESTS: usize = 4_096;
/// Time after which an answer belongs to no request.
const REQUEST_NS: u64 = 10_000_000_000;

/// Request that has no answer yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    at: Instant,
    stream: Handle,
}

/// True if requests of this key have no number: the next one ends the wait for an answer.
fn is_numberless(key: PairKey) -> bool {
    key.protocol == Protocol::Powerlink
}

impl Cyclic {
    /// Observes a frame that others complete, or that completes others.
    // Never inline: other frames of cyclic data would pay for its registers.
    #[inline(never)]
    pub(super) fn together(
        &mut self,
        at: Instant,
        frame: &Frame<'_>,
        oddities: &mut Oddities,
        events: Option<&mut Vec<StreamEvent>>,
    ) {
        match frame.detail {
            Detail::None => {}
            Detail::EtherCat(pdu) => self.ethercat(at, frame, pdu, oddities, events),
            Detail::Ptp(pdu) => self.ptp(at, frame, pdu, oddities, events),
            Detail::CipIo(pdu) => self.cip_io(at, frame, pdu, oddities, events),
            Detail::Sent(Sending { stamp, part }) => {
                let (stamp, part) = (*stamp, *part);
                let Some(place) = self.place(at, frame, oddities) else { return };
                let copies = self.slab.at(place).report.copies;
                self.add(place, at, frame, events);
                let has_room = self.index.len() <= DETAILED;
                let stream = self.slab.at(place);
                if stream.report.copies > copies {
                    return;
                }
                if let Some(stamp) = stamp {
                    stream.making.get_or_insert_default().clock.add(at, stamp, has_room);
                }
                let own = self.slab.handle(place);
                if part.is_some_and(|part| !self.pair(Open { at, stream: own }, part, has_room)) {
                    oddities.count(Class::Meter, "one more open request than is followed");
                }
            }
        }
    }

    /// Pairs a request with its answers. Returns false if it is one more than is followed.
    fn pair(&mut self, now: Open, part: Part, has_room: bool) -> bool {
        match part {
            Part::Request(key) => {
                if self.requests.len() == REQUESTS && !self.requests.contains_key(&key) {
                    let limit = now.at.as_nanos().saturating_sub(REQUEST_NS);
                    self.requests.retain(|_, it| it.at.as_nanos() > limit);
                    if self.requests.len() == REQUESTS {
                        return false;
                    }
                }
                let before = self.requests.insert(key, now).filter(|_| is_numberless(key));
                let before = before.and_then(|it| self.slab.valid(it.stream));
                if let Some(stream) = before {
                    stream.making.get_or_insert_default().lost += 1;
                }
            }
            Part::Answer(key) => {
                if let Some(open) = self.requests.remove(&key) {
                    self.answered(open, now.at, open.stream, has_room);
                }
            }
            Part::OneAnswer(key) => {
                if let Some(open) = self.requests.get(&key).copied() {
                    self.answered(open, now.at, now.stream, has_room);
                }
            }
        }
        true
    }

    /// Records the time of an answer in this stream.
    fn answered(&mut self, open: Open, at: Instant, stream: Handle, has_room: bool) {
        let took_ns = at.as_nanos().saturating_sub(open.at.as_nanos());
        if took_ns > REQUEST_NS {
            return;
        }
        if let Some(stream) = self.slab.valid(stream) {
            let making = stream.making.get_or_insert_default();
            record(&mut making.round_trips, took_ns, has_room);
        }
    }

    fn cip_io(
        &mut self,
        at: Instant,
        frame: &Frame<'_>,
        pdu: &cip_io::Pdu<'_>,
        oddities: &mut Oddities,
        events: Option<&mut Vec<StreamEvent>>,
    ) {
        let [_, source] = frame.ends;
        let stated = self.set_ups.get((source, pdu.connection));
        // Input data have no header in front.
        let run = stated.filter(|it| it.is_output).and_then(|it| pdu.run_header(it.class));
        let frame = Frame {
            allowed_ns: stated.map(|it| it.watchdog_ns),
            state: run,
            is_invalid: run.is_some_and(|header| header & 1 == 0),
            ..*frame
        };
        let Some(place) = self.place(at, &frame, oddities) else { return };
        let copies = self.slab.at(place).report.copies;
        self.add(place, at, &frame, events);
        let stream = self.slab.at(place);
        if stream.report.copies > copies || stated.is_some_and(|it| it.class == 0) {
            return;
        }
        let Some(count) = pdu.count() else { return };
        let making = stream.making.get_or_insert_default();
        making.stalled += u64::from(making.counts.add(count, stated.is_some()));
    }

    /// Takes what explicit messages of EtherNet/IP set up.
    pub(crate) fn set_up(&mut self, set_up: &SetUp, oddities: &mut Oddities) {
        match set_up {
            SetUp::Opened(opened) => {
                if !self.set_ups.open(opened) {
                    oddities.count(Class::Meter, "Forward_Open with a watchdog beyond limits");
                }
            }
            SetUp::Closed { ends, serial } => {
                let closed = self.set_ups.close(*ends, *serial);
                if closed.is_empty() {
                    return;
                }
                // A connection that was closed is not silent.
                for place in self.slab.places() {
                    let Some(stream) = self.slab.get(place) else { continue };
                    let key = &stream.report.key;
                    if key.protocol == Protocol::CipIo
                        && closed.contains(&(key.source, key.identifier))
                    {
                        self.slab.at(place).report.allowed_ns = 0;
                    }
                }
            }
        }
    }

    fn ethercat(
        &mut self,
        at: Instant,
        frame: &Frame<'_>,
        pdu: &ethercat::Pdu<'_>,
        oddities: &mut Oddities,
        mut events: Option<&mut Vec<StreamEvent>>,
    ) {
        let Number::Index(index) = frame.number else { return };
        let has_room = self.index.len() <= DETAILED;
        if let Way::Back(ends) = self.masters.way(frame, pdu, index) {
            let sent = self.masters.back(ends, index, at);
            let stream = sent.and_then(|sent| Some((sent, self.slab.valid(sent.stream)?)));
            let Some((sent, stream)) = stream else {
                return oddities.count(Class::Meter, "EtherCAT frame back that was not seen out");
            };
            if sent.is_lost(at) {
                stream.making.get_or_insert_default().lost += 1;
                if let Some(events) = events {
                    events.push(StreamEvent::Missing(1));
                }
                return;
            }
            let changes = stream.changes;
            stream.back(at, sent.at, pdu, has_room);
            if let Some(events) = events.filter(|_| stream.changes > changes) {
                events.push(StreamEvent::StateChanged);
            }
            return;
        }
        let Some(place) = self.place(at, frame, oddities) else { return };
        let copies = self.slab.at(place).report.copies;
        self.add(place, at, frame, events.as_deref_mut());
        if self.slab.at(place).report.copies > copies {
            return;
        }
        let sent = Sent { at, stream: self.slab.handle(place) };
        let slab = &mut self.slab;
        let lost = |sent: Sent| {
            lost(slab, sent);
            if let Some(events) = &mut events {
                events.push(StreamEvent::Missing(1));
            }
        };
        if !self.masters.out(frame.ends, index, sent, lost) {
            oddities.count(Class::Meter, "frame of one more EtherCAT master than is followed");
        }
    }

    fn ptp(
        &mut self,
        at: Instant,
        frame: &Frame<'_>,
        pdu: &ptp::Pdu,
        oddities: &mut Oddities,
        events: Option<&mut Vec<StreamEvent>>,
    ) {
        let has_room = self.index.len() <= DETAILED;
        let Some(place) = self.place(at, frame, oddities) else { return };
        let copies = self.slab.at(place).report.copies;
        self.add(place, at, frame, events);
        if self.slab.at(place).report.copies > copies {
            return;
        }
        let own = self.slab.handle(place);
        let slab = &mut self.slab;
        let is_followed = self.ports.add(at, pdu, own, |stream, effect| {
            if let Some(stream) = slab.valid(stream) {
                stream.effect(effect, has_room);
            }
        });
        if !is_followed {
            oddities.count(Class::Meter, "message of one more PTP port than is followed");
        }
    }

    /// Gives up, at the end of measuring, frames that do not come back.
    pub(crate) fn finish(&mut self, at: Instant) {
        self.is_over = true;
        let slab = &mut self.slab;
        self.masters.finish(at, |sent| lost(slab, sent));
    }
}

/// Counts a frame that did not come back.
fn lost(slab: &mut Streams, sent: Sent) {
    if let Some(stream) = slab.valid(sent.stream) {
        stream.making.get_or_insert_default().lost += 1;
    }
}

impl Stream {
    /// Adds a frame of EtherCAT that came back at this time.
    fn back(&mut self, at: Instant, sent: Instant, pdu: &ethercat::Pdu<'_>, has_room: bool) {
        if self.report.frames < super::STEP_FROM {
            self.report.learn_step(at);
        }
        let making = self.making.get_or_insert_default();
        record(&mut making.round_trips, at.as_nanos().saturating_sub(sent.as_nanos()), has_room);
        making.low_working_counters += u64::from(making.working_counters.add(pdu));
        let mut datagrams = pdu.datagrams().flatten();
        let time = datagrams.find_map(|datagram| datagram.system_time());
        if let Some(ethercat::SystemTime { nanos, is_whole }) = time {
            let stamp = super::clock::Stamp { nanos, is_short: !is_whole };
            making.clock.add(sent, stamp, has_room);
        }
        let status = pdu.datagrams().flatten().find_map(|datagram| datagram.al_status());
        self.state(status.map(u32::from));
    }

    /// Takes the effect of a message of PTP.
    fn effect(&mut self, effect: Effect, has_room: bool) {
        let making = self.making.get_or_insert_default();
        let positive = |nanos: i64| u64::try_from(nanos).unwrap_or(0);
        match effect {
            Effect::Sync { at, stamp, correction_ns } => {
                making.clock.add(at, stamp, has_room);
                record(&mut making.corrections, positive(correction_ns), has_room);
            }
            Effect::Answer { round_trip_ns } => {
                record(&mut making.round_trips, round_trip_ns, has_room);
            }
            Effect::PeerDelay { nanos } => {
                record(&mut making.peer_delays, positive(nanos), has_room);
            }
            Effect::Lost => making.lost += 1,
            Effect::Announce { announce, is_change } => {
                making.announce = Some(announce);
                making.grandmaster_changes += u64::from(is_change);
            }
        }
    }
}
