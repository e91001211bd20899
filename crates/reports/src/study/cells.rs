//! Cells of tables: times, shares and deadlines of a flow, verdicts on requirements.

use super::{Met, Summed};
use bench::analysis::{FlowReport, PointReport, PooledQuantile, Probability, Unit};
use bench::scenario::{Requirement, Subject};
use bench::verdict::{Judged, Verdict};
use records::quantity::{self, level};
use std::borrow::Cow;

/// The longest in theory; a dash where there is none.
#[must_use]
pub fn bound(flow: &FlowReport) -> String {
    flow.bound_ns.map_or_else(|| "-".to_owned(), quantity::span)
}

/// Of a kind of times: the mean over runs, and of all messages of all runs the standard deviation (as the
/// root of the mean variance of a run), the shortest, the median, the 99 % quantile, the longest.
#[must_use]
pub fn spans(flow: &FlowReport, kind: &str, pooled: &[PooledQuantile]) -> [String; 6] {
    let absent = || "n/a".to_owned();
    let found = |what: &str| flow.quantity(&format!("{kind}.{what}"));
    let time = |nanos: Option<f64>| {
        nanos.map_or_else(absent, |nanos| quantity::value(Unit::Nanoseconds, nanos))
    };
    let far = |share: f64| quantile(pooled, share);
    let is_main = flow.response_pooled.is_empty() || kind == "response";
    let mean = match &flow.within {
        Some(within) if is_main => quantity::within(within),
        _ => found("mean").map_or_else(absent, quantity::mean),
    };
    let variances = found("sd").map(|sd| sd.each.iter().map(|each| each * each).sum::<f64>());
    let deviation = variances.zip(found("sd")).map(|(sum, sd)| (sum / sd.n as f64).sqrt());
    [
        mean,
        time(deviation),
        time(found("min").and_then(|found| found.values.min())),
        far(0.5),
        far(0.99),
        time(found("max").and_then(|found| found.values.max())),
    ]
}

/// Pooled quantile of this share; `n/a` if the flow has none, or too few messages for it.
#[must_use]
pub fn quantile(pooled: &[PooledQuantile], share: f64) -> String {
    let found = pooled.iter().find(|quantile| quantile.share.total_cmp(&share).is_eq());
    found.map_or_else(
        || "n/a".to_owned(),
        |found| quantity::quantile(share, found.count, Some(found.value_ns)),
    )
}

/// Events of trials with the interval of their share.
#[must_use]
pub fn share(probability: &Probability, point: &PointReport) -> String {
    let Probability { events, trials, low, high } = *probability;
    if trials == 0 {
        return "none sent".to_owned();
    }
    if point.deterministic {
        return format!("{events} of {trials}");
    }
    let [low, high] = [low, high].map(|share| quantity::significant(share, 2));
    match events {
        0 => format!("0 of {trials} (at most {high})"),
        _ => format!("{events} of {trials} ({low} to {high})"),
    }
}

/// Cells of a deadline: flow, deadline, missed, probability, longest, bound, and in a word if it was met; none for a flow
/// without a deadline.
#[must_use]
pub fn deadline(summed: &Summed<'_>, point: &PointReport) -> Option<[String; 7]> {
    let flow = summed.worst();
    let deadline = flow.deadline_ns?;
    let met = Met::of(flow, point);
    let (missed, chance) = match &flow.missed {
        None => ("n/a".to_owned(), String::new()),
        Some(Probability { trials: 0, .. }) => ("none sent".to_owned(), String::new()),
        Some(Probability { events, trials, .. }) if point.deterministic => {
            (format!("{events} of {trials}"), "one run".to_owned())
        }
        Some(Probability { events, trials, low, high }) => {
            let [low, high] = [low, high].map(|share| quantity::significant(*share, 2));
            let chance =
                if *events == 0 { format!("at most {high}") } else { format!("{low} to {high}") };
            (format!("{events} of {trials}"), chance)
        }
    };
    Some([
        summed.label(),
        quantity::span(deadline),
        missed,
        chance,
        flow.longest_ns.map_or_else(|| "n/a".to_owned(), quantity::span),
        bound(flow),
        met.words().to_owned(),
    ])
}

/// A number in the unit of what it is about.
#[must_use]
pub fn told(judged: &Judged, number: f64) -> String {
    let unit =
        judged.requirement.parse::<Requirement>().map_or(Unit::Fraction, |it| it.subject.unit());
    match unit {
        Unit::Fraction => quantity::significant(number, 2),
        Unit::Nanoseconds | Unit::BitsPerSecond => quantity::value(unit, number),
    }
}

/// Interval of the value found, with its level.
#[must_use]
pub fn interval(judged: &Judged) -> String {
    match (judged.low, judged.high) {
        (Some(low), Some(high)) => {
            let confidence = level(judged.level);
            let (low, high) = (told(judged, low), told(judged, high));
            if low == "0" {
                format!("at most {high}, {confidence}")
            } else {
                format!("{low} to {high}, {confidence}")
            }
        }
        (None, Some(high)) => format!("at most {}", told(judged, high)),
        (Some(low), None) => format!("at least {}, {}", told(judged, low), level(judged.level)),
        (None, None) => String::new(),
    }
}

/// Verdict with its reason, or with the number of runs that would decide.
#[must_use]
pub fn verdict(judged: &Judged) -> String {
    let word = judged.verdict.word();
    match (judged.verdict, judged.more_runs, because(judged).as_ref()) {
        (Verdict::Undecided, Some(1), _) => format!("{word}: about 1 more run would decide"),
        (Verdict::Undecided, Some(more), _) => {
            format!("{word}: about {more} more runs would decide")
        }
        (Verdict::Undecided, None, "") => {
            format!("{word}: more than a million runs would be needed")
        }
        (_, _, "") => word.to_owned(),
        (_, _, because) => format!("{word} ({because})"),
    }
}

/// Reason for a verdict; empty if the interval is the reason. Where the noise of the host is, the
/// reason has the numbers that show it.
#[must_use]
pub fn because(judged: &Judged) -> Cow<'static, str> {
    let requirement = judged.requirement.parse::<Requirement>();
    let (Some(noise_ns), Some(found), Ok(requirement)) =
        (judged.host_noise_ns, judged.found, requirement)
    else {
        return Cow::Borrowed(judged.because);
    };
    let (found, limit) = (told(judged, found), told(judged, requirement.limit));
    let noise = quantity::span(noise_ns);
    let place = if requirement.subject == Subject::Miss { " around the deadline" } else { "" };
    format!("found {found}, limit {limit}, host noise {noise}{place}").into()
}
