//! Follower of requests and replies: transactions of clients with servers, by the rules of their
//! protocol (`protocol`).
//!
//! ```text
//! octets of a TCP stream ── framer ── PDUs ── message ── outstanding requests of the connection
//!                                                        ── row of (server, unit, function)
//! ```
//!
//! `requests` defines which reply belongs to which request. Definitions: a PDU has the time at which
//! TCP can deliver its last octet; behind a gap, that of the segment that fills it. The response time
//! is that from a request to its reply. The period of a poll is the time from a request to the next of the same client, on any of its
//! connections, for the same data; a retry is none.
//!
//! Memory is bounded: connections and functions that have been silent for long make room for new
//! ones. If no function has, PDUs of further ones are counted as an oddity, so that invented units
//! displace none that is known.

mod framer;
mod message;
mod protocol;
mod readers;
mod report;
mod requests;
mod row;
mod set_ups;

pub use protocol::Protocol as TransactionProtocol;
pub(crate) use protocol::Protocol;
pub use report::{
    Extremes, PollingClient, RequestGaps, TransactionCounts, TransactionFigures, TransactionKey,
    TransactionReport,
};
pub(crate) use set_ups::{Opened, SetUp};

use super::Follower;
use crate::host::Address;
use crate::lru_slab::{Handle, LruSlab, Place};
use crate::oddity::{Class, Oddities};
use core::hash::BuildHasher as _;
use foldhash::fast::FixedState;
use framer::{Found, Framer};
use hashbrown::HashTable;
use message::{Message, Role, Sender};
use protocol::{Datagram, Read};
use requests::{Asked, Key, Match, Request, Requests};
use row::{Asking, Replied, Row};
use set_ups::SetUps;
use std::collections::VecDeque;
use wire::addr::Socket;
use wire::time::Instant;

/// Maximum number of functions followed.
pub(crate) const FUNCTIONS: usize = 8_192;
/// Maximum number of functions that ended and were not taken.
const ENDED: usize = 4_096;
/// Maximum number of clients whose times between requests are kept.
const WITH_GAPS: usize = 4_096;
/// Time between two looks for requests whose time is over.
const LOOK_NS: u64 = 1_000_000_000;

/// Connection that carries a protocol of requests and replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Carrier {
    pub(crate) protocol: Protocol,
    /// Its ends, the lower socket first.
    pub(crate) ends: [Socket; 2],
    /// Place of the server among them; not of datagrams, whose requests tell it.
    pub(crate) server: Option<usize>,
}

impl Carrier {
    /// Carrier between these ends; none if no protocol has a server at one of them.
    pub(crate) fn of(ends: [Socket; 2]) -> Option<Self> {
        let (protocol, server) = Protocol::of_ports(ends.map(|end| end.port))?;
        Some(Self { protocol, ends, server: Some(server) })
    }

    /// Carrier of datagrams between these ends; none if no protocol has them.
    pub(crate) fn of_datagram(ends: [Socket; 2]) -> Option<Self> {
        let protocol = Protocol::of_datagram(ends.map(|end| end.port))?;
        Some(Self { protocol, ends, server: None })
    }
}

/// Part of a connection: what passed on it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'a> {
    /// The connection opens.
    Opened,
    /// The next octets, sent by the end at this place, and as many behind them that were not captured.
    Octets { way: usize, octets: &'a [u8], missing_octets: usize },
    /// A datagram, sent by the end at this place.
    Datagram { way: usize, octets: &'a [u8], missing_octets: usize },
    /// The server closed the connection, or one side reset it.
    Closed,
}

/// Part of this connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'a> {
    pub(crate) carrier: Carrier,
    pub(crate) part: Part<'a>,
}

/// Octets, and as many behind them that were not captured.
#[derive(Clone, Copy)]
struct Stretch<'a> {
    octets: &'a [u8],
    missing_octets: usize,
}

/// Destination of the PDUs of a dialogue.
struct Above<'a> {
    rows: &'a mut Rows,
    oddities: &'a mut Oddities,
    set_ups: &'a mut SetUps,
}

/// Connection followed.
#[derive(Clone, Debug)]
struct Dialogue {
    carrier: Carrier,
    /// By sender, in the order of the ends.
    ways: [Framer; 2],
    requests: Requests,
    /// Message that each end sent last, whose octets may continue.
    latest: [Option<Latest>; 2],
}

