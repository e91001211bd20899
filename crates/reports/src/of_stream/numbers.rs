//! The numbers that decided the verdict on a stream.

use super::Measures;
use crate::document::{Grade, MOST_NUMBERS, Number};
use crate::of_study::{LEVEL, grade};
use crate::text::Text;
use bench::verdict::Verdict;
use meter::observation::DelayKind;
use meter::registry::Measure;
use records::findings::{is_bad_share, is_closed_long};
use records::quantity::{self, counted, level, significant, span};
use records::require::{Outcome, OutcomeFinding};
use stats::interval::proportion;

/// A number, and the words by which a requirement asks for it.
struct Candidate {
    words: &'static [&'static str],
    number: Number,
}

/// Those of requirements that do not hold, then what requirements ask for, then what is worst.
pub(super) fn of(measures: &Measures) -> Vec<Number> {
    let mut numbers: Vec<Number> = Vec::new();
    for wanted in [Verdict::Fail, Verdict::Undecided] {
        for outcome in measures.outcomes.iter().filter(|it| it.verdict == wanted) {
            let first = outcome.findings.iter().find(|it| it.verdict == wanted);
            numbers.extend(first.map(|finding| required(outcome, finding)));
        }
    }
    numbers.truncate(MOST_NUMBERS);
    let is_wanted = |words: &[&str]| {
        measures.outcomes.iter().any(|it| words.iter().any(|word| it.requirement.contains(word)))
    };
    let mut more = candidates(measures);
    more.sort_by_key(|it| core::cmp::Reverse((is_wanted(it.words), it.number.grade)));
    if !measures.outcomes.is_empty() {
        // With requirements, these alone decide.
        more.iter_mut().for_each(|it| it.number.grade = Grade::Note);
        let answered = more.iter().any(|it| is_wanted(it.words));
        let passed = measures.outcomes.iter().filter(|it| it.verdict == Verdict::Pass);
        numbers.extend(passed.filter(|_| !answered).map(held));
        numbers.truncate(MOST_NUMBERS);
    }
    let wanted = MOST_NUMBERS.saturating_sub(numbers.len());
    numbers.extend(more.into_iter().map(|it| it.number).take(wanted));
    numbers
}

fn required(outcome: &Outcome, finding: &OutcomeFinding) -> Number {
    let told = |number: Option<f64>| number.map(|number| outcome.told(number));
    let interval = outcome.interval(finding).unwrap_or_else(|| finding.because.clone());
    let of = finding.of.as_deref().unwrap_or("the whole");
    let all = outcome.passed + outcome.failed + outcome.undecided;
    Number {
        name: Text::from(&outcome.requirement),
        value: Text::from(told(finding.found).unwrap_or_else(|| "n/a".to_owned())),
        spread: Text::from(interval),
        count: Text::from(format!("{of}; {} of {all} do not pass", all - outcome.passed)),
        grade: grade(finding.verdict),
    }
}

/// A requirement that holds.
fn held(outcome: &Outcome) -> Number {
    let Outcome { requirement, passed, .. } = outcome;
    let spread = format!("{passed} judged, each passed");
    number(Grade::Pass, requirement.clone(), "holds".to_owned(), [spread, format!("n = {passed}")])
}

fn candidates(measures: &Measures) -> Vec<Candidate> {
    let all = [
        replies(measures),
        functions(measures),
        services(measures),
        streams(measures),
        retransmissions(measures),
        closed(measures),
        acknowledgements(measures),
        Some(frames(measures)),
    ];
    all.into_iter().flatten().collect()
}

fn number(grade: Grade, name: String, value: String, [spread, count]: [String; 2]) -> Number {
    let [name, value, spread, count] = [name, value, spread, count].map(Text::from);
    Number { name, value, spread, count, grade }
}

/// Name and text of the 99th percentile of `count` durations, or of the maximum if they are too few.
fn far(count: u64, p99_ns: u64, max_ns: u64) -> (&'static str, String) {
    match quantity::enough(0.99, count, Some(p99_ns)) {
        Some(p99_ns) => ("p99", span(p99_ns)),
        None => ("max", span(max_ns)),
    }
}

fn replies(measures: &Measures) -> Option<Candidate> {
    let worst = measures.hosts.worst();
    let slowest = worst.rows.first().filter(|row| row.replies.count > 0)?;
    let replies = slowest.replies;
    let (what, value) = far(replies.count, replies.p99_ns?, replies.max_ns);
    let mean = replies.mean_ns.map_or_else(String::new, span);
    let p50 = quantity::quantile(0.5, replies.count, replies.p50_ns);
    let spread = format!("mean {mean}, p50 {p50}, max {}", span(replies.max_ns));
    let count = format!(
        "{}, n = {}",
        slowest.host,
        counted(replies.count, "reply").replace("replys", "replies")
    );
    let number =
        number(Grade::Note, format!("response.{what} of the slowest host"), value, [spread, count]);
    Some(Candidate { words: &["response"], number })
}

fn services(measures: &Measures) -> Option<Candidate> {
    let worst = measures.services.worst();
    let it = &worst.rows.first().filter(|row| row.0.answers > 0)?.0;
    let grade = if it.unanswered > 0 { Grade::Fail } else { Grade::Note };
    let max_ns = it.response_max_ns?;
    let (what, value) = far(it.answers, it.response_p99_ns?, max_ns);
    let p50 = quantity::quantile(0.5, it.answers, it.response_p50_ns);
    let max = span(max_ns);
    let spread = format!("p50 {p50}, max {max}");
    let count = format!(
        "{} at {}, n = {} answers of {} requests",
        it.service, it.server, it.answers, it.requests
    );
    let name = format!("response.{what} of the slowest MMS service");
    let number = number(grade, name, value, [spread, count]);
    Some(Candidate { words: &["mms"], number })
}

