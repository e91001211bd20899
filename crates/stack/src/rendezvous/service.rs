//! Requests and indications of the control session, and the parameters of a station in it.

use core::time::Duration;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::read::Malformed;
use wire::rendezvous::{Counts, Hello, Limits, Refusal, Role, Text};

/// How a station behaves in a rendezvous.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// From one Hello or Stop to its repetition.
    pub repeat: Duration,
    /// Number of Hellos sent before the peer is considered absent.
    pub hello_transmissions: u32,
    /// How often a Stop is sent before the peer is taken for gone; it may be collecting its counts.
    pub stop_transmissions: u32,
    /// From one Alive to the next.
    pub alive: Duration,
    /// How long the peer may be silent.
    pub silence: Duration,
    /// How long a session that is over is remembered after its peer was last heard, to answer a Stop
    /// that comes again and to let the initiator read what arrived.
    pub linger: Duration,
    /// The most this station allows an initiator; `None` where it takes part in nothing.
    pub maximum: Option<Limits>,
    /// Key of the cookies: unpredictable, and never on the wire.
    pub secret: u128,
    /// The program and its version.
    pub program: Text<16>,
}

impl Params {
    /// The times every tidewire uses, with this policy: a dead peer is noticed within a second, and
    /// four Alives in a row must be lost for a live one to be taken for dead.
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
            secret,
            program,
        }
    }
}

/// Octets to or from a peer, as LLC's unitdata service carries them on the rendezvous' SAP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unitdata {
    /// Whom they go to or come from.
    pub peer: Mac,
    /// One rendezvous PDU.
    pub packet: Packet,
}

/// What an initiator asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The responder.
    pub peer: Mac,
    /// The session's name: never the same twice, so that PDUs of an older session are not mistaken.
    pub nonce: u64,
    /// Which way the load will go.
    pub role: Role,
    /// The most it would send or receive.
    pub offered: Limits,
    /// The least with which it makes sense.
    pub least: Limits,
    /// Number of flows; their messages carry the flow numbers below it.
    pub flows: u16,
    /// What it is for.
    pub purpose: Text<64>,
}

/// What a user asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// A session with a peer. Ignored while there is one.
    Open(Call),
    /// The session's end. The user sends no load from now on.
    Stop,
    /// Reports the counts so far to the peer.
    Counts(Counts),
    /// Reports the final counts to the peer: the answer to [`Indication::StopAsked`], and
    /// ignored where that was not said.
    Final(Counts),
    /// The session is over and everything that was wanted of it was read: the peer may forget it.
    Done,
}

/// Indications to the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Indication {
    /// At the responder: an initiator was agreed with. Load may come in; none may be sent yet.
    Called {
        /// The initiator.
        peer: Mac,
        /// What was agreed.
        limits: Limits,
        /// What it said of itself.
        hello: Hello,
    },
    /// Both sides know that both agree: load may be sent, within these limits.
    Opened {
        /// The peer.
        peer: Mac,
        /// What was agreed.
        limits: Limits,
        /// The peer's program and its version.
        program: Text<16>,
    },
    /// At the initiator: the responder does not take part.
    Refused(Refusal),
    /// At the initiator: no answer arrived.
    NoAnswer,
    /// The peer wants to end: send no more load, then say [`Request::Final`].
    StopAsked,
    /// What the peer has counted so far.
    Counts(Counts),
    /// The session is over as both wished, and this is what the peer counted in all.
    Over(Counts),
    /// The peer is gone: everything must stop at once.
    Lost,
    /// The session is forgotten; the next may come.
    Idle,
}

/// Notes for observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// A Hello or Stop was sent again.
    Repeated,
    /// A caller was refused.
    TurnedDown(Mac, Refusal),
    /// A PDU came in that belongs to no session here.
    Stray(Mac),
    /// Octets came in that are no PDU.
    Malformed(Mac, Malformed),
    /// A Hello came in whose sender has yet to prove its address.
    Challenged(Mac),
    /// A Hello came in that gets no answer: its sender has had one just now, or a session that is over
    /// is still being read.
    Ignored(Mac),
}

/// A session by its peer and its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name {
    /// The peer.
    pub peer: Mac,
    /// The nonce that the initiator chose.
    pub nonce: u64,
}
