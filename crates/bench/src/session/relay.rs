//! Relay between two interfaces, from its textual parameters.

use super::SessionError;
use crate::scenario::{Faults as FaultTable, Transport};
use live::relay::{Place, Relay, RelayParams, Selection};
use stack::fault::Faults;

/// Maximum number of frames held back at a time in each direction.
const HELD_FRAMES: usize = 16_384;

/// Opens a relay between two interfaces. `faults` apply to frames that come in at the side of the
/// same index; their draws are seeded by `seed` and the side.
///
/// # Errors
/// Fails if a plan is invalid, or an interface cannot be opened.
pub fn open(
    interfaces: [String; 2],
    faults: [Option<FaultTable>; 2],
    selection: Selection,
    seed: u64,
) -> Result<Relay, SessionError> {
    let carried_out = |faults: Option<FaultTable>, side: &str| {
        let plan = faults.map(|table| table.plan(Transport::lan().m.0));
        plan.map(|plan| Faults::new(plan, seed, side)).transpose()
    };
    let [there, back] = faults;
    let faults = [carried_out(there, "relay/there")?, carried_out(back, "relay/back")?];
    let places = interfaces.map(|interface| Place { interface, namespace: None });
    Ok(Relay::open(RelayParams { places, faults, selection, held_frames: HELD_FRAMES })?)
}
