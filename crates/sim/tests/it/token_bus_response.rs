//! Request with response on a token bus: exchanges worked out by hand.
//!
//! At 10 Mbit/s a token takes 17.6 us, a request of 60 octets (46 + 22) x 0.8 = 54.4 us, and a
//! response of 18, of which 4 are data, (4 + 22) x 0.8 = 20.8 us. Without cable and with a
//! station's delay of 4 us a slot is 8 us. Station 1 has the token at 0, and station 0 at 21.6 us.

use bytes::Bytes;
use core::time::Duration;
use sim::medium::Passage;
use sim::medium::token_bus::{Change, Kind, Params, Service, Statistics, TokenBus};
use sim::world::World;
use stack::machine::Deadline;
use stack::station::{Frame, Station, Transmission};
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::mac;
use wire::packet::Packet;
use wire::time::Instant;
use wire::units::BitRate;

/// FC of a frame without response, of a request with response, and of a response.
const PLAIN: u16 = 0x40;
const ASKS: u16 = 0x48;
const ANSWERS: u16 = 0x50;

/// Station that sends at given times, and responds to requests after a delay.
#[derive(Debug)]
struct Party {
    address: Mac,
    /// Frames of its own, with their times.
    script: VecDeque<(Instant, u16)>,
    /// Delay of its responses, if it responds.
    answers_after: Option<Duration>,
    answers: VecDeque<(Instant, Mac)>,
    outgoing: VecDeque<Frame>,
    told: Vec<(u64, Transmission)>,
    arrived: Vec<u64>,
}

fn frame(to: Mac, from: Mac, control: u16) -> Frame {
    let octets = if control == ANSWERS { 4 } else { 46 };
    let mut frame = Packet::new(Bytes::from(vec![0; octets]));
    frame.prepend(&mac::header(to, from, control));
    frame
}

impl Station for Party {
    fn addr(&self) -> Mac {
        self.address
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        self.arrived.push(now.as_nanos());
        let [.., asker, _, control] = frame.first::<14>().expect("a frame has a header");
        if u16::from(control) == ASKS
            && let Some(after) = self.answers_after
        {
            self.answers.push_back((now + after, Mac::local(u32::from(asker))));
            self.expire(now);
        }
    }

