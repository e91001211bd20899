//! Keys and their actions. Each action has its own keys, which `--keys` may change.

use core::fmt;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Action of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Action {
    /// Leave.
    Quit,
    /// Freeze or resume the screen.
    Pause,
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
    /// Lengthen the sampling interval.
    Longer,
    /// Shorten the sampling interval.
    Shorter,
    /// Raise the full-scale value of packets.
    MorePackets,
    /// Lower the full-scale value of packets.
    FewerPackets,
    /// Raise the full-scale value of bits.
    MoreBits,
    /// Lower the full-scale value of bits.
    FewerBits,
    /// Fit the full-scale values to the screen.
    Fit,
    /// Prompt for a filter.
    Filter,
    /// Restart average and peak.
    Restart,
    /// Show all keys.
    Help,
}

/// Every action: its name in `--keys`, its description, and its default keys.
const ACTIONS: [(Action, &str, &str, &[&str]); 17] = [
    (Action::Quit, "quit", "quit", &["q"]),
    (Action::Pause, "pause", "pause, go on", &["space"]),
    (Action::Help, "help", "help", &["?"]),
    (Action::Filter, "filter", "filter", &["/"]),
    (Action::Shorter, "shorter", "shorter interval", &["-"]),
    (Action::Longer, "longer", "longer interval", &["+", "="]),
    (Action::Fit, "fit", "fit scales", &["a"]),
    (Action::Back, "back", "scroll back", &["left", "h"]),
    (Action::Forward, "forward", "scroll forward", &["right", "l"]),
    (Action::ScreenBack, "screen-back", "a screen back", &["pgup", "b"]),
    (Action::ScreenForward, "screen-forward", "a screen forward", &["pgdn", "f"]),
    (Action::Oldest, "oldest", "to the oldest", &["home", "g"]),
    (Action::FewerPackets, "fewer-packets", "packet scale down", &["["]),
    (Action::MorePackets, "more-packets", "packet scale up", &["]"]),
    (Action::FewerBits, "fewer-bits", "bit scale down", &["{"]),
    (Action::MoreBits, "more-bits", "bit scale up", &["}"]),
    (Action::Restart, "restart", "average, peak anew", &["r"]),
];

/// Keys with names of more than one letter.
const NAMED: [(&str, KeyCode); 14] = [
    ("space", KeyCode::Char(' ')),
    ("comma", KeyCode::Char(',')),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
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
                let names: Vec<&str> = ACTIONS.iter().map(|(_, name, ..)| *name).collect();
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

/// Assignment of keys to actions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Keys(Vec<(Action, Vec<Key>)>);

impl Keys {
    /// Returns the default keys, changed by `action=key, action=key, ...`; a named action has only
    /// the keys given.
    ///
    /// # Errors
    /// Fails on an invalid change, and on a key with two actions.
    pub(crate) fn new(changes: &str) -> Result<Self, BadKeys> {
        let read = |name: &str| Key::read(name).ok_or_else(|| BadKeys::NoSuchKey(name.to_owned()));
        let mut keys = Vec::new();
        for (action, _, _, names) in ACTIONS {
            let read: Result<Vec<Key>, BadKeys> = names.iter().map(|name| read(name)).collect();
            keys.push((action, read?));
        }
        let mut changed = Vec::new();
        for change in changes.split(',').map(str::trim).filter(|change| !change.is_empty()) {
            let Some((name, key)) = change.split_once('=') else {
                return Err(BadKeys::NotAPair(change.to_owned()));
            };
            let (name, key) = (name.trim(), read(key.trim())?);
            let place = ACTIONS
                .iter()
                .position(|(_, known, ..)| *known == name)
                .ok_or_else(|| BadKeys::NoSuchAction(name.to_owned()))?;
            let Some((action, of_action)) = keys.get_mut(place) else { continue };
            if !changed.contains(action) {
                changed.push(*action);
                of_action.clear();
            }
            of_action.push(key);
        }
        let keys = Self(keys);
        keys.conflict().map_or(Ok(keys.clone()), Err)
    }

    fn conflict(&self) -> Option<BadKeys> {
        let every = || self.0.iter().flat_map(|(action, keys)| keys.iter().map(|k| (*action, *k)));
        for (place, (action, key)) in every().enumerate() {
            let other = every().skip(place + 1).find(|(_, other)| *other == key);
            if let Some((other, _)) = other.filter(|(other, _)| *other != action) {
                return Some(BadKeys::Conflict(key.to_string(), name(action), name(other)));
            }
        }
        None
    }

    /// Returns the action of a key, if it has one.
    pub(super) fn action(&self, event: &KeyEvent) -> Option<Action> {
        self.0.iter().find(|(_, keys)| keys.iter().any(|key| key.is(event))).map(|(a, _)| *a)
    }

    /// Returns every action, the most important first.
    pub(super) fn list(&self) -> Vec<Bound> {
        let of = |action: Action| {
            let keys = self.0.iter().find(|(known, _)| *known == action);
            let keys = keys.map(|(_, keys)| keys.as_slice()).unwrap_or_default();
            keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        let bound = |(action, name, what, _)| Bound { keys: of(action), name, what };
        ACTIONS.into_iter().map(bound).collect()
    }
}

fn name(action: Action) -> &'static str {
    let found = ACTIONS.into_iter().find(|(known, ..)| *known == action);
    found.map_or("", |(_, name, ..)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(keys: &Keys, code: KeyCode) -> Option<Action> {
        keys.action(&KeyEvent::from(code))
    }

    #[test]
    fn default_keys_do_not_conflict_and_cover_every_action() {
        let keys = Keys::new("").unwrap();
        assert!(keys.list().iter().all(|bound| !bound.keys.is_empty()));
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
        assert_eq!(keys.action(&control), Some(Action::Pause));
        let quit = Bound { keys: "x f10".to_owned(), name: "quit", what: "quit" };
        assert_eq!((keys.list()[0].first(), &keys.list()[0]), ("x", &quit));
        // A key that its action gave up is free for another.
        let swapped = Keys::new("quit=a,fit=q").unwrap();
        assert_eq!(press(&swapped, KeyCode::Char('q')), Some(Action::Fit));
    }

    #[test]
    fn conflicting_keys_and_invalid_changes_are_rejected() {
        check("quit=a", "the key a would both quit and fit");
        check("quit=space", "the key space would both quit and pause");
        check("leave=x", "no action \"leave\": one of quit, pause, help, ");
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
