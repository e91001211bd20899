//! A token bus: IEEE 802.4, carrierband or broadband.
//!
//! ```text
//!   addresses   60 ──token─▶ 40 ──token─▶ 20 ──token─▶ 60 …   whatever the order along the cable
//!   ════╤═════════╤══════════════╤═══════════ bus
//!       40        60             20
//! ```
//!
//! Stations pass the token from each address to the next lower one, and from the lowest to the
//! highest. A token is a frame without data, sent from station to station; whoever has it sends, and
//! everybody hears. A station with the token serves its access classes from 6 down to 0, each for as
//! long as its timer allows ([`Service`]), and passes it on. A frame that was begun in time is
//! finished.
//!
//! Without classes a station serves its frames by priority while it may hold the token.
//!
//! A class below 6 may send for as long as its target rotation time exceeds what has passed since it
//! was served the time before, in the token's last round: the counters are loaded anew at each service,
//! so a late token is not made up for later (as it is on FDDI).
//!
//! Stations hand over frames with an 802.3 header: its 14 octets are not sent, nor is there a
//! shortest frame or a pad; the octets behind the header are the data, and what 802.4 puts around
//! them is counted instead. Where a token is that nobody uses is computed, so that an idle bus takes
//! no steps.
//!
//! With [`Maintenance`] stations open windows in which others enter the ring. Stations leave and fail,
//! tokens are lost, and the ring is mended, as [`Change`]s say. With either, each token is a step.
//!
//! Where requests with response are allowed, the station that is asked answers within the holder's token
//! (`response`).
//!
//! Not modelled: bit errors, and a station that is alone and keeps the token: it passes it to itself.

mod bound;
mod changes;
mod contention;
mod params;
mod response;
mod statistics;
mod upkeep;

pub use changes::{Change, Kind, Maintenance};
pub use params::{COAX, HeadEnd, Invalid, Params, Service, frame_control};
pub use response::MOST_RETRIES;
pub use statistics::Statistics;

use super::directory::Directory;
use super::framing::data_octets;
use super::rotation::{Picos, Rotation, bits, instant, nearest, picos, span, wrapped};
use super::{Delivery, Event, Medium, Misfit, Passage};
use core::time::Duration;
use response::Exchange;
use stack::fault::Fate;
use stack::machine::Deadline;
use stack::station::{self, Frame, PRIORITIES, Transmission};
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::time::Instant;

/// Access classes: 6, 4, 2 and 0, in the order in which they are served.
const CLASSES: usize = 4;
/// The highest priority.
const HIGHEST: u8 = 7;

/// A token bus with its stations' MAC entities.
#[derive(Clone, Debug)]
pub struct TokenBus {
    params: Params,
    /// By station, not by place.
    entities: Vec<Entity>,
    /// The station at each place of the logical ring.
    stations: Vec<usize>,
    /// How the token goes round among the places.
    rotation: Rotation,
    directory: Directory,
    addresses: Vec<Mac>,
    /// Changes that are yet to come, the next one last.
    changes: Vec<Change>,
    /// Places whose stations have frames, or all of them where the ring may change.
    alert: Vec<usize>,
    token: Token,
    /// The frame being sent, or the request whose response is awaited.
    sending: Option<Queued>,
    /// How far that request is.
    exchange: Option<Exchange>,
    /// When what happens next does, if anything does.
    due: Option<Picos>,
    events: VecDeque<Event>,
    is_observed: bool,
    statistics: Statistics,
}

/// The MAC entity of one station.
#[derive(Clone, Debug, Default)]
struct Entity {
    presence: Presence,
    /// Its place in the logical ring, if it is in it.
    place: Option<usize>,
    /// Frames that wait: one queue for each access class, or without classes for each priority, in
    /// the order in which they are served.
    queues: [VecDeque<Queued>; PRIORITIES],
    /// When the classes below 6 were served last.
    served: [Picos; CLASSES - 1],
    /// When the token came last.
    visited: Option<Picos>,
    /// When it last passed the token on.
    maintained: Picos,
    /// How many tokens until it opens a window.
    tokens_to_window: u32,
    /// It leaves at its next token.
    leaves: bool,
    /// It loses its next token.
    loses_token: bool,
}

/// A frame that waits for the token.
#[derive(Clone, Debug)]
struct Queued {
    priority: u8,
    frame: Frame,
}

/// Whether a station is in the logical ring.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Presence {
    Member,
    /// It waits for a window.
    Wanting,
    #[default]
    Outside,
    /// It has a place in the ring until that is noticed.
    Failed,
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Something befalls a station.
    Change,
    /// The frame being sent ends.
    End,
    /// The token comes to this place.
    Visit(usize),
    /// It has been silent for so long that the token is claimed.
    Claim,
}

