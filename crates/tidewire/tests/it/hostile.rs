//! `serve` under attack from this host: it takes bounded memory, and serves the next caller.

use crate::{check_code, command, run};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Stdio};
use wire::addr::Mac;
use wire::control::{Body, Hello, Limits, Pdu, Role, SAP, text};

/// The most memory that an attack may have `serve` take.
const MOST_OCTETS: u64 = 64 << 20;
/// Messages of an attack, each of a flow of its own.
const MESSAGES: u16 = 1_000;
/// The sequence number that costs a bitmap the most.
const SEQUENCE: u32 = (1 << 26) - 1;

/// A `serve` that is ended when this is dropped.
struct Serving {
    child: Child,
    port: String,
}

impl Serving {
    fn new(arguments: &[&str]) -> Self {
        let mut command = command(&[&["serve", "--json"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let listening: Value = serde_json::from_str(&line).unwrap();
        let port = listening["port"].as_str().unwrap().to_owned();
        Self { child, port }
    }

    /// The most memory it had so far.
    fn peak_octets(&self) -> u64 {
        let status = Path::new("/proc").join(self.child.id().to_string()).join("status");
        let text = std::fs::read_to_string(status).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
    }

    fn check(&self) {
        let peak = self.peak_octets();
        assert!(peak < MOST_OCTETS, "{peak} octets of memory");
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A message's stamp: flow, kind, sequence, planned, lag.
fn stamp(flow: u16) -> Vec<u8> {
    [&flow.to_be_bytes()[..], &[0; 2], &SEQUENCE.to_be_bytes(), &[0; 12]].concat()
}

/// A datagram with a frame from one station to another, and a UI on this SAP.
fn datagram(to: Mac, from: Mac, sap: u8, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(3 + data.len()).unwrap().to_be_bytes();
    [&b"TWF1"[..], &to.0, &from.0, &length, &[sap, sap, 3], data].concat()
}

fn hello(nonce: u64) -> Vec<u8> {
    let limits = Limits { frames_per_second: 1_000, bits_per_second: 1_000_000 };
    let body = Body::Hello(Hello {
        role: Role::Sender,
        offered: limits,
        least: Limits::NONE,
        flows: u16::MAX,
        cookie: 0,
        program: text("attack"),
        purpose: text("attack"),
        receive: None,
        has_streams: false,
    });
    let mut octets = Vec::new();
    Pdu { nonce, body }.encode(&mut octets);
    octets
}

#[test]
fn strangers_on_udp_take_no_memory_and_keep_no_caller_out() {
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let serving = Serving::new(&["--udp", &free.to_string()]);
    let station = Mac::local(free.port().into());
    let attacker = UdpSocket::bind("127.0.0.1:0").unwrap();
    for number in 0..MESSAGES {
        let from = Mac::local(1_000_000 + u32::from(number));
        for frame in [
            datagram(station, from, 0x5C, &stamp(number)),
            datagram(station, from, SAP.0, &hello(number.into())),
        ] {
            attacker.send_to(&frame, free).unwrap();
        }
    }
    let there = free.to_string();
    let here = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let arguments = ["measure", "--udp", &here, "--udp-peer", &there, "--no-save"];
    check_code(&run(&[&arguments[..], &["--messages", "20"]].concat()), 0);
    serving.check();
}

/// A TPKT with a CR for the load's TSAP, and as many messages as one write takes.
fn uninvited(flow: u16) -> Vec<u8> {
    let tsap = b"tidewire";
    let cr = [&[26, 0xE0, 0, 0, 0, 1, 0, 0xC1, 8][..], tsap, &[0xC2, 8], tsap].concat();
    let dt = [&[2, 0xF0, 0x80][..], &stamp(flow)].concat();
    let packet = |tpdu: &[u8]| {
        let length = u16::try_from(4 + tpdu.len()).unwrap().to_be_bytes();
        [&[3, 0][..], &length, tpdu].concat()
    };
    [packet(&cr), packet(&dt)].concat()
}

#[test]
fn strangers_on_tcp_take_no_memory_and_callers_are_served() {
    let serving = Serving::new(&["--over", "iso-tcp://127.0.0.1:0"]);
    let address: SocketAddr = serving.port.strip_prefix("iso-tcp://").unwrap().parse().unwrap();
    let mut silent: Vec<TcpStream> = Vec::new();
    // Half of them stay open: more than the 256 connections that are kept.
    for flow in 0..600 {
        let mut stream = TcpStream::connect(address).unwrap();
        if flow % 2 == 0 {
            stream.write_all(&uninvited(flow)).unwrap();
            // TPKT's header and a DR, whose kind stands behind its length.
            let mut answer = [0; 11];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer[5], 0x80, "flow {flow}: {answer:02x?}");
        } else {
            silent.push(stream);
        }
    }
    for call in 0..4 {
        let arguments = ["measure", "--over", &serving.port, "--no-save", "--json"];
        let load = ["--load", "maximum-rate-request", "--messages", "20"];
        println!("call {call}");
        check_code(&run(&[&arguments[..], &load].concat()), 0);
    }
    serving.check();
}

/// Number of times that a process slept of its own accord.
fn sleeps(process: &Path) -> u64 {
    let status = std::fs::read_to_string(process.join("status")).unwrap();
    let switches = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    switches.unwrap().trim().parse().unwrap()
}

#[test]
fn without_descriptors_serve_waits_before_it_accepts_again() {
    let serving = Serving::new(&["--over", "iso-tcp://127.0.0.1:0"]);
    let address: SocketAddr = serving.port.strip_prefix("iso-tcp://").unwrap().parse().unwrap();
    let process = Path::new("/proc").join(serving.child.id().to_string());
    let open = || std::fs::read_dir(process.join("fd")).unwrap().count();
    let most = open() + 4;
    let limit = ["--pid", &serving.child.id().to_string(), &format!("--nofile={most}")];
    if !crate::program("prlimit").args(limit).status().is_ok_and(|status| status.success()) {
        println!("skipped: no prlimit to take descriptors away");
        return;
    }
    let idle: Vec<_> = (0..12).map(|_| TcpStream::connect(address).unwrap()).collect();
    let has_none_left = (0..100_000).any(|_| {
        std::thread::yield_now();
        open() >= most
    });
    assert!(has_none_left, "{} of {most} descriptors", open());
    // It sleeps for 100 ms after each try; one that tries at once never does.
    let before = sleeps(&process);
    let has_slept = (0..500_000).any(|_| {
        std::thread::yield_now();
        sleeps(&process) > before + 2
    });
    assert!(has_slept, "it tries again at once");
    drop(idle);
    let arguments = ["measure", "--over", &serving.port, "--no-save", "--messages", "20"];
    check_code(&run(&arguments), 0);
}
