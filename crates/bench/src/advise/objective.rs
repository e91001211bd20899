//! Objectives by which settings are judged.

use super::AdviceError;
use crate::analysis::Unit;
use crate::scenario::{Flow, Scenario};
use core::fmt;
use serde::Serialize;

/// Objective.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// Maximum throughput of the flows that send as fast as they can.
    Throughput,
    /// Minimum of the 99th percentile of delay, or response.
    P99,
    /// Minimum number of missed deadlines; if equal, minimum p99.
    Misses,
}

/// Number by which settings are judged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// Share of the messages with a deadline that missed it.
    Missed,
    /// The worst 99th percentile of delay, or response, of the class 4 flows (those with deadlines,
    /// if any has one). A message that never arrives counts as late as the run is long.
    P99,
    /// Sum over the class 4 flows that send as fast as they can.
    Throughput,
}

impl Objective {
    /// Objective of a scenario: its deadlines if it has some, otherwise its bulk transfers,
    /// otherwise delay.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        match scenario {
            _ if scenario.flows.iter().any(|flow| flow.deadline.is_some()) => Self::Misses,
            _ if scenario.flows.iter().any(is_fast) => Self::Throughput,
            _ => Self::P99,
        }
    }

    /// Criteria in order; a later one counts if the earlier ones show no difference.
    #[must_use]
    pub const fn criteria(self) -> &'static [Criterion] {
        match self {
            Self::Throughput => &[Criterion::Throughput],
            Self::P99 => &[Criterion::P99],
            Self::Misses => &[Criterion::Missed, Criterion::P99],
        }
    }

    /// Checks that a scenario can be judged by it.
    pub(super) fn check(self, scenario: &Scenario) -> Result<(), AdviceError> {
        if !scenario.flows.iter().any(|flow| flow.service.is_connected()) {
            return Err(AdviceError::NoConnection);
        }
        let has = |of: fn(&Flow) -> bool| scenario.flows.iter().any(of);
        match self {
            Self::Throughput if !has(is_fast) => Err(AdviceError::NothingFast),
            Self::Misses if !has(|flow| flow.deadline.is_some()) => Err(AdviceError::NoDeadline),
            Self::Throughput | Self::Misses | Self::P99 => Ok(()),
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Throughput => "throughput",
            Self::P99 => "p99",
            Self::Misses => "misses",
        })
    }
}

/// Returns whether a flow sends over a connection as fast as it can.
pub(super) fn is_fast(flow: &Flow) -> bool {
    let is_fast = flow.pattern.mean_interval().is_none();
    is_fast && flow.service.is_connected()
}

impl Criterion {
    /// Name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missed => "missed",
            Self::P99 => "p99",
            Self::Throughput => "throughput",
        }
    }

    /// Unit.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Self::Missed => Unit::Fraction,
            Self::P99 => Unit::Nanoseconds,
            Self::Throughput => Unit::BitsPerSecond,
        }
    }

    /// Amount by which one value is worse than another; negative if it is better.
    #[must_use]
    pub const fn excess(self, value: f64, than: f64) -> f64 {
        match self {
            Self::Missed | Self::P99 => value - than,
            Self::Throughput => than - value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::load;
    use crate::scenarios;

    #[test]
    fn the_objective_follows_from_the_scenarios_flows() {
        let of = |name: &str| {
            let text = scenarios::get(name).unwrap().text;
            Objective::of(load(text, name).unwrap().scenario())
        };
        assert_eq!(of("status-csma"), Objective::Misses);
        assert_eq!(of("bulk"), Objective::Throughput);
    }
}
