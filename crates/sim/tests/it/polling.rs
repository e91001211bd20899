//! Waiting time for the token, against the formulas of symmetric polling systems.
//!
//! N queues with Poisson arrivals of rate l each, constant service b, and a constant r from each
//! queue to the next; p = N l b (Takagi, Analysis of Polling Systems, 1986):
//!
//! ```text
//!   one frame at a time    E W = (N l b b + r (N + p)) / (2 (1 - p - N l r))
//!   until the queue is empty    E W = (N l b b + r (N - p)) / (2 (1 - p))
//! ```
//!
//! For the mean over all stations only the sum of r matters, so the ring's monitor may have its
//! latency in one place. Times are in microseconds: bits at 1 Mbit/s on the ring, and 10 Mbit/s on
//! the bus.

use crate::talker::{Talker, When};
use core::time::Duration;
use sim::medium::Medium;
use sim::medium::token_bus::{self, TokenBus};
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

/// Token medium, and the propagation delay from each of its stations to the observer, in
/// nanoseconds.
struct Polling<M> {
    medium: M,
    away: fn(u64) -> u64,
}

/// The ring: station n is 36 m n and n bits behind the observer's place; the rest is ahead.
fn ring_of(params: &Params) -> Polling<TokenRing> {
    Polling {
        medium: TokenRing::new(params.clone()).expect("the ring is allowed"),
        away: |station| match station {
            0 => 0,
            n => 320_000 - n * (36_000 + 1_000),
        },
    }
}

/// Mean wait of all frames of a run of `frames` frames at this utilisation, and their number.
fn mean_wait<M: Medium>(
    polling: Polling<M>,
    service: f64,
    utilisation: f64,
    frames: u64,
    seed: u64,
) -> (f64, u64) {
    let nanos = service * f64::from(STATIONS) / utilisation * 1e3;
    let mean = Duration::from_nanos(nanos.round() as u64);
    let name = |station: u32| format!("station/{station}/arrival");
    let talker = |station| {
        let mut stream = Stream::named(seed, &name(station));
        let first = Instant::ZERO + stream.exponential(mean);
        let when = When::Poisson(Box::new(stream), mean, first);
        // The destination does not exist, so that waiting is the only effect.
        Talker::new(station, Mac::local(99), 14 + DATA_OCTETS, when)
    };
    let Polling { medium, away } = polling;
    let mut world =
        World::new(medium, (0..STATIONS).map(talker).collect()).expect("one place per station");
    // The k-th frame's arrival is drawn from the same stream again.
    let mut arrivals: Vec<_> =
        (0..STATIONS).map(|station| (Stream::named(seed, &name(station)), Instant::ZERO)).collect();
    let (mut waits, mut count) = (0_u64, 0_u64);
    let end = Instant::from_nanos(nanos as u64 * frames / u64::from(STATIONS));
    world
        .run(end, |passage| {
            let (stream, arrival) = &mut arrivals[passage.source];
            *arrival += stream.exponential(mean);
            let started = passage.started.as_nanos() - away(passage.source as u64);
            assert!(started >= arrival.as_nanos(), "a frame was sent before it was offered");
            waits += started - arrival.as_nanos();
            count += 1;
        })
        .expect("time advances");
    let given_up: u64 = world.stations().iter().map(|talker| talker.given_up).sum();
    assert_eq!(given_up, 0);
    (waits as f64 / count as f64 / 1e3, count)
}

/// Checks that the mean wait of ten runs equals that of the formula, to 2 %.
#[track_caller]
fn check<M: Medium>(
    polling: impl Fn() -> Polling<M>,
    service: f64,
    utilisation: f64,
    frames: u64,
    expected: f64,
) {
    const SEED: u64 = 0x5EED_0005;
    let runs = (0..10).map(|run| mean_wait(polling(), service, utilisation, frames, SEED + run));
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
    assert!(deviation < 0.01 * expected, "the precision suffices for 2 %: {deviation} us");
}

fn ring() -> Params {
    Params {
        release: Release::Early,
        ..Params::ieee_802_5(BitRate::mbps(1), STATIONS as usize, 57_600.0)
    }
}

#[test]
fn a_ring_with_one_frame_per_token_is_one_limited_polling() {
    // A visit with a frame costs the frame and the token behind it: b = 1,024 bits.
    let ring = Params { frames_per_token: Some(1), ..ring() };
    let (n, r, b) = (f64::from(STATIONS), ROUND / f64::from(STATIONS), 1_024.0);
    for (p, frames) in [(0.3, 10_000), (0.6, 20_000), (0.85, 500_000)] {
        let all = p / b;
        let expected = (all * b * b + r * (n + p)) / (2.0 * (1.0 - p - all * r));
        check(|| ring_of(&ring), b, p, frames, expected);
    }
}

#[test]
fn a_ring_with_a_long_tht_is_exhaustive_polling() {
    // The formula has no cost for a visit that serves a station, so this token has no length.
    let format = Format { token_bits: 0, ..Format::IEEE_802_5 };
    let ring = Params { format, token_holding_time: Duration::MAX, ..ring() };
    let (n, r, b) = (f64::from(STATIONS), ROUND / f64::from(STATIONS), 1_000.0);
    for (p, frames) in [(0.3, 10_000), (0.6, 20_000), (0.85, 500_000)] {
        let expected = (p * b + r * (n - p)) / (2.0 * (1.0 - p));
        check(|| ring_of(&ring), b, p, frames, expected);
    }
}

/// Each station is 40 octet times, 32 us, from the next: 22 of the token, and 18 of delay.
fn bus_of(holding_time: Duration) -> Polling<TokenBus> {
    let bus = token_bus::Params {
        station_delay: Duration::from_nanos(14_400),
        service: token_bus::Service::HoldingTime(holding_time),
        ..token_bus::Params::carrierband(BitRate::mbps(10), STATIONS as usize, 0.0)
    };
    assert_eq!(bus.frame_bits(DATA_OCTETS), 8 * (22 + 104));
    Polling { medium: TokenBus::new(bus).expect("the bus is allowed"), away: |_| 0 }
}

#[test]
fn a_bus_with_one_frame_per_token_is_one_limited_polling() {
    // 126 octets of frame, 40 of each pass.
    let (n, r, b) = (f64::from(STATIONS), 32.0, 100.8);
    // A frame begins within THT; the next would begin after it.
    for (p, frames) in [(0.3, 20_000), (0.5, 200_000)] {
        let all = p / b;
        let expected = (all * b * b + r * (n + p)) / (2.0 * (1.0 - p - all * r));
        check(|| bus_of(Duration::from_nanos(1)), b, p, frames, expected);
    }
}

#[test]
fn a_bus_with_a_long_tht_is_exhaustive_polling() {
    let (n, r, b) = (f64::from(STATIONS), 32.0, 100.8);
    for (p, frames) in [(0.3, 20_000), (0.6, 40_000), (0.85, 500_000)] {
        let expected = (p * b + r * (n - p)) / (2.0 * (1.0 - p));
        check(|| bus_of(Duration::from_secs(10)), b, p, frames, expected);
    }
}
