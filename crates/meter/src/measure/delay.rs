//! How long things take, as seen from here.
//!
//! Definition: the times of [`Between`], each with its count, total, least, median, 99th percentile
//! and greatest. A time counts when it ends. The median and the percentile are by nearest rank, as the upper
//! edge of a class that is at most 1/128 (0.8 %) wide, and never beyond the greatest.
//! Bias: all are as seen at this point of the network. An acknowledgement delay is that of the way
//! from here to the receiver, of the receiver, and of the way back; a DT that was sent again counts
//! from its first copy. A reply of S7 is paired with the request that has its PDU reference. Of other users no key
//! is read, so a response time is taken only where one request is outstanding and none was ambiguous since the
//! last time that none was; the other replies to outstanding requests count as ambiguous. The requester is then the
//! side that sent the CR, or else whose TSDU was seen first. A round trip of a TCP stream is taken of one
//! segment at a time, and of none that was sent again. One that ends with an ACK without data, of that segment
//! alone, counts apart: a receiver may delay such an ACK by up to 500 ms (RFC 1122, 4.2.3.2), so that time is no
//! property of the network. An ACK with data waits for the data, which the other round trips have in them. A window that is still
//! closed when its connection ends, or is forgotten, or metering ends, counts until then: what a receiver
//! would have done later is not known.

use super::histogram::Histogram;
use super::{Measure, Times, Values};
use crate::sight::{Between, Sight};
use core::time::Duration;

/// Values of one kind of time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Distribution {
    /// How many.
    pub count: u64,
    /// All of them together, in nanoseconds.
    pub total_ns: u64,
    /// The least, in nanoseconds; zero where there is none.
    pub min_ns: u64,
    /// The greatest, in nanoseconds.
    pub max_ns: u64,
    classes: Histogram,
}

/// Summary of a distribution, in nanoseconds; zeros where it has no values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    /// Sum of all values.
    pub total_ns: u64,
    /// Least value.
    pub min_ns: u64,
    /// Median by nearest rank, as the upper edge of its class.
    pub p50_ns: u64,
    /// 99th percentile by nearest rank, likewise.
    pub p99_ns: u64,
    /// Greatest value.
    pub max_ns: u64,
}

impl Distribution {
    /// Takes a time in.
    pub fn record(&mut self, span: Duration) {
        self.record_nanos(wire::time::nanos(span));
    }

    /// Takes a time in, in nanoseconds.
    // Always: distributions that take the same time in share the work.
    #[inline(always)]
    pub(crate) fn record_nanos(&mut self, nanos: u64) {
        let nanos = nanos.min(u64::MAX >> 1);
        if nanos < self.min_ns || self.count == 0 {
            self.min_ns = nanos;
        }
        if nanos > self.max_ns {
            self.max_ns = nanos;
        }
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(nanos);
        self.classes.note(nanos);
    }

    /// Takes times in, in nanoseconds below 2^63.
    #[inline]
    pub(crate) fn record_all(&mut self, times: impl Iterator<Item = u64>) {
        let mut least = if self.count == 0 { u64::MAX } else { self.min_ns };
        let (mut greatest, mut total, mut count) = (self.max_ns, self.total_ns, self.count);
        let times = times.inspect(|nanos| {
            least = least.min(*nanos);
            greatest = greatest.max(*nanos);
            total = total.saturating_add(*nanos);
            count += 1;
        });
        self.classes.note_all(times);
        if count > 0 {
            (self.min_ns, self.max_ns) = (least, greatest);
        }
        (self.total_ns, self.count) = (total, count);
    }

    /// Adds what was taken in elsewhere.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min_ns = if self.count == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.classes.add(&other.classes);
    }

    /// The value that `permille` of all do not exceed (nearest rank), as the upper edge of its class and never
    /// beyond the greatest; zero where there is none.
    #[must_use]
    pub fn quantile_ns(&self, permille: u64) -> u64 {
        let [edge] = self.classes.at_ranks([self.rank(permille)]);
        edge.min(self.max_ns)
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
        let edges = self.classes.at_ranks([self.rank(500), self.rank(990)]);
        let [p50_ns, p99_ns] = edges.map(|edge| edge.min(max_ns));
        Summary { count, total_ns, min_ns, p50_ns, p99_ns, max_ns }
    }

    /// As a sum of times without their distribution.
    pub(crate) const fn times(&self) -> Times {
        Times { count: self.count, total_ns: self.total_ns, max_ns: self.max_ns }
    }

    /// The mean, in nanoseconds; none of nothing.
    #[must_use]
    pub const fn mean_ns(&self) -> Option<u64> {
        self.total_ns.checked_div(self.count)
    }
}

/// All times.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Delays {
    /// From a DT to the first AK that covers it.
    pub acknowledgement: Distribution,
    /// From the end of a request to the beginning of the reply.
    pub response: Distribution,
    /// From a CR to its CC.
    pub set_up: Distribution,
    /// From a SYN to the one that answers it.
    pub callee_handshake: Distribution,
    /// From the SYN that answers to the ACK.
    pub caller_handshake: Distribution,
    /// From octets of a TCP stream to the first ACK that covers them.
    pub round_trip: Distribution,
    /// From one segment of a TCP stream to an ACK of it alone, without data.
    pub delayed_ack: Distribution,
    /// How long windows were closed.
    pub closed_window: Distribution,
    /// Replies that pair with no single request: several were outstanding and no key tells them apart, or the
    /// request was not seen.
    pub ambiguous_responses: u64,
}

