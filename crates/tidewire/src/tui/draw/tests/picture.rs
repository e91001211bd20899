//! The screenshot of the README, `docs/screen.svg`, drawn from the cells of the overview.

use super::{cell, look, on, view};
use crate::tui::Theme;
use crate::tui::draw::draw;
use crate::tui::page::Page;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use std::fmt::Write as _;
use std::{env, fs};

/// Width and height of a cell, and the distance of its base line from its top, in pixels.
const WIDTH: usize = 8;
const HEIGHT: usize = 17;
const BASE: usize = 13;
/// Colours of the terminal.
const GROUND: &str = "#1e1e1e";
const TEXT: &str = "#d4d4d4";

#[test]
fn the_screenshot_of_the_readme_is_the_overview() {
    let look = look(Theme::Dark);
    let size = (80, 14);
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let view = view(&cell(), &on(Page::Overview), size, &look);
    terminal.draw(|frame| draw(frame, &view, &look)).unwrap();
    let drawn = svg(terminal.backend().buffer());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/screen.svg");
    if env::var_os("BLESS").is_some() {
        fs::write(path, &drawn).unwrap();
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    assert!(kept == drawn, "docs/screen.svg differs from the screen: BLESS=1 rewrites it");
}

/// Returns the cells as SVG: for each run of cells with one style, a rectangle and a text of
/// exactly its width.
fn svg(buffer: &Buffer) -> String {
    let (columns, rows) = (usize::from(buffer.area.width), usize::from(buffer.area.height));
    let (width, height) = (columns * WIDTH, rows * HEIGHT);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" role=\"img\" \
         font-family=\"monospace\" font-size=\"13\">\n\
         <title>tidewire watch -r captures/cell.pcapng --screen measures</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{GROUND}\"/>\n\
         <g transform=\"translate({WIDTH} {WIDTH})\" xml:space=\"preserve\">\n",
        width + 2 * WIDTH,
        height + 2 * WIDTH,
    );
    for (row, cells) in buffer.content.chunks(columns).enumerate() {
        let mut column = 0;
        for run in cells.chunk_by(|one, next| style(one) == style(next)) {
            let (ink, ground, weight) = style(&run[0]);
            let (x, y, width) = (column * WIDTH, row * HEIGHT, run.len() * WIDTH);
            column += run.len();
            if ground != GROUND {
                let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\"");
                writeln!(svg, "<rect {place} fill=\"{ground}\"/>").unwrap();
            }
            let text: String = run.iter().map(Cell::symbol).collect();
            if text.trim().is_empty() {
                continue;
            }
            let (text, y) = (escaped(text.trim_end()), y + BASE);
            let width =
                run.iter().rposition(|cell| cell.symbol() != " ").map_or(0, |at| at + 1) * WIDTH;
            let place = format!("x=\"{x}\" y=\"{y}\" textLength=\"{width}\"");
            writeln!(svg, "<text {place} fill=\"{ink}\"{weight}>{text}</text>").unwrap();
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// Returns text colour, background colour, and the attribute of bold text.
fn style(cell: &Cell) -> (&'static str, &'static str, &'static str) {
    let weight = if cell.modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
    match cell.modifier.contains(Modifier::REVERSED) {
        true => (GROUND, ink(cell.fg), weight),
        false => (ink(cell.fg), GROUND, weight),
    }
}

fn ink(colour: Color) -> &'static str {
    match colour {
        Color::Reset => TEXT,
        Color::Gray => "#b0b0b0",
        Color::LightRed => "#ff7b72",
        Color::LightCyan => "#76e3ea",
        Color::LightYellow => "#e3b341",
        other => panic!("no such colour in the theme: {other:?}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
