//! Users that make traffic, and what they tell of it.
//!
//! A [`Flow`] says what one station sends to another, over which service, in which pattern. Every
//! message begins with a [`Stamp`], so that whoever receives it can tell which one it is and how old.

mod content;
mod sender;
mod sink;
mod stamp;

pub use sender::{Sender, Stage};
pub use sink::{Outcome, Sink};
pub use stamp::{LEAST_OCTETS, Stamp, StampKind};

use crate::messaging::Priority;
use core::time::Duration;
use wire::addr::Mac;
use wire::time::Instant;

/// A flow's number; unique in a run, the same at both ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub u16);

/// Which service carries the messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Service {
    /// A class 4 transport connection, opened before the first message and released after the last.
    Class4,
    /// LLC type 1: each message one UI frame, unacknowledged.
    Datagram,
    /// A socket of the messaging service: each message one LSDU.
    Message(MessageOptions),
}

/// What the messaging service does for the messages of a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageOptions {
    /// Whether messages end with CRC-16/CCITT.
    pub crc: bool,
    /// Whether the receiver acknowledges each message (LLC type 3); else LLC type 1.
    pub acknowledged: bool,
    /// How often a message is sent at the most, where the MAC gives it up or no acknowledgement
    /// comes.
    pub transmissions: u32,
    /// How long a transmission may take, from when it is handed over; for ever without.
    pub timeout: Option<Duration>,
}

/// When messages are due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// One every `period`, whatever became of the one before.
    Cyclic {
        /// From one message to the next.
        period: Duration,
    },
    /// At random: exponential intervals with this mean.
    Poisson {
        /// The mean of the intervals.
        mean_interval: Duration,
    },
    /// A request every `period`, each answered by the peer (NBS-1986's constant rate).
    ConstantRateRequest {
        /// From one request to the next.
        period: Duration,
        /// Octets of each reply, stamp included.
        reply_octets: usize,
    },
    /// A request as soon as the reply to the one before is in (NBS-1986's maximum rate).
    MaximumRateRequest {
        /// Octets of each reply, stamp included.
        reply_octets: usize,
    },
    /// Messages as fast as the service takes them.
    Bulk,
}

/// What one station sends to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Its number.
    pub id: FlowId,
    /// Whom it goes to.
    pub peer: Mac,
    /// What carries it.
    pub service: Service,
    /// That of its frames; a station sends the most urgent first. A connection has it both ways, and so has the answer
    /// to a request without connection where the MAC's frames carry priorities.
    pub priority: Priority,
    /// When its messages are due.
    pub pattern: Pattern,
    /// Octets of each message (TSDU or LSDU), stamp included: at least [`LEAST_OCTETS`].
    pub size_octets: usize,
    /// How many messages; for ever without one.
    pub messages: Option<u64>,
    /// When the first is due (or its connection is opened).
    pub start: Instant,
    /// What seeds the intervals of a Poisson pattern: derive it from the run's seed and the flow's name.
    pub seed: u64,
}

/// A time in which a station's users offer nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Absence {
    /// From when on.
    pub from: Instant,
    /// Until when; for ever without one.
    pub until: Option<Instant>,
}

impl Absence {
    /// Whether it is under way at this time.
    #[must_use]
    pub fn covers(&self, at: Instant) -> bool {
        self.from <= at && self.until.is_none_or(|until| at < until)
    }
}

/// Something a station's users saw happen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// When.
    pub at: Instant,
    /// Of which flow.
    pub flow: FlowId,
    /// What.
    pub event: Event,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// At the sender: its connection is open.
    Opened {
        /// From T-CONNECT request to confirm.
        took: Duration,
    },
    /// At the sender: a message was handed to the service.
    Sent {
        /// Which one, counted from 0.
        sequence: u32,
        /// When it had been due.
        planned: Instant,
    },
    /// At the sender: a message was due, but so many were waiting for the service that it was dropped.
    NotTaken {
        /// Which one.
        sequence: u32,
        /// When it had been due.
        planned: Instant,
    },
    /// At the sender: a message would have been due, but its user was absent.
    NotOffered {
        /// Which one.
        sequence: u32,
        /// When it would have been due.
        planned: Instant,
    },
    /// At the receiver: a message arrived whole.
    Delivered {
        /// Which one.
        sequence: u32,
        /// When it had been due at the sender, on the sender's clock.
        planned: Instant,
        /// When it was handed to the sender's service, on the sender's clock, where its stamp has that.
        sent: Option<Instant>,
        /// Its octets.
        octets: usize,
    },
    /// At the sender of requests: the reply arrived.
    Answered {
        /// To which request.
        sequence: u32,
        /// When that request had been due.
        planned: Instant,
        /// When it was handed to the service, where the stamps of request and reply have that.
        sent: Option<Instant>,
        /// Octets of the reply.
        octets: usize,
    },
    /// At the sender of acknowledged messages: the receiver said that it took one.
    Acknowledged {
        /// Which one.
        sequence: u32,
        /// When it had been due.
        planned: Instant,
    },
    /// At the sender of messages without a connection: the service could not send one, or no
    /// acknowledgement came; it may have arrived all the same.
    Failed {
        /// Which one.
        sequence: u32,
        /// When it had been due.
        planned: Instant,
        /// In the words of the service.
        reason: &'static str,
    },
    /// At either end: what arrived was no message of a flow, or not the octets that were sent.
    Damaged {
        /// What was wrong with it.
        reason: &'static str,
    },
    /// At the sender: every message was handed over and, over a connection, acknowledged.
    Done,
    /// At the sender or receiver: the connection ended, or never opened.
    Ended {
        /// In the words of the protocol.
        reason: &'static str,
        /// Whether that was the plan.
        orderly: bool,
    },
}