/// The values of each distribution, in the order of [`Delays::each`].
#[rustfmt::skip]
const NAMES: [[&str; 6]; 8] = [
    ["ack_delays", "ack_delay_total_ns", "ack_delay_min_ns", "ack_delay_p50_ns",
     "ack_delay_p99_ns", "ack_delay_max_ns"],
    ["responses", "response_total_ns", "response_min_ns", "response_p50_ns",
     "response_p99_ns", "response_max_ns"],
    ["set_ups", "set_up_total_ns", "set_up_min_ns", "set_up_p50_ns",
     "set_up_p99_ns", "set_up_max_ns"],
    ["tcp_callee_handshakes", "tcp_callee_handshake_total_ns", "tcp_callee_handshake_min_ns",
     "tcp_callee_handshake_p50_ns", "tcp_callee_handshake_p99_ns", "tcp_callee_handshake_max_ns"],
    ["tcp_caller_handshakes", "tcp_caller_handshake_total_ns", "tcp_caller_handshake_min_ns",
     "tcp_caller_handshake_p50_ns", "tcp_caller_handshake_p99_ns", "tcp_caller_handshake_max_ns"],
    ["tcp_round_trips", "tcp_round_trip_total_ns", "tcp_round_trip_min_ns",
     "tcp_round_trip_p50_ns", "tcp_round_trip_p99_ns", "tcp_round_trip_max_ns"],
    ["tcp_delayed_acks", "tcp_delayed_ack_total_ns", "tcp_delayed_ack_min_ns",
     "tcp_delayed_ack_p50_ns", "tcp_delayed_ack_p99_ns", "tcp_delayed_ack_max_ns"],
    ["closed_windows", "closed_window_total_ns", "closed_window_min_ns", "closed_window_p50_ns",
     "closed_window_p99_ns", "closed_window_max_ns"],
];

/// Name of the count of replies that pair with no single request.
pub(super) const AMBIGUOUS: &str = "responses_ambiguous";

impl Delays {
    /// What each distribution is called, and the names of its values: count, total, least, median, 99th
    /// percentile and greatest.
    #[must_use]
    pub fn names() -> [(&'static str, [&'static str; 6]); 8] {
        let none = Self::default();
        let called = none.each().map(|(name, _)| name);
        core::array::from_fn(|place| (called[place], NAMES[place]))
    }

    /// Each distribution and what it is called, in the order of its values.
    #[must_use]
    pub const fn each(&self) -> [(&'static str, &Distribution); 8] {
        [
            ("acknowledgement", &self.acknowledgement),
            ("response", &self.response),
            ("set-up", &self.set_up),
            ("TCP, callee", &self.callee_handshake),
            ("TCP, caller", &self.caller_handshake),
            ("TCP round trip", &self.round_trip),
            ("TCP delayed ACK", &self.delayed_ack),
            ("closed window", &self.closed_window),
        ]
    }
}

impl Delays {
    /// The times of this sort.
    #[inline]
    pub(crate) const fn of(&mut self, between: Between) -> &mut Distribution {
        match between {
            Between::Acknowledgement => &mut self.acknowledgement,
            Between::Response => &mut self.response,
            Between::SetUp => &mut self.set_up,
            Between::CalleeHandshake => &mut self.callee_handshake,
            Between::CallerHandshake => &mut self.caller_handshake,
            Between::RoundTrip => &mut self.round_trip,
            Between::DelayedAck => &mut self.delayed_ack,
            Between::ClosedWindow => &mut self.closed_window,
        }
    }
}

impl Measure for Delays {
    fn observe(&mut self, sight: &Sight) {
        match sight {
            Sight::Span(between, span) => self.of(*between).record(*span),
            Sight::AmbiguousResponse => self.ambiguous_responses += 1,
            _ => {}
        }
    }

    fn add(&mut self, other: &Self) {
        self.acknowledgement.add(&other.acknowledgement);
        self.response.add(&other.response);
        self.set_up.add(&other.set_up);
        self.callee_handshake.add(&other.callee_handshake);
        self.caller_handshake.add(&other.caller_handshake);
        self.round_trip.add(&other.round_trip);
        self.delayed_ack.add(&other.delayed_ack);
        self.closed_window.add(&other.closed_window);
        self.ambiguous_responses += other.ambiguous_responses;
    }

    fn values(&self) -> Values {
        let mut values = Vec::new();
        for ((_, distribution), names) in self.each().into_iter().zip(NAMES) {
            let Summary { count, total_ns, min_ns, p50_ns, p99_ns, max_ns } =
                distribution.summary();
            let found = [count, total_ns, min_ns, p50_ns, p99_ns, max_ns];
            values.extend(names.into_iter().map(Into::into).zip(found));
        }
        values.push((AMBIGUOUS.into(), self.ambiguous_responses));
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
