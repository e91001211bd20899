//! A wire between two network namespaces, made for one test and removed after it: what is sent at one
//! end is heard at the other.

use bytes::Bytes;
use core::time::Duration;
use live::clock;
use live::port::{AfPacket, AfPacketParams, Port as _, Stamp, Wait};
use live::tap::{Tap, TapParams};
use std::process::{Command, Output};
use wire::packet::Packet;
use wire::time::Instant;

/// The interface's name in both namespaces.
const INTERFACE: &str = "wire0";

/// A frame as it was heard.
pub(crate) struct Heard {
    pub(crate) at: Instant,
    pub(crate) octets: Vec<u8>,
    pub(crate) original_octets: usize,
}

/// The wire with a port at one end and a tap at the other.
pub(crate) struct Wire {
    names: [String; 2],
    ends: Option<(AfPacket, Tap)>,
}

fn ip(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new("ip").args(arguments).output()
}

impl Wire {
    /// Makes it; `None`, and a printed reason, where this process may not.
    pub(crate) fn make() -> Option<Self> {
        let name = |end| format!("tidewire-meter-{}{end}", std::process::id());
        let mut made = Self { names: [name("a"), name("b")], ends: None };
        let [a, b] = made.names.clone();
        let peer = ["type", "veth", "peer", "name", INTERFACE, "netns", &b];
        let commands: [&[&str]; 7] = [
            &["netns", "add", &a],
            &["netns", "add", &b],
            &[&["-n", &a, "link", "add", INTERFACE][..], &peer].concat(),
            // Without addresses the hosts' own IPv6 says nothing on the wire.
            &["-n", &a, "link", "set", INTERFACE, "addrgenmode", "none"],
            &["-n", &b, "link", "set", INTERFACE, "addrgenmode", "none"],
            &["-n", &a, "link", "set", INTERFACE, "up"],
            &["-n", &b, "link", "set", INTERFACE, "up"],
        ];
        for command in commands {
            let is_done = ip(command).is_ok_and(|output| output.status.success());
            if !is_done {
                println!("skipped: ip {} is not possible here", command.join(" "));
                return None;
            }
        }
        let params = AfPacketParams {
            interface: INTERFACE.to_owned(),
            namespace: Some(a),
            station: None,
            groups: Vec::new(),
            wait: Wait::Block,
            stamp: Stamp::Kernel,
        };
        let tap = TapParams {
            interface: INTERFACE.to_owned(),
            namespace: Some(b),
            snap_octets: 2_048,
            promiscuous: true,
            outgoing: false,
            buffer_octets: 1 << 20,
            wait: Wait::Block,
        };
        made.ends = Some((AfPacket::open(&params).unwrap(), Tap::open(&tap).unwrap()));
        Some(made)
    }

    /// Sends a frame and hears it.
    pub(crate) fn pass(&mut self, octets: &[u8]) -> Heard {
        let (port, tap) = self.ends.as_mut().expect("a wire that was made has its ends");
        let frame = Packet::new(Bytes::copy_from_slice(octets));
        port.send(&frame).unwrap();
        let until = clock::now() + Duration::from_secs(10);
        let heard = tap.receive(until).unwrap().expect("what is sent on a veth pair is heard");
        Heard {
            at: heard.at,
            octets: heard.octets.to_vec(),
            original_octets: heard.original_octets,
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for name in &self.names {
            // Nothing to be done where it fails; it may never have been made.
            drop(ip(&["netns", "del", name]));
        }
    }
}
