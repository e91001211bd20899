//! Settings of all points of a study that a caller gives: seed, number of runs, and requirements.

use super::Study;
use crate::scenario::{MOST_REPLICATIONS, MOST_RUNS, Requirement, means};

/// A setting that a study cannot have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CannotSet {
    /// A point takes at least one run.
    #[error("a point takes at least one run")]
    NoRuns,
    /// More runs than a study may have.
    #[error("at most {MOST_REPLICATIONS} runs of a point and {MOST_RUNS} of all")]
    TooManyRuns,
    /// A requirement of a flow that the scenario does not have.
    #[error("there is no flow \"{name}\"")]
    NoSuchFlow {
        /// The requirement as it was written.
        requirement: String,
        /// The flow that it names.
        name: String,
        /// Flows, or groups of them, that it may name.
        flows: Vec<String>,
    },
}

impl Study {
    /// Sets the number of runs of each point.
    ///
    /// # Errors
    /// No runs, or too many.
    pub fn set_runs(&mut self, runs: u64) -> Result<(), CannotSet> {
        if runs == 0 {
            return Err(CannotSet::NoRuns);
        }
        if runs > MOST_REPLICATIONS || runs.saturating_mul(self.points.len() as u64) > MOST_RUNS {
            return Err(CannotSet::TooManyRuns);
        }
        self.points.iter_mut().for_each(|point| point.scenario.replications = runs);
        Ok(())
    }

    /// Sets the seed from which all randomness derives.
    pub fn set_seed(&mut self, seed: u64) {
        self.points.iter_mut().for_each(|point| point.scenario.seed = seed);
    }

    /// Adds requirements to those of the scenario, each once.
    ///
    /// # Errors
    /// A requirement of a flow that the scenario does not have.
    pub fn require(&mut self, requirements: &[Requirement]) -> Result<(), CannotSet> {
        let flows = &self.scenario().flows;
        for requirement in requirements {
            let is_meant =
                |name: &str| flows.iter().any(|it| means(name, &it.name, it.group.as_deref()));
            if let Some(name) = requirement.flow.as_ref().filter(|name| !is_meant(name)) {
                let group_or_name =
                    flows.iter().map(|flow| flow.group.as_ref().unwrap_or(&flow.name).clone());
                let mut flows: Vec<String> = group_or_name.collect();
                flows.dedup();
                let (requirement, name) = (requirement.text.clone(), name.clone());
                return Err(CannotSet::NoSuchFlow { requirement, name, flows });
            }
        }
        for point in &mut self.points {
            let required = &mut point.scenario.require;
            for requirement in requirements {
                if required.iter().all(|stated| stated.text != requirement.text) {
                    required.push(requirement.clone());
                }
            }
        }
        Ok(())
    }
}
