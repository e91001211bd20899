//! How long things took, as hosts and connections keep it: how often, together, and at the most.
//!
//! Definition: the times of [`super::Delays`], by who sent what ended or waited: an acknowledgement delay
//! and a closed window by the side whose DTs waited, a response by the side that replied, a set-up by the
//! side that sent the CC. Of TCP, a round trip by the end whose octets were acknowledged, and each half of
//! a handshake by the end that answered: the callee the SYN, the caller the SYN of the callee. A connection
//! of class 0 or 1 has what its TCP connection took from its CR to the next one's; the first one has the
//! handshake too. Those of all hosts, as sent, come to those of the network.
//! Bias: as there. The longest is that of the whole, never of an interval. A window that is closed counts
//! up to now, though the network counts it when it opens. Connections of class 2 to 4 have no times of TCP,
//! since several may share a stream and one may be spread over several: their hosts alone have them. Hosts
//! of which no TPDU was seen have none.

use super::delay::AMBIGUOUS;
use super::{Delays, Values};

/// Times of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// All of them together, in nanoseconds.
    pub total_ns: u64,
    /// The greatest, in nanoseconds.
    pub max_ns: u64,
}

impl Times {
    /// Of nothing.
    pub(crate) const NONE: Self = Self { count: 0, total_ns: 0, max_ns: 0 };

    /// Adds one time of so many nanoseconds, which began when those before were over: they cannot come to more than
    /// all time there is.
    #[inline]
    pub(crate) const fn note_next(&mut self, nanos: u64) {
        self.count += 1;
        self.total_ns += nanos;
        if nanos > self.max_ns {
            self.max_ns = nanos;
        }
    }

    /// One time of so many nanoseconds.
    #[must_use]
    pub const fn one(nanos: u64) -> Self {
        Self { count: 1, total_ns: nanos, max_ns: nanos }
    }

    /// Adds what was taken in elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// What was taken in since an earlier count of the same; the greatest is that of the whole.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        // A window that is forgotten counts until it was heard last, which may be before.
        Self {
            count: self.count.saturating_sub(earlier.count),
            total_ns: self.total_ns.saturating_sub(earlier.total_ns),
            max_ns: self.max_ns,
        }
    }

    /// The mean, in nanoseconds; none of nothing.
    #[must_use]
    pub const fn mean_ns(&self) -> Option<u64> {
        self.total_ns.checked_div(self.count)
    }
}

/// Times of one kind, in as few octets as they take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DelaySum {
    total_nanos: u64,
    count: u32,
    /// Rounded up.
    max_micros: u32,
}

impl DelaySum {
    pub(crate) const NONE: Self = Self { total_nanos: 0, count: 0, max_micros: 0 };

    /// Notes one of so many nanoseconds.
    #[inline]
    pub(crate) fn note(&mut self, nanos: u64) {
        self.count = self.count.saturating_add(1);
        self.total_nanos = self.total_nanos.saturating_add(nanos);
        if nanos > u64::from(self.max_micros) * 1_000 {
            self.max_micros = u32::try_from(nanos.div_ceil(1_000)).unwrap_or(u32::MAX);
        }
    }

    /// All of them; the greatest to the next microsecond.
    pub(crate) fn times(&self) -> Times {
        Times {
            count: self.count.into(),
            total_ns: self.total_nanos,
            max_ns: u64::from(self.max_micros) * 1_000,
        }
    }
}

/// How long what went one way took, and how long its sender waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    /// From a DT to the first AK that covers it.
    pub acknowledgement: Times,
    /// From the end of a request to the beginning of the reply.
    pub response: Times,
    /// From a CR to the CC.
    pub set_up: Times,
    /// From the SYN of the peer to the one that answers it.
    pub callee_handshake: Times,
    /// From the SYN that the peer answered with to the ACK.
    pub caller_handshake: Times,
    /// From octets in TCP to the first ACK of the peer that covers them.
    pub round_trip: Times,
    /// From one segment in TCP to an ACK of it alone, without data.
    pub delayed_ack: Times,
    /// How long the receiver gave no credit; up to now where it still gives none.
    pub closed_window: Times,
    /// Replies that pair with no single request.
    pub ambiguous_responses: u64,
}

impl Waits {
    /// Adds what went another way.
    pub fn add(&mut self, other: &Self) {
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

    /// What there was since an earlier count of the same.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            acknowledgement: self.acknowledgement.since(&earlier.acknowledgement),
            response: self.response.since(&earlier.response),
            set_up: self.set_up.since(&earlier.set_up),
            callee_handshake: self.callee_handshake.since(&earlier.callee_handshake),
            caller_handshake: self.caller_handshake.since(&earlier.caller_handshake),
            round_trip: self.round_trip.since(&earlier.round_trip),
            delayed_ack: self.delayed_ack.since(&earlier.delayed_ack),
            closed_window: self.closed_window.since(&earlier.closed_window),
            ambiguous_responses: self
                .ambiguous_responses
                .saturating_sub(earlier.ambiguous_responses),
        }
    }

    /// Whether nothing of TCP was timed.
    #[must_use]
    pub const fn is_without_tcp(&self) -> bool {
        let handshakes = self.callee_handshake.count + self.caller_handshake.count;
        handshakes + self.round_trip.count + self.delayed_ack.count == 0
    }

    /// Each of the times, in the order of [`super::Delays::each`].
    #[must_use]
    pub const fn each(&self) -> [Times; 8] {
        [
            self.acknowledgement,
            self.response,
            self.set_up,
            self.callee_handshake,
            self.caller_handshake,
            self.round_trip,
            self.delayed_ack,
            self.closed_window,
        ]
    }

    /// Every value under its name, which is that of the network's.
    #[must_use]
    pub fn values(&self) -> Values {
        let values = |(times, (_, [count, total, .., max])): (Times, (_, [&'static str; 6]))| {
            let names = [count, total, max].map(Into::into);
            names.into_iter().zip([times.count, times.total_ns, times.max_ns])
        };
        let each = self.each().into_iter().zip(Delays::names()).flat_map(values);
        each.chain([(AMBIGUOUS.into(), self.ambiguous_responses)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_goes_under_the_names_that_the_network_has_for_it() {
        let waits =
            Waits { round_trip: Times { count: 2, total_ns: 9, max_ns: 5 }, ..Waits::default() };
        let named: Vec<_> = waits.values().into_iter().filter(|(_, value)| *value > 0).collect();
        let expected =
            [("tcp_round_trips", 2), ("tcp_round_trip_total_ns", 9), ("tcp_round_trip_max_ns", 5)];
        assert_eq!(named, expected.map(|(name, value)| (name.into(), value)));
        let waits = Waits { response: Times::one(3), ..Waits::default() };
        let named: Vec<_> = waits.values().into_iter().filter(|(_, value)| *value > 0).collect();
        let expected = [("responses", 1), ("response_total_ns", 3), ("response_max_ns", 3)];
        assert_eq!(named, expected.map(|(name, value)| (name.into(), value)));
    }

    #[test]
    fn times_add_up_and_the_greatest_is_that_of_the_whole() {
        let mut times = Times::one(7);
        let earlier = times;
        times.add(&Times::one(4));
        assert_eq!(times, Times { count: 2, total_ns: 11, max_ns: 7 });
        assert_eq!(times.since(&earlier), Times { count: 1, total_ns: 4, max_ns: 7 });
        assert_eq!((times.mean_ns(), Times::default().mean_ns()), (Some(5), None));
    }
}
