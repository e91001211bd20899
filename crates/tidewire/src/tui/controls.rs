//! Settings of the operator, and the effect of each key on them. Pure: no terminal, no clock.

use super::gather::{Snapshot, Window};
use super::keys::{Action, Keys};
use super::sample::Interval;
use core::time::Duration;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use wire::filter::{Filter, NotAFilter};

/// Limits of full-scale values.
const LEAST_SCALE: f64 = 1.0;
const GREATEST_SCALE: f64 = 1e12;
/// Maximum length of a filter.
const LONGEST_PROMPT: usize = 60;

/// Order to the gathering thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// Send a snapshot.
    Look(Window),
    /// Sample at this interval.
    Interval(Interval),
    /// Show the frames of this filter.
    Filter(Filter),
    /// Restart average and peak.
    Restart,
}

/// Effect of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// Nothing, or only a change on the screen.
    None,
    /// An order to the gathering thread.
    Order(Order),
    /// Leaves the monitor.
    Quit,
    /// Leaves the monitor by Ctrl-C.
    Interrupt,
}

/// Full-scale values of the two charts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Scales {
    /// Packets per second of a full-length bar.
    pub(crate) packets: f64,
    /// Bits per second of a full-length bar.
    pub(crate) bits: f64,
}

/// Full-scale values that grow with the longest bar: those neither given as arguments nor set by a
/// key.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Growth {
    /// Growth of packets per second.
    pub(crate) packets: bool,
    /// Growth of bits per second.
    pub(crate) bits: bool,
}

/// Settings of the operator.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Controls {
    pub(super) keys: Keys,
    pub(super) interval: Interval,
    pub(super) scales: Scales,
    growth: Growth,
    /// End of a frozen or scrolled window, since the start.
    pub(super) paused_at: Option<Duration>,
    /// The filter being typed.
    pub(super) prompt: Option<String>,
    /// Error in the last filter typed.
    pub(super) complaint: Option<String>,
    pub(super) is_help_shown: bool,
}

impl Controls {
    /// Returns the settings at the start of the monitor.
    pub(super) const fn new(keys: Keys, interval: Interval, scales: Scales) -> Self {
        Self {
            keys,
            interval,
            scales,
            growth: Growth { packets: false, bits: false },
            paused_at: None,
            prompt: None,
            complaint: None,
            is_help_shown: false,
        }
    }

    /// Returns the same settings with growing full-scale values.
    pub(super) const fn growing(mut self, growth: Growth) -> Self {
        self.growth = growth;
        self
    }

    /// Raises growing full-scale values until every bar on the screen fits.
    pub(super) fn grow(&mut self, seen: &Snapshot) {
        let Scales { packets, bits } = longest(seen);
        if self.growth.packets {
            self.scales.packets = self.scales.packets.max(packets);
        }
        if self.growth.bits {
            self.scales.bits = self.scales.bits.max(bits);
        }
    }

    /// Returns the part of the history that a screen with room for `samples` samples shows.
    pub(super) const fn look(&self, samples: usize) -> Window {
        Window { samples, until: self.paused_at }
    }

    /// Applies a key; `seen` is on a screen with room for `room` samples.
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
            Action::MorePackets => self.scale_packets(greater),
            Action::FewerPackets => self.scale_packets(smaller),
            Action::MoreBits => self.scale_bits(greater),
            Action::FewerBits => self.scale_bits(smaller),
            Action::Fit => self.scales = longest(seen),
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

    /// Moves the end of the window by `by` samples, within the history. Freezes the screen.
    fn scroll(&mut self, by: i64, seen: &Snapshot) {
        let end = seen.first + seen.samples.len() as u64;
        let least = (seen.oldest + 1).min(seen.end);
        let end = end.saturating_add_signed(by).clamp(least, seen.end);
        self.paused_at = Some(seen.interval.times(end));
    }

    fn scale_packets(&mut self, step: fn(f64) -> f64) {
        self.scales.packets = step(self.scales.packets);
        self.growth.packets = false;
    }

    fn scale_bits(&mut self, step: fn(f64) -> f64) {
        self.scales.bits = step(self.scales.bits);
        self.growth.bits = false;
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

/// Returns the smallest full-scale values that fit every bar on the screen.
fn longest(seen: &Snapshot) -> Scales {
    let rates = || seen.samples.iter().map(|sample| seen.interval.rates(*sample, 1));
    let packets = rates().map(|rates| rates.packets).fold(LEAST_SCALE, f64::max);
    let bits = rates().map(|rates| rates.bits).fold(LEAST_SCALE, f64::max);
    Scales { packets: at_least(packets), bits: at_least(bits) }
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
    fn scrolling_stays_within_the_history() {
        let mut controls = controls();
        press(&mut controls, KeyCode::Left);
        assert_eq!(controls.paused_at, Some(Duration::from_millis(14_500)));
        press(&mut controls, KeyCode::PageUp);
        // Nine of ten samples, so that one stays visible.
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
    fn the_interval_is_ordered_from_the_gathering_thread() {
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
    fn scales_step_in_1_2_5_and_fit_the_samples_shown() {
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
    fn a_first_scale_grows_until_a_key_sets_it() {
        let interval = Interval::new(Duration::from_millis(500)).unwrap();
        let first = || {
            let scales = Scales { packets: 10.0, bits: 1e6 };
            Controls::new(Keys::new("").unwrap(), interval, scales)
        };
        let mut fixed = first();
        fixed.grow(&seen(&first()));
        assert_eq!(fixed.scales, Scales { packets: 10.0, bits: 1e6 });
        let mut growing = first().growing(Growth { packets: true, bits: true });
        growing.grow(&seen(&first()));
        // 42 packets/s and 33,600 bit/s.
        assert_eq!(growing.scales, Scales { packets: 50.0, bits: 1e6 });
        press(&mut growing, KeyCode::Char('['));
        growing.grow(&seen(&first()));
        assert_eq!(growing.scales.packets, 20.0);
    }

    #[test]
    fn a_filter_is_typed_mended_and_taken() {
        let mut controls = controls();
        press(&mut controls, KeyCode::Char('/'));
        // Letters that are keys elsewhere are text in the prompt.
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
