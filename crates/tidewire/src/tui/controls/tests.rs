//! Keys and their effects, on a page of rows and in the monitor.

use super::*;
use crate::tui::monitor::Interval;
use crate::tui::monitor::{Gather, Growth, Scales};
use crate::tui::page::Row;
use core::time::Duration;
use meter::Remarks;
use wire::capture::Record as Frame;
use wire::dissect::Link;
use wire::filter::Filter;
use wire::time::Instant;

fn every(millis: u64) -> Interval {
    Interval::new(Duration::from_millis(millis)).unwrap()
}

fn controls(page: Page) -> Controls {
    let scales = Scales { packets: 100.0, bits: 1e6 };
    let bars = Bars { interval: every(500), scales, growth: Growth::default(), until: None };
    Controls::new(page, Keys::new("").unwrap(), Some(bars))
}

/// 30 samples of 500 ms; the last has 21 packets of 100 octets, the others one each.
fn seen(bars: &Bars) -> Snapshot {
    let mut gather = Gather::new("a.pcap".to_owned(), bars.interval, Filter::all());
    let mut hear = |millis: u64| {
        let at = Instant::from_nanos(millis * 1_000_000);
        let (link, octets) = (Link::Ethernet, &[0; 100][..]);
        let frame = Frame { at, link, octets, original_octets: 100, interface: 0 };
        gather.observe(&frame, &Remarks::default());
    };
    (0..30).for_each(|sample| hear(500 * sample));
    (0..20).for_each(|n| hear(14_500 + n));
    gather.finish();
    gather.snapshot(bars.look(10))
}

fn sheet() -> Sheet {
    let of = |id| Row { text: format!("row {id}"), connection: Some(id), ..Row::default() };
    Sheet { rows: (1..=30).map(of).collect(), ..Sheet::default() }
}

fn press(controls: &mut Controls, code: KeyCode) -> Effect {
    let (sheet, seen) = (sheet(), seen(controls.bars.as_ref().unwrap()));
    let sheet = Some(&sheet).filter(|_| controls.page != Page::Monitor);
    let ids = &[3, 5, 9];
    let shown = Shown { sheet, rows: 10, ids, intervals: 3, seen: Some(&seen), room: 10 };
    controls.press(&KeyEvent::from(code), &shown)
}

fn many(controls: &mut Controls, times: usize, code: KeyCode) {
    for _ in 0..times {
        assert_eq!(press(controls, code), Effect::None);
    }
}

fn type_in(controls: &mut Controls, text: &str) {
    text.chars().for_each(|letter| {
        assert_eq!(press(controls, KeyCode::Char(letter)), Effect::None);
    });
}

fn until(controls: &Controls) -> Option<Duration> {
    controls.bars.as_ref().unwrap().until
}

#[test]
fn space_freezes_all_pages_where_they_are_and_lets_them_go_on() {
    for page in [Page::Monitor, Page::Hosts] {
        let mut controls = controls(page);
        assert_eq!(press(&mut controls, KeyCode::Char(' ')), Effect::Pause);
        assert!(controls.is_paused);
        assert_eq!(until(&controls), Some(Duration::from_secs(15)));
        assert_eq!(press(&mut controls, KeyCode::Char(' ')), Effect::Pause);
        assert_eq!((controls.is_paused, until(&controls)), (false, None));
    }
}

#[test]
fn scrolling_stays_within_the_history_and_pauses() {
    let mut controls = controls(Page::Monitor);
    assert_eq!(press(&mut controls, KeyCode::Left), Effect::Pause);
    assert!(controls.is_paused);
    assert_eq!(until(&controls), Some(Duration::from_millis(14_500)));
    press(&mut controls, KeyCode::PageUp);
    // Nine of ten samples, so that one stays visible.
    assert_eq!(until(&controls), Some(Duration::from_secs(10)));
    many(&mut controls, 9, KeyCode::PageUp);
    assert_eq!(until(&controls), Some(Duration::from_millis(500)));
    press(&mut controls, KeyCode::Home);
    assert_eq!(until(&controls), Some(Duration::from_secs(5)));
    many(&mut controls, 9, KeyCode::PageDown);
    assert_eq!(until(&controls), Some(Duration::from_secs(15)));
    press(&mut controls, KeyCode::Right);
    assert_eq!(until(&controls), Some(Duration::from_secs(15)));
}

