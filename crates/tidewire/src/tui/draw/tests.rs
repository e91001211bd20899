mod picture;

use super::*;
use crate::quantity;
use crate::stream::hostile;
use crate::tui::controls::Controls;
use crate::tui::keys::Keys;
use crate::tui::monitor::Window;
use crate::tui::page::Page;
use crate::tui::passed::{Newest, Passed};
use crate::tui::view::Contents;
use crate::tui::{
    Bars, Gather, Growth, Interval, Scales, Surroundings, Symbols, Theme, summary_of_samples,
};
use core::time::Duration;
use meter::registry::Measure;
use meter::{Meter, Remarks, Settings};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use records::Origin;
use records::state::Model;
use records::{Details, Head, Reader, Record, Recorder, Spans, Subset};
use std::fs::File;
use std::path::Path;
use wire::capture::Capture;
use wire::filter::Filter;

fn look(theme: Theme) -> Look {
    Look::new(theme, Symbols::Blocks, &Surroundings::default())
}

/// Returns the model of the capture of a cell with a bad path.
fn cell() -> Model {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng"));
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    let settings = Settings::every(Duration::from_secs(2));
    let second = Duration::from_secs(1);
    let spans = Spans { report: second, sample: Some(second / 20), intervals: None };
    let (details, only) = (Details { top: 20 }, Subset::default());
    let head = Head::of(
        Origin::files(&["cell.pcapng"], |path| path.display().to_string()),
        &settings,
        spans,
        details,
        &only,
    );
    let (mut recorder, mut model) = (Recorder::new(settings, spans, details), Model::new(head));
    while let Some(record) = capture.next().unwrap() {
        recorder.observe(record.at, record.link, record.octets, record.original_octets);
        tell(&mut recorder, &mut model);
    }
    recorder.finish(false, None);
    tell(&mut recorder, &mut model);
    model
}

/// Writes and reads the records, as a pipe would.
fn tell(recorder: &mut Recorder, model: &mut Model) {
    while let Some(item) = recorder.take() {
        let line = serde_json::to_string(&Record::of(&item, &Subset::default())).unwrap();
        model.take(serde_json::from_str(&line).unwrap());
    }
}

fn drawn(model: &Model, controls: &Controls, size: (u16, u16)) -> String {
    let look = look(Theme::Mono);
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let view = view(model, controls, size, &look);
    terminal.draw(|frame| draw(frame, &view, &look)).unwrap();
    terminal.backend().to_string()
}

fn view(model: &Model, controls: &Controls, size: (u16, u16), look: &Look) -> View {
    let contents = Contents { model, seen: None, skipped: 0, passed: None };
    View::of(contents, controls, Rect::new(0, 0, size.0, size.1), look)
}

/// Returns the newest TPDUs of the capture of a cell.
fn newest() -> Newest {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng"));
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    let mut meter = Meter::new(Settings::every(Duration::from_secs(2)));
    let (mut newest, mut remarks) = (Newest::default(), Remarks::default());
    while let Some(frame) = capture.next().unwrap() {
        let (octets, original) = (frame.octets, frame.original_octets);
        meter.observe_remarking(frame.at, frame.link, octets, original, &mut remarks);
        newest.observe(&remarks);
    }
    newest
}

/// Returns the samples of the capture of a cell.
fn samples_of_cell() -> Gather {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng"));
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    let mut meter = Meter::new(Settings::every(Duration::from_secs(2)));
    let interval = Interval::new(Duration::from_millis(500)).unwrap();
    let mut gather = Gather::new("cell.pcapng".to_owned(), interval, Filter::all());
    let mut remarks = Remarks::default();
    while let Some(frame) = capture.next().unwrap() {
        let (octets, original) = (frame.octets, frame.original_octets);
        meter.observe_remarking(frame.at, frame.link, octets, original, &mut remarks);
        gather.observe(&frame, &remarks);
    }
    gather
}

