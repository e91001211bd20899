//! Sample: the result of one run, a row of a result file.
//!
//! Times are whole nanoseconds with `_ns` in their names, shares are fractions of one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::histogram::Histogram;
use std::collections::BTreeMap;

/// Result of one run of one point.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Title of its scenario.
    pub title: String,
    /// Hash of the scenario's text (FNV-1a, 128 bits, hexadecimal).
    pub scenario_hash: String,
    /// Version of the program.
    pub program_version: String,
    /// Origin: simulated or measured.
    pub source: Origin,
    /// Index of its point, from 0.
    pub point: usize,
    /// Settings of this point, by dotted path.
    pub settings: BTreeMap<String, String>,
    /// Index of the replication of the point, from 0.
    pub replication: u64,
    /// Seed from which all randomness of the run derives.
    #[serde(with = "crate::seed")]
    #[schemars(with = "String")]
    pub seed: u64,
    /// End of the run, relative to its start.
    pub ended_at_ns: u64,
    /// True if it ran to its planned end.
    pub complete: bool,
    /// Results of each flow.
    pub flows: Vec<FlowSample>,
    /// Counters of the medium and the faults, by name.
    pub counts: BTreeMap<String, u64>,
    /// Busy time of each resource of each machine, in the order of stations and resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<Occupied>,
}

/// Busy time of a resource of a station's machine in a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Occupied {
    /// Station.
    pub station: String,
    /// Resource.
    pub resource: String,
    /// Time that it was occupied, completed work only.
    pub busy_ns: u64,
}

/// Origin of a sample.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Simulated.
    Predicted,
    /// On real ports.
    Measured,
}

/// Results of one flow in one run. A message counts if it was due after the warm-up and before the
/// end of the measured time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FlowSample {
    /// Name.
    pub name: String,
    /// End of its warm-up.
    pub measured_from_ns: u64,
    /// Due time of the first message that was judged; `None` in files of older versions.
    #[serde(default)]
    pub first_due_ns: Option<u64>,
    /// True if MSER-5 found the run too short, so that nothing was cut.
    pub warmup_too_short: bool,
    /// Messages handed to the service.
    pub sent: u64,
    /// Messages that were due but not accepted, because too many waited for the service.
    pub not_taken: u64,
    /// Messages not offered because their station was absent; they are not judged.
    #[serde(default)]
    pub not_offered: u64,
    /// Messages that arrived, each counted once.
    pub delivered: u64,
    /// Messages handed to the service that had not arrived at the end of the run.
    pub lost: u64,
    /// Duplicate arrivals of messages.
    pub duplicated: u64,
    /// Messages that arrived after one that was sent later.
    pub out_of_order: u64,
    /// Arrivals that were no message of a flow, or differed from the octets sent.
    pub damaged: u64,
    /// Requests whose answer arrived, each counted once.
    pub answered: u64,
    /// Messages acknowledged by the receiver.
    #[serde(default)]
    pub acknowledged: u64,
    /// Messages that the service could not send, or that were not acknowledged.
    #[serde(default)]
    pub failed: u64,
    /// Number of these by reason; empty in files of older versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, u64>,
    /// Messages that were acknowledged but did not arrive: false reports by the service.
    #[serde(default)]
    pub acknowledged_and_lost: u64,
    /// Deadline, if there is one.
    pub deadline_ns: Option<u64>,
    /// For a flow with a deadline: messages (or answers) that came too late or never.
    pub missed: Option<u64>,
    /// From a message's due time to its arrival.
    pub delay: Distribution,
    /// Mean delay (for requests: response) with its interval from within this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
    /// From a message's hand-over to the service to its arrival, for messages of at least 20 octets
    /// that were handed over within 4.29 s. Shorter stamps do not contain that time.
    pub delay_from_sent: Distribution,
    /// From a request's due time to the arrival of its answer.
    pub response: Distribution,
    /// User octets of the messages that arrived.
    pub delivered_octets: u64,
    /// User bits that arrived within the measured time, whatever their due time, divided by that
    /// time. For a flow with a limited number of messages the time ends with the last arrival, and
    /// begins with the first message's due time if that is later.
    pub throughput_bits_per_second: Option<f64>,
    /// Time to open its connection.
    pub setup_ns: Option<u64>,
    /// True if everything was handed over and, over a connection, acknowledged.
    pub done: bool,
    /// End of its connection, in the protocol's terms.
    pub end: Option<Ending>,
}