/// Message that may continue.
#[derive(Clone, Copy, Debug)]
struct Latest {
    row: Handle,
    client: Address,
    is_request: bool,
}

/// Functions of units of servers, and what finds them.
#[derive(Clone, Debug)]
struct Rows {
    /// In boxes, because they have thousands of octets, which would be moved to make room for more functions.
    slab: LruSlab<Box<Row>>,
    index: HashTable<Place>,
    state: FixedState,
    ended: VecDeque<TransactionReport>,
    /// Number of further clients whose times between requests may be kept; zero unless requested.
    room: usize,
    /// Start of the interval under way.
    interval: Instant,
}

/// Transactions followed.
#[derive(Clone, Debug)]
pub(crate) struct Transactions {
    slab: LruSlab<Dialogue>,
    index: HashTable<Place>,
    state: FixedState,
    rows: Rows,
    /// Time of the next look for requests whose time is over.
    next_look: Instant,
    set_ups: SetUps,
}

impl Rows {
    /// Handle of the row of a function, which is made if there is none and if there is room.
    fn row(&mut self, key: TransactionKey, at: Instant, oddities: &mut Oddities) -> Option<Handle> {
        let hash = self.state.hash_one(key);
        let is_it = |place: &Place| self.slab.get(*place).is_some_and(|row| row.key == key);
        let place = match self.index.find(hash, is_it).copied() {
            Some(place) => place,
            None => {
                if self.slab.is_full() {
                    self.end_silent(at, oddities);
                }
                if self.slab.is_full() {
                    oddities.count(Class::Meter, "PDU of one more function than is followed");
                    return None;
                }
                let place = self.slab.insert(Box::new(Row::new(key, at)), at);
                let Self { slab, index, state, .. } = self;
                index.insert_unique(hash, place, |place| {
                    slab.get(*place).map_or(0, |row| state.hash_one(row.key))
                });
                place
            }
        };
        self.slab.touch(place, at);
        let row = self.slab.at(place);
        row.change();
        row.note(at);
        Some(self.slab.handle(place))
    }

    /// Ends the function that has been silent for longest, if that is long enough.
    fn end_silent(&mut self, at: Instant, oddities: &mut Oddities) {
        let Some(place) = self.slab.expired_at(at) else { return };
        let Some(row) = self.slab.remove(place) else { return };
        if let Ok(entry) = self.index.find_entry(self.state.hash_one(row.key), |it| *it == place) {
            entry.remove();
        }
        if self.ended.len() == ENDED {
            self.ended.pop_front();
            oddities.count(Class::Meter, "function that ended and was not reported");
        }
        self.room += row.gaps();
        self.ended.push_back(row.whole_report());
    }

    /// Row that is about to change.
    fn at(&mut self, handle: Handle) -> Option<&mut Row> {
        let (row, _) = self.slab.valid(handle)?;
        row.change();
        Some(row)
    }

    /// Counts the end of a request that no reply ends.
    fn give_up(&mut self, request: &Request) {
        let interval = self.interval;
        if let Some(row) = self.at(request.row) {
            row.outstanding = row.outstanding.saturating_sub(1);
            row.counts(interval).unanswered += 1;
        }
    }
}

impl Dialogue {
    fn new(carrier: Carrier) -> Self {
        let ways = [Framer::default(), Framer::default()];
        Self { carrier, ways, requests: Requests::new(), latest: [None; 2] }
    }

    /// Gives up the requests whose time is over.
    fn give_up(&mut self, at: Instant, rows: &mut Rows) {
        let limit_ns = self.carrier.protocol.row().limit_ns;
        while let Some(request) = self.requests.give_up(at, limit_ns) {
            rows.give_up(&request);
        }
    }