/// Draws contents on a screen of 80 columns.
fn screen_of(contents: Contents<'_>, controls: &Controls) -> String {
    let look = look(Theme::Mono);
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let view = View::of(contents, controls, Rect::new(0, 0, 80, 24), &look);
    terminal.draw(|frame| draw(frame, &view, &look)).unwrap();
    terminal.backend().to_string()
}

/// Returns the view of a page of a screen that has frames.
fn view_of_tpdus(passed: &[Passed], controls: &Controls, size: (u16, u16)) -> View {
    let contents = Contents { model: &cell(), seen: None, skipped: 0, passed: Some(passed) };
    View::of(contents, controls, Rect::new(0, 0, size.0, size.1), &look(Theme::Mono))
}

#[test]
fn tpdus_of_a_connection_are_listed_the_latest_first() {
    let (newest, look) = (newest(), look(Theme::Mono));
    let passed = newest.of(1);
    let controls = Controls { chosen: Some(1), ..on(Page::Passed) };
    let view = view_of_tpdus(&passed, &controls, (80, 24));
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| draw(frame, &view, &look)).unwrap();
    insta::assert_snapshot!("list", terminal.backend().to_string());
    // As many DTs as the page of the connection counts: 149, of which 1 is a retransmission.
    let rows = &view.sheet().unwrap().rows;
    let of = |words: &str| rows.iter().filter(|row| row.text.contains(words)).count();
    assert_eq!((of(" > DT "), of("retransmission")), (149, 1));
    for columns in [40, 60, 80, 120] {
        let view = view_of_tpdus(&passed, &controls, (columns, 24));
        let sheet = view.sheet().unwrap();
        let longest = sheet.rows.iter().map(|row| row.text.chars().count()).max();
        assert!(longest <= Some(usize::from(columns.max(51))), "{longest:?} of {columns}");
    }
    let filtered = Controls { filter: "RETRANS".to_owned(), ..controls };
    let view = view_of_tpdus(&passed, &filtered, (80, 24));
    assert_eq!(view.sheet().unwrap().rows.len(), 1);
    let about = &view.sheet().unwrap().about;
    assert!(about.starts_with("only those with \"RETRANS\": no 1 of 3 connections"), "{about}");
}

#[test]
fn a_connection_opens_its_tpdus_only_where_there_are_frames() {
    let opens = |view: View| {
        let rows = &view.sheet().unwrap().rows;
        rows.iter().all(|row| (row.opens(), row.connection) == (Some(Page::Passed), Some(1)))
    };
    assert!(opens(view_of_tpdus(&[], &on(Page::One), (80, 24))));
    assert!(!opens(view(&cell(), &on(Page::One), (80, 24), &look(Theme::Mono))));
    let without = drawn(&cell(), &on(Page::Passed), (80, 24));
    assert!(without.contains("only watch has TPDUs"), "{without}");
}

/// Pages of measures.
const PAGES: &[Page] = Page::ALL.split_at(1).1;

fn on(page: Page) -> Controls {
    let interval = Interval::new(Duration::from_millis(500)).unwrap();
    let scales = Scales { packets: 100.0, bits: 1e6 };
    let bars = Bars { interval, scales, growth: Growth::default(), until: None };
    Controls::new(page, Keys::new("").unwrap(), Some(bars))
}

#[test]
fn every_page_has_a_look() {
    let model = cell();
    for page in PAGES.iter().copied() {
        insta::assert_snapshot!(
            page.name().trim_end_matches('.'),
            drawn(&model, &on(page), (80, 24))
        );
    }
}

#[test]
fn a_small_screen_and_a_large_one_have_room() {
    let model = cell();
    insta::assert_snapshot!("overview_40x12", drawn(&model, &on(Page::Overview), (40, 12)));
    insta::assert_snapshot!("one_120x40", drawn(&model, &on(Page::One), (120, 40)));
    let mut controls = on(Page::Connections);
    controls.is_help_shown = true;
    insta::assert_snapshot!("help", drawn(&model, &controls, (80, 24)));
}

