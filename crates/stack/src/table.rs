//! Uniform printing of the machines' state tables.

use std::fmt::{Debug, Write as _};

/// Prints a line for each state and event with an effect, in the order given.
pub(crate) fn printed<S: Copy + Debug, E: Copy + Debug, A: Debug>(
    states: &[S],
    events: &[E],
    transition: impl Fn(S, E) -> Option<(S, A)>,
) -> String {
    let mut table = String::new();
    for &state in states {
        for &event in events {
            if let Some((next, action)) = transition(state, event) {
                let _ = writeln!(table, "{state:?} + {event:?} -> {next:?}: {action:?}");
            }
        }
    }
    table
}
