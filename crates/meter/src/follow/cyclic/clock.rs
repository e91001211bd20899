//! Sender's clock against the tap's: for protocols whose frames carry the time at which they were sent.
//!
//! Definition: the transit of a frame varies by the gap to the frame before at the tap, less the gap by
//! the sender's times. Late ones took longer than the frame before, early ones shorter. A difference of
//! half a second or more is a step of a clock and no variation. The drift is the difference of both
//! clocks since the last step, as a share of the time at the tap. Bias: a drift is part of each
//! variation, by its share of the gap (100 us of a second at 100 ppm).

use crate::follow::period::Deviations;
use crate::measure::Distribution;
use wire::time::Instant;

/// Difference from which a clock was set.
const STEP_NS: u64 = 500_000_000;
/// Minimum number of stamps for a drift.
const DRIFT_FROM: u64 = 16;

/// Time that a sender stated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    pub(super) nanos: u64,
    /// True if it has the lower 32 bits alone.
    pub(super) is_short: bool,
}

/// Sender's clock against the tap's, since measuring began.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SenderClock {
    /// Frames with a time of their sender.
    pub stamps: u64,
    /// Variations of the transit from a frame to the next; none without room for them.
    pub transit: Option<Deviations>,
    /// Gain of the sender's clock over the tap's since the last step, in parts in 10⁹; none before 16
    /// stamps.
    pub drift_ppb: Option<i64>,
    /// Times that one of the clocks was set: a variation of half a second or more.
    pub steps: u64,
}

/// Clock in the making.
#[derive(Clone, Default, Debug)]
pub(super) struct Clock {
    stamps: u64,
    steps: u64,
    last: Option<(Instant, Stamp)>,
    /// Time at the tap and by the sender since the last step.
    since: [u64; 2],
    stamps_since: u64,
    transit: Option<Box<[Distribution; 2]>>,
}

impl Clock {
    /// Adds a stamp of a frame that passed the tap at this time; `has_room` for distributions.
    pub(super) fn add(&mut self, at: Instant, stamp: Stamp, has_room: bool) {
        self.stamps += 1;
        let Some((before, last)) = self.last.replace((at, stamp)) else { return };
        let gap = at.as_nanos().saturating_sub(before.as_nanos());
        let by_sender = stamp.nanos.wrapping_sub(last.nanos);
        let is_short = stamp.is_short || last.is_short;
        let by_sender = if is_short { by_sender & u64::from(u32::MAX) } else { by_sender };
        // A time that runs backwards wraps to one far ahead.
        if gap.abs_diff(by_sender) >= STEP_NS {
            self.steps += 1;
            (self.since, self.stamps_since) = ([0; 2], 0);
            return;
        }
        let [of_tap, of_sender] = self.since;
        self.since = [of_tap.saturating_add(gap), of_sender.saturating_add(by_sender)];
        self.stamps_since += 1;
        if self.transit.is_none() && has_room {
            self.transit = Some(Box::default());
        }
        let Some([late, early]) = self.transit.as_deref_mut() else { return };
        match gap.checked_sub(by_sender) {
            Some(more) => late.record_nanos(more),
            None => early.record_nanos(by_sender - gap),
        }
    }

    /// Clock so far; none without a stamp.
    pub(super) fn report(&self) -> Option<SenderClock> {
        if self.stamps == 0 {
            return None;
        }
        let transit = self.transit.as_deref().map(|both| {
            let [late, early] = both.each_ref().map(Distribution::summary);
            Deviations { late, early }
        });
        let [of_tap, of_sender] = self.since.map(i128::from);
        let has_drift = self.stamps_since >= DRIFT_FROM && of_tap > 0;
        let drift = || i64::try_from((of_sender - of_tap) * 1_000_000_000 / of_tap).ok();
        let drift_ppb = has_drift.then(drift).flatten();
        Some(SenderClock { stamps: self.stamps, transit, drift_ppb, steps: self.steps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds stamps, each with the time at the tap and by the sender in microseconds.
    fn clock(stamps: impl IntoIterator<Item = [u64; 2]>, is_short: bool) -> SenderClock {
        let mut clock = Clock::default();
        for [at_us, sent_us] in stamps {
            let nanos = sent_us * 1_000;
            let nanos = if is_short { nanos & u64::from(u32::MAX) } else { nanos };
            clock.add(Instant::from_nanos(at_us * 1_000), Stamp { nanos, is_short }, true);
        }
        clock.report().unwrap()
    }

    #[test]
    fn a_frame_that_took_longer_is_late_and_the_next_early() {
        let late = |n: u64| if n == 20 { 7 } else { 0 };
        let found = clock((0..40).map(|n| [n * 125 + late(n), n * 125]), false);
        let transit = found.transit.unwrap();
        assert_eq!([transit.late.max_ns, transit.early.max_ns], [7_000; 2]);
        assert_eq!([transit.late.count, transit.early.count], [38, 1]);
        assert_eq!((found.stamps, found.steps, found.drift_ppb), (40, 0, Some(0)));
    }

    #[test]
    fn a_drift_is_measured_and_a_step_begins_anew() {
        // The sender gains 1 us in each 10 ms: 100 ppm.
        let stamps = (0..400).map(|n| [n * 10_000, 5_000_000 + n * 10_001]);
        assert_eq!(clock(stamps.clone(), false).drift_ppb, Some(100_000));
        let stepped = stamps.chain((400..420).map(|n| [n * 10_000, n * 10_000]));
        let found = clock(stepped, false);
        assert_eq!((found.steps, found.drift_ppb), (1, Some(0)));
    }

    #[test]
    fn a_time_of_32_bits_rolls_over() {
        let found = clock((0..60).map(|n| [n * 100_000, n * 100_000]), true);
        assert_eq!((found.steps, found.drift_ppb), (0, Some(0)));
    }
}
