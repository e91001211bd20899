//! Draws a [`View`] from plain data; computes no measure and never blocks.
//!
//! From top to bottom, as in TR-88-08: the time and notices, packets per second, bits per second,
//! each chart above its line of figures, and the line with the names of the figures; then the
//! delays, which that monitor could not show, and the keys.

use super::theme::{Look, Symbols};
use super::view::{Chart, Footer, View};
use crate::output::printable;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Minimum width of a screen with room for everything.
pub(super) const LEAST_COLUMNS: u16 = 40;
/// Minimum height of a screen with room for everything.
pub(super) const LEAST_ROWS: u16 = 12;
/// Header, two lines of figures, their titles, delays and keys.
const FIXED_ROWS: u16 = 6;
/// Heights within a cell, from the lowest.
const BLOCKS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const HALVES: [&str; 2] = [".", "#"];
/// The dots of the left and of the right column of a braille cell, from the lowest.
const DOTS: [[u32; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];
/// The cell without dots.
const BRAILLE: u32 = 0x2800;

/// Draws the view.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, view: &View, look: &Look) {
    let buffer = frame.buffer_mut();
    if area.width < LEAST_COLUMNS || area.height < LEAST_ROWS {
        let text = format!("{LEAST_COLUMNS} x {LEAST_ROWS} needed; q quits");
        put(buffer, area, 0, &text, Style::new());
        return;
    }
    fill(buffer, row(area, 0), look.header);
    ends(buffer, area, &view.header, look.header);
    let rows = area.height - FIXED_ROWS;
    let told = (area.height / 3 - 2).max(2);
    let chart = (rows - told) / 2;
    let told = rows - 2 * chart;
    if let Some(keys) = &view.help {
        help(buffer, Rect { y: area.y + 1, height: area.height - 2, ..area }, keys, look);
    } else {
        notices(buffer, Rect { y: area.y + 1, height: told, ..area }, &view.notices, look);
        let mut y = area.y + 1 + told;
        for (of, style) in view.charts.iter().zip([look.packets, look.bits]) {
            bars(buffer, Rect { y, height: chart, ..area }, of, style, look);
            fields(buffer, Rect { y: y + chart, height: 1, ..area }, &of.figures, look.figures);
            y += chart + 1;
        }
        let titles = row(area, area.height - 3);
        fill(buffer, titles, look.titles);
        fields(buffer, titles, &view.titles, look.titles);
        put(buffer, area, area.height - 2, &view.delays, Style::new());
    }
    let footer = match &view.footer {
        Footer::Keys(keys) => as_many_as_fit(keys, area.width.into()),
        Footer::Prompt(prompt) => prompt.clone(),
    };
    put(buffer, area, area.height - 1, &footer, look.keys);
}

fn row(area: Rect, number: u16) -> Rect {
    Rect { y: area.y + number, height: 1, ..area }
}

fn fill(buffer: &mut Buffer, area: Rect, style: Style) {
    buffer.set_style(area, style);
}

/// Writes a text from the left of a row, clipped to its width.
fn put(buffer: &mut Buffer, area: Rect, number: u16, text: &str, style: Style) {
    let text = printable(text.to_owned());
    buffer.set_stringn(area.x, area.y + number, text, area.width.into(), style);
}

/// Writes the right text complete, and the left one as far as there is room.
fn ends(buffer: &mut Buffer, area: Rect, [left, right]: &[String; 2], style: Style) {
    let width = usize::from(area.width);
    let right_width = right.chars().count().min(width);
    let room = width.saturating_sub(right_width + 1);
    buffer.set_stringn(area.x, area.y, left, room, style);
    let at = area.x + (width - right_width) as u16;
    buffer.set_stringn(at, area.y, right, right_width, style);
}

/// Writes five texts in five columns of equal width.
fn fields(buffer: &mut Buffer, area: Rect, texts: &[String; 5], style: Style) {
    let width = area.width / 5;
    for (text, number) in texts.iter().zip(0..) {
        let room = usize::from(width.saturating_sub(1));
        buffer.set_stringn(area.x + number * width, area.y, text, room, style);
    }
}

