//! A reproduction for programs: NDJSON and CSV.

use crate::output::Output;
use bench::sample::{End, Line};
use papers::published::diagram::{Matrix, TimeDiagram};
use papers::published::plot::{Plot, Published, Style};
use papers::published::row::Claim;
use papers::published::summary::{Summary, summarise};
use papers::published::verdict::Verdict;
use papers::published::{Answer, AtTier, Options, Outcome, Paper, Reproduction};
use serde_json::{Map, Value, json};
use std::io;

/// The record of a figure.
pub(crate) fn figure(plot: &Plot) -> Value {
    let curves: Vec<Value> = plot
        .curves
        .iter()
        .map(|curve| {
            let points: Vec<[f64; 4]> =
                curve.points.iter().map(|p| [p.x, p.y, p.low, p.high]).collect();
            let style = match curve.style {
                Style::Points => "points",
                Style::Cases => "cases",
                Style::Edge => "edge",
                Style::Bars => "bars",
            };
            json!({
                "name": curve.name, "input": curve.is_input, "style": style, "points": points,
            })
        })
        .collect();
    let published: Vec<Value> = plot
        .published
        .iter()
        .map(|one| match one {
            Published::Point(p) => json!([p.x, p.y, p.low, p.high]),
            Published::Across(x) => json!([x, null, null, null]),
        })
        .collect();
    json!({
        "published": published, "type": "figure", "number": plot.number, "title": plot.title,
        "place": plot.place, "observed": plot.observed,
        "x": plot.horizontal, "y": plot.vertical,
        "point": ["x", "y", "low", "high"], "curves": curves,
    })
}

/// The record of a time diagram; times are in milliseconds.
fn time_diagram(diagram: &TimeDiagram) -> Value {
    let lane = |place: usize| diagram.lanes.get(place).copied().unwrap_or_default();
    let tasks: Vec<Value> =
        diagram.spans.iter().map(|it| json!([lane(it.lane), it.name, it.begin, it.end])).collect();
    let events: Vec<Value> =
        diagram.moments.iter().map(|it| json!([lane(it.lane), it.name, it.at])).collect();
    let intervals: Vec<Value> = diagram
        .intervals
        .iter()
        .map(
            |it| json!({ "name": it.name, "input": it.is_input, "begin": it.begin, "end": it.end }),
        )
        .collect();
    json!({
        "type": "figure", "number": diagram.number, "title": diagram.title, "x": ["time", "ms"],
        "place": diagram.place, "observed": diagram.observed,
        "lanes": diagram.lanes, "tasks": tasks, "events": events, "intervals": intervals,
    })
}

/// The record of a matrix.
fn matrix(matrix: &Matrix) -> Value {
    json!({
        "type": "figure", "number": matrix.number, "title": matrix.title, "input": matrix.is_input,
        "place": matrix.place, "observed": matrix.observed,
        "row": matrix.row, "column": matrix.column, "counted": matrix.counted,
        "names": matrix.names, "counts": matrix.counts,
    })
}

/// The columns of the CSV.
const COLUMNS: [&str; 17] = [
    "id",
    "kind",
    "role",
    "asks",
    "unit",
    "value",
    "conditions",
    "published_least",
    "published_most",
    "reading_error",
    "error_because",
    "ours",
    "ours_low",
    "ours_high",
    "observations",
    "verdict",
    "why",
];

/// A row a claim, after the names of the columns where `is_first`; columns that do not apply are empty.
pub(super) fn csv(outcomes: &[Outcome], is_first: bool, to: impl io::Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(to);
    if is_first {
        writer.write_record(COLUMNS)?;
    }
    for Outcome { row, role, answers, .. } in outcomes {
        for (claim, Answer { ours, verdict, why }) in row.claims.iter().zip(answers) {
            let (least, most) = claim.published();
            let of_ours = |number: fn(&papers::published::value::Value) -> f64| {
                ours.as_ref().map(number).map(finite).unwrap_or_default()
            };
            writer.write_record([
                row.id.as_str(),
                &format!("{:?}", row.kind),
                &role.to_string(),
                &claim.asks,
                &claim.unit,
                &row.value,
                &row.conditions,
                &finite(least),
                &finite(most),
                &claim.error.to_string(),
                &claim.error_because,
                &of_ours(|found| found.value),
                &of_ours(|found| found.low),
                &of_ours(|found| found.high),
                &ours.map(|found| found.observations.to_string()).unwrap_or_default(),
                &verdict.to_string(),
                why.as_deref().unwrap_or_default(),
            ])?;
        }
    }
    writer.flush()
}

