//! Users that generate traffic, and the records they produce.
//!
//! A [`Flow`] describes the messages from one station to another: service, pattern, size. Every
//! message begins with a [`Stamp`], from which the receiver gets its sequence number and its age.

mod content;
pub mod jitter;
pub mod publication;
pub mod retransmission;
mod sender;
mod sink;
mod stamp;

pub use sender::{Sender, Stage};
pub use sink::{Outcome, Sink};
pub use stamp::{LEAST_OCTETS, Stamp, StampKind};

use crate::file_transfer::Mode;
use crate::messaging::Priority;
use core::time::Duration;
use wire::addr::Mac;
use wire::time::Instant;

/// Flow number; unique in a run, the same at both ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub u16);

/// Service that carries the messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Service {
    /// A class 4 transport connection, opened before the first message and released after the last.
    Class4,
    /// CASE of MAP 2.1 on a class 4 transport connection: an association, opened before the first
    /// message and released after the last.
    Case {
        /// Messages with EOT.
        eot: Eot,
    },
    /// MMS on a class 4 transport connection: each message is a call of one confirmed service, over an
    /// association that is opened before the first call and concluded after the last.
    Mms {
        /// Maximum number of outstanding calls.
        outstanding: u16,
    },
    /// FTAM-like file transfer over CASE: each message is a file, whose octets follow from its number.
    /// One regime of a flow transfers one file after the other.
    File(FileOptions),
    /// LLC type 1: one unacknowledged UI frame per message.
    Datagram,
    /// Socket of the messaging service: one LSDU per message.
    Message(MessageOptions),
    /// Stream of cyclic data: one frame with its EtherType per message, as the flow's
    /// [`publication::Publication`] states.
    Published,
}

/// Messages that have CASE's EOT: the next one waits until such a message is acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Eot {
    /// Each: stop-and-wait.
    Each,
    /// The last of a flow alone: pipelining up to the transport's window.
    Last,
}

/// Options of the FTAM-like file transfer for the files of a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileOptions {
    /// Direction, from the point of view of the sender of the flow.
    pub mode: Mode,
    /// F-DATA with EOT.
    pub eot: Eot,
    /// Octets of each F-DATA, at least 1.
    pub block_octets: u16,
    /// Length to which each file that this side writes becomes shorter while it is sent.
    pub shrinks_to: Option<u64>,
}

/// Options of the messaging service for the messages of a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageOptions {
    /// Messages end with CRC-16/CCITT.
    pub crc: bool,
    /// The receiver acknowledges each message (LLC type 3); otherwise LLC type 1.
    pub acknowledged: bool,
    /// Maximum number of transmissions of a message, if the MAC drops it or no acknowledgement
    /// arrives.
    pub transmissions: u32,
    /// Maximum time for a message from handover to outcome; unlimited if `None`.
    pub timeout: Option<Duration>,
}

/// Pattern of the times at which messages are due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// One message every `period`, regardless of the one before.
    Cyclic {
        /// Interval between messages.
        period: Duration,
    },
    /// Random: exponential intervals with this mean.
    Poisson {
        /// Mean interval.
        mean_interval: Duration,
    },
    /// A request every `period`, each answered by the peer (NBS-1986's constant rate).
    ConstantRateRequest {
        /// Interval between requests.
        period: Duration,
        /// Octets of each reply, stamp included.
        reply_octets: usize,
    },
    /// A request as soon as the reply to the one before has arrived (NBS-1986's maximum rate).
    MaximumRateRequest {
        /// Octets of each reply, stamp included.
        reply_octets: usize,
    },
    /// Messages as fast as the service accepts them.
    Bulk,
    /// States and their retransmissions, as the [`publication::Publication`] of the flow states.
    Retransmitted,
}

impl Pattern {
    /// Octets of each answer, if messages are answered.
    #[must_use]
    pub const fn reply_octets(self) -> Option<usize> {
        match self {
            Self::ConstantRateRequest { reply_octets, .. }
            | Self::MaximumRateRequest { reply_octets } => Some(reply_octets),
            Self::Cyclic { .. } | Self::Poisson { .. } | Self::Bulk | Self::Retransmitted => None,
        }
    }
}

