//! A relay between two interfaces, from what people write.

use super::SessionError;
use crate::scenario::{Faults as FaultTable, Transport};
use live::relay::{Place, Relay, RelayParams, Selection};
use stack::fault::Faults;

/// Frames that may be held back at a time, each way.
const HELD_FRAMES: usize = 16_384;

/// Opens a relay between two interfaces. `faults` befall what comes in at the side of the same index;
/// their draws are seeded by `seed` and the side.
///
/// # Errors
/// Where a plan cannot be carried out, or an interface not be opened.
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