#[test]
fn the_interval_is_ordered_from_the_samples() {
    let mut controls = controls(Page::Monitor);
    let effect = press(&mut controls, KeyCode::Char('+'));
    assert_eq!(effect, Effect::Interval(every(1_000)));
    press(&mut controls, KeyCode::Char('-'));
    let effect = press(&mut controls, KeyCode::Char('-'));
    assert_eq!(effect, Effect::Interval(every(200)));
    controls.bars.as_mut().unwrap().interval = every(60_000);
    assert_eq!(press(&mut controls, KeyCode::Char('+')), Effect::None);
}

#[test]
fn scales_step_in_1_2_5_and_fit_the_samples_shown() {
    let mut controls = controls(Page::Monitor);
    let scales = |controls: &Controls| controls.bars.as_ref().unwrap().scales;
    press(&mut controls, KeyCode::Char(']'));
    press(&mut controls, KeyCode::Char('{'));
    assert_eq!(scales(&controls), Scales { packets: 200.0, bits: 500_000.0 });
    press(&mut controls, KeyCode::Char('a'));
    // 21 packets in 500 ms are 42 /s, and 42 x 800 bit/s = 33,600.
    assert_eq!(scales(&controls), Scales { packets: 50.0, bits: 50_000.0 });
    many(&mut controls, 50, KeyCode::Char('['));
    many(&mut controls, 50, KeyCode::Char('}'));
    assert_eq!(scales(&controls), Scales { packets: 1.0, bits: 1e12 });
}

#[test]
fn a_first_scale_grows_until_a_key_sets_it() {
    let scales = Scales { packets: 10.0, bits: 1e6 };
    let mut controls = controls(Page::Monitor);
    let seen = seen(controls.bars.as_ref().unwrap());
    let bars = controls.bars.as_mut().unwrap();
    bars.scales = scales;
    bars.grow(&seen);
    assert_eq!(bars.scales, scales);
    bars.growth = Growth { packets: true, bits: true };
    bars.grow(&seen);
    // 42 packets/s and 33,600 bit/s.
    assert_eq!(bars.scales, Scales { packets: 50.0, bits: 1e6 });
    press(&mut controls, KeyCode::Char('['));
    let bars = controls.bars.as_mut().unwrap();
    bars.grow(&seen);
    assert_eq!(bars.scales.packets, 20.0);
}

#[test]
fn a_filter_of_frames_is_typed_mended_and_taken() {
    let mut controls = controls(Page::Monitor);
    press(&mut controls, KeyCode::Char('/'));
    // Letters that are keys elsewhere are text in the prompt.
    type_in(&mut controls, "from 2:0:0:0:0:q");
    assert_eq!(press(&mut controls, KeyCode::Enter), Effect::None);
    assert!(controls.complaint.as_deref().unwrap().contains("expected an address such as"));
    press(&mut controls, KeyCode::Backspace);
    type_in(&mut controls, "7");
    let filter = "from 2:0:0:0:0:7".parse().unwrap();
    assert_eq!(press(&mut controls, KeyCode::Enter), Effect::Filter(filter));
    assert_eq!((&controls.prompt, &controls.complaint), (&None, &None));
    press(&mut controls, KeyCode::Char('/'));
    type_in(&mut controls, "to");
    assert_eq!(press(&mut controls, KeyCode::Esc), Effect::None);
    assert_eq!(controls.prompt, None);
}

#[test]
fn any_key_leaves_the_help_and_quits_only_where_it_says_so() {
    let mut controls = controls(Page::Monitor);
    press(&mut controls, KeyCode::Char('?'));
    assert!(controls.is_help_shown);
    assert_eq!(press(&mut controls, KeyCode::Char('r')), Effect::None);
    assert!(!controls.is_help_shown);
    assert_eq!(press(&mut controls, KeyCode::Char('r')), Effect::Restart);
    press(&mut controls, KeyCode::Char('?'));
    assert_eq!(press(&mut controls, KeyCode::Char('q')), Effect::Quit);
    press(&mut controls, KeyCode::Char('?'));
    assert_eq!(press(&mut controls, KeyCode::Char('Q')), Effect::Keep);
}

