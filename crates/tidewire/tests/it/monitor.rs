//! `watch --screen monitor` tells samples in lines, and says what it takes to draw.

use crate::watch::{capture, data};
use crate::{check_code, command, interrupt, records, run, run_in, stderr, stdout};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Output, Stdio};

const MILLI: u64 = 1_000_000;

/// The capture that comes along: five seconds of a cell.
fn cell() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng"))
}

fn plain(more: &[&str]) -> Output {
    let cell = cell();
    let mut arguments = vec!["watch", "-r", cell.to_str().unwrap(), "--screen", "monitor"];
    arguments.push("--plain");
    arguments.extend(more);
    run(&arguments)
}

/// Runs over a capture of these frames.
fn of_frames(frames: &[(u64, Vec<u8>)], more: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pcap"), capture(frames)).unwrap();
    let mut arguments = vec!["watch", "-r", "a.pcap", "--screen", "monitor", "--plain"];
    arguments.extend(more);
    run_in(folder.path(), &arguments)
}

#[test]
fn the_capture_that_comes_along_in_lines() {
    let output = plain(&[]);
    check_code(&output, 0);
    // Where the capture lies differs from checkout to checkout.
    let text = stdout(&output).replace(cell().to_str().unwrap(), "cell.pcapng");
    let stamps = "\n  times: stamps of the capture, resolution 1 ns by its header\n";
    assert!(text.ends_with(stamps), "{text}");
    insta::assert_snapshot!("cell", text);
}

#[test]
fn samples_of_any_length_hold_every_frame_and_octet() {
    let whole = run(&["dissect", "-r", cell().to_str().unwrap(), "--json"]);
    let frames = records(&whole).iter().filter(|record| record["type"] == "frame").count();
    assert!(frames > 100, "{frames}");
    let mut octets = Vec::new();
    for interval in ["10 ms", "500 ms", "2 s", "60 s"] {
        let output = plain(&["--json", "--sample", interval]);
        check_code(&output, 0);
        let records = records(&output);
        let sum = |name: &str| -> u64 {
            let samples = records.iter().filter(|record| record["type"] == "sample");
            samples.map(|sample| sample[name].as_u64().unwrap()).sum()
        };
        assert_eq!(sum("packets"), frames as u64, "{interval}");
        octets.push((sum("octets"), sum("acknowledgement_delays")));
        let end = records.last().unwrap();
        assert_eq!((&end["complete"], &end["frames"]), (&true.into(), &frames.into()));
    }
    assert!(octets.iter().all(|of| *of == octets[0] && of.0 > 0 && of.1 > 0), "{octets:?}");
}

#[test]
fn a_filter_leaves_the_frames_of_its_stations() {
    // From ...:01 to ...:02, 128 octets each.
    let frames = [(0, data(0)), (600 * MILLI, data(1)), (700 * MILLI, data(2))];
    let packets = |filter: &[&str]| -> Vec<u64> {
        let output = of_frames(&frames, &[filter, &["--json"]].concat());
        let records = records(&output);
        let samples = records.iter().filter(|record| record["type"] == "sample");
        samples.map(|sample| sample["packets"].as_u64().unwrap()).collect()
    };
    assert_eq!(packets(&[]), [1, 2]);
    assert_eq!(packets(&["--from-station", "02:00:00:00:00:01"]), [1, 2]);
    assert_eq!(packets(&["--from-station", "02:00:00:00:00:02"]), [0, 0]);
    assert_eq!(packets(&["--to-station", "02:00:00:00:00:02"]), [1, 2]);
}

#[test]
fn rates_are_counts_over_the_sampling_interval() {
    let frames = [(0, data(0)), (600 * MILLI, data(1)), (700 * MILLI, data(2))];
    let output = of_frames(&frames, &[]);
    check_code(&output, 0);
    let text = stdout(&output);
    // 128 octets are 1,024 bits: one in the first half second, two in the second.
    for line in [
        "a.pcap: samples of 500 ms from 1970-01-01T00:00:00Z, filter: all",
        "       time  packets/s    average       peak      bit/s    average       peak",
        "     0.50 s          2          2          2      2.05k      2.05k      2.05k",
        "     1.00 s          4          3          4       4.1k      3.07k       4.1k",
        "     0.00 s  event: transport: connection found under way",
    ] {
        assert!(text.lines().any(|found| found == line), "not there: {line}\n{text}");
    }
}

