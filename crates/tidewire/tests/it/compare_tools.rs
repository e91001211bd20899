//! `tidewire compare`: results of iperf3 and logs of sockperf, known by their content.

use crate::{check_code, json_schema, records, run_in, schemas, stderr, stdout};
use std::fs;
use std::path::Path;

/// Two intervals of UDP as iperf 3.12 writes them, without the fields that are not read.
const IPERF3: &str = r#"{
	"start": {
		"version": "iperf 3.12",
		"test_start": { "protocol": "UDP", "num_streams": 1 }
	},
	"intervals": [
		{ "sum": { "bits_per_second": 2e6, "omitted": false, "sender": true } },
		{ "sum": { "bits_per_second": 4e6, "omitted": false, "sender": true } }
	],
	"end": {
		"sum": { "bits_per_second": 3e6, "jitter_ms": 0.25, "lost_packets": 2, "packets": 16 },
		"sum_received": { "bits_per_second": 2.5e6 }
	}
}
"#;

/// Round trips of 100, 200 and 400 us, in the layout of sockperf 3.10.
const SOCKPERF: &str = "# dropped messages = 3; # duplicated messages = 0; # out-of-order messages = 0\n\
    ------------------------------\n\
    packet, txTime(sec), rxTime(sec), latency(usec)\n\
    0, 7.000000000, 7.000100000, 50.000\n\
    1, 7.001000000, 7.001200000, 100.000\n\
    2, 7.002000000, 7.002400000, 200.000\n\
    ------------------------------\n";

fn made() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let predict = ["predict", "status-short", "-n", "2", "-q", "-o", "made"];
    check_code(&run_in(folder.path(), &predict), 0);
    // Names say nothing: the content does.
    fs::write(folder.path().join("a.txt"), IPERF3).unwrap();
    fs::write(folder.path().join("b.log"), SOCKPERF).unwrap();
    folder
}

#[test]
fn a_result_of_iperf3_is_compared_by_quantities_that_are_named() {
    let folder = made();
    let output = run_in(folder.path(), &["compare", "made", "a.txt", "--json"]);
    check_code(&output, 0);
    let record = records(&output).remove(0);
    assert_eq!(record["type"], "tool-comparison");
    let schema = schemas::schema("compare");
    json_schema::conforms(&record, &schema, &schema).unwrap();
    let of = |name: &str| {
        let all = record["quantities"].as_array().unwrap();
        all.iter().find(|it| it["quantity"] == name).unwrap().clone()
    };
    // 2 of 16 datagrams; the run loses none.
    assert_eq!(
        (of("lost")["other"].as_f64(), of("lost")["baseline"].as_f64()),
        (Some(0.125), Some(0.0))
    );
    assert_eq!(of("throughput, received")["other"], 2.5e6);
    assert!(of("throughput, received")["baseline"].as_f64().unwrap() > 0.0);
    assert_eq!(of("throughput, lowest interval")["other"], 2e6);
    assert_eq!(of("throughput, highest interval")["other"], 4e6);
    assert_eq!(of("jitter")["other"], 250_000.0);
    assert!(of("jitter")["baseline"].is_null() && of("round trip, mean")["other"].is_null());
    let text = stdout(&run_in(folder.path(), &["compare", "a.txt", "a.txt"]));
    for part in ["iperf 3.12, UDP, 1 stream, 2 intervals, the client sent", "12.5 %", "250 us"] {
        assert!(
            text.contains(part) || part == "12.5 %" && text.contains("0.125"),
            "{part}: {text}"
        );
    }
    assert!(text.contains("on neither side: round trip, mean"), "{text}");
}

#[test]
fn a_log_of_sockperf_has_round_trips_and_their_halves() {
    let folder = made();
    let output = run_in(folder.path(), &["compare", "b.log", "made", "--json"]);
    check_code(&output, 0);
    assert!(stderr(&output).contains("b.log: 3 messages without a reply"), "{}", stderr(&output));
    let all = records(&output);
    let schema = schemas::schema("compare");
    let compared: Vec<_> = all.iter().filter(|it| it["type"] == "percentile-comparison").collect();
    assert!(!compared.is_empty());
    for record in compared {
        json_schema::conforms(record, &schema, &schema).unwrap();
        // A delay is one way: half of a round trip is held against it, and the whole against a response.
        let expected = match record["other"]["kind"].as_str().unwrap() {
            "delay" => ("half-round-trip", 100_000),
            _ => ("round-trip", 200_000),
        };
        let half = &record["quantiles"][0];
        assert_eq!(record["baseline"]["kind"], expected.0);
        assert_eq!(
            (half["share"].as_f64(), half["baseline_ns"].as_u64()),
            (Some(0.5), Some(expected.1))
        );
    }
    let both = run_in(folder.path(), &["compare", "b.log", "b.log"]);
    let text = stdout(&both);
    assert_eq!(text.matches("round trip from txTime to rxTime").count(), 2, "{text}");
    assert!(!text.contains("half of"), "{text}");
}

#[test]
fn a_bad_result_of_another_tool_is_refused_with_its_line() {
    let folder = made();
    let write = |text: &str| fs::write(folder.path().join("bad"), text).unwrap();
    let check = |text: &str, code: i32, expected: &str| {
        write(text);
        refused(folder.path(), &["compare", "bad", "made"], code, expected);
    };
    let rate = IPERF3.replace("4e6", "-4e6");
    check(
        &rate,
        1,
        "bad: iperf3: the field bits_per_second is -4000000, which is not in its range at line 8",
    );
    check(
        &IPERF3.replace("0.25", "NaN"),
        1,
        "bad: iperf3: the field jitter_ms: expected value at line 11",
    );
    check(
        &IPERF3.replace("4e6", "1e400"),
        1,
        "the field bits_per_second: number out of range at line 8",
    );
    check(&IPERF3[..200], 1, "bad: iperf3: EOF while parsing");
    check(
        &SOCKPERF.replace("7.001000000", "8.0"),
        1,
        "bad: sockperf: line 5: the field rxTime is before txTime",
    );
    check(&SOCKPERF.replace("7.001000000", "-7.0"), 1, "line 5: the field txTime is \"-7.0\"");
    check("nothing of this kind\n", 1, "bad holds no samples");
    let text = stderr(&run_in(folder.path(), &["compare", "bad", "made"]));
    for part in [".hgrm", "iperf3 -J", "sockperf --full-log", "captures"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let cell = crate::examples::root().join("captures/cell.pcapng").display().to_string();
    for file in ["a.txt", "b.log"] {
        let words = ["compare", &cell, file];
        refused(folder.path(), &words, 1, "is watched traffic, which is not held");
    }
    refused(folder.path(), &["compare", "a.txt", "b.log"], 2, "b.log has delays of messages alone");
    refused(folder.path(), &["compare", "a.txt", "made", "--each-interval"], 2, "watched traffic");
}

#[track_caller]
fn refused(folder: &Path, words: &[&str], code: i32, expected: &str) {
    let output = run_in(folder, words);
    check_code(&output, code);
    assert!(stderr(&output).contains(expected), "{expected}: {}", stderr(&output));
}
