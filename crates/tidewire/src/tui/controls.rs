//! Settings of the operator, and the effect of each key on them. Pure: no terminal, no clock.

use super::effect::Effect;
use super::keys::{Action, Keys, Scope};
use super::monitor::Snapshot;
use super::monitor::controls::Bars;
use super::page::{Choice, Page, SORTS, Sheet};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use wire::filter::NotAFilter;

/// Maximum length of a filter.
const LONGEST_PROMPT: usize = 60;

/// Contents of the screen when a key is pressed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a> {
    /// The page, if it is of rows.
    pub(super) sheet: Option<&'a Sheet>,
    /// Rows that fit the screen.
    pub(super) rows: usize,
    /// Numbers of the connections.
    pub(super) ids: &'a [u32],
    /// Number of intervals that can be stepped back through.
    pub(super) intervals: usize,
    /// Samples, if there is a monitor.
    pub(super) seen: Option<&'a Snapshot>,
    /// Samples that fit the screen.
    pub(super) room: usize,
}

/// Settings of the operator.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Controls {
    pub(super) keys: Keys,
    pub(super) page: Page,
    /// Pages and rows to which Esc returns.
    pub(super) before: Vec<(Page, usize)>,
    /// Marked row.
    pub(super) cursor: usize,
    pub(super) sort: usize,
    /// Filter of rows.
    pub(super) filter: String,
    /// The filter being typed.
    pub(super) prompt: Option<String>,
    /// Error in the last filter typed.
    pub(super) complaint: Option<String>,
    pub(super) is_paused: bool,
    /// Place of the interval that is shown alone, the oldest kept having place 0.
    pub(super) past: Option<usize>,
    pub(super) is_help_shown: bool,
    /// Result of the last export, until the next key.
    pub(super) exported: Option<String>,
    /// Connection that is shown in depth.
    pub(super) chosen: Option<u32>,
    /// Host whose connections are listed; those of all if none.
    pub(super) host: Option<String>,
    /// Settings of the monitor; none without frames to sample.
    pub(super) bars: Option<Bars>,
}

