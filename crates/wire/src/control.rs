//! Control session between two instances of tidewire, in which they agree
//! before either sends load.
//!
//! The protocol is tidewire's own, modelled on the control sessions of OWAMP (RFC 4656) and TWAMP
//! (RFC 5357). Each PDU travels in one LLC UI whose DSAP and SSAP are both [`SAP`], an individual
//! address from the range that ISO 8802-2 reserves for local use.
//!
//! ```text
//! octet  0        4        5      6         14
//!        "TWRV"   version  kind   nonce     body, by kind
//! ```
//!
//! The first fourteen octets mean the same in every version, so that a newer version can at least
//! be refused. Integers are big-endian. Left out: authentication. Any station on the LAN can send a
//! Stop, and no PDU proves its sender.

mod policy;
pub mod report;

use policy::Options;
pub use policy::{Acknowledge, ReceivePolicy};

use crate::addr::Sap;
use crate::printable::is_printable;
use crate::read::{Malformed, Reader};
use arrayvec::ArrayString;
use bytes::BufMut;
use core::fmt;

/// Service access point of the protocol: both DSAP and SSAP of its UIs.
pub const SAP: Sap = Sap(0x7C);

/// First octets of every PDU.
pub const MAGIC: [u8; 4] = *b"TWRV";

/// Implemented version of the protocol.
///
/// Version 2 added the cookie and the number of flows in a Hello, and the kinds Challenge and Done.
pub const VERSION: u8 = 2;

/// Longest PDU: a Hello with both texts at their maximum, and with its options.
pub const MAX_OCTETS: usize = 14 + 1 + 12 + 12 + 2 + 8 + (1 + 16) + (1 + 64) + policy::OCTETS;

/// Octets of a Refuse, the longest answer to a PDU of another version.
pub const REFUSE_OCTETS: usize = 14 + 1;

/// Short text of printable characters, in UTF-8: see [`is_printable`].
pub type Text<const OCTETS: usize> = ArrayString<OCTETS>;

/// Truncates `text` to a field of a PDU and replaces unprintable characters.
#[must_use]
pub fn text<const OCTETS: usize>(text: &str) -> Text<OCTETS> {
    let mut kept = Text::new();
    for symbol in text.chars() {
        let symbol = if is_printable(symbol) { symbol } else { '?' };
        if kept.try_push(symbol).is_err() {
            break;
        }
    }
    kept
}

/// Limits of the load on the LAN, in each direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Frames per second.
    pub frames_per_second: u32,
    /// Bits per second, including preamble and FCS of each frame.
    pub bits_per_second: u64,
}

impl Limits {
    /// No load at all; as a minimum: no requirement.
    pub const NONE: Self = Self { frames_per_second: 0, bits_per_second: 0 };

    /// Returns the smaller of both limits.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        Self {
            frames_per_second: self.frames_per_second.min(other.frames_per_second),
            bits_per_second: self.bits_per_second.min(other.bits_per_second),
        }
    }

    /// Returns true if these limits satisfy the minimum `other`.
    #[must_use]
    pub const fn meet(self, other: Self) -> bool {
        self.frames_per_second >= other.frames_per_second
            && self.bits_per_second >= other.bits_per_second
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} frames/s, {} bit/s", self.frames_per_second, self.bits_per_second)
    }
}

/// Direction of the load, from the point of view of the initiator, which sends the Hello.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// The initiator sends, the responder receives.
    Sender,
    /// The initiator receives, the responder sends.
    Receiver,
    /// Both send.
    Both,
}

impl Role {
    const fn from_octet(octet: u8) -> Option<Self> {
        Some(match octet {
            1 => Self::Sender,
            2 => Self::Receiver,
            3 => Self::Both,
            _ => return None,
        })
    }

    const fn to_octet(self) -> u8 {
        match self {
            Self::Sender => 1,
            Self::Receiver => 2,
            Self::Both => 3,
        }
    }
}

/// Reason for refusing a Hello.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Refusal {
    /// The responder is in a session with another peer.
    Busy,
    /// The responder's limits are below the initiator's minimum.
    Limits,
    /// The responder accepts no sessions.
    Unwilling,
    /// The responder does not support this version of the protocol.
    Version,
    /// The responder's receiver cannot follow the policy that the initiator requires.
    Policy,
    /// The responder takes no streams of cyclic data.
    Streams,
    /// Reason code that this version does not define.
    Unknown(u8),
}