    fn expire(&mut self, now: Instant) {
        let peer = Mac::local(u32::from(self.address.0[5] ^ 1));
        while let Some((_, control)) = self.script.pop_front_if(|(at, _)| *at <= now) {
            self.outgoing.push_back(frame(peer, self.address, control));
        }
        while let Some((_, asker)) = self.answers.pop_front_if(|(at, _)| *at <= now) {
            self.outgoing.push_back(frame(asker, self.address, ANSWERS));
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let at = [self.script.front().map(|it| it.0), self.answers.front().map(|it| it.0)];
        at.into_iter().flatten().min().map(|at| Deadline { at, timer: "party" })
    }

    fn poll(&mut self) -> Option<Frame> {
        self.outgoing.pop_front()
    }

    fn transmitted(&mut self, now: Instant, _queue: u8, outcome: Transmission) {
        self.told.push((now.as_nanos(), outcome));
    }
}

fn params(retries: u32, length_metres: f64) -> Params {
    Params {
        station_delay: Duration::from_micros(4),
        request_with_response: Some(retries),
        // One frame for each token; an exchange counts as one.
        service: Service::HoldingTime(Duration::from_nanos(1)),
        ..Params::carrierband(BitRate::mbps(10), 2, length_metres)
    }
}

/// Events until 1 ms: observed frames with their source and times in nanoseconds, outcomes reported
/// to each station, and counters.
struct Happened {
    heard: Vec<(usize, u64, u64)>,
    told: [Vec<(u64, Transmission)>; 2],
    arrived: Vec<u64>,
    counts: Statistics,
}

/// Station 0 requests a response of station 1 at 0; station 1 sends frames of its own at these
/// times.
fn run(params: Params, answers_after: Option<u64>, of_its_own: &[u64]) -> Happened {
    let party = |number, script: &[(u64, u16)], answers_after| Party {
        address: Mac::local(number),
        script: script.iter().map(|(at, fc)| (Instant::from_nanos(*at), *fc)).collect(),
        answers_after,
        answers: VecDeque::new(),
        outgoing: VecDeque::new(),
        told: Vec::new(),
        arrived: Vec::new(),
    };
    let own: Vec<(u64, u16)> = of_its_own.iter().map(|at| (*at, PLAIN)).collect();
    let answers_after = answers_after.map(Duration::from_nanos);
    let stations = vec![party(0, &[(0, ASKS)], None), party(1, &own, answers_after)];
    let bus = TokenBus::new(params).expect("the bus is allowed");
    let mut world = World::new(bus, stations).expect("one place per station");
    let mut heard = Vec::new();
    let note = |p: &Passage| heard.push((p.source, p.started.as_nanos(), p.at.as_nanos()));
    world.run(Instant::from_nanos(1_000_000), note).expect("time advances");
    let counts = *world.medium().statistics();
    assert_eq!(counts.offered, counts.finished() + world.medium().queued() as u64);
    let told = [0, 1].map(|station| world.stations()[station].told.clone());
    Happened { heard, told, arrived: world.stations()[0].arrived.clone(), counts }
}

#[test]
fn a_response_precedes_frames_that_wait_for_the_token() {
    // Request from 21.6 to 76 us; response after 4 us, for 20.8 us. Then the token is passed: 100.8
    // + 21.6.
    let Happened { heard, told, arrived, counts } = run(params(0, 0.0), Some(0), &[30_000]);
    assert_eq!(heard, [(0, 21_600, 76_000), (1, 80_000, 100_800), (1, 122_400, 176_800)]);
    assert_eq!(arrived, [100_800, 176_800]);
    // The outcome of the response is not reported.
    let sent = |at| vec![(at, Transmission::Sent)];
    assert_eq!(told, [sent(100_800), sent(176_800)]);
    assert_eq!((counts.requests, counts.answers, counts.unanswered), (1, 1, 0));
    assert_eq!(counts.carried, Duration::from_nanos(2 * 54_400 + 20_800));
    // 200 m are 1 us: the token arrives at 22.6, the request at 78, the response 4 + 20.8 + 1 us
    // later.
    let Happened { heard, arrived, .. } = run(params(0, 200.0), Some(0), &[]);
    assert_eq!(heard, [(0, 22_600, 77_000), (1, 83_000, 103_800)]);
    assert_eq!(arrived, [103_800]);
}

#[test]
fn an_unanswered_request_is_repeated_and_then_discarded() {
    // 54.4 us and two slots each: at 21.6, 92 and 162.4 us, and discarded at 232.8.
    let Happened { heard, told, counts, .. } = run(params(2, 0.0), None, &[30_000]);
    let asked = [(0, 21_600, 76_000), (0, 92_000, 146_400), (0, 162_400, 216_800)];
    assert_eq!(heard[..3], asked);
    // The token arrives 21.6 us later: whatever the holding time, the exchange was one frame.
    assert_eq!(heard[3..], [(1, 254_400, 308_800)]);
    assert_eq!(told[0], [(232_800, Transmission::GivenUp)]);
    assert_eq!((counts.requests, counts.answers, counts.unanswered), (3, 0, 1));
}

#[test]
fn a_late_response_waits_for_the_token_like_any_frame() {
    // It must begin by 92 us, 16 us after the request: after 12 us and the delay it just does.
    let Happened { heard, .. } = run(params(0, 0.0), Some(12_000), &[]);
    assert_eq!(heard, [(0, 21_600, 76_000), (1, 92_000, 112_800)]);
    // The token leaves at 92 us.
    let Happened { heard, told, counts, .. } = run(params(0, 0.0), Some(12_001), &[]);
    assert_eq!(heard, [(0, 21_600, 76_000), (1, 113_600, 134_400)]);
    assert_eq!(told, [vec![(92_000, Transmission::GivenUp)], vec![]]);
    assert_eq!((counts.answers, counts.unanswered), (0, 1));
}

#[test]
fn a_station_that_fails_while_responding_is_requested_again() {
    // It fails at 90 us. The holder listens for two slots more, requests from 106 to 160.4, and
    // discards the request at 176.4.
    let at = Duration::from_micros(90);
    let changes = vec![Change { at, station: 1, kind: Kind::Fail }];
    let bus = Params { changes, ..params(1, 0.0) };
    let Happened { heard, told, counts, .. } = run(bus, Some(0), &[]);
    assert_eq!(heard[..2], [(0, 21_600, 76_000), (0, 106_000, 160_400)]);
    assert_eq!(told[0], [(176_400, Transmission::GivenUp)]);
    assert_eq!((counts.requests, counts.answers, counts.unanswered), (2, 0, 1));
}

#[test]
fn the_longest_exchange_is_all_repetitions_and_a_response() {
    // 3 x (54.4 + 16) + 20.8 us.
    let longest = params(2, 0.0).longest_exchange(46, 4);
    assert_eq!(longest, Duration::from_nanos(3 * 70_400 + 20_800));
    assert!(TokenBus::new(params(8, 0.0)).is_err());
}
