//! Many connections of two transport entities whose clocks differ, on a path with every fault.
//!
//! Station 1 requests connections and sends messages and expedited data on them; station 2 accepts
//! all. Some connections are closed while data is under way. Station 2 may lose power: it comes
//! back at once with other references, or after I and L with the same ones. Then, for each
//! connection that station 2 has:
//!
//! 1. Messages arrive whole, in order, each once; so does expedited data (ISO 8073 6.11, 6.20).
//! 2. No message arrives before expedited data that was handed over before it (12.2.3.4).
//! 3. No CR makes two connections, whatever becomes of its copies (12.2.2, 6.18).
//! 4. If the connection was not closed early and did not fail, everything arrived.
//! 5. Nothing is left: no connection, no timer, no reference, once L has passed.
//!
//! `TIDEWIRE_SEED` and `TIDEWIRE_SEEDS` are used as in `swarm`.

use crate::skew::Clock;
use crate::swarm::{add, from_environment, plan, transport};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use core::time::Duration;
use sim::medium::faulty::Faulty;
use sim::medium::framing::Framing;
use sim::medium::ideal::{Ideal, Params as IdealParams};
use sim::world::World;
use stack::fault::Faults;
use stack::llc::type3::Lpdu;
use stack::machine::{Deadline, Machine, Output};
use stack::profile;
use stack::station::{Frame, Station};
use stack::tp4::{Address, Counters, Endpoint, Entity, Indication, Nsdu, Params, Request};
use stats::rng::Stream;
use std::collections::{BTreeMap, VecDeque};
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

const SEEDS: u64 = 200;
/// DSAP, SSAP, UI, and the inactive subset of CLNP.
const BELOW: [u8; 4] = [0xFE, 0xFE, 0x03, 0x00];

/// Encodes a small number as four octets that are neither 00 nor FF. The checksum counts modulo 255
/// and so cannot detect one of these changed to the other (ISO 8073 annex B).
const fn mark(number: u32) -> u32 {
    (number + 1) * 0x0101_0101
}

/// Number encoded by a mark; a damaged mark gives a number that is never used.
const fn number(mark: u32) -> u32 {
    (mark / 0x0101_0101).wrapping_sub(1)
}

#[derive(Clone, Copy)]
enum Act {
    Open,
    Data {
        octets: usize,
    },
    Expedite,
    /// Close, whatever may be under way.
    Close,
    /// Close when everything is acknowledged.
    Release,
}

/// State of a connection at station 1.
#[derive(Default)]
struct Talk {
    endpoint: Option<Endpoint>,
    messages: u32,
    expedited: u32,
    /// Number of expedited data handed over before the latest message.
    assured: u32,
    /// True if all messages are acknowledged.
    drained: bool,
    /// True if it was closed before everything was acknowledged, or failed.
    cut: bool,
}

/// Data received by station 2 on a connection.
#[derive(Default)]
struct Heard {
    id: u32,
    messages: u32,
    expedited: u32,
    partial: BytesMut,
}

/// Counters of the users' indications.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Told {
    messages: u64,
    expedited: u64,
    refused: u64,
    cut: u64,
    complete: u64,
}

impl Told {
    fn add(&mut self, one: Self) {
        self.messages += one.messages;
        self.expedited += one.expedited;
        self.refused += one.refused;
        self.cut += one.cut;
        self.complete += one.complete;
    }
}

struct Users {
    address: Mac,
    clock: Clock,
    entity: Entity,
    acts: VecDeque<(Instant, u32, Act)>,
    frames: VecDeque<Frame>,
    talks: BTreeMap<u32, Talk>,
    heard: BTreeMap<Endpoint, Heard>,
    /// Without power until this time.
    down_until: Instant,
    told: Told,
    broken: Option<String>,
}

impl Users {
    fn new(number: u32, params: &Params, clock: Clock, last_reference: u16) -> Self {
        Self {
            address: Mac::local(number),
            clock,
            entity: Entity::new(params.clone(), last_reference),
            acts: VecDeque::new(),
            frames: VecDeque::new(),
            talks: BTreeMap::new(),
            heard: BTreeMap::new(),
            down_until: Instant::ZERO,
            told: Told::default(),
            broken: None,
        }
    }

