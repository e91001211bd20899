//! Messages between sockets of stations, over LLC types 1 and 3, with every service optional.
//!
//! After A. C. Weaver and M. A. Colvin, "A Real-time Messaging System for Token Ring Networks"
//! (University of Virginia, TR-88-08, 1988): a user pays only for the services used. A message is
//! an LSDU: there is no header besides LLC's.
//!
//! | the paper's call | here |
//! |---|---|
//! | `LLCon`, `LLCoff` | [`Messaging::new`], [`Messaging::close_all`] |
//! | `LLCopen`, `LLCclose` | [`Messaging::open`], [`Messaging::close`] |
//! | `LLCoption` | [`Messaging::option`] |
//! | `LLCxmit`, `LLCrecv` | [`Messaging::transmit`], [`Messaging::enable_reception`] |
//! | `LLCreset`, `LLCstatus` | [`Messaging::reset`], [`Messaging::status`] |
//!
//! ```text
//!   sockets ─┬─ LLC type 1 (UI) ──────┐   8 queues    one frame
//!            └─ LLC type 3 (AC0, AC1) ┴─▶ 7 6 5 … 0 ─▶ at a time ─▶ MAC
//! ```
//!
//! No operation blocks: each returns at once whether it was accepted. [`Messaging::status`] or an
//! [`Indication`] reports its result later.
//!
//! **Acknowledged** messages are commands of LLC type 3, with its limits (see
//! [`crate::llc::type3`]). An empty message without CRC is acknowledged but not delivered: a probe.
//!
//! **CRC.** A socket with CRC appends CRC-16/CCITT to each message, and discards received messages
//! that do not end with a correct CRC. Both ends must choose it, or neither. A damaged message is
//! not acknowledged, so it is retransmitted. LLC's header and its response are protected by the FCS
//! only: damage there can turn "no buffer" into "accepted".
//!
//! **Priorities** are strict among the frames waiting here. A frame of the highest priority waits
//! for at most one other, because no further frame is passed to the MAC before
//! [`Messaging::transmitted`] is called. LLC's own answers go before all.

mod check;
mod queue;
mod service;
mod socket;
#[cfg(test)]
mod tests;

pub(crate) use queue::{Datagram, QueuedOutput};
pub use service::Messaging;
pub use socket::{Options, Priority};

use crate::llc::type3::{self, CommandStatus};
use crate::station::MacQueues;
use core::fmt;
use wire::addr::{Mac, Sap};
use wire::packet::Packet;

/// Range of socket numbers. They are even LSAPs; odd ones would be group addresses.
pub const SOCKETS: core::ops::RangeInclusive<u8> = 2..=254;

/// Parameters of a station's messaging service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Maximum number of open sockets; at most 127.
    pub sockets: usize,
    /// Parameters of LLC type 3. N3 limits unacknowledged messages as well.
    pub link: type3::Params,
    /// Queues of the MAC below.
    pub queues: MacQueues,
}

impl Params {
    /// Parameters for a LAN of 802.3 stations.
    #[must_use]
    pub const fn lan() -> Self {
        Self { sockets: 127, link: type3::Params::lan(), queues: MacQueues::One }
    }
}

/// Source or destination of messages: a socket of a station.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address {
    /// Station; for messages without acknowledgement it may be a group.
    pub station: Mac,
    /// Socket on that station: an even number from 2 to 254.
    pub socket: u8,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.station, self.socket)
    }
}

/// Immediate result of an operation: the paper's operation status, in its order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[must_use]
pub enum Outcome {
    /// "Operation accepted".
    Accepted,
    /// "Invalid socket": not an even number from 2 to 254, or not open. As a destination: not a
    /// valid socket, or a group with acknowledgement.
    InvalidSocket,
    /// "Duplicate socket": already open.
    DuplicateSocket,
    /// "Too many sockets": the maximum number is open.
    TooManySockets,
    /// "Socket busy": the maximum number of operations is pending.
    SocketBusy,
    /// "Packet too large": longer than an LSDU of this LAN.
    TooLarge,
    /// "Transmit/receive argument neither x nor r".
    NeitherSide,
}

