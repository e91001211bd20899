//! Flows that results sum up: those for which one table of the scenario stands, or that name a group.

use super::met::Met;
use bench::analysis::{FlowReport, PointReport, Probability, Report};
use core::cmp::Ordering;
use records::quantity;
use std::collections::BTreeMap;

/// A flow by itself, or all flows of a group.
pub struct Summed<'a> {
    /// The name of the group, or of the flow.
    pub name: &'a str,
    /// The flows in the order of the scenario; at least one.
    pub flows: Vec<&'a FlowReport>,
}

impl<'a> Summed<'a> {
    /// The flow with the largest share of missed deadlines; of those with the same share, the one that lost the largest share
    /// of its messages, then the one whose message took longest.
    pub fn worst(&self) -> &'a FlowReport {
        let mut worst = self.flows[0];
        for flow in &self.flows[1..] {
            if badness(flow, worst).is_gt() {
                worst = flow;
            }
        }
        worst
    }

    /// Label of the numbers of the worst flow: `trip (worst of 12)`.
    pub fn label(&self) -> String {
        match self.flows.len() {
            1 => self.flows[0].name.clone(),
            all => format!("{} (worst of {all})", self.name),
        }
    }
}

/// Order of flows by what is wrong with them, the worst last: the share of missed deadlines, then that of lost messages,
/// then how much of its deadline the longest message took, then its time and the bound.
fn badness(a: &FlowReport, b: &FlowReport) -> Ordering {
    let shares = |flow: &FlowReport| {
        let share = |it: &Probability| {
            if it.trials == 0 { 0.0 } else { it.events as f64 / it.trials as f64 }
        };
        let longest = flow.longest_ns.zip(flow.deadline_ns);
        let used = longest.map_or(0.0, |(longest, deadline)| longest as f64 / deadline as f64);
        [flow.missed.as_ref().map_or(0.0, share), share(&flow.lost), used]
    };
    let longest = |flow: &FlowReport| (flow.longest_ns, flow.bound_ns);
    let pairs = shares(a).into_iter().zip(shares(b));
    let by_share = pairs.fold(Ordering::Equal, |so_far, (a, b)| so_far.then(a.total_cmp(&b)));
    by_share.then_with(|| longest(a).cmp(&longest(b)))
}

/// Flows of a point as tables show them.
pub struct Ranked<'a> {
    /// Those with rows of their own: all in the order of the scenario, or, where these are too many, the worst first.
    pub shown: Vec<Summed<'a>>,
    /// Number of the others.
    pub others: usize,
}

impl<'a> Ranked<'a> {
    /// Leaves the `top` worst where there are more.
    #[must_use]
    pub fn of(mut all: Vec<Summed<'a>>, top: usize) -> Self {
        let others = all.len().saturating_sub(top);
        if others > 0 {
            all.sort_by(|a, b| badness(b.worst(), a.worst()));
            all.truncate(top);
        }
        Self { shown: all, others }
    }
}

/// The flows of a point, those of a group together, of which at most `top` have rows of their own.
#[must_use]
pub fn ranked(point: &PointReport, top: usize) -> Ranked<'_> {
    Ranked::of(summed(point), top)
}

/// The flows of a point, those of a group together, in the order of the scenario.
pub fn summed(point: &PointReport) -> Vec<Summed<'_>> {
    let mut all: Vec<Summed<'_>> = Vec::new();
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    for flow in &point.flows {
        let next = all.len();
        let at = flow.group.as_deref().map_or(next, |name| *groups.entry(name).or_insert(next));
        match all.get_mut(at) {
            Some(group) => group.flows.push(flow),
            None => {
                let name = flow.group.as_deref().unwrap_or(&flow.name);
                all.push(Summed { name, flows: vec![flow] });
            }
        }
    }
    all
}

/// The flows of all points by their names, those of a group together, in the order of the scenario.
#[must_use]
pub fn over_points(report: &Report) -> Vec<Summed<'_>> {
    let mut all: Vec<Summed<'_>> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for group in report.points.iter().flat_map(summed) {
        let next = all.len();
        match all.get_mut(*places.entry(group.name).or_insert(next)) {
            Some(known) => known.flows.extend(group.flows),
            None => all.push(group),
        }
    }
    all
}

/// A line for each group that has a row: how many of its flows met their deadline, and which is the worst. Where not all
/// flows have a row, a line for all of them, and one that says so.
#[must_use]
pub fn lines(ranked: &Ranked<'_>, point: &PointReport) -> Vec<String> {
    let Ranked { shown, others } = ranked;
    let groups = shown.iter().filter(|it| it.flows[0].group.is_some());
    let mut lines: Vec<String> = groups.map(|group| line(group, point)).collect();
    if *others > 0 {
        let all = Summed { name: "all", flows: point.flows.iter().collect() };
        lines.push(line(&all, point));
        let (shown, all) = (shown.len(), shown.len() + others);
        lines.push(format!(
            "the tables have the {shown} worst of {all}: --top N shows more, --json all"
        ));
    }
    lines
}

fn line(group: &Summed<'_>, point: &PointReport) -> String {
    let (all, worst) = (group.flows.len(), group.worst());
    let found = |met| {
        let is_it = |flow: &&&FlowReport| Met::of(flow, point) == met;
        group.flows.iter().filter(is_it).count()
    };
    let kinds = [Met::Always, Met::InTheRuns, Met::Once, Met::Missed, Met::NotKnown, Met::NoneSent];
    let counts: Vec<String> = kinds
        .into_iter()
        .filter_map(|met| Some((met, found(met))).filter(|(_, count)| *count > 0))
        .map(|(met, count)| format!("{count} of {all} {}", met.words()))
        .collect();
    let what =
        if counts.is_empty() { quantity::counted(all as u64, "flow") } else { counts.join(", ") };
    let longest = worst.longest_ns.map(|nanos| format!("longest {}", quantity::span(nanos)));
    let bound = worst.bound_ns.map(|nanos| format!("bound {}", quantity::span(nanos)));
    let deadline = worst.deadline_ns.map(|nanos| format!("deadline {}", quantity::span(nanos)));
    let of: Vec<String> = [longest, bound, deadline].into_iter().flatten().collect();
    let of = if of.is_empty() { String::new() } else { format!(" ({})", of.join(", ")) };
    format!("{}: {what}; worst {}{of}", group.name, worst.name)
}
