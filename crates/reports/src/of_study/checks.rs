//! Checks of the validity of a study.

use super::StudyRun;
use crate::document::{Check, Grade};
use crate::text::Text;
use bench::analysis::Report;
use bench::folder::LATEST_WAKE;
use bench::sample::{FlowSample, Origin};
use bench::verdict::Judged;
use records::quantity::{counted, span};

/// Part of the shortest deadline that a late wake of the host may take.
const NOTICED: f64 = 0.1;
/// Programs for each processor from which they wait for each other.
const BUSY: f64 = 0.7;

/// All checks.
pub(super) fn of(run: &StudyRun<'_>, report: &Report, judged: &[Judged]) -> Vec<Check> {
    vec![
        completeness(run),
        drops(run, report),
        clock(run),
        host(run, judged),
        warm_up(run),
        spread(report),
    ]
}

fn check(name: &'static str, grade: Grade, text: impl AsRef<str>) -> Check {
    Check { name, grade, text: Text::long(text) }
}

fn completeness(run: &StudyRun<'_>) -> Check {
    let name = "complete";
    let (samples, end) = (&run.results.samples, &run.results.end);
    let cut = samples.iter().filter(|sample| !sample.complete).count();
    let runs = counted(samples.len() as u64, "run");
    match (&end.error, cut) {
        _ if samples.is_empty() => check(name, Grade::Fail, "the run has no samples"),
        (Some(error), _) => check(name, Grade::Fail, format!("the run ended early: {error}")),
        (None, _) if !end.complete => check(name, Grade::Fail, "the run ended early"),
        (None, 0) => check(name, Grade::Pass, format!("{runs}, each to its planned end")),
        (None, cut) => {
            check(name, Grade::Fail, format!("{cut} of {runs} did not run to their end"))
        }
    }
}

fn drops(run: &StudyRun<'_>, report: &Report) -> Check {
    let name = "drops";
    let flows = || report.points.iter().flat_map(|point| &point.flows);
    let not_taken: u64 = flows().map(|flow| flow.not_taken).sum();
    let damaged: u64 = flows().map(|flow| flow.damaged).sum();
    let lost: u64 = flows().map(|flow| flow.lost.events).sum();
    let sent: u64 = flows().map(|flow| flow.sent).sum();
    let text = format!(
        "{lost} of {sent} messages lost, {not_taken} due but not taken by the service, {damaged} \
         damaged"
    );
    let grade = match run.origin() {
        _ if not_taken > 0 => Grade::Open,
        Origin::Predicted => Grade::Pass,
        Origin::Measured if damaged > 0 => Grade::Open,
        Origin::Measured => Grade::Pass,
    };
    check(name, grade, text)
}

fn clock(run: &StudyRun<'_>) -> Check {
    let name = "clock";
    if run.origin() == Origin::Predicted {
        return check(name, Grade::Pass, "one simulated clock, without error");
    }
    let flows = || run.results.samples.iter().flat_map(|sample| &sample.flows);
    let has_delay = flows().any(|flow| flow.delay.count > 0);
    let source = run.provenance.and_then(|provenance| provenance.host.get("clock_source"));
    let source = source.map(|source| format!(" (clock source {source})")).unwrap_or_default();
    if has_delay {
        return check(name, Grade::Pass, format!("both ends share one clock{source}"));
    }
    check(name, Grade::Note, "the ends have two clocks: one-way delays are not known")
}

fn host(run: &StudyRun<'_>, judged: &[Judged]) -> Check {
    let name = "host noise";
    if run.origin() == Origin::Predicted {
        return check(name, Grade::Pass, "simulated: this host has no effect on the numbers");
    }
    let facts = run.provenance.map(|provenance| &provenance.host);
    let number = |key: &str| -> Option<f64> { facts?.get(key)?.parse().ok() };
    let (Some(wake), load) = (number(LATEST_WAKE), number("load")) else {
        return check(name, Grade::Note, "not recorded");
    };
    let flows = run.results.samples.iter().flat_map(|sample| &sample.flows);
    let shortest = flows.filter_map(|flow: &FlowSample| flow.deadline_ns).min();
    let cores = number("cores").unwrap_or(1.0);
    let late = span(wake as u64);
    let mut text = format!("before the run, the host woke up to {late} late");
    if let Some(load) = load {
        text += &format!("; load {load} on {cores} processors");
    }
    let is_late = shortest.map_or(wake > 1e6, |deadline| wake > deadline as f64 * NOTICED);
    if is_late {
        let against = shortest.map_or_else(
            || "1 ms".to_owned(),
            |it| format!("a tenth of the deadline of {}", span(it)),
        );
        text += &format!(". That is more than {against}, and delays include it");
    }
    let is_busy = load.is_some_and(|load| load > BUSY * cores);
    if is_busy {
        text += ". The host was busy: delays include waiting for other programs";
    }
    let open = judged.iter().filter(|judged| judged.host_noise_ns.is_some()).count();
    if open > 0 {
        let requirements = counted(open as u64, "requirement");
        text += &format!(". Undecided, because the limit is within that time: {requirements}");
    }
    let is_noisy = is_late || is_busy || open > 0;
    check(name, if is_noisy { Grade::Open } else { Grade::Pass }, text)
}

fn warm_up(run: &StudyRun<'_>) -> Check {
    let name = "warm-up";
    let flows = || run.results.samples.iter().flat_map(|sample| &sample.flows);
    let short = flows().filter(|flow| flow.warmup_too_short).count();
    let cut = flows().map(|flow| flow.measured_from_ns).max().unwrap_or(0);
    if short > 0 {
        let text = format!(
            "in {short} cases the run was too short to find its warm-up, so that nothing was cut"
        );
        return check(name, Grade::Open, text);
    }
    match cut {
        0 => check(name, Grade::Note, "nothing was cut: runs are measured from their start"),
        cut => {
            check(name, Grade::Pass, format!("up to {} at the start of a run was cut", span(cut)))
        }
    }
}

fn spread(report: &Report) -> Check {
    let name = "repetition";
    let random = report.points.iter().filter(|point| !point.deterministic);
    let least = random.map(|point| point.replications).min().unwrap_or(0);
    let (of, same) =
        (report.points.len(), report.points.iter().filter(|it| it.deterministic).count());
    if same == of && same > 0 {
        let text = "nothing in the scenario is random, so that runs are copies of one: there are no \
                    intervals";
        return check(name, Grade::Note, text);
    }
    if same > 0 {
        let text = format!(
            "at {same} of {of} points nothing is random, so that runs are copies of one, without \
             intervals; at least {} of each other point",
            counted(least, "independent run")
        );
        return check(name, if least > 1 { Grade::Pass } else { Grade::Open }, text);
    }
    match least {
        0 | 1 => check(name, Grade::Open, "one run of a point: its mean has no interval over runs"),
        n => check(name, Grade::Pass, format!("at least {n} independent runs of each point")),
    }
}
