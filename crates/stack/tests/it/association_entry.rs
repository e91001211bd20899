//! Entry point of the fuzz target `association`: a script that is a complete hostile peer of an MMS
//! server or client with all layers down to class 0, also run by plain tests over the corpus.
//!
//! The first octet of a script selects the side under test and its limits. Each further octet is an
//! operation in its low four bits, and an argument. The claims are:
//!
//! 1. Nothing panics; each input has a bounded number of outputs; memory is bounded.
//! 2. What is sent can be decoded, and is no longer than agreed.
//! 3. The server answers each valid confirmed request once, unless its association ends.
//! 4. Each call of the client ends once, before the end of its association is indicated.
//! 5. After each expiry the next deadline is in the future.
//! 6. After the loss of the network nothing is left of connections, associations and timers.

use crate::association_pdus::{self as pdus, Damage, Scale};
use bytes::Bytes;
use core::time::Duration;
use stack::machine::{Deadline, Machine as _, Output};
use stack::mms::client::{self, Client, Indication};
use stack::mms::server::{self, Named, Server, Value};
use stack::network::{Network, NetworkConnectionId};
use stack::tp0;
use stack::transport::{Endpoint, Transport};
use stack::upper::{Addressed, Entity, EntityParams, Lower, Params, Primitive, Tsaps};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wire::mms::{AccessResult, Data, Pdu, Unconfirmed};
use wire::packet::Packet;
use wire::time::Instant;

/// Maximum number of outputs of one input.
const OUTPUTS: usize = 5_000;
/// Most memory of a script, in octets: two queues of each of three connections, of a mebibyte at
/// most, and the TSDUs of the script.
const MEMORY: u64 = 8 << 20;
/// Octets of user data in a DT of the peer; its TPDUs have up to 2,048.
const PIECE: usize = 1_500;
/// Maximum number of connections of a server, and of its associations.
const LINES: usize = 3;
const ASSOCIATIONS: usize = 2;
/// Maximum number of TSDUs in a script.
const TSDUS: usize = 600;

/// Result of a script, to find out how far it went.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Reached {
    pub(crate) opened: u32,
    pub(crate) answers: u32,
    pub(crate) reports: u32,
    /// Reports of the buffered control block, and of these such as state an overflow.
    pub(crate) buffered: u32,
    pub(crate) overflows: u32,
    pub(crate) ended: u32,
    pub(crate) timed_out: u32,
    pub(crate) lost: u32,
    pub(crate) released: u32,
}

/// Runs a script, and checks the claims.
pub(crate) fn association(octets: &[u8]) -> Reached {
    let mut reached = Reached::default();
    pdus::sheet(0);
    pdus::server(0, Scale::Small);
    let memory = allocation_counter::measure(|| reached = run(octets)).bytes_max;
    assert!(memory < MEMORY, "{memory} octets of memory");
    reached
}

fn run(octets: &[u8]) -> Reached {
    let mut rest = octets.iter().copied();
    let options = rest.next().unwrap_or(0);
    let mut world = World::new(options);
    while let Some(code) = rest.next() {
        let (operation, argument) = (code & 15, code >> 4);
        match operation {
            5 => {
                let (place, value) = (rest.next().unwrap_or(0), rest.next().unwrap_or(0));
                world.damage = Some(Damage { how: argument, place, value });
            }
            6..=8 => {
                let raw: Bytes = rest.by_ref().take(usize::from(argument) * 4).collect();
                world.raw(operation, &raw);
            }
            _ => world.perform(operation, argument),
        }
    }
    world.settle();
    world.reached
}

/// Network connection, as the peer sees it.
#[derive(Clone, Default)]
struct Carrier {
    line: Option<NetworkConnectionId>,
    /// Reference of our side, from its CR or CC.
    reference: [u8; 2],
    /// Octets that the network has not accepted yet.
    ahead: usize,
    /// Octets of a TSDU that is not complete.
    piece: Vec<u8>,
    /// True while all that the peer has sent was valid.
    is_clean: bool,
}

/// Machine under test.
enum Host {
    Server(Box<Server>),
    Client(Box<Calling>),
}

