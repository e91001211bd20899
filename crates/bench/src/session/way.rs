//! Access to the wire: a port, and the layers around it.
//!
//! ```text
//!   station ─ governor ─ capture ─ faults ─ interface or UDP socket
//! ```
//!
//! The capture shows the station's view: frames lost to faults are not in it.

use super::SessionError;
use super::carrier::{Carrier, OnWake, UNBOUNDED, offer};
use super::party::Party;
use crate::scenario::{
    self, Faults as FaultTable, Problem, ScenarioError, Severity, Source, Transport,
};
use core::net::SocketAddr;
use core::ops::Range;
use core::sync::atomic::AtomicBool;
use live::capture::Capture;
use live::port::{
    AfPacket, AfPacketParams, AfXdp, AfXdpParams, Cap, Faulty, FaultyParams, Observed, Paced, Port,
    Reach, Stamp, Udp, UdpParams, Wait,
};
use live::runner::{Runner, Stopped};
use stack::fault::Faults;
use stack::station::Station as _;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use wire::addr::Mac;
use wire::control::Limits;
use wire::time::Instant;

/// Maximum number of frames held back by faults at a time.
const HELD_FRAMES: usize = 4_096;
/// Maximum number of frames that wait for the governor.
const WAITING_FRAMES: usize = 1_024;

/// Kind of wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wire {
    /// 802.3 frames on an interface.
    Interface(String),
    /// 802.3 frames through AF_XDP, bypassing most of the kernel's network stack; the host no
    /// longer receives the frames taken.
    Xdp(String),
    /// Frames in UDP datagrams on this host. A station's address follows from its port number.
    Udp {
        /// Address of the own socket.
        address: SocketAddr,
        /// Address of the other end, if known.
        peer: Option<SocketAddr>,
    },
}

/// Parameters of the access.
#[derive(Clone, PartialEq, Debug)]
pub struct WayParams {
    /// Kind of wire.
    pub wire: Wire,
    /// Faults of incoming frames.
    pub faults: Option<FaultTable>,
    /// Seed of the faults.
    pub seed: u64,
    /// File to record the frames that the station sends and receives.
    pub capture: Option<PathBuf>,
    /// Frames per second to offer instead of the default.
    pub frames_per_second: Option<u32>,
}

/// Port with all its layers.
pub struct Way {
    pub(super) port: Paced<Box<dyn Port>>,
    capture: Option<Capture>,
    offered: Limits,
    is_unbounded: bool,
    /// Other end of a UDP wire, if known.
    udp_peer: Option<SocketAddr>,
}

/// Station address of a UDP socket, from its port number.
#[must_use]
pub const fn udp_station(address: SocketAddr) -> Mac {
    Mac::local(address.port() as u32)
}

impl Way {
    /// Opens the wire with all its layers.
    ///
    /// # Errors
    /// Fails if the port, the faults or the capture cannot be set up.
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
        let offered = offer(params.frames_per_second, link, is_unbounded);
        let port = Paced::new(port, Cap::Unagreed, WAITING_FRAMES);
        let udp_peer = match params.wire {
            Wire::Udp { peer, .. } => peer,
            Wire::Interface(_) | Wire::Xdp(_) => None,
        };
        Ok(Self { port, capture, offered, is_unbounded, udp_peer })
    }

    /// Address of the own station.
    #[must_use]
    pub fn addr(&self) -> Mac {
        self.port.addr()
    }

    /// Display name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.port.name()
    }

    /// Display name of a peer: the address of its socket, if the wire was opened with it.
    #[must_use]
    pub fn peer_name(&self, peer: Mac) -> String {
        let socket = self.udp_peer.filter(|address| udp_station(*address) == peer);
        socket.map_or_else(|| peer.to_string(), |address| address.to_string())
    }

    /// Flushes the capture.
    ///
    /// # Errors
    /// [`SessionError::Capture`] if it could not be written completely.
    pub fn close(self) -> Result<(), SessionError> {
        let Self { port, capture, .. } = self;
        drop(port);
        capture.map_or(Ok(0), |capture| capture.finish()).map_err(SessionError::Capture)?;
        Ok(())
    }
}

impl Carrier for Way {
    fn run(
        &mut self,
        party: &mut Party,
        until: Instant,
        stop: &AtomicBool,
        on_wake: OnWake<'_>,
    ) -> Result<Stopped, SessionError> {
        debug_assert_eq!(party.host.addr(), self.addr(), "the party is the station of this port");
        Ok(Runner::new().run(party, &mut self.port, until, stop, on_wake)?)
    }

    fn offered(&self) -> Limits {
        self.offered
    }

