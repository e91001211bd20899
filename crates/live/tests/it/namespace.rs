//! Two network namespaces with a veth pair between them, made for one test and removed after it.

use live::port::{AfPacketParams, Stamp, Wait};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use wire::addr::Mac;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Interface name in both namespaces.
pub(crate) const INTERFACE: &str = "wire0";

/// Two namespaces, removed on drop, even after a failed test.
pub(crate) struct Namespaces {
    pub(crate) names: [String; 2],
}

/// Parameters of a station's packet socket in one of them.
pub(crate) fn params(namespace: &str, station: Mac) -> AfPacketParams {
    AfPacketParams {
        interface: INTERFACE.to_owned(),
        namespace: Some(namespace.to_owned()),
        station: Some(station),
        groups: Vec::new(),
        wait: Wait::Block,
        stamp: Stamp::Kernel,
    }
}

fn ip(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new("ip").args(arguments).output()
}

fn must(arguments: &[&str]) {
    let output = ip(arguments).unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "ip {}: {complaint}", arguments.join(" "));
}

impl Namespaces {
    /// Makes them; `None`, and a printed reason, if this process is not permitted to.
    pub(crate) fn make() -> Option<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = |end| format!("tidewire-{}-{number}{end}", std::process::id());
        let names = [name("a"), name("b")];
        match ip(&["netns", "add", &names[0]]) {
            Err(error) => {
                println!("skipped: cannot run ip: {error}");
                return None;
            }
            Ok(output) if !output.status.success() => {
                let complaint = String::from_utf8_lossy(&output.stderr);
                println!("skipped: cannot make a network namespace: {}", complaint.trim());
                return None;
            }
            Ok(_) => {}
        }
        let made = Self { names };
        let [a, b] = &made.names;
        must(&["netns", "add", b]);
        let peer = ["type", "veth", "peer", "name", INTERFACE, "netns", b];
        must(&[&["-n", a, "link", "add", INTERFACE][..], &peer].concat());
        for name in [a, b] {
            // Without addresses the hosts' own IPv6 sends nothing on the wire.
            must(&["-n", name, "link", "set", INTERFACE, "addrgenmode", "none"]);
        }
        Some(made)
    }

    pub(crate) fn up(&self) {
        for name in &self.names {
            must(&["-n", name, "link", "set", INTERFACE, "up"]);
        }
    }

    pub(crate) fn down(&self) {
        must(&["-n", &self.names[0], "link", "set", INTERFACE, "down"]);
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            // A failure is ignored; the second may never have been made.
            drop(ip(&["netns", "del", name]));
        }
    }
}
