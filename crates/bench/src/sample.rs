//! What one run gave: a row of a result file.
//!
//! Times are whole nanoseconds with `_ns` in their names, shares are fractions of one.

use serde::{Deserialize, Serialize};
use stats::histogram::Histogram;
use std::collections::BTreeMap;

/// One run of one point.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// The title of its scenario.
    pub title: String,
    /// A hash of the scenario's text (FNV-1a, 128 bits, hexadecimal).
    pub scenario_hash: String,
    /// The program's version.
    pub program_version: String,
    /// How it came about.
    pub source: Origin,
    /// The place of its point among the points, from 0.
    pub point: usize,
    /// What was set at this point, by dotted path.
    pub settings: BTreeMap<String, String>,
    /// Which replication of the point, from 0.
    pub replication: u64,
    /// What all chance of the run derived from.
    #[serde(with = "crate::seed")]
    pub seed: u64,
    /// When the run was over, counted from its start.
    pub ended_at_ns: u64,
    /// Whether it ran to its planned end.
    pub complete: bool,
    /// What befell each flow.
    pub flows: Vec<FlowSample>,
    /// What the medium and the faults counted, by name.
    pub counts: BTreeMap<String, u64>,
}

/// How a sample came about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Simulated.
    Predicted,
    /// On real ports.
    Measured,
}

/// What befell one flow in one run. Messages count if they were due after the warm-up and before
/// the end of the measured time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlowSample {
    /// Its name.
    pub name: String,
    /// When its warm-up ended.
    pub measured_from_ns: u64,
    /// When the first message that was judged was due; none in files of older versions.
    #[serde(default)]
    pub first_due_ns: Option<u64>,
    /// Whether MSER-5 found the run too short, so that nothing was cut.
    pub warmup_too_short: bool,
    /// Messages handed to the service.
    pub sent: u64,
    /// Messages that were due but not taken, since too many waited for the service.
    pub not_taken: u64,
    /// Messages that would have been due while their station was away: nobody judges them.
    #[serde(default)]
    pub not_offered: u64,
    /// Messages that arrived, each counted once.
    pub delivered: u64,
    /// Messages that were handed to the service and had not arrived when the run was over.
    pub lost: u64,
    /// Arrivals of messages that had arrived before.
    pub duplicated: u64,
    /// Messages that arrived after one that was sent later.
    pub out_of_order: u64,
    /// Arrivals that were no message of a flow, or not the octets that were sent.
    pub damaged: u64,
    /// Requests whose answer arrived, each counted once.
    pub answered: u64,
    /// Messages that the receiver said it took.
    #[serde(default)]
    pub acknowledged: u64,
    /// Messages that the service could not send, or that were not acknowledged.
    #[serde(default)]
    pub failed: u64,
    /// Messages that were acknowledged and did not arrive: the service broke its word.
    #[serde(default)]
    pub acknowledged_and_lost: u64,
    /// The deadline, if there is one.
    pub deadline_ns: Option<u64>,
    /// Of a flow with a deadline: messages (or answers) that came too late or never.
    pub missed: Option<u64>,
    /// From when a message was due to its arrival.
    pub delay: Distribution,
    /// The mean delay (of requests: response) with its interval from within this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
    /// From when a message was handed to the service to its arrival: of messages of 20 octets and more
    /// which were handed over within 4.29 s. Shorter stamps do not have that time.
    pub delay_from_sent: Distribution,
    /// From when a request was due to the arrival of its answer.
    pub response: Distribution,
    /// User octets of the messages that arrived.
    pub delivered_octets: u64,
    /// User bits that arrived within the measured time, whenever they were due, over that time. The
    /// time of a flow with a limited number of messages ends with the last arrival, and begins when
    /// the first message was due, if that is within it.
    pub throughput_bits_per_second: Option<f64>,
    /// How long its connection took to open.
    pub setup_ns: Option<u64>,
    /// Whether everything was handed over and, over a connection, acknowledged.
    pub done: bool,
    /// How its connection ended, in the words of the protocol.
    pub end: Option<Ending>,
}

impl FlowSample {
    /// Messages that were judged: due within the measured time.
    #[must_use]
    pub const fn judged(&self) -> u64 {
        self.sent + self.not_taken
    }
}

/// A mean from within one run, by batch means: for a single long run, which has no other interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Within {
    /// The mean of the batches.
    pub mean_ns: f64,
    /// Half the width of its interval.
    pub half_width_ns: f64,
    /// The confidence.
    pub level: f64,
    /// How many batches, of which von Neumann's ratio shows no correlation.
    pub batches: u64,
}

/// How a connection ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ending {
    /// In the words of the protocol.
    pub reason: String,
    /// Whether that was the plan.
    pub orderly: bool,
}

/// Spans by size.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// How many.
    pub count: u64,
    /// Their mean, exactly.
    pub mean_ns: Option<f64>,
    /// Their sample standard deviation, exactly.
    pub standard_deviation_ns: Option<f64>,
    /// The shortest, exactly.
    pub min_ns: Option<u64>,
    /// The median, to three digits as all quantiles.
    pub p50_ns: Option<u64>,
    /// What 90 % do not exceed.
    pub p90_ns: Option<u64>,
    /// What 99 % do not exceed.
    pub p99_ns: Option<u64>,
    /// What 99.9 % do not exceed.
    pub p99_9_ns: Option<u64>,
    /// The longest, exactly.
    pub max_ns: Option<u64>,
    /// The least span of each class, and how many fell in it: three digits, in rising order.
    pub classes: Vec<(u64, u64)>,
}

impl Distribution {
    /// As a histogram, to merge with others: quantiles as exact as here, ends to three digits.
    #[must_use]
    pub fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::new();
        self.classes.iter().for_each(|(nanos, times)| histogram.record_nanos(*nanos, *times));
        histogram
    }

    /// What this share of the spans does not exceed.
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let found = self.histogram().quantile(share).map(wire::time::nanos)?;
        // The histogram was rebuilt from the lower ends of its classes, so the ends are known
        // better.
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

/// A line of a result file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Line {
    /// What one run gave.
    Sample(Box<Sample>),
    /// The last line: it is always there.
    End(End),
}

/// How a study ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct End {
    /// Whether every run of every point was made.
    pub complete: bool,
    /// What went wrong, if something did.
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
    fn nothing_is_null_and_not_zero() {
        let text = serde_json::to_string(&Distribution::from(&Histogram::new())).unwrap();
        assert!(text.starts_with(r#"{"count":0,"mean_ns":null,"#), "{text}");
    }

    #[test]
    fn the_last_line_says_how_it_ended() {
        let end = Line::End(End { complete: false, error: Some("no such port".to_owned()) });
        assert_eq!(
            serde_json::to_string(&end).unwrap(),
            r#"{"type":"end","complete":false,"error":"no such port"}"#
        );
    }
}
