//! How long things take, as seen from here.
//!
//! Definition: the times of [`Between`], each with its count, total, least, median, 99th percentile
//! and greatest. A time counts when it ends. The median and the percentile are upper edges of
//! classes that are at the most one sixteenth wide.
//! Bias: all are as seen at this point of the network. An acknowledgement delay is that of the way
//! from here to the receiver, of the receiver, and of the way back; a DT that was sent again counts
//! from its first copy. A response time is taken only where one request was under way: the first TSDU
//! of the requester since the last reply; of more the pairs cannot be told. The requester is the side
//! that sent the CR, or else whose TSDU was seen first. A round trip of a TCP stream is taken of one
//! segment at a time, and of none that was sent again; delayed ACKs are in it. A window that is still
//! closed when its connection ends, or is forgotten, or metering ends, counts until then: what a receiver
//! would have done later is not known.

use super::{Measure, Values};
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
    /// How many fell into each class; grown as far as needed.
    classes: Vec<u64>,
}

/// Classes per doubling.
const PER_DOUBLING: u32 = 16;

/// The class of a value: exact below 16, then sixteen to a doubling.
fn class(value: u64) -> usize {
    let exponent = 63 - (value | 1).leading_zeros();
    let shift = exponent.saturating_sub(4);
    ((shift * PER_DOUBLING) as u64 + (value >> shift)) as usize
}

/// The greatest value of a class.
fn upper_edge(class: usize) -> u64 {
    let class = class as u64;
    let shift = (class / u64::from(PER_DOUBLING)).saturating_sub(1);
    let mantissa = class - shift * u64::from(PER_DOUBLING);
    ((mantissa + 1) << shift) - 1
}

impl Distribution {
    /// Takes a time in.
    pub fn record(&mut self, span: Duration) {
        self.record_nanos(wire::time::nanos(span));
    }

    /// Takes a time in, in nanoseconds.
    #[inline]
    pub(crate) fn record_nanos(&mut self, nanos: u64) {
        let value = nanos.min(u64::MAX >> 1);
        self.min_ns = if self.count == 0 { value } else { self.min_ns.min(value) };
        self.max_ns = self.max_ns.max(value);
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(value);
        let class = class(value);
        match self.classes.get_mut(class) {
            Some(count) => *count += 1,
            None => self.grow(class),
        }
    }

    /// Takes in the first value of a class beyond all that are known.
    #[cold]
    fn grow(&mut self, class: usize) {
        self.classes.resize(class, 0);
        self.classes.push(1);
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
        if self.classes.len() < other.classes.len() {
            self.classes.resize(other.classes.len(), 0);
        }
        self.classes.iter_mut().zip(&other.classes).for_each(|(count, more)| *count += more);
    }

    /// The value that `permille` of all do not exceed, as the upper edge of its class and never
    /// beyond the greatest; zero where there is none.
    #[must_use]
    pub fn quantile_ns(&self, permille: u64) -> u64 {
        let rank = (self.count * permille).div_ceil(1_000).max(1);
        let mut seen = 0;
        for (class, count) in self.classes.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper_edge(class).min(self.max_ns);
            }
        }
        0
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
    /// How long windows were closed.
    pub closed_window: Distribution,
}

/// The values of each distribution, in the order of [`Delays::each`].
#[rustfmt::skip]
const NAMES: [[&str; 6]; 7] = [
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
    ["closed_windows", "closed_window_total_ns", "closed_window_min_ns", "closed_window_p50_ns",
     "closed_window_p99_ns", "closed_window_max_ns"],
];

impl Delays {
    /// What each distribution is called, and the names of its values: count, total, least, median, 99th
    /// percentile and greatest.
    #[must_use]
    pub fn names() -> [(&'static str, [&'static str; 6]); 7] {
        let none = Self::default();
        let called = none.each().map(|(name, _)| name);
        core::array::from_fn(|place| (called[place], NAMES[place]))
    }

    /// Each distribution and what it is called, in the order of its values.
    #[must_use]
    pub const fn each(&self) -> [(&'static str, &Distribution); 7] {
        [
            ("acknowledgement", &self.acknowledgement),
            ("response", &self.response),
            ("set-up", &self.set_up),
            ("TCP, callee", &self.callee_handshake),
            ("TCP, caller", &self.caller_handshake),
            ("TCP round trip", &self.round_trip),
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
            Between::ClosedWindow => &mut self.closed_window,
        }
    }
}

impl Measure for Delays {
    fn observe(&mut self, sight: &Sight) {
        if let Sight::Span(between, span) = sight {
            self.of(*between).record(*span);
        }
    }

    fn add(&mut self, other: &Self) {
        self.acknowledgement.add(&other.acknowledgement);
        self.response.add(&other.response);
        self.set_up.add(&other.set_up);
        self.callee_handshake.add(&other.callee_handshake);
        self.caller_handshake.add(&other.caller_handshake);
        self.round_trip.add(&other.round_trip);
        self.closed_window.add(&other.closed_window);
    }

    fn values(&self) -> Values {
        let mut values = Vec::new();
        for ((_, distribution), names) in self.each().into_iter().zip(NAMES) {
            let found = [
                distribution.count,
                distribution.total_ns,
                distribution.min_ns,
                distribution.quantile_ns(500),
                distribution.quantile_ns(990),
                distribution.max_ns,
            ];
            values.extend(names.into_iter().map(Into::into).zip(found));
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_one_another_and_hold_their_edges() {
        let mut last = 0;
        for value in (0..4_000).chain([1 << 40, (1 << 40) + (1 << 36), u64::MAX >> 1]) {
            let class = class(value);
            assert!(class == last || class == last + 1 || value > 4_000, "{value}");
            assert!(
                upper_edge(class) >= value && upper_edge(class) - value <= value / 16,
                "{value}"
            );
            last = class;
        }
        assert_eq!((class(15), class(16), class(31), class(32), class(33)), (15, 16, 31, 32, 32));
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
        // The 500th square is 250,000; its class is at the most a sixteenth wide.
        let median = all.quantile_ns(500);
        assert!((250_000..=265_625).contains(&median), "{median}");
        assert_eq!(all.quantile_ns(1_000), 1_000_000);
        assert_eq!(Distribution::default().quantile_ns(500), 0);
    }
}
