//! Types of the C header, under their C names.

use core::ffi::{c_int, c_void};
use stack::messaging::{self, Completion, Failure, Outcome, SideState};
use wire::addr::Mac;

/// Octets of the longest message; two fewer with CRC.
pub const LLC_LONGEST_MESSAGE: usize = 1497;
/// Maximum number of sockets of a station.
pub const LLC_MOST_SOCKETS: c_int = 127;
/// Ticks of the timeouts in a second.
pub const LLC_TICKS_PER_SECOND: u32 = 1000;

/// Immediate outcome of a call. The first seven are the paper's, in its order.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LLCoutcome {
    /// "Operation accepted".
    LlcAccepted = 0,
    /// "Invalid socket": not an even number from 2 to 254, or not open; no station is on; as a
    /// destination, an impossible socket, or a group if an acknowledgement is requested.
    LlcInvalidSocket = 1,
    /// "Duplicate socket": it is open already.
    LlcDuplicateSocket = 2,
    /// "Too many sockets": the number given to LLCon is open.
    LlcTooManySockets = 3,
    /// "Socket busy": an operation is pending on that side; for LLCon, the station is already on;
    /// for LLCpoll, it was called by an indication.
    LlcSocketBusy = 4,
    /// "Packet too large": longer than LLC_LONGEST_MESSAGE, CRC included.
    LlcPacketTooLarge = 5,
    /// "Transmit/receive argument neither x nor r".
    LlcNeitherSide = 6,
    /// A pointer is null that must not be, or a number is out of its range.
    LlcInvalidArgument = 7,
    /// The port cannot be opened, or is down: LLCerror has the details.
    LlcNoNetwork = 8,
    /// A fault in this library. The station should be turned off.
    LlcInternalError = 9,
}

impl From<Outcome> for LLCoutcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Accepted => Self::LlcAccepted,
            Outcome::InvalidSocket => Self::LlcInvalidSocket,
            Outcome::DuplicateSocket => Self::LlcDuplicateSocket,
            Outcome::TooManySockets => Self::LlcTooManySockets,
            Outcome::SocketBusy => Self::LlcSocketBusy,
            Outcome::TooLarge => Self::LlcPacketTooLarge,
            Outcome::NeitherSide => Self::LlcNeitherSide,
        }
    }
}

/// State of a socket's side: of its pending operation, or of its last one. The paper's five, in its
/// order.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LLCstate {
    /// "Operation pending": it waits for its turn or for a message.
    LlcPending = 0,
    /// "No operation pending": there was none, or the last one succeeded.
    LlcIdle = 1,
    /// "I/O in progress": sent; an acknowledged message keeps this state until its outcome is
    /// known.
    LlcInProgress = 2,
    /// "Operation failed": LLCfailure returns the reason.
    LlcFailed = 3,
    /// "Operation timed out".
    LlcTimedOut = 4,
}

impl From<SideState> for LLCstate {
    fn from(state: SideState) -> Self {
        match state {
            SideState::Pending => Self::LlcPending,
            SideState::Idle => Self::LlcIdle,
            SideState::InProgress => Self::LlcInProgress,
            SideState::Failed => Self::LlcFailed,
            SideState::TimedOut => Self::LlcTimedOut,
        }
    }
}

impl From<Completion> for LLCstate {
    fn from(completion: Completion) -> Self {
        match completion {
            Completion::Done => Self::LlcIdle,
            Completion::Failed(_) => Self::LlcFailed,
            Completion::TimedOut => Self::LlcTimedOut,
        }
    }
}

/// Reason for the failure of an operation.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LLCreason {
    /// The last operation did not fail.
    LlcNoFailure = 0,
    /// No acknowledgement arrived; the message may nevertheless have been delivered.
    LlcNoAcknowledgement = 1,
    /// The receiver refused it: it had no buffer, or a shorter one, or the socket is not open.
    LlcRefused = 2,
    /// The network did not accept it, in any of the attempts.
    LlcNotTransmitted = 3,
    /// Too many destinations are in use at a time.
    LlcTooManyDestinations = 4,
    /// A message arrived that was longer than the buffer, and is lost.
    LlcBufferTooSmall = 5,
}

impl From<Option<Failure>> for LLCreason {
    fn from(failure: Option<Failure>) -> Self {
        match failure {
            None => Self::LlcNoFailure,
            Some(Failure::NoAcknowledgement) => Self::LlcNoAcknowledgement,
            Some(Failure::Refused(_)) => Self::LlcRefused,
            Some(Failure::NotTransmitted) => Self::LlcNotTransmitted,
            Some(Failure::NoVariable) => Self::LlcTooManyDestinations,
            Some(Failure::BufferTooSmall) => Self::LlcBufferTooSmall,
        }
    }
}

/// Source or destination of messages. (In the paper a station's address has one octet.)
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LLCaddress {
    /// Socket: an even number from 2 to 254.
    pub socket: u8,
    /// Station, or for messages without acknowledgement a group of stations.
    pub station: [u8; 6],
}

impl From<LLCaddress> for messaging::Address {
    fn from(address: LLCaddress) -> Self {
        Self { station: Mac(address.station), socket: address.socket }
    }
}

impl From<messaging::Address> for LLCaddress {
    fn from(address: messaging::Address) -> Self {
        Self { socket: address.socket, station: address.station.0 }
    }
}

/// Function called when an operation is over: LLC_IDLE on success, LLC_FAILED or LLC_TIMED_OUT. It
/// may make every call except LLCpoll. It must return: no longjmp, no exception.
pub type LLCindication =
    Option<unsafe extern "C" fn(sock: c_int, state: LLCstate, context: *mut c_void)>;

/// Counters since LLCon.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LLCcounts {
    /// Frames accepted by the network, including LLC's own.
    pub frames_sent: u64,
    /// Frames received for this station.
    pub frames_received: u64,
    /// Frames not accepted by the network.
    pub frames_not_sent: u64,
    /// Number of times the network was down when it was used.
    pub network_down: u64,
    /// Frames that do not belong to this service, or are invalid.
    pub foreign: u64,
    /// Messages that found no buffer.
    pub no_buffer: u64,
    /// Messages that were longer than the buffer.
    pub overruns: u64,
    /// Messages that did not end with their CRC.
    pub bad_crc: u64,
    /// Acknowledged messages that were retransmitted because no acknowledgement had arrived.
    pub sent_again: u64,
    /// Duplicate messages, which were not delivered again.
    pub duplicates: u64,
    /// Received frames that were lost because they were not taken in time.
    pub overrun_frames: u64,
    /// Indications that were not called because LLCpoll was not called for too long.
    pub indications_lost: u64,
}
