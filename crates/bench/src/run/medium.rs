//! Conversion of a scenario's medium and faults to the simulator's.

use super::{Ran, RunError, Watch, simulate};
use crate::layout::Layout;
use crate::scenario::{Faults, Medium, Point};
use sim::medium::csma_cd::{self, CsmaCd};
use sim::medium::faulty::Faulty;
use sim::medium::framing::Framing;
use sim::medium::ideal::{self, Ideal};
use sim::medium::plca::{self, Plca};
use sim::medium::switched::{self, Switched};
use sim::medium::token_bus::{self, TokenBus};
use sim::medium::token_ring::{self, TokenRing};
use stack::fault;
use std::collections::BTreeMap;

/// Maximum number of frames that wait at a station's MAC.
const QUEUE_FRAMES: usize = 1_000;

/// Runs a layout on the medium of its scenario.
pub(super) fn drive(
    point: &Point,
    layout: Layout,
    seed: u64,
    watch: &mut Watch<'_>,
) -> Result<Ran, RunError> {
    match point.scenario.medium {
        Medium::Ideal { rate, delay } => {
            let medium = Ideal::new(ideal::Params {
                rate: Some(rate.0),
                propagation: delay.0,
                framing: Framing::IEEE_802_3,
                queue_frames: QUEUE_FRAMES,
            });
            under_faults(medium, point, layout, seed, watch, count_ideal)
        }
        Medium::CsmaCd { rate, .. } => {
            let medium = CsmaCd::new(csma_cd::Params {
                rate: rate.0,
                positions_metres: layout.places.iter().map(|place| place.metres).collect(),
                queue_frames: QUEUE_FRAMES,
                ..csma_cd::Params::spread(0, 0.0, seed)
            })?;
            under_faults(medium, point, layout, seed, watch, count_csma_cd)
        }
        Medium::TokenBus { .. } => {
            let positions = layout.places.iter().map(|place| place.metres).collect();
            let bus = point.scenario.medium.bus(positions).expect("the medium is a token bus");
            let queue_frames = QUEUE_FRAMES;
            let changes = layout.changes.clone();
            let count = if changes.is_empty() { count_token_bus } else { count_changing_bus };
            let medium = TokenBus::new(token_bus::Params { queue_frames, changes, ..bus })?;
            under_faults(medium, point, layout, seed, watch, count)
        }
        Medium::T1s { plca: true, .. } => {
            let positions = layout.places.iter().map(|place| place.metres).collect();
            let segment = point.scenario.medium.turns(positions).expect("stations take turns");
            let medium = Plca::new(plca::Params { queue_frames: QUEUE_FRAMES, ..segment })?;
            under_faults(medium, point, layout, seed, watch, count_plca)
        }
        Medium::T1s { plca: false, .. } => {
            let medium = CsmaCd::new(csma_cd::Params {
                positions_metres: layout.places.iter().map(|place| place.metres).collect(),
                queue_frames: QUEUE_FRAMES,
                ..csma_cd::Params::t1s(0, 0.0, seed)
            })?;
            under_faults(medium, point, layout, seed, watch, count_csma_cd)
        }
        Medium::Switched { .. } => {
            let stations = layout.places.len();
            let network = point.scenario.medium.network(stations).expect("there are switches");
            let queue_frames = QUEUE_FRAMES;
            let medium = Switched::new(switched::Params { queue_frames, ..network })?;
            under_faults(medium, point, layout, seed, watch, count_switched)
        }
        Medium::TokenRing { .. } | Medium::ProNet10 { .. } => {
            let positions = layout.places.iter().map(|place| place.metres).collect();
            let ring = point.scenario.medium.ring(positions).expect("the medium is a ring");
            let queue_frames = QUEUE_FRAMES;
            let medium = TokenRing::new(token_ring::Params { queue_frames, ..ring })?;
            under_faults(medium, point, layout, seed, watch, count_token_ring)
        }
    }
}

/// Applies the scenario's faults to frames that the medium delivers, if there are any.
fn under_faults<M: sim::medium::Medium>(
    medium: M,
    point: &Point,
    layout: Layout,
    seed: u64,
    watch: &mut Watch<'_>,
    count: impl Fn(&M, &mut BTreeMap<String, u64>),
) -> Result<Ran, RunError> {
    if point.scenario.faults == Faults::NONE {
        return simulate(medium, point, layout, watch, count);
    }
    let plan = point.scenario.faults.plan(point.scenario.transport.m.0);
    let faulty = Faulty::new(medium, fault::Faults::new(plan, seed, "medium")?);
    simulate(faulty, point, layout, watch, |faulty, counts| {
        count(faulty.inner(), counts);
        let fault::Counts { frames, lost, bad_fcs, damaged, duplicated, held_back } =
            *faulty.counts();
        note(counts, "faults.frames", frames);
        note(counts, "faults.lost", lost);
        note(counts, "faults.corrupt", bad_fcs);
        note(counts, "faults.damaged", damaged);
        note(counts, "faults.duplicated", duplicated);
        note(counts, "faults.reordered", held_back);
    })
}

fn count_ideal(medium: &Ideal, counts: &mut BTreeMap<String, u64>) {
    let statistics = medium.statistics();
    note(counts, "medium.offered", statistics.offered);
    note(counts, "medium.sent", statistics.sent);
    note(counts, "medium.queue-drops", statistics.queue_drops);
    note(counts, "medium.oversized", statistics.oversized);
}

