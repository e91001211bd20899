//! The part of the terminal that screens draw on, of bounded size, independent of the size that the terminal reports.
//!
//! A terminal may report a size of 65,535 columns by 65,535 rows (`stty rows 65535`): cells for all of them
//! would take hundreds of gigabytes.

use core::cell::Cell;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::{self, Buffer};
use ratatui::crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::crossterm::{execute, queue};
use ratatui::layout::{Rect, Size};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use std::io::{self, BufWriter, Stdout, Write};
use std::rc::Rc;

/// Columns and rows that are drawn on at the most.
const MOST_COLUMNS: u16 = 512;
const MOST_ROWS: u16 = 256;

/// Standard output, and the number of octets written to it.
struct Counted {
    output: Stdout,
    octets: Rc<Cell<u64>>,
}

impl Write for Counted {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let count = self.output.write(octets)?;
        self.octets.set(self.octets.get().saturating_add(count as u64));
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// A terminal that is drawn on.
pub(crate) struct Canvas {
    terminal: Terminal<CrosstermBackend<BufWriter<Counted>>>,
    octets: Rc<Cell<u64>>,
    area: Rect,
}

impl Canvas {
    pub(crate) fn new() -> io::Result<Self> {
        let (columns, rows) = ratatui::crossterm::terminal::size()?;
        let area = bounded(Size::new(columns, rows));
        let octets = Rc::new(Cell::new(0));
        let output = Counted { output: io::stdout(), octets: Rc::clone(&octets) };
        let backend = CrosstermBackend::new(BufWriter::new(output));
        let options = TerminalOptions { viewport: Viewport::Fixed(area) };
        Ok(Self { terminal: Terminal::with_options(backend, options)?, octets, area })
    }

    /// Current area to draw on: it follows the terminal's size.
    pub(crate) fn area(&mut self) -> io::Result<Rect> {
        let area = bounded(self.terminal.size()?);
        if area != self.area {
            self.terminal.resize(area)?;
            self.area = area;
        }
        Ok(area)
    }

    /// Draws one picture, which a terminal that knows synchronized output (mode 2026) shows at once, and returns the number
    /// of octets sent.
    pub(crate) fn draw(&mut self, picture: impl FnOnce(&mut Frame<'_>)) -> io::Result<u64> {
        let before = self.octets.get();
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(picture)?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        Ok(self.octets.get().saturating_sub(before))
    }

    /// Draws one picture, and returns its cells.
    pub(crate) fn cells(&mut self, picture: impl FnOnce(&mut Frame<'_>)) -> io::Result<Buffer> {
        Ok(self.terminal.draw(picture)?.buffer.clone())
    }
}

/// Text of a picture: a line for each row, without the blanks at its end.
pub(super) fn text_of(picture: &Buffer) -> String {
    let rows = picture.content.chunks(usize::from(picture.area.width).max(1));
    let mut text = String::new();
    for row in rows {
        let row: String = row.iter().map(buffer::Cell::symbol).collect();
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

fn bounded(size: Size) -> Rect {
    Rect::new(0, 0, size.width.min(MOST_COLUMNS), size.height.min(MOST_ROWS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_picture_has_its_rows_without_blanks_at_the_end() {
        let buffer = Buffer::with_lines(["stations  3", "", "  q quit   "]);
        assert_eq!(text_of(&buffer), "stations  3\n\n  q quit\n");
    }

    #[test]
    fn a_terminal_of_65535_by_65535_takes_a_few_megabytes() {
        let area = bounded(Size::new(u16::MAX, u16::MAX));
        let cells = Buffer::empty(area).content.len();
        // Two pictures, of which the second is compared with the first.
        let octets = 2 * cells * size_of::<ratatui::buffer::Cell>();
        assert!(octets < 64 << 20, "{octets} octets");
        assert_eq!(bounded(Size::new(80, 24)), Rect::new(0, 0, 80, 24));
    }
}
