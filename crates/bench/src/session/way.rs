//! The way onto the wire: a port, and what is put around it.
//!
//! ```text
//!   station ─ governor ─ capture ─ faults ─ interface or UDP socket
//! ```
//!
//! The capture sees what the station sees: what faults took is not in it.

use super::SessionError;
use crate::scenario::{self, Faults as FaultTable, ScenarioError, Transport};
use core::net::SocketAddr;
use live::capture::Capture;
use live::port::{
    AfPacket, AfPacketParams, AfXdp, AfXdpParams, Cap, Faulty, FaultyParams, Observed, Paced, Port,
    Reach, Stamp, Udp, UdpParams, Wait, default_limits,
};
use stack::fault::Faults;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use wire::addr::Mac;
use wire::rendezvous::Limits;

/// Frames that may be held back by faults at a time.
const HELD_FRAMES: usize = 4_096;
/// Frames that may wait for the governor.
const WAITING_FRAMES: usize = 1_024;
/// What is offered where nobody can be harmed.
const UNBOUNDED: Limits = Limits { frames_per_second: u32::MAX, bits_per_second: u64::MAX >> 1 };

/// Which wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wire {
    /// 802.3 frames on an interface.
    Interface(String),
    /// The same past most of the kernel's network stack; the host no longer hears what is taken.
    Xdp(String),
    /// Frames in UDP datagrams on this host. A station's address follows from its port number.
    Udp {
        /// The own socket.
        address: SocketAddr,
        /// The other end's, where it is known already.
        peer: Option<SocketAddr>,
    },
}

/// How a way is made.
#[derive(Clone, PartialEq, Debug)]
pub struct WayParams {
    /// Which wire.
    pub wire: Wire,
    /// What befalls frames that come in.
    pub faults: Option<FaultTable>,
    /// What seeds the faults.
    pub seed: u64,
    /// Where to record the frames that the station sends and receives.
    pub capture: Option<PathBuf>,
    /// Frames per second to offer instead of the default.
    pub frames_per_second: Option<u32>,
}

/// A port with everything around it.
pub struct Way {
    pub(super) port: Paced<Box<dyn Port>>,
    capture: Option<Capture>,
    offered: Limits,
    is_unbounded: bool,
}

/// The station address of a UDP socket: its port number.
#[must_use]
pub const fn udp_station(address: SocketAddr) -> Mac {
    Mac::local(address.port() as u32)
}

impl Way {
    /// Opens the wire and puts everything around it.
    ///
    /// # Errors
    /// Where the port, the faults or the capture cannot be had.
    pub fn open(params: &WayParams) -> Result<Self, SessionError> {
        let mut port = open_wire(&params.wire)?;
        let (is_unbounded, link) = (port.is_unbounded(), port.link_rate());
        if let Some(table) = &params.faults {
            let plan = table.plan(Transport::lan().m.0);
            let receiving = Some(Faults::new(plan, params.seed, port.name())?);
            let faulty = FaultyParams { receiving, sending: None, held_frames: HELD_FRAMES };
            port = Box::new(Faulty::new(port, faulty));
        }
        let mut capture = None;
        if let Some(path) = &params.capture {
            let file = File::create(path).map_err(SessionError::Capture)?;
            let writing =
                Capture::new(Box::new(BufWriter::new(file))).map_err(SessionError::Capture)?;
            let observer = writing.observer(port.name()).map_err(SessionError::Capture)?;
            port = Box::new(Observed::new(port, observer));
            capture = Some(writing);
        }
        let mut offered = default_limits(link);
        if let Some(frames_per_second) = params.frames_per_second {
            // Whoever sets frames per second means frames of full length as well.
            let bits_per_second = u64::from(frames_per_second) * 12_208;
            offered = Limits { frames_per_second, bits_per_second };
        }
        if is_unbounded && params.frames_per_second.is_none() {
            offered = UNBOUNDED;
        }
        let port = Paced::new(port, Cap::Unagreed, WAITING_FRAMES);
        Ok(Self { port, capture, offered, is_unbounded })
    }

