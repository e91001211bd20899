//! Runs a whole scenario on a LAN within this process: one thread per station, no privilege, no
//! network.
//!
//! The scenario's medium is not used: frames pass at once, and the measurement covers the machines
//! and this host's scheduling. The scenario's faults apply to frames as they arrive.

use super::{SessionError, SoFar};
use crate::PROGRAM_VERSION;
use crate::collect::{Clocks, Collector};
use crate::counters::{add_messaging, add_network, add_transport};
use crate::destinations::Destinations;
use crate::layout::{Layout, collector, equip, lay_out, patience, seed_of};
use crate::messages::{self, Messages, Reported};
use crate::sample::{FlowSample, Origin, Sample};
use crate::scenario::Point;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use live::clock;
use live::port::{Faulty, FaultyParams, Hub, Port};
use live::runner::{Control, Runner};
use stack::fault::{Faults, Plan};
use stack::host::Host;
use stack::load::Record;
use stack::profile::Framing;
use stack::station::{MacQueues, Station};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use wire::time::Instant;

/// Maximum number of frames that wait at a station; further frames are lost and counted.
const QUEUE_FRAMES: usize = 4_096;
/// Time for threads to start, before anything is due.
const RUN_UP: Duration = Duration::from_millis(20);
/// Interval between two checks whether all is over.
const LOOK: Duration = Duration::from_millis(10);
/// Interval between two reports of the counts so far.
const TELL: Duration = Duration::from_millis(100);
/// Time for frames still under way after all stations are done.
const GRACE: Duration = Duration::from_millis(50);

/// Results of a station's thread.
struct Brought {
    records: Vec<Record>,
    overrun: u64,
    sent: u64,
    t1: u64,
    /// Counters of its network layer and its messaging service.
    counted: BTreeMap<String, u64>,
}

/// Measures one replication of a point in this process. Once `stop` is set it ends early, with the
/// results so far.
///
/// # Errors
/// Fails if the scenario's faults are invalid, or a thread panics.
pub fn measure(
    point: &Point,
    scenario_hash: &str,
    replication: u64,
    stop: &AtomicBool,
) -> Result<Sample, SessionError> {
    measure_with(point, scenario_hash, replication, stop, &mut |_| {}, None)
}

/// Like [`measure`], and reports the counts so far ten times a second. Messages go to their sink, if there
/// is one, once all stations have stopped.
///
/// # Errors
/// Those of [`measure`].
pub fn measure_with(
    point: &Point,
    scenario_hash: &str,
    replication: u64,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&SoFar),
    messages: Option<messages::Sink<'_>>,
) -> Result<Sample, SessionError> {
    let scenario = &point.scenario;
    let seed = seed_of(scenario, replication);
    let Layout { places, watched, changes: _ } = lay_out(scenario, seed);
    let origin = clock::now() + RUN_UP;
    let until = origin + scenario.stop.after.0;
    let hub = Hub::new(QUEUE_FRAMES);
    let plan = scenario.faults.plan(scenario.transport.m.0);
    let is_bad = plan != Plan::harmless(scenario.transport.m.0);
    let mut stations = Vec::new();
    for mut place in places {
        // A port does not support responses within the token.
        if place.host.framing == Framing::Ieee8024Responding {
            place.host.framing = Framing::Ieee8024;
        }
        for flow in &mut place.flows {
            flow.start = origin + flow.start.since(Instant::ZERO);
        }
        let mut port: Box<dyn Port> = Box::new(hub.port(place.host.address));
        if is_bad {
            let receiving = Some(Faults::new(plan, seed, &place.name)?);
            let params = FaultyParams { receiving, sending: None, held_frames: QUEUE_FRAMES };
            port = Box::new(Faulty::new(port, params));
        }
        let host = place.streams.equip(Host::new(place.host, place.flows), origin);
        let host = equip(host, place.naming, origin);
        let host = if place.has_priorities { host.above(MacQueues::One) } else { host };
        stations.push((host, port));
    }
    let (enough, over) = (AtomicBool::new(false), AtomicUsize::new(0));
    let so_far = Mutex::new(SoFar::default());
    let count = stations.len();
    let brought = thread::scope(|scope| {
        let threads: Vec<_> = stations
            .into_iter()
            .map(|(host, port)| {
                let shared = Shared { enough: &enough, over: &over, so_far: &so_far };
                scope.spawn(move || run_station(host, port, until, shared))
            })
            .collect();
        let shared = Shared { enough: &enough, over: &over, so_far: &so_far };
        wait(until + patience(scenario), count, shared, stop, progress);
        enough.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
    });
    let complete = !stop.load(Ordering::Relaxed);
    let messages = messages.map(|sink| Messages::new(&watched, origin, Clocks::Shared, sink));
    let collector = collector(scenario, watched, origin, Clocks::Shared);
    let (collector, counts) = gather(brought, Destinations { collector, messages })?;
    Ok(Sample {
        title: scenario.title.clone(),
        scenario_hash: scenario_hash.to_owned(),
        program_version: PROGRAM_VERSION.to_owned(),
        source: Origin::Measured,
        point: point.index,
        settings: point.settings.clone(),
        replication,
        seed,
        ended_at_ns: wire::time::nanos(clock::now() - origin),
        complete,
        flows: from_origin(collector.finish(), origin),
        counts,
        machines: Vec::new(),
    })
}

