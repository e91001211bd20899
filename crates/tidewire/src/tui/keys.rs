//! Keys and their actions. Each action has its own keys, which `--keys` may change. A key may have
//! one action in the monitor and another on pages of measures.

use core::fmt;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde::Serialize;

/// Action of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Action {
    /// Leave.
    Quit,
    /// Leave, and keep the contents of the screen on the terminal.
    Keep,
    /// Freeze or resume the screen.
    Pause,
    /// Show all keys.
    Help,
    /// Prompt for a filter.
    Filter,
    /// Write the page to files.
    Export,
    /// Halve the speed of a replay.
    Slower,
    /// Double it.
    Faster,
    /// Turn to the next page.
    NextPage,
    /// Turn to the previous page.
    PreviousPage,
    /// Lengthen the sampling interval.
    Longer,
    /// Shorten the sampling interval.
    Shorter,
    /// Fit the full-scale values to the screen.
    Fit,
    /// Scroll back by a sample.
    Back,
    /// Scroll forward by a sample.
    Forward,
    /// Scroll back by a screen.
    ScreenBack,
    /// Scroll forward by a screen.
    ScreenForward,
    /// Scroll to the oldest sample.
    Oldest,
    /// Lower the full-scale value of packets.
    FewerPackets,
    /// Raise the full-scale value of packets.
    MorePackets,
    /// Lower the full-scale value of bits.
    FewerBits,
    /// Raise the full-scale value of bits.
    MoreBits,
    /// Restart average and peak.
    Restart,
    /// Open the details of the marked row.
    Open,
    /// Return to the page before, or remove the filter.
    Leave,
    /// Sort connections by the next column.
    Sort,
    /// Show the previous measurement interval alone.
    Earlier,
    /// Show the next measurement interval alone.
    Later,
    /// Choose the next connection.
    Next,
    /// Choose the previous connection.
    Previous,
    /// Mark the row above.
    Up,
    /// Mark the row below.
    Down,
    /// Mark the row a screen above.
    ScreenUp,
    /// Mark the row a screen below.
    ScreenDown,
    /// Mark the first row.
    First,
    /// Mark the last row.
    Last,
}

/// Pages on which an action has an effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    /// All pages.
    Every,
    /// The monitor.
    Bars,
    /// Pages of measures, which are rows.
    Rows,
}

impl Scope {
    /// True if both have a page in common.
    fn meets(self, other: Self) -> bool {
        self == other || self == Self::Every || other == Self::Every
    }
}

/// An action and its default keys.
#[derive(Clone, Copy, Debug)]
struct Known {
    action: Action,
    scope: Scope,
    /// Name in `--keys`.
    name: &'static str,
    what: &'static str,
    keys: &'static [&'static str],
}

const fn known(
    action: Action,
    scope: Scope,
    name: &'static str,
    what: &'static str,
    keys: &'static [&'static str],
) -> Known {
    Known { action, scope, name, what, keys }
}

/// Name of the action that opens a row.
pub(super) const OPEN: &str = "open";
/// Name of the action that sorts connections.
pub(super) const SORT: &str = "sort";

