//! Streams of cyclic data so far, the worst first.

use super::{Room, Row, Sheet, counted, short};
use crate::quantity::{enough, span};
use records::findings::Grade;
use records::state::Model;
use records::{CyclicStream, CyclicTotals, shortened};

/// Columns of a publisher: a MAC address.
const SOURCE_COLUMNS: usize = 17;
/// Columns of everything but the publisher and the name.
const OTHER_COLUMNS: usize = 3 + 1 + 1 + 6 + 6 + 7 + 8 + 8 + 8;

pub(super) fn sheet(model: &Model, room: Room) -> Sheet {
    let CyclicTotals { streams, frames, missing, silences, .. } = model.of_streams;
    let about = format!(
        "{} of {}, {} missing, {} too long; the worst first",
        counted(streams, "stream"),
        counted(frames, "frame"),
        short(missing),
        counted(silences, "gap"),
    );
    let rows = model.streams.iter().flat_map(|it| [Some(row(it, room)), special(it)]);
    let rows = rows.flatten().collect();
    Sheet { about, heading: Some(heading(room)), rows }
}

/// Columns left for a name.
fn name_columns(room: Room) -> usize {
    room.columns.saturating_sub(OTHER_COLUMNS + SOURCE_COLUMNS).clamp(9, 60)
}

fn heading(room: Room) -> String {
    let width = name_columns(room);
    format!(
        "   {:<SOURCE_COLUMNS$} {:<width$} {:>6} {:>5} {:>6} {:>7} {:>7} {:>7}",
        "publisher", "stream", "frames", "miss", "silent", "worst", "allowed", "late"
    )
}

fn row(it: &CyclicStream, room: Room) -> Row {
    let grade = it.grade();
    let time =
        |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), |it| span(it).replace(' ', ""));
    let width = name_columns(room);
    let end = if it.silent_at_end { "+" } else { "" };
    let text = format!(
        "{} {:<SOURCE_COLUMNS$} {:<width$} {:>6} {:>5} {:>6} {:>7} {:>7} {:>7}",
        grade.map_or("  ", Grade::sign),
        it.source,
        shortened(&it.label(), width),
        short(it.frames),
        short(it.missing),
        format!("{}{end}", short(it.silences)),
        time(it.worst_gap_ns),
        time(it.worst_allowed_ns),
        time(it.late_max_ns),
    );
    Row { text, grade, ..Row::default() }
}

