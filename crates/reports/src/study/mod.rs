//! Results of a study in words: groups of flows, deadlines, differences of runs.

mod cells;
mod difference;
mod groups;
mod met;
mod notes;

pub use cells::{bound, deadline, interval, share, spans, told, verdict};
pub use difference::{apart, paired, shown};
pub use groups::{Summed, lines, summed};
pub use met::Met;
pub use notes::notes;

use std::collections::BTreeMap;

/// Settings of a point, in one line.
#[must_use]
pub fn settings(settings: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> =
        settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if pairs.is_empty() { "as the scenario says".to_owned() } else { pairs.join(", ") }
}
