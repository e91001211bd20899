//! Shared bus: CSMA/CD, half duplex (IEEE 802.3 clause 4.2).
//!
//! ```text
//!   A ──── s ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇ jam ┐                 both receive the other while they send, each
//!          ╲                ╱       backoff          at its own time: they finish the preamble,
//!            ╲            ╱                          jam, and draw a backoff
//!   B ───────── s ▇▇▇▇▇▇▇▇ jam ┐
//! ```
//!
//! Every station receives every signal with the propagation delay of the distance. A station starts
//! 1-persistently as soon as deference allows. It detects a collision when another signal reaches
//! it while it sends; after 32 bit times of jam it stops, though not before its preamble is out.
//! After its n-th collision a frame waits r slots from the end of the jam, r uniform from 0 to
//! 2^min(n,10) - 1, while deference goes on. After 16 collisions the frame is discarded.
//!
//! Few events are needed: a signal's end is assumed when it starts, and corrected when another
//! start is found to collide with it. A frame without a collision costs two events, its start and
//! its end. The start of a waiting station is computed from the few signals it may still receive.
//!
//! Not modelled: repeaters and their gap shrinkage, noise and signal loss, late collisions (a bus
//! whose round trip exceeds a slot is refused), carrier extension, bursts, and a station's own
//! delay in detecting carrier and collisions.

mod deference;
mod params;
mod signal;
mod statistics;

pub use params::{Invalid, Params, THICK_COAX, Timing};
pub use statistics::{ATTEMPTS, Statistics};

use super::directory::Directory;
use super::trace::{Kind, Slot, note, note_frame};
use super::{Delivery, Event, Medium, Misfit, Passage};
use deference::{Carrier, Deference, Gap, later};

use signal::Signal;
use smallvec::SmallVec;
use stack::fault::Fate;
use stack::machine::Deadline;
use stack::station::{self, Frame, Transmission};
use stats::rng::Stream;
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::time::{Instant, nanos};

/// Shared bus with its stations' MAC entities.
#[derive(Clone, Debug)]
pub struct CsmaCd {
    params: Params,
    times: Times,
    directory: Directory,
    entities: Vec<Entity>,
    /// Stations that have a frame and are not sending it, in no particular order.
    waiting: Vec<Waiting>,
    /// Signals that a station may still receive or defer to, in the order of their starts.
    signals: Vec<Signal>,
    /// Number of leading `signals` that reach every station before any of the rest.
    past: usize,
    /// Deference state from signals that have been dropped, before those in `noted`.
    heard: Heard,
    /// Dropped signals that may still matter to some station's deference.
    noted: Vec<Signal>,
    due: Option<Due>,
    /// Number of stations that are sending, and the time since which it has been above 0.
    sending: (usize, Instant),
    events: VecDeque<Event>,
    is_observed: bool,
    trace: Slot,
    statistics: Statistics,
}

/// Time constants of the bus, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    slot: u64,
    preamble: u64,
    jam: u64,
    gap: Gap,
    /// Observer's position.
    tap: u64,
}

/// MAC entity of one station.
#[derive(Clone, Debug)]
struct Entity {
    /// Propagation delay from the end of the cable to the station, in nanoseconds.
    place: u64,
    /// Propagation delay from the station to the farther end, in nanoseconds.
    reach: u64,
    /// Queue, whose first frame is being sent or waits to be sent.
    queue: VecDeque<Frame>,
    /// Collisions of the first frame so far.
    attempts: u32,
    /// Time at which that frame became ready: it reached the head of the queue, or its backoff
    /// ended.
    ready: Instant,
    /// Deference state of this station, valid in [`Heard::Apart`].
    deference: Deference,
    backoff: Stream,
}

/// Waiting station.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    station: usize,
    /// Time at which it will start, as known so far.
    start: Instant,
}

