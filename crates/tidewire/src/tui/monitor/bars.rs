//! Draws the monitor from plain data; computes no measure and never blocks.
//!
//! From top to bottom, as in TR-88-08: notices, packets per second, bits per second, each chart above
//! its line of figures, and the line with the names of the figures; then what that monitor could not
//! show: delays, TPDUs by kind, and the busiest connections.

use super::chart::{Chart, Charts};
use crate::tui::page::Sheet;
use crate::tui::text::{put, row};
use crate::tui::theme::{Look, Symbols};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Two lines of figures, their titles, and delays.
const FIXED_ROWS: u16 = 4;
/// Heights within a cell, from the lowest.
const BLOCKS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const HALVES: [&str; 2] = [".", "#"];
/// The dots of the left and of the right column of a braille cell, from the lowest.
const DOTS: [[u32; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];
/// The cell without dots.
const BRAILLE: u32 = 0x2800;

/// Draws the monitor.
pub(in crate::tui) fn draw(buffer: &mut Buffer, area: Rect, view: &Charts, look: &Look) {
    let below = rows_of(&view.digest).min(area.height);
    let (area, below) = (
        Rect { height: area.height - below, ..area },
        Rect { y: area.bottom() - below, height: below, ..area },
    );
    let rows = area.height.saturating_sub(FIXED_ROWS);
    let told = (area.height / 4).saturating_sub(2).max(1);
    let chart = rows.saturating_sub(told) / 2;
    let told = rows - 2 * chart;
    notices(buffer, Rect { height: told, ..area }, &view.notices, look);
    let mut y = area.y + told;
    for (of, style) in view.charts.iter().zip([look.packets, look.bits]) {
        bars(buffer, Rect { y, height: chart, ..area }, of, style, look);
        fields(buffer, Rect { y: y + chart, height: 1, ..area }, &of.figures, look.figures);
        y += chart + 1;
    }
    let titles = row(area, area.height - 2);
    buffer.set_style(titles, look.titles);
    fields(buffer, titles, &view.titles, look.titles);
    put(buffer, area, area.height - 1, &view.delays, Style::new());
    digest(buffer, below, &view.digest, look);
}

/// Rows that a digest takes.
fn rows_of(digest: &Sheet) -> u16 {
    let heading = usize::from(digest.heading.is_some());
    let about = usize::from(!digest.about.is_empty());
    u16::try_from(about + heading + digest.rows.len()).unwrap_or(u16::MAX)
}

/// Draws the line of the mix, and below it the busiest connections.
fn digest(buffer: &mut Buffer, area: Rect, digest: &Sheet, look: &Look) {
    put(buffer, area, 0, &digest.about, look.figures);
    if let Some(heading) = &digest.heading {
        put(buffer, area, 1, heading, look.keys);
    }
    for (of, line) in digest.rows.iter().zip(2..) {
        put(buffer, area, line, &of.text, look.of_grade(of.grade));
    }
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

/// Draws bars with the newest sample in the rightmost column.
fn bars(buffer: &mut Buffer, area: Rect, chart: &Chart, style: Style, look: &Look) {
    let each = look.samples_a_column();
    let room = usize::from(area.width) * each;
    let newest = &chart.bars[chart.bars.len().saturating_sub(room)..];
    // From the right, so that an incomplete column is the leftmost.
    for (column, bars) in (area.left()..area.right()).rev().zip(newest.rchunks(each)) {
        for line in 0..area.height {
            let cell = cell(bars, line, area.height, look.symbols);
            if let Some(target) = buffer.cell_mut((column, area.bottom() - 1 - line)) {
                target.set_char(cell).set_style(style);
            }
        }
    }
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
