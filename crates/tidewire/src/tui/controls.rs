//! What the operator has set, and what each key changes of it. Pure: no terminal, no clock.

use super::gather::{Snapshot, Window};
use super::keys::{Action, Keys};
use super::sample::Interval;
use core::time::Duration;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use wire::filter::{Filter, NotAFilter};

/// Full-scale values can be stepped between these.
const LEAST_SCALE: f64 = 1.0;
const GREATEST_SCALE: f64 = 1e12;
/// A filter is no longer than this.
const LONGEST_PROMPT: usize = 60;

/// What the one who gathers is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// Give a snapshot.
    Look(Window),
    /// Sample at this interval.
    Interval(Interval),
    /// Show other frames.
    Filter(Filter),
    /// Begin average and peak anew.
    Restart,
}

/// What follows from a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// Nothing, or only on the screen.
    None,
    /// Something for the one who gathers.
    Order(Order),
    /// The end.
    Quit,
    /// The end by Ctrl-C.
    Interrupt,
}

/// The full-scale values of the two charts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Scales {
    /// Packets per second of a full-length bar.
    pub(crate) packets: f64,
    /// Bits per second of a full-length bar.
    pub(crate) bits: f64,
}

/// What the operator has set.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Controls {
    pub(super) keys: Keys,
    pub(super) interval: Interval,
    pub(super) scales: Scales,
    /// Where the screen was frozen or scrolled to, since the start.
    pub(super) paused_at: Option<Duration>,
    /// The filter being typed.
    pub(super) prompt: Option<String>,
    /// What was wrong with the last one.
    pub(super) complaint: Option<String>,
    pub(super) is_help_shown: bool,
}

impl Controls {
    /// As they are when the monitor starts.
    pub(super) const fn new(keys: Keys, interval: Interval, scales: Scales) -> Self {
        Self {
            keys,
            interval,
            scales,
            paused_at: None,
            prompt: None,
            complaint: None,
            is_help_shown: false,
        }
    }

    /// The part of the history a screen with room for so many samples shows.
    pub(super) const fn look(&self, samples: usize) -> Window {
        Window { samples, until: self.paused_at }
    }

