//! Contents of the screen, character by character, and its colours.

use super::*;
use crate::tui::controls::{Controls, Shown};
use crate::tui::draw;
use crate::tui::keys::{Keys, Scope};
use crate::tui::monitor::notices::Notice;
use crate::tui::monitor::sample::{Count, Rates};
use crate::tui::monitor::{Bars, Growth, Interval, Scales, Snapshot};
use crate::tui::page::Page;
use crate::tui::page::fed::fed;
use crate::tui::theme::{Surroundings, Theme};
use crate::tui::view::{Contents, View};
use core::time::Duration;
use meter::measure::Summary as Delays;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::style::{Color, Modifier};
use std::collections::BTreeSet;
use wire::filter::Filter;
use wire::time::Instant;

fn controls() -> Controls {
    let interval = Interval::new(Duration::from_millis(500)).unwrap();
    let scales = Scales { packets: 100.0, bits: 1e6 };
    let bars = Bars { interval, scales, growth: Growth::default(), until: None };
    Controls::new(Page::Monitor, Keys::new("").unwrap(), Some(bars))
}

/// 200 samples of 500 ms: saw teeth of 0 to 60 packets (0 to 120 /s) of 1,000 octets.
fn snapshot(samples: usize) -> Snapshot {
    let interval = Interval::new(Duration::from_millis(500)).unwrap();
    let sample = |number: u64| {
        let packets = number % 31 * 2;
        Count { packets, octets: 1_000 * packets }
    };
    let first = 200_u64.saturating_sub(samples as u64);
    let notice =
        |seconds, text: &str| Notice { at: Duration::from_secs(seconds), text: text.to_owned() };
    Snapshot {
        name: "eth1".to_owned(),
        state: "live",
        // 1984-06-13T21:16:00Z.
        origin: Some(Instant::from_nanos(456_009_360_000_000_000)),
        elapsed: Duration::from_millis(100_230),
        interval,
        filter: Filter::all(),
        first,
        samples: (first..200).map(sample).collect(),
        end: 200,
        oldest: 0,
        current: Rates { packets: 52.0, bits: 416_000.0 },
        average: Rates { packets: 58.21, bits: 465_680.0 },
        peak: Rates { packets: 120.0, bits: 960_000.0 },
        delays: Delays {
            count: 412,
            p50_ns: 1_230_000,
            p99_ns: 61_500_000,
            max_ns: 121_700_000,
            ..Delays::default()
        },
        notices: vec![
            notice(1, "3 connections established"),
            notice(41, "transport: bad checksum, 3 times"),
            notice(97, "2 of 57 DTs were retransmitted"),
        ],
        frames: 5_821,
        dropped: Some(0),
        health: None,
        is_of_records: false,
        has_lpdus_alone: false,
    }
}

fn look(theme: Theme, symbols: Symbols) -> Look {
    Look::new(theme, symbols, &Surroundings::default())
}

/// Returns the screen after these keys.
fn buffer(columns: u16, rows: u16, keys: &[KeyCode], look: &Look) -> Buffer {
    let mut controls = controls();
    let seen = snapshot(usize::from(columns) * look.samples_a_column());
    let room = columns.into();
    for key in keys {
        let seen = Some(&seen);
        let shown = Shown { sheet: None, rows: 0, ids: &[], intervals: 0, seen, room };
        controls.press(&KeyEvent::from(*key), &shown);
    }
    let model = fed(&[], &[], None, 0);
    let contents = Contents { model: &model, seen: Some(&seen), skipped: 7, passed: None };
    let view = View::of(contents, &controls, Rect::new(0, 0, columns, rows), look);
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw::draw(frame, &view, look)).unwrap();
    terminal.backend().buffer().clone()
}

/// Returns the characters, one line per row, between bars that mark the ends of rows.
fn signs(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let row = |cells: &[ratatui::buffer::Cell]| {
        format!("|{}|", cells.iter().map(|cell| cell.symbol()).collect::<String>())
    };
    buffer.content.chunks(width).map(row).collect::<Vec<_>>().join("\n")
}

