//! Reader of the JSON of iperf3 (`iperf3 -J`), of TCP and UDP.
//!
//! Format: what iperf 3.12 writes; versions from 3.1 on have the same fields. Omitted intervals (`-O`) are left
//! out. Not read: the streams of a test one by one, the second direction of `--bidir`, the use of CPU, and the
//! output of the other end (`--get-server-output`).

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Most bits in a second, microseconds or messages that a field may state.
const MOST: f64 = 1e18;
/// Keys with which a result begins; the first two are of `--title` and `--extra-data`.
const FIRST: [&str; 3] = ["\"title\"", "\"extra_data\"", "\"start\""];

/// Result of a test.
#[derive(Clone, PartialEq, Debug)]
pub struct Test {
    /// Version of the program, as it states it.
    pub version: String,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
    /// Number of parallel streams.
    pub streams: u64,
    /// Bits in a second that the receiver counted over the whole test; none of old versions with UDP.
    pub received: Option<f64>,
    /// Bits in a second in each interval, of all streams together, as the client counted them.
    pub intervals: Vec<f64>,
    /// True if the client sent.
    pub is_sender: bool,
    /// Variation of delay at the end of the test as RTP smooths it (RFC 1889), of UDP, in nanoseconds.
    pub jitter_ns: Option<f64>,
    /// Lost datagrams and all, of UDP.
    pub lost: Option<Lost>,
    /// Round trip that TCP of the sender estimated, mean over streams, in nanoseconds; where the client receives
    /// it is not known.
    pub rtt_ns: Option<f64>,
}

/// Lost datagrams.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lost {
    /// Number of lost datagrams.
    pub lost: f64,
    /// Number of all.
    pub of: f64,
}

/// Document.
#[derive(Deserialize)]
struct Document {
    error: Option<String>,
    start: Start,
    #[serde(default)]
    intervals: Vec<Interval>,
    #[serde(default)]
    end: End,
}

#[derive(Deserialize)]
struct Start {
    #[serde(default)]
    version: String,
    test_start: Option<TestStart>,
}

#[derive(Deserialize)]
struct TestStart {
    protocol: String,
    num_streams: u64,
}

#[derive(Deserialize)]
struct Interval {
    sum: Sum,
}

#[derive(Deserialize)]
struct Sum {
    #[serde(deserialize_with = "bits_per_second")]
    bits_per_second: f64,
    #[serde(default)]
    omitted: bool,
    #[serde(default = "yes")]
    sender: bool,
    #[serde(default, deserialize_with = "jitter_ms")]
    jitter_ms: Option<f64>,
    #[serde(default, deserialize_with = "lost_packets")]
    lost_packets: Option<f64>,
    #[serde(default, deserialize_with = "packets")]
    packets: Option<f64>,
}

#[derive(Default, Deserialize)]
struct End {
    #[serde(default)]
    streams: Vec<StreamEnd>,
    sum: Option<Sum>,
    sum_received: Option<Sum>,
}

#[derive(Deserialize)]
struct StreamEnd {
    sender: Option<SenderEnd>,
}

#[derive(Deserialize)]
struct SenderEnd {
    #[serde(default, deserialize_with = "mean_rtt")]
    mean_rtt: Option<f64>,
}

const fn yes() -> bool {
    true
}

/// A number from zero to [`MOST`]; the error names its field.
fn number<'de, D: Deserializer<'de>>(of: D, field: &str) -> Result<f64, D::Error> {
    number_from(0.0, of, field)
}

/// A number from `least` to [`MOST`].
fn number_from<'de, D: Deserializer<'de>>(least: f64, of: D, field: &str) -> Result<f64, D::Error> {
    let number = f64::deserialize(of)
        .map_err(|error| D::Error::custom(format!("the field {field}: {error}")))?;
    if (least..=MOST).contains(&number) {
        return Ok(number);
    }
    Err(D::Error::custom(format!("the field {field} is {number}, which is not in its range")))
}

fn bits_per_second<'de, D: Deserializer<'de>>(of: D) -> Result<f64, D::Error> {
    number(of, "bits_per_second")
}

fn jitter_ms<'de, D: Deserializer<'de>>(of: D) -> Result<Option<f64>, D::Error> {
    number(of, "jitter_ms").map(Some)
}

fn packets<'de, D: Deserializer<'de>>(of: D) -> Result<Option<f64>, D::Error> {
    number(of, "packets").map(Some)
}

fn mean_rtt<'de, D: Deserializer<'de>>(of: D) -> Result<Option<f64>, D::Error> {
    number(of, "mean_rtt").map(Some)
}

/// Lost datagrams. Datagrams that came late are counted as found again, so that a sum may be below zero for a
/// moment: such a sum is none.
fn lost_packets<'de, D: Deserializer<'de>>(of: D) -> Result<Option<f64>, D::Error> {
    let lost = number_from(-MOST, of, "lost_packets")?;
    Ok(Some(lost).filter(|lost| *lost >= 0.0))
}

/// True if a file that begins with this text is meant as a result of iperf3.
pub(super) fn is_meant(head: &str) -> bool {
    let key = head.trim_start().strip_prefix('{').map(str::trim_start);
    key.is_some_and(|key| FIRST.iter().any(|first| key.starts_with(first)))
}

