//! Messages between sockets of stations, over LLC types 1 and 3, with every service an option.
//!
//! After A. C. Weaver and M. A. Colvin, "A Real-time Messaging System for Token Ring Networks"
//! (University of Virginia, TR-88-08, 1988): a user pays for no service that he does not use. A
//! message is an LSDU: there is no header but LLC's.
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
//! Nothing here waits: an operation says at once whether it was accepted, and [`Messaging::status`]
//! or an [`Indication`] says later what became of it.
//!
//! **Acknowledged** messages are commands of LLC type 3, and its limits are theirs (see
//! [`crate::llc::type3`]). One of no octets and without CRC is acknowledged, not delivered: a probe.
//!
//! **CRC.** A socket with CRC appends CRC-16/CCITT to what it sends, and takes what arrives for
//! damaged and lost unless it ends with its CRC: both ends choose it or neither does. A damaged
//! message is not acknowledged, so that it is sent again. LLC's header and its response have no CRC
//! but the FCS: damage there can turn "no buffer" into "accepted".
//!
//! **Priorities** are strict among the frames that wait here: a frame of the highest priority waits
//! for at most one other, since no further one is handed to the MAC before [`Messaging::transmitted`]
//! was called. The answers that LLC itself gives go before all.

mod check;
mod queue;
mod service;
mod socket;
#[cfg(test)]
mod tests;

pub(crate) use queue::{Datagram, Said};
pub use service::Messaging;
pub use socket::{Options, Priority};

use crate::llc::type3::{self, CommandStatus};
use crate::station::MacQueues;
use core::fmt;
use wire::addr::{Mac, Sap};
use wire::packet::Packet;

/// The first and the last socket there may be; they are LSAPs, so that odd ones would name groups.
pub const SOCKETS: core::ops::RangeInclusive<u8> = 2..=254;

/// What a station's messaging is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// How many sockets may be open; 127 is the most there are.
    pub sockets: usize,
    /// Its LLC type 3. N3 limits unacknowledged messages as well.
    pub link: type3::Params,
    /// Queues of the MAC below.
    pub queues: MacQueues,
}

impl Params {
    /// For a LAN of 802.3 stations.
    #[must_use]
    pub const fn lan() -> Self {
        Self { sockets: 127, link: type3::Params::lan(), queues: MacQueues::One }
    }
}

/// Where messages go to and come from: a socket of a station.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address {
    /// The station; for messages without acknowledgement it may be a group.
    pub station: Mac,
    /// The socket there: an even number from 2 to 254.
    pub socket: u8,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.station, self.socket)
    }
}

/// What an operation says at once: the paper's operation status, in its order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[must_use]
pub enum Outcome {
    /// "Operation accepted".
    Accepted,
    /// "Invalid socket": not an even number from 2 to 254, or not open; as a destination, one that
    /// cannot exist, or a group where an acknowledgement is wanted.
    InvalidSocket,
    /// "Duplicate socket": it is open already.
    DuplicateSocket,
    /// "Too many sockets": as many are open as there may be.
    TooManySockets,
    /// "Socket busy": as many operations are pending as there may be.
    SocketBusy,
    /// "Packet too large": longer than an LSDU of this LAN.
    TooLarge,
    /// "Transmit/receive argument neither x nor r".
    NeitherSide,
}

impl Outcome {
    /// Whether the operation was accepted.
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

/// A side of a socket; both work at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// "x".
    Transmit,
    /// "r".
    Receive,
}

impl Side {
    /// The side that the paper's letter names.
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

/// The state of a socket's side: of its oldest operation, or of the last one where none is pending.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SideState {
    /// "Operation pending": it waits, for its turn or for a message.
    Pending,
    /// "No operation pending": there was none, or the last one went well.
    Idle,
    /// "I/O in progress": handed to the MAC; an acknowledged message stays so until its outcome is
    /// known. Receptions never are: frames arrive whole.
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

/// Why an operation failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Failure {
    /// No acknowledgement came; the message may have been delivered all the same.
    NoAcknowledgement,
    /// The receiver said that it did not take it.
    Refused(CommandStatus),
    /// The MAC gave it up each time.
    NotTransmitted,
    /// Too many destinations are in use at a time.
    NoVariable,
    /// A message came that was longer than the buffer, and is lost.
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

/// How an operation ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Completion {
    /// It went well: a message arrived, went out, or was acknowledged if it was to be.
    Done,
    /// It failed.
    Failed(Failure),
    /// Its time was over; the message may go out or be delivered all the same.
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

/// What a user is told, if the socket's options say so. (The paper calls a function of the user's.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Indication {
    /// A transmission is over.
    Transmitted {
        /// The socket.
        socket: u8,
        /// Which of its transmissions, counted from 0 since it was opened.
        sequence: u64,
        /// How it ended.
        completion: Completion,
    },
    /// A reception is over; [`Messaging::take`] gives the message, if it went well.
    Received {
        /// The socket.
        socket: u8,
        /// How it ended.
        completion: Completion,
    },
}

/// A message that arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Whom it comes from.
    pub from: Address,
    /// The message, without its CRC.
    pub data: Packet,
}

/// How often things happened, beside what LLC counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Unacknowledged messages that found no buffer.
    pub no_buffer: u64,
    /// Unacknowledged messages that were longer than the buffer.
    pub overruns: u64,
    /// Messages that did not end with their CRC.
    pub bad_crc: u64,
    /// LLC's answers that were dropped, since too many waited for the medium.
    pub answers_dropped: u64,
    /// Messages that arrived and were never taken before their socket was closed.
    pub never_taken: u64,
}

const fn sap(socket: u8) -> Sap {
    Sap(socket)
}

/// Whether there can be a socket of this number.
#[must_use]
pub fn is_socket(number: u8) -> bool {
    SOCKETS.contains(&number) && number.is_multiple_of(2)
}
