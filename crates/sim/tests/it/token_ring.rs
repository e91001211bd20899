//! Token ring to the bit time: ceilings, timelines worked out by hand, priority, refusal.
//!
//! At 4 Mbit/s a bit lasts 250 ns. Without cable four stations make a ring of 4 + 24 = 28 bits: one
//! from each station to the next, and 25 from the last to the first. A frame of 60 octets carries
//! 46 octets of data: 8 (46 + 21) = 536 bits. The token starts at station 0.

use crate::talker::{Talker, When};
use bytes::Bytes;
use core::time::Duration;
use sim::medium::Passage;
use sim::medium::token_ring::{Format, Invalid, Params, Release, TokenRing};
use sim::world::World;
use stack::machine::Deadline;
use stack::station::{Frame, Station, Transmission};
use stats::rng::Stream;
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// A bit at 4 Mbit/s.
const BIT: u64 = 250;

fn params(stations: usize) -> Params {
    Params::ieee_802_5(BitRate::mbps(4), stations, 0.0)
}

/// Frame: its source, and the times at which its first and last bit left, in bit times.
type Sent = (usize, u64, u64);

/// Runs stations without cable that send frames of 60 octets at these times, in nanoseconds.
fn run(params: Params, offers: &[&[u64]]) -> (World<TokenRing, Talker>, Vec<Sent>) {
    let talker = |(station, at): (usize, &&[u64])| Talker::scripted(station as u32, at);
    let stations = offers.iter().enumerate().map(talker).collect();
    let count = offers.len() as u64;
    let ring = TokenRing::new(params).expect("the ring is allowed");
    let mut world = World::new(ring, stations).expect("one place per station");
    let mut sent = Vec::new();
    let end = Instant::from_nanos(20_000_000);
    world
        .run(end, |p| {
            // The observer is a bit behind each following station, and 24 more behind the last.
            let away = if p.source == 0 { 0 } else { count - p.source as u64 + 24 };
            let bits = |at: Instant| at.as_nanos() / BIT - away;
            sent.push((p.source, bits(p.started), bits(p.at)));
        })
        .expect("time advances");
    (world, sent)
}

/// Saturates 32 stations with frames of `data` octets, one for each token, for 0.4 s.
fn utilisation(latency_bits: u64, release: Release, data: usize) -> f64 {
    const STATIONS: u64 = 32;
    // Cable makes up for the latency that 32 stations and the monitor lack: 0.25 us a bit, 50 m.
    let length_metres = (latency_bits - STATIONS - 24) as f64 * 50.0;
    let params = Params {
        release,
        frames_per_token: Some(1),
        ..Params::ieee_802_5(BitRate::mbps(4), STATIONS as usize, length_metres)
    };
    let ring = TokenRing::new(params).expect("the ring is allowed");
    assert_eq!(ring.latency(), Duration::from_nanos(latency_bits * BIT));
    let talker = |n| Talker::new(n, Mac::local(n ^ 1), data + 14, When::Always);
    let stations = (0..STATIONS as u32).map(talker).collect();
    let mut world = World::new(ring, stations).expect("one place per station");
    let mut passages: Vec<Passage> = Vec::new();
    let end = Instant::from_nanos(400_000_000);
    world.run(end, |passage| passages.push(passage.clone())).expect("time advances");
    // From one frame of a station to its next: 32 frames with their tokens, and once round.
    let frame_bits = 8 * (data as u64 + 21);
    let visit_bits = match release {
        Release::OwnHeader => frame_bits.max(latency_bits + 120) + 24,
        Release::Early => frame_bits + 24,
    };
    let cycle = Duration::from_nanos((STATIONS * visit_bits + latency_bits) * BIT);
    for (first, next) in passages.iter().zip(&passages[STATIONS as usize..]) {
        assert_eq!(first.source, next.source);
        assert_eq!(next.at - first.at, cycle);
    }
    // Over whole cycles.
    let cycles = (passages.len() - 1) / STATIONS as usize;
    let frames = cycles * STATIONS as usize;
    let seconds = (passages[frames].at - passages[0].at).as_secs_f64();
    frames as f64 * 8.0 * data as f64 / (seconds * 4e6)
}