/// Passes the records of all stations on in order of time; returns the collector, and their counters.
fn gather(
    brought: Vec<thread::Result<Result<Brought, SessionError>>>,
    mut to: Destinations<'_>,
) -> Result<(Collector, BTreeMap<String, u64>), SessionError> {
    let (mut records, mut counts) = (Vec::new(), BTreeMap::new());
    for station in brought {
        let station = station.map_err(|_| SessionError::Broken)??;
        records.extend(station.records);
        for (name, value) in station.counted {
            *counts.entry(name).or_insert(0) += value;
        }
        for (name, value) in
            [("frames", station.sent), ("overrun", station.overrun), ("t1", station.t1)]
        {
            *counts.entry(name.to_owned()).or_insert(0) += value;
        }
    }
    records.sort_by_key(|record| record.at);
    records.iter().for_each(|record| to.record(record));
    to.collector.end_warmup();
    let (collector, _) = to.finish(Reported::Each);
    Ok((collector, counts))
}

/// Converts times to be relative to the start of the run, as in samples.
pub(super) fn from_origin(mut flows: Vec<FlowSample>, origin: Instant) -> Vec<FlowSample> {
    for flow in &mut flows {
        flow.measured_from_ns = flow.measured_from_ns.saturating_sub(origin.as_nanos());
    }
    flows
}

/// Waits until all stations are done, `latest` has come or `stop` is set, and reports the counts so far. If the whole
/// process stands still meanwhile, `latest` is put off by that time.
fn wait(
    latest: Instant,
    stations: usize,
    shared: Shared<'_>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&SoFar),
) {
    let (mut end, mut told_at, mut is_over) = (latest, clock::now(), false);
    while clock::now() < end && !stop.load(Ordering::Relaxed) {
        let due = clock::now() + LOOK;
        clock::sleep_until(due);
        let late = clock::now().since(due);
        if late > LOOK {
            end += late;
        }
        if clock::now() >= told_at + TELL {
            told_at = clock::now();
            shared.so_far.lock().map(|so_far| progress(&so_far)).ok();
        }
        if shared.over.load(Ordering::Relaxed) == stations && !is_over {
            is_over = true;
            end = clock::now() + GRACE;
        }
    }
}

/// State that the threads of all stations share.
#[derive(Clone, Copy)]
struct Shared<'a> {
    /// True once all stations have to stop.
    enough: &'a AtomicBool,
    /// Number of stations that are done.
    over: &'a AtomicUsize,
    /// Counts of all stations so far.
    so_far: &'a Mutex<SoFar>,
}

/// Runs one station in its thread.
fn run_station(
    mut host: Host,
    mut port: Box<dyn Port>,
    until: Instant,
    shared: Shared<'_>,
) -> Result<Brought, SessionError> {
    let Shared { enough, over, so_far } = shared;
    let (mut records, mut told) = (Vec::new(), 0);
    let (mut was_over, mut stopped) = (false, false);
    let mut runner = Runner::new();
    let forever = Instant::MAX;
    runner.run(&mut host, &mut port, forever, enough, |host, now| {
        while let Some(record) = host.record() {
            records.push(record);
        }
        // A station does not wait for another one, or for the display.
        if told < records.len()
            && let Ok(mut so_far) = so_far.try_lock()
        {
            records.iter().skip(told).for_each(|record| so_far.take(record));
            told = records.len();
        }
        // Messages due later are not judged; earlier ones may still be under way.
        if now >= until && !stopped {
            stopped = true;
            host.wind_up(now);
        }
        if host.is_done() && !was_over {
            was_over = true;
            over.fetch_add(1, Ordering::Relaxed);
        }
        Control::Continue
    })?;
    while let Some(record) = host.record() {
        records.push(record);
    }
    let t1 = host.transport().counters().t1;
    debug_assert_eq!(host.addr(), port.addr());
    let counts = port.counts();
    let mut counted = BTreeMap::new();
    add_transport(&host, &mut counted);
    add_network(&host, &mut counted);
    add_messaging(&host, &mut counted);
    Ok(Brought { records, overrun: counts.overrun, sent: counts.sent, t1, counted })
}