/// Draws the notices, the latest at the bottom.
fn notices(buffer: &mut Buffer, area: Rect, notices: &[String], look: &Look) {
    let latest = notices.iter().rev().take(area.height.into()).rev();
    for (notice, number) in latest.zip(0..) {
        put(buffer, area, number, notice, look.notices);
    }
}

fn help(buffer: &mut Buffer, area: Rect, keys: &[String], look: &Look) {
    let rows = usize::from(area.height).max(1);
    let columns = keys.len().div_ceil(rows).max(1) as u16;
    let width = area.width / columns;
    for (keys, column) in keys.chunks(rows).zip(0..) {
        let column = Rect { x: area.x + column * width, width, ..area };
        for (key, line) in keys.iter().zip(0..) {
            put(buffer, column, line, key, look.keys);
        }
    }
}

/// Joins items with two blanks between them, as many as fit completely.
fn as_many_as_fit(items: &[String], width: usize) -> String {
    let mut text = String::new();
    for item in items {
        let gap = if text.is_empty() { 0 } else { 2 };
        if text.chars().count() + gap + item.chars().count() > width {
            break;
        }
        text.push_str(if gap == 0 { "" } else { "  " });
        text.push_str(item);
    }
    text
}

/// Draws bars with the newest sample in the rightmost column.
fn bars(buffer: &mut Buffer, area: Rect, chart: &Chart, style: Style, look: &Look) {
    let each = look.samples_a_column();
    let room = usize::from(area.width) * each;
    let newest = &chart.bars[chart.bars.len().saturating_sub(room)..];
    // From the right, so that an incomplete column is the leftmost.
    for (column, bars) in newest.rchunks(each).zip((area.left()..area.right()).rev()).map(swapped) {
        for line in 0..area.height {
            let cell = cell(bars, line, area.height, look.symbols);
            if let Some(target) = buffer.cell_mut((column, area.bottom() - 1 - line)) {
                target.set_char(cell).set_style(style);
            }
        }
    }
}

fn swapped<A, B>((a, b): (A, B)) -> (B, A) {
    (b, a)
}

/// Returns the character of a cell, `line` rows above the lowest of `rows`. A bar above zero has at
/// least the lowest level; a bar beyond the full scale ends in an arrow.
fn cell(bars: &[f64], line: u16, rows: u16, symbols: Symbols) -> char {
    let is_top = line + 1 == rows;
    if is_top && bars.iter().any(|bar| *bar > 1.0) {
        return if symbols == Symbols::Ascii { '^' } else { '▲' };
    }
    let levels = match symbols {
        Symbols::Auto | Symbols::Blocks => BLOCKS.len(),
        Symbols::Braille => 4,
        Symbols::Ascii => HALVES.len(),
    };
    let height = |bar: f64| {
        let whole = f64::from(rows) * levels as f64;
        let least = if bar > 0.0 { 1.0 } else { 0.0 };
        let height = (bar * whole).round().clamp(least, whole) as usize;
        height.saturating_sub(usize::from(line) * levels).min(levels)
    };
    let sign = |signs: &[&'static str]| {
        let height = bars.first().map_or(0, |bar| height(*bar));
        let sign = height.checked_sub(1).and_then(|place| signs.get(place));
        sign.and_then(|sign| sign.chars().next()).unwrap_or(' ')
    };
    match symbols {
        Symbols::Auto | Symbols::Blocks => sign(&BLOCKS),
        Symbols::Ascii => sign(&HALVES),
        Symbols::Braille => {
            // The newest of a pair is at the right; a single one is the newest of its pair.
            let dots = bars.iter().rev().zip(DOTS.iter().rev());
            let lit = dots.flat_map(|(bar, dots)| dots.iter().take(height(*bar)));
            match lit.fold(0, |all, dot| all | dot) {
                0 => ' ',
                dots => char::from_u32(BRAILLE | dots).unwrap_or(' '),
            }
        }
    }
}

#[cfg(test)]
mod tests;