#[test]
fn saturated_stations_fill_the_ring_to_the_exact_ceiling() {
    // U = 8 L / (max(F, R + 120) + 24 + R / N), or 8 L / (F + 24 + R / N) under early release.
    use Release::{Early, OwnHeader};
    let table = [
        (56, OwnHeader, [(16, 0.398), (64, 0.725), (256, 0.914), (1_024, 0.977)]),
        (56, Early, [(16, 0.398), (64, 0.725), (256, 0.914), (1_024, 0.977)]),
        (1_000, OwnHeader, [(16, 0.109), (64, 0.436), (256, 0.902), (1_024, 0.973)]),
        (1_000, Early, [(16, 0.364), (64, 0.696), (256, 0.902), (1_024, 0.973)]),
    ];
    for (latency, release, row) in table {
        for (data, expected) in row {
            let found = utilisation(latency, release, data);
            let off = (found - expected).abs();
            assert!(off < 1e-3, "R={latency} {release:?} L={data}: {found}, not {expected}");
        }
    }
}

#[test]
fn the_token_position_is_exact_after_an_idle_hour() {
    // 32 stations at 16 Mbit/s: a round takes 56 bits of 62.5 ns, 3,500 ns. The token is at station
    // 5 at 312.5 + 3,500 m ns. The first such time from 3,600 s + 1 ns on has m = 1,028,571,429:
    // 3,600.000 001 812 5 s. The observer is 51 bits, 3,187.5 ns, away.
    let hour = 3_600_000_000_000;
    let mut stations: Vec<_> = (0..32).map(|n| Talker::scripted(n, &[])).collect();
    stations[5] = Talker::scripted(5, &[hour + 1]);
    let ring = TokenRing::new(Params::ieee_802_5(BitRate::mbps(16), 32, 0.0)).expect("allowed");
    let mut world = World::new(ring, stations).expect("one place per station");
    let (mut started, mut steps) = (Vec::new(), 0);
    while world.step(|p| started.push(p.started)).expect("time advances").is_some() {
        steps += 1;
    }
    assert_eq!(started, [Instant::from_nanos(hour + 5_000)]);
    // 33 first calls, the offer, token, end and return, and 31 arrivals.
    assert_eq!(steps, 33 + 1 + 3 + 31);
}

#[test]
fn stations_send_and_receive_in_the_order_of_the_ring() {
    // All have a frame at 0. Station 1 is passed first, after a bit; then a frame, a token and a
    // bit each; station 0 is 25 bits behind station 3.
    let (world, sent) = run(params(4), &[&[0], &[0], &[0], &[0]]);
    let expected = [(1, 1, 537), (2, 562, 1_098), (3, 1_123, 1_659), (0, 1_708, 2_244)];
    assert_eq!(sent, expected);
    let arrived = |station: usize| -> Vec<u64> {
        world.stations()[station].arrivals.iter().map(|at| at.as_nanos() / BIT).collect()
    };
    // Station 2 is a bit behind station 1, 27 behind station 3, and 2 behind station 0.
    assert_eq!(arrived(2), [537 + 1, 1_659 + 27, 2_244 + 2]);
    assert_eq!(world.stations()[1].sent, 1);
}

#[test]
fn the_order_follows_positions_and_not_indices() {
    let spread = Params { length_metres: 400.0, ..params(3) };
    let ring = Params { positions_metres: vec![300.0, 100.0, 200.0], ..spread };
    let ring = TokenRing::new(ring).expect("the ring is allowed");
    let talkers = (0..3).map(|n| Talker::scripted(n, &[1])).collect();
    let mut world = World::new(ring, talkers).expect("one place per station");
    let mut sources = Vec::new();
    world.run(Instant::from_nanos(1_000_000), |p| sources.push(p.source)).expect("time advances");
    // The token leaves station 1, at 100 m, at time 0.
    assert_eq!(sources, [2, 0, 1]);
}

