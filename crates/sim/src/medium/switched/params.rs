//! Parameters of a switched network, and their validation.
//!
//! Not modelled: computation of the spanning tree (802.1D, 802.1w), which is given.

use crate::medium::framing::Framing;
use crate::medium::token_ring::TWISTED_PAIR;
use crate::medium::{PriorityOf, unprioritised};
use core::fmt;
use core::time::Duration;
use stack::station::Frame;
use wire::units::BitRate;

/// Types of a tag before the length or type field: 802.1Q, and 802.1ad's outer tag.
const TAG_TYPES: [u16; 2] = [0x8100, 0x88A8];

/// Parameters of a switched network.
#[derive(Clone, Debug)]
pub struct Params {
    /// Link of each station, in the order of the stations.
    pub stations: Vec<StationLink>,
    /// Switches.
    pub switches: Vec<Switch>,
    /// Links between switches, which form a tree.
    pub trunks: Vec<Trunk>,
    /// Signal speed, in metres per second.
    pub metres_per_second: f64,
    /// Framing overhead of each frame.
    pub framing: Framing,
    /// Priority by which switches queue a frame, determined when the station's port accepts it.
    pub priority_of: PriorityOf,
    /// Maximum number of frames waiting or in transmission per station; further frames are refused.
    pub queue_frames: usize,
}

/// Full-duplex link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    /// Bit rate of each direction.
    pub rate: BitRate,
    /// Length in metres.
    pub metres: f64,
}

/// Link of a station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StationLink {
    /// Index of the switch at its other end, from 0.
    pub switch: usize,
    /// Link.
    pub link: Link,
}

/// Link between two switches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trunk {
    /// Indices of the switches at its ends, from 0.
    pub ends: [usize; 2],
    /// Link.
    pub link: Link,
}

/// Store-and-forward switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switch {
    /// Delay from a frame's last bit in to its queueing at the outgoing port.
    pub latency: Duration,
    /// Room of each port.
    pub buffer: Buffer,
}

/// Room of a port for all priorities together, including the frame being sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// Number of frames.
    Frames(usize),
    /// Number of octets of frames, from the destination address to the end of the data.
    Octets(usize),
}

impl Params {
    /// One switch in the middle of `stations`, without latency and with room for 1,000 frames at
    /// each port, on links of 802.3 and without priorities.
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

    /// Propagation delay of a link.
    pub(super) fn propagation(&self, link: Link) -> Duration {
        Duration::from_nanos((link.metres / self.metres_per_second * 1e9).round() as u64)
    }

    /// Checks the parameters.
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

    /// Returns whether there is exactly one path between any two switches.
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

/// Priority in a frame's 802.1Q tag; 0 if it has none.
#[must_use]
pub fn tag_priority(_station: usize, frame: &Frame) -> u8 {
    match frame.first::<15>() {
        Some([.., high, low, tag]) if TAG_TYPES.contains(&u16::from_be_bytes([high, low])) => {
            tag >> 5
        }
        Some(_) | None => 0,
    }
}

/// Reason why a network is not allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// A link leads to a missing switch.
    NoSuchSwitch,
    /// The switches and the links between them are not a tree.
    Tree,
    /// The length of a link is out of range.
    Length,
    /// The signal speed is not positive and finite.
    Speed,
    /// Stations or ports have no room for a frame.
    Queue,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSuchSwitch => "a link leads to a switch that does not exist",
            Self::Tree => "the switches and the links between them are not a tree",
            Self::Length => "the length of a link is not between 0 and 1e9 metres",
            Self::Speed => "the signal speed is not a positive number",
            Self::Queue => "stations or ports have no room for a frame",
        })
    }
}

impl core::error::Error for Invalid {}
