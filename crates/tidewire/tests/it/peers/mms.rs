//! MMS peers of other makes, as servers and as clients.
//!
//! They are found where these variables say; a peer that is not there is skipped: TIDEWIRE_LIBIEC61850,
//! TIDEWIRE_OPEN61850 and TIDEWIRE_IEC61850, Python interpreters with pyiec61850, open61850 and
//! iec61850; TIDEWIRE_JOSITRANSPORT, a folder with openiec61850's jars.

use super::{Running, free_port, peers};
use crate::{check_code, command, interrupt, records, run};
use serde_json::Value;
use std::process::Command;

/// Model that all servers have.
const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/models/feeder.cid");
/// Requests of each step.
const MESSAGES: u64 = 20;

/// Peer as a program, and the services that its server has.
struct Peer {
    name: &'static str,
    program: Command,
    /// True if it answers identify and concludes.
    identifies: bool,
    /// True if its server has the data set of the model.
    has_data_set: bool,
}

impl Peer {
    fn command(&self, role: &str, port: &str) -> Command {
        let mut command = Command::new(self.program.get_program());
        command.args(self.program.get_args()).args([role, port, MODEL]);
        command
    }
}

/// Python interpreter that a variable names, with a script of the peers.
fn python(variable: &str, script: &str) -> Option<Command> {
    let Ok(python) = std::env::var(variable) else {
        println!("skipped: {variable} names no Python to talk to");
        return None;
    };
    let mut command = Command::new(python);
    command.arg(peers(script));
    Some(command)
}

/// Checks our client against the peer's server, and the peer's client against ours.
#[track_caller]
fn check(peer: &Peer) {
    let found = measured(peer);
    let told = served(peer);
    println!(
        "seen: {}: read p50 {} us, association p50 {} us; its client: {told}",
        peer.name,
        step(&found, "read 1 variable")["times"]["p50_ns"].as_u64().unwrap() / 1_000,
        step(&found, "association")["times"]["p50_ns"].as_u64().unwrap() / 1_000,
    );
}

fn step<'a>(found: &'a Value, name: &str) -> &'a Value {
    let steps = found["steps"].as_array().unwrap();
    steps.iter().find(|step| step["name"] == name).unwrap()
}

fn measured(peer: &Peer) -> Value {
    let port = free_port();
    let mut server = Running::start(peer.command("server", &port));
    assert_ne!(server.line(), "", "{} does not listen", peer.name);
    let url = format!("iso-tcp://127.0.0.1:{port}");
    let arguments = [
        "measure",
        "mms",
        "--over",
        &url,
        "--foreign-peer",
        "--json",
        "--messages",
        "20",
        "--max-requests",
        "1000",
        "--associations",
        "2",
        "--time-out",
        "1 s",
        "--outstanding",
        "1,5",
        "--dataset",
        "FEEDLD0/LLN0$loads",
    ];
    let output = run(&arguments);
    check_code(&output, 0);
    let found = records(&output).into_iter().find(|record| record["type"] == "mms").unwrap();
    let count = |name: &str| step(&found, name)["times"]["count"].as_u64().unwrap();
    assert_eq!(found["opened"], 2, "{}: {found}", peer.name);
    assert_eq!(count("read 1 variable"), MESSAGES, "{}: {found}", peer.name);
    let expected = |has| if has { MESSAGES } else { 0 };
    assert_eq!(count("identify"), expected(peer.identifies), "{}: {found}", peer.name);
    assert_eq!(count("read data set"), expected(peer.has_data_set), "{}: {found}", peer.name);
    let ends = if peer.identifies { "released" } else { "aborted" };
    assert_eq!(found[ends], 2, "{}: {found}", peer.name);
    for rate in found["rates"].as_array().unwrap() {
        assert_eq!(rate["answered"], MESSAGES, "{}: {found}", peer.name);
    }
    found
}

