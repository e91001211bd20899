//! Bad path behind a medium.

use crate::talker::Talker;
use core::time::Duration;
use sim::medium::csma_cd::{CsmaCd, Params};
use sim::medium::faulty::Faulty;
use sim::medium::{Medium, Passage};
use sim::world::World;
use stack::fault::{Delay, Duplication, Fate, Faults, Plan, Reordering};
use wire::time::Instant;

const SEED: u64 = 0x5EED_0008;
const LIFETIME: Duration = Duration::from_millis(500);

fn bus() -> CsmaCd {
    CsmaCd::new(Params::spread(4, 1_000.0, SEED)).expect("the bus is allowed")
}

fn run<M: Medium>(medium: M) -> (World<M, Talker>, Vec<Passage>) {
    println!("seed {SEED:#x}");
    let mean = Duration::from_millis(1);
    let talkers = (0..4).map(|n| Talker::poisson(n, 214, mean, SEED)).collect();
    let mut world = World::new(medium, talkers).expect("one place per station");
    let mut passages = Vec::new();
    let end = Instant::from_nanos(10_000_000_000);
    world.run(end, |passage| passages.push(passage.clone())).expect("time advances");
    assert!(passages.is_sorted_by_key(|passage| passage.at), "passages come in order");
    (world, passages)
}

fn arrivals<M: Medium>(world: &World<M, Talker>) -> Vec<Instant> {
    world.stations().iter().flat_map(|talker| talker.arrivals.iter().copied()).collect()
}

#[test]
fn a_path_without_faults_changes_nothing() {
    let (plain, seen) = run(bus());
    let faults = Faults::new(Plan::harmless(LIFETIME), SEED, "path").unwrap();
    let (faulty, seen_behind) = run(Faulty::new(bus(), faults));
    assert!(seen == seen_behind);
    assert!(arrivals(&plain) == arrivals(&faulty));
    assert_eq!(plain.medium().statistics(), faulty.medium().inner().statistics());
}

#[test]
fn frames_are_conserved_on_a_bad_path() {
    let plan = Plan {
        loss: 0.1,
        fcs_errors: 0.05,
        duplication: Some(Duplication { probability: 0.2, after: Duration::from_millis(3) }),
        reordering: Some(Reordering { probability: 0.2, held_back: Duration::from_millis(5) }),
        delay: Delay { constant: Duration::from_millis(1), jitter: Duration::from_millis(2) },
        ..Plan::harmless(LIFETIME)
    };
    let faults = Faults::new(plan, SEED, "path").unwrap();
    let (world, seen) = run(Faulty::new(bus(), faults));
    let counts = *world.medium().counts();
    let sent = world.medium().inner().statistics().sent;
    assert_eq!(counts.frames, sent, "the sender is not affected");
    let of = |fate| seen.iter().filter(|passage| passage.fate == fate).count() as u64;
    // A frame's fate is observed at most 11 ms after it passed: 44 frames per direction at the end
    // of the run, four times as many in the worst case.
    assert!(counts.lost - of(Fate::Lost) < 100);
    assert!(counts.bad_fcs - of(Fate::BadFcs) < 100);
    assert!(counts.duplicated - of(Fate::Copied) < 100);
    let arrived = of(Fate::Whole) + of(Fate::Copied) + of(Fate::Damaged);
    let delivered = arrivals(&world).len() as u64;
    assert!(arrived.abs_diff(delivered) <= 4, "{arrived} seen, {delivered} delivered");
    // Binomial: 40,000 frames, 5 deviations.
    let deviation = (sent as f64 * 0.1 * 0.9).sqrt();
    assert!((counts.lost as f64 - sent as f64 * 0.1).abs() < 5.0 * deviation, "{counts:?}");
}