impl Controls {
    /// Returns the selection of what is shown.
    pub(super) fn choice(&self) -> Choice<'_> {
        let Self { page, sort, filter, chosen, .. } = self;
        let host = self.host.as_deref();
        Choice {
            page: *page,
            sort: *sort,
            filter,
            chosen: *chosen,
            host,
            state: None,
            passed: None,
        }
    }

    /// Returns the initial settings on a page.
    pub(super) const fn new(page: Page, keys: Keys, bars: Option<Bars>) -> Self {
        Self {
            keys,
            page,
            before: Vec::new(),
            cursor: 0,
            sort: 0,
            filter: String::new(),
            prompt: None,
            complaint: None,
            is_paused: false,
            past: None,
            is_help_shown: false,
            exported: None,
            chosen: None,
            host: None,
            bars,
        }
    }

    /// Returns the pages, by number.
    pub(super) fn pages(&self) -> &'static [Page] {
        let first = usize::from(self.bars.is_none());
        Page::ALL.get(first..).unwrap_or_default()
    }

    /// Returns the scope of the page.
    pub(super) fn scope(&self) -> Scope {
        if self.page == Page::Monitor { Scope::Bars } else { Scope::Rows }
    }

    /// Applies a key.
    pub(super) fn press(&mut self, key: &KeyEvent, shown: &Shown<'_>) -> Effect {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return Effect::Interrupt;
        }
        if let Some(prompt) = self.prompt.take() {
            return self.type_on(prompt, key.code);
        }
        (self.complaint, self.exported) = (None, None);
        let action = self.keys.action(key, self.scope());
        if core::mem::take(&mut self.is_help_shown)
            && !matches!(action, Some(Action::Quit | Action::Keep))
        {
            return Effect::None;
        }
        match action {
            Some(action) => self.act(action, shown),
            None if !control => self.turn_by(key.code),
            None => Effect::None,
        }
    }

    /// Turns to a page by a key that has no action: a number, the letters m, c and r, or an arrow.
    fn turn_by(&mut self, code: KeyCode) -> Effect {
        match code {
            KeyCode::Char(digit @ '0'..='9') => {
                let page = Page::ALL.get(digit as usize - '0' as usize).copied();
                if let Some(page) = page.filter(|page| self.pages().contains(page)) {
                    self.turn_to(page);
                }
            }
            KeyCode::Char('m') => self.turn_to(Page::Services),
            KeyCode::Char('c') => self.turn_to(Page::Streams),
            KeyCode::Char('r') => self.turn_to(Page::Transactions),
            KeyCode::Right => self.turn(1),
            KeyCode::Left => self.turn(self.pages().len() - 1),
            _ => {}
        }
        Effect::None
    }

    fn act(&mut self, action: Action, shown: &Shown<'_>) -> Effect {
        match action {
            Action::Quit => return Effect::Quit,
            Action::Keep => return Effect::Keep,
            Action::Pause => {
                let is_paused = !self.is_paused;
                return self.pause(is_paused, shown);
            }
            Action::Help => self.is_help_shown = true,
            Action::Filter => {
                let is_rows = self.scope() == Scope::Rows;
                self.prompt = Some(if is_rows { self.filter.clone() } else { String::new() });
            }
            Action::Export => return Effect::Export,
            Action::Slower => return Effect::Slower,
            Action::Faster => return Effect::Faster,
            Action::NextPage => self.turn(1),
            Action::PreviousPage => self.turn(self.pages().len() - 1),
            Action::Longer
            | Action::Shorter
            | Action::Fit
            | Action::Back
            | Action::Forward
            | Action::ScreenBack
            | Action::ScreenForward
            | Action::Oldest
            | Action::FewerPackets
            | Action::MorePackets
            | Action::FewerBits
            | Action::MoreBits
            | Action::Restart => return self.act_on_bars(action, shown),
            Action::Earlier => return self.step_back(shown),
            Action::Later => {
                self.past = self.past.map(|at| at + 1).filter(|at| *at < shown.intervals);
                return Effect::Step;
            }
            Action::Leave => self.leave(),
            Action::Sort => self.sort = (self.sort + 1) % SORTS.len(),
            Action::Next => self.chosen = neighbour(shown.ids, self.chosen, true),
            Action::Previous => self.chosen = neighbour(shown.ids, self.chosen, false),
            Action::Open
            | Action::Up
            | Action::Down
            | Action::ScreenUp
            | Action::ScreenDown
            | Action::First
            | Action::Last => self.act_on_rows(action, shown),
        }
        Effect::None
    }

    /// Applies an action of the monitor. Scrolling freezes the display.
    fn act_on_bars(&mut self, action: Action, shown: &Shown<'_>) -> Effect {
        let Some((bars, seen)) = self.bars.as_mut().zip(shown.seen) else { return Effect::None };
        let effect = bars.act(action, seen, shown.room);
        if bars.until.is_some() && !core::mem::replace(&mut self.is_paused, true) {
            return Effect::Pause;
        }
        effect
    }

    fn act_on_rows(&mut self, action: Action, shown: &Shown<'_>) {
        let Some(sheet) = shown.sheet else { return };
        let last = sheet.rows.len().saturating_sub(1);
        let (marked, screen) = (self.cursor.min(last), shown.rows.max(2) - 1);
        self.cursor = match action {
            Action::Up => marked.saturating_sub(1),
            Action::Down => (marked + 1).min(last),
            Action::ScreenUp => marked.saturating_sub(screen),
            Action::ScreenDown => (marked + screen).min(last),
            Action::First => 0,
            Action::Last => last,
            _ => return self.open(sheet),
        };
    }

    /// Freezes or resumes all pages.
    fn pause(&mut self, is_paused: bool, shown: &Shown<'_>) -> Effect {
        self.is_paused = is_paused;
        self.past = None;
        if let Some((bars, seen)) = self.bars.as_mut().zip(shown.seen) {
            bars.until = is_paused.then(|| seen.interval.times(seen.end));
        }
        Effect::Pause
    }

    /// Selects the previous interval, or the latest complete one.
    fn step_back(&mut self, shown: &Shown<'_>) -> Effect {
        let past = self.past.map_or(shown.intervals, |place| place.max(1)).checked_sub(1);
        let effect = if self.is_paused { Effect::Step } else { self.pause(true, shown) };
        self.past = past;
        effect
    }

    fn turn(&mut self, by: usize) {
        let pages = self.pages();
        let place = pages.iter().position(|page| *page == self.page.tab()).unwrap_or(0);
        if let Some(page) = pages.iter().cycle().nth(place + by) {
            self.turn_to(*page);
        }
    }

    fn turn_to(&mut self, page: Page) {
        if page != self.page {
            (self.page, self.cursor, self.host) = (page, 0, None);
            self.before.clear();
        }
    }

    fn open(&mut self, sheet: &Sheet) {
        let Some(row) = sheet.rows.get(self.cursor) else { return };
        let Some(page) = row.opens() else { return };
        self.chosen = row.connection.or(self.chosen);
        self.host = row.host.clone().or(self.host.take());
        self.before.push((self.page, self.cursor));
        (self.page, self.cursor) = (page, 0);
    }

    fn leave(&mut self) {
        if let Some((page, cursor)) = self.before.pop() {
            (self.page, self.cursor) = (page, cursor);
            self.host = self.host.take().filter(|_| page != Page::Hosts);
        } else if self.filter.is_empty() {
            self.turn_to(Page::Overview);
        } else {
            self.filter.clear();
        }
    }

    fn type_on(&mut self, mut prompt: String, code: KeyCode) -> Effect {
        match code {
            KeyCode::Esc => return Effect::None,
            KeyCode::Enter if self.scope() == Scope::Rows => {
                (self.filter, self.cursor) = (prompt, 0);
                return Effect::None;
            }
            KeyCode::Enter => match prompt.parse() {
                Ok(filter) => {
                    self.complaint = None;
                    return Effect::Filter(filter);
                }
                Err(error) => {
                    let error: NotAFilter = error;
                    self.complaint = Some(error.to_line());
                }
            },
            KeyCode::Backspace => {
                prompt.pop();
            }
            KeyCode::Char(letter) if prompt.len() < LONGEST_PROMPT && letter.is_ascii() => {
                self.complaint = None;
                prompt.push(letter);
            }
            _ => {}
        }
        self.prompt = Some(prompt);
        Effect::None
    }
}

/// Returns the connection after or before the chosen one, wrapping at the ends.
fn neighbour(ids: &[u32], chosen: Option<u32>, forward: bool) -> Option<u32> {
    let after = || ids.iter().find(|id| chosen.is_some_and(|chosen| **id > chosen));
    let before = || ids.iter().rev().find(|id| chosen.is_some_and(|chosen| **id < chosen));
    let found = if forward { after().or(ids.first()) } else { before().or(ids.last()) };
    found.copied()
}

#[cfg(test)]
mod tests;
