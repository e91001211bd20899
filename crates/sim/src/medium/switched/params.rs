//! What a switched network is like, and which there cannot be.
//!
//! Not modelled: how a network finds its tree (802.1D, 802.1w): it is given.

use crate::medium::framing::Framing;
use crate::medium::token_ring::TWISTED_PAIR;
use crate::medium::{PriorityOf, unprioritised};
use core::fmt;
use core::time::Duration;
use stack::station::Frame;
use wire::units::BitRate;

/// The types of a tag in front of the length or type: 802.1Q, and 802.1ad's outer one.
const TAG_TYPES: [u16; 2] = [0x8100, 0x88A8];

/// What a switched network is like.
#[derive(Clone, Debug)]
pub struct Params {
    /// Each station's link, in the order of the stations.
    pub stations: Vec<StationLink>,
    /// The switches.
    pub switches: Vec<Switch>,
    /// The links between switches, which make a tree of them.
    pub trunks: Vec<Trunk>,
    /// How fast a signal travels, in metres per second.
    pub metres_per_second: f64,
    /// What is put around each frame.
    pub framing: Framing,
    /// The priority by which switches queue a frame, as the station's port takes it in.
    pub priority_of: PriorityOf,
    /// How many frames a station may have waiting or in transmission; more are refused.
    pub queue_frames: usize,
}

/// A full-duplex link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    /// How fast it is, either way.
    pub rate: BitRate,
    /// How long it is.
    pub metres: f64,
}

/// A station's link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StationLink {
    /// The switch at its other end, from 0.
    pub switch: usize,
    /// The link.
    pub link: Link,
}

/// A link between two switches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trunk {
    /// The switches at its ends, from 0.
    pub ends: [usize; 2],
    /// The link.
    pub link: Link,
}

/// A switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switch {
    /// From a frame's last bit in until it is queued at the port where it goes out.
    pub latency: Duration,
    /// What each port has room for.
    pub buffer: Buffer,
}

/// What a port has room for, the frame being sent and all priorities together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// So many frames.
    Frames(usize),
    /// So many octets of frames, from destination address to the end of the data.
    Octets(usize),
}

impl Params {
    /// One switch in the middle of `stations`, without latency and with room for 1,000 frames at each
    /// port, on links of 802.3 and without priorities.
    #[must_use]
    pub fn star(stations: usize, link: Link) -> Self {
        Self {
            stations: vec![StationLink { switch: 0, link }; stations],
            switches: vec![Switch { latency: Duration::ZERO, buffer: Buffer::Frames(1_000) }],
            trunks: Vec::new(),
            metres_per_second: TWISTED_PAIR,
            framing: Framing::IEEE_802_3,
            priority_of: unprioritised,
            queue_frames: 1_000,
        }
    }

    /// How long a signal takes along a link.
    pub(super) fn propagation(&self, link: Link) -> Duration {
        Duration::from_nanos((link.metres / self.metres_per_second * 1e9).round() as u64)
    }

    /// Checks that there can be such a network.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let speed = self.metres_per_second;
        if !(speed.is_finite() && speed > 0.0) {
            return Err(Invalid::Speed);
        }
        let links = self.stations.iter().map(|station| station.link);
        let mut links = links.chain(self.trunks.iter().map(|trunk| trunk.link));
        if !links.all(|link| (0.0..=1e9).contains(&link.metres)) {
            return Err(Invalid::Length);
        }
        let count = self.switches.len();
        let ends = self.trunks.iter().flat_map(|trunk| trunk.ends);
        let mut ends = ends.chain(self.stations.iter().map(|station| station.switch));
        if !ends.all(|switch| switch < count) {
            return Err(Invalid::NoSuchSwitch);
        }
        if !self.is_tree() {
            return Err(Invalid::Tree);
        }
        let has_room = |switch: &Switch| match switch.buffer {
            Buffer::Frames(room) | Buffer::Octets(room) => room > 0,
        };
        let has_queues = self.queue_frames > 0 && self.switches.iter().all(has_room);
        if has_queues { Ok(()) } else { Err(Invalid::Queue) }
    }

    /// Whether there is one way, and only one, from each switch to each other.
    fn is_tree(&self) -> bool {
        if self.trunks.len() + 1 != self.switches.len() {
            return false;
        }
        let mut reached = vec![false; self.switches.len()];
        let mut open = vec![0];
        while let Some(switch) = open.pop() {
            if core::mem::replace(&mut reached[switch], true) {
                continue;
            }
            for Trunk { ends: [a, b], .. } in &self.trunks {
                if *a == switch {
                    open.push(*b);
                } else if *b == switch {
                    open.push(*a);
                }
            }
        }
        reached.into_iter().all(|reached| reached)
    }
}

/// The priority in a frame's 802.1Q tag; 0 where it has none.
#[must_use]
pub fn tag_priority(_station: usize, frame: &Frame) -> u8 {
    match frame.first::<15>() {
        Some([.., high, low, tag]) if TAG_TYPES.contains(&u16::from_be_bytes([high, low])) => {
            tag >> 5
        }
        Some(_) | None => 0,
    }
}

/// Why there cannot be such a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// A link leads to a switch that there is not.
    NoSuchSwitch,
    /// The switches and the links between them are not a tree.
    Tree,
    /// A length that no link has.
    Length,
    /// A signal that does not move.
    Speed,
    /// Stations or ports without room for a frame.
    Queue,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSuchSwitch => "a link leads to a switch that there is not",
            Self::Tree => "the switches and the links between them are not a tree",
            Self::Length => "a link has no such length",
            Self::Speed => "the signal's speed is not a positive number",
            Self::Queue => "stations or ports have no room for a frame",
        })
    }
}

impl core::error::Error for Invalid {}
