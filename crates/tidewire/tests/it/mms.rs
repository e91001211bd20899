//! `measure mms` against `serve mms`: the steps, reports, safeguards, and an interruption.

use crate::{check_code, command, interrupt, records, run, stderr};
use core::time::Duration;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Stdio};
use std::thread;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/models/feeder.cid");

/// Server with the built-in model, ended when this is dropped.
pub(crate) struct Server {
    child: Child,
    lines: BufReader<ChildStdout>,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(more: &[&str]) -> Self {
        let arguments = ["serve", "mms", "--over", "iso-tcp://127.0.0.1:0", "--json"];
        let mut command = command(&[&arguments[..], more].concat());
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let listening: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&listening["type"], &listening["lists"]), (&"listening".into(), &1.into()));
        let url = listening["port"].as_str().unwrap().to_owned();
        Self { child, lines, url }
    }

    /// Ends the server; returns its last record.
    fn end(mut self) -> Value {
        interrupt(self.child.id());
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn measure(server: &Server, more: &[&str]) -> Value {
    let arguments = [
        "measure",
        "mms",
        "--over",
        &server.url,
        "--foreign-peer",
        "--json",
        "--messages",
        "5",
        "--max-requests",
        "1000",
        "--associations",
        "2",
    ];
    let output = run(&[&arguments[..], more].concat());
    check_code(&output, 0);
    records(&output).into_iter().find(|record| record["type"] == "mms").unwrap()
}

fn steps(found: &Value) -> Vec<(String, u64)> {
    let steps = found["steps"].as_array().unwrap().iter();
    let count = |step: &Value| step["times"]["count"].as_u64().unwrap();
    steps.map(|step| (step["name"].as_str().unwrap().to_owned(), count(step))).collect()
}

#[test]
fn each_step_of_a_client_is_measured() {
    let server = Server::start(&["--scl", MODEL]);
    let found = measure(&server, &["--dataset", "FEEDLD0/LLN0$loads", "--outstanding", "1,2,5"]);
    let expected = [
        ("TCP connect", 2),
        ("CR, CC", 2),
        ("association", 2),
        ("identify", 5),
        ("status", 5),
        ("read 1 variable", 5),
        ("read 5 variables", 5),
        ("read data set", 5),
    ];
    assert_eq!(steps(&found), expected.map(|(name, count)| (name.to_owned(), count)));
    assert_eq!((&found["opened"], &found["released"]), (&2.into(), &2.into()));
    let outstanding = found["rates"].as_array().unwrap().iter();
    let outstanding: Vec<_> = outstanding.map(|it| it["outstanding"].as_u64().unwrap()).collect();
    assert_eq!(outstanding, [1, 2, 5]);
    let end = server.end();
    // Four steps of 5 requests and the data set, 3 rates of 5, and 2 for the names.
    assert_eq!((&end["associations"], &end["requests"]), (&2.into(), &42.into()));
}

#[test]
fn named_items_are_read_and_a_missing_one_is_a_failure() {
    let server = Server::start(&[]);
    let found = measure(&server, &["--item", "FEEDLD0/MMXU1$MX$TotW$mag$f"]);
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    let found = measure(&server, &["--item", "FEEDLD0/MMXU9$MX$TotW$mag$f"]);
    let step = &found["steps"].as_array().unwrap()[5];
    assert_eq!((&step["failed"], &step["reason"]), (&5.into(), &"object-non-existent".into()));
}

#[test]
fn reports_arrive_at_once_and_then_every_period() {
    let server = Server::start(&[]);
    let block = "FEEDLD0/LLN0$RP$urcb01";
    let more = ["--report-block", block, "--allow-write", block, "--reporting", "2500 ms"];
    let found = measure(&server, &more);
    let reports = &found["reports"];
    // The general interrogation, and two integrity periods of one second.
    assert_eq!((&reports["received"], &reports["gaps"]), (&3.into(), &0.into()), "{found}");
    assert_eq!((&reports["failure"], &found["released"]), (&Value::Null, &2.into()));
}

#[test]
fn a_server_refuses_writes_of_variables() {
    let server = Server::start(&[]);
    let found = measure(&server, &["--allow-write", "FEEDLD0/MMXU1$MX$TotW$mag$f"]);
    let step = found["steps"].as_array().unwrap().last().unwrap();
    assert_eq!((&step["failed"], &step["reason"]), (&5.into(), &"object-access-denied".into()));
}

#[test]
fn a_permitted_variable_is_written_with_its_own_value() {
    let item = "FEEDLD0/MMXU1$MX$TotW$mag$f";
    let server = Server::start(&["--allow-write", item]);
    let found = measure(&server, &["--allow-write", item]);
    let (name, count) = steps(&found).pop().unwrap();
    assert_eq!((name.as_str(), count), ("write FEEDLD0/MMXU1$MX$TotW$mag$f", 5), "{found}");
    let other = measure(&server, &["--allow-write", "FEEDLD0/MMXU1$MX$TotW$t"]);
    assert_eq!(other["steps"].as_array().unwrap().last().unwrap()["failed"], 5);
    assert_eq!(server.end()["writes"], 5);
}

#[test]
fn no_control_setting_or_unknown_name_becomes_writable() {
    for constraint in ["CO", "SP", "SG", "SE"] {
        let item = format!("FEEDLD0/GGIO1${constraint}$SPCSO1$Oper$ctlVal");
        let output = run(&["serve", "mms", "--allow-write", &item]);
        check_code(&output, 2);
        assert!(stderr(&output).contains("is not written"), "{}", stderr(&output));
    }
    for item in ["FEEDLD0/MMXU9$MX$TotW$mag$f", "FEEDLD0/MMXU1$MX$TotW"] {
        let output = run(&["serve", "mms", "--allow-write", item]);
        check_code(&output, 2);
        assert!(stderr(&output).contains("the model has no such leaf"), "{}", stderr(&output));
    }
}

#[test]
fn files_are_read_whole_and_no_name_leads_out_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let served = folder.path().join("served");
    std::fs::create_dir_all(served.join("log")).unwrap();
    let contents: Vec<u8> = (0..50_000_u32).flat_map(|word| (word * 77).to_be_bytes()).collect();
    std::fs::write(served.join("log/events.dat"), &contents).unwrap();
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    let server = Server::start(&["--files", served.to_str().unwrap()]);
    let copy = folder.path().join("copy");
    let save = ["--save", copy.to_str().unwrap()];
    let found = measure(&server, &[&["--file", "log/events.dat"][..], &save].concat());
    // 200,000 octets in parts of 8,192.
    let file = &found["file"];
    assert_eq!((&file["octets"], &file["size_octets"]), (&200_000.into(), &200_000.into()));
    assert_eq!((&file["parts"], &file["failure"]), (&25.into(), &Value::Null));
    assert_eq!(
        steps(&found)[7..],
        [("file open".into(), 1), ("file read".into(), 25), ("file close".into(), 1)]
    );
    assert!(std::fs::read(&copy).unwrap() == contents, "other octets");
    std::fs::remove_file(&copy).unwrap();
    let absolute = folder.path().join("secret").to_str().unwrap().to_owned();
    for name in ["../secret", "log/../../secret", &absolute, "log", ""] {
        let found = measure(&server, &[&["--file", name][..], &save].concat());
        assert_eq!(found["file"]["failure"], "file/7", "{name}: {found}");
        assert_eq!(found["released"], 2, "{name}");
        assert!(!copy.exists(), "{name}");
    }
}