/// Client, and what its user expects.
struct Calling {
    client: Client,
    endpoint: Option<Endpoint>,
    user: User,
    next: u64,
    open: BTreeSet<u64>,
    /// Calls that the peer has received.
    asked: VecDeque<Asked>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum User {
    Idle,
    Asking,
    Open,
}

#[derive(Clone, Copy)]
struct Asked {
    invoke: u32,
    kind: u8,
}

struct World {
    now: Instant,
    entity: Entity,
    host: Host,
    scale: Scale,
    pdu_octets: usize,
    lines: [Carrier; LINES],
    selected: usize,
    damage: Option<Damage>,
    repeat: u8,
    invoke: u32,
    tsdus: usize,
    /// Associations of the server.
    opened: BTreeSet<Endpoint>,
    /// Answers to each invoke identifier since the last input.
    answers: BTreeMap<u32, u32>,
    reached: Reached,
}

impl World {
    fn new(options: u8) -> Self {
        let is_client = options & 1 != 0;
        let pdu_octets = if options & 2 == 0 { 65_000 } else { 1_000 };
        let scale = if options < 0xF8 { Scale::Small } else { Scale::Large };
        let params = tp0::Params {
            connections: LINES,
            network_octets: if options & 4 == 0 { 64 << 10 } else { 4_096 },
            ..tp0::Params::class0()
        };
        let transport = Transport::Network(tp0::Entity::new(params));
        let joint = Params::mms();
        let host = if is_client {
            Host::Client(Box::new(Calling {
                client: pdus::client(pdu_octets),
                endpoint: None,
                user: User::Idle,
                next: 0,
                open: BTreeSet::new(),
                asked: VecDeque::new(),
            }))
        } else {
            Host::Server(Box::new(pdus::server(pdu_octets, scale)))
        };
        Self {
            now: Instant::from_nanos(1),
            entity: Entity::new(EntityParams { joint, accepts: !is_client }, transport),
            host,
            scale,
            pdu_octets: pdu_octets as usize,
            lines: Default::default(),
            selected: 0,
            damage: None,
            repeat: 1,
            invoke: 0,
            tsdus: 0,
            opened: BTreeSet::new(),
            answers: BTreeMap::new(),
            reached: Reached::default(),
        }
    }

    fn perform(&mut self, operation: u8, argument: u8) {
        match operation {
            0 if argument < 8 => self.selected = usize::from(argument) % LINES,
            0 => self.taken(usize::MAX),
            1 => self.open(),
            2 => self.send(&pdus::sheet(argument)),
            3 => self.mms(argument),
            4 => self.mms(argument + 16),
            9 => self.repeat = argument.max(1) * 2,
            10 => self.user(argument),
            11 => self.wait(None),
            12 => {
                let millis = u64::from(argument).pow(2) * 50;
                self.wait(Some(Duration::from_millis(millis)));
            }
            13 => self.network(Network::Disconnect),
            14 => self.taken(usize::from(argument) * 500),
            _ => self.answer(argument),
        }
    }

    // ---- the peer -------------------------------------------------------------------------------

    /// Opens the transport connection, as the peer.
    fn open(&mut self) {
        let is_server = matches!(self.host, Host::Server(_));
        if is_server && self.lines[self.selected].line.is_none() {
            let line = self.entity.incoming(self.now);
            self.lines[self.selected] = Carrier { line, is_clean: true, ..Carrier::default() };
            self.drain();
            return self.tpdu(&[9, 0xE0, 0, 0, 0, 9, 0, 0xC0, 1, 0x0B]);
        }
        self.network(Network::Connect);
        let [high, low] = self.lines[self.selected].reference;
        self.tpdu(&[9, 0xD0, high, low, 0, 9, 0, 0xC0, 1, 0x0B]);
    }

    fn mms(&mut self, kind: u8) {
        let is_server = matches!(self.host, Host::Server(_));
        for _ in 0..core::mem::replace(&mut self.repeat, 1) {
            let invoke = match &mut self.host {
                Host::Server(_) => {
                    self.invoke += 1;
                    self.invoke
                }
                Host::Client(calling) => calling.asked.front().map_or(77, |it| it.invoke),
            };
            let pdu = pdus::tsdu(&pdus::mms(kind, invoke, self.scale));
            let endpoint = self.lines[self.selected].line.map(Endpoint::from);
            let was_open = endpoint.is_some_and(|it| self.opened.contains(&it));
            let is_valid = self.damage.is_none() && self.lines[self.selected].is_clean;
            let sent = self.tsdus < TSDUS;
            self.send(&pdu);
            let is_open = endpoint.is_some_and(|it| self.opened.contains(&it));
            if is_server && is_valid && was_open && is_open && sent && pdus::is_request(kind) {
                let answers = self.answers.get(&invoke);
                assert_eq!(answers, Some(&1), "answers to kind {kind}");
            }
        }
    }