#[test]
fn ctrl_c_ends_it_even_while_a_filter_is_typed() {
    for page in [Page::Monitor, Page::Hosts] {
        let mut controls = controls(page);
        press(&mut controls, KeyCode::Char('/'));
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        let shown = Shown { sheet: None, rows: 10, ids: &[], intervals: 0, seen: None, room: 10 };
        assert_eq!(controls.press(&key, &shown), Effect::Interrupt);
    }
}

#[test]
fn enter_opens_the_connection_of_the_row_and_esc_returns_to_it() {
    let mut controls = controls(Page::Overview);
    press(&mut controls, KeyCode::Char('2'));
    (0..4).for_each(|_| {
        press(&mut controls, KeyCode::Down);
    });
    press(&mut controls, KeyCode::Enter);
    assert_eq!((controls.page, controls.chosen), (Page::One, Some(5)));
    press(&mut controls, KeyCode::Esc);
    assert_eq!((controls.page, controls.cursor), (Page::Connections, 4));
    press(&mut controls, KeyCode::Esc);
    assert_eq!(controls.page, Page::Overview);
}

#[test]
fn the_cursor_stays_among_the_rows() {
    let mut controls = controls(Page::Overview);
    press(&mut controls, KeyCode::Up);
    assert_eq!(controls.cursor, 0);
    // Nine of ten rows, so that one stays visible.
    press(&mut controls, KeyCode::PageDown);
    assert_eq!(controls.cursor, 9);
    press(&mut controls, KeyCode::End);
    press(&mut controls, KeyCode::Down);
    assert_eq!(controls.cursor, 29);
}

#[test]
fn pages_go_around_and_numbers_lead_to_them() {
    let mut controls = controls(Page::Overview);
    let mut page = |code| {
        press(&mut controls, code);
        controls.page
    };
    assert_eq!(page(KeyCode::BackTab), Page::Monitor);
    assert_eq!(page(KeyCode::BackTab), Page::Transactions);
    assert_eq!(page(KeyCode::Tab), Page::Monitor);
    assert_eq!(page(KeyCode::Char('c')), Page::Streams);
    assert_eq!(page(KeyCode::Char('r')), Page::Transactions);
    assert_eq!(page(KeyCode::Char('m')), Page::Services);
    assert_eq!(page(KeyCode::Char('8')), Page::Events);
    assert_eq!(page(KeyCode::Right), Page::Capture);
    assert_eq!(page(KeyCode::Char('0')), Page::Monitor);
}

#[test]
fn a_stream_without_frames_has_no_monitor() {
    let mut controls = Controls::new(Page::Overview, Keys::new("").unwrap(), None);
    let last = (KeyCode::BackTab, Page::Transactions);
    for (code, page) in [(KeyCode::Char('0'), Page::Overview), last] {
        let shown = Shown { sheet: None, rows: 10, ids: &[], intervals: 0, seen: None, room: 10 };
        controls.press(&KeyEvent::from(code), &shown);
        assert_eq!(controls.page, page);
    }
}

#[test]
fn letters_of_a_filter_are_no_keys_and_esc_keeps_the_old_one() {
    let mut controls = controls(Page::Overview);
    for code in [KeyCode::Char('/'), KeyCode::Char('q'), KeyCode::Char('1'), KeyCode::Enter] {
        assert_eq!(press(&mut controls, code), Effect::None);
    }
    assert_eq!(controls.filter, "q1");
    for code in [KeyCode::Char('/'), KeyCode::Backspace, KeyCode::Esc] {
        press(&mut controls, code);
    }
    assert_eq!((controls.filter.as_str(), &controls.prompt), ("q1", &None));
    press(&mut controls, KeyCode::Esc);
    assert_eq!(controls.filter, "");
}

#[test]
fn brackets_step_through_intervals_while_it_stands_still() {
    let mut controls = controls(Page::Overview);
    let mut press = |letter| {
        let effect = press(&mut controls, KeyCode::Char(letter));
        (effect, controls.is_paused, controls.past)
    };
    // Nothing is later than the whole.
    assert_eq!(press(']'), (Effect::Step, false, None));
    assert_eq!(press('['), (Effect::Pause, true, Some(2)));
    assert_eq!(press('['), (Effect::Step, true, Some(1)));
    assert_eq!(press('['), (Effect::Step, true, Some(0)));
    assert_eq!(press('['), (Effect::Step, true, Some(0)), "none is older");
    assert_eq!(press(']'), (Effect::Step, true, Some(1)));
    assert_eq!(press(']'), (Effect::Step, true, Some(2)));
    assert_eq!(press(']'), (Effect::Step, true, None), "all of it");
    assert_eq!(press('['), (Effect::Step, true, Some(2)));
    assert_eq!(press(' '), (Effect::Pause, false, None));
}

