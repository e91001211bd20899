//! Collisions on a shared bus, to the bit time, against timelines worked out by hand.
//!
//! Distances are chosen so that a signal takes 5 us for 1000 m. Frames have 64 octets with their
//! FCS: 57.6 us with the preamble. The preamble takes 6.4 us, the jam 3.2 us, the gap 9.6 us, a
//! slot 51.2 us.

use crate::talker::Talker;
use sim::medium::csma_cd::{CsmaCd, Invalid, Params};
use sim::world::World;
use stats::rng::Stream;
use wire::addr::Mac;
use wire::time::Instant;

pub(crate) fn params(positions_metres: &[f64], seed: u64) -> Params {
    Params {
        positions_metres: positions_metres.to_vec(),
        metres_per_second: 2.0e8,
        ..Params::spread(positions_metres.len(), 0.0, seed)
    }
}

/// Seed with which station n draws `slots[n]` at its 1st, 2nd, ... backoff.
pub(crate) fn seed_with(slots: &[&[u64]]) -> u64 {
    (0..1_000_000)
        .find(|seed| {
            slots.iter().enumerate().all(|(station, slots)| {
                let name = format!("csma-cd/{}/backoff", Mac::local(station as u32));
                let mut stream = Stream::named(*seed, &name);
                slots.iter().zip(1..).all(|(slots, n)| stream.below(1 << n) == *slots)
            })
        })
        .expect("some seed draws these slots")
}

/// Frame: its source, and its start and end at the observer, in nanoseconds.
type Passed = (usize, u64, u64);

/// Runs stations that each offer one frame; returns the bus and the passages.
fn run(params: Params, offers: &[u64]) -> (World<CsmaCd, Talker>, Vec<Passed>) {
    let talker = |(station, at): (usize, &u64)| Talker::scripted(station as u32, &[*at]);
    let stations = offers.iter().enumerate().map(talker).collect();
    let bus = CsmaCd::new(params).expect("the bus is allowed");
    let mut world = World::new(bus, stations).expect("one place per station");
    let mut passed = Vec::new();
    world
        .run(Instant::from_nanos(10_000_000), |p| {
            passed.push((p.source, p.started.as_nanos(), p.at.as_nanos()));
        })
        .expect("time advances");
    (world, passed)
}

#[test]
fn two_stations_within_a_propagation_delay_collide() {
    // A at 0 m starts at 0, B at 1000 m at 2 us.
    //   A receives B from 7, its preamble is out: jams until 7 + 3.2 = 10.2.
    //   B receives A from 5, its preamble lasts to 8.4: jams until 8.4 + 3.2 = 11.6.
    //   A receives B until 11.6 + 5 = 16.6, so the gap is over at 26.2. B receives A until 15.2.
    // A draws 0 slots and starts at 26.2, ends at 83.8; B receives that from 31.2 to 88.8.
    // B draws 1 slot: 11.6 + 51.2 = 62.8, defers to A's frame and the gap: starts at 98.4, ends at
    // 156.0.
    let seed = seed_with(&[&[0], &[1]]);
    let (world, passed) = run(params(&[0.0, 1_000.0], seed), &[0, 2_000]);
    // The observer sits at A.
    assert_eq!(passed, [(0, 26_200, 83_800), (1, 103_400, 161_000)]);
    assert_eq!(world.stations()[1].arrivals, [Instant::from_nanos(88_800)]);
    assert_eq!(world.stations()[0].arrivals, [Instant::from_nanos(161_000)]);
    let statistics = world.medium().statistics();
    assert_eq!((statistics.collisions, statistics.fragments), (1, 2));
    assert_eq!(statistics.attempts[..3], [0, 2, 0]);
    assert_eq!(statistics.deferred, 0, "neither waited before its first attempt");
    // A station sends from 0 to 11.6, 26.2 to 83.8 and 98.4 to 156.0.
    assert_eq!(statistics.busy.as_nanos(), 11_600 + 57_600 + 57_600);
    assert_eq!(statistics.carried.as_nanos(), 57_600 + 57_600);
}

