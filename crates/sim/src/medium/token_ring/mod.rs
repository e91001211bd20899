//! A token ring: IEEE 802.5, and ProNET-10 as the same ring with other parameters.
//!
//! ```text
//!        ┌──▶ B ──▶┐     B takes the token whole and sends its frames. Each goes all the way round:
//!   token│         │     who it is for copies it in passing and marks its end, B takes it off.
//!        A         C     Then B sends a token, at once (early release) or not before the header of
//!        │         │     its own frame has come back.
//!        └◀── D ◀──┘
//! ```
//!
//! What a station hears it repeats some bits later; the active monitor adds what the ring lacks to
//! hold a token. A frame counts with its data and what the ring's format puts around them. Stations
//! hand over frames of 14 octets and the data ([`stack::profile::Framing`]): these octets are not
//! sent as they stand, nor is there a shortest frame or a pad.
//!
//! A station with a frame takes a token of no higher priority. It sends as long as THT and
//! [`Params::frames_per_token`] allow, and never begins a frame that THT would not let it finish.
//! Its frames go by priority, those of one priority in their order. Where priorities differ, stations reserve
//! the next token in frames and tokens that pass them, and the station that raises the priority lets
//! it down again ([`Params::priority_of`] gives each frame its priority).
//!
//! Every frame comes back with a sign whether it was copied: the A and C bits of 802.5, the refused
//! bit of ProNET-10. An interface without a receive buffer when a frame's address reaches it does
//! not copy the frame, and its sender is told [`Transmission::Refused`]. A frame that no station has
//! the address of counts as sent.
//!
//! How few steps this takes: where a token is that nobody wants is computed, so that an idle ring
//! takes none; a frame takes three: its end, the next token, and its return.
//!
//! Not modelled: the loss of a token or frame, the active monitor's duties and the contest for them,
//! stations that come or go, notification of neighbours, MAC frames, source routing, and bit errors.
//! A station does not serve its more important frames first: what it hands over first goes first.
//! Under early release, reservations in frames that are not back yet come too late for the token.

mod bound;
mod circle;
mod params;
mod priority;
mod statistics;

pub use params::{Format, Invalid, Params, Release, TWISTED_PAIR, access_control};
pub use statistics::Statistics;

use super::directory::Directory;
use super::framing::data_octets;
use super::rotation::{Picos, bits, instant, picos, span};
use super::{Delivery, Event, Medium, Misfit, Passage};
use circle::Circle;
use core::time::Duration;
use priority::{Access, Stack};
use smallvec::SmallVec;
use stack::fault::Fate;
use stack::machine::Deadline;
use stack::station::{self, Frame, Transmission};
use std::collections::{BTreeSet, VecDeque};
use wire::addr::Mac;
use wire::time::Instant;

/// The highest priority.
const HIGHEST: u8 = 7;

/// A token ring with its stations' MAC entities.
#[derive(Clone, Debug)]
pub struct TokenRing {
    params: Params,
    circle: Circle,
    times: Times,
    directory: Directory,
    /// By station, not by place.
    entities: Vec<Entity>,
    /// Places at which a passing token is looked at: the station has a frame, or a stack.
    alert: BTreeSet<usize>,
    token: Token,
    /// The frame that the station with the token sends.
    sending: Option<Queued>,
    /// Queued frames with a priority above 0.
    prioritised: usize,
    /// Frames that are on their way back to their senders.
    returning: VecDeque<Returning>,
    due: Option<Due>,
    events: VecDeque<Event>,
    statistics: Statistics,
}

/// Spans that the ring needs again and again.
#[derive(Clone, Copy, Debug)]
struct Times {
    token: Picos,
    header: Picos,
    reservation: Picos,
    holding: Picos,
}

/// The MAC entity of one station.
#[derive(Clone, Debug)]
struct Entity {
    /// Frames by priority, the highest first; those of one priority in their order.
    queue: VecDeque<Queued>,
    /// Frames that are being sent or on their way back.
    under_way: usize,
    stack: Stack,
    /// Whether there was a receive buffer, from when on: the last that is older than the frame on
    /// the ring, and all since. There was one from the beginning.
    buffered: VecDeque<(Picos, bool)>,
}

/// A frame that waits for the token.
#[derive(Clone, Debug)]
struct Queued {
    priority: u8,
    frame: Frame,
    /// When it came.
    since: Picos,
}

/// Where the token is.
#[derive(Clone, Debug)]
enum Token {
    /// On its way.
    Free(Free),
    /// A station has taken it, and sends or waits for its own header.
    Held(Hold),
}

/// A token on its way.
#[derive(Clone, Copy, Debug)]
struct Free {
    /// When its last bit left `place`, or will.
    at: Picos,
    place: usize,
    access: Access,
}

/// A token that a station has taken.
#[derive(Clone, Debug)]
struct Hold {
    place: usize,
    /// What the token said.
    access: Access,
    since: Picos,
    /// When the frame being sent ends, or, once the last is out, when the token goes on.
    until: Picos,
    frames: u32,
    /// When frames were begun: the last whose reservations are known, and all since.
    starts: SmallVec<[Picos; 2]>,
    /// When the first frame was begun.
    first: Picos,
}

