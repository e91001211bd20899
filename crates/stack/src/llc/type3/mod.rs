//! LLC type 3 (IEEE 802.2, acknowledged connectionless): each command is acknowledged, none is delivered twice.
//!
//! ```text
//!   DL-DATA-ACK  ──▶ AC0 P=0 "LSDU" ──────▶   delivered, V(RI) := 1
//!                ◀── AC1 F=0 status 40 ◀──    accepted, no reply asked for
//!   DL-DATA-ACK  ──▶ AC1 P=0 "LSDU" ──────▶   delivered, V(RI) := 0
//!                ◀── AC0 F=0 status 40 ◀──
//! ```
//!
//! A command carries V(SI), one bit; its response carries the other value. A receiver that expects
//! the other number answers a command again as it answered it first, and does not deliver it again.
//!
//! **What the variables belong to.** The name [`Association`] stands for the local SAP, the remote
//! station, the remote SAP and, where the MAC carries it, the priority. The remote SAP is part of
//! it: numbers that ran through commands for several SAPs would look to each of those SAPs as if
//! commands were missing or came twice. Priority is part of it only where the receiver can read it
//! ([`Priorities`]); on Ethernet it cannot. One command is under way for each association; the
//! others wait, the highest priority first.
//!
//! **Synchronization.** A sender that gave up does not know whether the receiver's variable changed.
//! Its next command could be taken for a copy of the last: acknowledged, and never delivered. So it
//! first sends a command without LSDU, which is acknowledged and never delivered whatever the
//! receiver expects. The same is done for a new association ([`First::Synchronized`]), since the
//! receiver may remember a sender that restarted.
//!
//! **The limit.** One bit tells a command from the one before, and from no other. Where a copy can
//! be under way for so long that its number is in use again, it is delivered once more, or a late
//! response acknowledges a command that was lost. That cannot be where a PDU is late by less than
//! the shortest time that the path takes in one direction. Else [`Params::lifetime`] helps: the
//! next command is sent when the copies of the last are dead. It is not in the standard. Neither is
//! that the next command waits for a copy of the last that is still to go out, whatever M is: the
//! response came while it was queued here.
//!
//! **Refusal.** Where the medium tells that no interface had a buffer for a command (ProNET-10, 802.5),
//! it is sent again at once, and for the last time after T1. N4 and the user's limit count all alike.
//!
//! On 802.4 a command may ask the MAC for its response at once ([`crate::profile::Framing`]); here it is
//! one as any other.
//!
//! Left out: station management.

mod receiver;
mod sender;
mod status;
mod table;
#[cfg(test)]
mod tests;

pub use status::{CommandStatus, ReplyStatus};
pub use table::{Action, Event, State, transition};

use crate::machine::{Deadline, Machine, Output};
use crate::station::Transmission;
use core::convert::Infallible;
use core::fmt;
use core::time::Duration;
use receiver::Receiver;
use sender::Sender;
use std::collections::VecDeque;
use wire::addr::{Mac, Sap};
use wire::llc::{Control, POLL_FINAL, RESPONSE};
use wire::packet::Packet;
use wire::time::Instant;

const AC0: u8 = Control::Ac0.u_format();
const AC1: u8 = Control::Ac1.u_format();

type Outputs = VecDeque<Output<Lpdu, Indication, Infallible>>;

/// Between whom commands are numbered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Association {
    /// The SAP here.
    pub local: Sap,
    /// The other station.
    pub station: Mac,
    /// The SAP there.
    pub remote: Sap,
    /// 0 (lowest) to 7: in what order commands wait here.
    pub priority: u8,
}

/// An LLC PDU with what the MAC knows of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lpdu {
    /// The station it goes to or comes from.
    pub station: Mac,
    /// Its priority, 0 to 7; 0 for a PDU that came over a MAC that does not carry it.
    pub priority: u8,
    /// DSAP, SSAP, control and information.
    pub packet: Packet,
    /// For a command that goes out: what [`Type3::transmitted`] wants to hear of.
    pub ticket: Option<Ticket>,
}

/// A command that was handed down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// The request it serves; `None` where it synchronizes.
    pub request: Option<u64>,
    association: Association,
    attempt: u64,
}