/// Every action, the most important first.
const ACTIONS: [Known; 36] = [
    known(Action::Quit, Scope::Every, "quit", "quit", &["q"]),
    known(Action::Keep, Scope::Every, "keep", "quit, keep screen", &["Q"]),
    known(Action::Pause, Scope::Every, "pause", "pause, go on", &["space"]),
    known(Action::Help, Scope::Every, "help", "help", &["?"]),
    known(Action::Filter, Scope::Every, "filter", "filter", &["/"]),
    known(Action::Shorter, Scope::Bars, "shorter", "shorter interval", &["-"]),
    known(Action::Longer, Scope::Bars, "longer", "longer interval", &["+", "="]),
    known(Action::Fit, Scope::Bars, "fit", "fit scales", &["a"]),
    known(Action::Back, Scope::Bars, "back", "scroll back", &["left", "h"]),
    known(Action::Forward, Scope::Bars, "forward", "scroll forward", &["right", "l"]),
    known(Action::ScreenBack, Scope::Bars, "screen-back", "a screen back", &["pgup", "b"]),
    known(Action::ScreenForward, Scope::Bars, "screen-forward", "a screen forward", &["pgdn", "f"]),
    known(Action::Oldest, Scope::Bars, "oldest", "to the oldest", &["home", "g"]),
    known(Action::FewerPackets, Scope::Bars, "fewer-packets", "packet scale down", &["["]),
    known(Action::MorePackets, Scope::Bars, "more-packets", "packet scale up", &["]"]),
    known(Action::FewerBits, Scope::Bars, "fewer-bits", "bit scale down", &["{"]),
    known(Action::MoreBits, Scope::Bars, "more-bits", "bit scale up", &["}"]),
    known(Action::Restart, Scope::Bars, "restart", "reset statistics", &["r"]),
    known(Action::Open, Scope::Rows, OPEN, "details of the row", &["enter"]),
    known(Action::Leave, Scope::Rows, "leave", "back, or no filter", &["esc"]),
    known(Action::Sort, Scope::Rows, SORT, "sort connections", &["s"]),
    known(Action::Earlier, Scope::Rows, "earlier", "pause, an earlier interval", &["["]),
    known(Action::Later, Scope::Rows, "later", "a later interval", &["]"]),
    known(Action::Next, Scope::Rows, "next", "next connection", &["n"]),
    known(Action::Previous, Scope::Rows, "previous", "previous connection", &["p"]),
    known(Action::Up, Scope::Rows, "up", "a row up", &["up", "k"]),
    known(Action::Down, Scope::Rows, "down", "a row down", &["down", "j"]),
    known(Action::ScreenUp, Scope::Rows, "screen-up", "a screen up", &["pgup", "b"]),
    known(Action::ScreenDown, Scope::Rows, "screen-down", "a screen down", &["pgdn", "f"]),
    known(Action::First, Scope::Rows, "first", "to the first row", &["home", "g"]),
    known(Action::Last, Scope::Rows, "last", "to the last row", &["end", "G"]),
    known(Action::Export, Scope::Every, "export", "write to files", &["e"]),
    known(Action::Slower, Scope::Every, "slower", "replay slower", &["<", "comma"]),
    known(Action::Faster, Scope::Every, "faster", "replay faster", &[">", "."]),
    known(Action::NextPage, Scope::Every, "page-forward", "next page", &["tab"]),
    known(Action::PreviousPage, Scope::Every, "page-back", "previous page", &["backtab"]),
];

/// Keys with names of more than one letter.
const NAMED: [(&str, KeyCode); 15] = [
    ("space", KeyCode::Char(' ')),
    ("comma", KeyCode::Char(',')),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backtab", KeyCode::BackTab),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("delete", KeyCode::Delete),
];

/// A key, alone or with Ctrl.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    code: KeyCode,
    control: bool,
}

impl Key {
    fn read(text: &str) -> Option<Self> {
        let (name, control) = match text.strip_prefix("ctrl-") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let named = NAMED.into_iter().find(|(known, _)| *known == name).map(|(_, code)| code);
        let mut letters = name.chars();
        let code = match (named, letters.next(), letters.next()) {
            (Some(code), ..) => code,
            (None, Some(letter), None) if !letter.is_whitespace() => KeyCode::Char(letter),
            (None, ..) => {
                let number: u8 = name.strip_prefix('f')?.parse().ok()?;
                (1..=12).contains(&number).then_some(KeyCode::F(number))?
            }
        };
        // A terminal sends Ctrl-C for an interrupt, and that binding is fixed.
        let key = Self { code, control };
        (key != Self { code: KeyCode::Char('c'), control: true }).then_some(key)
    }

    fn is(self, event: &KeyEvent) -> bool {
        self.code == event.code && self.control == event.modifiers.contains(KeyModifiers::CONTROL)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.control {
            f.write_str("ctrl-")?;
        }
        let named = NAMED.into_iter().find(|(_, code)| *code == self.code);
        match (named, self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::Char(letter)) => write!(f, "{letter}"),
            (None, KeyCode::F(number)) => write!(f, "f{number}"),
            (None, _) => f.write_str("?"),
        }
    }
}

/// Error in `--keys`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BadKeys {
    /// A change is not `action=key`.
    NotAPair(String),
    /// No action of this name.
    NoSuchAction(String),
    /// No key of this name.
    NoSuchKey(String),
    /// Two actions would have the same key.
    Conflict(String, &'static str, &'static str),
}

impl fmt::Display for BadKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPair(text) => write!(f, "{text:?}: expected action=key, such as quit=x"),
            Self::NoSuchAction(name) => {
                let names: Vec<&str> = ACTIONS.iter().map(|known| known.name).collect();
                write!(f, "no action {name:?}: one of {}", names.join(", "))
            }
            Self::NoSuchKey(name) => {
                let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
                let names = names.join(", ");
                write!(f, "no key {name:?}: a letter or sign, {names}, f1 to f12, or ctrl- and one")
            }
            Self::Conflict(key, one, other) => {
                write!(f, "the key {key} would both {one} and {other}")
            }
        }
    }
}

