//! Busiest second: of LPDUs and TPDUs on the network, of TPDUs of a host and of a side of a
//! connection.
//!
//! Definition: the maximum number of PDUs, and the maximum number of their octets, in one second
//! that begins at a whole second of frame time; the two need not be the same second. Octets of an
//! LPDU are those of [`super::Link`], of a TPDU those of its header and its data.
//! Bias: a burst that straddles two seconds is split. Of the network, a second that two intervals
//! share counts in each by its part. For an interval of a host or of a connection, the value is
//! known only if it is the maximum so far; it is then that of the whole second, even if the second
//! began in the interval before. A TPDU that TCP delivered out of order counts in the second in
//! which order was restored. A TPDU that is still held when measuring ends counts in the second
//! under way.

use wire::time::Instant;

/// Busiest second so far, and the second under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Peak {
    /// Maxima of PDUs and of their octets over the seconds that are over.
    most: [u64; 2],
    second: u64,
    this_second: [u64; 2],
}

/// Whole second of this time.
pub(crate) const fn second(at: Instant) -> u64 {
    at.as_nanos() / 1_000_000_000
}

impl Peak {
    /// Maxima of PDUs and octets, without a second under way.
    #[must_use]
    pub const fn of(pdus: u64, octets: u64) -> Self {
        Self { most: [pdus, octets], second: 0, this_second: [0; 2] }
    }

    /// Maximum of PDUs in a second.
    #[must_use]
    pub fn pdus(&self) -> u64 {
        self.both()[0]
    }

    /// Maximum of octets in a second.
    #[must_use]
    pub fn octets(&self) -> u64 {
        self.both()[1]
    }

    fn both(&self) -> [u64; 2] {
        [0, 1].map(|which: usize| self.most[which].max(self.this_second[which]))
    }

    /// Counts PDUs and octets in a [`second`].
    #[inline]
    pub(crate) fn count(&mut self, second: u64, pdus: u64, octets: u64) {
        if second > self.second {
            self.most = self.both();
            (self.second, self.this_second) = (second, [0; 2]);
        }
        self.this_second[0] += pdus;
        self.this_second[1] += octets;
    }

    /// Takes the maxima of both.
    pub fn add(&mut self, other: &Self) {
        let [pdus, octets] = other.both();
        self.most = [self.most[0].max(pdus), self.most[1].max(octets)];
    }

    /// Ends a time that began with these maxima: they become those in it, zero unless the busiest
    /// second was busier than all before, because it is not known then. `now` is their later state.
    pub fn end(&mut self, now: &Self) {
        let [before, now] = [self.both(), now.both()];
        let of = |which: usize| if now[which] > before[which] { now[which] } else { 0 };
        *self = Self::of(of(0), of(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Busiest second of PDUs at these milliseconds with these octets.
    fn peak(pdus: &[(u64, u64)]) -> (u64, u64) {
        let mut peak = Peak::default();
        for (millis, octets) in pdus {
            peak.count(second(Instant::from_nanos(millis * 1_000_000)), 1, *octets);
        }
        (peak.pdus(), peak.octets())
    }

    #[test]
    fn the_busiest_second_may_differ_between_pdus_and_octets() {
        // Three short PDUs in second 1, one long PDU in second 3.
        let pdus = [(900, 60), (1_000, 60), (1_500, 60), (1_999, 60), (3_000, 1_500)];
        assert_eq!(peak(&pdus), (3, 1_500));
    }

    #[test]
    fn an_earlier_time_counts_in_the_second_under_way() {
        assert_eq!(peak(&[(5_000, 10), (5_100, 10), (4_999, 10), (5_200, 10)]), (4, 40));
    }

    #[test]
    fn sums_take_the_maximum_and_parts_have_one_only_if_it_is_new() {
        let mut sum = Peak::of(7, 100);
        sum.add(&Peak::of(5, 400));
        assert_eq!(sum, Peak::of(7, 400));
        let mut part = Peak::of(7, 100);
        part.end(&sum);
        assert_eq!(part, Peak::of(0, 400));
    }
}