    /// The own station's address.
    #[must_use]
    pub fn addr(&self) -> Mac {
        self.port.addr()
    }

    /// What to call it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.port.name()
    }

    /// The most this side offers to send or take.
    #[must_use]
    pub const fn offered(&self) -> Limits {
        self.offered
    }

    /// Whether both ends are on this host, and so share its clock.
    #[must_use]
    pub const fn is_within_host(&self) -> bool {
        self.is_unbounded
    }

    /// Enforces what both agreed to. That is nothing only where both ends are on wires that harm nobody.
    pub(super) fn agree(&mut self, limits: Limits) {
        let is_free = self.is_unbounded && limits == UNBOUNDED;
        self.port.cap(if is_free { Cap::Unagreed } else { Cap::Agreed(limits) });
    }

    /// Goes back to what needs no agreement, and throws away what waits.
    pub(super) fn disagree(&mut self) {
        self.port.discard();
        self.port.cap(Cap::Unagreed);
    }

    /// Writes out the capture.
    ///
    /// # Errors
    /// [`SessionError::Capture`] where it could not be written whole.
    pub fn close(self) -> Result<(), SessionError> {
        let Self { port, capture, .. } = self;
        drop(port);
        capture.map_or(Ok(0), |capture| capture.finish()).map_err(SessionError::Capture)?;
        Ok(())
    }
}

/// Reads faults such as `loss=1%,duplicate=2%`: the keys of a scenario's `faults`, with their values.
///
/// # Errors
/// What is wrong with them, as for a scenario that says so.
pub fn faults(text: &str) -> Result<FaultTable, ScenarioError> {
    let mut lines = vec!["version = 1\ntitle = \"faults\"\n[faults]".to_owned()];
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value = value.trim();
        let is_number = !value.is_empty() && value.bytes().all(|octet| octet.is_ascii_digit());
        let value = if is_number { value.to_owned() } else { format!("{value:?}") };
        lines.push(format!("{} = {value}", key.trim()));
    }
    lines.push(REST.to_owned());
    let study = scenario::load(&lines.join("\n"), "faults")?;
    Ok(study.scenario().faults.clone())
}

/// What a scenario needs beside its faults.
const REST: &str = r#"[stop]
after = "1 s"
[medium]
kind = "ideal"
rate = "1 Gbit/s"
[[flow]]
name = "load"
from = "s-1"
to = "s-2"
service = "datagram"
pattern = { kind = "cyclic", period = "1 s" }
size = "20 B"
start = "together"
[stations]
count = 2
prefix = "s"
"#;

fn open_wire(wire: &Wire) -> Result<Box<dyn Port>, SessionError> {
    Ok(match wire {
        Wire::Interface(name) => Box::new(AfPacket::open(&AfPacketParams {
            interface: name.clone(),
            namespace: None,
            station: None,
            groups: Vec::new(),
            wait: Wait::Block,
            stamp: Stamp::Kernel,
        })?),
        Wire::Xdp(name) => Box::new(AfXdp::open(&AfXdpParams {
            interface: name.clone(),
            namespace: None,
            station: None,
            groups: Vec::new(),
            wait: Wait::Block,
        })?),
        Wire::Udp { address, peer } => Box::new(Udp::open(UdpParams {
            address: *address,
            station: udp_station(*address),
            peers: peer.iter().map(|peer| (udp_station(*peer), *peer)).collect(),
            learn: true,
            reach: Reach::ThisHost,
            wait: Wait::Block,
        })?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_read_as_in_a_scenario_and_a_wrong_one_is_named() {
        let table = faults("loss=1%, duplicate=0.5 %").unwrap();
        assert!((table.loss.fraction() - 0.01).abs() < 1e-12);
        assert!((table.duplicate.fraction() - 0.005).abs() < 1e-12);
        for (text, said) in [("los=1%", "loss"), ("loss=1", "loss"), ("loss", "loss")] {
            let error = faults(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
