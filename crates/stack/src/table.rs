//! How the decision tables of the machines print, each the same way.

use std::fmt::{Debug, Write as _};

/// A line for each state and event in which something happens, in the order given.
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