    fn drain(&mut self, now: Instant) {
        while let Some(output) = self.entity.poll() {
            match output {
                Output::Send(Nsdu { peer: Address::Station(station), mut packet }) => {
                    packet.prepend(&BELOW);
                    let lpdu = Lpdu { station, priority: 0, packet, handle: None };
                    self.frames.push_back(profile::Framing::Ieee8023.frame(self.address, lpdu));
                }
                Output::Deliver(indication) => self.hear(now, indication),
                Output::Note(_) => {}
            }
        }
    }

    fn act(&mut self, now: Instant, id: u32, act: Act) {
        let talk = self.talks.entry(id).or_default();
        let request = match (act, talk.endpoint) {
            (Act::Open, _) => {
                let endpoint = self.entity.endpoint();
                talk.endpoint = Some(endpoint);
                let peer = Address::Station(Mac::local(2));
                let data = Bytes::copy_from_slice(&mark(id).to_be_bytes());
                let (called, calling) = (Bytes::new(), Bytes::new());
                Request::Connect { endpoint, peer, called, calling, data }
            }
            (_, None) => return,
            (Act::Data { octets }, Some(endpoint)) => {
                let mut tsdu = BytesMut::new();
                for number in [id, talk.messages, talk.expedited] {
                    tsdu.put_u32(mark(number));
                }
                tsdu.resize(12 + octets, mark(id ^ talk.messages) as u8);
                talk.messages += 1;
                (talk.assured, talk.drained) = (talk.expedited, false);
                Request::Data { endpoint, tsdu: tsdu.freeze() }
            }
            (Act::Expedite, Some(endpoint)) => {
                let mut data = BytesMut::new();
                for number in [id, talk.expedited] {
                    data.put_u32(mark(number));
                }
                talk.expedited += 1;
                Request::Expedited { endpoint, data: data.freeze() }
            }
            (Act::Close | Act::Release, Some(endpoint)) => {
                talk.cut = matches!(act, Act::Close);
                talk.endpoint = None;
                Request::Disconnect { endpoint, reason: 128 }
            }
        };
        self.entity.request(now, request);
        self.drain(now);
    }

    fn is_quiet(&self) -> bool {
        let over = self.talks.values().all(|talk| talk.endpoint.is_none());
        over && self.acts.is_empty() && self.entity.connections() == 0
    }

    /// Closes the connections on which everything requested is acknowledged.
    fn release(&mut self, now: Instant) {
        let now = self.clock.reads(now);
        for (id, talk) in &self.talks {
            let through = talk.drained || talk.messages == 0;
            let over = self.acts.iter().all(|(_, of, _)| of != id);
            if through && over && talk.endpoint.is_some() {
                self.acts.push_back((now, *id, Act::Release));
            }
        }
    }

    fn talk(&mut self, endpoint: Endpoint) -> Option<&mut Talk> {
        self.talks.values_mut().find(|talk| talk.endpoint == Some(endpoint))
    }

    fn hear(&mut self, now: Instant, indication: Indication) {
        match indication {
            Indication::Connect { endpoint, data, .. } => {
                let octets = data.first_chunk().copied().unwrap_or_default();
                let id = number(u32::from_be_bytes(octets));
                if self.heard.values().any(|heard| heard.id == id) {
                    self.broken = Some(format!("connection {id} was opened twice"));
                }
                self.heard.insert(endpoint, Heard { id, ..Heard::default() });
                self.entity.request(now, Request::Accept { endpoint, data: Bytes::new() });
            }
            Indication::Data { endpoint, octets, end } => {
                let Some(heard) = self.heard.get_mut(&endpoint) else { return };
                heard.partial.extend_from_slice(&octets);
                if end {
                    self.told.messages += 1;
                    self.broken = self.broken.take().or_else(|| heard.message().err());
                }
                if self.entity.params().credit.is_by_user() {
                    self.entity.request(now, Request::GiveBack { endpoint, buffers: 1 });
                }
            }
            Indication::Expedited { endpoint, data } => {
                let Some(heard) = self.heard.get_mut(&endpoint) else { return };
                let mut octets = data.clone();
                let right = data.len() == 8
                    && (octets.get_u32(), octets.get_u32())
                        == (mark(heard.id), mark(heard.expedited));
                if !right {
                    let Heard { id, expedited, .. } = heard;
                    self.broken = Some(format!("expedited {expedited} of {id} is {data:02x?}"));
                }
                heard.expedited += 1;
                self.told.expedited += 1;
            }
            Indication::ExpeditedRefused { endpoint, .. } => {
                self.told.refused += 1;
                if let Some(talk) = self.talk(endpoint) {
                    talk.expedited -= 1;
                }
            }
            Indication::Full { endpoint, .. } => {
                if let Some(talk) = self.talk(endpoint) {
                    talk.messages -= 1;
                }
            }
            Indication::Disconnect { endpoint, .. } => {
                if let Some(talk) = self.talk(endpoint) {
                    (talk.cut, talk.endpoint) = (true, None);
                }
            }
            Indication::Drained { endpoint } => {
                if let Some(talk) = self.talk(endpoint) {
                    talk.drained = true;
                }
            }
            Indication::Ready { .. }
            | Indication::Confirm { .. }
            | Indication::Established { .. }
            | Indication::Closed { .. } => {}
        }
    }
}