/// Deference state of the stations from signals that have been dropped.
#[derive(Clone, Copy, Debug)]
enum Heard {
    /// No signal that a station still defers to.
    Nothing,
    /// This signal was the last busy period of every station.
    Alone(Signal),
    /// Each entity has its own state; by this time all stations had received all of those signals.
    Apart(Instant),
}

/// Maximum number of dropped signals kept for all stations; more update each station's own state.
const NOTED: usize = 16;

/// Next event.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: Instant,
    what: What,
}

/// Kinds of events. At one instant, ends come before starts, signals in the order in which they
/// started, and stations in the order of their numbers.
#[derive(Clone, Copy, Debug)]
enum What {
    /// End of the signal at this index.
    End(usize),
    /// Start of the station at this index among those that wait.
    Start(usize),
}

impl CsmaCd {
    /// Creates a bus whose stations are yet to be attached.
    ///
    /// # Errors
    /// Fails if the standard does not allow such a bus.
    pub fn new(params: Params) -> Result<Self, Invalid> {
        let places = params.places()?;
        let stations = places.get(..params.positions_metres.len()).unwrap_or_default();
        let length = stations.iter().max().unwrap_or(&0) - stations.iter().min().unwrap_or(&0);
        params.check(length)?;
        let bits = |bits| nanos(params.rate.bits(bits));
        let times = Times {
            slot: bits(params.timing.slot_bits),
            preamble: bits(params.framing.preamble_octets as u64 * 8),
            jam: bits(params.timing.jam_bits),
            gap: Gap {
                part_1: bits(params.timing.gap_part_1_bits),
                whole: bits(params.framing.gap_bits),
            },
            tap: places.last().copied().unwrap_or(0),
        };
        Ok(Self {
            params,
            times,
            directory: Directory::default(),
            entities: Vec::new(),
            waiting: Vec::new(),
            signals: Vec::new(),
            past: 0,
            heard: Heard::Nothing,
            noted: Vec::new(),
            due: None,
            sending: (0, Instant::ZERO),
            events: VecDeque::new(),
            is_observed: true,
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

    fn tell(&mut self, station: usize, outcome: Transmission) {
        self.events.push_back(Event::Transmitted { station, queue: 0, outcome });
    }

    /// Enters the first frame of the station's queue, ready at `ready`, into contention.
    fn contend(&mut self, station: usize, ready: Instant) {
        self.entities[station].ready = ready;
        let start = self.starts(station, self.silent());
        self.waiting.push(Waiting { station, start });
    }

    /// Time from which no station defers to any past or present signal. Every station had received
    /// the dropped signals before the last of those that are kept began.
    fn silent(&self) -> Instant {
        let heard = self.signals.iter().map(Signal::heard_by_all).max();
        heard.map_or(Instant::ZERO, |heard| later(heard, self.times.gap.whole))
    }

    /// Time at which the waiting station will start to send if no other station starts before.
    fn starts(&self, station: usize, silent: Instant) -> Instant {
        let (ready, gap) = (self.entities[station].ready, self.times.gap);
        if ready >= silent {
            return ready;
        }
        let deference = self.deference(station);
        match self.signals.as_slice() {
            [] => deference.start(ready, &[], gap),
            [signal] => deference.start(ready, &[self.carrier(signal, station)], gap),
            signals => deference.start(ready, &self.carriers(signals, station), gap),
        }
    }

    /// Deference state of the station from signals that have been dropped.
    fn deference(&self, station: usize) -> Deference {
        let mut deference = match &self.heard {
            Heard::Nothing => Deference::default(),
            Heard::Alone(signal) => Deference::after(self.carrier(signal, station)),
            Heard::Apart(_) => self.entities[station].deference,
        };
        if !self.noted.is_empty() {
            let carriers = self.carriers(&self.noted, station);
            carriers.iter().for_each(|carrier| deference.hear(*carrier, self.times.gap));
        }
        deference
    }

    /// These signals as received by the station, in the order in which they rise there.
    fn carriers(&self, signals: &[Signal], station: usize) -> SmallVec<[Carrier; 4]> {
        let mut carriers: SmallVec<[Carrier; 4]> = SmallVec::new();
        for signal in signals {
            let mut place = carriers.len();
            carriers.push(self.carrier(signal, station));
            // Few are out of order.
            while place > 0 && carriers[place] < carriers[place - 1] {
                carriers.swap(place, place - 1);
                place -= 1;
            }
        }
        carriers
    }

    fn carrier(&self, signal: &Signal, station: usize) -> Carrier {
        let own = signal.station == station;
        Carrier { own, ..signal.as_heard_at(self.entities[station].place) }
    }

    /// Next event, as known so far.
    fn next(&self) -> Option<Due> {
        // Two plain loops: this runs at every start and every end.
        let mut at = Instant::MAX;
        let mut what = None;
        if self.sending.0 > 0 {
            for (index, signal) in self.signals.iter().enumerate() {
                if signal.on && signal.end < at {
                    (at, what) = (signal.end, Some(What::End(index)));
                }
            }
        }
        let mut first = usize::MAX;
        for (index, Waiting { station, start }) in self.waiting.iter().enumerate() {
            if *start < at
                || (*start == at && *station < first && !matches!(what, Some(What::End(_))))
            {
                (at, what, first) = (*start, Some(What::Start(index)), *station);
            }
        }
        what.map(|what| Due { at, what })
    }

    /// Handles all events that are due by `now`.
    fn advance(&mut self, now: Instant) {
        while let Some(Due { at, what }) = self.due
            && at <= now
        {
            match what {
                What::Start(place) => self.start(at, place),
                What::End(index) => self.end(at, index),
            }
            self.due = self.next();
        }
    }

    /// Starts the first frame of the station at index `place` of those that wait.
    fn start(&mut self, now: Instant, place: usize) {
        let Waiting { station, .. } = self.waiting.swap_remove(place);
        self.forget(now, station);
        let entity = &self.entities[station];
        if entity.attempts == 0 && now > entity.ready {
            self.statistics.deferred += 1;
        }
        let octets = entity.queue.front().map_or(0, Frame::len);
        let bits = self.params.framing.wire_bits(octets);
        let mut signal = Signal {
            station,
            place: entity.place,
            reach: entity.reach,
            start: now,
            end: now + self.params.rate.bits(bits),
            collided: false,
            on: true,
        };
        self.meet(&mut signal);
        if self.sending.0 == 0 {
            self.sending.1 = now;
        }
        self.sending.0 += 1;
        self.signals.push(signal);
        if !self.waiting.is_empty() {
            let silent = self.silent();
            for index in 0..self.waiting.len() {
                self.waiting[index].start = self.starts(self.waiting[index].station, silent);
            }
        }
    }

    /// Finds the signals that a starting signal collides with, and when each station detects it.
    ///
    /// These results stay valid. An end that moves later on only moves to after the instant at
    /// which that is found out, and the first bits of a fragment, with which later signals collide,
    /// are never taken back.
    fn meet(&mut self, signal: &mut Signal) {
        let mut met = false;
        let mut joined = false;
        // Earliest time at which a station detects a collision.
        let mut found = Instant::MAX;
        for other in &mut self.signals {
            let here = other.as_heard_at(signal.place);
            if here.rises < signal.end && here.falls > signal.start {
                (met, joined) = (true, joined || other.collided);
                let detected = here.rises.max(signal.start);
                found = found.min(detected);
                signal.collide(detected, self.times);
            }
            let there = signal.as_heard_at(other.place).rises;
            if there < other.end {
                (met, joined) = (true, joined || other.collided);
                found = found.min(there);
                other.collide(there, self.times);
            }
        }
        if met && !joined {
            self.statistics.collisions += 1;
            note(&mut self.trace, signal.station, || (found, found), || Kind::Collision);
        }
    }

    /// Ends a signal: its frame is through, or it was jammed.
    fn end(&mut self, now: Instant, index: usize) {
        let signal = &mut self.signals[index];
        signal.on = false;
        let signal = *signal;
        self.sending.0 -= 1;
        if self.sending.0 == 0 {
            self.statistics.busy += now.since(self.sending.1);
        }
        let span = || (signal.start, now);
        if signal.collided {
            if let Some(frame) = self.entities[signal.station].queue.front() {
                let kind = || Kind::Fragment(frame.clone());
                note(&mut self.trace, signal.station, span, kind);
            }
            self.back_off(now, signal.station);
        } else {
            self.succeed(now, signal);
        }
    }

    /// Handles a further collision of the station's frame.
    fn back_off(&mut self, now: Instant, station: usize) {
        self.statistics.fragments += 1;
        let entity = &mut self.entities[station];
        entity.attempts += 1;
        if entity.attempts < self.params.timing.attempt_limit {
            let range = 1 << entity.attempts.min(self.params.timing.backoff_limit).min(63);
            let slots = entity.backoff.below(range);
            let until = later(now, slots.saturating_mul(self.times.slot));
            note(&mut self.trace, station, || (now, until), || Kind::Backoff { slots });
            return self.contend(station, until);
        }
        self.statistics.excessive_collisions += 1;
        entity.queue.pop_front();
        self.tell(station, Transmission::GivenUp);
        self.turn_to_next(now, station);
    }

    /// Handles the successful end of the station's frame.
    fn succeed(&mut self, now: Instant, signal: Signal) {
        let source = signal.station;
        let entity = &mut self.entities[source];
        let frame = entity.queue.pop_front().expect("a station that sends has a frame");
        note_frame(&mut self.trace, source, || (signal.start, now), &frame);
        let attempt = (entity.attempts as usize).min(ATTEMPTS - 1);
        self.statistics.attempts[attempt] += 1;
        self.statistics.sent += 1;
        self.statistics.carried += now.since(signal.start);
        let mut recipients = station::destination(&frame)
            .into_iter()
            .flat_map(|destination| self.directory.recipients(source, destination));
        let delivery = |station: usize, frame| {
            let at = signal.as_heard_at(self.entities[station].place).falls;
            Event::Delivery(Delivery { at, station, frame })
        };
        if self.is_observed {
            let tapped = signal.as_heard_at(self.times.tap);
            self.events.push_back(Event::Passage(Passage {
                started: tapped.rises,
                at: tapped.falls,
                source,
                frame: frame.clone(),
                fate: Fate::Whole,
            }));
        }
        // The last recipient gets the frame itself instead of a clone.
        let last = recipients.next_back();
        self.events.extend(recipients.map(|recipient| delivery(recipient, frame.clone())));
        self.events.extend(last.map(|recipient| delivery(recipient, frame)));
        self.tell(source, Transmission::Sent);
        self.turn_to_next(now, source);
    }

    fn turn_to_next(&mut self, now: Instant, station: usize) {
        self.entities[station].attempts = 0;
        if !self.entities[station].queue.is_empty() {
            self.contend(station, now);
        }
    }

    /// Before `starter` starts: notes what old signals mean for deference and drops them.
    fn forget(&mut self, now: Instant, starter: usize) {
        let heard_by_all = |signals: &[Signal]| signals.iter().map(Signal::heard_by_all).max();
        let Some(last) = heard_by_all(&self.signals) else { return };
        if later(last, self.times.gap.whole) < now {
            // No station defers to them either: every station that waited for them has started.
            self.signals.clear();
            self.past = 0;
            self.noted.clear();
            self.heard = Heard::Nothing;
            return;
        }
        let count = if last <= now { self.signals.len() } else { self.past };
        if heard_by_all(&self.signals[..count]).is_some_and(|last| last <= now) {
            self.note(count);
            self.signals.drain(..count);
            self.past = 0;
        }
        // By the triangle inequality, a station that has received the others' signals to their end
        // sends a signal that reaches every station after them.
        let place = self.entities[starter].place;
        let over = |signal: &Signal| signal.as_heard_at(place).falls <= now;
        if self.signals.iter().all(over) {
            self.past = self.signals.len();
        } else if !self.signals[..self.past].iter().all(over) {
            self.past = 0;
        }
    }

    /// Notes the first `count` signals for their effect on deference.
    ///
    /// In the common case the last signal alone suffices, for all stations alike. All signals noted
    /// before reach each station before those noted later, so one order serves for all.
    fn note(&mut self, count: usize) {
        if let [signal] = &self.signals[..count]
            && self.follows_all(signal)
        {
            self.heard = Heard::Alone(*signal);
            self.noted.clear();
            return;
        }
        self.noted.extend_from_slice(&self.signals[..count]);
        if self.noted.len() > NOTED {
            for station in 0..self.entities.len() {
                self.entities[station].deference = self.deference(station);
            }
            let before = match &self.heard {
                Heard::Nothing => Instant::ZERO,
                Heard::Alone(signal) => signal.heard_by_all(),
                Heard::Apart(until) => *until,
            };
            let until = self.noted.iter().map(Signal::heard_by_all).fold(before, Instant::max);
            self.heard = Heard::Apart(until);
            self.noted.clear();
        }
    }

    /// Returns whether the signal is every station's last busy period, whatever was noted before.
    fn follows_all(&self, signal: &Signal) -> bool {
        let gap = self.times.gap;
        let follows_heard = match &self.heard {
            Heard::Nothing => true,
            Heard::Alone(heard) => signal.follows(heard, gap),
            Heard::Apart(until) => signal.start > later(*until, gap.whole),
        };
        follows_heard && self.noted.iter().all(|noted| signal.follows(noted, gap))
    }
}

impl Medium for CsmaCd {
    fn attach(&mut self, addresses: &[Mac]) -> Result<(), Misfit> {
        let metres = &self.params.positions_metres;
        if metres.len() != addresses.len() {
            return Err(Misfit { places: metres.len(), stations: addresses.len() });
        }
        let places = self.params.places().expect("the places were checked in `new`");
        let places = &places[..addresses.len()];
        let near = places.iter().copied().min().unwrap_or(0);
        let far = places.iter().copied().max().unwrap_or(0);
        self.directory = Directory::new(addresses);
        let names = Directory::names(addresses);
        self.entities = core::iter::zip(places, names)
            .map(|(place, name)| Entity {
                place: *place,
                reach: (place - near).max(far - place),
                queue: VecDeque::new(),
                attempts: 0,
                ready: Instant::ZERO,
                deference: Deference::default(),
                backoff: Stream::named(self.params.seed, &format!("csma-cd/{name}/backoff")),
            })
            .collect();
        Ok(())
    }

    fn offer(&mut self, now: Instant, station: usize, frame: Frame) {
        self.statistics.offered += 1;
        if frame.len() > self.params.framing.maximum_octets {
            self.statistics.oversized += 1;
            return self.tell(station, Transmission::NotTaken);
        }
        let queue = &mut self.entities[station].queue;
        if queue.len() >= self.params.queue_frames {
            self.statistics.queue_drops += 1;
            return self.tell(station, Transmission::NotTaken);
        }
        queue.push_back(frame);
        if queue.len() == 1 {
            self.contend(station, now);
            self.due = self.next();
            self.advance(now);
        }
    }

    fn expire(&mut self, now: Instant) {
        self.advance(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.due.map(|due| Deadline {
            at: due.at,
            timer: match due.what {
                What::End(_) => "end of signal",
                What::Start(_) => "deference or backoff",
            },
        })
    }

    fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn set_observed(&mut self, is_observed: bool) {
        self.is_observed = is_observed;
    }

    fn trace(&mut self) -> Option<&mut Slot> {
        Some(&mut self.trace)
    }

    fn counts(&self, count: &mut dyn FnMut(&str, u64)) {
        self.statistics.counts(count);
    }
}
