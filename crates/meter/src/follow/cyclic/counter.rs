//! Order of the frames of a stream with a counter that rolls over: samples of a merging unit, cycles of a
//! controller.
//!
//! The step of CycleCounter is learnt: the most frequent advance of the first 16, because a controller
//! counts time and not frames. The modulus of smpCnt is learnt: when the count first falls to the
//! numbers of a second's beginning, it is the sampling rate that the numbers before fit, or else the
//! greatest number and one. Until then, and for CycleCounter always, it is 65,536.
//!
//! A sequence has a step of one and a modulus that its protocol states. A number more than an eighth of
//! it ahead is no loss: the sender counts anew.
//!
//! Definition: a number is missing if a higher one arrived, by up to fifteen sixteenths of the modulus;
//! it is taken back out if it arrives late, by up to a sixteenth of the modulus, or of a sequence by up
//! to seven eighths of it. Bias: losses of a whole modulus are not seen; `missing` forgets runs of
//! numbers if more than 32 are open.

use super::missing::Missing;
use super::numbers::Order;

/// Steps by which a number that arrived before comes again; one further behind can begin a new count.
const REPEATED: u64 = 63;
/// Advances from which the step is learnt.
const LEARNT_FROM: usize = 16;
/// Modulus of a counter of two octets.
pub(super) const WHOLE: u32 = 1 << 16;
/// Samples lost at the end of a second, or at its beginning, before it is no longer recognised.
const MOST_LOST: u32 = 64;
/// Samples in a second: 9-2LE at 50 and 60 Hz with 80 and 256 samples in a period, IEC 61869-9; and a
/// merging unit that never begins anew.
const RATES: [u32; 7] = [4_000, 4_800, 5_760, 12_800, 14_400, 15_360, WHOLE];

/// Rule by which a publisher counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// One for each sample; the modulus is learnt.
    Samples,
    /// Units of time; the step is learnt.
    Cycles,
    /// One for each frame, by this modulus.
    Sequence(u32),
}

/// Numbers so far, and what they show.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    rule: Rule,
    last: u32,
    /// Learnt modulus; none before.
    modulus: Option<u32>,
    /// Learnt step; none before.
    step: Option<u32>,
    /// Advances before the step is learnt.
    advances: Vec<u32>,
    /// Steps from the first number to the last one.
    place: u64,
    missing: Missing,
    /// Last number far behind that is not missing.
    rival: Option<u32>,
    pub(super) order: Order,
}

impl Counter {
    /// Begins with the first number that was seen.
    pub(super) fn new(rule: Rule, first: u16) -> Self {
        let (step, modulus) = match rule {
            Rule::Samples => (Some(1), None),
            Rule::Cycles => (None, None),
            Rule::Sequence(modulus) => (Some(1), Some(modulus)),
        };
        // A sequence is counted by its modulus.
        let last = u32::from(first) % modulus.unwrap_or(WHOLE).max(1);
        Self {
            rule,
            last,
            modulus,
            step,
            advances: Vec::new(),
            place: 0,
            missing: Missing::default(),
            rival: None,
            order: Order::default(),
        }
    }

    /// Last number in order.
    pub(super) const fn last(&self) -> u32 {
        self.last
    }

    /// Learnt step from one frame, or sample, to the next.
    pub(super) const fn step(&self) -> Option<u32> {
        self.step
    }

    /// Learnt modulus: samples in a second.
    pub(super) const fn rate(&self) -> Option<u32> {
        match self.rule {
            Rule::Samples => self.modulus,
            Rule::Cycles | Rule::Sequence(_) => None,
        }
    }

    /// Adds a number. Returns true if it is the one that follows.
    pub(super) fn add(&mut self, number: u16) -> bool {
        let number = match self.rule {
            Rule::Sequence(modulus) => u32::from(number) % modulus.max(1),
            Rule::Samples | Rule::Cycles => number.into(),
        };
        if self.rule == Rule::Samples && self.modulus.is_some_and(|modulus| number >= modulus) {
            // The modulus is greater than it seemed.
            self.modulus = None;
        }
        let behind = ahead(number, self.last, self.modulus.unwrap_or(WHOLE));
        if self.is_old(number, behind) {
            self.old(number, behind);
            return false;
        }
        let advance = ahead(self.last, number, self.modulus_at(number));
        (self.last, self.rival) = (number, None);
        self.advance(advance)
    }

