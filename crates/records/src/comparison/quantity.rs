//! Quantities of an interval that are compared.

use crate::{ConnectionInterval, Counts, StreamInterval, Transactions};
use meter::registry::{Count, Measure};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Quantity of a stream or poller in an interval.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "QuantityOfInterval")]
pub enum Quantity {
    /// Frames of a stream.
    Frames,
    /// Frames that did not arrive, by their numbers.
    Missing,
    /// Mean gap between frames.
    Period,
    /// Median of late deviations from the learnt period.
    LateP50,
    /// 99th percentile of late deviations.
    LateP99,
    /// Greatest late deviation.
    LateMax,
    /// Median of early deviations.
    EarlyP50,
    /// 99th percentile of early deviations.
    EarlyP99,
    /// Greatest early deviation.
    EarlyMax,
    /// Requests.
    Requests,
    /// Requests that no reply answered in time.
    Unanswered,
    /// Replies with a response time.
    Responses,
    /// Median response time.
    ResponseP50,
    /// 99th percentile of response times.
    ResponseP99,
    /// Greatest response time.
    ResponseMax,
}

/// Values of an interval; a quantity without a value is absent.
pub type Values = BTreeMap<Quantity, u64>;

impl Quantity {
    /// Words of the quantity.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frames => "frames",
            Self::Missing => "missing",
            Self::Period => "period",
            Self::LateP50 => "late p50",
            Self::LateP99 => "late p99",
            Self::LateMax => "late max",
            Self::EarlyP50 => "early p50",
            Self::EarlyP99 => "early p99",
            Self::EarlyMax => "early max",
            Self::Requests => "requests",
            Self::Unanswered => "unanswered",
            Self::Responses => "responses",
            Self::ResponseP50 => "response p50",
            Self::ResponseP99 => "response p99",
            Self::ResponseMax => "response max",
        }
    }

    /// True for a time, in nanoseconds; false for a count.
    pub const fn is_time(self) -> bool {
        !matches!(
            self,
            Self::Frames | Self::Missing | Self::Requests | Self::Unanswered | Self::Responses
        )
    }

    /// True for a deviation from the period.
    pub(super) const fn is_deviation(self) -> bool {
        matches!(
            self,
            Self::LateP50
                | Self::LateP99
                | Self::LateMax
                | Self::EarlyP50
                | Self::EarlyP99
                | Self::EarlyMax
        )
    }
}

/// Values of a stream in an interval.
pub(super) fn of_stream(stream: &StreamInterval) -> Values {
    let late = stream.late_gaps.is_some_and(|gaps| gaps > 0);
    let early = stream.early_gaps.is_some_and(|gaps| gaps > 0);
    let some = |is_there: bool, nanos: Option<u64>| nanos.filter(|_| is_there);
    let values = [
        (Quantity::Frames, Some(stream.frames)),
        (Quantity::Missing, Some(stream.missing)),
        (Quantity::Period, stream.gap_total_ns.checked_div(stream.gaps)),
        (Quantity::LateP50, some(late, stream.late_p50_ns)),
        (Quantity::LateP99, some(late, stream.late_p99_ns)),
        (Quantity::LateMax, some(late, stream.late_max_ns)),
        (Quantity::EarlyP50, some(early, stream.early_p50_ns)),
        (Quantity::EarlyP99, some(early, stream.early_p99_ns)),
        (Quantity::EarlyMax, some(early, stream.early_max_ns)),
    ];
    values.into_iter().filter_map(|(quantity, value)| Some((quantity, value?))).collect()
}

/// Values of a function of a server in an interval.
pub(super) fn of_function(of: &Transactions) -> Values {
    let values = [
        (Quantity::Requests, Some(of.requests)),
        (Quantity::Unanswered, Some(of.unanswered)),
        (Quantity::Responses, Some(of.responses)),
        (Quantity::Period, of.period_total_ns.checked_div(of.periods)),
        (Quantity::ResponseP50, of.response_p50_ns),
        (Quantity::ResponseP99, of.response_p99_ns),
        (Quantity::ResponseMax, of.response_max_ns),
    ];
    values.into_iter().filter_map(|(quantity, value)| Some((quantity, value?))).collect()
}

/// Requests of a connection: TSDUs of the side that called.
pub(super) fn requests(directions: &[Counts; 2]) -> u64 {
    directions[0].count(Measure::Count(Count::Tsdus))
}

/// Values of a connection that polls, in an interval of this length.
pub(super) fn of_poller(interval: &ConnectionInterval, length_ns: u64) -> Values {
    let requests = requests(&interval.directions);
    let responses = interval.responses[1];
    let mut values = Values::from([
        (Quantity::Requests, requests),
        (Quantity::Responses, responses.map_or(0, |of| of.count)),
    ]);
    values.extend(length_ns.checked_div(requests).map(|period| (Quantity::Period, period)));
    if let Some(of) = responses {
        values.extend([
            (Quantity::ResponseP50, of.p50_ns),
            (Quantity::ResponseP99, of.p99_ns),
            (Quantity::ResponseMax, of.max_ns),
        ]);
    }
    values
}
