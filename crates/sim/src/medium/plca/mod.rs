//! 10BASE-T1S multidrop segment with physical layer collision avoidance (IEEE 802.3cg clause 148).
//!
//! ```text
//!   ┌beacon┐ 0    1    2 commits, sends             3    ┌beacon┐ 0    1 …
//!   ┴──────┴────┴────┴▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇── gap ┴────┴──────┴────┴──
//!             TO   TO                                 TO
//! ```
//!
//! Node 0, the coordinator, begins each cycle with a beacon. Then every node in turn has a transmit
//! opportunity. A node without a frame at the start of its opportunity yields; the next opportunity
//! begins when the TO timer expires. A node with a frame commits and sends. With bursts it holds
//! its opportunity for further frames, each begun before the burst timer expires. So there are no
//! collisions, and no node waits longer than a cycle in which all other nodes send their maximum.
//!
//! A used opportunity is charged its frames with a gap after each. The standard lets the last gap
//! overlap with unused opportunities and with the beacon, so a real cycle may be shorter by one gap
//! per used opportunity, and is never longer. The position of an idle cycle is computed, so an idle
//! segment costs no events.
//!
//! Not modelled: the MAC above PLCA with its logical collisions (a frame is pending as soon as it
//! is offered), and so the commit and pending timers; lost beacons; failure of the coordinator;
//! nodes without PLCA; noise; and differences in the nodes' counting caused by propagation along
//! the cable: a segment whose round trip exceeds an opportunity is refused.

mod params;
mod statistics;
mod tracing;

pub use params::{BALANCED_PAIR, FRAMING, Invalid, Params, RATE};
pub use statistics::Statistics;

use super::directory::Directory;
use super::trace::{Slot, note_frame};
use super::{Delivery, Event, Medium, Misfit, Passage};
use core::time::Duration;
use params::BIT_NANOS;
use stack::fault::Fate;
use stack::machine::Deadline;
use stack::station::{self, Frame, Transmission};
use std::collections::{BTreeSet, VecDeque};
use wire::addr::Mac;
use wire::time::Instant;

/// Gap between two frames, in nanoseconds.
const GAP_NANOS: u64 = FRAMING.gap_bits * BIT_NANOS;

/// Segment with its stations' MAC entities.
#[derive(Clone, Debug)]
pub struct Plca {
    params: Params,
    /// Position of each station as propagation delay from the end of the pair, in nanoseconds.
    places: Vec<u64>,
    entities: Vec<Entity>,
    directory: Directory,
    /// Stations that have frames.
    alert: BTreeSet<usize>,
    turn: Turn,
    /// Start of the cycle's first opportunity, in nanoseconds.
    cycle_began: u64,
    /// Start of the latest opportunity that was used, in nanoseconds.
    opened: u64,
    due: Option<Deadline>,
    events: VecDeque<Event>,
    trace: Slot,
    statistics: Statistics,
}

/// MAC entity of one station.
#[derive(Clone, Debug, Default)]
struct Entity {
    /// Queue, whose first frame is being sent or waits to be sent.
    queue: VecDeque<Frame>,
    /// Time at which the first frame reached the head of the queue, in nanoseconds.
    first_since: u64,
}

/// Current holder of the segment. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// No node sends; this opportunity has not begun, or was not used.
    Open(Opportunity),
    /// A station sends a frame, after `sent` frames of the same opportunity.
    Sending { station: usize, sent: u64, begun: u64, until: u64 },
    /// A station that has sent `sent` frames waits for one more, from `since` until the burst timer
    /// expires.
    Holding { station: usize, sent: u64, since: u64, until: u64 },
}

/// Transmit opportunity of a node.
#[derive(Clone, Copy, Debug)]
struct Opportunity {
    begins: u64,
    node: u64,
}

impl Plca {
    /// Creates a segment whose stations are yet to be attached.
    ///
    /// # Errors
    /// Fails if the parameters are not allowed.
    pub fn new(params: Params) -> Result<Self, Invalid> {
        let places = params.places()?;
        params.check(&places)?;
        let begins = params.beacon_bits * BIT_NANOS;
        Ok(Self {
            params,
            places,
            entities: Vec::new(),
            directory: Directory::default(),
            alert: BTreeSet::new(),
            turn: Turn::Open(Opportunity { begins, node: 0 }),
            cycle_began: begins,
            opened: 0,
            due: None,
            events: VecDeque::new(),
            trace: None,
            statistics: Statistics::default(),
        })
    }

