//! Delays as seen at the tap.
//!
//! Definition: the delays of [`DelayKind`], each with its count, total, minimum, median, 99th
//! percentile and maximum. A delay counts when it ends. The median and the percentile are by
//! nearest rank, as the upper edge of a class that is at most 1/128 (0.8 %) wide, and never beyond
//! the maximum.
//! Bias: all delays are as seen at the tap. An acknowledgement delay is that of the path from the
//! tap to the receiver, of the receiver, and of the path back; a retransmitted DT counts from its
//! first copy. A reply of S7 is paired with the request that has its PDU reference. For other
//! applications no key is read: a response time is taken only while one request is outstanding and
//! none was ambiguous since there were none; the other replies to outstanding requests count as
//! ambiguous. The requester is then the side that sent the CR, or else the side whose TSDU was seen
//! first. A round trip of a TCP stream is measured on one segment at a time, and never on a
//! retransmitted one. A round trip that ends with an ACK without data, of that segment alone,
//! counts separately: a receiver may delay such an ACK by up to 500 ms (RFC 1122, 4.2.3.2), so that
//! time is no property of the network. An ACK with data waits for the data, and that wait is
//! included in the other round trips. A window that is closed when its connection ends or is
//! evicted, or measuring ends, counts up to then: how long it would have stayed closed is unknown.

use super::Times;
use super::histogram::Histogram;
use crate::observation::{DelayKind, MmsEvent, Observation};
use core::time::Duration;

/// Distribution of delays of one kind.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Sum, in nanoseconds.
    pub total_ns: u64,
    /// Minimum, in nanoseconds; zero if there are no values.
    pub min_ns: u64,
    /// Maximum, in nanoseconds.
    pub max_ns: u64,
    classes: Histogram,
}

/// Summary of a distribution, in nanoseconds; zeros if it has no values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    /// Sum of all values.
    pub total_ns: u64,
    /// Minimum.
    pub min_ns: u64,
    /// Median by nearest rank, as the upper edge of its class.
    pub p50_ns: u64,
    /// 99th percentile by nearest rank, likewise.
    pub p99_ns: u64,
    /// Maximum.
    pub max_ns: u64,
}

impl Distribution {
    /// Adds a delay.
    pub fn record(&mut self, span: Duration) {
        self.record_nanos(wire::time::nanos(span));
    }

    /// Adds a delay, in nanoseconds.
    // Always inline: distributions that record the same delay share the work.
    #[inline(always)]
    pub(crate) fn record_nanos(&mut self, nanos: u64) {
        // Before the first value both extremes are zero.
        let is_between = self.min_ns <= nanos && nanos <= self.max_ns;
        let nanos = if is_between { nanos } else { self.widen(nanos) };
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(nanos);
        self.classes.note(nanos);
    }

    /// Moves the extremes to a value outside of them, and returns the value, which is limited to
    /// 63 bits.
    #[cold]
    fn widen(&mut self, nanos: u64) -> u64 {
        let nanos = nanos.min(u64::MAX >> 1);
        self.min_ns = if self.count == 0 { nanos } else { self.min_ns.min(nanos) };
        self.max_ns = self.max_ns.max(nanos);
        nanos
    }

    /// Adds delays, in nanoseconds.
    pub(crate) fn record_all(&mut self, times: &[u32]) {
        let (Some(least), Some(greatest)) = (times.iter().min(), times.iter().max()) else {
            return;
        };
        let (least, greatest) = (u64::from(*least), u64::from(*greatest));
        self.min_ns = if self.count == 0 { least } else { self.min_ns.min(least) };
        self.max_ns = self.max_ns.max(greatest);
        let total = times.iter().map(|nanos| u64::from(*nanos)).sum();
        self.total_ns = self.total_ns.saturating_add(total);
        self.count += times.len() as u64;
        self.classes.note_all(times, [least, greatest]);
    }

