//! Verdicts on requirements, as a table.

use crate::output::Output;
use crate::quantity::{self, level};
use crate::report::settings;
use crate::table::{Align, Table};
use bench::analysis::{Report, Unit};
use bench::scenario::Requirement;
use bench::verdict::{Judged, Verdict, worst};
use std::io;

/// Prints what became of each requirement, and of all together.
pub(crate) fn tell(judged: &[Judged], report: &Report, output: &Output) -> io::Result<()> {
    if output.json || judged.is_empty() {
        return Ok(());
    }
    let mut table = Table::new([
        ("requirement", Align::Left),
        ("flow", Align::Left),
        ("found", Align::Right),
        ("interval", Align::Left),
        ("verdict", Align::Left),
    ]);
    let many = report.points.len() > 1;
    for judged in judged {
        let flow = if many {
            format!("{}, {}", judged.point + 1, judged.flow)
        } else {
            judged.flow.clone()
        };
        table.row([
            judged.requirement.clone(),
            flow,
            judged.found.map_or_else(|| "n/a".to_owned(), |found| told(judged, found)),
            interval(judged),
            verdict(judged),
        ]);
    }
    let heading = if many { "requirements (number of the point, flow)" } else { "requirements" };
    output.line(format_args!("\n{heading}\n{table}"))?;
    for note in random_starts(judged) {
        output.line(format_args!("  note: {note}"))?;
    }
    output.line(format_args!("verdict  {}", conclusion(judged, report)))
}

/// Deadlines that runs decided under random starts: bounds of theory for the worst alignment.
fn random_starts(judged: &[Judged]) -> Vec<String> {
    let by_runs = judged.iter().filter(|it| it.random_start && it.level < 1.0);
    let mut notes: Vec<String> = by_runs
        .filter(|it| it.requirement.starts_with("miss"))
        .map(|it| {
            let bound = it.bound_ns.map_or_else(|| "unknown".to_owned(), quantity::span);
            let flow = &it.flow;
            format!("{flow} starts at random in each run; longest in theory: {bound}")
        })
        .collect();
    notes.dedup();
    notes
}

/// All together, in one line; where it failed, where first.
fn conclusion(judged: &[Judged], report: &Report) -> String {
    let worst = worst(judged);
    let of = judged.iter().filter(|judged| judged.verdict == worst).count();
    let word = worst.word();
    if worst == Verdict::Pass {
        return format!("{word} ({of} of {})", judged.len());
    }
    let first = judged.iter().find(|judged| judged.verdict == worst);
    let place = first.and_then(|first| report.points.iter().find(|it| it.point == first.point));
    let place = place.filter(|point| !point.settings.is_empty());
    let place = place.map(|point| format!(": first where {}", settings(&point.settings)));
    format!("{word} ({of} of {}){}", judged.len(), place.unwrap_or_default())
}

/// A number in the unit of what it is about.
fn told(judged: &Judged, number: f64) -> String {
    let unit =
        judged.requirement.parse::<Requirement>().map_or(Unit::Fraction, |it| it.subject.unit());
    match unit {
        Unit::Fraction => quantity::significant(number, 2),
        Unit::Nanoseconds | Unit::BitsPerSecond => quantity::value(unit, number),
    }
}

fn interval(judged: &Judged) -> String {
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
        (Some(_) | None, None) => String::new(),
    }
}

fn verdict(judged: &Judged) -> String {
    let word = judged.verdict.word();
    match (judged.verdict, judged.more_runs, judged.because) {
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