#[test]
fn a_token_is_held_no_longer_than_tht() {
    // THT = 1 ms, 4,000 bits: seven frames of 536 bits take 3,752, an eighth would end at 4,288.
    let limited = Params { token_holding_time: Duration::from_millis(1), ..params(4) };
    let (world, sent) = run(limited.clone(), &[&[], &[0; 10], &[0], &[]]);
    let sources: Vec<usize> = sent.iter().map(|sent| sent.0).collect();
    assert_eq!(sources, [1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1]);
    // Back to back, then a token and a bit, then the frame, a token and the rest of the ring.
    assert_eq!(sent[6], (1, 1 + 6 * 536, 3_753));
    assert_eq!(sent[7].1, 3_753 + 24 + 1);
    assert_eq!(sent[8].1, 3_778 + 536 + 24 + 27);
    assert_eq!(world.medium().statistics().tokens_used, 3);
    // Exactly as long is allowed; a nanosecond less is not.
    for (nanos, first) in [(7 * 536 * BIT, 7), (7 * 536 * BIT - 1, 6)] {
        let exact = Params { token_holding_time: Duration::from_nanos(nanos), ..limited.clone() };
        let (_, sent) = run(exact, &[&[], &[0; 10], &[0], &[]]);
        assert_eq!(sent.iter().position(|sent| sent.0 == 2), Some(first));
    }
}

#[test]
fn frames_too_long_for_the_ring_or_for_tht_are_refused_at_once() {
    let given_up = |params: Params, octets| {
        let ring = TokenRing::new(params).expect("the ring is allowed");
        let at = When::At([Instant::ZERO].into());
        let sender = Talker::new(0, Mac::local(1), octets, at);
        let stations = vec![sender, Talker::scripted(1, &[])];
        let mut world = World::new(ring, stations).expect("one place per station");
        world.run(Instant::from_nanos(20_000_000), |_| {}).expect("time advances");
        let statistics = world.medium().statistics();
        assert_eq!(statistics.oversized, world.stations()[0].given_up);
        assert_eq!(statistics.finished(), 1);
        statistics.oversized == 1
    };
    // ProNET-10: 2,046 octets of data.
    assert!(!given_up(Params::pronet_10(2, 0.0), 14 + 2_046));
    assert!(given_up(Params::pronet_10(2, 0.0), 14 + 2_047));
    // 10 ms at 4 Mbit/s are 5,000 octets, 4,979 of them data.
    assert!(!given_up(params(2), 14 + 4_979));
    assert!(given_up(params(2), 14 + 4_980));
}

fn only_station_3(station: usize, _frame: &Frame) -> u8 {
    if station == 3 { 5 } else { 0 }
}

#[test]
fn a_reservation_takes_the_token_past_lower_priorities() {
    // Station 1 captures the token at bit 1. Station 3 reserves 5 in its frame, so the token that
    // leaves at 561 has P = 5 and passes station 2; station 3 has it at 563. Its own token, P = 5
    // still, leaves at 1,123 and reaches station 1, which raised the priority, after 26 bits at
    // 1,149. Station 1 lowers it: the token takes 24 bits again, and station 2 has it at 1,174.
    let ring = Params { priority_of: only_station_3, frames_per_token: Some(1), ..params(4) };
    let (world, sent) = run(ring.clone(), &[&[], &[0, 0], &[0], &[0]]);
    let expected = [(1, 1, 537), (3, 563, 1_099), (2, 1_174, 1_710), (1, 1_761, 2_297)];
    assert_eq!(sent, expected);
    let statistics = world.medium().statistics();
    assert_eq!((statistics.raised, statistics.lowered), (1, 1));
    assert_eq!(world.medium().priority(), 0);
    // Without priorities the ring's order decides.
    let (_, sent) = run(params(4), &[&[], &[0], &[0], &[0]]);
    assert_eq!(sent, [(1, 1, 537), (2, 562, 1_098), (3, 1_123, 1_659)]);
    // Its reservation bits pass station 3 at 1 + 2 + 16 bits: 4,750 ns. Later is too late.
    for (offered, second) in [(4_750, 3), (4_751, 2)] {
        let (_, sent) = run(ring.clone(), &[&[], &[0, 0], &[0], &[offered]]);
        assert_eq!(sent[1].0, second, "station 3 has its frame at {offered} ns");
    }
}

