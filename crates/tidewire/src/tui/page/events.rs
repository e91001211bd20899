//! Pages of events, and of losses during collection.

use super::{Room, Row, Sheet, clock, counted};
use crate::quantity;
use crate::tui::monitor::MeterState;
use meter::registry::Measure;
use records::calendar;
use records::findings::Grade;
use records::state::Model;
use wire::time::{Instant, nanos};

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

/// Returns the source, resolution and clock of the time stamps.
fn of_stamps(model: &Model) -> Vec<Row> {
    let mut lines = Vec::new();
    if let Some(stamps) = model.stamps() {
        lines.push(format!("   times      {stamps}"));
    }
    if model.head.files.is_some() {
        lines.push("   clock      that of the capturing host: its error is not known".to_owned());
    }
    lines.into_iter().map(Row::plain).collect()
}

/// Returns the state of the meter itself: processor time, queue, and on a port the clock of this host.
fn of_meter(state: &MeterState, is_port: bool) -> Vec<String> {
    let MeterState { now, load, fullest } = state;
    let percent = |share: f64| format!("{} %", quantity::significant(share * 100.0, 2));
    let took = quantity::span(nanos(now.processor));
    let load = load.map_or_else(String::new, |load| format!(", {} of a processor", percent(load)));
    let clock = match now.clock_error {
        Some(error) => format!("within {} of UTC", quantity::span(nanos(error))),
        None => "nothing sets the clock of this host: its error is not known".to_owned(),
    };
    let mut lines = vec![format!("   meter      {took} of processor time{load}")];
    if let Some(fullest) = fullest {
        let now =
            now.ring_fill.map_or_else(String::new, |fill| format!("{} full, ", percent(fill)));
        lines.push(format!("   ring       {now}at most {} so far", percent(*fullest)));
    }
    lines.extend(is_port.then(|| format!("   clock      {clock}")));
    lines
}

/// Returns the losses during collection, and the settings of the measurement.
pub(super) fn capture(model: &Model, meter: Option<MeterState>) -> Sheet {
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
    let is_port = head.files.is_none();
    rows.extend(meter.iter().flat_map(|state| of_meter(state, is_port)).map(Row::plain));
    rows.extend(of_stamps(model));
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
    use crate::tui::monitor::{Gather, Interval, Window};
    use crate::tui::page::fed::fed;
    use core::time::Duration;
    use records::families::Health;
    use records::{Collection, Record, StampClock, Stamps};
    use wire::filter::Filter;

    fn check(model: &Model, expected: &[&str]) {
        let rows = capture(model, None).rows;
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

    #[test]
    fn the_meter_tells_its_own_time_queue_and_clock() {
        let second = Instant::from_nanos(1_000_000_000);
        let interval = Interval::new(Duration::from_secs(1)).unwrap();
        let mut gather = Gather::new("eth1".to_owned(), interval, Filter::all());
        let health = |millis, fill| Health {
            processor: Duration::from_millis(millis),
            clock_error: Some(Duration::from_micros(1_200)),
            ring_fill: fill,
            ..Health::default()
        };
        let told = |gather: &Gather| {
            let seen = gather.snapshot(Window { samples: 1, until: None });
            of_meter(&seen.health.unwrap(), true)
        };
        gather.note_health(health(10, Some(0.5)), second);
        let first = [
            "   meter      10.0 ms of processor time",
            "   ring       50 % full, at most 50 % so far",
            "   clock      within 1.20 ms of UTC",
        ];
        assert_eq!(told(&gather), first);
        // 250 ms within a second.
        gather.note_health(health(260, Some(0.25)), second + Duration::from_secs(1));
        let later = [
            "   meter      260 ms of processor time, 25 % of a processor",
            "   ring       25 % full, at most 50 % so far",
            "   clock      within 1.20 ms of UTC",
        ];
        assert_eq!(told(&gather), later);
        let unset = Health { clock_error: None, ..health(0, None) };
        let state = MeterState { now: unset, load: None, fullest: None };
        let lines = of_meter(&state, true);
        let unknown = "   clock      nothing sets the clock of this host: its error is not known";
        assert_eq!(lines, ["   meter      0 ns of processor time", unknown]);
        assert_eq!(of_meter(&state, false), ["   meter      0 ns of processor time"]);
    }

    #[test]
    fn a_capture_states_its_stamps_and_not_the_clock_of_this_host() {
        let mut model = fed(&[], &[], None, 100);
        let unknown = "   clock      that of the capturing host: its error is not known";
        let told = |model: &Model| of_stamps(model).into_iter().map(|row| row.text);
        assert!(told(&model).eq([unknown]), "an older stream has no stamps");
        let mut latest = model.latest.take().unwrap();
        latest.stamps = Some(Stamps { clock: StampClock::Capture, resolution_ns: 1_000 });
        model.take(Record::Interval(latest));
        let stamps = "   times      stamps of the capture, resolution 1 us by its header";
        assert!(told(&model).eq([stamps, unknown]));
        model.head.files = None;
        assert!(told(&model).eq([stamps]));
    }
}
