//! Token ring: IEEE 802.5, and ProNET-10 as the same ring with other parameters.
//!
//! ```text
//!        ┌──▶ B ──▶┐     B captures the token and sends its frames. Each goes all the way round: the
//!   token│         │     addressed station copies it in passing and marks its end, and B strips it.
//!        A         C     Then B sends a token, at once (early release) or not before the header of
//!        │         │     its own frame has come back.
//!        └◀── D ◀──┘
//! ```
//!
//! A station repeats the received signal some bits later; the active monitor adds the latency that
//! the ring lacks to hold a token. A frame counts with its data and the framing of the ring's
//! format. Stations hand over frames of 14 octets and the data ([`stack::profile::Framing`]); these
//! octets are not sent as they stand. There is neither a minimum length nor a pad.
//!
//! A station with a frame captures a token of no higher priority. It sends as long as THT and
//! [`Params::frames_per_token`] allow, and never begins a frame that it could not complete within
//! THT. Its frames go by priority, and in order within a priority. If priorities differ, stations
//! reserve the next token in frames and tokens that pass them, and the station that raises the
//! ring's priority lowers it again ([`Params::priority_of`] gives each frame its priority).
//!
//! Every frame returns with an indication whether it was copied: the A and C bits of 802.5, the
//! refused bit of ProNET-10. An interface without a receive buffer when a frame's address reaches
//! it does not copy the frame, and the sender receives [`Transmission::Refused`]. A frame whose
//! address belongs to no station counts as sent.
//!
//! Few events are needed: the position of an unused token is computed, so an idle ring costs none;
//! a frame costs three: its end, the next token, and its return.
//!
//! Not modelled: the loss of a token or frame, the active monitor's duties and the contention for
//! them, stations that enter or leave, neighbour notification, MAC frames, source routing, and bit
//! errors. Under early release, reservations in frames that are not back yet come too late for the
//! token.

mod bound;
mod geometry;
mod params;
mod priority;
mod statistics;

pub use params::{Format, Invalid, Params, Release, TWISTED_PAIR, access_control};
pub use statistics::Statistics;

use super::directory::Directory;
use super::framing::data_octets;
use super::round_robin::{Picos, bits, instant, picos, span};
use super::trace::{Kind, Slot, note, note_frame};
use super::{Delivery, Event, Medium, Misfit, Passage};
use core::time::Duration;
use geometry::Circle;
use priority::{Access, Stack};
use smallvec::SmallVec;
use stack::fault::Fate;
use stack::machine::Deadline;
use stack::station::{self, Frame, Transmission};
use std::collections::{BTreeSet, VecDeque};
use wire::addr::Mac;
use wire::time::Instant;

/// Highest priority.
const HIGHEST: u8 = 7;

/// Token ring with its stations' MAC entities.
#[derive(Clone, Debug)]
pub struct TokenRing {
    params: Params,
    circle: Circle,
    times: Times,
    directory: Directory,
    /// MAC entities by station, not by place.
    entities: Vec<Entity>,
    /// Places at which a passing token is inspected: the station has a frame, or a stack.
    alert: BTreeSet<usize>,
    token: Token,
    /// Frame that the holder of the token sends.
    sending: Option<Queued>,
    /// Number of queued frames with a priority above 0.
    prioritised: usize,
    /// Frames on their way back to their senders.
    returning: VecDeque<Returning>,
    due: Option<Due>,
    events: VecDeque<Event>,
    trace: Slot,
    statistics: Statistics,
}

/// Time constants of the ring.
#[derive(Clone, Copy, Debug)]
struct Times {
    token: Picos,
    header: Picos,
    reservation: Picos,
    holding: Picos,
}

/// MAC entity of one station.
#[derive(Clone, Debug)]
struct Entity {
    /// Frames by priority, the highest first, and in order within a priority.
    queue: VecDeque<Queued>,
    /// Number of frames that are being sent or on their way back.
    under_way: usize,
    stack: Stack,
    /// Receive buffer: availability from each time on. Holds the last change older than the frame
    /// on the ring, and all later ones. Initially a buffer is available.
    buffered: VecDeque<(Picos, bool)>,
}

