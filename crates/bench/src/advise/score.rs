//! Scores of runs, single and combined.
//!
//! A share or a rate of several runs is the mean of theirs. A quantile is that of all their
//! messages together, as in `predict`: the mean of the quantiles of short runs differs if few
//! messages of a run lie beyond them. Its interval comes from sections: the same quantile of the
//! messages of equally many runs each.

use super::objective::{Criterion, is_fast};
use crate::layout::patience;
use crate::sample::{FlowSample, Sample};
use crate::scenario::{Flow, Scenario};
use stats::interval::{self, Estimate};
use stats::summary::Summary;
use std::collections::{BTreeMap, BinaryHeap};
use wire::time::nanos;

/// Maximum number of sections for a quantile: with 20 the t quantile is within 7 % of the normal
/// one, and each section has as many runs as possible.
const MOST_SECTIONS: usize = 20;

/// Score of one run, for all criteria.
#[derive(Clone, PartialEq, Debug)]
pub struct Score {
    /// Share of the messages with a deadline that missed it.
    missed: f64,
    /// Number of messages with a deadline.
    pub(super) judged: u64,
    /// Total rate of the flows that send as fast as they can.
    bits_per_second: f64,
    /// Delays of each flow whose delay, or response, counts.
    delays: Vec<Delays>,
}

/// Delays of the messages of a flow in one run.
#[derive(Clone, PartialEq, Debug)]
struct Delays {
    /// Number of messages, including those that never arrived.
    judged: u64,
    /// Delay assigned to a message that never arrived.
    never_ns: u64,
    /// Spans and their counts, the longest first.
    longest_first: Vec<(u64, u64)>,
}

/// Value with the half-width of its interval, if it has one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Told {
    /// Value.
    pub value: f64,
    /// Half-width of its interval; `None` for a single run.
    pub half_width: Option<f64>,
}

impl Score {
    /// Score of a run.
    #[must_use]
    pub fn of(scenario: &Scenario, sample: &Sample) -> Self {
        let found: BTreeMap<&str, &FlowSample> =
            sample.flows.iter().map(|found| (found.name.as_str(), found)).collect();
        let flows = || {
            let named = |flow: &Flow| found.get(flow.name.as_str()).copied();
            scenario.flows.iter().filter_map(move |flow| Some((flow, named(flow)?)))
        };
        let urgent = || flows().map(|(_, found)| found).filter(|found| found.missed.is_some());
        let judged: u64 = urgent().map(FlowSample::judged).sum();
        let missed: u64 = urgent().filter_map(|found| found.missed).sum();
        let connected = |flow: &Flow| flow.service.is_connected();
        let is_urgent = |flow: &Flow| connected(flow) && flow.deadline.is_some();
        let some = scenario.flows.iter().any(is_urgent);
        let of_delay = flows().filter(|(flow, _)| connected(flow) && (!some || is_urgent(flow)));
        let fast = flows().filter(|(flow, _)| is_fast(flow));
        Self {
            // A flow that never started sending has missed everything.
            missed: if judged == 0 { 1.0 } else { missed as f64 / judged as f64 },
            judged,
            bits_per_second: fast.map(|(flow, of)| rate(scenario, flow, of, sample)).sum(),
            delays: of_delay.map(|(flow, of)| Delays::of(scenario, flow, of)).collect(),
        }
    }
}

impl Delays {
    fn of(scenario: &Scenario, flow: &Flow, found: &FlowSample) -> Self {
        let spans = if flow.pattern.is_answered() { &found.response } else { &found.delay };
        Self {
            // A run without messages to judge counts as one message that never arrived.
            judged: found.judged().max(spans.count).max(1),
            never_ns: nanos(scenario.stop.after.0 + patience(scenario)),
            longest_first: spans.classes.iter().rev().copied().collect(),
        }
    }

    fn lost(&self) -> u64 {
        let arrived: u64 = self.longest_first.iter().map(|(_, times)| times).sum();
        self.judged.saturating_sub(arrived)
    }
}

/// User bits over their time; for an unfinished transfer over the whole run.
fn rate(scenario: &Scenario, flow: &Flow, found: &FlowSample, sample: &Sample) -> f64 {
    let is_cut_short = found.end.as_ref().is_some_and(|end| !end.orderly);
    let is_whole = found.done || (scenario.messages_of(flow).is_none() && !is_cut_short);
    match found.throughput_bits_per_second {
        Some(rate) if is_whole => rate,
        _ => found.delivered_octets as f64 * 8.0 / (sample.ended_at_ns.max(1) as f64 / 1e9),
    }
}

