//! What happened, and how well frames came in.

use super::{Room, Row, Sheet, clock};
use crate::calendar;
use crate::quantity;
use crate::screens::finding::Grade;
use crate::screens::model::Model;
use wire::time::Instant;

/// What happened, the latest first.
pub(super) fn events(model: &Model, _room: Room) -> Sheet {
    let rows: Vec<Row> = model
        .told()
        .rev()
        .map(|event| {
            let grade = event.is_bad.then_some(Grade::Look);
            let sign = grade.map_or("  ", Grade::sign);
            let text = format!("{sign} {}  {}", clock(event.at_ns), event.text);
            Row { text, grade, ..Row::default() }
        })
        .collect();
    let gone = model.events.gone;
    let gone = if gone > 0 { format!(", {gone} before them let go") } else { String::new() };
    let about = format!("{} events, the latest first (UTC){gone}", rows.len());
    Sheet { about, heading: None, rows }
}

/// How well frames came in, and how was measured.
pub(super) fn capture(model: &Model) -> Sheet {
    let head = &model.head;
    let start = calendar::rfc_3339(Instant::from_nanos(model.start_ns()));
    let dropped = match model.dropped() {
        None => "the capture does not say what it lost".to_owned(),
        Some(0) => "the kernel dropped none".to_owned(),
        Some(dropped) => format!("the kernel dropped {dropped}: every count is too low"),
    };
    let state = match &model.end {
        None => "more may come".to_owned(),
        Some(end) if end.complete => "it is complete".to_owned(),
        Some(end) => {
            format!("not complete: {}", end.error.as_deref().unwrap_or("no reason is told"))
        }
    };
    let lost = model.dropped().is_some_and(|dropped| dropped > 0);
    let sample = head.sample_ns.map_or_else(|| "none".to_owned(), quantity::span);
    let (measure, report) = (quantity::span(head.measure_ns), quantity::span(head.report_ns));
    let mut rows = vec![
        Row::plain(format!("   source     {}", head.source)),
        Row::plain(format!("   since      {start}, for {}", quantity::span(model.length_ns()))),
        Row {
            text: format!(
                "{} frames     {}; {dropped}",
                if lost { "!!" } else { "  " },
                model.frames()
            ),
            grade: lost.then_some(Grade::Bad),
            ..Row::default()
        },
        Row::plain(format!("   end        {state}")),
        Row::plain(format!(
            "   intervals  measured {measure}, reported {report}, sampled {sample}"
        )),
        Row::plain(format!(
            "   told of    the {} busiest hosts and connections of each interval",
            head.top
        )),
        Row::default(),
    ];
    let oddities = model.oddities();
    if oddities.0.is_empty() {
        rows.push(Row::plain("   nothing odd was met"));
    }
    for (name, times) in oddities.iter() {
        rows.push(Row::plain(format!("   {times:>9}  {name}")));
    }
    Sheet { about: "how well frames came in, and what was odd".to_owned(), heading: None, rows }
}