#[test]
fn events_between_stations_with_long_names_fit_into_a_line() {
    let mut model = Model::new(cell().head);
    for (start, since) in [(0, r#","window_closed_since_ns":6700000"#), (100_000_000, "")] {
        for text in [
            format!(
                r#"{{"type":"interval","index":{start},"intervals":1,"start_ns":{start},
                "length_ns":0,"complete":true,"frames":1,"dropped_by_kernel":null,"measures":{{}},
                "metrics":{{}},"oddities":{{}}}}"#
            ),
            format!(
                r#"{{"type":"connection-interval","index":{start},"id":1,
                "ends":["02:00:00:00:00:01","02:00:00:00:00:02"],"references":[1,2],"class":4,
                "user":"unknown","confidence":"none","state":"established","ending":null,
                "opening_ns":null,"established_ns":1,"closing_ns":null,"closed_ns":null,
                "last_ns":5,"directions":[{{"dt_tpdus":1{since}}},{{}}]}}"#
            ),
        ] {
            model.take(serde_json::from_str(&text).unwrap());
        }
    }
    let page = drawn(&model, &on(Page::Events), (80, 24));
    let opened = "02:00:00:00:00:02 gives 02:00:00:00:00:01 credit after <93.3 ms";
    assert!(page.contains(opened), "{page}");
}

#[test]
fn no_size_and_no_stream_makes_a_page_panic() {
    let (model, head) = (cell(), cell().head);
    let empty = Model::new(head);
    for page in PAGES.iter().copied() {
        for columns in [1, 20, 39, 40, 41, 60, 79, 80, 81, 133, 250] {
            for rows in [1, 11, 12, 13, 24, 60] {
                for model in [&model, &empty] {
                    let far = Controls { cursor: 1_000, chosen: Some(7), ..on(page) };
                    drawn(model, &far, (columns, rows));
                }
            }
        }
    }
}

#[test]
fn nothing_is_cut_off_in_eighty_columns() {
    let (mut long, head) = (cell(), cell().head);
    let text = r#"{"type":"connection","id":77,"ends":["[2001:db8:1111:2222:3333:4444:5555:6666]:50102",
        "[2001:db8:1111:2222:3333:4444:5555:7777]:102"],"references":[65535,65535],"class":4,
        "user":"unknown","confidence":"likely","state":"closed","ending":"erroneous",
        "opening_ns":1,"established_ns":2,"closing_ns":3000000000,"closed_ns":4000000000,
        "last_ns":4000000000,"until_ns":4000000000,"directions":[DIRECTION,DIRECTION]}"#;
    let direction = r#"{"dt_tpdus":99999999,"dt_retransmissions":99999999,"ak_tpdus":99999999,
        "dt_data_octets":9999999999,"dt_into_closed_window":99999999,"closed_windows":99999999,
        "closed_window_ns":3999000000,"ack_delays":7,"ack_delay_total_ns":1399999999,
        "peak_second_tpdus":99999,"peak_second_tpdu_octets":99999999,"tcp_round_trips":99999,
        "tcp_round_trip_total_ns":1399999999999,"tcp_callee_handshakes":1,
        "tcp_callee_handshake_total_ns":123456789}"#;
    long.take(serde_json::from_str(&text.replace("DIRECTION", direction)).unwrap());
    for model in [&cell(), &long, &Model::new(head)] {
        for page in PAGES.iter().copied() {
            let controls = Controls { chosen: Some(77), ..on(page) };
            let view = view(model, &controls, (80, 24), &look(Theme::Mono));
            let sheet = view.sheet().unwrap();
            let lines = sheet.heading.iter().chain([&sheet.about, &view.tabs]);
            for line in lines.chain(sheet.rows.iter().map(|row| &row.text)) {
                assert!(line.chars().count() <= 80, "{page:?}: {line:?}");
            }
        }
    }
}

#[test]
fn a_long_source_name_keeps_its_back() {
    let mut model = cell();
    model.head.source = format!("/captures/{}/plant.pcapng", "line".repeat(20));
    let text = drawn(&model, &on(Page::Overview), (80, 24));
    assert!(
        text.lines().next().unwrap().contains("line/plant.pcapng 6.00 s  595 frames"),
        "{text}"
    );
}

