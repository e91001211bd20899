//! Distributions and shares under many collisions, against arithmetic.

use crate::talker::{Talker, When};
use core::time::Duration;
use sim::medium::csma_cd::{CsmaCd, Params, Statistics};
use sim::world::World;
use wire::addr::Mac;
use wire::time::Instant;

fn run(params: Params, talkers: Vec<Talker>, span: Duration) -> World<CsmaCd, Talker> {
    let bus = CsmaCd::new(params).expect("the bus is allowed");
    let mut world = World::new(bus, talkers).expect("one place per station");
    world.run(Instant::ZERO + span, |_| {}).expect("time advances");
    world
}

#[test]
fn two_colliding_stations_separate_as_often_as_draws_differ() {
    // Two stations at one place offer a frame at time 0. After k collisions each draws from 2^k
    // slots. If the draws are equal, with probability 2^-k, they collide again. If they differ,
    // both frames go through at that attempt: the later draw finds the bus busy, defers, and is
    // alone.
    //   P(2) = 1/2, P(3) = 1/2 3/4 = 3/8, P(4) = 1/8 7/8 = 7/64, P(5) = 1/64 15/16 = 15/1024,
    //   P(more) = 1/1024.
    const SEED: u64 = 0x5EED_0005;
    const TRIALS: u64 = 20_000;
    println!("seed {SEED:#x}");
    let expected = [1.0 / 2.0, 3.0 / 8.0, 7.0 / 64.0, 15.0 / 1024.0, 1.0 / 1024.0];
    let mut seen = [0_u64; 5];
    for trial in 0..TRIALS {
        let talkers = vec![Talker::scripted(0, &[0]), Talker::scripted(1, &[0])];
        let params = Params::spread(2, 0.0, SEED + trial);
        let world = run(params, talkers, Duration::from_secs(1));
        let attempts = world.medium().statistics().attempts;
        let attempt = attempts.iter().position(|frames| *frames == 2);
        let attempt = attempt.expect("both were sent at the same attempt");
        seen[(attempt - 1).min(4)] += 1;
    }
    let chi_square: f64 = core::iter::zip(seen, expected)
        .map(|(seen, p)| (seen as f64 - TRIALS as f64 * p).powi(2) / (TRIALS as f64 * p))
        .sum();
    // With 4 degrees of freedom P(X > x) = exp(-x/2) (1 + x/2): 33.4 is exceeded once in a million.
    assert!(chi_square < 33.4, "chi square {chi_square}, seen {seen:?}");
}

/// Thirty stations that always have a frame, for `seconds`.
fn saturated(wire_octets: usize, length_metres: f64, seconds: u64) -> Statistics {
    const SEED: u64 = 0x5EED_0006;
    println!("seed {SEED:#x}");
    let talkers = (0..30)
        .map(|n| Talker::new(n, Mac::local((n + 1) % 30), wire_octets - 4, When::Always))
        .collect();
    let params = Params::spread(30, length_metres, SEED);
    let world = run(params, talkers, Duration::from_secs(seconds));
    *world.medium().statistics()
}

fn share(statistics: &Statistics, wire_octets: usize, seconds: u64) -> f64 {
    (statistics.sent * wire_octets as u64 * 8) as f64 / (seconds as f64 * 1e7)
}

#[test]
fn a_collision_of_near_stations_costs_less_than_a_slot() {
    // Metcalfe and Boggs (1976), P = 64 octets, T = 51.2 us, Q = 32: E = P/(P + W T) = .3737. The
    // formula charges 51.2 us for every contention interval. But a collision of stations this near
    // is over after preamble, jam, gap and round trip: 19.2 us and at most 2 x 0.87 us on 200 m.
    // With W = 1.676 such intervals for each frame of 57.6 us, and 9.6 us of gap: 51.2 / (67.2 +
    // 1.676 x 20.9) = .50.
    let statistics = saturated(64, 200.0, 20);
    let share = share(&statistics, 64, 20);
    println!("share {share}, {statistics:?}");
    assert!(share > 0.50, "share {share}");
    // The upper limit is the share of one sender alone.
    assert!(share < 0.7619, "share {share}");
}

#[test]
fn long_frames_lose_less_to_collisions_than_short_ones() {
    // Metcalfe and Boggs with T = 51.2 us and Q = 32: .9052 for 1024 octets, where P excludes
    // preamble and gap. These take another 17.6 us, of 836.8: at least .9052 x 819.2 / 836.8 =
    // .886.
    let statistics = saturated(1_024, 2_500.0, 20);
    let share = share(&statistics, 1_024, 20);
    println!("share {share}, {statistics:?}");
    assert!(share > 0.886 && share < 0.9808, "share {share}");
}

#[test]
fn no_frame_is_lost_without_being_counted() {
    const SEED: u64 = 0x5EED_0007;
    println!("seed {SEED:#x}");
    // Ten stations offer 20 % more than the bus can carry, into queues of 5 frames.
    let mean = Duration::from_nanos(10 * 67_200 * 100 / 120);
    let talkers = (0..10).map(|n| Talker::poisson(n, 60, mean, SEED)).collect();
    let params = Params { queue_frames: 5, ..Params::spread(10, 1_000.0, SEED) };
    let world = run(params, talkers, Duration::from_secs(20));
    let statistics = world.medium().statistics();
    let sum = |of: fn(&Talker) -> u64| world.stations().iter().map(of).sum::<u64>();
    let queued = world.medium().queued() as u64;
    assert_eq!(sum(|t| t.offered), statistics.offered);
    assert_eq!(statistics.offered, statistics.finished() + queued);
    assert_eq!(sum(|t| t.sent), statistics.sent);
    assert_eq!(sum(|t| t.given_up), statistics.excessive_collisions + statistics.queue_drops);
    assert_eq!(statistics.sent, statistics.attempts.iter().sum::<u64>());
    let arrived = sum(|t| t.arrivals.len() as u64);
    assert!(statistics.sent - arrived <= 1, "at most one frame has not arrived yet");
    assert!(statistics.queue_drops > 10_000, "{statistics:?}");
    assert!(statistics.excessive_collisions > 0, "{statistics:?}");
    assert!(statistics.carried < statistics.busy && statistics.busy < Duration::from_secs(20));
}

#[test]
fn a_frame_too_long_for_the_medium_is_refused_at_once() {
    let talkers =
        vec![Talker::new(0, Mac::local(1), 1_515, When::Always), Talker::scripted(1, &[])];
    let bus = CsmaCd::new(Params::spread(2, 0.0, 1)).unwrap();
    let mut world = World::new(bus, talkers).unwrap();
    // The station offers another frame as soon as one is refused, so time does not advance.
    let stuck = world.run(Instant::from_nanos(1_000), |_| {}).unwrap_err();
    assert_eq!((stuck.at, stuck.station), (Instant::ZERO, Some(0)));
    assert!(stuck.to_string().starts_with("station 0 acted 100000 times at 0.000000000 s"));
    let statistics = world.medium().statistics();
    assert_eq!(statistics.oversized, statistics.offered);
}