#[test]
fn under_early_release_a_reservation_may_come_too_late() {
    // 28 bits of latency and 972 of cable, 50 m each: a frame of 536 bits is out long before its
    // reservation bits return at 1 + 1000 + 16. Stations sit together, so the order is as above.
    let long = Params { length_metres: 48_600.0, frames_per_token: Some(1), ..params(4) };
    for (release, expected) in [(Release::Early, [1, 2, 3]), (Release::OwnHeader, [1, 3, 2])] {
        let ring = Params { release, priority_of: only_station_3, ..long.clone() };
        let ring = TokenRing::new(ring).expect("the ring is allowed");
        let offers: [&[u64]; 4] = [&[], &[0], &[0], &[0]];
        let talkers = offers.iter().zip(0..).map(|(at, n)| Talker::scripted(n, at)).collect();
        let mut world = World::new(ring, talkers).expect("one place per station");
        let mut sources = Vec::new();
        world
            .run(Instant::from_nanos(9_000_000), |p| sources.push(p.source))
            .expect("time advances");
        assert_eq!(sources, expected, "{release:?}");
    }
}

/// Station that sends a few frames, each until it is not refused, and that takes a while to empty
/// its one receive buffer.
#[derive(Clone, Debug)]
struct OneBuffer {
    address: Mac,
    outgoing: u32,
    copying: Duration,
    full_until: Option<Instant>,
    outcomes: Vec<(Instant, Transmission)>,
    arrivals: Vec<Instant>,
}

impl OneBuffer {
    fn new(number: u32, frames: u32, copying: Duration) -> Self {
        let (full_until, outcomes, arrivals) = (None, Vec::new(), Vec::new());
        let address = Mac::local(number);
        Self { address, outgoing: frames, copying, full_until, outcomes, arrivals }
    }
}

impl Station for OneBuffer {
    fn addr(&self) -> Mac {
        self.address
    }
    fn receive(&mut self, now: Instant, _frame: Frame) {
        assert!(self.has_receive_buffer(), "a frame arrived without a buffer");
        self.arrivals.push(now);
        self.full_until = Some(now + self.copying);
    }
    fn expire(&mut self, now: Instant) {
        self.full_until = self.full_until.filter(|until| *until > now);
    }
    fn deadline(&self) -> Option<Deadline> {
        self.full_until.map(|at| Deadline { at, timer: "copying" })
    }
    fn poll(&mut self) -> Option<Frame> {
        self.outgoing = self.outgoing.checked_sub(1)?;
        let mut frame = Frame::new(Bytes::from_static(&[7; 46]));
        frame.prepend(&[&Mac::local(1).0[..], &self.address.0, &[0, 46]].concat());
        Some(frame)
    }
    fn transmitted(&mut self, now: Instant, _queue: u8, outcome: Transmission) {
        self.outcomes.push((now, outcome));
        self.outgoing += u32::from(outcome == Transmission::Refused);
    }
    fn has_receive_buffer(&self) -> bool {
        self.full_until.is_none()
    }
}

