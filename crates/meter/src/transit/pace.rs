//! Progress of each tap, and the tap to read next.
//!
//! A tap's age is the time by its clock, except that each step of the clock counts for at least
//! zero and at most a second: it grows evenly even if the clock is set. TPDUs seen at both taps
//! show the common progress, by the ages at which they passed each tap: any TPDU that passed one
//! tap before that, and is not late, has passed the other.
//!
//! A TPDU that passed one tap long before the other was opened does not wait, if the clocks are
//! known to agree well enough; and no new TPDU waits for a tap that has ended.
//!
//! Taps are read in the order of their clocks. If the clocks turn out to differ (many TPDUs of one
//! tap match none of the other), the other tap is read. From the next match on, the taps are read
//! with that difference.

use super::Tap;
use wire::time::Instant;

/// Largest step of a clock, or of a pair, that counts.
const STEP_NS: u64 = 1_000_000_000;

/// Progress of both taps.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    first: [Option<Instant>; 2],
    last: [Option<Instant>; 2],
    is_over: [bool; 2],
    /// For a tap that has ended, the age of the other tap when its clock reached the same time.
    passed_ns: [Option<u64>; 2],
    /// True if a TPDU at a tap may have passed the other tap since that was opened.
    is_within: [bool; 2],
    ages_ns: [u64; 2],
    together_ns: [u64; 2],
    /// TPDUs of each tap since the last pair.
    alone: [usize; 2],
    /// Number of TPDUs without a pair after which the other tap is read.
    patience: usize,
    has_paired: bool,
    /// Lead of the far tap's stamps, as they are read.
    apart_ns: i64,
    /// True if the lead is known.
    is_known: bool,
}

impl Pace {
    /// Initial state; after `patience` TPDUs without a pair the other tap is read.
    pub(super) fn new(patience: usize) -> Self {
        Self {
            first: [None; 2],
            last: [None; 2],
            is_over: [false; 2],
            passed_ns: [None; 2],
            is_within: [false; 2],
            ages_ns: [0; 2],
            together_ns: [0; 2],
            alone: [0; 2],
            patience,
            has_paired: false,
            apart_ns: 0,
            is_known: false,
        }
    }

    /// Sets the initial lead of the far tap's stamps.
    pub(super) fn set_apart(&mut self, nanos: i64) {
        (self.apart_ns, self.is_known) = (nanos, true);
    }

    /// Marks a tap as ended.
    pub(super) fn end(&mut self, tap: Tap) {
        self.is_over[tap as usize] = true;
        self.note_passed(tap);
    }

    /// Allows TPDUs that the taps held back to come in any order.
    pub(super) fn release(&mut self) {
        (self.is_over, self.passed_ns) = ([false; 2], [None; 2]);
    }

    /// Lead of the other tap's stamps over those of this tap.
    fn apart_from(&self, tap: Tap) -> i128 {
        let apart = i128::from(self.apart_ns);
        match tap {
            Tap::Near => apart,
            Tap::Far => -apart,
        }
    }

    /// Records whether the other tap has reached the last frame of a tap that has ended.
    #[inline]
    fn note_passed(&mut self, over: Tap) {
        let (this, other) = (over as usize, over.other() as usize);
        if !self.is_over[this] || self.passed_ns[this].is_some() {
            return;
        }
        let is_passed = match (self.last[this], self.last[other]) {
            (None, _) => true,
            (_, None) => false,
            (Some(last), Some(now)) => {
                let last = i128::from(last.as_nanos()) + self.apart_from(over);
                i128::from(now.as_nanos()) >= last
            }
        };
        self.passed_ns[this] = is_passed.then_some(self.ages_ns[other]);
    }

    /// True if a TPDU that passes this tap now will never be seen at the other tap: that has ended,
    /// or was opened later by more than `longest_ns`.
    #[inline]
    pub(super) fn is_out_of_reach(&mut self, tap: Tap, at: Instant, longest_ns: u64) -> bool {
        let other = tap.other() as usize;
        if self.is_over[other] {
            return true;
        }
        let Some(first) = self.first[other].filter(|_| self.is_known) else { return false };
        if !self.is_within[tap as usize] {
            let latest = i128::from(at.as_nanos()) + self.apart_from(tap) + i128::from(longest_ns);
            self.is_within[tap as usize] = latest >= i128::from(first.as_nanos());
        }
        !self.is_within[tap as usize]
    }

