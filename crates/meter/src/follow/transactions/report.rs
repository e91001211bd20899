//! Report of the transactions of a function.

use super::message::NUMBERED;
use super::protocol::Protocol;
use crate::follow::quantiles::DeviationQuantile;
use crate::host::Address;
use crate::measure::Summary;
use wire::time::Instant;

/// Function of a unit of a server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TransactionKey {
    /// Protocol.
    pub protocol: Protocol,
    /// Server: the side that answers.
    pub server: Address,
    /// Unit: a device at the server, or behind it.
    pub unit: u32,
    /// Function code.
    pub function: u16,
}

impl TransactionKey {
    /// True of I formats of IEC 104: their replies are acknowledgements by the other side, which it may
    /// delay by ten seconds.
    #[must_use]
    pub const fn is_acknowledgement(&self) -> bool {
        matches!(self.protocol, Protocol::Iec104) && self.function >= NUMBERED
    }
}

/// Counts of requests and replies.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TransactionCounts {
    /// PDUs of requests, retries among them.
    pub requests: u64,
    /// Requests with the key and the octets of an outstanding one.
    pub retries: u64,
    /// PDUs of replies, exceptions among them.
    pub replies: u64,
    /// Replies that report an error.
    pub exceptions: u64,
    /// Requests without a reply within ten seconds, or until the server closed the connection.
    pub unanswered: u64,
    /// Replies that may belong to more than one request: they have no response time.
    pub ambiguous: u64,
    /// Replies to a request that was answered before.
    pub repeated: u64,
    /// Replies to a request that counts as unanswered.
    pub late: u64,
    /// Replies to no request: of a capture that starts in the middle, or never asked for.
    pub unrequested: u64,
    /// Requests dropped because the connection had more of them outstanding than are kept.
    pub dropped: u64,
    /// Polls dropped because the function had more of different data than are kept: the next has no
    /// period.
    pub polls_dropped: u64,
    /// The most requests that were outstanding on a connection when this function was requested.
    pub most_outstanding: u64,
}

impl TransactionCounts {
    /// Adds the counts of another time.
    pub fn add(&mut self, other: &Self) {
        let Self { requests, retries, replies, exceptions, unanswered, ambiguous, .. } = *other;
        let Self { repeated, late, unrequested, dropped, polls_dropped, most_outstanding, .. } =
            *other;
        for (sum, more) in [
            (&mut self.requests, requests),
            (&mut self.retries, retries),
            (&mut self.replies, replies),
            (&mut self.exceptions, exceptions),
            (&mut self.unanswered, unanswered),
            (&mut self.ambiguous, ambiguous),
            (&mut self.repeated, repeated),
            (&mut self.late, late),
            (&mut self.unrequested, unrequested),
            (&mut self.dropped, dropped),
            (&mut self.polls_dropped, polls_dropped),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.most_outstanding = self.most_outstanding.max(most_outstanding);
    }
}

/// Counts and times.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TransactionFigures {
    /// Counts.
    pub counts: TransactionCounts,
    /// Times from a request to its reply.
    pub responses: Summary,
    /// Times from a request to the next of the same client for the same data.
    pub periods: Summary,
}

/// Polls of a client at a function of a unit: requests for the same data again and again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PollingClient {
    /// Client: the side that asks.
    pub client: Address,
    /// Requests that say which data they are for, without retries.
    pub requests: u64,
    /// Octets of their PDUs.
    pub request_octets: u64,
    /// Replies that pair with a request, exceptions among them.
    pub replies: u64,
    /// Octets of their PDUs.
    pub reply_octets: u64,
    /// Time of the first request.
    pub first: Instant,
    /// Time of the last request.
    pub last: Instant,
    /// Polls: data that was asked for again.
    pub polls: u64,
    /// Times from a request to the next for the same data.
    pub periods: Extremes,
    /// Periods behind another one of the same data.
    pub judged_periods: u64,
    /// Those within a quarter of the one before.
    pub regular_periods: u64,
    /// Response times.
    pub responses: Extremes,
    /// Times from one request to the next, whichever data they are for; only if they were requested, in
    /// the report of a whole function, and from 65 requests on.
    pub gaps: Option<RequestGaps>,
}

/// Times from one request of a client to its next one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestGaps {
    /// Median of the first 64.
    pub period_ns: u64,
    /// Quantiles of the deviations of the others from it, early and late together.
    pub quantiles: Vec<DeviationQuantile>,
}

impl PollingClient {
    /// True if at least half of the periods are within a quarter of the one before, and polls last for
    /// half of the time on average, unlike bursts.
    #[must_use]
    pub fn is_periodic(&self) -> bool {
        let is_regular =
            self.judged_periods > 0 && self.regular_periods >= self.judged_periods.div_ceil(2);
        let life_ns = u128::from(self.last.nanos_since(self.first));
        let lasts = 2 * u128::from(self.periods.total_ns) >= life_ns * u128::from(self.polls);
        is_regular && lasts
    }
}

/// Number, sum, least and greatest of times.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Extremes {
    /// Number of times.
    pub count: u64,
    /// Sum, in nanoseconds.
    pub total_ns: u64,
    /// Least, in nanoseconds; zero without times.
    pub min_ns: u64,
    /// Greatest, in nanoseconds.
    pub max_ns: u64,
}

impl Extremes {
    /// Adds a time.
    pub(super) fn add(&mut self, nanos: u64) {
        self.min_ns = if self.count == 0 { nanos } else { self.min_ns.min(nanos) };
        self.max_ns = self.max_ns.max(nanos);
        self.total_ns = self.total_ns.saturating_add(nanos);
        self.count += 1;
    }

    /// Mean, in nanoseconds; none without times.
    #[must_use]
    pub const fn mean_ns(&self) -> Option<u64> {
        self.total_ns.checked_div(self.count)
    }
}

/// Transactions of a function of a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransactionReport {
    /// Identity.
    pub key: TransactionKey,
    /// Time of the first PDU.
    pub first: Instant,
    /// Time of the last PDU.
    pub last: Instant,
    /// Requests outstanding.
    pub outstanding: u64,
    /// All since measuring began.
    pub all: TransactionFigures,
    /// Start of the latest interval in which anything was counted.
    pub latest: Instant,
    /// Counts and times in it.
    pub in_latest: TransactionFigures,
    /// Clients that poll, the first eight in the order of their first requests.
    pub clients: Vec<PollingClient>,
}