#[test]
fn a_refused_frame_is_reported_and_succeeds_with_a_buffer() {
    // ProNET-10, two stations: 2 + 10 bits, 1.2 us round; a frame of 46 octets of data takes
    // 37 + 368 = 405 bits, 40.5 us, a token 1.0 us. Station 0 has two frames at 0 and station 1
    // copies for 100 us.
    //   1st: token at 1.2, out at 41.7, arrives at 41.8, back at 42.9. Buffer free again at 141.8.
    //   2nd: token out at 42.7 and round at 43.9; its address is at station 1 at 43.9 + 0.1 + 2.6:
    //        no buffer. Out at 84.4, back at 85.6: refused. Sent again with the token of 85.4 + 1.2,
    //        and again with that of 129.3, whose address is there at 132.0: refused, back at 171.0.
    //        Token at 172.0, out at 212.5.
    let ring = TokenRing::new(Params::pronet_10(2, 0.0)).expect("the ring is allowed");
    let copying = Duration::from_micros(100);
    let stations = vec![OneBuffer::new(0, 2, copying), OneBuffer::new(1, 0, copying)];
    let mut world = World::new(ring, stations).expect("one place per station");
    world.run(Instant::from_nanos(1_000_000), |_| {}).expect("time advances");
    let at = Instant::from_nanos;
    let [sender, receiver] = world.stations() else { panic!("there are two stations") };
    assert_eq!(receiver.arrivals, [at(41_800), at(212_600)]);
    let refused = [85_600, 128_300, 171_000].map(|nanos| (at(nanos), Transmission::Refused));
    assert_eq!(sender.outcomes[0], (at(42_900), Transmission::Sent));
    assert_eq!(sender.outcomes[1..4], refused);
    assert_eq!(sender.outcomes[4..], [(at(213_700), Transmission::Sent)]);
    let statistics = world.medium().statistics();
    assert_eq!((statistics.offered, statistics.sent, statistics.refused), (5, 2, 3));
    assert_eq!(statistics.finished(), 5);
}

#[test]
fn the_buffer_is_checked_when_the_address_arrives() {
    // As above, but the copying ends around the time when the second frame's address is at station
    // 1: 46.6 us after the start, so 4.8 us after the first arrived.
    for (nanos, refused) in [(4_800, 0), (4_801, 1)] {
        let ring = TokenRing::new(Params::pronet_10(2, 0.0)).expect("the ring is allowed");
        let copying = Duration::from_nanos(nanos);
        let stations = vec![OneBuffer::new(0, 2, copying), OneBuffer::new(1, 0, copying)];
        let mut world = World::new(ring, stations).expect("one place per station");
        world.run(Instant::from_nanos(1_000_000), |_| {}).expect("time advances");
        assert_eq!(world.medium().statistics().refused, refused, "copying takes {nanos} ns");
    }
}

fn by_number(station: usize, _frame: &Frame) -> u8 {
    (station % 8) as u8
}

/// Twelve stations with priorities of their own that send frames at random times; returns the
/// passages.
fn random(seed: u64, release: Release) -> (World<TokenRing, Talker>, Vec<Vec<u64>>, Vec<Passage>) {
    let mut stream = Stream::named(seed, "token-ring/offers");
    let offers: Vec<Vec<u64>> = (0..12)
        .map(|_| {
            let mut at: Vec<u64> =
                (0..stream.below(20)).map(|_| stream.below(20_000_000)).collect();
            at.sort_unstable();
            at
        })
        .collect();
    let ring = Params {
        release,
        priority_of: by_number,
        frames_per_token: Some(1),
        ..Params::ieee_802_5(BitRate::mbps(4), 12, stream.below(2_000) as f64)
    };
    let ring = TokenRing::new(ring).expect("the ring is allowed");
    let talkers = offers.iter().zip(0..).map(|(at, n)| Talker::scripted(n, at)).collect();
    let mut world = World::new(ring, talkers).expect("one place per station");
    let mut passages = Vec::new();
    let mut last = Instant::ZERO;
    while let Some(at) = world.step(|p| passages.push(p.clone())).expect("time advances") {
        assert!(at >= last);
        last = at;
    }
    (world, offers, passages)
}

