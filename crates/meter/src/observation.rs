//! Observation: one PDU or event with its context, the input of all measures.

use crate::service::Service;
use core::time::Duration;
use wire::llc::Control;
use wire::time::Instant;
use wire::tp::Kind;

/// PDU or event observed on the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Observation {
    /// Link PDU.
    Lpdu {
        /// Time of the frame.
        at: Instant,
        /// Octets of the link header and its payload; neither pad nor FCS.
        octets: u64,
        /// Control field of its LLC PDU, if it has one.
        llc: Option<Control>,
    },
    /// Network PDU.
    Npdu {
        /// Octets of the network header and its payload.
        octets: u64,
    },
    /// Segment of a TCP stream that carries TPKTs.
    Segment(Segment),
    /// Transport PDU.
    Tpdu(Tpdu),
    /// Place of the TPDU before it, which belongs to a known connection.
    Placed(Placed),
    /// Step of a transport connection without a TPDU.
    Step(Step),
    /// Delay between two events.
    Span(DelayKind, Duration),
    /// A receiver stopped granting credit.
    WindowClosed,
    /// Reply that pairs with no single request.
    AmbiguousResponse,
    /// Event of an association.
    Mms(MmsEvent),
    /// Event of a stream of cyclic data.
    Stream(StreamEvent),
}

/// Event of a stream of cyclic data, found with the frame that ends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamEvent {
    /// The gap before this frame, of this length, exceeded the time that the frame before allowed.
    Silent(Duration),
    /// This number of frames before this one did not arrive.
    Missing(u64),
    /// The publisher began to count anew.
    Restarted,
    /// The state changed: stNum, smpSynch or DataStatus.
    StateChanged,
}

/// Event of an association (ISO 8650) that carries MMS (ISO 9506).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MmsEvent {
    /// Request of a service.
    Request(Service),
    /// Response or error.
    Answer {
        /// Service that was asked for.
        service: Service,
        /// Outcome.
        outcome: MmsOutcome,
        /// Time from the last octet of the request to the last octet of the answer.
        took: Duration,
    },
    /// Reject of a request.
    Reject(Service),
    /// Request that will not be answered.
    Unanswered(Service),
    /// Unconfirmed PDU.
    Report,
    /// Association accepted, this long after its request.
    Associated(Duration),
    /// Association found under way.
    Inferred,
    /// Association refused.
    Refused,
    /// Association aborted.
    Aborted,
}

/// Outcome of an MMS request that was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MmsOutcome {
    /// Response.
    Done,
    /// Response whose first result is a data access error.
    FailedAccess,
    /// Error.
    Error,
}

/// Kinds of delays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DelayKind {
    /// From a DT to the first AK that covers it.
    Acknowledgement,
    /// From the end of a request to the beginning of the reply.
    Response,
    /// From a CR to its CC.
    SetUp,
    /// From a SYN to the SYN that answers it: from the tap to the callee and back.
    CalleeHandshake,
    /// From the answering SYN to the ACK that ends the handshake: from the tap to the caller and
    /// back.
    CallerHandshake,
    /// From octets of a TCP stream to the first ACK that covers them.
    RoundTrip,
    /// From one segment of a TCP stream to the ACK of it alone, without data: the receiver may have delayed it
    /// (RFC 1122, 4.2.3.2).
    DelayedAck,
    /// From the closing of a window to its opening, or to the end of its connection or of
    /// measuring.
    ClosedWindow,
    /// From the last octet of an MMS request to the last octet of its answer.
    MmsResponse,
    /// From the last octet of an association request to the last octet of its acceptance.
    Association,
}

impl DelayKind {
    /// Kinds that hosts and connections have too, in the same order.
    pub const OF_HOSTS: [Self; 8] = [
        Self::Acknowledgement,
        Self::Response,
        Self::SetUp,
        Self::CalleeHandshake,
        Self::CallerHandshake,
        Self::RoundTrip,
        Self::DelayedAck,
        Self::ClosedWindow,
    ];

