//! Contents of the screen as plain data.

use super::controls::Controls;
use super::keys::{Bound, OPEN, SORT};
use super::losses::Losses;
use super::monitor::Snapshot;
use super::monitor::chart::{self, Charts, WIDE_COLUMNS};
use super::page::{self, Choice, Page, Room, Sheet};
use super::passed::Passed;
use super::theme::Look;
use crate::output::printable;
use crate::quantity;
use ratatui::layout::Rect;
use records::back;
use records::state::Model;

/// Header, tabs, description of rows, and keys.
const FIXED_ROWS: usize = 4;

/// Columns of the source that stay before words of losses of zero do.
const LEAST_SOURCE: usize = 12;

/// Contents of the screen.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct View {
    /// The first line: left and right.
    pub(super) header: [String; 2],
    /// Pages by number.
    pub(super) tabs: String,
    pub(super) body: Body,
    /// The last line.
    pub(super) footer: Footer,
}

/// Everything between the tabs and the last line.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Body {
    /// Help on all keys.
    Help(Vec<String>),
    /// The monitor.
    Charts(Box<Charts>),
    /// A page of measures.
    Rows(Rows),
}

/// A page of measures and its part on the screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Rows {
    pub(super) sheet: Sheet,
    /// Marked row.
    pub(super) cursor: usize,
    /// First row on the screen.
    pub(super) first: usize,
    /// Rows that fit the screen.
    pub(super) fitting: usize,
}

/// The last line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Footer {
    /// Keys and their actions, the most important first.
    Keys(Vec<String>),
    /// A prompt and the text typed, or a hint.
    Prompt(String),
}

/// Data to show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contents<'a> {
    pub(super) model: &'a Model,
    /// Samples, if there is a monitor.
    pub(super) seen: Option<&'a Snapshot>,
    /// Samples skipped between two redraws.
    pub(super) skipped: u64,
    /// Newest TPDUs of the chosen connection, the oldest first; none without frames.
    pub(super) passed: Option<&'a [Passed]>,
}

impl View {
    /// Creates the view of a page on a screen of this size.
    pub(super) fn of(contents: Contents<'_>, controls: &Controls, area: Rect, look: &Look) -> Self {
        let Contents { model, seen, .. } = contents;
        let columns = usize::from(area.width);
        let of_monitor = seen.zip(controls.bars.as_ref());
        let (header, body) = match of_monitor.filter(|_| controls.page == Page::Monitor) {
            Some((seen, bars)) => {
                let rows = usize::from(area.height).saturating_sub(FIXED_ROWS - 1);
                let room = Room { columns, rows, symbols: look.symbols };
                let charts = Charts::of(model, seen, bars, room, contents.skipped);
                let of_model = Losses::of(model);
                let losses = Losses { dropped: seen.dropped.or(of_model.dropped), ..of_model };
                (chart::header(seen, bars, losses, columns), Body::Charts(Box::new(charts)))
            }
            None => {
                let rows = Rows::of(contents, controls, area, look);
                (header(model, controls, columns), Body::Rows(rows))
            }
        };
        let body = if controls.is_help_shown { Body::Help(help(controls, columns)) } else { body };
        let footer = footer(controls, &body);
        Self { header, tabs: tabs(controls, columns), body, footer }
    }

    /// Returns the page, if it is of rows.
    pub(super) fn sheet(&self) -> Option<&Sheet> {
        match &self.body {
            Body::Rows(rows) => Some(&rows.sheet),
            Body::Help(_) | Body::Charts(_) => None,
        }
    }

    /// Returns the number of rows that fit the screen.
    pub(super) fn rows(&self) -> usize {
        match &self.body {
            Body::Rows(rows) => rows.fitting,
            Body::Help(_) | Body::Charts(_) => 0,
        }
    }
}