#[test]
fn two_stations_that_draw_the_same_backoff_collide_again() {
    // As above, but both draw 1 slot: A is ready at 10.2 + 51.2 = 61.4, B at 62.8; the bus is
    // silent. A starts at 61.4 and receives B from 67.8: preamble out, jams until 71.0.
    // B starts at 62.8, receives A from 66.4: preamble until 69.2, jams until 72.4.
    // Of 0 to 3 slots B now draws 0, A 3: B receives A until 76.0, starts at 85.6, ends at 143.2.
    // A is ready at 71.0 + 153.6 = 224.6 and receives nothing then: ends at 282.2.
    let seed = seed_with(&[&[1, 3], &[1, 0]]);
    let (world, passed) = run(params(&[0.0, 1_000.0], seed), &[0, 2_000]);
    assert_eq!(passed, [(1, 90_600, 148_200), (0, 224_600, 282_200)]);
    let statistics = world.medium().statistics();
    assert_eq!((statistics.collisions, statistics.fragments), (2, 4));
    assert_eq!(statistics.attempts[..4], [0, 0, 2, 0]);
}

#[test]
fn a_station_that_detects_the_carrier_in_time_defers() {
    // B at 1000 m receives A's frame from 5.0 to 62.6. At 5.0 it starts all the same, at 5.1 it defers
    // and starts 9.6 us after the frame, at 72.2.
    let places = [0.0, 1_000.0];
    let (world, passed) = run(params(&places, 1), &[0, 5_100]);
    assert_eq!(passed, [(0, 0, 57_600), (1, 77_200, 134_800)]);
    assert_eq!(world.medium().statistics().deferred, 1);
    let seed = seed_with(&[&[0], &[1]]);
    let (world, _) = run(params(&places, seed), &[0, 5_000]);
    assert_eq!(world.medium().statistics().collisions, 1);
}

#[test]
fn a_collision_of_three_stations_leaves_three_fragments() {
    // A at 0 m starts at 0, B at 1000 m at 1, C at 2000 m at 3 us.
    //   A receives B from 6.0, its preamble lasts to 6.4: until 9.6. (C's signal finds it silent at
    //   13.) B receives A from 5.0, its preamble lasts to 7.4: until 10.6.
    //   C receives B from 6.0, its preamble lasts to 9.4: until 12.6.
    //   A receives B to 15.6 and C from 13.0 to 22.6: free at 32.2. B receives C to 17.6: free at 27.2.
    //   C receives A to 19.6: free at 29.2.
    // A draws 0: starts at 32.2, ends at 89.8. B and C draw 1: 61.8 and 63.8, and defer to it.
    //   B receives it to 94.8 and starts at 104.4; C receives it to 99.8 and starts at 109.4, which is
    //   when B's signal reaches it: too late to be seen.
    //   B receives C from 114.4, preamble out: until 117.6. C's preamble lasts to 115.8: until 119.0.
    // C draws 0 of 0 to 3: receives B to 122.6, starts at 132.2, ends at 189.8.
    // B draws 2: 117.6 + 102.4 = 220.0; C's frame has passed at 194.8, the gap at 204.4. Ends at
    // 277.6.
    let seed = seed_with(&[&[0], &[1, 2], &[1, 0]]);
    let (world, passed) = run(params(&[0.0, 1_000.0, 2_000.0], seed), &[0, 1_000, 3_000]);
    // Until C's signals have come to the observer at A, 10 us pass, and until B's have, 5.
    assert_eq!(passed, [(0, 32_200, 89_800), (2, 142_200, 199_800), (1, 225_000, 282_600)]);
    let statistics = world.medium().statistics();
    assert_eq!((statistics.collisions, statistics.fragments), (2, 5));
    assert_eq!(statistics.attempts[..4], [0, 1, 2, 0]);
    let arrived = world.stations()[1].arrivals.iter().map(|at| at.as_nanos());
    assert!(arrived.eq([94_800, 194_800]), "B, in the middle, receives A and then C");
}

#[test]
fn a_bus_longer_than_a_slot_is_refused() {
    // 5120 m and back take 51.2 us, exactly a slot.
    assert!(CsmaCd::new(params(&[0.0, 5_120.0], 1)).is_ok());
    let complaint = CsmaCd::new(params(&[0.0, 5_121.0], 1)).unwrap_err();
    let expected = Invalid::RoundTrip { round_trip_nanos: 51_210, slot_nanos: 51_200 };
    assert_eq!(complaint, expected);
    assert!(complaint.to_string().starts_with("the bus is too long"));
    assert_eq!(CsmaCd::new(params(&[0.0, -1.0], 1)).unwrap_err(), Invalid::Position);
}