    /// Processes the time of a frame.
    #[inline]
    pub(super) fn pass(&mut self, tap: Tap, at: Instant) {
        let last = self.last[tap as usize].replace(at).unwrap_or_else(|| {
            self.first[tap as usize] = Some(at);
            at
        });
        self.ages_ns[tap as usize] += at.nanos_since(last).min(STEP_NS);
        self.note_passed(tap.other());
    }

    /// Age of a tap.
    pub(super) const fn age(&self, tap: Tap) -> Instant {
        Instant::from_nanos(self.ages_ns[tap as usize])
    }

    /// Age up to which a tap has progressed together with the other. At a tap that has ended
    /// nothing more arrives, so if the clock difference is known, its own age counts. It counts no
    /// further than the progress of the other tap since the last pair, because a clock may be set;
    /// nor than its progress since the same time by its clock, because ages grow less than time.
    pub(super) fn together(&self, tap: Tap) -> Instant {
        let (this, other) = (tap as usize, tap.other() as usize);
        let together_ns = if self.is_known && self.is_over[other] {
            self.ages_ns[this]
        } else if let Some(passed_ns) = self.passed_ns[this].filter(|_| self.is_known) {
            let by_age = self.ages_ns[other].saturating_sub(self.together_ns[other]);
            let by_clock = self.ages_ns[this] + (self.ages_ns[other] - passed_ns);
            by_clock.min(self.together_ns[this] + by_age)
        } else {
            self.together_ns[this]
        };
        Instant::from_nanos(together_ns)
    }

    /// Counts a TPDU without a pair so far.
    #[inline]
    pub(super) fn note_alone(&mut self, tap: Tap) {
        self.alone[tap as usize] += 1;
    }

    /// Processes the ages at which a copy of a TPDU passed both taps, and the difference of its
    /// stamps, if there is no other copy.
    pub(super) fn note_pair(&mut self, ages: [Instant; 2], difference_ns: Option<i64>) {
        let is_long = self.alone.iter().any(|alone| *alone >= self.patience);
        if let Some(nanos) = difference_ns.filter(|_| is_long) {
            self.apart_ns = nanos;
        }
        if difference_ns.is_some() || !is_long {
            self.alone = [0; 2];
        }
        self.has_paired = true;
        // A copy may be matched wrongly, so no single pair has much effect.
        for (together, age) in self.together_ns.iter_mut().zip(ages) {
            let (least, most) = (together.saturating_sub(STEP_NS), *together + STEP_NS);
            *together = age.as_nanos().clamp(least, most);
        }
    }

    /// Tap whose next frame is to be read.
    pub(super) fn turn(&self) -> Tap {
        let [Some(near), Some(far)] = self.last else {
            return if self.last[0].is_none() { Tap::Near } else { Tap::Far };
        };
        let near = i128::from(near.as_nanos()) + i128::from(self.apart_ns);
        let behind = if near <= i128::from(far.as_nanos()) { Tap::Near } else { Tap::Far };
        let is_long = |tap: Tap| self.alone[tap as usize] >= self.patience;
        let other = behind.other();
        if self.has_paired && is_long(behind) && !is_long(other) { other } else { behind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Tap::{Far, Near};

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * STEP_NS)
    }

    #[test]
    fn the_older_tap_is_read_until_nothing_matches() {
        let mut pace = Pace::new(3);
        assert_eq!(pace.turn(), Near);
        pace.pass(Near, at(10));
        assert_eq!(pace.turn(), Far);
        pace.pass(Far, at(12));
        assert_eq!(pace.turn(), Near);
        (0..9).for_each(|_| pace.note_alone(Near));
        assert_eq!(pace.turn(), Near, "the far tap may have been opened later");
        pace.note_pair([at(1), at(1)], Some(2));
        // The far clock is set an hour ahead.
        pace.pass(Far, at(3_612));
        (0..2).for_each(|_| pace.note_alone(Near));
        assert_eq!(pace.turn(), Near);
        pace.note_alone(Near);
        assert_eq!(pace.turn(), Far);
        pace.note_pair([at(1), at(1)], Some(3_600_000_000_000));
        pace.pass(Near, at(12));
        assert_eq!(pace.turn(), Near, "equal");
        pace.pass(Near, at(13));
        assert_eq!(pace.turn(), Far, "13 and 3,600 come after 3,612");
    }

    #[test]
    fn without_matches_taps_are_read_in_the_order_of_clocks() {
        let mut pace = Pace::new(2);
        pace.note_pair([at(0), at(0)], Some(0));
        pace.pass(Near, at(10));
        pace.pass(Far, at(500));
        (0..2).for_each(|_| pace.note_alone(Near));
        assert_eq!(pace.turn(), Far);
        (0..2).for_each(|_| pace.note_alone(Far));
        assert_eq!(pace.turn(), Near);
    }