fn served(peer: &Peer) -> String {
    let port = free_port();
    let url = format!("iso-tcp://127.0.0.1:{port}");
    let serve = command(&["serve", "mms", "--scl", MODEL, "--over", &url, "--json"]);
    let mut serve = Running::start(serve);
    assert!(serve.line().contains("listening"));
    let told = Running::start(peer.command("client", &port)).line();
    interrupt(serve.child.id());
    let end: Value = serde_json::from_str(&serve.line()).unwrap();
    assert!(told.starts_with("read 100 ") && told.contains("12.5"), "{}: {told:?}", peer.name);
    assert!(end["requests"].as_u64().unwrap() >= 100, "{}: {end}", peer.name);
    told
}

#[test]
fn libiec61850_and_tidewire_serve_each_other() {
    let Some(program) = python("TIDEWIRE_LIBIEC61850", "libiec61850.py") else { return };
    let name = "libiec61850";
    check(&Peer { name, program, identifies: true, has_data_set: true });
}

/// Contents of a file that needs several parts, without a period that could hide an exchange.
fn contents() -> Vec<u8> {
    (0..100_000_u32).flat_map(|word| word.wrapping_mul(0x9E37_79B9).to_be_bytes()).collect()
}

#[test]
fn libiec61850_and_tidewire_read_files_of_each_other() {
    let Some(program) = python("TIDEWIRE_LIBIEC61850", "libiec61850.py") else { return };
    let name = "libiec61850";
    let peer = Peer { name, program, identifies: true, has_data_set: true };
    let folder = tempfile::tempdir().unwrap();
    let served = folder.path().join("served");
    std::fs::create_dir(&served).unwrap();
    std::fs::write(served.join("events.dat"), contents()).unwrap();
    let copy = folder.path().join("copy");
    let [served, saved] = [&served, &copy].map(|path| path.to_str().unwrap());

    let port = free_port();
    let url = format!("iso-tcp://127.0.0.1:{port}");
    let serve = command(&["serve", "mms", "--over", &url, "--json", "--files", served]);
    let mut serve = Running::start(serve);
    assert!(serve.line().contains("\"files\":1"));
    let mut client = Command::new(peer.program.get_program());
    client.args(peer.program.get_args()).args(["file", &port, "events.dat", saved]);
    assert_eq!(Running::start(client).line().trim(), "files events.dat");
    assert!(std::fs::read(&copy).unwrap() == contents(), "libiec61850 has read other octets");
    drop(serve);

    std::fs::remove_file(&copy).unwrap();
    let port = free_port();
    let mut server = peer.command("server", &port);
    server.arg(served);
    let mut server = Running::start(server);
    assert_ne!(server.line(), "", "libiec61850 does not listen");
    let url = format!("iso-tcp://127.0.0.1:{port}");
    let read =
        ["--file", "events.dat", "--save", saved, "--max-requests", "1000", "--messages", "1"];
    let measure = ["measure", "mms", "--over", &url, "--foreign-peer", "--json"];
    check_code(&run(&[&measure[..], &read].concat()), 0);
    assert!(std::fs::read(&copy).unwrap() == contents(), "tidewire has read other octets");
    println!("seen: {} octets each way", contents().len());
}

#[test]
fn open61850_and_tidewire_serve_each_other() {
    let Some(program) = python("TIDEWIRE_OPEN61850", "open61850_peer.py") else { return };
    check(&Peer { name: "open61850", program, identifies: true, has_data_set: true });
}

#[test]
fn iec61850_and_tidewire_serve_each_other() {
    let Some(program) = python("TIDEWIRE_IEC61850", "iec61850_peer.py") else { return };
    // Its server takes no data sets from a model.
    check(&Peer { name: "iec61850", program, identifies: true, has_data_set: false });
}

#[test]
fn openiec61850_and_tidewire_serve_each_other() {
    let Ok(folder) = std::env::var("TIDEWIRE_JOSITRANSPORT") else {
        println!("skipped: TIDEWIRE_JOSITRANSPORT names no folder with openiec61850's jars");
        return;
    };
    let mut program = Command::new("java");
    program.args(["-cp", &format!("{folder}/*"), &peers("Mms.java")]);
    // Its server answers neither identify nor conclude.
    check(&Peer { name: "openiec61850", program, identifies: false, has_data_set: true });
}