/// Where the token is.
#[derive(Clone, Copy, Debug)]
enum Token {
    /// On its way, passed on by this place at this time.
    Free(Picos, usize),
    /// On its way to one station, where each token is a step.
    Sent(Sent),
    /// Lost; when it is claimed, and by which station if not by all.
    Lost(Picos, Option<usize>),
    /// There is no ring.
    None,
    /// A station has it and sends.
    Held(Hold),
}

/// A token on its way to one station.
#[derive(Clone, Copy, Debug)]
struct Sent {
    from: usize,
    to: usize,
    /// When its first bit is sent, and when the station it is for may use it.
    begun: Picos,
    arrives: Picos,
}

/// A token that a station uses.
#[derive(Clone, Copy, Debug)]
struct Hold {
    place: usize,
    /// The class being served, as an index.
    class: usize,
    /// When that class may begin no more frames.
    limit: Picos,
    /// When the frame being sent was begun, and when it ends.
    begun: Picos,
    until: Picos,
}

impl TokenBus {
    /// A bus whose stations are yet to be attached.
    ///
    /// # Errors
    /// Where there cannot be such a bus.
    pub fn new(params: Params) -> Result<Self, Invalid> {
        params.check()?;
        let mut changes = params.changes.clone();
        // In their order where they are at once.
        changes.sort_by_key(|change| change.at);
        changes.reverse();
        Ok(Self {
            params,
            changes,
            addresses: Vec::new(),
            entities: Vec::new(),
            stations: Vec::new(),
            rotation: Rotation::default(),
            directory: Directory::default(),
            alert: Vec::new(),
            // The highest address passes it on at the beginning.
            token: Token::Free(0, 0),
            sending: None,
            exchange: None,
            due: None,
            events: VecDeque::new(),
            is_observed: true,
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
        let waiting: usize = self.entities.iter().map(Entity::waiting).sum();
        waiting + usize::from(self.sending.is_some())
    }

    /// How long a token that nobody uses takes all the way round.
    #[must_use]
    pub fn idle_rotation(&self) -> Duration {
        span(self.rotation.round)
    }

    /// How long a signal takes along so much cable.
    fn cable(&self, metres: f64) -> Picos {
        nearest(metres / self.params.metres_per_second * 1e12)
    }

    /// How long a signal takes from one place on the cable to another.
    fn way(&self, from: f64, to: f64) -> Picos {
        match self.params.head_end {
            None => self.cable((from - to).abs()),
            Some(HeadEnd { position_metres, delay }) => {
                let there = (from - position_metres).abs() + (to - position_metres).abs();
                self.cable(there) + delay.as_nanos() * 1_000
            }
        }
    }

    /// How long a signal takes to the observer: at the head end, or at the end of the cable.
    fn way_to_observer(&self, station: usize) -> Picos {
        let observer = self.params.head_end.map_or(0.0, |head_end| head_end.position_metres);
        self.cable((self.params.positions_metres[station] - observer).abs())
    }

    /// How the token goes round: after so long each place passes it on.
    fn rotation(&self, stations: &[usize]) -> Rotation {
        let metres = &self.params.positions_metres;
        let token = bits(self.params.rate, self.params.frame_bits(0))
            + self.params.station_delay.as_nanos() * 1_000;
        let hop = |from: usize, to: usize| token + self.way(metres[from], metres[to]);
        let mut from_first = Vec::with_capacity(stations.len());
        let mut at = 0;
        for (place, station) in stations.iter().enumerate() {
            from_first.push(at);
            at += hop(*station, stations[(place + 1) % stations.len()]);
        }
        Rotation::new(from_first, at)
    }

    fn tell(&mut self, station: usize, queue: u8, outcome: Transmission) {
        self.events.push_back(Event::Transmitted { station, queue, outcome });
    }

    /// What happens next, and when. A token that comes to a station without frames is passed by, where
    /// the ring does not change.
    fn next(&self) -> Option<(Picos, Step)> {
        let of_token = match self.token {
            Token::None => None,
            Token::Lost(until, _) => Some((until, Step::Claim)),
            Token::Sent(Sent { to, arrives, .. }) => {
                let place = self.entities[to].place.expect("the token goes to a place in the ring");
                Some((arrives, Step::Visit(place)))
            }
            Token::Held(hold) => Some((hold.until, Step::End)),
            Token::Free(at, place) => {
                let ahead = self.alert.partition_point(|other| *other <= place);
                let next = self.alert.get(ahead).or_else(|| self.alert.first());
                next.map(|next| (at + self.rotation.way(place, *next), Step::Visit(*next)))
            }
        };
        let Some(change) = self.changes.last() else { return of_token };
        let change = (change.at.as_nanos() * 1_000, Step::Change);
        Some(of_token.filter(|(at, _)| *at < change.0).unwrap_or(change))
    }

    /// Lets happen what is due by `now`.
    fn advance(&mut self, now: Picos) {
        loop {
            let next = self.next();
            self.due = next.map(|(at, _)| at);
            match next.filter(|(at, _)| *at <= now) {
                Some((at, Step::Visit(place))) => {
                    if !self.is_kept() || self.takes_token(at, place) {
                        self.visit(at, place);
                    }
                }
                Some((at, Step::End)) => self.end(at),
                Some((at, Step::Change)) => self.change(at),
                Some((at, Step::Claim)) => self.claim(at),
                None => return,
            }
        }
    }

    /// Lets the token pass by all stations that it comes to before `now`; none of them uses it.
    fn pass_by(&mut self, now: Picos) {
        let Token::Free(since, from) = self.token else { return };
        let (at, last) = self.rotation.last_before(now, since, from);
        self.token = Token::Free(at, last);
        let count = self.rotation.places();
        let round = self.rotation.round;
        let mut longest = 0;
        for place in (1..=count).map(|steps| wrapped(from + steps, count)) {
            let first = since + self.rotation.way(from, place);
            if first > at {
                break;
            }
            let latest = first + self.rotation.whole_rounds(at - first);
            let entity = &mut self.entities[self.stations[place]];
            let mut rotation = first - entity.visited.unwrap_or(first);
            if latest > first {
                rotation = rotation.max(round);
            }
            entity.visited = Some(latest);
            entity.served = [latest; CLASSES - 1];
            longest = longest.max(rotation);
        }
        self.note_rotation(longest);
    }

    /// The token was away from a station for so long.
    fn note_rotation(&mut self, rotation: Picos) {
        self.statistics.longest_rotation = self.statistics.longest_rotation.max(span(rotation));
    }

    /// The token comes to a station with frames.
    fn visit(&mut self, at: Picos, place: usize) {
        self.pass_by(at);
        let station = self.stations[place];
        let entity = &mut self.entities[station];
        let rotation = at - entity.visited.replace(at).unwrap_or(at);
        self.note_rotation(rotation);
        let (Service::HoldingTime(holding) | Service::Classes { holding_time: holding, .. }) =
            self.params.service;
        let limit = at.saturating_add(holding.as_nanos().saturating_mul(1_000));
        self.token = Token::Held(Hold { place, class: 0, limit, begun: at, until: at });
        self.serve(at);
        if self.sending.is_some() {
            self.statistics.tokens_used += 1;
        } else if self.entities[station].waiting() > 0 {
            self.statistics.tokens_too_late += 1;
        }
    }

    /// The station that has the token begins its next frame, or passes the token on.
    fn serve(&mut self, at: Picos) {
        let Token::Held(mut hold) = self.token else { return };
        let station = self.stations[hold.place];
        let entity = &mut self.entities[station];
        loop {
            if at < hold.limit
                && let Some(first) = entity.next(self.params.service, hold.class)
            {
                let octets = data_octets(first.frame.len());
                let takes = bits(self.params.rate, self.params.frame_bits(octets));
                (hold.begun, hold.until) = (at, at + takes);
                self.statistics.carried += span(takes);
                self.exchange = self.asks(station, &first.frame);
                self.sending = Some(first);
                self.token = Token::Held(hold);
                return;
            }
            let Service::Classes { target_rotation_times, .. } = self.params.service else { break };
            let Some(target) = target_rotation_times.get(hold.class) else { break };
            let served = core::mem::replace(&mut entity.served[hold.class], at);
            let left = (target.as_nanos() * 1_000).saturating_sub(at - served);
            hold.limit = at + left;
            hold.class += 1;
        }
        let is_done = entity.waiting() == 0;
        if self.is_kept() {
            return self.pass_on(at, station);
        }
        if is_done {
            self.alert.retain(|place| *place != hold.place);
        }
        self.token = Token::Free(at, hold.place);
    }

    /// The last bit of the frame being sent is out.
    fn end(&mut self, at: Picos) {
        let Token::Held(hold) = self.token else { return };
        if let Some(exchange) = self.exchange.take() {
            return self.go_on(at, hold, exchange);
        }
        let Queued { priority, frame } =
            self.sending.take().expect("a station that holds the token sends a frame");
        let source = self.stations[hold.place];
        self.passes(source, hold.begun, at, &frame);
        self.statistics.sent += 1;
        if self.is_told(&frame) {
            self.tell(source, priority, Transmission::Sent);
        }
        self.serve(at);
    }

    /// A frame was sent from one time to another: who hears it.
    fn passes(&mut self, source: usize, begun: Picos, at: Picos, frame: &Frame) {
        if self.is_observed {
            let to_observer = self.way_to_observer(source);
            self.events.push_back(Event::Passage(Passage {
                started: instant(begun + to_observer),
                at: instant(at + to_observer),
                source,
                frame: frame.clone(),
                fate: Fate::Whole,
            }));
        }
        let metres = &self.params.positions_metres;
        let mut meant = false;
        if let Some(destination) = station::destination(frame) {
            for station in self.directory.recipients(source, destination) {
                if self.entities[station].presence == Presence::Failed {
                    continue;
                }
                meant = true;
                let at = instant(at + self.way(metres[source], metres[station]));
                let delivery = Delivery { at, station, frame: frame.clone() };
                self.events.push_back(Event::Delivery(delivery));
            }
        }
        self.statistics.unrecognised += u64::from(!meant);
    }

    /// A frame is not taken; its station is told, unless it is a response.
    fn refuse(&mut self, station: usize, frame: &Frame) {
        if self.is_told(frame) {
            self.tell(station, self.priority(station, frame), Transmission::NotTaken);
        }
    }

    fn priority(&self, station: usize, frame: &Frame) -> u8 {
        (self.params.priority_of)(station, frame).min(HIGHEST)
    }

    /// The queue for a frame of this priority, as an index.
    fn queue_for(&self, priority: u8) -> usize {
        match self.params.service {
            Service::HoldingTime(_) => usize::from(HIGHEST - priority),
            // Priorities 7 and 6 are of class 6, the first.
            Service::Classes { .. } => CLASSES - 1 - usize::from(priority / 2),
        }
    }
}

impl Entity {
    /// Takes the next frame of a class, or without classes the most urgent one.
    fn next(&mut self, service: Service, class: usize) -> Option<Queued> {
        match service {
            Service::HoldingTime(_) => self.queues.iter_mut().find_map(VecDeque::pop_front),
            Service::Classes { .. } => self.queues.get_mut(class)?.pop_front(),
        }
    }

    fn waiting(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }
}

impl Medium for TokenBus {
    fn attach(&mut self, addresses: &[Mac]) -> Result<(), Misfit> {
        let places = self.params.positions_metres.len();
        if places != addresses.len() {
            return Err(Misfit { places, stations: addresses.len() });
        }
        self.directory = Directory::new(addresses);
        self.addresses = addresses.to_vec();
        let tokens_to_window = self.params.maintenance.map_or(0, |it| it.tokens_between_windows);
        let entity = Entity { presence: Presence::Member, tokens_to_window, ..Entity::default() };
        self.entities = vec![entity; places];
        let members = self.changes.iter().filter(|change| change.kind != Kind::LoseToken);
        for Change { station, kind, .. } in members {
            // The first of a station's changes comes last.
            self.entities[*station].presence =
                if *kind == Kind::Join { Presence::Outside } else { Presence::Member };
        }
        self.form();
        self.begin();
        Ok(())
    }

    fn offer(&mut self, now: Instant, station: usize, frame: Frame) {
        self.statistics.offered += 1;
        if data_octets(frame.len()) > self.params.maximum_data_octets {
            self.statistics.oversized += 1;
            return self.refuse(station, &frame);
        }
        let now = picos(now);
        self.advance(now);
        if matches!(self.entities[station].presence, Presence::Outside | Presence::Failed) {
            self.statistics.outside += 1;
            return self.refuse(station, &frame);
        }
        let Some(frame) = self.answer(now, station, frame) else { return self.advance(now) };
        if self.entities[station].waiting() >= self.params.queue_frames {
            self.statistics.queue_drops += 1;
            return self.refuse(station, &frame);
        }
        let priority = self.priority(station, &frame);
        let queue = self.queue_for(priority);
        // Who just came is not visited by a token that has passed already.
        self.pass_by(now);
        let entity = &mut self.entities[station];
        entity.queues[queue].push_back(Queued { priority, frame });
        if let Some(place) = entity.place
            && let Err(before) = self.alert.binary_search(&place)
        {
            self.alert.insert(before, place);
        }
        self.advance(now);
    }

    fn expire(&mut self, now: Instant) {
        self.advance(picos(now));
    }

    fn deadline(&self) -> Option<Deadline> {
        let timer = if self.sending.is_some() { "end of frame" } else { "token" };
        self.due.map(|due| Deadline { at: instant(due), timer })
    }

    fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn set_observed(&mut self, is_observed: bool) {
        self.is_observed = is_observed;
    }
}
