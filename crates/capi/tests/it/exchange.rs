//! The C examples and a station in Rust: over UDP on this host, and over a wire between namespaces.

use crate::c_compiler::Program;
use crate::namespace::{INTERFACE, Namespaces, params};
use crate::peer::Peer;
use live::port::{AfPacket, Port, Reach, Udp, UdpParams, Wait};
use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::process::{Child, Stdio};
use wire::addr::Mac;

const RUST: Mac = Mac::local(1);
const SENDER: Mac = Mac::local(2);
const RECEIVER: Mac = Mac::local(3);
const COUNT: usize = 50;

/// Program that ends with the test, even with a failed one.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Fails harmlessly if it has already ended.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// `send` sends to Rust, then Rust sends to `receive`; `port_of` names the port of a C station.
fn exchange(port: Box<dyn Port>, port_of: impl Fn(Mac) -> String) {
    let (send, receive) = ("examples/send.c", "examples/receive.c");
    let Some(send) = Program::compile(send, &[]) else { return };
    let Some(receive) = Program::compile(receive, &[]) else { return };
    let mut peer = Peer::new(port);

    let count = COUNT.to_string();
    let mut command = send.command(&[]);
    command.args([&port_of(SENDER), &RUST.to_string(), &count]).stdout(Stdio::piped());
    let mut sender = Running(command.spawn().unwrap());
    for (number, (from, text)) in peer.receive(COUNT).into_iter().enumerate() {
        assert_eq!((from.station, from.socket), (SENDER, 4));
        assert_eq!(text, format!("message {number}"));
    }
    let mut said = String::new();
    sender.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "50 of 50 acknowledged\n");
    assert!(sender.0.wait().unwrap().success());

    let mut command = receive.command(&[]);
    command.args([&port_of(RECEIVER), "3"]).stdout(Stdio::piped());
    let mut receiver = Running(command.spawn().unwrap());
    let mut said = BufReader::new(receiver.0.stdout.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    assert_eq!(first, "listening\n");
    peer.send(RECEIVER, &["350 degrees", "351 degrees", "0 degrees"]);
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(receiver.0.wait().unwrap().success());
    let line = |text: &str| format!("4: \"{text}\" from station 01 socket 4\n");
    let expected = ["350 degrees", "351 degrees", "0 degrees"].map(line).concat();
    assert_eq!(rest, expected);
}

#[test]
fn c_examples_and_rust_exchange_messages_over_udp() {
    // The receiver sends nothing before it receives, so its socket must be a static entry.
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let params = UdpParams {
        address: "127.0.0.1:0".parse().unwrap(),
        station: RUST,
        peers: vec![(RECEIVER, free)],
        learn: true,
        reach: Reach::ThisHost,
        wait: Wait::Block,
    };
    let port = Udp::open(params).unwrap();
    let here = port.address();
    let port_of = |station| {
        let own = if station == RECEIVER { free } else { "127.0.0.1:0".parse().unwrap() };
        format!("udp {own} station={station} peer={RUST}@{here}")
    };
    exchange(Box::new(port), port_of);
}

#[test]
fn c_examples_and_rust_exchange_messages_over_a_wire() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let [here, there] = &namespaces.names;
    let port = AfPacket::open(&params(here, RUST));
    let port_of = |station| format!("ethernet {INTERFACE} namespace={there} station={station}");
    exchange(Box::new(port.unwrap()), port_of);
}