    /// Answers the first or the last call of the client; at a server, a request to the buffered
    /// control block.
    fn answer(&mut self, argument: u8) {
        let Host::Client(calling) = &mut self.host else { return self.mms(argument + 32) };
        let asked =
            if argument & 1 == 0 { calling.asked.pop_front() } else { calling.asked.pop_back() };
        let Some(Asked { invoke, kind }) = asked else { return };
        let kind = if argument & 2 == 0 { kind } else { 23 + argument / 4 };
        self.send(&pdus::tsdu(&pdus::mms(kind, invoke, self.scale)));
    }

    /// Sends a TSDU in DTs, damaged if so ordered.
    fn send(&mut self, tsdu: &Bytes) {
        self.tsdus += 1;
        if self.tsdus > TSDUS {
            return;
        }
        self.answers.clear();
        let line = &mut self.lines[self.selected];
        let mut octets = tsdu.to_vec();
        if let Some(damage) = self.damage.take() {
            damage.apply(&mut octets);
            line.is_clean = false;
        }
        let last = octets.chunks(PIECE).count().saturating_sub(1);
        for (place, piece) in octets.chunks(PIECE).enumerate() {
            let end = if place == last { 0x80 } else { 0 };
            let mut tpdu = vec![2, 0xF0, end];
            tpdu.extend_from_slice(piece);
            self.tpdu(&tpdu);
        }
    }

    fn raw(&mut self, operation: u8, raw: &Bytes) {
        self.lines[self.selected].is_clean = false;
        match operation {
            6 => self.send(raw),
            7 => self.send(&pdus::tsdu(raw)),
            _ => self.tpdu(raw),
        }
    }

    fn tpdu(&mut self, octets: &[u8]) {
        self.network(Network::Data(Packet::new(Bytes::copy_from_slice(octets))));
    }

    fn network(&mut self, network: Network) {
        let Some(line) = self.lines[self.selected].line else { return };
        if network == Network::Disconnect {
            self.lines[self.selected] = Carrier::default();
        }
        self.entity.receive(self.now, line, network);
        self.drain();
    }

    fn taken(&mut self, most: usize) {
        let line = &mut self.lines[self.selected];
        let octets = line.ahead.min(most);
        line.ahead -= octets;
        self.network(Network::Taken { octets });
    }

    // ---- the user -------------------------------------------------------------------------------

    fn user(&mut self, argument: u8) {
        let now = self.now;
        match &mut self.host {
            Host::Server(server) => match argument {
                0..=13 => {
                    let name = Named { domain: "LD".to_owned(), item: "f".to_owned() };
                    let value = Value::Float32(f32::from(argument));
                    server.request(now, server::Request::Set { name, value });
                }
                _ => {
                    let line = self.lines[self.selected].line;
                    line.into_iter().for_each(|it| self.entity.disconnect(now, it.into()));
                }
            },
            Host::Client(calling) => match argument {
                0..=3 => calling.associate(now, &mut self.entity),
                4..=9 => calling.call(now, argument - 4),
                10 => (0..30).for_each(|number| calling.call(now, 40 + number % 4)),
                11 | 12 => calling.client.request(now, client::Request::Conclude),
                13 | 14 => {
                    calling.client.request(now, client::Request::Abort);
                    calling.user = User::Idle;
                }
                _ => calling.endpoint.into_iter().for_each(|it| self.entity.disconnect(now, it)),
            },
        }
        self.drain();
    }

    // ---- time -----------------------------------------------------------------------------------

    fn deadline(&self) -> Option<Deadline> {
        let host = match &self.host {
            Host::Server(server) => server.deadline(),
            Host::Client(calling) => calling.client.deadline(),
        };
        Deadline::earlier(host, self.entity.deadline())
    }

    /// Passes time: to the next deadline, or a duration.
    fn wait(&mut self, duration: Option<Duration>) {
        let next = self.deadline().map_or(self.now, |deadline| deadline.at);
        self.now = self.now.max(duration.map_or(next, |duration| self.now + duration));
        for _ in 0..4 {
            self.expire();
            if self.deadline().is_none_or(|deadline| deadline.at > self.now) {
                return;
            }
        }
        panic!("{:?} at {:?}", self.deadline(), self.now);
    }