    /// Processes the PDUs that a framer finds in this way.
    fn framed(&mut self, at: Instant, way: usize, above: Above<'_>, part: Stretch<'_>) {
        let Self { carrier, ways, requests, latest } = self;
        let (Some(framer), Some(latest)) = (ways.get_mut(way), latest.get_mut(way)) else { return };
        let Above { rows, oddities, set_ups } = above;
        let row = carrier.protocol.row();
        let stations = [way, 1 - way.min(1)].map(|end| carrier.ends.get(end).map(|it| it.address));
        let mut pdu = |octets: &[u8], pdu_octets: usize, read: Read, oddities: &mut Oddities| {
            if let ([Some(from), Some(to)], Protocol::EtherNetIp) = (stations, carrier.protocol) {
                set_ups.add([from, to], octets);
            }
            let sender = if carrier.server == Some(way) { Sender::Server } else { Sender::Client };
            let (pdu_octets, before) = (pdu_octets as u64, latest.take());
            let mut pairing =
                Pairing { at, carrier, way, pdu_octets, latest, requests, rows, oddities };
            let is_read = read(octets, sender, &mut |message| match message.role {
                Role::Request => pairing.request(&message),
                Role::Reply => pairing.reply(&message),
                Role::Acknowledgement => pairing.acknowledgement(&message),
                Role::Continuation => pairing.go_on(before),
            });
            if !is_read {
                oddities.count(Class::Foreign, row.foreign);
            }
        };
        let Stretch { octets, missing_octets } = part;
        let mut alone = Framer::default();
        let framer = match (carrier.server, &row.datagram) {
            (None, Some(Datagram::One(read))) => {
                return pdu(octets, octets.len() + missing_octets, *read, oddities);
            }
            (None, _) => &mut alone,
            (Some(_), _) => framer,
        };
        framer.push(&row.stream, octets, missing_octets, &mut |found| match found {
            Found::Pdu { octets, pdu_octets } => {
                pdu(octets, pdu_octets, row.stream.read, oddities);
            }
            Found::Foreign => oddities.count(Class::Foreign, row.foreign),
        });
    }
}

/// Message on its way to the counts.
struct Pairing<'a> {
    at: Instant,
    carrier: &'a Carrier,
    /// Place of its sender.
    way: usize,
    /// Length of the PDU.
    pdu_octets: u64,
    /// Message that the sender sent last.
    latest: &'a mut Option<Latest>,
    requests: &'a mut Requests,
    rows: &'a mut Rows,
    oddities: &'a mut Oddities,
}

impl Pairing<'_> {
    /// Place of the server; of datagrams the receiver of a request and the sender of a reply.
    fn server(&self, message: &Message<'_>) -> usize {
        let by_role = if message.role == Role::Request { 1 - self.way } else { self.way };
        self.carrier.server.unwrap_or(by_role)
    }

    fn client(&self, message: &Message<'_>) -> Option<Address> {
        let end = self.carrier.ends.get(1 - self.server(message).min(1))?;
        Some(Address::Internet(end.address))
    }

    fn row(&mut self, message: &Message<'_>) -> Option<Handle> {
        let Carrier { protocol, ends, .. } = *self.carrier;
        let server = Address::Internet(ends.get(self.server(message))?.address);
        let Message { unit, function, .. } = *message;
        let key = TransactionKey { protocol, server, unit, function };
        self.rows.row(key, self.at, self.oddities)
    }

    fn request(&mut self, message: &Message<'_>) {
        let Some(handle) = self.row(message) else { return };
        let print = self.rows.state.hash_one(message.content);
        let asked = self.requests.ask(Request::new(key(message), print, self.at, handle));
        let outstanding = self.requests.outstanding(message.pair) as u64;
        let interval = self.rows.interval;
        let Some(client) = self.client(message) else { return };
        let asking = message.subject.map(|subject| Asking {
            at: self.at,
            print: self.rows.state.hash_one((client, subject)),
            client,
            octets: self.pdu_octets,
        });
        *self.latest = asking.map(|_| Latest { row: handle, client, is_request: true });
        if let Asked::New { dropped: Some(dropped) } = asked
            && let Some(row) = self.rows.at(dropped.row)
        {
            row.outstanding = row.outstanding.saturating_sub(1);
            row.counts(interval).dropped += 1;
        }
        let mut room = self.rows.room;
        let Some(row) = self.rows.at(handle) else { return };
        let counts = row.counts(interval);
        counts.requests += 1;
        counts.most_outstanding = counts.most_outstanding.max(outstanding);
        match asked {
            Asked::Retry => counts.retries += 1,
            Asked::New { .. } => {
                row.outstanding += 1;
                if let Some(asking) = asking {
                    row.poll(interval, asking, &mut room);
                }
            }
        }
        self.rows.room = room;
    }

    /// Counts a reply to each request that it acknowledges.
    fn acknowledgement(&mut self, message: &Message<'_>) {
        let interval = self.rows.interval;
        for request in self.requests.acknowledge(message.pair, message.identifier) {
            let Some(row) = self.rows.at(request.row) else { continue };
            row.note(self.at);
            row.outstanding = row.outstanding.saturating_sub(1);
            row.counts(interval).replies += 1;
            row.response(interval, self.at.nanos_since(request.at));
        }
    }

    /// Adds the octets of a PDU that continues this message.
    fn go_on(&mut self, before: Option<Latest>) {
        *self.latest = before;
        let Some(Latest { row, client, is_request }) = before else { return };
        let Some(row) = self.rows.at(row) else { return };
        match is_request {
            true => row.asked_more(client, self.pdu_octets),
            false => row.replied(client, self.pdu_octets, Replied::More),
        }
    }

    fn reply(&mut self, message: &Message<'_>) {
        let client = self.client(message);
        let found = self.requests.answer(key(message), self.at);
        let interval = self.rows.interval;
        // A reply counts for the function of its request, which it may not state.
        let handle = match found {
            Match::One(request) | Match::Ambiguous(request) => Some(request.row),
            Match::Repeated | Match::Late | Match::Nothing => self.row(message),
        };
        if let (Match::One(request) | Match::Ambiguous(request), Some(client)) = (found, client) {
            *self.latest = Some(Latest { row: request.row, client, is_request: false });
        }
        let Some(row) = handle.and_then(|handle| self.rows.at(handle)) else { return };
        row.note(self.at);
        if let Some(client) = client {
            match found {
                Match::One(request) => {
                    let within = Replied::Within(self.at.nanos_since(request.at));
                    row.replied(client, self.pdu_octets, within);
                }
                Match::Ambiguous(_) => row.replied(client, self.pdu_octets, Replied::Ambiguous),
                Match::Repeated | Match::Late | Match::Nothing => {}
            }
        }
        let counts = row.counts(interval);
        counts.replies += 1;
        counts.exceptions += u64::from(message.is_exception);
        match found {
            Match::One(request) => {
                row.response(interval, self.at.nanos_since(request.at));
                row.outstanding = row.outstanding.saturating_sub(1);
            }
            Match::Ambiguous(_) => {
                counts.ambiguous += 1;
                row.outstanding = row.outstanding.saturating_sub(1);
            }
            Match::Repeated => counts.repeated += 1,
            Match::Late => counts.late += 1,
            Match::Nothing => counts.unrequested += 1,
        }
    }
}