/// The 99th percentile over the messages of some runs, including those that never arrived, of the
/// flow for which it is the longest.
fn p99_ns(scores: &[&Score]) -> f64 {
    let flows = scores.iter().map(|score| score.delays.len()).max().unwrap_or(0);
    let of_flow = |flow: usize| {
        let delays = scores.iter().filter_map(|score| score.delays.get(flow));
        p99_of_flow(&delays.collect::<Vec<_>>()) as f64
    };
    (0..flows).map(of_flow).fold(0.0, f64::max)
}

/// Merges the runs' spans from the longest down to the percentile, because few lie beyond it.
fn p99_of_flow(runs: &[&Delays]) -> u64 {
    let judged: u64 = runs.iter().map(|run| run.judged).sum();
    let rank = (judged * 99).div_ceil(100);
    let mut beyond = judged - rank;
    let never = runs.iter().map(|run| run.never_ns).max().unwrap_or(0);
    let lost: u64 = runs.iter().map(|run| run.lost()).sum();
    if lost > beyond {
        return never;
    }
    beyond -= lost;
    let head = |run: usize, place: usize| {
        let (span, times) = runs.get(run)?.longest_first.get(place)?;
        Some((*span, run, place, *times))
    };
    let mut heads: BinaryHeap<_> = (0..runs.len()).filter_map(|run| head(run, 0)).collect();
    while let Some((span, run, place, times)) = heads.pop() {
        if times > beyond {
            return span;
        }
        beyond -= times;
        heads.extend(head(run, place + 1));
    }
    never
}

impl Criterion {
    /// Combined value of some runs; `None` without runs.
    #[must_use]
    pub fn together(self, scores: &[&Score]) -> Option<f64> {
        let mean = |of: fn(&Score) -> f64| {
            scores.iter().map(|score| of(score)).collect::<Summary>().mean()
        };
        match self {
            Self::Missed => mean(|score| score.missed),
            Self::Throughput => mean(|score| score.bits_per_second),
            Self::P99 if scores.is_empty() => None,
            Self::P99 => Some(p99_ns(scores)),
        }
    }

    /// Number of sections of `runs` runs: one per run if the combined value is the mean of the
    /// runs.
    const fn sections(self, runs: usize) -> usize {
        match self {
            Self::P99 if runs > MOST_SECTIONS => MOST_SECTIONS,
            Self::P99 | Self::Missed | Self::Throughput => runs,
        }
    }

    /// Combined value of each section of the runs.
    fn by_section(self, scores: &[&Score]) -> Vec<f64> {
        let sections = self.sections(scores.len());
        let section = |number: usize| {
            let of: Vec<&Score> = scores.iter().skip(number).step_by(sections).copied().collect();
            self.together(&of)
        };
        (0..sections).filter_map(section).collect()
    }

    /// Combined value of some runs, with its interval.
    #[must_use]
    pub fn told(self, scores: &[&Score], level: f64) -> Option<Told> {
        let value = self.together(scores)?;
        let sections = self.by_section(scores).into_iter().collect();
        let half_width = interval::sections(value, &sections, level).map(|found| found.half_width);
        Some(Told { value, half_width })
    }