/// Row of what only some protocols have; none of the others.
fn special(it: &CyclicStream) -> Option<Row> {
    let time = |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), span);
    let extra = &it.extra;
    let mut words = Vec::new();
    if let (Some(answered), Some(max_ns)) = (extra.answered, extra.round_trip_max_ns) {
        let p99 = time(enough(0.99, answered, extra.round_trip_p99_ns));
        let max = span(max_ns);
        words.push(format!("{} answered, p99 {p99}, max {max}", short(answered)));
    }
    if extra.low_working_counters > 0 {
        words.push(format!("WKC low {}", short(extra.low_working_counters)));
    }
    if extra.stamps.is_some() {
        let p99 = enough(0.99, extra.stamps.unwrap_or(0), extra.transit_late_p99_ns);
        let late = [p99, extra.transit_late_max_ns].map(time);
        words.push(format!("transit late p99 {}, max {}", late[0], late[1]));
    }
    if let Some(grandmaster) = &extra.grandmaster {
        let (class, steps) = (extra.clock_class.unwrap_or(0), extra.steps_removed.unwrap_or(0));
        let changes = counted(extra.grandmaster_changes, "change");
        words.push(format!("{grandmaster}, class {class}, {steps} steps, {changes}"));
    }
    if extra.stalled > 0 {
        words.push(format!("{} repeat old data", counted(extra.stalled, "frame")));
    }
    let text = shortened(&format!("     {}", words.join("; ")), 80);
    (!words.is_empty()).then_some(Row::plain(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::Symbols;
    use crate::tui::page::fed::fed;
    use records::Record;

    /// Streams so far: one of 1 ms that was silent, one of 2 ms in order.
    fn so_far() -> Record {
        let stream = |source: u8, silences: u8, late_ns: u64| {
            format!(
                r#"{{"protocol":"PROFINET RT","source":"02:00:00:00:00:0{source}",
                "destination":"02:00:00:00:00:09","identifier":32768,"name":null,"priority":6,
                "vlan":0,"frames":12000,"samples":12000,"longest_octets":64,"copies":0,
                "missing":{silences},"out_of_order":0,"repeated":0,"backwards":0,"restarts":0,
                "state_changes":0,"missed_states":0,"gaps":11999,"gap_total_ns":12000000000,
                "gap_min_ns":1,"gap_max_ns":4000000,"silences":{silences},"worst_gap_ns":4000000,
                "worst_allowed_ns":3000000,"worst_at_ns":5,"allowed_ns":3000000,
                "period_ns":1000000,"late_max_ns":{late_ns},"first_ns":0,
                "last_ns":12000000000,"silent_at_end":false,"state":53,"invalid":0,"simulated":0,
                "needs_commissioning":0,"unsynchronised":0,"revision":0,"revisions_changed":0}}"#
            )
        };
        let totals = r#"{"streams":2,"silent_at_end":0,"frames":24000,"missing":3,"gaps":23998,
            "silences":3,"state_changes":0,"missed_states":0,"simulated":0,"invalid":0,
            "far_late":1}"#;
        let worst = [stream(1, 3, 700_000), stream(2, 0, 9_000)].join(",");
        let text =
            format!(r#"{{"type":"cyclic-streams","index":0,"totals":{totals},"worst":[{worst}]}}"#);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_stream_that_was_silent_is_marked_on_a_live_screen() {
        let mut model = fed(&[], &[], None, 24_000);
        model.take(so_far());
        let sheet = sheet(&model, Room { columns: 80, rows: 20, symbols: Symbols::Ascii });
        assert_eq!(
            sheet.about,
            "2 streams of 24000 frames, 3 missing, 3 gaps too long; the worst first"
        );
        let [first, second] = &sheet.rows[..] else { panic!("{}", sheet.rows.len()) };
        assert!(first.text.starts_with("!! 02:00:00:00:00:01 FrameID 8"), "{}", first.text);
        assert!(first.text.ends_with(" 4.00ms  3.00ms   700us"), "{}", first.text);
        assert_eq!((first.grade, second.grade), (Some(Grade::Bad), None));
        let heading = sheet.heading.unwrap();
        let lines = sheet.rows.iter().map(|row| row.text.as_str()).chain([heading.as_str()]);
        assert!(lines.into_iter().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn answers_and_grandmasters_have_a_line_below_their_stream() {
        let Record::CyclicStreams(mut streams) = so_far() else { panic!("another record") };
        let [first, second] = &mut streams.worst[..] else { panic!("two streams") };
        first.extra.answered = Some(900);
        first.extra.round_trip_p99_ns = Some(31_000);
        first.extra.round_trip_max_ns = Some(40_000);
        first.extra.low_working_counters = 4;
        second.extra.grandmaster = Some("020000.fffe.000a02".to_owned());
        second.extra.clock_class = Some(7);
        second.extra.grandmaster_changes = 1;
        let mut model = fed(&[], &[], None, 24_000);
        model.take(Record::CyclicStreams(streams));
        let sheet = sheet(&model, Room { columns: 80, rows: 20, symbols: Symbols::Ascii });
        let lines: Vec<_> = sheet.rows.iter().map(|row| row.text.trim()).collect();
        assert_eq!(lines[1], "900 answered, p99 31.0 us, max 40.0 us; WKC low 4");
        assert_eq!(lines[3], "020000.fffe.000a02, class 7, 0 steps, 1 change");
    }
}
