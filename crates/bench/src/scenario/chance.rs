//! Test for randomness: can two runs of a scenario differ by their seeds?

use super::{Faults, Flow, Scenario, Start};
use std::collections::BTreeMap;

impl Scenario {
    /// True if another seed could give other times or losses than a run with these counts: if anything is
    /// drawn at random in it, though it may be rare. References and first sequence numbers, which differ too,
    /// change neither. CSMA/CD draws only after a collision, so that a run without any drew nothing there.
    #[must_use]
    pub fn draws(&self, counts: &BTreeMap<String, u64>) -> bool {
        let has_load = |it: &super::Background| it.mean_interval(&self.medium).is_some();
        let has_collisions = counts.get("medium.collisions").is_some_and(|it| *it > 0);
        self.faults != Faults::NONE
            || self.background.as_ref().is_some_and(has_load)
            || self.flows.iter().any(is_drawn)
            || has_collisions
    }
}

/// True if the times of a flow's messages are drawn.
fn is_drawn(flow: &Flow) -> bool {
    flow.start == Start::Random || flow.pattern.is_random() || !flow.jitter.is_empty()
}