impl Refusal {
    const fn from_octet(octet: u8) -> Self {
        match octet {
            1 => Self::Busy,
            2 => Self::Limits,
            3 => Self::Unwilling,
            4 => Self::Version,
            5 => Self::Policy,
            6 => Self::Streams,
            other => Self::Unknown(other),
        }
    }

    const fn to_octet(self) -> u8 {
        match self {
            Self::Busy => 1,
            Self::Limits => 2,
            Self::Unwilling => 3,
            Self::Version => 4,
            Self::Policy => 5,
            Self::Streams => 6,
            Self::Unknown(octet) => octet,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("busy with another peer"),
            Self::Limits => f.write_str("the load needed is more than it allows"),
            Self::Unwilling => f.write_str("not willing"),
            Self::Version => f.write_str("another version of the protocol"),
            Self::Policy => f.write_str("cannot acknowledge as required"),
            Self::Streams => f.write_str("takes no streams of cyclic data"),
            Self::Unknown(octet) => write!(f, "reason {octet}"),
        }
    }
}

/// Hello: the initiator requests a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Hello {
    /// Direction of the load.
    pub role: Role,
    /// Largest load that the initiator requests.
    pub offered: Limits,
    /// Smallest load that makes its test meaningful; [`Limits::NONE`] for no requirement.
    pub least: Limits,
    /// Number of flows, n; their messages carry flow numbers from 0 to n - 1.
    pub flows: u16,
    /// Cookie of the last Challenge, which proves that the initiator receives at its address; 0 in
    /// the first Hello.
    pub cookie: u64,
    /// Program and its version.
    pub program: Text<16>,
    /// Purpose of the session, for the person at the responder.
    pub purpose: Text<64>,
    /// Policy that the responder's class 4 is to follow; `None` for its own.
    pub receive: Option<ReceivePolicy>,
    /// True if streams of cyclic data are among the flows: frames with an EtherType, also to groups.
    pub has_streams: bool,
}

/// Accept: the responder accepts the session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Accept {
    /// Agreed limits, which neither side exceeds.
    pub limits: Limits,
    /// Program and its version.
    pub program: Text<16>,
    /// Policy of the Hello that the responder's class 4 follows; `None` if it follows its own.
    pub receive: Option<ReceivePolicy>,
    /// True if the responder takes the streams of the Hello.
    pub has_streams: bool,
}

/// Counters of one side of a session. Each is encoded as a code and a value; unknown codes are
/// skipped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Counts {
    /// Messages delivered to the user, without duplicates.
    pub delivered: u64,
    /// Octets of those messages.
    pub octets: u64,
    /// Messages received more than once.
    pub duplicates: u64,
    /// Messages received with wrong octets.
    pub damaged: u64,
    /// Frames received from the peer, without those of the protocol of control sessions.
    pub frames: u64,
    /// Messages of flows outside the agreement.
    pub not_agreed: u64,
}

impl Counts {
    const fn coded(&self) -> [(u8, u64); 6] {
        [
            (1, self.delivered),
            (2, self.octets),
            (3, self.duplicates),
            (4, self.damaged),
            (5, self.frames),
            (6, self.not_agreed),
        ]
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut counts = Self::default();
        for _ in 0..reader.u8("number of counts")? {
            let code = reader.u8("code of a count")?;
            let value = reader.array("count").map(u64::from_be_bytes)?;
            match code {
                1 => counts.delivered = value,
                2 => counts.octets = value,
                3 => counts.duplicates = value,
                4 => counts.damaged = value,
                5 => counts.frames = value,
                6 => counts.not_agreed = value,
                _ => {}
            }
        }
        Ok(counts)
    }
}

