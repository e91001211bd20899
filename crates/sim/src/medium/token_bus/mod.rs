//! Token bus: IEEE 802.4, carrierband or broadband.
//!
//! ```text
//!   addresses   60 ──token─▶ 40 ──token─▶ 20 ──token─▶ 60 …   whatever the order along the cable
//!   ════╤═════════╤══════════════╤═══════════ bus
//!       40        60             20
//! ```
//!
//! Stations pass the token from each address to the next lower one, and from the lowest to the
//! highest. A token is a frame without data, sent from station to station. Only the holder sends;
//! all stations receive. The holder serves its access classes from 6 down to 0, each for as long as
//! its timer allows ([`Service`]), and passes the token on. A frame that began in time is
//! completed.
//!
//! Without classes a station serves its frames by priority while it may hold the token.
//!
//! A class below 6 may send for as long as its target rotation time exceeds the time since its
//! previous service, in the token's last round. The timers are reloaded at each service, so a late
//! token is not made up for later (as it is on FDDI).
//!
//! Stations hand over frames with an 802.3 header, whose 14 octets are not sent. There is neither a
//! minimum length nor a pad. The octets after the header are the data, and the framing of 802.4 is
//! added to them. The position of an unused token is computed, so an idle bus costs no events.
//!
//! With [`Maintenance`], stations open windows in which others enter the ring. By [`Change`]s,
//! stations leave and fail, tokens are lost, and the ring is repaired. In both cases each token is
//! an event.
//!
//! If requests with response are allowed, the requested station responds while the requester still
//! holds the token (`response`).
//!
//! Not modelled: bit errors, and a sole station that keeps the token: it passes the token to
//! itself.

mod bound;
mod changes;
mod contention;
mod params;
mod response;
mod ring_maintenance;
mod statistics;
mod tracing;

pub use changes::{Change, Kind, Maintenance};
pub use params::{COAX, HeadEnd, Invalid, Params, Service, frame_control};
pub use response::MOST_RETRIES;
pub use statistics::Statistics;

use super::directory::Directory;
use super::framing::data_octets;
use super::round_robin::{Picos, Rotation, bits, instant, nearest, picos, span, wrapped};
use super::trace::{Slot, note_frame};
use super::{Delivery, Event, Medium, Misfit, Passage};
use core::time::Duration;
use response::Exchange;
use stack::fault::Fate;
use stack::machine::Deadline;
use stack::station::{self, Frame, PRIORITIES, Transmission};
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::time::Instant;

/// Number of access classes: 6, 4, 2 and 0, in the order of service.
const CLASSES: usize = 4;
/// Highest priority.
const HIGHEST: u8 = 7;

/// Token bus with its stations' MAC entities.
#[derive(Clone, Debug)]
pub struct TokenBus {
    params: Params,
    /// MAC entities by station, not by place.
    entities: Vec<Entity>,
    /// Station at each place of the logical ring.
    stations: Vec<usize>,
    /// Rotation of the token among the places.
    rotation: Rotation,
    directory: Directory,
    addresses: Vec<Mac>,
    /// Future changes, the next one last.
    changes: Vec<Change>,
    /// Places whose stations have frames; all places if the ring may change.
    alert: Vec<usize>,
    token: Token,
    /// Frame being sent, or request whose response is awaited.
    sending: Option<Queued>,
    /// Progress of that request.
    exchange: Option<Exchange>,
    /// Time of the next event, if there is one.
    due: Option<Picos>,
    events: VecDeque<Event>,
    is_observed: bool,
    trace: Slot,
    statistics: Statistics,
}

/// MAC entity of one station.
#[derive(Clone, Debug, Default)]
struct Entity {
    presence: Presence,
    /// Place in the logical ring, if the station is in it.
    place: Option<usize>,
    /// Waiting frames: one queue for each access class, or, without classes, for each priority, in
    /// the order of service.
    queues: [VecDeque<Queued>; PRIORITIES],
    /// Time of the last service of each class below 6.
    served: [Picos; CLASSES - 1],
    /// Time of the token's last arrival.
    visited: Option<Picos>,
    /// Time at which the station last passed the token on.
    maintained: Picos,
    /// Number of tokens until it opens a window.
    tokens_to_window: u32,
    /// The station leaves at its next token.
    leaves: bool,
    /// The station loses its next token.
    loses_token: bool,
}

/// Frame that waits for the token.
#[derive(Clone, Debug)]
struct Queued {
    priority: u8,
    frame: Frame,
}

/// Membership of the logical ring.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Presence {
    Member,
    /// Waits for a window.
    Wanting,
    #[default]
    Outside,
    /// Keeps its place in the ring until the failure is detected.
    Failed,
}

/// Next event.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Change of a station.
    Change,
    /// End of the frame being sent.
    End,
    /// Arrival of the token at this place.
    Visit(usize),
    /// Claim of the token after silence.
    Claim,
}

/// State of the token.
#[derive(Clone, Copy, Debug)]
enum Token {
    /// Under way since this time, from this place.
    Free(Picos, usize),
    /// Under way to one station, if each token is an event.
    Sent(Sent),
    /// Lost: time of the claim, and the only claimant, if not all stations claim.
    Lost(Picos, Option<usize>),
    /// No ring exists.
    None,
    /// Held by a station that sends.
    Held(Hold),
}