const fn key(message: &Message<'_>) -> Key {
    let Message { identifier, pair_unit, pair, .. } = *message;
    Key { identifier, unit: pair_unit, pair }
}

impl Transactions {
    /// Follows at most `connections` connections, and functions until they were silent for that time.
    pub(crate) fn new(connections: usize, silence_nanos: u64, seed: u64) -> Self {
        let state = FixedState::with_seed(seed);
        let rows = Rows {
            slab: LruSlab::expiring(FUNCTIONS, silence_nanos),
            index: HashTable::new(),
            state: state.clone(),
            ended: VecDeque::new(),
            room: 0,
            interval: Instant::ZERO,
        };
        let (slab, index) = (LruSlab::new(connections), HashTable::new());
        let set_ups = SetUps::default();
        Self { slab, index, state, rows, next_look: Instant::ZERO, set_ups }
    }

    /// Keeps the times between requests of each client from now on, of [`WITH_GAPS`] at most.
    pub(crate) const fn keep_gaps(&mut self) {
        self.rows.room = WITH_GAPS;
    }

    /// Begins an interval: what is counted from now on is counted in it.
    pub(crate) const fn begin(&mut self, interval: Instant) {
        self.rows.interval = interval;
    }

    /// True if PDUs of this direction of a connection were read.
    pub(crate) fn follows(&self, carrier: &Carrier, way: usize) -> bool {
        let dialogue = self.find(carrier).and_then(|place| self.slab.get(place));
        dialogue.and_then(|it| it.ways.get(way)).is_some_and(Framer::is_in_step)
    }

    /// Reports of the functions followed. One that did not change is not made again.
    pub(crate) fn each(&self) -> impl Iterator<Item = &TransactionReport> {
        self.rows.slab.iter().map(|(_, row, _)| row.report())
    }

    /// Keys of the functions followed.
    pub(crate) fn keys(&self) -> impl Iterator<Item = TransactionKey> {
        self.rows.slab.iter().map(|(_, row, _)| row.key)
    }

    /// Report of a function, with the times between the requests of each client.
    pub(crate) fn whole(&self, key: &TransactionKey) -> Option<TransactionReport> {
        let Rows { slab, index, state, .. } = &self.rows;
        let is_it = |place: &Place| slab.get(*place).is_some_and(|row| row.key == *key);
        let place = index.find(state.hash_one(key), is_it)?;
        slab.get(*place).map(|row| row.whole_report())
    }