/// Body of a PDU, by its kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Body {
    /// Initiator to responder: request for a session.
    Hello(Hello),
    /// Responder to initiator: acceptance.
    Accept(Accept),
    /// Responder to initiator: refusal.
    Refuse(Refusal),
    /// Both directions, while a session is open: keep-alive.
    KeepAlive {
        /// Increases by one with each KeepAlive.
        counter: u32,
    },
    /// Both directions: stop sending load and report the counters.
    Stop,
    /// Both directions: counters of the sender of the PDU.
    Counts {
        /// Counters.
        counts: Counts,
        /// True if they answer a Stop and are final.
        is_final: bool,
    },
    /// Responder to initiator: repeat the Hello with this cookie, which only the station at its
    /// source address receives. The responder keeps no state for it.
    Challenge {
        /// Cookie.
        cookie: u64,
    },
    /// Initiator to responder: the report was read, and the session may be deleted.
    Done,
    /// PDU of another version, or of a kind that this version does not define.
    Foreign {
        /// Version of the PDU.
        version: u8,
        /// Kind of the PDU.
        kind: u8,
    },
}

/// Kind of a Hello: the same in every version.
pub const HELLO: u8 = 1;
const AGREE: u8 = 2;
const REFUSE: u8 = 3;
const ALIVE: u8 = 4;
const STOP: u8 = 5;
const COUNTS: u8 = 6;
const CHALLENGE: u8 = 9;
const DONE: u8 = 10;

/// PDU of the protocol of control sessions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu {
    /// Nonce: identifier of the session, chosen by its initiator.
    pub nonce: u64,
    /// Body of the PDU.
    pub body: Body,
}

impl Pdu {
    /// Decodes a PDU. Octets after it are ignored, because a frame may be padded.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(octets: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let start = reader.malformed("control magic");
        if reader.array("control magic")? != MAGIC {
            return Err(start);
        }
        let version = reader.u8("version")?;
        let kind = reader.u8("kind")?;
        let nonce = reader.array("nonce").map(u64::from_be_bytes)?;
        let body = match (version, kind) {
            (VERSION, HELLO) => Body::Hello(hello(&mut reader)?),
            (VERSION, AGREE) => {
                let (limits, program) = (limits(&mut reader)?, words(&mut reader)?);
                let Options { receive, has_streams } = Options::decode(&mut reader)?;
                Body::Accept(Accept { limits, program, receive, has_streams })
            }
            // The same in every version, so that an older peer can report the reason.
            (_, REFUSE) => Body::Refuse(Refusal::from_octet(reader.u8("reason")?)),
            (VERSION, ALIVE) => Body::KeepAlive { counter: reader.u32("counter")? },
            (VERSION, STOP) => Body::Stop,
            (VERSION, COUNTS) => {
                let is_final = reader.u8("finality")? != 0;
                Body::Counts { counts: Counts::decode(&mut reader)?, is_final }
            }
            (VERSION, CHALLENGE) => {
                Body::Challenge { cookie: reader.array("cookie").map(u64::from_be_bytes)? }
            }
            (VERSION, DONE) => Body::Done,
            (version, kind) => Body::Foreign { version, kind },
        };
        Ok(Self { nonce, body })
    }

    /// Writes a Refuse in the version of the peer, which accepts no other.
    pub fn encode_refuse(version: u8, nonce: u64, reason: Refusal, out: &mut impl BufMut) {
        out.put_slice(&MAGIC);
        out.put_u8(version);
        out.put_u8(REFUSE);
        out.put_u64(nonce);
        out.put_u8(reason.to_octet());
    }

    /// Writes the PDU.
    pub fn encode(&self, out: &mut impl BufMut) {
        let (version, kind) = match self.body {
            Body::Hello(_) => (VERSION, HELLO),
            Body::Accept(_) => (VERSION, AGREE),
            Body::Refuse(_) => (VERSION, REFUSE),
            Body::KeepAlive { .. } => (VERSION, ALIVE),
            Body::Stop => (VERSION, STOP),
            Body::Counts { .. } => (VERSION, COUNTS),
            Body::Challenge { .. } => (VERSION, CHALLENGE),
            Body::Done => (VERSION, DONE),
            Body::Foreign { version, kind } => (version, kind),
        };
        out.put_slice(&MAGIC);
        out.put_u8(version);
        out.put_u8(kind);
        out.put_u64(self.nonce);
        match &self.body {
            Body::Hello(hello) => {
                out.put_u8(hello.role.to_octet());
                put_limits(hello.offered, out);
                put_limits(hello.least, out);
                out.put_u16(hello.flows);
                out.put_u64(hello.cookie);
                put_text(&hello.program, out);
                put_text(&hello.purpose, out);
                let Hello { receive, has_streams, .. } = *hello;
                Options { receive, has_streams }.encode(out);
            }
            Body::Accept(agree) => {
                put_limits(agree.limits, out);
                put_text(&agree.program, out);
                let Accept { receive, has_streams, .. } = *agree;
                Options { receive, has_streams }.encode(out);
            }
            Body::Refuse(reason) => out.put_u8(reason.to_octet()),
            Body::KeepAlive { counter } => out.put_u32(*counter),
            Body::Counts { counts, is_final } => {
                let coded = counts.coded();
                out.put_u8(u8::from(*is_final));
                out.put_u8(coded.len() as u8);
                for (code, value) in coded {
                    out.put_u8(code);
                    out.put_u64(value);
                }
            }
            Body::Challenge { cookie } => out.put_u64(*cookie),
            Body::Stop | Body::Done | Body::Foreign { .. } => {}
        }
    }
}

