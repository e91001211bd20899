//! `measure` against `serve` over TCP, and against peers that are no tidewire.

use crate::{check_code, command, records, run, stderr, stdout};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Stdio};

/// A `serve` on a free port of this host, ended when this is dropped.
struct Serving {
    child: Child,
    lines: BufReader<ChildStdout>,
    url: String,
}

impl Serving {
    fn new(more: &[&str]) -> Self {
        let arguments = ["serve", "--over", "iso-tcp://127.0.0.1:0", "--json"];
        let mut command = command(&[&arguments[..], more].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let listening: Value = serde_json::from_str(&line).unwrap();
        let url = listening["port"].as_str().unwrap().to_owned();
        Self { child, lines, url }
    }

    /// Record of the session that it served, from its own end.
    fn session(mut self) -> Value {
        let lines = (&mut self.lines).lines();
        let records: Vec<Value> =
            lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        assert!(self.child.wait().unwrap().success());
        records.into_iter().find(|record| record["type"] == "session").unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn find(output: &std::process::Output, kind: &str) -> Value {
    check_code(output, 0);
    let found = records(output).into_iter().find(|record| record["type"] == kind);
    found.unwrap_or_else(|| panic!("no {kind}: {}", stdout(output)))
}

#[test]
fn ten_megabytes_over_tcp_are_exact_at_both_ends() {
    for class in ["0", "2"] {
        let serving = Serving::new(&["-n", "1"]);
        let arguments = ["measure", "--over", &serving.url, "--class", class, "--json"];
        let load = ["--no-save", "--load", "bulk", "--bytes", "10MB", "--size", "10000 B"];
        let result = find(&run(&[&arguments[..], &load].concat()), "result");
        let served = serving.session();
        assert_eq!((&result["exact"], &result["delivered"]), (&true.into(), &1_000.into()));
        assert_eq!(result["delivered_octets"], 10_000_000);
        // 10,000 octets are one DT of up to 65,531; the control session has DTs of its own, four a second.
        let sent = result["transport"]["sent"]["dt"].as_u64().unwrap();
        assert!((1_000..1_400).contains(&sent), "{sent} DTs");
        assert!(served["frames"].as_u64().unwrap() >= 1_000, "{served}");
        assert_eq!(result["transport"]["sent_again"], 0);
        println!(
            "seen: class {class} over TCP on loopback: {:.0} Mbit/s",
            result["goodput_bits_per_second"].as_f64().unwrap() / 1e6
        );
    }
}

#[test]
fn requests_are_answered_and_their_response_times_told() {
    let serving = Serving::new(&["-n", "1"]);
    let arguments = ["measure", "--over", &serving.url, "--json", "--no-save"];
    let load = ["--load", "maximum-rate-request", "--size", "100", "--messages", "500"];
    let output = run(&[&arguments[..], &load].concat());
    let sample = find(&output, "sample");
    assert_eq!(sample["flows"][0]["response"]["count"], 500);
    assert_eq!(serving.session()["delivered"], 500);
}

#[test]
fn a_foreign_peer_gets_connections_and_echoes_one_at_a_time() {
    let serving = Serving::new(&["--foreign-peer"]);
    let arguments = ["measure", "--over", &serving.url, "--foreign-peer", "--json"];
    let asked = ["--messages", "7", "--echoes", "2", "--size", "500", "--called", "0102"];
    let found = find(&run(&[&arguments[..], &asked].concat()), "foreign");
    assert_eq!((&found["asked"], &found["opened"]), (&7.into(), &7.into()));
    assert_eq!((&found["setup"]["count"], &found["response"]["count"]), (&7.into(), &14.into()));
    assert_eq!((&found["class"], &found["tpdu_octets"]), (&"class 0".into(), &2_048.into()));
    // No peer there has agreed to load, so none is sent.
    let load = ["--load", "bulk", "--bytes", "1MB"];
    check_code(&run(&[&arguments[..], &load].concat()), 2);
}

#[test]
fn a_server_for_tidewires_alone_refuses_foreign_peers() {
    let serving = Serving::new(&[]);
    let output = run(&["measure", "--over", &serving.url, "--foreign-peer", "--messages", "1"]);
    check_code(&output, 1);
    assert!(stderr(&output).contains("refused: no such TSAP"), "{}", stderr(&output));
}

#[test]
fn impossible_and_remote_addresses_are_usage_errors() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let unused = format!("iso-tcp://{free}");
    for arguments in [
        &["serve", "--over", "127.0.0.1:4102"][..],
        &["serve", "--over", "iso-tcp://127.0.0.1:99999"],
        &["serve", "--over", "iso-tcp://0.0.0.0:0", "--foreign-peer"],
        &["serve", "--over", &unused, "--fault", "loss=1%"],
        &["measure", "--over", "iso-tcp://192.0.2.1", "--foreign-peer"],
        &["measure", "--over", &unused, "--datagram", "--no-save"],
        &["measure", "--over", &unused, "--class", "1", "--no-save"],
        &["measure", "--over", &unused, "--foreign-peer", "--called", "xy"],
        &["measure", "--over", &unused, "--to", "02:00:00:00:00:01"],
        &["measure", "--foreign-peer", "--udp", "127.0.0.1:0"],
    ] {
        check_code(&run(arguments), 2);
    }
    let output = run(&["measure", "--over", &unused, "--no-save"]);
    check_code(&output, 1);
    assert!(stderr(&output).contains(&format!("no answer from {unused}")), "{}", stderr(&output));
}

#[test]
fn a_public_address_is_used_only_if_that_is_allowed() {
    // 192.0.2.0/24 is for documentation (RFC 5737), and routed nowhere.
    for address in ["192.0.2.1:102", "0.0.0.0:0", "[2001:db8::1]:102"] {
        let url = format!("iso-tcp://{address}");
        let line = ["serve", "--over", &url, "--time", "1 ms"];
        let refused = run(&line);
        check_code(&refused, 2);
        assert!(stderr(&refused).contains("nor in a private network"), "{}", stderr(&refused));
        let allowed = run(&[&line[..], &["--allow-public"]].concat());
        assert!(!stderr(&allowed).contains("nor in a private network"), "{}", stderr(&allowed));
        let foreign = run(&[&line[..], &["--foreign-peer", "--allow-public"]].concat());
        check_code(&foreign, 2);
    }
    let measure = ["measure", "--over", "iso-tcp://192.0.2.1:102", "--load", "cyclic"];
    let refused = run(&measure);
    check_code(&refused, 2);
    assert!(stderr(&refused).contains("add --allow-public"), "{}", stderr(&refused));
}
