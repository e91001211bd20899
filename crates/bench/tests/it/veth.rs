//! A wire between two network namespaces, created for one test and removed after it: frames sent at
//! one end arrive at the other.

use bytes::Bytes;
use core::time::Duration;
use live::clock;
use live::port::{AfPacket, AfPacketParams, Port as _, Reach, Stamp, Udp, UdpParams, Wait};
use live::relay::Place;
use live::tap::{Collection, Tap, TapParams};
use std::process::{Command, Output};
use wire::addr::Mac;
use wire::filter::Filter;
use wire::packet::Packet;
use wire::time::Instant;

/// The interface's name in both namespaces.
const INTERFACE: &str = "wire0";

/// A received frame.
pub(crate) struct Heard {
    pub(crate) at: Instant,
    pub(crate) octets: Vec<u8>,
    pub(crate) original_octets: usize,
}

fn ip(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new("ip").args(arguments).output()
}

/// Two namespaces with an end of a wire in each, removed when this is dropped.
pub(crate) struct Pair {
    names: [String; 2],
}

impl Pair {
    /// Creates the pair under a name; `None`, with a printed reason, if this process lacks the
    /// privilege.
    pub(crate) fn make(name: &str) -> Option<Self> {
        let end = |end| format!("tidewire-{name}-{}{end}", std::process::id());
        let made = Self { names: [end("a"), end("b")] };
        let [a, b] = &made.names;
        let peer = ["type", "veth", "peer", "name", INTERFACE, "netns", b];
        let commands: [&[&str]; 7] = [
            &["netns", "add", a],
            &["netns", "add", b],
            &[&["-n", a, "link", "add", INTERFACE][..], &peer].concat(),
            // Without addresses the hosts' own IPv6 sends nothing on the wire.
            &["-n", a, "link", "set", INTERFACE, "addrgenmode", "none"],
            &["-n", b, "link", "set", INTERFACE, "addrgenmode", "none"],
            &["-n", a, "link", "set", INTERFACE, "up"],
            &["-n", b, "link", "set", INTERFACE, "up"],
        ];
        for command in commands {
            let is_done = ip(command).is_ok_and(|output| output.status.success());
            if !is_done {
                println!("skipped: ip {} is not possible here", command.join(" "));
                return None;
            }
        }
        Some(made)
    }

    /// Opens a station's port at one of the ends.
    pub(crate) fn port(&self, end: usize, station: Option<Mac>) -> AfPacket {
        let params = AfPacketParams {
            interface: INTERFACE.to_owned(),
            namespace: Some(self.names[end].clone()),
            station,
            groups: Vec::new(),
            wait: Wait::Block,
            stamp: Stamp::User,
        };
        AfPacket::open(&params).unwrap()
    }

    /// Opens a tap at one of the ends, which receives incoming frames with their arrival times.
    pub(crate) fn tap(&self, end: usize) -> Tap {
        let tap = self.open_tap(end);
        await_stamps();
        tap
    }

    fn open_tap(&self, end: usize) -> Tap {
        let params = TapParams {
            interface: INTERFACE.to_owned(),
            namespace: Some(self.names[end].clone()),
            snap_octets: 2_048,
            promiscuous: true,
            outgoing: false,
            buffer_octets: 4 << 20,
            wait: Wait::Block,
            collection: Collection::OneByOne,
            filter: Filter::all(),
        };
        Tap::open(&params).unwrap()
    }

    /// Returns one of the ends for a relay.
    pub(crate) fn place(&self, end: usize) -> Place {
        Place { interface: INTERFACE.to_owned(), namespace: Some(self.names[end].clone()) }
    }
}

/// Waits until the kernel timestamps arrivals. On a busy host it begins many milliseconds after the
/// socket's request, and until then stamps a frame when it is read.
fn await_stamps() {
    let params = |station, peers| UdpParams {
        address: "127.0.0.1:0".parse().unwrap(),
        station: Mac::local(station),
        peers,
        learn: true,
        reach: Reach::ThisHost,
        wait: Wait::Block,
    };
    let mut to = Udp::open(params(2, Vec::new())).unwrap();
    let mut from = Udp::open(params(1, vec![(Mac::local(2), to.address())])).unwrap();
    let later = Duration::from_millis(5);
    for _ in 0..1_000 {
        let mut frame = Packet::new(Bytes::from_static(&[0, 3, 0xFE, 0xFE, 0x03]));
        frame.prepend(&[Mac::local(2).0, Mac::local(1).0].concat());
        from.send(&frame).unwrap();
        clock::sleep_until(clock::now() + later);
        let heard = to.receive(clock::now()).unwrap();
        if heard.is_some_and(|heard| heard.taken - heard.at >= later / 2) {
            return;
        }
    }
    panic!("no arrival is stamped within seconds");
}

impl Drop for Pair {
    fn drop(&mut self) {
        for name in &self.names {
            // A failure cannot be handled; the namespace may never have been created.
            drop(ip(&["netns", "del", name]));
        }
    }
}

/// A wire with a port at one end and a tap at the other.
pub(crate) struct Wire {
    port: AfPacket,
    tap: Tap,
    /// Dropped last.
    _pair: Pair,
}

impl Wire {
    /// Creates the wire; `None`, with a printed reason, if this process lacks the privilege.
    pub(crate) fn make() -> Option<Self> {
        let pair = Pair::make("meter")?;
        Some(Self { port: pair.port(0, None), tap: pair.tap(1), _pair: pair })
    }

    /// Sends a frame and receives it at the other end.
    pub(crate) fn pass(&mut self, octets: &[u8]) -> Heard {
        let frame = Packet::new(Bytes::copy_from_slice(octets));
        self.port.send(&frame).unwrap();
        let until = clock::now() + Duration::from_secs(10);
        let heard = self.tap.receive(until).unwrap().expect("a veth pair delivers every frame");
        Heard {
            at: heard.at,
            octets: heard.octets.to_vec(),
            original_octets: heard.original_octets,
        }
    }
}