    // There are none only if load on both ends' wires cannot affect other hosts.
    fn agree(&mut self, limits: Limits) {
        let is_free = self.is_unbounded && limits == UNBOUNDED;
        self.port.cap(if is_free { Cap::Unagreed } else { Cap::Agreed(limits) });
    }

    fn disagree(&mut self) {
        self.port.discard();
        self.port.cap(Cap::Unagreed);
    }

    fn discard(&mut self) {
        self.port.discard();
    }

    fn takes_streams(&self) -> bool {
        self.port.takes_typed()
    }

    fn follow(&mut self, peer: Option<Mac>) -> Result<(), SessionError> {
        Ok(self.port.follow(peer)?)
    }

    fn is_within_host(&self) -> bool {
        self.is_unbounded
    }

    fn name_of(&self, peer: Mac) -> String {
        self.peer_name(peer)
    }

    fn finish(self: Box<Self>) -> Result<(), SessionError> {
        self.close()
    }
}

/// Parses faults such as `loss=1%,duplicate=2%`: the keys of a scenario's `faults`, with their
/// values.
///
/// # Errors
/// The problems found, as in a scenario with these faults.
pub fn faults(text: &str) -> Result<FaultTable, ScenarioError> {
    let mut translation = Translation::begin();
    let mut start = 0;
    for part in text.split(',') {
        translation.add(part, start);
        start += part.len() + 1;
    }
    let toml = format!("{}{REST}", translation.toml);
    let study = scenario::load(&toml, "faults").map_err(|error| translation.back(error, text))?;
    Ok(study.scenario().faults.clone())
}

/// Faults of an option as a table of a scenario.
struct Translation {
    toml: String,
    pieces: Vec<Piece>,
}

/// Key or value of a fault: its octets in the scenario and those in the option.
struct Piece {
    toml: Range<usize>,
    option: Range<usize>,
}

impl Translation {
    fn begin() -> Self {
        let toml = "version = 1\ntitle = \"faults\"\n[faults]\n".to_owned();
        Self { toml, pieces: Vec::new() }
    }

    /// Adds one fault, which begins at the octet `start` of the option.
    fn add(&mut self, part: &str, start: usize) {
        if part.trim().is_empty() {
            return;
        }
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let key_place = trimmed(key, start);
        let value_place = match value.trim() {
            "" => key_place.clone(),
            _ => trimmed(value, start + key.len() + 1),
        };
        let value = value.trim();
        let is_number = !value.is_empty() && value.bytes().all(|octet| octet.is_ascii_digit());
        self.push(key.trim(), key_place);
        self.toml.push_str(" = ");
        let value = if is_number { value.to_owned() } else { format!("{value:?}") };
        self.push(&value, value_place);
        self.toml.push('\n');
    }

    fn push(&mut self, text: &str, option: Range<usize>) {
        let start = self.toml.len();
        self.toml.push_str(text);
        self.pieces.push(Piece { toml: start..self.toml.len(), option });
    }

    /// An error with its places in the option `text`, which is all that the user wrote.
    fn back(&self, error: ScenarioError, text: &str) -> ScenarioError {
        let place = |problem: Problem| {
            let at = problem.place.start;
            let piece = self.pieces.iter().find(|piece| piece.toml.contains(&at));
            problem.moved(piece.map_or(0..text.len(), |piece| piece.option.clone()))
        };
        let problems = error.problems.into_iter();
        let problems = problems.filter(|problem| problem.severity == Severity::Error).map(place);
        ScenarioError { source: Source::new("--fault", text), problems: problems.collect() }
    }
}

/// Octets of a text without the blanks around it; the text begins at `start`.
fn trimmed(text: &str, start: usize) -> Range<usize> {
    let begin = start + text.len() - text.trim_start().len();
    begin..begin + text.trim().len()
}

/// Rest of a scenario, without its faults.
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

    #[test]
    fn an_error_stands_under_the_word_of_the_option() {
        let shown = |text: &str| faults(text).unwrap_err().to_string();
        let text = shown("loss=1%, duplicat = 2%");
        assert!(text.contains(" --> --fault:1:10\n  |\n1 | loss=1%, duplicat = 2%\n"), "{text}");
        assert!(text.contains("\n  |          ^^^^^^^^\n  |\n  = expected one of"), "{text}");
        let text = shown("duplicate=1%,loss= much ");
        assert!(text.contains("1 | duplicate=1%,loss= much"), "{text}");
        assert!(text.contains("\n  |                    ^^^^"), "{text}");
        assert!(shown("loss").contains("\n  | ^^^^"), "{}", shown("loss"));
    }
}
