//! Requests and indications of the control session, and the parameters of a station in it.

use core::time::Duration;
use wire::addr::Mac;
use wire::control::{Counts, Hello, Limits, ReceivePolicy, Refusal, Role, Text};
use wire::packet::Packet;
use wire::read::Malformed;

/// Parameters of a station in the protocol of control sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Interval between repetitions of a Hello or Stop.
    pub repeat: Duration,
    /// Number of Hellos sent before the peer is considered absent.
    pub hello_transmissions: u32,
    /// Maximum number of Stops before the peer is considered lost; it may be collecting its counts.
    pub stop_transmissions: u32,
    /// Interval between Alives.
    pub alive: Duration,
    /// Maximum silence of the peer.
    pub silence: Duration,
    /// Time for which an ended session is kept after the last PDU of its peer, to answer a repeated
    /// Stop and to let the initiator read the report.
    pub linger: Duration,
    /// Largest load that this station permits an initiator; `None` to refuse all sessions.
    pub maximum: Option<Limits>,
    /// Receive buffers that the policy of an initiator may take, its window times its flows; 0 if no
    /// policy is followed.
    pub buffers: u32,
    /// True if the station takes streams of cyclic data.
    pub takes_streams: bool,
    /// Key of the cookies: unpredictable, and never on the wire.
    pub secret: u128,
    /// Program and its version.
    pub program: Text<16>,
}

impl Params {
    /// Standard parameters with this policy: a dead peer is detected within a second, and a live
    /// one is considered dead only after four lost Alives in a row. No policy is followed, and no
    /// streams are taken.
    #[must_use]
    pub const fn new(maximum: Option<Limits>, secret: u128, program: Text<16>) -> Self {
        Self {
            repeat: Duration::from_millis(250),
            hello_transmissions: 8,
            stop_transmissions: 40,
            alive: Duration::from_millis(250),
            silence: Duration::from_secs(1),
            linger: Duration::from_secs(1),
            maximum,
            buffers: 0,
            takes_streams: false,
            secret,
            program,
        }
    }
}

/// Octets to or from a peer, carried by LLC's unitdata service on the SAP of the control session
/// protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unitdata {
    /// Destination or source station.
    pub peer: Mac,
    /// One PDU.
    pub packet: Packet,
}

/// Parameters of an initiator's session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// Responder.
    pub peer: Mac,
    /// Identifier of the session: never reused, so that PDUs of an older session are not mistaken
    /// for its own.
    pub nonce: u64,
    /// Direction of the load.
    pub role: Role,
    /// Largest load that it would send or receive.
    pub offered: Limits,
    /// Smallest load that makes the session meaningful.
    pub least: Limits,
    /// Number of flows, n; their messages carry flow numbers from 0 to n - 1.
    pub flows: u16,
    /// Purpose of the session.
    pub purpose: Text<64>,
    /// Policy that the responder's class 4 is to follow; `None` for its own.
    pub receive: Option<ReceivePolicy>,
    /// True if the session is useless with another policy, so that a responder which does not
    /// confirm it counts as refusing.
    pub is_policy_needed: bool,
    /// True if streams of cyclic data are among the flows. A responder that does not confirm it counts
    /// as refusing.
    pub has_streams: bool,
}

/// Request of the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// Opens a session with a peer. Ignored while there is one.
    Open(Call),
    /// Ends the session. The user must not send load from now on.
    Stop,
    /// Reports the counts so far to the peer.
    Counts(Counts),
    /// Reports the final counts to the peer: the answer to [`Indication::StopAsked`], ignored
    /// without it.
    Final(Counts),
    /// The session has ended and its results were read: the peer may delete it.
    Done,
}

/// Indications to the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Indication {
    /// At the responder: a session was agreed. Load may arrive, but must not be sent yet.
    Called {
        /// Initiator.
        peer: Mac,
        /// Agreed limits.
        limits: Limits,
        /// Hello of the initiator, with its policy only if it is to be followed.
        hello: Hello,
    },
    /// Agreement is confirmed on both sides: load may be sent, within these limits.
    Opened {
        /// Peer of the session.
        peer: Mac,
        /// Agreed limits.
        limits: Limits,
        /// Program of the peer and its version.
        program: Text<16>,
    },
    /// At the initiator: the responder refused.
    Refused(Refusal),
    /// At the initiator: no answer arrived.
    NoAnswer,
    /// The peer requests the end: stop the load, then send [`Request::Final`].
    StopAsked,
    /// Interim counts of the peer.
    Counts(Counts),
    /// The session ended in an orderly way, with the final counts of the peer.
    Over(Counts),
    /// The peer is lost: everything must stop at once.
    Lost,
    /// The session was deleted; the next may be opened.
    Idle,
}

/// Notes for observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// A Hello or Stop was retransmitted.
    Repeated,
    /// A caller was refused.
    TurnedDown(Mac, Refusal),
    /// A PDU arrived that belongs to no session of this station.
    Stray(Mac),
    /// Octets arrived that are not a PDU.
    Malformed(Mac, Malformed),
    /// A Hello arrived, and its sender was challenged to prove its address.
    Challenged(Mac),
    /// A Hello arrived that gets no answer: its sender was answered recently, or an ended session
    /// is still being read.
    Ignored(Mac),
}

/// Key of a session: peer and nonce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name {
    /// Peer of the session.
    pub peer: Mac,
    /// Nonce chosen by the initiator.
    pub nonce: u64,
}