#[test]
fn extreme_counts_do_not_make_a_page_panic() {
    let lines = hostile::tests::cell();
    let mut records = 0;
    for seed in 0..80 {
        let text = hostile::tests::exchanged(&lines, seed);
        let Ok((mut reader, head)) = Reader::open(text.as_bytes()) else { continue };
        let mut model = Model::new(head);
        while let Ok(Some(record)) = reader.next_record() {
            model.take(record);
            records += 1;
        }
        for page in PAGES.iter().copied() {
            drawn(&model, &on(page), (80, 24));
            drawn(&model, &Controls { chosen: Some(1), ..on(page) }, (133, 60));
        }
    }
    assert!(records > 1_000, "{records} records of 80 streams");
}

#[test]
fn colours_say_nothing_that_words_do_not() {
    let model = cell();
    let size = (80, 24);
    for page in PAGES.iter().copied() {
        let texts: Vec<String> = [Theme::Dark, Theme::Light, Theme::Mono]
            .into_iter()
            .map(|theme| {
                let look = look(theme);
                let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
                let view = view(&model, &on(page), size, &look);
                terminal.draw(|frame| draw(frame, &view, &look)).unwrap();
                terminal.backend().to_string()
            })
            .collect();
        assert!(texts.iter().all(|text| *text == texts[0]));
        let view = view(&model, &on(page), size, &look(Theme::Mono));
        for row in view.sheet().unwrap().rows.iter().filter(|row| row.grade.is_some()) {
            let sign = row.grade.unwrap().sign();
            assert!(row.text.starts_with(sign), "{:?} of {page:?}", row.text);
        }
    }
}

#[test]
fn screens_show_the_values_of_the_stream() {
    let model = cell();
    // Same counts as `watch -r captures/cell.pcapng`: 293 DTs, 5 of them retransmitted.
    let measures = model.measures();
    assert_eq!(
        (measures.count(Measure::DtTpdus), measures.count(Measure::DtRetransmissions)),
        (293, 5)
    );
    let overview = drawn(&model, &on(Page::Overview), (80, 24));
    assert!(overview.contains("5 of 293 DTs were retransmitted, 1.7 %"), "{overview}");
    let both: u64 = model.connections.values().map(|known| known.both(Measure::DtTpdus)).sum();
    assert_eq!(both, 293, "its connections have all of them");
}

/// Returns the numbers behind `p50`, `p99`, `max` and `n` in the line of AK delays.
fn delay_figures(text: &str) -> Vec<String> {
    let has_delays = |line: &&str| line.contains("p99 ");
    let is_of_aks = |line: &&str| line.contains("AK delay") || line.contains("acknowledgement");
    let line = text.lines().filter(has_delays).find(is_of_aks).unwrap_or_else(|| panic!("{text}"));
    let words: Vec<&str> = line.split([' ', ',', '"']).filter(|word| !word.is_empty()).collect();
    let behind = |name: &str| {
        let at = words.iter().position(|word| *word == name).unwrap_or_else(|| panic!("{line}"));
        let unit = if name == "n" { "" } else { words[at + 2] };
        format!("{} {unit}", words[at + 1])
    };
    ["p50", "p99", "max", "n"].map(behind).into()
}

#[test]
fn pages_summary_and_record_have_the_same_digits() {
    let (model, mut gather) = (cell(), samples_of_cell());
    gather.finish();
    let window = Window { samples: 1_000, until: None };
    let (seen, controls) = (gather.snapshot(window), on(Page::Monitor));
    let contents = Contents { seen: Some(&seen), model: &model, skipped: 0, passed: None };
    let screen = screen_of(contents, &controls);
    let measures = &model.total.as_ref().unwrap().measures;
    let record = serde_json::to_value(measures).unwrap();
    let of = |name: &str| record[format!("ack_delay{name}")].as_u64().unwrap();
    let [p50, p99, max] = ["_p50_ns", "_p99_ns", "_max_ns"].map(|name| quantity::span(of(name)));
    let of_record = vec![p50, p99, max, format!("{} ", of("s"))];
    assert_eq!(delay_figures(&screen), of_record, "page 0: {screen}");
    let overview = drawn(&model, &on(Page::Overview), (80, 24));
    assert_eq!(delay_figures(&overview), of_record, "page 1: {overview}");
    let summary = summary_of_samples(&gather).join("\n");
    assert_eq!(delay_figures(&summary), of_record, "{summary}");
    // The sum has classes of 1/128, so that a second computation would show other digits.
    assert_eq!(of_record[1], "60.2 ms");
}