/// Messages from one station to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Flow number.
    pub id: FlowId,
    /// Destination station.
    pub peer: Mac,
    /// Service that carries the messages.
    pub service: Service,
    /// Priority of its frames; a station sends the most urgent first. A connection has it in both
    /// directions. So has the answer to a request without connection, if the MAC's frames carry
    /// priorities.
    pub priority: Priority,
    /// Times at which its messages are due.
    pub pattern: Pattern,
    /// Octets of each message (TSDU or LSDU), stamp included: at least [`LEAST_OCTETS`].
    pub size_octets: usize,
    /// Number of messages; unlimited if `None`.
    pub messages: Option<u64>,
    /// Time at which the first message is due, or its connection is opened.
    pub start: Instant,
    /// Seed of the intervals of a Poisson pattern: derive it from the run's seed and the flow's
    /// name.
    pub seed: u64,
}

/// Period in which a station's users offer no messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Absence {
    /// Start of the absence.
    pub from: Instant,
    /// End of the absence; never if `None`.
    pub until: Option<Instant>,
}

impl Absence {
    /// Returns true if `at` lies within the absence.
    #[must_use]
    pub fn covers(&self, at: Instant) -> bool {
        self.from <= at && self.until.is_none_or(|until| at < until)
    }
}

/// Record of an event at a station's users.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Time of the event.
    pub at: Instant,
    /// Flow of the event.
    pub flow: FlowId,
    /// Kind of event.
    pub event: Event,
}

/// Event at a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// At the sender: its connection is open.
    Opened {
        /// Time from T-CONNECT request to confirm.
        took: Duration,
    },
    /// At the sender: the directory does not know the title of its receiver.
    Unresolved {
        /// Time from the start of the flow to the answer.
        took: Duration,
    },
    /// At the sender: a message was passed to the service.
    Sent {
        /// Sequence number, from 0.
        sequence: u32,
        /// Time at which it was due.
        planned: Instant,
    },
    /// At the sender: a message was due, but was dropped because too many were waiting for the
    /// service.
    NotTaken {
        /// Sequence number.
        sequence: u32,
        /// Time at which it was due.
        planned: Instant,
    },
    /// At the sender: a message would have been due, but its user was absent.
    NotOffered {
        /// Sequence number.
        sequence: u32,
        /// Time at which it would have been due.
        planned: Instant,
    },
    /// At the receiver: a complete message arrived.
    Delivered {
        /// Sequence number.
        sequence: u32,
        /// Time at which it was due, on the sender's clock.
        planned: Instant,
        /// Time at which it was passed to the sender's service, on the sender's clock, if its stamp
        /// has it.
        sent: Option<Instant>,
        /// Length in octets.
        octets: usize,
    },
    /// At the sender of requests: the reply arrived.
    Answered {
        /// Sequence number of the request.
        sequence: u32,
        /// Time at which the request was due.
        planned: Instant,
        /// Time at which the request was passed to the service, if the stamps of request and reply
        /// have it.
        sent: Option<Instant>,
        /// Length of the reply in octets.
        octets: usize,
    },
    /// At the sender of acknowledged messages: the receiver acknowledged one.
    Acknowledged {
        /// Sequence number.
        sequence: u32,
        /// Time at which it was due.
        planned: Instant,
    },
    /// At the sender of messages without a connection: the service could not send one, or no
    /// acknowledgement arrived. The message may nevertheless have arrived.
    Failed {
        /// Sequence number.
        sequence: u32,
        /// Time at which it was due.
        planned: Instant,
        /// Reason, in the terms of the service.
        reason: &'static str,
    },
    /// At either end: the data received was not a message of a flow, or was altered.
    Damaged {
        /// Description of the damage.
        reason: &'static str,
    },
    /// At the sender: every message was passed to the service and, over a connection, acknowledged.
    Done,
    /// At either end: the connection ended, or never opened.
    Ended {
        /// Reason, in the terms of the protocol.
        reason: &'static str,
        /// True for a planned end.
        orderly: bool,
    },
}