/// Whether a receiver can tell commands of different priority apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Priorities {
    /// The MAC carries the priority (802.4, 802.5): each has its own numbers.
    Carried,
    /// It does not (802.3, ProNET-10): all share one.
    NotCarried,
}

/// How the numbers of a new association begin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum First {
    /// With a command without LSDU: right even if the receiver remembers an earlier life of this
    /// station.
    Synchronized,
    /// With 0 at once: right if this station has been silent for the receiver's T2.
    AtZero,
}

/// What a station's type 3 is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// N4: how often a command is sent at the most.
    pub transmissions: u32,
    /// T1: how long a response is awaited after each transmission.
    pub acknowledgement_time: Duration,
    /// M: the longest that a PDU may be under way, where copies may arrive late; zero where they do
    /// not. Commands of an association are sent at least this long after each other.
    pub lifetime: Duration,
    /// T2: how long a receive variable is kept after the last command.
    pub receive_lifetime: Duration,
    /// T3: how long a transmit variable is kept after the last response.
    pub transmit_lifetime: Duration,
    /// N3: octets of an LSDU at the most.
    pub information_octets: usize,
    /// Commands that may wait for each association.
    pub waiting: usize,
    /// Transmit variables at the most, and receive variables at the most.
    pub associations: usize,
    /// Whether the MAC carries priorities.
    pub priorities: Priorities,
    /// How numbers begin.
    pub first: First,
}

impl Params {
    /// For a LAN of 802.3 stations that answer within a few milliseconds.
    #[must_use]
    pub const fn lan() -> Self {
        Self {
            transmissions: 8,
            acknowledgement_time: Duration::from_millis(20),
            lifetime: Duration::ZERO,
            receive_lifetime: Duration::from_secs(1),
            transmit_lifetime: Duration::from_secs(60),
            information_octets: 1_497,
            waiting: 64,
            associations: 1_024,
            priorities: Priorities::NotCarried,
            first: First::Synchronized,
        }
    }

    /// Checks that no receiver forgets a command that may still be sent again.
    ///
    /// # Errors
    /// Names what cannot be.
    pub fn check(&self) -> Result<(), Invalid> {
        let retries = self.acknowledgement_time.saturating_mul(self.transmissions);
        if self.transmissions == 0 || self.acknowledgement_time.is_zero() {
            Err(Invalid::NeverSends)
        } else if self.acknowledgement_time < self.lifetime * 2 {
            Err(Invalid::Hasty { lifetime: self.lifetime })
        } else if self.receive_lifetime <= retries + self.lifetime {
            Err(Invalid::Forgets { retries, receive_lifetime: self.receive_lifetime })
        } else {
            Ok(())
        }
    }

    /// The association as its receiver sees it.
    const fn key(&self, association: Association) -> Association {
        match self.priorities {
            Priorities::Carried => association,
            Priorities::NotCarried => Association { priority: 0, ..association },
        }
    }
}

/// Why parameters cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// N4 or T1 is zero.
    NeverSends,
    /// T1 is shorter than the longest round trip, twice M.
    Hasty {
        /// M.
        lifetime: Duration,
    },
    /// T2 is not longer than N4 times T1, and M in addition.
    Forgets {
        /// N4 times T1.
        retries: Duration,
        /// T2.
        receive_lifetime: Duration,
    },
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverSends => f.write_str("n4 and t1 are at least 1"),
            Self::Hasty { lifetime } => {
                write!(f, "t1 is shorter than a round trip of twice {lifetime:?} (m)")
            }
            Self::Forgets { retries, receive_lifetime } => write!(
                f,
                "a receiver would forget after {receive_lifetime:?} (t2) what may be sent for \
                 {retries:?} (n4 times t1)"
            ),
        }
    }
}

impl core::error::Error for Invalid {}