/// Reads a result.
///
/// # Errors
/// The field that is missing or out of range, with its line; a test that iperf3 itself reports as failed.
pub fn read(text: &str) -> Result<Test, String> {
    let document: Document = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if let Some(error) = document.error {
        return Err(format!("the test failed: {error}"));
    }
    let Some(start) = document.start.test_start else {
        return Err("the field start.test_start is missing: the test did not begin".to_owned());
    };
    let whole: Vec<&Sum> =
        document.intervals.iter().map(|it| &it.sum).filter(|sum| !sum.omitted).collect();
    let Some(first) = whole.first() else {
        return Err("the field intervals is empty: no interval was measured".to_owned());
    };
    let End { streams, sum, sum_received } = document.end;
    let lost = sum.as_ref().and_then(|sum| sum.lost_packets.zip(sum.packets));
    if let Some((lost, of)) = lost.filter(|(lost, of)| lost > of) {
        return Err(format!("the field end.sum.lost_packets is {lost}, of {of} packets"));
    }
    let round_trips = streams.iter().filter_map(|it| it.sender.as_ref()?.mean_rtt);
    // Zero stands for unknown: the client received.
    let round_trips: Vec<f64> = round_trips.filter(|rtt| *rtt > 0.0).collect();
    let mean = round_trips.iter().sum::<f64>() / round_trips.len() as f64;
    Ok(Test {
        version: document.start.version,
        protocol: start.protocol,
        streams: start.num_streams,
        received: sum_received.map(|sum| sum.bits_per_second),
        is_sender: first.sender,
        intervals: whole.iter().map(|sum| sum.bits_per_second).collect(),
        jitter_ns: sum.and_then(|sum| sum.jitter_ms).map(|ms| ms * 1e6),
        lost: lost.map(|(lost, of)| Lost { lost, of }),
        rtt_ns: (!round_trips.is_empty()).then_some(mean * 1e3),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two intervals of TCP behind an omitted one, without fields that are not read.
    const TCP: &str = include_str!("../../../../fuzz/corpus/iperf3/tcp");
    /// One interval of UDP, likewise.
    const UDP: &str = include_str!("../../../../fuzz/corpus/iperf3/udp");

    #[test]
    fn a_test_of_tcp_has_throughput_and_round_trip() {
        let test = read(TCP).unwrap();
        assert_eq!((test.version.as_str(), test.protocol.as_str()), ("iperf 3.12", "TCP"));
        assert_eq!(test.intervals, [4e6, 6e6]);
        assert_eq!((test.received, test.rtt_ns), (Some(4.9e6), Some(270_000.0)));
        assert_eq!((test.jitter_ns, test.lost, test.streams), (None, None, 1));
    }

    #[test]
    fn a_test_of_udp_has_jitter_and_loss() {
        let test = read(UDP).unwrap();
        assert_eq!(
            (test.jitter_ns, test.lost),
            (Some(250_000.0), Some(Lost { lost: 1.0, of: 8.0 }))
        );
        assert_eq!((test.received, test.rtt_ns, test.streams), (Some(1.75e6), None, 2));
    }

    #[test]
    fn datagrams_that_were_found_again_are_no_error() {
        let found = UDP.replace(
            "\"packets\": 8, \"omitted\"",
            "\"lost_packets\": -3, \"packets\": 8, \"omitted\"",
        );
        assert!(found.contains("-3"));
        assert_eq!(read(&found).unwrap().lost, Some(Lost { lost: 1.0, of: 8.0 }));
        assert_eq!(read(&UDP.replace("packets\": 1,", "packets\": -1,")).unwrap().lost, None);
        let error = read(&UDP.replace("packets\": 1,", "packets\": -1e19,")).unwrap_err();
        assert!(error.contains("the field lost_packets is -1"), "{error}");
    }

    #[track_caller]
    fn check(text: &str, from: &str, to: &str, expected: &str) {
        assert!(text.contains(from), "{from}");
        let error = read(&text.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn an_error_names_its_field_and_line() {
        let rate = "\"bits_per_second\": 4e6";
        check(
            TCP,
            rate,
            "\"bits_per_second\": -1",
            "the field bits_per_second is -1, which is not in",
        );
        check(TCP, rate, "\"bits_per_second\": -1", "at line 8");
        check(
            TCP,
            rate,
            "\"bits_per_second\": 1e400",
            "the field bits_per_second: number out of range",
        );
        check(TCP, rate, "\"bits_per_second\": 1e300", "which is not in its range at line 8");
        check(
            TCP,
            rate,
            "\"bits_per_second\": NaN",
            "the field bits_per_second: expected value at line 8",
        );
        check(TCP, rate, "\"bits_per_second\": \"1\"", "the field bits_per_second: invalid type");
        check(TCP, rate, "\"bytes\": 1", "missing field `bits_per_second` at line 8");
        check(TCP, "\"mean_rtt\": 270", "\"mean_rtt\": -3", "the field mean_rtt is -3");
        check(UDP, "\"jitter_ms\": 0.25", "\"jitter_ms\": -0.25", "the field jitter_ms is -0.25");
        check(UDP, "\"lost_packets\": 1", "\"lost_packets\": 9", "lost_packets is 9, of 8 packets");
        check(UDP, "\"protocol\"", "\"protocols\"", "missing field `protocol` at line 4");
    }

    #[test]
    fn a_failed_or_cut_test_is_an_error() {
        let failed = "{\"start\":{},\"intervals\":[],\"end\":{},\"error\":\"unable to connect\"}";
        assert_eq!(read(failed).unwrap_err(), "the test failed: unable to connect");
        let none = "{\"start\":{\"test_start\":{\"protocol\":\"TCP\",\"num_streams\":1}}}";
        assert!(read(none).unwrap_err().contains("the field intervals is empty"));
        assert!(read("{\"start\":{}}").unwrap_err().contains("start.test_start is missing"));
        // Cut anywhere, a document is an error and never a panic.
        for end in 0..UDP.trim_end().len() {
            assert!(read(&UDP[..end]).is_err(), "{end}");
        }
        let deep = format!("{{\"start\":{}", "[".repeat(100_000));
        assert!(read(&deep).is_err());
    }
}
