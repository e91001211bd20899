//! The numbers that decided the verdict on a study.

use crate::document::{Grade, MOST_NUMBERS, Number};
use crate::study::{because, interval, told, worst_first};
use crate::text::Text;
use bench::analysis::{FlowReport, PointReport, PooledQuantile, Report};
use bench::scenario::{Requirement, Subject};
use bench::verdict::{Judged, Verdict};
use records::quantity::{self, counted, level, mean, span};

/// The numbers of the worst requirements, then those of the flow that matters most.
pub(super) fn of(report: &Report, judged: &[Judged]) -> Vec<Number> {
    let sorted = worst_first(judged);
    let mut numbers: Vec<Number> = Vec::new();
    for judged in &sorted {
        let name = Text::from(&judged.requirement);
        if numbers.len() < MOST_NUMBERS && numbers.iter().all(|it| it.name != name) {
            numbers.push(of_requirement(judged, report, name));
        }
    }
    let decided = sorted.first().and_then(|judged| place(report, judged));
    let Some((point, flow)) = decided.or_else(|| most_telling(report)) else { return numbers };
    let more = of_flow(point, flow, report).into_iter();
    let wanted = MOST_NUMBERS.saturating_sub(numbers.len());
    numbers.extend(more.take(wanted));
    numbers
}

fn place<'a>(report: &'a Report, judged: &Judged) -> Option<(&'a PointReport, &'a FlowReport)> {
    let point = report.points.iter().find(|point| point.point == judged.point)?;
    Some((point, point.flows.iter().find(|flow| flow.name == judged.flow)?))
}

/// The flow with the greatest share of missed deadlines; of equals the one whose message took longest.
fn most_telling(report: &Report) -> Option<(&PointReport, &FlowReport)> {
    let flows = report.points.iter().flat_map(|it| it.flows.iter().map(move |flow| (it, flow)));
    flows.max_by(|(_, a), (_, b)| {
        let share = |flow: &FlowReport| {
            let missed = flow.missed.filter(|missed| missed.trials > 0);
            missed.map_or(-1.0, |missed| missed.events as f64 / missed.trials as f64)
        };
        share(a).total_cmp(&share(b)).then(a.longest_ns.cmp(&b.longest_ns))
    })
}

fn of_requirement(judged: &Judged, report: &Report, name: Text) -> Number {
    let found = judged.found.map_or_else(|| "n/a".to_owned(), |found| told(judged, found));
    let because = because(judged);
    let spread = match (because.as_ref(), interval(judged)) {
        ("", interval) => interval,
        (because, interval) if interval.is_empty() => because.to_owned(),
        (because, interval) => format!("{interval}; {because}"),
    };
    // The interval of a maximum ends at the bound already.
    let bound = judged.bound_ns.filter(|bound| judged.high != Some(*bound as f64));
    let bound = bound.map(|bound| format!("bound {}", span(bound)));
    let count = place(report, judged).map_or_else(String::new, |(point, flow)| {
        let subject = judged.requirement.parse::<Requirement>().map(|it| it.subject);
        let count = match subject {
            Ok(Subject::Miss) => flow.missed.map_or(0, |missed| missed.trials),
            Ok(Subject::Lost) => flow.lost.trials,
            Ok(Subject::LongestDelay) => pooled(&flow.delay_pooled),
            Ok(Subject::LongestResponse) => pooled(&flow.response_pooled),
            Ok(Subject::Mean(_)) | Err(_) => return format!("n = {}", runs(point)),
        };
        format!("n = {count} messages of {}", runs(point))
    });
    Number {
        name,
        value: Text::from(found),
        spread: Text::from(
            bound
                .into_iter()
                .chain([spread])
                .filter(|it| !it.is_empty())
                .collect::<Vec<_>>()
                .join("; "),
        ),
        count: Text::from(format!("{}, {count}", judged.flow)),
        grade: match judged.verdict {
            Verdict::Pass => Grade::Pass,
            Verdict::Fail => Grade::Fail,
            Verdict::Undecided => Grade::Open,
        },
    }
}

fn runs(point: &PointReport) -> String {
    match point.replications {
        n if point.deterministic => format!("{n} copies of one run"),
        n => counted(n, "run"),
    }
}

fn pooled(quantiles: &[PooledQuantile]) -> u64 {
    quantiles.first().map_or(0, |quantile| quantile.count)
}

/// Missed deadlines, mean, 99th percentile and longest time of a flow.
fn of_flow(point: &PointReport, flow: &FlowReport, report: &Report) -> Vec<Number> {
    let (kind, quantiles) = match flow.response_pooled.as_slice() {
        [] => ("delay", &flow.delay_pooled),
        _ => ("response", &flow.response_pooled),
    };
    let confidence = level(report.level);
    let messages = format!("n = {} messages of {}", pooled(quantiles), runs(point));
    let number = |name: String, value: String, spread: String, count: String| Number {
        name: Text::from(name),
        value: Text::from(value),
        spread: Text::from(spread),
        count: Text::from(count),
        grade: Grade::Note,
    };
    let mut numbers = Vec::new();
    if let Some(missed) = flow.missed.filter(|missed| missed.trials > 0) {
        let deadline = flow.deadline_ns.map_or_else(String::new, span);
        let value = format!("{} of {}", missed.events, missed.trials);
        let high = quantity::significant(missed.high, 2);
        let low = quantity::significant(missed.low, 2);
        let spread = match (point.deterministic, missed.events) {
            (true, _) => "one run has no interval".to_owned(),
            (false, 0) => format!("share at most {high}, {confidence}"),
            (false, _) => format!("share {low} to {high}, {confidence}"),
        };
        let count = format!("n = {} messages of {}", missed.trials, runs(point));
        numbers.push(number(format!("{} later than {deadline}", flow.name), value, spread, count));
    }
    if let Some(found) = quantiles.iter().find(|it| it.share.total_cmp(&0.99).is_eq()) {
        let spread = match (found.interval_ns, found.least_ns) {
            (Some((low, high)), _) => format!("{} to {}, {confidence}", span(low), span(high)),
            (None, Some(least)) => format!("at least {}, {confidence}", span(least)),
            (None, None) => "no interval: too few messages, or copies of one run".to_owned(),
        };
        let name = format!("{kind}.p99 of {}", flow.name);
        let value = quantity::quantile(0.99, found.count, Some(found.value_ns));
        numbers.push(number(name, value, spread, messages.clone()));
    }
    if let Some(found) = flow.quantity(&format!("{kind}.mean")) {
        let sd = flow.quantity(&format!("{kind}.sd"));
        let sd = sd.map(|sd| format!("sd of a run {}", quantity::value(sd.unit, sd.mean)));
        let name = format!("{kind}.mean of {}", flow.name);
        let level =
            if found.half_width.is_some() { format!(", {confidence}") } else { String::new() };
        numbers.push(number(name, mean(found), sd.unwrap_or_default() + &level, messages.clone()));
    }
    if let Some(longest) = flow.longest_ns {
        let spread = match flow.bound_ns {
            Some(bound) => format!("bound {}", span(bound)),
            None => "no bound from theory".to_owned(),
        };
        numbers.push(number(
            format!("longest {kind} of {}", flow.name),
            span(longest),
            spread,
            messages,
        ));
    }
    numbers
}