/// Frame that waits for the token.
#[derive(Clone, Debug)]
struct Queued {
    priority: u8,
    frame: Frame,
    /// Time at which it was offered.
    since: Picos,
}

/// State of the token.
#[derive(Clone, Debug)]
enum Token {
    /// Circulating.
    Free(Free),
    /// Captured by a station, which sends or waits for its own header.
    Held(Hold),
}

/// Circulating token.
#[derive(Clone, Copy, Debug)]
struct Free {
    /// Time at which its last bit leaves `place`.
    at: Picos,
    place: usize,
    access: Access,
}

/// Captured token.
#[derive(Clone, Debug)]
struct Hold {
    place: usize,
    /// Access control field of the captured token.
    access: Access,
    since: Picos,
    /// End of the frame being sent, or, after the last frame, time at which the token is released.
    until: Picos,
    frames: u32,
    /// Starts of the frames: the last whose reservations are known, and all later ones.
    starts: SmallVec<[Picos; 2]>,
    /// Start of the first frame.
    first: Picos,
}

/// Frame on its way back to its sender.
#[derive(Clone, Copy, Debug)]
struct Returning {
    at: Picos,
    station: usize,
    priority: u8,
    /// True if a station has its destination address.
    recognised: bool,
    outcome: Transmission,
}

/// Next event.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: Picos,
    what: What,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug)]
enum What {
    /// Return of the oldest frame on the ring.
    Return,
    /// Arrival of the token at this place.
    Token(usize),
    /// End of the frame being sent.
    End,
    /// Release of the token by its holder.
    Release,
}