/// Returns colour and emphasis of the non-blank characters, row by row.
fn styles(buffer: &Buffer) -> String {
    let row = |cells: &[ratatui::buffer::Cell]| {
        let inked = cells.iter().filter(|cell| cell.symbol() != " ");
        let styles: BTreeSet<String> =
            inked.map(|cell| format!("{} on {} {:?}", cell.fg, cell.bg, cell.modifier)).collect();
        styles.into_iter().collect::<Vec<_>>().join(", ")
    };
    let rows = buffer.content.chunks(buffer.area.width.into()).map(row);
    rows.map(|row| format!("|{row}|")).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_screen_at_80_by_24() {
    let dark = buffer(80, 24, &[], &look(Theme::Dark, Symbols::Blocks));
    insta::assert_snapshot!("80x24", signs(&dark));
}

#[test]
fn the_screen_at_120_by_40() {
    let dark = buffer(120, 40, &[], &look(Theme::Dark, Symbols::Blocks));
    insta::assert_snapshot!("120x40", signs(&dark));
}

#[test]
fn the_screen_at_40_by_12() {
    let dark = buffer(40, 12, &[], &look(Theme::Dark, Symbols::Blocks));
    insta::assert_snapshot!("40x12", signs(&dark));
}

#[test]
fn braille_shows_two_samples_a_column_and_ascii_goes_everywhere() {
    let braille = buffer(80, 24, &[], &look(Theme::Dark, Symbols::Braille));
    insta::assert_snapshot!("braille", signs(&braille));
    let ascii = signs(&buffer(80, 24, &[], &look(Theme::Dark, Symbols::Ascii)));
    assert!(ascii.is_ascii(), "{ascii}");
    insta::assert_snapshot!("ascii", ascii);
}

#[test]
fn frozen_is_shown_and_a_prompt_replaces_the_keys() {
    let look = look(Theme::Dark, Symbols::Blocks);
    let keys = [KeyCode::Char(' '), KeyCode::Char('/'), KeyCode::Char('x'), KeyCode::Enter];
    let paused = signs(&buffer(80, 24, &keys, &look));
    let lines: Vec<&str> = paused.lines().collect();
    assert!(lines[0].ends_with("PAUSED 0:01:40.0, recording|"), "{paused}");
    let prompt = "|filter: x_  (column 1: not expected: \"x\"; expected a condition";
    assert!(lines[23].starts_with(prompt), "{paused}");
    // The narrow screen has the word as well.
    let narrow = signs(&buffer(40, 12, &keys[..1], &look));
    assert!(narrow.lines().next().unwrap().ends_with("PAUSED 0:01:40.0|"), "{narrow}");
}

#[test]
fn the_help_has_every_key_on_every_screen() {
    let look = look(Theme::Dark, Symbols::Blocks);
    insta::assert_snapshot!("help", signs(&buffer(80, 24, &[KeyCode::Char('?')], &look)));
    for (columns, rows) in [(120, 40), (80, 24), (80, 12), (40, 12)] {
        let help = signs(&buffer(columns, rows, &[KeyCode::Char('?')], &look));
        for bound in controls().keys.list(Scope::Bars) {
            let told = if columns < 72 { bound.name } else { bound.what };
            assert!(help.contains(told), "{columns} x {rows}: no {told}\n{help}");
        }
    }
}

#[test]
fn dark_light_and_mono_differ_in_colours_alone() {
    let of = |theme| buffer(80, 24, &[], &look(theme, Symbols::Blocks));
    let (dark, light, mono) = (of(Theme::Dark), of(Theme::Light), of(Theme::Mono));
    assert_eq!(signs(&dark), signs(&light));
    assert_eq!(signs(&dark), signs(&mono));
    insta::assert_snapshot!("dark", styles(&dark));
    insta::assert_snapshot!("light", styles(&light));
    insta::assert_snapshot!("mono", styles(&mono));
    let is_plain =
        |cell: &ratatui::buffer::Cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset);
    assert!(mono.content.iter().all(is_plain));
    // Words and emphasis distinguish everything that colours distinguish.
    assert!(mono.content[0].modifier.contains(Modifier::REVERSED));
}

#[test]
fn a_screen_that_became_too_small_shows_the_size_it_needs() {
    let small = signs(&buffer(30, 8, &[], &look(Theme::Dark, Symbols::Blocks)));
    assert!(small.starts_with("|40 x 12 needed; q quits"), "{small}");
}

#[test]
fn bars_are_as_long_as_their_share_of_the_full_scale() {
    // Two rows of eight levels.
    check(Symbols::Blocks, 0.0, [' ', ' ']);
    check(Symbols::Blocks, 0.001, ['▁', ' ']);
    check(Symbols::Blocks, 0.25, ['▄', ' ']);
    check(Symbols::Blocks, 0.5, ['█', ' ']);
    check(Symbols::Blocks, 0.75, ['█', '▄']);
    check(Symbols::Blocks, 1.0, ['█', '█']);
    check(Symbols::Blocks, 1.001, ['█', '▲']);
    check(Symbols::Ascii, 0.25, ['.', ' ']);
    check(Symbols::Ascii, 1.5, ['#', '^']);
    // A single sample is the newer of its pair: the right column of dots, two of four.
    check(Symbols::Braille, 0.25, ['⢠', ' ']);
    assert_eq!(cell(&[1.0, 0.5], 1, 2, Symbols::Braille), '⡇');
}

#[track_caller]
fn check(symbols: Symbols, bar: f64, expected: [char; 2]) {
    assert_eq!([0, 1].map(|line| cell(&[bar], line, 2, symbols)), expected, "{bar}");
}
