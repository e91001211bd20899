//! Files across a `relay` that loses frames: MMS over the kernel's TCP, and the FTAM-like transfer over class 4.

use crate::relay::line;
use crate::wires::{Namespaces, must, result, serving, session};
use crate::{check_code, interrupt, program, records};
use core::time::Duration;
use live::clock;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

/// Longest time of a transfer: TCP waits 200 ms or longer for each loss that it notices late.
const LONGEST: Duration = Duration::from_secs(120);

/// Process that ends with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            interrupt(self.0.id());
            let _ = self.0.wait();
        }
    }
}

/// Relay in the middle of a line, and its first line.
fn relaying(left: &Namespaces) -> Ended {
    let options = ["relay", "w0", "w1", "--fault", "loss=1%", "--json"];
    let mut relay = Ended(left.command(1, &options).stdout(Stdio::piped()).spawn().unwrap());
    let mut told = String::new();
    BufReader::new(relay.0.stdout.as_mut().unwrap()).read_line(&mut told).unwrap();
    assert!(told.contains("relaying"), "{told}");
    relay
}

/// Output of a command that ends within [`LONGEST`].
fn bounded(mut command: Command) -> Output {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (id, until) = (child.id(), clock::now() + LONGEST);
    let waiting = std::thread::spawn(move || child.wait_with_output().unwrap());
    while !waiting.is_finished() && clock::now() < until {
        clock::sleep_until(clock::now() + Duration::from_millis(20));
    }
    if !waiting.is_finished() {
        interrupt(id);
    }
    waiting.join().unwrap()
}

/// Switches the offloads of checksums and segments off with the system call of `ethtool -K`.
const OFFLOADS_OFF: &str = "
import fcntl, socket, struct, array
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
    for command in (0x17, 0x1f, 0x24, 0x19):
        value = array.array('B', struct.pack('II', command, 0))
        request = struct.pack('16sP', b'w0', value.buffer_info()[0])
        fcntl.ioctl(own.fileno(), 0x8946, request)
";

/// Lets the kernel fill in checksums before a frame reaches the wire; false, with a printed reason, where
/// that is not possible.
fn fills_in_checksums(namespace: &str) -> bool {
    let enter = ["netns", "exec", namespace];
    let by =
        |tool: &[&str]| program("ip").args(enter).args(tool).status().is_ok_and(|it| it.success());
    let is_done = by(&["ethtool", "-K", "w0", "tx", "off", "tso", "off", "gso", "off"])
        || by(&["python3", "-c", OFFLOADS_OFF]);
    if !is_done {
        println!("skipped: offloads stay on without ethtool and python3");
    }
    is_done
}

#[test]
fn an_mms_file_crosses_a_lossy_relay_octet_for_octet() {
    let Some((left, right)) = line() else { return };
    for (namespace, address) in
        [(&left.names[0], "10.99.0.1/24"), (&right.names[0], "10.99.0.2/24")]
    {
        must(&["-n", namespace, "addr", "add", address, "dev", "w0"]);
        if !fills_in_checksums(namespace) {
            return;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let contents: Vec<u8> = (0..75_000_u32).flat_map(|word| (word * 77).to_be_bytes()).collect();
    std::fs::write(folder.path().join("events.dat"), &contents).unwrap();
    let mut relay = relaying(&left);
    let url = "iso-tcp://10.99.0.2:10102";
    let serve =
        ["serve", "mms", "--over", url, "--json", "--files", folder.path().to_str().unwrap()];
    let server = right.command(0, &serve).stdout(Stdio::piped()).spawn().unwrap();
    let mut server = Ended(server);
    let mut lines = BufReader::new(server.0.stdout.take().unwrap());
    let mut listening = String::new();
    lines.read_line(&mut listening).unwrap();
    let copy = folder.path().join("copy");
    let measure = ["measure", "mms", "--over", url, "--foreign-peer", "--json", "--messages", "1"];
    let file = ["--file", "events.dat", "--save", copy.to_str().unwrap()];
    let limits = ["--associations", "1", "--max-requests", "1000", "--time-out", "20 s"];
    let output = bounded(left.command(0, &[&measure[..], &file, &limits].concat()));
    check_code(&output, 0);
    let records = records(&output);
    let found = records.iter().find(|record| record["type"] == "mms").unwrap();
    assert_eq!(
        (&found["file"]["octets"], &found["file"]["failure"]),
        (&300_000.into(), &Value::Null)
    );
    assert!(std::fs::read(&copy).unwrap() == contents, "other octets");
    drop(server);
    assert!(lost(&mut relay) > 0, "the relay lost no frame");
}

#[test]
fn ftam_like_files_cross_a_lossy_relay_octet_for_octet() {
    let Some((left, right)) = line() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("files.toml");
    let text = "version = 1\ntitle = \"files\"\nreplications = 1\nstop = { after = \"100 s\", warmup = \"none\" }\n\
                medium = { kind = \"ideal\", rate = \"1 Gbit/s\" }\nstations = { count = 2, prefix = \"s\" }\n\
                transport = { t1 = \"20 ms\", n = 100, acknowledge = \"each\" }\n[[flow]]\nname = \"files\"\n\
                from = \"s-1\"\nto = \"s-2\"\nservice = \"file\"\npattern = { kind = \"bulk\" }\n\
                size = \"1 MB\"\nmessages = 1\n[vary]\n\"flow.files.direction\" = [\"write\", \"read\"]\n";
    std::fs::write(&path, text).unwrap();
    let mut relay = relaying(&left);
    let serve = ["serve", "-i", "w0", "-n", "2", "--json"];
    let (child, lines, station) = serving(right.command(0, &serve));
    let measure = ["measure", path.to_str().unwrap(), "-i", "w0", "--to", &station, "--no-save"];
    let output = bounded(left.command(0, &[&measure[..], &["--json"]].concat()));
    check_code(&output, 0);
    let found = result(&output);
    let counts = ["sent", "delivered", "delivered_octets", "exact"].map(|name| found[name].clone());
    assert_eq!(counts, [json!(1), json!(1), json!(1_000_000), json!(true)], "{found}");
    let served = session(child, lines);
    assert_eq!(
        (&served["files"]["transferred"], &served["files"]["octets"]),
        (&1.into(), &1_000_000.into())
    );
    assert!(lost(&mut relay) > 0, "the relay lost no frame");
}

/// Ends a relay; returns the number of frames that it lost in both ways.
fn lost(Ended(relay): &mut Ended) -> u64 {
    interrupt(relay.id());
    let lines = BufReader::new(relay.stdout.take().unwrap()).lines();
    let records: Vec<Value> =
        lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    relay.wait().unwrap();
    records.iter().filter_map(|record| record["faults"]["lost"].as_u64()).sum()
}
