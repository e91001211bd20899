//! Verdicts on requirements, as a table.

use crate::output::Output;
use crate::quantity;
use crate::table::{Align, Table};
use bench::analysis::Report;
use bench::verdict::{Judged, Verdict, worst};
use reports::study::{interval, settings, told, verdict, worst_first};
use std::io;

/// Prints what became of each requirement on each flow, the `top` worst where there are more, and of all together.
pub(crate) fn tell(
    judged: &[Judged],
    report: &Report,
    top: usize,
    output: &Output,
) -> io::Result<()> {
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
    let shown: Vec<&Judged> = match judged.len() {
        all if all <= top => judged.iter().collect(),
        _ => worst_first(judged).into_iter().take(top).collect(),
    };
    for judged in &shown {
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
    if shown.len() < judged.len() {
        let (shown, all) = (shown.len(), judged.len());
        output
            .line(format_args!("  the table has the {shown} worst of {all}: --top N shows more"))?;
    }
    for note in random_starts(&shown) {
        output.line(format_args!("  note: {note}"))?;
    }
    output.line(format_args!("verdict  {}", conclusion(judged, report)))
}

/// Deadlines that runs decided under random starts: bounds of theory for the worst alignment.
fn random_starts(judged: &[&Judged]) -> Vec<String> {
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
pub(crate) fn conclusion(judged: &[Judged], report: &Report) -> String {
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
