//! Next steps after a predicted or measured run: the distance of a failed requirement from its limit, the
//! runs that an open one needs, and the command to try.

use super::StudyRun;
use crate::next::{MOST_STEPS, of_limit};
use crate::study::{because, settings};
use crate::text::Text;
use bench::analysis::Report;
use bench::sample::Origin;
use bench::scenario::Requirement;
use bench::verdict::{Judged, Verdict};
use records::findings::quoted;
use records::quantity::counted;

/// Steps after a predicted or measured run.
pub(super) fn of_study(run: &StudyRun<'_>, report: &Report, judged: &[Judged]) -> Vec<Text> {
    let mut steps: Vec<String> = Vec::new();
    let first = |verdict| judged.iter().find(|it| it.verdict == verdict);
    if !run.results.end.complete && run.origin() == Origin::Predicted && run.provenance.is_some() {
        let path = quoted(run.path);
        steps.push(format!("Make the missing runs: tidewire predict --resume {path}"));
    }
    if let Some(failed) = first(Verdict::Fail) {
        steps.extend(beyond(failed).map(|beyond| {
            let place = place(failed, report);
            format!("{} of {} is {beyond}{place}.", failed.requirement, failed.flow)
        }));
        steps.extend(last_that_holds(failed, judged, report));
        steps.push(search(run));
    } else if let Some(open) = first(Verdict::Undecided) {
        steps.push(undecided(run, report, open));
    } else if judged.is_empty() {
        let flow = report.points.iter().flat_map(|point| &point.flows).next();
        steps.extend(flow.map(|flow| {
            let require = quoted(&format!("delay.p99({}) < 10 ms", flow.name));
            format!("State a requirement, such as --require {require}: tidewire help requirements")
        }));
    }
    steps.into_iter().take(MOST_STEPS).map(Text::long).collect()
}

/// Distance from the limit as a share of it: `12 % above its limit`.
fn beyond(judged: &Judged) -> Option<String> {
    let requirement: Requirement = judged.requirement.parse().ok()?;
    Some(of_limit(judged.found?, requirement.limit))
}

/// Point of a sweep, in words.
fn place(judged: &Judged, report: &Report) -> String {
    let point = report.points.iter().find(|point| point.point == judged.point);
    let point = point.filter(|point| !point.settings.is_empty());
    point.map_or_else(String::new, |point| format!(" where {}", settings(&point.settings)))
}

/// The last point of a sweep at which the requirement holds for the same flow.
fn last_that_holds(failed: &Judged, judged: &[Judged], report: &Report) -> Option<String> {
    let same = |it: &&Judged| it.requirement == failed.requirement && it.flow == failed.flow;
    let last = judged.iter().filter(same).rfind(|it| it.verdict == Verdict::Pass)?;
    Some(format!("It holds{}.", place(last, report))).filter(|_| report.points.len() > 1)
}

/// Command that looks for a remedy.
fn search(run: &StudyRun<'_>) -> String {
    let scenario = run.provenance.map(|_| quoted(&format!("{}/scenario.toml", run.path)));
    let scenario = scenario.unwrap_or_else(|| "SCENARIO".to_owned());
    match run.origin() {
        Origin::Predicted => {
            format!("Try other settings of the transport: tidewire advise {scenario}")
        }
        Origin::Measured => format!(
            "Predict the same scenario, and compare: the difference is that of the hosts and the \
             network. tidewire predict {scenario}"
        ),
    }
}

/// Runs that would decide a requirement, or the reason why runs cannot.
fn undecided(run: &StudyRun<'_>, report: &Report, open: &Judged) -> String {
    let Judged { requirement, flow, .. } = open;
    let because = because(open);
    let place = place(open, report);
    let made = report.points.iter().find(|it| it.point == open.point).map(|it| it.replications);
    match (open.more_runs, made) {
        (Some(more), Some(made)) => {
            let all = made.saturating_add(more);
            let how = match run.origin() {
                Origin::Predicted => format!("--until-decided makes them, or --runs {all}"),
                Origin::Measured => format!("--runs {all}"),
            };
            let runs = counted(all, "run");
            format!("{requirement} of {flow}{place} needs about {runs}: {how}")
        }
        _ if open.host_noise_ns.is_some() => format!(
            "{requirement} of {flow}{place} is nearer to its limit than the noise of the host \
             ({because}): measure when less runs on it, tidewire doctor."
        ),
        _ if because.is_empty() => format!(
            "{requirement} of {flow}{place} is so near to its limit that a million runs would not \
             decide it: move the limit, or change the scenario."
        ),
        _ => format!("{requirement} of {flow}{place} is open: {because}."),
    }
}
