//! Settings of the operator, and the effect of each key on them. Pure: no terminal, no clock.

use super::page::{Page, SORTS, Sheet};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Maximum length of a filter.
const LONGEST_PROMPT: usize = 60;

/// Keys and their actions, the most important first.
pub(super) const KEYS: [(&str, &str); 11] = [
    ("q", "quit"),
    ("1-9, Tab", "turn to a page"),
    ("Enter", "what the row is about"),
    ("Esc", "back; no filter"),
    ("up, down", "move; PgUp, PgDn, Home, End"),
    ("s", "sort connections"),
    ("/", "filter rows by what they say"),
    ("space", "pause, and go on"),
    ("[, ]", "pause, and step to an earlier, a later interval by itself"),
    ("n, p", "next and previous connection"),
    ("?", "this help"),
];

/// Effect of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// Nothing, or only a change on the screen.
    None,
    /// Freezes or resumes the display.
    Pause,
    /// Freezes the display and shows another interval, or all intervals again.
    Step,
    /// Leaves the screen.
    Quit,
    /// Leaves the screen by Ctrl-C.
    Interrupt,
}

/// Contents of the screen when a key is pressed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a> {
    pub(super) sheet: &'a Sheet,
    /// Rows that fit the screen.
    pub(super) rows: usize,
    /// Numbers of the connections.
    pub(super) ids: &'a [u32],
    /// Number of intervals that can be stepped back through.
    pub(super) intervals: usize,
}

/// Settings of the operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Controls {
    pub(super) page: Page,
    /// Pages and rows to which Esc returns.
    pub(super) before: Vec<(Page, usize)>,
    /// Marked row.
    pub(super) cursor: usize,
    pub(super) sort: usize,
    pub(super) filter: String,
    /// The filter being typed.
    pub(super) prompt: Option<String>,
    pub(super) is_paused: bool,
    /// Place of the interval that is shown alone, the oldest kept having place 0.
    pub(super) past: Option<usize>,
    pub(super) is_help_shown: bool,
    /// Connection that is shown in depth.
    pub(super) chosen: Option<u32>,
}

impl Controls {
    /// Returns the initial settings.
    pub(super) const fn new() -> Self {
        Self {
            page: Page::Overview,
            before: Vec::new(),
            cursor: 0,
            sort: 0,
            filter: String::new(),
            prompt: None,
            is_paused: false,
            past: None,
            is_help_shown: false,
            chosen: None,
        }
    }