/// What a user asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// DL-DATA-ACK request. An LSDU of no octets is acknowledged but not delivered.
    DataAck {
        /// What its outcome is told by: no two requests under way have the same.
        id: u64,
        /// Between whom.
        association: Association,
        /// How often it is sent at the most; N4 is the limit of this.
        transmissions: u32,
        /// The LSDU.
        data: Packet,
    },
    /// DL-REPLY request: an LSDU, possibly of no octets, for the reply that the remote user stored.
    Reply {
        /// What its outcome is told by.
        id: u64,
        /// Between whom.
        association: Association,
        /// How often it is sent at the most.
        transmissions: u32,
        /// The LSDU.
        data: Packet,
    },
    /// DL-REPLY-UPDATE request: what the SAP answers polls with, again and again, from now on.
    ReplyUpdate {
        /// The SAP here.
        sap: Sap,
        /// The LSDU; `None` takes the last one back.
        data: Option<Packet>,
    },
    /// Takes a DL-DATA-ACK or DL-REPLY request back. Its outcome is told at once, but the receiver
    /// may have the LSDU.
    Cancel {
        /// The request.
        id: u64,
        /// Its association.
        association: Association,
    },
    /// A SAP of a user here.
    Open {
        /// The SAP.
        sap: Sap,
    },
    /// The SAP is no longer there: commands for it are answered with "no such service".
    Close {
        /// The SAP.
        sap: Sap,
    },
    /// The user of the SAP has a buffer for the next LSDU, or has none any more. A delivery takes
    /// it; without one, commands are answered with "resources temporarily unavailable".
    Buffer {
        /// The SAP.
        sap: Sap,
        /// The longest LSDU it can hold.
        octets: Option<usize>,
    },
}

/// What a user is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// DL-DATA-ACK indication, also of an LSDU that came with a poll.
    Data {
        /// Whom it comes from, and the SAP here that it is for.
        association: Association,
        /// The LSDU.
        data: Packet,
    },
    /// An LSDU was longer than the buffer and is lost; its sender was told. The buffer is taken.
    Overrun {
        /// Whom it came from.
        association: Association,
        /// Its octets.
        octets: usize,
    },
    /// DL-REPLY indication: the stored reply was fetched.
    Replied {
        /// By whom.
        association: Association,
    },
    /// DL-DATA-ACK-STATUS or DL-REPLY-STATUS indication: what became of a request.
    Status {
        /// The request.
        id: u64,
        /// What became of it.
        outcome: Outcome,
        /// How often it was sent, or the command that should have gone before it.
        transmissions: u32,
    },
}

/// What became of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// A response came.
    Responded {
        /// C: how the LSDU fared.
        command: CommandStatus,
        /// R: how the reply fared.
        reply: ReplyStatus,
        /// The reply, of no octets where there is none.
        data: Packet,
    },
    /// No response came; the LSDU may have been delivered all the same.
    NoAcknowledgement,
    /// The user took it back; the LSDU may have been delivered all the same.
    Cancelled,
    /// Too many requests wait already, or too many associations are busy.
    QueueFull,
    /// The LSDU is longer than N3.
    TooLong,
}

/// How often things happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Commands sent for the first time, those that synchronize included.
    pub commands: u64,
    /// Commands that synchronize among them.
    pub synchronizations: u64,
    /// Commands sent again.
    pub sent_again: u64,
    /// Commands given up after the last transmission.
    pub gave_up: u64,
    /// Responses that no command under way waits for: late or copied ones.
    pub stale_responses: u64,
    /// Commands answered again, and not delivered again.
    pub duplicates: u64,
    /// Commands answered with "resources temporarily unavailable".
    pub no_buffer: u64,
    /// Commands answered with "lasting error", since their LSDU was longer than the buffer.
    pub overruns: u64,
    /// Commands for a SAP that nobody has open here.
    pub no_such_sap: u64,
    /// Commands left unanswered, since there are too many receive variables.
    pub no_variable: u64,
    /// PDUs that are no type 3 PDU, or lack a field, or are for or from a group.
    pub malformed: u64,
}

/// The type 3 machine of a station.
///
/// T1 runs from the time at which a command went out: the driver says so by [`Type3::transmitted`].
/// A command that waits for the medium is therefore not sent again meanwhile.
#[derive(Clone, Debug)]
pub struct Type3 {
    sender: Sender,
    receiver: Receiver,
    outputs: Outputs,
    counters: Counters,
}

