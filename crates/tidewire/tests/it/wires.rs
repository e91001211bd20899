//! `measure` against `serve`: over UDP on loopback, and over veth between two network namespaces that the
//! test makes itself, with and without loss. What receiver, meter and tshark count must be the same.

use crate::{check_code, command, interrupt, program, records, run, stdout};
use live::clock;
use live::port::{AfPacket, AfPacketParams, Stamp, Wait};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Two namespaces joined by veth, removed when this is dropped.
pub(crate) struct Namespaces {
    pub(crate) names: [String; 2],
}

fn ip(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new("ip").args(arguments).output()
}

pub(crate) fn must(arguments: &[&str]) -> String {
    let output = ip(arguments).unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "ip {}: {complaint}", arguments.join(" "));
    stdout(&output)
}

impl Namespaces {
    /// Makes them; `None`, and a printed reason, where this process may not.
    pub(crate) fn make() -> Option<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = |end| format!("tidewire-e2e-{}-{number}{end}", std::process::id());
        let names = [name("a"), name("b")];
        let made = ip(&["netns", "add", &names[0]]);
        if !made.as_ref().is_ok_and(|output| output.status.success()) {
            println!("skipped: cannot make a network namespace (root and iproute2 are needed)");
            return None;
        }
        let made = Self { names };
        let [a, b] = &made.names;
        must(&["netns", "add", b]);
        must(&["-n", a, "link", "add", "w0", "type", "veth", "peer", "name", "w0", "netns", b]);
        for name in [a, b] {
            must(&["-n", name, "link", "set", "w0", "addrgenmode", "none"]);
            must(&["-n", name, "link", "set", "w0", "up"]);
        }
        Some(made)
    }

    /// A port on the near end, to send frames from.
    pub(crate) fn near_port(&self) -> AfPacket {
        let params = AfPacketParams {
            interface: "w0".to_owned(),
            namespace: Some(self.names[0].clone()),
            station: None,
            groups: Vec::new(),
            wait: Wait::Block,
            stamp: Stamp::User,
        };
        AfPacket::open(&params).unwrap()
    }

    /// The command, inside one of them.
    pub(crate) fn command(&self, which: usize, arguments: &[&str]) -> Command {
        let mut command = program("ip");
        command.args(["netns", "exec", &self.names[which], env!("CARGO_BIN_EXE_tidewire")]);
        command.args(arguments).stdin(Stdio::null());
        command
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = ip(&["netns", "del", name]);
        }
    }
}

/// A `serve` that has said that it listens, and as which station.
pub(crate) fn serving(
    mut command: Command,
) -> (Child, BufReader<std::process::ChildStdout>, String) {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let listening: Value = serde_json::from_str(&line).unwrap();
    let station = listening["station"].as_str().unwrap().to_owned();
    (child, lines, station)
}

/// The session that a `serve` told before it ended.
pub(crate) fn session(mut child: Child, lines: BufReader<std::process::ChildStdout>) -> Value {
    let records: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert!(child.wait().unwrap().success());
    assert_eq!(records.last().unwrap()["type"], "end");
    records.into_iter().find(|record| record["type"] == "session").unwrap()
}

pub(crate) fn result(output: &Output) -> Value {
    let records = records(output);
    assert_eq!(records.last().unwrap()["complete"], true, "{}", stdout(output));
    records.into_iter().find(|record| record["type"] == "result").unwrap()
}

/// Ten megabytes in messages of 1,000 octets, under this loss each way.
fn transfer(loss: &str) {
    let Some(namespaces) = Namespaces::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("receiver.pcapng");
    let (fault, path) = (format!("loss={loss}"), capture.display().to_string());
    let serve = ["serve", "-i", "w0", "--fault", &fault, "--capture", &path, "-n", "1", "--json"];
    let (child, lines, station) = serving(namespaces.command(1, &serve));
    let mut measure = namespaces.command(0, &["measure", "--to", &station, "-i", "w0"]);
    measure.args(["--load", "bulk", "--size", "1000", "--bytes", "10MB", "--json", "--no-save"]);
    let output = measure.args(["--fault", &fault]).output().unwrap();
    check_code(&output, 0);
    let (sent, served) = (result(&output), session(child, lines));
    for (name, value) in [("sent", 10_000), ("delivered", 10_000), ("delivered_octets", 10_000_000)]
    {
        assert_eq!(sent[name], value, "{name}");
    }
    assert_eq!((&sent["duplicates"], &sent["damaged"]), (&served["damaged"], &served["damaged"]));
    assert_eq!((&sent["exact"], &sent["each_arrival_reported"]), (&true.into(), &true.into()));
    // Without loss T1 may still run out, where the hosts get no processor for so long.
    let has_waited = sent["transport"]["t1"].as_u64() > Some(0);
    assert!(has_waited || loss == "0%");
    meter_agrees(&capture, &served);
    tshark_agrees(&capture, &served);
}

