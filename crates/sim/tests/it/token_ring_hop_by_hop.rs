//! The token ring against a slow model of the same standard. The model moves the token from station
//! to station, used or not, and carries every frame's reservation bits past every station.
//!
//! Both follow the same rules, but the model computes nothing ahead or afterwards. Stations sit
//! together; a hop is the latency of a station, and 24 bits more into station 0, where the monitor
//! is. Times are in nanoseconds.

use bytes::Bytes;
use core::time::Duration;
use sim::medium::token_ring::{Params, Release, TokenRing};
use sim::world::World;
use stack::machine::Deadline;
use stack::station::{Frame, Station};
use stats::rng::Stream;
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

const BIT: u64 = 250;
const TOKEN: u64 = 24 * BIT;
const HEADER: u64 = 120 * BIT;
const RESERVATION: u64 = 16 * BIT;

/// Ring to be compared.
#[derive(Clone, Debug)]
struct Case {
    release: Release,
    holding: u64,
    frames_per_token: Option<u32>,
    /// Latency of each station.
    latency_bits: u64,
    /// Data octets of the frames of each station.
    data_octets: Vec<usize>,
    offers: Vec<Vec<Offer>>,
}

/// Frame: the time at which it is offered, and its priority.
type Offer = (u64, u8);

/// Station whose frames carry their priority, sent to an address that no station has.
#[derive(Clone, Debug)]
struct Sender {
    address: Mac,
    data_octets: usize,
    offers: VecDeque<Offer>,
    now: Instant,
}

impl Station for Sender {
    fn addr(&self) -> Mac {
        self.address
    }
    fn receive(&mut self, _now: Instant, _frame: Frame) {}
    fn expire(&mut self, now: Instant) {
        self.now = now;
    }
    fn deadline(&self) -> Option<Deadline> {
        let next = self.offers.front();
        next.map(|(at, _)| Deadline { at: Instant::from_nanos(*at), timer: "next frame" })
    }
    fn poll(&mut self) -> Option<Frame> {
        let (_, priority) = self.offers.pop_front_if(|(at, _)| *at <= self.now.as_nanos())?;
        let mut frame = Frame::new(Bytes::from(vec![0; self.data_octets]));
        // In place of the length, which is not read here.
        frame.prepend(&[&Mac::local(99).0[..], &self.address.0, &[0, priority]].concat());
        Some(frame)
    }
}

fn priority_of(_station: usize, frame: &Frame) -> u8 {
    frame.first::<14>().expect("a frame has a header")[13]
}

/// Frame: its source, and the times at which its first and last bit left.
type Sent = (usize, u64, u64);

/// Slow model.
struct Slow<'a> {
    case: &'a Case,
    queues: Vec<VecDeque<Offer>>,
    /// Priorities (Sr, Sx) of each station, the newest last.
    stacks: Vec<Vec<(u8, u8)>>,
    sent: Vec<Sent>,
}

impl Slow<'_> {
    fn count(&self) -> usize {
        self.queues.len()
    }

    fn hop(&self, to: usize) -> u64 {
        (self.case.latency_bits + if to == 0 { 24 } else { 0 }) * BIT
    }

    /// Highest priority of the frames that wait at the station, if there are any.
    fn waits(&self, station: usize, at: u64) -> Option<u8> {
        let waiting = self.queues[station].iter().filter(|(offered, _)| *offered <= at);
        waiting.map(|offer| offer.1).max()
    }

    /// Takes the oldest frame of the highest priority that waits at the station.
    fn take(&mut self, station: usize, at: u64) {
        let priority = self.waits(station, at).expect("a frame waits");
        let is_next = |offer: &Offer| offer.0 <= at && offer.1 == priority;
        let place = self.queues[station].iter().position(is_next).expect("a frame waits");
        self.queues[station].remove(place);
    }

    /// Moves the token until no frame is left to send; returns its priority then.
    fn run(&mut self, end: u64) -> u8 {
        let (mut at, mut station, mut token) = (0, 0, (0, 0));
        while at < end {
            station = (station + 1) % self.count();
            at += self.hop(station);
            let waits = self.waits(station, at);
            if waits.is_some_and(|priority| priority >= token.0) {
                (at, token) = self.hold(station, at, token);
                continue;
            }
            match self.stacks[station].last_mut() {
                Some((before, raised)) if *raised == token.0 => {
                    if token.1 > *before {
                        (token, *raised) = ((token.1, 0), token.1);
                    } else {
                        token.0 = *before;
                        self.stacks[station].pop();
                    }
                    at += TOKEN;
                }
                Some(_) | None => token.1 = token.1.max(waits.unwrap_or(0)),
            }
        }
        token.0
    }

    /// Lets a station send its frames; returns the time at which the next token is out, and its
    /// fields.
    fn hold(&mut self, station: usize, since: u64, token: (u8, u8)) -> (u64, (u8, u8)) {
        let takes = 8 * (self.case.data_octets[station] as u64 + 21) * BIT;
        let (mut at, mut frames) = (since, 0);
        // Return time of each frame's reservation bits, and their value.
        let mut back = Vec::new();
        loop {
            self.take(station, at);
            self.sent.push((station, at, at + takes));
            back.push(self.carry_round(station, at));
            at += takes;
            frames += 1;
            let another = self.waits(station, at).is_some_and(|priority| priority >= token.0)
                && self.case.frames_per_token.is_none_or(|most| frames < most)
                && at + takes - since <= self.case.holding;
            if !another {
                break;
            }
        }
        if self.case.release == Release::OwnHeader {
            at = at.max(back[0].0 - RESERVATION + HEADER);
        }
        let reserved = back.iter().rfind(|(when, _)| *when <= at).map_or(token.1, |(_, r)| *r);
        let own = self.waits(station, at).unwrap_or(0);
        let wanted = reserved.max(own);
        let next = if wanted <= token.0 {
            (token.0, wanted)
        } else {
            match self.stacks[station].last_mut() {
                Some((_, raised)) if *raised == token.0 => *raised = wanted,
                Some(_) | None => self.stacks[station].push((token.0, wanted)),
            }
            (wanted, 0)
        };
        (at + TOKEN, next)
    }

    /// Carries a frame's reservation bits past every other station.
    fn carry_round(&self, station: usize, start: u64) -> (u64, u8) {
        let (mut at, mut reserved) = (start + RESERVATION, 0);
        for step in 1..=self.count() {
            let other = (station + step) % self.count();
            at += self.hop(other);
            if other != station {
                reserved = reserved.max(self.waits(other, at).unwrap_or(0));
            }
        }
        (at, reserved)
    }
}