    /// True for a number that is not ahead of the last one. While the modulus of samples is not known, a
    /// fall is one too, unless it is long and to the first numbers of a second.
    const fn is_old(&self, number: u32, behind: u32) -> bool {
        match (self.rule, self.modulus) {
            (Rule::Samples, None) if number > self.last => false,
            (Rule::Samples, None) => number > MOST_LOST || behind <= MOST_LOST,
            (Rule::Samples, Some(modulus)) => behind <= modulus / 16,
            (Rule::Cycles, _) => behind <= WHOLE / 16,
            (Rule::Sequence(modulus), _) => behind < modulus - modulus / 8,
        }
    }

    /// Modulus, learnt where the count falls back.
    fn modulus_at(&mut self, number: u32) -> u32 {
        if self.rule == Rule::Samples && self.modulus.is_none() && number < self.last {
            let least = self.last + 1;
            let fits = |rate: &u32| (least..=least + MOST_LOST).contains(rate);
            self.modulus = Some(RATES.into_iter().find(fits).unwrap_or(least));
        }
        self.modulus.unwrap_or(WHOLE)
    }

    /// Adds a number that is not ahead of the last one. It is late if it is missing. A single one far
    /// behind that is not missing is old; a second one that goes on from it shows that the publisher
    /// counts anew.
    fn old(&mut self, number: u32, behind: u32) {
        let step = self.step.unwrap_or(1);
        if behind.is_multiple_of(step) {
            let steps = u64::from(behind / step);
            if self.place.checked_sub(steps).is_some_and(|place| self.missing.take(place)) {
                self.order.missing -= 1;
                self.order.out_of_order += 1;
                return;
            }
            if steps <= REPEATED {
                self.order.repeated += 1;
                return;
            }
        }
        let goes_on = |rival: u32| number > rival && number - rival <= 63 * step;
        if self.rival.is_some_and(goes_on) {
            self.order.backwards -= 1;
            self.order.restarts += 1;
            self.missing.clear();
            (self.last, self.rival, self.place) = (number, None, 0);
        } else {
            self.order.backwards += 1;
            self.rival = Some(number);
        }
    }

    fn advance(&mut self, advance: u32) -> bool {
        let Some(step) = self.step else {
            self.advances.push(advance);
            if self.advances.len() == LEARNT_FROM {
                self.learn();
            }
            return false;
        };
        // Most frames follow the one before.
        if advance == step {
            self.place += 1;
            return true;
        }
        let steps = steps(advance, step);
        if steps > 1 {
            self.missing.add(self.place + 1, steps - 1);
            self.order.missing += u64::from(steps - 1);
        }
        self.place += u64::from(steps);
        false
    }

    /// Learns the step, and what the advances before it missed.
    fn learn(&mut self) {
        let advances = core::mem::take(&mut self.advances);
        let count = |of: u32| advances.iter().filter(|advance| **advance == of).count();
        // Of equally frequent ones the least.
        let step = advances.iter().copied().max_by_key(|of| (count(*of), u32::MAX - of));
        let step = step.unwrap_or(1);
        self.step = Some(step);
        let missed = advances.into_iter().map(|advance| u64::from(steps(advance, step) - 1));
        self.order.missing += missed.sum::<u64>();
    }
}

/// Distance from a number up to another, both below the modulus.
#[inline]
const fn ahead(from: u32, to: u32, modulus: u32) -> u32 {
    if to >= from { to - from } else { to + modulus - from }
}