impl Outcome {
    /// Returns true if the operation was accepted.
    #[must_use]
    pub const fn is_accepted(self) -> bool {
        matches!(self, Self::Accepted)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accepted => "operation accepted",
            Self::InvalidSocket => "invalid socket",
            Self::DuplicateSocket => "duplicate socket",
            Self::TooManySockets => "too many sockets",
            Self::SocketBusy => "socket busy",
            Self::TooLarge => "packet too large",
            Self::NeitherSide => "transmit/receive argument neither x nor r",
        })
    }
}

/// Side of a socket; both sides work simultaneously.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// "x".
    Transmit,
    /// "r".
    Receive,
}

impl Side {
    /// Returns the side for the paper's letter.
    ///
    /// # Errors
    /// [`Outcome::NeitherSide`] for any letter but x and r.
    pub const fn of_letter(letter: char) -> Result<Self, Outcome> {
        match letter {
            'x' => Ok(Self::Transmit),
            'r' => Ok(Self::Receive),
            _ => Err(Outcome::NeitherSide),
        }
    }
}

/// State of a socket's side: of its oldest operation, or of the last one if none is pending.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SideState {
    /// "Operation pending": it waits for its turn or for a message.
    Pending,
    /// "No operation pending": there was none, or the last one succeeded.
    Idle,
    /// "I/O in progress": passed to the MAC; an acknowledged message stays so until its outcome is
    /// known. Receptions never have this state, because frames arrive whole.
    InProgress,
    /// "Operation failed": see [`Messaging::failure`].
    Failed,
    /// "Operation timed out".
    TimedOut,
}

impl fmt::Display for SideState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "operation pending",
            Self::Idle => "no operation pending",
            Self::InProgress => "I/O in progress",
            Self::Failed => "operation failed",
            Self::TimedOut => "operation timed out",
        })
    }
}

/// Reason why an operation failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Failure {
    /// No acknowledgement arrived; the message may nevertheless have been delivered.
    NoAcknowledgement,
    /// The receiver refused the message with this status.
    Refused(CommandStatus),
    /// The MAC failed every transmission.
    NotTransmitted,
    /// Too many destinations are in use simultaneously.
    NoVariable,
    /// A received message was longer than the buffer, and is lost.
    BufferTooSmall,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAcknowledgement => f.write_str("no acknowledgement"),
            Self::Refused(status) => write!(f, "refused: {status}"),
            Self::NotTransmitted => f.write_str("not transmitted"),
            Self::NoVariable => f.write_str("too many destinations at a time"),
            Self::BufferTooSmall => f.write_str("message longer than the buffer"),
        }
    }
}

/// Completion of an operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Completion {
    /// Success: a message arrived, was transmitted, or was acknowledged if requested.
    Done,
    /// It failed.
    Failed(Failure),
    /// Its time limit expired; the message may nevertheless be transmitted or delivered.
    TimedOut,
}

impl Completion {
    const fn state(self) -> SideState {
        match self {
            Self::Done => SideState::Idle,
            Self::Failed(_) => SideState::Failed,
            Self::TimedOut => SideState::TimedOut,
        }
    }
}

/// Indication to the user, if enabled by the socket's options. (The paper calls a function of the
/// user instead.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Indication {
    /// A transmission has ended.
    Transmitted {
        /// Socket of the transmission.
        socket: u8,
        /// Sequence number of the transmission, from 0 since the socket was opened.
        sequence: u64,
        /// Result of the transmission.
        completion: Completion,
    },
    /// A reception has ended; [`Messaging::take`] returns the message if it succeeded.
    Received {
        /// Socket of the reception.
        socket: u8,
        /// Result of the reception.
        completion: Completion,
    },
}

/// Received message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Source of the message.
    pub from: Address,
    /// Contents, without CRC.
    pub data: Packet,
}

/// Event counters, in addition to those of LLC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Unacknowledged messages dropped for lack of a buffer.
    pub no_buffer: u64,
    /// Unacknowledged messages dropped because they were longer than the buffer.
    pub overruns: u64,
    /// Messages with a missing or wrong CRC.
    pub bad_crc: u64,
    /// LLC's answers dropped, because too many were waiting for the medium.
    pub answers_dropped: u64,
    /// Received messages that were not taken before their socket was closed.
    pub never_taken: u64,
}

const fn sap(socket: u8) -> Sap {
    Sap(socket)
}

/// Returns true if the number is a valid socket.
#[must_use]
pub fn is_socket(number: u8) -> bool {
    SOCKETS.contains(&number) && number.is_multiple_of(2)
}
