//! One PDU with all that is known of it: what measures are made from.

use core::time::Duration;
use wire::llc::Control;
use wire::time::Instant;
use wire::tp::Kind;

/// Something that was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// A link PDU.
    Lpdu {
        /// When.
        at: Instant,
        /// Link header and what it carries; neither pad nor FCS.
        octets: u64,
        /// The control field of its LLC PDU, where it has one.
        llc: Option<Control>,
    },
    /// A network PDU.
    Npdu {
        /// Network header and what it carries.
        octets: u64,
    },
    /// A segment of a TCP stream that carries TPKTs.
    Segment(Segment),
    /// A transport PDU.
    Tpdu(Tpdu),
    /// A connection of transport ended without a TPDU.
    Step(Step),
    /// A time that passed between two things.
    Span(Between, Duration),
    /// A receiver stopped giving credit.
    WindowClosed,
    /// A reply that pairs with no single request.
    AmbiguousResponse,
}

/// The times that are measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Between {
    /// A DT and the first AK that covers it.
    Acknowledgement,
    /// The end of a request and the beginning of the reply.
    Response,
    /// A CR and its CC.
    SetUp,
    /// A SYN and the SYN that answers it: the way from here to the callee and back.
    CalleeHandshake,
    /// The SYN that answers and the ACK that ends the handshake: to the caller and back.
    CallerHandshake,
    /// Octets of a TCP stream and the first ACK that covers them.
    RoundTrip,
    /// From one segment of a TCP stream to the ACK of it alone, without data: the receiver may have delayed it
    /// (RFC 1122, 4.2.3.2).
    DelayedAck,
    /// A window that was closed and its opening, or the end of its connection or of what is metered.
    ClosedWindow,
}

/// A segment of a TCP stream, beside what went before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Octets of data.
    pub octets: u64,
    /// What it is to its stream.
    pub order: Order,
}

/// What a segment is to its stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Order {
    /// It goes on where the stream stood, or carries nothing.
    Next,
    /// It leaves a gap before it.
    Ahead,
    /// It fills a gap: it was sent again after a loss on its way here, or was overtaken.
    Late,
    /// Its octets were seen before.
    Again,
    /// It asks whether the peer is there.
    KeepAlive,
    /// The same packet was seen a moment ago: a mirror port copies it twice.
    Copy,
}

/// A TPDU and its place in its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tpdu {
    /// When it passed; of one that TCP held back, when it came in order.
    pub at: Instant,
    /// What it is.
    pub kind: Kind,
    /// Length indicator, fixed and variable part.
    pub header_octets: u64,
    /// User data.
    pub data_octets: u64,
    /// Whether it had been sent before (for an AK: whether it says nothing new).
    pub retransmitted: bool,
    /// Whether it belongs to no connection that is known.
    pub unassigned: bool,
    /// What an AK is for.
    pub role: Option<Role>,
    /// Whether it is a DT beyond the credit that its receiver gave.
    pub into_closed_window: bool,
    /// Whether it is a DT that carries nothing and ends nothing.
    pub empty_part: bool,
    /// TSDUs of which it was the last part to be seen; at the most three.
    pub finished_tsdus: u64,
    /// User data of each of those TSDUs, in no order.
    pub finished_octets: [u64; 3],
    /// What it did to its connection.
    pub step: Option<Step>,
}

impl Tpdu {
    /// A TPDU that is nothing special, at time zero.
    #[must_use]
    pub const fn plain(kind: Kind, header_octets: u64, data_octets: u64) -> Self {
        Self {
            at: Instant::ZERO,
            kind,
            header_octets,
            data_octets,
            retransmitted: false,
            unassigned: false,
            role: None,
            into_closed_window: false,
            empty_part: false,
            finished_tsdus: 0,
            finished_octets: [0; 3],
            step: None,
        }
    }

    /// User data of the TSDUs that it finished.
    #[must_use]
    pub fn finished(&self) -> &[u64] {
        self.finished_octets.get(..self.finished_tsdus as usize).unwrap_or_default()
    }
}

/// What an AK is for (ISO 8073 12.2.3.8).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// It acknowledges new data, whatever else it says.
    Acknowledging,
    /// It changes the credit.
    Crediting,
    /// It says nothing new but that an AK arrived: flow control confirmation.
    Confirming,
    /// It says nothing new: the window timer keeps the connection alive.
    KeepingAlive,
}

/// A step in the life of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// A CR asked for it.
    Requested,
    /// A CC confirmed it.
    Established,
    /// It was refused.
    Refused,
    /// A DR ended it, or its opening, because the two sides could not agree (reason 130).
    NotAgreed,
    /// It ended.
    Ended(Ending),
    /// Nothing was heard of it for too long.
    Silent,
    /// It was found under way: its CR was not seen.
    Adopted,
}

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ending {
    /// As its users wanted, and with nothing under way: by a DR of reason 128 with every DT seen
    /// acknowledged; in class 0 by the end of its TCP connection between TPDUs.
    Graceful,
    /// Otherwise: another reason, DTs without an AK, a TCP connection that was reset or ended
    /// within a TPDU.
    Abrupt,
    /// Because a protocol was not kept: a DR of reason 131 to 133, 135 or 138, or after an ER.
    Erroneous,
}