/// A number, and nothing for an end that is not bounded.
fn finite(number: f64) -> String {
    if number.is_finite() { number.to_string() } else { String::new() }
}

/// The first record.
pub(super) fn paper(paper: &Paper, options: &Options) -> Value {
    let Options { seed, messages, .. } = options;
    json!({
        "type": "paper", "paper": paper.name, "title": paper.title,
        "seed": seed.to_string(), "repetitions": messages,
    })
}

/// The record of a row.
pub(super) fn row(outcome: &Outcome) -> Value {
    let Outcome { row, role, verdict, answers } = outcome;
    let claims: Vec<Value> = row.claims.iter().zip(answers).map(claim).collect();
    json!({
        "type": "row", "id": row.id, "kind": row.kind, "role": role, "value": row.value,
        "conditions": row.conditions, "restates": row.restates, "verdict": verdict,
        "claims": claims,
    })
}

/// The figures, the summary and the end.
pub(super) fn end(
    reproduction: &Reproduction,
    summary: &Summary,
    output: &Output,
) -> io::Result<()> {
    each_before_end(reproduction, summary, &mut |record| output.record(record))?;
    output.record(&Line::End(End { complete: true, error: None }))
}

/// Passes each record between the rows and the end on.
pub(super) fn each_before_end(
    reproduction: &Reproduction,
    summary: &Summary,
    pass: &mut dyn FnMut(&Value) -> io::Result<()>,
) -> io::Result<()> {
    for diagram in &reproduction.time_diagrams {
        pass(&time_diagram(diagram))?;
    }
    for counts in &reproduction.matrices {
        pass(&matrix(counts))?;
    }
    for plot in &reproduction.plots {
        pass(&figure(plot))?;
    }
    let groups: Vec<Value> = summary
        .groups
        .iter()
        .map(|group| {
            let mut verdicts = Map::new();
            for (verdict, count) in Verdict::ALL.iter().zip(group.verdicts) {
                verdicts.insert(verdict.to_string(), count.into());
            }
            json!({ "kind": group.kind, "role": group.role, "verdicts": verdicts })
        })
        .collect();
    for tier in &reproduction.tiers {
        pass(&self::tier(tier))?;
    }
    let Summary { candidates, successes, restatements, .. } = summary;
    pass(&json!({
        "type": "summary", "groups": groups, "candidates": candidates, "successes": successes,
        "restatements": restatements, "remarks": reproduction.remarks,
    }))?;
    Ok(())
}

/// The record of a tier: the role and the verdict of each row.
fn tier(tier: &AtTier) -> Value {
    let AtTier { name, title, models, outcomes } = tier;
    let Summary { candidates, successes, .. } = summarise(outcomes);
    let row = |outcome: &Outcome| json!({ "id": outcome.row.id, "role": outcome.role, "verdict": outcome.verdict });
    let rows: Vec<Value> = outcomes.iter().map(row).collect();
    json!({
        "type": "tier", "tier": name, "title": title, "models": models,
        "candidates": candidates, "successes": successes, "rows": rows,
    })
}

fn claim((claim, Answer { ours, verdict, why }): (&Claim, &Answer)) -> Value {
    // What is not finite becomes null.
    let (least, most) = claim.published();
    let ours = ours.map(|found| {
        json!({
            "value": found.value, "low": found.low, "high": found.high,
            "observations": found.observations,
        })
    });
    json!({
        "asks": claim.asks, "unit": claim.unit, "least": least, "most": most,
        "reading_error": claim.error, "error_because": claim.error_because, "ours": ours,
        "verdict": verdict, "why": why,
    })
}