#[test]
fn single_intervals_are_named_and_add_up_to_the_whole() {
    let model = cell();
    // A little over six seconds, in intervals of two.
    assert_eq!(model.history.intervals(), 3);
    let at = |place| model.past(place).unwrap();
    let dts = |model: &Model| model.measures().count(Measure::DtTpdus);
    let of_connections = |model: &Model| -> u64 {
        model.connections.values().map(|known| known.both(Measure::DtTpdus)).sum()
    };
    let each: Vec<Model> = (0..3).map(at).collect();
    assert!(each.iter().all(|one| dts(one) > 0 && dts(one) == of_connections(one)));
    assert_eq!(each.iter().map(dts).sum::<u64>(), 293);
    assert_eq!(each.iter().map(Model::frames).sum::<u64>(), model.frames());
    let paused = Controls { is_paused: true, past: Some(1), ..on(Page::Overview) };
    insta::assert_snapshot!("interval", drawn(&each[1], &paused, (80, 24)));
    for page in PAGES.iter().copied() {
        drawn(&each[1], &Controls { is_paused: true, past: Some(1), ..on(page) }, (80, 24));
    }
}

#[test]
fn the_connections_of_a_host_are_those_with_an_end_there() {
    let model = cell();
    let rows = |host: Option<&str>| {
        let controls = Controls { host: host.map(str::to_owned), ..on(Page::Connections) };
        let view = view(&model, &controls, (80, 24), &look(Theme::Mono));
        let sheet = view.sheet().unwrap();
        let ends = |id: &u32| model.connections[id].identity.as_ref().unwrap().ends.clone();
        let ids = sheet.rows.iter().filter_map(|row| row.connection);
        (ids.map(|id| ends(&id)).collect::<Vec<_>>(), sheet.about.clone())
    };
    let (all, _) = rows(None);
    let host = "02:00:00:00:00:02";
    let (of_host, about) = rows(Some(host));
    assert!(!of_host.is_empty() && of_host.len() < all.len(), "{of_host:?} of {all:?}");
    assert!(of_host.iter().all(|ends| ends.iter().any(|end| end == host)), "{of_host:?}");
    let plural = if of_host.len() == 1 { "" } else { "s" };
    assert!(
        about.starts_with(&format!("{} connection{plural} of {host}", of_host.len())),
        "{about}"
    );
    assert_eq!(rows(Some("02:00:00:00:00:99")).0.len(), 0);
}

#[test]
fn a_row_of_the_list_and_the_page_that_it_opens_have_one_number() {
    let model = cell();
    let of = |controls: &Controls| view(&model, controls, (80, 24), &look(Theme::Mono));
    let list = of(&on(Page::Connections));
    // Its retransmissions put the second connection first.
    let first = &list.sheet().unwrap().rows[0];
    assert!(first.text.starts_with("!!  2 "), "{}", first.text);
    let page = of(&Controls { chosen: first.connection, ..on(Page::One) });
    let about = &page.sheet().unwrap().about;
    assert!(about.starts_with("connection no 2, 3 in all"), "{about}");
}

#[test]
fn enter_is_named_only_where_a_row_opens() {
    let model = cell();
    let names_open = |page| {
        let view = view(&model, &on(page), (200, 24), &look(Theme::Mono));
        let Footer::Keys(keys) = view.footer else { panic!("no keys") };
        keys.iter().any(|key| key == "enter open")
    };
    assert!(names_open(Page::Hosts) && names_open(Page::Connections));
    assert!(
        !names_open(Page::Tpdus) && !names_open(Page::Streams) && !names_open(Page::Transactions)
    );
}
