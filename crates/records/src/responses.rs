//! Response times of a side of a connection in an interval.

use meter::measure::Summary;
use serde::{Deserialize, Serialize};

/// Response times in an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Responses {
    /// Number of replies with a response time.
    pub count: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Greatest.
    pub max_ns: u64,
}

impl Responses {
    /// Response times; none if there are none.
    pub(crate) fn of(summary: &Summary) -> Option<Self> {
        let Summary { count, p50_ns, p99_ns, max_ns, .. } = *summary;
        (count > 0).then_some(Self { count, p50_ns, p99_ns, max_ns })
    }
}

/// True if neither side has response times.
pub(crate) fn is_without_responses(responses: &[Option<Responses>; 2]) -> bool {
    responses.iter().all(Option::is_none)
}
