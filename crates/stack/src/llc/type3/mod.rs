//! LLC type 3 (IEEE 802.2, acknowledged connectionless): each command is acknowledged, and none is
//! delivered twice.
//!
//! ```text
//!   DL-DATA-ACK  ──▶ AC0 P=0 "LSDU" ──────▶   delivered, V(RI) := 1
//!                ◀── AC1 F=0 status 40 ◀──    accepted, no reply requested
//!   DL-DATA-ACK  ──▶ AC1 P=0 "LSDU" ──────▶   delivered, V(RI) := 0
//!                ◀── AC0 F=0 status 40 ◀──
//! ```
//!
//! A command carries V(SI), one bit; its response carries the other value. If the receiver expects
//! the other number, it repeats its first response and does not deliver the command again.
//!
//! **Scope of the variables.** An [`Association`] comprises the local SAP, the remote station, the
//! remote SAP and, if the MAC carries it, the priority. The remote SAP is included because each
//! remote SAP would see gaps and duplicates if one sequence of numbers served several SAPs.
//! Priority is included only if the receiver can read it ([`Priorities`]); on Ethernet it cannot.
//! One command per association is outstanding; the others wait, the highest priority first.
//!
//! **Synchronization.** A sender that gave up cannot determine whether the receiver's variable
//! changed. Its next command could be taken for a copy of the last: acknowledged, but not
//! delivered. So it first sends a command without LSDU, which is acknowledged and never delivered,
//! whatever number the receiver expects. The same is done for a new association
//! ([`First::Synchronized`]), because the receiver may still hold a variable for a sender that
//! restarted.
//!
//! **Limit.** One bit distinguishes a command only from the one before. If a copy can be in transit
//! until its number is in use again, it is delivered once more, or a late response acknowledges a
//! lost command. This cannot happen if every PDU is late by less than the shortest one-way transit
//! time. Otherwise [`Params::lifetime`] helps: the next command is sent after all copies of the
//! last have expired. This is not in the standard. Neither is the rule that the next command waits
//! while a copy of the last is still queued here, whatever M is: the response may arrive before
//! that copy is sent.
//!
//! **Refusal.** If the medium reports that no interface had a buffer for a command (ProNET-10,
//! 802.5), the command is retransmitted at once, and for the last time after T1. All transmissions
//! count towards N4 and the user's limit.
//!
//! On 802.4 a command may request its response from the MAC at once ([`crate::profile::Framing`]);
//! here it is treated like any other command.
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

/// Scope within which commands are numbered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Association {
    /// Local SAP.
    pub local: Sap,
    /// Other station.
    pub station: Mac,
    /// Remote SAP.
    pub remote: Sap,
    /// Priority, 0 (lowest) to 7: order of the commands waiting here.
    pub priority: u8,
}

/// LLC PDU with its MAC parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lpdu {
    /// Destination or source station.
    pub station: Mac,
    /// Priority, 0 to 7; 0 for a PDU from a MAC that does not carry it.
    pub priority: u8,
    /// DSAP, SSAP, control and information.
    pub packet: Packet,
    /// Handle of an outgoing command for [`Type3::transmitted`].
    pub handle: Option<TransmitHandle>,
}

/// Handle of a command passed to the MAC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransmitHandle {
    /// Request that it serves; `None` for a synchronizing command.
    pub request: Option<u64>,
    association: Association,
    attempt: u64,
}

/// Visibility of priorities at the receiver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Priorities {
    /// The MAC carries the priority (802.4, 802.5): each priority has its own numbers.
    Carried,
    /// The MAC does not carry it (802.3, ProNET-10): all priorities share one sequence.
    NotCarried,
}

/// Start of the numbers of a new association.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum First {
    /// With a command without LSDU: correct even if the receiver holds a variable from before a
    /// restart of this station.
    Synchronized,
    /// With 0 at once: correct if this station has been silent for the receiver's T2.
    AtZero,
}

