//! Class 0 peers of other makes, as servers and as clients, each started by the test.
//!
//! They are found where these variables say; what is not there is skipped:
//! TIDEWIRE_SNAP7, Python interpreters with python-snap7, separated by colons (else `python3`);
//! TIDEWIRE_JOSITRANSPORT, a folder with openiec61850's jars; TIDEWIRE_COTP_PEER, a program that takes
//! `server PORT` and `client PORT`, and says `listening`, and `echoed` of what came back.

use crate::{check_code, command, interrupt, records, run};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

mod mms;

/// A program, ended when this is dropped.
struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let child = command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The next line it prints; empty where it ended.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that is not in use.
fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

fn peers(name: &str) -> String {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers")).join(name).display().to_string()
}

/// Findings of our client about a peer's server.
fn found(server: impl Fn(&str) -> Command, more: &[&str]) -> Value {
    let port = free_port();
    let mut server = Running::start(server(&port));
    assert_eq!(server.line(), "listening");
    let url = format!("iso-tcp://127.0.0.1:{port}");
    let arguments = ["measure", "--over", &url, "--foreign-peer", "--json"];
    let output = run(&[&arguments[..], more].concat());
    check_code(&output, 0);
    records(&output).into_iter().find(|record| record["type"] == "foreign").unwrap()
}

/// Output of a peer's client against our server, and the number of messages that the server sent back.
fn served(client: impl Fn(&str) -> Command) -> (String, u64) {
    let port = free_port();
    let url = format!("iso-tcp://127.0.0.1:{port}");
    let serve = command(&["serve", "--over", &url, "--foreign-peer", "--json"]);
    let mut serve = Running::start(serve);
    assert!(serve.line().contains("listening"));
    let said = Running::start(client(&port)).line();
    interrupt(serve.child.id());
    let end: Value = serde_json::from_str(&serve.line()).unwrap();
    (said, end["echoed"].as_u64().unwrap())
}

#[track_caller]
fn check_echo(name: &str, program: impl Fn(&str, &str) -> Command) {
    let server = |port: &str| program("server", port);
    let asked = ["--messages", "10", "--echoes", "3", "--size", "20000 B"];
    let found = found(server, &asked);
    assert_eq!((&found["opened"], &found["response"]["count"]), (&10.into(), &30.into()), "{name}");
    assert_eq!((&found["differing"], &found["unanswered"]), (&0.into(), &0.into()), "{name}");
    let told = served(|port| program("client", port));
    assert_eq!(told, ("echoed".to_owned(), 1), "{name}");
    println!(
        "seen: {name}: set-up p50 {} us, response to 20,000 octets p50 {} us",
        found["setup"]["p50_ns"].as_u64().unwrap() / 1_000,
        found["response"]["p50_ns"].as_u64().unwrap() / 1_000
    );
}

#[test]
fn s7_stations_of_snap7_are_opened_and_open_ours() {
    let pythons = std::env::var("TIDEWIRE_SNAP7").unwrap_or_else(|_| "python3".to_owned());
    for python in pythons.split(':') {
        let version = "import importlib.metadata as m; print(m.version('python-snap7'))";
        let version = Command::new(python).args(["-c", version]).output();
        let Some(version) = version.ok().filter(|output| output.status.success()) else {
            println!("skipped: {python} has no python-snap7 to talk to");
            continue;
        };
        let version = crate::stdout(&version).trim().to_owned();
        let script = peers("s7.py");
        let program = |role: &str, port: &str| {
            let mut command = Command::new(python);
            command.args([script.as_str(), role, port]);
            command
        };
        // Rack 0, slot 1 of a programming device's connection.
        let asked = ["--called", "0101", "--calling", "0100", "--messages", "20"];
        let found = found(|port| program("server", port), &asked);
        assert_eq!(found["opened"], 20, "python-snap7 {version}");
        // Our echo is no S7 station: what counts is that its request came through a connection.
        let (said, echoed) = served(|port| program("client", port));
        assert!(said.starts_with("connect") && echoed > 0, "python-snap7 {version}: {said}");
        println!(
            "seen: python-snap7 {version}: set-up p50 {} us, TPDUs of up to {} octets",
            found["setup"]["p50_ns"].as_u64().unwrap() / 1_000,
            found["tpdu_octets"]
        );
    }
}

#[test]
fn the_java_transport_echoes_ours_and_ours_echoes_it() {
    let Ok(folder) = std::env::var("TIDEWIRE_JOSITRANSPORT") else {
        println!("skipped: TIDEWIRE_JOSITRANSPORT names no folder with openiec61850's jars");
        return;
    };
    check_echo("jositransport", |role, port| {
        let mut command = Command::new("java");
        command.args(["-cp", &format!("{folder}/*"), &peers("Echo.java"), role, port]);
        command
    });
}

#[test]
fn a_program_of_another_make_echoes_ours_and_ours_echoes_it() {
    let Ok(program) = std::env::var("TIDEWIRE_COTP_PEER") else {
        println!("skipped: TIDEWIRE_COTP_PEER names no class 0 program");
        return;
    };
    check_echo(&program, |role, port| {
        let mut command = Command::new(&program);
        command.args([role, port]);
        command
    });
}
