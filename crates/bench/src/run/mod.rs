//! Simulated runs: each a function of its point and replication.
//!
//! ```text
//!   0 ──── warm-up ──── measured ──── stop.after ─ patience ─▶
//!                                                  ends early once every judged message is in
//! ```

mod medium;
mod parallel;
mod sequential;
mod stations;

pub use parallel::{Made, Plan, all_runs, in_order, run_all, run_these};
pub use sequential::{Ended, Goal, Look, run_until};

use crate::collect::Clocks;
use crate::counters::{add_messaging, add_network};
use crate::layout::{Layout, collector, lay_out, patience, seed_of};
use crate::profile::Profile;
use crate::sample::{Origin, Sample};
use crate::scenario::{self, Point};
use crate::{
    PROGRAM_VERSION,
    collect::{Collector, Watched},
};
use core::time::Duration;
use sim::medium::framing::Framing;
use sim::medium::{Medium, Passage};
use sim::tap::Tap;
use sim::world::World;
use stations::{Hosted, costed, count_machines, plain};
use std::collections::BTreeMap;
use wire::time::Instant;

/// Turns of a world between two looks at whether the run is to stop.
const TURNS: u32 = 65_536;
/// How far a run goes before the records of its users are gathered.
const SLICE: Duration = Duration::from_millis(50);