/// An action and its keys, as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Bound {
    /// Its keys, separated by blanks.
    pub(super) keys: String,
    /// The action as `--keys` names it.
    pub(super) name: &'static str,
    /// Its description.
    pub(super) what: &'static str,
}

impl Bound {
    /// Returns the first of its keys.
    pub(super) fn first(&self) -> &str {
        self.keys.split(' ').next().unwrap_or_default()
    }
}

/// NDJSON record of an action with its keys.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "type", rename = "key-binding")]
pub(crate) struct Binding {
    /// Action as `--keys` names it.
    pub(crate) action: &'static str,
    /// Its description.
    pub(crate) what: &'static str,
    /// Pages on which it has an effect: `all`, `monitor` or `measures`.
    pub(crate) pages: &'static str,
    /// Its keys.
    pub(crate) keys: Vec<String>,
}

/// Keys of an action.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Assigned {
    action: Action,
    scope: Scope,
    keys: Vec<Key>,
}

/// Assignment of keys to actions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Keys(Vec<Assigned>);

impl Keys {
    /// Returns the default keys, changed by `action=key, action=key, ...`; a named action has only
    /// the keys given.
    ///
    /// # Errors
    /// Fails on an invalid change, and on a key with two actions on one page.
    pub(crate) fn new(changes: &str) -> Result<Self, BadKeys> {
        let read = |name: &str| Key::read(name).ok_or_else(|| BadKeys::NoSuchKey(name.to_owned()));
        let mut keys = Vec::new();
        for Known { action, scope, keys: names, .. } in ACTIONS {
            let read: Result<Vec<Key>, BadKeys> = names.iter().map(|name| read(name)).collect();
            keys.push(Assigned { action, scope, keys: read? });
        }
        let mut changed = Vec::new();
        for change in changes.split(',').map(str::trim).filter(|change| !change.is_empty()) {
            let Some((name, key)) = change.split_once('=') else {
                return Err(BadKeys::NotAPair(change.to_owned()));
            };
            let (name, key) = (name.trim(), read(key.trim())?);
            let place = ACTIONS
                .iter()
                .position(|known| known.name == name)
                .ok_or_else(|| BadKeys::NoSuchAction(name.to_owned()))?;
            let Some(of_action) = keys.get_mut(place) else { continue };
            if !changed.contains(&of_action.action) {
                changed.push(of_action.action);
                of_action.keys.clear();
            }
            of_action.keys.push(key);
        }
        let keys = Self(keys);
        keys.conflict().map_or(Ok(keys.clone()), Err)
    }

    fn conflict(&self) -> Option<BadKeys> {
        for (place, one) in self.0.iter().enumerate() {
            let others = self.0.iter().skip(place + 1);
            for other in others.filter(|other| other.scope.meets(one.scope)) {
                if let Some(key) = one.keys.iter().find(|key| other.keys.contains(key)) {
                    let [one, other] = [one.action, other.action].map(name);
                    return Some(BadKeys::Conflict(key.to_string(), one, other));
                }
            }
        }
        None
    }

    /// Returns the action of a key on pages of a scope, if it has one.
    pub(super) fn action(&self, event: &KeyEvent, scope: Scope) -> Option<Action> {
        let has_key =
            |of: &&Assigned| of.scope.meets(scope) && of.keys.iter().any(|key| key.is(event));
        self.0.iter().find(has_key).map(|of| of.action)
    }

    /// Returns every action of a scope, the most important first. The two ways to quit are one entry, and the two to turn
    /// pages and to change the speed, so that all fit the smallest screen.
    pub(super) fn list(&self, scope: Scope) -> Vec<Bound> {
        let mut listed = self.each(scope);
        if let [quit, keep, ..] = listed.as_mut_slice() {
            quit.keys = format!("{} {}", quit.keys, keep.keys);
            quit.what = keep.what;
            listed.remove(1);
        }
        merge(&mut listed, ["slower", "faster"], "speed", "replay speed");
        merge(&mut listed, ["shorter", "longer"], "interval", "shorter, longer interval");
        if let [.., forward, back] = listed.as_mut_slice() {
            forward.keys = format!("{} {}", forward.keys, back.keys);
            forward.what = "next, previous page";
            listed.pop();
        }
        listed
    }