    /// Amount by which some runs are worse than others with common random numbers, by sections.
    #[must_use]
    pub fn difference(self, one: &[&Score], other: &[&Score], level: f64) -> Option<Estimate> {
        let excess = self.excess(self.together(one)?, self.together(other)?);
        let pairs = self.by_section(one).into_iter().zip(self.by_section(other));
        let sections = pairs.map(|(one, other)| self.excess(one, other)).collect();
        interval::sections(excess, &sections, level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::run;
    use crate::scenario::{self, Point, load};
    use crate::scenarios;

    fn point(name: &str) -> Point {
        load(scenarios::get(name).unwrap().text, "test").unwrap().points[0].clone()
    }

    fn p99(point: &Point, samples: &[&Sample]) -> f64 {
        let of = |sample: &&Sample| Score::of(&point.scenario, sample);
        let scores: Vec<Score> = samples.iter().map(of).collect();
        Criterion::P99.together(&scores.iter().collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn messages_that_never_arrive_are_the_slowest() {
        let mut point = point("status-short");
        for flow in &mut point.scenario.flows {
            flow.start = scenario::Start::Together;
        }
        let mut sample = run(&point, "", 0).unwrap();
        let before = p99(&point, &[&sample]);
        // Status and poll are due together: a status of 42 + 200 octets at 0.8 us occupies its
        // station for 193.6 us and a gap of 9.6 us, and then the answer of 42 + 400 octets takes
        // 353.6 us and 5 us of cable. Quantiles are accurate to 1 %.
        assert!((before - 561.8e3).abs() < 5.6e3, "{before}");
        let status = sample.flows.iter_mut().find(|flow| flow.name == "status").unwrap();
        status.sent += status.sent;
        // 1 s, and 1.9 s for late messages.
        assert_eq!(p99(&point, &[&sample]), 2.9e9);
    }

    #[test]
    fn a_transfer_that_breaks_off_is_not_fast() {
        let point = point("bulk");
        let mut sample = run(&point, "", 0).unwrap();
        let value = |sample: &Sample| {
            Criterion::Throughput.together(&[&Score::of(&point.scenario, sample)]).unwrap()
        };
        let whole = value(&sample);
        assert!(whole > 1e6, "{whole}");
        sample.flows[0].done = false;
        sample.ended_at_ns = 30_000_000_000;
        // 8 Mbit in 30 s.
        assert!((value(&sample) - 8e6 / 30.0).abs() < 1e-6);
    }

    /// Run with the given delays and their counts; `lost` more messages were lost.
    fn delays(longest_first: &[(u64, u64)], lost: u64) -> Score {
        let arrived: u64 = longest_first.iter().map(|(_, times)| times).sum();
        let (judged, never_ns) = (arrived + lost, 1_000_000);
        let delays = Delays { judged, never_ns, longest_first: longest_first.to_vec() };
        Score { missed: 0.0, judged: 0, bits_per_second: 0.0, delays: vec![delays] }
    }

    #[test]
    fn a_quantile_is_taken_over_all_messages_of_all_runs() {
        let check = |scores: &[Score], expected: f64| {
            let scores: Vec<&Score> = scores.iter().collect();
            assert_eq!(Criterion::P99.together(&scores), Some(expected));
        };
        let quiet = delays(&[(10, 99), (7, 1)], 0);
        check(core::slice::from_ref(&quiet), 10.0);
        // Of 100 messages one may lie beyond: the second largest is reported.
        check(&[delays(&[(90, 1), (80, 1), (10, 98)], 0)], 80.0);
        // Of 200 two may lie beyond: 80 is the third, and the mean of the two runs would be 45.
        check(&[quiet.clone(), delays(&[(91, 1), (90, 1), (80, 1), (10, 97)], 0)], 80.0);
        check(&[quiet.clone(), delays(&[(90, 1), (80, 1), (10, 98)], 0)], 10.0);
        // A lost message counts as the latest: one of two that may lie beyond, or one too many.
        check(&[quiet.clone(), delays(&[(90, 1), (80, 1), (10, 97)], 1)], 80.0);
        check(&[quiet, delays(&[(10, 97)], 3)], 1e6);
        assert_eq!(Criterion::P99.together(&[]), None);
    }

    #[test]
    fn the_interval_of_a_quantile_comes_from_sections_of_the_runs() {
        // 40 runs of 100 messages make 20 sections of two, of runs k and k + 20. In the odd
        // sections three of 200 messages took 30, in total 30 of 4,000; 40 may lie beyond.
        let slow = |run: u64| if run.is_multiple_of(2) { 0 } else { 1 + u64::from(run < 20) };
        let runs: Vec<Score> =
            (0..40).map(|run| delays(&[(30, slow(run)), (10, 100 - slow(run))], 0)).collect();
        let runs: Vec<&Score> = runs.iter().collect();
        let told = Criterion::P99.told(&runs, 0.95).unwrap();
        assert_eq!(told.value, 10.0);
        // Ten sections have 30 and ten have 10; t(0.95, 19) = 2.093, squares about 10: 10 x 400.
        let expected = 2.093 * (4_000.0_f64 / 19.0 / 20.0).sqrt();
        assert!((told.half_width.unwrap() / expected - 1.0).abs() < 1e-3, "{told:?}");
        assert_eq!(Criterion::P99.told(&runs[..1], 0.95).unwrap().half_width, None);
        // The difference of a sample from itself is zero, run by run.
        let none = Criterion::P99.difference(&runs, &runs, 0.95).unwrap();
        assert_eq!((none.mean, none.half_width, none.n), (0.0, 0.0, 20));
    }
}
