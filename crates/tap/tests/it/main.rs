//! The program from outside: its output on a veth pair, and its restrictions.
#![expect(clippy::unwrap_used, reason = "the helpers of these tests fail as tests do")]

#[path = "../../../live/tests/it/namespace.rs"]
mod namespace;

use bytes::Bytes;
use live::port::{AfPacket, Port as _};
use namespace::{INTERFACE, Namespaces, params};
use stack::station::Frame;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Output, Stdio};
use wire::addr::Mac;
use wire::capture::{Capture, Statistics};

const A: Mac = Mac::local(1);
const B: Mac = Mac::local(2);

/// A DT over LLC with a number and 40 octets of user data, from A to B.
fn data(number: u32) -> Vec<u8> {
    // LLC 3, inactive 1, and a DT in the extended format: LI 7, code, reference, 31-bit number.
    let mut octets = [&B.0[..], &A.0, &[0, 52, 0xFE, 0xFE, 3, 0, 7, 0xF0, 2, 2]].concat();
    octets.extend(number.to_be_bytes());
    octets.extend([0x77; 40]);
    octets
}

fn sender(namespace: &str) -> AfPacket {
    AfPacket::open(&params(namespace, A)).unwrap()
}

/// Program in a namespace.
fn tap(namespace: &str, options: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, env!("CARGO_BIN_EXE_tidewire-tap"), INTERFACE]);
    command.args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Octets of frames, and their original lengths.
type Frames = Vec<(Vec<u8>, usize)>;

/// Frames and counters of a capture.
fn read(octets: Vec<u8>) -> (Frames, Statistics) {
    let mut capture = Capture::open(std::io::Cursor::new(octets)).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = capture.next().unwrap() {
        frames.push((record.octets.to_vec(), record.original_octets));
    }
    (frames, capture.interfaces()[0].statistics)
}

/// Starts the program, sends frames once it listens, ends its input, and reads its output.
fn capture(options: &[&str], frames: &[Vec<u8>]) -> Option<(Frames, Statistics)> {
    let namespaces = Namespaces::make()?;
    namespaces.up();
    let [a, b] = &namespaces.names;
    let options = [options, &["--until-end-of-input"]].concat();
    let mut child = tap(b, &options).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    // The file header is written when the ring is ready.
    let mut octets = vec![0; 28];
    stdout.read_exact(&mut octets).unwrap();
    let reader = std::thread::spawn(move || {
        stdout.read_to_end(&mut octets).unwrap();
        octets
    });
    let mut sender = sender(a);
    for octets in frames {
        sender.send(&Frame::new(Bytes::from(octets.clone()))).unwrap();
    }
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    Some(read(reader.join().unwrap()))
}

#[test]
fn every_frame_that_was_sent_is_written_without_its_user_data() {
    let sent: Vec<Vec<u8>> = (0..20_000).map(data).collect();
    let only = ["--filter", "from 02:00:00:00:00:01"];
    let Some((frames, counted)) = capture(&only, &sent) else { return };
    let dropped = counted.dropped_by_system.unwrap();
    println!("seen: {} frames written of {} sent, {dropped} dropped", frames.len(), sent.len());
    assert_eq!(frames.len() as u64 + dropped, sent.len() as u64);
    assert_eq!((counted.accepted, counted.delivered), (Some(20_000), Some(frames.len() as u64)));
    // Up to the end of the DT's header: 14 + 3 + 1 + 8 octets.
    assert!(frames.iter().all(|(octets, original)| (octets.len(), *original) == (26, 66)));
    if dropped == 0 {
        assert!(frames.iter().zip(&sent).all(|((octets, _), sent)| sent.starts_with(octets)));
    }
}

#[test]
fn a_filter_drops_frames_and_data_is_kept_on_request() {
    let mut other = data(2);
    other[14] = 0x42;
    let sent = [data(1), other, data(3)];
    let options = ["--filter", "tpdu dt", "--keep-data", "--snap", "64"];
    let Some((frames, counted)) = capture(&options, &sent) else { return };
    let expected = [&sent[0], &sent[2]].map(|octets| (octets[..64].to_vec(), 66));
    assert_eq!(frames, expected);
    assert_eq!((counted.delivered, counted.dropped_by_system), (Some(2), Some(0)));
}

#[test]
fn once_it_listens_it_can_send_open_and_start_nothing() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let output = tap(&namespaces.names[1], &["--probe-sandbox"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if stderr(&output).contains("no system call filter") {
        println!("skipped: no system call filter for this kind of processor");
        return;
    }
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 9, "{said}");
    for line in lines {
        assert!(line.ends_with(": Operation not permitted (os error 1)"), "{said}");
    }
}

/// Lines of a process's status about its rights.
fn rights(process: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let wanted = ["Uid:", "CapInh:", "CapPrm:", "CapEff:", "CapAmb:", "NoNewPrivs:", "Seccomp:"];
    let lines = status.lines().filter(|line| wanted.iter().any(|name| line.starts_with(name)));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

/// Option for a program that ends it and supervises its link.
const LOOKED_AFTER: [&str; 1] = ["--until-end-of-input"];

fn started(namespace: &str, options: &[&str]) -> Child {
    let mut child = tap(namespace, options).spawn().unwrap();
    let mut first = BufReader::new(child.stdout.as_mut().unwrap());
    assert!(!first.fill_buf().unwrap().is_empty(), "it prints nothing");
    child
}

#[test]
fn while_it_listens_it_runs_unprivileged_without_capabilities() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    // `ip netns exec` becomes the program, so there is a single process.
    let mut child = started(&namespaces.names[1], &LOOKED_AFTER);
    let rights = rights(child.id());
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let none = "0000000000000000";
    assert_eq!(
        rights,
        format!(
            "Uid: 65534 65534 65534 65534\nCapInh: {none}\nCapPrm: {none}\nCapEff: {none}\n\
             CapAmb: {none}\nNoNewPrivs: 1\nSeccomp: 2\n"
        )
    );
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let mut child = started(&namespaces.names[1], &LOOKED_AFTER);
    drop(child.stdout.take());
    // Counters are written every second, and find no reader.
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_interface_that_goes_down_ends_it_and_is_named() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let child = started(&namespaces.names[0], &[]);
    namespaces.down();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output), "tidewire-tap: cannot listen: interface wire0 is down\n");
}

#[test]
fn a_supervised_tap_outlasts_its_link() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let mut child = started(&namespaces.names[0], &LOOKED_AFTER);
    namespaces.down();
    namespaces.up();
    // It ends when its input does, and not before.
    assert!(child.try_wait().unwrap().is_none());
    drop(child.stdin.take());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
}

#[test]
fn an_unusable_interface_ends_it_with_the_documented_code() {
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidewire-tap"));
        command.args(words).output().unwrap()
    };
    for (words, code, said) in [
        (&[][..], 2, "tidewire-tap: an interface is needed"),
        (&["lo", "--filter", "isso"], 2, "tidewire-tap: column 1: not expected: \"isso\""),
        (&["eth77"], 1, "tidewire-tap: no such interface: \"eth77\""),
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).starts_with(said), "{}", stderr(&output));
    }
    assert!(run(&["--help"]).stdout.starts_with(b"Usage: tidewire-tap INTERFACE"));
}