impl Rows {
    fn of(contents: Contents<'_>, controls: &Controls, area: Rect, look: &Look) -> Self {
        let Contents { model, seen, passed, .. } = contents;
        let state = seen.and_then(|seen| seen.health);
        let rows = usize::from(area.height).saturating_sub(FIXED_ROWS);
        let room = Room { columns: area.width.into(), rows, symbols: look.symbols };
        let choice = Choice { state, passed, ..controls.choice() };
        let sheet = page::sheet(model, choice, room);
        let fitting = rows.saturating_sub(usize::from(sheet.heading.is_some()));
        let cursor = controls.cursor.min(sheet.rows.len().saturating_sub(1));
        // The marked row stays visible, and the last row stays at the bottom.
        let first = cursor.saturating_sub(fitting.saturating_sub(1));
        Self { sheet, cursor, first, fitting }
    }
}

/// Returns the source for the left; interval, length, frames and state for the right.
fn header(model: &Model, controls: &Controls, columns: usize) -> [String; 2] {
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
    let source = printable(model.head.source.clone());
    let needed = source.chars().count().min(LEAST_SOURCE);
    // Frames dropped on a port are known at once; a capture records them at its end, if at all.
    let [all, above_zero] = Losses::of(model)
        .words()
        .map(|losses| format!("{which}{length}  {frames}  {losses}{state} "));
    let fits = |right: &String| right.chars().count() + 2 + needed <= columns;
    let right = Some(all).filter(fits).unwrap_or(above_zero);
    let room = columns.saturating_sub(right.chars().count().min(columns) + 2);
    [format!(" {}", back(&source, room)), right]
}

/// Returns the pages by number, with as much of their names as fits; the current one in brackets.
fn tabs(controls: &Controls, columns: usize) -> String {
    let told = |of: fn(char, &str) -> String| {
        let tabs = controls.pages().iter().map(|page| match *page == controls.page.tab() {
            true => format!("[{} {}]", page.key(), page.name()),
            false => of(page.key(), page.name()),
        });
        tabs.collect::<Vec<String>>().join(" ")
    };
    let named = told(|number, name| format!("{number} {name}"));
    let narrow = told(|number, name| format!("{number}{name}"));
    let numbers = told(|number, _| number.to_string());
    let fits = |text: &String| text.chars().count() <= columns;
    [named, narrow].into_iter().find(fits).unwrap_or(numbers)
}

fn footer(controls: &Controls, body: &Body) -> Footer {
    if let Some(prompt) = &controls.prompt {
        let complaint =
            controls.complaint.as_ref().map(|what| format!("  ({what})")).unwrap_or_default();
        return Footer::Prompt(format!("filter: {prompt}_{complaint}"));
    }
    if let Some(exported) = &controls.exported {
        return Footer::Prompt(exported.clone());
    }
    if controls.is_help_shown {
        return Footer::Prompt("any key goes back".to_owned());
    }
    let has_details = match body {
        Body::Rows(rows) => rows.sheet.rows.iter().any(|row| row.opens().is_some()),
        Body::Help(_) | Body::Charts(_) => false,
    };
    let is_sorted = controls.page == Page::Connections;
    let bound = bound(controls)
        .filter(|of| (has_details || of.name != OPEN) && (is_sorted || of.name != SORT));
    Footer::Keys(bound.map(|of| format!("{} {}", of.first(), of.name)).collect())
}

fn help(controls: &Controls, columns: usize) -> Vec<String> {
    let line = |of: Bound| match columns >= WIDE_COLUMNS {
        true => format!("{:>7}  {}", of.keys, of.what),
        false => format!("{:>5} {}", of.first(), of.name),
    };
    bound(controls).map(line).collect()
}

/// Returns the keys of the page, the most important first.
fn bound(controls: &Controls) -> impl Iterator<Item = Bound> {
    let keys = if controls.bars.is_some() { "0-9 mcr" } else { "1-9 mcr" };
    let numbers = Bound { keys: keys.to_owned(), name: "page", what: "turn to a page" };
    let mut keys = controls.keys.list(controls.scope());
    keys.insert(1.min(keys.len()), numbers);
    keys.into_iter()
}
