//! Pages of events, and of losses during collection.

use super::{Room, Row, Sheet, clock, counted};
use crate::quantity;
use meter::registry::Measure;
use records::calendar;
use records::findings::Grade;
use records::state::Model;
use wire::time::Instant;

/// Returns the events, the latest first.
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
    let about = format!("{}, the latest first (UTC){gone}", counted(rows.len() as u64, "event"));
    Sheet { about, heading: None, rows }
}

/// Returns the losses of frames before the meter, and of TPDUs that belong to no connection.
fn losses(model: &Model) -> [Row; 5] {
    let collected = model.collected();
    let left_out = model.end.as_ref().and_then(|end| end.left_out);
    let left_out = left_out.map_or_else(String::new, |left| format!(", {left} more left out"));
    let frames = format!("   frames     {} metered{left_out}", model.frames());
    let told = |told: Vec<String>| match told.is_empty() {
        true => "the capture does not say".to_owned(),
        false => told.join(", "),
    };
    let oddities = model.oddities();
    let [late, before] = ["time: time ran backwards", "time: frame before the origin"]
        .map(|name| oddities.count(name));
    let unassigned = model.measures().count(Measure::UnassignedTpdus);
    let graded = |grade: Option<Grade>, text: String| {
        let sign = grade.map_or("  ", Grade::sign);
        Row { text: format!("{sign} {text}"), grade, ..Row::default() }
    };
    let bad = model.dropped().is_some_and(|dropped| dropped > 0).then_some(Grade::Bad);
    let too_low = if bad.is_some() { "; every count is too low" } else { "" };
    let look = |count: u64| (count > 0).then_some(Grade::Look);
    [
        Row::plain(frames),
        Row::plain(format!("   came       {}", told(collected.came()))),
        graded(bad, format!("lost       {}{too_low}", told(collected.lost()))),
        graded(
            look(late + before),
            format!("late       {late} frames out of order in time, {before} before the start"),
        ),
        graded(look(unassigned), format!("unassigned {unassigned} TPDUs of no known connection")),
    ]
}

/// Returns the losses during collection, and the settings of the measurement.
pub(super) fn capture(model: &Model) -> Sheet {
    let head = &model.head;
    let start = calendar::rfc_3339(Instant::from_nanos(model.start_ns()));
    let state = match &model.end {
        None => "more may come".to_owned(),
        Some(end) if end.complete => "it is complete".to_owned(),
        Some(end) => {
            format!("not complete: {}", end.error.as_deref().unwrap_or("no reason is recorded"))
        }
    };
    let sample = head.sample_ns.map_or_else(|| "none".to_owned(), quantity::span);
    let (measure, report) = (quantity::span(head.measure_ns), quantity::span(head.report_ns));
    let mut rows = vec![
        Row::plain(format!("   source     {}", head.source)),
        Row::plain(format!("   since      {start}, for {}", quantity::span(model.length_ns()))),
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
    rows.extend(losses(model));
    rows.push(Row::default());
    let oddities = model.oddities();
    if oddities.0.is_empty() {
        rows.push(Row::plain("   nothing odd was met"));
    }
    for (name, times) in oddities.iter() {
        rows.push(Row::plain(format!("   {times:>9}  {name}")));
    }
    Sheet { about: "how well frames came in, and what was odd".to_owned(), heading: None, rows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::page::fed::fed;
    use records::{Collection, Record};

    fn check(model: &Model, expected: &[&str]) {
        let rows = capture(model).rows;
        for line in expected {
            assert!(rows.iter().any(|row| row.text == *line), "{line:?} is not in {rows:?}");
        }
    }

    #[test]
    fn every_kind_of_loss_has_its_words() {
        let odd = [("time: time ran backwards", 2), ("time: frame before the origin", 1)];
        let mut model = fed(&[("unassigned_tpdus", 4)], &odd, None, 100);
        check(
            &model,
            &[
                "   frames     100 metered",
                "   came       the capture does not say",
                "   lost       the capture does not say",
                "!  late       2 frames out of order in time, 1 before the start",
                "!  unassigned 4 TPDUs of no known connection",
            ],
        );
        let mut latest = model.latest.take().unwrap();
        latest.dropped_by_kernel = Some(7);
        latest.collection = Some(Collection {
            received: Some(120),
            accepted: Some(107),
            delivered: Some(100),
            dropped_by_interface: Some(5),
            dropped_by_kernel: Some(2),
            ring_full: Some(1),
        });
        model.take(Record::Interval(latest));
        check(
            &model,
            &[
                "   came       120 at the interface, 107 past its filter, 100 handed over",
                "!! lost       2 dropped by the kernel, 5 dropped by the interface, the ring full \
                 1 times; every count is too low",
            ],
        );
    }
}