    /// Takes the oldest function that was silent for long and made room for another.
    pub(crate) fn take_ended(&mut self) -> Option<TransactionReport> {
        self.rows.ended.pop_front()
    }

    /// Takes the oldest set-up of a connection for I/O data that was not taken.
    pub(crate) fn take_set_up(&mut self) -> Option<SetUp> {
        self.set_ups.take()
    }

    /// Gives up the requests whose time is over.
    pub(crate) fn give_up(&mut self, at: Instant) {
        for place in self.slab.places() {
            let Some(dialogue) = self.slab.get_mut(place) else { continue };
            dialogue.give_up(at, &mut self.rows);
        }
    }

    fn hash(&self, ends: [Socket; 2]) -> u64 {
        self.state.hash_one(ends)
    }

    fn find(&self, carrier: &Carrier) -> Option<Place> {
        let is_it = |place: &Place| self.slab.get(*place).is_some_and(|it| it.carrier == *carrier);
        self.index.find(self.hash(carrier.ends), is_it).copied()
    }

    /// Removes a connection; its requests will not be answered.
    fn remove(&mut self, place: Place) {
        let Some(mut dialogue) = self.slab.remove(place) else { return };
        if let Ok(entry) =
            self.index.find_entry(self.hash(dialogue.carrier.ends), |it| *it == place)
        {
            entry.remove();
        }
        dialogue.requests.close().iter().for_each(|request| self.rows.give_up(request));
    }

    fn open(&mut self, carrier: Carrier, at: Instant, oddities: &mut Oddities) -> Place {
        if self.slab.is_full()
            && let Some(oldest) = self.slab.oldest()
        {
            oddities.count(Class::Meter, "connection of requests forgotten for want of room");
            self.remove(oldest);
        }
        let hash = self.hash(carrier.ends);
        let place = self.slab.insert(Dialogue::new(carrier), at);
        let Self { slab, index, state, .. } = self;
        index.insert_unique(hash, place, |place| {
            slab.get(*place).map_or(0, |it| state.hash_one(it.carrier.ends))
        });
        place
    }

    /// Processes a part of a connection, as [`Follower::observe`] does; true if PDUs of its direction
    /// were read.
    pub(crate) fn pass(&mut self, at: Instant, event: Event<'_>, oddities: &mut Oddities) -> bool {
        let Event { carrier, part } = event;
        let known = self.find(&carrier);
        if let (Part::Opened, Some(place)) = (part, known) {
            self.remove(place);
        }
        let place = match (part, known) {
            (Part::Opened, _) | (Part::Octets { .. } | Part::Datagram { .. }, None) => {
                self.open(carrier, at, oddities)
            }
            (_, Some(place)) => place,
            (Part::Closed, None) => return false,
        };
        self.slab.touch(place, at);
        let Self { slab, rows, set_ups, .. } = self;
        let dialogue = slab.at(place);
        dialogue.give_up(at, rows);
        match part {
            Part::Octets { way, octets, missing_octets }
            | Part::Datagram { way, octets, missing_octets } => {
                let part = Stretch { octets, missing_octets };
                dialogue.framed(at, way, Above { rows, oddities, set_ups }, part);
                dialogue.ways.get(way).is_some_and(Framer::is_in_step)
            }
            Part::Opened => {
                dialogue.ways = [Framer::at_start(), Framer::at_start()];
                false
            }
            Part::Closed => {
                dialogue.requests.close().iter().for_each(|request| rows.give_up(request));
                false
            }
        }
    }
}

impl Follower<Oddities> for Transactions {
    type Input<'a> = Event<'a>;
    type Below = ();
    type Report = TransactionReport;

    fn observe(&mut self, at: Instant, event: Event<'_>, oddities: &mut Oddities) {
        self.pass(at, event, oddities);
    }

    /// Gives up the requests whose time is over, once a second.
    fn expire(&mut self, at: Instant, _: &mut Oddities) {
        if at < self.next_look {
            return;
        }
        self.next_look = Instant::from_nanos(at.as_nanos().saturating_add(LOOK_NS));
        self.give_up(at);
    }

    fn report(&self, _: Instant, (): &()) -> impl Iterator<Item = TransactionReport> {
        self.each().cloned()
    }
}