    /// Returns every action with its pages, the most important first.
    pub(crate) fn all(&self) -> Vec<Binding> {
        let binding = |(known, of): (Known, &Assigned)| Binding {
            action: known.name,
            what: known.what,
            pages: match known.scope {
                Scope::Every => "all",
                Scope::Bars => "monitor",
                Scope::Rows => "measures",
            },
            keys: of.keys.iter().map(ToString::to_string).collect(),
        };
        ACTIONS.into_iter().zip(&self.0).map(binding).collect()
    }

    fn each(&self, scope: Scope) -> Vec<Bound> {
        let bound = |(known, of): (Known, &Assigned)| {
            let keys = of.keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            Bound { keys, name: known.name, what: known.what }
        };
        let all = ACTIONS.into_iter().zip(&self.0);
        all.filter(|(known, _)| known.scope.meets(scope)).map(bound).collect()
    }
}

/// Makes one entry of two that follow each other, with the first key of each.
fn merge(listed: &mut Vec<Bound>, both: [&str; 2], name: &'static str, what: &'static str) {
    let is_first = |pair: &[Bound]| pair.iter().map(|of| of.name).eq(both);
    let Some(place) = listed.windows(2).position(is_first) else { return };
    let second = listed.remove(place + 1);
    if let Some(first) = listed.get_mut(place) {
        first.keys = format!("{} {}", first.first(), second.first());
        (first.name, first.what) = (name, what);
    }
}

fn name(action: Action) -> &'static str {
    ACTIONS.into_iter().find(|known| known.action == action).map_or("", |known| known.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(keys: &Keys, code: KeyCode) -> Option<Action> {
        keys.action(&KeyEvent::from(code), Scope::Bars)
    }

    #[test]
    fn default_keys_do_not_conflict_and_cover_every_action() {
        let keys = Keys::new("").unwrap();
        for scope in [Scope::Bars, Scope::Rows] {
            assert!(keys.list(scope).iter().all(|bound| !bound.keys.is_empty()));
        }
        let expected = (Some(Action::Earlier), Some(Action::FewerPackets));
        let bracket = keys.action(&KeyEvent::from(KeyCode::Char('[')), Scope::Rows);
        assert_eq!((bracket, press(&keys, KeyCode::Char('['))), expected);
        assert_eq!(press(&keys, KeyCode::Char('q')), Some(Action::Quit));
        assert_eq!(press(&keys, KeyCode::Char('=')), Some(Action::Longer));
        assert_eq!(press(&keys, KeyCode::Left), Some(Action::Back));
        assert_eq!(press(&keys, KeyCode::Char('x')), None);
    }

    #[test]
    fn a_changed_action_has_just_the_keys_it_was_given() {
        let keys = Keys::new("quit=x, quit=f10, pause = ctrl-p").unwrap();
        assert_eq!(press(&keys, KeyCode::Char('x')), Some(Action::Quit));
        assert_eq!(press(&keys, KeyCode::F(10)), Some(Action::Quit));
        assert_eq!(press(&keys, KeyCode::Char('q')), None);
        assert_eq!(press(&keys, KeyCode::Char('p')), None);
        let control = KeyEvent::new(KeyCode::Char('p'), KeyModifiers::CONTROL);
        assert_eq!(keys.action(&control, Scope::Rows), Some(Action::Pause));
        let quit = Bound { keys: "x f10 Q".to_owned(), name: "quit", what: "quit, keep screen" };
        assert_eq!((keys.list(Scope::Bars)[0].first(), &keys.list(Scope::Bars)[0]), ("x", &quit));
        // A key that its action gave up is free for another.
        let swapped = Keys::new("quit=a,fit=q").unwrap();
        assert_eq!(press(&swapped, KeyCode::Char('q')), Some(Action::Fit));
    }

    #[test]
    fn conflicting_keys_and_invalid_changes_are_rejected() {
        check("quit=a", "the key a would both quit and fit");
        check("quit=space", "the key space would both quit and pause");
        check("quit=s", "the key s would both quit and sort");
        check("go=x", "no action \"go\": one of quit, keep, pause, help, ");
        check("quit=xx", "no key \"xx\": a letter or sign, space, comma, ");
        check("quit=ctrl-c", "no key \"ctrl-c\"");
        check("quit=f13", "no key \"f13\"");
        check("quit", "\"quit\": expected action=key, such as quit=x");
    }

    #[track_caller]
    fn check(changes: &str, complaint: &str) {
        let told = Keys::new(changes).unwrap_err().to_string();
        assert!(told.starts_with(complaint), "{told}");
    }
}
