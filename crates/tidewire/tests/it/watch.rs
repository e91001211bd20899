//! `watch` meters files, pipes and live ports, tells every interval, and always tells the end.

use crate::export::CELL;
use crate::wires::{Namespaces, must};
use crate::{check_code, command, interrupt, program, records, run, run_in, stderr, stdout};
use live::clock;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use wire::dissect::Link;
use wire::time::Instant;

const SECOND: u64 = 1_000_000_000;

/// The rows of NBSIR 85-3104's Table 4, as records name them.
const TABLE_4: [&str; 17] = [
    "lpdus",
    "lpdu_octets",
    "npdus",
    "npdu_octets",
    "tpdus",
    "tpdu_information_octets",
    "tpdu_overhead_octets",
    "tpdu_header_octets",
    "tpdu_data_octets",
    "tpdu_total_octets",
    "tsdus",
    "tsdu_octets",
    "dt_tpdus",
    "dt_retransmissions",
    "ak_tpdus",
    "ak_retransmissions",
    "transport_connections",
];

/// A DT on reference 0x0202: 14 octets of MAC, 3 of LLC, 1 of inactive CLNP, 10 of TPDU header and
/// 100 of data make 128.
pub(crate) fn data(number: u8) -> Vec<u8> {
    let mut octets = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0, 114];
    // Normal format, EOT set; then an unknown parameter.
    octets.extend([0xFE, 0xFE, 0x03, 0x00, 9, 0xF0, 2, 2, 0x80 | number, 0x55, 3, 1, 2, 3]);
    octets.extend([7; 100]);
    octets
}

/// A capture of such frames with their times in nanoseconds.
pub(crate) fn capture(frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    capture_of(Link::Ethernet, frames)
}

fn capture_of(link: Link, frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut writer = wire::pcap::Writer::new(Vec::new(), link).unwrap();
    for (at, octets) in frames {
        writer.write(Instant::from_nanos(*at), octets, octets.len()).unwrap();
    }
    writer.into_inner()
}

/// One DT in each of these seconds.
pub(crate) fn one_each(seconds: &[u64]) -> Vec<u8> {
    let frames: Vec<(u64, Vec<u8>)> =
        seconds.iter().zip(0..).map(|(second, number)| (second * SECOND, data(number))).collect();
    capture(&frames)
}

/// Meters a file with intervals of 10 s.
fn watch_file(octets: &[u8], more: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pcap"), octets).unwrap();
    let mut arguments = vec!["watch", "-r", "a.pcap"];
    arguments.extend(more);
    run_in(folder.path(), &arguments)
}

/// A file outside the project; `None` and a note if it is missing.
pub(crate) fn shared(folder: &str, file: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    let path = path.join(folder).join(file);
    let is_there = path.exists();
    if !is_there {
        println!("skipped: no ../shared/{folder}/{file}");
    }
    is_there.then_some(path)
}

