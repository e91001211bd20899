//! Order of hosts and connections by their response times, the slowest first.
//!
//! The slowest has the greatest 99th percentile among those with at least [`ENOUGH`] replies; the
//! maximum breaks ties. Those with fewer replies follow in the same order, then those with none.

use super::Counts;
use meter::measure::Summary;
use meter::observation::DelayKind;
use meter::registry::{DelayStatistic, Measure};

/// Minimum number of replies for the 99th percentile to count in the order.
pub const ENOUGH: u64 = 20;

/// Sort key of response times; greater is slower.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Slowness {
    has_enough: bool,
    p99_ns: u64,
    max_ns: u64,
}

impl Slowness {
    /// Returns the slowness of a distribution.
    pub const fn of(replied: &Summary) -> Self {
        let Summary { count, p99_ns, max_ns, .. } = *replied;
        Self { has_enough: count >= ENOUGH, p99_ns, max_ns }
    }

    /// Returns the slowness of what a host or a side sent, from the values of a record.
    pub fn of_values(sent: &Counts) -> Self {
        Self::of_replies(&Replies::of(sent))
    }

    /// Returns the slowness of replies.
    pub fn of_replies(replies: &Replies) -> Self {
        let Replies { count, p99_ns, max_ns, .. } = *replies;
        Self { has_enough: count >= ENOUGH, p99_ns: p99_ns.unwrap_or(0), max_ns }
    }

    /// Returns true if there are enough replies for the percentile to count.
    pub const fn has_enough(&self) -> bool {
        self.has_enough
    }
}

/// Replies of a host or a side in a record, of the whole measurement or so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Replies {
    /// Number of replies.
    pub count: u64,
    /// Mean response time.
    pub mean_ns: Option<u64>,
    /// Median response time.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the response time.
    pub p99_ns: Option<u64>,
    /// Longest response time.
    pub max_ns: u64,
    /// Replies that pair with no single request.
    pub ambiguous: u64,
}

impl Replies {
    /// Returns the replies in the values of a record.
    pub fn of(sent: &Counts) -> Self {
        let is_whole = sent.get(DelayKind::Response.p99()).is_some();
        let of = |whole, so_far| sent.get(if is_whole { whole } else { so_far });
        let count = of(
            DelayKind::Response.count(),
            Measure::DelaySoFar(DelayKind::Response, DelayStatistic::Count),
        )
        .unwrap_or(0);
        let total_ns = of(
            DelayKind::Response.total(),
            Measure::DelaySoFar(DelayKind::Response, DelayStatistic::Total),
        )
        .unwrap_or(0);
        let p99_ns = of(
            DelayKind::Response.p99(),
            Measure::DelaySoFar(DelayKind::Response, DelayStatistic::P99),
        );
        Self {
            count,
            mean_ns: total_ns.checked_div(count),
            p50_ns: of(
                DelayKind::Response.p50(),
                Measure::DelaySoFar(DelayKind::Response, DelayStatistic::P50),
            )
            .filter(|_| count > 0),
            p99_ns: p99_ns.filter(|_| count > 0),
            max_ns: of(
                DelayKind::Response.maximum(),
                Measure::DelaySoFar(DelayKind::Response, DelayStatistic::Maximum),
            )
            .unwrap_or(0),
            ambiguous: sent.count(Measure::ResponsesAmbiguous),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replied(count: u64, p99_ns: u64, max_ns: u64) -> Summary {
        Summary { count, p99_ns, max_ns, ..Summary::default() }
    }

    #[test]
    fn slowest_has_the_greatest_p99_of_at_least_20_replies() {
        let order = [(20, 9, 9), (900, 8, 30), (20, 8, 10), (19, 700, 700), (0, 0, 0)];
        let slowness = order.map(|(n, p99, max)| Slowness::of(&replied(n, p99, max)));
        assert!(slowness.is_sorted_by(|slower, faster| slower > faster), "{slowness:?}");
    }

    #[test]
    fn a_record_of_an_interval_has_the_replies_so_far() {
        let told = [
            ("responses", 1),
            ("response_total_ns", 5),
            ("responses_so_far", 20),
            ("response_total_so_far_ns", 80),
            ("response_p50_so_far_ns", 3),
            ("response_p99_so_far_ns", 7),
            ("response_max_so_far_ns", 9),
        ];
        let told = Counts::named(&told).unwrap();
        let found = Replies::of(&told);
        assert_eq!((found.count, found.mean_ns, found.p99_ns), (20, Some(4), Some(7)));
        assert_eq!(found.p50_ns, Some(3));
        assert_eq!(Slowness::of_values(&told), Slowness::of(&replied(20, 7, 9)));
    }
}