    /// Adds the values of another distribution.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            self.clone_from(other);
            return;
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.classes.add(&other.classes);
    }

    /// Values that were added since `before`, a copy of this distribution. An extreme that is not new
    /// is an edge of its class, at most 0.8 % off.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let Some(count @ 1..) = self.count.checked_sub(before.count) else {
            return Self::default();
        };
        let classes = self.classes.since(&before.classes);
        let is_first = before.count == 0;
        let min_ns = match classes.lower_edge() {
            Some(edge) if !is_first && self.min_ns == before.min_ns => edge.max(self.min_ns),
            _ => self.min_ns,
        };
        let max_ns = match classes.upper_edge() {
            Some(edge) if !is_first && self.max_ns == before.max_ns => edge.min(self.max_ns),
            _ => self.max_ns,
        };
        let total_ns = self.total_ns.saturating_sub(before.total_ns);
        Self { count, total_ns, min_ns, max_ns, classes }
    }

    /// Value that `permille` of all values do not exceed (nearest rank), as the upper edge of its
    /// class and never beyond the maximum; zero if there are no values.
    #[must_use]
    pub fn quantile_ns(&self, permille: u64) -> u64 {
        let [value] = self.at_ranks([self.rank(permille)]);
        value
    }

    /// Values of these ranks, counted from 1 and ascending, each as the upper edge of its class and never
    /// beyond the maximum.
    pub(crate) fn at_ranks<const N: usize>(&self, ranks: [u64; N]) -> [u64; N] {
        let is_within = |rank: &u64| (1..=self.count).contains(rank);
        // Values of one class, such as those of a cycle, need no search.
        if Histogram::is_one_class([self.min_ns, self.max_ns]) && ranks.iter().all(is_within) {
            return [self.max_ns; N];
        }
        self.classes.at_ranks(ranks).map(|edge| edge.min(self.max_ns))
    }

    /// Numbers of values that do not exceed these limits, which ascend. All values in the class of a limit are
    /// counted, also those that exceed it by less than 0.8 %.
    #[must_use]
    pub fn up_to<const N: usize>(&self, limits: [u64; N]) -> [u64; N] {
        self.classes.up_to(limits)
    }

    /// Nearest rank of a quantile, counted from 1.
    const fn rank(&self, permille: u64) -> u64 {
        let rank = (self.count as u128 * permille as u128).div_ceil(1_000) as u64;
        if rank == 0 { 1 } else { rank }
    }

    /// Count, sum, extremes and percentiles.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let Self { count, total_ns, min_ns, max_ns, .. } = *self;
        if count == 0 {
            return Summary::default();
        }
        let [p50_ns, p99_ns] = self.at_ranks([self.rank(500), self.rank(990)]);
        Summary { count, total_ns, min_ns, p50_ns, p99_ns, max_ns }
    }

    /// Count, sum and maximum, without the distribution.
    pub(crate) const fn times(&self) -> Times {
        Times { count: self.count, total_ns: self.total_ns, max_ns: self.max_ns }
    }

    /// Least value and count of each class that has values, ascending. A class is exact below 256 ns, then at most
    /// 1/128 of its values wide.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64)> {
        self.classes.classes().into_iter().map(|(class, count)| (class.lower_edge(), count))
    }

    /// Mean, in nanoseconds; none if there are no values.
    #[must_use]
    pub const fn mean_ns(&self) -> Option<u64> {
        self.total_ns.checked_div(self.count)
    }
}

/// Delays of all kinds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Delays {
    /// From a DT to the first AK that covers it.
    pub acknowledgement: Distribution,
    /// From the end of a request to the beginning of the reply.
    pub response: Distribution,
    /// From a CR to its CC.
    pub set_up: Distribution,
    /// From a SYN to the SYN that answers it.
    pub callee_handshake: Distribution,
    /// From the answering SYN to the ACK.
    pub caller_handshake: Distribution,
    /// From octets of a TCP stream to the first ACK that covers them.
    pub round_trip: Distribution,
    /// From one segment of a TCP stream to an ACK of it alone, without data.
    pub delayed_ack: Distribution,
    /// Durations of closed windows.
    pub closed_window: Distribution,
    /// From the last octet of an MMS request to the last octet of its answer.
    pub mms_response: Distribution,
    /// From the last octet of an association request to the last octet of its acceptance.
    pub association: Distribution,
    /// Replies that pair with no single request: several requests were outstanding and no key
    /// distinguishes them, or the request was not seen.
    pub ambiguous_responses: u64,
}

impl Delays {
    /// Each delay with its distribution.
    #[must_use]
    pub const fn each(&self) -> [(DelayKind, &Distribution); 10] {
        [
            (DelayKind::Acknowledgement, &self.acknowledgement),
            (DelayKind::Response, &self.response),
            (DelayKind::SetUp, &self.set_up),
            (DelayKind::CalleeHandshake, &self.callee_handshake),
            (DelayKind::CallerHandshake, &self.caller_handshake),
            (DelayKind::RoundTrip, &self.round_trip),
            (DelayKind::DelayedAck, &self.delayed_ack),
            (DelayKind::ClosedWindow, &self.closed_window),
            (DelayKind::MmsResponse, &self.mms_response),
            (DelayKind::Association, &self.association),
        ]
    }

    /// Delays of this kind.
    #[inline]
    pub(crate) const fn of(&mut self, between: DelayKind) -> &mut Distribution {
        match between {
            DelayKind::Acknowledgement => &mut self.acknowledgement,
            DelayKind::Response => &mut self.response,
            DelayKind::SetUp => &mut self.set_up,
            DelayKind::CalleeHandshake => &mut self.callee_handshake,
            DelayKind::CallerHandshake => &mut self.caller_handshake,
            DelayKind::RoundTrip => &mut self.round_trip,
            DelayKind::DelayedAck => &mut self.delayed_ack,
            DelayKind::ClosedWindow => &mut self.closed_window,
            DelayKind::MmsResponse => &mut self.mms_response,
            DelayKind::Association => &mut self.association,
        }
    }
}