#[test]
fn the_trace_of_1984_gives_the_intervals_of_the_paper() {
    let (Some(trace), Some(table)) =
        (shared("captures", "ncc84-exact.pcap"), shared("papers", "nbs_table4.csv"))
    else {
        return;
    };
    let trace = trace.to_str().unwrap();
    let start = "1984-06-13T21:16:00Z";
    let output = run(&["watch", "-r", trace, "--start", start, "--measure", "15min", "--json"]);
    check_code(&output, 0);
    let records = records(&output);
    let kinds: Vec<&str> = records.iter().map(|r| r["type"].as_str().unwrap()).collect();
    let count = |kind| kinds.iter().filter(|found| **found == kind).count();
    // One CC each of 225 connections. The interval ends before silence makes the meter forget any.
    assert_eq!((count("interval"), count("total"), count("end")), (8, 1, 1));
    assert_eq!(count("connection"), 225);
    let sent: u64 = records
        .iter()
        .filter(|record| record["type"] == "host")
        .map(|host| host["sent"]["dt_tpdus"].as_u64().unwrap())
        .sum();
    assert_eq!(sent, 8_650, "what the hosts sent is what there was");
    let records: Vec<_> = records
        .into_iter()
        .filter(|record| ["interval", "total", "end"].contains(&record["type"].as_str().unwrap()))
        .collect();
    let (mut compared, mut differing) = (0, Vec::new());
    let rows = fs::read_to_string(table).unwrap();
    assert_eq!(rows.lines().count(), 1 + TABLE_4.len());
    for (name, line) in TABLE_4.into_iter().zip(rows.lines().skip(1)) {
        let cells: Vec<&str> = line.split(',').collect();
        for (interval, record) in records.iter().take(8).enumerate() {
            let printed: u64 = cells[1 + interval].parse().unwrap();
            let measured = record["measures"][name].as_u64().unwrap();
            compared += 1;
            if measured != printed {
                differing.push((name, interval));
            }
        }
    }
    assert_eq!(compared, 17 * 8);
    // More TSDUs than DTs to carry them: no meter can give these two.
    assert_eq!(differing, [("tsdus", 3), ("tsdu_octets", 3)]);
    // 5,277 days and 76,560 seconds after the epoch.
    assert_eq!(records[0]["start_ns"], (5_277 * 86_400 + 76_560) * SECOND);
    assert_eq!(records[8]["length_ns"], 7_200 * SECOND);
    assert_eq!(records[9]["frames"], 23_136);
    assert_eq!(records[9]["oddities"], serde_json::json!({}));
}