impl FlowSample {
    /// Number of messages judged: due within the measured time.
    #[must_use]
    pub const fn judged(&self) -> u64 {
        self.sent + self.not_taken
    }
}

/// Mean from within one run, by batch means: for a single long run, which has no other interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Within {
    /// Mean of the batches.
    pub mean_ns: f64,
    /// Half-width of its interval.
    pub half_width_ns: f64,
    /// Confidence level.
    pub level: f64,
    /// Number of batches, for which von Neumann's ratio shows no correlation.
    pub batches: u64,
}

/// End of a connection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Ending {
    /// Reason, in the protocol's terms.
    pub reason: String,
    /// True if the end was planned.
    pub orderly: bool,
}

/// Distribution of time spans.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Number of spans.
    pub count: u64,
    /// Exact mean.
    pub mean_ns: Option<f64>,
    /// Exact sample standard deviation.
    pub standard_deviation_ns: Option<f64>,
    /// Exact minimum.
    pub min_ns: Option<u64>,
    /// Median, to three digits like all quantiles.
    pub p50_ns: Option<u64>,
    /// Value that 90 % do not exceed.
    pub p90_ns: Option<u64>,
    /// Value that 99 % do not exceed.
    pub p99_ns: Option<u64>,
    /// Value that 99.9 % do not exceed.
    pub p99_9_ns: Option<u64>,
    /// Exact maximum.
    pub max_ns: Option<u64>,
    /// Lower limit and count of each class: three digits, in rising order.
    pub classes: Vec<(u64, u64)>,
}

impl Distribution {
    /// Converts to a histogram, to be merged with others: quantiles as exact as here, minimum and
    /// maximum to three digits.
    #[must_use]
    pub fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::new();
        self.classes.iter().for_each(|(nanos, times)| histogram.record_nanos(*nanos, *times));
        histogram
    }

    /// Value that this share of the spans does not exceed.
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let found = self.histogram().quantile(share).map(wire::time::nanos)?;
        // The histogram was rebuilt from the lower limits of its classes, so the exact minimum and
        // maximum here are better.
        Some(found.clamp(self.min_ns?, self.max_ns?))
    }
}

impl From<&Histogram> for Distribution {
    fn from(histogram: &Histogram) -> Self {
        let quantile = |share| histogram.quantile(share).map(wire::time::nanos);
        Self {
            count: histogram.count(),
            mean_ns: histogram.mean_nanos(),
            standard_deviation_ns: histogram.standard_deviation_nanos(),
            min_ns: histogram.min().map(wire::time::nanos),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p99_9_ns: quantile(0.999),
            max_ns: histogram.max().map(wire::time::nanos),
            classes: histogram.classes().collect(),
        }
    }
}

/// Line of a result file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Line {
    /// Result of one run.
    Sample(Box<Sample>),
    /// Last line, which is always present.
    End(End),
}

/// End of a study.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// True if every run of every point was made.
    pub complete: bool,
    /// Error, if one occurred.
    pub error: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn a_distribution_keeps_its_quantiles_through_a_file() {
        let histogram: Histogram = (1..=1_000).map(Duration::from_micros).collect();
        let distribution = Distribution::from(&histogram);
        let text = serde_json::to_string(&distribution).unwrap();
        let read: Distribution = serde_json::from_str(&text).unwrap();
        assert_eq!(read, distribution);
        for share in [0.0, 0.5, 0.99, 1.0] {
            let exact = histogram.quantile(share).map(wire::time::nanos).unwrap() as f64;
            let kept = read.quantile_ns(share).unwrap() as f64;
            assert!((kept / exact - 1.0).abs() < 1e-3, "{share}: {kept}, not {exact}");
        }
    }

    #[test]
    fn missing_values_are_null_and_not_zero() {
        let text = serde_json::to_string(&Distribution::from(&Histogram::new())).unwrap();
        assert!(text.starts_with(r#"{"count":0,"mean_ns":null,"#), "{text}");
    }

    #[test]
    fn the_last_line_records_the_end() {
        let end = Line::End(End { complete: false, error: Some("no such port".to_owned()) });
        assert_eq!(
            serde_json::to_string(&end).unwrap(),
            r#"{"type":"end","complete":false,"error":"no such port"}"#
        );
    }
}
