//! Whole runs: repeatable, forkable, woken from outside, and never stuck.

use crate::talker::{Talker, When};
use core::time::Duration;
use sim::medium::csma_cd::{CsmaCd, Params};
use sim::medium::framing::Framing;
use sim::medium::{Misfit, Passage};
use sim::tap::Tap;
use sim::world::World;
use stack::machine::Deadline;
use stack::station::{Frame, Station};
use wire::addr::Mac;
use wire::time::Instant;

const SECOND: Instant = Instant::from_nanos(1_000_000_000);

fn bus(stations: u32, silent: u32, seed: u64) -> World<CsmaCd, Talker> {
    let mean = Duration::from_micros(2_000);
    let talkers = (0..stations).map(|n| Talker::poisson(n, 214, mean, seed));
    let silent =
        (stations..stations + silent).map(|n| Talker::new(n, Mac::local(n), 60, When::Never));
    let talkers: Vec<_> = talkers.chain(silent).collect();
    let mut params = Params::spread(stations as usize, 1_000.0, seed);
    params.positions_metres.resize(talkers.len(), 500.0);
    World::new(CsmaCd::new(params).expect("the bus is allowed"), talkers)
        .expect("one place per station")
}

fn passages(mut world: World<CsmaCd, Talker>) -> Vec<Passage> {
    let mut passages = Vec::new();
    world.run(SECOND, |passage| passages.push(passage.clone())).expect("time advances");
    assert!(passages.is_sorted_by_key(|passage| passage.at));
    passages
}

/// All frames that a tap captures, as one sequence of octets.
fn captured(world: World<CsmaCd, Talker>) -> Vec<u8> {
    let mut tap = Tap::new(Framing::IEEE_802_3);
    let mut octets = Vec::new();
    for passage in passages(world) {
        let captured = tap.capture(&passage).expect("the medium has no faults");
        octets.extend_from_slice(&captured.at.as_nanos().to_be_bytes());
        octets.extend_from_slice(captured.octets);
    }
    octets
}

#[test]
fn the_same_seed_brings_the_same_run_and_another_seed_another() {
    let one = captured(bus(10, 0, 1));
    assert!(one.len() > 3_000 * 214, "{} octets", one.len());
    assert!(one == captured(bus(10, 0, 1)));
    assert!(one != captured(bus(10, 0, 2)));
}

#[test]
fn an_added_station_leaves_the_draws_of_the_rest_unchanged() {
    // The silent station changes nothing on the wire, so every passage must be the same.
    assert!(passages(bus(10, 0, 3)) == passages(bus(10, 1, 3)));
}

#[test]
fn a_run_in_pieces_or_forked_is_the_same_run() {
    let whole = passages(bus(4, 0, 4));
    let mut world = bus(4, 0, 4);
    let mut pieces = Vec::new();
    for millisecond in 1..=500 {
        let end = Instant::from_nanos(millisecond * 1_000_000);
        world.run(end, |passage| pieces.push(passage.clone())).unwrap();
    }
    pieces.extend(passages(world.clone()));
    assert!(whole == pieces);
}

#[test]
fn a_station_asked_from_outside_acts_once_it_is_woken() {
    let mut world = bus(2, 1, 5);
    world.run(SECOND, |_| {}).unwrap();
    let before = world.stations()[2].sent;
    world.stations_mut()[2].ask();
    world.wake(2);
    world.run(SECOND + Duration::from_millis(20), |_| {}).unwrap();
    assert_eq!(world.stations()[2].sent, before + 1);
}

#[test]
fn a_world_where_nothing_is_due_ends_at_once() {
    let bus = CsmaCd::new(Params::spread(1, 0.0, 1)).unwrap();
    let mut world = World::new(bus, vec![Talker::scripted(0, &[7])]).unwrap();
    let mut steps = Vec::new();
    while let Some(at) = world.step(|_| {}).unwrap() {
        steps.push(at.as_nanos());
    }
    // The first call of each, the station's timer, and the end of its frame.
    assert_eq!(steps, [0, 0, 7, 57_607]);
    assert!(world.run(SECOND, |_| {}).is_ok());
    assert_eq!(world.now(), SECOND);
}

#[test]
fn a_bus_with_places_for_others_is_refused() {
    let bus = CsmaCd::new(Params::spread(3, 0.0, 1)).unwrap();
    let misfit = World::new(bus, vec![Talker::scripted(0, &[])]).unwrap_err();
    assert_eq!(misfit, Misfit { places: 3, stations: 1 });
}

/// Station whose timer never advances.
#[derive(Debug)]
struct Stopped;

impl Station for Stopped {
    fn addr(&self) -> Mac {
        Mac::local(0)
    }
    fn receive(&mut self, _now: Instant, _frame: Frame) {}
    fn expire(&mut self, _now: Instant) {}
    fn deadline(&self) -> Option<Deadline> {
        Some(Deadline { at: Instant::from_nanos(5), timer: "T1" })
    }
    fn poll(&mut self) -> Option<Frame> {
        None
    }
}

#[test]
fn a_timer_that_never_advances_is_named() {
    let bus = CsmaCd::new(Params::spread(1, 0.0, 1)).unwrap();
    let mut world = World::new(bus, vec![Stopped]).unwrap();
    let stuck = world.run(SECOND, |_| {}).unwrap_err();
    let expected = "station 0 acted 100000 times at 0.000000005 s (next timer: T1)";
    assert_eq!(stuck.to_string(), expected);
}