/// Checks that the meter's counts of the capture equal those of the receiver.
fn meter_agrees(capture: &Path, served: &Value) {
    let path = capture.display().to_string();
    let output = run(&["watch", "-r", &path, "--measure", "60 s", "--json"]);
    check_code(&output, 0);
    let records = records(&output);
    let total = &records.iter().find(|record| record["type"] == "total").unwrap()["measures"];
    assert_eq!(total["tsdus"], served["delivered"]);
    assert_eq!(total["tsdu_octets"], served["delivered_octets"]);
    assert_eq!(total["dt_tpdus"], served["transport"]["received"]["dt"]);
    let count = |name: &str| served["transport"][name].as_u64().unwrap();
    // A DT sent again that a busy kernel delivers behind the DR is at a frozen reference: the meter takes
    // it for what it is, and the receiver takes no notice of its number (ISO 8073 6.18).
    let again = count("dt_duplicates")..=count("dt_duplicates") + count("frozen_reference");
    let seen = total["dt_retransmissions"].as_u64().unwrap();
    assert!(again.contains(&seen), "{total}\n{served}");
    let aks = |side: &str| served["transport"][side]["ak"].as_u64().unwrap();
    assert_eq!(total["ak_tpdus"].as_u64(), Some(aks("sent") + aks("received")));
    assert_eq!(total["transport_connections"], 1);
    let oddities = records.last().unwrap()["oddities"].as_object().unwrap().clone();
    let others: Vec<_> = oddities.keys().filter(|name| *name != "foreign: SAP").collect();
    assert!(others.is_empty(), "only the control is foreign: {oddities:?}");
}

/// tshark reads every DT as COTP and finds no frame malformed.
fn tshark_agrees(capture: &Path, served: &Value) {
    let count = |filter: &str| {
        let mut tshark = Command::new("tshark");
        tshark.args(["--disable-protocol", "t125", "-Y", filter, "-r"]).arg(capture);
        let output = tshark.stderr(Stdio::null()).output().ok()?;
        Some(stdout(&output).lines().count() as u64)
    };
    let Some(malformed) = count("_ws.malformed") else {
        println!("skipped: no tshark to read the capture with");
        return;
    };
    assert_eq!(malformed, 0);
    assert_eq!(count("cotp.type == 0x0f"), served["transport"]["received"]["dt"].as_u64());
}

#[test]
fn ten_megabytes_over_veth_are_exact_without_loss() {
    transfer("0%");
}

#[test]
fn ten_megabytes_over_veth_are_exact_at_one_percent_loss() {
    transfer("1%");
}

#[test]
fn ten_megabytes_over_veth_are_exact_at_five_percent_loss() {
    transfer("5%");
}

#[test]
fn two_stations_agree_over_af_xdp_and_a_packet_socket() {
    let Some(namespaces) = Namespaces::make() else { return };
    let mut trial = namespaces.command(1, &["serve", "--xdp", "w0", "-t", "1 ms"]);
    let output = trial.output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    if ["no AF_XDP on", "CAP_BPF"].iter().any(|reason| complaint.contains(reason)) {
        println!("skipped: {complaint}");
        return;
    }
    for (here, there) in [("--xdp", "--xdp"), ("-i", "--xdp"), ("--xdp", "-i")] {
        let serve = ["serve", there, "w0", "-n", "1", "--json"];
        let (child, lines, station) = serving(namespaces.command(1, &serve));
        let mut measure = namespaces.command(0, &["measure", "--to", &station, here, "w0"]);
        measure.args(["--load", "bulk", "--size", "1000", "--messages", "500", "--json"]);
        let output = measure.arg("--no-save").output().unwrap();
        check_code(&output, 0);
        let (sent, served) = (result(&output), session(child, lines));
        for name in ["delivered", "delivered_octets"] {
            assert_eq!(sent[name], served[name], "{name} with {here} and {there}");
        }
        assert_eq!((&sent["delivered"], &sent["exact"]), (&500.into(), &true.into()), "{sent}");
    }
}

#[test]
fn an_interrupted_reproduction_keeps_its_capture() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("seen.pcapng");
    let (here, there) = (free_address(), free_address());
    let (mut serving, _lines, _) = serving(command(&["serve", "--udp", &there, "--json"]));
    let mut live =
        command(&["reproduce", "tr-88-04", "--live", "--udp", &here, "--udp-peer", &there]);
    let child = live.arg("--capture").arg(&capture).args(["--max-frames", "500", "--json"]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let length = || std::fs::metadata(&capture).map_or(0, |about| about.len());
    let deadline = clock::now() + Duration::from_secs(20);
    while length() < 10_000 && clock::now() < deadline {
        clock::sleep_until(clock::now() + Duration::from_millis(20));
    }
    interrupt(child.id());
    let output = child.wait_with_output().unwrap();
    serving.kill().unwrap();
    serving.wait().unwrap();
    check_code(&output, 130);
    assert_eq!(records(&output).last().unwrap()["complete"], false);
    let frames = run(&["dissect", "-r", capture.to_str().unwrap(), "-c", "20"]);
    check_code(&frames, 0);
    assert!(stdout(&frames).contains("\n20: "), "{}", stdout(&frames));
}

