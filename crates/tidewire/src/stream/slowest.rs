//! Order of hosts and connections by the times that their replies took: the slowest first.
//!
//! Slowest is the one with the greatest 99th percentile among those with at least [`ENOUGH`] replies; of equals the
//! one with the greatest maximum. Those with fewer replies follow in the same order, then those with none.

use super::Named;
use meter::measure::Summary;

/// Replies from which a 99th percentile counts in the order.
pub(crate) const ENOUGH: u64 = 20;

/// Slowness of replies; the greater is the slower.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Slowness {
    has_enough: bool,
    p99_ns: u64,
    max_ns: u64,
}

impl Slowness {
    /// Slowness of a distribution.
    pub(crate) const fn of(replied: &Summary) -> Self {
        let Summary { count, p99_ns, max_ns, .. } = *replied;
        Self { has_enough: count >= ENOUGH, p99_ns, max_ns }
    }

    /// Slowness of what a host or a side sent, as a record has it.
    pub(crate) fn of_values(sent: &Named<u64>) -> Self {
        let Replies { count, p99_ns, max_ns, .. } = Replies::of(sent);
        Self { has_enough: count >= ENOUGH, p99_ns: p99_ns.unwrap_or(0), max_ns }
    }

    /// Whether there are enough replies for the percentile to count.
    pub(crate) const fn has_enough(&self) -> bool {
        self.has_enough
    }
}

/// Replies of a host or a side, as a record has them: of the whole, or so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Replies {
    pub(crate) count: u64,
    pub(crate) mean_ns: Option<u64>,
    pub(crate) p50_ns: Option<u64>,
    pub(crate) p99_ns: Option<u64>,
    pub(crate) max_ns: u64,
    pub(crate) ambiguous: u64,
}

impl Replies {
    /// Replies in the values of a record.
    pub(crate) fn of(sent: &Named<u64>) -> Self {
        let is_whole = sent.get("response_p99_ns").is_some();
        let of = |whole, so_far| sent.get(if is_whole { whole } else { so_far });
        let count = of("responses", "responses_so_far").unwrap_or(0);
        let total_ns = of("response_total_ns", "response_total_so_far_ns").unwrap_or(0);
        let p99_ns = of("response_p99_ns", "response_p99_so_far_ns");
        Self {
            count,
            mean_ns: total_ns.checked_div(count),
            p50_ns: of("response_p50_ns", "response_p50_so_far_ns").filter(|_| count > 0),
            p99_ns: p99_ns.filter(|_| count > 0),
            max_ns: of("response_max_ns", "response_max_so_far_ns").unwrap_or(0),
            ambiguous: sent.count("responses_ambiguous"),
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
        let told = Named(told.map(|(name, value)| (name.into(), value)).to_vec());
        let found = Replies::of(&told);
        assert_eq!((found.count, found.mean_ns, found.p99_ns), (20, Some(4), Some(7)));
        assert_eq!(found.p50_ns, Some(3));
        assert_eq!(Slowness::of_values(&told), Slowness::of(&replied(20, 7, 9)));
    }
}
