//! A screen as SVG: for each run of cells with one style, a rectangle and a text of exactly its width.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use std::fmt::Write as _;

/// Width and height of a cell, and the distance of its base line from its top, in pixels.
const WIDTH: usize = 8;
const HEIGHT: usize = 17;
const BASE: usize = 13;
/// Colours of the terminal, on dark ground.
const GROUND: &str = "#1e1e1e";
const TEXT: &str = "#d4d4d4";

/// Returns the cells as an SVG document.
pub(super) fn svg(buffer: &Buffer, title: &str) -> String {
    document(buffer, title, &cells(buffer))
}

/// SVG document of the size of a screen, with what is drawn within it. Browsers keep blanks by the style,
/// other programs by the attribute of XML.
pub(super) fn document(buffer: &Buffer, title: &str, drawn: &str) -> String {
    let (columns, rows) = (usize::from(buffer.area.width), usize::from(buffer.area.height));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" role=\"img\" \
         font-family=\"monospace\" font-size=\"13\">\n\
         <title>{}</title>\n\
         <style>text{{white-space:pre}}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{GROUND}\"/>\n\
         <g transform=\"translate({WIDTH} {WIDTH})\" xml:space=\"preserve\">\n\
         {drawn}</g>\n</svg>\n",
        columns * WIDTH + 2 * WIDTH,
        rows * HEIGHT + 2 * WIDTH,
        escaped(title),
    )
}

/// Elements of the cells, line by line.
pub(super) fn cells(buffer: &Buffer) -> String {
    let mut svg = String::new();
    for (row, cells) in buffer.content.chunks(usize::from(buffer.area.width).max(1)).enumerate() {
        let mut column = 0;
        for run in cells.chunk_by(|one, next| style(one) == style(next)) {
            let Some(first) = run.first() else { continue };
            let (ink, ground, weight) = style(first);
            let (x, y, width) = (column * WIDTH, row * HEIGHT, run.len() * WIDTH);
            column += run.len();
            if ground != GROUND {
                let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\"");
                let _ = writeln!(svg, "<rect {place} fill=\"{ground}\"/>");
            }
            let text: String = run.iter().map(Cell::symbol).collect();
            if text.trim().is_empty() {
                continue;
            }
            let (text, y) = (escaped(text.trim_end()), y + BASE);
            let width =
                run.iter().rposition(|cell| cell.symbol() != " ").map_or(0, |at| at + 1) * WIDTH;
            let place = format!("x=\"{x}\" y=\"{y}\" textLength=\"{width}\"");
            let _ = writeln!(svg, "<text {place} fill=\"{ink}\"{weight}>{text}</text>");
        }
    }
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

/// The colours of all themes, those for light ground lighter, so that they show on this dark one.
const fn ink(colour: Color) -> &'static str {
    match colour {
        Color::Gray => "#b0b0b0",
        Color::DarkGray => "#9a9a9a",
        Color::Red | Color::LightRed => "#ff7b72",
        Color::Cyan | Color::LightCyan => "#76e3ea",
        Color::Yellow | Color::LightYellow => "#e3b341",
        Color::Magenta | Color::LightMagenta => "#d2a8ff",
        Color::Blue | Color::LightBlue => "#79c0ff",
        Color::Green | Color::LightGreen => "#7ee787",
        _ => TEXT,
    }
}

/// Text of an element; control characters, which XML has none of, become blanks.
fn escaped(text: &str) -> String {
    let text: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
