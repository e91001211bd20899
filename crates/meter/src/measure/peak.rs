//! The busiest second at the link level.
//!
//! Definition: the largest number of LPDUs, and the largest number of their octets, in one second
//! that begins at a whole second of frame time; the two need not be the same second. Bias: a burst
//! that straddles two seconds is split; a second that two intervals share counts in each by its
//! part.

use super::{Measure, Values};
use crate::sight::Sight;
use wire::time::Instant;

/// The busiest second so far, and the second under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Peak {
    /// The most LPDUs in a second.
    pub lpdus: u64,
    /// The most octets of LPDUs in a second.
    pub octets: u64,
    second: u64,
    lpdus_this_second: u64,
    octets_this_second: u64,
}

impl Peak {
    /// Takes notice of an LPDU.
    pub(super) fn lpdu(&mut self, at: Instant, octets: u64) {
        self.lpdus(at, 1, octets);
    }

    /// Takes notice of so many LPDUs in one second.
    pub(super) fn lpdus(&mut self, at: Instant, lpdus: u64, octets: u64) {
        let second = at.as_nanos() / 1_000_000_000;
        if second != self.second {
            (self.second, self.lpdus_this_second, self.octets_this_second) = (second, 0, 0);
        }
        self.lpdus_this_second += lpdus;
        self.octets_this_second += octets;
        self.lpdus = self.lpdus.max(self.lpdus_this_second);
        self.octets = self.octets.max(self.octets_this_second);
    }
}

impl Measure for Peak {
    fn observe(&mut self, sight: &Sight) {
        if let Sight::Lpdu { at, octets, .. } = sight {
            self.lpdu(*at, *octets);
        }
    }

    fn add(&mut self, other: &Self) {
        self.lpdus = self.lpdus.max(other.lpdus);
        self.octets = self.octets.max(other.octets);
    }

    fn values(&self) -> Values {
        vec![
            ("peak_second_lpdus".into(), self.lpdus),
            ("peak_second_lpdu_octets".into(), self.octets),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::time::Instant;

    #[test]
    fn the_busiest_second_may_differ_between_frames_and_octets() {
        let mut peak = Peak::default();
        // Milliseconds and octets: three short ones in second 1, one long one in second 3.
        for (at, octets) in [(900, 60), (1_000, 60), (1_500, 60), (1_999, 60), (3_000, 1_500)] {
            let at = Instant::from_nanos(at * 1_000_000);
            peak.observe(&Sight::Lpdu { at, octets, llc: None });
        }
        assert_eq!((peak.lpdus, peak.octets), (3, 1_500));
    }
}