#[test]
fn the_ship_over_veth_loses_no_acknowledged_message() {
    let Some(namespaces) = Namespaces::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ship.toml");
    let ship = include_str!("../../../../scenarios/ship.toml");
    let (scenario, _) = ship.split_once("[vary]").unwrap();
    std::fs::write(&path, scenario.replace("after = \"61 s\"", "after = \"3 s\"")).unwrap();
    let faults = ["--fault", "loss=2%"];
    let serve = [&["serve", "-i", "w0", "-n", "1", "--json"][..], &faults].concat();
    let (child, lines, station) = serving(namespaces.command(1, &serve));
    let mut measure = namespaces.command(0, &["measure"]);
    measure.arg(&path).args(["--to", &station, "-i", "w0", "-n", "1", "--json", "--no-save"]);
    let output = measure.args(faults).output().unwrap();
    check_code(&output, 0);
    let (told, served) = (result(&output), session(child, lines));
    assert_eq!(told["delivered"], served["delivered"]);
    let sample = records(&output).into_iter().find(|record| record["type"] == "sample").unwrap();
    let flows = sample["flows"].as_array().unwrap();
    let sum = |key: &str| flows.iter().filter_map(|flow| flow[key].as_u64()).sum::<u64>();
    assert_eq!(flows.len(), 25);
    assert!(flows.iter().all(|flow| flow["missed"].is_u64()), "each has a verdict");
    assert!(sum("lost") > 0 && sum("acknowledged") > 0, "{flows:?}");
    assert_eq!(sum("acknowledged_and_lost"), 0);
    assert_eq!(sum("delivered") + sum("lost"), sum("sent"));
    println!(
        "seen: {} of {} messages lost, {} missed their deadline",
        sum("lost"),
        sum("sent"),
        sum("missed")
    );
}

pub(crate) fn free_address() -> String {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn two_processes_measure_over_loopback_without_any_privilege() {
    let (here, there) = (free_address(), free_address());
    let (child, lines, _) = serving(command(&["serve", "--udp", &there, "-n", "1", "--json"]));
    let arguments = ["measure", "--udp", &here, "--udp-peer", &there, "--json", "--no-save"];
    let load = ["--load", "maximum-rate-request", "--size", "64", "--messages", "100"];
    let output = run(&[&arguments[..], &load].concat());
    check_code(&output, 0);
    assert_eq!(result(&output)["delivered"], 100);
    let sample = records(&output).into_iter().find(|record| record["type"] == "sample").unwrap();
    assert_eq!(sample["flows"][0]["response"]["count"], 100);
    assert_eq!(session(child, lines)["delivered"], 100);
}

#[test]
fn a_peer_that_vanishes_is_said_so_and_what_was_sent_is_kept() {
    let (here, there) = (free_address(), free_address());
    let (mut child, _lines, _) = serving(command(&["serve", "--udp", &there, "--json"]));
    let arguments = ["measure", "--udp", &here, "--udp-peer", &there, "--json", "--no-save"];
    let load = ["--load", "cyclic", "--period", "5 ms", "--size", "100", "--time", "60 s"];
    let measure = command(&[&arguments[..], &load].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The handshake is over once the peer counts frames; a second is plenty, and nothing depends on it.
    let mut waited = Command::new("sleep").arg("1").spawn().unwrap();
    waited.wait().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let output = measure.wait_with_output().unwrap();
    check_code(&output, 1);
    let records = records(&output);
    let end = records.last().unwrap();
    let why = end["error"].as_str().unwrap();
    assert!(why.contains("vanished") || why.contains("no answer"), "{why}");
    assert_eq!(end["complete"], false);
    if why.contains("vanished") {
        let sample = records.iter().find(|record| record["type"] == "sample").unwrap();
        assert_eq!(sample["complete"], false);
    }
}

#[test]
fn servers_listen_on_loopback_and_call_no_peer_without_a_port() {
    check_code(&run(&["serve", "--udp", "0.0.0.0:0"]), 2);
    check_code(&run(&["serve"]), 2);
    check_code(&run(&["measure", "--to", "02:00:00:00:00:01"]), 2);
    check_code(&run(&["measure", "--udp", "127.0.0.1:0", "bulk"]), 2);
    check_code(&run(&["serve", "-i", "no-such-port"]), 1);
}
