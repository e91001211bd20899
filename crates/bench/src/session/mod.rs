//! Live runs: the same hosts and records as in simulated ones, on ports and the system clock.
//!
//! [`local`] runs a whole scenario within this process, one thread per station. [`initiator`] and
//! [`responder`] are the two ends of a run between processes or hosts; before both have agreed,
//! only a Hello is sent. They run over a LAN ([`way`]) or over TCP ([`iso_tcp`]). [`foreign`]
//! measures peers that are no tidewire and cannot agree to a load, and sends them very little.
//! [`relay`] connects two LANs and applies faults to the frames that cross. [`script`] runs both
//! ends against a hostile peer.

mod carrier;
mod completion;
pub mod foreign;
pub mod initiator;
pub mod iso_tcp;
pub mod local;
pub mod mms;
mod party;
mod policy;
pub mod relay;
mod report;
pub mod responder;
pub mod script;
mod so_far;
mod streams;
pub mod way;

pub use so_far::SoFar;

use live::port::PortError;
use wire::control::{Limits, ReceivePolicy};

/// Error that prevents a live run, or ends it.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The port cannot be opened or used.
    #[error("{0}")]
    Port(#[from] PortError),
    /// The faults are invalid.
    #[error("{0}")]
    Faults(#[from] stack::fault::Invalid),
    /// The capture cannot be written.
    #[error("cannot write the capture: {0}")]
    Capture(std::io::Error),
    /// The peer did not answer.
    #[error("no answer from {0}: is `tidewire serve` running there?")]
    NoAnswer(String),
    /// The responder refused.
    #[error("{peer} refused: {why}")]
    Refused {
        /// Peer.
        peer: String,
        /// Reason.
        why: String,
    },
    /// The responder does not receive as the scenario requires.
    #[error(
        "{peer} does not receive as [transport] of the scenario requires ({required}): its tidewire is \
         older, or window times {flows} flows is above 15,360"
    )]
    Policy {
        /// Peer.
        peer: String,
        /// Acknowledgements and window that are required.
        required: ReceivePolicy,
        /// Number of flows.
        flows: u16,
    },
    /// The peer was silent for a second: the session was ended.
    #[error("peer {0} vanished: nothing was received for a second, and everything was stopped")]
    Lost(String),
    /// The peer's counts are impossible.
    #[error(
        "{peer} counted {delivered} messages of {sent} that were sent: its counts are not used"
    )]
    Contradiction {
        /// Peer.
        peer: String,
        /// Messages delivered according to its counts.
        delivered: u64,
        /// Messages that were sent.
        sent: u64,
    },
    /// A message does not fit into a frame of the wire.
    #[error("messages of flow {flow:?} are longer than the {most} B that 802.3 carries")]
    TooLong {
        /// Flow.
        flow: String,
        /// Maximum number of octets.
        most: u64,
    },
    /// Streams need more than both ends have agreed on.
    #[error(
        "the flows need {} frames/s and {} bit/s, but {} frames/s and {} bit/s are agreed: \
         --max-frames {} on both measure and serve",
        needed.frames_per_second, needed.bits_per_second,
        agreed.frames_per_second, agreed.bits_per_second, needed.frames_per_second
    )]
    TooFast {
        /// Rate of the flows.
        needed: Limits,
        /// Agreed limits.
        agreed: Limits,
    },
    /// There are more flows of messages than one station has sockets for.
    #[error("against a peer one station sends them all: at most {most} flows of messages")]
    TooManyFlows {
        /// Maximum number of flows.
        most: usize,
    },
    /// A flow requires a LAN.
    #[error("flow {0:?} has no connection, and over TCP there are connections alone")]
    NoConnection(String),
    /// A flow is of MMS, whose servers do not take part in measurements of a scenario.
    #[error("flow {0:?} is of MMS: predict simulates it, and measure mms measures a server")]
    Mms(String),
    /// A flow is of files, which require class 4.
    #[error(
        "flow {0:?} is of files, FTAM-like, which go over class 4: measure it on a LAN, not TCP"
    )]
    File(String),
    /// A flow requires frames with a priority.
    #[error("flow {0:?} has a priority, and over TCP there is none")]
    NoPriority(String),
    /// The peer has agreed to nothing, and is outside this host and private networks.
    #[error("{0} is neither on this host nor in a private network")]
    TooFar(core::net::SocketAddr),
    /// A thread of the run panicked.
    #[error("a station's thread broke down")]
    Broken,
}
