//! Draws a page from plain data; computes no measure and never blocks.
//!
//! From top to bottom: source and progress, tabs, description of the page, column headings, rows
//! with the marked one, and keys.

use super::controls::{Controls, KEYS};
use super::page::{self, Page, Room, Sheet};
use crate::output::printable;
use crate::quantity;
use crate::tui::Look;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use records::back;
use records::findings::Grade;
use records::state::Model;

/// Minimum width of a usable screen.
const LEAST_COLUMNS: u16 = 40;
/// Minimum height of a usable screen.
const LEAST_ROWS: u16 = 12;
/// Header, tabs, description and keys.
const FIXED_ROWS: usize = 4;

/// Contents of the screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct View {
    header: [String; 2],
    page: Page,
    pub(super) sheet: Sheet,
    cursor: usize,
    first: usize,
    footer: String,
    is_help_shown: bool,
    /// Rows that fit the screen.
    pub(super) rows: usize,
}

impl View {
    /// Creates the view of a model on a screen of this size.
    pub(super) fn of(model: &Model, controls: &Controls, size: (u16, u16), look: &Look) -> Self {
        let (columns, rows) = (usize::from(size.0), usize::from(size.1));
        let room = Room { columns, rows: rows.saturating_sub(FIXED_ROWS), symbols: look.symbols };
        let sheet = page::sheet(model, controls, room);
        let rows = room.rows.saturating_sub(usize::from(sheet.heading.is_some()));
        let cursor = controls.cursor.min(sheet.rows.len().saturating_sub(1));
        // The marked row stays visible, and the last row stays at the bottom.
        let first = cursor.saturating_sub(rows.saturating_sub(1));
        let state = match (&model.end, controls.is_paused) {
            (_, true) => "paused",
            (None, false) => "under way",
            (Some(end), false) if end.complete => "all there is",
            (Some(_), false) => "not complete",
        };
        let length = quantity::span(model.length_ns());
        // Number of the interval, if one is shown alone.
        let index = model.latest.as_ref().and_then(|latest| latest.index);
        let which = match (controls.past, index) {
            (Some(_), Some(index)) => {
                format!("interval {index} from {}, ", page::clock(model.start_ns()))
            }
            (Some(_), None) => format!("from {}, ", page::clock(model.start_ns())),
            (None, _) => String::new(),
        };
        let frames = quantity::counted(model.frames(), "frame");
        Self {
            header: [
                printable(model.head.source.clone()),
                format!("{which}{length}  {frames}  {state} "),
            ],
            page: controls.page,
            cursor,
            first,
            footer: footer(controls),
            is_help_shown: controls.is_help_shown,
            rows,
            sheet,
        }
    }
}

fn footer(controls: &Controls) -> String {
    match &controls.prompt {
        Some(prompt) => format!("filter: {prompt}_   Enter takes it, Esc leaves it"),
        None if controls.is_help_shown => "any key leaves this help".to_owned(),
        None if controls.is_paused => {
            "[ earlier ] later interval  space go on  1-9 page  Enter look  ? help  q quit"
                .to_owned()
        }
        None => "1-9 page  Enter look  Esc back  s sort  / filter  space pause  ? help  q quit"
            .to_owned(),
    }
}

/// Draws the view.
pub(super) fn draw(frame: &mut Frame<'_>, view: &View, look: &Look) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    if area.width < LEAST_COLUMNS || area.height < LEAST_ROWS {
        let text = format!("{LEAST_COLUMNS} x {LEAST_ROWS} needed; q quits");
        put(buffer, area, 0, &text, Style::new());
        return;
    }
    buffer.set_style(row(area, 0), look.header);
    let [left, right] = &view.header;
    let width = usize::from(area.width);
    let right_width = right.chars().count().min(width);
    let left_width = width.saturating_sub(right_width + 2);
    let left = format!(" {}", back(left, left_width));
    buffer.set_stringn(area.x, area.y, left, left_width + 1, look.header);
    buffer.set_stringn(
        area.x + (width - right_width) as u16,
        area.y,
        right,
        right_width,
        look.header,
    );
    tabs(buffer, row(area, 1), view.page, look);
    let body = Rect { y: area.y + 2, height: area.height - 3, ..area };
    if view.is_help_shown {
        for ((keys, what), line) in KEYS.into_iter().zip(0..) {
            put(buffer, body, line, &format!("  {keys:10} {what}"), look.keys);
        }
    } else {
        sheet(buffer, body, view, look);
    }
    put(buffer, area, area.height - 1, &view.footer, look.keys);
}

fn row(area: Rect, number: u16) -> Rect {
    Rect { y: area.y + number, height: 1, ..area }
}

/// Writes a text from the left of a row, clipped to its width.
fn put(buffer: &mut Buffer, area: Rect, number: u16, text: &str, style: Style) {
    if number < area.height {
        let text = printable(text.to_owned());
        buffer.set_stringn(area.x, area.y + number, text, area.width.into(), style);
    }
}

/// Draws the pages by number, with as many names as fit; the current one in brackets.
fn tabs(buffer: &mut Buffer, area: Rect, page: Page, look: &Look) {
    let told = |is_named: bool| {
        let tabs = Page::ALL.into_iter().zip(1..).map(|(tab, number)| match tab == page {
            true => format!("[{number} {}]", tab.name()),
            false if is_named => format!("{number} {}", tab.name()),
            false => number.to_string(),
        });
        tabs.collect::<Vec<String>>().join(" ")
    };
    let named = told(true);
    let text = if named.chars().count() <= area.width.into() { named } else { told(false) };
    put(buffer, area, 0, &text, look.keys);
}

fn sheet(buffer: &mut Buffer, area: Rect, view: &View, look: &Look) {
    put(buffer, area, 0, &view.sheet.about, look.figures);
    let mut line = 1;
    if let Some(heading) = &view.sheet.heading {
        buffer.set_style(row(area, line), look.titles);
        put(buffer, area, line, heading, look.titles);
        line += 1;
    }
    for (place, of) in view.sheet.rows.iter().enumerate().skip(view.first).take(view.rows) {
        let mut style = match of.grade {
            Some(Grade::Bad) => look.notices,
            Some(Grade::Look | Grade::Note) | None => Style::new(),
        };
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