#[test]
fn the_time_in_the_own_layers_is_part_of_the_result() {
    let server = Server::start(&[]);
    let found = measure(&server, &[]);
    let own = &found["own"];
    let layers = own["layers"].as_array().unwrap();
    let names: Vec<_> = layers.iter().map(|layer| layer["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["MMS", "presentation", "session", "class 0, TPKT"]);
    let cpu = |value: &Value| value["cpu_ns"].as_u64().unwrap();
    assert!(layers.iter().all(|layer| cpu(layer) > 0), "{own}");
    let sum: u64 = layers.iter().map(cpu).sum();
    assert!(cpu(own).abs_diff(sum) <= 4, "{own}");
    // A1 len, invoke identifier, A4 len, A1 len, 8x len value of Mod.stVal.
    assert_eq!(own["answer_octets"], 2 + 3 + 2 + 2 + 3, "{own}");
    // Nothing was read, so nothing is known.
    let found = measure(&server, &["--item", "FEEDLD0/MMXU9$MX$TotW$mag$f"]);
    assert_eq!(found["own"], Value::Null);
}

/// Octets that a whole measurement sends to a server, recorded on their way.
fn recorded(server: &Server) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("iso-tcp://{}", listener.local_addr().unwrap());
    let target = server.url.strip_prefix("iso-tcp://").unwrap().to_owned();
    let passing = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = TcpStream::connect(target).unwrap();
        let (mut back, mut answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let returning = thread::spawn(move || {
            let _ = std::io::copy(&mut answers, &mut back);
            let _ = back.shutdown(Shutdown::Both);
        });
        let (mut octets, mut buffer) = (Vec::new(), [0; 4_096]);
        while let Ok(count @ 1..) = client.read(&mut buffer) {
            octets.extend_from_slice(&buffer[..count]);
            let _ = server.write_all(&buffer[..count]);
        }
        let _ = server.shutdown(Shutdown::Both);
        returning.join().unwrap();
        octets
    });
    let more = ["--messages", "1", "--associations", "1", "--max-requests", "1000"];
    let arguments = ["measure", "mms", "--over", &url, "--foreign-peer"];
    check_code(&run(&[&arguments[..], &more].concat()), 0);
    passing.join().unwrap()
}

