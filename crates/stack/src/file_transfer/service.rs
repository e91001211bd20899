//! Primitives of the file transfer, and notes.

use bytes::Bytes;
use wire::file_transfer::{Mode, Status};
use wire::read::Malformed;

/// Request of an initiator's user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Transfers a file: a regime from F-SELECT to F-DESELECT, and F-INITIALIZE before the first.
    Transfer(Job),
    /// F-TERMINATE, after the transfer that is under way.
    Terminate,
}

/// Transfer of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    /// Name of the file.
    pub name: Bytes,
    /// Direction.
    pub mode: Mode,
    /// Octets of each F-DATA, at least 1.
    pub block_octets: u16,
    /// True for CASE's EOT on each F-DATA: stop-and-wait.
    pub each_eot: bool,
}

/// Indication to a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// A transfer has ended: at the initiator, that of the oldest job.
    Transferred {
        /// Name of the file.
        name: Bytes,
        /// Direction, from the point of view of the initiator.
        mode: Mode,
        /// Result: that of the end that failed first.
        status: Status,
        /// Octets that this side has sent or received.
        octets: u64,
    },
    /// The regime was terminated; the association can be released.
    Terminated,
    /// The file transfer cannot go on; the association is to be aborted. The job has no other end.
    Failed(Failure),
}

/// Reason why a file transfer cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Failure {
    /// The peer sent a PDU that is invalid or not permitted.
    Protocol,
    /// The peer sent nothing within the time-out.
    NoAnswer,
    /// The peer refused F-INITIALIZE.
    Refused,
}

impl Failure {
    /// Text of the reason.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Protocol => "file transfer: protocol error of the peer",
            Self::NoAnswer => "file transfer: no answer within the time-out",
            Self::Refused => "file transfer: refused by the peer",
        }
    }
}

/// Data of one A-TRANSFER.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Apdu {
    /// PDU.
    pub data: Bytes,
    /// CASE's EOT; without meaning on receipt.
    pub eot: bool,
}

/// Note for observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// Octets arrived that are no PDU.
    Malformed(Malformed),
    /// A PDU arrived that is not permitted now.
    OutOfPlace,
    /// Too many jobs wait: this one is dropped.
    Full,
}