/// Why a run cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no such bus.
    #[error("{0}")]
    Bus(#[from] sim::medium::csma_cd::Invalid),
    /// There is no such token bus.
    #[error("{0}")]
    TokenBus(#[from] sim::medium::token_bus::Invalid),
    /// There is no such ring.
    #[error("{0}")]
    Ring(#[from] sim::medium::token_ring::Invalid),
    /// There is no such segment.
    #[error("{0}")]
    Segment(#[from] sim::medium::plca::Invalid),
    /// There is no such network of switches.
    #[error("{0}")]
    Network(#[from] sim::medium::switched::Invalid),
    /// There are no such faults.
    #[error("{0}")]
    Faults(#[from] stack::fault::Invalid),
    /// The medium has other stations than the scenario.
    #[error("{0}")]
    Misfit(#[from] sim::medium::Misfit),
    /// There is no such machine.
    #[error("{0}")]
    Machine(#[from] sim::host::Invalid),
    /// Somebody acts without end.
    #[error("{0}")]
    Stuck(#[from] sim::world::Stuck),
}

/// What a run is watched by.
pub struct Watch<'a> {
    /// Sees every frame that passes the observer at the start of the cable, if anybody wants to: the
    /// run is the same without, and faster.
    pub tap: Option<&'a mut dyn FnMut(&Passage)>,
    /// Asked now and then whether to stop.
    pub is_interrupted: &'a dyn Fn() -> bool,
}

/// What turns the passages that a [`Watch`] sees into frames as a capture file holds them: those of
/// a ring as 802.3 would carry them.
#[must_use]
pub fn tap(medium: &scenario::Medium) -> Tap {
    Tap::of_stations(Framing::IEEE_802_3, medium.framing())
}

/// Simulates one replication of a point.
///
/// # Errors
/// Where the scenario was not checked, or a protocol machine acts without end.
pub fn run(point: &Point, scenario_hash: &str, replication: u64) -> Result<Sample, RunError> {
    let mut watch = Watch { tap: None, is_interrupted: &|| false };
    run_watched(point, scenario_hash, replication, &mut watch)
}

/// Simulates one replication of a point under somebody's eyes.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    point: &Point,
    scenario_hash: &str,
    replication: u64,
    watch: &mut Watch<'_>,
) -> Result<Sample, RunError> {
    let seed = seed_of(&point.scenario, replication);
    let layout = lay_out(&point.scenario, seed);
    run_laid_out(point, scenario_hash, replication, layout, watch)
}

/// Simulates one replication of a point with every station of the scenario, but the background's, on this
/// machine.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    point: &Point,
    machine: &Profile,
    scenario_hash: &str,
    replication: u64,
) -> Result<Sample, RunError> {
    let mut layout = lay_out(&point.scenario, seed_of(&point.scenario, replication));
    let stations = point.scenario.all_stations().len();
    for place in layout.places.iter_mut().take(stations) {
        place.profile = Some(machine.clone());
    }
    let mut watch = Watch { tap: None, is_interrupted: &|| false };
    run_laid_out(point, scenario_hash, replication, layout, &mut watch)
}

fn run_laid_out(
    point: &Point,
    scenario_hash: &str,
    replication: u64,
    layout: Layout,
    watch: &mut Watch<'_>,
) -> Result<Sample, RunError> {
    let seed = seed_of(&point.scenario, replication);
    let ran = medium::drive(point, layout, seed, watch)?;
    Ok(Sample {
        title: point.scenario.title.clone(),
        scenario_hash: scenario_hash.to_owned(),
        program_version: PROGRAM_VERSION.to_owned(),
        source: Origin::Predicted,
        point: point.index,
        settings: point.settings.clone(),
        replication,
        seed,
        ended_at_ns: ran.ended_at.as_nanos(),
        complete: ran.complete,
        flows: ran.collector.finish(),
        counts: ran.counts,
    })
}

/// A run that is over.
struct Ran {
    collector: Collector,
    ended_at: Instant,
    complete: bool,
    counts: BTreeMap<String, u64>,
}

/// Runs stations on a medium to the end.
fn simulate<M: Medium>(
    medium: M,
    point: &Point,
    layout: Layout,
    watch: &mut Watch<'_>,
    count: impl Fn(&M, &mut BTreeMap<String, u64>),
) -> Result<Ran, RunError> {
    let Layout { places, watched, changes: _ } = layout;
    // Machines cost the simulator time, too, so that stations without are not wrapped.
    if places.iter().any(|place| place.profile.is_some()) {
        let hosts = costed(places, point.scenario.medium.kind())?;
        return simulate_on(World::new(medium, hosts)?, point, watched, watch, |world, counts| {
            count(world.medium(), counts);
            count_machines(world.stations(), counts);
        });
    }
    let world = World::new(medium, plain(places))?;
    simulate_on(world, point, watched, watch, |world, counts| count(world.medium(), counts))
}

/// Runs a world to the end.
fn simulate_on<M: Medium, S: Hosted>(
    mut world: World<M, S>,
    point: &Point,
    watched: Vec<Watched>,
    watch: &mut Watch<'_>,
    count: impl Fn(&World<M, S>, &mut BTreeMap<String, u64>),
) -> Result<Ran, RunError> {
    let scenario = &point.scenario;
    world.set_observed(watch.tap.is_some());
    let mut collector = collector(scenario, watched, Instant::ZERO, Clocks::Shared);
    let until = Instant::ZERO + scenario.stop.after.0;
    let patience = patience(scenario);
    let mut end = until + patience;
    let (mut now, mut is_over, mut complete) = (Instant::ZERO, false, true);
    while now < end {
        if (watch.is_interrupted)() {
            complete = false;
            break;
        }
        let before_until = now < until;
        now = if before_until { (now + SLICE).min(until) } else { (now + SLICE).min(end) };
        let tap = &mut watch.tap;
        let mut observe = |passage: &_| tap.iter_mut().for_each(|tap| tap(passage));
        while complete && !world.run_some(now, TURNS, &mut observe)? {
            complete = !(watch.is_interrupted)();
        }
        for station in world.stations_mut() {
            while let Some(record) = station.host_mut().record() {
                collector.record(&record);
            }
        }
        if now >= until {
            collector.end_warmup();
            if collector.is_settled() {
                break;
            }
        } else if !is_over && collector.is_over() {
            // Everything was sent; the last datagrams may still be on their way.
            is_over = true;
            end = end.min(now + patience);
        }
    }
    let mut counts = BTreeMap::new();
    count(&world, &mut counts);
    for host in world.stations() {
        add_network(host.host(), &mut counts);
        add_messaging(host.host(), &mut counts);
    }
    Ok(Ran { collector, ended_at: now, complete, counts })
}
