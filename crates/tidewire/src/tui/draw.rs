//! Draws a [`View`] from plain data; computes no measure and never blocks.
//!
//! From top to bottom: source and progress, tabs, the page, and keys.

use super::monitor::bars;
use super::text::{put, row};
use super::theme::Look;
use super::view::{Body, Footer, Rows, View};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

/// Minimum width of a usable screen.
pub(super) const LEAST_COLUMNS: u16 = 40;
/// Minimum height of a usable screen.
pub(super) const LEAST_ROWS: u16 = 12;

/// Draws the view.
pub(super) fn draw(frame: &mut Frame<'_>, view: &View, look: &Look) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    if area.width < LEAST_COLUMNS || area.height < LEAST_ROWS {
        let text = format!("{LEAST_COLUMNS} x {LEAST_ROWS} needed; q quits");
        put(buffer, area, 0, &text, Style::new());
        return;
    }
    ends(buffer, row(area, 0), &view.header, look.header);
    if !matches!(view.body, Body::Help(_)) {
        put(buffer, area, 1, &view.tabs, look.keys);
    }
    let body = Rect { y: area.y + 2, height: area.height - 3, ..area };
    match &view.body {
        // The help needs the row of the tabs on the smallest screen.
        Body::Help(keys) => {
            help(buffer, Rect { y: 1, height: area.height - 2, ..area }, keys, look)
        }
        Body::Charts(charts) => bars::draw(buffer, body, charts, look),
        Body::Rows(rows) => sheet(buffer, body, rows, look),
    }
    let footer = match &view.footer {
        Footer::Keys(keys) => as_many_as_fit(keys, area.width.into()),
        Footer::Prompt(prompt) => prompt.clone(),
    };
    put(buffer, area, area.height - 1, &footer, look.keys);
}

/// Writes the right text complete, and the left one as far as there is room.
fn ends(buffer: &mut Buffer, area: Rect, [left, right]: &[String; 2], style: Style) {
    buffer.set_style(area, style);
    let width = usize::from(area.width);
    let right_width = right.chars().count().min(width);
    let room = width.saturating_sub(right_width + 1);
    buffer.set_stringn(area.x, area.y, left, room, style);
    let at = area.x + (width - right_width) as u16;
    buffer.set_stringn(at, area.y, right, right_width, style);
}

/// Draws the keys in columns.
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

fn sheet(buffer: &mut Buffer, area: Rect, view: &Rows, look: &Look) {
    put(buffer, area, 0, &view.sheet.about, look.figures);
    let mut line = 1;
    if let Some(heading) = &view.sheet.heading {
        buffer.set_style(row(area, line), look.titles);
        put(buffer, area, line, heading, look.titles);
        line += 1;
    }
    for (place, of) in view.sheet.rows.iter().enumerate().skip(view.first).take(view.fitting) {
        let mut style = look.of_grade(of.grade);
        if place == view.cursor {
            style = style.add_modifier(Modifier::REVERSED);
            buffer.set_style(row(area, line), style);
        }
        put(buffer, area, line, &of.text, style);
        line += 1;
    }
}

#[cfg(test)]
mod tests;
