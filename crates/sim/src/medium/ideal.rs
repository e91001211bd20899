//! Wire without contention: every station sends into a full-duplex pipe of its own.
//!
//! ```text
//!   offer ── queue ── [ first bit … last bit ] ── propagation ── delivery
//!                      one frame at a time
//! ```
//!
//! Not modelled: switches and their buffers, contention at the receiver (frames of two senders may
//! arrive in the same bit times), noise, and distance: every path has the same propagation delay.

use super::directory::Directory;
use super::framing::Framing;
use super::trace::{Slot, note_frame};
use super::{Delivery, Event, Medium, Misfit, Passage};
use crate::agenda::Agenda;
use core::time::Duration;
use stack::fault::Fate;
use stack::machine::Deadline;
use stack::station::{self, Frame, Transmission};
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// Parameters of an ideal medium.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Bit rate of each station; if `None`, frames take no transmission time.
    pub rate: Option<BitRate>,
    /// Delay from the last bit at the sender to the last bit at the receiver.
    pub propagation: Duration,
    /// Framing overhead of each frame.
    pub framing: Framing,
    /// Maximum number of frames waiting or in transmission per station; further frames are refused.
    pub queue_frames: usize,
}

/// Counters of an ideal medium.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Frames that stations offered.
    pub offered: u64,
    /// Frames sent completely.
    pub sent: u64,
    /// Frames refused because the queue was full.
    pub queue_drops: u64,
    /// Frames refused because they exceed the maximum length.
    pub oversized: u64,
}

/// Ideal medium.
#[derive(Clone, Debug)]
pub struct Ideal {
    params: Params,
    directory: Directory,
    entities: Vec<Entity>,
    /// End time of each station's frame in transmission.
    ends: Agenda,
    events: VecDeque<Event>,
    trace: Slot,
    statistics: Statistics,
}

/// MAC entity of one station.
#[derive(Clone, Default, Debug)]
struct Entity {
    /// Queue, whose first frame is in transmission.
    queue: VecDeque<Frame>,
    /// Start of the frame in transmission.
    started: Instant,
    /// End of the gap, and earliest start of the next frame.
    free: Instant,
}

impl Ideal {
    /// Creates an ideal medium.
    #[must_use]
    pub fn new(params: Params) -> Self {
        Self {
            params,
            directory: Directory::default(),
            entities: Vec::new(),
            ends: Agenda::default(),
            events: VecDeque::new(),
            trace: None,
            statistics: Statistics::default(),
        }
    }

    /// Counters of the run so far.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn bits(&self, bits: u64) -> Duration {
        self.params.rate.map_or(Duration::ZERO, |rate| rate.bits(bits))
    }

    fn refuse(&mut self, station: usize) {
        let outcome = Transmission::NotTaken;
        self.events.push_back(Event::Transmitted { station, queue: 0, outcome });
    }

    /// Starts the first frame of the station's queue, now or when the gap is over.
    fn begin(&mut self, now: Instant, station: usize) {
        let Some(octets) = self.entities[station].queue.front().map(Frame::len) else { return };
        let takes = self.bits(self.params.framing.wire_bits(octets));
        let entity = &mut self.entities[station];
        entity.started = now.max(entity.free);
        self.ends.schedule(station, entity.started + takes);
    }

    /// Ends the station's frame in transmission.
    fn end(&mut self, now: Instant, station: usize) {
        self.ends.cancel(station);
        let gap = self.bits(self.params.framing.gap_bits);
        let entity = &mut self.entities[station];
        let frame = entity.queue.pop_front().expect("a frame was in transmission");
        let begun = entity.started;
        let (started, at) = (begun + self.params.propagation, now + self.params.propagation);
        entity.free = now + gap;
        note_frame(&mut self.trace, station, || (begun, now), &frame);
        self.statistics.sent += 1;
        let passage =
            Passage { started, at, source: station, frame: frame.clone(), fate: Fate::Whole };
        self.events.push_back(Event::Passage(passage));
        if let Some(destination) = station::destination(&frame) {
            for recipient in self.directory.recipients(station, destination) {
                let delivery = Delivery { at, station: recipient, frame: frame.clone() };
                self.events.push_back(Event::Delivery(delivery));
            }
        }
        let outcome = Transmission::Sent;
        self.events.push_back(Event::Transmitted { station, queue: 0, outcome });
        self.begin(now, station);
    }
}

impl Medium for Ideal {
    fn attach(&mut self, addresses: &[Mac]) -> Result<(), Misfit> {
        self.directory = Directory::new(addresses);
        self.entities = vec![Entity::default(); addresses.len()];
        self.ends = Agenda::new(addresses.len());
        Ok(())
    }

    fn offer(&mut self, now: Instant, station: usize, frame: Frame) {
        self.statistics.offered += 1;
        if frame.len() > self.params.framing.maximum_octets {
            self.statistics.oversized += 1;
            return self.refuse(station);
        }
        let waiting = self.entities[station].queue.len();
        if waiting >= self.params.queue_frames {
            self.statistics.queue_drops += 1;
            return self.refuse(station);
        }
        self.entities[station].queue.push_back(frame);
        if waiting == 0 {
            self.begin(now, station);
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some((at, station)) = self.ends.first()
            && at <= now
        {
            self.end(at, station);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.ends.first().map(|(at, _)| Deadline { at, timer: "end of frame" })
    }

    fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn trace(&mut self) -> Option<&mut Slot> {
        Some(&mut self.trace)
    }

    fn counts(&self, count: &mut dyn FnMut(&str, u64)) {
        let Statistics { offered, sent, queue_drops, oversized } = self.statistics;
        count("medium.offered", offered);
        count("medium.sent", sent);
        count("medium.queue-drops", queue_drops);
        count("medium.oversized", oversized);
    }
}