    #[test]
    fn tpdus_outside_the_life_of_the_other_tap_are_out_of_reach() {
        let mut pace = Pace::new(2);
        pace.pass(Near, at(100));
        pace.pass(Far, at(7_300));
        assert!(!pace.is_out_of_reach(Near, at(100), STEP_NS), "the clock difference is unknown");
        // Two hours ahead, so that the far tap was opened with the near one.
        pace.set_apart(7_200_000_000_000);
        let early = [98, 99].map(|seconds| pace.is_out_of_reach(Near, at(seconds), STEP_NS));
        assert_eq!(early, [true, false]);
        assert!(!pace.is_out_of_reach(Near, at(3), STEP_NS), "its clock was set since");
        let early = [7_298, 7_299].map(|seconds| pace.is_out_of_reach(Far, at(seconds), STEP_NS));
        assert_eq!(early, [true, false]);
        pace.note_pair([at(1), at(1)], Some(0));
        pace.pass(Near, at(500));
        pace.pass(Near, at(501));
        assert_eq!([Near, Far].map(|tap| pace.together(tap)), [at(1), at(1)]);
        pace.end(Far);
        assert_eq!(pace.together(Near), at(2), "all of it has passed the ended tap");
        assert!(pace.is_out_of_reach(Near, at(500), STEP_NS));
        assert!(!pace.is_out_of_reach(Far, at(7_500), STEP_NS));
        pace.release();
        assert!(!pace.is_out_of_reach(Near, at(500), STEP_NS));
        assert_eq!(pace.together(Far), at(1), "as by the last pair");
    }

    #[test]
    fn tpdus_of_an_ended_tap_pass_once_the_other_has_caught_up() {
        let mut pace = Pace::new(2);
        pace.set_apart(0);
        pace.pass(Near, at(10));
        pace.pass(Far, at(10));
        pace.note_pair([at(0), at(0)], Some(0));
        pace.pass(Near, at(19));
        pace.end(Near);
        // A second older, because no step counts for more; the other tap is two seconds older
        // before it has caught up.
        for seconds in [11, 18] {
            pace.pass(Far, at(seconds));
            assert_eq!(pace.together(Near), at(0));
        }
        // 1 s, and the TPDUs after second 19.
        for (seconds, together) in [(19, 1), (20, 2), (400, 3)] {
            pace.pass(Far, at(seconds));
            assert_eq!(pace.together(Near), at(together));
        }
        pace.end(Far);
        assert_eq!(pace.together(Far), at(5), "it has seen 10, 11, 18, 19, 20 and 400");
    }

    #[test]
    fn setting_a_clock_ahead_after_a_tap_ended_settles_nothing() {
        let mut pace = Pace::new(2);
        pace.set_apart(0);
        pace.pass(Near, at(10));
        pace.pass(Far, at(10));
        pace.note_pair([at(0), at(0)], Some(0));
        (11..20).for_each(|seconds| pace.pass(Near, at(seconds)));
        pace.end(Near);
        // Set ahead by 100 s: a TPDU that passed the near tap 3 s after the pair has not arrived
        // for certain.
        for (seconds, together) in [(111, 1), (112, 2), (113, 3)] {
            pace.pass(Far, at(seconds));
            assert_eq!(pace.together(Near), at(together));
        }
    }

    #[test]
    fn clocks_may_differ_by_any_number() {
        // At the greatest lag, the far tap shows TPDUs that passed it long after the near tap was
        // opened.
        for (apart, is_early) in [(i64::MIN, false), (i64::MAX, true)] {
            let mut pace = Pace::new(2);
            pace.set_apart(apart);
            let at = Instant::from_nanos(1 << 62);
            pace.pass(Near, at);
            assert_eq!(pace.is_out_of_reach(Far, at, STEP_NS), is_early);
        }
    }

    #[test]
    fn an_age_grows_by_at_most_a_second_per_step() {
        let mut pace = Pace::new(2);
        for seconds in [100, 5_000, 3, 4] {
            pace.pass(Near, at(seconds));
        }
        assert_eq!(pace.age(Near), at(2));
        pace.note_pair([at(2), at(50)], Some(0));
        assert_eq!([pace.together(Near), pace.together(Far)], [at(1), at(1)]);
        pace.note_pair([at(0), at(50)], Some(0));
        assert_eq!([pace.together(Near), pace.together(Far)], [at(0), at(2)]);
    }
}