/// Frames of the medium under test, and the ring's priority at the end.
fn fast(case: &Case, end: u64) -> (Vec<Sent>, u8) {
    let count = case.offers.len();
    let ring = Params {
        release: case.release,
        token_holding_time: Duration::from_nanos(case.holding),
        frames_per_token: case.frames_per_token,
        station_latency_bits: case.latency_bits,
        priority_of,
        ..Params::ieee_802_5(BitRate::mbps(4), count, 0.0)
    };
    let senders = (0..count).map(|station| Sender {
        address: Mac::local(station as u32),
        data_octets: case.data_octets[station],
        offers: case.offers[station].iter().copied().collect(),
        now: Instant::ZERO,
    });
    let ring = TokenRing::new(ring).expect("the ring is allowed");
    let mut world = World::new(ring, senders.collect()).expect("one place per station");
    let mut sent = Vec::new();
    world
        .run(Instant::from_nanos(end), |p| {
            let hops = (count - p.source) as u64;
            let bits = if p.source == 0 { 0 } else { hops * case.latency_bits + 24 };
            let away = bits * BIT;
            sent.push((p.source, p.started.as_nanos() - away, p.at.as_nanos() - away));
        })
        .expect("time advances");
    (sent, world.medium().priority())
}

fn case(stream: &mut Stream) -> Case {
    let count = 2 + stream.below(9) as usize;
    let most = 1 + stream.below(25);
    // Between bits, so that no two events coincide.
    let time = |stream: &mut Stream| stream.below(60_000) * BIT + 1 + stream.below(249);
    let priorities = 1 + stream.below(8);
    let offers = (0..count)
        .map(|_| {
            let frames = 0..stream.below(most + 1);
            let mut offers: Vec<Offer> =
                frames.map(|_| (time(stream), stream.below(priorities) as u8)).collect();
            offers.sort_unstable();
            offers
        })
        .collect();
    Case {
        release: if stream.chance(0.5) { Release::Early } else { Release::OwnHeader },
        holding: (600 + stream.below(4_000)) * BIT,
        frames_per_token: stream.chance(0.5).then(|| 1 + stream.below(3) as u32),
        // On some rings the shortest frames are out long before their reservation bits are back.
        latency_bits: 1 + stream.below(60),
        data_octets: (0..count).map(|_| stream.below(50) as usize).collect(),
        offers,
    }
}

#[test]
fn the_ring_agrees_with_a_hop_by_hop_model() {
    let seeds = std::env::var("TIDEWIRE_SEED").ok().map_or(1..=400, |seed| {
        let seed = u64::from_str_radix(seed.trim_start_matches("0x"), 16).expect("a hex number");
        seed..=seed
    });
    let end = 120_000_000;
    let mut frames = 0;
    for seed in seeds {
        let case = case(&mut Stream::named(seed, "token-ring/case"));
        let mut slow = Slow {
            case: &case,
            queues: case.offers.iter().map(|at| at.iter().copied().collect()).collect(),
            stacks: vec![Vec::new(); case.offers.len()],
            sent: Vec::new(),
        };
        let priority = slow.run(end);
        assert!(slow.queues.iter().all(VecDeque::is_empty), "seed {seed:#x}: too short a run");
        let found = fast(&case, end);
        assert_eq!(found, (slow.sent.clone(), priority), "seed {seed:#x}: {case:?}");
        frames += slow.sent.len();
    }
    assert!(frames > 10_000, "{frames} frames");
}
