//! Settings of the monitor, and the effect of its keys on them.

use super::{Interval, Snapshot, Window};
use crate::tui::effect::Effect;
use crate::tui::keys::Action;
use core::time::Duration;

/// Limits of full-scale values.
const LEAST_SCALE: f64 = 1.0;
const GREATEST_SCALE: f64 = 1e12;

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

/// Settings of the monitor.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Bars {
    pub(crate) interval: Interval,
    pub(crate) scales: Scales,
    pub(crate) growth: Growth,
    /// End of a frozen or scrolled window, since the start.
    pub(crate) until: Option<Duration>,
}

impl Bars {
    /// Raises growing full-scale values until every bar on the screen fits.
    pub(in crate::tui) fn grow(&mut self, seen: &Snapshot) {
        // The interval of records stays whatever was asked for.
        self.interval = seen.interval;
        let Scales { packets, bits } = longest(seen);
        if self.growth.packets {
            self.scales.packets = self.scales.packets.max(packets);
        }
        if self.growth.bits {
            self.scales.bits = self.scales.bits.max(bits);
        }
    }

    /// Returns the part of the history that a screen with room for `samples` samples shows.
    pub(in crate::tui) const fn look(&self, samples: usize) -> Window {
        Window { samples, until: self.until }
    }

    /// Applies an action; `seen` is on a screen with room for `room` samples. Actions of other
    /// pages have no effect.
    pub(in crate::tui) fn act(&mut self, action: Action, seen: &Snapshot, room: usize) -> Effect {
        let screen = i64::try_from(room.max(2) - 1).unwrap_or(i64::MAX);
        match action {
            Action::Back => self.scroll(-1, seen),
            Action::Forward => self.scroll(1, seen),
            Action::ScreenBack => self.scroll(-screen, seen),
            Action::ScreenForward => self.scroll(screen, seen),
            Action::Oldest => {
                let end = (seen.oldest + room as u64).min(seen.end);
                self.until = Some(seen.interval.times(end));
            }
            Action::Longer => return self.sample(self.interval.longer()),
            Action::Shorter => return self.sample(self.interval.shorter()),
            Action::MorePackets => self.scale_packets(greater),
            Action::FewerPackets => self.scale_packets(smaller),
            Action::MoreBits => self.scale_bits(greater),
            Action::FewerBits => self.scale_bits(smaller),
            Action::Fit => self.scales = longest(seen),
            Action::Restart => return Effect::Restart,
            _ => {}
        }
        Effect::None
    }

    fn sample(&mut self, interval: Interval) -> Effect {
        if interval == self.interval {
            return Effect::None;
        }
        self.interval = interval;
        Effect::Interval(interval)
    }

    /// Moves the end of the window by `by` samples, within the history.
    fn scroll(&mut self, by: i64, seen: &Snapshot) {
        let end = seen.first + seen.samples.len() as u64;
        let least = (seen.oldest + 1).min(seen.end);
        let end = end.saturating_add_signed(by).clamp(least, seen.end);
        self.until = Some(seen.interval.times(end));
    }

    fn scale_packets(&mut self, step: fn(f64) -> f64) {
        self.scales.packets = step(self.scales.packets);
        self.growth.packets = false;
    }

    fn scale_bits(&mut self, step: fn(f64) -> f64) {
        self.scales.bits = step(self.scales.bits);
        self.growth.bits = false;
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