#[test]
fn lines_keep_the_paper_order_and_leave_unknown_values_out() {
    let output = watch_file(&one_each(&[1]), &["--json"]);
    check_code(&output, 0);
    let text = stdout(&output);
    let first = text.lines().nth(1).unwrap();
    assert!(first.contains(r#""measures":{"lpdus":1,"lpdu_octets":128,"npdus":1,"#), "{first}");
    // No AK: a quotient by nothing is null.
    assert!(first.contains(r#""R_OA":null"#), "{first}");
    assert!(first.contains(r#""metrics":{"T_L":"#), "{first}");
}

#[test]
fn intervals_are_told_in_lines_and_silent_ones_too() {
    let output = watch_file(&one_each(&[100, 101, 121]), &[]);
    check_code(&output, 0);
    let text = stdout(&output);
    assert!(text.starts_with("intervals of 10 s from 1970-01-01T00:01:40Z, channel 10 Mbit/s"));
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.contains(" 00:0"))
        .map(|line| line.split_whitespace().take(6).collect())
        .collect();
    assert_eq!(
        rows,
        [
            ["0", "00:01:40", "2", "256", "2", "2"],
            ["1", "00:01:50", "0", "0", "0", "0"],
            ["2", "00:02:00", "1", "128", "1", "1"]
        ]
    );
    assert!(text.contains("total of 3 intervals, 30 s"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_capture_that_is_cut_short_gives_what_stands_before_the_cut() {
    let whole = one_each(&[0, 10, 20, 21]);
    let output = watch_file(&whole[..whole.len() - 1], &["--json"]);
    check_code(&output, 1);
    let records = records(&output);
    let intervals: Vec<(u64, u64)> = records
        .iter()
        .filter(|record| record["type"] == "interval")
        .map(|r| (r["measures"]["lpdus"].as_u64().unwrap(), r["length_ns"].as_u64().unwrap()))
        .collect();
    // The third is cut where the last whole frame stands: at its very start.
    assert_eq!(intervals, [(1, 10 * SECOND), (1, 10 * SECOND), (1, 0)]);
    let end = records.last().unwrap();
    assert_eq!((&end["complete"], &end["frames"]), (&false.into(), &3.into()));
    assert!(end["error"].as_str().unwrap().contains("cut short"), "{end}");
    assert!(stderr(&output).starts_with("error: a.pcap: capture cut short"));
    let text = watch_file(&whole[..whole.len() - 1], &[]);
    check_code(&text, 1);
    assert!(stdout(&text).contains("not complete: a.pcap: capture cut short"));
}

#[test]
fn a_foreign_file_is_refused_by_its_first_octets_with_an_end() {
    let output = watch_file(b"#!/bin/sh\n", &["--json"]);
    check_code(&output, 1);
    let records = records(&output);
    assert_eq!(records.last().unwrap()["complete"], false);
    assert!(stderr(&output).contains("not a capture file: begins with 23 21 2f"));
}

#[test]
fn frames_of_an_unknown_link_type_are_named_oddities() {
    let frames = capture_of(Link::Other(147), &[(SECOND, vec![1; 60]), (SECOND, vec![2; 60])]);
    let output = watch_file(&frames, &["--json"]);
    check_code(&output, 0);
    let end = records(&output).pop().unwrap();
    assert_eq!(end["oddities"], serde_json::json!({ "foreign: link type": 2 }));
    assert!(stderr(&output).contains("link type 147 is not understood"), "{}", stderr(&output));
}

#[test]
fn frames_before_the_start_are_left_out_and_counted() {
    let octets = one_each(&[100, 200]);
    let output = watch_file(&octets, &["--start", "1970-01-01T00:03:00Z", "--json"]);
    let records = records(&output);
    assert_eq!(records[1]["start_ns"], 180 * SECOND);
    let end = records.last().unwrap();
    assert_eq!(end["oddities"]["time: frame before the origin"], 1);
}

#[test]
fn a_pipe_is_metered_like_the_file() {
    let octets = one_each(&[1, 2, 30]);
    let mut child = command(&["watch", "-r", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&octets).unwrap();
    let piped = child.wait_with_output().unwrap();
    check_code(&piped, 0);
    // But for the head and the commands of findings, which name what was read.
    let of_file = watch_file(&octets, &["--json"]);
    let [piped, of_file] = [&piped, &of_file].map(|output| {
        let mut records = records(output).split_off(1);
        let findings = records.iter_mut().filter(|record| record["type"] == "finding");
        let commands: Vec<_> = findings.map(|finding| finding["command"].take()).collect();
        assert!(!commands.is_empty());
        records
    });
    assert!(piped == of_file);
}

#[test]
fn an_interrupt_ends_a_silent_pipe_with_what_was_gathered() {
    let mut child = command(&["watch", "-r", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&one_each(&[0, 10, 15])).unwrap();
    stdin.flush().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let head = lines.next().unwrap().unwrap();
    assert!(head.starts_with(r#"{"type":"stream","schema":"tidewire.measures/2","#), "{head}");
    // The first interval is over when the second frame has been read.
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with(r#"{"type":"interval","index":0,"#), "{first}");
    interrupt(child.id());
    let mut rest: Vec<serde_json::Value> =
        lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdin);
    // Two hosts and a connection in each of the two intervals.
    let all = rest.len();
    rest.retain(|record| !record["type"].as_str().unwrap().ends_with("-interval"));
    assert_eq!(all - rest.len(), 6);
    // Between the total and the end: one connection, its two hosts, and a finding.
    let [interval, total, _, _, _, _, end] = &rest[..] else { panic!("{} records", rest.len()) };
    // What was heard of the second interval, no longer than it was heard.
    assert_eq!(interval["index"], 1);
    assert!(interval["length_ns"].as_u64().unwrap() <= 5 * SECOND, "{interval}");
    assert_eq!(total["length_ns"], 10 * SECOND + interval["length_ns"].as_u64().unwrap());
    assert_eq!((&end["complete"], &end["error"]), (&false.into(), &"interrupted".into()));
}

#[test]
fn a_live_port_is_heard_and_nothing_is_dropped() {
    if !may_listen() {
        println!("skipped: no CAP_NET_RAW");
        return;
    }
    let mut child = command(&["watch", "-i", "lo", "-t", "10 s", "--measure", "100 ms", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (sender, receiver) =
        (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let to = receiver.local_addr().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut records: Vec<serde_json::Value> = Vec::new();
    // A datagram every now and then, until three intervals are over; then it gets a signal to stop.
    let keep = spawn_sender(sender, to);
    for line in lines {
        records.push(serde_json::from_str(&line.unwrap()).unwrap());
        if records.len() == 4 {
            interrupt(child.id());
        }
    }
    drop(keep);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let end = records.last().unwrap();
    assert_eq!((&end["type"], &end["dropped_by_kernel"]), (&"end".into(), &0.into()));
    assert!(end["frames"].as_u64().unwrap() >= 1);
    // UDP is none of the meter's business, and it says so.
    assert!(end["oddities"]["foreign: UDP"].as_u64().unwrap() >= 1, "{end}");
    // The time of day of this century, not the time since boot.
    assert!(records[1]["start_ns"].as_u64().unwrap() > 1_577_836_800 * SECOND);
}

/// Sends datagrams until what it gives back is dropped.
fn spawn_sender(socket: UdpSocket, to: std::net::SocketAddr) -> std::sync::mpsc::Receiver<()> {
    let (sent, keep) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // The socket waits for an answer that never comes: 20 ms from one datagram to the next.
        socket.set_read_timeout(Some(std::time::Duration::from_millis(20))).unwrap();
        while sent.send(()).is_ok() {
            let _ = socket.send_to(&[1; 40], to);
            let _ = socket.recv(&mut [0; 8]);
        }
    });
    keep
}

#[test]
fn a_missing_permission_ends_with_5_and_names_the_fix() {
    let arguments = ["watch", "-i", "lo", "-t", "1 s"];
    let output = if may_listen() {
        let without = program("setpriv")
            .args(["--bounding-set=-net_raw", "--inh-caps=-net_raw"])
            .arg(env!("CARGO_BIN_EXE_tidewire"))
            .args(arguments)
            .output();
        match without {
            Ok(output) if !stderr(&output).contains("setpriv:") => output,
            Ok(_) | Err(_) => {
                println!("skipped: no setpriv to run without CAP_NET_RAW");
                return;
            }
        }
    } else {
        run(&arguments)
    };
    check_code(&output, 5);
    let said = stderr(&output);
    let program = env!("CARGO_BIN_EXE_tidewire");
    let fix = format!("sudo setcap cap_net_raw=ep {program}");
    // Without the right in the bounding set, a file's capability has no effect in a container.
    let in_container =
        ["/.dockerenv", "/run/.containerenv"].iter().any(|it| Path::new(it).exists());
    let fix = if in_container { "start the container with --cap-add NET_RAW" } else { &fix };
    assert!(said.contains(fix), "{said}");
    assert!(said.contains("tcpdump -i lo -U -w - | tidewire watch -r -"), "{said}");
}

/// Returns true if this process has CAP_NET_RAW, the 13th capability.
pub(crate) fn may_listen() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let digits = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    u64::from_str_radix(digits.trim(), 16).unwrap() >> 13 & 1 == 1
}

#[test]
fn the_built_in_capture_is_metered_as_its_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let lines = |arguments: &[&str]| {
        let output = run_in(folder.path(), arguments);
        check_code(&output, 0);
        stdout(&output)
    };
    let of_file = lines(&["watch", "-r", crate::export::CELL, "--json"]);
    let demo = lines(&["watch", "--demo", "--json"]);
    let behind_head = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert!(demo.lines().next().unwrap().contains("\"the built-in capture\""), "{demo:.200}");
    let as_demo = of_file.replace(&format!("-r {}", crate::export::CELL), "--demo");
    assert_eq!(behind_head(&demo), behind_head(&as_demo));
    assert!(lines(&["watch", "--demo"]).contains("tidewire watch --demo --events"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is written");
}

#[test]
fn without_a_source_the_first_interface_that_is_up_is_heard() {
    let Some(namespaces) = Namespaces::make() else { return };
    // The loopback of a new namespace is down; w0 is up.
    let heard = namespaces.command(0, &["watch", "-t", "100 ms"]).output().unwrap();
    check_code(&heard, 0);
    assert!(stderr(&heard).starts_with("source: w0, the first interface that is up"));
    // A veth has no clock, so that its frames have the kernel's stamps.
    assert!(stderr(&heard).contains("listening on w0 with stamps of the kernel; Ctrl-C ends it"));
    let arguments = ["watch", "-i", "w0", "--stamps", "hardware"];
    let refused = namespaces.command(0, &arguments).output().unwrap();
    check_code(&refused, 1);
    let why = "no hardware stamps on w0: it has no clock that stamps frames";
    assert!(stderr(&refused).contains(why), "{}", stderr(&refused));
    // The run folder describes the port.
    let folder = tempfile::tempdir().unwrap();
    let kept = ["watch", "-i", "w0", "-t", "100 ms", "-o", folder.path().to_str().unwrap()];
    check_code(&namespaces.command(0, &kept).output().unwrap(), 0);
    let run = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let about: serde_json::Value =
        serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
    let port = about["host"]["port w0"].as_str().unwrap();
    assert_eq!(port, "veth, 10 Gbit/s, offloads TSO, GSO", "{about}");
    must(&["-n", &namespaces.names[0], "link", "set", "w0", "down"]);
    let listed = namespaces.command(0, &["watch"]).output().unwrap();
    check_code(&listed, 1);
    let text = stdout(&listed);
    assert!(text.contains("no interface is up but the loopback"), "{text}");
    let row = |name: &str| text.lines().find(|it| it.trim_start().starts_with(name)).unwrap();
    assert!(row("w0").contains("down") && row("lo").contains("loopback"), "{text}");
    assert!(text.contains("frames/s"), "{text}");
    let records = records(&namespaces.command(0, &["watch", "--json"]).output().unwrap());
    assert!(records.iter().any(|it| it["type"] == "interface" && it["name"] == "w0"));
}

#[test]
fn a_run_that_leaves_nothing_names_the_option_that_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let said = |more: &[&str]| {
        let output = run_in(folder.path(), &[&["watch", "-r", CELL], more].concat());
        check_code(&output, 0);
        stderr(&output).matches("no run was kept: -o runs keeps one").count()
    };
    assert_eq!(said(&[]), 1);
    for more in [&["-o", "runs"][..], &["--csv", "tables"], &["--json"], &["-q"]] {
        assert_eq!(said(more), 0, "{more:?}");
    }
}

#[test]
fn no_interval_has_more_frames_than_the_kernel_accepted() {
    if !may_listen() {
        println!("skipped: no CAP_NET_RAW");
        return;
    }
    let is_over = AtomicBool::new(false);
    let output = thread::scope(|scope| {
        scope.spawn(|| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let at = socket.local_addr().unwrap();
            while !is_over.load(Ordering::Relaxed) {
                socket.send_to(b"tidewire", at).unwrap();
                clock::sleep_until(clock::now() + Duration::from_millis(2));
            }
        });
        let line = ["watch", "-i", "lo", "--json", "--measure", "200 ms", "-t", "1500 ms"];
        let output = run(&line);
        is_over.store(true, Ordering::Relaxed);
        output
    });
    check_code(&output, 0);
    let (mut metered, mut intervals) = (0, 0);
    for record in records(&output).iter().filter(|it| it["type"] == "interval") {
        let frames = record["frames"].as_u64().unwrap();
        metered += if record["complete"] == true { frames } else { 0 };
        let accepted = record["collection"]["accepted"].as_u64().unwrap();
        assert!(accepted >= metered.max(frames), "{metered} metered: {record}");
        intervals += u64::from(frames > 0);
    }
    assert!(intervals > 3, "{}", stdout(&output));
}