#[test]
fn where_no_interval_is_over_a_step_back_only_pauses() {
    let mut controls = controls(Page::Overview);
    let shown = Shown { sheet: None, rows: 10, ids: &[], intervals: 0, seen: None, room: 10 };
    let effect = controls.press(&KeyEvent::from(KeyCode::Char('[')), &shown);
    assert_eq!((effect, controls.is_paused, controls.past), (Effect::Pause, true, None));
}

#[test]
fn next_and_previous_go_around() {
    assert_eq!(neighbour(&[3, 5, 9], Some(5), true), Some(9));
    assert_eq!(neighbour(&[3, 5, 9], Some(9), true), Some(3));
    assert_eq!(neighbour(&[3, 5, 9], None, false), Some(9));
    assert_eq!(neighbour(&[], Some(1), true), None);
}

#[test]
fn a_host_opens_its_connections_and_each_of_them_its_details() {
    let mut controls = controls(Page::Hosts);
    let row = Row { host: Some("10.0.0.1".to_owned()), ..Row::default() };
    let hosts = Sheet { rows: vec![row], ..Sheet::default() };
    let press_on = |controls: &mut Controls, sheet: &Sheet, code| {
        let sheet = Some(sheet);
        let shown = Shown { sheet, rows: 10, ids: &[3], intervals: 3, seen: None, room: 10 };
        controls.press(&KeyEvent::from(code), &shown);
        (controls.page, controls.host.clone(), controls.chosen)
    };
    let host = Some("10.0.0.1".to_owned());
    let enter = KeyCode::Enter;
    let of_host = (Page::Connections, host.clone(), None);
    assert_eq!(press_on(&mut controls, &hosts, enter), of_host);
    assert_eq!(press_on(&mut controls, &sheet(), enter), (Page::One, host.clone(), Some(1)));
    let esc = KeyCode::Esc;
    assert_eq!(press_on(&mut controls, &sheet(), esc), (Page::Connections, host, Some(1)));
    assert_eq!(press_on(&mut controls, &sheet(), esc), (Page::Hosts, None, Some(1)));
    // Page 2 has the connections of all hosts.
    press_on(&mut controls, &hosts, enter);
    press_on(&mut controls, &sheet(), KeyCode::Char('3'));
    let all = press_on(&mut controls, &sheet(), KeyCode::Char('2'));
    assert_eq!(all, (Page::Connections, None, Some(1)));
}

#[test]
fn enter_leads_from_a_connection_to_its_tpdus_and_esc_back() {
    let mut controls = controls(Page::Connections);
    let enter = |controls: &mut Controls, row: Row| {
        let sheet = Sheet { rows: vec![row], ..Sheet::default() };
        let shown = Shown {
            sheet: Some(&sheet),
            rows: 10,
            ids: &[3, 5, 9],
            intervals: 0,
            seen: None,
            room: 10,
        };
        controls.press(&KeyEvent::from(KeyCode::Enter), &shown);
        (controls.page, controls.chosen)
    };
    let row = Row { connection: Some(5), ..Row::default() };
    assert_eq!(enter(&mut controls, row.clone()), (Page::One, Some(5)));
    let row = Row { page: Some(Page::Passed), ..row };
    assert_eq!(enter(&mut controls, row), (Page::Passed, Some(5)));
    press(&mut controls, KeyCode::Char('n'));
    assert_eq!((controls.page, controls.chosen), (Page::Passed, Some(9)));
    press(&mut controls, KeyCode::Esc);
    assert_eq!(controls.page, Page::One);
    press(&mut controls, KeyCode::Esc);
    assert_eq!(controls.page, Page::Connections);
    // The list stands in the place of its connection's page among the pages.
    controls.page = Page::Passed;
    press(&mut controls, KeyCode::Tab);
    assert_eq!(controls.page, Page::Events);
}
