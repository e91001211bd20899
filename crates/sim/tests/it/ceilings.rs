//! One sender: the arithmetic maximum of a medium's throughput, and the waiting time of frames.

use crate::talker::{Talker, When};
use core::time::Duration;
use sim::medium::csma_cd::{CsmaCd, Params};
use sim::medium::framing::Framing;
use sim::medium::{Medium, Passage, ideal};
use sim::world::World;
use stack::station::Station;
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// Frames per second of one sender, back to back, at 10 Mbit/s: 10^7 / (8 (L + 8) + 96), where L
/// counts from the destination address to the end of the FCS.
const CEILINGS: [(usize, f64); 6] = [
    (64, 14_880.95),
    (128, 8_445.95),
    (256, 4_528.99),
    (512, 2_349.62),
    (1_024, 1_197.32),
    (1_518, 812.74),
];

fn full_duplex(rate: Option<BitRate>) -> ideal::Ideal {
    ideal::Ideal::new(ideal::Params {
        rate,
        propagation: Duration::from_micros(5),
        framing: Framing::IEEE_802_3,
        queue_frames: 1_000,
    })
}

/// Lets one station send as fast as it can for a second; returns the passages.
fn saturate(medium: impl Medium, octets: usize) -> Vec<Passage> {
    let sender = Talker::new(0, Mac::local(1), octets, When::Always);
    let receiver = Talker::new(1, Mac::local(0), octets, When::Never);
    let mut world = World::new(medium, vec![sender, receiver]).expect("one place per station");
    let mut passages = Vec::new();
    let second = Instant::from_nanos(1_000_000_000);
    world.run(second, |passage| passages.push(passage.clone())).expect("time advances");
    assert_eq!(world.now(), second);
    let [sender, receiver] = world.stations() else { panic!("there are two stations") };
    assert_eq!(sender.sent, passages.len() as u64);
    assert!(receiver.arrivals.len() + 1 >= passages.len(), "all but the last have arrived");
    assert_eq!(receiver.addr(), Mac::local(1));
    passages
}

#[track_caller]
fn check(passages: &[Passage], wire_octets: usize, frames_per_second: f64) {
    let per_second = passages.len() as f64;
    let relative = (per_second - frames_per_second).abs() / frames_per_second;
    // The second begins with a frame: the count is at most one too high or too low.
    assert!(relative < 1e-3 + 1.0 / per_second, "{per_second} frames/s of {wire_octets} octets");
    let interval = Duration::from_nanos((8 * (wire_octets as u64 + 8) + 96) * 100);
    for pair in passages.windows(2) {
        assert_eq!(pair[1].at - pair[0].at, interval, "frames of {wire_octets} octets");
        assert_eq!(pair[0].at - pair[0].started, interval - Duration::from_nanos(9_600));
    }
    assert!((1e9 / interval.as_nanos() as f64 - frames_per_second).abs() < 0.005);
}

#[test]
fn one_sender_fills_a_shared_bus_to_the_exact_ceiling() {
    for (octets, frames_per_second) in CEILINGS {
        let bus = CsmaCd::new(Params::spread(2, 500.0, 1)).unwrap();
        check(&saturate(bus, octets - 4), octets, frames_per_second);
    }
}

#[test]
fn one_sender_fills_an_ideal_medium_to_the_exact_ceiling() {
    for (octets, frames_per_second) in CEILINGS {
        let medium = full_duplex(Some(BitRate::mbps(10)));
        check(&saturate(medium, octets - 4), octets, frames_per_second);
    }
}

#[test]
fn a_short_frame_takes_the_time_of_the_minimum_length() {
    let bus = CsmaCd::new(Params::spread(2, 500.0, 1)).unwrap();
    check(&saturate(bus, 20), 64, 14_880.95);
}

#[test]
fn without_a_rate_frames_take_only_their_propagation() {
    let stations = vec![Talker::scripted(0, &[1_000, 2_000]), Talker::scripted(1, &[])];
    let mut world = World::new(full_duplex(None), stations).unwrap();
    world.run(Instant::from_nanos(1_000_000), |_| {}).unwrap();
    assert_eq!(world.stations()[1].arrivals, [6_000, 7_000].map(Instant::from_nanos));
}

#[test]
fn waiting_times_on_an_ideal_medium_are_those_of_m_d_1() {
    // M/D/1: W = rho S / (2 (1 - rho)); S = 1230.4 us for 1518 octets, rho = 1/2: 615.2 us. The
    // mean of 40 runs of 100 s (40,600 frames each) may differ from W by 5 of its standard
    // deviations.
    const SEED: u64 = 0x5EED_0003;
    println!("seed {SEED:#x}");
    let mean = Duration::from_nanos(2 * 1_230_400);
    let means: Vec<f64> = (0..40)
        .map(|run| {
            let sender = Talker::poisson(0, 1_514, mean, SEED + run);
            let receiver = Talker::new(1, Mac::local(0), 1_514, When::Never);
            let stations = vec![sender, receiver];
            let medium = full_duplex(Some(BitRate::mbps(10)));
            let mut world = World::new(medium, stations).unwrap();
            let (mut free, mut waits, mut frames) = (Instant::ZERO, 0, 0_u64);
            // The k-th frame's arrival at the queue is drawn from the same stream again.
            let mut again = stats::rng::Stream::named(SEED + run, "station/0/arrival");
            let mut arrival = Instant::ZERO;
            world
                .run(Instant::from_nanos(100_000_000_000), |passage| {
                    arrival += again.exponential(mean);
                    let started = passage.started.saturating_sub(Duration::from_micros(5));
                    assert!(started >= arrival && passage.started >= free);
                    free = passage.at;
                    waits += started.since(arrival).as_nanos() as u64;
                    frames += 1;
                })
                .unwrap();
            waits as f64 / frames as f64
        })
        .collect();
    let summary: stats::summary::Summary = means.iter().copied().collect();
    let mean = summary.mean().unwrap();
    let deviation = (summary.variance().unwrap() / 40.0).sqrt();
    let off = (mean - 615_200.0).abs();
    assert!(off < 5.0 * deviation, "{mean} ns, {deviation} ns of deviation");
    assert!(
        deviation < 10_000.0,
        "the precision suffices to distinguish waiting times: {deviation} ns"
    );
}