fn functions(measures: &Measures) -> Option<Candidate> {
    let worst = measures.functions.worst();
    let it = &worst.rows.first()?.0;
    let max_ns = it.response_max_ns?;
    let (what, value) = far(it.responses, it.response_p99_ns?, max_ns);
    let p50 = quantity::quantile(0.5, it.responses, it.response_p50_ns);
    let grade = if it.unanswered > 0 { Grade::Fail } else { Grade::Note };
    let spread = format!("p50 {p50}, max {}", span(max_ns));
    let count = format!(
        "{} function {}, n = {} replies to {} requests",
        it.device(),
        it.function,
        it.replies,
        it.requests
    );
    let name = format!("response.{what} of the slowest {} device", it.protocol);
    let number = number(grade, name, value, [spread, count]);
    Some(Candidate { words: &["modbus", "unanswered", "exceptions", "retries"], number })
}

fn streams(measures: &Measures) -> Option<Candidate> {
    let worst = measures.streams.worst();
    let row = worst.rows.first()?;
    let it = &row.0;
    let is_bad = it.silences + it.missing > 0;
    let grade = if is_bad { Grade::Fail } else { Grade::Note };
    let count = format!("{}, n = {}", row.name(), counted(it.frames, "frame"));
    let (name, value, spread) = match (it.late_max_ns, it.period_ns) {
        (Some(late), Some(period)) => (
            "latest frame of the worst stream".to_owned(),
            span(late),
            format!(
                "{} % of the period of {}; late p99 {}; {} missing",
                significant(late as f64 * 100.0 / period.max(1) as f64, 3),
                span(period),
                quantity::quantile(0.99, it.late_gaps.unwrap_or(0), it.late_p99_ns),
                it.missing
            ),
        ),
        _ => (
            "longest gap of the worst stream".to_owned(),
            span(it.gap_max_ns),
            format!("{} gaps longer than allowed; {} missing", it.silences, it.missing),
        ),
    };
    let number = number(grade, name, value, [spread, count]);
    Some(Candidate {
        words: &["late", "gap", "missing", "silences", "profinet", "goose", "sv"],
        number,
    })
}

fn retransmissions(measures: &Measures) -> Option<Candidate> {
    let again = measures.count(Measure::DtRetransmissions);
    let all = measures.count(Measure::DtTpdus);
    if all == 0 {
        return None;
    }
    let interval = proportion(again.min(all), all, LEVEL).interval;
    let [low, high] = [interval.low, interval.high].map(|it| significant(it * 100.0, 2));
    let spread = match again {
        0 => format!("at most {high} %, {}", level(LEVEL)),
        _ => format!("{low} to {high} %, {}", level(LEVEL)),
    };
    let grade = match again {
        0 => Grade::Note,
        _ if is_bad_share(again, all) => Grade::Fail,
        _ => Grade::Open,
    };
    let value = format!("{} %", significant(again as f64 * 100.0 / all as f64, 2));
    let number = number(
        grade,
        "DTs retransmitted".to_owned(),
        value,
        [spread, format!("{again} of {all} DTs")],
    );
    Some(Candidate { words: &["retransmission", "R_RD"], number })
}

fn closed(measures: &Measures) -> Option<Candidate> {
    let times = measures.count(DelayKind::ClosedWindow.count());
    if times == 0 {
        return None;
    }
    let total = measures.count(DelayKind::ClosedWindow.total());
    let most = measures.count(DelayKind::ClosedWindow.maximum());
    let is_long = is_closed_long(most, measures.length_ns());
    let spread = format!("in total {}", span(total));
    let grade = if is_long { Grade::Fail } else { Grade::Open };
    let number = number(
        grade,
        "longest closed window".to_owned(),
        span(most),
        [spread, format!("closed {times} times")],
    );
    Some(Candidate { words: &["closed_window"], number })
}

fn acknowledgements(measures: &Measures) -> Option<Candidate> {
    let kind = DelayKind::Acknowledgement;
    let n = measures.count(kind.count());
    if n == 0 {
        return None;
    }
    let [p50, p99, max] =
        [kind.p50(), kind.p99(), kind.maximum()].map(|it| span(measures.count(it)));
    let spread = format!("p50 {p50}, max {max}");
    let number = number(
        Grade::Note,
        "ack_delay p99".to_owned(),
        p99,
        [spread, format!("n = {n} acknowledged DTs")],
    );
    Some(Candidate { words: &["ack_delay"], number })
}

fn frames(measures: &Measures) -> Candidate {
    let length = measures.length_ns().max(1);
    let rate = measures.frames() as f64 * 1e9 / length as f64;
    let busiest = measures.series.spans.iter().map(|it| it.busiest).fold(0.0, f64::max);
    let spread = match measures.intervals() {
        1 => "one interval".to_owned(),
        _ => format!("busiest interval {} frames/s", significant(busiest, 3)),
    };
    let count = format!("n = {} in {}", counted(measures.frames(), "frame"), span(length));
    let value = format!("{} frames/s", significant(rate, 3));
    let number = number(Grade::Note, "mean rate".to_owned(), value, [spread, count]);
    Candidate { words: &["lpdus", "tpdus"], number }
}