/// Passes what a server sends to a client, each DT of data with `more` behind it, from the 8th on.
fn relay(server: &Server, more: fn(&[u8]) -> Vec<u8>) -> (String, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("iso-tcp://{}", listener.local_addr().unwrap());
    let target = server.url.strip_prefix("iso-tcp://").unwrap().to_owned();
    let passing = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = TcpStream::connect(target).unwrap();
        let (mut requests, mut onward) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let requesting = thread::spawn(move || {
            let _ = std::io::copy(&mut requests, &mut onward);
            let _ = onward.shutdown(Shutdown::Both);
        });
        let (mut head, mut count) = ([0; 4], 0);
        while server.read_exact(&mut head).is_ok() {
            let mut tpdu = vec![0; usize::from(u16::from_be_bytes([head[2], head[3]])) - 4];
            server.read_exact(&mut tpdu).unwrap();
            let packet = [&head[..], &tpdu].concat();
            // DT, give tokens and DT of session.
            let is_data = tpdu.starts_with(&[2, 0xF0, 0x80, 1, 0, 1, 0]);
            count += u64::from(is_data);
            let more = if is_data && count >= 8 { more(&packet) } else { packet };
            let _ = client.write_all(&more);
        }
        let _ = client.shutdown(Shutdown::Both);
        requesting.join().unwrap();
    });
    (url, passing)
}

/// Result of `measure mms` through a relay; the client has one association.
fn measured_through(more: fn(&[u8]) -> Vec<u8>) -> Value {
    let server = Server::start(&[]);
    let (url, passing) = relay(&server, more);
    let arguments = ["measure", "mms", "--over", &url, "--foreign-peer", "--json"];
    let limits = ["--messages", "4", "--max-requests", "1000", "--associations", "1"];
    let output = run(&[&arguments[..], &limits, &["--time-out", "500 ms"]].concat());
    check_code(&output, 0);
    passing.join().unwrap();
    records(&output).into_iter().find(|record| record["type"] == "mms").unwrap()
}

#[test]
fn answers_that_come_twice_are_counted_and_change_no_result() {
    let found = measured_through(|packet| [packet, packet].concat());
    assert!(steps(&found).iter().skip(3).all(|(_, count)| *count == 4), "{found}");
    // The last of 8 identify and status, 2 name lists, 8 reads and a conclude.
    assert_eq!((&found["odd"], &found["released"]), (&12.into(), &1.into()), "{found}");
}

#[test]
fn an_unknown_context_ends_the_association_in_words() {
    let found = measured_through(|packet| {
        let mut packet = packet.to_vec();
        // The context of the presentation data value.
        let place = packet.windows(3).position(|it| it == [2, 1, 3]).unwrap();
        packet[place + 2] = 99;
        packet
    });
    let reason = "association lost: aborted for a presentation protocol error of the server";
    assert_eq!(found["failure"], reason, "{found}");
}

#[test]
fn a_server_without_names_is_a_reason_to_read_nothing() {
    let found = measured_through(|_| Vec::new());
    assert_eq!(found["unread"], "no response in time", "{found}");
    assert_eq!(found["items"].as_array().unwrap().len(), 0, "{found}");
}

