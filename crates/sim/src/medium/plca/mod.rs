//! A 10BASE-T1S multidrop segment with physical layer collision avoidance (IEEE 802.3cg clause 148).
//!
//! ```text
//!   ┌beacon┐ 0    1    2 commits, sends             3    ┌beacon┐ 0    1 …
//!   ┴──────┴────┴────┴▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇── gap ┴────┴──────┴────┴──
//!             TO   TO                                 TO
//! ```
//!
//! Node 0, the coordinator, begins each cycle with a beacon. Then every node in turn has a transmit
//! opportunity. A node that has no frame when its opportunity begins yields, and the next one's
//! begins when the TO timer has run. A node that has one commits, and sends; with bursts it holds its
//! opportunity for further frames, each begun before the burst timer has run. So nobody collides, and
//! nobody waits longer than a cycle in which all others send what they may.
//!
//! A used opportunity is charged its frames with a gap behind each. The standard lets the last gap
//! overlap with opportunities that nobody takes and with the beacon, so that a cycle may be shorter by
//! a gap for each frame here, and is never longer. Where an idle cycle stands is computed, so that an
//! idle segment takes no steps.
//!
//! Not modelled: the MAC above PLCA with its logical collisions (a frame is pending as soon as it is
//! offered), and so the commit and pending timers; beacons that get lost, a coordinator that fails,
//! nodes without PLCA on the segment, noise, and how much later along the cable a node counts: a
//! segment whose round trip exceeds an opportunity is refused.

mod params;
mod statistics;

pub use params::{BALANCED_PAIR, FRAMING, Invalid, Params, RATE};
pub use statistics::Statistics;

use super::directory::Directory;
use super::{Delivery, Event, Medium, Misfit, Passage};
use core::time::Duration;
use params::BIT_NANOS;
use stack::fault::Fate;
use stack::machine::Deadline;
use stack::station::{self, Frame, Transmission};
use std::collections::{BTreeSet, VecDeque};
use wire::addr::Mac;
use wire::time::Instant;

/// Nanoseconds of the gap between two frames.
const GAP_NANOS: u64 = FRAMING.gap_bits * BIT_NANOS;

/// A segment with its stations' MAC entities.
#[derive(Clone, Debug)]
pub struct Plca {
    params: Params,
    /// Each station's place, as nanoseconds from the end of the pair.
    places: Vec<u64>,
    entities: Vec<Entity>,
    directory: Directory,
    /// Stations that have frames.
    alert: BTreeSet<usize>,
    turn: Turn,
    /// When the first opportunity of the cycle began.
    cycle_began: u64,
    due: Option<Deadline>,
    events: VecDeque<Event>,
    statistics: Statistics,
}

/// The MAC entity of one station.
#[derive(Clone, Debug, Default)]
struct Entity {
    /// The first is being sent, or waits to be.
    queue: VecDeque<Frame>,
    /// Since when the first has been the first.
    first_since: u64,
}

/// Whose turn it is. Times are nanoseconds.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// Nobody sends; this is an opportunity that has not begun, or one that nobody took.
    Open(Opportunity),
    /// A station sends a frame, `sent` frames after the first of its opportunity.
    Sending { station: usize, sent: u64, begun: u64, until: u64 },
    /// A station that has sent so many waits for one more frame, from `since`, until the timer ran.
    Holding { station: usize, sent: u64, since: u64, until: u64 },
}

/// A node's turn to send.
#[derive(Clone, Copy, Debug)]
struct Opportunity {
    begins: u64,
    node: u64,
}

impl Plca {
    /// A segment whose stations are yet to be attached.
    ///
    /// # Errors
    /// Where there cannot be such a segment.
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
            due: None,
            events: VecDeque::new(),
            statistics: Statistics::default(),
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Frames that stations still have waiting or in transmission.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.entities.iter().map(|entity| entity.queue.len()).sum()
    }

    /// Nanoseconds of an opportunity that nobody takes, of a beacon, and of a cycle of both.
    const fn spans(&self) -> (u64, u64, u64) {
        let opportunity = self.params.opportunity_bits * BIT_NANOS;
        let beacon = self.params.beacon_bits * BIT_NANOS;
        (opportunity, beacon, beacon + self.params.node_count * opportunity)
    }

    /// The opportunity so many after this one, if nobody takes any until then; counts the cycles.
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

    /// Lets all opportunities that begin before `now` go by; nobody takes any of them.
    fn pass_by(&mut self, now: u64) {
        let Turn::Open(from) = self.turn else { return };
        let Some(gone) = now.checked_sub(from.begins) else { return };
        let (opportunity, _, cycle) = self.spans();
        let count = self.params.node_count;
        // Since the opportunity of node 0 began, in this cycle and then in the last.
        let since = from.node * opportunity + gone;
        let (wraps, since) = (since / cycle, since % cycle);
        // Behind the last node comes a beacon, and then node 0.
        let node = since.div_ceil(opportunity).min(count);
        let steps = wraps * count + node - from.node;
        let next = self.step(from, steps);
        self.turn = Turn::Open(next);
    }

    /// What happens next, if anything does.
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

    /// How many opportunities go by, this one first, before one is taken.
    fn steps_to_next(&self, from: Opportunity) -> Option<u64> {
        let at_or_after = self.alert.range(from.node as usize..).next();
        let ahead = at_or_after.map(|node| *node as u64 - from.node);
        let around = || Some(*self.alert.first()? as u64 + self.params.node_count - from.node);
        ahead.or_else(around)
    }

    /// Lets happen what is due by `now`.
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
                    let taken = self.step(from, steps);
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

    /// The station begins with the first frame of its queue.
    fn begin(&mut self, station: usize, sent: u64, at: u64) {
        let entity = &self.entities[station];
        let frame = entity.queue.front().expect("who begins has a frame");
        let waited = Duration::from_nanos(at.saturating_sub(entity.first_since));
        let takes = FRAMING.wire_bits(frame.len()) * BIT_NANOS;
        let statistics = &mut self.statistics;
        statistics.longest_access = statistics.longest_access.max(waited);
        statistics.carried += Duration::from_nanos(takes);
        statistics.burst_frames += u64::from(sent > 0);
        self.turn = Turn::Sending { station, sent, begun: at, until: at + takes };
    }

    /// The last bit of the station's frame is out.
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

    /// A station that has sent so many frames in its opportunity sends another, holds, or is done.
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

    /// The station's opportunity ends.
    fn close(&mut self, station: usize, at: u64) {
        let (opportunity, ..) = self.spans();
        // As if it had begun so late that nobody had taken it.
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
        // Who just came does not take an opportunity that has begun already.
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
}
