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
            under_faults(medium, point, layout, seed, watch)
        }
        Medium::CsmaCd { rate, .. } => {
            let medium = CsmaCd::new(csma_cd::Params {
                rate: rate.0,
                positions_metres: layout.places.iter().map(|place| place.metres).collect(),
                queue_frames: QUEUE_FRAMES,
                ..csma_cd::Params::spread(0, 0.0, seed)
            })?;
            under_faults(medium, point, layout, seed, watch)
        }
        Medium::TokenBus { .. } => {
            let positions = layout.places.iter().map(|place| place.metres).collect();
            let bus = point.scenario.medium.bus(positions).expect("the medium is a token bus");
            let queue_frames = QUEUE_FRAMES;
            let changes = layout.changes.clone();
            let medium = TokenBus::new(token_bus::Params { queue_frames, changes, ..bus })?;
            under_faults(medium, point, layout, seed, watch)
        }
        Medium::T1s { plca: true, .. } => {
            let positions = layout.places.iter().map(|place| place.metres).collect();
            let segment = point.scenario.medium.turns(positions).expect("stations take turns");
            let medium = Plca::new(plca::Params { queue_frames: QUEUE_FRAMES, ..segment })?;
            under_faults(medium, point, layout, seed, watch)
        }
        Medium::T1s { plca: false, .. } => {
            let medium = CsmaCd::new(csma_cd::Params {
                positions_metres: layout.places.iter().map(|place| place.metres).collect(),
                queue_frames: QUEUE_FRAMES,
                ..csma_cd::Params::t1s(0, 0.0, seed)
            })?;
            under_faults(medium, point, layout, seed, watch)
        }
        Medium::Switched { .. } => {
            let stations = layout.places.len();
            let network = point.scenario.medium.network(stations).expect("there are switches");
            let queue_frames = QUEUE_FRAMES;
            let medium = Switched::new(switched::Params { queue_frames, ..network })?;
            under_faults(medium, point, layout, seed, watch)
        }
        Medium::TokenRing { .. } | Medium::ProNet10 { .. } => {
            let positions = layout.places.iter().map(|place| place.metres).collect();
            let ring = point.scenario.medium.ring(positions).expect("the medium is a ring");
            let queue_frames = QUEUE_FRAMES;
            let medium = TokenRing::new(token_ring::Params { queue_frames, ..ring })?;
            under_faults(medium, point, layout, seed, watch)
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
) -> Result<Ran, RunError> {
    if point.scenario.faults == Faults::NONE {
        return simulate(medium, point, layout, watch);
    }
    let plan = point.scenario.faults.plan(point.scenario.transport.m.0);
    let faulty = Faulty::new(medium, fault::Faults::new(plan, seed, "medium")?);
    simulate(faulty, point, layout, watch)
}
