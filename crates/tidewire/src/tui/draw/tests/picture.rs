//! The moving picture of the README, `docs/tour.svg`, and the same as text, `docs/tour.cast`: pages of a
//! screen, drawn from its cells.

use super::{cell, look, on, view};
use crate::tui::Theme;
use crate::tui::draw::draw;
use crate::tui::page::Page;
use crate::tui::picture::{cells, document};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use std::{env, fs};

/// Command that shows them.
const TITLE: &str = "tidewire watch -r captures/cell.pcapng --screen measures";
/// Pages of the tour.
const TOUR: [Page; 5] = [Page::Overview, Page::Connections, Page::One, Page::Hosts, Page::Events];
/// Seconds for which each is shown.
const SECONDS: usize = 4;
/// Columns and lines of the tour.
const SIZE: (u16, u16) = (80, 24);

/// Cells of a page of the capture of a cell.
fn drawn(page: Page) -> Buffer {
    let look = look(Theme::Dark);
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap();
    let view = view(&cell(), &on(page), SIZE, &look);
    terminal.draw(|frame| draw(frame, &view, &look)).unwrap();
    terminal.backend().buffer().clone()
}

/// Compares a file of the documents with what it should have; `BLESS=1` rewrites it.
#[track_caller]
fn kept(name: &str, drawn: &str) {
    let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    if env::var_os("BLESS").is_some() {
        fs::write(&path, drawn).unwrap();
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    assert!(kept == drawn, "docs/{name} differs from the screen: BLESS=1 rewrites it");
}

/// The pages one after the other, again and again; the first alone where nothing moves, or should not.
#[test]
fn the_moving_picture_shows_pages_in_turn() {
    let share = 100 / TOUR.len();
    let whole = SECONDS * TOUR.len();
    let mut svg = format!(
        "<style>.page{{visibility:hidden;animation:turn {whole}s step-end infinite}}\
         #p0{{visibility:visible}}\
         @keyframes turn{{0%{{visibility:visible}}{share}%{{visibility:hidden}}}}\
         @media(prefers-reduced-motion:reduce){{.page{{animation:none}}}}</style>\n"
    );
    for (place, page) in TOUR.into_iter().enumerate() {
        let delay = place * SECONDS;
        svg += &format!("<g class=\"page\" id=\"p{place}\" style=\"animation-delay:{delay}s\">\n");
        svg += &cells(&drawn(page));
        svg += "</g>\n";
    }
    kept("tour.svg", &document(&drawn(TOUR[0]), TITLE, &svg));
}

/// The same as text, in version 2 of the format of asciinema.
#[test]
fn the_recording_has_the_same_pages_as_text() {
    let head = serde_json::json!({
        "version": 2, "width": SIZE.0, "height": SIZE.1, "title": TITLE,
    });
    let mut cast = format!("{head}\n");
    for (place, page) in TOUR.into_iter().enumerate() {
        let buffer = drawn(page);
        let lines = buffer.content.chunks(usize::from(SIZE.0));
        let line = |cells: &[Cell]| cells.iter().map(Cell::symbol).collect::<String>();
        let text: Vec<String> = lines.map(|cells| line(cells).trim_end().to_owned()).collect();
        let text = format!("\x1b[H\x1b[2J{}", text.join("\r\n"));
        cast += &format!("{}\n", serde_json::json!([place * SECONDS, "o", text]));
    }
    kept("tour.cast", &cast);
}
