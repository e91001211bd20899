//! Simulated runs: each a function of its point and replication.
//!
//! ```text
//!   0 ──── warm-up ──── measured ──── stop.after ─ patience ─▶
//!                                                  ends early once every judged message is in
//! ```

mod parallel;
mod sequential;
mod shard;
mod stations;
mod tracing;

pub use parallel::{Made, Plan, all_runs, in_order, run_all, run_these};
pub use sequential::{Ended, Goal, Look, Rounds, look_at, next_look, run_until};
pub use shard::{NoShard, Shard, numbers as shard_numbers};
pub use tracing::Tracing;

use crate::PROGRAM_VERSION;
use crate::collect::{Clocks, Collector, Watched};
use crate::counters::{add_messaging, add_network, add_tcp, add_transport};
use crate::destinations::Destinations;
use crate::layout::{Layout, collector, lay_out, patience, seed_of};
use crate::medium::{Site, Visitor};
use crate::messages::{self, Messages, Reported};
use crate::profile::Profile;
use crate::sample::{Occupied, Origin, Sample};
use crate::scenario::{self, Faults, Point};
use core::time::Duration;
use sim::medium::faulty::Faulty;
use sim::medium::framing::Framing;
use sim::medium::{Medium, Passage};
use sim::tap::Tap;
use sim::world::World;
use stack::fault;
use stations::{Hosted, costed, count_machines, occupied, plain};
use std::collections::BTreeMap;
use wire::time::Instant;

/// Number of turns of a world between two checks whether the run is to stop.
const TURNS: u32 = 65_536;
/// Simulated time after which the users' records are collected.
const SLICE: Duration = Duration::from_millis(50);

/// Error that prevents a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The medium is invalid.
    #[error("{0}")]
    Medium(#[from] crate::medium::Invalid),
    /// The faults are invalid.
    #[error("{0}")]
    Faults(#[from] stack::fault::Invalid),
    /// The medium has a different number of stations than the scenario.
    #[error("{0}")]
    Misfit(#[from] sim::medium::Misfit),
    /// The machine is invalid.
    #[error("{0}")]
    Machine(#[from] sim::host::Invalid),
    /// A station or the medium acts without end.
    #[error("{0}")]
    Stuck(#[from] sim::world::Stuck),
    /// There is no place at senders apart from that at receivers.
    #[error("only switches without faults have senders apart from receivers")]
    OnePlace,
}

/// Observation of a run.
pub struct Watch<'a> {
    /// Receives every frame that passes the observer at the start of the cable. Without it the run
    /// is the same, and faster.
    pub tap: Option<&'a mut dyn FnMut(&Passage)>,
    /// Called from time to time; returns whether to stop.
    pub is_interrupted: &'a dyn Fn() -> bool,
    /// Receives every message of the flows, those of the warm-up too, each when it is complete.
    pub messages: Option<messages::Sink<'a>>,
    /// Trace of the medium: who sends, collides, backs off or holds the token.
    pub trace: Option<Tracing<'a>>,
}

/// Tap that converts the passages seen by a [`Watch`] to frames as in a capture file: those of a
/// ring in their 802.3 form.
#[must_use]
pub fn tap(medium: &scenario::Medium) -> Tap {
    Tap::of_stations(Framing::IEEE_802_3, medium.framing())
}

/// Simulates one replication of a point.
///
/// # Errors
/// Fails if the scenario was not checked, or a protocol machine acts without end.
pub fn run(point: &Point, scenario_hash: &str, replication: u64) -> Result<Sample, RunError> {
    let mut watch = Watch { tap: None, is_interrupted: &|| false, messages: None, trace: None };
    run_watched(point, scenario_hash, replication, &mut watch)
}

/// Simulates one replication of a point with observation.
///
/// # Errors
/// Errors of [`run`].
pub fn run_watched(
    point: &Point,
    scenario_hash: &str,
    replication: u64,
    watch: &mut Watch<'_>,
) -> Result<Sample, RunError> {
    let seed = seed_of(&point.scenario, replication);
    let layout = lay_out(&point.scenario, seed);
    run_laid_out(point, scenario_hash, replication, layout, Observer::of_medium(watch))
}

/// Simulates the same run, whose observer sees each frame as it leaves its station.
///
/// # Errors
/// Errors of [`run`], and [`RunError::OnePlace`] on other media than switches, and with faults.
pub fn run_watched_at_senders(
    point: &Point,
    scenario_hash: &str,
    replication: u64,
    watch: &mut Watch<'_>,
) -> Result<Sample, RunError> {
    let layout = lay_out(&point.scenario, seed_of(&point.scenario, replication));
    run_laid_out(point, scenario_hash, replication, layout, Observer { watch, is_at_senders: true })
}

/// Observation, and the place of the observer.
struct Observer<'a, 'w> {
    watch: &'a mut Watch<'w>,
    is_at_senders: bool,
}

impl<'a, 'w> Observer<'a, 'w> {
    /// Observer that sees each frame where the medium has carried it.
    const fn of_medium(watch: &'a mut Watch<'w>) -> Self {
        Self { watch, is_at_senders: false }
    }
}

/// Simulates one replication of a point with every station of the scenario, except the
/// background's, on this machine.
///
/// # Errors
/// Errors of [`run`].
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
    let watch = &mut Watch { tap: None, is_interrupted: &|| false, messages: None, trace: None };
    run_laid_out(point, scenario_hash, replication, layout, Observer::of_medium(watch))
}

fn run_laid_out(
    point: &Point,
    scenario_hash: &str,
    replication: u64,
    layout: Layout,
    observer: Observer<'_, '_>,
) -> Result<Sample, RunError> {
    let seed = seed_of(&point.scenario, replication);
    let ran = drive(point, layout, seed, observer)?;
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
        machines: ran.machines,
    })
}