#[test]
fn a_response_that_a_server_never_requested_is_counted() {
    let server = Server::start(&[]);
    let octets = recorded(&server);
    let address = server.url.strip_prefix("iso-tcp://").unwrap().to_owned();
    let mut stream = TcpStream::connect(address).unwrap();
    // The CR and the CN, then a response to a read of invoke identifier 7.
    let length = |at: usize| usize::from(u16::from_be_bytes([octets[at + 2], octets[at + 3]]));
    let opening = length(0) + length(length(0));
    stream.write_all(&octets[..opening]).unwrap();
    let response = [
        3, 0, 0, 29, 2, 0xF0, 0x80, 1, 0, 1, 0, 0x61, 16, 0x30, 14, 2, 1, 3, 0xA0, 9, 0xA1, 7, 2,
        1, 7, 0xA4, 2, 0xA1, 0,
    ];
    stream.write_all(&response).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(server.end()["odd"], 1);
}

#[test]
fn an_association_cut_off_at_any_octet_disturbs_no_other() {
    let server = Server::start(&[]);
    let octets = recorded(&server);
    assert!(octets.len() > 400, "{} octets", octets.len());
    let address = server.url.strip_prefix("iso-tcp://").unwrap().to_owned();
    let mut opened = 0;
    for end in 0..octets.len() {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(&octets[..end]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        // The server answers what is whole, and closes.
        let mut answers = Vec::new();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        match stream.read_to_end(&mut answers) {
            Ok(_) => {}
            // Octets that the server had not read yet reset the connection.
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "after {end}"),
        }
        opened += u64::from(answers.windows(3).any(|it| it == [0xF0, 0x80, 0x0E]));
    }
    let found = measure(&server, &[]);
    assert_eq!((&found["opened"], &found["released"]), (&2.into(), &2.into()));
    let end = server.end();
    // Every association that was accepted has ended.
    assert!(opened > 0 && end["associations"].as_u64().unwrap() >= opened + 3, "{end}");
    assert_eq!(end["associations"], end["ended"], "{end}");
}

#[test]
fn nothing_is_written_without_leave_and_control_never() {
    let over = ["measure", "mms", "--over", "iso-tcp://127.0.0.1:1", "--foreign-peer"];
    let refused = |more: &[&str], reason: &str| {
        let output = run(&[&over[..], more].concat());
        check_code(&output, 2);
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    };
    refused(&["--report-block", "LD/LLN0$RP$urcb01"], "--allow-write 'LD/LLN0$RP$urcb01'");
    refused(&["--report-block", "LD/LLN0$ST$Mod"], "no report control block");
    for constraint in ["CO", "SP", "SG", "SE"] {
        let item = format!("LD/GGIO1${constraint}$SPCSO1$Oper$ctlVal");
        refused(&["--allow-write", &item], "is not written");
    }
    refused(&["--item", "GGIO1"], "has no '/'");
}

#[test]
fn far_peers_are_neither_called_nor_served() {
    for verb in ["measure", "serve"] {
        let mut arguments = vec![verb, "mms", "--over", "iso-tcp://192.0.2.1:102"];
        arguments.extend((verb == "measure").then_some("--foreign-peer"));
        let output = run(&arguments);
        check_code(&output, 2);
        assert!(stderr(&output).contains("neither on this host nor in a private network"));
    }
}

#[test]
fn an_interrupted_measurement_concludes() {
    let mut server = Server::start(&[]);
    let arguments = [
        "measure",
        "mms",
        "--over",
        &server.url,
        "--foreign-peer",
        "--json",
        "--associations",
        "1",
        "--messages",
        "1000000",
        "--item",
        "FEEDLD0/MMXU1$MX$TotW$mag$f",
    ];
    let mut client = command(&arguments);
    let client = client.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // The server has no record of an opened association: it is asked by a second client.
    measure(&server, &[]);
    interrupt(client.id());
    let output = client.wait_with_output().unwrap();
    let found = records(&output).into_iter().find(|record| record["type"] == "mms").unwrap();
    assert_eq!((&found["complete"], &found["released"]), (&false.into(), &1.into()), "{found}");
    interrupt(server.child.id());
    let mut line = String::new();
    server.lines.read_line(&mut line).unwrap();
    let end: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&end["associations"], &end["ended"]), (&3.into(), &3.into()));
}

#[test]
fn a_model_that_is_no_scl_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken.cid");
    let laughs = "<?xml version='1.0'?>\n<!DOCTYPE SCL [<!ENTITY a 'ha'>]>\n<SCL>&a;</SCL>";
    std::fs::write(&path, laughs).unwrap();
    let output = run(&["serve", "mms", "--scl", path.to_str().unwrap()]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("line 2, column 1: document type declaration"));
    let output = run(&["serve", "mms", "--scl", MODEL, "--ied", "OTHER"]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("no device \"OTHER\" with a server"));
}
