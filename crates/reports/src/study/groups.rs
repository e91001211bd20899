//! Flows that results sum up: those for which one table of the scenario stands, or that name a group.

use super::met::Met;
use bench::analysis::{FlowReport, PointReport};
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
    /// The flow with the largest share of missed deadlines; of those with the same share, the one whose
    /// message took longest.
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

fn badness(a: &FlowReport, b: &FlowReport) -> Ordering {
    let share = |flow: &FlowReport| {
        let missed = flow.missed.filter(|missed| missed.trials > 0);
        missed.map_or(0.0, |missed| missed.events as f64 / missed.trials as f64)
    };
    let longest = |flow: &FlowReport| (flow.longest_ns, flow.bound_ns);
    share(a).total_cmp(&share(b)).then_with(|| longest(a).cmp(&longest(b)))
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

/// A line for each group: how many of its flows met their deadline, and which is the worst.
pub fn lines(point: &PointReport) -> Vec<String> {
    let groups = summed(point).into_iter().filter(|it| it.flows[0].group.is_some());
    groups.map(|group| line(&group, point)).collect()
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