impl Type3 {
    /// A machine without open SAPs.
    ///
    /// # Errors
    /// Where the parameters cannot be.
    pub fn new(params: Params) -> Result<Self, Invalid> {
        params.check()?;
        Ok(Self {
            sender: Sender::new(params),
            receiver: Receiver::new(params),
            outputs: Outputs::new(),
            counters: Counters::default(),
        })
    }

    /// Its parameters.
    #[must_use]
    pub const fn params(&self) -> &Params {
        self.sender.params()
    }

    /// How often things happened.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The medium is done with a command: T1 starts, whether it went out or was given up. One that
    /// was refused is sent again instead, if it may be more than once.
    pub fn transmitted(&mut self, now: Instant, ticket: Ticket, outcome: Transmission) {
        let Self { sender, outputs, counters, .. } = self;
        sender.transmitted(now, ticket, outcome, outputs, counters);
    }

    /// The same as [`Request::Buffer`], for a user who says so for each LSDU.
    pub fn provide_buffer(&mut self, sap: Sap, octets: Option<usize>) {
        self.receiver.buffer(sap, octets);
    }

    /// Reads an LPDU; `None` where it is malformed.
    fn read(&self, mut lpdu: Lpdu) -> Option<Ac> {
        let [dsap, ssap, control] = lpdu.packet.first()?;
        lpdu.packet.strip(3)?;
        let number = match control & !POLL_FINAL {
            AC0 => false,
            AC1 => true,
            _ => return None,
        };
        let (local, remote) = (Sap(dsap), Sap(ssap & !RESPONSE));
        if local.is_group() || local == Sap::NULL || lpdu.station.is_group() {
            return None;
        }
        let Lpdu { station, priority, packet, ticket: _ } = lpdu;
        let association = Association { local, station, remote, priority };
        Some(Ac {
            association: self.params().key(association),
            is_response: ssap & RESPONSE != 0,
            number,
            poll_final: control & POLL_FINAL != 0,
            information: packet,
        })
    }
}

/// An AC PDU as it came in.
struct Ac {
    association: Association,
    is_response: bool,
    number: bool,
    poll_final: bool,
    information: Packet,
}

/// DSAP, SSAP and control of an AC PDU.
const fn header(association: Association, response: u8, number: bool, poll_final: bool) -> [u8; 3] {
    let control = if number { AC1 } else { AC0 };
    let bit = if poll_final { POLL_FINAL } else { 0 };
    [association.remote.0, association.local.0 | response, control | bit]
}

impl Machine for Type3 {
    type Request = Request;
    type Indication = Indication;
    type Pdu = Lpdu;
    type Note = Infallible;

    fn request(&mut self, now: Instant, request: Request) {
        let Self { sender, receiver, outputs, counters } = self;
        match request {
            Request::DataAck { id, association, transmissions, data } => {
                let command = sender::Command::new(id, association, transmissions, false, data);
                sender.request(now, association, command, outputs, counters);
            }
            Request::Reply { id, association, transmissions, data } => {
                let command = sender::Command::new(id, association, transmissions, true, data);
                sender.request(now, association, command, outputs, counters);
            }
            Request::ReplyUpdate { sap, data } => receiver.store_reply(sap, data),
            Request::Cancel { id, association } => {
                sender.cancel(now, association, id, outputs, counters);
            }
            Request::Open { sap } => receiver.open(sap),
            Request::Close { sap } => receiver.close(sap),
            Request::Buffer { sap, octets } => receiver.buffer(sap, octets),
        }
    }

    fn receive(&mut self, now: Instant, lpdu: Lpdu) {
        let Some(ac) = self.read(lpdu) else {
            self.counters.malformed += 1;
            return;
        };
        let Self { sender, receiver, outputs, counters } = self;
        if ac.is_response {
            sender.respond(now, ac, outputs, counters);
        } else {
            receiver.command(now, ac, outputs, counters);
        }
    }

    fn expire(&mut self, now: Instant) {
        self.sender.expire(now, &mut self.outputs, &mut self.counters);
    }

    /// T1 and M: T2 and T3 are looked at when a variable is next used or room is needed.
    fn deadline(&self) -> Option<Deadline> {
        self.sender.deadline()
    }

    fn poll(&mut self) -> Option<Output<Lpdu, Indication, Infallible>> {
        self.outputs.pop_front()
    }
}