impl TokenRing {
    /// Creates a ring whose stations are yet to be attached.
    ///
    /// # Errors
    /// Fails if the parameters are not allowed.
    pub fn new(params: Params) -> Result<Self, Invalid> {
        let circle = Circle::new(&params)?;
        let format = params.format;
        let times = Times {
            token: bits(params.rate, format.token_bits),
            header: bits(params.rate, format.header_bits),
            reservation: bits(params.rate, format.reservation_bits),
            holding: params.token_holding_time.as_nanos().saturating_mul(1_000),
        };
        let free = Free { at: 0, place: 0, access: Access::default() };
        Ok(Self {
            params,
            circle,
            times,
            directory: Directory::default(),
            entities: Vec::new(),
            alert: BTreeSet::new(),
            token: Token::Free(free),
            sending: None,
            prioritised: 0,
            returning: VecDeque::new(),
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

    /// Frames that are waiting, in transmission, or on the way back.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.entities.iter().map(|entity| entity.queue.len() + entity.under_way).sum()
    }

    /// Ring latency: time of a full round of a signal, or of an unused token.
    #[must_use]
    pub fn latency(&self) -> Duration {
        span(self.circle.rotation.round)
    }

    /// Current priority of the ring: that of the circulating or captured token.
    #[must_use]
    pub const fn priority(&self) -> u8 {
        match &self.token {
            Token::Free(free) => free.access.priority,
            Token::Held(hold) => hold.access.priority,
        }
    }

    fn tell(&mut self, station: usize, queue: u8, outcome: Transmission) {
        self.events.push_back(Event::Transmitted { station, queue, outcome });
    }

    fn frame_time(&self, frame: &Frame) -> Picos {
        bits(self.params.rate, self.params.format.frame_bits(frame.len()))
    }

    /// Next event, as known so far.
    fn next(&self) -> Option<Due> {
        let token = match &self.token {
            Token::Held(hold) => {
                let what = if self.sending.is_some() { What::End } else { What::Release };
                Some(Due { at: hold.until, what })
            }
            Token::Free(free) => {
                let ahead = self.alert.range(free.place + 1..).next();
                let place = ahead.or_else(|| self.alert.first()).copied();
                place.map(|place| {
                    let at = free.at + self.circle.rotation.way(free.place, place);
                    Due { at, what: What::Token(place) }
                })
            }
        };
        let back = self.returning.front().map(|back| Due { at: back.at, what: What::Return });
        match (back, token) {
            (Some(back), Some(token)) => Some(if back.at <= token.at { back } else { token }),
            (back, token) => back.or(token),
        }
    }

    /// Handles all events that are due by `now`.
    fn advance(&mut self, now: Picos) {
        loop {
            self.due = self.next();
            match self.due.filter(|due| due.at <= now) {
                Some(Due { at, what: What::Token(place) }) => self.visit(at, place),
                Some(Due { at, what: What::End }) => self.end(at),
                Some(Due { at, what: What::Release }) => self.release(at),
                Some(Due { what: What::Return, .. }) => self.take_off(),
                None => return,
            }
        }
    }

    /// Handles the arrival of the whole token at a place at which it is inspected.
    fn visit(&mut self, at: Picos, place: usize) {
        let Token::Free(Free { access, .. }) = self.token else { return };
        let entity = &mut self.entities[self.circle.stations[place]];
        let waiting = entity.queue.front().map(|first| first.priority);
        if waiting.is_some_and(|priority| priority >= access.priority) {
            self.statistics.tokens_used += 1;
            self.token = Token::Held(Hold {
                place,
                access,
                since: at,
                until: at,
                frames: 0,
                starts: SmallVec::new(),
                first: at,
            });
            return self.send(at);
        }
        let free = if let Some(access) = entity.stack.lower(access) {
            // The token is captured and retransmitted with the new priority.
            self.statistics.lowered += 1;
            Free { at: at + self.times.token, place, access }
        } else {
            let reservation = access.reservation.max(waiting.unwrap_or(0));
            Free { at, place, access: Access { reservation, ..access } }
        };
        self.token = Token::Free(free);
        self.stay_alert(place);
    }

    /// Keeps inspecting tokens at a place for as long as there is a reason to.
    fn stay_alert(&mut self, place: usize) {
        let entity = &self.entities[self.circle.stations[place]];
        if entity.queue.is_empty() && entity.stack.is_empty() {
            self.alert.remove(&place);
        } else {
            self.alert.insert(place);
        }
    }

    /// Starts the first frame of the station that holds the token.
    fn send(&mut self, at: Picos) {
        let Token::Held(hold) = &mut self.token else { return };
        let entity = &mut self.entities[self.circle.stations[hold.place]];
        let first = entity.queue.pop_front().expect("a station that sends has a frame");
        entity.under_way += 1;
        self.prioritised -= usize::from(first.priority > 0);
        // Of the frames begun before, only the last one that is back still matters.
        let known = self.circle.rotation.round + self.times.reservation;
        let back = hold.starts.iter().take_while(|start| *start + known <= at).count();
        hold.starts.drain(..back.saturating_sub(1));
        hold.starts.push(at);
        hold.frames += 1;
        let takes = bits(self.params.rate, self.params.format.frame_bits(first.frame.len()));
        hold.until = at + takes;
        self.sending = Some(first);
        self.statistics.carried += span(takes);
    }

    /// Handles the end of the frame being sent.
    fn end(&mut self, at: Picos) {
        let Token::Held(hold) = &self.token else { return };
        let sent = self.sending.take().expect("a frame was being sent");
        let start = *hold.starts.last().expect("the frame was begun");
        let place = hold.place;
        self.pass(start, at, place, sent);
        if self.may_go_on(at) {
            return self.send(at);
        }
        let Token::Held(hold) = &mut self.token else { return };
        if self.params.release == Release::OwnHeader {
            hold.until = at.max(hold.first + self.circle.rotation.round + self.times.header);
        }
        if hold.until == at {
            self.release(at);
        }
    }

    /// Returns whether the station that holds the token may begin another frame.
    fn may_go_on(&self, at: Picos) -> bool {
        let Token::Held(hold) = &self.token else { return false };
        let entity = &self.entities[self.circle.stations[hold.place]];
        let Some(Queued { priority, frame, .. }) = entity.queue.front() else { return false };
        self.params.frames_per_token.is_none_or(|most| hold.frames < most)
            && *priority >= hold.access.priority
            && at + self.frame_time(frame) - hold.since <= self.times.holding
    }

    /// Settles the observation and the copying of a frame that has left its sender.
    fn pass(&mut self, start: Picos, end: Picos, place: usize, sent: Queued) {
        let Queued { priority, frame, .. } = sent;
        let source = self.circle.stations[place];
        let to_observer = self.circle.way_to_observer(place);
        note_frame(&mut self.trace, source, || (instant(start), instant(end)), &frame);
        self.events.push_back(Event::Passage(Passage {
            started: instant(start + to_observer),
            at: instant(end + to_observer),
            source,
            frame: frame.clone(),
            fate: Fate::Whole,
        }));
        let (mut meant, mut copied) = (false, false);
        if let Some(destination) = station::destination(&frame) {
            for recipient in self.directory.recipients(source, destination) {
                meant = true;
                let way = self.circle.rotation.way(place, self.circle.places[recipient]);
                // For a frame shorter than its path, the buffer is checked when the frame has left.
                let addressed = (start + way + self.times.header).min(end);
                if !self.entities[recipient].had_buffer(addressed) {
                    continue;
                }
                copied = true;
                let at = instant(end + way);
                let delivery = Delivery { at, station: recipient, frame: frame.clone() };
                self.events.push_back(Event::Delivery(delivery));
            }
        }
        let outcome = if meant && !copied { Transmission::Refused } else { Transmission::Sent };
        let at = end + self.circle.rotation.round;
        let station = source;
        self.returning.push_back(Returning { at, station, priority, recognised: meant, outcome });
    }

    /// Strips the oldest frame on the ring, which is back at its sender.
    fn take_off(&mut self) {
        let back = self.returning.pop_front().expect("a frame was on its way back");
        self.entities[back.station].under_way -= 1;
        self.statistics.unrecognised += u64::from(!back.recognised);
        match back.outcome {
            Transmission::Refused => self.statistics.refused += 1,
            Transmission::Sent | Transmission::GivenUp | Transmission::NotTaken => {
                self.statistics.sent += 1;
            }
        }
        self.tell(back.station, back.priority, back.outcome);
    }

    /// Releases the token.
    fn release(&mut self, at: Picos) {
        let Token::Held(hold) = &self.token else { return };
        let (place, used, since) = (hold.place, hold.access.priority, hold.since);
        let reserved = self.reserved(hold, at);
        let entity = &mut self.entities[self.circle.stations[place]];
        let own = entity.queue.front().map_or(0, |first| first.priority);
        let access = entity.stack.release(used, reserved.max(own));
        self.statistics.raised += u64::from(access.priority > used);
        self.statistics.held += span(at - since);
        let (station, sent) = (self.circle.stations[place], at + self.times.token);
        note(&mut self.trace, station, || (instant(since), instant(at)), || Kind::Hold);
        note(&mut self.trace, station, || (instant(at), instant(sent)), || Kind::Token);
        self.token = Token::Free(Free { at: at + self.times.token, place, access });
        self.stay_alert(place);
    }

    /// Highest reservation that has come back to the holder of the token: that of its last frame
    /// whose reservation bits are back, otherwise that of the captured token.
    fn reserved(&self, hold: &Hold, at: Picos) -> u8 {
        let known = self.circle.rotation.round + self.times.reservation;
        let back = hold.starts.iter().rev().find(|start| **start + known <= at);
        let Some(start) = back else { return hold.access.reservation };
        if self.prioritised == 0 {
            return 0;
        }
        // No other station sent in between. So a station that waits now, and whose frame came in
        // time, waited then.
        let waiting = self.alert.iter().filter(|place| **place != hold.place).map(|place| {
            let entity = &self.entities[self.circle.stations[*place]];
            let passed =
                start + self.circle.rotation.way(hold.place, *place) + self.times.reservation;
            let waited = entity.queue.iter().find(|queued| queued.since <= passed);
            waited.map_or(0, |queued| queued.priority)
        });
        waiting.max().unwrap_or(0)
    }

    /// Start of the frame on the ring, otherwise now: buffers are not checked for earlier times.
    fn asked_from(&self, now: Picos) -> Picos {
        match &self.token {
            Token::Held(Hold { starts, .. }) if self.sending.is_some() => {
                starts.last().copied().unwrap_or(now)
            }
            Token::Held(_) | Token::Free(_) => now,
        }
    }
}

impl Entity {
    const fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            under_way: 0,
            stack: Stack::new(),
            buffered: VecDeque::new(),
        }
    }

