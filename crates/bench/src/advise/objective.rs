//! What settings are judged by.

use super::AdviceError;
use crate::analysis::Unit;
use crate::layout::patience;
use crate::sample::{FlowSample, Sample};
use crate::scenario::{Flow, Pattern, Scenario, Service};
use core::fmt;
use serde::Serialize;
use wire::time::nanos;

/// What settings are to make good.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// Most user data in its time, of flows that send as fast as they can.
    Throughput,
    /// The least delay, or response, that 99 % of the messages do not exceed.
    P99,
    /// The fewest deadlines missed; among those that are equal the least p99.
    Misses,
}

/// One number that settings are judged by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// Messages with a deadline that missed it, to all of them.
    Missed,
    /// Of the class 4 flows (those with deadlines, if any has one) the worst 99th percentile of the
    /// delay, or response. Messages that never arrive count as late as the run is long.
    P99,
    /// The sum over the class 4 flows that send as fast as they can.
    Throughput,
}

impl Objective {
    /// What a scenario is about: its deadlines if it has some, else its bulk transfers, else delay.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        match scenario {
            _ if scenario.flows.iter().any(|flow| flow.deadline.is_some()) => Self::Misses,
            _ if scenario.flows.iter().any(is_fast) => Self::Throughput,
            _ => Self::P99,
        }
    }

    /// The numbers to judge by; a later one counts where the earlier show no difference.
    #[must_use]
    pub const fn criteria(self) -> &'static [Criterion] {
        match self {
            Self::Throughput => &[Criterion::Throughput],
            Self::P99 => &[Criterion::P99],
            Self::Misses => &[Criterion::Missed, Criterion::P99],
        }
    }

    /// Whether a scenario can be judged by it.
    pub(super) fn check(self, scenario: &Scenario) -> Result<(), AdviceError> {
        if !scenario.flows.iter().any(|flow| flow.service == Service::Class4) {
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

/// Whether a flow sends over a connection as fast as it can.
fn is_fast(flow: &Flow) -> bool {
    let is_fast = matches!(flow.pattern, Pattern::Bulk { .. } | Pattern::MaximumRateRequest { .. });
    is_fast && flow.service == Service::Class4
}

impl Criterion {
    /// What tables call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missed => "missed",
            Self::P99 => "p99",
            Self::Throughput => "throughput",
        }
    }

    /// Its unit.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Self::Missed => Unit::Fraction,
            Self::P99 => Unit::Nanoseconds,
            Self::Throughput => Unit::BitsPerSecond,
        }
    }

    /// How much worse one value is than another; below zero where it is better.
    #[must_use]
    pub const fn excess(self, value: f64, than: f64) -> f64 {
        match self {
            Self::Missed | Self::P99 => value - than,
            Self::Throughput => than - value,
        }
    }

    /// What one run came to.
    #[must_use]
    pub fn value(self, scenario: &Scenario, sample: &Sample) -> f64 {
        let flows = || {
            let named = |flow: &&Flow| sample.flows.iter().find(|found| found.name == flow.name);
            scenario.flows.iter().filter_map(move |flow| Some((flow, named(&flow)?)))
        };
        match self {
            Self::Missed => {
                let judged: u64 = flows()
                    .filter(|(_, found)| found.missed.is_some())
                    .map(|(_, found)| found.judged())
                    .sum();
                let missed: u64 = flows().filter_map(|(_, found)| found.missed).sum();
                // Who never came to send has missed everything.
                if judged == 0 { 1.0 } else { missed as f64 / judged as f64 }
            }
            Self::P99 => {
                let connected = |flow: &Flow| flow.service == Service::Class4;
                let is_urgent = |flow: &Flow| connected(flow) && flow.deadline.is_some();
                let some = scenario.flows.iter().any(is_urgent);
                let of = flows().filter(|(flow, _)| connected(flow) && (!some || is_urgent(flow)));
                of.map(|(flow, found)| p99_ns(scenario, flow, found)).fold(0.0, f64::max)
            }
            Self::Throughput => {
                let of = flows().filter(|(flow, _)| is_fast(flow));
                of.map(|(flow, found)| rate(scenario, flow, found, sample.ended_at_ns)).sum()
            }
        }
    }
}

/// The 99th percentile over all messages that were judged, those included that never arrived.
fn p99_ns(scenario: &Scenario, flow: &Flow, found: &FlowSample) -> f64 {
    let spans = if flow.pattern.is_answered() { &found.response } else { &found.delay };
    let never = nanos(scenario.stop.after.0 + patience(scenario)) as f64;
    let rank = (found.judged() * 99).div_ceil(100);
    if rank == 0 || rank > spans.count {
        return never;
    }
    let quantile = spans.quantile_ns(rank as f64 / spans.count as f64);
    quantile.map_or(never, |quantile| quantile as f64)
}

/// User bits over their time; of a transfer that did not end over the whole of the run.
fn rate(scenario: &Scenario, flow: &Flow, found: &FlowSample, ended_at_ns: u64) -> f64 {
    let is_cut_short = found.end.as_ref().is_some_and(|end| !end.orderly);
    let is_whole = found.done || (scenario.messages_of(flow).is_none() && !is_cut_short);
    match found.throughput_bits_per_second {
        Some(rate) if is_whole => rate,
        _ => found.delivered_octets as f64 * 8.0 / (ended_at_ns.max(1) as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::run;
    use crate::scenario::load;
    use crate::scenarios;

    #[test]
    fn scenarios_are_judged_by_what_they_are_about() {
        let of = |name: &str| {
            let text = scenarios::get(name).unwrap().text;
            Objective::of(load(text, name).unwrap().scenario())
        };
        assert_eq!(of("status-csma"), Objective::Misses);
        assert_eq!(of("bulk"), Objective::Throughput);
    }

    #[test]
    fn messages_that_never_arrive_are_the_slowest() {
        let study = load(scenarios::get("status-short").unwrap().text, "test").unwrap();
        let scenario = study.scenario();
        let mut sample = run(&study.points[0], "", 0).unwrap();
        let before = Criterion::P99.value(scenario, &sample);
        // Status and poll are due together: a status of 42 + 200 octets at 0.8 us keeps its station
        // for 193.6 us and a gap of 9.6 us, and then the answer of 42 + 400 octets takes 353.6 us
        // and 5 us of cable. Quantiles are true to 1 %.
        assert!((before - 561.8e3).abs() < 5.6e3, "{before}");
        let status = sample.flows.iter_mut().find(|flow| flow.name == "status").unwrap();
        status.sent += status.sent;
        // 1 s, and 1.9 s of patience.
        assert_eq!(Criterion::P99.value(scenario, &sample), 2.9e9);
    }

    #[test]
    fn a_transfer_that_breaks_off_is_not_fast() {
        let study = load(scenarios::get("bulk").unwrap().text, "test").unwrap();
        let mut sample = run(&study.points[0], "", 0).unwrap();
        let whole = Criterion::Throughput.value(study.scenario(), &sample);
        assert!(whole > 1e6, "{whole}");
        sample.flows[0].done = false;
        sample.ended_at_ns = 30_000_000_000;
        // 8 Mbit in 30 s.
        let cut = Criterion::Throughput.value(study.scenario(), &sample);
        assert!((cut - 8e6 / 30.0).abs() < 1e-6, "{cut}");
    }
}