/// Parameters of a station's type 3 machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// N4: maximum number of transmissions of a command.
    pub transmissions: u32,
    /// T1: time to wait for a response after each transmission.
    pub acknowledgement_time: Duration,
    /// M: maximum transit time of a PDU, if copies may arrive late; zero if not. Commands of an
    /// association are sent at least this long after each other.
    pub lifetime: Duration,
    /// T2: time for which a receive variable is kept after the last command.
    pub receive_lifetime: Duration,
    /// T3: time for which a transmit variable is kept after the last response.
    pub transmit_lifetime: Duration,
    /// N3: maximum length of an LSDU in octets.
    pub information_octets: usize,
    /// Maximum number of commands waiting per association.
    pub waiting: usize,
    /// Maximum number of transmit variables, and of receive variables.
    pub associations: usize,
    /// Visibility of priorities at the receiver.
    pub priorities: Priorities,
    /// Start of the numbers of a new association.
    pub first: First,
}

impl Params {
    /// Parameters for a LAN of 802.3 stations that answer within a few milliseconds.
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

    /// Checks that no receiver discards a variable while its command may still be retransmitted.
    ///
    /// # Errors
    /// Names the invalid parameters.
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

    /// Association as its receiver distinguishes it.
    const fn key(&self, association: Association) -> Association {
        match self.priorities {
            Priorities::Carried => association,
            Priorities::NotCarried => Association { priority: 0, ..association },
        }
    }
}

/// Reason why parameters are invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// N4 or T1 is zero.
    NeverSends,
    /// T1 is shorter than the maximum round trip, twice M.
    Hasty {
        /// M.
        lifetime: Duration,
    },
    /// T2 is not longer than N4 times T1, plus M.
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
                "t2 of {receive_lifetime:?} is too short: a command may be retransmitted for \
                 {retries:?} (n4 times t1)"
            ),
        }
    }
}

impl core::error::Error for Invalid {}

/// Request of the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// DL-DATA-ACK request. An LSDU of no octets is acknowledged but not delivered.
    DataAck {
        /// Identifier for the outcome, unique among outstanding requests.
        id: u64,
        /// Association of the command.
        association: Association,
        /// Maximum number of transmissions, limited by N4.
        transmissions: u32,
        /// The LSDU.
        data: Packet,
    },
    /// DL-REPLY request: an LSDU, possibly of no octets, for the reply that the remote user stored.
    Reply {
        /// Identifier for the outcome.
        id: u64,
        /// Association of the command.
        association: Association,
        /// Maximum number of transmissions, limited by N4.
        transmissions: u32,
        /// The LSDU.
        data: Packet,
    },
    /// DL-REPLY-UPDATE request: sets the SAP's answer to every poll from now on.
    ReplyUpdate {
        /// Local SAP.
        sap: Sap,
        /// New reply; `None` removes the last one.
        data: Option<Packet>,
    },
    /// Cancels a DL-DATA-ACK or DL-REPLY request. Its outcome is reported at once, but the receiver
    /// may have the LSDU.
    Cancel {
        /// Identifier of the request.
        id: u64,
        /// Its association.
        association: Association,
    },
    /// Opens the SAP of a local user.
    Open {
        /// SAP to open.
        sap: Sap,
    },
    /// Closes the SAP: commands for it are answered with "no such service".
    Close {
        /// SAP to close.
        sap: Sap,
    },
    /// Provides a buffer for the next LSDU of the SAP, or withdraws it. A delivery uses it up;
    /// without one, commands are answered with "resources temporarily unavailable".
    Buffer {
        /// SAP of the user.
        sap: Sap,
        /// Longest LSDU that the buffer can hold; `None` for no buffer.
        octets: Option<usize>,
    },
}