    /// What a key does, `seen` being on a screen with room for so many samples.
    pub(super) fn press(&mut self, key: &KeyEvent, seen: &Snapshot, room: usize) -> Effect {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return Effect::Interrupt;
        }
        if let Some(prompt) = self.prompt.take() {
            return self.type_on(prompt, key.code);
        }
        self.complaint = None;
        let action = self.keys.action(key);
        if core::mem::take(&mut self.is_help_shown) && action != Some(Action::Quit) {
            return Effect::None;
        }
        action.map_or(Effect::None, |action| self.act(action, seen, room))
    }

    fn act(&mut self, action: Action, seen: &Snapshot, room: usize) -> Effect {
        let screen = i64::try_from(room.max(2) - 1).unwrap_or(i64::MAX);
        match action {
            Action::Quit => return Effect::Quit,
            Action::Pause => {
                self.paused_at = match self.paused_at {
                    Some(_) => None,
                    None => Some(seen.interval.times(seen.end)),
                };
            }
            Action::Back => self.scroll(-1, seen),
            Action::Forward => self.scroll(1, seen),
            Action::ScreenBack => self.scroll(-screen, seen),
            Action::ScreenForward => self.scroll(screen, seen),
            Action::Oldest => {
                let end = (seen.oldest + room as u64).min(seen.end);
                self.paused_at = Some(seen.interval.times(end));
            }
            Action::Longer => return self.sample(self.interval.longer()),
            Action::Shorter => return self.sample(self.interval.shorter()),
            Action::MorePackets => self.scales.packets = greater(self.scales.packets),
            Action::FewerPackets => self.scales.packets = smaller(self.scales.packets),
            Action::MoreBits => self.scales.bits = greater(self.scales.bits),
            Action::FewerBits => self.scales.bits = smaller(self.scales.bits),
            Action::Fit => self.fit(seen),
            Action::Filter => self.prompt = Some(String::new()),
            Action::Restart => return Effect::Order(Order::Restart),
            Action::Help => self.is_help_shown = true,
        }
        Effect::None
    }

    fn sample(&mut self, interval: Interval) -> Effect {
        if interval == self.interval {
            return Effect::None;
        }
        self.interval = interval;
        Effect::Order(Order::Interval(interval))
    }

    /// Moves the end of the window by so many samples, within what is kept. Freezes the screen.
    fn scroll(&mut self, by: i64, seen: &Snapshot) {
        let end = seen.first + seen.samples.len() as u64;
        let least = (seen.oldest + 1).min(seen.end);
        let end = end.saturating_add_signed(by).clamp(least, seen.end);
        self.paused_at = Some(seen.interval.times(end));
    }

    fn fit(&mut self, seen: &Snapshot) {
        let rates = || seen.samples.iter().map(|sample| seen.interval.rates(*sample, 1));
        let packets = rates().map(|rates| rates.packets).fold(LEAST_SCALE, f64::max);
        let bits = rates().map(|rates| rates.bits).fold(LEAST_SCALE, f64::max);
        self.scales = Scales { packets: at_least(packets), bits: at_least(bits) };
    }

    fn type_on(&mut self, mut prompt: String, code: KeyCode) -> Effect {
        match code {
            KeyCode::Esc => return Effect::None,
            KeyCode::Enter => match prompt.parse() {
                Ok(filter) => {
                    self.complaint = None;
                    return Effect::Order(Order::Filter(filter));
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

/// 1, 2, 5, 10, 20, 50, ...
fn steps() -> impl DoubleEndedIterator<Item = f64> {
    (0..=12).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)))
}

fn at_least(value: f64) -> f64 {
    steps().find(|step| *step >= value).unwrap_or(GREATEST_SCALE)
}

fn greater(scale: f64) -> f64 {
    steps().find(|step| *step > scale).unwrap_or(scale).min(GREATEST_SCALE)
}

fn smaller(scale: f64) -> f64 {
    steps().rev().find(|step| *step < scale).unwrap_or(LEAST_SCALE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::gather::Gather;
    use wire::dissect::Link;
    use wire::time::Instant;

    /// 30 samples of 500 ms; the last has 21 packets of 100 octets, the others one each.
    fn seen(controls: &Controls) -> Snapshot {
        let mut gather = Gather::new(controls.interval, Filter::all());
        let mut hear = |millis: u64| {
            let at = Instant::from_nanos(millis * 1_000_000);
            gather.observe(at, Link::Ethernet, &[0; 100], 100);
        };
        (0..30).for_each(|sample| hear(500 * sample));
        (0..20).for_each(|n| hear(14_500 + n));
        gather.finish();
        gather.snapshot(controls.look(10))
    }

    fn controls() -> Controls {
        let interval = Interval::new(Duration::from_millis(500)).unwrap();
        Controls::new(Keys::new("").unwrap(), interval, Scales { packets: 100.0, bits: 1e6 })
    }

    fn press(controls: &mut Controls, code: KeyCode) -> Effect {
        let seen = seen(controls);
        controls.press(&KeyEvent::from(code), &seen, 10)
    }

    fn many(controls: &mut Controls, times: usize, code: KeyCode) {
        for _ in 0..times {
            assert_eq!(press(controls, code), Effect::None);
        }
    }

    fn type_in(controls: &mut Controls, text: &str) {
        text.chars().for_each(|letter| {
            assert_eq!(press(controls, KeyCode::Char(letter)), Effect::None);
        });
    }

    #[test]
    fn space_freezes_the_screen_where_it_is_and_lets_it_go_on() {
        let mut controls = controls();
        assert_eq!(press(&mut controls, KeyCode::Char(' ')), Effect::None);
        assert_eq!(controls.paused_at, Some(Duration::from_secs(15)));
        press(&mut controls, KeyCode::Char(' '));
        assert_eq!(controls.paused_at, None);
    }

    #[test]
    fn scrolling_stays_within_what_is_kept() {
        let mut controls = controls();
        press(&mut controls, KeyCode::Left);
        assert_eq!(controls.paused_at, Some(Duration::from_millis(14_500)));
        press(&mut controls, KeyCode::PageUp);
        // Nine samples of ten, so that one stays in sight.
        assert_eq!(controls.paused_at, Some(Duration::from_secs(10)));
        many(&mut controls, 9, KeyCode::PageUp);
        assert_eq!(controls.paused_at, Some(Duration::from_millis(500)));
        press(&mut controls, KeyCode::Home);
        assert_eq!(controls.paused_at, Some(Duration::from_secs(5)));
        many(&mut controls, 9, KeyCode::PageDown);
        assert_eq!(controls.paused_at, Some(Duration::from_secs(15)));
        press(&mut controls, KeyCode::Right);
        assert_eq!(controls.paused_at, Some(Duration::from_secs(15)));
    }

    #[test]
    fn the_interval_is_set_for_the_one_who_gathers() {
        let mut controls = controls();
        let every = |millis| Interval::new(Duration::from_millis(millis)).unwrap();
        let effect = press(&mut controls, KeyCode::Char('+'));
        assert_eq!(effect, Effect::Order(Order::Interval(every(1_000))));
        press(&mut controls, KeyCode::Char('-'));
        let effect = press(&mut controls, KeyCode::Char('-'));
        assert_eq!(effect, Effect::Order(Order::Interval(every(200))));
        controls.interval = every(60_000);
        assert_eq!(press(&mut controls, KeyCode::Char('+')), Effect::None);
    }

    #[test]
    fn scales_step_in_1_2_5_and_fit_what_is_shown() {
        let mut controls = controls();
        press(&mut controls, KeyCode::Char(']'));
        press(&mut controls, KeyCode::Char('{'));
        assert_eq!(controls.scales, Scales { packets: 200.0, bits: 500_000.0 });
        press(&mut controls, KeyCode::Char('a'));
        // 21 packets in 500 ms are 42 /s, and 42 x 800 bit/s = 33,600.
        assert_eq!(controls.scales, Scales { packets: 50.0, bits: 50_000.0 });
        many(&mut controls, 50, KeyCode::Char('['));
        many(&mut controls, 50, KeyCode::Char('}'));
        assert_eq!(controls.scales, Scales { packets: LEAST_SCALE, bits: GREATEST_SCALE });
    }

    #[test]
    fn a_filter_is_typed_mended_and_taken() {
        let mut controls = controls();
        press(&mut controls, KeyCode::Char('/'));
        // Letters that are keys elsewhere are letters here.
        type_in(&mut controls, "from 2:0:0:0:0:q");
        assert_eq!(press(&mut controls, KeyCode::Enter), Effect::None);
        assert!(controls.complaint.as_deref().unwrap().contains("expected an address such as"));
        press(&mut controls, KeyCode::Backspace);
        type_in(&mut controls, "7");
        let filter = "from 2:0:0:0:0:7".parse().unwrap();
        assert_eq!(press(&mut controls, KeyCode::Enter), Effect::Order(Order::Filter(filter)));
        assert_eq!((&controls.prompt, &controls.complaint), (&None, &None));
        press(&mut controls, KeyCode::Char('/'));
        type_in(&mut controls, "to");
        assert_eq!(press(&mut controls, KeyCode::Esc), Effect::None);
        assert_eq!(controls.prompt, None);
    }

    #[test]
    fn any_key_leaves_the_help_and_quits_only_where_it_says_so() {
        let mut controls = controls();
        press(&mut controls, KeyCode::Char('?'));
        assert!(controls.is_help_shown);
        assert_eq!(press(&mut controls, KeyCode::Char('r')), Effect::None);
        assert!(!controls.is_help_shown);
        assert_eq!(press(&mut controls, KeyCode::Char('r')), Effect::Order(Order::Restart));
        press(&mut controls, KeyCode::Char('?'));
        assert_eq!(press(&mut controls, KeyCode::Char('q')), Effect::Quit);
    }

    #[test]
    fn ctrl_c_ends_it_even_while_a_filter_is_typed() {
        let mut controls = controls();
        press(&mut controls, KeyCode::Char('/'));
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        let seen = seen(&controls);
        assert_eq!(controls.press(&key, &seen, 10), Effect::Interrupt);
    }
}
