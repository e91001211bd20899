//! Live runs: the same hosts and records as simulated ones, on ports and a clock that ticks.
//!
//! [`local`] runs a whole scenario within this process, one thread a station. [`initiator`] and
//! [`responder`] are the two ends of a run between processes or hosts; nothing but a Hello goes out
//! before both have agreed. They run over a LAN ([`way`]) or over TCP ([`iso_tcp`]). [`foreign`] measures
//! peers that agree to nothing since they are no tidewire, and sends them next to nothing. [`relay`] stands
//! between two LANs and lets faults befall what crosses. [`script`] has both ends face a hostile peer.

mod carrier;
pub mod foreign;
pub mod initiator;
pub mod iso_tcp;
pub mod local;
mod party;
pub mod relay;
mod report;
pub mod responder;
pub mod script;
pub mod way;

use live::port::PortError;

/// Why a live run cannot be made, or not go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The port cannot be opened or used.
    #[error("{0}")]
    Port(#[from] PortError),
    /// There are no such faults.
    #[error("{0}")]
    Faults(#[from] stack::fault::Invalid),
    /// The capture cannot be written.
    #[error("cannot write the capture: {0}")]
    Capture(std::io::Error),
    /// Nobody answered.
    #[error("no answer from {0}: is `tidewire serve` running there?")]
    NoAnswer(String),
    /// The responder does not take part.
    #[error("{peer} refused: {why}")]
    Refused {
        /// Who.
        peer: String,
        /// Why.
        why: String,
    },
    /// The peer was silent for a second: everything was stopped.
    #[error("peer {0} vanished: nothing was heard for a second, and everything was stopped")]
    Lost(String),
    /// A peer whose counts cannot be.
    #[error(
        "{peer} counted {delivered} messages of {sent} that were sent: its counts are not used"
    )]
    Contradiction {
        /// The peer.
        peer: String,
        /// Messages that it says were delivered.
        delivered: u64,
        /// Messages that were sent.
        sent: u64,
    },
    /// A message that does not fit into a frame of the wire.
    #[error("messages of flow {flow:?} are longer than the {most} B that 802.3 carries")]
    TooLong {
        /// The flow.
        flow: String,
        /// The most octets.
        most: u64,
    },
    /// More flows of messages than one station has sockets for.
    #[error("against a peer one station sends them all: at most {most} flows of messages")]
    TooManyFlows {
        /// The most flows.
        most: usize,
    },
    /// A flow that needs a LAN.
    #[error("flow {0:?} sends datagrams, and over TCP there are connections alone")]
    NoConnection(String),
    /// A flow that needs frames with a priority.
    #[error("flow {0:?} has a priority, and over TCP there is none")]
    NoPriority(String),
    /// A peer that has agreed to nothing, and whose network may be anybody's.
    #[error("{0} is neither on this host nor in a private network")]
    TooFar(core::net::SocketAddr),
    /// A thread of the run broke down.
    #[error("a station's thread broke down")]
    Broken,
}