    fn expire(&mut self) {
        match &mut self.host {
            Host::Server(server) => server.expire(self.now),
            Host::Client(calling) => calling.client.expire(self.now),
        }
        self.entity.expire(self.now);
        self.drain();
    }

    // ---- outputs --------------------------------------------------------------------------------

    fn drain(&mut self) {
        for count in 0.. {
            assert!(count < OUTPUTS, "no end of outputs");
            if !self.step() {
                break;
            }
        }
        match &self.host {
            Host::Server(server) => {
                assert_eq!(server.associations(), self.opened.len());
                assert!(self.opened.len() <= ASSOCIATIONS);
            }
            Host::Client(calling) => calling.check(),
        }
    }

    fn step(&mut self) -> bool {
        if let Some(lower) = self.entity.poll_below() {
            self.below(lower);
            return true;
        }
        if let Some(addressed) = self.entity.poll() {
            match &mut self.host {
                Host::Server(server) => server.receive(self.now, addressed),
                Host::Client(calling) => calling.client.receive(self.now, addressed.primitive),
            }
            return true;
        }
        match &mut self.host {
            Host::Server(server) => {
                let Some(output) = server.poll() else { return false };
                self.of_server(output);
            }
            Host::Client(calling) => {
                let Some(output) = calling.client.poll() else { return false };
                match output {
                    Output::Send(primitive) => {
                        calling.sent(&primitive, self.pdu_octets);
                        let Some(endpoint) = calling.endpoint else { return true };
                        self.entity.request(self.now, Addressed { endpoint, primitive });
                    }
                    Output::Deliver(indication) => calling.told(indication, &mut self.reached),
                    Output::Note(_) => {}
                }
            }
        }
        true
    }

    fn of_server(&mut self, output: Output<Addressed, server::Indication, server::Note>) {
        match output {
            Output::Send(addressed) => {
                if let Primitive::Data(data) = &addressed.primitive {
                    assert!(data.octets.len() <= self.pdu_octets, "longer than agreed");
                    match Pdu::decode(&data.octets).expect("what is sent can be decoded") {
                        Pdu::ConfirmedResponse(it) => self.answered(it.invoke),
                        Pdu::ConfirmedError(it) => self.answered(it.invoke),
                        Pdu::Reject(it) => it.invoke.into_iter().for_each(|it| self.answered(it)),
                        Pdu::Unconfirmed(it) => self.reported(&it),
                        _ => {}
                    }
                }
                self.entity.request(self.now, addressed);
            }
            Output::Deliver(server::Indication::Opened(endpoint)) => {
                assert!(self.opened.insert(endpoint), "opened twice");
                self.reached.opened += 1;
            }
            Output::Deliver(server::Indication::Closed(endpoint)) => {
                assert!(self.opened.remove(&endpoint), "closed twice");
                self.reached.lost += 1;
            }
            Output::Deliver(server::Indication::Written { .. }) | Output::Note(_) => {}
        }
    }

    fn reported(&mut self, unconfirmed: &Unconfirmed<'_>) {
        self.reached.reports += 1;
        let Unconfirmed::InformationReport(report) = unconfirmed else { return };
        let values: Vec<_> = report.results.iter().collect();
        let id = AccessResult::Success(Data::Visible(pdus::BUFFERED.as_bytes()));
        // The sixth value is the overflow if all optional fields are included.
        let lost = AccessResult::Success(Data::Boolean(true));
        let is_buffered = values.first() == Some(&id);
        self.reached.buffered += u32::from(is_buffered);
        self.reached.overflows += u32::from(is_buffered && values.get(5) == Some(&lost));
    }

    fn answered(&mut self, invoke: u32) {
        *self.answers.entry(invoke).or_default() += 1;
        self.reached.answers += 1;
    }