/// Token under way to one station.
#[derive(Clone, Copy, Debug)]
struct Sent {
    from: usize,
    to: usize,
    /// Time at which its first bit is sent, and time at which the receiving station may use it.
    begun: Picos,
    arrives: Picos,
}

/// Token in use by a station.
#[derive(Clone, Copy, Debug)]
struct Hold {
    place: usize,
    /// Index of the class being served.
    class: usize,
    /// Time from which that class may begin no more frames.
    limit: Picos,
    /// Start and end of the frame being sent.
    begun: Picos,
    until: Picos,
}

impl TokenBus {
    /// Creates a bus whose stations are yet to be attached.
    ///
    /// # Errors
    /// Fails if the parameters are not allowed.
    pub fn new(params: Params) -> Result<Self, Invalid> {
        params.check()?;
        let mut changes = params.changes.clone();
        // A stable sort: simultaneous changes keep their order.
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
            // The highest address passes the token on at the beginning.
            token: Token::Free(0, 0),
            sending: None,
            exchange: None,
            due: None,
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
        let waiting: usize = self.entities.iter().map(Entity::waiting).sum();
        waiting + usize::from(self.sending.is_some())
    }

    /// Rotation time of an unused token.
    #[must_use]
    pub fn idle_rotation(&self) -> Duration {
        span(self.rotation.round)
    }

    /// Propagation delay along `metres` of cable.
    fn cable(&self, metres: f64) -> Picos {
        nearest(metres / self.params.metres_per_second * 1e12)
    }

    /// Propagation delay from one position on the cable to another.
    fn way(&self, from: f64, to: f64) -> Picos {
        match self.params.head_end {
            None => self.cable((from - to).abs()),
            Some(HeadEnd { position_metres, delay }) => {
                let there = (from - position_metres).abs() + (to - position_metres).abs();
                self.cable(there) + delay.as_nanos() * 1_000
            }
        }
    }

    /// Propagation delay to the observer, who sits at the head end, or else at the end of the
    /// cable.
    fn way_to_observer(&self, station: usize) -> Picos {
        let observer = self.params.head_end.map_or(0.0, |head_end| head_end.position_metres);
        self.cable((self.params.positions_metres[station] - observer).abs())
    }

    /// Rotation of the token among these stations, in this order.
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

    /// Time and kind of the next event. If the ring does not change, a token skips stations without
    /// frames.
    fn next(&self) -> Option<(Picos, Step)> {
        let of_token = match self.token {
            Token::None => None,
            Token::Lost(until, _) => Some((until, Step::Claim)),
            Token::Sent(Sent { to, arrives, .. }) => {
                let place =
                    self.entities[to].place.expect("the token is sent to a place in the ring");
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

    /// Handles all events that are due by `now`.
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

    /// Skips all visits of the token before `now`; no station uses any of them.
    fn pass_by(&mut self, now: Picos) {
        let Token::Free(since, from) = self.token else { return };
        let (at, last) = self.rotation.last_before(now, since, from);
        self.note_passes(since, from, at);
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

    /// Notes a time from one visit of the token to a station to its next.
    fn note_rotation(&mut self, rotation: Picos) {
        self.statistics.longest_rotation = self.statistics.longest_rotation.max(span(rotation));
    }

    /// Handles the arrival of the token at a station with frames.
    fn visit(&mut self, at: Picos, place: usize) {
        self.pass_by(at);
        self.note_last_pass();
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

    /// Starts the next frame of the station that holds the token, or passes the token on.
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
        self.note_hold(at, station);
        if self.is_kept() {
            return self.pass_on(at, station);
        }
        if is_done {
            self.alert.retain(|place| *place != hold.place);
        }
        self.token = Token::Free(at, hold.place);
    }

    /// Handles the end of the frame being sent.
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

    /// Reports a frame that was sent from `begun` to `at` to the observer and its recipients.
    fn passes(&mut self, source: usize, begun: Picos, at: Picos, frame: &Frame) {
        note_frame(&mut self.trace, source, || (instant(begun), instant(at)), frame);
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

    /// Refuses a frame; the station is notified unless the frame is a response.
    fn refuse(&mut self, station: usize, frame: &Frame) {
        if self.is_told(frame) {
            self.tell(station, self.priority(station, frame), Transmission::NotTaken);
        }
    }

    fn priority(&self, station: usize, frame: &Frame) -> u8 {
        (self.params.priority_of)(station, frame).min(HIGHEST)
    }

    /// Index of the queue for frames of this priority.
    fn queue_for(&self, priority: u8) -> usize {
        match self.params.service {
            Service::HoldingTime(_) => usize::from(HIGHEST - priority),
            // Priorities 7 and 6 belong to class 6, the first.
            Service::Classes { .. } => CLASSES - 1 - usize::from(priority / 2),
        }
    }
}

impl Entity {
    /// Takes the next frame of a class, or, without classes, the most urgent frame.
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
            // Changes are in reverse order, so a station's first change is applied last.
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
        // A token that has already passed does not serve this frame.
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

    fn trace(&mut self) -> Option<&mut Slot> {
        Some(&mut self.trace)
    }

    fn complete_trace(&mut self, now: Instant) {
        self.note_idle(picos(now));
    }

    fn counts(&self, count: &mut dyn FnMut(&str, u64)) {
        self.statistics.counts(!self.params.changes.is_empty(), count);
    }
}
