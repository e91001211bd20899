//! Delays of hosts and connections: count, sum and maximum.
//!
//! Definition: the delays of [`super::Delays`], by sender. An acknowledgement delay and a closed
//! window belong to the side whose DTs waited, a response time to the side that replied, a set-up
//! to the side that sent the CC. Of TCP, a round trip belongs to the end whose octets were
//! acknowledged, and each half of a handshake to the end that answered: the callee the SYN, the
//! caller the SYN of the callee. A connection of class 0 or 1 has the TCP delays from its CR to the
//! next connection's CR; the first one has the handshake too. The sum over all hosts, as senders,
//! is that of the network.
//! Bias: as there. The maximum is that of the whole time, never of an interval. A window that is
//! closed counts up to now, though the network counts it when it opens. Connections of class 2 to 4
//! have no TCP delays, because several may share a stream and one may be spread over several: only
//! their hosts have them. Hosts without a TPDU have none.

/// Delays of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// Number of delays.
    pub count: u64,
    /// Sum, in nanoseconds.
    pub total_ns: u64,
    /// Maximum, in nanoseconds.
    pub max_ns: u64,
}

impl Times {
    /// No delays.
    pub(crate) const NONE: Self = Self { count: 0, total_ns: 0, max_ns: 0 };

    /// Adds a delay in nanoseconds that began after the previous one ended, so that the sum cannot
    /// overflow.
    #[inline]
    pub(crate) const fn note_next(&mut self, nanos: u64) {
        self.count += 1;
        self.total_ns += nanos;
        if nanos > self.max_ns {
            self.max_ns = nanos;
        }
    }

    /// One delay in nanoseconds.
    #[must_use]
    pub const fn one(nanos: u64) -> Self {
        Self { count: 1, total_ns: nanos, max_ns: nanos }
    }

    /// Adds the delays of another.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Ends a time that began with these delays: they become those in it, but the maximum is that of
    /// the whole. `now` is their later state.
    pub const fn end(&mut self, now: &Self) {
        // A window of an evicted connection counts up to its last TPDU, which may be earlier.
        self.count = now.count.saturating_sub(self.count);
        self.total_ns = now.total_ns.saturating_sub(self.total_ns);
        self.max_ns = now.max_ns;
    }

    /// Mean, in nanoseconds; none if there are no delays.
    #[must_use]
    pub const fn mean_ns(&self) -> Option<u64> {
        self.total_ns.checked_div(self.count)
    }
}

/// Delays of one kind, packed, so that its alignment is 4 octets.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub(crate) struct DelaySum {
    total_nanos: u64,
    count: u32,
    /// Maximum in microseconds, rounded up.
    max_micros: u32,
}

impl DelaySum {
    pub(crate) const NONE: Self = Self { total_nanos: 0, count: 0, max_micros: 0 };

    /// Adds a delay in nanoseconds.
    #[inline]
    pub(crate) fn note(&mut self, nanos: u64) {
        self.count = self.count.saturating_add(1);
        self.total_nanos = self.total_nanos.saturating_add(nanos);
        if nanos > u64::from(self.max_micros) * 1_000 {
            self.max_micros = u32::try_from(nanos.div_ceil(1_000)).unwrap_or(u32::MAX);
        }
    }

    /// Count, sum and maximum, which is rounded up to a microsecond.
    pub(crate) fn times(&self) -> Times {
        Times {
            count: self.count.into(),
            total_ns: self.total_nanos,
            max_ns: u64::from(self.max_micros) * 1_000,
        }
    }
}

/// Delays of the traffic in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    /// From a DT to the first AK that covers it.
    pub acknowledgement: Times,
    /// From the end of a request to the beginning of the reply.
    pub response: Times,
    /// From a CR to the CC.
    pub set_up: Times,
    /// From the SYN of the peer to the SYN that answers it.
    pub callee_handshake: Times,
    /// From the answering SYN of the peer to the ACK.
    pub caller_handshake: Times,
    /// From octets in TCP to the first ACK of the peer that covers them.
    pub round_trip: Times,
    /// From one segment in TCP to an ACK of it alone, without data.
    pub delayed_ack: Times,
    /// Durations without credit of the receiver; up to now if the window is still closed.
    pub closed_window: Times,
    /// Replies that pair with no single request.
    pub ambiguous_responses: u64,
}

impl Waits {
    /// Adds the delays of another direction.
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

    /// Ends a time that began with these delays: they become those in it. `now` is their later state.
    pub const fn end(&mut self, now: &Self) {
        self.acknowledgement.end(&now.acknowledgement);
        self.response.end(&now.response);
        self.set_up.end(&now.set_up);
        self.callee_handshake.end(&now.callee_handshake);
        self.caller_handshake.end(&now.caller_handshake);
        self.round_trip.end(&now.round_trip);
        self.delayed_ack.end(&now.delayed_ack);
        self.closed_window.end(&now.closed_window);
        self.ambiguous_responses = now.ambiguous_responses.saturating_sub(self.ambiguous_responses);
    }

    /// True if there are no TCP delays.
    #[must_use]
    pub const fn is_without_tcp(&self) -> bool {
        let handshakes = self.callee_handshake.count + self.caller_handshake.count;
        handshakes + self.round_trip.count + self.delayed_ack.count == 0
    }

    /// Delays in the order of [`DelayKind::OF_HOSTS`](crate::observation::DelayKind::OF_HOSTS).
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_and_the_greatest_is_that_of_the_whole() {
        let mut times = Times::one(7);
        let earlier = times;
        times.add(&Times::one(4));
        assert_eq!(times, Times { count: 2, total_ns: 11, max_ns: 7 });
        let mut since = earlier;
        since.end(&times);
        assert_eq!(since, Times { count: 1, total_ns: 4, max_ns: 7 });
        assert_eq!((times.mean_ns(), Times::default().mean_ns()), (Some(5), None));
    }
}
