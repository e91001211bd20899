//! `--connections` and `--hosts`: how much the meter follows, and the memory for it.

use crate::{check_code, run};
use std::fs::File;
use std::io::BufWriter;
use std::process::Output;
use wire::dissect::Link;
use wire::pcap::Writer;
use wire::time::Instant;

/// Connections in the capture: more than the meter follows without `--connections`.
const CONNECTIONS: u32 = 16_484;

/// Header of a frame over LLC, with a TPDU behind it.
fn frame(to: u8, from: u8, tpdu: &[u8]) -> Vec<u8> {
    let length = u8::try_from(4 + tpdu.len()).unwrap();
    let head = [2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 0, length, 0xFE, 0xFE, 3, 0];
    [&head[..], tpdu].concat()
}

/// Capture of connections that are all opened before each sends one DT, and then the same DT again.
fn capture() -> tempfile::NamedTempFile {
    let capture = tempfile::NamedTempFile::new().unwrap();
    let file = BufWriter::new(File::create(capture.path()).unwrap());
    let mut writer = Writer::new(file, Link::Ethernet).unwrap();
    let mut nanos = 0;
    let mut write = |octets: &[u8]| {
        nanos += 10_000;
        writer.write(Instant::from_nanos(nanos), octets, octets.len()).unwrap();
    };
    let references = || (1..=CONNECTIONS).map(|n| (n as u16).to_be_bytes());
    for [high, low] in references() {
        write(&frame(2, 1, &[6, 0xE0, 0, 0, high, low, 0x40]));
        write(&frame(1, 2, &[6, 0xD0, high, low, high, low, 0x40]));
    }
    for _ in 0..2 {
        for [high, low] in references() {
            write(&frame(2, 1, &[4, 0xF0, high, low, 0x80, 7]));
        }
    }
    writer.flush().unwrap();
    capture
}

/// Runs `watch --json` on a capture, with more options.
fn watched(capture: &tempfile::NamedTempFile, more: &[&str]) -> Output {
    let path = capture.path().to_str().unwrap();
    run(&[&["watch", "-r", path, "--json", "--top", "0"][..], more].concat())
}

/// Value of a number in the last record that has it.
fn last(output: &Output, name: &str) -> u64 {
    let text = str::from_utf8(&output.stdout).unwrap();
    let wanted = format!("\"{name}\":");
    let found = text.rsplit_once(&wanted).unwrap_or_else(|| panic!("no {name}: {text}")).1;
    let digits = found.split(|c: char| !c.is_ascii_digit()).next().unwrap();
    digits.parse().unwrap()
}

#[test]
fn more_connections_than_16384_are_followed_with_the_option() {
    let capture = capture();
    let output = watched(&capture, &["--connections", "20000"]);
    check_code(&output, 0);
    let remark = String::from_utf8_lossy(&output.stderr);
    // 20,000 x 432 octets, x 416, x 8,306, x 2,800 and x 39,000, rounded up.
    let wanted = "20000 connections: about 9 MB in class 4 and 9 MB over TCP, 167 MB if \
                  each has many different response times; with MMS 56 MB, and 780 MB if each \
                  has many different response times of four services";
    assert!(remark.contains(wanted), "{remark}");
    // Each connection knows that its second DT is the first one once more.
    assert_eq!(last(&output, "dt_retransmissions"), u64::from(CONNECTIONS));
    let output = watched(&capture, &[]);
    check_code(&output, 0);
    assert!(last(&output, "dt_retransmissions") < u64::from(CONNECTIONS));
    assert!(String::from_utf8_lossy(&output.stdout).contains("for want of room"));
}

#[test]
fn numbers_beyond_the_limits_are_refused() {
    for (option, limit) in [("--connections", 4_194_304), ("--hosts", 1_048_576)] {
        for value in ["0".to_owned(), (limit + 1).to_string(), "many".to_owned()] {
            let output = run(&["watch", "-r", "-", option, &value]);
            check_code(&output, 2);
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(text.contains(option) && text.contains(&value), "{text}");
        }
    }
}
