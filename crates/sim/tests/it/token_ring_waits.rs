//! How long frames wait for the token, against the formulas of symmetric polling systems.
//!
//! N queues with Poisson arrivals of rate l each, constant service b, and a constant r from each
//! queue to the next; p = N l b (Takagi, Analysis of Polling Systems, 1986):
//!
//! ```text
//!   one frame at a time    E W = (N l b b + r (N + p)) / (2 (1 - p - N l r))
//!   until the queue is empty    E W = (N l b b + r (N - p)) / (2 (1 - p))
//! ```
//!
//! Only r in all matters for the mean over all stations, so that it does no harm that the monitor's
//! latency lies in one place. Times are bits at 1 Mbit/s, microseconds.

use crate::talker::{Talker, When};
use core::time::Duration;
use sim::medium::token_ring::{Format, Params, Release, TokenRing};
use sim::world::World;
use stats::rng::Stream;
use stats::summary::Summary;
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

const STATIONS: u32 = 8;
/// 8 (104 + 21) = 1,000 bits.
const DATA_OCTETS: usize = 104;
/// 8 of the stations, 24 of the monitor, and 288 us of cable at 200 m each.
const ROUND: f64 = 320.0;

/// The mean wait of all frames of a run of `frames` frames at this utilisation, and how many there
/// were.
fn mean_wait(ring: &Params, service: f64, utilisation: f64, frames: u64, seed: u64) -> (f64, u64) {
    let nanos = service * f64::from(STATIONS) / utilisation * 1e3;
    let mean = Duration::from_nanos(nanos.round() as u64);
    let name = |station: u32| format!("station/{station}/arrival");
    let talker = |station| {
        let mut stream = Stream::named(seed, &name(station));
        let first = Instant::ZERO + stream.exponential(mean);
        let when = When::Poisson(Box::new(stream), mean, first);
        // To nobody, so that nothing but waiting happens.
        Talker::new(station, Mac::local(99), 14 + DATA_OCTETS, when)
    };
    let ring = TokenRing::new(ring.clone()).expect("the ring is allowed");
    let mut world = World::new(ring, (0..STATIONS).map(talker).collect()).expect("places");
    // The k-th frame's arrival is drawn from the same stream again.
    let mut arrivals: Vec<_> =
        (0..STATIONS).map(|station| (Stream::named(seed, &name(station)), Instant::ZERO)).collect();
    let (mut waits, mut count) = (0_u64, 0_u64);
    let end = Instant::from_nanos(nanos as u64 * frames / u64::from(STATIONS));
    world
        .run(end, |passage| {
            let (stream, arrival) = &mut arrivals[passage.source];
            *arrival += stream.exponential(mean);
            // Station n is 36 m n and n bits behind the observer's place; the rest is ahead.
            let away = match passage.source as u64 {
                0 => 0,
                n => 320_000 - n * (36_000 + 1_000),
            };
            let started = passage.started.as_nanos() - away;
            assert!(started >= arrival.as_nanos(), "a frame was sent before it was there");
            waits += started - arrival.as_nanos();
            count += 1;
        })
        .expect("time goes on");
    let statistics = world.medium().statistics();
    assert_eq!((statistics.queue_drops, statistics.unrecognised), (0, statistics.sent));
    (waits as f64 / count as f64 / 1e3, count)
}

/// Ten runs of a ring must wait as long on average as the formula says, to 2 %.
#[track_caller]
fn check(ring: &Params, service: f64, utilisation: f64, frames: u64, expected: f64) {
    const SEED: u64 = 0x5EED_0005;
    let runs = (0..10).map(|run| mean_wait(ring, service, utilisation, frames, SEED + run));
    let means: Vec<f64> = runs
        .map(|(mean, count)| {
            assert!(count.abs_diff(frames) < frames / 20, "{count} frames, not {frames}");
            mean
        })
        .collect();
    let summary: Summary = means.iter().copied().collect();
    let mean = summary.mean().expect("there are ten runs");
    let deviation = (summary.variance().expect("ten runs") / 10.0).sqrt();
    println!(
        "seed {SEED:#x}: at {utilisation} {mean:.1} us, expected {expected:.1}, deviation of the \
         mean {deviation:.1}"
    );
    assert!((mean / expected - 1.0).abs() < 0.02, "{mean} us, not {expected}");
    assert!(deviation < 0.01 * expected, "the test can tell 2 %: {deviation} us");
}

fn ring() -> Params {
    Params {
        release: Release::Early,
        ..Params::ieee_802_5(BitRate::mbps(1), STATIONS as usize, 57_600.0)
    }
}

#[test]
fn with_one_frame_for_each_token_frames_wait_as_in_a_one_limited_polling_system() {
    // A visit with a frame costs the frame and the token behind it: b = 1,024 bits.
    let ring = Params { frames_per_token: Some(1), ..ring() };
    let (n, r, b) = (f64::from(STATIONS), ROUND / f64::from(STATIONS), 1_024.0);
    for (p, frames) in [(0.3, 10_000), (0.6, 20_000), (0.85, 500_000)] {
        let all = p / b;
        let expected = (all * b * b + r * (n + p)) / (2.0 * (1.0 - p - all * r));
        check(&ring, b, p, frames, expected);
    }
}

#[test]
fn with_a_long_tht_frames_wait_as_in_an_exhaustive_polling_system() {
    // The formula has no cost for a visit that serves somebody, so this token has no length.
    let format = Format { token_bits: 0, ..Format::IEEE_802_5 };
    let ring = Params { format, token_holding_time: Duration::MAX, ..ring() };
    let (n, r, b) = (f64::from(STATIONS), ROUND / f64::from(STATIONS), 1_000.0);
    for (p, frames) in [(0.3, 10_000), (0.6, 20_000), (0.85, 500_000)] {
        let expected = (p * b + r * (n - p)) / (2.0 * (1.0 - p));
        check(&ring, b, p, frames, expected);
    }
}
