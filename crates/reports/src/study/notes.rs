//! Notes on the numbers of a point: starts at random, failures, services, changes of a ring.

use bench::analysis::{FlowReport, PointReport};
use records::quantity::counted;
use std::collections::BTreeSet;

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

/// Services that the architectures of the stations choose among several.
fn services(point: &PointReport) -> Option<String> {
    let chosen = |flow: &FlowReport| Some(format!("{} {}", flow.name, flow.service?));
    let chosen: Vec<String> = point.flows.iter().filter_map(chosen).collect();
    (!chosen.is_empty()).then(|| format!("services by architecture: {}", chosen.join(", ")))
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

/// Notes on the numbers of a point.
#[must_use]
pub fn notes(point: &PointReport) -> Vec<String> {
    let (mut notes, mut standings) = (Vec::new(), BTreeSet::new());
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
    notes.extend(services(point));
    for flow in &point.flows {
        let name = &flow.name;
        let of = flow.group.as_ref().unwrap_or(name);
        let standing = flow.standing.map(|standing| format!("{of}: {standing}"));
        // Flows of a group have one.
        notes.extend(standing.filter(|standing| standings.insert(standing.clone())));
        let by_reason = flow.failures.iter();
        notes.extend(by_reason.map(|(reason, n)| format!("{name}: {n} failed: {reason}")));
        let unexplained = flow.failed.saturating_sub(flow.failures.values().sum());
        for (count, what) in [
            (flow.not_taken, "messages were due but not taken: the service was too slow"),
            (flow.not_offered, "messages were not offered, nor judged: their station was away"),
            (flow.duplicated, "messages arrived twice"),
            (flow.out_of_order, "messages arrived behind a later one"),
            (flow.damaged, "arrivals were damaged"),
            (unexplained, "messages could not be sent or were not acknowledged"),
            (flow.acknowledged_and_lost, "messages were acknowledged and did not arrive"),
            (flow.warmup_too_short, "runs were too short to find their warm-up"),
        ] {
            if count > 0 {
                notes.push(format!("{name}: {count} {what}"));
            }
        }
    }
    notes
}