/// Number of steps in an advance, to the nearest; at least one.
const fn steps(advance: u32, step: u32) -> u32 {
    let steps = (advance + step / 2) / step;
    if steps == 0 { 1 } else { steps }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;

    fn counted(rule: Rule, numbers: impl IntoIterator<Item = u16>) -> Counter {
        let mut numbers = numbers.into_iter();
        let mut counter = Counter::new(rule, numbers.next().unwrap());
        numbers.for_each(|number| {
            counter.add(number);
        });
        counter
    }

    #[test]
    fn a_second_without_loss_teaches_the_rate() {
        let numbers = (0..10_000_u32).map(|n| (n % 4_000) as u16);
        let counter = counted(Rule::Samples, numbers);
        assert_eq!((counter.rate(), counter.order), (Some(4_000), Order::default()));
        // Three samples are lost where the second ends.
        let numbers = (3_000..5_000_u32).filter(|n| !(3_998..4_001).contains(n));
        let counter = counted(Rule::Samples, numbers.map(|n| (n % 4_000) as u16));
        assert_eq!((counter.rate(), counter.order.missing), (Some(4_000), 3));
    }

    #[test]
    fn a_late_sample_is_not_missing_and_a_repeated_one_counts() {
        let counter = counted(Rule::Samples, [7, 8, 11, 9, 9, 12, 12, 13]);
        let expected = Order { missing: 1, out_of_order: 1, repeated: 2, ..Order::default() };
        assert_eq!(counter.order, expected);
    }

    #[test]
    fn frames_that_a_switch_held_for_more_than_64_numbers_are_late() {
        // A queue held 50 frames, of which the tenth was lost, until another had sent 70.
        let late = (1_000..1_050_u16).filter(|n| *n != 1_010);
        let numbers = (0..1_000).chain(1_050..1_120).chain(late).chain(1_120..1_300);
        let expected = Order { missing: 1, out_of_order: 49, ..Order::default() };
        for rule in [Rule::Samples, Rule::Cycles, Rule::Sequence(WHOLE)] {
            assert_eq!(counted(rule, numbers.clone()).order, expected, "{rule:?}");
        }
        // Cycles of 1 ms, each 32 units of the counter.
        let cycles = numbers.map(|n| n.wrapping_mul(32));
        assert_eq!(counted(Rule::Cycles, cycles).order, expected);
    }

    #[test]
    fn a_new_count_among_missing_numbers_is_followed() {
        let numbers = (0..200_u16).chain(300..500).chain(50..120);
        let order = counted(Rule::Sequence(WHOLE), numbers).order;
        assert_eq!(order, Order { missing: 100, restarts: 1, ..Order::default() });
        // The first three are taken for late frames.
        let numbers = (0..200_u16).chain(300..500).chain(297..420);
        let order = counted(Rule::Sequence(WHOLE), numbers).order;
        let expected = Order { missing: 97, out_of_order: 3, restarts: 1, ..Order::default() };
        assert_eq!(order, expected);
    }

    #[test]
    fn the_step_of_cycles_is_learnt_and_losses_before_it_count() {
        let cycles = (0..40_u16).filter(|n| ![3, 30, 31].contains(n));
        let counter =
            counted(Rule::Cycles, cycles.map(|n| n.wrapping_mul(64).wrapping_add(65_000)));
        assert_eq!((counter.step(), counter.order.missing), (Some(64), 3));
    }

    #[test]
    fn an_old_number_is_no_restart_and_two_that_go_on_are() {
        let run = || 1_000_u16..1_100;
        let old = counted(Rule::Samples, run().chain([900, 1_100, 1_101]));
        assert_eq!(old.order, Order { backwards: 1, ..Order::default() });
        let again = counted(Rule::Samples, run().chain([900, 901, 902]));
        assert_eq!(again.order, Order { restarts: 1, ..Order::default() });
    }

    #[test]
    fn any_numbers_are_counted() {
        let mut draw = Draw(2_026);
        for rule in [Rule::Samples, Rule::Cycles] {
            for _ in 0..2_000 {
                let narrow = draw.below(2) == 0;
                let range = if narrow { 200 } else { 1 << 16 };
                let numbers: Vec<u16> = (0..60).map(|_| draw.below(range) as u16).collect();
                let order = counted(rule, numbers).order;
                let others = order.out_of_order + order.repeated + order.backwards + order.restarts;
                assert!(others < 60, "{order:?}");
            }
        }
    }
}