impl Heard {
    fn message(&mut self) -> Result<(), String> {
        let mut tsdu = self.partial.split();
        let Self { id, messages, expedited, .. } = self;
        if tsdu.len() < 12 || (tsdu.get_u32(), tsdu.get_u32()) != (mark(*id), mark(*messages)) {
            return Err(format!("message {messages} of {id} was not the next"));
        }
        let before = number(tsdu.get_u32());
        if before > *expedited {
            return Err(format!("message {messages} of {id} overtook expedited data"));
        }
        if tsdu.iter().any(|octet| *octet != mark(*id ^ *messages) as u8) {
            return Err(format!("message {messages} of {id} differs from the one sent"));
        }
        *messages += 1;
        Ok(())
    }
}

impl Station for Users {
    fn addr(&self) -> Mac {
        self.address
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        let now = self.clock.reads(now);
        if now < self.down_until {
            return;
        }
        let Some(Lpdu { station, mut packet, .. }) = profile::Framing::Ieee8023.lpdu(frame) else {
            return;
        };
        if packet.first() == Some(BELOW) && packet.strip(BELOW.len()).is_some() {
            self.entity.receive(now, Nsdu { peer: Address::Station(station), packet });
            self.drain(now);
        }
    }

    fn expire(&mut self, now: Instant) {
        let now = self.clock.reads(now);
        self.entity.expire(now);
        self.drain(now);
        while let Some((_, id, act)) = self.acts.pop_front_if(|(at, ..)| *at <= now) {
            self.act(now, id, act);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let next = self.acts.front().map(|(at, ..)| Deadline { at: *at, timer: "user" });
        let local = Deadline::earlier(self.entity.deadline(), next)?;
        Some(Deadline { at: self.clock.when(local.at), ..local })
    }

    fn poll(&mut self) -> Option<Frame> {
        self.frames.pop_front()
    }
}

/// Actions of station 1's user, in order of time.
fn acts(draw: &mut Stream) -> VecDeque<(Instant, u32, Act)> {
    let mut acts = Vec::new();
    let most = if draw.chance(0.1) { 60 } else { 8 };
    for id in 0..1 + draw.below(most) as u32 {
        let mut at = Instant::from_nanos(draw.below(1_000_000_000));
        acts.push((at, id, Act::Open));
        // Fewer than 250, as marks require.
        for _ in 0..draw.below(40) {
            at += Duration::from_micros(draw.below(20_000));
            let act = if draw.chance(0.3) {
                Act::Expedite
            } else {
                Act::Data { octets: draw.below(3_000) as usize }
            };
            acts.push((at, id, act));
        }
        if draw.chance(0.3) {
            let close = at.saturating_sub(Duration::from_micros(draw.below(50_000)));
            acts.push((close, id, Act::Close));
        }
    }
    acts.sort_by_key(|(at, ..)| *at);
    acts.into()
}

/// Parameters drawn from a seed.
struct Case {
    params: Params,
    clocks: [Clock; 2],
    acts: VecDeque<(Instant, u32, Act)>,
    path: Faulty<Ideal>,
    /// Time at which station 2 loses power, and whether it stays away for I and L.
    restart: Option<(Instant, bool)>,
}

fn case(seed: u64) -> Result<Case, String> {
    let mut draw = Stream::named(seed, "crowd");
    let params = Params { expedited: !draw.chance(0.1), ..transport(&mut draw) };
    let plan = plan(&mut draw, params.nsdu_lifetime);
    let clocks = [0; 2].map(|_: i32| Clock(draw.below(2_001) as i64 - 1_000));
    let path = Ideal::new(IdealParams {
        rate: Some(BitRate::mbps(if draw.chance(0.5) { 10 } else { 1_000 })),
        propagation: Duration::from_micros(5),
        framing: Framing::IEEE_802_3,
        queue_frames: 10_000,
    });
    let faults = Faults::new(plan, seed, "crowd").map_err(|error| error.to_string())?;
    let acts = acts(&mut draw);
    let at = Instant::from_nanos(draw.below(1_500_000_000));
    let restart = draw.chance(0.2).then(|| (at, draw.chance(0.5)));
    Ok(Case { params, clocks, acts, path: Faulty::new(path, faults), restart })
}

/// Runs a seed; returns the counters, or the invariant that failed.
fn run(seed: u64) -> Result<(Counters, Told), String> {
    let Case { params, clocks, acts, path, mut restart } = case(seed)?;
    let restarts = restart.is_some();
    let mut users = [(1, clocks[0], 0xFFF0), (2, clocks[1], 0x4000)]
        .map(|(number, clock, last)| Users::new(number, &params, clock, last));
    users[0].acts = acts;
    let mut world = World::new(path, users.into()).map_err(|misfit| misfit.to_string())?;
    let (mut total, mut told, mut now) = (Counters::default(), Told::default(), Instant::ZERO);
    let end = now + Duration::from_secs(600);
    while now < end {
        now = (now + Duration::from_millis(100)).min(restart.map_or(end, |(at, _)| at));
        world.run(now, |_| {}).map_err(|stuck| stuck.to_string())?;
        for users in world.stations_mut() {
            users.broken.take().map_or(Ok(()), Err)?;
        }
        if let Some((_, waits)) = restart.take_if(|(at, _)| *at == now) {
            // The peer sends on old connections until I has passed. The same references may be
            // reused L after that, and only others before.
            let last = if waits { 0x4000 } else { 0x8000 };
            let mut new = Users::new(2, &params, clocks[1], last);
            if waits {
                let away = params.inactivity_time + params.reference_time;
                new.down_until = clocks[1].reads(now) + away;
            }
            let old = core::mem::replace(&mut world.stations_mut()[1], new);
            add(&mut total, old.entity.counters());
            told.add(old.told);
        }
        world.stations_mut()[0].release(now);
        world.wake(0);
        if restart.is_none() && world.stations().iter().all(Users::is_quiet) {
            break;
        }
    }
    for users in world.stations() {
        add(&mut total, users.entity.counters());
        told.add(users.told);
        if users.entity.connections() > 0 {
            return Err(format!("{} connections are left", users.entity.connections()));
        }
    }
    let [one, two] = world.stations() else { return Err("two stations".to_owned()) };
    for (id, talk) in &one.talks {
        told.cut += u64::from(talk.cut);
        told.complete += u64::from(!talk.cut);
        let heard = two.heard.values().find(|heard| heard.id == *id);
        let came = heard.map_or((0, 0), |heard| (heard.messages, heard.expedited));
        if !talk.cut && !restarts && (came.0 != talk.messages || came.1 < talk.assured) {
            return Err(format!("{id}: {came:?} of {} and {}", talk.messages, talk.assured));
        }
    }
    Ok((total, told))
}

#[test]
fn a_crowd_of_connections_stays_exact_and_leaves_nothing() {
    let seeds = match from_environment("TIDEWIRE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..from_environment("TIDEWIRE_SEEDS").unwrap_or(SEEDS),
    };
    let (mut total, mut told) = (Counters::default(), Told::default());
    for seed in seeds.clone() {
        let (counters, of) = run(seed).unwrap_or_else(|broken| {
            panic!(
                "crowd failed: {broken}\n\
                 rerun: TIDEWIRE_SEED={seed:#x} cargo test -p tidewire-sim crowd"
            )
        });
        add(&mut total, &counters);
        told.add(of);
    }
    println!("seen: a crowd of {} seeds: {told:?}", seeds.end - seeds.start);
    let Counters { opened, t1, frozen_reference, gave_up, expedited_again, .. } = total;
    let Counters { unknown_reference, expedited_duplicates, .. } = total;
    println!("seen:   opened {opened}, T1 {t1}, given up {gave_up}, frozen {frozen_reference}");
    println!("seen:   unknown reference {unknown_reference}, expedited again {expedited_again}");
    println!("seen:   expedited twice {expedited_duplicates}");
    if seeds.end - seeds.start >= SEEDS {
        let counts = [opened, t1, frozen_reference, gave_up, unknown_reference];
        let urgent = [expedited_again, expedited_duplicates];
        let users = [told.messages, told.expedited, told.refused, told.cut, told.complete];
        let all = [&counts[..], &urgent, &users].concat();
        assert!(!all.contains(&0), "an event never occurred: {all:?}");
    }
}