    /// Returns whether a receive buffer was available at `at`.
    fn had_buffer(&self, at: Picos) -> bool {
        self.buffered.iter().rev().find(|(since, _)| *since <= at).is_none_or(|(_, has)| *has)
    }
}

impl Medium for TokenRing {
    fn attach(&mut self, addresses: &[Mac]) -> Result<(), Misfit> {
        let places = self.circle.places.len();
        if places != addresses.len() {
            return Err(Misfit { places, stations: addresses.len() });
        }
        self.directory = Directory::new(addresses);
        self.entities = vec![Entity::new(); places];
        Ok(())
    }

    fn offer(&mut self, now: Instant, station: usize, frame: Frame) {
        self.statistics.offered += 1;
        let priority = (self.params.priority_of)(station, &frame).min(HIGHEST);
        let too_long = data_octets(frame.len()) > self.params.maximum_data_octets
            || self.frame_time(&frame) > self.times.holding;
        if too_long {
            self.statistics.oversized += 1;
            return self.tell(station, priority, Transmission::NotTaken);
        }
        let now = picos(now);
        self.advance(now);
        let entity = &mut self.entities[station];
        if entity.queue.len() + entity.under_way >= self.params.queue_frames {
            self.statistics.queue_drops += 1;
            return self.tell(station, priority, Transmission::NotTaken);
        }
        self.prioritised += usize::from(priority > 0);
        let place = entity.queue.partition_point(|other| other.priority >= priority);
        entity.queue.insert(place, Queued { priority, frame, since: now });
        if let Token::Free(free) = &mut self.token {
            // A token that has already passed does not serve this frame.
            (free.at, free.place) = self.circle.rotation.last_before(now, free.at, free.place);
        }
        self.alert.insert(self.circle.places[station]);
        self.advance(now);
    }

    fn expire(&mut self, now: Instant) {
        self.advance(picos(now));
    }

    fn deadline(&self) -> Option<Deadline> {
        self.due.map(|due| Deadline {
            at: instant(due.at),
            timer: match due.what {
                What::Return => "return of frame",
                What::Token(_) => "token",
                What::End => "end of frame",
                What::Release => "own header",
            },
        })
    }

    fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn set_receive_buffer(&mut self, now: Instant, station: usize, has: bool) {
        let now = picos(now);
        let buffered = &self.entities[station].buffered;
        if buffered.back().is_none_or(|(_, had)| *had) == has {
            return;
        }
        let from = self.asked_from(now);
        let buffered = &mut self.entities[station].buffered;
        buffered.push_back((now, has));
        let old = buffered.iter().filter(|(since, _)| *since <= from).count();
        buffered.drain(..old.saturating_sub(1));
    }

    fn trace(&mut self) -> Option<&mut Slot> {
        Some(&mut self.trace)
    }

    fn counts(&self, count: &mut dyn FnMut(&str, u64)) {
        self.statistics.counts(count);
    }
}
