//! The busiest second: of LPDUs on the network, of TPDUs on it, of a host, and of a side of a connection.
//!
//! Definition: the largest number of PDUs, and the largest number of their octets, in one second
//! that begins at a whole second of frame time; the two need not be the same second. Octets of an
//! LPDU are those of [`super::Link`], of a TPDU those of its header and its data. Bias: a burst
//! that straddles two seconds is split; of the network, a second that two intervals share counts in
//! each by its part; of an interval of a host or of a connection it is known only where it is the
//! busiest so far, and then of the whole second in whichever interval that began. A TPDU that TCP held back counts in the second in which it came in order, one that
//! is still held back when metering ends in the second under way.

use super::Values;
use wire::time::Instant;

/// The busiest second so far, and the second under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Peak {
    /// PDUs and their octets, the most in a second that is over.
    most: [u64; 2],
    second: u64,
    this_second: [u64; 2],
}

/// The whole second of this time.
pub(crate) const fn second(at: Instant) -> u64 {
    at.as_nanos() / 1_000_000_000
}

impl Peak {
    /// So many PDUs and octets at the most, and no second under way.
    #[must_use]
    pub const fn of(pdus: u64, octets: u64) -> Self {
        Self { most: [pdus, octets], second: 0, this_second: [0; 2] }
    }

    /// The most PDUs in a second.
    #[must_use]
    pub fn pdus(&self) -> u64 {
        self.both()[0]
    }

    /// The most octets of PDUs in a second.
    #[must_use]
    pub fn octets(&self) -> u64 {
        self.both()[1]
    }

    fn both(&self) -> [u64; 2] {
        [0, 1].map(|which: usize| self.most[which].max(self.this_second[which]))
    }

    /// Takes notice of so many PDUs in a [`second`].
    #[inline]
    pub(crate) fn count(&mut self, second: u64, pdus: u64, octets: u64) {
        if second > self.second {
            self.most = self.both();
            (self.second, self.this_second) = (second, [0; 2]);
        }
        self.this_second[0] += pdus;
        self.this_second[1] += octets;
    }

    /// Adds what was measured elsewhere, or at another time.
    pub fn add(&mut self, other: &Self) {
        let [pdus, octets] = other.both();
        self.most = [self.most[0].max(pdus), self.most[1].max(octets)];
    }

    /// What there was since an earlier count of the same: the busiest second if it was busier than all before, or
    /// else zero, as it is not known then.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let [before, now] = [earlier.both(), self.both()];
        let of = |which: usize| if now[which] > before[which] { now[which] } else { 0 };
        Self::of(of(0), of(1))
    }

    /// Its values, as those of LPDUs.
    #[must_use]
    pub fn of_lpdus(&self) -> Values {
        self.named(["peak_second_lpdus", "peak_second_lpdu_octets"])
    }

    /// Its values, as those of TPDUs.
    #[must_use]
    pub fn of_tpdus(&self) -> Values {
        self.named(["peak_second_tpdus", "peak_second_tpdu_octets"])
    }

    fn named(&self, names: [&'static str; 2]) -> Values {
        names.map(Into::into).into_iter().zip(self.both()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The busiest second of PDUs at these milliseconds with these octets.
    fn peak(pdus: &[(u64, u64)]) -> (u64, u64) {
        let mut peak = Peak::default();
        for (millis, octets) in pdus {
            peak.count(second(Instant::from_nanos(millis * 1_000_000)), 1, *octets);
        }
        (peak.pdus(), peak.octets())
    }

    #[test]
    fn the_busiest_second_may_differ_between_pdus_and_octets() {
        // Three short ones in second 1, one long one in second 3.
        let pdus = [(900, 60), (1_000, 60), (1_500, 60), (1_999, 60), (3_000, 1_500)];
        assert_eq!(peak(&pdus), (3, 1_500));
    }

    #[test]
    fn what_comes_with_an_earlier_time_counts_in_the_second_under_way() {
        assert_eq!(peak(&[(5_000, 10), (5_100, 10), (4_999, 10), (5_200, 10)]), (4, 40));
    }

    #[test]
    fn of_several_the_busiest_is_the_greatest_and_of_a_part_it_is_told_where_it_is_the_busiest_so_far()
     {
        let mut sum = Peak::of(7, 100);
        sum.add(&Peak::of(5, 400));
        assert_eq!(sum, Peak::of(7, 400));
        assert_eq!(sum.since(&Peak::of(7, 100)), Peak::of(0, 400));
    }
}