fn hello(reader: &mut Reader<'_>) -> Result<Hello, Malformed> {
    let complaint = reader.malformed("role");
    let hello = Hello {
        role: Role::from_octet(reader.u8("role")?).ok_or(complaint)?,
        offered: limits(reader)?,
        least: limits(reader)?,
        flows: reader.u16("number of flows")?,
        cookie: reader.array("cookie").map(u64::from_be_bytes)?,
        program: words(reader)?,
        purpose: words(reader)?,
        receive: None,
        has_streams: false,
    };
    let Options { receive, has_streams } = Options::decode(reader)?;
    Ok(Hello { receive, has_streams, ..hello })
}

fn limits(reader: &mut Reader<'_>) -> Result<Limits, Malformed> {
    Ok(Limits {
        frames_per_second: reader.u32("frames per second")?,
        bits_per_second: reader.array("bits per second").map(u64::from_be_bytes)?,
    })
}

fn put_limits(limits: Limits, out: &mut impl BufMut) {
    out.put_u32(limits.frames_per_second);
    out.put_u64(limits.bits_per_second);
}

/// Decodes a text. Texts that are too long, broken UTF-8 and unprintable characters are refused.
fn words<const OCTETS: usize>(reader: &mut Reader<'_>) -> Result<Text<OCTETS>, Malformed> {
    let complaint = reader.malformed("text");
    let length = reader.u8("length of a text")?;
    let text = core::str::from_utf8(reader.take("text", length.into())?).map_err(|_| complaint)?;
    if !text.chars().all(is_printable) {
        return Err(complaint);
    }
    Text::from(text).map_err(|_| complaint)
}

fn put_text<const OCTETS: usize>(text: &Text<OCTETS>, out: &mut impl BufMut) {
    out.put_u8(text.len() as u8);
    out.put_slice(text.as_bytes());
}

impl fmt::Display for Pdu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RV {:016x} ", self.nonce)?;
        match &self.body {
            Body::Hello(hello) => write!(
                f,
                "Hello {:?} offered={} least={} flows={} cookie={:016x} \"{}\" \"{}\"",
                hello.role,
                hello.offered,
                hello.least,
                hello.flows,
                hello.cookie,
                hello.program,
                hello.purpose
            ),
            Body::Accept(agree) => write!(f, "Accept {} \"{}\"", agree.limits, agree.program),
            Body::Refuse(reason) => write!(f, "Refuse {reason}"),
            Body::KeepAlive { counter } => write!(f, "KeepAlive {counter}"),
            Body::Stop => f.write_str("Stop"),
            Body::Counts { counts, is_final } => write!(
                f,
                "Counts{} delivered={} octets={} duplicates={} damaged={} frames={} not_agreed={}",
                if *is_final { " final" } else { "" },
                counts.delivered,
                counts.octets,
                counts.duplicates,
                counts.damaged,
                counts.frames,
                counts.not_agreed
            ),
            Body::Challenge { cookie } => write!(f, "Challenge {cookie:016x}"),
            Body::Done => f.write_str("Done"),
            Body::Foreign { version, kind } => write!(f, "kind {kind} of version {version}"),
        }?;
        match &self.body {
            Body::Hello(Hello { receive: Some(policy), .. })
            | Body::Accept(Accept { receive: Some(policy), .. }) => write!(f, " {policy}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