fn count_csma_cd(medium: &CsmaCd, counts: &mut BTreeMap<String, u64>) {
    let statistics = medium.statistics();
    note(counts, "medium.offered", statistics.offered);
    note(counts, "medium.sent", statistics.sent);
    note(counts, "medium.queue-drops", statistics.queue_drops);
    note(counts, "medium.oversized", statistics.oversized);
    note(counts, "medium.excessive-collisions", statistics.excessive_collisions);
    note(counts, "medium.collisions", statistics.collisions);
    note(counts, "medium.deferred", statistics.deferred);
    note(counts, "medium.busy-ns", wire::time::nanos(statistics.busy));
    note(counts, "medium.carried-ns", wire::time::nanos(statistics.carried));
    for (attempt, frames) in statistics.attempts.iter().enumerate() {
        note(counts, &format!("medium.attempts-{:02}", attempt + 1), *frames);
    }
}

fn count_plca(medium: &Plca, counts: &mut BTreeMap<String, u64>) {
    let statistics = medium.statistics();
    note(counts, "medium.offered", statistics.offered);
    note(counts, "medium.sent", statistics.sent);
    note(counts, "medium.unrecognised", statistics.unrecognised);
    note(counts, "medium.queue-drops", statistics.queue_drops);
    note(counts, "medium.oversized", statistics.oversized);
    note(counts, "medium.cycles", statistics.cycles);
    note(counts, "medium.opportunities-used", statistics.opportunities_used);
    note(counts, "medium.burst-frames", statistics.burst_frames);
    note(counts, "medium.longest-cycle-ns", wire::time::nanos(statistics.longest_cycle));
    note(counts, "medium.longest-access-ns", wire::time::nanos(statistics.longest_access));
    note(counts, "medium.carried-ns", wire::time::nanos(statistics.carried));
}

fn count_switched(medium: &Switched, counts: &mut BTreeMap<String, u64>) {
    let statistics = medium.statistics();
    note(counts, "medium.offered", statistics.offered);
    note(counts, "medium.sent", statistics.sent);
    note(counts, "medium.delivered", statistics.delivered);
    note(counts, "medium.unrecognised", statistics.unrecognised);
    note(counts, "medium.queue-drops", statistics.queue_drops);
    note(counts, "medium.buffer-drops", statistics.buffer_drops);
    note(counts, "medium.oversized", statistics.oversized);
    note(counts, "medium.fullest-buffer-octets", statistics.fullest_buffer_octets as u64);
    for (priority, longest) in statistics.longest_waits.iter().enumerate() {
        let name = format!("medium.longest-wait-{priority}-ns");
        note(counts, &name, wire::time::nanos(*longest));
    }
}

fn count_token_ring(medium: &TokenRing, counts: &mut BTreeMap<String, u64>) {
    let statistics = medium.statistics();
    note(counts, "medium.offered", statistics.offered);
    note(counts, "medium.sent", statistics.sent);
    note(counts, "medium.refused", statistics.refused);
    note(counts, "medium.unrecognised", statistics.unrecognised);
    note(counts, "medium.queue-drops", statistics.queue_drops);
    note(counts, "medium.oversized", statistics.oversized);
    note(counts, "medium.tokens-used", statistics.tokens_used);
    note(counts, "medium.priority-raised", statistics.raised);
    note(counts, "medium.priority-lowered", statistics.lowered);
    note(counts, "medium.held-ns", wire::time::nanos(statistics.held));
    note(counts, "medium.carried-ns", wire::time::nanos(statistics.carried));
}

fn count_token_bus(medium: &TokenBus, counts: &mut BTreeMap<String, u64>) {
    let statistics = medium.statistics();
    note(counts, "medium.offered", statistics.offered);
    note(counts, "medium.sent", statistics.sent);
    note(counts, "medium.unrecognised", statistics.unrecognised);
    note(counts, "medium.queue-drops", statistics.queue_drops);
    note(counts, "medium.oversized", statistics.oversized);
    note(counts, "medium.tokens-used", statistics.tokens_used);
    note(counts, "medium.tokens-too-late", statistics.tokens_too_late);
    note(counts, "medium.longest-rotation-ns", wire::time::nanos(statistics.longest_rotation));
    if statistics.requests > 0 {
        note(counts, "medium.requests", statistics.requests);
        note(counts, "medium.answers", statistics.answers);
        note(counts, "medium.unanswered", statistics.unanswered);
    }
    if statistics.windows > 0 {
        note(counts, "medium.windows", statistics.windows);
    }
    note(counts, "medium.carried-ns", wire::time::nanos(statistics.carried));
}

/// Adds the counters of the logical ring for a bus whose stations enter and leave.
fn count_changing_bus(medium: &TokenBus, counts: &mut BTreeMap<String, u64>) {
    count_token_bus(medium, counts);
    let statistics = medium.statistics();
    note(counts, "medium.entries", statistics.entries);
    note(counts, "medium.contentions", statistics.contentions);
    note(counts, "medium.departures", statistics.departures);
    note(counts, "medium.bridges", statistics.bridges);
    note(counts, "medium.tokens-lost", statistics.tokens_lost);
    note(counts, "medium.claims", statistics.claims);
    note(counts, "medium.outside", statistics.outside);
    note(counts, "medium.given-up", statistics.given_up);
}

fn note(counts: &mut BTreeMap<String, u64>, name: &str, count: u64) {
    counts.insert(name.to_owned(), count);
}