#[test]
fn the_highest_waiting_priority_is_served_next_and_then_lowered() {
    let seeds = std::env::var("TIDEWIRE_SEED").ok().map_or(1..=200, |seed| {
        let seed = u64::from_str_radix(seed.trim_start_matches("0x"), 16).expect("a hex number");
        seed..=seed
    });
    let (mut raised, mut overtaken) = (0, 0);
    for seed in seeds {
        let (world, offers, passages) = random(seed, Release::OwnHeader);
        let statistics = world.medium().statistics();
        let frames: u64 = offers.iter().map(|offers| offers.len() as u64).sum();
        assert_eq!((statistics.offered, statistics.sent), (frames, frames), "seed {seed:#x}");
        assert_eq!(world.medium().queued(), 0, "seed {seed:#x}");
        assert_eq!(world.medium().priority(), 0, "seed {seed:#x}");
        assert!(passages.is_sorted_by_key(|passage| passage.at), "seed {seed:#x}");
        raised += statistics.raised;
        // If a frame was offered before another began and is not sent next, its priority is not
        // above that of the frame that is.
        let mut next = [0; 12];
        for pair in passages.windows(2) {
            next[pair[0].source] += 1;
            // The observer sees the frame later than its sender by less than a round of 20 us.
            let begun = pair[0].started.as_nanos().saturating_sub(20_000);
            for (station, offers) in offers.iter().enumerate() {
                let waited = offers.get(next[station]).is_some_and(|at| *at <= begun);
                let (sent, other) = (pair[1].source % 8, station % 8);
                assert!(!waited || other <= sent, "seed {seed:#x}: {other} waits for {sent}");
                overtaken += u64::from(waited && other < sent);
            }
        }
    }
    assert!(raised > 100 && overtaken > 1_000, "{raised} raised, {overtaken} overtaken");
}

#[test]
fn a_ring_is_a_function_of_the_offered_frames() {
    for release in [Release::OwnHeader, Release::Early] {
        let (world, _, passages) = random(7, release);
        let (again, _, same) = random(7, release);
        assert!(passages == same && passages.len() > 50);
        assert_eq!(world.medium().statistics(), again.medium().statistics());
        assert!(passages != random(8, release).2);
    }
}

#[test]
fn frames_under_way_count_as_queued_until_they_are_back() {
    let talkers = (0..6).map(|n| Talker::poisson(n, 514, Duration::from_millis(4), 3)).collect();
    let ring = Params { queue_frames: 3, ..Params::ieee_802_5(BitRate::mbps(4), 6, 1_000.0) };
    let mut world =
        World::new(TokenRing::new(ring).expect("allowed"), talkers).expect("one place per station");
    for millis in 1..500 {
        world.run(Instant::from_nanos(millis * 1_000_000), |_| {}).expect("time advances");
        let statistics = *world.medium().statistics();
        let queued = world.medium().queued();
        assert_eq!(statistics.offered, statistics.finished() + queued as u64);
        assert!(queued <= 18);
    }
    let statistics = world.medium().statistics();
    assert!(statistics.queue_drops > 10 && statistics.sent > 100, "{statistics:?}");
    let given_up: u64 = world.stations().iter().map(|station| station.given_up).sum();
    assert_eq!(given_up, statistics.queue_drops);
}

#[test]
fn invalid_rings_are_refused_with_a_reason() {
    let refused =
        |params: Params| TokenRing::new(params).expect_err("the ring is invalid").to_string();
    assert_eq!(
        refused(Params { monitor_latency_bits: 0, ..params(4) }),
        "the ring is too short: its latency is 1000 ns, the token takes 6000 ns"
    );
    let long = Params { length_metres: f64::NAN, ..params(4) };
    assert_eq!(refused(long), "the ring's length is not a number of metres");
    let away = Params { positions_metres: vec![1.0], ..params(1) };
    assert_eq!(refused(away), "a station's position is not on the ring");
    let many = Params::pronet_10(256, 100.0);
    assert_eq!(refused(many), "the ring has addresses for 255 stations only");
    let none = Params { token_holding_time: Duration::from_micros(41), ..params(4) };
    assert_eq!(TokenRing::new(none).err(), Some(Invalid::Holding), "168 bits take 42 us");
    assert_eq!(Format::PRONET_10.frame_bits(14), 37);
}
