//! Notes on the numbers of a point: starts at random, failures, services, changes of a ring.

use bench::analysis::{FlowReport, PointReport};
use records::quantity::counted;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Notes on the worst alignment of the flows in the runs.
fn starts(point: &PointReport) -> Vec<String> {
    let mut notes = Vec::new();
    if point.deterministic {
        let runs = point.replications;
        notes.push(format!(
            "deterministic: {runs} runs are copies of one, since nothing in the scenario is random"
        ));
    }
    let random = || point.flows.iter().filter(|flow| flow.random_start);
    let judged = || random().filter(|flow| flow.deadline_ns.is_some());
    if judged().next().is_some() {
        let (all, bound) = (judged().count(), judged().filter(|f| f.bound_ns.is_some()).count());
        let flows = if all == 1 { "flow starts" } else { "flows start" };
        let theory = match bound {
            0 => "no bound covers the worst alignment".to_owned(),
            _ if bound == all => "the bounds cover the worst alignment".to_owned(),
            _ => format!("bounds cover the worst alignment of {bound} of them"),
        };
        notes.push(format!("{all} {flows} at random in each run: {theory}"));
    }
    notes
}

/// Services that the architectures of the stations choose among several: of each flow, or, of more than `top`, how many
/// flows have each.
fn services(point: &PointReport, top: usize) -> Option<String> {
    let chosen = || point.flows.iter().filter_map(|flow| Some((&flow.name, flow.service?)));
    let mut by_service: BTreeMap<&str, u64> = BTreeMap::new();
    chosen().for_each(|(_, service)| *by_service.entry(service).or_default() += 1);
    let told: Vec<String> = match chosen().count() {
        0 => return None,
        all if all <= top => chosen().map(|(name, service)| format!("{name} {service}")).collect(),
        _ => by_service
            .into_iter()
            .map(|(service, flows)| format!("{} {service}", counted(flows, "flow")))
            .collect(),
    };
    Some(format!("services by architecture: {}", told.join(", ")))
}

/// Changes of the logical ring of a token bus whose stations come and go.
fn ring(point: &PointReport) -> Option<String> {
    let kept = [
        ("entries", "entered"),
        ("departures", "left"),
        ("bridges", "mended past one that failed"),
        ("tokens-lost", "tokens lost"),
        ("claims", "tokens claimed"),
    ];
    let counts = kept.map(|(name, what)| (point.counts.get(&format!("medium.{name}")), what));
    let told: Vec<String> =
        counts.into_iter().filter_map(|(count, what)| Some(format!("{} {what}", count?))).collect();
    (!told.is_empty()).then(|| format!("ring, over all runs: {}", told.join(", ")))
}

/// Notes on the numbers of a point. A remark on more than `top` flows is one note.
#[must_use]
pub fn notes(point: &PointReport, top: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if point.incomplete > 0 {
        let (some, all) = (point.incomplete, point.replications);
        notes.push(format!("{some} of {all} runs did not run to their end"));
    }
    if point.left_out > 0 {
        let (runs, are) =
            (counted(point.left_out, "run"), if point.left_out == 1 { "is" } else { "are" });
        notes.push(format!("{runs} that did not run to the end {are} left out"));
    }
    notes.extend(starts(point));
    notes.extend(ring(point));
    notes.extend(services(point, top));
    notes.extend(standings(point, top));
    let mut remarks: BTreeMap<Cow<'_, str>, Remark<'_>> = BTreeMap::new();
    for flow in &point.flows {
        for (count, what) in remarks_on(flow) {
            remarks.entry(what).or_default().add(flow, count);
        }
    }
    for flow in &point.flows {
        let name = &flow.name;
        for (count, what) in remarks_on(flow) {
            let of_all = &remarks[&what];
            if of_all.flows <= top as u64 {
                notes.push(format!("{name}: {count} {what}"));
            } else if of_all.first == name {
                notes.push(of_all.told(&what));
            }
        }
    }
    notes
}

/// Standings of services that have to be named: of each flow or group, or, of more than `top`, of how many.
fn standings(point: &PointReport, top: usize) -> Vec<String> {
    let (mut of_each, mut seen) = (Vec::<(&str, Vec<&str>)>::new(), BTreeSet::new());
    for flow in &point.flows {
        let Some(standing) = flow.standing else { continue };
        let name = flow.group.as_ref().unwrap_or(&flow.name);
        // Flows of a group have one.
        if !seen.insert((standing, name)) {
            continue;
        }
        match of_each.iter_mut().find(|(known, _)| *known == standing) {
            Some((_, names)) => names.push(name),
            None => of_each.push((standing, vec![name])),
        }
    }
    let mut notes = Vec::new();
    for (standing, names) in of_each {
        if names.len() > top {
            notes.push(format!("{}: {standing}", counted(names.len() as u64, "flow")));
        } else {
            notes.extend(names.into_iter().map(|name| format!("{name}: {standing}")));
        }
    }
    notes
}

/// A remark on several flows.
#[derive(Default)]
struct Remark<'a> {
    /// Number of flows.
    flows: u64,
    /// Sum of their counts.
    sum: u64,
    /// The first of them.
    first: &'a str,
    /// The one with the greatest count, and this.
    most: (&'a str, u64),
}

impl<'a> Remark<'a> {
    fn add(&mut self, flow: &'a FlowReport, count: u64) {
        if self.flows == 0 {
            self.first = &flow.name;
        }
        if count > self.most.1 {
            self.most = (&flow.name, count);
        }
        self.flows += 1;
        self.sum += count;
    }

    fn told(&self, what: &str) -> String {
        let Self { flows, sum, most: (name, most), .. } = self;
        let flows = counted(*flows, "flow");
        format!("{flows}: {sum} {what}; most of them {name}, {most}")
    }
}

/// Counts of what may be wrong with a flow, in words.
fn remarks_on(flow: &FlowReport) -> impl Iterator<Item = (u64, Cow<'_, str>)> {
    let failures = flow.failures.iter();
    let failures = failures.map(|(reason, n)| (*n, Cow::from(format!("failed: {reason}"))));
    let unexplained = flow.failed.saturating_sub(flow.failures.values().sum());
    let others = [
        (flow.not_taken, "messages were due but not taken: the service was too slow"),
        (flow.not_offered, "messages were not offered, nor judged: their station was away"),
        (flow.duplicated, "messages arrived twice"),
        (flow.out_of_order, "messages arrived behind a later one"),
        (flow.damaged, "arrivals were damaged"),
        (unexplained, "messages could not be sent or were not acknowledged"),
        (flow.acknowledged_and_lost, "messages were acknowledged and did not arrive"),
        (flow.warmup_too_short, "runs were too short to find their warm-up"),
    ];
    let others = others.into_iter().map(|(count, what)| (count, Cow::from(what)));
    failures.chain(others.filter(|(count, _)| *count > 0))
}