    fn below(&mut self, lower: Lower) {
        let Lower::Network(line, network) = lower else { panic!("class 4") };
        if network == Network::Connect {
            self.lines[0] = Carrier { line: Some(line), ..Carrier::default() };
            self.selected = 0;
            return;
        }
        let Some(own) = self.lines.iter_mut().find(|own| own.line == Some(line)) else { return };
        match network {
            Network::Data(packet) => own.received(&packet.to_bytes()),
            Network::Disconnect => {
                *own = Carrier::default();
                self.entity.receive(self.now, line, Network::Disconnect);
            }
            Network::Connect | Network::Taken { .. } => panic!("only the network reports it"),
        }
    }

    // ---- the end --------------------------------------------------------------------------------

    /// Loses the network and waits for all timers: nothing may be left.
    fn settle(&mut self) {
        for selected in 0..LINES {
            self.selected = selected;
            self.network(Network::Disconnect);
        }
        for count in 0.. {
            assert!(count < 200, "timers without end: {:?}", self.deadline());
            if self.deadline().is_none() {
                break;
            }
            self.wait(None);
        }
        assert_eq!(self.entity.connections(), 0, "connections");
        assert!(self.opened.is_empty(), "associations");
        if let Host::Client(calling) = &self.host {
            assert!(calling.open.is_empty(), "calls without an end: {:?}", calling.open);
            assert_eq!(calling.user, User::Idle);
            assert_eq!(calling.client.state(), client::State::Idle);
        }
    }
}

impl Carrier {
    /// Processes a TPDU of ours; TSDUs must be SPDUs.
    fn received(&mut self, tpdu: &[u8]) {
        self.ahead += tpdu.len();
        match tpdu {
            [_, 0xE0, _, _, high, low, ..] => self.reference = [*high, *low],
            [2, 0xF0, end, data @ ..] => {
                self.piece.extend_from_slice(data);
                if *end & 0x80 != 0 {
                    let tsdu = core::mem::take(&mut self.piece);
                    wire::session::Pdu::decode(&tsdu).expect("what is sent can be decoded");
                }
            }
            _ => {}
        }
    }
}

impl Calling {
    fn associate(&mut self, now: Instant, entity: &mut Entity) {
        if self.client.state() == client::State::Idle {
            self.user = User::Asking;
            if self.endpoint.is_none_or(|endpoint| entity.joint(endpoint).is_none()) {
                self.endpoint = Some(entity.call(pdus::station(), Tsaps::default()));
            }
        }
        self.client.request(now, client::Request::Associate);
    }

    fn call(&mut self, now: Instant, number: u8) {
        self.next += 1;
        self.open.insert(self.next);
        self.client.request(now, client::Request::Call(pdus::call(self.next, number)));
    }

    /// Processes a primitive of the client on its way down.
    fn sent(&mut self, primitive: &Primitive, most: usize) {
        let Primitive::Data(data) = primitive else { return self.asked.clear() };
        assert!(data.octets.len() <= most, "longer than agreed");
        let pdu = Pdu::decode(&data.octets).expect("what is sent can be decoded");
        if let Pdu::ConfirmedRequest(request) = pdu {
            let kind = pdus::response_to(&request.service);
            self.asked.push_back(Asked { invoke: request.invoke, kind });
        }
    }

    fn told(&mut self, indication: Indication, reached: &mut Reached) {
        match indication {
            Indication::Associated(_) => {
                assert_eq!(self.user, User::Asking);
                self.user = User::Open;
                reached.opened += 1;
            }
            Indication::Rejected(_) => {
                assert_eq!(self.user, User::Asking);
                self.user = User::Idle;
            }
            Indication::Ended { token, end } => {
                assert!(self.open.remove(&token), "call {token} ended twice");
                reached.ended += 1;
                reached.timed_out += u32::from(end == client::End::TimedOut);
            }
            Indication::Unconfirmed(_) => {
                assert_eq!(self.user, User::Open);
                reached.reports += 1;
            }
            Indication::Released | Indication::Lost(_) => {
                assert_eq!(self.user, User::Open);
                assert!(self.open.is_empty(), "calls end before their association");
                self.user = User::Idle;
                reached.released += u32::from(indication == Indication::Released);
                reached.lost += u32::from(indication != Indication::Released);
            }
        }
    }

    fn check(&self) {
        assert!(self.client.in_flight() <= 5, "{} calls in flight", self.client.in_flight());
        assert!(self.open.len() <= 5 + 16, "{} calls", self.open.len());
        let is_idle = self.client.state() == client::State::Idle;
        assert_eq!(self.user == User::Idle, is_idle, "{:?}", self.client.state());
    }
}