#[test]
fn a_long_silence_is_one_line_and_counts_in_the_average() {
    // A day between two frames: 172,800 samples, and the sample of the second.
    let frames = [(0, data(0)), (86_400_000 * MILLI, data(1))];
    let output = of_frames(&frames, &["--json"]);
    let records = records(&output);
    let samples: Vec<(u64, u64, u64)> = records
        .iter()
        .filter(|record| record["type"] == "sample")
        .map(|record| ["number", "samples", "packets"].map(|name| record[name].as_u64().unwrap()))
        .map(|[number, samples, packets]| (number, samples, packets))
        .collect();
    assert_eq!(samples, [(0, 1, 1), (1, 172_799, 0), (172_800, 1, 1)]);
    let text = stdout(&of_frames(&frames, &[]));
    assert!(text.contains("86400.00 s  nothing in 172799 samples"), "{text}");
}

#[test]
fn a_truncated_capture_ends_with_1_after_its_whole_frames() {
    let whole = capture(&[(0, data(0)), (MILLI, data(1))]);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pcap"), &whole[..whole.len() - 1]).unwrap();
    let arguments = ["watch", "-r", "a.pcap", "--screen", "monitor", "--plain", "--json"];
    let output = run_in(folder.path(), &arguments);
    check_code(&output, 1);
    let records = records(&output);
    assert_eq!(records[0]["packets"], 1);
    let end = records.last().unwrap();
    assert_eq!((&end["type"], &end["complete"]), (&"end".into(), &false.into()));
    assert!(end["error"].as_str().unwrap().contains("cut short"), "{end}");
}

#[test]
fn a_live_pipe_is_told_as_time_passes_and_an_interrupt_ends_it() {
    let arguments = ["watch", "-r", "-", "--screen", "monitor", "--plain", "--json"];
    let mut child = command(&[&arguments[..], &["--speed", "1", "--sample", "10 ms"]].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&capture(&[(0, data(0))])).unwrap();
    stdin.flush().unwrap();
    // One frame, and nothing after it: samples come all the same.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut samples = Vec::new();
    while samples.len() < 20 {
        let record: serde_json::Value =
            serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        if record["type"] == "sample" {
            samples.push(record["packets"].as_u64().unwrap());
        }
    }
    assert_eq!((samples[0], samples[1..].iter().sum::<u64>()), (1, 0));
    interrupt(child.id());
    let last = lines.last().unwrap().unwrap();
    assert!(last.contains(r#""complete":false"#) && last.contains("interrupted"), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdin);
}

#[test]
fn without_a_terminal_it_says_what_goes_without() {
    let output = run(&["watch", "-r", cell().to_str().unwrap(), "--screen", "monitor"]);
    check_code(&output, 2);
    let said = stderr(&output);
    assert!(said.contains("--screen needs a terminal on standard output"), "{said}");
    assert!(said.contains("fix: --plain writes a line per sampling interval"), "{said}");
}

#[test]
fn options_that_make_no_sense_say_so() {
    check_refused(&["--sample", "15 ms"], "--sample \"15 ms\": from 10 ms to 60 s");
    check_refused(&["--sample", "61 s"], "from 10 ms to 60 s");
    check_refused(&["--packets-scale", "5"], "--packets-scale: no effect on lines");
    check_refused(&["--speed", "0"], "--speed \"0\": expected from 0.001");
    check_refused(&["--speed", "NaN"], "--speed \"NaN\"");
    check_refused(&["--keys", "quit=x"], "--keys: no effect on lines");
    check_refused(&["--from-station", "station-7"], "not an address");
    check_refused(&["--measure", "1 s"], "--measure");
    let output = run(&["watch", "-i", "lo", "--packets-scale", "5"]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("--screen"), "{}", stderr(&output));
    let output = run(&["watch", "-i", "lo", "--screen", "monitor", "--plain", "--speed", "2"]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("--speed goes with --read"), "{}", stderr(&output));
}

#[track_caller]
fn check_refused(options: &[&str], complaint: &str) {
    let output = plain(options);
    check_code(&output, 2);
    assert!(stderr(&output).contains(complaint), "{}", stderr(&output));
}