    /// Applies a key.
    pub(super) fn press(&mut self, key: &KeyEvent, shown: &Shown<'_>) -> Effect {
        let Shown { sheet, rows, ids, intervals } = *shown;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Effect::Interrupt } else { Effect::None };
        }
        if let Some(prompt) = self.prompt.take() {
            self.type_on(prompt, key.code);
            return Effect::None;
        }
        if core::mem::take(&mut self.is_help_shown) && key.code != KeyCode::Char('q') {
            return Effect::None;
        }
        let last = sheet.rows.len().saturating_sub(1);
        match key.code {
            KeyCode::Char('q') => return Effect::Quit,
            KeyCode::Char(' ') => {
                self.is_paused = !self.is_paused;
                self.past = None;
                return Effect::Pause;
            }
            KeyCode::Char('[') => return self.step_back(intervals),
            KeyCode::Char(']') => {
                self.past = self.past.map(|place| place + 1).filter(|place| *place < intervals);
                return Effect::Step;
            }
            KeyCode::Char('?') => self.is_help_shown = true,
            KeyCode::Char('/') => self.prompt = Some(self.filter.clone()),
            KeyCode::Char('s') => self.sort = (self.sort + 1) % SORTS.len(),
            KeyCode::Char('n') => self.chosen = neighbour(ids, self.chosen, true),
            KeyCode::Char('p') => self.chosen = neighbour(ids, self.chosen, false),
            KeyCode::Char(digit @ '1'..='9') => {
                let place = digit as usize - '1' as usize;
                self.turn_to(Page::ALL[place]);
            }
            KeyCode::Tab | KeyCode::Right => self.turn_to(self.page.step(1)),
            KeyCode::BackTab | KeyCode::Left => self.turn_to(self.page.step(Page::ALL.len() - 1)),
            KeyCode::Up => self.cursor = self.cursor.min(last).saturating_sub(1),
            KeyCode::Down => self.cursor = (self.cursor + 1).min(last),
            KeyCode::PageUp => self.cursor = self.cursor.min(last).saturating_sub(rows.max(2) - 1),
            KeyCode::PageDown => self.cursor = (self.cursor + rows.max(2) - 1).min(last),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = last,
            KeyCode::Enter => self.enter(sheet),
            KeyCode::Esc => self.leave(),
            _ => {}
        }
        Effect::None
    }

    /// Selects the previous interval, or the latest complete one.
    fn step_back(&mut self, intervals: usize) -> Effect {
        let before = self.past.map_or(intervals, |place| place.max(1)).checked_sub(1);
        self.past = before;
        if core::mem::replace(&mut self.is_paused, true) { Effect::Step } else { Effect::Pause }
    }

    fn turn_to(&mut self, page: Page) {
        if page != self.page {
            (self.page, self.cursor) = (page, 0);
            self.before.clear();
        }
    }

    fn enter(&mut self, sheet: &Sheet) {
        let Some(row) = sheet.rows.get(self.cursor) else { return };
        let to = if row.connection.is_some() { Some(Page::One) } else { row.page };
        let Some(page) = to else { return };
        self.chosen = row.connection.or(self.chosen);
        self.before.push((self.page, self.cursor));
        (self.page, self.cursor) = (page, 0);
    }

    fn leave(&mut self) {
        if let Some((page, cursor)) = self.before.pop() {
            (self.page, self.cursor) = (page, cursor);
        } else if self.filter.is_empty() {
            self.turn_to(Page::Overview);
        } else {
            self.filter.clear();
        }
    }

    fn type_on(&mut self, mut prompt: String, code: KeyCode) {
        match code {
            KeyCode::Esc => return,
            KeyCode::Enter => {
                (self.filter, self.cursor) = (prompt, 0);
                return;
            }
            KeyCode::Backspace => {
                prompt.pop();
            }
            KeyCode::Char(letter) if prompt.len() < LONGEST_PROMPT && letter.is_ascii() => {
                prompt.push(letter);
            }
            _ => {}
        }
        self.prompt = Some(prompt);
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
mod tests {
    use super::super::page::Row;
    use super::*;

    fn sheet() -> Sheet {
        let of = |id| Row { text: format!("row {id}"), connection: Some(id), ..Row::default() };
        Sheet { rows: (1..=30).map(of).collect(), ..Sheet::default() }
    }

    fn press(controls: &mut Controls, code: KeyCode) -> Effect {
        let shown = Shown { sheet: &sheet(), rows: 10, ids: &[3, 5, 9], intervals: 3 };
        controls.press(&KeyEvent::from(code), &shown)
    }

    #[test]
    fn enter_opens_the_connection_of_the_row_and_esc_returns_to_it() {
        let mut controls = Controls::new();
        press(&mut controls, KeyCode::Char('2'));
        (0..4).for_each(|_| {
            press(&mut controls, KeyCode::Down);
        });
        press(&mut controls, KeyCode::Enter);
        assert_eq!((controls.page, controls.chosen), (Page::One, Some(5)));
        press(&mut controls, KeyCode::Esc);
        assert_eq!((controls.page, controls.cursor), (Page::Connections, 4));
        press(&mut controls, KeyCode::Esc);
        assert_eq!(controls.page, Page::Overview);
    }

    #[test]
    fn the_cursor_stays_among_the_rows() {
        let mut controls = Controls::new();
        press(&mut controls, KeyCode::Up);
        assert_eq!(controls.cursor, 0);
        // Nine of ten rows, so that one stays visible.
        press(&mut controls, KeyCode::PageDown);
        assert_eq!(controls.cursor, 9);
        press(&mut controls, KeyCode::End);
        press(&mut controls, KeyCode::Down);
        assert_eq!(controls.cursor, 29);
    }

    #[test]
    fn pages_go_around_and_numbers_lead_to_them() {
        let mut controls = Controls::new();
        press(&mut controls, KeyCode::BackTab);
        assert_eq!(controls.page, Page::Capture);
        press(&mut controls, KeyCode::Tab);
        assert_eq!(controls.page, Page::Overview);
        press(&mut controls, KeyCode::Char('8'));
        assert_eq!(controls.page, Page::Events);
    }

    #[test]
    fn letters_of_a_filter_are_no_keys_and_esc_keeps_the_old_one() {
        let mut controls = Controls::new();
        for code in [KeyCode::Char('/'), KeyCode::Char('q'), KeyCode::Char('1'), KeyCode::Enter] {
            assert_eq!(press(&mut controls, code), Effect::None);
        }
        assert_eq!(controls.filter, "q1");
        for code in [KeyCode::Char('/'), KeyCode::Backspace, KeyCode::Esc] {
            press(&mut controls, code);
        }
        assert_eq!((controls.filter.as_str(), &controls.prompt), ("q1", &None));
        press(&mut controls, KeyCode::Esc);
        assert_eq!(controls.filter, "");
    }

    #[test]
    fn brackets_step_through_intervals_while_it_stands_still() {
        let mut controls = Controls::new();
        let mut press = |letter| {
            let effect = press(&mut controls, KeyCode::Char(letter));
            (effect, controls.is_paused, controls.past)
        };
        // Nothing is later than the whole.
        assert_eq!(press(']'), (Effect::Step, false, None));
        assert_eq!(press('['), (Effect::Pause, true, Some(2)));
        assert_eq!(press('['), (Effect::Step, true, Some(1)));
        assert_eq!(press('['), (Effect::Step, true, Some(0)));
        assert_eq!(press('['), (Effect::Step, true, Some(0)), "none is older");
        assert_eq!(press(']'), (Effect::Step, true, Some(1)));
        assert_eq!(press(']'), (Effect::Step, true, Some(2)));
        assert_eq!(press(']'), (Effect::Step, true, None), "all of it");
        assert_eq!(press('['), (Effect::Step, true, Some(2)));
        assert_eq!(press(' '), (Effect::Pause, false, None));
    }

    #[test]
    fn where_no_interval_is_over_a_step_back_only_pauses() {
        let mut controls = Controls::new();
        let shown = Shown { sheet: &sheet(), rows: 10, ids: &[], intervals: 0 };
        let effect = controls.press(&KeyEvent::from(KeyCode::Char('[')), &shown);
        assert_eq!((effect, controls.is_paused, controls.past), (Effect::Pause, true, None));
    }

    #[test]
    fn next_and_previous_go_around() {
        assert_eq!(neighbour(&[3, 5, 9], Some(5), true), Some(9));
        assert_eq!(neighbour(&[3, 5, 9], Some(9), true), Some(3));
        assert_eq!(neighbour(&[3, 5, 9], None, false), Some(9));
        assert_eq!(neighbour(&[], Some(1), true), None);
    }
}