/// A frame that comes back to its sender.
#[derive(Clone, Copy, Debug)]
struct Returning {
    at: Picos,
    station: usize,
    priority: u8,
    /// Whether it was meant for any station.
    recognised: bool,
    outcome: Transmission,
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: Picos,
    what: What,
}

/// What can happen.
#[derive(Clone, Copy, Debug)]
enum What {
    /// The oldest returning frame is back.
    Return,
    /// The token comes to this place.
    Token(usize),
    /// The frame being sent ends.
    End,
    /// The station that holds the token sends it on.
    Release,
}

impl TokenRing {
    /// A ring whose stations are yet to be attached.
    ///
    /// # Errors
    /// Where there cannot be such a ring.
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
            statistics: Statistics::default(),
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Frames that stations still have waiting, in transmission or on the way back.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.entities.iter().map(|entity| entity.queue.len() + entity.under_way).sum()
    }

    /// Ring latency: how long a signal, and a token that nobody takes, takes all the way round.
    #[must_use]
    pub fn latency(&self) -> Duration {
        span(self.circle.rotation.round)
    }

    /// The priority of the ring now: that of the token, or of the frame that it was taken for.
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

    /// What happens next, as far as is known.
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

    /// Lets happen what is due by `now`.
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

    /// The token has come whole to a place at which it is looked at.
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
            // It is taken and sent anew.
            self.statistics.lowered += 1;
            Free { at: at + self.times.token, place, access }
        } else {
            let reservation = access.reservation.max(waiting.unwrap_or(0));
            Free { at, place, access: Access { reservation, ..access } }
        };
        self.token = Token::Free(free);
        self.stay_alert(place);
    }

    /// Looks at passing tokens at a place for as long as there is a reason to.
    fn stay_alert(&mut self, place: usize) {
        let entity = &self.entities[self.circle.stations[place]];
        if entity.queue.is_empty() && entity.stack.is_empty() {
            self.alert.remove(&place);
        } else {
            self.alert.insert(place);
        }
    }

    /// The station that holds the token begins the first frame of its queue.
    fn send(&mut self, at: Picos) {
        let Token::Held(hold) = &mut self.token else { return };
        let entity = &mut self.entities[self.circle.stations[hold.place]];
        let first = entity.queue.pop_front().expect("a station that sends has a frame");
        entity.under_way += 1;
        self.prioritised -= usize::from(first.priority > 0);
        // Of the frames begun before, one that is back makes those before it useless.
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

    /// The last bit of the frame being sent is out.
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

    /// Whether the station that holds the token may begin another frame.
    fn may_go_on(&self, at: Picos) -> bool {
        let Token::Held(hold) = &self.token else { return false };
        let entity = &self.entities[self.circle.stations[hold.place]];
        let Some(Queued { priority, frame, .. }) = entity.queue.front() else { return false };
        self.params.frames_per_token.is_none_or(|most| hold.frames < most)
            && *priority >= hold.access.priority
            && at + self.frame_time(frame) - hold.since <= self.times.holding
    }

    /// A frame has left its sender: who sees it and who copies it is settled.
    fn pass(&mut self, start: Picos, end: Picos, place: usize, sent: Queued) {
        let Queued { priority, frame, .. } = sent;
        let source = self.circle.stations[place];
        let to_observer = self.circle.way_to_observer(place);
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
                // A frame shorter than its way is asked about when it is out.
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

    /// The oldest frame on the ring is back, and its sender takes it off.
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

    /// The station that holds the token sends it on.
    fn release(&mut self, at: Picos) {
        let Token::Held(hold) = &self.token else { return };
        let (place, used, since) = (hold.place, hold.access.priority, hold.since);
        let reserved = self.reserved(hold, at);
        let entity = &mut self.entities[self.circle.stations[place]];
        let own = entity.queue.front().map_or(0, |first| first.priority);
        let access = entity.stack.release(used, reserved.max(own));
        self.statistics.raised += u64::from(access.priority > used);
        self.statistics.held += span(at - since);
        self.token = Token::Free(Free { at: at + self.times.token, place, access });
        self.stay_alert(place);
    }

    /// The highest reservation that has come back to the station that holds the token: that of its
    /// last frame whose reservation bits are back, or else what the token brought.
    fn reserved(&self, hold: &Hold, at: Picos) -> u8 {
        let known = self.circle.rotation.round + self.times.reservation;
        let back = hold.starts.iter().rev().find(|start| **start + known <= at);
        let Some(start) = back else { return hold.access.reservation };
        if self.prioritised == 0 {
            return 0;
        }
        // Nobody else sent in between, so who waits now and came in time waited then.
        let waiting = self.alert.iter().filter(|place| **place != hold.place).map(|place| {
            let entity = &self.entities[self.circle.stations[*place]];
            let passed =
                start + self.circle.rotation.way(hold.place, *place) + self.times.reservation;
            let waited = entity.queue.iter().find(|queued| queued.since <= passed);
            waited.map_or(0, |queued| queued.priority)
        });
        waiting.max().unwrap_or(0)
    }

    /// When the frame on the ring was begun, or else now: nobody asks about buffers before.
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

    /// Whether there was a receive buffer at that time.
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
            // Who just came is not visited by a token that has passed already.
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
}