impl Delays {
    /// Counts what an observation adds.
    pub fn observe(&mut self, observation: &Observation) {
        match observation {
            Observation::Span(between, span) => self.of(*between).record(*span),
            Observation::AmbiguousResponse => self.ambiguous_responses += 1,
            _ => {}
        }
    }

    /// Counts the delay that ends with an event of an association.
    #[inline(always)]
    pub(crate) fn mms(&mut self, event: &MmsEvent) {
        match event {
            MmsEvent::Answer { took, .. } => self.mms_response.record(*took),
            MmsEvent::Associated(took) => self.association.record(*took),
            _ => {}
        }
    }

    /// Adds the delays of another.
    pub fn add(&mut self, other: &Self) {
        self.acknowledgement.add(&other.acknowledgement);
        self.response.add(&other.response);
        self.set_up.add(&other.set_up);
        self.callee_handshake.add(&other.callee_handshake);
        self.caller_handshake.add(&other.caller_handshake);
        self.round_trip.add(&other.round_trip);
        self.delayed_ack.add(&other.delayed_ack);
        self.closed_window.add(&other.closed_window);
        self.mms_response.add(&other.mms_response);
        self.association.add(&other.association);
        self.ambiguous_responses += other.ambiguous_responses;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_since_a_copy_are_those_added_behind_it() {
        let mut all = Distribution::default();
        (1..=300_u64).for_each(|n| all.record_nanos(n * n));
        let before = all.clone();
        assert_eq!(all.since(&before), Distribution::default());
        let mut behind = Distribution::default();
        for nanos in [700, 40_000, 89_000, 700] {
            all.record_nanos(nanos);
            behind.record_nanos(nanos);
        }
        let (found, expected) = (all.since(&before).summary(), behind.summary());
        // The extremes are edges of classes of at most 1/128.
        assert_eq!([found.count, found.total_ns, found.p50_ns], [4, 130_400, expected.p50_ns]);
        assert!((89_000..=89_695).contains(&found.max_ns), "{found:?}");
        assert!((695..=700).contains(&found.min_ns), "{found:?}");
        all.record_nanos(1_000_000);
        assert_eq!(all.since(&before).max_ns, 1_000_000);
        assert_eq!(all.since(&Distribution::default()), all);
    }

    #[test]
    fn values_up_to_limits_count_those_of_the_limits_class() {
        let mut all = Distribution::default();
        assert_eq!(all.up_to([0, u64::MAX]), [0, 0]);
        // Ten values are a list of classes, a hundred are in rows.
        for times in [10, 90] {
            (0..times).for_each(|_| all.record_nanos(20_000_000));
            let count = all.count;
            assert_eq!(all.up_to([19_000_000, 20_000_000, 1 << 40]), [0, count, count]);
        }
        all.record_nanos(7);
        all.record_nanos(2_000_000_000);
        assert_eq!(all.up_to([6, 7, 20_000_000, 1_000_000_000, u64::MAX]), [0, 1, 101, 101, 102]);
    }

    #[test]
    fn a_distribution_adds_up_to_the_one_of_all_values() {
        let (mut left, mut right, mut all) =
            (Distribution::default(), Distribution::default(), Distribution::default());
        for value in 1..=1_000_u64 {
            let span = Duration::from_nanos(value * value);
            if value % 3 == 0 {
                left.record(span)
            } else {
                right.record(span)
            }
            all.record(span);
        }
        left.add(&right);
        left.add(&Distribution::default());
        assert_eq!(left, all);
        assert_eq!((all.min_ns, all.max_ns, all.count), (1, 1_000_000, 1_000));
        // The 500th square is 250,000; its class is at most 1/128 wide.
        let median = all.quantile_ns(500);
        assert!((250_000..=251_953).contains(&median), "{median}");
        assert_eq!(all.quantile_ns(1_000), 1_000_000);
        assert_eq!(Distribution::default().quantile_ns(500), 0);
    }

    #[test]
    fn values_of_one_class_have_the_quantiles_that_a_search_finds() {
        for values in [&[1_000][..], &[1_000, 1_003, 1_001], &[1_000, 1_004], &[0, 0], &[255, 256]]
        {
            let mut all = Distribution::default();
            values.iter().for_each(|nanos| all.record_nanos(*nanos));
            for rank in 0..=values.len() as u64 + 1 {
                let found = all.classes.at_ranks([rank]).map(|edge| edge.min(all.max_ns));
                assert_eq!(all.at_ranks([rank]), found, "{values:?}, {rank}");
            }
        }
    }
}
