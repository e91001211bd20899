//! The screenshot of the README, `docs/screen.svg`, drawn from the cells of the overview.

use super::{cell, look, on, view};
use crate::tui::Theme;
use crate::tui::draw::draw;
use crate::tui::page::Page;
use crate::tui::picture::svg;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::{env, fs};

/// Command that shows it.
const TITLE: &str = "tidewire watch -r captures/cell.pcapng --screen measures";

#[test]
fn the_screenshot_of_the_readme_is_the_overview() {
    let look = look(Theme::Dark);
    let size = (80, 14);
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let view = view(&cell(), &on(Page::Overview), size, &look);
    terminal.draw(|frame| draw(frame, &view, &look)).unwrap();
    let drawn = svg(terminal.backend().buffer(), TITLE);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/screen.svg");
    if env::var_os("BLESS").is_some() {
        fs::write(path, &drawn).unwrap();
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    assert!(kept == drawn, "docs/screen.svg differs from the screen: BLESS=1 rewrites it");
}