    /// All kinds, in the order of records.
    pub const ALL: [Self; 10] = [
        Self::Acknowledgement,
        Self::Response,
        Self::SetUp,
        Self::CalleeHandshake,
        Self::CallerHandshake,
        Self::RoundTrip,
        Self::DelayedAck,
        Self::ClosedWindow,
        Self::MmsResponse,
        Self::Association,
    ];
}

/// Segment of a TCP stream, classified by the segments before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Octets of data.
    pub octets: u64,
    /// Position in its stream.
    pub order: Order,
}

/// Position of a segment in its stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Order {
    /// In sequence, or without data.
    Next,
    /// Beyond a gap.
    Ahead,
    /// In a gap: retransmitted after a loss before the tap, or overtaken.
    Late,
    /// Retransmission: all its octets were seen before.
    Again,
    /// Keep-alive probe.
    KeepAlive,
    /// Duplicate packet, as a mirror port makes it.
    Copy,
}

/// TPDU and its place in its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tpdu {
    /// Time of the frame; if TCP delivered it out of order, time at which order was restored.
    pub at: Instant,
    /// Kind.
    pub kind: Kind,
    /// Octets of length indicator, fixed and variable part.
    pub header_octets: u64,
    /// Octets of user data.
    pub data_octets: u64,
    /// True if it was sent before; for an AK, if it carries no new information.
    pub retransmitted: bool,
    /// True if it belongs to no known connection.
    pub unassigned: bool,
    /// Role of an AK.
    pub role: Option<Role>,
    /// True for a DT beyond the credit that its receiver granted.
    pub into_closed_window: bool,
    /// True for a DT without user data and without EOT.
    pub empty_part: bool,
    /// Number of TSDUs that it completed; at most three.
    pub finished_tsdus: u64,
    /// Octets of user data of each of those TSDUs, in any order.
    pub finished_octets: [u64; 3],
    /// Step of its connection that it caused.
    pub step: Option<Step>,
}

impl Tpdu {
    /// TPDU without special properties, at time zero.
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

    /// Octets of user data of each TSDU that it completed.
    #[must_use]
    pub fn finished(&self) -> &[u64] {
        self.finished_octets.get(..self.finished_tsdus as usize).unwrap_or_default()
    }
}

/// Place of a TPDU in its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    /// Number of the connection, as in its reports.
    pub connection: u32,
    /// Side that sent it: 0 or 1, as in the reports of its connection.
    pub side: usize,
    /// TPDU-NR, YR-TU-NR or EDTPDU-NR (ISO 8073 13.7 to 13.11); none for TPDUs of other kinds,
    /// and in class 0.
    pub number: Option<u32>,
    /// Modulus of this number.
    pub modulus: u32,
    /// CDT of a CR, CC, AK or RJ.
    pub credit: Option<u16>,
}

/// Role of an AK (ISO 8073 12.2.3.8).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Acknowledges new data, possibly among other information.
    Acknowledging,
    /// Changes the credit only.
    Crediting,
    /// Confirms that an AK arrived (flow control confirmation), and nothing else.
    Confirming,
    /// No new information: the window timer keeps the connection alive.
    KeepingAlive,
}

/// Step of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// Requested by a CR.
    Requested,
    /// Confirmed by a CC.
    Established,
    /// Refused.
    Refused,
    /// Ended by a DR, open or opening, because the sides could not agree (reason 130).
    NotAgreed,
    /// Ended.
    Ended(Ending),
    /// Silent for too long.
    Silent,
    /// Found under way: its CR was not seen.
    Adopted,
}

/// Kind of end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ending {
    /// Normal, with nothing outstanding: by a DR of reason 128 with every DT seen acknowledged; in
    /// class 0 by the end of its TCP connection between TPDUs.
    Graceful,
    /// Any other end: another reason, unacknowledged DTs, a TCP connection that was reset or ended
    /// within a TPDU.
    Abrupt,
    /// Protocol violation: a DR of reason 131 to 133, 135 or 138, or an end after an ER.
    Erroneous,
}