    /// Counters of the run so far.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Frames that are waiting or in transmission.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.entities.iter().map(|entity| entity.queue.len()).sum()
    }

    /// Durations of an unused opportunity, of a beacon, and of an idle cycle, in nanoseconds.
    const fn spans(&self) -> (u64, u64, u64) {
        let opportunity = self.params.opportunity_bits * BIT_NANOS;
        let beacon = self.params.beacon_bits * BIT_NANOS;
        (opportunity, beacon, beacon + self.params.node_count * opportunity)
    }

    /// Returns the opportunity `steps` after `from`, if none is used until then; counts the cycles.
    fn step(&mut self, from: Opportunity, steps: u64) -> Opportunity {
        let (opportunity, beacon, cycle) = self.spans();
        let count = self.params.node_count;
        let wraps = (from.node + steps) / count;
        if wraps > 0 {
            let first = from.begins + (count - from.node) * opportunity + beacon;
            let longest = &mut self.statistics.longest_cycle;
            *longest = (*longest).max(Duration::from_nanos(first - self.cycle_began));
            if wraps > 1 {
                *longest = (*longest).max(Duration::from_nanos(cycle));
            }
            self.statistics.cycles += wraps;
            self.cycle_began = first + (wraps - 1) * cycle;
        }
        Opportunity {
            begins: from.begins + steps * opportunity + wraps * beacon,
            node: (from.node + steps) % count,
        }
    }

    /// Skips all opportunities that begin before `now`; none of them is used.
    fn pass_by(&mut self, now: u64) {
        let Turn::Open(from) = self.turn else { return };
        let Some(gone) = now.checked_sub(from.begins) else { return };
        let (opportunity, _, cycle) = self.spans();
        let count = self.params.node_count;
        // Time since the opportunity of node 0, first of this cycle and then of the latest.
        let since = from.node * opportunity + gone;
        let (wraps, since) = (since / cycle, since % cycle);
        // After the last node come a beacon and node 0.
        let node = since.div_ceil(opportunity).min(count);
        let steps = wraps * count + node - from.node;
        self.note_unused(from, steps);
        let next = self.step(from, steps);
        self.turn = Turn::Open(next);
    }

    /// Time and timer name of the next event, if there is one.
    fn next(&self) -> Option<(u64, &'static str)> {
        match self.turn {
            Turn::Sending { until, .. } => Some((until, "end of frame")),
            Turn::Holding { until, .. } => Some((until, "burst timer")),
            Turn::Open(from) => {
                let (opportunity, beacon, _) = self.spans();
                let steps = self.steps_to_next(from)?;
                let wraps = (from.node + steps) / self.params.node_count;
                Some((from.begins + steps * opportunity + wraps * beacon, "opportunity"))
            }
        }
    }

    /// Number of opportunities, from this one on, that pass before one is used.
    fn steps_to_next(&self, from: Opportunity) -> Option<u64> {
        let at_or_after = self.alert.range(from.node as usize..).next();
        let ahead = at_or_after.map(|node| *node as u64 - from.node);
        let around = || Some(*self.alert.first()? as u64 + self.params.node_count - from.node);
        ahead.or_else(around)
    }

    /// Handles all events that are due by `now`.
    fn advance(&mut self, now: u64) {
        loop {
            let next = self.next();
            self.due = next.map(|(at, timer)| Deadline { at: Instant::from_nanos(at), timer });
            if next.is_none_or(|(at, _)| at > now) {
                return;
            }
            match self.turn {
                Turn::Open(from) => {
                    let Some(steps) = self.steps_to_next(from) else { return };
                    self.note_unused(from, steps);
                    let taken = self.step(from, steps);
                    self.opened = taken.begins;
                    self.statistics.opportunities_used += 1;
                    self.begin(taken.node as usize, 0, taken.begins);
                }
                Turn::Sending { station, sent, begun, until } => {
                    self.end(station, begun, until);
                    self.go_on(station, sent + 1, until);
                }
                Turn::Holding { station, until, .. } => self.close(station, until),
            }
        }
    }

    /// Starts the first frame of the station's queue.
    fn begin(&mut self, station: usize, sent: u64, at: u64) {
        let entity = &self.entities[station];
        let frame = entity.queue.front().expect("a station that begins has a frame");
        let waited = Duration::from_nanos(at.saturating_sub(entity.first_since));
        let takes = FRAMING.wire_bits(frame.len()) * BIT_NANOS;
        let statistics = &mut self.statistics;
        statistics.longest_access = statistics.longest_access.max(waited);
        statistics.carried += Duration::from_nanos(takes);
        statistics.burst_frames += u64::from(sent > 0);
        self.turn = Turn::Sending { station, sent, begun: at, until: at + takes };
    }

    /// Ends the station's frame.
    fn end(&mut self, source: usize, begun: u64, at: u64) {
        let entity = &mut self.entities[source];
        let frame = entity.queue.pop_front().expect("a frame was being sent");
        entity.first_since = at;
        if entity.queue.is_empty() {
            self.alert.remove(&source);
        }
        let place = self.places[source];
        self.events.push_back(Event::Passage(Passage {
            started: Instant::from_nanos(begun + place),
            at: Instant::from_nanos(at + place),
            source,
            frame: frame.clone(),
            fate: Fate::Whole,
        }));
        let span = || (Instant::from_nanos(begun), Instant::from_nanos(at));
        note_frame(&mut self.trace, source, span, &frame);
        let mut meant = false;
        if let Some(destination) = station::destination(&frame) {
            for station in self.directory.recipients(source, destination) {
                meant = true;
                let at = Instant::from_nanos(at + place.abs_diff(self.places[station]));
                let delivery = Delivery { at, station, frame: frame.clone() };
                self.events.push_back(Event::Delivery(delivery));
            }
        }
        self.statistics.sent += 1;
        self.statistics.unrecognised += u64::from(!meant);
        self.tell(source, Transmission::Sent);
    }

    /// Continues an opportunity in which `sent` frames were sent: the station sends another, holds,
    /// or is done.
    fn go_on(&mut self, station: usize, sent: u64, at: u64) {
        if sent > self.params.maximum_burst {
            self.close(station, at + GAP_NANOS);
        } else if self.entities[station].queue.is_empty() {
            let until = at + self.params.burst_bits * BIT_NANOS;
            self.turn = Turn::Holding { station, sent, since: at, until };
        } else {
            self.begin(station, sent, at + GAP_NANOS);
        }
    }

    /// Ends the station's opportunity.
    fn close(&mut self, station: usize, at: u64) {
        self.note_used(station, at);
        let (opportunity, ..) = self.spans();
        // Equivalent to an unused opportunity that ends now.
        let ended = Opportunity { begins: at - opportunity, node: station as u64 };
        let next = self.step(ended, 1);
        self.turn = Turn::Open(next);
    }

    fn tell(&mut self, station: usize, outcome: Transmission) {
        self.events.push_back(Event::Transmitted { station, queue: 0, outcome });
    }
}