/// Indication to the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// DL-DATA-ACK indication, also for an LSDU that came with a poll.
    Data {
        /// Source, and local destination SAP.
        association: Association,
        /// The LSDU.
        data: Packet,
    },
    /// An LSDU was longer than the buffer and is lost; its sender is notified by the response. The
    /// buffer is used up.
    Overrun {
        /// Source of the LSDU.
        association: Association,
        /// Length of the LSDU in octets.
        octets: usize,
    },
    /// DL-REPLY indication: the stored reply was fetched.
    Replied {
        /// Association that fetched it.
        association: Association,
    },
    /// DL-DATA-ACK-STATUS or DL-REPLY-STATUS indication: outcome of a request.
    Status {
        /// Identifier of the request.
        id: u64,
        /// Outcome of the request.
        outcome: Outcome,
        /// Number of transmissions, of the command or of the synchronizing one before it.
        transmissions: u32,
    },
}

/// Outcome of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// A response arrived.
    Responded {
        /// C: status of the LSDU.
        command: CommandStatus,
        /// R: status of the reply.
        reply: ReplyStatus,
        /// Reply, empty if there is none.
        data: Packet,
    },
    /// No response arrived; the LSDU may nevertheless have been delivered.
    NoAcknowledgement,
    /// The user cancelled the request; the LSDU may nevertheless have been delivered.
    Cancelled,
    /// Too many requests are waiting, or too many associations are busy.
    QueueFull,
    /// The LSDU is longer than N3.
    TooLong,
}

/// Event counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Commands sent for the first time, including synchronizing ones.
    pub commands: u64,
    /// Synchronizing commands among them.
    pub synchronizations: u64,
    /// Retransmitted commands.
    pub sent_again: u64,
    /// Commands abandoned after the last transmission.
    pub gave_up: u64,
    /// Responses without an outstanding command: late or duplicate ones.
    pub stale_responses: u64,
    /// Duplicate commands: answered again, not delivered again.
    pub duplicates: u64,
    /// Commands answered with "resources temporarily unavailable".
    pub no_buffer: u64,
    /// Commands answered with "lasting error", because their LSDU was longer than the buffer.
    pub overruns: u64,
    /// Commands for a SAP that is not open here.
    pub no_such_sap: u64,
    /// Commands left unanswered, because there are too many receive variables.
    pub no_variable: u64,
    /// PDUs that are not of type 3, are incomplete, or have a group address.
    pub malformed: u64,
}

/// Type 3 machine of a station.
///
/// T1 starts when a command has been transmitted, which the driver reports with
/// [`Type3::transmitted`]. A command that waits for the medium is therefore not retransmitted
/// meanwhile.
#[derive(Clone, Debug)]
pub struct Type3 {
    sender: Sender,
    receiver: Receiver,
    outputs: Outputs,
    counters: Counters,
}

impl Type3 {
    /// Creates a machine without open SAPs.
    ///
    /// # Errors
    /// The parameters are invalid.
    pub fn new(params: Params) -> Result<Self, Invalid> {
        params.check()?;
        Ok(Self {
            sender: Sender::new(params),
            receiver: Receiver::new(params),
            outputs: Outputs::new(),
            counters: Counters::default(),
        })
    }

    /// Parameters of the machine.
    #[must_use]
    pub const fn params(&self) -> &Params {
        self.sender.params()
    }

    /// Event counters.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Reports that the medium has finished with a command. T1 starts, whether the command was
    /// transmitted or dropped. A refused command is retransmitted instead, if it has transmissions
    /// left.
    pub fn transmitted(&mut self, now: Instant, handle: TransmitHandle, outcome: Transmission) {
        let Self { sender, outputs, counters, .. } = self;
        sender.transmitted(now, handle, outcome, outputs, counters);
    }

    /// Same as [`Request::Buffer`], for a user that provides a buffer for each LSDU.
    pub fn provide_buffer(&mut self, sap: Sap, octets: Option<usize>) {
        self.receiver.buffer(sap, octets);
    }

    /// Decodes an LPDU; `None` if it is malformed.
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
        let Lpdu { station, priority, packet, handle: _ } = lpdu;
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

/// Received AC PDU.
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

    /// T1 or M. T2 and T3 are evaluated when a variable is next used or room is needed.
    fn deadline(&self) -> Option<Deadline> {
        self.sender.deadline()
    }

    fn poll(&mut self) -> Option<Output<Lpdu, Indication, Infallible>> {
        self.outputs.pop_front()
    }
}
