//! Text in the rows of an area.

use crate::output::printable;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// A row of an area.
pub(super) fn row(area: Rect, number: u16) -> Rect {
    Rect { y: area.y + number, height: 1, ..area }
}

/// Writes a text from the left of a row, clipped to its width.
pub(super) fn put(buffer: &mut Buffer, area: Rect, number: u16, text: &str, style: Style) {
    if number < area.height {
        let text = printable(text.to_owned());
        buffer.set_stringn(area.x, area.y + number, text, area.width.into(), style);
    }
}