impl Medium for Plca {
    fn attach(&mut self, addresses: &[Mac]) -> Result<(), Misfit> {
        let places = self.places.len();
        if places != addresses.len() {
            return Err(Misfit { places, stations: addresses.len() });
        }
        self.directory = Directory::new(addresses);
        self.entities = vec![Entity::default(); places];
        Ok(())
    }

    fn offer(&mut self, now: Instant, station: usize, frame: Frame) {
        self.statistics.offered += 1;
        if frame.len() > FRAMING.maximum_octets {
            self.statistics.oversized += 1;
            return self.tell(station, Transmission::NotTaken);
        }
        let now = now.as_nanos();
        self.advance(now);
        if self.entities[station].queue.len() >= self.params.queue_frames {
            self.statistics.queue_drops += 1;
            return self.tell(station, Transmission::NotTaken);
        }
        // A station with a new frame cannot use an opportunity that has already begun.
        self.pass_by(now);
        let entity = &mut self.entities[station];
        if entity.queue.is_empty() {
            entity.first_since = now;
        }
        entity.queue.push_back(frame);
        self.alert.insert(station);
        if let Turn::Holding { station: holder, sent, since, .. } = self.turn
            && holder == station
        {
            self.begin(station, sent, now.max(since + GAP_NANOS));
        }
        self.advance(now);
    }

    fn expire(&mut self, now: Instant) {
        self.advance(now.as_nanos());
    }

    fn deadline(&self) -> Option<Deadline> {
        self.due
    }

    fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn trace(&mut self) -> Option<&mut Slot> {
        Some(&mut self.trace)
    }

    fn complete_trace(&mut self, now: Instant) {
        self.note_idle(now.as_nanos());
    }

    fn counts(&self, count: &mut dyn FnMut(&str, u64)) {
        self.statistics.counts(count);
    }
}