/// Finished run.
struct Ran {
    collector: Collector,
    ended_at: Instant,
    complete: bool,
    counts: BTreeMap<String, u64>,
    machines: Vec<Occupied>,
}

/// Runs a layout on the medium of its scenario.
fn drive(
    point: &Point,
    layout: Layout,
    seed: u64,
    observer: Observer<'_, '_>,
) -> Result<Ran, RunError> {
    let site = Site {
        positions_metres: layout.places.iter().map(|place| place.metres).collect(),
        seed,
        changes: layout.changes.clone(),
    };
    point.scenario.medium.model(site).visit(Run { point, layout, seed, observer })?
}

/// A run that only lacks its medium.
struct Run<'a, 'w> {
    point: &'a Point,
    layout: Layout,
    seed: u64,
    observer: Observer<'a, 'w>,
}

impl Visitor for Run<'_, '_> {
    type Output = Result<Ran, RunError>;

    /// Applies the scenario's faults to frames that the medium delivers, if there are any.
    fn visit<M: Medium>(self, mut medium: M) -> Self::Output {
        let Self { point, layout, seed, observer: Observer { watch, is_at_senders } } = self;
        let has_faults = point.scenario.faults != Faults::NONE;
        if is_at_senders && (has_faults || !medium.observe_senders()) {
            return Err(RunError::OnePlace);
        }
        if !has_faults {
            return simulate(medium, point, layout, watch);
        }
        let plan = point.scenario.faults.plan(point.scenario.transport.m.0);
        let faulty = Faulty::new(medium, fault::Faults::new(plan, seed, "medium")?);
        simulate(faulty, point, layout, watch)
    }
}

/// Runs stations on a medium to the end.
fn simulate<M: Medium>(
    medium: M,
    point: &Point,
    layout: Layout,
    watch: &mut Watch<'_>,
) -> Result<Ran, RunError> {
    let Layout { places, watched, changes: _ } = layout;
    let names = places.iter().map(|place| place.name.clone()).collect();
    // Machines cost the simulator time, too, so stations without one are not wrapped.
    if places.iter().any(|place| place.profile.is_some()) {
        let hosts = costed(places, &point.scenario.medium)?;
        return simulate_on(World::new(medium, hosts)?, names, point, watched, watch);
    }
    simulate_on(World::new(medium, plain(places))?, names, point, watched, watch)
}

/// Passes the records of all stations on.
fn collect<M: Medium, S: Hosted>(world: &mut World<M, S>, to: &mut Destinations<'_>) {
    for station in world.stations_mut() {
        while let Some(record) = station.host_mut().record() {
            to.record(&record);
        }
    }
}

/// Runs a world to the end.
fn simulate_on<M: Medium, S: Hosted>(
    mut world: World<M, S>,
    names: Vec<String>,
    point: &Point,
    watched: Vec<Watched>,
    watch: &mut Watch<'_>,
) -> Result<Ran, RunError> {
    let scenario = &point.scenario;
    world.set_observed(watch.tap.is_some());
    watch.trace.iter().for_each(|trace| trace.begin(&mut world));
    let sink = watch.messages.as_mut();
    let messages =
        sink.map(|sink| Messages::new(&watched, Instant::ZERO, Clocks::Shared, &mut **sink));
    let mut to = Destinations {
        collector: collector(scenario, watched, Instant::ZERO, Clocks::Shared),
        messages,
    };
    let until = Instant::ZERO + scenario.stop.after.0;
    let patience = patience(scenario);
    let mut end = until + patience;
    let (mut now, mut is_over, mut complete) = (Instant::ZERO, false, true);
    // Records decide the end of a run only if its flows are limited. If not, many stations are
    // visited less often than once in a slice.
    let slices = if to.collector.is_limited() { 1 } else { 1 + world.stations().len() / 64 };
    let mut left = slices;
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
            watch.trace.iter_mut().for_each(|trace| trace.pass_on(&mut world));
        }
        watch.trace.iter_mut().for_each(|trace| trace.pass_on(&mut world));
        left -= 1;
        if left == 0 || now >= until {
            left = slices;
            collect(&mut world, &mut to);
        }
        if now >= until {
            to.collector.end_warmup();
            if to.collector.is_settled() {
                break;
            }
        } else if !is_over && to.collector.is_over() {
            // Everything was sent; the last datagrams may still be under way.
            is_over = true;
            end = end.min(now + patience);
        }
    }
    collect(&mut world, &mut to);
    watch.trace.iter_mut().for_each(|trace| trace.end(&mut world));
    let (collector, _) = to.finish(Reported::Each);
    let mut counts = BTreeMap::new();
    world.medium().counts(&mut |name, count| {
        counts.insert(name.to_owned(), count);
    });
    count_machines(world.stations(), &mut counts);
    for host in world.stations() {
        add_transport(host.host(), &mut counts);
        add_network(host.host(), &mut counts);
        add_messaging(host.host(), &mut counts);
        add_tcp(host.host(), &mut counts);
    }
    let machines = occupied(world.stations(), &names);
    Ok(Ran { collector, ended_at: now, complete, counts, machines })
}
